"""Values of no input: constants, ranges, and shapes."""

from __future__ import annotations

import math

import numpy as np

from xdsl_tvm import relax
from xdsl_tvm.dialects.relax.symbolic import product
from xdsl_tvm.frontend.onnx.dtypes import array_of
from xdsl_tvm.frontend.onnx.node import Node, converts
from xdsl_tvm.frontend.onnx.values import Known, Value, known
from xdsl_tvm.relax import op


@converts("Constant")
def _constant(node: Node) -> Value:
    if node.is_set("value"):
        return Known(array_of(node.tensor_of("value"), None))
    if node.is_set("value_float"):
        return Known(np.asarray(node.float_of("value_float"), np.float32))
    if node.is_set("value_floats"):
        return Known(np.asarray(node.floats_of("value_floats"), np.float32))
    if node.is_set("value_int"):
        return Known(np.asarray(node.int_of("value_int"), np.int64))
    if node.is_set("value_ints"):
        return Known(np.asarray(node.ints_of("value_ints"), np.int64))
    raise node.error("only tensors and numbers are converted, no text and no sparse data")


@converts("ConstantOfShape")
def _constant_of_shape(node: Node) -> Value:
    array = np.zeros(1, np.float32)
    if node.is_set("value"):
        array = array_of(node.tensor_of("value"), None)
    if array.size != 1:
        raise node.error(f"its value must have 1 element, not {array.size}")
    element = array.reshape(())
    dims = node.dims(0)
    sizes = [dim.value for dim in dims]
    numbers = [size for size in sizes if size is not None]
    if len(numbers) == len(sizes) and abs(math.prod(numbers)) <= 1024:
        if any(size < 0 for size in numbers):
            raise node.error(f"a dimension is negative: {numbers}")
        return Known(np.full(numbers, element, element.dtype))
    return op.full(dims, relax.const(element), element.dtype.name)


@converts("Shape")
def _shape(node: Node) -> Value:
    shape = node.shape()
    start, end = node.int_of("start", 0), node.int_of("end", len(shape))
    return known(list(shape[slice(start, end)]))


@converts("Size")
def _size(node: Node) -> Value:
    return known(product(node.shape()))


@converts("Range")
def _range(node: Node) -> Value:
    dtype = node.dtype()
    if "float" not in dtype:
        start, limit, step = (node.dims(index)[0] for index in range(3))
        return op.arange(
            *(relax.PrimValue(each) for each in (start, limit, step)), dtype=dtype
        )
    start, limit, step = (node.array(index).reshape(()) for index in range(3))
    count = max(int(np.ceil((limit - start) / step)), 0)
    array = (start + node.places(count) * step).astype(start.dtype)
    return Known(array)


@converts("EyeLike")
def _eye_like(node: Node) -> Value:
    dtype = node.dtype_of("dtype") if node.is_set("dtype") else node.dtype()
    return op.eye_like(node.expr(), node.int_of("k", 0), dtype)


@converts("OneHot")
def _one_hot(node: Node) -> Value:
    depth = node.integer(1)
    axis = node.int_of("axis", -1)
    rank = node.rank() + 1
    axis = node.axis(axis, rank)
    # An index that is out of range is a row without the value "on".
    indices = op.astype(node.expr(0), "int64")
    count = relax.const(depth, "int64")
    wrapped = op.where(
        op.less(indices, relax.const(0, "int64")), op.add(indices, count), indices
    )
    shape = [1] * rank
    shape[axis] = depth
    places = relax.const(node.places(depth).reshape(shape))
    is_on = op.equal(op.expand_dims(wrapped, [axis]), places)
    values = node.expr(2)
    off, on = (op.take(values, relax.const(index, "int64"), axis=0) for index in range(2))
    return op.where(is_on, on, off)


@converts("HannWindow", "HammingWindow", "BlackmanWindow")
def _window(node: Node) -> Value:
    size = node.integer(0)
    terms = {
        "HannWindow": (0.5, 0.5, 0.0),
        "HammingWindow": (25 / 46, 1 - 25 / 46, 0.0),
        "BlackmanWindow": (0.42, 0.5, 0.08),
    }[node.op_type]
    places = node.places(size) * 2 * np.pi
    places /= size if node.int_of("periodic", 1) else max(size - 1, 1)
    first, second, third = terms
    values = first - second * np.cos(places) + third * np.cos(2 * places)
    return Known(values.astype(_numpy_name(node)))


def _numpy_name(node: Node) -> str:
    return (
        node.dtype_of("output_datatype") if node.is_set("output_datatype") else "float32"
    )

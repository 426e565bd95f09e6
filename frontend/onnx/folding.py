"""Arithmetic of values that are known while a model is converted, shapes foremost.

Elements are numbers or dimensions, so `Shape`, `Gather`, `Mul`, `Concat` in front of a
`Reshape` become dimensions of its type. Numbers are folded up to a size; larger arrays
are left to the pass `relax-fold-constant`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import cast

import numpy as np

from xdsl_tvm.dialects.relax.symbolic import (
    Dim,
    maximum,
    minimum,
    provably_at_least,
    provably_different,
    provably_equal,
)
from xdsl_tvm.frontend.onnx.node import Node
from xdsl_tvm.frontend.onnx.values import Array, Known, settled

_MOST_ELEMENTS = 1024
"""Elements of the largest result that is folded."""

Fold = Callable[[Node, Sequence[Array]], "Array | Sequence[Array] | None"]

_FOLDS: dict[str, Fold] = {}


def folded(node: Node) -> Sequence[Known] | None:
    """The results of a node on known values, None where it is converted otherwise."""
    fold = _FOLDS.get(node.op_type)
    if fold is None or not node.inputs:
        return None
    arrays: list[Array] = []
    for value in node.inputs:
        if value is None:
            arrays.append(np.zeros((0,), np.int64))
        elif isinstance(value, Known) and value.array.size <= _MOST_ELEMENTS:
            arrays.append(value.array)
        else:
            return None
    with np.errstate(all="ignore"):
        results = fold(node, arrays)
    if results is None:
        return None
    if isinstance(results, np.ndarray):
        results = [results]
    if sum(each.size for each in results) > _MOST_ELEMENTS:
        return None
    dtype = node.dtype(0)
    return [settled(np.asarray(each), dtype) for each in results]


def _folds(*names: str) -> Callable[[Fold], Fold]:
    def register(fold: Fold) -> Fold:
        for name in names:
            _FOLDS[name] = fold
        return fold

    return register


def _is_symbolic(arrays: Sequence[Array]) -> bool:
    return any(array.dtype == object for array in arrays)


def _elementwise(
    function: Callable[[Dim, Dim], object], lhs: Array, rhs: Array
) -> Array | None:
    """A function of dimensions on all elements, None where it has no result."""
    left, right = np.broadcast_arrays(lhs, rhs)
    results = np.empty(left.shape, object)
    for index in np.ndindex(left.shape):
        result = function(Dim.of(left.item(*index)), Dim.of(right.item(*index)))
        if result is None:
            return None
        results[index] = result
    return results


# ---- arithmetic ----


@_folds("Add", "Sub", "Mul")
def _arithmetic(node: Node, arrays: Sequence[Array]) -> Array | None:
    if node.opset < 7:
        return None
    function = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply}[node.op_type]
    if _is_symbolic(arrays):
        arrays = [array.astype(object) for array in arrays]
    return np.asarray(function(arrays[0], arrays[1]))


@_folds("Div")
def _div(node: Node, arrays: Sequence[Array]) -> Array | None:
    lhs, rhs = arrays
    if node.opset < 7:
        return None
    if _is_symbolic(arrays):
        return _elementwise(_quotient, lhs, rhs)
    if lhs.dtype.kind not in "iu":
        return np.asarray(lhs / rhs)
    if (rhs == 0).any():
        raise node.error("it divides by 0")
    return np.asarray((lhs - np.fmod(lhs, rhs)) // rhs)


def _quotient(lhs: Dim, rhs: Dim) -> Dim | None:
    """The quotient, None where rounding to zero is not known to be rounding down."""
    if not (provably_at_least(lhs, 0) and provably_at_least(rhs, 1)):
        return None
    return lhs // rhs


@_folds("Mod")
def _mod(node: Node, arrays: Sequence[Array]) -> Array | None:
    lhs, rhs = arrays
    if _is_symbolic(arrays):
        return _elementwise(
            lambda a, b: a % b if provably_at_least(b, 1) else None, lhs, rhs
        )
    if lhs.dtype.kind in "iu" and (rhs == 0).any():
        raise node.error("it divides by 0")
    return np.asarray((np.fmod if node.int_of("fmod", 0) else np.mod)(lhs, rhs))


@_folds("Min", "Max")
def _extremum(node: Node, arrays: Sequence[Array]) -> Array | None:
    if not _is_symbolic(arrays):
        function = np.minimum if node.op_type == "Min" else np.maximum
        result = arrays[0]
        for array in arrays[1:]:
            result = function(result, array)
        return np.asarray(result)
    result: Array | None = arrays[0]
    for array in arrays[1:]:
        assert result is not None
        choose = minimum if node.op_type == "Min" else maximum
        result = _elementwise(choose, result, array)
    return result


@_folds("Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual")
def _comparison(node: Node, arrays: Sequence[Array]) -> Array | None:
    lhs, rhs = arrays
    if node.opset < 7:
        return None
    if not _is_symbolic(arrays):
        function = {
            "Equal": np.equal,
            "Less": np.less,
            "Greater": np.greater,
            "LessOrEqual": np.less_equal,
            "GreaterOrEqual": np.greater_equal,
        }[node.op_type]
        return np.asarray(function(lhs, rhs))
    result = _elementwise(_DECIDED[node.op_type], lhs, rhs)
    return None if result is None else result.astype(np.bool_)


def _equal(lhs: Dim, rhs: Dim) -> bool | None:
    if provably_equal(lhs, rhs):
        return True
    return False if provably_different(lhs, rhs) else None


def _less(lhs: Dim, rhs: Dim) -> bool | None:
    if provably_at_least(rhs, lhs + 1):
        return True
    return False if provably_at_least(lhs, rhs) else None


def _less_equal(lhs: Dim, rhs: Dim) -> bool | None:
    return _less(lhs, rhs + 1)


_DECIDED: dict[str, Callable[[Dim, Dim], bool | None]] = {
    "Equal": _equal,
    "Less": _less,
    "Greater": lambda lhs, rhs: _less(rhs, lhs),
    "LessOrEqual": _less_equal,
    "GreaterOrEqual": lambda lhs, rhs: _less_equal(rhs, lhs),
}


@_folds("Where")
def _where(node: Node, arrays: Sequence[Array]) -> Array:
    del node
    return np.asarray(np.where(*arrays))


def _relu(x: Array) -> Array:
    return np.maximum(x, np.zeros_like(x))


@_folds(
    *("Neg", "Not", "Abs", "Floor", "Ceil", "Sqrt", "Relu"),
    *("Identity", "And", "Or", "Sign"),
)
def _pointwise(node: Node, arrays: Sequence[Array]) -> Array | None:
    if node.op_type == "Identity":
        return arrays[0]
    if _is_symbolic(arrays) or node.opset < 7:
        return -arrays[0] if node.op_type == "Neg" else None
    functions: dict[str, Callable[..., Array]] = {
        "Neg": np.negative,
        "Not": np.logical_not,
        "Abs": np.abs,
        "Floor": np.floor,
        "Ceil": np.ceil,
        "Sqrt": np.sqrt,
        "Relu": _relu,
        "And": np.logical_and,
        "Or": np.logical_or,
        "Sign": np.sign,
    }
    return np.asarray(functions[node.op_type](*arrays))


@_folds("Cast")
def _cast(node: Node, arrays: Sequence[Array]) -> Array | None:
    if node.opset < 6:
        return None
    dtype = node.dtype_of("to")
    if _is_symbolic(arrays):
        # Extents are far below the largest int32.
        return arrays[0] if dtype in ("int64", "int32") else None
    if arrays[0].dtype.kind in "iub" and dtype in _EXACT:
        return arrays[0].astype(dtype)
    source = arrays[0].dtype.name
    if source == dtype:
        return arrays[0]
    if dtype in _WIDER.get(source, ()):
        return arrays[0].astype(dtype)
    if arrays[0].dtype.name == "float32" and dtype in ("int64", "int32"):
        finite = np.isfinite(arrays[0]).all() and (np.abs(arrays[0]) < 2**31).all()
        return arrays[0].astype(dtype) if finite else None
    return None


_EXACT = ("bool", "int32", "int64", "float32", "float64")
_WIDER = {
    "bfloat16": ("float32", "float64", "bool"),
    "float16": ("float32", "float64", "bool"),
    "float32": ("float64", "bool"),
}
"""Types that hold each number of others, or whether it is 0."""


# ---- shapes ----


@_folds("Gather")
def _gather(node: Node, arrays: Sequence[Array]) -> Array | None:
    data, indices = arrays
    axis = node.axis(node.int_of("axis", 0))
    extent = data.shape[axis]
    if indices.dtype == object:
        return None
    if ((indices < -extent) | (indices >= extent)).any():
        raise node.error(f"an index is out of range for extent {extent}")
    result = np.take(data, indices, axis)
    return _array_like(result, data)


def _array_like(result: object, like: Array) -> Array:
    """An array also where numpy makes an element of one of rank 0."""
    if isinstance(result, np.ndarray):
        return cast("Array", result)
    array = np.empty((), like.dtype)
    array[()] = result
    return array


@_folds("Concat")
def _concat(node: Node, arrays: Sequence[Array]) -> Array:
    axis = node.axis(node.int_of("axis", 1))
    if _is_symbolic(arrays):
        arrays = [array.astype(object) for array in arrays]
    return np.concatenate(arrays, axis)


@_folds("Unsqueeze")
def _unsqueeze(node: Node, arrays: Sequence[Array]) -> Array | None:
    axes = axes_of(node)
    if not axes:
        return None
    return np.expand_dims(arrays[0], tuple(axes))


@_folds("Squeeze")
def _squeeze(node: Node, arrays: Sequence[Array]) -> Array:
    axes = axes_of(node)
    result: object = np.squeeze(arrays[0], tuple(axes) if axes else None)
    return _array_like(result, arrays[0])


def axes_of(node: Node, index: int = 1) -> list[int]:
    """Axes that are an attribute in old opsets and an input in new ones."""
    if node.is_set("axes"):
        return node.ints_of("axes")
    return node.integers(index) if node.has(index) else []


@_folds("Reshape")
def _reshape(node: Node, arrays: Sequence[Array]) -> Array | None:
    if len(arrays) < 2 or arrays[1].dtype == object or node.int_of("allowzero", 0):
        return None
    target = [int(size) for size in arrays[1].ravel()]
    shape = arrays[0].shape
    if any(size == 0 and index >= len(shape) for index, size in enumerate(target)):
        return None
    return arrays[0].reshape([size or shape[i] for i, size in enumerate(target)])


@_folds("Slice")
def _slice(node: Node, arrays: Sequence[Array]) -> Array | None:
    data = arrays[0]
    if node.is_set("starts"):
        starts, ends = node.ints_of("starts"), node.ints_of("ends")
        axes = node.ints_of("axes", range(len(starts)))
        steps = [1] * len(starts)
    else:
        if _is_symbolic(arrays[1:]):
            return None
        starts, ends = node.integers(1), node.integers(2)
        axes = node.integers(3) if node.has(3) else list(range(len(starts)))
        steps = node.integers(4) if node.has(4) else [1] * len(starts)
    slices = [slice(None)] * data.ndim
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        slices[node.axis(axis)] = slice(start, end, step)
        if step == 0:
            raise node.error("a step is 0")
        if step < 0 and end < -data.shape[node.axis(axis)]:
            slices[node.axis(axis)] = slice(start, None, step)
    return data[tuple(slices)]


@_folds("Split")
def _split(node: Node, arrays: Sequence[Array]) -> Sequence[Array] | None:
    if arrays[0].ndim != 1:
        return None
    sizes = [1] * len(node.outputs)
    if node.is_set("split"):
        sizes = node.ints_of("split")
    elif node.has(1):
        sizes = node.integers(1)
    if sum(sizes) != arrays[0].size:
        return None
    return np.split(arrays[0], np.cumsum(sizes)[:-1])


@_folds("ReduceProd", "ReduceSum", "ReduceMax", "ReduceMin")
def _reduce(node: Node, arrays: Sequence[Array]) -> Array | None:
    data = arrays[0]
    if data.ndim != 1 or data.size == 0 or _is_symbolic(arrays[1:]):
        return None
    if data.dtype == object and node.op_type in ("ReduceMax", "ReduceMin"):
        return None
    if not axes_of(node) and node.int_of("noop_with_empty_axes", 0):
        return None
    function = {
        "ReduceProd": np.multiply,
        "ReduceSum": np.add,
        "ReduceMax": np.maximum,
        "ReduceMin": np.minimum,
    }[node.op_type]
    result = function.reduce(data)
    if data.dtype != object:
        result = data.dtype.type(result)
    array = _array_like(result, data)
    return array.reshape(1) if node.int_of("keepdims", 1) else array


@_folds("Range")
def _range(node: Node, arrays: Sequence[Array]) -> Array | None:
    if _is_symbolic(arrays):
        return None
    start, limit, step = (array.reshape(-1)[0] for array in arrays)
    if step == 0:
        raise node.error("the step is 0")
    count = max(int(np.ceil((limit - start) / step)), 0)
    if count > _MOST_ELEMENTS:
        return None
    return (start + np.arange(count) * step).astype(arrays[0].dtype)


@_folds("Expand")
def _expand(node: Node, arrays: Sequence[Array]) -> Array | None:
    del node
    if _is_symbolic(arrays[1:]):
        return None
    shape = [int(size) for size in arrays[1].ravel()]
    if any(size < 0 for size in shape) or math.prod(shape) > _MOST_ELEMENTS:
        return None
    return np.broadcast_to(arrays[0], np.broadcast_shapes(arrays[0].shape, tuple(shape)))


@_folds("Transpose")
def _transpose(node: Node, arrays: Sequence[Array]) -> Array:
    rank = arrays[0].ndim
    return np.transpose(arrays[0], node.ints_of("perm", range(rank)[::-1]))

"""Quantized tensors: from and to floats, and products of integers."""

from __future__ import annotations

import numpy as np

from xdsl_tvm import relax
from xdsl_tvm.frontend.onnx.node import Node, converts
from xdsl_tvm.frontend.onnx.operators.elementwise import saturated
from xdsl_tvm.frontend.onnx.operators.integer_products import (
    integer_convolution,
    integer_product,
)
from xdsl_tvm.frontend.onnx.values import Value
from xdsl_tvm.relax import op
from xdsl_tvm.relax.expr import Expr

_RANGES = {
    "int8": (-128, 127),
    "uint8": (0, 255),
    "int16": (-(1 << 15), (1 << 15) - 1),
    "uint16": (0, (1 << 16) - 1),
    "int32": (-(1 << 31), (1 << 31) - 1),
}


def _spread(node: Node, index: int, axis: int) -> Expr | None:
    """A scale or zero point of one axis, as the whole tensor is broadcast with it."""
    if (given := node.optional(index)) is None:
        return None
    if node.rank(index) == 0:
        return given
    if node.int_of("block_size", 0):
        block = node.int_of("block_size")
        repeated = op.repeat(given, block, axis)
        extent = node.shape()[axis]
        return op.strided_slice(repeated, [axis], [0], [extent])
    if node.rank(index) != 1:
        raise node.error(f"input {index} must have rank 0 or 1")
    if node.sizes(index) == (1,):
        return op.reshape(given, [])
    shape = [1] * node.rank()
    shape[axis] = node.sizes(index)[0]
    return op.reshape(given, shape)


def _axis(node: Node) -> int:
    rank = node.rank()
    axis = node.int_of("axis", 1)
    return axis % rank if rank and -rank <= axis < rank else 0


@converts("DequantizeLinear")
def _dequantize(node: Node) -> Value:
    axis, scale_dtype = _axis(node), node.dtype(1)
    scale, zero = _spread(node, 1, axis), _spread(node, 2, axis)
    assert scale is not None
    x = node.expr()
    if x.dtype.startswith("float8"):
        x = op.astype(x, "float32")
        zero = None
    elif zero is not None:
        x = op.subtract(op.astype(x, "int32"), op.astype(zero, "int32"))
    wide = op.multiply(op.astype(x, "float32"), op.astype(scale, "float32"))
    result = "float32"
    if node.int_of("output_dtype", 0):
        result = node.dtype_of("output_dtype")
    elif scale_dtype != "float32":
        result = scale_dtype
    return wide if result == "float32" else op.astype(wide, result)


@converts("QuantizeLinear")
def _quantize(node: Node) -> Value:
    axis = _axis(node)
    dtype = node.dtype(2) if node.has(2) else "uint8"
    if not node.has(2) and node.int_of("output_dtype", 0):
        dtype = node.dtype_of("output_dtype")
    scale, zero = _spread(node, 1, axis), _spread(node, 2, axis)
    assert scale is not None
    return _quantized(node, node.expr(), scale, zero, dtype)


def _quantized(
    node: Node, x: Expr, scale: Expr | None, zero: Expr | None, dtype: str
) -> Expr:
    ratio = op.astype(x, "float32")
    if scale is not None:
        ratio = op.divide(ratio, op.astype(scale, "float32"))
    if dtype.startswith("float8"):
        if node.int_of("saturate", 1):
            ratio = saturated(ratio, dtype)
        return op.astype(ratio, dtype)
    if dtype not in _RANGES:
        raise node.error(f"the dtype {dtype} is not converted")
    places = op.round(ratio)
    if zero is not None:
        places = op.add(places, op.astype(zero, "float32"))
    low, high = _RANGES[dtype]
    return op.astype(op.clip(places, float(low), float(high)), dtype)


@converts("DynamicQuantizeLinear")
def _dynamic_quantize(node: Node) -> list[Value]:
    x, zero = node.expr(), relax.const(np.float32(0))
    low = op.minimum(op.min(x), zero)
    high = op.maximum(op.max(x), zero)
    scale = node.emit(op.divide(op.subtract(high, low), relax.const(np.float32(255))))
    point = op.round(op.clip(op.divide(op.negative(low), scale), 0.0, 255.0))
    point = node.emit(op.astype(point, "uint8"))
    return [_quantized(node, x, scale, point, "uint8"), scale, point]


@converts("MatMulInteger")
def _matmul_integer(node: Node) -> Value:
    return integer_product(node, (0, 2), (1, 3))


@converts("QLinearMatMul")
def _qlinear_matmul(node: Node) -> Value:
    product = integer_product(node, (0, 2), (3, 5))
    a, b, y = (op.astype(node.expr(index), "float32") for index in (1, 4, 6))
    scale = op.divide(op.multiply(a, b), y)
    scaled = op.multiply(op.astype(product, "float32"), scale)
    return _quantized(node, scaled, None, node.expr(7), node.dtype(7))


@converts("ConvInteger")
def _conv_integer(node: Node) -> Value:
    return integer_convolution(node, (0, 2), (1, 3), None)


@converts("QLinearConv")
def _qlinear_conv(node: Node) -> Value:
    summed = integer_convolution(node, (0, 2), (3, 5), node.optional(8))
    scale = op.astype(node.expr(4), "float32")
    if node.rank(4) == 1 and node.sizes(4) != (1,):
        scale = op.expand_dims(scale, list(range(1, node.rank() - 1)))
    a, y = (op.astype(op.reshape(node.expr(index), []), "float32") for index in (1, 6))
    scaled = op.multiply(
        op.astype(summed, "float32"), op.divide(op.multiply(a, scale), y)
    )
    return _quantized(node, scaled, None, op.reshape(node.expr(7), []), node.dtype(7))

"""Activations that are converted as they are; torch decomposes others."""

from __future__ import annotations

from xdsl_tvm.frontend.torch.node import Node, Value, cast_to, converts
from xdsl_tvm.relax import op


@converts("gelu")
def _gelu(node: Node) -> Value:
    kind = node.text("approximate")
    if kind not in ("none", "tanh"):
        raise node.error(f"approximate must be none or tanh, not {kind}")
    return (op.nn.gelu if kind == "none" else op.nn.gelu_tanh)(node.expr())


@converts("silu")
def _silu(node: Node) -> Value:
    return op.nn.silu(node.expr())


@converts("leaky_relu")
def _leaky_relu(node: Node) -> Value:
    return op.nn.leakyrelu(node.expr(), node.number("negative_slope"))


@converts("softplus")
def _softplus(node: Node) -> Value:
    return op.nn.softplus(node.expr(), node.number("beta"), node.number("threshold"))


@converts("hardtanh")
def _hardtanh(node: Node) -> Value:
    low, high = (node.operand(name, node.dtype) for name in ("min_val", "max_val"))
    return op.minimum(op.maximum(node.expr(), low), high)


@converts("relu6")
def _relu6(node: Node) -> Value:
    return op.clip(node.expr(), 0, 6)


@converts("elu")
def _elu(node: Node) -> Value:
    x = node.expr()
    zero, one = (node.constant(number, x.dtype) for number in (0, 1))
    alpha, scale, inner = (
        node.constant(node.number(name), x.dtype)
        for name in ("alpha", "scale", "input_scale")
    )
    # The part above 0 is not exponentiated, which would overflow.
    below = op.subtract(op.exp(op.multiply(op.minimum(x, zero), inner)), one)
    factor = op.multiply(alpha, scale)
    return op.where(
        op.greater(x, zero), op.multiply(x, scale), op.multiply(below, factor)
    )


@converts("prelu", "_prelu_kernel")
def _prelu(node: Node) -> Value:
    x, slope = node.expr(), node.expr("weight")
    rank = len(x.shape)
    if len(slope.shape) == 1 and rank > 1:
        slope = op.reshape(slope, [1, slope.shape[0], *[1] * (rank - 2)])
    elif not rank:
        slope = op.reshape(slope, [])
    return op.where(op.less(x, node.constant(0, x.dtype)), op.multiply(x, slope), x)


@converts("_softmax", "_log_softmax", "softmax.int", "log_softmax.int", "_safe_softmax")
def _softmax(node: Node) -> Value:
    x = cast_to(node.expr(), node.dtype)
    rank = len(x.shape)
    function = op.nn.log_softmax if "log" in node.target else op.nn.softmax
    if not rank:
        return op.reshape(function(op.reshape(x, [1]), 0), [])
    axis = node.axis("dim", rank)
    if "safe" not in node.target:
        return function(x, axis)
    # Rows without a finite element are 0.
    x = node.emit(x)
    lowest = node.constant(float("-inf"), x.dtype)
    is_empty = op.equal(op.max(x, [axis], True), lowest)
    return op.where(is_empty, node.constant(0, x.dtype), function(x, axis))

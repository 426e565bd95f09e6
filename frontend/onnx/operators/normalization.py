"""Normalization, softmax and losses."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from xdsl_tvm import relax
from xdsl_tvm.dialects.relax.symbolic import product
from xdsl_tvm.frontend.onnx.node import Node, converts
from xdsl_tvm.frontend.onnx.values import Value
from xdsl_tvm.relax import op
from xdsl_tvm.relax.expr import Expr


@converts("BatchNormalization")
def _batch_norm(node: Node) -> Value | list[Value]:
    trains = node.int_of("training_mode", 0) or (
        node.opset < 7 and not node.int_of("is_test", 0)
    )
    if trains:
        raise node.error("training_mode is not converted; export for inference")
    if node.opset < 9 and not node.int_of("spatial", 1):
        raise node.error("spatial=0 is not converted")
    x, epsilon = node.expr(), node.float_of("epsilon", 1e-5)
    dtypes = {node.dtype(index) for index in range(5)}
    if len(dtypes) == 1:
        normalized = node.emit(
            op.nn.batch_norm(x, *node.exprs()[1:], 1, epsilon, training=False)
        )
        return normalized[0]
    # Of several dtypes: the factors are computed in that of the statistics.
    axes = list(range(1, node.rank() - 1))
    gamma, beta, mean, variance = (
        op.expand_dims(op.astype(each, "float32"), axes) if axes else each
        for each in node.exprs()[1:]
    )
    factor = op.divide(gamma, op.sqrt(op.add(variance, _f32(epsilon))))
    wide = op.subtract(op.astype(x, "float32"), mean)
    return op.astype(op.add(op.multiply(wide, factor), beta), x.dtype)


def _f32(number: float) -> Expr:
    return relax.const(np.float32(number))


def _standardized(
    node: Node, x: Expr, axes: Sequence[int], epsilon: float
) -> tuple[Expr, Expr, Expr]:
    """The data of mean 0 and variance 1 along axes, with mean and inverse deviation."""
    mean = node.emit(op.mean(x, list(axes), True))
    centred = node.emit(op.subtract(x, mean))
    variance = op.mean(op.multiply(centred, centred), list(axes), True)
    inverse = node.emit(op.rsqrt(op.add(variance, relax.const(epsilon, x.dtype))))
    return op.multiply(centred, inverse), mean, inverse


@converts("LayerNormalization")
def _layer_norm(node: Node) -> Value | list[Value | None]:
    axis = node.axis(node.int_of("axis", -1))
    axes = list(range(axis, node.rank()))
    x, epsilon = node.expr(), node.float_of("epsilon", 1e-5)
    stash = "float32" if node.int_of("stash_type", 1) == 1 else x.dtype
    wanted = any(node.outputs[1:])
    same = node.shape(1) == node.shape()[axis:]
    if not wanted and same and x.dtype == stash:
        bias = node.optional(2)
        if bias is None:
            bias = op.zeros(list(node.shape(1)), x.dtype)
        return op.nn.layer_norm(x, node.expr(1), bias, axes, epsilon)
    wide = x if x.dtype == stash else op.astype(x, stash)
    normalized, mean, inverse = _standardized(node, wide, axes, epsilon)
    if stash != x.dtype:
        normalized = op.astype(normalized, x.dtype)
    result = op.multiply(normalized, node.expr(1))
    if (given := node.optional(2)) is not None:
        result = op.add(result, given)
    return [result, mean, inverse]


@converts("InstanceNormalization")
def _instance_norm(node: Node) -> Value:
    axes = list(range(2, node.rank()))
    normalized, _, _ = _standardized(
        node, node.expr(), axes, node.float_of("epsilon", 1e-5)
    )
    spread = list(range(1, node.rank() - 1))
    scale, bias = (op.expand_dims(node.expr(index), spread) for index in (1, 2))
    return op.add(op.multiply(normalized, scale), bias)


@converts("GroupNormalization", since=21)
def _group_norm(node: Node) -> Value:
    groups, shape = node.int_of("num_groups"), list(node.shape())
    if groups < 1 or (shape[1].value or 0) % groups:
        raise node.error(f"{groups} groups do not divide {shape[1]} channels")
    x = node.expr()
    wide = op.reshape(x, [shape[0], groups, shape[1] // groups, *shape[2:]])
    stash = "float32" if node.int_of("stash_type", 1) == 1 else x.dtype
    if stash != x.dtype:
        wide = op.astype(wide, stash)
    axes = list(range(2, node.rank() + 1))
    normalized, _, _ = _standardized(node, wide, axes, node.float_of("epsilon", 1e-5))
    back = op.reshape(normalized, shape)
    if stash != x.dtype:
        back = op.astype(back, x.dtype)
    spread = list(range(1, node.rank() - 1))
    scale, bias = (op.expand_dims(node.expr(index), spread) for index in (1, 2))
    return op.add(op.multiply(back, scale), bias)


@converts("RMSNormalization")
def _rms_norm(node: Node) -> Value:
    axis = node.axis(node.int_of("axis", -1))
    axes = list(range(axis, node.rank()))
    x = node.expr()
    stash = "float32" if node.int_of("stash_type", 1) == 1 else x.dtype
    wide = x if x.dtype == stash else op.astype(x, stash)
    epsilon = relax.const(node.float_of("epsilon", 1e-5), stash)
    inverse = op.rsqrt(op.add(op.mean(op.multiply(wide, wide), axes, True), epsilon))
    result = op.multiply(wide, inverse)
    if stash != x.dtype:
        result = op.astype(result, x.dtype)
    return op.multiply(result, node.expr(1))


@converts("LpNormalization")
def _lp_norm(node: Node) -> Value:
    axis, x = node.axis(node.int_of("axis", -1)), node.expr()
    if node.int_of("p", 2) == 1:
        size = op.sum(op.abs(x), [axis], True)
    else:
        size = op.sqrt(op.sum(op.multiply(x, x), [axis], True))
    size = node.emit(size)
    # A vector of zeros stays one.
    is_zero = op.equal(size, node.scalar(0))
    return op.divide(x, op.where(is_zero, node.scalar(1), size))


@converts("MeanVarianceNormalization")
def _mean_variance_norm(node: Node) -> Value:
    axes = [node.axis(axis) for axis in node.ints_of("axes", [0, 2, 3])]
    x = node.expr()
    centred = node.emit(op.subtract(x, op.mean(x, axes, True)))
    deviation = op.sqrt(op.mean(op.multiply(centred, centred), axes, True))
    return op.divide(centred, op.add(deviation, node.scalar(1e-9)))


@converts("LRN")
def _lrn(node: Node) -> Value:
    size = node.int_of("size")
    x = node.expr()
    channels = node.sizes()[1]
    # Sums of neighbouring channels are products with ones near a diagonal.
    node.places(channels * channels)
    places = node.places(channels)
    offset = places[:, None] - places[None, :]
    near = (offset <= (size - 1) // 2) & (-offset <= size // 2)
    shape = list(node.shape())
    flat = op.reshape(op.multiply(x, x), [shape[0], channels, product(shape[2:])])
    sums = op.matmul(relax.const(near.T.astype(x.dtype)), flat)
    scaled = op.multiply(
        op.reshape(sums, shape), node.scalar(node.float_of("alpha", 1e-4) / size)
    )
    base = op.add(scaled, node.scalar(node.float_of("bias", 1.0)))
    return op.divide(x, op.power(base, node.scalar(node.float_of("beta", 0.75))))


@converts("Softmax", "LogSoftmax", "Hardmax")
def _softmax(node: Node) -> Value:
    x = node.expr()
    if node.opset >= 13:
        return _along(node, x, node.axis(node.int_of("axis", -1)))
    # Before opset 13 the axes from `axis` on are one.
    axis, shape = node.axis(node.int_of("axis", 1)), list(node.shape())
    flat = op.reshape(x, [product(shape[:axis]), product(shape[axis:])])
    return op.reshape(_along(node, flat, 1), shape)


def _along(node: Node, x: Expr, axis: int) -> Expr:
    if node.op_type == "Softmax":
        return op.nn.softmax(x, axis)
    if node.op_type == "LogSoftmax":
        return op.nn.log_softmax(x, axis)
    extent = x.shape[axis].value
    if extent is None:
        raise node.error(f"the extent of axis {axis} must be a number")
    shape = [1] * len(x.shape)
    shape[axis] = extent
    places = relax.const(node.places(extent).reshape(shape))
    largest = op.astype(op.argmax(x, axis, True), "int64")
    return op.astype(op.equal(places, largest), x.dtype)

"""Normalization."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from xdsl_tvm.dialects.relax.symbolic import product
from xdsl_tvm.frontend.torch.node import Node, Results, Value, cast_to, converts
from xdsl_tvm.relax import op
from xdsl_tvm.relax.expr import Expr


@converts("_native_batch_norm_legit_no_training")
def _batch_norm(node: Node) -> Results:
    x = node.expr("input")
    names = ("weight", "bias", "running_mean", "running_var")
    gamma, beta, mean, variance = (node.optional(name) for name in names)
    if mean is None or variance is None:
        raise node.error("it needs running statistics")
    dtype = variance.dtype
    count = list(variance.shape)
    gamma = op.ones(count, dtype) if gamma is None else gamma
    beta = op.zeros(count, dtype) if beta is None else beta
    normalized = op.nn.batch_norm(
        cast_to(x, dtype),
        cast_to(gamma, dtype),
        cast_to(beta, dtype),
        mean,
        variance,
        1,
        node.number("eps"),
        training=False,
    )
    # The statistics of the batch, which are the other results, are empty.
    empty = [op.zeros(list(each.dims), each.dtype) for each in node.metas[1:]]
    return [cast_to(node.emit(normalized)[0], node.dtype), *empty]


@converts("_native_batch_norm_legit.no_stats")
def _batch_norm_of_batch(node: Node) -> Results:
    """Normalization by the statistics of the data."""
    x = node.emit(node.expr("input"))
    rank = len(x.shape)
    axes = [axis for axis in range(rank) if axis != 1]
    normalized, mean, inverse = standardized(node, x, axes)
    shape = [1, x.shape[1], *[1] * (rank - 2)]
    result = _scaled(node, normalized, shape)
    return [result, *(op.reshape(each, [x.shape[1]]) for each in (mean, inverse))]


def standardized(node: Node, x: Expr, axes: Sequence[int]) -> tuple[Expr, Expr, Expr]:
    """The data of mean 0 and variance 1 along axes, with mean and inverse deviation."""
    mean = node.emit(op.mean(x, list(axes), True))
    centred = node.emit(op.subtract(x, mean))
    variance = op.mean(op.square(centred), list(axes), True)
    epsilon = node.constant(node.number("eps"), x.dtype)
    inverse = node.emit(op.rsqrt(op.add(variance, epsilon)))
    return op.multiply(centred, inverse), mean, inverse


def _scaled(node: Node, x: Expr, shape: Sequence[object]) -> Expr:
    """The data times the weight plus the bias, where they are given."""
    weight, bias = node.optional("weight"), node.optional("bias")
    if weight is not None:
        x = op.multiply(x, op.reshape(weight, shape))
    return x if bias is None else op.add(x, op.reshape(bias, shape))


@converts("layer_norm", "native_layer_norm")
def _layer_norm(node: Node) -> Results:
    x = node.expr("input")
    shape = node.dims_of("normalized_shape")
    rank = len(x.shape)
    axes = list(range(rank - len(shape), rank))
    is_native = "native" in node.target
    if is_native and (node.is_used(1) or node.is_used(2)):
        normalized, mean, inverse = standardized(node, x, axes)
        return [_scaled(node, normalized, shape), mean, inverse]
    gamma, beta = node.optional("weight"), node.optional("bias")
    gamma = op.ones(shape, x.dtype) if gamma is None else gamma
    beta = op.zeros(shape, x.dtype) if beta is None else beta
    result = op.nn.layer_norm(x, gamma, beta, axes, node.number("eps"))
    return [result, None, None] if is_native else result


@converts("group_norm", "native_group_norm")
def _group_norm(node: Node) -> Results:
    is_native = "native" in node.target
    x = node.expr("input")
    groups = node.integer("group" if is_native else "num_groups")
    channels, rank = x.shape[1], len(x.shape)
    if is_native and (node.is_used(1) or node.is_used(2)):
        batch = x.shape[0]
        inner = product(x.shape[1:]) // groups
        wide = node.emit(op.reshape(x, [batch, groups, inner]))
        normalized, mean, inverse = standardized(node, wide, [2])
        back = op.reshape(normalized, list(x.shape))
        result = _scaled(node, back, [1, channels, *[1] * (rank - 2)])
        return [result, *(op.reshape(each, [batch, groups]) for each in (mean, inverse))]
    gamma, beta = node.optional("weight"), node.optional("bias")
    gamma = op.ones([channels], x.dtype) if gamma is None else gamma
    beta = op.zeros([channels], x.dtype) if beta is None else beta
    axes = list(range(2, rank))
    result = op.nn.group_norm(x, gamma, beta, groups, 1, axes, node.number("eps"))
    return [result, None, None] if is_native else result


@converts("rms_norm")
def _rms_norm(node: Node) -> Value:
    x = node.expr("input")
    shape = node.dims_of("normalized_shape")
    rank = len(x.shape)
    weight = node.optional("weight")
    weight = op.ones(shape, x.dtype) if weight is None else weight
    # Without an epsilon it is what 1 is rounded by, of the dtype that is computed in.
    wide = "float64" if x.dtype == "float64" else "float32"
    epsilon = node.number("eps") if node.has("eps") else float(np.finfo(wide).eps)
    axes = list(range(rank - len(shape), rank))
    return op.nn.rms_norm(x, weight, axes, epsilon)

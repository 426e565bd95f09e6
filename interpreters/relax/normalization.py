"""Evaluation of normalisations and attention (docs/spec/relax-ops.md §11)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.attention import AnyAttentionOp
from xdsl_tvm.interpreters.relax.nn import along
from xdsl_tvm.interpreters.relax.numbers import (
    Evaluation,
    dtype_of,
    integers,
    rounded,
    wide,
)
from xdsl_tvm.interpreters.relax.reductions import mean, variance
from xdsl_tvm.interpreters.relax.values import Array


def _log_softmax(op: relax.LogSoftmaxOp, data: Array) -> Array:
    axis = op.axis.value.data
    values = wide(data)
    if values.shape[axis]:
        values = values - values.max(axis=axis, keepdims=True)
    sums = np.exp(values).sum(axis=axis, keepdims=True)
    return rounded(values - np.log(sums), dtype_of(op.data, data))


def _batch_norm(op: relax.BatchNormOp, data: Array, *parameters: Array) -> Any:
    gamma, beta, moving_mean, moving_var = parameters
    dtype = dtype_of(op.data, data)
    axis = op.axis.value.data % data.ndim
    middle, spread = wide(moving_mean), wide(moving_var)
    moved = (moving_mean, moving_var)
    if op.inference is None:
        others = tuple(other for other in range(data.ndim) if other != axis)
        share = op.momentum.value.data
        found = [statistic(wide(data), others, False) for statistic in (mean, variance)]
        moved = tuple(
            rounded((1 - share) * wide(old) + share * new, dtype)
            for old, new in zip(moved, found, strict=True)
        )
        middle, spread = found
    result = wide(data) - along(middle, (axis,), data)
    result = result / np.sqrt(along(spread, (axis,), data) + op.epsilon.value.data)
    if op.no_scale is None:
        result = result * along(gamma, (axis,), data)
    if op.no_center is None:
        result = result + along(beta, (axis,), data)
    return (rounded(result, dtype), *moved)


def _group_norm(op: relax.GroupNormOp, data: Array, gamma: Array, beta: Array) -> Array:
    axis = op.channel_axis.value.data % data.ndim
    groups = op.num_groups.value.data
    shape = data.shape
    split = (*shape[:axis], groups, shape[axis] // groups, *shape[axis + 1 :])
    values = wide(data).reshape(split)
    spanned = [other % data.ndim for other in integers(op.axes)]
    axes = (axis + 1, *(other + 1 if other > axis else other for other in spanned))
    found = values - mean(values, axes, True)
    found = found / np.sqrt(variance(values, axes, True) + op.epsilon.value.data)
    found = found.reshape(shape)
    if op.no_scale is None:
        found = found * along(gamma, (axis,), data)
    if op.no_center is None:
        found = found + along(beta, (axis,), data)
    return rounded(found, dtype_of(op.data, data))


def _rms_norm(op: relax.RMSNormOp, data: Array, weight: Array) -> Array:
    axes = tuple(axis % data.ndim for axis in integers(op.axes))
    values = wide(data)
    size = np.sqrt(mean(values * values, axes, True) + op.epsilon.value.data)
    return rounded(values / size * along(weight, axes, data), dtype_of(op.data, data))


def _mask(op: AnyAttentionOp, queries: int, keys: int) -> Any:
    """Which keys each query sees."""
    place = np.arange(queries)[:, None]
    key = np.arange(keys)[None, :]
    mask = op.causal_mask
    if mask is not None and mask.data == "BottomRight":
        place = place + (keys - queries)
    seen = np.ones((queries, keys), np.bool_)
    if mask is not None:
        seen &= key <= place
    if op.window_size is not None:
        seen &= key > place - op.window_size.value.data
    return seen


def _attend(
    op: AnyAttentionOp, query: Array, key: Array, value: Array, bias: Any
) -> Array:
    """Attention in f64; operands [batch, sequence, heads, features]."""
    q, k, v = (wide(array).transpose(0, 2, 1, 3) for array in (query, key, value))
    # Several heads of queries may share one of keys and values.
    k, v = (np.repeat(array, q.shape[1] // array.shape[1], 1) for array in (k, v))
    scale = 1 / math.sqrt(q.shape[3]) if op.scale is None else op.scale.value.data
    scores = np.matmul(q, k.swapaxes(2, 3)) * scale + bias
    seen = _mask(op, q.shape[2], k.shape[2])
    weights = np.exp(scores - scores.max(axis=3, keepdims=True, initial=-np.inf)) * seen
    found = np.matmul(weights / weights.sum(axis=3, keepdims=True), v)
    return found.transpose(0, 2, 1, 3)


def _attention(op: AnyAttentionOp, query: Array, key: Array, *rest: Array) -> Array:
    value, *bias = rest
    term = wide(bias[0]) if bias else 0.0
    found = _attend(op, query, key, value, term)
    return rounded(found, dtype_of(op.operands[0], query))


def _attention_var_len(op: relax.AttentionVarLenOp, *operands: Array) -> Array:
    query, key, value, starts_q, starts_k, _, _ = operands
    found = np.zeros((*query.shape[:3], value.shape[3]))
    for sequence in range(len(starts_q) - 1):
        q = slice(int(starts_q[sequence]), int(starts_q[sequence + 1]))
        k = slice(int(starts_k[sequence]), int(starts_k[sequence + 1]))
        found[:, q] = _attend(op, query[:, q], key[:, k], value[:, k], 0.0)
    return rounded(found, dtype_of(op.query, query))


TABLE: Mapping[str, Evaluation] = {
    relax.AttentionBiasOp.name: _attention,
    relax.AttentionOp.name: _attention,
    relax.AttentionVarLenOp.name: _attention_var_len,
    relax.BatchNormOp.name: _batch_norm,
    relax.GroupNormOp.name: _group_norm,
    relax.LogSoftmaxOp.name: _log_softmax,
    relax.RMSNormOp.name: _rms_norm,
}

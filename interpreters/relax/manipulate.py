"""Evaluation of the operators that move elements (docs/spec/relax-ops.md §8)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from xdsl_tvm.dialects import relax
from xdsl_tvm.interpreters.errors import ArgumentError
from xdsl_tvm.interpreters.relax.numbers import (
    Evaluation,
    dtype_of,
    integers,
    rounded,
    wide,
)
from xdsl_tvm.interpreters.relax.reductions import total
from xdsl_tvm.interpreters.relax.values import Array, ShapeValue


def _permute_dims(op: relax.PermuteDimsOp, data: Array) -> Array:
    return np.transpose(data, None if op.axes is None else integers(op.axes))


def _reshape(op: relax.ReshapeOp, data: Array, shape: ShapeValue) -> Array:
    if math.prod(shape) != data.size:
        raise ArgumentError(
            f"{data.size} elements cannot have the shape {list(shape)}, "
            f"of {math.prod(shape)}"
        )
    return data.reshape(shape)


def _flatten(op: relax.FlattenOp, data: Array) -> Array:
    return data.reshape(-1)


def _broadcast_to(op: relax.BroadcastToOp, data: Array, shape: ShapeValue) -> Array:
    return np.broadcast_to(data, shape)


def _concat(op: relax.ConcatOp, tensors: tuple[Array, ...]) -> Array:
    return np.concatenate(tensors, 0 if op.axis is None else op.axis.value.data)


def _expand_dims(op: relax.ExpandDimsOp, data: Array) -> Array:
    return np.expand_dims(data, tuple(integers(op.axis)))


def _squeeze(op: relax.SqueezeOp, data: Array) -> Array:
    return np.squeeze(data, None if op.axis is None else tuple(integers(op.axis)))


def _split(op: relax.SplitOp, data: Array) -> Any:
    axis = op.axis.value.data
    extent = data.shape[axis]
    if op.sections is not None:
        count = op.sections.value.data
        step = -(-extent // count)
        cuts = [step * part for part in range(1, count)]
    else:
        cuts = [] if op.indices is None else integers(op.indices)
    if not cuts:
        return data
    return tuple(_part(data, axis, a, b) for a, b in _pairs(cuts, extent))


def _pairs(cuts: Sequence[int], extent: int) -> list[tuple[int, int]]:
    """Begin and end of each part; what is cut beyond an end is empty."""
    inside = [min(max(cut, 0), extent) for cut in cuts]
    return list(zip([0, *inside], [*inside, extent], strict=True))


def _part(data: Array, axis: int, begin: int, end: int) -> Array:
    return np.take(data, range(begin, max(begin, end)), axis)


def _collapse_sum(
    op: relax.CollapseSumLikeOp | relax.CollapseSumToOp, data: Array, target: Any
) -> Array:
    shape: tuple[int, ...] = target if isinstance(target, ShapeValue) else target.shape
    lead = data.ndim - len(shape)
    found = total(wide(data), tuple(range(lead)), keepdims=False)
    repeated = tuple(
        axis
        for axis, (extent, wanted) in enumerate(zip(found.shape, shape, strict=True))
        if wanted == 1 and extent != 1
    )
    found = total(found, repeated, keepdims=True)
    if found.shape != tuple(shape):
        raise ArgumentError(f"shape {list(data.shape)} cannot be summed to {list(shape)}")
    return rounded(found, dtype_of(op.data, data))


def _repeat(op: relax.RepeatOp, data: Array) -> Array:
    axis = None if op.axis is None else op.axis.value.data
    return np.repeat(data, op.repeats.value.data, axis)


def _tile(op: relax.TileOp, data: Array) -> Array:
    return np.tile(data, integers(op.repeats))


def _flip(op: relax.FlipOp, data: Array) -> Array:
    return np.flip(data, op.axis.value.data)


def _tensor_to_shape(op: relax.TensorToShapeOp, value: Array) -> ShapeValue:
    return ShapeValue(int(extent) for extent in value)


def _shape_to_tensor(op: relax.ShapeToTensorOp, value: ShapeValue) -> Array:
    return np.array(value, np.int64)


TABLE: Mapping[str, Evaluation] = {
    relax.BroadcastToOp.name: _broadcast_to,
    relax.CollapseSumLikeOp.name: _collapse_sum,
    relax.CollapseSumToOp.name: _collapse_sum,
    relax.ConcatOp.name: _concat,
    relax.ExpandDimsOp.name: _expand_dims,
    relax.FlattenOp.name: _flatten,
    relax.FlipOp.name: _flip,
    relax.PermuteDimsOp.name: _permute_dims,
    relax.RepeatOp.name: _repeat,
    relax.ReshapeOp.name: _reshape,
    relax.ShapeToTensorOp.name: _shape_to_tensor,
    relax.SplitOp.name: _split,
    relax.SqueezeOp.name: _squeeze,
    relax.TensorToShapeOp.name: _tensor_to_shape,
    relax.TileOp.name: _tile,
}

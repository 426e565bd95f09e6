"""Evaluation of indexing, sorting and sets (docs/spec/relax-ops.md §6, §10)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import i64

from xdsl_tvm.dialects import relax
from xdsl_tvm.interpreters.errors import ArgumentError, OutOfBoundsError
from xdsl_tvm.interpreters.relax.numbers import (
    Evaluation,
    attribute_of,
    dtype_of,
    rounded,
    wide,
)
from xdsl_tvm.interpreters.relax.values import Array, storage_of


def checked_indices(indices: Any, low: int, extent: int, where: str) -> Array:
    """The indices as i64. Raises OutOfBoundsError for one below `low` or beyond `where`,
    of that extent."""
    given = np.asarray(indices)
    outside = given[(given < low) | (given >= extent)]
    if outside.size:
        raise OutOfBoundsError(
            f"index {outside.ravel()[0]} is out of range for {where} with extent {extent}"
        )
    return given.astype(np.int64)


def take(data: Array, indices: Any, axis: int, where: str | None = None) -> Array:
    """The slices of `data` at `indices`. Raises OutOfBoundsError."""
    where = where or f"axis {axis % data.ndim}"
    places = checked_indices(indices, 0, data.shape[axis], where)
    return np.asarray(np.take(data, places, axis))


def _take(op: relax.TakeOp, data: Array, indices: Any) -> Array:
    return take(data, indices, 0 if op.axis is None else op.axis.value.data)


def _slice(
    data: Array, axis: int, begin: int, end: int, stride: int, inbound: bool
) -> Array:
    """Every `stride`-th slice; indices count from the end, and are cut off."""
    if stride == 0:
        raise ArgumentError("the stride of a slice is 0")
    extent = data.shape[axis]
    if not inbound:
        low, high = (0, extent) if stride > 0 else (-1, extent - 1)
        begin = min(max(begin + extent if begin < 0 else begin, low), high)
        end = min(max(end + extent if end < 0 else end, low), high)
    return take(data, np.arange(begin, end, stride), axis)


def _strided_slice(op: relax.StridedSliceOp, data: Array, *tuples: Any) -> Array:
    axes, begin, end, *rest = tuples
    strides = rest[0] if rest else (1,) * len(axes)
    inbound = op.assume_inbound is not None
    for bounds in zip(axes, begin, end, strides, strict=True):
        data = _slice(data, *bounds, inbound)
    return data


def _dynamic_strided_slice(
    op: relax.DynamicStridedSliceOp,
    data: Array,
    begin: Array,
    end: Array,
    strides: Array,
) -> Array:
    for axis in range(data.ndim):
        bounds = (int(begin[axis]), int(end[axis]), int(strides[axis]))
        data = _slice(data, axis, *bounds, inbound=False)
    return data


def _order(data: Array, axis: int, descending: bool) -> Array:
    """Indices that sort, those of equal elements in ascending order."""
    values = wide(data)
    if not descending:
        return np.argsort(values, axis=axis, kind="stable")
    last = data.shape[axis] - 1
    backwards = np.argsort(np.flip(values, axis), axis=axis, kind="stable")
    return last - np.flip(backwards, axis)


def _sort(op: relax.SortOp, data: Array) -> Array:
    axis = op.axis.value.data
    order = _order(data, axis, op.descending is not None)
    return np.take_along_axis(data, order, axis)


def _argsort(op: relax.ArgsortOp, data: Array) -> Array:
    order = _order(data, op.axis.value.data, op.descending is not None)
    return rounded(order, op.dtype or dtype_of(op.data, data))


def _topk(op: relax.TopkOp, data: Array) -> Any:
    axis, count = op.axis.value.data, op.k.value.data
    order = _order(data, axis, op.smallest is None)
    if count >= 1:
        order = np.take(order, range(min(count, data.shape[axis])), axis)
    values = np.take_along_axis(data, order, axis)
    indices = rounded(order, op.dtype)
    both = {"values": values, "indices": indices}
    return both.get(op.ret_type.data, (values, indices))


def _multinomial(
    op: relax.MultinomialFromUniformOp, prob: Array, uniform: Array, rows: Array
) -> Array:
    """The first index whose cumulated probability exceeds the sample, else the last."""
    sums = np.cumsum(wide(take(prob, rows[:, 0], 0, "the rows")), axis=1)
    exceeds = sums > wide(uniform)
    exceeds[:, -1] = True
    return rounded(np.argmax(exceeds, axis=1)[:, None], op.dtype)


def unique(data: Array, *scalars: int) -> Any:
    """The different elements in ascending order, and what the flags ask for.

    This is also the runtime's function `relax.run.unique`.
    """
    flags = [bool(flag) for flag in scalars[1:4]]
    axis = scalars[4] if len(scalars) > 4 else None
    found = cast(
        "Sequence[Array]",
        np.unique(
            wide(data),
            return_index=True,
            return_inverse=True,
            return_counts=True,
            axis=axis,
        ),
    )
    values = rounded(found[0], attribute_of(data.dtype))
    numbers = [
        other.reshape(-1).astype(storage_of(i64))
        for other, wanted in zip(found[1:], flags, strict=True)
        if wanted
    ]
    return (values, *numbers) if numbers else values


def nonzero(data: Array) -> Array:
    """A column of indices for each element that is not zero.

    This is also the runtime's function `relax.run.nonzero`.
    """
    places = np.nonzero(np.atleast_1d(wide(data)))
    return np.array(places[: data.ndim], np.int64).reshape(data.ndim, len(places[0]))


def _unique(op: relax.UniqueOp, data: Array, *scalars: int) -> Any:
    return unique(data, *scalars)


def _nonzero(op: relax.NonzeroOp, data: Array) -> Array:
    return nonzero(data)


TABLE: Mapping[str, Evaluation] = {
    relax.ArgsortOp.name: _argsort,
    relax.DynamicStridedSliceOp.name: _dynamic_strided_slice,
    relax.MultinomialFromUniformOp.name: _multinomial,
    relax.NonzeroOp.name: _nonzero,
    relax.SortOp.name: _sort,
    relax.StridedSliceOp.name: _strided_slice,
    relax.TakeOp.name: _take,
    relax.TopkOp.name: _topk,
    relax.UniqueOp.name: _unique,
}

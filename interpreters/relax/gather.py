"""Evaluation of gathering, scattering, padding and losses.

docs/spec/relax-ops.md §8, §11.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from xdsl_tvm.dialects import relax
from xdsl_tvm.interpreters.data.numbers import number
from xdsl_tvm.interpreters.errors import ArgumentError
from xdsl_tvm.interpreters.relax.indexing import checked_indices, take
from xdsl_tvm.interpreters.relax.numbers import (
    Evaluation,
    dtype_of,
    integers,
    rounded,
    truncated_divide,
    wide,
)
from xdsl_tvm.interpreters.relax.values import Array


def _checked(indices: Array, shape: Sequence[int], axis: int) -> Array:
    """Indices as numpy's; negative ones count from the end."""
    return checked_indices(indices, -shape[axis], shape[axis], f"axis {axis}")


def _gather_elements(op: relax.GatherElementsOp, data: Array, indices: Array) -> Array:
    axis = op.axis.value.data % data.ndim
    places = _checked(indices, data.shape, axis)
    found = np.empty(places.shape, data.dtype)
    for at in np.ndindex(places.shape):
        found[at] = data[_replaced(at, axis, places[at])]
    return found


def _replaced(at: tuple[int, ...], axis: int, place: Any) -> tuple[int, ...]:
    """A position with another index on one axis."""
    return (*at[:axis], int(place), *at[axis + 1 :])


def _gather_nd(op: relax.GatherNDOp, data: Array, indices: Array) -> Array:
    batch = op.batch_dims.value.data
    taken = data.shape[batch + indices.shape[-1] :]
    found = np.empty((*indices.shape[:-1], *taken), data.dtype)
    for at in np.ndindex(data.shape[:batch]):
        found[at] = data[at][_positions(indices[at], data.shape, batch)]
    return found


def _positions(
    indices: Array, shape: tuple[int, ...], first: int = 0
) -> tuple[Array, ...]:
    """Indices with a position along the last axis, as numpy takes them.

    The positions are those of the axes from `first` on.
    """
    return tuple(
        _checked(indices[..., place], shape, first + place)
        for place in range(indices.shape[-1])
    )


_REDUCTIONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "update": lambda _, new: new,
    "add": np.add,
    "mul": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    # Half of both, one update after the other; an integer is cut off when it is stored.
    "mean": lambda old, new: (old + new) / 2,
}


def _scatter_elements(
    op: relax.ScatterElementsOp, data: Array, indices: Array, updates: Array
) -> Array:
    axis = op.axis.value.data % data.ndim
    places = _checked(indices, data.shape, axis)
    found, combine = data.copy(), _combination(op, data)
    for at in np.ndindex(places.shape):
        target = _replaced(at, axis, places[at])
        found[target] = combine(found[target], updates[at])
    return found


def _combination(
    op: relax.ScatterElementsOp | relax.ScatterNDOp, data: Array
) -> Callable[[Any, Any], Any]:
    """What an update makes of elements: each is rounded before the next one."""
    function, dtype = _REDUCTIONS[op.reduction.data], dtype_of(op.data, data)

    def combine(old: Any, new: Any) -> Any:
        return rounded(function(wide(np.asarray(old)), wide(np.asarray(new))), dtype)

    return combine


def _scatter_nd(
    op: relax.ScatterNDOp, data: Array, indices: Array, updates: Array
) -> Array:
    positions = _positions(indices, data.shape)
    found, combine = data.copy(), _combination(op, data)
    for at in np.ndindex(indices.shape[:-1]):
        target = tuple(int(place[at]) for place in positions)
        found[target] = combine(found[target], updates[at])
    return found


def _one_hot(op: relax.OneHotOp, indices: Array, on: Any, off: Any) -> Array:
    assert isinstance(op.on_value.type, relax.PrimType), "verified"
    storage = number(op.on_value.type.dtype).storage
    axis = op.axis.value.data % (indices.ndim + 1)
    shape = [1] * (indices.ndim + 1)
    shape[axis] = op.depth.value.data
    numbers = np.arange(op.depth.value.data).reshape(shape)
    is_hot = np.expand_dims(indices, axis) == numbers
    return np.where(is_hot, np.array(on, storage), np.array(off, storage))


_PAD_MODES: Mapping[str, Literal["reflect", "edge", "wrap"]] = {
    "reflect": "reflect",
    "replicate": "edge",
    "edge": "edge",
    "circular": "wrap",
}
"""Names of the modes in numpy."""


def _pad(op: relax.PadOp, data: Array) -> Array:
    mode = op.pad_mode.data
    pairs = np.reshape(integers(op.pad_width), (-1, 2))
    if not data.ndim:
        return data
    if mode == "constant":
        value = number(dtype_of(op.data, data)).convert(op.pad_value.value.data)
        return np.pad(data, pairs, constant_values=value)
    if mode not in _PAD_MODES:
        known = ", ".join(("constant", *_PAD_MODES))
        raise ArgumentError(f'pad mode "{mode}" is not evaluated, but {known} are')
    return np.pad(data, pairs, mode=_PAD_MODES[mode])


def _dropout(op: relax.DropoutOp, data: Array) -> Any:
    """As at inference: all elements, none of them dropped."""
    return data, np.ones_like(data)


def _cross_entropy(
    op: relax.CrossEntropyWithLogitsOp, predictions: Array, labels: Array
) -> Array:
    dtype = dtype_of(op.predictions, predictions)
    found = -np.sum(wide(predictions) * wide(labels))
    if predictions.ndim < 2:
        return rounded(found, dtype)
    if number(dtype).is_float:
        return rounded(found / predictions.shape[0], dtype)
    count = max(predictions.shape[0], 1)
    return rounded(truncated_divide(found, np.asarray(count)), dtype)


def _nll_loss(
    op: relax.NLLLossOp, predictions: Array, targets: Array, *rest: Array
) -> Array:
    dtype = dtype_of(op.predictions, predictions)
    scores = np.moveaxis(wide(predictions), 1 if predictions.ndim > 1 else 0, -1)
    weights = wide(rest[0]) if rest else np.ones(scores.shape[-1])
    counts = targets != op.ignore_index.value.data
    places = np.where(counts, targets, 0)
    checked_indices(places, 0, scores.shape[-1], "the classes")
    weight = np.where(counts, take(weights, places, 0), 0)
    picked = np.take_along_axis(scores, np.asarray(places, np.int64)[..., None], -1)
    loss = -picked[..., 0] * weight
    match op.reduction.data:
        case "none":
            return rounded(loss, dtype)
        case "sum":
            return rounded(loss.sum(), dtype)
        case _:
            count = weight.sum()
            if count == 0 and not number(dtype).is_float:
                return rounded(np.zeros(()), dtype)
            return rounded(loss.sum() / count, dtype)


TABLE: Mapping[str, Evaluation] = {
    relax.CrossEntropyWithLogitsOp.name: _cross_entropy,
    relax.DropoutOp.name: _dropout,
    relax.GatherElementsOp.name: _gather_elements,
    relax.GatherNDOp.name: _gather_nd,
    relax.NLLLossOp.name: _nll_loss,
    relax.OneHotOp.name: _one_hot,
    relax.PadOp.name: _pad,
    relax.ScatterElementsOp.name: _scatter_elements,
    relax.ScatterNDOp.name: _scatter_nd,
}

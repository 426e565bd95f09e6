"""Evaluation of the reductions (docs/spec/relax-ops.md §9)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from xdsl_tvm.dialects import relax
from xdsl_tvm.interpreters.data.numbers import number
from xdsl_tvm.interpreters.errors import ArgumentError
from xdsl_tvm.interpreters.relax.numbers import (
    Evaluation,
    cast_array,
    dtype_of,
    is_float_array,
    rounded,
    truncated_divide,
    wide,
)
from xdsl_tvm.interpreters.relax.values import Array

Axes = tuple[int, ...]


def _reduction(function: Callable[..., Any]) -> Evaluation:
    """The operator that computes `function(array, axes, keepdims)`."""

    def evaluate(op: relax.ReductionOp, data: Array) -> Array:
        axes = tuple(range(data.ndim)) if op.axes is None else op.axes
        found = function(wide(data), axes, op.keepdims is not None)
        return rounded(found, dtype_of(op.data, data))

    return evaluate


def total(values: Array, axes: Axes, keepdims: bool) -> Array:
    """The sum along axes, in the arithmetic of the elements."""
    dtype = values.dtype
    return np.asarray(np.sum(values, axis=axes, keepdims=keepdims, dtype=dtype))


def _product(values: Array, axes: Axes, keepdims: bool) -> Array:
    dtype = values.dtype
    return np.asarray(np.prod(values, axis=axes, keepdims=keepdims, dtype=dtype))


def mean(values: Array, axes: Axes, keepdims: bool) -> Array:
    """The sum divided by the number of elements; that of integers is truncated, and 0 for
    no elements."""
    count = np.prod([values.shape[axis] for axis in axes], dtype=np.int64)
    found = total(values, axes, keepdims)
    if is_float_array(values):
        return found / np.float64(count)
    wide_quotient = truncated_divide(
        found.astype(np.int64), np.asarray(max(int(count), 1), np.int64)
    )
    return wide_quotient.astype(values.dtype)


def variance(values: Array, axes: Axes, keepdims: bool) -> Array:
    """The mean of the squared distance from the mean."""
    distance = values - mean(values, axes, True)
    return mean(distance * distance, axes, keepdims)


def _extreme(greatest: bool) -> Evaluation:
    function = np.max if greatest else np.min

    def evaluate(op: relax.ReductionOp, data: Array) -> Array:
        dtype = dtype_of(op.data, data)
        element = number(dtype)
        start = element.low if greatest else element.high
        if element.is_float:
            start = -np.inf if greatest else np.inf
        axes = tuple(range(data.ndim)) if op.axes is None else op.axes
        keepdims = op.keepdims is not None
        found = function(wide(data), axis=axes, keepdims=keepdims, initial=start)
        return rounded(found, dtype)

    return evaluate


def _arg_extreme(function: Callable[..., Any]) -> Evaluation:
    """The operator that finds the first of the greatest or smallest elements."""

    def evaluate(op: relax.ArgReductionOp, data: Array) -> Array:
        axis = None if op.axis is None else op.axis.value.data
        if not data.size:
            raise ArgumentError(f"{op.name}: there is no element to choose")
        found = function(wide(data), axis=axis, keepdims=op.keepdims is not None)
        return np.asarray(found, np.int64)

    return evaluate


def _scan(function: np.ufunc, identity: int) -> Evaluation:
    """The operator that combines each element with those before it."""

    def evaluate(op: relax.ScanOp, data: Array) -> Array:
        dtype = op.dtype or dtype_of(op.data, data)
        values = wide(cast_array(data, dtype))
        axis = 0 if op.axis is None else op.axis.value.data
        if op.axis is None:
            values = values.reshape(-1)
        found = function.accumulate(values, axis=axis, dtype=values.dtype)
        if op.exclusive is not None and found.shape[axis]:
            found = np.roll(found, 1, axis)
            np.moveaxis(found, axis, 0)[0] = identity
        return rounded(found, dtype)

    return evaluate


TABLE: Mapping[str, Evaluation] = {
    "relax.argmax": _arg_extreme(np.argmax),
    "relax.argmin": _arg_extreme(np.argmin),
    "relax.cumprod": _scan(np.multiply, 1),
    "relax.cumsum": _scan(np.add, 0),
    "relax.max": _extreme(greatest=True),
    "relax.mean": _reduction(mean),
    "relax.min": _extreme(greatest=False),
    "relax.prod": _reduction(_product),
    "relax.std": _reduction(lambda *arguments: np.sqrt(variance(*arguments))),
    "relax.sum": _reduction(total),
    "relax.variance": _reduction(variance),
}

"""Evaluation of operators that make and convert tensors.

docs/spec/relax-ops.md §4, §5.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from xdsl_tvm.dialects import relax
from xdsl_tvm.interpreters.errors import DivisionByZeroError
from xdsl_tvm.interpreters.relax.numbers import (
    Evaluation,
    cast_array,
    dtype_of,
    rounded,
)
from xdsl_tvm.interpreters.relax.values import Array, ShapeValue, storage_of


def _full(op: relax.FullOp, shape: ShapeValue, fill_value: Array) -> Array:
    dtype = op.dtype or dtype_of(op.fill_value, fill_value)
    return np.broadcast_to(cast_array(fill_value, dtype), shape)


def _full_like(op: relax.FullLikeOp, data: Array, fill_value: Array) -> Array:
    dtype = op.dtype or dtype_of(op.data, data)
    return np.broadcast_to(cast_array(fill_value, dtype), data.shape)


def _filled(value: int) -> Evaluation:
    def evaluate(op: relax.FilledOp, shape: ShapeValue) -> Array:
        return np.full(shape, value).astype(storage_of(op.dtype))

    return evaluate


def _filled_like(value: int) -> Evaluation:
    def evaluate(op: relax.FilledLikeOp, data: Array) -> Array:
        dtype = op.dtype or dtype_of(op.data, data)
        return np.full(data.shape, value).astype(storage_of(dtype))

    return evaluate


def _eye(op: relax.EyeOp, n: int, m: int, k: int) -> Array:
    return np.eye(n, m, k).astype(storage_of(op.dtype))


def _eye_like(op: relax.EyeLikeOp, data: Array, k: int) -> Array:
    rows, columns = data.shape
    dtype = op.dtype or dtype_of(op.data, data)
    return np.eye(rows, columns, k).astype(storage_of(dtype))


def _arange(op: relax.ArangeOp, start: Any, end: Any, step: Any) -> Array:
    if step == 0:
        raise DivisionByZeroError("the step of a range is 0")
    if all(isinstance(value, int) for value in (start, end, step)):
        return rounded(np.array(range(start, end, step), np.int64), op.dtype)
    # The length is computed in single precision, the elements are not.
    single = np.float32
    steps = (single(end) - single(start)) / single(step)
    places = np.arange(max(0, math.ceil(steps)), dtype=np.float64)
    return cast_array(float(start) + places * float(step), op.dtype)


def _tril(op: relax.TrilOp, data: Array, k: int) -> Array:
    return np.tril(data, k)


def _triu(op: relax.TriuOp, data: Array, k: int) -> Array:
    return np.triu(data, k)


def _convert(op: relax.DtypeOp, data: Array) -> Array:
    return cast_array(data, op.dtype)


def _identity(op: relax.OperatorOp, data: Array) -> Array:
    return data


TABLE: Mapping[str, Evaluation] = {
    relax.ArangeOp.name: _arange,
    relax.AstypeOp.name: _convert,
    relax.EndCheckpointOp.name: _identity,
    relax.EyeLikeOp.name: _eye_like,
    relax.EyeOp.name: _eye,
    relax.FullLikeOp.name: _full_like,
    relax.FullOp.name: _full,
    relax.HintOnDeviceOp.name: _identity,
    relax.NoGradOp.name: _identity,
    relax.OnesLikeOp.name: _filled_like(1),
    relax.OnesOp.name: _filled(1),
    relax.StartCheckpointOp.name: _identity,
    relax.StopLiftParamsOp.name: _identity,
    relax.ToVDeviceOp.name: _identity,
    relax.TrilOp.name: _tril,
    relax.TriuOp.name: _triu,
    relax.WrapParamOp.name: _convert,
    relax.ZerosLikeOp.name: _filled_like(0),
    relax.ZerosOp.name: _filled(0),
}

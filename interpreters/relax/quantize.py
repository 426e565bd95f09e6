"""Evaluation of quantisation (docs/spec/relax-ops.md §12)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from xdsl.dialects.builtin import f16

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.dtypes import finite_range
from xdsl_tvm.interpreters.data.numbers import number
from xdsl_tvm.interpreters.relax.nn import along
from xdsl_tvm.interpreters.relax.numbers import Evaluation, cast_array
from xdsl_tvm.interpreters.relax.values import Array


def _parameter(values: Array, axis: int, data: Array) -> Any:
    """A scale or zero point, to combine with all of the data."""
    numbers = values.astype(np.float64)
    if numbers.size == 1:
        return numbers.reshape(())
    return along(numbers, (axis % data.ndim,), data)


def _quantize(op: relax.QuantizeOp, data: Array, scale: Array, zero: Array) -> Array:
    axis = op.axis.value.data
    found = data.astype(np.float64) / _parameter(scale, axis, data)
    if not number(op.out_dtype).is_float:
        found = np.rint(found)
    found = np.clip(found + _parameter(zero, axis, data), *finite_range(op.out_dtype))
    return cast_array(found, op.out_dtype)


def _dequantize(op: relax.DequantizeOp, data: Array, scale: Array, zero: Array) -> Array:
    axis = op.axis.value.data
    found = data.astype(np.float64) - _parameter(zero, axis, data)
    found = found * _parameter(scale, axis, data)
    if op.out_dtype == f16:
        found = np.clip(found, *finite_range(f16))
    return cast_array(found, op.out_dtype)


TABLE: Mapping[str, Evaluation] = {
    relax.DequantizeOp.name: _dequantize,
    relax.QuantizeOp.name: _quantize,
}

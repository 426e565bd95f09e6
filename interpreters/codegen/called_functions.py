"""Functions that the generated code calls by name."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, cast

import numpy as np

from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.integers import truncated_quotient, truncated_remainder
from xdsl_tvm.interpreters.codegen import builtins as _builtins
from xdsl_tvm.interpreters.data import memory as _memory
from xdsl_tvm.interpreters.data import numbers as _numbers
from xdsl_tvm.interpreters.data import packed as _packed
from xdsl_tvm.interpreters.data.memory import Tensor
from xdsl_tvm.interpreters.data.numbers import Number
from xdsl_tvm.interpreters.data.values import reinterpreted
from xdsl_tvm.interpreters.errors import (
    ArgumentError,
    AssertionFailedError,
    OutOfBoundsError,
    SimulationError,
)


def _raise_assertion(message: object) -> None:
    raise AssertionFailedError(f"assertion failed: {message}")


def _check_axis(tag: str, outer: int, inner: int) -> None:
    if outer != inner:
        raise ArgumentError(
            f"thread axis {tag} is opened with extent {inner} inside of extent {outer}"
        )


def _check_iteration(value: int, low: int, extent: int) -> None:
    if not low <= value < low + extent:
        raise OutOfBoundsError(
            f"an iteration variable is {value}, its domain is [{low}, {low + extent})"
        )


def _check_match(what: str, expected: int, found: int) -> None:
    if expected != found:
        raise OutOfBoundsError(f"the view expects {what} {expected}, got {found}")


def _check_stride(stride: int) -> None:
    if stride < 0:
        raise OutOfBoundsError(f"a buffer has the negative stride {stride}")


def _pick_lanes(lanes: Sequence[Any], indices: Sequence[int]) -> list[Any]:
    for index in indices:
        if not 0 <= index < len(lanes):
            raise OutOfBoundsError(f"lane {index} of {len(lanes)} is taken")
    return [lanes[index] for index in indices]


def _make_array(
    pointer: _memory.Pointer, shape: Any, strides: Any, element: Number, offset: int
) -> np.ndarray[Any, Any]:
    """The array a packed function gets for a DLTensor built on the stack."""
    first = pointer.at(offset, element.size)
    flat = first.array(element.storage)
    if isinstance(strides, tuple):
        size = element.size
        steps = tuple(step * size for step in cast("tuple[int, ...]", strides))
        return Tensor.at(first, np.lib.stride_tricks.as_strided(flat, shape, steps))
    count = int(np.prod(shape, dtype=np.int64))
    return Tensor.at(first, flat[:count].reshape(shape))


def _atomic_add(pointer: _memory.Pointer, element: Number, value: Any) -> Any:
    """Add to the element a pointer names, and return what was there."""
    cells, marks, mark = _memory.cells(pointer, 0, element)
    old = cells[0]
    if marks is not None and marks[0] != mark:
        _memory.raise_uninitialized(0)
    total = old + value
    cells[0] = total if element.is_float else element.wrap(total)
    return old


def _throw_last_error() -> None:
    raise SimulationError("a function of the runtime failed")


CALLED_FUNCTIONS: dict[str, Any] = {
    "GO_ON": object(),
    "ArgumentError": ArgumentError,
    "allocate": _memory.allocate,
    "atomic_add": _atomic_add,
    "cells": _memory.cells,
    "check_axis": _check_axis,
    "check_indices": _memory.check_indices,
    "check_iteration": _check_iteration,
    "check_lanes": _memory.check_lanes,
    "check_match": _check_match,
    "check_region": _memory.check_region,
    "check_stride": _check_stride,
    "fma": _numbers.fused_multiply_add,
    "fmod": _builtins.FLOAT_FUNCTIONS["fmod"],
    "floor": _builtins.FLOAT_FUNCTIONS["floor"],
    "load_lanes": _memory.load_lanes,
    "make_array": _make_array,
    "packed_values": _packed.PackedValues.allocate,
    "pick_lanes": _pick_lanes,
    "format_message": tir.format_message,
    "prod": prod,
    "raise_assertion": _raise_assertion,
    "raise_uninitialized": _memory.raise_uninitialized,
    "reinterpreted": reinterpreted,
    "struct_get": _packed.struct_get,
    "struct_set": _packed.struct_set,
    "store_lanes": _memory.store_lanes,
    "tdiv": truncated_quotient,
    "tensors_on_stack": _packed.tensors_on_stack,
    "throw_last_error": _throw_last_error,
    "tmod": truncated_remainder,
    "type_codes": _packed.type_codes,
    **_builtins.NAMES,
}

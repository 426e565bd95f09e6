"""Arithmetic on whole arrays with the rounding of scalar code.

Floats are computed in f64 and rounded once to the dtype of the result; integers wrap
around in their width (the rules of `numbers.py`, on arrays).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, cast

import numpy as np
from xdsl.dialects.builtin import (
    DenseArrayBase,
    Float8E4M3FNType,
    Float8E5M2Type,
    IntegerType,
    Signedness,
    bf16,
    f16,
    f32,
    f64,
    i1,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import InterpretationError

from xdsl_tvm.dialects import relax
from xdsl_tvm.interpreters.data.numbers import Number, number, toward_zero
from xdsl_tvm.interpreters.errors import DivisionByZeroError, SimulationError
from xdsl_tvm.interpreters.relax.values import Array


def wide(array: Array) -> Array:
    """Floats as f64, bools as u8, integers as they are."""
    if array.dtype.kind == "b":
        return array.astype(np.uint8)
    if array.dtype.kind in "iu":
        return array
    return array.astype(np.float64)


def is_float_array(array: Array) -> bool:
    """Whether the elements are floats, narrow ones included."""
    return array.dtype.kind not in "biu"


def rounded(array: Any, dtype: Attribute) -> Array:
    """Results of arithmetic as elements of `dtype`: rounded, or wrapped around."""
    element = number(dtype)
    values = np.asarray(array)
    if element.is_float:
        return _round(values, element.storage)
    return _wrap(values, element)


def _round(values: Array, storage: np.dtype[Any]) -> Array:
    if storage.char in "efd":
        return values.astype(storage)
    # ml_dtypes converts by way of f32: an inexact f32 is made odd before, so that the
    # second rounding is right.
    exact = values.astype(np.float64)
    near = exact.astype(np.float32)
    with np.errstate(all="ignore"):
        is_inexact = np.isfinite(near) & (near.astype(np.float64) != exact)
        toward = np.where(exact > near, np.inf, -np.inf).astype(np.float32)
        is_even = (near.view(np.uint32) & 1) == 0
        odd = np.where(is_inexact & is_even, np.nextafter(near, toward), near)
    return np.asarray(odd, np.float32).astype(storage)


def _wrap(values: Array, element: Number) -> Array:
    if element.is_bool:
        if values.dtype.kind == "b":
            return values
        return np.asarray(values & 1, np.bool_)
    if element.bits == 8 * element.size:
        return values.astype(element.storage)
    masked = (values.astype(np.int64) - element.low) & (element.high - element.low)
    return np.asarray(masked + element.low, element.storage)


def cast_array(array: Array, dtype: Attribute) -> Array:
    """What TIR's `Cast` makes of the elements.

    Floats become integers toward zero, saturated, NaN as 0; anything but 0 is true.
    """
    element = number(dtype)
    if element.is_bool:
        return np.asarray(wide(array) != 0)
    if element.is_float or not is_float_array(array):
        return rounded(wide(array), dtype)
    found = np.nan_to_num(np.trunc(wide(array)), nan=0.0, posinf=np.inf, neginf=-np.inf)
    # The largest i64 is no f64; what reaches the next power of two saturates by itself.
    low, high = float(element.low), float(element.high)
    inside = (found > low) & (found < high)
    kept = np.where(inside, found, 0).astype(element.storage)
    edge = np.where(found >= high, element.high, element.low).astype(element.storage)
    return np.where(inside, kept, edge)


def truncated_divide(a: Array, b: Array) -> Array:
    """C's quotient of integers."""
    return toward_zero(floor_divide(a, b), a, b)


def floor_divide(a: Array, b: Array) -> Array:
    """The quotient of integers, rounded down.

    Raises DivisionByZeroError, and SimulationError for a quotient that does not fit.
    """
    if b.dtype.kind == "i":
        least = np.iinfo(b.dtype).min
        if np.any((b == -1) & (a == least)):
            raise SimulationError(
                f"{least} divided by -1 is out of the range of {attribute_of(b.dtype)}"
            )
    return np.asarray(np.floor_divide(a, nonzero_divisor(b)))


def divide(a: Array, b: Array) -> Array:
    """The quotient; that of integers is truncated."""
    return np.asarray(a / b) if is_float_array(b) else truncated_divide(a, b)


def nonzero_divisor(b: Array) -> Array:
    """The divisor. Raises DivisionByZeroError for an integer that is 0."""
    if not is_float_array(b) and not np.all(b):
        raise DivisionByZeroError("an integer is divided by zero")
    return b


def elementwise(function: Callable[[float], float]) -> Callable[[Array], Array]:
    """A function of one f64, on arrays."""

    def apply(values: Array) -> Array:
        flat = [function(float(value)) for value in values.ravel()]
        return np.array(flat, np.float64).reshape(values.shape)

    return apply


Evaluation: TypeAlias = Callable[..., Any]
"""From an operation and the values of its operands to the value of its result."""


def dtype_of(value: SSAValue, actual: Any) -> Attribute:
    """The dtype of a tensor or scalar, by its type or, failing that, by its value."""
    if isinstance(value.type, relax.PrimType):
        return value.type.dtype
    info = relax.TensorInfo.of(value.type)
    if info is not None and info.dtype is not None:
        return info.dtype
    return attribute_of(np.asarray(actual).dtype)


_DTYPES: tuple[Attribute, ...] = (
    f32,
    f16,
    bf16,
    f64,
    i1,
    *(IntegerType(width) for width in (8, 16, 32, 64)),
    *(IntegerType(width, Signedness.UNSIGNED) for width in (8, 16, 32, 64)),
    Float8E4M3FNType(),
    Float8E5M2Type(),
)


def attribute_of(dtype: np.dtype[Any]) -> Attribute:
    """The type of elements that numpy stores so."""
    for candidate in _DTYPES:
        if number(candidate).storage == dtype:
            return candidate
    raise InterpretationError(f"no tensor has elements of dtype {dtype}")


def as_array(value: Any, source: SSAValue) -> Array:
    """A tensor operand; a scalar in its place counts as a tensor of shape [1]."""
    if isinstance(value, np.ndarray):
        return cast(Array, value)
    return np.array([value], number(dtype_of(source, value)).storage)


def integers(attribute: DenseArrayBase[Any]) -> list[int]:
    """The integers of an array attribute."""
    return [int(value) for value in attribute.get_values()]

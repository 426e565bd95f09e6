"""Scalars as Python values: which type holds a dtype, and how values are rounded.

Integers and bools are Python integers and bools, floats are numpy scalars of their
dtype, whose arithmetic rounds after every operation as TIR's does. The narrow floats
come from the package `ml_dtypes`.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from xdsl.dialects.builtin import IntegerType, Signedness
from xdsl.ir import Attribute
from xdsl.utils.exceptions import InterpretationError

from xdsl_tvm.dialects.dtypes import integer_range, integer_storage, numpy_float
from xdsl_tvm.dialects.tir.types import (
    bits_of_lane,
    dtype_name,
    is_custom,
    is_float,
    is_integer_type,
    is_vector,
)

_FORMATS = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "int32": "i",
    "int64": "q",
    "uint8": "B",
    "uint16": "H",
    "uint32": "I",
    "uint64": "Q",
}


@dataclass(frozen=True)
class Number:
    """A scalar dtype: its TVM name, its numpy dtype, and its range if it is an integer.

    An integer of another width than 8, 16, 32 or 64 bits is stored in the next wider
    one. `format` is its `struct` code, empty for floats.
    """

    name: str
    storage: np.dtype[Any]
    low: int
    high: int
    format: str

    @property
    def is_float(self) -> bool:
        """Whether values are numpy scalars."""
        return not self.format

    @property
    def is_bool(self) -> bool:
        """Whether values are Python bools."""
        return self.format == "?"

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return self.storage.itemsize

    @property
    def bits(self) -> int:
        """The width of an integer."""
        return (self.high - self.low).bit_length()

    def wrap(self, value: int) -> int | bool:
        """The integer modulo 2^bits, in the range of the dtype."""
        if self.is_bool:
            return bool(value & 1)
        return ((value - self.low) & (self.high - self.low)) + self.low

    def convert(self, value: Any) -> Any:
        """The value of this dtype that TIR's `Cast` makes of a number.

        Float to integer truncates; where TIR leaves it undefined it saturates, and NaN
        becomes 0, so that moving a cast never makes a program fail.
        """
        if self.is_bool:
            return bool(value != 0)
        if not self.is_float:
            if issubclass(type(value), int | np.integer | np.bool_):
                return self.wrap(int(value))
            return self._saturate(float(value))
        return round_to(self.storage, value)

    def _saturate(self, value: float) -> int:
        if math.isnan(value):
            return 0
        if math.isinf(value):
            return self.high if value > 0 else self.low
        return min(max(int(value), self.low), self.high)

    def zero(self) -> Any:
        """The zero of the dtype."""
        return self.convert(0)


@cache
def number(dtype: Attribute) -> Number:
    """The scalar dtype `dtype`.

    Raises InterpretationError when it is no scalar, is wider than 64 bits, or needs the
    package ml_dtypes and it is missing.
    """
    if is_float(dtype) and not is_vector(dtype):
        name = dtype_name(dtype)
        return Number(name, float_storage(name), 0, 0, "")
    if not is_integer_type(dtype):
        raise InterpretationError(f"type {dtype} has no value that can be computed with")
    storage, (low, high) = integer_storage(dtype), integer_range(dtype)
    return Number(dtype_name(dtype), storage, low, high, _FORMATS[storage.name])


def memory_number(dtype: Attribute) -> Number:
    """What memory of a scalar dtype holds: an unsigned integer for a custom dtype, which
    is not computed with. Raises InterpretationError as `number` does."""
    if is_custom(dtype):
        return number(IntegerType(bits_of_lane(dtype), Signedness.UNSIGNED))
    return number(dtype)


def float_storage(name: str) -> np.dtype[Any]:
    """The numpy dtype of a float dtype. Raises InterpretationError without ml_dtypes."""
    try:
        return numpy_float(name)
    except ValueError as error:
        raise InterpretationError(
            f"values of dtype {name} need the package ml_dtypes: pip install ml_dtypes"
        ) from error


def round_to(storage: np.dtype[Any], value: Any) -> Any:
    """`value`, an integer or a float, rounded once to the nearest, ties to even."""
    kind = storage.type
    if isinstance(value, int) and not isinstance(value, bool):
        if abs(value) > 1 << 24:
            return _round_integer(storage, value)
        value = float(value)
    if storage.char in "efd":
        return kind(value)
    if isinstance(value, float) and float(np.float32(value)) != value:
        return kind(_odd_float32(value))
    return kind(float(value))


def _round_integer(storage: np.dtype[Any], value: int) -> Any:
    if storage.char == "d":
        return np.float64(float(value))
    return round_exact(storage, Fraction(value))


def _odd_float32(value: float) -> np.float32:
    """`value` as f32, inexact results made odd, so that a second rounding is right."""
    near = np.float32(value)
    if math.isnan(value) or math.isinf(near) or float(near) == value:
        return near
    if int(near.view(np.uint32)) & 1:
        return near
    return np.nextafter(near, np.float32(math.copysign(math.inf, value - float(near))))


def round_exact(storage: np.dtype[Any], value: Fraction) -> Any:
    """An exact value rounded once to a float dtype."""
    near = _nearest_float64(value)
    if storage.char == "d" or math.isinf(near):
        return storage.type(near)
    exact = Fraction(near)
    if exact != value and not int(np.float64(near).view(np.uint64)) & 1:
        near = math.nextafter(near, math.inf if value > exact else -math.inf)
    return round_to(storage, near)


def _nearest_float64(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def fused_multiply_add(storage: np.dtype[Any], a: Any, b: Any, c: Any) -> Any:
    """`a * b + c` rounded once."""
    if storage.char == "d":
        return _fused_float64(a, b, c)
    # A product of two f32 is exact in f64, and what the sum loses is known exactly: made
    # odd where it is inexact, the sum has more than enough bits for a second rounding.
    product, term = float(a) * float(b), float(c)
    total = product + term
    if not math.isfinite(total):
        return storage.type(a * b + c)
    added = total - product
    lost = (product - (total - added)) + (term - added)
    if lost and not _BITS.unpack(_DOUBLE.pack(total))[0] & 1:
        total = math.nextafter(total, math.copysign(math.inf, lost))
    return round_to(storage, total)


_DOUBLE, _BITS = struct.Struct("d"), struct.Struct("Q")


def _fused_float64(a: Any, b: Any, c: Any) -> Any:
    if not all(math.isfinite(x) for x in (a, b, c)):
        return np.float64(a * b + c)
    exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    return np.float64(a * b + c) if exact == 0 else round_exact(np.dtype("f8"), exact)


def round_half_away(value: float) -> float:
    """C's `round`."""
    if not math.isfinite(value) or value == math.trunc(value):
        return value
    return math.copysign(math.floor(abs(value) + 0.5), value)


def toward_zero(floor: Any, lhs: Any, rhs: Any) -> Any:
    """Quotients of integer arrays as C rounds them, from those that are rounded down."""
    has_rest = floor * rhs != lhs
    return floor + (has_rest & (np.less(lhs, 0) != np.less(rhs, 0))).astype(floor.dtype)


def float64_function(name: str) -> Callable[[float], float]:
    """numpy's function, on f64; domain errors give NaN or infinities."""
    return getattr(np, name)

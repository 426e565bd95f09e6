"""Values between the caller, external functions and interpreted code."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Attribute
from xdsl.utils.exceptions import InterpretationError

from xdsl_tvm.dialects.tir.types import element_of, is_handle, is_vector
from xdsl_tvm.interpreters.data.memory import Pointer, constant
from xdsl_tvm.interpreters.data.numbers import Number, number
from xdsl_tvm.interpreters.errors import ArgumentError


def scalar_argument(value: Any, dtype: Number, what: str) -> Any:
    """A number a caller passes. Raises ArgumentError when the dtype cannot hold it."""
    if isinstance(value, np.ndarray):
        array = cast("np.ndarray[Any, Any]", value)
        return scalar_argument(_only_item(array, what), dtype, what)
    kind = type(cast(object, value))
    if dtype.is_float:
        if kind is dtype.storage.type:
            return value
        if issubclass(kind, int | float | np.floating | np.integer):
            return dtype.convert(value)
    elif issubclass(kind, int | np.integer | np.bool_):
        if dtype.low <= int(value) <= dtype.high:
            return bool(value) if dtype.is_bool else int(value)
        raise ArgumentError(f"{what} expects dtype {dtype.name}, got {value}")
    raise ArgumentError(
        f"{what} expects a value of dtype {dtype.name}, got {kind.__name__}"
    )


def _only_item(array: np.ndarray[Any, Any], what: str) -> Any:
    if array.ndim:
        raise ArgumentError(f"{what} expects a scalar, got an array of {array.shape}")
    return array[()]


def value_argument(value: Any, dtype: Attribute, what: str) -> Any:
    """A scalar, or a vector given as a sequence, in the form that code works on."""
    if is_vector(dtype):
        element = number(element_of(dtype))
        return [scalar_argument(lane, element, what) for lane in value]
    return scalar_argument(value, number(dtype), what)


def public_value(value: Any, dtype: Attribute) -> Any:
    """A value for a caller: integers and bools of Python, numpy scalars and arrays."""
    if value is None or is_handle(dtype):
        return value
    element = number(element_of(dtype))
    if is_vector(dtype):
        return np.array(value, dtype=element.storage)
    if element.is_float:
        return value
    return bool(value) if element.is_bool else int(value)


def returned_value(value: Any, dtype: Attribute | None, what: str) -> Any:
    """What an external function returned, as a value of `dtype`."""
    if dtype is None or is_handle(dtype):
        return value
    if value is None:
        raise InterpretationError(f"{what} returned None, expected a value of {dtype}")
    return value_argument(value, dtype, what)


def dense_contents(data: Any, element: Number) -> Pointer:
    """The read-only memory of a `tir.allocate_const`."""
    values = cast("DenseIntOrFPElementsAttr[Any]", data).get_values()
    return constant(np.array([element.convert(v) for v in values]), element)


def reinterpreted(value: Any, source: Number, target: Number, lanes: int) -> list[Any]:
    """The lanes of `target` whose bytes are those of the scalars `value`."""
    data = np.array(value, dtype=source.storage).tobytes()
    if len(data) != target.size * lanes:
        raise InterpretationError(
            f"reinterpret: {len(data)} bytes cannot become {lanes} of {target.name}"
        )
    found = np.frombuffer(data, dtype=target.storage)
    return [item if target.is_float else target.convert(item.item()) for item in found]


def byte_dots(sums: list[int], a: list[int], b: list[int]) -> list[int]:
    """Each sum and four products of the unsigned bytes `a` and the signed ones `b`.

    Lane `i` has the bytes from `4 * i` on, which may be one number of 32 bits.
    """
    left, right = (_bytes_of(value, len(sums)) for value in (a, b))
    products = left.astype(np.int64) * right.view(np.int8)
    totals = np.array(sums, np.int64) + products.reshape(len(sums), -1).sum(axis=1)
    return totals.astype(np.int32).tolist()


def _bytes_of(value: list[int], lanes: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
    wide = np.array(value, np.int64)
    return wide.astype("<u4").view(np.uint8) if len(value) == lanes else wide.astype("u1")

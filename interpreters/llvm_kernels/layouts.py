"""How values of LLVM types are in arrays, and in memory."""

from __future__ import annotations

from functools import cache
from typing import Any, TypeAlias, cast

import numpy as np
from xdsl.dialects.builtin import i64
from xdsl.dialects.llvm import (
    LLVMArrayType,
    LLVMPointerType,
    LLVMStructType,
)
from xdsl.ir import Attribute
from xdsl.utils.exceptions import InterpretationError

from xdsl_tvm.dialects.dtypes import element_of, is_vector, lanes_of
from xdsl_tvm.interpreters.data.numbers import Number, number

Array: TypeAlias = np.ndarray[Any, Any]
Value: TypeAlias = Any
"""An array of the values of all threads, or of one for all; a tuple for an aggregate."""
Mask: TypeAlias = "Array | None"
"""The threads that take part; None for all."""

_ADDRESS_SPACES = {
    0: "generic",
    1: "global",
    3: "shared",
    4: "constant",
    5: "local",
    7: "shared memory of a cluster, which is that of the block",
}


@cache
def scalar(type: Attribute) -> Number:
    """The scalars of a type: of a vector its elements, of a pointer addresses as i64.

    Raises InterpretationError for a type without scalars, or wider than 64 bits.
    """
    element = element_of(type)
    return number(i64 if isinstance(element, LLVMPointerType) else element)


def members(type: Attribute) -> tuple[Attribute, ...] | None:
    """The types in an aggregate; None for any other type."""
    if isinstance(type, LLVMStructType):
        return tuple(type.types)
    if isinstance(type, LLVMArrayType):
        return (type.type,) * type.size.data
    return None


def space_of(type: Attribute) -> int:
    """The address space of a pointer type. InterpretationError for one GPUs lack."""
    assert isinstance(type, LLVMPointerType)
    space = type.addr_space
    found = int(getattr(space, "data", 0))
    if found not in _ADDRESS_SPACES:
        raise InterpretationError(f"there is no address space {found}")
    return found


@cache
def store_bytes(type: Attribute) -> int:
    """The bytes that a load or a store of a type touches."""
    parts = members(type)
    if parts is not None:
        return _struct_layout(parts)[1]
    found = scalar(type)
    if is_vector(type) and found.bits % 8 and not found.is_float:
        raise InterpretationError(f"memory of {type} has several elements in a byte")
    return found.size * lanes_of(type)


@cache
def alignment(type: Attribute) -> int:
    """The alignment that LLVM gives a type."""
    parts = members(type)
    if parts is not None:
        return max(map(alignment, parts), default=1)
    return 1 << (store_bytes(type) - 1).bit_length()


@cache
def stride(type: Attribute) -> int:
    """The bytes from one element of an array to the next."""
    each = alignment(type)
    return -(-store_bytes(type) // each) * each


@cache
def member_offsets(type: Attribute) -> tuple[int, ...]:
    """The first byte of each member of an aggregate."""
    return _struct_layout(members(type) or ())[0]


def _struct_layout(parts: tuple[Attribute, ...]) -> tuple[tuple[int, ...], int]:
    offsets: list[int] = []
    end = largest = 0
    for part in parts:
        each = alignment(part)
        start = -(-end // each) * each
        offsets.append(start)
        end = start + store_bytes(part)
        largest = max(largest, each)
    return tuple(offsets), -(-end // max(largest, 1)) * max(largest, 1)


def undefined(type: Attribute) -> Value:
    """What an undefined value is here: NaN, or the largest number."""
    parts = members(type)
    if parts is not None:
        return tuple(map(undefined, parts))
    found = scalar(type)
    return filled(type, np.nan if found.is_float else found.high)


def zero(type: Attribute) -> Value:
    """The zero of a type, for all threads."""
    parts = members(type)
    return filled(type, 0) if parts is None else tuple(map(zero, parts))


def filled(type: Attribute, item: float) -> Array:
    """One number as a scalar, or as all elements of a vector, for all threads."""
    shape = (1, lanes_of(type)) if is_vector(type) else (1,)
    return np.full(shape, item, scalar(type).storage)


def merged(old: Value, new: Value, mask: Array) -> Value:
    """The new value for the threads of a mask, the old one, if any, for the others."""
    if old is None:
        return new
    if not isinstance(new, np.ndarray):
        parts = zip(old, cast("tuple[Value, ...]", new), strict=True)
        return tuple(merged(one, other, mask) for one, other in parts)
    array = cast(Array, new)
    return np.where(mask if array.ndim == 1 else mask[:, None], array, old)


def chosen(condition: Array, yes: Value, no: Value) -> Value:
    """One of two values; the condition is per thread, or per element of vectors."""
    if not isinstance(yes, np.ndarray):
        parts = zip(cast("tuple[Value, ...]", yes), no, strict=True)
        return tuple(chosen(condition, one, other) for one, other in parts)
    array = cast(Array, yes)
    if condition.ndim < array.ndim:
        condition = condition[:, None]
    return np.where(condition, array, no)

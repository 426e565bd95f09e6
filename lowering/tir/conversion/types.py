"""Types below `tir`: signless scalars and vectors, and memrefs for buffers.

LLVM has no 8-bit floats. What computes in them is legalized before; here they are bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, TypeAlias, cast

from xdsl.dialects.builtin import (
    IntegerAttr,
    IntegerType,
    MemRefType,
    NoneAttr,
    VectorType,
    i1,
    i8,
    i64,
)
from xdsl.ir import Attribute

from xdsl_tvm.dialects import tir

AnyMemRef: TypeAlias = MemRefType[Any]

GENERIC_SPACE = 0
GLOBAL_SPACE = 1
SHARED_SPACE = 3

STACK_LIMIT = 1024
"""Allocations of fewer bytes live on the stack of a CPU function.

docs/spec/tir-ir.md §7.4.
"""

LOCAL_LIMIT = 8192
"""The same for memory of scope `local`, which stands for registers."""

MAX_VECTOR_LANES = 4096
"""The most lanes that are compiled. LLVM splits a vector into registers, in time that
grows faster than the lanes: some seconds for this many; and it ends the process where a
node of its instruction graph has 65535 operands, which vectors of more lanes reach."""

VECTOR_BYTES = 64
"""The widest vector, and a cache line: memory of at least this size starts at one."""


@lru_cache(maxsize=512)
def signless(dtype: Attribute) -> Attribute:
    """`uiN` as `iN`, and an 8-bit float as the `i8` of its bits, also as element of a
    vector; every other type as it is."""
    if tir.is_vector(dtype):
        element = signless(dtype.element_type)
        return VectorType(element, dtype.shape, dtype.scalable_dims)
    if tir.is_uint(dtype):
        return IntegerType(cast(IntegerType, dtype).width.data)
    return i8 if tir.is_float8(dtype) else dtype


@lru_cache(maxsize=1024)
def memref_of(shape: tuple[int, ...], element: Attribute, space: int) -> AnyMemRef:
    """The identity-layout memref of scalars of `element` in address space `space`."""
    memory_space = IntegerAttr(space, i64) if space else NoneAttr()
    return cast(AnyMemRef, MemRefType(element, shape, NoneAttr(), memory_space))


def element_bytes(dtype: Attribute) -> int:
    """Bytes one element of a buffer of `dtype` takes; bool takes one byte.

    Raises ValueError where an element is no whole number of bytes.
    """
    element = tir.element_of(dtype)
    width: int = 8 if element == i1 else cast(Any, element).bitwidth
    if width % 8:
        raise ValueError(f"elements of type {element} take no whole number of bytes")
    return width // 8 * tir.lanes_of(dtype)


def product(extents: Sequence[int]) -> int:
    """The product of the extents, 1 for none."""
    result = 1
    for extent in extents:
        result *= extent
    return result


def compact_strides(shape: Sequence[int]) -> tuple[int, ...] | None:
    """Row-major strides in elements; None where a trailing extent is dynamic (< 0)."""
    strides: list[int] = []
    step = 1
    for extent in reversed(shape):
        if step < 0:
            return None
        strides.append(step)
        step = step * extent if extent >= 0 else -1
    return tuple(reversed(strides))

"""Buffers and pointers as memrefs: where an element is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import cast

from xdsl.dialects import memref
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    IntegerAttr,
    MemRefType,
    i64,
)
from xdsl.ir import SSAValue

from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.quick_operation import create, segments
from xdsl_tvm.lowering.tir.conversion.calling_convention import is_direct
from xdsl_tvm.lowering.tir.conversion.emitter import INDEX, Emitter
from xdsl_tvm.lowering.tir.conversion.types import AnyMemRef, memref_of

Extent = int | SSAValue
"""A constant, or a converted value of type `index`."""


@dataclass(frozen=True)
class Memory:
    """What a pointer names: a memref, and how many elements into it the pointer is."""

    memref: SSAValue
    offset: SSAValue | None = None


@dataclass(frozen=True)
class View:
    """A buffer: a memref, indexed directly or, where `strides` is set, linearly.

    A linear index is the sum of indices times strides, plus the offset, in units of the
    buffer's elements, each of which is `lanes` elements of the memref.
    """

    memref: SSAValue
    strides: tuple[Extent, ...] | None = None
    offset: SSAValue | None = None
    lanes: int = 1

    @property
    def type(self) -> AnyMemRef:
        """The type of the memref."""
        return memref_type(self.memref)

    @property
    def last_stride_is_one(self) -> bool:
        """Whether neighbours along the last dimension are neighbours in memory."""
        return self.strides is None or self.strides[-1] == 1


def memref_type(value: SSAValue) -> AnyMemRef:
    """The type of a memref value."""
    assert isinstance(value.type, MemRefType)
    return cast(AnyMemRef, value.type)


def address_space(value: SSAValue) -> int:
    """The address space of a memref value, 0 where none is written."""
    space = memref_type(value).memory_space
    return space.value.data if isinstance(space, IntegerAttr) else 0


def view_of_memref(cv: Emitter, buffer: tir.BufferDefinition, value: SSAValue) -> View:
    """The view of a buffer on a memref of the shape that `buffer_shape` gives."""
    if is_direct(buffer):
        return View(value)
    return linear_view(cv, buffer, Memory(value))


def extents_of(cv: Emitter, extents: Sequence[int | SSAValue]) -> list[Extent]:
    """Extents of the source as constants and values of type `index`."""
    result: list[Extent] = []
    for extent in extents:
        if isinstance(extent, int):
            result.append(extent)
            continue
        number = tir.constant_value(extent)
        result.append(cv.index(extent) if number is None else int(number))
    return result


def linear_view(cv: Emitter, buffer: tir.BufferDefinition, memory: Memory) -> View:
    """The view of `buffer` as linear indices into `memory`."""
    strides = extents_of(cv, buffer.layout_strides)
    if not strides:
        strides = _row_major(cv, extents_of(cv, buffer.shape))
    offset = memory.offset
    if buffer.elem_offset is not None:
        own = cv.index(buffer.elem_offset)
        offset = cv.add_index(offset, own)
    lanes = tir.lanes_of(buffer.type.element_type)
    return View(memory.memref, tuple(strides), offset, lanes)


def _row_major(cv: Emitter, shape: Sequence[Extent]) -> list[Extent]:
    strides: list[Extent] = []
    step: Extent = 1
    for position, extent in enumerate(reversed(shape)):
        strides.append(step)
        if position < len(shape) - 1:
            step = times(cv, step, extent)
    return strides[::-1]


def times(cv: Emitter, a: Extent, b: Extent) -> Extent:
    """The product of two extents."""
    if isinstance(a, int) and isinstance(b, int):
        return a * b
    return cv.mul_index(as_index(cv, a), as_index(cv, b))


def as_index(cv: Emitter, extent: Extent) -> SSAValue:
    """An extent as a value of type `index`."""
    return cv.number(extent, INDEX) if isinstance(extent, int) else extent


def size_of(cv: Emitter, buffer: tir.BufferDefinition) -> Extent:
    """The number of memref elements from the first to the last of a buffer, at most."""
    shape = extents_of(cv, buffer.shape)
    strides = extents_of(cv, buffer.layout_strides)
    if strides and shape:
        size = times(cv, shape[0], strides[0])
    else:
        size = 1
        for extent in shape:
            size = times(cv, size, extent)
    return times(cv, size, tir.lanes_of(buffer.type.element_type))


def flat(cv: Emitter, value: SSAValue, size: Extent) -> SSAValue:
    """A memref of `size` elements, of rank 1, on the memory of another memref."""
    type_ = memref_type(value)
    if type_.get_num_dims() == 1:
        return value
    static = size if isinstance(size, int) else DYNAMIC_INDEX
    sizes = [] if isinstance(size, int) else [size]
    op = create(
        memref.ReinterpretCastOp,
        operands=[value, *sizes],
        result_types=[memref_of((static,), type_.element_type, address_space(value))],
        properties={
            "static_offsets": _static(0),
            "static_sizes": _static(static),
            "static_strides": _static(1),
            "operandSegmentSizes": segments(1, 0, len(sizes), 0),
        },
    )
    return cv.emit(op).result


@lru_cache(maxsize=1024)
def _static(number: int) -> DenseArrayBase:
    """The attribute of a static offset, size or stride of rank 1."""
    return DenseArrayBase.from_list(i64, [number])


def forget_extent(cv: Emitter, value: SSAValue) -> SSAValue:
    """A memref of rank 1 as one with a dynamic extent."""
    type_ = memref_type(value)
    target = memref_of((DYNAMIC_INDEX,), type_.element_type, address_space(value))
    return value if type_ == target else cv.build(memref.CastOp, [value], target)


def element_indices(
    cv: Emitter, view: View, indices: Sequence[SSAValue]
) -> list[SSAValue]:
    """The indices into the view's memref of the element at `indices`, all of `index`."""
    if view.strides is None:
        return list(indices)
    linear: SSAValue | None = view.offset
    for index, stride in zip(indices, view.strides, strict=True):
        linear = cv.add_index(linear, cv.mul_index(index, as_index(cv, stride)))
    if linear is None:
        linear = cv.number(0, INDEX)
    if view.lanes != 1:
        linear = cv.mul_index(linear, cv.number(view.lanes, INDEX))
    return [linear]

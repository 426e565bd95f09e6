"""Whether accesses of buffers are within them, wherever they are executed."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import SSAValue

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Expr, Ramp
from xdsl_tvm.analysis.tir.scoped_facts import FactsWalker
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.types import is_index_type


def is_in_bounds(access: tir.LoadOp | tir.StoreOp, walker: FactsWalker) -> bool:
    """Whether all elements of an access certainly exist, by what the walker knows.

    Nothing is certain of a view whose memory may be smaller than its shape says.
    """
    definition = tir.buffer_definition(access.buffer)
    return _has_room(definition) and all(
        _is_within(walker.tree(index), extent, walker)
        for index, extent in zip(access.indices, definition.shape, strict=True)
    )


def _has_room(definition: tir.BufferDefinition) -> bool:
    match definition:
        case tir.MatchBufferOp() | tir.AllocBufferOp():
            return True
        case tir.DeclBufferOp():
            memory = definition.data.owner
            if not isinstance(memory, tir.AllocateOp) or memory.condition is not None:
                return False
            plain = not definition.layout_strides and definition.elem_offset is None
            element = memory.result.type.element_type
            if not plain or element != definition.type.element_type:
                return False
            shape, room = definition.shape, memory.shape
            if _are_static(shape) and _are_static(room):
                return prod(map(_number, shape)) <= prod(map(_number, room))
            return tuple(shape) == tuple(room)
        case _:
            return False


def _are_static(extents: Sequence[SSAValue | int]) -> bool:
    return all(isinstance(extent, int) for extent in extents)


def _number(extent: SSAValue | int) -> int:
    assert isinstance(extent, int)
    return extent


def _is_within(index: Expr, extent: SSAValue | int, walker: FactsWalker) -> bool:
    """Whether an index, or each lane of it, is certainly one of a dimension."""
    if isinstance(index, Ramp) and not tir.is_scalable(index.dtype):
        last = smart.mul(index.stride, tir.lanes_of(index.dtype) - 1)
        ends = (index.base, smart.add(index.base, last))
        return all(_is_within(end, extent, walker) for end in ends)
    if not is_index_type(index.dtype):
        return False
    bound = extent if isinstance(extent, int) else walker.tree(extent)
    return walker.analyzer.can_prove(smart.ge(index, 0)) and walker.analyzer.can_prove(
        smart.lt(index, bound)
    )

"""The buffers on allocated memory, and buffers that take the place of others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from xdsl_tvm.dialects import tir


def views_of(memory: tir.AllocateOp) -> Iterator[tir.DeclBufferOp]:
    """The buffers on a piece of memory, also those on the data of others."""
    pending: list[SSAValue] = [memory.result]
    met: set[Operation] = set()
    while pending:
        for use in pending.pop().uses:
            if use.operation in met:
                continue
            met.add(use.operation)
            match use.operation:
                case tir.DeclBufferOp() as view_:
                    yield view_
                    pending.append(view_.buffer)
                case tir.DataOp() as data:
                    pending.append(data.results[0])
                case _:
                    pass


def is_plain_view(buffer: tir.DeclBufferOp, memory: tir.AllocateOp) -> bool:
    """Whether a buffer has the one dimension and the elements of its memory."""
    offset = buffer.elem_offset
    (extent,) = memory.shape
    return (
        len(buffer.shape) == 1
        and (buffer.shape[0] == extent)
        and buffer.type.element_type == memory.result.type.element_type
        and buffer.layout_strides in ((), (1,))
        and (offset is None or tir.is_constant(offset, 0))
    )


def take_after(new: tir.BufferDefinition, old: tir.BufferDefinition, *but: str) -> None:
    """Give a buffer the name and all properties of another that it does not have yet,
    except for some."""
    for key, value in old.properties.items():
        if key not in but:
            new.properties.setdefault(key, value)
    new.attributes |= old.attributes
    new.location = old.location
    new.buffer.name_hint = old.buffer.name_hint


def memory_after(
    old: tir.AllocateOp, extents: Sequence[int | SSAValue]
) -> tir.AllocateOp:
    """New memory of other extents that has all else of the old."""
    new = tir.AllocateOp(
        old.result.type,
        extents,
        condition=old.condition,
        annotations=old.annotations,
        name=old.var_name,
    )
    new.attributes |= old.attributes
    new.location = old.location
    new.result.name_hint = old.result.name_hint
    return new


def replace_regions(
    op: tir.ReadsOp | tir.WritesOp, regions: Sequence[tir.BufferRegion]
) -> tuple[SSAValue, ...]:
    """Declare other regions in the place of an op; what it used."""
    old = tuple(op.operands)
    new = type(op)(regions)
    new.attributes |= op.attributes
    new.location = op.location
    Rewriter.replace_op(op, new)
    return old

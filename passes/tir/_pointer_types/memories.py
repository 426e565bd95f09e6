"""The memory of a function by the value that names it, with all that is derived."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.ir import Attribute, BlockArgument, SSAValue

from xdsl_tvm.analysis.all_ops import ops_of
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.tir._pointer_types.settings import PointerTypeSettings


@dataclass
class PointedMemory:
    """Memory that one value names, and what is known of its accesses.

    The memory is that of a parameter, an allocation or a `tir.let`; `values` are all
    buffers and pointers that name the same first element, the one of `root` included.
    """

    root: SSAValue
    element: Attribute
    values: list[SSAValue] = field(default_factory=list[SSAValue])
    vectors: set[int] = field(default_factory=set[int])
    """The numbers of lanes of accesses; 1 for those that are not known to be aligned."""
    scalar_reads: set[int] = field(default_factory=set[int])
    """What the indices of scalar reads are multiples of, up to a constant; 0 for a
    constant."""
    is_kept: bool = False
    """Whether a use needs the elements as they are."""


def memories_of(
    function: tir.FuncOp, settings: PointerTypeSettings
) -> dict[SSAValue, PointedMemory]:
    """The memory of each buffer and pointer of a function that may be retyped.

    Linear in the number of ops and uses.
    """
    found: dict[SSAValue, PointedMemory] = {}
    for root, element in _roots(function, settings):
        memory = PointedMemory(root, element)
        _collect(memory, settings)
        for value in memory.values:
            found[value] = memory
    return found


def _roots(
    function: tir.FuncOp, settings: PointerTypeSettings
) -> list[tuple[SSAValue, Attribute]]:
    roots: list[tuple[SSAValue, Attribute]] = []
    if settings.rewrite_params:
        roots += [
            (arg, arg.type.element_type)
            for arg in function.args
            if isinstance(arg.type, tir.PtrType)
        ]
    for op in ops_of(
        function, tir.MatchBufferOp, tir.AllocBufferOp, tir.AllocateOp, tir.LetOp
    ):
        match op:
            case tir.MatchBufferOp() if settings.rewrite_buffer_map:
                roots.append((op.buffer, op.type.element_type))
            case tir.AllocBufferOp() if settings.rewrite_allocate:
                roots.append((op.buffer, op.type.element_type))
            case tir.AllocateOp() if settings.rewrite_allocate:
                roots.append((op.result, op.result.type.element_type))
            case tir.LetOp() if settings.rewrite_let:
                pointer = op.result.type
                if isinstance(pointer, tir.PtrType) and pointer != op.value.type:
                    roots.append((op.result, pointer.element_type))
            case _:
                pass
    return [(root, element) for root, element in roots if tir.is_scalar(element)]


def _collect(memory: PointedMemory, settings: PointerTypeSettings) -> None:
    """Find what names the memory, and whether a use needs its elements as they are."""
    root = memory.root
    if isinstance(root.owner, tir.MatchBufferOp):
        param = root.owner.param
        single = isinstance(param, BlockArgument) and param.has_one_use()
        memory.is_kept = not single
    pending = [root]
    met: set[SSAValue] = set()
    while pending:
        value = pending.pop()
        if value in met:
            continue
        met.add(value)
        memory.values.append(value)
        if isinstance(value.type, tir.BufferType) and not _is_plain(value, memory):
            memory.is_kept = True
        for use in value.uses:
            match use.operation:
                case tir.DataOp() | tir.DeclBufferOp() as op if use.index == 0:
                    pending.append(op.results[0])
                case tir.LetOp() as op:
                    memory.is_kept |= not settings.rewrite_let
                    pending.append(op.result)
                case tir.AccessPtrOp() as op:
                    _point(memory, op)
                case tir.AttrOp() if isinstance(value.type, tir.PtrType):
                    pass
                case tir.LoadOp() | tir.StoreOp() as op if (
                    use.operation.operands[use.index] is op.buffer
                ):
                    pass
                case _:
                    memory.is_kept = True


def _point(memory: PointedMemory, op: tir.AccessPtrOp) -> None:
    """A pointer counts elements of its own type."""
    element = op.element_type
    if tir.is_scalable(element) or tir.element_of(element) != memory.element:
        memory.is_kept = True
    else:
        memory.vectors.add(tir.lanes_of(element))


def _is_plain(value: SSAValue, memory: PointedMemory) -> bool:
    """Whether a buffer has the elements of the memory from the first on, without gaps."""
    buffer = value.owner
    assert isinstance(buffer, tir.BufferDefinition)
    offset, kind = buffer.elem_offset, buffer.buffer_kind
    return (
        buffer.type.element_type == memory.element
        and bool(buffer.shape)
        and not buffer.layout_strides
        and (offset is None or tir.is_constant(offset, 0))
        and (kind is None or kind.data is tir.BufferKind.DEFAULT)
    )

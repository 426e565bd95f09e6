"""Who uses the memory of a buffer, and whether they know how it is laid out.

What loads and stores elements of a buffer works with any layout. What gets its pointer
may count on where elements lie; so does a view that states strides or an offset of its
own. A view that leaves them open, as symbols, does not, and neither does a use of its
pointer that takes the offset into account.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from xdsl.ir import Operation, SSAValue

from xdsl_tvm.analysis.arith.expr import leaf_values, view
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.by_class import of_classes

_BIND_SCOPE = "buffer_bind_scope"
_ELEMENTWISE = (
    tir.LoadOp,
    tir.PrefetchOp,
    tir.ReadsOp,
    tir.StoreOp,
    tir.ThreadAllreduceOp,
    tir.WritesOp,
)
"""What names elements of a buffer by their indices."""
_FOLLOWED = (tir.AccessPtrOp, tir.LetOp)
"""What gives a pointer another name."""
_CALLS = (tir.CallFuncOp, tir.CallOp)


@dataclass(eq=False)
class Candidate:
    """An allocation of which a part may be enough.

    `memory` is what `buffer` is declared on, if that is an allocation by itself.
    """

    buffer: tir.BufferDefinition
    memory: tir.AllocateOp | None = None
    is_exposed: bool = False
    """Whether something counts on where its elements lie."""
    opaque_uses: list[Operation] = field(default_factory=list[Operation])
    """Calls with a pointer into it."""
    views: list[tir.MatchRegionOp] = field(default_factory=list[tir.MatchRegionOp])
    """The views of regions of it."""


class _UnknownUseError(Exception):
    """The memory may be used in a way that cannot be followed."""


ALLOCATIONS = (tir.AllocBufferOp, tir.AllocateOp)
"""What there may be candidates among."""
_allocates = of_classes(*ALLOCATIONS)


def candidate(op: Operation) -> Candidate | None:
    """What an op allocates, if all uses of it are understood."""
    if not _allocates(op):
        return None
    match op:
        case tir.AllocBufferOp():
            found = Candidate(op)
        case tir.AllocateOp():
            buffer = _only_buffer(op)
            if buffer is None:
                return None
            found = Candidate(buffer, op)
    offset = found.buffer.elem_offset
    if offset is not None and not tir.is_constant(offset, 0):
        return None
    try:
        if found.memory is not None:
            _add_pointer(found, found.memory.result)
        _add_buffer(found)
    except _UnknownUseError:
        return None
    return found


def _only_buffer(memory: tir.AllocateOp) -> tir.DeclBufferOp | None:
    """The buffer on some memory, of its element type, if there is no other one."""
    users = [use.operation for use in memory.result.uses]
    declared = [user for user in users if isinstance(user, tir.DeclBufferOp)]
    if len(declared) != 1:
        return None
    (buffer,) = declared
    same = buffer.type.element_type == memory.result.type.element_type
    return buffer if same and buffer.parent is memory.parent else None


def _add_buffer(found: Candidate) -> None:
    for use in found.buffer.buffer.uses:
        match use.operation:
            case tir.DataOp() as data:
                _add_pointer(found, data.result)
            case tir.AddressOfOp() as address:
                found.is_exposed = True
                _add_pointer(found, address.result)
            case tir.MatchRegionOp() as region:
                found.views.append(region)
                _add_view(found, region)
            case op if not _is_elementwise(op):
                raise _UnknownUseError
            case _:
                pass


def _is_elementwise(op: Operation) -> bool:
    return isinstance(op, _ELEMENTWISE) or _is_neutral(op)


def _is_neutral(op: Operation) -> bool:
    """Whether an op says something of a pointer or a buffer, and no more."""
    if isinstance(op, tir.AttrOp):
        return op.key.data != _BIND_SCOPE
    return isinstance(op, tir.EvaluateOp)


def _add_pointer(found: Candidate, pointer: SSAValue) -> None:
    """Note that calls get a pointer, whatever they do with it."""
    for user in _users(pointer):
        if isinstance(user, tir.DeclBufferOp) and user is found.buffer:
            continue
        found.is_exposed = True
        found.opaque_uses.append(_call(user))


def _users(pointer: SSAValue) -> Iterator[Operation]:
    """What uses a pointer, also under another name."""
    pending = [pointer]
    while pending:
        for use in pending.pop().uses:
            op = use.operation
            if isinstance(op, _FOLLOWED):
                pending += op.results
            elif not _is_neutral(op):
                yield op


def _call(user: Operation) -> Operation:
    """The user, a call that gives no pointer back that something uses."""
    if not isinstance(user, _CALLS) or any(
        tir.is_handle(result.type) and any(_users(result)) for result in user.results
    ):
        raise _UnknownUseError
    return user


# ---- views ----


def _add_view(found: Candidate, match: tir.MatchRegionOp) -> None:
    """Note what a view, or a view of it, says of the layout."""
    pending = [match]
    while pending:
        match = pending.pop()
        found.is_exposed |= _states_layout(match)
        # The offset of a view of a view is not followed.
        if match not in found.views and match.offset_factor is not None:
            found.is_exposed = True
        for use in match.buffer.uses:
            match use.operation:
                case tir.MatchRegionOp() as inner:
                    pending.append(inner)
                case tir.DataOp() as data:
                    _add_pointer_of_view(found, match, data.result)
                case tir.AddressOfOp() as address:
                    found.is_exposed = True
                    for user in _users(address.result):
                        _call(user)
                case op if not _is_elementwise(op):
                    raise _UnknownUseError
                case _:
                    pass


def _states_layout(match: tir.MatchRegionOp) -> bool:
    """Whether a view is right for one layout of its source only."""
    if match.axis_separators is not None:
        return True
    if match.elem_offset is not None and not _is_open(match.elem_offset):
        return True
    strides = match.layout_strides
    if strides and strides[-1] == 1:
        strides = strides[:-1]
    return not all(map(_is_open, strides))


def _is_open(field_: int | SSAValue) -> bool:
    return isinstance(field_, SSAValue) and isinstance(field_.owner, tir.ShapeVarOp)


def _add_pointer_of_view(
    found: Candidate, match: tir.MatchRegionOp, pointer: SSAValue
) -> None:
    for user in _users_of_view(match, pointer):
        _call(user)
        if not _takes_offset(user, match) or not _knows_strides(match):
            found.is_exposed = True


def _users_of_view(match: tir.MatchRegionOp, pointer: SSAValue) -> Iterator[Operation]:
    """The users of a pointer, but of those moved by the offset of a view."""
    pending = [pointer]
    while pending:
        for use in pending.pop().uses:
            op = use.operation
            if isinstance(op, _FOLLOWED):
                if _takes_offset(op, match) and _knows_strides(match):
                    for user in _users(op.results[0]):
                        _call(user)
                else:
                    pending += op.results
            elif not _is_neutral(op):
                yield op


def _takes_offset(op: Operation, match: tir.MatchRegionOp) -> bool:
    """Whether an operand of an op is made of the offset of a view."""
    offset = match.elem_offset
    return offset is not None and any(
        offset in leaf_values(view(operand))
        for operand in op.operands
        if not tir.is_handle(operand.type)
    )


def _knows_strides(match: tir.MatchRegionOp) -> bool:
    """Whether a view has strides, or is one row, or a tile that has no layout."""
    return (
        bool(match.layout_strides)
        or match.type.storage_scope.rank >= tir.StorageRank.WMMA_MATRIX_A
        or all(extent == 1 for extent in match.shape[:-1])
    )

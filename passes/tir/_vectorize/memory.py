"""Memory that a vectorized loop allocates: every lane gets a part of its own."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.builder import Builder
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, i64
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from xdsl_tvm.analysis.all_ops import ops_of
from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import Expr, emit, view
from xdsl_tvm.analysis.tir.flat_index import wide_extent, widened_for
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.types import index_type_for
from xdsl_tvm.passes.tir._vectorize.body import NeedsSerialLoop
from xdsl_tvm.passes.tir._vectorize.lanes import Width

_ACCESSES = (tir.LoadOp, tir.StoreOp)


def give_each_lane_its_memory(loop: tir.ForOp, width: Width) -> None:
    """Make the allocations in `loop` hold all lanes, element by element.

    Element `e` of lane `i` is element `e * lanes + i` then. Raises NeedsSerialLoop,
    before anything is changed, where some memory is not used as a dense array.
    """
    allocations = ops_of(loop.body, *_ALLOCATIONS)
    buffers: list[tir.AllocBufferOp | tir.DeclBufferOp] = []
    for op in allocations:
        buffers += _buffers_of(op, loop, width)
    for buffer in buffers:
        for access in _accesses(buffer):
            _widen_access(access, loop, width)
        _widen_buffer(buffer, loop, width)
    for op in allocations:
        if isinstance(op, tir.AllocateOp):
            _widen_memory(op, loop, width)


_ALLOCATIONS = (tir.AllocateOp, tir.AllocBufferOp)


def _buffers_of(
    op: tir.AllocateOp | tir.AllocBufferOp, loop: tir.ForOp, width: Width
) -> list[tir.AllocBufferOp | tir.DeclBufferOp]:
    """The buffers on an allocation, all of which can be widened."""
    for value in op.operands:
        if _is_inside(value, loop):
            raise NeedsSerialLoop
    if isinstance(op, tir.AllocBufferOp):
        _check_buffer(op, loop, width)
        return [op]
    found: list[tir.AllocBufferOp | tir.DeclBufferOp] = []
    for use in op.result.uses:
        user = use.operation
        if not isinstance(user, tir.DeclBufferOp):
            raise NeedsSerialLoop
        if user.type.element_type != op.result.type.element_type:
            raise NeedsSerialLoop
        _check_buffer(user, loop, width)
        found.append(user)
    if not op.shape:
        raise NeedsSerialLoop
    return found


def _check_buffer(
    op: tir.AllocBufferOp | tir.DeclBufferOp, loop: tir.ForOp, width: Width
) -> None:
    strides = op.layout_strides
    if width.scalable and len(strides) > 1:
        raise NeedsSerialLoop
    is_dense = not strides or (
        strides[-1] == 1 and all(isinstance(stride, int) for stride in strides)
    )
    has_offset = op.elem_offset is not None and not tir.is_constant(op.elem_offset, 0)
    if not op.shape or not is_dense or has_offset or op.axis_separators is not None:
        raise NeedsSerialLoop
    if any(_is_inside(value, loop) for value in op.extents):
        raise NeedsSerialLoop
    for use in op.buffer.uses:
        user = use.operation
        if not isinstance(user, _ACCESSES) or not tir.is_scalar(user.indices[-1].type):
            raise NeedsSerialLoop


def _is_inside(value: SSAValue, loop: tir.ForOp) -> bool:
    """Whether the loop computes a value, other than as a constant."""
    owner = value.owner
    return loop.is_ancestor(owner) and not isinstance(owner, tir.ConstOp)


def _accesses(
    op: tir.AllocBufferOp | tir.DeclBufferOp,
) -> Iterable[tir.LoadOp | tir.StoreOp]:
    users = [use.operation for use in op.buffer.uses]
    return [user for user in users if isinstance(user, _ACCESSES)]


def _lanes(loop: tir.ForOp, width: Width, like: Expr) -> Expr:
    """The number of lanes as a tree of the type of `like`."""
    if width.scalable:
        return smart.cast(like.dtype, view(loop.extent))
    return smart.const(width.lanes, like.dtype)


def _widen_access(op: tir.LoadOp | tir.StoreOp, loop: tir.ForOp, width: Width) -> None:
    last = op.indices[-1]
    size = tir.buffer_definition(op.buffer).shape[-1]
    whole = size * width.lanes if isinstance(size, int) and not width.scalable else size
    index = widened_for(view(last), whole)
    lane = smart.sub(view(loop.loop_var), view(loop.min))
    place = smart.add(
        smart.mul(index, _lanes(loop, width, index)), smart.cast(index.dtype, lane)
    )
    builder = Builder(InsertPoint.before(op))
    known = {view(last): last, view(loop.extent): loop.extent, view(loop.min): loop.min}
    value = emit(Analyzer().simplify(place), builder, known)
    first = 2 if isinstance(op, tir.StoreOp) else 1
    op.operands[first + len(op.indices) - 1] = value


def _widen_buffer(
    op: tir.AllocBufferOp | tir.DeclBufferOp, loop: tir.ForOp, width: Width
) -> None:
    *outer, last = op.shape
    shape = [*op.type.get_shape()[:-1], DYNAMIC_INDEX]
    extents = [extent for extent in outer if isinstance(extent, SSAValue)]
    if isinstance(last, int) and not width.scalable:
        shape[-1] = last * width.lanes
    else:
        extents.append(_times(last, op, loop, width))
    properties = dict(op.properties)
    if op.static_strides is not None:
        *steps, step = op.static_strides.get_values()
        properties["static_strides"] = DenseArrayBase.from_list(
            i64, [*(each * width.lanes for each in steps), step]
        )
    dtype = tir.BufferType(shape, op.type.element_type, op.type.scope)
    if isinstance(op, tir.DeclBufferOp):
        new = tir.DeclBufferOp(op.data, dtype, extents)
    else:
        new = tir.AllocBufferOp(dtype, extents)
    for key, value in properties.items():
        if key != "operandSegmentSizes":
            new.properties[key] = value
    _replace(op, new, op.buffer, new.buffer)


def _widen_memory(op: tir.AllocateOp, loop: tir.ForOp, width: Width) -> None:
    *outer, last = op.shape
    if isinstance(last, int) and not width.scalable:
        extent: int | SSAValue = last * width.lanes
    else:
        extent = _times(last, op, loop, width)
    new = tir.AllocateOp(
        op.result.type,
        [*outer, extent],
        condition=op.condition,
        annotations=op.annotations,
        name=op.var_name,
    )
    _replace(op, new, op.result, new.result)


def _times(
    extent: int | SSAValue, op: Operation, loop: tir.ForOp, width: Width
) -> SSAValue:
    """An extent times the number of lanes, computed before `op`."""
    lanes = view(loop.extent)
    known = {lanes: loop.extent}
    if isinstance(extent, int):
        size: Expr = smart.const(extent, index_type_for(loop.extent.type))
    else:
        size = wide_extent(extent)
        known[view(extent)] = extent
    product = smart.mul(size, _lanes(loop, width, size))
    return emit(product, Builder(InsertPoint.before(op)), known)


def _replace(
    old: Operation, new: Operation, old_value: SSAValue, new_value: SSAValue
) -> None:
    new.location = old.location
    new.attributes |= old.attributes
    new_value.name_hint = old_value.name_hint
    Rewriter.insert_op(new, InsertPoint.before(old))
    old_value.replace_all_uses_with(new_value)
    Rewriter.erase_op(old)

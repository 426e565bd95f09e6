"""Operations that move elements."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.stablehlo import shapes as hlo
from xdsl_tvm.dialects.stablehlo.assembly import ints_of, shape_of
from xdsl_tvm.passes.stablehlo.conversion.emitter import Emitter
from xdsl_tvm.passes.stablehlo.conversion.rules import converts


@converts(hlo.BroadcastInDimOp)
def _broadcast_in_dim(
    emitter: Emitter, op: hlo.BroadcastInDimOp, operands: Sequence[SSAValue]
) -> SSAValue:
    (value,) = operands
    dims, shape = ints_of(op.broadcast_dimensions), shape_of(op.result)
    order = sorted(range(len(dims)), key=lambda index: dims[index])
    value = emitter.transpose(value, order)
    placed = [1] * len(shape)
    for dim, extent in zip(sorted(dims), shape_of(value), strict=True):
        placed[dim] = extent
    while len(placed) > len(dims) and placed[0] == 1:
        # Relax broadcasts along new dimensions by itself.
        del placed[0]
    return emitter.broadcast(emitter.reshape(value, placed), shape)


@converts(hlo.ReshapeOp)
def _reshape(
    emitter: Emitter, op: hlo.ReshapeOp, operands: Sequence[SSAValue]
) -> SSAValue:
    return emitter.reshape(operands[0], shape_of(op.result))


@converts(hlo.TransposeOp)
def _transpose(
    emitter: Emitter, op: hlo.TransposeOp, operands: Sequence[SSAValue]
) -> SSAValue:
    return emitter.transpose(operands[0], ints_of(op.permutation))


@converts(hlo.ReverseOp)
def _reverse(
    emitter: Emitter, op: hlo.ReverseOp, operands: Sequence[SSAValue]
) -> SSAValue:
    value = operands[0]
    for dim in ints_of(op.dimensions):
        value = emitter.op(relax.FlipOp(value, dim))
    return value


@converts(hlo.SliceOp)
def _slice(emitter: Emitter, op: hlo.SliceOp, operands: Sequence[SSAValue]) -> SSAValue:
    return emitter.slice(operands[0], op.bounds)


@converts(hlo.PadOp)
def _pad(emitter: Emitter, op: hlo.PadOp, operands: Sequence[SSAValue]) -> SSAValue:
    low, high = ints_of(op.edge_padding_low), ints_of(op.edge_padding_high)
    pairs = list(zip(low, high, strict=True))
    value, fill = operands
    return emitter.padded(value, fill, pairs, ints_of(op.interior_padding))


@converts(hlo.ConcatenateOp)
def _concatenate(
    emitter: Emitter, op: hlo.ConcatenateOp, operands: Sequence[SSAValue]
) -> SSAValue:
    return emitter.concat(operands, op.dimension.value.data)


def _start(emitter: Emitter, value: SSAValue, extent: int, size: int) -> SSAValue | int:
    """A start that is moved so far that the slice is within the tensor.

    It is a number where that is known.
    """
    most = extent - size
    known = emitter.known.get(value)
    if known is not None or most == 0:
        return min(max(int(known or 0), 0), most)
    whole = emitter.cast(value, i64)
    above = emitter.op(relax.MaximumOp(whole, emitter.constant(0, i64)))
    return emitter.op(relax.MinimumOp(above, emitter.constant(most, i64)))


@converts(hlo.DynamicSliceOp)
def _dynamic_slice(
    emitter: Emitter, op: hlo.DynamicSliceOp, operands: Sequence[SSAValue]
) -> SSAValue:
    """Slices along dimensions whose start is known, and rows taken along others."""
    value, *starts = operands
    sizes = ints_of(op.slice_sizes)
    for axis, (start, size) in enumerate(zip(starts, sizes, strict=True)):
        extent = shape_of(value)[axis]
        first = _start(emitter, start, extent, size)
        if isinstance(first, int):
            value = emitter.slice_axis(value, axis, first, first + size)
            continue
        indices = emitter.op(relax.AddOp(emitter.count_up(size, i64), first))
        value = emitter.op(relax.TakeOp(value, indices, axis))
    return value


@converts(hlo.DynamicUpdateSliceOp)
def _dynamic_update_slice(
    emitter: Emitter, op: hlo.DynamicUpdateSliceOp, operands: Sequence[SSAValue]
) -> SSAValue:
    """The update moved to its place in a tensor of the whole shape, and chosen there."""
    value, update, *starts = operands
    shape, sizes = shape_of(value), shape_of(update)
    if 0 in sizes:
        return value
    inside: SSAValue | None = None
    for axis, (extent, size) in enumerate(zip(shape, sizes, strict=True)):
        if extent == size:
            continue
        first = _start(emitter, starts[axis], extent, size)
        if isinstance(first, int):
            first = emitter.constant(first, i64)
        position = emitter.count_up(extent, i64)
        offset = emitter.op(relax.SubtractOp(position, first))
        zero, last = emitter.constant(0, i64), emitter.constant(size - 1, i64)
        near = emitter.op(
            relax.MinimumOp(emitter.op(relax.MaximumOp(offset, zero)), last)
        )
        update = emitter.op(relax.TakeOp(update, near, axis))
        is_in = emitter.op(relax.EqualOp(near, offset))
        is_in = emitter.along(is_in, len(shape), axis)
        inside = (
            is_in if inside is None else emitter.op(relax.LogicalAndOp(inside, is_in))
        )
    return update if inside is None else emitter.op(relax.WhereOp(inside, update, value))

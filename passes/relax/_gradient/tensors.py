"""Gradients of operators that make, rearrange and sum tensors, and of products."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.creation import FilledLikeOp
from xdsl_tvm.dialects.relax.reductions import ReductionOp
from xdsl_tvm.dialects.relax.symbolic import product
from xdsl_tvm.dialects.relax.types import TensorInfo
from xdsl_tvm.passes.relax._gradient.builder import (
    TUPLE_RULES,
    Adjoint,
    GradientBuilder,
    rule,
    unsupported,
)


@rule(relax.ZerosLikeOp, relax.OnesLikeOp)
def filled_like(b: GradientBuilder, op: FilledLikeOp, g: SSAValue) -> Sequence[Adjoint]:
    return [None]


@rule(relax.FullOp, relax.FullLikeOp)
def full(
    b: GradientBuilder, op: relax.FullOp | relax.FullLikeOp, g: SSAValue
) -> Sequence[Adjoint]:
    if b.dtype(op.fill_value) != b.dtype(g):
        g = b.insert(relax.AstypeOp(g, b.dtype(op.fill_value)))
    return [None, b.insert(relax.SumOp(g))]


@rule(relax.TriuOp, relax.TrilOp)
def triangle(
    b: GradientBuilder, op: relax.TriuOp | relax.TrilOp, g: SSAValue
) -> Sequence[Adjoint]:
    return [b.insert(type(op)(g, op.k)), None]


@rule(relax.PermuteDimsOp)
def permute_dims(
    b: GradientBuilder, op: relax.PermuteDimsOp, g: SSAValue
) -> Sequence[Adjoint]:
    rank = b.rank(op.data)
    given = range(rank)[::-1] if op.axes is None else op.axes.get_values()
    axes = [int(axis) % rank for axis in given]
    return [b.permute(g, [axes.index(axis) for axis in range(rank)])]


@rule(relax.ReshapeOp)
def reshape(b: GradientBuilder, op: relax.ReshapeOp, g: SSAValue) -> Sequence[Adjoint]:
    return [b.reshape(g, b.dims(op.data)), None]


@rule(relax.ExpandDimsOp)
def expand_dims(
    b: GradientBuilder, op: relax.ExpandDimsOp, g: SSAValue
) -> Sequence[Adjoint]:
    axes = [int(axis) for axis in op.axis.get_values()]
    return [b.insert(relax.SqueezeOp(g, axes)) if axes else g]


@rule(relax.BroadcastToOp)
def broadcast_to(
    b: GradientBuilder, op: relax.BroadcastToOp, g: SSAValue
) -> Sequence[Adjoint]:
    return [b.reduced(g, op.data), None]


@rule(relax.ConcatOp)
def concat(b: GradientBuilder, op: relax.ConcatOp, g: SSAValue) -> Sequence[Adjoint]:
    type_ = op.tensors.type
    assert isinstance(type_, relax.TupleType), "verified"
    axis = 0 if op.axis is None else op.axis.value.data
    ends: list[int] = []
    for field in type_.fields.data[:-1]:
        info = TensorInfo.of(field)
        dim = None if info is None or not info.dims else info.dims[axis]
        if dim is None or dim.value is None:
            unsupported(op, f"dimension {axis} of {field} must be a number")
        ends.append((ends[-1] if ends else 0) + dim.value)
    if not ends:
        return [[g]]
    parts = b.insert(relax.SplitOp(g, ends, axis))
    items: list[Adjoint] = [
        b.insert(relax.GetItemOp(parts, index)) for index in range(len(ends) + 1)
    ]
    return [items]


def split(
    b: GradientBuilder, op: relax.SplitOp, fields: Sequence[Adjoint]
) -> Sequence[Adjoint]:
    """The derivatives of the parts, one after the other."""
    parts: list[SSAValue] = []
    for index, field in enumerate(fields):
        if isinstance(field, SSAValue):
            parts.append(field)
        else:
            parts.append(b.zeros(b.insert(relax.GetItemOp(op.result, index))))
    whole = b.insert(relax.TupleOp(parts))
    return [b.insert(relax.ConcatOp(whole, op.axis.value.data))]


TUPLE_RULES[relax.SplitOp] = split


@rule(relax.TakeOp)
def take(b: GradientBuilder, op: relax.TakeOp, g: SSAValue) -> Sequence[Adjoint]:
    """Every element of the result adds to the one that it was taken from."""
    if TensorInfo.of(op.indices.type) is None:
        unsupported(op, "the index must be a tensor, not a scalar")
    dims, count = b.dims(op.data), b.rank(op.indices)
    rank = len(dims)
    axis = 0 if op.axis is None else op.axis.value.data % rank
    inner = range(axis, axis + count)
    others = [each for each in range(rank - 1 + count) if each not in inner]
    updates = b.permute(g, [*inner, *others])
    shape = [dims[axis], *dims[:axis], *dims[axis + 1 :]]
    zeros = b.insert(relax.ZerosOp(b.shape(shape), b.dtype(g)))
    indices = b.insert(relax.ExpandDimsOp(op.indices, [-1]))
    found = b.insert(relax.ScatterNDOp(zeros, indices, updates, "add"))
    back = [*range(1, axis + 1), 0, *range(axis + 1, rank)]
    return [b.permute(found, back), None]


@rule(relax.CumsumOp)
def cumsum(b: GradientBuilder, op: relax.CumsumOp, g: SSAValue) -> Sequence[Adjoint]:
    """Sums from the end."""
    axis = 0 if op.axis is None else op.axis.value.data
    back = b.insert(relax.FlipOp(g, axis))
    dtype = b.dtype(op.data)
    sums = b.insert(relax.CumsumOp(back, axis, dtype, op.exclusive is not None))
    found = b.insert(relax.FlipOp(sums, axis))
    return [found if op.axis is not None else b.reshape(found, b.dims(op.data))]


def reduced_axes(b: GradientBuilder, op: ReductionOp) -> list[int]:
    """The axes that an operator reduces."""
    rank = b.rank(op.data)
    if op.axis is None:
        return list(range(rank))
    return sorted(int(axis) % rank for axis in op.axis.get_values())


def spread(b: GradientBuilder, op: ReductionOp, value: SSAValue) -> SSAValue:
    """What belongs to a result, so that it can be broadcast to the data."""
    axes = reduced_axes(b, op)
    if op.keepdims is not None or len(axes) in (0, b.rank(op.data)):
        return value
    return b.insert(relax.ExpandDimsOp(value, axes))


@rule(relax.SumOp)
def sum_(b: GradientBuilder, op: relax.SumOp, g: SSAValue) -> Sequence[Adjoint]:
    shape = b.shape(b.dims(op.data))
    return [b.insert(relax.BroadcastToOp(spread(b, op, g), shape))]


def _count(b: GradientBuilder, op: ReductionOp) -> SSAValue:
    """How many elements an operator reduces to one, as a float."""
    dims = b.dims(op.data)
    count = product(dims[axis] for axis in reduced_axes(b, op))
    if count.value is not None:
        return b.number(float(count.value), op.data)
    shape = b.insert(relax.ShapeOp([count]))
    tensor = b.insert(relax.ShapeToTensorOp(shape))
    scalar = b.insert(relax.SqueezeOp(tensor, [0]))
    return b.insert(relax.AstypeOp(scalar, b.dtype(op.data)))


@rule(relax.MeanOp)
def mean(b: GradientBuilder, op: relax.MeanOp, g: SSAValue) -> Sequence[Adjoint]:
    part = b.divide(spread(b, op, g), _count(b, op))
    return [b.insert(relax.BroadcastToOp(part, b.shape(b.dims(op.data))))]


@rule(relax.VarianceOp)
def variance(b: GradientBuilder, op: relax.VarianceOp, g: SSAValue) -> Sequence[Adjoint]:
    axes = reduced_axes(b, op)
    middle = b.insert(relax.MeanOp(op.data, axes, True))
    slope = b.multiply(b.number(2.0, g), b.subtract(op.data, middle))
    part = b.divide(spread(b, op, g), _count(b, op))
    return [b.multiply(part, slope)]


@rule(relax.MatmulOp)
def matmul(b: GradientBuilder, op: relax.MatmulOp, g: SSAValue) -> Sequence[Adjoint]:
    """Products with the transposed other operand, summed over broadcast batches."""
    lhs, rhs = op.lhs, op.rhs
    if op.out_dtype is not None and op.out_dtype != b.dtype(lhs):
        unsupported(op, "an out_dtype other than that of the operands has no gradient")
    if b.rank(rhs) == 1:
        g = b.insert(relax.ExpandDimsOp(g, [-1]))
        rhs = b.insert(relax.ExpandDimsOp(rhs, [-1]))
    if b.rank(lhs) == 1:
        g = b.insert(relax.ExpandDimsOp(g, [-2]))
        lhs = b.insert(relax.ExpandDimsOp(lhs, [0]))
    left = b.insert(relax.MatmulOp(g, _transposed(b, rhs)))
    right = b.insert(relax.MatmulOp(_transposed(b, lhs), g))
    found: list[Adjoint] = []
    for value, operand, padded in ((left, op.lhs, lhs), (right, op.rhs, rhs)):
        part = b.reduced(value, padded)
        if padded is not operand and isinstance(part, SSAValue):
            part = b.reshape(part, b.dims(operand))
        found.append(part)
    return found


def _transposed(b: GradientBuilder, value: SSAValue) -> SSAValue:
    *batch, row, column = range(b.rank(value))
    return b.permute(value, [*batch, column, row])

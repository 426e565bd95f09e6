"""Rules of products of matrices (docs/spec/relax-ops.md §7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from xdsl.ir import Attribute

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.linear_algebra import ELLIPSIS, parse_subscripts
from xdsl_tvm.dialects.relax.symbolic import Dim as SymbolicDim
from xdsl_tvm.dialects.relax.symbolic import provably_equal
from xdsl_tvm.passes.relax.legalize.registry import NoStagesError, RuleContext, rule
from xdsl_tvm.passes.relax.legalize.signature import known_shape
from xdsl_tvm.passes.relax.legalize.tensor_expression import (
    SUM,
    Expr,
    Tensor,
    TensorProgram,
)


@rule(relax.MatmulOp)
def matmul(op: relax.MatmulOp, site: RuleContext) -> Tensor:
    """The matrix product, batched over leading dimensions, computed in its own dtype.

    A vector on the left is a row, on the right a column, and the result lacks the
    dimension it would have had.
    """
    _expect_equal(op)
    return product_stages(site, "matmul")


def product_stages(site: RuleContext, name: str, *, transposed: bool = False) -> Tensor:
    """The matrix product of both operands; the right one may hold columns as rows."""
    program, lhs, rhs = site.program, site.tensor(0), site.tensor(1)
    shape, dtype = site.shape, site.dtype
    lhs_vector, rhs_vector = len(lhs.shape) == 1, len(rhs.shape) == 1
    rank = len(shape)
    batch = rank - (not lhs_vector) - (not rhs_vector)

    def element(spatial: list[Expr], reduction: list[Expr]) -> Expr:
        row = [] if lhs_vector else [spatial[batch]]
        column = [] if rhs_vector else [spatial[-1]]
        batches = spatial[:batch]
        left = _batched(program, lhs, batches, [*row, reduction[0]])
        last = [*column, reduction[0]] if transposed else [reduction[0], *column]
        right = _batched(program, rhs, batches, last)
        return lhs[left].cast(dtype) * rhs[right].cast(dtype)

    return program.reduce(name, shape, [lhs.shape[-1]], dtype, SUM, element)


def _expect_equal(op: relax.MatmulOp) -> None:
    """The summed dimensions must be provably equal: NoStagesError otherwise."""
    lhs, rhs = known_shape(op.lhs.type), known_shape(op.rhs.type)
    if not provably_equal(lhs[-1], rhs[max(len(rhs) - 2, 0)]):
        raise NoStagesError


def _batched(
    program: TensorProgram, tensor: Tensor, batches: list[Expr], inner: list[Expr]
) -> tuple[Expr, ...]:
    own = len(tensor.shape) - len(inner)
    batch = [
        program.extent(0) if dim == 1 else index
        for dim, index in zip(
            tensor.shape[:own], batches[len(batches) - own :], strict=True
        )
    ]
    return (*batch, *inner)


@dataclass(frozen=True)
class _Axis:
    """A dimension of the iteration space of an einsum: a label, or one of `...`."""

    label: str
    place: int = 0
    """Of one of `...`: counted from the last one, which is 1."""


@rule(relax.EinsumOp)
def einsum(op: relax.EinsumOp, site: RuleContext) -> Tensor:
    """Products of elements, summed over the labels that the result lacks."""
    program, tensors = site.program, site.tensors(0)
    labels, output = parse_subscripts(op.name, op.subscripts.data)
    axes = [
        _axes(names, len(tensor.shape))
        for names, tensor in zip(labels, tensors, strict=True)
    ]
    extents = _extents(axes, [known_shape(field) for field in _fields(op)])
    kept = _axes(output, len(site.shape))
    summed = [axis for axis in extents if axis not in kept]

    def element(spatial: list[Expr], reduction: list[Expr]) -> Expr:
        index = dict(zip([*kept, *summed], [*spatial, *reduction], strict=True))
        factors = [
            tensor[
                tuple(
                    program.extent(0) if dim == 1 else index[axis]
                    for axis, dim in zip(own, tensor.shape, strict=True)
                )
            ]
            for own, tensor in zip(axes, tensors, strict=True)
        ]
        return reduce(lambda a, b: a * b, factors)

    if not summed:
        return program.compute(
            "T_einsum", site.shape, site.dtype, lambda *i: element(list(i), [])
        )
    over = [site.dim(extents[axis]) for axis in summed]
    return program.reduce("T_einsum", site.shape, over, site.dtype, SUM, element)


def _fields(op: relax.EinsumOp) -> tuple[Attribute, ...]:
    assert isinstance(op.tensors.type, relax.TupleType), "verified"
    return op.tensors.type.fields.data


def _axes(labels: Sequence[str], rank: int) -> list[_Axis]:
    """The axes of a tensor; `...` stands for those that have no label."""
    more = rank - sum(label != ELLIPSIS for label in labels)
    axes: list[_Axis] = []
    for label in labels:
        if label == ELLIPSIS:
            axes += [_Axis(ELLIPSIS, place) for place in range(more, 0, -1)]
        else:
            axes.append(_Axis(label))
    return axes


def _extents(
    axes: Sequence[Sequence[_Axis]], shapes: Sequence[Sequence[SymbolicDim]]
) -> dict[_Axis, SymbolicDim]:
    """The extent of each axis; NoStagesError where two may differ, and none is 1."""
    extents: dict[_Axis, SymbolicDim] = {}
    for own, shape in zip(axes, shapes, strict=True):
        for axis, dim in zip(own, shape, strict=True):
            known = extents.get(axis)
            if known is None or known.value == 1:
                extents[axis] = dim
            elif dim.value != 1 and not provably_equal(known, dim):
                raise NoStagesError
    return extents

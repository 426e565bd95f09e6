"""Rules of operators that move elements (spec relax-ops.md §8)."""

from __future__ import annotations

from xdsl_tvm.dialects import relax
from xdsl_tvm.passes.relax.legalize.registry import Site, rule
from xdsl_tvm.passes.relax.legalize.stages import normal_axes, unflatten
from xdsl_tvm.passes.relax.legalize.tensor_expression import (
    Expr,
    Tensor,
)


@rule(relax.PermuteDimsOp)
def permute_dims(op: relax.PermuteDimsOp, site: Site) -> Tensor:
    """Result dimension `i` is dimension `axes[i]` of the operand."""
    rank, x = len(site.shape), site.tensor(0)
    axes = list(reversed(range(rank))) if op.axes is None else normal_axes(op.axes, rank)
    position = {axis: i for i, axis in enumerate(axes)}

    def element(*indices: Expr) -> Expr:
        return x[tuple(indices[position[axis]] for axis in range(rank))]

    return site.program.compute("T_transpose", site.shape, x.dtype, element)


@rule(relax.ReshapeOp)
def reshape(op: relax.ReshapeOp, site: Site) -> Tensor:
    """The elements in row-major order, in another shape."""
    program, x, shape = site.program, site.tensor(0), site.shape

    def element(*indices: Expr) -> Expr:
        flat = program.extent(0)
        for dim, index in zip(shape, indices, strict=True):
            flat = flat * program.extent(dim) + index
        return x[unflatten(program, flat, x.shape)]

    return program.compute("T_reshape", shape, x.dtype, element)

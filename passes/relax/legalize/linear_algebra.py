"""Rules of products of matrices (spec relax-ops.md §7)."""

from __future__ import annotations

from xdsl_tvm.dialects import relax
from xdsl_tvm.passes.relax.legalize.registry import Site, rule
from xdsl_tvm.passes.relax.legalize.tensor_expression import (
    SUM,
    Expr,
    Tensor,
    TensorProgram,
)


@rule(relax.MatmulOp)
def matmul(op: relax.MatmulOp, site: Site) -> Tensor:
    """The matrix product, batched over leading dimensions, computed in its own dtype.

    A vector on the left is a row, on the right a column, and the result lacks the
    dimension it would have had.
    """
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
        right = _batched(program, rhs, batches, [reduction[0], *column])
        return lhs[left].cast(dtype) * rhs[right].cast(dtype)

    return program.reduce("matmul", shape, [lhs.shape[-1]], dtype, SUM, element)


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

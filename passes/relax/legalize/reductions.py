"""Rules of reductions (spec relax-ops.md §9)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from xdsl.ir import Attribute

from xdsl_tvm.dialects import relax
from xdsl_tvm.passes.relax.legalize.registry import Site, rule
from xdsl_tvm.passes.relax.legalize.stages import elementwise, normal_axes
from xdsl_tvm.passes.relax.legalize.tensor_expression import (
    MAX,
    SUM,
    Dim,
    Expr,
    Reducer,
    Tensor,
    TensorProgram,
)


@rule(relax.SumOp, relax.MaxOp, relax.MeanOp)
def reduce_(op: relax.SumOp | relax.MaxOp | relax.MeanOp, site: Site) -> Tensor:
    """A reduction over `axis`, all dimensions without it."""
    data = site.tensor(0)
    rank = len(data.shape)
    axes = list(range(rank)) if op.axis is None else sorted(normal_axes(op.axis, rank))
    keepdims = op.keepdims is not None
    if isinstance(op, relax.MeanOp):
        return mean(site.program, data, axes, keepdims)
    name, reducer = ("sum", SUM) if isinstance(op, relax.SumOp) else ("max", MAX)
    return reduction(site.program, name, data, axes, keepdims, reducer)


def reduction(
    program: TensorProgram,
    name: str,
    x: Tensor,
    axes: Sequence[int],
    keepdims: bool,
    reducer: Reducer,
    *,
    function: Callable[[Expr], Expr] = lambda value: value,
    dtype: Attribute | None = None,
) -> Tensor:
    """`reducer` over the dimensions `axes`, applied to `function` of each element.

    With `keepdims` the reduced dimensions stay, with extent 1.
    """
    kept = [axis for axis in range(len(x.shape)) if keepdims or axis not in axes]
    shape: list[Dim] = [1 if axis in axes else x.shape[axis] for axis in kept]

    def element(spatial: list[Expr], inner: list[Expr]) -> Expr:
        index = dict(zip(kept, spatial, strict=True))
        index |= dict(zip(axes, inner, strict=True))
        value = x[tuple(index[axis] for axis in range(len(x.shape)))]
        return function(value.cast(dtype or x.dtype))

    over = [x.shape[axis] for axis in axes]
    return program.reduce(name, shape, over, dtype or x.dtype, reducer, element)


def count(program: TensorProgram, x: Tensor, axes: Sequence[int], like: Expr) -> Expr:
    """The number of elements over `axes`, in the dtype of `like`."""
    static = math.prod(dim for axis in axes if isinstance(dim := x.shape[axis], int))
    symbolic = [dim for axis in axes if isinstance(dim := x.shape[axis], Expr)]
    if not symbolic:
        return program.constant(static, like.dtype)
    total = program.extent(static)
    for dim in symbolic:
        total = total * dim
    return total.cast(like.dtype)


def mean(
    program: TensorProgram, x: Tensor, axes: Sequence[int], keepdims: bool
) -> Tensor:
    """The sum over `axes` divided by the number of elements."""
    total = reduction(program, "sum", x, axes, keepdims, SUM)
    return elementwise(
        program, "mean", total, lambda value: value / count(program, x, axes, value)
    )

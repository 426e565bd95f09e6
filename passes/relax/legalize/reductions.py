"""Rules of reductions, searches and scans (docs/spec/relax-ops.md §9)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import f64, i64
from xdsl.ir import Attribute, Operation

from xdsl_tvm.dialects import relax, tir
from xdsl_tvm.dialects.relax.reductions import ArgReductionOp, ReductionOp, ScanOp
from xdsl_tvm.passes.relax.legalize.extents import at_least, times
from xdsl_tvm.passes.relax.legalize.registry import NoStagesError, RuleContext, rule
from xdsl_tvm.passes.relax.legalize.stages import (
    accumulator_type,
    normal_axes,
    unflatten,
)
from xdsl_tvm.passes.relax.legalize.tensor_expression import (
    MAX,
    MIN,
    PRODUCT,
    SUM,
    Dim,
    Expr,
    Reducer,
    Tensor,
    TensorProgram,
    highest,
)

# ---- reductions ----

_REDUCERS: dict[type[Operation], tuple[str, Reducer]] = {
    relax.SumOp: ("sum", SUM),
    relax.ProdOp: ("prod", PRODUCT),
    relax.MaxOp: ("max", MAX),
    relax.MinOp: ("min", MIN),
}


@rule(*_REDUCERS)
def reduce_(op: ReductionOp, site: RuleContext) -> Tensor:
    """A reduction over `axis`, over all dimensions without it.

    Narrow floats are summed and multiplied in `f32` and rounded once.
    """
    program, x = site.program, site.tensor(0)
    name, reducer = _REDUCERS[type(op)]
    axes, keepdims = _axes_of(op, x), op.keepdims is not None
    if tir.is_bool(x.dtype):
        raise NoStagesError
    dtype = x.dtype if reducer in (MAX, MIN) else accumulator_type(x.dtype)
    found = reduction(program, name, x, axes, keepdims, reducer, dtype=dtype)
    return rounded(program, found, x.dtype)


def _axes_of(op: ReductionOp, x: Tensor) -> list[int]:
    rank = len(x.shape)
    return list(range(rank)) if op.axis is None else sorted(normal_axes(op.axis, rank))


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
    read_if_empty: bool = True,
) -> Tensor:
    """`reducer` over the dimensions `axes`, applied to `function` of each element.

    With `keepdims` the reduced dimensions stay, with extent 1. `read_if_empty` says
    whether the result matters where there is nothing to reduce.
    """
    return reduce_over(
        program,
        name,
        x,
        axes,
        keepdims,
        reducer,
        lambda _, at: function(x[at].cast(dtype or x.dtype)),
        dtype or x.dtype,
        read_if_empty=read_if_empty,
    )


def reduce_over(
    program: TensorProgram,
    name: str,
    x: Tensor,
    axes: Sequence[int],
    keepdims: bool,
    reducer: Reducer,
    element: Callable[[tuple[Expr, ...], tuple[Expr, ...]], Expr],
    dtype: Attribute,
    *,
    read_if_empty: bool = True,
) -> Tensor:
    """`reducer` over the dimensions `axes` of `x`, applied to `element`.

    That gets the indices of the result and those of `x`.
    """
    rank = range(len(x.shape))
    kept = [axis for axis in rank if keepdims or axis not in axes]
    shape: list[Dim] = [1 if axis in axes else x.shape[axis] for axis in kept]

    def term(spatial: list[Expr], inner: list[Expr]) -> Expr:
        index = dict(zip(kept, spatial, strict=True))
        index |= dict(zip(axes, inner, strict=True))
        return element(tuple(spatial), tuple(index[axis] for axis in rank))

    over = [x.shape[axis] for axis in axes]
    return program.reduce(
        name, shape, over, dtype, reducer, term, read_if_empty=read_if_empty
    )


def rounded(program: TensorProgram, x: Tensor, dtype: Attribute) -> Tensor:
    """The elements as `dtype`; no stage where they are."""
    if x.dtype == dtype:
        return x
    return program.compute("T_cast", x.shape, dtype, lambda *i: x[i].cast(dtype))


def count(program: TensorProgram, x: Tensor, axes: Sequence[int]) -> Dim:
    """The number of elements over `axes`."""
    total: Dim = 1
    for axis in axes:
        total = times(program, total, x.shape[axis])
    return total


def average(program: TensorProgram, total: Expr, number: Dim) -> Expr:
    """A sum divided by the number of its terms; that of integers is truncated, and 0 for
    no terms."""
    if tir.is_float(total.dtype):
        return total / as_dtype(program, number, total.dtype)
    # The number need not fit a narrow type.
    least = program.extent(at_least(program, number, 1))
    return (total.cast(i64) / least).cast(total.dtype)


def as_dtype(program: TensorProgram, number: Dim, dtype: Attribute) -> Expr:
    """A dimension in another type."""
    if isinstance(number, int):
        return program.constant(number, dtype)
    return number.cast(dtype)


@rule(relax.MeanOp)
def mean(op: relax.MeanOp, site: RuleContext) -> Tensor:
    """The sum divided by the number of elements, in `f32` for narrow floats."""
    program, x = site.program, site.tensor(0)
    if tir.is_bool(x.dtype):
        raise NoStagesError
    axes = _axes_of(op, x)
    total = sum_(program, x, axes, op.keepdims is not None)
    number = count(program, x, axes)

    def element(*indices: Expr) -> Expr:
        return average(program, total[indices], number).cast(x.dtype)

    return program.compute("mean", total.shape, x.dtype, element)


def sum_(
    program: TensorProgram, x: Tensor, axes: Sequence[int], keepdims: bool = False
) -> Tensor:
    """The sums over `axes`, in `f32` for narrow floats."""
    dtype = accumulator_type(x.dtype)
    return reduction(program, "sum", x, axes, keepdims, SUM, dtype=dtype)


def squares(
    program: TensorProgram,
    x: Tensor,
    total: Tensor,
    axes: Sequence[int],
    keepdims: bool = False,
) -> Tensor:
    """The sums over `axes` of squared distances from the mean, which is of `total`.

    Distances keep their digits where the mean is large against them; the difference of
    the means of squares and the square of the mean loses all.
    """
    number = count(program, x, axes)

    def element(spatial: tuple[Expr, ...], at: tuple[Expr, ...]) -> Expr:
        distance = x[at].cast(total.dtype) - average(program, total[spatial], number)
        return distance * distance

    return reduce_over(program, "squares", x, axes, keepdims, SUM, element, total.dtype)


@rule(relax.VarianceOp, relax.StdOp)
def variance(op: relax.VarianceOp | relax.StdOp, site: RuleContext) -> Tensor:
    """The mean of squared distances from the mean, or its root."""
    program, x = site.program, site.tensor(0)
    if tir.is_bool(x.dtype):
        raise NoStagesError
    axes, keepdims = _axes_of(op, x), op.keepdims is not None
    total = sum_(program, x, axes, keepdims)
    found = squares(program, x, total, axes, keepdims)
    number = count(program, x, axes)

    def element(*indices: Expr) -> Expr:
        value = average(program, found[indices], number)
        if isinstance(op, relax.StdOp):
            wide = value.dtype if tir.is_float(value.dtype) else f64
            value = value.cast(wide).call("sqrt")
        return value.cast(x.dtype)

    name = "std" if isinstance(op, relax.StdOp) else "variance"
    return program.compute(name, found.shape, x.dtype, element)


# ---- searches ----


@rule(relax.ArgmaxOp, relax.ArgminOp)
def arg_reduce(op: ArgReductionOp, site: RuleContext) -> Tensor:
    """Where the greatest or smallest element is: the first of several, or of NaNs.

    One stage finds the element, one the least place of it. Places of NaN come before all
    others, by the number of places.
    """
    program, x = site.program, site.tensor(0)
    if tir.is_bool(x.dtype):
        raise NoStagesError
    rank = len(x.shape)
    axes = list(range(rank)) if op.axis is None else [op.axis.value.data % rank]
    keepdims = op.keepdims is not None
    name, reducer = ("argmax", MAX) if isinstance(op, relax.ArgmaxOp) else ("argmin", MIN)
    best = reduction(program, f"{name}_value", x, axes, keepdims, reducer)
    number = program.extent(count(program, x, axes))

    def place(spatial: tuple[Expr, ...], at: tuple[Expr, ...]) -> Expr:
        flat = at[axes[0]] if axes else program.extent(0)
        for axis in axes[1:]:
            flat = flat * program.extent(x.shape[axis]) + at[axis]
        value = x[at]
        found = program.select(
            value.equals(best[spatial]),
            flat + number,
            program.constant(highest(i64), i64),
        )
        if not tir.is_float(x.dtype):
            return found
        return program.select(value.equals(value), found, flat)

    places = reduce_over(program, f"{name}_place", x, axes, keepdims, MIN, place, i64)
    # Of nothing, any place is right but no division by zero.
    least = at_least(program, count(program, x, axes), 1)
    return program.compute(
        name, places.shape, i64, lambda *i: places[i] % program.extent(least)
    )


# ---- scans ----


@rule(relax.CumsumOp, relax.CumprodOp)
def scan(op: ScanOp, site: RuleContext) -> Tensor:
    """Each element combined with those before it, row by row, one after the other."""
    program, x, dtype = site.program, site.tensor(0), site.dtype
    if tir.is_bool(x.dtype) or tir.is_bool(dtype):
        raise NoStagesError
    name, reducer = (
        ("cumsum", SUM) if isinstance(op, relax.CumsumOp) else ("cumprod", PRODUCT)
    )
    rank = len(x.shape)
    axis = None if op.axis is None else op.axis.value.data % rank
    rows = [] if axis is None else [*x.shape[:axis], *x.shape[axis + 1 :]]
    extent = program.extent(site.shape[axis or 0])

    def row(at: Sequence[Expr]) -> list[Expr | None]:
        return [None] * rank if axis is None else [*at[:axis], None, *at[axis:]]

    def statements(at: list[Expr], tensors: list[Tensor]) -> None:
        total = program.local("total", (1,), accumulator_type(dtype))
        zero = program.extent(0)
        program.store(
            program.constant(reducer.identity(dtype), total.dtype), total, [zero]
        )
        with program.loop("k", zero, extent) as k:
            own = [k] if axis is None else [*at[:axis], k, *at[axis:]]
            source = unflatten(program, k, x.shape) if axis is None else own
            before = total[zero]
            after = reducer.combine(
                before, x[tuple(source)].cast(dtype).cast(total.dtype)
            )
            program.store(after, total, [zero])
            result = after if op.exclusive is None else before
            program.store(result.cast(dtype), tensors[0], own)

    (found,) = program.sequential(
        name,
        rows,
        [(name, site.shape, dtype)],
        lambda at: [(x, row(at))],
        lambda at, made: [(made[0], [None] if axis is None else row(at))],
        statements,
    )
    return found

"""Rules of softmax and of the normalisations (docs/spec/relax-ops.md §11).

Sums are held in `f32` for 16-bit floats, and so are the values between stages; results
are rounded once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import Attribute

from xdsl_tvm.dialects import relax
from xdsl_tvm.passes.relax.legalize.extents import quotient, times
from xdsl_tvm.passes.relax.legalize.reductions import (
    average,
    count,
    reduce_over,
    reduction,
    squares,
    sum_,
)
from xdsl_tvm.passes.relax.legalize.registry import RuleContext, rule
from xdsl_tvm.passes.relax.legalize.stages import accumulator_type, normal_axes
from xdsl_tvm.passes.relax.legalize.tensor_expression import (
    MAX,
    SUM,
    Dim,
    Expr,
    Tensor,
    TensorProgram,
)

# ---- softmax ----


@rule(relax.SoftmaxOp)
def softmax(op: relax.SoftmaxOp, site: RuleContext) -> Tensor:
    """`exp(x - max) / sum(exp(x - max))` along `axis`, in four stages."""
    x = site.tensor(0)
    axis = op.axis.value.data % len(x.shape)
    return softmax_stages(site.program, x, axis, x.dtype)


def softmax_stages(
    program: TensorProgram, x: Tensor, axis: int, dtype: Attribute
) -> Tensor:
    """The softmax of `x` along an axis, rounded to `dtype`."""
    wide = accumulator_type(x.dtype)
    # Where there is nothing to reduce, the result is empty, too.
    highest = reduction(program, "softmax_max", x, [axis], True, MAX, read_if_empty=False)

    def power(*indices: Expr) -> Expr:
        top = highest[_along(program, indices, axis)].cast(wide)
        return (x[indices].cast(wide) - top).call("exp")

    exponential = program.compute("softmax_exp", x.shape, wide, power)
    total = reduction(
        program, "softmax_sum", exponential, [axis], True, SUM, read_if_empty=False
    )

    def quotient(*indices: Expr) -> Expr:
        value = exponential[indices] / total[_along(program, indices, axis)]
        return value.cast(dtype)

    return program.compute("softmax", x.shape, dtype, quotient)


@rule(relax.LogSoftmaxOp)
def log_softmax(op: relax.LogSoftmaxOp, site: RuleContext) -> Tensor:
    """`x - max - log(sum(exp(x - max)))` along `axis`, in three stages."""
    program, x = site.program, site.tensor(0)
    axis = op.axis.value.data % len(x.shape)
    wide = accumulator_type(x.dtype)
    # Where there is nothing to reduce, the result is empty, too.
    highest = reduction(program, "softmax_max", x, [axis], True, MAX, read_if_empty=False)

    def shifted(spatial: tuple[Expr, ...], at: tuple[Expr, ...]) -> Expr:
        return x[at].cast(wide) - highest[spatial].cast(wide)

    total = reduce_over(
        program,
        "softmax_sum",
        x,
        [axis],
        True,
        SUM,
        lambda spatial, at: shifted(spatial, at).call("exp"),
        wide,
        read_if_empty=False,
    )

    def element(*indices: Expr) -> Expr:
        own = _along(program, indices, axis)
        return (shifted(own, indices) - total[own].call("log")).cast(x.dtype)

    return program.compute("log_softmax", x.shape, x.dtype, element)


def _along(
    program: TensorProgram, indices: Sequence[Expr], axis: int
) -> tuple[Expr, ...]:
    """The indices into a tensor whose dimension `axis` was reduced to 1."""
    zero = program.extent(0)
    return tuple(zero if i == axis else index for i, index in enumerate(indices))


# ---- normalisations ----


def _scaled(
    value: Expr,
    scale: Tensor | None,
    shift: Tensor | None,
    at: tuple[Expr, ...],
    dtype: Attribute,
) -> Expr:
    """`value * scale + shift`, without what there is not, rounded to `dtype`."""
    if scale is not None:
        value = value * scale[at].cast(value.dtype)
    if shift is not None:
        value = value + shift[at].cast(value.dtype)
    return value.cast(dtype)


def _rsqrt(value: Expr, epsilon: float) -> Expr:
    """`1 / sqrt(value + epsilon)`."""
    return (value + epsilon).call("rsqrt")


@rule(relax.LayerNormOp)
def layer_norm(op: relax.LayerNormOp, site: RuleContext) -> Tensor:
    """`(x - mean) * rsqrt(variance + epsilon) * gamma + beta` over `axes`."""
    program, x = site.program, site.tensor(0)
    gamma = None if op.no_scale is not None else site.tensor(1)
    beta = None if op.no_center is not None else site.tensor(2)
    axes = normal_axes(op.axes, len(x.shape))
    rest = [axis for axis in range(len(x.shape)) if axis not in axes]
    number = count(program, x, axes)
    total = sum_(program, x, axes)
    spread = squares(program, x, total, axes)

    def element(*indices: Expr) -> Expr:
        outer = tuple(indices[axis] for axis in rest)
        value = x[indices].cast(total.dtype) - average(program, total[outer], number)
        variance = average(program, spread[outer], number)
        value = value * _rsqrt(variance, op.epsilon.value.data)
        own = tuple(indices[axis] for axis in axes)
        return _scaled(value, gamma, beta, own, x.dtype)

    return program.compute("layer_norm", x.shape, x.dtype, element)


@rule(relax.RMSNormOp)
def rms_norm(op: relax.RMSNormOp, site: RuleContext) -> Tensor:
    """`x * rsqrt(mean(x * x) + epsilon) * weight` over `axes`."""
    program, x, weight = site.program, site.tensor(0), site.tensor(1)
    axes = normal_axes(op.axes, len(x.shape))
    rest = [axis for axis in range(len(x.shape)) if axis not in axes]
    number = count(program, x, axes)
    wide = accumulator_type(x.dtype)
    total = reduction(
        program, "squares", x, axes, False, SUM, function=lambda v: v * v, dtype=wide
    )

    def element(*indices: Expr) -> Expr:
        outer = tuple(indices[axis] for axis in rest)
        size = average(program, total[outer], number)
        value = x[indices].cast(wide) * _rsqrt(size, op.epsilon.value.data)
        own = tuple(indices[axis] for axis in axes)
        return _scaled(value, weight, None, own, x.dtype)

    return program.compute("rms_norm", x.shape, x.dtype, element)


@rule(relax.BatchNormOp)
def batch_norm(op: relax.BatchNormOp, site: RuleContext) -> list[Tensor]:
    """Each slice along `axis` normalised, and the moving mean and variance.

    In training by mean and variance of the data, towards which the moving ones move by
    `momentum`; for inference by the moving ones, which stay.
    """
    program, x = site.program, site.tensor(0)
    axis = op.axis.value.data % len(x.shape)
    moving = (site.tensor(3), site.tensor(4))
    gamma = None if op.no_scale is not None else site.tensor(1)
    beta = None if op.no_center is not None else site.tensor(2)
    middle, spread, number = *moving, 1
    if op.inference is None:
        axes = [other for other in range(len(x.shape)) if other != axis]
        number = count(program, x, axes)
        middle = sum_(program, x, axes)
        spread = squares(program, x, middle, axes)
    wide = accumulator_type(x.dtype)

    def of(statistic: Tensor, at: tuple[Expr, ...]) -> Expr:
        value = statistic[at].cast(wide)
        return value if op.inference is not None else average(program, value, number)

    def element(*indices: Expr) -> Expr:
        own = (indices[axis],)
        value = x[indices].cast(wide) - of(middle, own)
        value = value * _rsqrt(of(spread, own), op.epsilon.value.data)
        return _scaled(value, gamma, beta, own, x.dtype)

    def moved(old: Tensor, new: Tensor) -> Tensor:
        share = op.momentum.value.data

        def element(index: Expr) -> Expr:
            value = old[index].cast(wide)
            if op.inference is None:
                value = value * (1 - share) + of(new, (index,)) * share
            return value.cast(old.dtype)

        return program.compute("moving", old.shape, old.dtype, element)

    result = program.compute("batch_norm", x.shape, x.dtype, element)
    return [result, moved(moving[0], middle), moved(moving[1], spread)]


@rule(relax.GroupNormOp)
def group_norm(op: relax.GroupNormOp, site: RuleContext) -> Tensor:
    """`(x - mean) * rsqrt(variance + epsilon) * gamma + beta` of groups of channels."""
    program, x = site.program, site.tensor(0)
    groups = _Groups(op, program, x)
    gamma = None if op.no_scale is not None else site.tensor(1)
    beta = None if op.no_center is not None else site.tensor(2)
    total = groups.sum("sum", lambda _, at: x[at].cast(groups.wide))

    def distance(group: tuple[Expr, ...], at: tuple[Expr, ...]) -> Expr:
        middle = average(program, total[group], groups.number)
        return x[at].cast(groups.wide) - middle

    def square(group: tuple[Expr, ...], at: tuple[Expr, ...]) -> Expr:
        value = distance(group, at)
        return value * value

    spread = groups.sum("squares", square)

    def element(*indices: Expr) -> Expr:
        group = groups.of(indices)
        variance = average(program, spread[group], groups.number)
        value = distance(group, indices) * _rsqrt(variance, op.epsilon.value.data)
        return _scaled(value, gamma, beta, (indices[groups.axis],), x.dtype)

    return program.compute("group_norm", x.shape, x.dtype, element)


class _Groups:
    """The groups of channels of an operator: tensors with one element for each."""

    def __init__(self, op: relax.GroupNormOp, program: TensorProgram, x: Tensor) -> None:
        rank = len(x.shape)
        self._program = program
        self._x = x
        self.axis = op.channel_axis.value.data % rank
        self._axes = normal_axes(op.axes, rank)
        self._kept = [axis for axis in range(rank) if axis not in self._axes]
        self._count = op.num_groups.value.data
        self._channels = quotient(program, x.shape[self.axis], self._count)
        self.number = times(program, self._channels, count(program, x, self._axes))
        self.wide = accumulator_type(x.dtype)

    def of(self, indices: Sequence[Expr]) -> tuple[Expr, ...]:
        """The group of an element of the data."""
        size = self._program.extent(self._channels)
        return tuple(
            indices[axis] // size if axis == self.axis else indices[axis]
            for axis in self._kept
        )

    def sum(
        self,
        name: str,
        element: Callable[[tuple[Expr, ...], tuple[Expr, ...]], Expr],
    ) -> Tensor:
        """The sums of `element` of the indices of a group and of an element in it."""
        size = self._program.extent(self._channels)
        shape: list[Dim] = [
            self._count if axis == self.axis else self._x.shape[axis]
            for axis in self._kept
        ]

        def term(group: list[Expr], inner: list[Expr]) -> Expr:
            channel, *others = inner
            index = dict(zip(self._kept, group, strict=True))
            index |= dict(zip(self._axes, others, strict=True))
            index[self.axis] = index[self.axis] * size + channel
            return element(tuple(group), tuple(index[axis] for axis in sorted(index)))

        over = [self._channels, *(self._x.shape[axis] for axis in self._axes)]
        return self._program.reduce(name, shape, over, self.wide, SUM, term)

"""Rules of padding, dropout and losses (docs/spec/relax-ops.md §11)."""

from __future__ import annotations

from collections.abc import Callable

from xdsl_tvm.dialects import relax, tir
from xdsl_tvm.dialects.relax.properties import values_of
from xdsl_tvm.passes.relax.legalize.reductions import average, sum_
from xdsl_tvm.passes.relax.legalize.registry import NoStagesError, RuleContext, rule
from xdsl_tvm.passes.relax.legalize.stages import accumulator_type, elementwise
from xdsl_tvm.passes.relax.legalize.tensor_expression import (
    SUM,
    Dim,
    Expr,
    Tensor,
    TensorProgram,
)
from xdsl_tvm.passes.relax.legalize.windows import guarded, padded

# ---- padding ----


def _reflected(program: TensorProgram, place: Expr, extent: Dim) -> Expr:
    """Back and forth, without the elements at the ends twice."""
    last = program.extent(extent) - program.extent(1)
    period = (last * program.extent(2)).maximum(program.extent(1))
    inside = place % period
    return inside.minimum(period - inside).minimum(last)


def _clamped(program: TensorProgram, place: Expr, extent: Dim) -> Expr:
    """The element at the end."""
    last = program.extent(extent) - program.extent(1)
    return place.maximum(program.extent(0)).minimum(last)


def _wrapped(program: TensorProgram, place: Expr, extent: Dim) -> Expr:
    """From the other end."""
    return place % program.extent(extent)


_MODES: dict[str, Callable[[TensorProgram, Expr, Dim], Expr]] = {
    "reflect": _reflected,
    "replicate": _clamped,
    "edge": _clamped,
    "circular": _wrapped,
}


@rule(relax.PadOp)
def pad(op: relax.PadOp, site: RuleContext) -> Tensor:
    """The elements with others around them, which the mode chooses."""
    program, x = site.program, site.tensor(0)
    before = values_of(op.pad_width)[::2]
    mode = op.pad_mode.data
    if mode == "constant":
        value = op.pad_value.value.data
        number = value if tir.is_float(x.dtype) else int(value)
        return padded(program, x, before, site.shape, number)
    if mode not in _MODES:
        raise NoStagesError
    source = _MODES[mode]

    def element(*indices: Expr) -> Expr:
        widths = zip(
            values_of(op.pad_width)[::2], values_of(op.pad_width)[1::2], strict=True
        )
        rows = zip(indices, widths, x.shape, strict=True)
        return x[
            tuple(
                source(program, index - program.extent(skip), dim)
                if (skip, more) != (0, 0)
                else index
                for index, (skip, more), dim in rows
            )
        ]

    return program.compute("pad", site.shape, x.dtype, element)


# ---- dropout ----


@rule(relax.DropoutOp)
def dropout(op: relax.DropoutOp, site: RuleContext) -> list[Tensor]:
    """The elements as they are, and that all of them are kept: as at inference."""
    program, x = site.program, site.tensor(0)

    def one(*_: Expr) -> Expr:
        return program.constant(1, x.dtype)

    return [
        elementwise(program, "dropout", x, lambda value: value),
        program.compute("mask", x.shape, x.dtype, one),
    ]


# ---- losses ----


@rule(relax.CrossEntropyWithLogitsOp)
def cross_entropy(op: relax.CrossEntropyWithLogitsOp, site: RuleContext) -> Tensor:
    """Minus the sum of the products, divided by the batch where there is one."""
    program, x, labels = site.program, site.tensor(0), site.tensor(1)
    wide = accumulator_type(site.dtype)

    def product(_: list[Expr], at: list[Expr]) -> Expr:
        return x[tuple(at)].cast(wide) * labels[tuple(at)].cast(wide)

    total = program.reduce("product_sum", [], x.shape, wide, SUM, product)

    def element() -> Expr:
        value = program.constant(0, wide) - total[()]
        if len(x.shape) > 1:
            value = average(program, value, x.shape[0])
        return value.cast(site.dtype)

    return program.compute("cross_entropy", [], site.dtype, element)


@rule(relax.NLLLossOp)
def nll_loss(op: relax.NLLLossOp, site: RuleContext) -> Tensor:
    """Minus the predictions at the targets, times weights; ignored ones are 0."""
    program, x, targets = site.program, site.tensor(0), site.tensor(1)
    weights = None if op.weights is None else site.tensor(2)
    wide = accumulator_type(site.dtype)

    def of_target(name: str, value: Callable[[tuple[Expr, ...], Expr], Expr]) -> Tensor:
        """`value` of the indices of a target and of the target, where that counts."""

        def element(*indices: Expr) -> Expr:
            target = targets[indices]
            counts = ~target.equals(op.ignore_index.value.data)
            place = target.cast(program.extent(0).dtype)
            return guarded(program, [counts], lambda: value(indices, place), wide)

        return program.compute(name, targets.shape, wide, element)

    def weight(_: tuple[Expr, ...], target: Expr) -> Expr:
        if weights is None:
            return program.constant(1, wide)
        return weights[target].cast(wide)

    def loss(indices: tuple[Expr, ...], target: Expr) -> Expr:
        picked = x[(*indices[:1], target, *indices[1:])].cast(wide)
        return (program.constant(0, wide) - picked) * weight(indices, target)

    axes = range(len(targets.shape))
    found = of_target("nll_loss", loss)
    if op.reduction.data != "none":
        found = sum_(program, found, axes) if axes else found
    counted = found
    if op.reduction.data == "mean":
        counted = of_target("weight", weight)
        counted = sum_(program, counted, axes) if axes else counted

    def element(*indices: Expr) -> Expr:
        value = found[indices]
        if op.reduction.data == "mean":
            number = counted[indices]
            if not tir.is_float(wide):
                # The mean of no integers is 0.
                one = program.constant(1, wide)
                number = program.select(number.equals(0), one, number)
            value = value / number
        return value.cast(site.dtype)

    return program.compute("T_loss", site.shape, site.dtype, element)

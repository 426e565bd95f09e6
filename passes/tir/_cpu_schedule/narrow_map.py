"""Maps whose last axis is shorter than a vector, as of images with few channels last.

Elements of the last axis are written one after the other for each index of the axis
before it, with what is chosen by an index, as padding is, decided by loops of their own:
an axis is divided where a comparison of it with a constant turns. So loops have straight
lines of loads and stores alone, which LLVM makes vectors of.
"""

from __future__ import annotations

from itertools import pairwise

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Cmp, Expr, Value, view
from xdsl_tvm.analysis.arith.facts import conjuncts
from xdsl_tvm.analysis.arith.linear_equation import linear_form
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir import CmpPredicate
from xdsl_tvm.passes.tir._cpu_schedule.options import kind_of
from xdsl_tvm.passes.tir._loops.loop_nest import Axis, Nest, Point
from xdsl_tvm.passes.tir._schedule.maps import is_walked_in_order, narrow_axes
from xdsl_tvm.passes.tir.rewriting.loop_code import LoopCode

_MOST_LOOPS = 16


def is_narrow_map(nest: Nest) -> bool:
    """Whether a map is one of these."""
    narrow = narrow_axes(nest)
    if narrow is None or nest.axes[-2:] != narrow:
        return False
    before, _ = narrow
    if is_walked_in_order(nest):
        return False
    stores = [access for access in nest.accesses if access.writes]
    loads = [access for access in nest.accesses if not access.writes]
    variables = tuple(Value(axis.variable) for axis in nest.axes)
    if len(stores) != 1 or stores[0].indices != variables:
        return False
    if any(access.step(before) not in (0, 1) for access in loads):
        return False
    loops = 1
    for axis in nest.axes[:-1]:
        loops *= len(_turns(nest, axis)) + 1
    return loops <= _MOST_LOOPS


def schedule_narrow_map(code: LoopCode, nest: Nest, *, parallel: bool) -> None:
    """Write such a map."""
    _write(code, nest, nest.axes, {}, parallel=parallel)


def _write(
    code: LoopCode, nest: Nest, axes: tuple[Axis, ...], point: Point, *, parallel: bool
) -> None:
    """The map over these axes."""
    axis, *rest = axes

    def at(value: Expr, *, parallel: bool = False) -> None:
        here = {**point, axis.variable: value}
        if rest:
            _write(code, nest, tuple(rest), here, parallel=parallel)
        else:
            nest.write_instance(code, here)

    def number(value: int) -> Expr:
        return smart.const(value, axis.extent.dtype)

    if not rest or axis.size == 1:
        for value in range(axis.size or 0):
            at(number(value), parallel=parallel)
        return
    if axis.size is None:
        with code.loop(axis.name, axis.extent, kind_of(parallel)) as value:
            at(value)
        return
    places = [0, *_turns(nest, axis), axis.size]
    for low, high in pairwise(places):
        size, kind = number(high - low), kind_of(parallel)
        with code.loop(axis.name, size, kind, low=number(low)) as value:
            at(value)


def _turns(nest: Nest, axis: Axis) -> list[int]:
    """Where, within an axis, a comparison of it with a constant turns."""
    found: set[int] = set()
    for op in nest.block.body.walk():
        if isinstance(op, tir.IfThenElseOp):
            for each in conjuncts(view(op.condition, nest.trees)):
                if isinstance(each, Cmp):
                    found.update(_turns_of(each, Value(axis.variable)))
    return sorted(place for place in found if 0 < place < (axis.size or 0))


def _turns_of(condition: Cmp, variable: Expr) -> list[int]:
    form = linear_form(smart.sub(condition.lhs, condition.rhs), [variable])
    factor = None if form is None else smart.literal(form.factors.get(variable, variable))
    base = None if form is None else smart.literal(form.base)
    if base is None or factor not in (1, -1):
        return []
    # The condition is `variable + base` or `base - variable`, compared with 0.
    is_turned = factor == -1
    zero = int(base) if is_turned else -int(base)
    match condition.predicate:
        case CmpPredicate.GE | CmpPredicate.LT:
            return [zero + is_turned]
        case CmpPredicate.GT | CmpPredicate.LE:
            return [zero + (not is_turned)]
        case _:
            return [zero, zero + 1]

"""Maps with a choice by an index, as padding is, and those with a short last axis.

An axis is divided where a comparison of it with a constant turns, so that each of the
loops over its parts computes without the choice, in vectors where these are long enough.
Elements of a last axis that is shorter than a vector, as of images with few channels
last, are written one after the other for each index of the axis before it: straight lines
of loads and stores, which LLVM makes vectors of.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from math import prod

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Cmp, Expr, Value, view
from xdsl_tvm.analysis.arith.facts import conjuncts
from xdsl_tvm.analysis.arith.linear_equation import linear_form
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir import CmpPredicate
from xdsl_tvm.passes.tir._cpu_schedule.elementwise import lanes_of_nest, write_lanes
from xdsl_tvm.passes.tir._cpu_schedule.options import Machine, kind_of
from xdsl_tvm.passes.tir._loops.loop_nest import Axis, Nest, Point
from xdsl_tvm.passes.tir._schedule.maps import is_walked_in_order, narrow_axes
from xdsl_tvm.passes.tir.rewriting.loop_code import LoopCode

_MOST_LOOPS = 16
"""Parts of all axes together: each is code of its own."""
_LEAST_LAST = 16
"""Elements of a last axis with a choice: few are no vectors."""


def is_divided_map(nest: Nest) -> bool:
    """Whether a map is one of these."""
    stores = [access for access in nest.accesses if access.writes]
    loads = [access for access in nest.accesses if not access.writes]
    variables = tuple(Value(axis.variable) for axis in nest.axes)
    if len(stores) != 1 or stores[0].indices != variables or is_walked_in_order(nest):
        return False
    narrow = narrow_axes(nest)
    if narrow is not None and nest.axes[-2:] == narrow:
        fits = all(access.step(narrow[0]) in (0, 1) for access in loads)
        divided = nest.axes[:-1]
    else:
        last, divided = nest.axes[-1], nest.axes
        fits = bool(_turns(nest, last)) and (last.size or 0) >= _LEAST_LAST
        fits = fits and all(access.step(last) in (0, 1) for access in loads)
    return fits and prod(len(_turns(nest, axis)) + 1 for axis in divided) <= _MOST_LOOPS


def schedule_divided_map(
    code: LoopCode, nest: Nest, machine: Machine, *, parallel: bool
) -> None:
    """Write such a map."""
    _Divided(code, nest, lanes_of_nest(nest, machine)).write(nest.axes, {}, parallel)


@dataclass(frozen=True)
class _Divided:
    """Writes such a map."""

    code: LoopCode
    nest: Nest
    lanes: int

    def write(self, axes: tuple[Axis, ...], point: Point, parallel: bool) -> None:
        """The map over these axes; in parallel if the first of them may be that."""
        axis, *rest = axes

        def at(value: Expr, parallel: bool = False) -> None:
            here = {**point, axis.variable: value}
            if rest:
                self.write(tuple(rest), here, parallel)
            else:
                self.nest.write_instance(self.code, here)

        def number(value: int) -> Expr:
            return smart.const(value, axis.extent.dtype)

        kind = kind_of(parallel)
        if axis.size is None:
            with self.code.loop(axis.name, axis.extent, kind) as value:
                at(value)
            return
        if axis.size == 1 or (not rest and narrow_axes(self.nest) is not None):
            for value in range(axis.size):
                at(number(value), parallel)
            return
        for low, high in pairwise([0, *_turns(self.nest, axis), axis.size]):
            if rest:
                size = number(high - low)
                with self.code.loop(axis.name, size, kind, low=number(low)) as value:
                    at(value)
                continue
            # Vectors of half as many lanes cover what is left, and so on.
            lanes = self.lanes
            while low < high:
                while lanes > high - low:
                    lanes //= 2
                self._write_vectors(axis, low, (high - low) // lanes, lanes, at)
                low += (high - low) // lanes * lanes

    def _write_vectors(
        self,
        axis: Axis,
        low: int,
        count: int,
        lanes: int,
        write: Callable[[Expr], None],
    ) -> None:
        """So many vectors from an index of an axis on."""
        first, extent, step = (
            smart.const(value, axis.extent.dtype) for value in (low, count, lanes)
        )
        with self.code.loop(axis.name, extent) as number:
            start = smart.add(first, smart.mul(number, step))
            write_lanes(self.code, start, lanes, write)


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

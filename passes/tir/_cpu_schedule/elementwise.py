"""The default schedule of maps: nests whose iterations are independent of each other.

The outer loops become one parallel loop; the innermost one runs in vectors, with what
remains in a loop after it. Where all buffers are walked in the order in which they lie
in memory, the nest becomes one loop over all elements first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import DYNAMIC_INDEX, UnitAttr
from xdsl.ir import Attribute

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Expr, Value, view
from xdsl_tvm.analysis.arith.linear_equation import mentions
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.tir._cpu_schedule.options import Machine, kind_of
from xdsl_tvm.passes.tir._cpu_schedule.row_fetching import RowFetches
from xdsl_tvm.passes.tir._loops.loop_nest import Axis, Nest, Point
from xdsl_tvm.passes.tir._schedule.axes import (
    fused_loop,
    loops_over,
    points,
    product_of,
    split_index,
)
from xdsl_tvm.passes.tir._schedule.maps import is_lazy, is_walked_in_order
from xdsl_tvm.passes.tir.rewriting.loop_code import LoopCode

NONTEMPORAL = "nontemporal"
"""Annotation of a loop whose stores are not read again soon."""
FENCED = "nontemporal_fence"
"""Annotation of a loop around such loops, which need no fences of their own."""
_MAP_VECTORS = 2
"""Vectors that a step of a vectorized map takes, where it has none of the math calls."""


def schedule_map(
    code: LoopCode,
    nest: Nest,
    point: Point,
    machine: Machine,
    *,
    parallel: bool,
    fenced: bool = False,
    fetches: RowFetches | None = None,
) -> None:
    """Write a map over the axes that `point` leaves open. Where a fence follows, its
    stores may bypass the cache; it may fetch what the next row needs."""
    free = [axis for axis in nest.axes if axis.variable not in point]
    if not free:
        nest.write_instance(code, point)
        return
    past_caches = (parallel or fenced) and streams(nest, machine)
    run = _VectorRun(nest, machine, past_caches, fetches)
    if not point and len(free) > 1 and is_walked_in_order(nest):
        extents = [axis.extent for axis in free]

        def place(flat: Expr) -> Point:
            return points(free, split_index(flat, extents))

        if is_lazy(nest):
            with code.loop("f", product_of(extents), kind_of(parallel)) as flat:
                nest.write_instance(code, place(flat))
            return
        run.write(code, "f", product_of(extents), place, kind_of(parallel))
        return
    inner = next((axis for axis in reversed(free) if axis.size != 1), free[-1])
    outer = [axis for axis in free if axis is not inner]
    # What is chosen by rows is so once for all columns in a loop of their own.
    wide = [axis for axis in outer if axis.size != 1]
    columns = wide[-1:] if len(wide) > 1 and is_lazy(nest) else []
    rows = [axis for axis in outer if axis not in columns]
    with (
        fused_loop(code, rows, kind_of(parallel)) as outer_point,
        loops_over(code, columns) as column_point,
    ):
        here = {**point, **outer_point, **column_point}
        kind = kind_of(parallel and all(axis.size == 1 for axis in outer))
        run.write_axis(code, inner, here, kind)


@dataclass(frozen=True)
class _VectorRun:
    """Writes one loop of a map as a loop over vectors and one over the rest."""

    nest: Nest
    machine: Machine
    streams: bool
    fetches: RowFetches | None

    def write_axis(
        self, code: LoopCode, axis: Axis, point: Point, kind: tir.ForKind
    ) -> None:
        """The loop over an axis; in vectors where the elements are neighbours."""

        def place(value: Expr) -> Point:
            return {**point, axis.variable: value}

        if _is_vectorizable(self.nest, axis) and not _chooses_along(self.nest, axis):
            self.write(code, axis.name, axis.extent, place, kind, axis)
            return
        with code.loop(axis.name, axis.extent, kind) as value:
            self.nest.write_instance(code, place(value))

    def write(
        self,
        code: LoopCode,
        name: str,
        extent: Expr,
        place: Callable[[Expr], Point],
        kind: tir.ForKind,
        axis: Axis | None = None,
    ) -> None:
        """A loop over `extent` neighbours, those along an axis if there is one."""
        nest = self.nest
        width = lanes_of_nest(nest, self.machine)
        size = smart.literal(extent)
        if size is not None and size < width:
            width = 1
        elif not _has_calls(nest) and (size is None or size >= 4 * width):
            width *= _MAP_VECTORS
        if width == 1:
            with code.loop(name, extent, kind) as value:
                nest.write_instance(code, place(value))
            return

        def write(start: Expr, length: int) -> None:
            if self.fetches is not None and axis is not None and length > 1:
                self.fetches.write(code, place(start), axis, length)
            write_lanes(
                code, start, length, lambda v: nest.write_instance(code, place(v))
            )

        hints: dict[str, Attribute] = {NONTEMPORAL: UnitAttr()} if self.streams else {}
        code.steps(name, extent, width, write, kind, annotations=hints)


def write_lanes(
    code: LoopCode, start: Expr, length: int, write: Callable[[Expr], None]
) -> None:
    """`write(value)` for `length` values from `start` on, as lanes of a vector."""
    if length == 1:
        write(start)
        return
    lanes = smart.const(length, start.dtype)
    with code.loop("v", lanes, tir.ForKind.VECTORIZED) as lane:
        write(smart.add(start, lane))


def lanes_of_nest(nest: Nest, machine: Machine) -> int:
    """The lanes of vectors of the widest type that the nest stores or loads.

    1 where it does neither.
    """
    types = [tir.buffer_definition(a.buffer).type.element_type for a in nest.accesses]
    return min(map(machine.lanes, types), default=1)


def _has_calls(nest: Nest) -> bool:
    return any(isinstance(op, tir.CallOp) for op in all_ops(nest.block.body))


def _chooses_along(nest: Nest, axis: Axis) -> bool:
    """Whether what the block chooses to compute, which vectors cannot, depends on it."""
    variable = Value(axis.variable)
    return any(
        mentions(view(op.condition, nest.trees), variable)
        for op in nest.block.body.walk()
        if isinstance(op, tir.IfThenElseOp)
    )


def _is_vectorizable(nest: Nest, axis: Axis) -> bool:
    """Whether stores go to neighbours along the axis, and no load jumps."""
    steps = [(access.writes, access.step(axis)) for access in nest.accesses]
    return all(step == 1 or (step == 0 and not writes) for writes, step in steps)


def streams(nest: Nest, machine: Machine) -> bool:
    """Whether the buffers of a nest are so large that no cache holds them."""
    total = 0
    for buffer in {access.buffer for access in nest.accesses}:
        type_ = tir.buffer_definition(buffer).type
        shape = type_.get_shape()
        if DYNAMIC_INDEX in shape:
            return False
        total += prod(shape) * tir.bytes_of_lane(type_.element_type)
    reads_own = any(a.buffer in nest.written and not a.writes for a in nest.accesses)
    return total > machine.cache_bytes and not reads_own

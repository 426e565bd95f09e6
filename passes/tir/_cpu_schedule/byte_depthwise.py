"""Depthwise convolutions of bytes with channels last, summed in `i32`.

A vector has as many channels as sums of 32 bits. Its bytes are widened to 32 bits each,
those of the unsigned operand with zeros, so that a dot product of four bytes adds one
product to each sum (`byte_dots.py`). The weights of a vector of channels stay in
registers for a row of the image, of which some columns are computed at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod

from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Add, Broadcast, Expr, Sub, Value, view
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.tir._cpu_schedule.byte_dots import (
    ByteDots,
    is_byte_along_last,
)
from xdsl_tvm.passes.tir._cpu_schedule.elementwise import write_lanes
from xdsl_tvm.passes.tir._cpu_schedule.options import Machine, kind_of
from xdsl_tvm.passes.tir._loops.loop_nest import Point, Redirected
from xdsl_tvm.passes.tir._schedule.axes import fused_loop, points
from xdsl_tvm.passes.tir._schedule.contraction import Contraction, moving
from xdsl_tvm.passes.tir._schedule.maps import is_lazy
from xdsl_tvm.passes.tir._schedule.reduction import Reduction
from xdsl_tvm.passes.tir.rewriting.loop_code import LoopCode

_MOST_TERMS = 25
"""Terms of a window whose weights may be in registers, or in the first cache."""
_COLUMNS_AT_ONCE = 4


@dataclass(frozen=True)
class ByteDepthwise(Contraction):
    """Such a convolution, as a contraction whose columns are the channels, by which both
    operands move."""


def match_byte_depthwise(found: Reduction, machine: Machine) -> ByteDepthwise | None:
    """A reduction as such a convolution, on a processor with the instruction."""
    product, nest, dot = found.term.owner, found.nest, machine.byte_dot
    if dot is None or found.dtype != i32 or is_lazy(nest):
        return None
    if found.combiner is not Add or not isinstance(product, tir.MulOp):
        return None
    if found.init is None or smart.literal(view(found.init)) != 0:
        return None
    terms = [axis.size for axis in nest.carried]
    if None in terms or prod(size or 1 for size in terms) > _MOST_TERMS:
        return None
    channels = [axis for axis in nest.spatial if found.result.step(axis) == 1]
    rows = tuple(axis for axis in nest.spatial if axis not in channels)
    if len(channels) != 1 or not rows or (channels[0].size or 1) % dot.lanes:
        return None
    for a, b in (product.operands, reversed(product.operands)):
        if not all(is_byte_along_last(nest, value, channels[0]) for value in (a, b)):
            return None
        if not moving(nest, b) & {*rows}:
            return ByteDepthwise(found, a, b, (), rows, (channels[0],))
    return None


def schedule_byte_depthwise(
    code: LoopCode, found: ByteDepthwise, machine: Machine, *, parallel: bool
) -> None:
    """Write such a convolution."""
    _Loops(code, found, machine).write(parallel=parallel)


@dataclass(frozen=True)
class _Loops:
    """Writes such a convolution."""

    code: LoopCode
    found: ByteDepthwise
    machine: Machine

    @cached_property
    def _dots(self) -> ByteDots:
        return ByteDots(self.code, self.machine, self.found.a, self.found.b)

    @property
    def _lanes(self) -> int:
        return self._dots.lanes

    @cached_property
    def _window(self) -> list[Point]:
        """The points of the window."""
        axes = self.found.terms
        values = [
            [smart.const(number, axis.extent.dtype) for number in range(axis.size or 0)]
            for axis in axes
        ]
        return [points(axes, each) for each in product(*values)]

    def write(self, *, parallel: bool) -> None:
        """All rows of the image."""
        code = self.code
        *outer, inner = self.found.rows
        (channel,) = self.found.columns
        lanes = smart.const(self._lanes, channel.extent.dtype)
        blocks = smart.floordiv(channel.extent, lanes)
        kind = kind_of(parallel and not any(axis.size != 1 for axis in outer))
        with (
            fused_loop(code, outer, kind_of(parallel)) as row,
            code.loop(channel.name, blocks, kind) as block,
        ):
            first = Value(code.value(smart.mul(block, lanes)))
            weights = [self._weight(point, first) for point in self._window]
            start = self._start(weights)

            def write(low: Expr, count: int) -> None:
                self._write_columns(row, first, weights, start, low, count)

            code.steps(inner.name, inner.extent, _COLUMNS_AT_ONCE, write)

    def _wide(self, value: Expr) -> Expr:
        """Bytes, each in the lowest bits of a lane."""
        wide = smart.cast(tir.with_lanes(i32, self._lanes), value)
        return Value(self.code.value(wide))

    def _bytes(self, load: tir.LoadOp, at: Point) -> Expr:
        """Those of a vector of channels, at the point of the first of them."""
        nest = self.found.nest
        *outer, last = (nest.tree_at(view(i, nest.trees), at) for i in load.indices)
        return self.code.load(load.buffer, *outer, smart.ramp(last, self._lanes))

    def _weight(self, term: Point, channel: Expr) -> Expr:
        load = self._dots.bytes_of_b
        return self._wide(
            self._bytes(load, {**term, **points(self.found.columns, [channel])})
        )

    def _start(self, weights: list[Expr]) -> Expr:
        """What sums begin with, so that nothing is to be taken away from them."""
        zero = smart.const(0, i32)
        none = Broadcast(tir.with_lanes(i32, self._lanes), zero)
        if not self._dots.flips:
            return none
        total: Expr = none
        highest = self._wide(self._dots.highest(self._lanes))
        for weight in weights:
            total = self._dots.multiplied(total, highest, weight)
        return Value(self.code.value(Sub(none, total)))

    def _write_columns(
        self,
        row: Point,
        channel: Expr,
        weights: list[Expr],
        start: Expr,
        low: Expr,
        count: int,
    ) -> None:
        """So many columns of the image from `low` on."""
        code, found, dots = self.code, self.found, self._dots
        inner = found.rows[-1]
        here = [
            {
                **row,
                inner.variable: smart.add(low, smart.const(number, low.dtype)),
                **points(found.columns, [channel]),
            }
            for number in range(count)
        ]
        totals: list[Expr] = []
        for at in here:
            total = start
            for term, weight in zip(self._window, weights, strict=True):
                data = dots.row_byte(self._bytes(dots.bytes_of_a, {**at, **term}))
                total = dots.multiplied(total, self._wide(data), weight)
            totals.append(total)
        with code.block("columns"):
            sums = code.alloc("sums", [count, self._lanes], i32, "local")
            zero = smart.const(0, low.dtype)
            for number, total in enumerate(totals):
                place = smart.const(number, low.dtype)
                code.store(total, sums, place, smart.ramp(zero, self._lanes))
            for number, at in enumerate(here):
                self._finish(sums, smart.const(number, low.dtype), at, channel)

    def _finish(self, sums: SSAValue, number: Expr, at: Point, channel: Expr) -> None:
        """Store the results of a column, or what is made of them."""
        code, found = self.code, self.found
        result, epilogue = found.reduction.result, found.epilogue

        def indices(lane: Expr) -> list[Expr]:
            there = {**at, **points(found.columns, [smart.add(channel, lane)])}
            return [found.nest.tree_at(index, there) for index in result.indices]

        def store(lane: Expr) -> None:
            code.store(code.load(sums, number, lane), result.buffer, *indices(lane))

        def finish(lane: Expr) -> None:
            assert epilogue is not None, "asked before"
            redirected: Redirected = {}
            if not found.keeps_results:
                redirected = {result.buffer: (sums, (number, lane))}
            place = points(epilogue.axes, indices(lane))
            epilogue.write_body(code, place, redirected=redirected)

        zero = smart.const(0, channel.dtype)
        if found.keeps_results:
            write_lanes(code, zero, self._lanes, store)
        if epilogue is not None:
            write_lanes(code, zero, self._lanes, finish)

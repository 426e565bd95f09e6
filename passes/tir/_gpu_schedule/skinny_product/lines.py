"""Skinny products of whose matrix the terms are next to each other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from xdsl.ir import SSAValue

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Expr
from xdsl_tvm.passes.tir._gpu_schedule.device import (
    ENOUGH_BLOCKS,
    WARP,
    ceildiv,
    in_range,
    is_multiple,
    threads_for,
)
from xdsl_tvm.passes.tir._gpu_schedule.results import (
    each_lane,
)
from xdsl_tvm.passes.tir._gpu_schedule.skinny_product.kernel import (
    IN_FLIGHT,
    LEAST_STEPS,
    SkinnyProduct,
    steps_at_a_time,
)


@dataclass
class LineProduct(SkinnyProduct):
    """Terms of the matrix are next to each other: threads share the terms of lines."""

    @cached_property
    def lanes(self) -> int:
        return self.device.lanes([self.nest], self.found.terms[-1])

    @cached_property
    def units(self) -> Expr:
        """Stretches of neighbours of a line."""
        return smart.floordiv(self.terms, self.number(self.lanes))

    def _is_enough(self, threads: int) -> bool:
        """Whether so many threads for a line fill the device."""
        enough = ENOUGH_BLOCKS * self.device.threads
        return self.results is None or self.results * threads >= enough

    @cached_property
    def width(self) -> int:
        """Threads of a line: a warp, or more where there are few lines."""
        width = threads_for(self.units, min(WARP, self.device.threads))
        size = smart.literal(self.units)
        while width >= WARP and width < self.device.threads and size is not None:
            if self._is_enough(width) or size < 2 * width * LEAST_STEPS:
                break
            width *= 2
        return width

    @cached_property
    def own(self) -> int:
        """Lines of a thread, which share what is read of the vectors."""
        own = 1
        while own * 2 <= self.rows and own < 4 and self.width <= WARP:
            if not self._is_enough(self.width // (2 * own)):
                break
            own *= 2
        return own

    @cached_property
    def height(self) -> int:
        """Lines, or groups of them, of a block."""
        if self.width > WARP:
            return 1
        most = max(self.device.threads // self.width, 1)
        return threads_for(ceildiv(self.lines, self.own), most)

    def threads(self) -> tuple[int, int]:
        return self.width, self.height

    def blocks(self) -> Expr:
        return ceildiv(self.lines, self.height * self.own)

    def splits(self, blocks: Expr) -> int:
        least = self.width * self._at_a_time * LEAST_STEPS
        return self.splits_of(blocks, self.units, least)

    @property
    def _at_a_time(self) -> int:
        return IN_FLIGHT // self.own

    def write_block(self, place: Expr, row: Expr, column: Expr, splits: int) -> None:
        code, number, width = self.code, self.number, self.width
        group = smart.add(smart.mul(place, number(self.height)), row)
        first = smart.mul(group, number(self.own))
        sums = self.begin(self.own)
        units = smart.floordiv(self.units, number(splits))
        start = smart.mul(smart.cast(self.index, self.split), units)
        some = steps_at_a_time(ceildiv(units, width), self._at_a_time)
        whole = smart.floordiv(units, number(some * width))
        done = smart.mul(whole, number(some * width))

        def unit_of(local: Expr, step: Expr) -> Expr:
            return smart.add(local, smart.add(smart.mul(step, number(width)), column))

        if smart.literal(whole) != 0:
            with code.loop("k", whole) as k:
                at = smart.add(start, smart.mul(k, number(some * width)))
                self._add_terms(sums, first, some, lambda u: unit_of(at, u))
        rest = smart.sub(units, done)
        if smart.literal(rest) != 0:
            with code.loop("r", ceildiv(rest, width)) as k:
                local = unit_of(done, k)
                with code.when(in_range(local, units, width)):
                    at = smart.add(start, local)
                    self._add_terms(sums, first, 1, lambda _: at)
        self._finish_all(sums, first, column)

    def _add_terms(
        self, sums: SSAValue, first: Expr, some: int, unit_of: Callable[[Expr], Expr]
    ) -> None:
        """Add some stretches of terms; all of the matrix are loaded before the first."""
        code, number = self.code, self.number
        lanes, last = self.lanes, smart.sub(self.lines, number(1))
        matrix = code.alloc("w", [some, self.own, lanes], self.dtype, "local")
        with (
            code.unrolled("u", number(some)) as u,
            code.unrolled("o", number(self.own)) as o,
        ):
            # What is loaded for lines after the last one is not used.
            line = smart.add(first, o)
            if not is_multiple(self.lines, self.own * self.height):
                line = smart.minimum(line, last)
            with each_lane(code, lanes, self.index) as lane:
                point = {**self.line(line), **self.term(unit_of(u), lane, lanes)}
                code.store(self.value(self.found.b, point), matrix, u, o, lane)
        with (
            code.unrolled("u", number(some)) as u,
            code.unrolled("m", number(self.rows)) as m,
        ):
            vector = code.alloc("x", [lanes], self.dtype, "local")
            with each_lane(code, lanes, self.index) as lane:
                point = {**self.vector(m), **self.term(unit_of(u), lane, lanes)}
                code.store(self.value(self.found.a, point), vector, lane)
            with (
                code.unrolled("o", number(self.own)) as o,
                code.unrolled("l", number(lanes)) as lane,
            ):
                left, right = code.load(vector, lane), code.load(matrix, u, o, lane)
                self.add(left, right, sums, m, o)

    def _finish_all(self, sums: SSAValue, first: Expr, column: Expr) -> None:
        """Combine the sums of threads; each of them stores another result."""
        code, number, own, width = self.code, self.number, self.own, self.width
        if width > 1:
            self.combine(sums, own, column)
        totals = [
            code.load(sums, number(m), number(o))
            for m in range(self.rows)
            for o in range(own)
        ]
        for start in range(0, len(totals), width):
            some = totals[start : start + width]
            mine = some[0]
            for count, total in enumerate(some[1:], 1):
                mine = smart.select(smart.eq(column, number(count)), total, mine)
            which = smart.add(column, number(start))
            line = smart.add(first, smart.floormod(which, number(own)))
            stores = smart.conjunction(
                in_range(column, number(len(some)), width),
                in_range(line, self.lines, own * self.height),
            )
            with code.when(stores):
                self.finish(smart.floordiv(which, number(own)), line, lambda m=mine: m)

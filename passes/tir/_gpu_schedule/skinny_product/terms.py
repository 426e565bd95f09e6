"""Skinny products of whose matrix the lines are next to each other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from xdsl.ir import SSAValue

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Expr
from xdsl_tvm.dialects import tir
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
    split_point,
)
from xdsl_tvm.passes.tir._gpu_schedule.skinny_product.kernel import (
    IN_FLIGHT,
    LEAST_STEPS,
    SkinnyProduct,
    steps_at_a_time,
)
from xdsl_tvm.passes.tir._schedule.contraction import ops_behind

_TERMS: Final = 4
"""Terms that a thread has of neighbouring lines, one after the other."""
_ROW_BYTES: Final = 64
"""Neighbouring bytes that are accessed together at least: two sectors."""
_SHARED_BYTES: Final = 16384
"""What a block has of shared memory for sums, so that several fit a multiprocessor."""


@dataclass
class TermProduct(SkinnyProduct):
    """Lines of the matrix are next to each other: a thread has neighbouring lines."""

    @cached_property
    def lanes(self) -> int:
        return self.device.lanes([self.nest], self.found.columns[-1])

    @cached_property
    def units(self) -> Expr:
        """Stretches of neighbouring lines."""
        return smart.floordiv(self.lines, self.number(self.lanes))

    @cached_property
    def width(self) -> int:
        """Threads next to each other: a warp, or fewer where there are few lines."""
        lanes, size = self.lanes, tir.bytes_of_lane(self.found.b.type)
        width = threads_for(self.units, self._warp)
        least = max(_ROW_BYTES // (lanes * size), 1)
        while width > least and self.results is not None:
            if self.results >= width * lanes * ENOUGH_BLOCKS:
                break
            width //= 2
        while width > 1 and self._shared_bytes(width) > _SHARED_BYTES:
            width //= 2
        return width

    def _shared_bytes(self, width: int) -> int:
        warps = max(self.device.threads // WARP, 1)
        size = tir.bytes_of_lane(self.dtype)
        return warps * self.rows * width * self.lanes * size

    @property
    def _warp(self) -> int:
        return min(WARP, self.device.threads)

    @property
    def sharing(self) -> int:
        """Threads of a warp that have the same lines, and different terms."""
        return self._warp // self.width

    @cached_property
    def warps(self) -> int:
        """Warps of a block, which have different terms."""
        steps = ceildiv(self.terms, self.sharing * _TERMS)
        return threads_for(steps, self.device.threads // self._warp)

    def threads(self) -> tuple[int, int]:
        columns = self.width * self.warps
        return (columns, 1) if self.sharing == 1 else (self.sharing, columns)

    def blocks(self) -> Expr:
        return ceildiv(self.units, self.width)

    def splits(self, blocks: Expr) -> int:
        step = self.sharing * self.warps * _TERMS
        if not is_multiple(self.terms, step):
            return 1
        steps = smart.floordiv(self.terms, self.number(step))
        return self.splits_of(blocks, steps, LEAST_STEPS)

    def write_block(self, place: Expr, row: Expr, column: Expr, splits: int) -> None:
        code, number = self.code, self.number
        width, lanes, sharing = self.width, self.lanes, self.sharing
        thread, other = (column, number(0)) if sharing == 1 else (row, column)
        unit = smart.add(
            smart.mul(place, number(width)), smart.floormod(thread, number(width))
        )
        warp = smart.floordiv(thread, number(width))
        team = smart.add(smart.mul(warp, number(sharing)), other)
        first = smart.mul(unit, number(lanes))
        sums = self.begin(lanes)
        with code.when(in_range(unit, self.units, width)):
            self._add_all(sums, first, team, splits)
        if sharing > 1:
            self.combine(sums, lanes, other)
        corner = smart.mul(place, number(width * lanes))
        self._finish_all(sums, corner, thread, other)

    def _add_all(self, sums: SSAValue, first: Expr, team: Expr, splits: int) -> None:
        """The terms of a thread."""
        code, number = self.code, self.number
        count = self.sharing * self.warps
        terms = smart.floordiv(self.terms, number(splits))
        start = smart.mul(smart.cast(self.index, self.split), terms)
        steps = smart.floordiv(terms, number(count * _TERMS))
        # With several vectors, the registers of more accesses would be spilled.
        most = IN_FLIGHT // _TERMS if self.rows == 1 else 1
        some = steps_at_a_time(steps, most)
        whole = smart.floordiv(steps, number(some))
        done = smart.mul(whole, number(some * count * _TERMS))
        if smart.literal(whole) != 0:
            with code.loop("k", whole) as k:

                def term_of(u: Expr) -> Expr:
                    step = smart.add(smart.mul(k, number(some)), u)
                    unit = smart.add(smart.mul(step, number(count)), team)
                    return smart.add(start, smart.mul(unit, number(_TERMS)))

                self._add_terms(sums, first, some, _TERMS, term_of)
        rest = smart.sub(terms, done)
        if smart.literal(rest) != 0:
            with code.loop("r", ceildiv(rest, count)) as k:
                local = smart.add(smart.mul(k, number(count)), team)
                local = smart.add(done, local)
                with code.when(in_range(local, terms, count)):
                    at = smart.add(start, local)
                    self._add_terms(sums, first, 1, 1, lambda _: at)

    def _add_terms(
        self,
        sums: SSAValue,
        first: Expr,
        some: int,
        terms: int,
        term_of: Callable[[Expr], Expr],
    ) -> None:
        """Add terms that follow each other, some times; all are loaded before."""
        code, number = self.code, self.number
        lanes = self.lanes
        matrix = code.alloc("w", [some, terms, lanes], self.dtype, "local")
        with (
            code.unrolled("u", number(some)) as u,
            code.unrolled("t", number(terms)) as t,
            each_lane(code, lanes, self.index) as lane,
        ):
            term = split_point(smart.add(term_of(u), t), self.found.terms)
            point = {**self.line(smart.add(first, lane)), **term}
            code.store(self.value(self.found.b, point), matrix, u, t, lane)
        with (
            code.unrolled("u", number(some)) as u,
            code.unrolled("m", number(self.rows)) as m,
        ):
            vector = code.alloc("x", [terms], self.dtype, "local")
            self._read_vector(vector, m, term_of(u), terms)
            with (
                code.unrolled("t", number(terms)) as t,
                code.unrolled("l", number(lanes)) as lane,
            ):
                left, right = code.load(vector, t), code.load(matrix, u, t, lane)
                self.add(left, right, sums, m, lane)

    def _read_vector(self, vector: SSAValue, m: Expr, first: Expr, terms: int) -> None:
        """Terms of a vector that follow each other, at once where they are neighbours."""
        code, number, nest = self.code, self.number, self.nest
        axis = self.found.terms[-1]
        behind = ops_behind(nest, self.found.a)
        steps = [each.step(axis) for each in nest.accesses if each.op in behind]
        at_once = axis.size is not None and axis.size % terms == 0
        if at_once and all(step in (0, 1) for step in steps):
            unit = smart.floordiv(first, number(terms))
            with each_lane(code, terms, self.index) as lane:
                point = {**self.vector(m), **self.term(unit, lane, terms)}
                code.store(self.value(self.found.a, point), vector, lane)
            return
        with code.loop("t", number(terms), tir.ForKind.UNROLLED) as t:
            term = split_point(smart.add(first, t), self.found.terms)
            value = self.value(self.found.a, {**self.vector(m), **term})
            code.store(value, vector, t)

    def _finish_all(
        self, sums: SSAValue, corner: Expr, thread: Expr, other: Expr
    ) -> None:
        """Add the sums of all warps, which are in shared memory; store results."""
        code, number = self.code, self.number
        lanes, lines = self.lanes, self.width * self.lanes
        shape = [self.warps, self.rows, lines]
        shared = code.alloc("shared_sums", shape, self.dtype, "shared")
        is_one = smart.eq(other, number(0))
        with (
            code.when(is_one),
            code.unrolled("m", number(self.rows)) as m,
            each_lane(code, lanes, self.index) as lane,
        ):
            warp = smart.floordiv(thread, number(self.width))
            place = smart.mul(smart.floormod(thread, number(self.width)), number(lanes))
            value = code.load(sums, m, lane)
            code.store(value, shared, warp, m, smart.add(place, lane))
        threads = self.width * self.warps * self.sharing
        count = number(self.rows * lines)
        linear = smart.add(smart.mul(thread, number(self.sharing)), other)
        with code.unrolled("r", ceildiv(count, threads)) as r:
            which = smart.add(smart.mul(r, number(threads)), linear)
            m = smart.floordiv(which, number(lines))
            place = smart.floormod(which, number(lines))
            line = smart.add(corner, place)
            stores = smart.conjunction(
                in_range(which, count, threads), in_range(line, self.lines, lines)
            )

            def total() -> Expr:
                warps = [number(warp) for warp in range(self.warps)]
                found = [code.load(shared, warp, m, place) for warp in warps]
                result = found[0]
                for each in found[1:]:
                    result = smart.add(result, each)
                return result

            with code.when(stores):
                self.finish(m, line, total)

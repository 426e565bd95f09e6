"""The GPU schedule of skinny products: a matrix with one vector, or with a few.

They are bound by the matrix, which is read once for all vectors, by as many neighbours as
a thread accesses at once. Where terms are next to each other, the threads of a warp have
the terms of some lines of the matrix, and combine their sums by shuffles (`LineProduct`).
Where lines are, a thread has neighbouring lines, and rows of threads share the terms
(`TermProduct`). Where that are too few blocks, terms are split over several
(`split_terms.py`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Final

from xdsl.ir import Attribute, SSAValue

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Add, Expr
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.tir._gpu_schedule.allreduce import (
    accumulated_type,
    write_allreduce,
)
from xdsl_tvm.passes.tir._gpu_schedule.device import (
    ENOUGH_BLOCKS,
    WARP,
    Device,
    ceildiv,
    in_range,
    is_multiple,
    is_vectorizable,
    kernel,
    threads_for,
)
from xdsl_tvm.passes.tir._gpu_schedule.results import (
    each_lane,
    multiply_add,
    split_point,
    write_results,
)
from xdsl_tvm.passes.tir._gpu_schedule.split_terms import (
    PartialSums,
    block_name,
    number_of_splits,
    partial_sums,
)
from xdsl_tvm.passes.tir._loops.loop_nest import Axis, Nest, Point
from xdsl_tvm.passes.tir._schedule.axes import (
    is_not_empty,
    points,
    product_of,
    split_index,
)
from xdsl_tvm.passes.tir._schedule.contraction import Contraction, moving, ops_behind
from xdsl_tvm.passes.tir._schedule.reduction import Reduction
from xdsl_tvm.passes.tir.rewriting.loop_code import LoopCode

_MOST_ROWS: Final = 8
"""More vectors are a product of tiles."""
_LEAST_TERMS: Final = 16
_IN_FLIGHT: Final = 8
"""So many accesses of the matrix of a thread are under way at a time, at most."""
_TERMS: Final = 4
"""Terms that a thread has of neighbouring lines, one after the other."""
_ROW_BYTES: Final = 64
"""Neighbouring bytes that are accessed together at least: two sectors."""
_SHARED_BYTES: Final = 16384
"""What a block has of shared memory for sums, so that several fit a multiprocessor."""
_SPLIT_BYTES: Final = 4 << 20
"""Smaller matrices are read sooner than another kernel begins."""
_LEAST_STEPS: Final = 4
"""So many steps a block has at least where terms are split."""


def match_skinny(found: Reduction) -> Contraction | None:
    """A reduction as the product of a matrix, `b`, with few vectors, the rows of `a`.

    The lines of the matrix are the columns. Axes of one iteration are of the batch.
    """
    product = found.term.owner
    if found.combiner is not Add or not isinstance(product, tir.MulOp):
        return None
    nest = found.nest
    a, b = product.operands
    by_a, by_b = moving(nest, a), moving(nest, b)
    if not all(axis in by_a and axis in by_b for axis in _wide(nest.carried)):
        return None
    rows = tuple(axis for axis in _wide(nest.spatial) if axis not in by_b)
    lines = tuple(axis for axis in _wide(nest.spatial) if axis not in by_a)
    if not _are_fewer(rows, lines):
        a, b, rows, lines = b, a, lines, rows
    terms = _size(nest.carried)
    if not _are_fewer(rows, lines) or (terms is not None and terms < _LEAST_TERMS):
        return None
    batch = tuple(axis for axis in nest.spatial if axis not in (*rows, *lines))
    result = Contraction(found, a, b, batch, rows, lines)
    return None if _along_terms(result) is None else result


def _are_fewer(rows: Sequence[Axis], lines: Sequence[Axis]) -> bool:
    """Whether rows are few, and lines are not fewer."""
    few, many = _size(rows), _size(lines)
    if few is None or few > _MOST_ROWS or not lines:
        return False
    return many is None or many >= few


def _size(axes: Sequence[Axis]) -> int | None:
    sizes = [axis.size for axis in axes]
    known = [size for size in sizes if size is not None]
    return prod(known) if len(known) == len(sizes) else None


def _wide(axes: Sequence[Axis]) -> tuple[Axis, ...]:
    return tuple(axis for axis in axes if axis.size != 1)


def _along_terms(found: Contraction) -> bool | None:
    """Whether terms of the matrix are next to each other, and not lines.

    None where neither are, or both, as windows of an image.
    """
    nest, terms = found.nest, _wide(found.terms)
    behind = ops_behind(nest, found.b)
    matrix = [access for access in nest.accesses if access.op in behind]
    along = any(access.step(terms[-1]) == 1 for access in matrix)
    across = any(access.step(found.columns[-1]) == 1 for access in matrix)
    if along == across:
        return None
    fits = is_vectorizable(nest, terms[-1] if along else found.columns[-1])
    return along if fits else None


def schedule_skinny(code: LoopCode, found: Contraction, device: Device) -> None:
    """Write a skinny product as a kernel, and one that adds split sums."""
    kind = LineProduct if _along_terms(found) else TermProduct
    kind(code, found, device).write()


@dataclass
class SkinnyProduct(ABC):
    """Writes one kernel."""

    code: LoopCode
    found: Contraction
    device: Device
    partial: PartialSums | None = field(init=False, default=None)
    batch: Point = field(init=False)
    split: Expr = field(init=False)

    # ---- sizes ----

    @property
    def nest(self) -> Nest:
        return self.found.nest

    @cached_property
    def dtype(self) -> Attribute:
        """The type in which terms are added."""
        return accumulated_type(self.found.reduction.dtype)

    @cached_property
    def index(self) -> Attribute:
        return product_of([axis.extent for axis in self.nest.axes]).dtype

    def number(self, value: int) -> Expr:
        return smart.const(value, self.index)

    @cached_property
    def rows(self) -> int:
        """How many vectors there are."""
        return prod(axis.size or 1 for axis in self.found.rows)

    @cached_property
    def lines(self) -> Expr:
        return self._extent(self.found.columns)

    @cached_property
    def terms(self) -> Expr:
        return self._extent(self.found.terms)

    def _extent(self, axes: Sequence[Axis]) -> Expr:
        return smart.cast(self.index, product_of([axis.extent for axis in axes]))

    @cached_property
    def results(self) -> int | None:
        """Lines of all batches."""
        return _size((*self.found.batch, *self.found.columns))

    @cached_property
    @abstractmethod
    def lanes(self) -> int:
        """Neighbours of the matrix that a thread accesses at once."""

    def splits_of(self, blocks: Expr, steps: Expr, least: int) -> int:
        """Over how many blocks terms are split."""
        size = _size(self.nest.axes)
        of_matrix = None if size is None else size // self.rows
        dtype = self.found.b.type
        small = of_matrix is None or of_matrix * tir.bytes_of_lane(dtype) < _SPLIT_BYTES
        if small and self.device.splits is None:
            return 1
        return number_of_splits(self.device, blocks, steps, least)

    # ---- the whole ----

    def write(self) -> None:
        """All vectors and lines of all batches."""
        batch = [axis.extent for axis in self.found.batch]
        blocks = product_of([*batch, self.blocks()])
        splits = self.splits(blocks)
        self.partial = partial_sums(self.code, self.found, self.device, splits)
        extents = [*batch, self.blocks(), smart.const(splits, blocks.dtype)]
        width, height = self.threads()
        with (
            kernel(self.code, product_of(extents), width, height) as (block, r, c),
            self.code.block(block_name(self.found, self.partial)),
        ):
            *before, place, self.split = split_index(block, extents)
            self.batch = points(self.found.batch, before)
            place, row, column = (smart.cast(self.index, each) for each in (place, r, c))
            self.write_block(place, row, column, splits)
        if self.partial is not None:
            self.partial.write_kernel()

    @abstractmethod
    def blocks(self) -> Expr:
        """Blocks for the lines of a batch."""

    @abstractmethod
    def splits(self, blocks: Expr) -> int:
        """Over how many blocks terms are split, of so many in all."""

    @abstractmethod
    def threads(self) -> tuple[int, int]:
        """Threads of a block, `threadIdx.x` and `threadIdx.y`."""

    @abstractmethod
    def write_block(self, place: Expr, row: Expr, column: Expr, splits: int) -> None:
        """What a thread of a block does."""

    # ---- parts ----

    def begin(self, count: int) -> SSAValue:
        """New sums, for each vector and so many lines."""
        sums = self.code.alloc("sums", [self.rows, count], self.dtype, "local")
        zero = smart.const(0, self.dtype)
        with (
            self.code.unrolled("m", self.number(self.rows)) as m,
            self.code.unrolled("o", self.number(count)) as o,
        ):
            self.code.store(zero, sums, m, o)
        return sums

    def vector(self, m: Expr) -> Point:
        """The rows' axes at a vector."""
        return split_point(m, self.found.rows) if self.found.rows else {}

    def line(self, place: Expr) -> Point:
        """The columns' axes at a line."""
        return split_point(place, self.found.columns)

    def term(self, unit: Expr, lane: Expr, lanes: int) -> Point:
        """The terms' axes at a neighbour of a stretch of so many."""
        *outer, last = [axis.extent for axis in self.found.terms]
        width = smart.const(lanes, last.dtype)
        *before, inner = split_index(unit, [*outer, smart.floordiv(last, width)])
        place = smart.add(smart.mul(inner, width), smart.cast(last.dtype, lane))
        return points(self.found.terms, [*before, place])

    def value(self, value: SSAValue, point: Point) -> Expr:
        """An element of an operand, in the type of sums."""
        found = self.nest.value_at(self.code, value, {**self.batch, **point})
        return smart.cast(self.dtype, found)

    def add(self, left: Expr, right: Expr, sums: SSAValue, m: Expr, o: Expr) -> None:
        """Add a product to a sum."""
        before = self.code.load(sums, m, o)
        total = multiply_add(left, right, before, fused=self.device.fuse_multiply_add)
        self.code.store(total, sums, m, o)

    def combine(self, sums: SSAValue, count: int, thread: Expr) -> None:
        """Let the threads along an axis have the sums of all of them."""
        code = self.code
        with (
            code.unrolled("m", self.number(self.rows)) as m,
            code.unrolled("o", self.number(count)) as o,
        ):
            total = write_allreduce(code, Add, code.load(sums, m, o), thread)
            code.store(total, sums, m, o)

    def finish(self, m: Expr, line: Expr, total: Callable[[], Expr]) -> None:
        """Store a result, or the sum of a split; not where lines end before."""
        point = {**self.batch, **self.vector(m), **self.line(line)}
        if self.partial is not None:
            self.partial.store(self.split, 1, point, lambda _: total())
            return
        with self.code.when(is_not_empty(self.found.terms)):
            write_results(
                self.code, self.found, 1, self.index, lambda _: point, lambda _: total()
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
            if self._is_enough(width) or size < 2 * width * _LEAST_STEPS:
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
        least = self.width * self._at_a_time * _LEAST_STEPS
        return self.splits_of(blocks, self.units, least)

    @property
    def _at_a_time(self) -> int:
        return _IN_FLIGHT // self.own

    def write_block(self, place: Expr, row: Expr, column: Expr, splits: int) -> None:
        code, number, width = self.code, self.number, self.width
        group = smart.add(smart.mul(place, number(self.height)), row)
        first = smart.mul(group, number(self.own))
        sums = self.begin(self.own)
        units = smart.floordiv(self.units, number(splits))
        start = smart.mul(smart.cast(self.index, self.split), units)
        some = _steps_at_a_time(ceildiv(units, width), self._at_a_time)
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
        return self.splits_of(blocks, steps, _LEAST_STEPS)

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
        most = _IN_FLIGHT // _TERMS if self.rows == 1 else 1
        some = _steps_at_a_time(steps, most)
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


def _steps_at_a_time(steps: Expr, most: int) -> int:
    """How many steps are done together: all, or a divisor of them, if there is one."""
    count = smart.literal(steps)
    if count is None or most == 1:
        return most
    if count <= most:
        return max(int(count), 1)
    fitting = [n for n in range(most, most // 2, -1) if int(count) % n == 0]
    return fitting[0] if fitting else max(most // 2, 1)

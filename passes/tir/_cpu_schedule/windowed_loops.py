"""The loops of convolutions and poolings of images with channels in blocks.

A tile of neighbouring columns, for up to five blocks of channels, stays in registers
while its terms are added, in the order of the program but for narrow images, whose
channels come last. Nothing is copied: one operand is read as vectors of the last axis,
the other likewise, or as single elements for all lanes. What a large weight has later is
fetched ahead.

Blocks that fill half of a vector, and single ones, have two terms at a time
(`windowed_pairs.py`).
Tiles at the left and the right edge have a loop for each run of places in the window of
which the same columns are inside; rows that are outside are left out at run time.
`windowed_rows.py` has the loops of most depthwise convolutions.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import groupby, pairwise
from math import prod

from xdsl.dialects.builtin import IntegerAttr, i32
from xdsl.ir import Attribute, SSAValue

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Broadcast, Expr, Value
from xdsl_tvm.analysis.arith.linear_equation import mentions
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.tir._cpu_schedule.fetching import (
    INTO_FIRST_CACHE,
    INTO_SECOND_CACHE,
    fetch,
)
from xdsl_tvm.passes.tir._cpu_schedule.options import (
    LEFT_TO_LLVM,
    ROLLED,
    Machine,
    kind_of,
)
from xdsl_tvm.passes.tir._cpu_schedule.windowed import Windowed
from xdsl_tvm.passes.tir._cpu_schedule.windowed_images import fetch_next_image
from xdsl_tvm.passes.tir._cpu_schedule.windowed_pairs import PAIR, Pairs, Panel
from xdsl_tvm.passes.tir._cpu_schedule.windowed_rows import RowTiles
from xdsl_tvm.passes.tir._cpu_schedule.windowed_tiles import (
    ForEach,
    Later,
    Step,
    Tile,
    TileCode,
)
from xdsl_tvm.passes.tir._loops.loop_nest import Axis, Point
from xdsl_tvm.passes.tir._schedule.axes import (
    fused_loop,
    points,
    product_of,
    split_index,
)
from xdsl_tvm.passes.tir.rewriting.loop_code import LoopCode

_STEPS = 4
_FEW_STEPS = 2
"""Steps of an unrolled loop over channels, which share nothing; the fewer ones are for
tiles that leave no registers for what LLVM reads of the weight of all steps first."""
_REGISTERS = 32
"""Vectors of sums and weights that leave no register for an element."""


def schedule_windowed(
    code: LoopCode, found: Windowed, machine: Machine, point: Point, *, parallel: bool
) -> None:
    """Write a convolution over the axes that `point`, of batch axes, leaves open."""
    kind = kind_of(parallel)
    rows = RowTiles.of(found, machine, point, code)
    if rows is not None:
        rows.write(kind)
    else:
        _Convolution(found, machine, point, code, kind).write()


@dataclass(frozen=True)
class _Convolution(TileCode):
    """Writes a convolution."""

    kind: tir.ForKind

    # ---- the whole ----

    def write(self) -> None:
        """All tiles."""
        code, shared = self.code, self.shared
        vectors = self.vectors
        outer = [a for a in self.found.batch if a.variable not in self.outside]
        if shared is not None:
            # Fewer steps, of several values each.
            steps = smart.const((shared.size or 0) // vectors, shared.variable.type)
            outer = [Axis(a.variable, steps, a.name) if a is shared else a for a in outer]
        row = self.image_rows
        if row is not None:
            others = [axis for axis in outer if axis is not row]
            with fused_loop(code, others, self.kind) as inner:
                self._write_image({**self.outside, **inner}, row)
            return
        with self._outer_loop(outer) as step:
            self._for_tiles(lambda tile: self._write_tile(step, tile))

    @contextmanager
    def _outer_loop(self, axes: Sequence[Axis]) -> Generator[Step]:
        """One loop over axes, and one over the rows of a strip where there are strips.

        All channels of a strip come before the next strip. So each thread has rows of
        its own, whichever operator it is, and finds in its cache what it has written.
        """
        size = self.strip
        if self.next_weight is not None:
            many = [axis for axis in axes if axis.size != 1]
            one: Point = {
                a.variable: smart.const(0, a.variable.type) for a in axes if a.size == 1
            }
            extents = [axis.extent for axis in many]
            total = product_of(extents)
            name = "_".join(axis.name for axis in many)
            with self.code.loop(name, total, self.kind) as flat:
                last = smart.sub(total, smart.const(1, total.dtype))
                after = smart.minimum(smart.add(flat, smart.const(1, total.dtype)), last)
                here, later = (
                    {**one, **points(many, split_index(each, extents))}
                    for each in (flat, after)
                )
                yield Step({**self.outside, **here}, {**self.outside, **later})
            return
        if size is None:
            with fused_loop(self.code, axes, self.kind) as here:
                point = {**self.outside, **here}
                with self._panel(point) as panel:
                    yield Step(point, panel=panel)
            return
        *images, block, row = axes
        dtype = row.variable.type
        strips = smart.const((row.size or 0) // size, dtype)
        height = smart.const(size, dtype)
        extents = [*(axis.extent for axis in images), strips, block.extent]
        name = "_".join(axis.name for axis in axes)
        with self.code.loop(name, product_of(extents), self.kind) as flat:
            *values, strip, own = split_index(flat, extents)
            point = {**self.outside, **points([*images, block], [*values, own])}
            first = smart.mul(smart.cast(dtype, strip), height)
            with (
                self._panel(point) as panel,
                self.code.loop("y", height, annotations=ROLLED) as inner,
            ):
                place = smart.add(first, inner)
                yield Step({**point, row.variable: place}, panel=panel)

    @contextmanager
    def _panel(self, point: Point) -> Generator[Panel | None]:
        """The weight of some channels in pairs of terms, where they are added so."""
        pairs, code = self.pairs, self.code
        if pairs is None:
            yield None
            return

        def initial(u: Expr, o: Expr) -> Expr:
            zero: Point = {a.variable: self.number(0) for a in self.found.rows}
            lane = self.lane.variable
            at = {**self.batch(point, u), lane: smart.cast(lane.type, o)}
            rows = {a.variable: smart.const(0, a.variable.type) for a in self.found.batch}
            return self.initial({**rows, **zero, **at})

        with code.block("panel"):
            weight = pairs.write_panel(code, self.vectors, partial(self.batch, point))
            begin = None
            if self.bias is not None:
                begin = pairs.write_initial(code, self.vectors, initial)
            yield Panel(weight, begin)

    def _for_tiles(self, write: Callable[[Tile], None]) -> None:
        """Write each tile of a row, or a loop over those that are alike."""
        starts = [*self.starts, self.length]
        tiles = [self._tile(a, b - a) for a, b in pairwise(starts)]
        done = 0
        while tiles:
            first = tiles[0]
            alike = 0
            while alike < len(tiles) and _is_inner(tiles[alike], first.size):
                alike += 1
            if alike > 1:
                with self.code.loop("tile", self.number(alike)) as number:
                    start = smart.add(
                        first.first, smart.mul(number, self.number(first.size))
                    )
                    place = smart.add(self.number(done), number)
                    write(Tile(start, first.size, None, place))
            else:
                write(replace(first, place=self.number(done)))
            done += max(alike, 1)
            del tiles[: max(alike, 1)]

    def _tile(self, start: int, size: int) -> Tile:
        valid = tuple(
            (min(max(low - start, 0), size), min(max(high - start, 0), size))
            for low, high in self.found.inside
        )
        is_inner = all(each == (0, size) for each in valid)
        return Tile(self.number(start), size, None if is_inner else valid)

    # ---- a tile ----

    def _write_tile(self, step: Step, tile: Tile) -> None:
        """All terms of a tile."""
        code, later = self.code, step.following
        with code.block("tile"):
            sums = self._tile_of_sums(tile)
            every = (0, tile.size)
            part = None
            if later is not None and tile.place is not None:
                part = Later(later, tile.place, self.tiles)
            for_each = ForEach(
                self, sums, tile, self.vectors, step.point, part, step.panel
            )
            self._write_initial(for_each)
            self._write_terms(for_each, self.terms, {}, every, [*self.found.outside])
            self._write_results(for_each, lambda r, u, v: code.load(sums, r, u, v))

    def _tile_of_sums(self, tile: Tile) -> SSAValue:
        lanes = self.lane.size or 1 if self.pairs is None else self.pairs.lanes
        shape = [tile.size, self.vectors, lanes]
        return self.code.alloc("sums", shape, self.dtype, "local")

    def _write_initial(self, for_each: ForEach) -> None:
        """Set all sums to what they are before their terms."""
        code, pairs, every = self.code, self.pairs, (0, for_each.tile.size)
        sums, panel = for_each.sums, for_each.panel
        if pairs is None or panel is None:
            for_each.vector(
                every, lambda r, u, v, at: code.store(self.initial(at), sums, r, u, v)
            )
            return
        given = panel.initial
        zero = Broadcast(
            tir.with_lanes(self.dtype, pairs.lanes), smart.const(0, self.dtype)
        )

        def write(r: Expr, u: Expr, v: Expr, at: Point) -> None:
            value = zero if given is None else code.load(given, u, v)
            code.store(value, sums, r, u, v)

        for_each.pair(every, write)

    def _write_results(
        self, for_each: ForEach, result: Callable[[Expr, Expr, Expr], Expr]
    ) -> None:
        """Store the results of all columns, which the epilogue is done on before."""
        if self.pairs is not None and self.pairs.fills_vector:
            self._write_results_of_vectors(for_each, self.pairs, result)
            return
        if self.pairs is not None:
            self._write_results_of_pairs(for_each, self.pairs, result)
            return
        for_each.vector(
            (0, for_each.tile.size),
            lambda r, u, v, at: self.finish(result(r, u, v), at),
        )

    def _write_results_of_vectors(
        self, for_each: ForEach, pairs: Pairs, sums: Callable[[Expr, Expr, Expr], Expr]
    ) -> None:
        """The same for sums of even and odd terms of channels that fill a vector."""
        code, half = self.code, self.lane.size or 1
        both, lanes = (smart.ramp(self.number(0), n) for n in (pairs.lanes, half))
        total = code.alloc("total", [half], self.dtype, "local")
        for_each.vector(
            (0, for_each.tile.size),
            lambda _r, _u, v, at: self.finish(code.load(total, v), at),
            lambda r, u: code.store(pairs.totals(code, [sums(r, u, both)]), total, lanes),
        )

    def _write_results_of_pairs(
        self, for_each: ForEach, pairs: Pairs, sums: Callable[[Expr, Expr, Expr], Expr]
    ) -> None:
        """The same for sums of even and odd terms. Two columns are one vector where they
        are neighbours in memory, as is all that the epilogue reads for them."""
        code, size, half = self.code, for_each.tile.size, self.lane.size or 1
        lanes = smart.ramp(self.number(0), pairs.lanes)
        both = -(-size // PAIR)
        totals = code.alloc(
            "totals", [both, self.vectors, pairs.lanes], self.dtype, "local"
        )

        def add(q: Expr, u: Expr, columns: Sequence[Expr]) -> None:
            total = pairs.totals(code, [sums(column, u, lanes) for column in columns])
            code.store(total, totals, q, u, lanes)

        for_each.columns_of_pairs(pairs, add)
        wide = size // PAIR if self.has_wide_epilogue else 0
        for_each.vector_of_two(
            wide,
            lambda q, u, v, at: self.finish(code.load(totals, q, u, v), at),
        )

        def finish(r: Expr, u: Expr, v: Expr, at: Point) -> None:
            two = self.number(PAIR)
            q, k = smart.floordiv(r, two), smart.floormod(r, two)
            lane = smart.add(smart.mul(k, self.number(half)), v)
            self.finish(code.load(totals, q, u, lane), at)

        for_each.vector((PAIR * wide, size), finish)

    # ---- a small image ----

    def _write_image(self, point: Point, row: Axis) -> None:
        """All rows for some channels; the weight is read once."""
        code, (outermost, *_) = self.code, self.terms
        whole = Tile(self.number(0), self.length, None)
        with code.block("image"):
            shape = [row.size or 0, self.length, self.vectors, self.lane.size or 1]
            image = code.alloc("image", shape, self.dtype, "local")
            with code.loop(row.name, row.extent) as y:
                at_row = {**point, row.variable: y}
                ForEach(self, image, whole, self.vectors, at_row).vector(
                    (0, self.length),
                    lambda r, u, v, at: code.store(self.initial(at), image, y, r, u, v),
                )
            with (
                code.loop(outermost.name, outermost.extent, annotations=ROLLED) as step,
                code.loop(row.name, row.extent, annotations=ROLLED) as y,
            ):
                terms: Point = {outermost.variable: step}
                at_row = {**point, row.variable: y}
                following = self._following(at_row, step)
                self._for_tiles(
                    lambda tile: self._write_part(
                        at_row, tile, terms, image, y, following
                    )
                )
            with code.loop(row.name, row.extent) as y:
                at_row = {**point, row.variable: y}
                self._write_results(
                    ForEach(self, image, whole, self.vectors, at_row),
                    lambda r, u, v: code.load(image, y, r, u, v),
                )

    def _following(self, point: Point, step: Expr) -> Point:
        """The step after this one, of the outermost term of these channels or of the
        next ones; the last step of all is followed by itself."""
        outermost, shared = self.terms[0], self.shared
        one = smart.const(1, step.dtype)
        if shared is None:
            last = smart.sub(outermost.extent, one)
            after = smart.minimum(smart.add(step, one), last)
            return {**point, outermost.variable: after}
        part = point[shared.variable]
        parts = smart.const((shared.size or 0) // self.vectors, step.dtype)
        flat = smart.add(
            smart.mul(smart.cast(step.dtype, part), outermost.extent),
            smart.add(step, one),
        )
        last = smart.sub(smart.mul(parts, outermost.extent), one)
        extents = [parts, outermost.extent]
        channels, after = split_index(smart.minimum(flat, last), extents)
        return {
            **point,
            shared.variable: smart.cast(part.dtype, channels),
            outermost.variable: after,
        }

    def _write_part(
        self,
        point: Point,
        tile: Tile,
        terms: Point,
        image: SSAValue,
        y: Expr,
        following: Point,
    ) -> None:
        """Add some terms of a tile to what is in the image."""
        code, rows = self.code, self.found.batch[-1]
        with code.block("tile"):
            sums = self._tile_of_sums(tile)
            every = (0, tile.size)
            assert tile.place is not None, "every tile of a row has its number"
            # Each tile of the image fetches a part of what the next step reads.
            number = smart.add(smart.mul(self.number(self.tiles), y), tile.place)
            tiles = self.tiles * (rows.size or 0)
            later = Later(following, number, tiles)
            for_each = ForEach(self, sums, tile, self.vectors, point, later)

            def place(r: Expr, u: Expr, v: Expr) -> tuple[Expr, ...]:
                return y, smart.add(tile.first, r), u, v

            for_each.vector(
                every,
                lambda r, u, v, at: code.store(
                    code.load(image, *place(r, u, v)), sums, r, u, v
                ),
            )
            self._write_terms(
                for_each, self.terms[1:], terms, every, [*self.found.outside]
            )
            for_each.vector(
                every,
                lambda r, u, v, at: code.store(
                    code.load(sums, r, u, v), image, *place(r, u, v)
                ),
            )

    # ---- terms ----

    def _write_terms(
        self,
        for_each: ForEach,
        axes: list[Axis],
        terms: Point,
        columns: tuple[int, int],
        conditions: list[Expr],
    ) -> None:
        """Add the terms over these axes, at `terms` on the others."""
        code = self.code
        point = {**for_each.point, **terms}
        unknown = [Value(axis.variable) for axis in axes]
        ready = [each for each in conditions if not mentions(each, *unknown)]
        if ready:
            rest = [each for each in conditions if each not in ready]
            trees = [self.found.nest.tree_at(each, point) for each in ready]
            with code.when(reduce(smart.conjunction, trees)):
                self._write_terms(for_each, axes, terms, columns, rest)
            return
        if not axes:
            self._add_terms(for_each, terms, columns)
            return
        axis, *inner = axes
        count = axis.extent if inner or self.pairs is None else self.pairs.count
        valid = for_each.tile.valid
        hints = None
        if self.keeps_loops:
            is_last = not inner and axis is not self.found.window
            wide = columns[1] - columns[0]
            # In one block of the terms of several columns of the window, LLVM would load
            # what neighbours share once, keep it, and spill the sums.
            hints = ROLLED
            if is_last:
                is_inner = valid is None
                hints = self._unrolling(axis, wide * for_each.vectors, is_inner=is_inner)
        runs = [(0, count, columns)]
        if axis is self.found.window and valid is not None:
            runs = _runs(valid, axis.variable.type)
        for first, extent, inside in runs:
            low = smart.const(first, axis.variable.type)
            with code.loop(axis.name, extent, low=low, annotations=hints) as value:
                at = {**terms, axis.variable: value}
                self._fetch_later(for_each, axis, value)
                if not inner:
                    fetch_next_image(self, for_each, at, axis, value)
                self._write_terms(for_each, inner, at, inside, conditions)

    def _unrolling(
        self, axis: Axis, sums: int, *, is_inner: bool
    ) -> dict[str, Attribute]:
        """How often LLVM is to unroll the innermost loop over terms, those of an axis.

        Few channels are one block in tiles away from the edges. At edges, where loops
        over the window are short, LLVM would load all that such a block reads first.
        """
        size = (axis.size or 1) // (1 if self.pairs is None else PAIR)
        steps = min(size, _STEPS)
        if sums + steps * self.vectors > self.most and (steps == _STEPS or not is_inner):
            steps = _FEW_STEPS
        # Where there are more channels than in one tile, LLVM spills some of these, which
        # takes longer than loops without steps.
        has_more = self.shared is not None and self.shared.size != self.vectors
        is_full = sums + steps * self.vectors >= _REGISTERS
        if has_more and is_full and self.has_no_window:
            return ROLLED
        return ROLLED if size % steps else _unrolled(steps)

    def _add_terms(
        self, for_each: ForEach, terms: Point, columns: tuple[int, int]
    ) -> None:
        code, nest, sums = self.code, self.found.nest, for_each.sums
        pairs, panel = self.pairs, for_each.panel
        if pairs is not None:
            assert panel is not None, "written before"

            def add_pair(r: Expr, u: Expr, v: Expr, at: Point) -> None:
                before, here = code.load(sums, r, u, v), {**at, **terms}
                total = pairs.add(code, self.machine, panel.weight, before, u, here)
                code.store(total, sums, r, u, v)

            for_each.pair(columns, add_pair)
            return
        element = self.found.a if self.found.element is None else self.found.element

        def add(r: Expr, u: Expr, v: Expr, at: Point) -> None:
            here = {**at, **terms}
            a = nest.value_at(code, element, here)
            if self.found.is_product:
                b = nest.value_at(code, self.found.b, here)
                total = self.machine.multiply_add(a, b, code.load(sums, r, u, v))
            else:
                total = self.found.reduction.combiner(code.load(sums, r, u, v), a)
            code.store(total, sums, r, u, v)

        self._prefetch(for_each, terms)
        for_each.vector(columns, add)

    def _prefetch(self, for_each: ForEach, terms: Point) -> None:
        """Fetch the vectors of `b` that come some steps later."""
        if self.ahead is None or for_each.later is not None:
            return
        load, axis, count = self.ahead
        value, dtype = terms[axis.variable], axis.variable.type
        last = smart.const((axis.size or 0) - 1, dtype)
        later = smart.minimum(smart.add(value, smart.const(count, dtype)), last)
        zero = smart.const(0, self.lane.variable.type)
        for number in range(for_each.vectors):
            at = {
                **for_each.batch(smart.const(number, self.column.variable.type)),
                **terms,
                axis.variable: later,
                self.lane.variable: zero,
            }
            self._fetch(load, at, INTO_FIRST_CACHE)

    def _fetch_later(self, for_each: ForEach, axis: Axis, value: Expr) -> None:
        """Fetch a part of what the next step reads of the weight, at a value on an axis.

        It is fetched in the order of memory, so that the processor fetches more of it by
        itself: where each fetches one line, few are on the way at a time.
        """
        later, load = for_each.later, self.found.b.owner
        axes = [each for each in self.terms if later and each.variable not in later.point]
        if later is None or axis is not axes[0]:
            return
        assert isinstance(load, tir.LoadOp), "it is a part of a buffer"
        dtype, code = later.part.dtype, self.code
        part = smart.mul(later.part, smart.cast(dtype, axis.extent))
        part = smart.add(part, smart.cast(dtype, value))
        parts = later.parts * (axis.size or 1)
        size = prod(each.size or 1 for each in axes)
        count = -(-size // parts)
        there = replace(for_each, point=later.point)
        with code.loop(
            "w", self.number(count), tir.ForKind.UNROLLED, annotations=LEFT_TO_LLVM
        ) as step:
            flat = smart.add(smart.mul(part, self.number(count)), step)
            if parts * count > size:
                flat = smart.minimum(flat, self.number(size - 1))
            term = points(axes, split_index(flat, [each.extent for each in axes]))
            for number in range(for_each.vectors):
                place = {
                    **there.batch(smart.const(number, self.column.variable.type)),
                    **term,
                    self.lane.variable: smart.const(0, self.lane.variable.type),
                }
                self._fetch(load, place, INTO_SECOND_CACHE)

    def _fetch(self, load: tir.LoadOp, at: Point, hints: tuple[int, ...]) -> None:
        fetch(self.code, load.buffer, self.found.nest.indices_at(load, at), hints)


def _unrolled(steps: int) -> dict[str, Attribute]:
    return {"unroll_count": IntegerAttr(steps, i32)}


def _runs(
    valid: Sequence[tuple[int, int]], dtype: Attribute
) -> list[tuple[int, Expr, tuple[int, int]]]:
    """Places in the window next to each other, of which the same columns are inside: the
    first one, how many, and the columns."""
    runs: list[tuple[int, Expr, tuple[int, int]]] = []
    for inside, places in groupby(range(len(valid)), key=valid.__getitem__):
        first, *others = places
        if inside[0] < inside[1]:
            runs.append((first, smart.const(1 + len(others), dtype), inside))
    return runs


def _is_inner(tile: Tile, size: int) -> bool:
    return tile.valid is None and tile.size == size

"""The loops of a contraction: copies of operands, tiles, and what is fetched ahead."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import gcd
from typing import Any

from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, SSAValue

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Expr, view
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.tir._cpu_schedule.contraction_sizes import (
    ContractionSizes,
    steps_behind,
)
from xdsl_tvm.passes.tir._cpu_schedule.elementwise import write_lanes
from xdsl_tvm.passes.tir._cpu_schedule.fetching import (
    INTO_SECOND_CACHE,
    LINE_BYTES,
    fetch,
)
from xdsl_tvm.passes.tir._cpu_schedule.options import LEFT_TO_LLVM, ROLLED
from xdsl_tvm.passes.tir._loops.loop_nest import Axis, Nest, Point
from xdsl_tvm.passes.tir._schedule.axes import (
    loops_over,
    points,
    split_index,
)
from xdsl_tvm.passes.tir._schedule.contraction import (
    ops_behind,
)


@dataclass(frozen=True)
class Part:
    """Some rows and terms."""

    tile: Expr
    """The first tile of the rows."""
    tiles: Expr
    term: Expr
    """The first term, or step."""
    terms: Expr
    rows: SSAValue | None = None
    """The copy of `a`, if there is one."""
    columns: SSAValue | None = None
    """The copy of a panel of `b`, likewise, or of all panels."""


@dataclass(frozen=True)
class Tile:
    """A tile of the result: its number, of those of the part, and its panel."""

    part: Part
    number: Expr
    panel: Expr
    row: Expr
    column: Expr
    whole: Expr
    """Whether the result has all of it."""
    columns_fit: Expr


@dataclass(frozen=True)
class ContractionLoops(ContractionSizes):
    """Writes a contraction at one point of its batch axes."""

    # ---- the whole ----

    def write(self) -> None:
        """The product of all rows and columns."""
        code = self.code
        tiles = self.count(self.rows, self.height)
        with code.block("contraction"):
            if not self.copies_rows:
                zero = self.number(0)
                self._write_part(Part(zero, tiles, zero, self.steps))
                return
            columns = self._alloc_panels() if self.shares_panels else None
            with (
                self.stretches("k.p", self.terms, self.part_terms) as (term, terms),
                self.stretches("tile.p", tiles, self.part_tiles) as (tile, count),
            ):
                rows = self._alloc_rows(tiles)
                part = Part(tile, count, term, terms, rows, columns)
                with code.loop("tile", count, self.kind) as number:
                    self._copy_rows(part, number)
                self._write_part(part)

    def _write_part(self, part: Part) -> None:
        """Add the terms of a part to all columns of its rows."""
        code = self.code
        panels = self.count(self.columns, self.width)
        with code.loop("panel", panels, self.kind) as panel, code.block("panel"):
            ready = self._with_columns(part, panel)
            with (
                self.stretches("k.o", ready.terms, self.block) as (first, length),
                code.loop("tile", ready.tiles) as tile,
            ):
                self._write_tile(ready, tile, panel, first, length)

    def _with_columns(self, part: Part, panel: Expr) -> Part:
        """The part with the columns of a panel, copied where they are to be."""
        if self.shares_panels:
            with self.code.when(smart.eq(part.tile, self.number(0))):
                self._copy_columns(part, panel)
        elif self.panels is None:
            part = replace(part, columns=self._alloc_columns())
            self._copy_columns(part, panel)
        return part

    @property
    def _terms_of_part(self) -> int | Expr:
        return _extent(self.terms) if self.part_terms is None else self.part_terms

    def _alloc_rows(self, tiles: Expr) -> SSAValue:
        shape = self._shape_of_rows(tiles)
        return self.code.alloc("rows", shape, self.dtype, "global")

    def _alloc_columns(self) -> SSAValue:
        shape = [self._terms_of_part, self.width]
        return self.code.alloc("columns", shape, self.dtype, "global")

    def _alloc_panels(self) -> SSAValue:
        """Memory for all panels of a part of the terms."""
        panels = _extent(self.count(self.columns, self.width))
        shape = [panels, self._terms_of_part, self.width]
        return self.code.alloc("columns", shape, self.dtype, "global")

    def _shape_of_rows(self, tiles: Expr) -> list[int | Expr]:
        count = _extent(tiles) if self.part_tiles is None else self.part_tiles
        terms = self._terms_of_part
        if not self.has_terms_in_rows:
            return [count, terms, self.height]
        height = self.number(self.height)
        return [count, _extent(smart.mul(height, self._stride_of_rows))]

    @property
    def _stride_of_rows(self) -> Expr:
        """From a row of a copied tile to the next one: rows of a power of two would all
        be in the same places of the cache."""
        terms = self._terms_of_part
        terms = self.number(terms) if isinstance(terms, int) else terms
        return smart.add(terms, self.number(self.lanes))

    # ---- copies of the operands ----

    def _copy_rows(self, part: Part, tile: Expr) -> None:
        """The rows of a tile of a part."""
        code = self.code
        first = self.first_row(smart.add(part.tile, tile))

        def store(row: Expr, term: Expr, value: Expr) -> None:
            self.code.store(value, *self._copied(part, tile, smart.sub(row, first), term))

        def copy(row: Expr) -> None:
            at = points(self.found.rows, self._split(row, self.found.rows))
            if not self.has_terms_in_rows:
                with self._each_term(part) as (term, terms):
                    store(row, term, self._value(self.found.a, at, terms))
                return
            (axis,) = self.found.terms

            def lanes(term: Expr) -> None:
                here = points([axis], [smart.add(part.term, term)])
                store(row, term, self._value(self.found.a, at, here))

            def write(start: Expr, length: int) -> None:
                write_lanes(code, start, length, lanes)

            code.steps(axis.name, part.terms, self.lanes, write)

        def whole() -> None:
            # Code for each row would take LLVM as long as that of the tiles.
            hints = ROLLED if self.has_terms_in_rows else None
            height = self.number(self.height)
            with code.loop("row", height, annotations=hints) as row:
                copy(smart.add(first, row))

        terms = part.terms
        height, fits = self.height, self.rows_fit(first)
        self._copy_padded(terms, first, height, self.rows, fits, whole, copy, store)

    def _copied(
        self, part: Part, tile: Expr, row: Expr, term: Expr
    ) -> tuple[SSAValue, *tuple[Expr, ...]]:
        """The copy of an element of `a`."""
        assert part.rows is not None, "copied"
        if self.has_terms_in_rows:
            # One index: what is between rows is no part of a region.
            place = smart.add(smart.mul(row, self._stride_of_rows), term)
            return part.rows, tile, place
        return part.rows, tile, term, row

    def _copy_columns(self, part: Part, panel: Expr) -> None:
        """The columns of a panel: term by term, all columns of it."""
        first = smart.mul(panel, self.number(self.width))
        run = self._run_of_columns()

        def store(column: Expr, term: Expr, value: Expr) -> None:
            place = self._copied_column(part, panel, term, smart.sub(column, first))
            self.code.store(value, *place)

        def at(column: Expr) -> Point:
            return points(self.found.columns, self._split(column, self.found.columns))

        def copy(column: Expr) -> None:
            with self._each_term(part) as (term, terms):
                store(column, term, self._value(self.found.b, at(column), terms))

        def whole() -> None:
            if run == 1:
                with self.code.loop("column", self.number(self.width)) as column:
                    copy(smart.add(first, column))
                return
            with self._each_term(part, annotations=ROLLED) as (term, terms):

                def lanes(column: Expr) -> None:
                    store(column, term, self._value(self.found.b, at(column), terms))

                def write(start: Expr, length: int) -> None:
                    write_lanes(self.code, start, length, lanes)

                width = self.number(self.width)
                self.code.steps("column", width, run, write, low=first)

        terms = part.terms if self.copies_rows else self.terms
        width, fits = self.width, self.fits(first, self.width, self.columns)
        self._copy_padded(terms, first, width, self.columns, fits, whole, copy, store)

    def _copied_column(
        self, part: Part, panel: Expr, term: Expr, column: Expr
    ) -> tuple[SSAValue, *tuple[Expr, ...]]:
        """The copy of an element of `b`."""
        assert part.columns is not None, "copied"
        if self.shares_panels:
            return part.columns, panel, term, column
        return part.columns, term, column

    def _copy_padded(
        self,
        terms: Expr,
        first: Expr,
        size: int,
        extent: Expr,
        fits: Expr,
        whole: Callable[[], None],
        copy: Callable[[Expr], None],
        store: Callable[[Expr, Expr, Expr], None],
    ) -> None:
        """Copy `size` lines of so many terms from `first` on, of which those after
        `extent` are zero, if they do not fit."""
        code = self.code
        with code.when(fits):
            whole()
        if smart.literal(fits) == 1:
            return
        with code.otherwise(fits):
            left = smart.sub(extent, first)
            with code.loop("line", left) as line:
                copy(smart.add(first, line))
            padding = smart.sub(self.number(size), left)
            with (
                code.loop("line", padding, low=extent) as line,
                code.loop("term", terms) as term,
            ):
                store(line, term, smart.const(0, self.dtype))

    def fits(self, first: Expr, size: int, extent: Expr) -> Expr:
        """Whether `size` lines from `first` on are within the extent."""
        steps = self.number(size)
        if smart.literal(smart.floormod(extent, steps)) == 0:
            return smart.const(1, i1)
        return smart.le(smart.add(first, steps), extent)

    def rows_fit(self, first: Expr) -> Expr:
        """Whether the rows of a tile from `first` on are within the extent."""
        if self.repeats_rows:
            return smart.const(1, i1)
        return self.fits(first, self.height, self.rows)

    def _run_of_columns(self) -> int:
        """How many columns, from a multiple of that number on, are neighbours in `b`."""
        *others, last = self.found.columns
        steps = steps_behind(self.found.nest, self.found.b, last)
        if not steps <= {0, 1} or 1 not in steps:
            return 1
        needed = ops_behind(self.found.nest, self.found.b)
        if any(isinstance(op, tir.IfThenElseOp) for op in needed):
            return 1
        return gcd(self.width, last.size or 1) if others else self.width

    def _split(self, flat: Expr, axes: Sequence[Axis]) -> list[Expr]:
        return split_index(flat, [axis.extent for axis in axes])

    def _value(self, value: SSAValue, lines: Point, terms: Point) -> Expr:
        nest = self.found.nest
        return nest.value_at(self.code, value, {**self.point, **lines, **terms})

    @contextmanager
    def _each_term(
        self,
        part: Part,
        first: Expr | None = None,
        length: Expr | None = None,
        annotations: dict[str, Attribute] | None = None,
    ) -> Generator[tuple[Expr, Point]]:
        """Loops over the term axes: the number of the term in the part, and the point.

        With `first` and `length`, over these steps of the outermost axis, whose loop gets
        the annotations.
        """
        outer, *inner = self.found.terms
        if length is None and not inner and self.copies_rows:
            length = part.terms
        extent = length or outer.extent
        with (
            self.code.loop(outer.name, extent, annotations=annotations) as start,
            loops_over(self.code, inner) as rest,
        ):
            flat = start if first is None else smart.add(first, start)
            value = flat if inner else smart.add(part.term, flat)
            point = {**points([outer], [value]), **rest}
            if inner:
                flat = smart.cast(self.terms.dtype, flat)
            for axis in inner:
                flat = smart.add(smart.mul(flat, axis.extent), point[axis.variable])
            yield flat, point

    # ---- tiles ----

    def _write_tile(
        self, part: Part, number: Expr, panel: Expr, first: Expr, length: Expr
    ) -> None:
        """Add the terms of `length` steps, from `first` of the part on, to a tile."""
        code = self.code
        row = self.first_row(smart.add(part.tile, number))
        column = smart.mul(panel, self.number(self.width))
        fits = self.fits(column, self.width, self.columns)
        whole = smart.conjunction(self.rows_fit(row), fits)
        tile = Tile(part, number, panel, row, column, whole, fits)
        with code.block("tile"):
            shape = [self.height, self.width]
            sums = code.alloc("sums", shape, self.dtype, "local")
            edge = None
            if smart.literal(whole) != 1:
                edge = code.alloc("edge", shape, self.dtype, "local")
            start = smart.add(part.term, first)
            self._begin(tile, sums, edge, start)
            self._add_terms(tile, sums, first, length)
            epilogue = self.found.epilogue
            is_last = smart.eq(smart.add(start, length), self.steps)
            if epilogue is None or self.found.keeps_results:
                self._end(tile, sums, edge)
                if epilogue is not None:
                    with code.when(is_last):
                        self._finish(tile, epilogue)
                return
            if smart.literal(is_last) != 1:
                with code.otherwise(is_last):
                    self._end(tile, sums, edge)
            with code.when(is_last):
                self._make_others(tile, epilogue, sums, edge)

    def _begin(
        self, tile: Tile, sums: SSAValue, edge: SSAValue | None, start: Expr
    ) -> None:
        """What the sums are before the terms from `start` on."""
        code = self.code
        initial = self.found.reduction.init
        is_first: Expr = smart.const(0, i1)
        if initial is not None:
            is_first = smart.eq(start, self.number(0))
            with code.when(is_first):
                zero = view(initial)
                self._each_vector(lambda r, c: code.store(zero, sums, r, c))
        if smart.literal(is_first) == 1:
            return

        def load(target: SSAValue) -> Callable[[Expr, Expr], None]:
            return lambda r, c: code.store(
                code.load(*self._result(tile, r, c)), target, r, c
            )

        with code.otherwise(is_first):
            with code.when(tile.whole):
                self._each_vector(load(sums))
            if edge is not None:
                with code.otherwise(tile.whole):
                    nothing = smart.const(0, self.dtype)
                    self._each_vector(lambda r, c: code.store(nothing, edge, r, c))
                    self._each_stored(tile, load(edge))
                    self._each_vector(
                        lambda r, c: code.store(code.load(edge, r, c), sums, r, c)
                    )

    # ---- terms ----

    def _add_terms(self, tile: Tile, sums: SSAValue, first: Expr, length: Expr) -> None:
        code, part = self.code, tile.part
        if not self.copies_rows:
            with self._each_term(part, first, length) as (term, at):
                self._add_term(tile, sums, term, self._row_in_place(tile, at))
            return

        def add(term: Expr) -> None:
            def copied(row: Expr) -> Expr:
                return code.load(*self._copied(part, tile.number, row, term))

            self._add_term(tile, sums, term, copied)

        if self.ahead is None:
            with code.loop("k", length) as k:
                add(smart.add(first, k))
            return
        steps, lines = self.ahead
        step = self.number(steps)
        with code.loop("k.s", smart.floordiv(length, step)) as number:
            for line in range(lines):
                self._fetch(tile, first, length, number, line)
            kind = tir.ForKind.UNROLLED
            with code.loop("k", step, kind, annotations=LEFT_TO_LLVM) as k:
                add(smart.add(smart.add(first, smart.mul(number, step)), k))

    def _fetch(
        self, tile: Tile, first: Expr, length: Expr, step: Expr, line: int
    ) -> None:
        """Fetch a line of what follows a block of `length` terms. Each tile fetches other
        lines."""
        assert self.ahead is not None, "asked before"
        assert self.known_block is not None, "asked before"
        number = self.number
        steps, lines = self.ahead
        fetched = smart.add(
            smart.mul(tile.number, number(self.known_block // steps)), step
        )
        fetched = smart.add(smart.mul(fetched, number(lines)), number(line))
        if self.shares_panels:
            self._fetch_shared(tile, smart.add(first, length), fetched)
        elif self.panels is None:
            self._fetch_columns(tile, first, fetched)
        else:
            self._fetch_panels(tile, smart.add(first, length), fetched)

    def _fetch_columns(self, tile: Tile, first: Expr, fetched: Expr) -> None:
        """Fetch a line of the next panel, for the terms from `first` on."""
        number, found = self.number, self.found
        load = found.b.owner
        assert isinstance(load, tir.LoadOp), "asked before"
        lines = number(self.lines_of_panel)
        term = smart.add(smart.add(tile.part.term, first), smart.floordiv(fetched, lines))
        term = smart.minimum(term, smart.sub(self.terms, number(1)))
        within = smart.mul(smart.floormod(fetched, lines), number(self._per_line))
        column = smart.add(smart.add(tile.column, number(self.width)), within)
        column = smart.minimum(column, smart.sub(self.columns, number(1)))
        at = {
            **self.point,
            **points(found.columns, [column]),
            **points(found.terms, [term]),
        }
        trees = [found.nest.tree_at(view(i, found.nest.trees), at) for i in load.indices]
        fetch(self.code, load.buffer, trees, INTO_SECOND_CACHE)

    def _fetch_shared(self, tile: Tile, after: Expr, fetched: Expr) -> None:
        """Fetch a line of what follows a block that ends at `after` in copied panels: the
        next terms of the panel, or the next panel."""
        assert tile.part.columns is not None, "shared"
        number, terms = self.number, self._terms_of_part
        terms = number(terms) if isinstance(terms, int) else terms
        at_end = smart.eq(after, tile.part.terms)
        panel = smart.add(tile.panel, smart.select(at_end, number(1), number(0)))
        last = smart.sub(self.count(self.columns, self.width), number(1))
        panel = smart.minimum(panel, last)
        lines = number(self.lines_of_panel)
        term = smart.add(
            smart.select(at_end, number(0), after), smart.floordiv(fetched, lines)
        )
        term = smart.minimum(term, smart.sub(terms, number(1)))
        elements = number(self._per_line * self.elements_per_column)
        indices = [panel, term, smart.mul(smart.floormod(fetched, lines), elements)]
        fetch(self.code, tile.part.columns, indices, INTO_SECOND_CACHE)

    @property
    def _per_line(self) -> int:
        return max(LINE_BYTES // self.bytes, 1)

    def _fetch_panels(self, tile: Tile, after: Expr, fetched: Expr) -> None:
        """Fetch a line of what follows a block that ends at `after`: the next terms of
        the panel, or of the next panel."""
        assert self.panels is not None, "asked before"
        code, number, part = self.code, self.number, tile.part
        load, _ = self.panels
        after = smart.add(part.term, after)
        next_term = smart.add(smart.mul(tile.panel, self.terms), after)
        if self.part_terms is not None:
            other = smart.add(smart.mul(tile.panel, self.terms), self.terms)
            at_end = smart.eq(after, smart.add(part.term, part.terms))
            next_term = smart.select(at_end, smart.add(other, part.term), next_term)
        place = smart.add(
            smart.mul(next_term, number(self.width)),
            smart.mul(fetched, number(self._per_line)),
        )
        panels = self.count(self.columns, self.width)
        whole = smart.mul(smart.mul(panels, self.terms), number(self.width))
        place = smart.minimum(place, smart.sub(whole, number(1)))
        term = smart.floordiv(place, number(self.width))
        indices = [
            smart.floordiv(term, self.terms),
            smart.floormod(term, self.terms),
            smart.mul(
                smart.floormod(place, number(self.width)),
                number(self.elements_per_column),
            ),
        ]
        fetch(code, load.buffer, indices, INTO_SECOND_CACHE)

    def _row_in_place(self, tile: Tile, terms: Point) -> Callable[[Expr], Expr]:
        """The elements of `a`; rows after the last one are the last."""
        is_whole = smart.literal(self.rows_fit(tile.row)) == 1

        def value(row: Expr) -> Expr:
            flat = smart.add(tile.row, row)
            if not is_whole:
                flat = smart.minimum(flat, smart.sub(self.rows, self.number(1)))
            at = points(self.found.rows, self._split(flat, self.found.rows))
            return self._value(self.found.a, at, terms)

        return value

    def _add_term(
        self,
        tile: Tile,
        sums: SSAValue,
        term: Expr,
        value_of_row: Callable[[Expr], Expr],
    ) -> None:
        code = self.code

        def column_at(column: Expr) -> Expr:
            if self.panels is None:
                place = self._copied_column(tile.part, tile.panel, term, column)
                return code.load(*place)
            at = smart.add(tile.part.term, term)
            element = code.load(self.panels[0].buffer, tile.panel, at, column)
            return smart.cast(self.dtype, element)

        height, kind = self.number(self.height), tir.ForKind.UNROLLED
        with code.loop("r", height, kind, annotations=LEFT_TO_LLVM) as row:
            a = value_of_row(row)

            def add_vector(column: Expr) -> None:
                before = code.load(sums, row, column)
                total = self.machine.multiply_add(a, column_at(column), before)
                code.store(total, sums, row, column)

            self._vectors_of_row(add_vector)

    # ---- results ----

    def _end(self, tile: Tile, sums: SSAValue, edge: SSAValue | None) -> None:
        """Store the sums."""
        code = self.code

        def store(source: SSAValue) -> Callable[[Expr, Expr], None]:
            return lambda r, c: code.store(
                code.load(source, r, c), *self._result(tile, r, c)
            )

        self._each_sum(tile, sums, edge, store)

    def _make_others(
        self, tile: Tile, epilogue: Nest, sums: SSAValue, edge: SSAValue | None
    ) -> None:
        """Store what is made of the sums, and not these."""
        buffer = self.found.reduction.result.buffer

        def write(source: SSAValue) -> Callable[[Expr, Expr], None]:
            return lambda r, c: epilogue.write_body(
                self.code,
                self._place(tile, epilogue, r, c),
                redirected={buffer: (source, (r, c))},
            )

        self._each_sum(tile, sums, edge, write)

    def _each_sum(
        self,
        tile: Tile,
        sums: SSAValue,
        edge: SSAValue | None,
        write: Callable[[SSAValue], Callable[[Expr, Expr], None]],
    ) -> None:
        """All elements of a tile that the result has, by what `write` makes of the buffer
        that they are in: those of a tile at the edge are in memory."""
        code = self.code
        with code.when(tile.whole):
            self._each_vector(write(sums))
        if edge is not None:
            with code.otherwise(tile.whole):
                self._each_vector(
                    lambda r, c: code.store(code.load(sums, r, c), edge, r, c)
                )
                self._each_stored(tile, write(edge))

    def _finish(self, tile: Tile, epilogue: Nest) -> None:
        """What is done on the results of a tile."""
        code = self.code

        def write(r: Expr, c: Expr) -> None:
            epilogue.write_instance(code, self._place(tile, epilogue, r, c))

        with code.when(tile.whole):
            if _is_long(epilogue):
                # Copies for all rows would take LLVM longer than all else.
                with code.loop("r", self.number(self.height)) as row:
                    self._vectors_of_row(lambda column: write(row, column))
            else:
                self._each_vector(write)
        if smart.literal(tile.whole) != 1:
            with code.otherwise(tile.whole):
                self._each_stored(tile, write)

    def _place(self, tile: Tile, epilogue: Nest, r: Expr, c: Expr) -> Point:
        """The point of an epilogue for an element of a tile."""
        _, *indices = self._result(tile, r, c)
        return points(epilogue.axes, indices)

    def _result(self, tile: Tile, r: Expr, c: Expr) -> list[Any]:
        """The buffer and the indices of an element of the result."""
        found = self.found
        rows = points(found.rows, self._split(smart.add(tile.row, r), found.rows))
        flat = smart.add(tile.column, c)
        columns = points(found.columns, self._split(flat, found.columns))
        at = {**self.point, **rows, **columns}
        result = found.reduction.result
        indices = [found.nest.tree_at(index, at) for index in result.indices]
        return [result.buffer, *indices]

    def _each_vector(self, write: Callable[[Expr, Expr], None]) -> None:
        """All elements of a tile, as vectors with constant places."""
        height, kind = self.number(self.height), tir.ForKind.UNROLLED
        with self.code.loop("r", height, kind, annotations=LEFT_TO_LLVM) as row:
            self._vectors_of_row(lambda column: write(row, column))

    def _vectors_of_row(self, write: Callable[[Expr], None]) -> None:
        lanes = self.number(self.lanes)
        count, kind = self.number(self.vectors), tir.ForKind.UNROLLED
        with (
            self.code.loop("u", count, kind, annotations=LEFT_TO_LLVM) as number,
            self.code.loop("v", lanes, tir.ForKind.VECTORIZED) as lane,
        ):
            write(smart.add(smart.mul(number, lanes), lane))

    def _each_stored(self, tile: Tile, write: Callable[[Expr, Expr], None]) -> None:
        """The elements of a tile that the result has: rows as vectors where it has all
        columns, else one by one."""
        code = self.code
        left = smart.sub(self.rows, tile.row)
        height = smart.minimum(self.number(self.height), left)
        with code.when(tile.columns_fit), code.loop("r", height) as r:
            self._vectors_of_row(lambda column: write(r, column))
        if smart.literal(tile.columns_fit) == 1:
            return
        width = smart.minimum(
            self.number(self.width), smart.sub(self.columns, tile.column)
        )
        with (
            code.otherwise(tile.columns_fit),
            code.loop("r", height) as r,
            code.loop("c", width) as c,
        ):
            write(r, c)


_LONG = frozenset(
    [
        "acos",
        "acosh",
        "asin",
        "asinh",
        "atan",
        "atan2",
        "atanh",
        "cos",
        "cosh",
        "erf",
        "exp",
        "exp10",
        "exp2",
        "log",
        "log10",
        "log1p",
        "log2",
        "pow",
        "sigmoid",
        "sin",
        "sinh",
        "tan",
        "tanh",
    ]
)
"""Builtins that become polynomials of many operations."""


def _is_long(epilogue: Nest) -> bool:
    """Whether what is done on a result takes far longer than to load and store it."""
    return any(
        isinstance(op, tir.CallOp) and op.callee.data in _LONG
        for op in all_ops(epilogue.block)
    )


def _extent(tree: Expr) -> int | Expr:
    number = smart.literal(tree)
    return tree if number is None else int(number)

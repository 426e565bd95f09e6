"""The default schedule of contractions: sums of products of two operands.

What they are is in `_schedule/contraction.py`, and the sizes of all that is named here in
`contraction_sizes.py`. Rows, columns and terms are each taken as one axis, which makes a
convolution the product of its weights and of the matrix of its windows.

Rows and terms are divided into parts, of which `a` is copied into the order in which it
will be read, and a panel of columns at a time of `b`, unless it is in panels already, as
relax-pack-weights leaves constants. `a` is not copied where there are few panels, as for
the weights of a convolution of small images, whose terms are neighbours already. Then a
tile of `C` at a time stays in vector registers while some terms of a panel, which are in
the first cache, are added, in the order of the program: each term costs a vector load for
each vector of columns, and a broadcast and fused multiply-adds for each row. Meanwhile
the next terms of panels in memory are fetched. Tiles at an edge are computed whole, on
zeros, and stored in part.

A map after the contraction that works on the results where they are, such as a bias and
an activation, is done on each tile when its last terms have been added.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import gcd, prod
from typing import Any

from xdsl.dialects.builtin import f16, i1, i32
from xdsl.ir import SSAValue

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Const, Expr, Value, view
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.tir._cpu_schedule.contraction_sizes import (
    LINE_BYTES,
    ContractionSizes,
    steps_behind,
)
from xdsl_tvm.passes.tir._cpu_schedule.elementwise import write_lanes
from xdsl_tvm.passes.tir._cpu_schedule.options import (
    LEFT_TO_LLVM,
    Machine,
    are_many,
    kind_of,
)
from xdsl_tvm.passes.tir._loops.loop_nest import Axis, Nest, Point
from xdsl_tvm.passes.tir._schedule.axes import (
    fused_loop,
    loops_over,
    points,
    split_index,
)
from xdsl_tvm.passes.tir._schedule.contraction import (
    Contraction,
    match_contraction,
    ops_behind,
)
from xdsl_tvm.passes.tir._schedule.reduction import Reduction
from xdsl_tvm.passes.tir.rewriting.loop_code import LoopCode

_INTO_SECOND_CACHE = (0, 2, 1)
"""Operands of `prefetch`: data to read, which are not for the first cache yet."""
_LEAST_ROWS = 4
_LEAST_TERMS = 8
_LEAST_BITS = 32


def match_large_contraction(found: Reduction, machine: Machine) -> Contraction | None:
    """A reduction as a contraction that is worth copying its operands for."""
    if machine.lanes(found.dtype) == 1:
        return None
    # What is computed in f32 and rounded for each term is no faster so.
    if found.dtype != f16 and tir.bits_of_lane(found.dtype) < _LEAST_BITS:
        return None
    if found.init is not None and not isinstance(view(found.init), Const):
        return None
    result = match_contraction(found)
    return result if result is not None and _is_large(result, machine) else None


def _is_large(found: Contraction, machine: Machine) -> bool:

    def is_at_least(axes: Sequence[Axis], least: int) -> bool:
        sizes = [axis.size for axis in axes]
        return None in sizes or prod(size or 1 for size in sizes) >= least

    return (
        is_at_least(found.rows, _LEAST_ROWS)
        and is_at_least(found.columns, machine.lanes(found.reduction.dtype))
        and is_at_least(found.terms, _LEAST_TERMS)
    )


def schedule_contraction(
    code: LoopCode, found: Contraction, machine: Machine, *, parallel: bool
) -> None:
    """Write a contraction."""
    many = are_many(found.batch)
    with fused_loop(code, found.batch, kind_of(parallel and many)) as point:
        inner = kind_of(parallel and not many)
        _Product(code, found, machine, point, inner).write()


@dataclass(frozen=True)
class _Part:
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
    """The copy of a panel of `b`, likewise."""


@dataclass(frozen=True)
class _Tile:
    """A tile of the result: its number, of those of the part, and its panel."""

    part: _Part
    tile: Expr
    panel: Expr
    row: Expr
    column: Expr
    whole: Expr
    """Whether the result has all of it."""
    columns_fit: Expr


@dataclass(frozen=True)
class _Product(ContractionSizes):
    """Writes the product of one batch."""

    # ---- the whole ----

    def write(self) -> None:
        """The product of all rows and columns."""
        code = self.code
        tiles = self.count(self.rows, self.height)
        with code.block("contraction"):
            if not self.copies_rows:
                zero = self.number(0)
                self._write_part(_Part(zero, tiles, zero, self.steps))
                return
            with (
                self.stretches("k.p", self.terms, self.part_terms) as (term, terms),
                self.stretches("tile.p", tiles, self.part_tiles) as (tile, count),
            ):
                shape = self._shape_of_rows(tiles)
                rows = code.alloc("rows", shape, self.dtype, "global")
                part = _Part(tile, count, term, terms, rows)
                with code.loop("tile", count, self.kind) as number:
                    self._copy_rows(part, number)
                self._write_part(part)

    def _write_part(self, part: _Part) -> None:
        """Add the terms of a part to all columns of its rows."""
        code = self.code
        panels = self.count(self.columns, self.width)
        with code.loop("panel", panels, self.kind) as panel, code.block("panel"):
            if self.panels is None:
                shape = [self._terms_of_part, self.width]
                columns = code.alloc("columns", shape, self.dtype, "global")
                part = replace(part, columns=columns)
                self._copy_columns(part, panel)
            with (
                self.stretches("k.o", part.terms, self.block) as (first, length),
                code.loop("tile", part.tiles) as tile,
            ):
                self._write_tile(part, tile, panel, first, length)

    @property
    def _terms_of_part(self) -> int | Expr:
        return _extent(self.terms) if self.part_terms is None else self.part_terms

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

    def _copy_rows(self, part: _Part, tile: Expr) -> None:
        """The rows of a tile of a part."""
        code = self.code
        first = smart.mul(smart.add(part.tile, tile), self.number(self.height))

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
            with code.loop("row", self.number(self.height)) as row:
                copy(smart.add(first, row))

        self._copy_padded(part, first, self.height, self.rows, whole, copy, store)

    def _copied(
        self, part: _Part, tile: Expr, row: Expr, term: Expr
    ) -> tuple[SSAValue, *tuple[Expr, ...]]:
        """The copy of an element of `a`."""
        assert part.rows is not None, "copied"
        if self.has_terms_in_rows:
            # One index: what is between rows is no part of a region.
            place = smart.add(smart.mul(row, self._stride_of_rows), term)
            return part.rows, tile, place
        return part.rows, tile, term, row

    def _copy_columns(self, part: _Part, panel: Expr) -> None:
        """The columns of a panel: term by term, all columns of it."""
        columns = part.columns
        assert columns is not None, "copied"
        first = smart.mul(panel, self.number(self.width))
        run = self._run_of_columns()

        def store(column: Expr, term: Expr, value: Expr) -> None:
            self.code.store(value, columns, term, smart.sub(column, first))

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
            with self._each_term(part) as (term, terms):

                def lanes(column: Expr) -> None:
                    store(column, term, self._value(self.found.b, at(column), terms))

                def write(start: Expr, length: int) -> None:
                    write_lanes(self.code, start, length, lanes)

                width = self.number(self.width)
                self.code.steps("column", width, run, write, low=first)

        self._copy_padded(part, first, self.width, self.columns, whole, copy, store)

    def _copy_padded(
        self,
        part: _Part,
        first: Expr,
        size: int,
        extent: Expr,
        whole: Callable[[], None],
        copy: Callable[[Expr], None],
        store: Callable[[Expr, Expr, Expr], None],
    ) -> None:
        """Copy `size` lines from `first` on, of which those after `extent` are zero."""
        code = self.code
        fits = self._fits(first, size, extent)
        with code.when(fits):
            whole()
        if smart.literal(fits) == 1:
            return
        terms = part.terms if self.copies_rows else self.terms
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

    def _fits(self, first: Expr, size: int, extent: Expr) -> Expr:
        """Whether `size` lines from `first` on are within the extent."""
        steps = self.number(size)
        if smart.literal(smart.floormod(extent, steps)) == 0:
            return smart.const(1, i1)
        return smart.le(smart.add(first, steps), extent)

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
        self, part: _Part, first: Expr | None = None, length: Expr | None = None
    ) -> Generator[tuple[Expr, Point]]:
        """Loops over the term axes: the number of the term in the part, and the point.

        With `first` and `length`, over these steps of the outermost axis.
        """
        outer, *inner = self.found.terms
        if length is None and not inner and self.copies_rows:
            length = part.terms
        with (
            self.code.loop(outer.name, length or outer.extent) as start,
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
        self, part: _Part, number: Expr, panel: Expr, first: Expr, length: Expr
    ) -> None:
        """Add the terms of `length` steps, from `first` of the part on, to a tile."""
        code = self.code
        row = smart.mul(smart.add(part.tile, number), self.number(self.height))
        column = smart.mul(panel, self.number(self.width))
        fits = self._fits(column, self.width, self.columns)
        whole = smart.conjunction(self._fits(row, self.height, self.rows), fits)
        tile = _Tile(part, number, panel, row, column, whole, fits)
        with code.block("tile"):
            shape = [self.height, self.width]
            sums = code.alloc("sums", shape, self.dtype, "local")
            edge = None
            if smart.literal(whole) != 1:
                edge = code.alloc("edge", shape, self.dtype, "local")
            start = smart.add(part.term, first)
            self._begin(tile, sums, edge, start)
            self._add_terms(tile, sums, first, length)
            self._end(tile, sums, edge)
            if self.found.behind is not None:
                with code.when(smart.eq(smart.add(start, length), self.steps)):
                    self._finish(tile, self.found.behind)

    def _begin(
        self, tile: _Tile, sums: SSAValue, edge: SSAValue | None, start: Expr
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

    def _add_terms(self, tile: _Tile, sums: SSAValue, first: Expr, length: Expr) -> None:
        code, part = self.code, tile.part
        if not self.copies_rows:
            with self._each_term(part, first, length) as (term, at):
                self._add_term(tile, sums, term, self._row_in_place(tile, at))
            return

        def add(term: Expr) -> None:
            def copied(row: Expr) -> Expr:
                return code.load(*self._copied(part, tile.tile, row, term))

            self._add_term(tile, sums, term, copied)

        if self.ahead is None:
            with code.loop("k", length) as k:
                add(smart.add(first, k))
            return
        steps, lines = self.ahead
        step = self.number(steps)
        with code.loop("k.s", smart.floordiv(length, step)) as number:
            for line in range(lines):
                self._fetch(tile, smart.add(first, length), number, line)
            kind = tir.ForKind.UNROLLED
            with code.loop("k", step, kind, annotations=LEFT_TO_LLVM) as k:
                add(smart.add(smart.add(first, smart.mul(number, step)), k))

    def _fetch(self, tile: _Tile, after: Expr, step: Expr, line: int) -> None:
        """Fetch a line of what follows a block that ends at `after`: the next terms of
        the panel, or of the next panel. Each tile fetches other lines."""
        assert self.panels is not None, "asked before"
        assert self.ahead is not None, "asked before"
        assert self.block is not None, "asked before"
        code, number, part = self.code, self.number, tile.part
        load, _ = self.panels
        steps, lines = self.ahead
        after = smart.add(part.term, after)
        next_term = smart.add(smart.mul(tile.panel, self.terms), after)
        if self.part_terms is not None:
            other = smart.add(smart.mul(tile.panel, self.terms), self.terms)
            at_end = smart.eq(after, smart.add(part.term, part.terms))
            next_term = smart.select(at_end, smart.add(other, part.term), next_term)
        fetched = smart.add(smart.mul(tile.tile, number(self.block // steps)), step)
        fetched = smart.add(smart.mul(fetched, number(lines)), number(line))
        per_line = number(max(LINE_BYTES // self.bytes, 1))
        place = smart.add(
            smart.mul(next_term, number(self.width)), smart.mul(fetched, per_line)
        )
        panels = self.count(self.columns, self.width)
        whole = smart.mul(smart.mul(panels, self.terms), number(self.width))
        place = smart.minimum(place, smart.sub(whole, number(1)))
        term = smart.floordiv(place, number(self.width))
        indices = [
            smart.floordiv(term, self.terms),
            smart.floormod(term, self.terms),
            smart.floormod(place, number(self.width)),
        ]
        address = tir.AddressOfOp(load.buffer, [code.value(index) for index in indices])
        code.insert(address)
        hints = [smart.const(hint, i32) for hint in _INTO_SECOND_CACHE]
        code.call("prefetch", [Value(address.result), *hints], i32)

    def _row_in_place(self, tile: _Tile, terms: Point) -> Callable[[Expr], Expr]:
        """The elements of `a`; rows after the last one are the last."""
        is_whole = smart.literal(self._fits(tile.row, self.height, self.rows)) == 1

        def value(row: Expr) -> Expr:
            flat = smart.add(tile.row, row)
            if not is_whole:
                flat = smart.minimum(flat, smart.sub(self.rows, self.number(1)))
            at = points(self.found.rows, self._split(flat, self.found.rows))
            return self._value(self.found.a, at, terms)

        return value

    def _add_term(
        self,
        tile: _Tile,
        sums: SSAValue,
        term: Expr,
        value_of_row: Callable[[Expr], Expr],
    ) -> None:
        code = self.code

        def column_at(column: Expr) -> Expr:
            if self.panels is None:
                assert tile.part.columns is not None, "copied"
                return code.load(tile.part.columns, term, column)
            at = smart.add(tile.part.term, term)
            return code.load(self.panels[0].buffer, tile.panel, at, column)

        height, kind = self.number(self.height), tir.ForKind.UNROLLED
        with code.loop("r", height, kind, annotations=LEFT_TO_LLVM) as row:
            a = value_of_row(row)

            def add_vector(column: Expr) -> None:
                before = code.load(sums, row, column)
                total = self.machine.multiply_add(a, column_at(column), before)
                code.store(total, sums, row, column)

            self._vectors_of_row(add_vector)

    # ---- results ----

    def _end(self, tile: _Tile, sums: SSAValue, edge: SSAValue | None) -> None:
        """Store the sums."""
        code = self.code

        def store(source: SSAValue) -> Callable[[Expr, Expr], None]:
            return lambda r, c: code.store(
                code.load(source, r, c), *self._result(tile, r, c)
            )

        with code.when(tile.whole):
            self._each_vector(store(sums))
        if edge is not None:
            with code.otherwise(tile.whole):
                self._each_vector(
                    lambda r, c: code.store(code.load(sums, r, c), edge, r, c)
                )
                self._each_stored(tile, store(edge))

    def _finish(self, tile: _Tile, behind: Nest) -> None:
        """What is done on the results of a tile."""
        code = self.code

        def write(r: Expr, c: Expr) -> None:
            _, *indices = self._result(tile, r, c)
            place = zip(behind.axes, indices, strict=True)
            behind.write_instance(code, {axis.variable: i for axis, i in place})

        with code.when(tile.whole):
            self._each_vector(write)
        if smart.literal(tile.whole) != 1:
            with code.otherwise(tile.whole):
                self._each_stored(tile, write)

    def _result(self, tile: _Tile, r: Expr, c: Expr) -> list[Any]:
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

    def _each_stored(self, tile: _Tile, write: Callable[[Expr, Expr], None]) -> None:
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


def _extent(tree: Expr) -> int | Expr:
    number = smart.literal(tree)
    return tree if number is None else int(number)

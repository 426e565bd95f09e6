"""Contractions that copy a panel of `b` while the first tile is computed from it.

A copy before the tiles waits for memory while nothing is computed. Where all rows are in
one part, and the columns in whole panels, the first tile of a panel copies each term
before it adds it: what is stored is in registers, and the others read the copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from xdsl.ir import SSAValue

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Expr
from xdsl_tvm.passes.tir._cpu_schedule.contraction_loops import (
    ContractionLoops,
    Part,
    Tile,
)
from xdsl_tvm.passes.tir._cpu_schedule.elementwise import write_lanes
from xdsl_tvm.passes.tir._cpu_schedule.fetching import (
    INTO_FIRST_CACHE,
    INTO_SECOND_CACHE,
    fetch,
)
from xdsl_tvm.passes.tir._schedule.axes import points

_TERMS_AHEAD = 8
"""Terms between what is copied and what is fetched: more would be in the same places of
the cache where rows have a power of two."""
_MOST_ROWS = 128
"""More rows pay for a copy before them."""
_LEAST_BYTES = 4 << 20
"""Of a matrix that is copied so."""
_TERMS = 384
"""Of a part: more would not be in the cache with `a`, and for fewer, results are loaded
and stored too often."""


@dataclass(frozen=True)
class PackingContraction(ContractionLoops):
    """Writes such a contraction."""

    @property
    def is_fit(self) -> bool:
        """Whether the contraction is one of these."""
        rows, columns = smart.literal(self.rows), smart.literal(self.columns)
        if rows is None or columns is None or not self.height <= rows <= _MOST_ROWS:
            return False
        if self.panels is not None or self._lines_of_columns is None:
            return False
        size = columns * (smart.literal(self.terms) or 0) * self.bytes
        is_large = size >= _LEAST_BYTES and self.ahead is not None
        return is_large and columns % self.width == 0

    @cached_property
    def part_tiles(self) -> int | None:
        return None

    @cached_property
    def part_terms(self) -> int | None:
        return self._equal(self.terms, _TERMS, 8)

    def _write_part(self, part: Part) -> None:
        code, zero, one = self.code, self.number(0), self.number(1)
        panels = self.count(self.columns, self.width)
        with code.loop("panel", panels, self.kind) as panel, code.block("panel"):
            part = replace(part, columns=self._alloc_columns())
            with self.stretches("k.o", part.terms, self.block) as (first, length):
                self._write_tile(part, zero, panel, first, length)
                others = smart.sub(part.tiles, one)
                if smart.literal(others) != 0:
                    with code.loop("tile", others, low=one) as tile:
                        self._write_tile(part, tile, panel, first, length)

    def _add_terms(self, tile: Tile, sums: SSAValue, first: Expr, length: Expr) -> None:
        if smart.literal(tile.number) != 0:
            super()._add_terms(tile, sums, first, length)
            return
        code, part = self.code, tile.part
        # Not unrolled: LLVM would move the copies of several terms together.
        with code.loop("k", length) as k:
            term = smart.add(first, k)
            self._fetch_term(tile, term)
            self._copy_term(tile, term)

            def copied(row: Expr) -> Expr:
                return code.load(*self._copied(part, tile.number, row, term))

            self._add_term(tile, sums, term, copied)

    def _fetch_columns(self, tile: Tile, first: Expr, fetched: Expr) -> None:
        """Fetch a line of the next block of terms, or of the first one of the next panel.

        Further ahead, columns of rows of a power of two would not fit into the cache.
        """
        number, part, block = self.number, tile.part, self.known_block
        assert block is not None, "asked before"
        lines = number(self.lines_of_panel)
        # The first tile fetches for itself.
        steps, at_once = self.ahead or (1, 1)
        fetched = smart.sub(fetched, number(block // steps * at_once))
        following = smart.add(first, number(block))
        is_last = smart.ge(following, part.terms)
        low = smart.select(is_last, number(0), following)
        right = smart.select(is_last, number(self.width), number(0))
        term = smart.add(smart.add(part.term, low), smart.floordiv(fetched, lines))
        term = smart.minimum(term, smart.sub(self.terms, number(1)))
        within = smart.mul(smart.floormod(fetched, lines), number(self._per_line))
        last = smart.sub(self.columns, smart.add(tile.column, number(1)))
        column = smart.minimum(smart.add(right, within), last)
        self._fetch_line(tile, term, column, INTO_SECOND_CACHE)

    def _column_of(self, tile: Tile, term: Expr, column: Expr) -> dict[SSAValue, Expr]:
        columns = points(self.found.columns, [smart.add(tile.column, column)])
        return {**columns, **points(self.found.terms, [term])}

    def _copy_term(self, tile: Tile, term: Expr) -> None:
        """The columns of a panel for one term."""

        def copy(column: Expr) -> None:
            at = self._column_of(tile, smart.add(tile.part.term, term), column)
            value = self._value(self.found.b, at, {})
            place = self._copied_column(tile.part, tile.panel, term, column)
            self.code.store(value, *place)

        for vector in range(self.vectors):
            start = self.number(vector * self.lanes)
            write_lanes(self.code, start, self.lanes, copy)

    def _fetch_term(self, tile: Tile, term: Expr) -> None:
        ahead = smart.add(tile.part.term, smart.add(term, self.number(_TERMS_AHEAD)))
        ahead = smart.minimum(ahead, smart.sub(self.terms, self.number(1)))
        for line in range(self.lines_of_panel):
            column = self.number(line * self._per_line)
            self._fetch_line(tile, ahead, column, INTO_FIRST_CACHE)

    def _fetch_line(
        self, tile: Tile, term: Expr, column: Expr, hints: Sequence[int]
    ) -> None:
        nest = self.found.nest
        (access,) = (each for each in nest.accesses if each.op is self.found.b.owner)
        at = {**self.point, **self._column_of(tile, term, column)}
        indices = [nest.tree_at(index, at) for index in access.indices]
        fetch(self.code, access.buffer, indices, hints)

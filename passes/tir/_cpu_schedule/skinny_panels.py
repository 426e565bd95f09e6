"""Products of a few rows and a large matrix in panels, which is read in several streams.

Such a product takes as long as the matrix takes to be read. Processors fetch what follows
in memory for several streams at a time, and more lines of several than of one. The terms
of a panel are divided into equal parts, one for each stream; a step adds the next term of
each of them to the same tile of results. What a stream reads next is also fetched by
instructions, at the end of a part for the next panel.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import SSAValue

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Expr, Value
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.tir._cpu_schedule.contraction_loops import ContractionLoops, Tile
from xdsl_tvm.passes.tir._cpu_schedule.fetching import (
    INTO_FIRST_CACHE,
    LINE_BYTES,
    fetch,
)
from xdsl_tvm.passes.tir._cpu_schedule.options import LEFT_TO_LLVM

_LEAST_BYTES = 1 << 20
"""Of a matrix that is read in streams: smaller ones are in caches."""
_LEAST_BITS = 32
_STREAMS = (4, 2)
_BYTES_AHEAD = 2048
"""Bytes of a stream between what is added and what is fetched."""
_LEAST_AHEADS = 2
"""So many times these bytes are a stream, at least."""


@dataclass(frozen=True)
class SkinnyPanels(ContractionLoops):
    """Writes such a product."""

    @property
    def is_fit(self) -> bool:
        """Whether the product is one of these, and may add terms in another order."""
        rows = smart.literal(self.rows)
        if self.panels is None or rows is None or rows > self.height:
            return False
        if not self.machine.reassociate:
            return False
        if not tir.is_float(self.dtype) or tir.bits_of_lane(self.dtype) < _LEAST_BITS:
            return False
        shape = tir.buffer_definition(self.panels[0].buffer).type.get_shape()
        # Places in panels are numbers of 32 bits, if those of the program are.
        if DYNAMIC_INDEX in shape or prod(shape) >= 1 << 31:
            return False
        return prod(shape) * self.bytes >= _LEAST_BYTES and self.streams > 1

    @cached_property
    def streams(self) -> int:
        """How many streams there are; 1 if the terms cannot be divided."""
        terms = int(smart.literal(self.terms) or 0)
        least = _LEAST_AHEADS * self._terms_ahead
        fits = (n for n in _STREAMS if terms % n == 0 and terms // n >= least)
        return next(fits, 1)

    @cached_property
    def _terms_ahead(self) -> int:
        return max(_BYTES_AHEAD // (self.width * self.bytes), 1)

    @cached_property
    def copies_rows(self) -> bool:
        return True

    @cached_property
    def has_terms_in_rows(self) -> bool:
        # The rows of a term of each stream are in one line.
        return False

    @cached_property
    def block(self) -> int | None:
        return None

    @cached_property
    def part_terms(self) -> int | None:
        return None

    def _add_terms(self, tile: Tile, sums: SSAValue, first: Expr, length: Expr) -> None:
        code, number, part = self.code, self.number, tile.part
        stream_terms = smart.floordiv(length, number(self.streams))
        streams, kind = number(self.streams), tir.ForKind.UNROLLED
        with code.loop("k", stream_terms) as k:
            panel, ahead = self._place_ahead(tile, k, stream_terms)
            with code.loop("s", streams, kind, annotations=LEFT_TO_LLVM) as stream:
                low = smart.mul(stream, stream_terms)
                self._fetch_term(panel, smart.add(low, ahead))
                term = smart.add(low, k)

                def copied(row: Expr) -> Expr:
                    return code.load(*self._copied(part, tile.number, row, term))

                self._add_term(tile, sums, term, copied)

    def _place_ahead(self, tile: Tile, k: Expr, stream_terms: Expr) -> tuple[Expr, Expr]:
        """The panel and the term of a stream that are read some terms after `k`."""
        number = self.number
        ahead = smart.add(k, number(self._terms_ahead))
        is_over = smart.ge(ahead, stream_terms)
        last = smart.sub(self.count(self.columns, self.width), number(1))
        following = smart.minimum(smart.add(tile.panel, number(1)), last)
        panel = smart.select(is_over, following, tile.panel)
        ahead = smart.select(is_over, smart.sub(ahead, stream_terms), ahead)
        return Value(self.code.value(panel)), Value(self.code.value(ahead))

    def _fetch_term(self, panel: Expr, term: Expr) -> None:
        assert self.panels is not None, "asked before"
        for line in range(self.lines_of_panel):
            column = self.number(line * (LINE_BYTES // self.bytes))
            buffer = self.panels[0].buffer
            fetch(self.code, buffer, [panel, term, column], INTO_FIRST_CACHE)

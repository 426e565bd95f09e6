"""Products of a few rows of bytes and a matrix of them, by dot products of four terms.

They are those of `skinny_matmul.py`, read once in the order of memory. Lines of four
terms of the matrix, as many columns as a vector has bytes, are interleaved in registers
into quads, each 16 bytes where they are, and multiplied with the quads of all rows. Sums
of a stretch of columns are in the cache, in the order that this leaves columns in, and
are put in order when they are stored. The rows are copied before, the last quad filled
up, and with them a row of what is taken away again where the signs of operands are alike
(`byte_dots.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod

from xdsl.dialects.builtin import DYNAMIC_INDEX, i32
from xdsl.ir import SSAValue

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Add, Broadcast, Expr, Sub, Value, view
from xdsl_tvm.analysis.arith.linear_equation import mentions
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.processor_instructions import BYTES_OF_DOT
from xdsl_tvm.passes.tir._cpu_schedule.byte_contraction import byte_load
from xdsl_tvm.passes.tir._cpu_schedule.byte_dots import ByteDots, is_byte_along_last
from xdsl_tvm.passes.tir._cpu_schedule.fetching import INTO_FIRST_CACHE, fetch
from xdsl_tvm.passes.tir._cpu_schedule.options import Machine
from xdsl_tvm.passes.tir._cpu_schedule.reduction import write_stretches
from xdsl_tvm.passes.tir._cpu_schedule.skinny_matmul import (
    LEAST_FETCHED,
    FewRows,
    each_batch,
)
from xdsl_tvm.passes.tir._loops.loop_nest import Point
from xdsl_tvm.passes.tir._schedule.axes import points
from xdsl_tvm.passes.tir.rewriting.loop_code import LoopCode

_QUADS_AT_ONCE = 2
"""Quads of terms that are added to a stretch at once."""
_SUMS = 8192
"""Sums of all rows that stay in the first cache."""
_PARTS = (8, 4)
"""Parts of the terms, for several threads."""
_STEPS_OF_PART = 4
"""So many times the quads that are added at once, at least, are a part."""
_BYTES_AHEAD = 2048
"""Bytes of a line between what is added and what is fetched, at most."""


def is_few_rows_of_bytes(found: FewRows, machine: Machine) -> bool:
    """Whether lines of the matrix are full vectors of bytes, on a processor with the
    instruction."""
    dot, column = machine.byte_dot, found.column
    if dot is None or found.reduction.dtype != i32 or len(found.nest.carried) != 1:
        return False
    if column.size is None or column.size % (BYTES_OF_DOT * dot.lanes):
        return False
    result = found.reduction.result
    if byte_load(found.a) is None or not is_byte_along_last(found.nest, found.b, column):
        return False
    if tir.buffer_definition(result.buffer).layout_strides or result.step(column) != 1:
        return False
    return mentions(result.indices[-1], Value(column.variable))


def schedule_few_rows_of_bytes(
    code: LoopCode, found: FewRows, point: Point, machine: Machine, *, parallel: bool
) -> None:
    """Write such a product over the axes that `point` leaves open."""
    with each_batch(code, found, point, parallel=parallel) as (here, inner):
        _ByteProduct(code, found, machine, here, parallel=inner).write()


@dataclass(frozen=True)
class _Part:
    """Some of the terms, whose sums may have a place of their own."""

    first: Expr
    """The first quad."""
    quads: Expr
    sums: tuple[SSAValue, Expr] | None = None
    """Those of all parts, and which of them these are."""


@dataclass(frozen=True)
class _ByteProduct:
    """Writes the product of one batch."""

    code: LoopCode
    found: FewRows
    machine: Machine
    point: Point
    parallel: bool

    @cached_property
    def _dots(self) -> ByteDots:
        return ByteDots(self.code, self.machine, self.found.a, self.found.b)

    @cached_property
    def _copied_rows(self) -> int:
        """Rows whose sums are computed, one for what is taken away among them."""
        return self.found.height + self._dots.flips

    @cached_property
    def _width(self) -> int:
        """Columns of a block."""
        return BYTES_OF_DOT * self._dots.lanes

    @cached_property
    def _stretch(self) -> int:
        """Columns of a stretch."""
        blocks = max(_SUMS // (self._copied_rows * self._width), 1)
        return blocks * self._width

    @cached_property
    def _terms(self) -> Expr:
        return self.found.nest.carried[0].extent

    @cached_property
    def _quads(self) -> Expr:
        more = smart.add(self._terms, self._number(BYTES_OF_DOT - 1))
        return smart.floordiv(more, self._number(BYTES_OF_DOT))

    def _number(self, value: int) -> Expr:
        return smart.const(value, self._terms.dtype)

    def write(self) -> None:
        """All rows and columns."""
        code, found = self.code, self.found
        with code.block("rows of bytes"):
            size = smart.mul(self._quads, self._number(BYTES_OF_DOT))
            known = smart.literal(size)
            shape = [self._copied_rows, size if known is None else int(known)]
            rows = code.alloc("rows", shape, self._dots.type_of_a, "global")
            self._copy_rows(rows, size)
            count = self._number_of_parts
            if count == 1:
                terms = _Part(self._number(0), self._quads)
                self._write_part(rows, terms, parallel=self.parallel)
                return
            assert found.column.size is not None, "asked before"
            shape = [count, found.height, found.column.size]
            sums = code.alloc("sums", shape, i32, "global")
            quads = smart.floordiv(self._quads, self._number(count))
            extent = self._number(count)
            with code.loop("part", extent, tir.ForKind.PARALLEL) as part:
                terms = _Part(smart.mul(part, quads), quads, (sums, part))
                self._write_part(rows, terms, parallel=False)
            self._add_up(sums, count)

    @cached_property
    def _number_of_parts(self) -> int:
        """Into how many parts the terms are divided, for several threads, whose sums are
        added at the end: each reads lines that follow each other."""
        terms = smart.literal(self._terms)
        if not self.parallel or terms is None:
            return 1
        for parts in _PARTS:
            least = parts * _QUADS_AT_ONCE * BYTES_OF_DOT
            if terms % least == 0 and terms >= least * _STEPS_OF_PART:
                return parts
        return 1

    def _write_part(self, rows: SSAValue, part: _Part, *, parallel: bool) -> None:
        """The sums of some terms, for all columns."""

        def write(low: Expr | None, length: Expr, width: int) -> None:
            first = smart.const(0, length.dtype) if low is None else low
            self._write_stretch(rows, part, first, length)

        column, most = self.found.column, self._stretch
        write_stretches(self.code, column, most, self._width, write, parallel=parallel)

    def _copy_rows(self, rows: SSAValue, size: Expr) -> None:
        code, dots, found = self.code, self._dots, self.found
        # Whatever the matrix has after the last term: its excess is taken away again.
        zero = dots.row_byte(smart.const(0, dots.type_of_a))
        (axis,) = found.nest.carried
        bytes_of_row = dots.bytes_of_a.result
        with code.loop("row", self._number(self.found.height)) as row:
            here = found.row_at(row, self.point)
            with code.loop(axis.name, self._terms) as term:
                at = {**here, axis.variable: term}
                value = found.nest.value_at(code, bytes_of_row, at)
                code.store(dots.row_byte(value), rows, row, term)
            rest = smart.sub(size, self._terms)
            if smart.literal(rest) != 0:
                with code.loop("rest", rest, low=self._terms) as term:
                    code.store(zero, rows, row, term)
        if dots.flips:
            with code.loop(axis.name, size) as term:
                code.store(dots.highest(1), rows, self._number(self.found.height), term)

    # ---- stretches ----

    def _write_stretch(
        self, rows: SSAValue, part: _Part, first: Expr, length: Expr
    ) -> None:
        code, number = self.code, self._number
        lanes = self._dots.lanes
        with code.block("stretch"):
            width = smart.literal(length)
            shape = [self._copied_rows, int(width or self._stretch)]
            sums = code.alloc("sums", shape, i32, "local")
            step = smart.const(lanes, length.dtype)
            vectors = smart.floordiv(length, step)
            with (
                code.loop("row", number(self._copied_rows)) as row,
                code.loop("vector", vectors) as vector,
            ):
                zeros = _in_lanes(smart.const(0, i32), lanes)
                code.store(zeros, sums, row, smart.ramp(smart.mul(vector, step), lanes))

            def add(quad: Expr, count: int) -> None:
                self._add_quads(rows, sums, first, length, quad, count, is_whole=True)

            whole = part.quads
            if part.sums is None:
                whole = smart.floordiv(self._terms, number(BYTES_OF_DOT))
            code.steps("quad", whole, _QUADS_AT_ONCE, add, low=part.first)
            left = smart.sub(part.quads, whole)
            if smart.literal(left) != 0:
                with code.loop("quad", left, low=whole) as quad:
                    self._add_quads(rows, sums, first, length, quad, 1, is_whole=False)
            self._store(sums, part, first, length)

    def _add_quads(
        self,
        rows: SSAValue,
        sums: SSAValue,
        first: Expr,
        length: Expr,
        quad: Expr,
        count: int,
        *,
        is_whole: bool,
    ) -> None:
        """Add so many quads of terms to a stretch of columns from `first` on."""
        code, dots = self.code, self._dots
        number, lanes = self._number, dots.lanes
        term = smart.mul(quad, number(BYTES_OF_DOT))
        quads_of_rows = [
            [
                dots.in_all_lanes(
                    code.load(
                        rows,
                        number(row),
                        smart.ramp(
                            smart.add(term, number(BYTES_OF_DOT * k)), BYTES_OF_DOT
                        ),
                    )
                )
                for k in range(count)
            ]
            for row in range(self._copied_rows)
        ]
        width = smart.const(self._width, length.dtype)
        with code.loop("block", smart.floordiv(length, width)) as block:
            start = smart.mul(block, width)
            if self._is_large and is_whole:
                self._fetch(term, BYTES_OF_DOT * count, first, length, start)
            columns = [
                dots.quads(
                    [
                        self._line(
                            smart.add(term, number(BYTES_OF_DOT * k + line)),
                            smart.add(first, start),
                            is_whole=is_whole,
                        )
                        for line in range(BYTES_OF_DOT)
                    ]
                )
                for k in range(count)
            ]
            for row, quads_of_row in enumerate(quads_of_rows):
                for vector in range(BYTES_OF_DOT):
                    at = smart.ramp(self._behind(start, vector), lanes)
                    total = code.load(sums, number(row), at)
                    for quads, a in zip(columns, quads_of_row, strict=True):
                        total = dots.multiplied(total, a, quads[vector])
                    code.store(total, sums, number(row), at)

    def _line(self, term: Expr, column: Expr, *, is_whole: bool) -> Expr:
        """The bytes of a term of a block of columns; for those after the last term, of
        that one."""
        if not is_whole:
            term = smart.minimum(term, smart.sub(self._terms, self._number(1)))
        *indices, last = self._places(term, column)
        load = self._dots.bytes_of_b
        return self.code.load(load.buffer, *indices, smart.ramp(last, self._width))

    def _places(self, term: Expr, column: Expr) -> list[Expr]:
        """The indices of an element of the matrix."""
        nest, load = self.found.nest, self._dots.bytes_of_b
        axes = [nest.carried[0], self.found.column]
        at = {**self.point, **points(axes, [term, column])}
        return [nest.tree_at(view(index, nest.trees), at) for index in load.indices]

    def _store(self, sums: SSAValue, part: _Part, first: Expr, length: Expr) -> None:
        """Store a stretch: in the memory of a part, or with what the results are before
        in the results."""
        code, dots, found = self.code, self._dots, self.found
        number, lanes = self._number, dots.lanes
        width = smart.const(self._width, length.dtype)
        with (
            code.loop("row", number(found.height)) as row,
            code.loop("block", smart.floordiv(length, width)) as block,
        ):
            start = smart.mul(block, width)
            vectors: list[Expr] = []
            for vector in range(BYTES_OF_DOT):
                at = smart.ramp(self._behind(start, vector), lanes)
                total = code.load(sums, row, at)
                if dots.flips:
                    excess = code.load(sums, number(found.height), at)
                    total = Sub(total, excess)
                vectors.append(total)
            for vector, total in enumerate(dots.in_order(vectors)):
                column = smart.add(first, self._behind(start, vector))
                if part.sums is None:
                    self._finish(row, column, total)
                else:
                    at = smart.ramp(column, lanes)
                    code.store(total, *part.sums, row, at)

    def _behind(self, start: Expr, vector: int) -> Expr:
        """The first column of a vector of a block that starts there."""
        return smart.add(start, smart.const(vector * self._dots.lanes, start.dtype))

    def _finish(self, row: Expr, column: Expr, total: Expr) -> None:
        """Store the results of a vector of columns."""
        code, found, lanes = self.code, self.found, self._dots.lanes
        at = {**found.row_at(row, self.point), **points([found.column], [column])}
        result, init = found.reduction.result, found.reduction.init
        *outer, last = (found.nest.tree_at(index, at) for index in result.indices)
        places = [*outer, smart.ramp(last, lanes)]
        if init is None:
            total = Add(code.load(result.buffer, *places), total)
        elif smart.literal(view(init)) != 0:
            before = found.nest.value_at(code, init, at)
            total = Add(_in_lanes(before, lanes), total)
        code.store(total, result.buffer, *places)

    def _add_up(self, sums: SSAValue, parts: int) -> None:
        """Store the sums of all parts."""
        code, found, number = self.code, self.found, self._number
        extent = found.column.extent
        lanes = smart.const(self._dots.lanes, extent.dtype)
        with (
            code.loop("row", number(found.height)) as row,
            code.loop("vector", smart.floordiv(extent, lanes)) as vector,
        ):
            column = smart.mul(vector, lanes)
            at = smart.ramp(column, self._dots.lanes)
            total = code.load(sums, number(0), row, at)
            for part in range(1, parts):
                total = Add(total, code.load(sums, number(part), row, at))
            self._finish(row, column, total)

    # ---- fetching ahead ----

    @cached_property
    def _is_large(self) -> bool:
        """Whether the matrix is so large that it is fetched before it is used."""
        shape = tir.buffer_definition(self._dots.bytes_of_b.buffer).type.get_shape()
        return DYNAMIC_INDEX in shape or prod(shape) >= LEAST_FETCHED

    def _fetch(
        self, term: Expr, count: int, first: Expr, length: Expr, start: Expr
    ) -> None:
        """Fetch the lines of `count` terms of a block further to the right, or of those
        of the next terms at the end of a stretch."""
        code, number = self.code, self._number
        ahead = smart.minimum(smart.const(_BYTES_AHEAD, length.dtype), length)
        there = smart.add(start, ahead)
        is_over = smart.ge(there, length)
        column = smart.select(is_over, smart.sub(there, length), there)
        column = Value(code.value(smart.add(first, column)))
        most = smart.sub(self._terms, number(count))
        then = smart.minimum(smart.add(term, number(count)), most)
        then = Value(code.value(smart.select(is_over, then, term)))
        for line in range(count):
            places = self._places(smart.add(then, number(line)), column)
            fetch(code, self._dots.bytes_of_b.buffer, places, INTO_FIRST_CACHE)


def _in_lanes(value: Expr, lanes: int) -> Expr:
    return Broadcast(tir.with_lanes(value.dtype, lanes), value)

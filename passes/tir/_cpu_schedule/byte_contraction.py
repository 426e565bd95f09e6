"""Contractions of bytes, summed in `i32`: two terms at a time.

Terms are taken in pairs, of 16 bits each: `a` is copied with the terms of a row next to
each other, `b` with the two terms of a column next to each other. A step multiplies the
pairs of a row and of a vector of columns and adds the two products of each column, which
is one instruction on processors with `pmaddwd`, `vpdpwssd` or the like: LLVM finds it in
the vectors that are written here, which any target can compute. Results are exact, as
each sum of two products fits.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property

from xdsl.dialects.builtin import i16, i32
from xdsl.ir import SSAValue

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Add, Expr, Mul
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.processor_instructions import is_byte
from xdsl_tvm.passes.tir._cpu_schedule.contraction_loops import (
    ContractionLoops,
    Part,
    Tile,
)
from xdsl_tvm.passes.tir._cpu_schedule.contraction_sizes import steps_behind
from xdsl_tvm.passes.tir._cpu_schedule.elementwise import write_lanes
from xdsl_tvm.passes.tir._cpu_schedule.options import LEFT_TO_LLVM
from xdsl_tvm.passes.tir._schedule.axes import points
from xdsl_tvm.passes.tir._schedule.contraction import Contraction
from xdsl_tvm.passes.tir._schedule.maps import is_lazy

_PAIR = 2
_VECTORS = 2
"""Vectors of columns of a tile."""


def is_byte_contraction(found: Contraction) -> bool:
    """Whether rows and columns of bytes are multiplied, each next to each other."""
    wide = [axis for axis in found.columns if axis.size != 1]
    if found.reduction.dtype != i32 or is_lazy(found.nest):
        return False
    if len(wide) != 1 or len(found.terms) != 1:
        return False
    if byte_load(found.a) is None or byte_load(found.b) is None:
        return False
    along_terms = steps_behind(found.nest, found.a, found.terms[0])
    along_columns = steps_behind(found.nest, found.b, wide[0])
    return along_terms == along_columns == {1}


def byte_load(value: SSAValue) -> tir.LoadOp | None:
    """The load of the byte that a value is, converted; None for other values."""
    cast = value.owner
    if not isinstance(cast, tir.CastOp):
        return None
    load = cast.operands[0].owner
    if isinstance(load, tir.LoadOp) and is_byte(cast.operands[0].type):
        return load
    return None


@dataclass(frozen=True)
class ByteContraction(ContractionLoops):
    """Writes such a product. What is called terms elsewhere are pairs of terms here."""

    @cached_property
    def _single_terms(self) -> Expr:
        """How many terms there are."""
        return self.found.terms[0].extent

    @cached_property
    def terms(self) -> Expr:
        return self.count(self._single_terms, _PAIR)

    @cached_property
    def copies_rows(self) -> bool:
        return True

    @cached_property
    def vectors(self) -> int:
        return _VECTORS

    @cached_property
    def shares_panels(self) -> bool:
        return False

    @cached_property
    def _has_last_term(self) -> Expr:
        """Whether the last pair has two terms."""
        rest = smart.floormod(self._single_terms, self.number(_PAIR))
        return smart.eq(rest, self.number(0))

    # ---- copies of the operands ----

    def _alloc_rows(self, tiles: Expr) -> SSAValue:
        count, pairs = self._shape_of_rows(tiles)
        size = _PAIR * pairs if isinstance(pairs, int) else _twice(pairs)
        return self.code.alloc("rows", [count, size], i16, "global")

    def _alloc_columns(self) -> SSAValue:
        shape = [self._terms_of_part, _PAIR * self.width]
        return self.code.alloc("columns", shape, i16, "global")

    def _copy_rows(self, part: Part, tile: Expr) -> None:
        code, rows = self.code, part.rows
        assert rows is not None, "copied"
        first = self.first_row(smart.add(part.tile, tile))
        (axis,) = self.found.terms
        low, size = _twice(part.term), _twice(part.terms)

        def store(row: Expr, term: Expr, value: Expr) -> None:
            place = smart.mul(smart.sub(row, first), _twice(self._stride_of_rows))
            code.store(smart.cast(i16, value), rows, tile, smart.add(place, term))

        def copy(row: Expr) -> None:
            at = points(self.found.rows, self._split(row, self.found.rows))

            def lanes(term: Expr) -> None:
                here = points([axis], [smart.add(low, term)])
                store(row, term, self._value(self.found.a, at, here))

            def write(start: Expr, length: int) -> None:
                write_lanes(code, start, length, lanes)

            length = size
            if smart.literal(self._has_last_term) != 1:
                length = smart.minimum(size, smart.sub(self._single_terms, low))
                store(row, smart.sub(size, self.number(1)), smart.const(0, i32))
            code.steps(axis.name, length, self.lanes, write)

        def whole() -> None:
            with code.loop("row", self.number(self.height)) as row:
                copy(smart.add(first, row))

        height, fits = self.height, self.rows_fit(first)
        self._copy_padded(size, first, height, self.rows, fits, whole, copy, store)

    def _copy_columns(self, part: Part, panel: Expr) -> None:
        code, columns = self.code, part.columns
        assert columns is not None, "copied"
        first = smart.mul(panel, self.number(self.width))
        (axis,) = self.found.terms
        low, size = _twice(part.term), _twice(part.terms)

        def value(column: Expr, term: Expr) -> Expr:
            at = points(self.found.columns, self._split(column, self.found.columns))
            here = points([axis], [smart.add(low, term)])
            return smart.cast(i16, self._value(self.found.b, at, here))

        def store(column: Expr, term: Expr, value: Expr) -> None:
            two = self.number(_PAIR)
            place = smart.add(_twice(smart.sub(column, first)), smart.floormod(term, two))
            pair = smart.floordiv(term, two)
            code.store(smart.cast(i16, value), columns, pair, place)

        def copy(column: Expr) -> None:
            self._clear_last(part, lambda term: store(column, term, smart.const(0, i16)))
            with code.loop(axis.name, self._present(part)) as term:
                store(column, term, value(column, term))

        def whole() -> None:
            with code.block("pairs"):
                each_pair(code.alloc("lines", [_PAIR, self.width], i16, "local"))

        def each_pair(lines: SSAValue) -> None:

            def read(place: int, term: Expr | None) -> None:
                def lanes(column: Expr) -> None:
                    one = smart.const(0, i16)
                    if term is not None:
                        one = value(smart.add(first, column), term)
                    code.store(one, lines, self.number(place), column)

                self._vectors_of_row(lanes)

            def write(pair: Expr) -> None:
                for number in range(self.vectors):
                    start = self.number(number * self.lanes)
                    both = [
                        code.value(
                            code.load(
                                lines, self.number(k), smart.ramp(start, self.lanes)
                            )
                        )
                        for k in range(_PAIR)
                    ]
                    order = [
                        k * self.lanes + lane
                        for lane in range(self.lanes)
                        for k in range(_PAIR)
                    ]
                    mixed = self.code.shuffled(both, order)
                    code.store(
                        mixed,
                        columns,
                        pair,
                        smart.ramp(_twice(start), _PAIR * self.lanes),
                    )

            whole_pairs = smart.floordiv(self._present(part), self.number(_PAIR))
            with code.loop("pair", whole_pairs) as pair:
                for k in range(_PAIR):
                    read(k, smart.add(_twice(pair), self.number(k)))
                write(pair)
            if smart.literal(self._has_last_term) != 1:
                with code.loop(
                    "pair", smart.sub(part.terms, whole_pairs), low=whole_pairs
                ) as pair:
                    read(0, _twice(pair))
                    read(1, None)
                    write(pair)

        width, fits = self.width, self.fits(first, self.width, self.columns)
        self._copy_padded(size, first, width, self.columns, fits, whole, copy, store)

    def _present(self, part: Part) -> Expr:
        """How many terms of a part there are."""
        size = _twice(part.terms)
        if smart.literal(self._has_last_term) == 1:
            return size
        return smart.minimum(size, smart.sub(self._single_terms, _twice(part.term)))

    def _clear_last(self, part: Part, clear: Callable[[Expr], None]) -> None:
        """Clear the last term of a part before what there is of it is written."""
        if smart.literal(self._has_last_term) != 1:
            clear(smart.sub(_twice(part.terms), self.number(1)))

    # ---- terms ----

    def _add_terms(self, tile: Tile, sums: SSAValue, first: Expr, length: Expr) -> None:
        code, part, lanes = self.code, tile.part, self.lanes
        rows, columns = part.rows, part.columns
        assert rows is not None, "copied"
        assert columns is not None, "copied"
        unrolled = tir.ForKind.UNROLLED

        def loop(name: str, extent: int) -> AbstractContextManager[Expr]:
            return code.loop(
                name, self.number(extent), unrolled, annotations=LEFT_TO_LLVM
            )

        with code.loop("k", length) as k:
            pair = smart.add(first, k)
            with loop("r", self.height) as row:
                place = smart.mul(row, _twice(self._stride_of_rows))
                place = smart.ramp(smart.add(place, _twice(pair)), _PAIR)
                both = code.value(code.load(rows, tile.number, place))
                a = self._wide(self.code.shuffled([both], list(range(_PAIR)) * lanes))
                with loop("u", self.vectors) as number:
                    start = smart.mul(number, self.number(lanes))
                    place = smart.ramp(_twice(start), _PAIR * lanes)
                    b = self._wide(code.load(columns, pair, place))
                    products = [code.value(Mul(a, b))]
                    even, odd = (
                        self.code.shuffled(products, range(k, _PAIR * lanes, _PAIR))
                        for k in range(_PAIR)
                    )
                    at = smart.ramp(start, lanes)
                    before = code.load(sums, row, at)
                    code.store(Add(before, Add(even, odd)), sums, row, at)

    def _wide(self, value: Expr) -> Expr:
        return smart.cast(tir.with_lanes(i32, _PAIR * self.lanes), value)


def _twice(value: Expr) -> Expr:
    return smart.mul(value, smart.const(_PAIR, value.dtype))

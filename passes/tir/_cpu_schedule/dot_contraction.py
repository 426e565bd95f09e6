"""Contractions of bytes, summed in `i32`, by an instruction for dot products of bytes.

The instruction adds to each lane four products of unsigned and signed bytes, so terms are
taken in quads: `a` is copied with the terms of a row next to each other, and `b` with the
four terms of a column next to each other, unless relax-pack-weights has stored it so. A
step multiplies a quad of a row, in all lanes, and a vector of columns. Missing terms of
the last quad are zero in both, but that of panels there may be anything.

What is taken away from the sums of a column where the signs of operands are alike
(`byte_dots.py`) is computed once for each panel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from xdsl.dialects.builtin import DYNAMIC_INDEX, i32
from xdsl.ir import SSAValue

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import (
    Expr,
    Sub,
    Value,
    view,
)
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.processor_instructions import BYTES_OF_DOT
from xdsl_tvm.passes.tir._cpu_schedule.byte_contraction import byte_load
from xdsl_tvm.passes.tir._cpu_schedule.byte_dots import ByteDots
from xdsl_tvm.passes.tir._cpu_schedule.contraction_loops import (
    ContractionLoops,
    Part,
    Tile,
)
from xdsl_tvm.passes.tir._cpu_schedule.contraction_sizes import steps_behind
from xdsl_tvm.passes.tir._cpu_schedule.elementwise import write_lanes
from xdsl_tvm.passes.tir._cpu_schedule.fetching import (
    INTO_FIRST_CACHE,
    INTO_SECOND_CACHE,
    fetch,
)
from xdsl_tvm.passes.tir._cpu_schedule.options import LEFT_TO_LLVM, Machine
from xdsl_tvm.passes.tir._schedule.axes import points
from xdsl_tvm.passes.tir._schedule.contraction import Contraction
from xdsl_tvm.passes.tir._schedule.maps import is_lazy

_MOST_VECTORS = 4
_RANK_OF_PANELS = 3
_ENDS = 2
"""Columns of a panel whose lines are fetched: the first and the last."""
_QUADS_AHEAD = 12
"""Quads between what is copied and what is fetched."""


def is_dot_contraction(found: Contraction, machine: Machine) -> bool:
    """Whether rows and columns of bytes are multiplied, on a processor with the
    instruction: terms of a row are neighbours, and so are the columns of a term, or the
    columns are in panels."""
    if machine.byte_dot is None or found.reduction.dtype != i32 or is_lazy(found.nest):
        return False
    wide = [axis for axis in found.columns if axis.size != 1]
    if len(wide) != 1 or len(found.terms) != 1:
        return False
    if byte_load(found.a) is None or byte_load(found.b) is None:
        return False
    if steps_behind(found.nest, found.a, found.terms[0]) != {1}:
        return False
    if panels_of_quads(found, machine) is not None:
        return True
    return steps_behind(found.nest, found.b, wide[0]) == {1}


def panels_of_quads(
    found: Contraction, machine: Machine
) -> tuple[tir.LoadOp, int] | None:
    """The load of a `b` in panels of quads, and the columns of a panel, `w`:
    `b[column // w, term // 4, column % w * 4 + term % 4]`; None for any other."""
    load = byte_load(found.b)
    columns = [axis for axis in found.columns if axis.size != 1]
    if load is None or len(columns) != 1 or len(found.terms) != 1:
        return None
    if len(load.indices) != _RANK_OF_PANELS:
        return None
    size = tir.buffer_definition(load.buffer).type.get_shape()[-1]
    width, rest = divmod(size, BYTES_OF_DOT)
    vectors, odd = divmod(width, machine.lanes(i32))
    if size == DYNAMIC_INDEX or rest or odd or not 1 <= vectors <= _MOST_VECTORS:
        return None
    column, term = Value(columns[0].variable), Value(found.terms[0].variable)
    wide = smart.const(width, column.dtype)
    trees = [view(index, found.nest.trees) for index in load.indices]
    four = smart.const(BYTES_OF_DOT, column.dtype)
    place = smart.mul(smart.floormod(column, wide), four)
    expected = [
        smart.floordiv(column, wide),
        smart.floordiv(term, smart.const(BYTES_OF_DOT, term.dtype)),
        smart.add(place, smart.floormod(term, smart.const(BYTES_OF_DOT, term.dtype))),
    ]
    return (load, width) if trees == expected else None


@dataclass(frozen=True)
class _DotPart(Part):
    """Some rows and terms, with what is taken away from sums of a panel."""

    excess: SSAValue | None = None


@dataclass(frozen=True)
class DotContraction(ContractionLoops):
    """Writes such a product. What is called terms elsewhere are quads of terms here."""

    @cached_property
    def dots(self) -> ByteDots:
        return ByteDots(self.code, self.machine, self.found.a, self.found.b)

    @cached_property
    def _single_terms(self) -> Expr:
        """How many terms there are."""
        return self.found.terms[0].extent

    @cached_property
    def terms(self) -> Expr:
        return self.count(self._single_terms, BYTES_OF_DOT)

    @cached_property
    def copies_rows(self) -> bool:
        return True

    @cached_property
    def has_terms_in_rows(self) -> bool:
        return True

    @cached_property
    def panels(self) -> tuple[tir.LoadOp, int] | None:
        return panels_of_quads(self.found, self.machine)

    @cached_property
    def elements_per_column(self) -> int:
        return BYTES_OF_DOT

    @cached_property
    def _has_whole_quads(self) -> bool:
        """Whether it is known that the last quad has four terms."""
        rest = smart.floormod(self._single_terms, self.number(BYTES_OF_DOT))
        return smart.literal(rest) == 0

    def _present(self, part: Part) -> Expr:
        """How many terms of a part there are."""
        size = _four(part.terms)
        if self._has_whole_quads:
            return size
        return smart.minimum(size, smart.sub(self._single_terms, _four(part.term)))

    # ---- copies of the operands ----

    def _alloc_rows(self, tiles: Expr) -> SSAValue:
        count, quads = self._shape_of_rows(tiles)
        size = BYTES_OF_DOT * quads if isinstance(quads, int) else _four(quads)
        return self.code.alloc("rows", [count, size], self.dots.type_of_a, "global")

    def _alloc_columns(self) -> SSAValue:
        shape = [self._terms_of_part, BYTES_OF_DOT * self.width]
        return self.code.alloc("columns", shape, self.dots.type_of_b, "global")

    def _alloc_panels(self) -> SSAValue:
        panels = smart.literal(self.count(self.columns, self.width))
        count = self.count(self.columns, self.width) if panels is None else int(panels)
        shape = [count, self._terms_of_part, BYTES_OF_DOT * self.width]
        return self.code.alloc("columns", shape, self.dots.type_of_b, "global")

    def _copy_rows(self, part: Part, tile: Expr) -> None:
        code, rows = self.code, part.rows
        assert rows is not None, "copied"
        first = self.first_row(smart.add(part.tile, tile))
        (axis,) = self.found.terms
        low, size = _four(part.term), _four(part.terms)
        # Whatever `b` has after the last term: its excess is taken away again.
        zero = self.dots.row_byte(smart.const(0, self.dots.type_of_a))

        def store(row: Expr, term: Expr, value: Expr) -> None:
            place = smart.mul(smart.sub(row, first), _four(self._stride_of_rows))
            code.store(
                smart.cast(self.dots.type_of_a, value), rows, tile, smart.add(place, term)
            )

        def copy(row: Expr) -> None:
            at = points(self.found.rows, self._split(row, self.found.rows))

            def lanes(term: Expr) -> None:
                here = points([axis], [smart.add(low, term)])
                value = self._value(self.dots.bytes_of_a.result, at, here)
                store(row, term, self.dots.row_byte(value))

            def write(start: Expr, length: int) -> None:
                write_lanes(code, start, length, lanes)

            length = self._present(part)
            code.steps(axis.name, length, BYTES_OF_DOT * self.lanes, write)
            if not self._has_whole_quads:
                with code.loop("rest", smart.sub(size, length), low=length) as term:
                    store(row, term, zero)

        def whole() -> None:
            with code.loop("row", self.number(self.height)) as row:
                copy(smart.add(first, row))

        height, fits = self.height, self.rows_fit(first)
        self._copy_padded(size, first, height, self.rows, fits, whole, copy, store)

    def _copy_columns(self, part: Part, panel: Expr) -> None:
        code = self.code
        first = smart.mul(panel, self.number(self.width))
        terms, name = self.found.terms, self.found.terms[0].name
        low, size = _four(part.term), _four(part.terms)
        present = self._present(part)
        zero = smart.const(0, self.dots.type_of_b)

        def value(column: Expr, term: Expr) -> Expr:
            at = points(self.found.columns, self._split(column, self.found.columns))
            here = points(terms, self._split(smart.add(low, term), terms))
            return smart.cast(
                self.dots.type_of_b, self._value(self.dots.bytes_of_b.result, at, here)
            )

        def store(column: Expr, term: Expr, value: Expr) -> None:
            four = self.number(BYTES_OF_DOT)
            place = smart.add(_four(smart.sub(column, first)), smart.floormod(term, four))
            quad = smart.floordiv(term, four)
            byte = smart.cast(self.dots.type_of_b, value)
            code.store(byte, *self._copied_column(part, panel, quad, place))

        def copy(column: Expr) -> None:
            with code.loop(name, present) as term:
                store(column, term, value(column, term))
            if not self._has_whole_quads:
                with code.loop("rest", smart.sub(size, present), low=present) as term:
                    store(column, term, zero)

        def whole() -> None:
            with code.block("quads"):
                shape = [BYTES_OF_DOT, self.width]
                each_quad(code.alloc("lines", shape, self.dots.type_of_b, "local"))

        def each_quad(lines: SSAValue) -> None:

            def read(number: int, term: Expr) -> None:
                """A line of the term, or of zeros after the last one."""

                def lanes(column: Expr) -> None:
                    byte = value(smart.add(first, column), term)
                    code.store(byte, lines, self.number(number), column)

                def zeros(column: Expr) -> None:
                    code.store(zero, lines, self.number(number), column)

                is_term = smart.lt(term, present)
                with code.when(is_term):
                    self._vectors_of_row(lanes)
                with code.otherwise(is_term):
                    self._vectors_of_row(zeros)

            def read_whole(number: int, term: Expr) -> None:
                self._vectors_of_row(
                    lambda column: code.store(
                        value(smart.add(first, column), term),
                        lines,
                        self.number(number),
                        column,
                    )
                )

            def write(quad: Expr) -> None:
                for number in range(self.vectors):
                    start = number * self.lanes
                    lanes = smart.ramp(self.number(start), self.lanes)
                    vectors = [
                        code.value(code.load(lines, self.number(k), lanes))
                        for k in range(BYTES_OF_DOT)
                    ]
                    mixed = self._interleaved(
                        [self._interleaved(vectors[k : k + 2], 1) for k in (0, 2)], 2
                    )
                    quads = self.number(BYTES_OF_DOT * start)
                    place = smart.ramp(quads, BYTES_OF_DOT * self.lanes)
                    target = self._copied_column(part, panel, quad, place)
                    code.store(Value(mixed), *target)

            whole_quads = smart.floordiv(present, self.number(BYTES_OF_DOT))
            with code.loop("quad", whole_quads) as quad:
                if len(terms) == 1:
                    self._fetch_quad(part, first, quad)
                for k in range(BYTES_OF_DOT):
                    read_whole(k, smart.add(_four(quad), self.number(k)))
                write(quad)
            if not self._has_whole_quads:
                left = smart.sub(part.terms, whole_quads)
                with code.loop("quad", left, low=whole_quads) as quad:
                    for k in range(BYTES_OF_DOT):
                        read(k, smart.add(_four(quad), self.number(k)))
                    write(quad)

        width, fits = self.width, self.fits(first, self.width, self.columns)
        self._copy_padded(size, first, width, self.columns, fits, whole, copy, store)

    def _fetch_quad(self, part: Part, first: Expr, quad: Expr) -> None:
        """Fetch the columns of a panel from `first` on, of some quads later: rows of a
        matrix are too far from each other for the processor to do that by itself."""
        number = self.number
        for k in range(BYTES_OF_DOT):
            term = smart.add(_four(quad), number(BYTES_OF_DOT * _QUADS_AHEAD + k))
            term = smart.add(_four(part.term), term)
            term = smart.minimum(term, smart.sub(self._single_terms, number(1)))
            for within in (0, self.width - 1):
                column = smart.add(first, number(within))
                self._fetch_byte(column, term, INTO_FIRST_CACHE)

    @cached_property
    def lines_of_panel(self) -> int:
        """Lines of memory of a quad: those of both ends of the columns of a term."""
        if self.panels is not None or self.shares_panels:
            return super().lines_of_panel
        return _ENDS * BYTES_OF_DOT

    @cached_property
    def _lines_of_columns(self) -> tir.LoadOp | None:
        found = self.found
        if self.shares_panels or len(found.columns) != 1 or len(found.terms) != 1:
            return None
        return self.dots.bytes_of_b

    def _fetch_columns(self, tile: Tile, first: Expr, fetched: Expr) -> None:
        number = self.number
        term = smart.add(
            _four(smart.add(tile.part.term, first)),
            smart.floordiv(fetched, number(_ENDS)),
        )
        term = smart.minimum(term, smart.sub(self._single_terms, number(1)))
        end = smart.mul(smart.floormod(fetched, number(_ENDS)), number(self.width - 1))
        column = smart.add(smart.add(tile.column, number(self.width)), end)
        column = smart.minimum(column, smart.sub(self.columns, number(1)))
        self._fetch_byte(column, term, INTO_SECOND_CACHE)

    def _fetch_byte(self, column: Expr, term: Expr, hints: Sequence[int]) -> None:
        """Fetch the line of an element of `b`."""
        found, load = self.found, self.dots.bytes_of_b
        split = self._split(column, found.columns)
        axes = points([*found.columns, *found.terms], [*split, term])
        at = {**self.point, **axes}
        trees = (view(index, found.nest.trees) for index in load.indices)
        places = [found.nest.tree_at(tree, at) for tree in trees]
        fetch(self.code, load.buffer, places, hints)

    def _with_columns(self, part: Part, panel: Expr) -> Part:
        part = super()._with_columns(part, panel)
        if not self.dots.flips:
            return part
        code = self.code
        excess = code.alloc("excess", [self.width], i32, "local")
        with_excess = _DotPart(
            part.tile,
            part.tiles,
            part.term,
            part.terms,
            part.rows,
            part.columns,
            excess,
        )
        zero = smart.const(0, i32)
        self._vectors_of_row(lambda column: code.store(zero, excess, column))
        flipped = self.dots.highest(BYTES_OF_DOT * self.lanes)
        with code.loop("k", part.terms) as quad:
            for number in range(self.vectors):
                at = smart.ramp(self.number(number * self.lanes), self.lanes)
                b = self._quads_of(part, panel, quad, self.number(number))
                total = self.dots.multiplied(code.load(excess, at), flipped, b)
                code.store(total, excess, at)
        return with_excess

    # ---- terms ----

    def _add_terms(self, tile: Tile, sums: SSAValue, first: Expr, length: Expr) -> None:
        part = tile.part
        if isinstance(part, _DotPart):
            excess, code = part.excess, self.code
            assert excess is not None, "computed with the panel"

            def subtract(r: Expr, c: Expr) -> None:
                value = Sub(code.load(sums, r, c), code.load(excess, c))
                code.store(value, sums, r, c)

            with code.when(smart.eq(first, self.number(0))):
                self._each_vector(subtract)
        super()._add_terms(tile, sums, first, length)

    def _copied(
        self, part: Part, tile: Expr, row: Expr, term: Expr
    ) -> tuple[SSAValue, *tuple[Expr, ...]]:
        """The copy of a quad of a row."""
        assert part.rows is not None, "copied"
        place = smart.add(smart.mul(row, self._stride_of_rows), term)
        return part.rows, tile, smart.ramp(_four(place), BYTES_OF_DOT)

    def _quads_of(self, part: Part, panel: Expr, quad: Expr, number: Expr) -> Expr:
        """The quads of the columns of a vector."""
        size = BYTES_OF_DOT * self.lanes
        place = smart.ramp(smart.mul(number, self.number(size)), size)
        if self.panels is None:
            return self.code.load(*self._copied_column(part, panel, quad, place))
        at = smart.add(part.term, quad)
        return self.code.load(self.panels[0].buffer, panel, at, place)

    def _add_term(
        self,
        tile: Tile,
        sums: SSAValue,
        term: Expr,
        value_of_row: Callable[[Expr], Expr],
    ) -> None:
        code, kind = self.code, tir.ForKind.UNROLLED
        height, vectors = self.number(self.height), self.number(self.vectors)
        with code.loop("r", height, kind, annotations=LEFT_TO_LLVM) as row:
            a = self.dots.in_all_lanes(value_of_row(row))
            with code.loop("u", vectors, kind, annotations=LEFT_TO_LLVM) as number:
                b = self._quads_of(tile.part, tile.panel, term, number)
                place = smart.mul(number, self.number(self.lanes))
                at = smart.ramp(place, self.lanes)
                before = code.load(sums, row, at)
                code.store(self.dots.multiplied(before, a, b), sums, row, at)

    def _interleaved(self, vectors: Sequence[SSAValue], size: int) -> SSAValue:
        """Two vectors, `size` elements of each in turns."""
        lanes = tir.lanes_of(vectors[0].type)
        order = [
            vector * lanes + start + k
            for start in range(0, lanes, size)
            for vector in range(2)
            for k in range(size)
        ]
        return self.code.value(self.code.shuffled(vectors, order))


def _four(value: Expr) -> Expr:
    return smart.mul(value, smart.const(BYTES_OF_DOT, value.dtype))

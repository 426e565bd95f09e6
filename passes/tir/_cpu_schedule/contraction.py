"""The default schedule of contractions: sums of products of two operands.

What they are is in `_schedule/contraction.py`. Rows, columns and terms are each taken as
one axis, which makes a convolution the product of its weights and of the matrix of its
windows.

All of `a`, and of `b` a panel of columns at a time, are copied into the order in which
they will be read; `a` is not where there are few panels, as for the weights of a
convolution of small images, whose terms are neighbours already. Then a tile of `C` at a
time stays in vector registers while its terms are added, in the order of the program:
each term costs a vector load for each vector of columns, and a broadcast and fused
multiply-adds for each row. Tiles at an edge are computed whole, on zeros, and stored in
part.

A map after the contraction that works on the results where they are, such as a bias and
an activation, is done on each tile when its last terms have been added.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from math import gcd, prod
from typing import Any

from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, SSAValue

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Const, Expr, Value, view
from xdsl_tvm.analysis.arith.linear_equation import mentions
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.tir._cpu_schedule.elementwise import write_lanes
from xdsl_tvm.passes.tir._cpu_schedule.options import (
    LEFT_TO_LLVM,
    MANY_REGISTERS,
    Machine,
    are_many,
    kind_of,
)
from xdsl_tvm.passes.tir._loops.loop_nest import Access, Axis, Nest, Point
from xdsl_tvm.passes.tir._schedule.axes import (
    fused_loop,
    loops_over,
    points,
    product_of,
    split_index,
)
from xdsl_tvm.passes.tir._schedule.contraction import (
    Contraction,
    match_contraction,
    ops_behind,
)
from xdsl_tvm.passes.tir._schedule.reduction import Reduction
from xdsl_tvm.passes.tir.rewriting.loop_code import LoopCode

_TILE_ROWS = 8
_LOW_TILE_ROWS = 6
_TILE_VECTORS = 2
_TERMS = 512
"""Terms that are added to a tile before the next tile has its turn."""
_FEW_PANELS = 8
"""So few times, `a` is read where it is: a copy would cost more than it gains."""
_LEAST_ROWS = 4
_LEAST_TERMS = 8


def match_large_contraction(found: Reduction, machine: Machine) -> Contraction | None:
    """A reduction as a contraction that is worth copying its operands for."""
    if machine.lanes(found.dtype) == 1 or tir.bits_of_lane(found.dtype) < 32:
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
class _Product:
    """Writes the product of one batch."""

    code: LoopCode
    found: Contraction
    machine: Machine
    point: Point
    kind: tir.ForKind

    # ---- sizes ----

    @cached_property
    def dtype(self) -> Attribute:
        return self.found.reduction.dtype

    @cached_property
    def lanes(self) -> int:
        return self.machine.lanes(self.dtype)

    @cached_property
    def height(self) -> int:
        """Rows of a tile: as many as leave registers for the operands."""
        has_many = self.machine.vector_bytes >= MANY_REGISTERS
        return _TILE_ROWS if has_many else _LOW_TILE_ROWS

    @cached_property
    def width(self) -> int:
        """Columns of a tile."""
        return _TILE_VECTORS * self.lanes

    @cached_property
    def index(self) -> Attribute:
        return self.rows.dtype

    @cached_property
    def rows(self) -> Expr:
        return product_of([axis.extent for axis in self.found.rows])

    @cached_property
    def columns(self) -> Expr:
        return product_of([axis.extent for axis in self.found.columns])

    @cached_property
    def terms(self) -> Expr:
        return product_of([axis.extent for axis in self.found.terms])

    def number(self, value: int) -> Expr:
        return smart.const(value, self.index)

    def count(self, extent: Expr, step: int) -> Expr:
        """How many steps cover an extent."""
        return smart.floordiv(smart.add(extent, self.number(step - 1)), self.number(step))

    # ---- the whole ----

    def write(self) -> None:
        """The product of all rows and columns."""
        code = self.code
        tiles = self.count(self.rows, self.height)
        with code.block("contraction"):
            rows = None
            if self.copies_rows:
                shape = [_extent(tiles), _extent(self.terms), self.height]
                rows = code.alloc("rows", shape, self.dtype, "global")
                with code.loop("tile", tiles, self.kind) as tile:
                    self._copy_rows(rows, tile)
            panels = self.count(self.columns, self.width)
            with code.loop("panel", panels, self.kind) as panel, code.block("panel"):
                shape = [_extent(self.terms), self.width]
                columns = code.alloc("columns", shape, self.dtype, "global")
                self._copy_columns(columns, panel)
                self._write_panel(rows, columns, tiles, panel)

    def _write_panel(
        self, rows: SSAValue | None, columns: SSAValue, tiles: Expr, panel: Expr
    ) -> None:
        code = self.code
        size = smart.literal(self.terms)
        if size is not None and size <= _TERMS * 3 // 2:
            with code.loop("tile", tiles) as tile:
                self._write_tile(rows, columns, tile, panel, self.number(0), self.steps)
            return
        at_once = max(_TERMS // self.terms_of_step, 1)
        step = self.number(at_once)
        with code.loop("k.o", self.count(self.steps, at_once)) as number:
            first = smart.mul(number, step)
            rest = smart.sub(self.steps, first)
            length = step
            if smart.literal(smart.floormod(self.steps, step)) != 0:
                length = smart.minimum(step, rest)
            with code.loop("tile", tiles) as tile:
                self._write_tile(rows, columns, tile, panel, first, length)

    @cached_property
    def copies_rows(self) -> bool:
        """Whether `a` is copied; if not, steps are those of the outermost term axis."""
        panels = smart.literal(self.count(self.columns, self.width))
        if panels is None or panels > _FEW_PANELS:
            return True
        load = self.found.a.owner
        nest = self.found.nest
        ours = [access for access in nest.accesses if access.op is load]
        wide = [axis for axis in self.found.terms if axis.size != 1]
        if not ours or not wide or not _are_neighbours(ours[0], wide[-1]):
            return True
        sizes = [axis.size for axis in self.found.terms[1:]]
        if None in sizes or prod(size or 1 for size in sizes) > _TERMS:
            return True
        return len([axis for axis in self.found.rows if axis.size != 1]) > 1

    @cached_property
    def terms_of_step(self) -> int:
        """How many terms are added in a step."""
        if self.copies_rows:
            return 1
        return prod(axis.size or 1 for axis in self.found.terms[1:])

    @cached_property
    def steps(self) -> Expr:
        """How many steps there are."""
        return self.terms if self.copies_rows else self.found.terms[0].extent

    # ---- copies of the operands ----

    def _copy_rows(self, rows: SSAValue, tile: Expr) -> None:
        """The rows of a tile: term by term, all rows of it."""
        first = smart.mul(tile, self.number(self.height))

        def store(row: Expr, term: Expr, value: Expr) -> None:
            self.code.store(value, rows, tile, term, smart.sub(row, first))

        def copy(row: Expr) -> None:
            at = points(self.found.rows, self._split(row, self.found.rows))
            with self._each_term() as (term, terms):
                store(row, term, self._value(self.found.a, at, terms))

        def whole() -> None:
            with self.code.loop("row", self.number(self.height)) as row:
                copy(smart.add(first, row))

        self._copy_padded(first, self.height, self.rows, whole, copy, store)

    def _copy_columns(self, columns: SSAValue, panel: Expr) -> None:
        """The columns of a panel: term by term, all columns of it."""
        first = smart.mul(panel, self.number(self.width))
        run = self._run_of_columns()

        def store(column: Expr, term: Expr, value: Expr) -> None:
            self.code.store(value, columns, term, smart.sub(column, first))

        def at(column: Expr) -> Point:
            return points(self.found.columns, self._split(column, self.found.columns))

        def copy(column: Expr) -> None:
            with self._each_term() as (term, terms):
                store(column, term, self._value(self.found.b, at(column), terms))

        def whole() -> None:
            if run == 1:
                with self.code.loop("column", self.number(self.width)) as column:
                    copy(smart.add(first, column))
                return
            with self._each_term() as (term, terms):

                def lanes(column: Expr) -> None:
                    store(column, term, self._value(self.found.b, at(column), terms))

                def write(start: Expr, length: int) -> None:
                    write_lanes(self.code, start, length, lanes)

                width = self.number(self.width)
                self.code.steps("column", width, run, write, low=first)

        self._copy_padded(first, self.width, self.columns, whole, copy, store)

    def _copy_padded(
        self,
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
        with code.otherwise(fits):
            left = smart.sub(extent, first)
            with code.loop("line", left) as line:
                copy(smart.add(first, line))
            padding = smart.sub(self.number(size), left)
            with (
                code.loop("line", padding, low=extent) as line,
                code.loop("term", self.terms) as term,
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
        needed = ops_behind(self.found.nest, self.found.b)
        steps = [a.step(last) for a in self.found.nest.accesses if a.op in needed]
        if not all(step in (0, 1) for step in steps) or 1 not in steps:
            return 1
        lazy = any(isinstance(op, tir.IfThenElseOp) for op in needed)
        if lazy:
            return 1
        return gcd(self.width, last.size or 1) if others else self.width

    def _split(self, flat: Expr, axes: Sequence[Axis]) -> list[Expr]:
        return split_index(flat, [axis.extent for axis in axes])

    def _value(self, value: SSAValue, lines: Point, terms: Point) -> Expr:
        nest = self.found.nest
        return nest.value_at(self.code, value, {**self.point, **lines, **terms})

    @contextmanager
    def _each_term(
        self, first: Expr | None = None, length: Expr | None = None
    ) -> Generator[tuple[Expr, Point]]:
        """Loops over the term axes: the number of the term, and the point.

        With `first` and `length`, over this part of the outermost axis.
        """
        outer, *inner = self.found.terms
        with (
            self.code.loop(outer.name, length or outer.extent) as start,
            loops_over(self.code, inner) as rest,
        ):
            flat = start if first is None else smart.add(first, start)
            point = {outer.variable: flat, **rest}
            if inner:
                flat = smart.cast(self.terms.dtype, flat)
            for axis in inner:
                flat = smart.add(smart.mul(flat, axis.extent), point[axis.variable])
            yield flat, point

    # ---- tiles ----

    def _write_tile(
        self,
        rows: SSAValue | None,
        columns: SSAValue,
        tile: Expr,
        panel: Expr,
        first: Expr,
        length: Expr,
    ) -> None:
        """Add the terms of `length` steps from `first` on to a tile of the result."""
        code = self.code
        row = smart.mul(tile, self.number(self.height))
        column = smart.mul(panel, self.number(self.width))
        with code.block("tile"):
            shape = [self.height, self.width]
            sums = code.alloc("sums", shape, self.dtype, "local")
            whole = smart.conjunction(
                self._fits(row, self.height, self.rows),
                self._fits(column, self.width, self.columns),
            )
            edge = None
            if smart.literal(whole) != 1:
                edge = code.alloc("edge", shape, self.dtype, "local")
            self._begin(sums, edge, whole, row, column, first)
            if rows is None:
                with self._each_term(first, length) as (term, at):
                    self._add_term(columns, sums, term, self._row_in_place(tile, at))
            else:
                with code.loop("k", length) as k:
                    term = smart.add(first, k)
                    copied = self._copied_row(rows, tile, term)
                    self._add_term(columns, sums, term, copied)
            self._end(sums, edge, whole, row, column)
            if self.found.behind is not None:
                with code.when(smart.eq(smart.add(first, length), self.steps)):
                    self._finish(self.found.behind, whole, row, column)

    def _begin(
        self,
        sums: SSAValue,
        edge: SSAValue | None,
        whole: Expr,
        row: Expr,
        column: Expr,
        first: Expr,
    ) -> None:
        """What the sums are before the first of the terms."""
        code = self.code
        initial = self.found.reduction.init
        is_first: Expr = smart.const(0, i1)
        if initial is not None:
            is_first = smart.eq(first, self.number(0))
            with code.when(is_first):
                zero = view(initial)
                self._each_vector(lambda r, c: code.store(zero, sums, r, c))
        if smart.literal(is_first) == 1:
            return
        with code.otherwise(is_first):
            with code.when(whole):
                self._each_vector(
                    lambda r, c: code.store(
                        code.load(*self._result(row, column, r, c)), sums, r, c
                    )
                )
            if edge is not None:
                with code.otherwise(whole):
                    nothing = smart.const(0, self.dtype)
                    self._each_vector(lambda r, c: code.store(nothing, edge, r, c))
                    self._each_stored(
                        row,
                        column,
                        lambda r, c: code.store(
                            code.load(*self._result(row, column, r, c)), edge, r, c
                        ),
                    )
                    self._each_vector(
                        lambda r, c: code.store(code.load(edge, r, c), sums, r, c)
                    )

    def _copied_row(
        self, rows: SSAValue, tile: Expr, term: Expr
    ) -> Callable[[Expr], Expr]:
        return lambda row: self.code.load(rows, tile, term, row)

    def _row_in_place(self, tile: Expr, terms: Point) -> Callable[[Expr], Expr]:
        """The elements of `a`; rows after the last one are the last."""
        first = smart.mul(tile, self.number(self.height))
        is_whole = smart.literal(self._fits(first, self.height, self.rows)) == 1

        def value(row: Expr) -> Expr:
            flat = smart.add(first, row)
            if not is_whole:
                flat = smart.minimum(flat, smart.sub(self.rows, self.number(1)))
            at = points(self.found.rows, self._split(flat, self.found.rows))
            return self._value(self.found.a, at, terms)

        return value

    def _add_term(
        self,
        columns: SSAValue,
        sums: SSAValue,
        term: Expr,
        value_of_row: Callable[[Expr], Expr],
    ) -> None:
        code = self.code

        def add(row: Expr) -> None:
            a = value_of_row(row)

            def add_vector(column: Expr) -> None:
                b = code.load(columns, term, column)
                before = code.load(sums, row, column)
                code.store(self.machine.multiply_add(a, b, before), sums, row, column)

            self._vectors_of_row(add_vector)

        height, kind = self.number(self.height), tir.ForKind.UNROLLED
        with code.loop("r", height, kind, annotations=LEFT_TO_LLVM) as row:
            add(row)

    def _end(
        self,
        sums: SSAValue,
        edge: SSAValue | None,
        whole: Expr,
        row: Expr,
        column: Expr,
    ) -> None:
        """Store the sums."""
        code = self.code
        with code.when(whole):
            self._each_vector(
                lambda r, c: code.store(
                    code.load(sums, r, c), *self._result(row, column, r, c)
                )
            )
        if edge is not None:
            with code.otherwise(whole):
                self._each_vector(
                    lambda r, c: code.store(code.load(sums, r, c), edge, r, c)
                )
                self._each_stored(
                    row,
                    column,
                    lambda r, c: code.store(
                        code.load(edge, r, c), *self._result(row, column, r, c)
                    ),
                )

    def _finish(self, behind: Nest, whole: Expr, row: Expr, column: Expr) -> None:
        """What is done on the results of a tile."""
        code = self.code

        def write(r: Expr, c: Expr) -> None:
            _, *indices = self._result(row, column, r, c)
            place = zip(behind.axes, indices, strict=True)
            behind.write_instance(code, {axis.variable: i for axis, i in place})

        with code.when(whole):
            self._each_vector(write)
        if smart.literal(whole) != 1:
            with code.otherwise(whole):
                self._each_stored(row, column, write)

    def _result(self, row: Expr, column: Expr, r: Expr, c: Expr) -> list[Any]:
        """The buffer and the indices of an element of the result."""
        found = self.found
        rows = points(found.rows, self._split(smart.add(row, r), found.rows))
        flat = smart.add(column, c)
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
        count, kind = self.number(_TILE_VECTORS), tir.ForKind.UNROLLED
        with (
            self.code.loop("u", count, kind, annotations=LEFT_TO_LLVM) as number,
            self.code.loop("v", lanes, tir.ForKind.VECTORIZED) as lane,
        ):
            write(smart.add(smart.mul(number, lanes), lane))

    def _each_stored(
        self, row: Expr, column: Expr, write: Callable[[Expr, Expr], None]
    ) -> None:
        """The elements of a tile that the result has, one by one."""
        left = smart.sub(self.rows, row)
        height = smart.minimum(self.number(self.height), left)
        width = smart.minimum(self.number(self.width), smart.sub(self.columns, column))
        with self.code.loop("r", height) as r, self.code.loop("c", width) as c:
            write(r, c)


def _are_neighbours(access: Access, axis: Axis) -> bool:
    """Whether what is accessed is next to each other along an axis."""
    shape = tir.buffer_definition(access.buffer).shape
    wide = [i for i, dim in zip(access.indices, shape, strict=True) if dim != 1]
    variable = Value(axis.variable)
    return wide[-1:] == [variable] and not any(mentions(i, variable) for i in wide[:-1])


def _extent(tree: Expr) -> int | Expr:
    number = smart.literal(tree)
    return tree if number is None else int(number)

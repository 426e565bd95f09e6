"""The default schedule of products of a few rows and a matrix, such as matrix by vector.

Each element of the matrix counts for a few results only, so that such a product takes as
long as the matrix takes to be read. It is read once, where it is and in the order in
which it is, for all rows; a copy of it would cost more than the product.

Where the columns are next to each other, stretches of the results are in the cache, and
several terms are added to them at a time. For several threads the terms are divided into
parts, as many for any number of threads, whose sums are added at the end; where that is
not possible, threads share the columns and terms are added in the order of the program.
Where the terms are next to each other, the results of
all rows and of several columns are gathered at once, each in the lanes of a vector, which
are combined at the end as those of other reductions are.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Attribute, SSAValue

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Add, Const, Expr, Value, view
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.tir._cpu_schedule.elementwise import lanes_of_nest, write_lanes
from xdsl_tvm.passes.tir._cpu_schedule.fetching import INTO_FIRST_CACHE, fetch
from xdsl_tvm.passes.tir._cpu_schedule.options import (
    LEFT_TO_LLVM,
    MANY_REGISTERS,
    Machine,
    are_many,
    kind_of,
)
from xdsl_tvm.passes.tir._cpu_schedule.reduction import (
    combine_lanes,
    combine_rest,
    is_gathered,
    write_stretches,
)
from xdsl_tvm.passes.tir._loops.loop_nest import Axis, Nest, Point
from xdsl_tvm.passes.tir._schedule.axes import (
    fused_loop,
    is_not_empty,
    loops_over,
    points,
    split_index,
)
from xdsl_tvm.passes.tir._schedule.contraction import moving, ops_behind
from xdsl_tvm.passes.tir._schedule.maps import is_lazy
from xdsl_tvm.passes.tir._schedule.reduction import Reduction, has_rows
from xdsl_tvm.passes.tir.rewriting.loop_code import LoopCode

_MOST_ROWS = 8
_MOST_PARTS = 8
_LEAST_PARTS = 4
"""Parts of the terms, for several threads."""
_MOST_SUMS = 16
"""Rows and parts whose sums are kept: more cost as much as the matrix."""
_STEPS_OF_PART = 4
"""So many times several terms, at least, are a part."""
_STRETCH_BYTES = 16384
"""Results of a row that stay in the cache, beside those of the other rows."""
_TERMS_AT_ONCE = 8
"""Terms that are added to a stretch at once."""
LEAST_FETCHED = 1 << 20
"""Bytes of a matrix that is fetched before it is used."""
_BYTES_AHEAD = 2048
"""Bytes of a row between what is added and what is fetched."""
_MOST_COLUMNS = 4
"""Columns whose terms are gathered at once."""
_MANY_SUMS = 24
_FEW_SUMS = 8
"""Vectors of partial sums, of 32 and of 16 registers."""


@dataclass(frozen=True)
class FewRows:
    """`C[batch, row, column] += a(batch, row, term) * b(batch, column, term)`."""

    reduction: Reduction
    a: SSAValue
    b: SSAValue
    batch: tuple[Axis, ...]
    """All other axes along which results differ, those of one element among them."""
    rows: tuple[Axis, ...]
    column: Axis
    is_along_columns: bool
    """Whether columns of `b` are next to each other, or else its terms."""

    @property
    def nest(self) -> Nest:
        return self.reduction.nest

    @property
    def is_batched(self) -> bool:
        """Whether there are several such products."""
        return any(axis.size != 1 for axis in self.batch)

    @cached_property
    def height(self) -> int:
        """How many rows there are."""
        return _known_product(self.rows) or 1

    def row_at(self, row: Expr, point: Point) -> Point:
        """A point on the axes of the rows, and on those of another point."""
        if not self.rows:
            return point
        values = split_index(row, [axis.extent for axis in self.rows])
        return {**point, **points(self.rows, values)}


def match_few_rows(found: Reduction, point: Point, machine: Machine) -> FewRows | None:
    """A reduction, over the axes that `point` leaves open, as such a product."""
    product = found.term.owner
    if found.combiner is not Add or not isinstance(product, tir.MulOp):
        return None
    if lanes_of_nest(found.nest, machine) == 1 or tir.bits_of_lane(found.dtype) < 32:
        return None
    if is_lazy(found.nest):
        return None
    spatial = [axis for axis in found.nest.spatial if axis.variable not in point]
    a, b = product.operands
    return _split(found, a, b, spatial, machine) or _split(found, b, a, spatial, machine)


def _split(
    found: Reduction,
    a: SSAValue,
    b: SSAValue,
    spatial: Sequence[Axis],
    machine: Machine,
) -> FewRows | None:
    """The product with `b` as the matrix, if it can be that."""
    nest = found.nest
    by_a, by_b = moving(nest, a), moving(nest, b)
    wide = [axis for axis in spatial if axis.size != 1]
    rows = tuple(axis for axis in wide if axis in by_a and axis not in by_b)
    columns = [axis for axis in wide if axis in by_b and axis not in by_a]
    height = _known_product(rows)
    if len(columns) != 1 or height is None or height > _MOST_ROWS:
        return None
    (column,) = columns
    least = max(lanes_of_nest(nest, machine), height)
    if column.size is not None and column.size < least:
        return None
    if not _is_matrix(nest, b, column):
        return None
    is_along_columns = has_rows(found, column)
    # One row with its terms next to each other is a reduction like any other.
    if not is_along_columns and not (rows and is_gathered(found, machine)):
        return None
    batch = tuple(axis for axis in spatial if axis not in rows and axis is not column)
    return FewRows(found, a, b, batch, rows, column, is_along_columns)


def _known_product(axes: Sequence[Axis]) -> int | None:
    sizes = [axis.size for axis in axes]
    return None if None in sizes else prod(size or 1 for size in sizes)


def _is_matrix(nest: Nest, b: SSAValue, column: Axis) -> bool:
    """Whether each element that `b` is made of counts for one column and one term."""
    behind = ops_behind(nest, b)
    loads = [access for access in nest.accesses if access.op in behind]
    variables = {Value(axis.variable) for axis in nest.axes}
    if not all(
        isinstance(index, Const) or index in variables
        for access in loads
        for index in access.indices
    ):
        return False
    needed = {Value(axis.variable) for axis in nest.carried if axis.size != 1}
    needed.add(Value(column.variable))
    return any(needed <= set(access.indices) for access in loads)


def schedule_few_rows(
    code: LoopCode, found: FewRows, point: Point, machine: Machine, *, parallel: bool
) -> None:
    """Write such a product over the axes that `point` leaves open."""
    with each_batch(code, found, point, parallel=parallel) as (here, inner):
        _Product(code, found, machine, here, parallel=inner).write()


@contextmanager
def each_batch(
    code: LoopCode, found: FewRows, point: Point, *, parallel: bool
) -> Generator[tuple[Point, bool]]:
    """A loop over the products, if each has terms: the point of one, and whether it may
    be computed by several threads itself."""
    many = are_many(found.batch)
    with (
        fused_loop(code, found.batch, kind_of(parallel and many)) as batch_point,
        code.when(is_not_empty(found.nest.carried)),
    ):
        yield {**point, **batch_point}, parallel and not many


@dataclass(frozen=True)
class _Part:
    """Some of the terms, whose sums have a place of their own."""

    sums: SSAValue
    width: int | Expr
    """Elements from a row of the sums to the next one."""
    number: Expr
    first: Expr
    length: Expr


@dataclass(frozen=True)
class _Product:
    """Writes the product of one batch."""

    code: LoopCode
    found: FewRows
    machine: Machine
    point: Point
    parallel: bool
    part: _Part | None = None
    """What is written, instead of the product."""

    @cached_property
    def dtype(self) -> Attribute:
        return self.found.reduction.dtype

    @cached_property
    def lanes(self) -> int:
        return lanes_of_nest(self.found.nest, self.machine)

    @property
    def column(self) -> Axis:
        return self.found.column

    @cached_property
    def has_many_registers(self) -> bool:
        return self.machine.vector_bytes >= MANY_REGISTERS

    def number(self, value: int) -> Expr:
        return smart.const(value, self.column.extent.dtype)

    def write(self) -> None:
        """All rows and columns."""
        parts = self._number_of_parts()
        if not self.found.is_along_columns:
            self._gather_columns()
        elif parts > 1:
            self._write_parts(parts)
        else:
            self._write_stretches(self._write_stretch, parallel=self.parallel)

    def _write_stretches(
        self, write: Callable[[Expr | None, Expr, int], None], *, parallel: bool
    ) -> None:
        most = max(_STRETCH_BYTES // tir.bytes_of_lane(self.dtype), self.lanes)
        write_stretches(
            self.code, self.column, most, self.lanes, write, parallel=parallel
        )

    # ---- elements ----

    def _at(self, here: Point, column: Expr) -> Point:
        return {**here, self.column.variable: column}

    def _value(self, value: SSAValue, at: Point) -> Expr:
        return self.found.nest.value_at(self.code, value, at)

    def _places(self, at: Point) -> list[Expr]:
        result = self.found.reduction.result
        return [self.found.nest.tree_at(index, at) for index in result.indices]

    def _load_result(self, at: Point, row: Expr, column: Expr) -> Expr:
        if self.part is not None:
            return self.code.load(*self._place_of_sum(self.part, row, column))
        return self.code.load(self.found.reduction.result.buffer, *self._places(at))

    def _store_result(self, value: Expr, at: Point, row: Expr, column: Expr) -> None:
        if self.part is not None:
            self.code.store(value, *self._place_of_sum(self.part, row, column))
            return
        buffer = self.found.reduction.result.buffer
        self.code.store(value, buffer, *self._places(at))

    def _place_of_sum(
        self, part: _Part, row: Expr, column: Expr
    ) -> tuple[SSAValue, Expr, Expr]:
        # One index: what is between rows is no part of a region.
        return part.sums, part.number, smart.add(smart.mul(row, part.width), column)

    def _each_lane(
        self,
        low: Expr | None,
        length: Expr,
        width: int,
        write: Callable[[Expr, Expr], None],
    ) -> None:
        """For all rows and `length` columns from `low` on, in vectors of `width`."""

        def step(start: Expr, lanes: int) -> None:
            write_lanes(self.code, start, lanes, lambda column: write(row, column))

        with self.code.loop("row", self.number(self.found.height)) as row:
            self.code.steps(self.column.name, length, width, step, low=low)

    # ---- parts of the terms, for several threads ----

    def _number_of_parts(self) -> int:
        """Into how many parts the terms are divided, whose sums are added at the end.

        So each thread reads rows that follow each other, from their beginning to their
        end, which memory is fastest at.
        """
        if not self.parallel or len(self.found.nest.carried) != 1:
            return 1
        wraps = tir.is_uint(self.dtype)
        if not wraps and not (tir.is_float(self.dtype) and self.machine.reassociate):
            return 1
        (term,) = self.found.nest.carried
        few = _MOST_PARTS * self.found.height <= _MOST_SUMS
        parts = _MOST_PARTS if few else _LEAST_PARTS
        while parts >= _LEAST_PARTS:
            least = parts * _TERMS_AT_ONCE * _STEPS_OF_PART
            if term.size and term.size >= least and term.size % parts == 0:
                return parts
            parts //= 2
        return 1

    def _write_parts(self, parts: int) -> None:
        code, found = self.code, self.found
        (term,) = found.nest.carried
        assert term.size is not None
        extent = self.column.extent
        length = smart.const(term.size // parts, term.extent.dtype)
        with code.block("parts"):
            # Rows of a power of two would all be in the same places of the cache.
            size = self.column.size
            width = (
                smart.add(extent, self.number(self.lanes))
                if size is None
                else size + self.lanes
            )
            shape = [
                parts,
                smart.mul(self.found.height, width)
                if isinstance(width, Expr)
                else self.found.height * width,
            ]
            sums = code.alloc("sums", shape, self.dtype, "global")
            count = self.number(parts)
            with code.loop("part", count, tir.ForKind.PARALLEL) as part:
                first = smart.mul(smart.cast(length.dtype, part), length)
                one = replace(self, part=_Part(sums, width, part, first, length))
                one._write_stretches(one._write_stretch, parallel=False)

            def add_up(low: Expr | None, stretch: Expr, lanes: int) -> None:
                def each(row: Expr, column: Expr) -> None:
                    at = self._at(self.found.row_at(row, self.point), column)
                    init = found.reduction.init
                    total = (
                        self._load_result(at, row, column)
                        if init is None
                        else self._value(init, at)
                    )
                    for number in range(parts):
                        place = smart.add(smart.mul(row, width), column)
                        value = code.load(sums, self.number(number), place)
                        total = smart.add(total, value)
                    self._store_result(total, at, row, column)

                self._each_lane(low, stretch, lanes, each)

            self._write_stretches(add_up, parallel=self.found.height > 1)

    # ---- stretches of columns in the cache ----

    def _write_stretch(self, low: Expr | None, length: Expr, width: int) -> None:
        """All rows of `length` columns from `low` on, several terms at a time."""
        code, found = self.code, self.found

        def begin(row: Expr, column: Expr) -> None:
            at = self._at(self.found.row_at(row, self.point), column)
            if self.part is None:
                found.nest.write_init(code, at)
            else:
                zero = smart.const(0, self.dtype)
                self._store_result(zero, at, row, column)

        if self.part is not None or found.reduction.init is not None:
            self._each_lane(low, length, width, begin)
        *outer, last = found.nest.carried
        first, count = None, last.extent
        if self.part is not None:
            first, count = self.part.first, self.part.length

        with loops_over(code, outer) as outer_terms:

            def add(first: Expr, count: int) -> None:
                def terms_from(first: Expr) -> list[Point]:
                    return [
                        {
                            **outer_terms,
                            last.variable: smart.add(first, smart.const(k, first.dtype)),
                        }
                        for k in range(count)
                    ]

                terms = terms_from(first)

                def step(start: Expr, lanes: int) -> None:
                    if lanes > 1 and self._is_large:
                        end = length if low is None else smart.add(low, length)
                        is_over = smart.ge(smart.add(start, self._ahead), end)
                        then = self._following(last, first, count, is_over)
                        column = self._column_ahead(start, length, is_over)
                        self._fetch(column, terms_from(then))
                    write_lanes(
                        code, start, lanes, lambda column: self._add_terms(column, terms)
                    )

                code.steps(self.column.name, length, width, step, low=low)

            code.steps(last.name, count, _TERMS_AT_ONCE, add, low=first)

    @cached_property
    def _is_large(self) -> bool:
        """Whether the matrix is so large that it is fetched before it is used."""
        load = self.found.b.owner
        if not isinstance(load, tir.LoadOp):
            return False
        type_ = tir.buffer_definition(load.buffer).type
        shape, size = type_.get_shape(), tir.bytes_of_lane(type_.element_type)
        return DYNAMIC_INDEX in shape or prod(shape) * size >= LEAST_FETCHED

    @cached_property
    def _ahead(self) -> Expr:
        """Columns between what is added and what is fetched."""
        columns = _BYTES_AHEAD // tir.bytes_of_lane(self.dtype)
        return self.number(min(columns, self.column.size or columns))

    def _column_ahead(self, column: Expr, length: Expr, is_over: Expr) -> Expr:
        """The column that is fetched at a column of a stretch."""
        back = smart.select(is_over, length, self.number(0))
        ahead = smart.sub(smart.add(column, self._ahead), back)
        # Short stretches have fewer columns.
        return smart.minimum(ahead, smart.sub(self.column.extent, self.number(1)))

    def _following(self, last: Axis, first: Expr, count: int, is_over: Expr) -> Expr:
        """The first of `count` terms, or of those after them at the end of a stretch."""
        number = smart.const(count, first.dtype)
        most = smart.sub(last.extent, number)
        then = smart.minimum(smart.add(first, number), most)
        return Value(self.code.value(smart.select(is_over, then, first)))

    def _fetch(self, column: Expr, terms: Sequence[Point]) -> None:
        """Fetch what some terms need of a column."""
        nest, load = self.found.nest, self.found.b.owner
        assert isinstance(load, tir.LoadOp), "large"
        here = self._at(self.point, Value(self.code.value(column)))
        for each in terms:
            at = {**here, **each}
            places = [nest.tree_at(view(i, nest.trees), at) for i in load.indices]
            fetch(self.code, load.buffer, places, INTO_FIRST_CACHE)

    def _add_terms(self, column: Expr, terms: Sequence[Point]) -> None:
        """Add some terms to all rows of a column, each element of `b` read once."""
        found = self.found
        values = [
            self._value(found.b, {**self._at(self.point, column), **each})
            for each in terms
        ]
        # Written one by one: with a loop over them, the lanes are not independent.
        for number in range(self.found.height):
            row = self.number(number)
            here = self.found.row_at(row, self.point)
            at = self._at(here, column)
            total = self._load_result(at, row, column)
            for each, b in zip(terms, values, strict=True):
                a = self._value(found.a, {**here, **each})
                total = self.machine.multiply_add(a, b, total)
            self._store_result(total, at, row, column)

    # ---- columns whose terms are gathered ----

    def _gather_columns(self) -> None:
        """Several columns at a time, with all rows."""
        sums = _MANY_SUMS if self.has_many_registers else _FEW_SUMS
        count = min(max(sums // self.found.height, 1), _MOST_COLUMNS)
        self.code.steps(
            self.column.name,
            self.column.extent,
            count,
            self._gather,
            kind_of(self.parallel),
        )

    def _gather(self, first: Expr, count: int) -> None:
        """The results of `count` columns from `first` on."""
        code, found = self.code, self.found
        *outer, last = found.nest.carried
        dtype = last.extent.dtype
        lanes = smart.const(self.lanes, dtype)
        whole = smart.floordiv(last.extent, lanes)

        def each(
            write: Callable[[Expr, Expr, Point], None],
            kind: tir.ForKind = tir.ForKind.UNROLLED,
        ) -> None:
            """For all results, their numbers and their point."""
            hints = LEFT_TO_LLVM if kind is tir.ForKind.UNROLLED else None
            with (
                code.loop(
                    "row", self.number(self.found.height), kind, annotations=hints
                ) as row,
                code.loop(
                    "column", self.number(count), kind, annotations=hints
                ) as column,
            ):
                write(
                    row,
                    column,
                    self._at(
                        self.found.row_at(row, self.point), smart.add(first, column)
                    ),
                )

        def vector() -> AbstractContextManager[Expr]:
            return code.loop("v", lanes, tir.ForKind.VECTORIZED)

        with code.block("gathered"):
            shape = [self.found.height, count, self.lanes]
            partial = code.alloc("partial", shape, self.dtype, "local")
            gathered = code.alloc("gathered", shape, self.dtype, "local")

            def begin(row: Expr, column: Expr, at: Point) -> None:
                with vector() as lane:
                    code.store(smart.const(0, self.dtype), partial, row, column, lane)

            def keep(row: Expr, column: Expr, at: Point) -> None:
                with vector() as lane:
                    value = code.load(partial, row, column, lane)
                    code.store(value, gathered, row, column, lane)

            def finish(row: Expr, column: Expr, at: Point) -> None:
                found.nest.write_init(code, at)
                with code.block("result"):
                    result = code.alloc("result", [self.lanes], self.dtype, "local")
                    with vector() as lane:
                        value = code.load(gathered, row, column, lane)
                        code.store(value, result, lane)
                    combine_lanes(code, found.reduction, at, result, self.lanes)
                combine_rest(code, found.reduction, at, smart.mul(whole, lanes))

            each(begin)
            with (
                loops_over(code, outer) as terms,
                code.loop(f"{last.name}.o", whole) as step,
            ):

                def add(row: Expr, column: Expr, at: Point) -> None:
                    with vector() as lane:
                        place = smart.add(smart.mul(step, lanes), lane)
                        here = {**at, **terms, last.variable: place}
                        a, b = self._value(found.a, here), self._value(found.b, here)
                        before = code.load(partial, row, column, lane)
                        total = self.machine.multiply_add(a, b, before)
                        code.store(total, partial, row, column, lane)

                each(add)
            # Only loops with constant numbers leave the sums in registers.
            each(keep)
            each(finish, tir.ForKind.SERIAL)

"""The GPU schedule of contractions, without matrix units.

A block of threads computes a square tile of the result, each thread every so many-th row
and column of it, in registers. Tiles of the operands are copied to shared memory, some
terms at a time, and padded there with zeros, so that only copies and stores ask where the
operands end. A map on the results is done before they are stored.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property

from xdsl.ir import Attribute, SSAValue

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Add, Call, Expr, Mul
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.tir._gpu_schedule.allreduce import accumulated_type
from xdsl_tvm.passes.tir._gpu_schedule.device import (
    Device,
    ceildiv,
    in_range,
    kernel,
    name_of,
)
from xdsl_tvm.passes.tir._loops.loop_nest import Axis, Nest, Point
from xdsl_tvm.passes.tir._schedule.axes import (
    is_not_empty,
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

_LEAST = 8
"""Fewer rows or columns are a product of vectors and a matrix, bound by memory."""
_LEAST_TERMS = 4


def match_product(found: Reduction) -> Contraction | None:
    """A reduction as a contraction whose operands are used often enough to be copied."""
    result = match_contraction(found)
    if result is None:
        return None

    def is_at_least(axes: Sequence[Axis], least: int) -> bool:
        size = smart.literal(product_of([axis.extent for axis in axes]))
        return size is None or size >= least

    if is_at_least(result.rows, _LEAST) and is_at_least(result.columns, _LEAST):
        return result if is_at_least(result.terms, _LEAST_TERMS) else None
    return None


def schedule_product(code: LoopCode, found: Contraction, device: Device) -> None:
    """Write a contraction as a kernel."""
    ProductKernel(code, found, device).write()


@dataclass(frozen=True)
class Operand:
    """An operand of a contraction, and what tiles of it are like."""

    value: SSAValue
    is_a: bool
    axes: tuple[Axis, ...]
    """The rows of A, the columns of B."""
    lines: int
    """How many of them a tile has."""
    along_terms: bool
    """Whether neighbouring terms are next to each other."""
    by_lines: bool
    """Whether they are so in a tile."""
    lanes: int = 1
    """How many neighbours a thread copies at once."""


@dataclass
class ProductKernel:
    """Writes one kernel."""

    code: LoopCode
    found: Contraction
    device: Device
    row: Expr = field(init=False)
    """The thread's place among the rows of threads."""
    column: Expr = field(init=False)
    first_row: Expr = field(init=False)
    first_column: Expr = field(init=False)
    batch: Point = field(init=False)
    sums: SSAValue = field(init=False)
    """What a thread adds up."""

    # ---- sizes ----

    @property
    def nest(self) -> Nest:
        return self.found.nest

    @cached_property
    def dtype(self) -> Attribute:
        """The type in which terms are added."""
        return accumulated_type(self.found.reduction.dtype)

    @cached_property
    def width(self) -> int:
        """Threads next to each other, along the columns."""
        return 1 << (self.device.threads.bit_length() // 2)

    @cached_property
    def height(self) -> int:
        """Rows of threads."""
        return self.device.threads // self.width

    @cached_property
    def tile_rows(self) -> int:
        """Rows of a tile of the result."""
        return max(self.device.tile, self.width)

    @cached_property
    def tile_columns(self) -> int:
        """Columns of a tile of the result."""
        return self.tile_rows

    @cached_property
    def depth(self) -> int:
        """Terms of a tile."""
        return self.device.tile_terms

    @cached_property
    def index(self) -> Attribute:
        return product_of([axis.extent for axis in self.nest.axes]).dtype

    def _size(self, axes: Sequence[Axis]) -> Expr:
        return smart.cast(self.index, product_of([axis.extent for axis in axes]))

    @cached_property
    def rows(self) -> Expr:
        return self._size(self.found.rows)

    @cached_property
    def columns(self) -> Expr:
        return self._size(self.found.columns)

    @cached_property
    def terms(self) -> Expr:
        return self._size(self.found.terms)

    def number(self, value: int) -> Expr:
        return smart.const(value, self.index)

    # ---- the whole ----

    def write(self) -> None:
        """All rows and columns of all batches."""
        code, found = self.code, self.found
        batch = [axis.extent for axis in found.batch]
        grid = (
            ceildiv(self.rows, self.tile_rows),
            ceildiv(self.columns, self.tile_columns),
        )
        extents = [*batch, *grid]
        with (
            kernel(code, product_of(extents), self.width, self.height) as (block, r, c),
            code.block(name_of([found.behind or self.nest])),
        ):
            *before, row, column = split_index(block, extents)
            self.batch = points(found.batch, before)
            self.row, self.column = (smart.cast(self.index, each) for each in (r, c))
            self.first_row = self._corner(row, self.tile_rows)
            self.first_column = self._corner(column, self.tile_columns)
            self.write_tile()

    def _corner(self, tile: Expr, size: int) -> Expr:
        return smart.mul(smart.cast(self.index, tile), self.number(size))

    def write_tile(self) -> None:
        """One tile of the result."""
        code = self.code
        shape = [self.tile_rows // self.height, self.tile_columns // self.width]
        self.sums = code.alloc("sums", shape, self.dtype, "local")
        zero = smart.const(0, self.dtype)
        self._each_sum(lambda i, j: code.store(zero, self.sums, i, j))
        a, b = (self.alloc_tile(operand) for operand in self.operands)
        with code.loop("k", ceildiv(self.terms, self.depth)) as step:
            first = smart.mul(step, self.number(self.depth))
            for tile, operand in zip((a, b), self.operands, strict=True):
                self.copy_tile(tile, operand, first)
            with code.loop("t", self.number(self.depth), tir.ForKind.UNROLLED) as k:
                self._each_sum(lambda i, j: self._add(a, b, i, j, k))
        self._each_sum(lambda i, j: self.finish((i, j), self._line(i), self._place(j)))

    def _each_sum(self, write: Callable[[Expr, Expr], None]) -> None:
        """The sums of a thread, by their numbers."""
        unrolled = tir.ForKind.UNROLLED
        rows = self.number(self.tile_rows // self.height)
        columns = self.number(self.tile_columns // self.width)
        with (
            self.code.loop("i", rows, unrolled) as i,
            self.code.loop("j", columns, unrolled) as j,
        ):
            write(i, j)

    def _line(self, number: Expr) -> Expr:
        """The row of a tile that has a number in a thread."""
        return smart.add(smart.mul(number, self.number(self.height)), self.row)

    def _place(self, number: Expr) -> Expr:
        """The column of a tile that has a number in a thread."""
        return smart.add(smart.mul(number, self.number(self.width)), self.column)

    # ---- tiles of operands ----

    @cached_property
    def operands(self) -> tuple[Operand, Operand]:
        """A and B."""
        return self._operand(is_a=True), self._operand(is_a=False)

    def _operand(self, *, is_a: bool) -> Operand:
        found = self.found
        value = found.a if is_a else found.b
        behind = ops_behind(self.nest, value)
        ours = [access for access in self.nest.accesses if access.op in behind]
        wide = [axis for axis in found.terms if axis.size != 1]
        along = bool(wide) and any(access.step(wide[-1]) == 1 for access in ours)
        axes = found.rows if is_a else found.columns
        lines = self.tile_rows if is_a else self.tile_columns
        return Operand(value, is_a, axes, lines, along, is_a)

    @cached_property
    def is_asynchronous(self) -> bool:
        """Whether tiles are copied while others are multiplied."""
        return False

    def alloc_tile(self, operand: Operand) -> SSAValue:
        """Shared memory for a tile of an operand."""
        shape = [operand.lines, self.depth]
        if not operand.by_lines:
            shape.reverse()
        name = "a_tile" if operand.is_a else "b_tile"
        scope = "shared.dyn" if self.is_asynchronous else "shared"
        return self.code.alloc(name, shape, operand.value.type, scope)

    def copy_tile(self, tile: SSAValue, operand: Operand, first: Expr) -> None:
        """Copy a tile of an operand from a term on; threads have neighbours in memory."""
        code, depth, lanes, lines = self.code, self.depth, operand.lanes, operand.lines
        threads = self.width * self.height
        pieces = self.number(lines * depth // lanes)
        with code.loop("u", ceildiv(pieces, threads), tir.ForKind.UNROLLED) as number:
            linear = smart.add(smart.mul(self.row, self.number(self.width)), self.column)
            flat = smart.add(smart.mul(number, self.number(threads)), linear)
            with code.when(in_range(flat, pieces, threads)):
                inner = self.number((depth if operand.along_terms else lines) // lanes)
                outer, last = smart.floordiv(flat, inner), smart.floormod(flat, inner)
                last = smart.mul(last, self.number(lanes))
                at = (outer, last) if operand.along_terms else (last, outer)
                self._copy_piece(tile, operand, first, *at)

    def _copy_piece(
        self, tile: SSAValue, operand: Operand, first: Expr, line: Expr, term: Expr
    ) -> None:
        """Copy neighbours, or write zeros where the operand has none."""
        code, found, along = self.code, self.found, operand.along_terms
        total = self.rows if operand.is_a else self.columns
        start = self.first_row if operand.is_a else self.first_column
        zero = smart.const(0, operand.value.type)
        inside = smart.conjunction(
            in_range(smart.add(start, line), total, operand.lines),
            in_range(smart.add(first, term), self.terms, self.depth),
        )

        def place(lane: Expr) -> tuple[Expr, Expr]:
            return (
                (line, smart.add(term, lane)) if along else (smart.add(line, lane), term)
            )

        def element(lane: Expr) -> Expr:
            row, column = place(lane)
            at = {
                **self.batch,
                **_split(smart.add(start, row), operand.axes),
                **_split(smart.add(first, column), found.terms),
            }
            return self.nest.value_at(code, operand.value, at)

        def store(content: Callable[[Expr], Expr]) -> None:
            with self.each_lane(operand.lanes) as lane:
                row, column = place(lane)
                indices = (row, column) if operand.by_lines else (column, row)
                code.store(content(lane), tile, *indices)

        if self.is_asynchronous:
            store(lambda lane: code.choice(inside, lambda: element(lane), zero))
            return
        with code.when(inside):
            store(element)
        if smart.literal(inside) != 1:
            with code.otherwise(inside):
                store(lambda lane: zero)

    @contextmanager
    def each_lane(self, lanes: int) -> Generator[Expr]:
        """Neighbours that are accessed at once."""
        if lanes == 1:
            yield self.number(0)
            return
        with self.code.loop("v", self.number(lanes), tir.ForKind.VECTORIZED) as lane:
            yield lane

    # ---- sums ----

    def _add(self, a: SSAValue, b: SSAValue, i: Expr, j: Expr, k: Expr) -> None:
        code = self.code
        left = smart.cast(self.dtype, code.load(a, self._line(i), k))
        right = smart.cast(self.dtype, code.load(b, k, self._place(j)))
        before = code.load(self.sums, i, j)
        if self.device.fuse_multiply_add and tir.is_float(self.dtype):
            total: Expr = Call("fma", [left, right, before], self.dtype)
        else:
            total = Add(before, Mul(left, right))
        code.store(total, self.sums, i, j)

    def finish(
        self, at: tuple[Expr, ...], line: Expr, place: Expr, lanes: int = 1
    ) -> None:
        """Store results from a row and column of the tile on, after a map on them.

        `at` is where the first of them is among the sums, and the others are next to it.
        """
        code, found = self.code, self.found
        row = smart.add(self.first_row, line)
        column = smart.add(self.first_column, place)
        inside = smart.conjunction(
            in_range(row, self.rows, self.tile_rows),
            in_range(column, self.columns, self.tile_columns),
        )
        inside = smart.conjunction(inside, is_not_empty(found.terms))
        with code.when(inside):
            if found.behind is None:
                with self.each_lane(lanes) as lane:
                    buffer, indices, total = self._result(at, row, column, lane)
                    code.store(total, buffer, *indices)
                return
            with code.block(""):
                dtype = found.reduction.dtype
                result = code.alloc("result", [lanes], dtype, "local")
                with self.each_lane(lanes) as lane:
                    buffer, indices, total = self._result(at, row, column, lane)
                    code.store(total, result, lane)
                    axes = zip(found.behind.axes, indices, strict=True)
                    point: Point = {axis.variable: index for axis, index in axes}
                    found.behind.write_body(code, point, {buffer: (result, (lane,))})
                    code.store(code.load(result, lane), buffer, *indices)

    def _result(
        self, at: tuple[Expr, ...], row: Expr, column: Expr, lane: Expr
    ) -> tuple[SSAValue, list[Expr], Expr]:
        """An element of the result: its buffer, its indices and what it is."""
        code, found, reduction = self.code, self.found, self.found.reduction
        column = smart.add(column, lane)
        lines = {**_split(row, found.rows), **_split(column, found.columns)}
        point = {**self.batch, **lines}
        buffer = reduction.result.buffer
        indices = [self.nest.tree_at(each, point) for each in reduction.result.indices]
        *before, last = at
        total = code.load(self.sums, *before, smart.add(last, lane))
        if reduction.init is None:
            start = code.load(buffer, *indices)
        else:
            start = self.nest.value_at(code, reduction.init, point)
        total = smart.add(smart.cast(self.dtype, start), total)
        return buffer, indices, smart.cast(reduction.dtype, total)


def _split(flat: Expr, axes: Sequence[Axis]) -> Point:
    return points(axes, split_index(flat, [axis.extent for axis in axes]))

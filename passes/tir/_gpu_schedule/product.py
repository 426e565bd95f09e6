"""The GPU schedule of contractions, without matrix units.

A block of threads computes a square tile of the result, each thread every so many-th row
and column of it, in registers. Tiles of the operands are copied to shared memory, some
terms at a time, and padded there with zeros, so that only copies and stores ask where the
operands end. A map on the results is done before they are stored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from xdsl.dialects.builtin import i32
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
    _Product(code, found, device).write()


@dataclass
class _Product:
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
    def side(self) -> int:
        """Rows and columns of a tile."""
        return max(self.device.tile, self.width)

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
        code, side, found = self.code, self.side, self.found
        batch = [axis.extent for axis in self.found.batch]
        extents = [*batch, ceildiv(self.rows, side), ceildiv(self.columns, side)]
        with (
            kernel(code, product_of(extents), self.width, self.height) as (block, r, c),
            code.block(name_of([found.behind or self.nest])),
        ):
            *before, tile_row, tile_column = split_index(block, extents)
            self.batch = points(self.found.batch, before)
            self.row, self.column = (smart.cast(self.index, each) for each in (r, c))
            self.first_row = self._corner(tile_row)
            self.first_column = self._corner(tile_column)
            shape = [side // self.height, side // self.width]
            sums = code.alloc("sums", shape, self.dtype, "local")
            zero = smart.const(0, self.dtype)
            self._each_sum(lambda i, j: code.store(zero, sums, i, j))
            a = self._alloc("a_tile", self.found.a, [side, self.depth])
            b = self._alloc("b_tile", self.found.b, [self.depth, side])
            with code.loop("k", ceildiv(self.terms, self.depth)) as step:
                first = smart.mul(step, self.number(self.depth))
                self._copy(a, self.found.a, first, is_a=True)
                self._copy(b, self.found.b, first, is_a=False)
                with code.loop("t", self.number(self.depth), tir.ForKind.UNROLLED) as k:
                    self._each_sum(lambda i, j: self._add(sums, a, b, i, j, k))
            self._each_sum(lambda i, j: self._finish(sums, i, j))

    def _corner(self, tile: Expr) -> Expr:
        return smart.mul(smart.cast(self.index, tile), self.number(self.side))

    def _alloc(self, name: str, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        return self.code.alloc(name, shape, value.type, "shared")

    def _each_sum(self, write: Callable[[Expr, Expr], None]) -> None:
        """The sums of a thread, by their numbers."""
        unrolled = tir.ForKind.UNROLLED
        with (
            self.code.loop("i", self.number(self.side // self.height), unrolled) as i,
            self.code.loop("j", self.number(self.side // self.width), unrolled) as j,
        ):
            write(i, j)

    def _line(self, number: Expr) -> Expr:
        """The row of a tile that has a number in a thread."""
        return smart.add(smart.mul(number, self.number(self.height)), self.row)

    def _place(self, number: Expr) -> Expr:
        """The column of a tile that has a number in a thread."""
        return smart.add(smart.mul(number, self.number(self.width)), self.column)

    # ---- copies ----

    def _copy(self, tile: SSAValue, value: SSAValue, first: Expr, *, is_a: bool) -> None:
        """Copy a tile of an operand from a term on; threads have neighbours in memory."""
        code, side, depth = self.code, self.side, self.depth
        along = self._is_along_terms(value)
        threads = self.width * self.height
        steps = ceildiv(self.number(side * depth), threads)
        with code.loop("u", steps, tir.ForKind.UNROLLED) as number:
            linear = smart.add(smart.mul(self.row, self.number(self.width)), self.column)
            flat = smart.add(smart.mul(number, self.number(threads)), linear)
            with code.when(in_range(flat, self.number(side * depth), threads)):
                inner = self.number(depth if along else side)
                outer, last = smart.floordiv(flat, inner), smart.floormod(flat, inner)
                line, term = (outer, last) if along else (last, outer)
                place = (line, term) if is_a else (term, line)
                self._copy_element(tile, value, line, smart.add(first, term), place, is_a)

    def _copy_element(
        self,
        tile: SSAValue,
        value: SSAValue,
        line: Expr,
        term: Expr,
        place: tuple[Expr, Expr],
        is_a: bool,
    ) -> None:
        code, found = self.code, self.found
        axes = found.rows if is_a else found.columns
        total = self.rows if is_a else self.columns
        line = smart.add(self.first_row if is_a else self.first_column, line)
        inside = smart.conjunction(
            in_range(line, total, self.side), in_range(term, self.terms, self.depth)
        )
        with code.when(inside):
            at = {**self.batch, **_split(line, axes), **_split(term, found.terms)}
            element = self.nest.value_at(code, value, at)
            code.store(element, tile, *place)
        if smart.literal(inside) != 1:
            with code.otherwise(inside):
                code.store(smart.const(0, value.type), tile, *place)

    def _is_along_terms(self, value: SSAValue) -> bool:
        """Whether neighbouring terms of an operand are next to each other."""
        behind = ops_behind(self.nest, value)
        ours = [access for access in self.nest.accesses if access.op in behind]
        wide = [axis for axis in self.found.terms if axis.size != 1]
        return bool(wide) and any(access.step(wide[-1]) == 1 for access in ours)

    # ---- sums ----

    def _add(
        self, sums: SSAValue, a: SSAValue, b: SSAValue, i: Expr, j: Expr, k: Expr
    ) -> None:
        code = self.code
        left = smart.cast(self.dtype, code.load(a, self._line(i), k))
        right = smart.cast(self.dtype, code.load(b, k, self._place(j)))
        before = code.load(sums, i, j)
        if self.device.fuse_multiply_add and tir.is_float(self.dtype):
            total: Expr = Call("fma", [left, right, before], self.dtype)
        else:
            total = Add(before, Mul(left, right))
        code.store(total, sums, i, j)

    def _finish(self, sums: SSAValue, i: Expr, j: Expr) -> None:
        """Store a result, and what a map makes of it."""
        code, found, reduction = self.code, self.found, self.found.reduction
        row = smart.add(self.first_row, self._line(i))
        column = smart.add(self.first_column, self._place(j))
        inside = smart.conjunction(
            in_range(row, self.rows, self.side), in_range(column, self.columns, self.side)
        )
        inside = smart.conjunction(inside, is_not_empty(found.terms))
        with code.when(inside):
            lines = {**_split(row, found.rows), **_split(column, found.columns)}
            at = {**self.batch, **lines}
            buffer = reduction.result.buffer
            indices = [self.nest.tree_at(each, at) for each in reduction.result.indices]
            total = code.load(sums, i, j)
            if reduction.init is None:
                start = code.load(buffer, *indices)
            else:
                start = self.nest.value_at(code, reduction.init, at)
            total = smart.add(smart.cast(self.dtype, start), total)
            total = smart.cast(reduction.dtype, total)
            if found.behind is None:
                code.store(total, buffer, *indices)
                return
            zero = smart.const(0, i32)
            with code.block(""):
                result = code.alloc("result", [1], reduction.dtype, "local")
                code.store(total, result, zero)
                axes = zip(found.behind.axes, indices, strict=True)
                place: Point = {axis.variable: index for axis, index in axes}
                found.behind.write_body(code, place, {buffer: (result, (zero,))})
                code.store(code.load(result, zero), buffer, *indices)


def _split(flat: Expr, axes: Sequence[Axis]) -> Point:
    return points(axes, split_index(flat, [axis.extent for axis in axes]))

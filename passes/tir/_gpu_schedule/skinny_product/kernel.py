"""What the kernels of all skinny products have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Final

from xdsl.ir import Attribute, SSAValue

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Add, Expr
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.tir._gpu_schedule.allreduce import (
    accumulated_type,
    write_allreduce,
)
from xdsl_tvm.passes.tir._gpu_schedule.device import (
    Device,
    kernel,
)
from xdsl_tvm.passes.tir._gpu_schedule.results import (
    multiply_add,
    split_point,
    write_results,
)
from xdsl_tvm.passes.tir._gpu_schedule.skinny_product.matching import known_size
from xdsl_tvm.passes.tir._gpu_schedule.split_terms import (
    PartialSums,
    block_name,
    number_of_splits,
    partial_sums,
)
from xdsl_tvm.passes.tir._loops.loop_nest import Axis, Nest, Point
from xdsl_tvm.passes.tir._schedule.axes import (
    is_not_empty,
    points,
    product_of,
    split_index,
)
from xdsl_tvm.passes.tir._schedule.contraction import Contraction
from xdsl_tvm.passes.tir.rewriting.loop_code import LoopCode

IN_FLIGHT: Final = 8
"""So many accesses of the matrix of a thread are under way at a time, at most."""
_SPLIT_BYTES: Final = 4 << 20
"""Smaller matrices are read sooner than another kernel begins."""
LEAST_STEPS: Final = 4
"""So many steps a block has at least where terms are split."""


@dataclass
class SkinnyProduct(ABC):
    """Writes one kernel."""

    code: LoopCode
    found: Contraction
    device: Device
    partial: PartialSums | None = field(init=False, default=None)
    batch: Point = field(init=False)
    split: Expr = field(init=False)

    # ---- sizes ----

    @property
    def nest(self) -> Nest:
        return self.found.nest

    @cached_property
    def dtype(self) -> Attribute:
        """The type in which terms are added."""
        return accumulated_type(self.found.reduction.dtype)

    @cached_property
    def index(self) -> Attribute:
        return product_of([axis.extent for axis in self.nest.axes]).dtype

    def number(self, value: int) -> Expr:
        return smart.const(value, self.index)

    @cached_property
    def rows(self) -> int:
        """How many vectors there are."""
        return prod(axis.size or 1 for axis in self.found.rows)

    @cached_property
    def lines(self) -> Expr:
        return self._extent(self.found.columns)

    @cached_property
    def terms(self) -> Expr:
        return self._extent(self.found.terms)

    def _extent(self, axes: Sequence[Axis]) -> Expr:
        return smart.cast(self.index, product_of([axis.extent for axis in axes]))

    @cached_property
    def results(self) -> int | None:
        """Lines of all batches."""
        return known_size((*self.found.batch, *self.found.columns))

    @cached_property
    @abstractmethod
    def lanes(self) -> int:
        """Neighbours of the matrix that a thread accesses at once."""

    def splits_of(self, blocks: Expr, steps: Expr, least: int) -> int:
        """Over how many blocks terms are split."""
        size = known_size(self.nest.axes)
        of_matrix = None if size is None else size // self.rows
        dtype = self.found.b.type
        small = of_matrix is None or of_matrix * tir.bytes_of_lane(dtype) < _SPLIT_BYTES
        if small and self.device.splits is None:
            return 1
        return number_of_splits(self.device, blocks, steps, least)

    # ---- the whole ----

    def write(self) -> None:
        """All vectors and lines of all batches."""
        batch = [axis.extent for axis in self.found.batch]
        blocks = product_of([*batch, self.blocks()])
        splits = self.splits(blocks)
        self.partial = partial_sums(self.code, self.found, self.device, splits)
        extents = [*batch, self.blocks(), smart.const(splits, blocks.dtype)]
        width, height = self.threads()
        with (
            kernel(self.code, product_of(extents), width, height) as (block, r, c),
            self.code.block(block_name(self.found, self.partial)),
        ):
            *before, place, self.split = split_index(block, extents)
            self.batch = points(self.found.batch, before)
            place, row, column = (smart.cast(self.index, each) for each in (place, r, c))
            self.write_block(place, row, column, splits)
        if self.partial is not None:
            self.partial.write_kernel()

    @abstractmethod
    def blocks(self) -> Expr:
        """Blocks for the lines of a batch."""

    @abstractmethod
    def splits(self, blocks: Expr) -> int:
        """Over how many blocks terms are split, of so many in all."""

    @abstractmethod
    def threads(self) -> tuple[int, int]:
        """Threads of a block, `threadIdx.x` and `threadIdx.y`."""

    @abstractmethod
    def write_block(self, place: Expr, row: Expr, column: Expr, splits: int) -> None:
        """What a thread of a block does."""

    # ---- parts ----

    def begin(self, count: int) -> SSAValue:
        """New sums, for each vector and so many lines."""
        sums = self.code.alloc("sums", [self.rows, count], self.dtype, "local")
        zero = smart.const(0, self.dtype)
        with (
            self.code.unrolled("m", self.number(self.rows)) as m,
            self.code.unrolled("o", self.number(count)) as o,
        ):
            self.code.store(zero, sums, m, o)
        return sums

    def vector(self, m: Expr) -> Point:
        """The rows' axes at a vector."""
        return split_point(m, self.found.rows) if self.found.rows else {}

    def line(self, place: Expr) -> Point:
        """The columns' axes at a line."""
        return split_point(place, self.found.columns)

    def term(self, unit: Expr, lane: Expr, lanes: int) -> Point:
        """The terms' axes at a neighbour of a stretch of so many."""
        *outer, last = [axis.extent for axis in self.found.terms]
        width = smart.const(lanes, last.dtype)
        *before, inner = split_index(unit, [*outer, smart.floordiv(last, width)])
        place = smart.add(smart.mul(inner, width), smart.cast(last.dtype, lane))
        return points(self.found.terms, [*before, place])

    def value(self, value: SSAValue, point: Point) -> Expr:
        """An element of an operand, in the type of sums."""
        found = self.nest.value_at(self.code, value, {**self.batch, **point})
        return smart.cast(self.dtype, found)

    def add(self, left: Expr, right: Expr, sums: SSAValue, m: Expr, o: Expr) -> None:
        """Add a product to a sum."""
        before = self.code.load(sums, m, o)
        total = multiply_add(left, right, before, fused=self.device.fuse_multiply_add)
        self.code.store(total, sums, m, o)

    def combine(self, sums: SSAValue, count: int, thread: Expr) -> None:
        """Let the threads along an axis have the sums of all of them."""
        code = self.code
        with (
            code.unrolled("m", self.number(self.rows)) as m,
            code.unrolled("o", self.number(count)) as o,
        ):
            total = write_allreduce(code, Add, code.load(sums, m, o), thread)
            code.store(total, sums, m, o)

    def finish(self, m: Expr, line: Expr, total: Callable[[], Expr]) -> None:
        """Store a result, or the sum of a split; not where lines end before."""
        point = {**self.batch, **self.vector(m), **self.line(line)}
        if self.partial is not None:
            self.partial.store(self.split, 1, point, lambda _: total())
            return
        with self.code.when(is_not_empty(self.found.terms)):
            write_results(
                self.code, self.found, 1, self.index, lambda _: point, lambda _: total()
            )


def steps_at_a_time(steps: Expr, most: int) -> int:
    """How many steps are done together: all, or a divisor of them, if there is one."""
    count = smart.literal(steps)
    if count is None or most == 1:
        return most
    if count <= most:
        return max(int(count), 1)
    fitting = [n for n in range(most, most // 2, -1) if int(count) % n == 0]
    return fitting[0] if fitting else max(most // 2, 1)

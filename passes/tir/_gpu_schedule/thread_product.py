"""The GPU schedule of contractions without matrix units.

Each thread has some rows and some columns of a tile of the result. Tiles of the operands
are in shared memory as they are in memory. Where terms are next to each other, a thread
reads several terms of a line at once, and lines are dealt out to the threads one by one;
words of a line are permuted then, so that those of neighbouring lines are in different
banks. Else it reads several lines of a term at once, and has these lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Final

from xdsl.ir import SSAValue

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Expr
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.tir._gpu_schedule.product import Operand, ProductKernel
from xdsl_tvm.passes.tir._gpu_schedule.product_time import ThreadModel, Tile
from xdsl_tvm.passes.tir._gpu_schedule.results import multiply_add

_WORD: Final = 4
"""Elements that a thread reads at once of shared memory."""
_BANKS_BYTES: Final = 128
"""Bytes that shared memory accesses at once, each bank once."""


@dataclass
class ThreadProduct(ProductKernel):
    """Writes one kernel."""

    MODEL: ClassVar = ThreadModel

    # ---- sizes ----

    @property
    def width(self) -> int:
        return 1 << (self.device.threads.bit_length() // 2)

    @property
    def height(self) -> int:
        return self.device.threads // self.width

    def candidates(self) -> Sequence[Tile]:
        """No tile has fewer rows or columns than there are rows or columns of threads."""
        least = self.width
        return [
            replace(
                each,
                rows=max(each.rows, least),
                columns=max(each.columns, least),
                threads=self.device.threads,
            )
            for each in self.tiles_within(self.device.tile)
        ]

    @property
    def needs_registers(self) -> bool:
        """Where elements are converted while they are copied."""
        return not all(each.is_loaded for each in self.operands)

    @property
    def depth(self) -> int:
        return self.device.tile_terms

    @property
    def sums_shape(self) -> Sequence[int]:
        return [self.tile_rows // self.height, self.tile_columns // self.width]

    def place_in_tile(
        self, operand: Operand, line: Expr, term: Expr, lane: Expr
    ) -> tuple[Expr, Expr]:
        if not operand.along_terms:
            return super().place_in_tile(operand, line, term, lane)
        unit = self._unit(operand)
        word = smart.floordiv(term, self.number(unit))
        within = smart.floormod(term, self.number(unit))
        return line, self._permuted(operand, word, line, smart.add(within, lane))

    def _unit(self, operand: Operand) -> int:
        """Neighbours of a line that stay neighbours: what is read, or copied, at once."""
        return min(max(self._terms_at_once, operand.lanes), self.depth)

    def _permuted(self, operand: Operand, word: Expr, line: Expr, within: Expr) -> Expr:
        """Where a line has an element of a word.

        Lines of different banks are left alone; of those that share banks, each has its
        words in an order of its own.
        """
        unit, number = self._unit(operand), self.number
        size = unit * tir.bytes_of_lane(operand.value.type)
        in_line, in_banks = self.depth // unit, max(_BANKS_BYTES // size, 1)
        shared = min(in_line, in_banks)
        if shared > 1:
            turn = smart.floordiv(line, number(in_banks // shared))
            turn = smart.floormod(turn, number(shared))
            word = smart.call("bitwise_xor", [word, turn], self.index)
        return smart.add(smart.mul(word, number(unit)), within)

    @cached_property
    def is_asynchronous(self) -> bool:
        """A pipeline has one statement for a product: the loop over terms."""
        return self.depth > self._terms_at_once and super().is_asynchronous

    # ---- the lines of a thread ----

    def _threads(self, operand: Operand) -> int:
        """Over how many threads the lines of a tile are dealt out."""
        return self.height if operand.is_a else self.width

    def _own(self, operand: Operand) -> int:
        """How many lines of a tile a thread has."""
        return operand.lines // self._threads(operand)

    def _neighbours(self, operand: Operand) -> int:
        """How many of them are next to each other."""
        return 1 if operand.along_terms else min(_WORD, self._own(operand))

    @property
    def _terms_at_once(self) -> int:
        return min(_WORD, self.depth)

    def _line(self, operand: Operand, number: Expr) -> Expr:
        """The line of a tile that has a number in a thread."""
        thread = self.row if operand.is_a else self.column
        side = self.number(self._neighbours(operand))
        threads = self.number(self._threads(operand))
        group = smart.add(smart.mul(smart.floordiv(number, side), threads), thread)
        return smart.add(smart.mul(group, side), smart.floormod(number, side))

    # ---- products ----

    def multiply(self, a: SSAValue, b: SSAValue) -> None:
        code, number = self.code, self.number
        left, right = self.operands
        some = self._terms_at_once
        with code.loop("t", number(self.depth // some)) as step:
            term = smart.mul(step, number(some))
            lines = self._read(a, left, term)
            columns = self._read(b, right, term)
            rows, others = self.sums_shape
            with (
                code.unrolled("l", number(some)) as k,
                code.unrolled("i", number(rows)) as i,
                code.unrolled("j", number(others)) as j,
            ):
                self._add(code.load(lines, i, k), code.load(columns, j, k), i, j)

    def _read(self, tile: SSAValue, operand: Operand, term: Expr) -> SSAValue:
        """Some terms of the lines of a thread, in registers.

        Loops are expanded before LLVM sees them: ptxas spills some registers otherwise.
        """
        code, number, some = self.code, self.number, self._terms_at_once
        own = self._own(operand)
        name = "a" if operand.is_a else "b"
        found = code.alloc(name, [own, some], self.dtype, "local")
        side = self._neighbours(operand)
        with ExitStack() as stack:
            if operand.along_terms:
                i = stack.enter_context(code.loop("i", number(own), tir.ForKind.UNROLLED))
                k = stack.enter_context(self.each_lane(some))
            else:
                k = stack.enter_context(
                    code.loop("l", number(some), tir.ForKind.UNROLLED)
                )
                group = stack.enter_context(
                    code.loop("i", number(own // side), tir.ForKind.UNROLLED)
                )
                lane = stack.enter_context(self.each_lane(side))
                i = smart.add(smart.mul(group, number(side)), lane)
            at = self.place_in_tile(operand, self._line(operand, i), term, k)
            if not operand.along_terms:
                at = smart.add(term, k), self._line(operand, i)
            code.store(smart.cast(self.dtype, code.load(tile, *at)), found, i, k)
        return found

    def _add(self, left: Expr, right: Expr, i: Expr, j: Expr) -> None:
        before = self.code.load(self.sums, i, j)
        total = multiply_add(left, right, before, fused=self.device.fuse_multiply_add)
        self.code.store(total, self.sums, i, j)

    # ---- results ----

    def finish_all(self) -> None:
        code, number = self.code, self.number
        left, right = self.operands
        rows, columns = self.sums_shape
        lanes = self._stored_lanes()
        with (
            code.unrolled("i", number(rows)) as i,
            code.unrolled("j", number(columns // lanes)) as group,
        ):
            j = smart.mul(group, number(lanes))
            self.finish((i, j), self._line(left, i), self._line(right, j), lanes)

    def _stored_lanes(self) -> int:
        """How many neighbours of the result a thread stores at once."""
        size = self.found.columns[-1].size
        lanes = self._neighbours(self.operands[1])
        while lanes > 1 and (size is None or size % lanes):
            lanes //= 2
        return lanes

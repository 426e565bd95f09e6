"""Dot products of four bytes, for operands of any signs.

The instruction multiplies unsigned and signed bytes. Where both operands are signed, or
both are unsigned, the highest bit of the bytes of `a` is turned over, which makes them
the other kind, 128 more or less. What that adds to a column is what a row of bytes gives
of which only the highest bit is set, and is taken away again. Sums are modulo 2^32 in any
case, so results are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from xdsl.dialects.builtin import IntegerType, Signedness, i8, i32
from xdsl.ir import Attribute, SSAValue

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Broadcast, Call, Expr, Value, view
from xdsl_tvm.analysis.arith.linear_equation import mentions
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.processor_instructions import BYTES_OF_DOT, ByteDot
from xdsl_tvm.passes.tir._cpu_schedule.byte_contraction import byte_load
from xdsl_tvm.passes.tir._cpu_schedule.contraction_sizes import steps_behind
from xdsl_tvm.passes.tir._cpu_schedule.options import Machine
from xdsl_tvm.passes.tir._loops.loop_nest import Axis, Nest
from xdsl_tvm.passes.tir.rewriting.loop_code import LoopCode

UI8 = IntegerType(8, Signedness.UNSIGNED)
_HIGHEST: dict[Attribute, int] = {i8: -128, UI8: 128}
"""The number whose bits are the highest one alone."""
_UNIT_BYTES = 16
"""Processors interleave vectors within so many bytes of each."""


def is_byte_along_last(nest: Nest, value: SSAValue, axis: Axis) -> bool:
    """Whether a value is a byte whose last index moves by one with an axis, and no other
    index does, so that a vector of them can be loaded."""
    load = byte_load(value)
    if load is None or steps_behind(nest, value, axis) != {1}:
        return False
    return mentions(view(load.indices[-1], nest.trees), Value(axis.variable))


@dataclass(frozen=True)
class ByteDots:
    """Dot products of converted bytes `a`, of rows, and `b`, of columns."""

    code: LoopCode
    machine: Machine
    a: SSAValue
    b: SSAValue

    @cached_property
    def _dot(self) -> ByteDot:
        dot = self.machine.byte_dot
        assert dot is not None, "asked before"
        return dot

    @property
    def lanes(self) -> int:
        """Sums of a vector."""
        return self._dot.lanes

    @cached_property
    def bytes_of_a(self) -> tir.LoadOp:
        load = byte_load(self.a)
        assert load is not None, "asked before"
        return load

    @cached_property
    def bytes_of_b(self) -> tir.LoadOp:
        load = byte_load(self.b)
        assert load is not None, "asked before"
        return load

    @cached_property
    def type_of_b(self) -> Attribute:
        """The type of the bytes of columns, which stay as they are."""
        return UI8 if tir.is_uint(self.bytes_of_b.result.type) else i8

    @cached_property
    def type_of_a(self) -> Attribute:
        """The type of the bytes of rows as they are multiplied: the other one."""
        return i8 if self.type_of_b == UI8 else UI8

    @cached_property
    def flips(self) -> bool:
        """Whether rows have the type of columns, and are multiplied as the other one."""
        types = self.bytes_of_a.result.type, self.bytes_of_b.result.type
        return tir.is_uint(types[0]) == tir.is_uint(types[1])

    def row_byte(self, value: Expr) -> Expr:
        """A byte of `a`, or a vector of them, as it is multiplied."""
        lanes = tir.lanes_of(value.dtype)
        dtype = tir.with_lanes(self.type_of_a, lanes)
        byte = smart.cast(dtype, value)
        if not self.flips:
            return byte
        return Call("bitwise_xor", [byte, self.highest(lanes)], dtype)

    def highest(self, lanes: int) -> Expr:
        """A byte of `a` whose highest bit is set, in so many lanes."""
        highest = smart.const(_HIGHEST[self.type_of_a], self.type_of_a)
        if lanes == 1:
            return highest
        return Broadcast(tir.with_lanes(self.type_of_a, lanes), highest)

    def in_all_lanes(self, quad: Expr) -> Expr:
        """A quad of a row, for each lane."""
        order = list(range(BYTES_OF_DOT)) * self.lanes
        return self.code.shuffled([self.code.value(quad)], order)

    def multiplied(self, sums: Expr, a: Expr, b: Expr) -> Expr:
        """The sums and the products of a vector of quads of rows and one of columns."""
        operands = [a, b] if self.type_of_a == UI8 else [b, a]
        name = self.code.string(self._dot.name)
        dtype = tir.with_lanes(i32, self.lanes)
        return self.code.call("call_llvm_pure_intrin", [name, sums, *operands], dtype)

    def quads(self, lines: Sequence[Expr]) -> list[Expr]:
        """The quads of columns, four vectors of them, of whose terms these are the lines.

        Each 16 bytes of the lines, which are vectors of bytes, are interleaved where they
        are: `place` says which columns come where.
        """
        values = [self.code.value(line) for line in lines]
        vectors: list[Expr] = []
        for upper in (False, True):
            a, b = (self._interleaved(values[k], values[k + 1], 1, upper) for k in (0, 2))
            vectors += [Value(self._interleaved(a, b, 2, high)) for high in (False, True)]
        return vectors

    def in_order(self, vectors: Sequence[Expr]) -> list[Expr]:
        """Four vectors with an element for each column of `quads`, in their order."""
        lanes = self.lanes
        halves = [
            self.code.value(
                self.code.shuffled(
                    [self.code.value(vector) for vector in vectors[k : k + 2]],
                    range(2 * lanes),
                )
            )
            for k in (0, 2)
        ]
        order = [self.place(column) for column in range(BYTES_OF_DOT * lanes)]
        return [
            self.code.shuffled(halves, order[start : start + lanes])
            for start in range(0, BYTES_OF_DOT * lanes, lanes)
        ]

    def place(self, column: int) -> int:
        """Where the quad of a column is, of those that `quads` gives."""
        unit, within = divmod(column, _UNIT_BYTES)
        vector, lane = divmod(within, BYTES_OF_DOT)
        return vector * self.lanes + unit * BYTES_OF_DOT + lane

    def _interleaved(self, a: SSAValue, b: SSAValue, size: int, upper: bool) -> SSAValue:
        """The lower or upper halves of 16 bytes of two vectors, so many bytes of each in
        turns."""
        half, lanes = _UNIT_BYTES // 2, tir.lanes_of(a.type)
        order = [
            vector * lanes + unit + upper * half + start + k
            for unit in range(0, lanes, _UNIT_BYTES)
            for start in range(0, half, size)
            for vector in range(2)
            for k in range(size)
        ]
        return self.code.value(self.code.shuffled([a, b], order))

"""Results that each thread accumulates for itself, and that threads then combine."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import f32, i32
from xdsl.ir import Attribute, Block, SSAValue

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Binary, Expr, Value
from xdsl_tvm.analysis.tir.reducers import MatchedReducer, match_reducer
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.tir._loops.loop_nest import Nest, Point
from xdsl_tvm.passes.tir._schedule.reduction import Reduction, identity, match_reduction
from xdsl_tvm.passes.tir.rewriting.loop_code import LoopCode


def accumulated_type(dtype: Attribute) -> Attribute:
    """The type that terms are combined in: narrow floats are rounded once, at the end."""
    return f32 if tir.is_float(dtype) and tir.bits_of_lane(dtype) < 32 else dtype


def match_combined(nest: Nest) -> Reduction | None:
    """The nest as a reduction whose results threads can combine, if it is one."""
    found = match_reduction(nest)
    if found is None or tir.bits_of_lane(found.dtype) < _LEAST_BITS:
        return None
    known = _reducer(found.combiner, accumulated_type(found.dtype))
    return None if known is None else found


def _reducer(combiner: type[Binary], dtype: Attribute) -> MatchedReducer | None:
    leaves = [Value(argument) for argument in Block(arg_types=[dtype, dtype]).args]
    start = identity(combiner, dtype)
    return match_reducer(leaves[:1], [combiner(leaves[0], leaves[1])], [start])


_LEAST_BITS = 8


@dataclass(frozen=True)
class Accumulator:
    """What a thread has of a result, in several lanes."""

    code: LoopCode
    combiner: type[Binary]
    dtype: Attribute
    result_type: Attribute
    lanes: int
    buffer: SSAValue

    def begin(self) -> None:
        """Before the first term."""
        for lane in range(self.lanes):
            start = identity(self.combiner, self.dtype)
            self.code.store(start, self.buffer, smart.const(lane, i32))

    def add(self, term: Expr, lane: Expr) -> None:
        """Combine a term with a lane."""
        before = self.code.load(self.buffer, lane)
        term = smart.cast(self.dtype, term)
        self.code.store(self.combiner(before, term), self.buffer, lane)

    def total(self) -> Expr:
        """The lanes combined."""
        found = [
            self.code.load(self.buffer, smart.const(lane, i32))
            for lane in range(self.lanes)
        ]
        while len(found) > 1:
            half = len(found) // 2
            found = [self.combiner(found[k], found[k + half]) for k in range(half)]
        return found[0]

    def finished(self, start: Expr, total: Expr) -> Expr:
        """A result of the total and what it was before, in its own type."""
        if start is not identity(self.combiner, start.dtype):
            total = self.combiner(smart.cast(self.dtype, start), total)
        return smart.cast(self.result_type, total)

    def store(self, found: Reduction, point: Point, total: Expr) -> None:
        """Store the result at a point, of the total of its terms."""
        nest, buffer = found.nest, found.result.buffer
        indices = [nest.tree_at(index, point) for index in found.result.indices]
        if found.init is None:
            start = self.code.load(buffer, *indices)
        else:
            start = nest.value_at(self.code, found.init, point)
        self.code.store(self.finished(start, total), buffer, *indices)


def accumulator(code: LoopCode, found: Reduction, lanes: int) -> Accumulator:
    """A new one, for the terms of a reduction."""
    dtype = accumulated_type(found.dtype)
    buffer = code.alloc("own", [lanes], dtype, "local")
    return Accumulator(code, found.combiner, dtype, found.dtype, lanes, buffer)


def write_allreduce(
    code: LoopCode, combiner: type[Binary], total: Expr, thread: Expr
) -> Expr:
    """What all threads along the axis of a variable have, combined: all get it."""
    dtype = total.dtype
    found = _reducer(combiner, dtype)
    assert found is not None
    cross = code.alloc("cross", [1], dtype, "local")
    zero = smart.const(0, i32)
    code.insert(found.op)
    number = code.value(smart.const(0, tir.parse_dtype("uint64")))
    null = tir.CallOp("reinterpret", [number], tir.HandleType())
    code.insert(null)
    value = code.value(total)
    place = code.value(zero)
    with code.attribute("reduce_scope", found.op.result, null.results[0]):
        code.insert(
            tir.ThreadAllreduceOp([value], [(cross, [place])], [code.value(thread)])
        )
    return code.load(cross, zero)

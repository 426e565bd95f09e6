"""Results of contractions: sums, what was there before, and the map after them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

from xdsl.dialects.builtin import i32
from xdsl.ir import Attribute, SSAValue

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Add, Call, Expr, Mul
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.tir._gpu_schedule.allreduce import accumulated_type
from xdsl_tvm.passes.tir._loops.loop_nest import Axis, Point
from xdsl_tvm.passes.tir._schedule.axes import points, split_index
from xdsl_tvm.passes.tir._schedule.contraction import Contraction
from xdsl_tvm.passes.tir.rewriting.loop_code import LoopCode


def write_results(
    code: LoopCode,
    found: Contraction,
    lanes: int,
    index: Attribute,
    point_of: Callable[[Expr], Point],
    total_of: Callable[[Expr], Expr],
) -> None:
    """Store `lanes` neighbouring results, after the map on them if there is one.

    For a lane, a number of the type `index`, `point_of` returns the values of the spatial
    axes, and `total_of` the sum of the terms there, in the type that they are added in.
    """

    def result(lane: Expr) -> tuple[SSAValue, list[Expr], Expr]:
        reduction, nest = found.reduction, found.nest
        buffer, dtype = reduction.result.buffer, accumulated_type(reduction.dtype)
        point = point_of(lane)
        indices = [nest.tree_at(each, point) for each in reduction.result.indices]
        total = total_of(lane)
        if reduction.init is None:
            start = code.load(buffer, *indices)
        else:
            start = nest.value_at(code, reduction.init, point)
        total = smart.add(smart.cast(dtype, start), total)
        return buffer, indices, smart.cast(reduction.dtype, total)

    if found.epilogue is None:
        with each_lane(code, lanes, index) as lane:
            buffer, indices, total = result(lane)
            code.store(total, buffer, *indices)
        return
    with code.block(""):
        own = code.alloc("result", [lanes], found.reduction.dtype, "local")
        with each_lane(code, lanes, index) as lane:
            buffer, indices, total = result(lane)
            code.store(total, own, lane)
            axes = zip(found.epilogue.axes, indices, strict=True)
            point: Point = {axis.variable: index for axis, index in axes}
            found.epilogue.write_body(code, point, {buffer: (own, (lane,))})
            # A map that makes others of the results has stored these.
            if buffer in found.epilogue.written:
                code.store(code.load(own, lane), buffer, *indices)


@contextmanager
def each_lane(code: LoopCode, lanes: int, index: Attribute = i32) -> Generator[Expr]:
    """Neighbours that are accessed at once."""
    if lanes == 1:
        yield smart.const(0, index)
        return
    count = smart.const(lanes, index)
    with code.loop("v", count, tir.ForKind.VECTORIZED) as lane:
        yield lane


def split_point(flat: Expr, axes: Sequence[Axis]) -> Point:
    """The values of axes at a place of the box that they span, in row-major order."""
    return points(axes, split_index(flat, [axis.extent for axis in axes]))


def multiply_add(left: Expr, right: Expr, before: Expr, *, fused: bool) -> Expr:
    """`before + left * right`; floats are rounded once where `fused`."""
    if fused and tir.is_float(before.dtype):
        return Call("fma", [left, right, before], before.dtype)
    return Add(before, Mul(left, right))

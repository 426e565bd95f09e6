"""The GPU schedule of reductions across what is next to each other.

The threads of a warp have neighbouring results, each warp of a block every so many-th
term of them; then the threads with the same result combine what they have.
"""

from __future__ import annotations

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Expr
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.tir._gpu_schedule.allreduce import accumulator, write_allreduce
from xdsl_tvm.passes.tir._gpu_schedule.device import (
    WARP,
    Device,
    ceildiv,
    in_range,
    kernel,
    name_of,
    threads_for,
)
from xdsl_tvm.passes.tir._loops.loop_nest import Axis
from xdsl_tvm.passes.tir._schedule.axes import (
    is_not_empty,
    points,
    product_of,
    split_index,
)
from xdsl_tvm.passes.tir._schedule.reduction import Reduction
from xdsl_tvm.passes.tir.rewriting.loop_code import LoopCode

_UNROLLED = 8
"""So many steps at most are unrolled."""
_MANY_RESULTS = 1 << 17
"""So many results have enough threads without sharing their terms."""


def schedule_columns(code: LoopCode, found: Reduction, device: Device) -> None:
    """Write a reduction as a kernel."""
    nest = found.nest
    spatial = list(nest.spatial)
    column = _column(spatial)
    outer = [axis for axis in spatial if axis is not column]
    width = threads_for(column.extent, min(WARP, device.threads))
    terms = product_of([axis.extent for axis in nest.carried])
    height = threads_for(terms, device.threads // width)
    size = smart.literal(product_of([axis.extent for axis in spatial]))
    if size is not None and size >= _MANY_RESULTS:
        height = 1
    extents = [axis.extent for axis in outer]
    extents.append(ceildiv(column.extent, width))
    with (
        kernel(code, product_of(extents), width, height) as (block, row, lane),
        code.block(name_of([nest])),
    ):
        *before, stretch = split_index(block, extents)
        step = smart.const(width, column.extent.dtype)
        place = smart.add(smart.mul(stretch, step), smart.cast(step.dtype, lane))
        here = {**points(outer, before), **points([column], [place])}
        inside = in_range(place, column.extent, width)
        own = accumulator(code, found, 1)
        own.begin()
        steps = ceildiv(terms, height)
        count = smart.literal(steps)
        is_short = count is not None and count <= _UNROLLED
        kind = tir.ForKind.UNROLLED if is_short else tir.ForKind.SERIAL
        lane_of_term = smart.cast(terms.dtype, row)
        with code.when(inside), code.loop("k", steps, kind) as number:
            first = smart.mul(number, smart.const(height, terms.dtype))
            term = smart.add(first, lane_of_term)
            with code.when(in_range(term, terms, height)):
                values = split_index(term, [axis.extent for axis in nest.carried])
                at = {**here, **points(nest.carried, values)}
                own.add(nest.value_at(code, found.term, at), _zero(column))
        total = own.total()
        if height > 1:
            total = write_allreduce(code, found.combiner, total, row)
        is_first = smart.eq(row, smart.const(0, row.dtype))
        stores = smart.conjunction(inside, is_not_empty(nest.carried))
        with code.when(smart.conjunction(is_first, stores) if height > 1 else stores):
            own.store(found, here, total)


def _column(spatial: list[Axis]) -> Axis:
    wide = [axis for axis in spatial if axis.size != 1]
    return (wide or spatial)[-1]


def _zero(axis: Axis) -> Expr:
    return smart.const(0, axis.extent.dtype)

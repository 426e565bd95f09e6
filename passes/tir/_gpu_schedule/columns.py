"""The GPU schedule of reductions across what is next to each other.

Each thread has neighbouring results, as many as it accesses at once, and every so
many-th term of them; then the threads with the same results combine what they have.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import i32

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Expr
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.tir._gpu_schedule.allreduce import (
    Accumulator,
    accumulator,
    write_allreduce,
)
from xdsl_tvm.passes.tir._gpu_schedule.device import (
    ENOUGH_BLOCKS,
    WARP,
    Device,
    ceildiv,
    in_range,
    kernel,
    name_of,
    threads_for,
)
from xdsl_tvm.passes.tir._gpu_schedule.results import each_lane
from xdsl_tvm.passes.tir._loops.loop_nest import Axis, Point
from xdsl_tvm.passes.tir._schedule.axes import (
    is_not_empty,
    points,
    product_of,
    split_index,
)
from xdsl_tvm.passes.tir._schedule.reduction import Reduction
from xdsl_tvm.passes.tir.rewriting.loop_code import LoopCode

_ROW_BYTES = 64
"""Neighbouring bytes that are accessed together at least: two sectors."""
_AT_A_TIME = 4
"""So many terms of a thread are loaded before the first of them is used."""
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
    lanes = device.lanes([nest], column)
    units = smart.floordiv(column.extent, smart.const(lanes, column.extent.dtype))
    width = _width(found, column, lanes, device)
    terms = product_of([axis.extent for axis in nest.carried])
    height = threads_for(terms, device.threads // width)
    size = smart.literal(product_of([axis.extent for axis in spatial]))
    if size is not None and size >= _MANY_RESULTS * lanes:
        height = 1
    # Blocks of the same columns follow each other: what they share is in the cache. Not
    # where that needs a quotient by a symbol, which is not proved to tell blocks apart.
    stretches, sizes = ceildiv(units, width), [axis.extent for axis in outer]
    is_inner = smart.literal(stretches) is not None and any(
        smart.literal(extent) is None for extent in sizes
    )
    extents = [*sizes, stretches] if is_inner else [stretches, *sizes]
    with (
        kernel(code, product_of(extents), width, height) as (block, row, lane),
        code.block(name_of([nest])),
    ):
        indices = split_index(block, extents)
        stretch = indices.pop(-1 if is_inner else 0)
        step = smart.const(width, column.extent.dtype)
        unit = smart.add(smart.mul(stretch, step), smart.cast(step.dtype, lane))
        first = smart.mul(unit, smart.const(lanes, step.dtype))

        def here(lane: Expr) -> Point:
            place = smart.add(first, smart.cast(first.dtype, lane))
            return {**points(outer, indices), **points([column], [place])}

        inside = in_range(unit, units, width)
        own = accumulator(code, found, lanes)
        own.begin()
        _add_terms(code, found, own, height, inside, row, here)
        if height > 1:
            for number in range(lanes):
                place = smart.const(number, i32)
                mine = code.load(own.buffer, place)
                total = write_allreduce(code, found.combiner, mine, row)
                code.store(total, own.buffer, place)
        is_first = smart.eq(row, smart.const(0, row.dtype))
        stores = smart.conjunction(inside, is_not_empty(nest.carried))
        if height > 1:
            stores = smart.conjunction(is_first, stores)
        with code.when(stores), each_lane(code, lanes) as lane:
            own.store(found, here(lane), code.load(own.buffer, lane))


def _add_terms(
    code: LoopCode,
    found: Reduction,
    own: Accumulator,
    height: int,
    inside: Expr,
    row: Expr,
    here: Callable[[Expr], Point],
) -> None:
    """Every so many-th term of neighbouring results, some of them at a time."""
    carried = found.nest.carried
    terms = product_of([axis.extent for axis in carried])
    steps = ceildiv(terms, height)
    count = smart.literal(steps)
    is_short = count is not None and count <= _UNROLLED
    some = 1 if is_short else _AT_A_TIME
    kind = tir.ForKind.UNROLLED if is_short else tir.ForKind.SERIAL
    with (
        code.when(inside),
        code.loop("k", ceildiv(terms, height * some), kind) as group,
        code.loop("u", smart.const(some, terms.dtype), tir.ForKind.UNROLLED) as step,
    ):
        number = smart.add(smart.mul(group, smart.const(some, terms.dtype)), step)
        start = smart.mul(number, smart.const(height, terms.dtype))
        term = smart.add(start, smart.cast(terms.dtype, row))
        with code.when(in_range(term, terms, height * some)):
            values = split_index(term, [axis.extent for axis in carried])
            at = points(carried, values)
            with each_lane(code, own.lanes) as lane:
                point = {**here(lane), **at}
                own.add(found.nest.value_at(code, found.term, point), lane)


def _width(found: Reduction, column: Axis, lanes: int, device: Device) -> int:
    """How many threads are next to each other.

    A warp, or fewer where there would be too few blocks, but as many as access some
    neighbouring bytes of a row.
    """
    units = smart.floordiv(column.extent, smart.const(lanes, column.extent.dtype))
    width = threads_for(units, min(WARP, device.threads))
    results = smart.literal(product_of([axis.extent for axis in found.nest.spatial]))
    if results is None:
        return width
    least = max(_ROW_BYTES // (lanes * tir.bytes_of_lane(found.dtype)), 1)
    while width > least and results < width * lanes * ENOUGH_BLOCKS:
        width //= 2
    return width


def _column(spatial: list[Axis]) -> Axis:
    wide = [axis for axis in spatial if axis.size != 1]
    return (wide or spatial)[-1]

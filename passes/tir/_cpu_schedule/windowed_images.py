"""Elements of the image that the next tile of a convolution reads, fetched before.

It is for images that are read once: each tile reads other elements, from a cache far away
or from memory, and the processor fetches little of many short runs by itself.
"""

from __future__ import annotations

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Expr
from xdsl_tvm.passes.tir._cpu_schedule.fetching import INTO_FIRST_CACHE, fetch
from xdsl_tvm.passes.tir._cpu_schedule.windowed_pairs import PAIR
from xdsl_tvm.passes.tir._cpu_schedule.windowed_tiles import ForEach, TileCode
from xdsl_tvm.passes.tir._loops.loop_nest import Axis, Point
from xdsl_tvm.passes.tir._schedule.axes import split_index


def fetch_next_image(
    whole: TileCode, for_each: ForEach, terms: Point, axis: Axis, number: Expr
) -> None:
    """Fetch some columns of the next tile, at an iteration over channels.

    `terms` are values on the other axes of terms, `number` that of the iteration over
    `axis`. The iterations of one loop fetch a block of channels of all columns.
    """
    load = whole.streamed_image
    if load is None:
        return
    tile, code = for_each.tile, whole.code
    row, column = whole.found.batch[-1], whole.column
    columns = whole.number(tile.size - 1)
    steps = (axis.size or 1) // (1 if whole.pairs is None else PAIR)
    first = _next_tile(whole, for_each)
    for low in range(0, tile.size, steps):
        place = smart.add(smart.cast(columns.dtype, number), whole.number(low))
        if low + steps > tile.size:
            place = smart.minimum(place, columns)
        at = {
            **for_each.batch(whole.number(0)),
            **terms,
            axis.variable: smart.const(0, axis.variable.type),
            whole.lane.variable: smart.const(0, whole.lane.variable.type),
            row.variable: first[row.variable],
            column.variable: smart.add(first[column.variable], place),
        }
        indices = whole.found.nest.indices_at(load, at)
        fetch(code, load.buffer, indices, INTO_FIRST_CACHE)


def _next_tile(whole: TileCode, for_each: ForEach) -> Point:
    """The row and the first column of the tile that follows, in this row or the next;
    those of the last columns of all for the last one."""
    tile, row, column = for_each.tile, whole.found.batch[-1], whole.column
    here = for_each.point[row.variable]
    length = smart.const(whole.length, here.dtype)
    size = smart.const(tile.size, here.dtype)
    flat = smart.add(smart.mul(here, length), smart.cast(here.dtype, tile.first))
    last = smart.sub(smart.mul(row.extent, length), size)
    after = smart.minimum(smart.add(flat, size), last)
    y, x = split_index(after, [row.extent, length])
    return {row.variable: y, column.variable: smart.cast(column.variable.type, x)}

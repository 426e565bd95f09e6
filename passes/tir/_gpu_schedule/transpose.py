"""The GPU schedule of copies that swap the axis along which elements are neighbours.

Where both extents are a multiple of what a thread accesses at once, a thread has a small
square of elements in registers: it loads neighbours along one axis, and stores neighbours
along the other. A warp is 8 threads along the loads and 4 along the stores, so that each
of its accesses moves whole sectors of memory, on both sides; nothing is shared.

Else a block of threads reads a square tile by its rows and writes it by its columns, an
element at a time, so that both sides move whole stretches of memory. Rows of the tile in
shared memory are one element longer than a multiple of the banks, so that the elements of
a column are in banks of their own.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Expr
from xdsl_tvm.dialects import tir
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
from xdsl_tvm.passes.tir._loops.loop_nest import Point
from xdsl_tvm.passes.tir._schedule.axes import points, product_of, split_index
from xdsl_tvm.passes.tir._schedule.transpose import Transpose
from xdsl_tvm.passes.tir.rewriting.loop_code import LoopCode

_ROWS = 8
"""Rows of threads of a block at most: each has several elements."""
_ALONG_LOADS = 8
"""Threads of a warp along the loads, where each has a square of elements."""
_SIDE_BYTES = 16
"""The most bytes of a side of such a square: larger ones take too many registers."""


@contextmanager
def _launched(
    code: LoopCode, outer: Sequence[Expr], tiles: Sequence[Expr], side: int, rows: int
) -> Generator[tuple[Sequence[Expr], Expr, Expr]]:
    """Blocks of threads: the indices of the outer axes and of the tile, row and lane.

    Of three symbolic extents, or two of outer axes, rows and columns of tiles are axes of
    blocks of their own. Their quotients in one axis would not be proved to be apart.
    """
    extents = [*outer, *tiles]
    symbolic = [smart.literal(each) is None for each in extents]
    if sum(symbolic) <= 2 and sum(symbolic[: len(outer)]) < 2:
        with kernel(code, product_of(extents), side, rows) as (block, row, lane):
            yield split_index(block, extents), row, lane
        return
    down, across = tiles
    with (
        code.loop("bz", across, thread="blockIdx.z") as column,
        code.loop("by", down, thread="blockIdx.y") as line,
        kernel(code, product_of(outer), side, rows) as (block, row, lane),
    ):
        yield [*split_index(block, outer), line, column], row, lane


def schedule_transpose(code: LoopCode, found: Transpose, device: Device) -> None:
    """Write such a copy as a kernel."""
    dtype = tir.buffer_definition(found.store.buffer).type.element_type
    most = _SIDE_BYTES // tir.bytes_of_lane(dtype)
    side = min(device.lanes_of(found.nest), most)
    sizes = found.loaded.size, found.stored.size
    if side > 1 and all(size is not None and size % side == 0 for size in sizes):
        _write_squares(code, found, side, device)
    else:
        _write_tiles(code, found, device)


def _write_squares(code: LoopCode, found: Transpose, side: int, device: Device) -> None:
    """A thread for each square, by way of registers."""
    nest, loaded, stored = found.nest, found.loaded, found.stored
    others = [axis for axis in nest.axes if axis not in (loaded, stored)]
    outer = [axis.extent for axis in others]
    squares = [ceildiv(axis.extent, side) for axis in (stored, loaded)]
    columns = threads_for(squares[1], min(_ALONG_LOADS, device.threads))
    rows = threads_for(squares[0], device.threads // columns)

    def tiles() -> list[Expr]:
        return [ceildiv(squares[0], rows), ceildiv(squares[1], columns)]

    def are_few() -> bool:
        blocks = smart.literal(product_of([*outer, *tiles()]))
        return blocks is not None and blocks < ENOUGH_BLOCKS

    while rows * columns > WARP and are_few():
        rows //= 2
    dtype = tir.buffer_definition(found.store.buffer).type.element_type
    with (
        _launched(code, outer, tiles(), columns, rows) as (place, row, column),
        code.block(name_of([nest])),
    ):
        *before, tile_row, tile_column = place
        here = points(others, before)
        index = row.dtype
        width = smart.const(side, index)

        def of_thread(tile: Expr, threads: int, thread: Expr) -> Expr:
            first = smart.mul(smart.cast(index, tile), smart.const(threads, index))
            return smart.add(first, thread)

        line = of_thread(tile_row, rows, row)
        across = of_thread(tile_column, columns, column)

        def point(down: Expr, right: Expr) -> Point:
            at = [
                smart.add(smart.mul(line, width), down),
                smart.add(smart.mul(across, width), right),
            ]
            return {**here, **points([stored, loaded], at)}

        square = code.alloc("square", [side, side], dtype, "local")
        inside = smart.conjunction(
            in_range(line, squares[0], rows), in_range(across, squares[1], columns)
        )
        with code.when(inside):
            with (
                code.loop("u", width, tir.ForKind.UNROLLED) as down,
                code.loop("v", width, tir.ForKind.VECTORIZED) as right,
            ):
                value = nest.value_at(code, found.load.op.results[0], point(down, right))
                code.store(value, square, down, right)
            with (
                code.loop("u", width, tir.ForKind.UNROLLED) as right,
                code.loop("v", width, tir.ForKind.VECTORIZED) as down,
            ):
                here_of = point(down, right)
                indices = [nest.tree_at(each, here_of) for each in found.store.indices]
                value = code.load(square, down, right)
                code.store(value, found.store.buffer, *indices)


def _write_tiles(code: LoopCode, found: Transpose, device: Device) -> None:
    """An element of a tile at a time, by way of shared memory."""
    nest, loaded, stored = found.nest, found.loaded, found.stored
    others = [axis for axis in nest.axes if axis not in (loaded, stored)]
    side = min(WARP, device.threads)
    rows = max(min(_ROWS, device.threads // side, side), 1)
    extents = [axis.extent for axis in others]
    tiles = [ceildiv(stored.extent, side), ceildiv(loaded.extent, side)]
    dtype = tir.buffer_definition(found.store.buffer).type.element_type
    with (
        _launched(code, extents, tiles, side, rows) as (place, row, lane),
        code.block(name_of([nest])),
    ):
        *before, tile_row, tile_column = place
        here = points(others, before)
        tile = code.alloc("tile", [side * (side + 1)], dtype, "shared")
        index = row.dtype
        width = smart.const(side, index)

        def corner(tile_index: Expr) -> Expr:
            return smart.mul(smart.cast(index, tile_index), width)

        first_row, first_column = corner(tile_row), corner(tile_column)

        def at(row_of: Expr, column_of: Expr) -> tuple[Point, Expr]:
            """The point of a place of the tile, and whether there is one."""
            place = points([stored, loaded], [row_of, column_of])
            inside = smart.conjunction(
                in_range(place[stored.variable], stored.extent, side),
                in_range(place[loaded.variable], loaded.extent, side),
            )
            return {**here, **place}, inside

        def in_tile(line: Expr, column: Expr) -> Expr:
            length = smart.const(side + 1, index)
            return smart.add(smart.mul(line, length), column)

        steps = smart.const(side // rows, index)
        step = smart.const(rows, index)
        with code.loop("u", steps, tir.ForKind.UNROLLED) as number:
            line = smart.add(smart.mul(number, step), row)
            point, inside = at(smart.add(first_row, line), smart.add(first_column, lane))
            with code.when(inside):
                value = nest.value_at(code, found.load.op.results[0], point)
                code.store(value, tile, in_tile(line, lane))
        with code.loop("u", steps, tir.ForKind.UNROLLED) as number:
            line = smart.add(smart.mul(number, step), row)
            point, inside = at(smart.add(first_row, lane), smart.add(first_column, line))
            with code.when(inside):
                indices = [nest.tree_at(each, point) for each in found.store.indices]
                value = code.load(tile, in_tile(lane, line))
                code.store(value, found.store.buffer, *indices)

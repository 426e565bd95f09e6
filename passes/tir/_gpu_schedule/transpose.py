"""The GPU schedule of copies that swap the axis along which elements are neighbours.

Where both extents are a multiple of what a thread accesses at once, a thread has a small
square of elements in registers: it loads neighbours along one axis, and stores neighbours
along the other. A warp is 8 threads along the loads and 4 along the stores, so that each
of its accesses moves whole sectors of memory, on both sides; nothing is shared.

Else a block of threads reads a square tile by its rows and writes it by its columns, so
that both sides move whole stretches of memory. Each side goes by the widest piece that
divides its extent, 16 bytes where it is a multiple of that and an element where nothing
is known of it; lines and pieces outside are left out. Rows of the tile in shared memory
are one element longer than a multiple of the banks, so that the elements of a column are
in banks of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from math import gcd

from xdsl.ir import SSAValue

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
from xdsl_tvm.passes.tir._loops.loop_nest import Axis, Point
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
        widths = [1 if size is None else gcd(size, side) for size in sizes]
        _write_tiles(code, found, device, *widths)


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


def _write_tiles(
    code: LoopCode, found: Transpose, device: Device, load_width: int, store_width: int
) -> None:
    """A piece of a tile at a time on each side, by way of shared memory."""
    nest, loaded, stored = found.nest, found.loaded, found.stored
    others = [axis for axis in nest.axes if axis not in (loaded, stored)]
    side = min(WARP, device.threads)
    load_width, store_width = min(load_width, side), min(store_width, side)
    widest = max(load_width, store_width)
    rows = max(min(_ROWS, device.threads // side, side // widest), 1)
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

        def number(value: int) -> Expr:
            return smart.const(value, index)

        def corner(tile_index: Expr) -> Expr:
            return smart.mul(smart.cast(index, tile_index), number(side))

        first_row, first_column = corner(tile_row), corner(tile_column)

        def at(row_of: Expr, column_of: Expr) -> Point:
            """The point of a place of the tile."""
            place = points([stored, loaded], [row_of, column_of])
            return {**here, **place}

        def inside(point: Point) -> Expr:
            """Whether there is a point; of a piece, whether there is its first one."""
            return smart.conjunction(
                in_range(point[stored.variable], stored.extent, side),
                in_range(point[loaded.variable], loaded.extent, side),
            )

        def in_tile(line: Expr, column: Expr) -> Expr:
            return smart.add(smart.mul(line, number(side + 1)), column)

        @contextmanager
        def pieces(width: int) -> Generator[tuple[Expr, Expr]]:
            """The lines of a thread, and where its piece of them begins."""
            lines = rows * width
            with code.loop("u", number(side // lines), tir.ForKind.UNROLLED) as step:
                first = smart.mul(step, number(lines))
                line = smart.add(first, smart.mul(row, number(width)))
                if width == 1:
                    yield line, lane
                    return
                count = number(side // width)
                line = smart.add(line, smart.floordiv(lane, count))
                yield line, smart.mul(smart.floormod(lane, count), number(width))

        with pieces(load_width) as (line, column):
            point = at(smart.add(first_row, line), smart.add(first_column, column))
            with code.when(inside(point)):
                _load_piece(code, found, load_width, point, tile, in_tile(line, column))
        with pieces(store_width) as (line, column):
            point = at(smart.add(first_row, column), smart.add(first_column, line))
            with code.when(inside(point)):
                _store_piece(
                    code,
                    found,
                    store_width,
                    point,
                    lambda k: code.load(tile, in_tile(smart.add(column, k), line)),
                )


def _moved(point: Point, axis: Axis, by: Expr) -> Point:
    return {**point, axis.variable: smart.add(point[axis.variable], by)}


def _load_piece(
    code: LoopCode,
    found: Transpose,
    width: int,
    point: Point,
    tile: SSAValue,
    place: Expr,
) -> None:
    """Load neighbours at once, and put them at `place` of a tile and after it."""
    nest, value = found.nest, found.load.op.results[0]
    if width == 1:
        code.store(nest.value_at(code, value, point), tile, place)
        return
    count = smart.const(width, place.dtype)
    dtype = tir.buffer_definition(tile).type.element_type
    piece = code.alloc("piece", [width], dtype, "local")
    with code.loop("v", count, tir.ForKind.VECTORIZED) as lane:
        moved = _moved(point, found.loaded, lane)
        code.store(nest.value_at(code, value, moved), piece, lane)
    with code.loop("v", count, tir.ForKind.UNROLLED) as lane:
        code.store(code.load(piece, lane), tile, smart.add(place, lane))


def _store_piece(
    code: LoopCode,
    found: Transpose,
    width: int,
    point: Point,
    element: Callable[[Expr], Expr],
) -> None:
    """Store elements that are told by their number, at once."""
    nest, target = found.nest, found.store.buffer

    def indices(at: Point) -> list[Expr]:
        return [nest.tree_at(each, at) for each in found.store.indices]

    index = point[found.stored.variable].dtype
    if width == 1:
        code.store(element(smart.const(0, index)), target, *indices(point))
        return
    count = smart.const(width, index)
    dtype = tir.buffer_definition(target).type.element_type
    piece = code.alloc("piece", [width], dtype, "local")
    with code.loop("v", count, tir.ForKind.UNROLLED) as lane:
        code.store(element(lane), piece, lane)
    with code.loop("v", count, tir.ForKind.VECTORIZED) as lane:
        moved = _moved(point, found.stored, lane)
        code.store(code.load(piece, lane), target, *indices(moved))

"""The loops of depthwise convolutions: tiles of two rows and several columns of results.

A result is a sum over its window alone, so that loading elements and weights takes as
long as the products. A tile stays in registers with the weights of the window, and each
element of the image is loaded once for all results of the tile that it is a term of.

All tiles have one code, which LLVM unrolls. It asks once for each row of the image
whether it is inside, and for the terms of the outermost columns whether the tile has
them: at the edges of the image it has not. A row of results is written as soon as it has
all of its terms: LLVM moves the last ones to where results are used, and would keep their
factors until then. A tile at the end of an image may compute results that there are not,
of what is inside of the image, and does not write them.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cached_property
from math import prod

from xdsl.ir import Attribute, SSAValue

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Expr, Value, view
from xdsl_tvm.analysis.arith.linear_equation import linear_form, mentions
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.tir._cpu_schedule.options import MANY_REGISTERS, Machine
from xdsl_tvm.passes.tir._cpu_schedule.windowed import Windowed, places_inside
from xdsl_tvm.passes.tir._cpu_schedule.windowed_tiles import TileCode
from xdsl_tvm.passes.tir._loops.loop_nest import Axis, Point
from xdsl_tvm.passes.tir._schedule.axes import (
    fused_loop,
    points,
    product_of,
    split_index,
)
from xdsl_tvm.passes.tir._schedule.contraction import moving
from xdsl_tvm.passes.tir.rewriting.loop_code import LoopCode

_HEIGHT = 2
"""Rows of a tile."""
_WIDEST = 7
"""Columns of a tile, so that 32 registers hold the results, the weights and the elements
of the image that follow each other in a window."""
_NARROWEST = 3
"""The same for 16 registers."""
_MOST_WEIGHTS = 9
"""Elements of a window that registers hold beside these."""
_DIMENSIONS = 2
"""Of an image, and of the window."""
_TRUE: Expr = smart.const(1, tir.parse_dtype("bool"))
Span = tuple[int, int]
"""Numbers from one up to another one."""


@dataclass(frozen=True)
class Sweep:
    """Where in a dimension of the image the terms of results are."""

    axis: Axis
    """Of the results."""
    window: Axis
    stride: int
    dilation: int
    first: int
    """The place of the first term of the first result."""
    size: int
    """The extent of the image."""

    @staticmethod
    def of(found: Windowed, axis: Axis) -> Sweep | None:
        """The places along an axis, where one of the window moves them as well; else
        None."""
        load = (found.a if found.element is None else found.element).owner
        if not isinstance(load, tir.LoadOp):
            return None
        moved = [
            (view(index, found.nest.trees), extent)
            for index, extent in zip(
                load.indices, tir.buffer_definition(load.buffer).shape, strict=True
            )
        ]
        own = [each for each in moved if mentions(each[0], Value(axis.variable))]
        if len(own) != 1:
            return None
        ((index, size),) = own
        terms = [axis for axis in found.terms if axis.size != 1]
        windows = [each for each in terms if mentions(index, Value(each.variable))]
        if len(windows) != 1:
            return None
        (window,) = windows
        if sum(mentions(each, Value(window.variable)) for each, _ in moved) != 1:
            return None
        variables = [Value(axis.variable), Value(window.variable)]
        form = linear_form(index, variables)
        if form is None or not isinstance(size, int):
            return None
        stride, dilation, first = (
            smart.literal(each)
            for each in (*(form.factors[each] for each in variables), form.base)
        )
        if (
            stride is None
            or dilation is None
            or first is None
            or min(stride, dilation) < 1
        ):
            return None
        return Sweep(axis, window, int(stride), int(dilation), int(first), size)

    def is_inside(self, place: int) -> bool:
        """Whether the image has a place."""
        return 0 <= place < self.size

    def has_all_inside(self, found: Sequence[Span] | None) -> bool:
        """Whether these are the results whose term is inside of the image, for each place
        in the window."""
        results = range(self.axis.size or 0)
        return found is not None and all(
            (low <= number < high)
            == self.is_inside(self.stride * number + self.dilation * y + self.first)
            for y, (low, high) in enumerate(found)
            for number in results
        )

    def count(self, results: int) -> int:
        """How many places are from the first to the last term of neighbouring results."""
        window = self.dilation * ((self.window.size or 0) - 1) + 1
        return self.stride * (results - 1) + window

    def condition(self, start: Expr, offset: Expr, every: int) -> Expr:
        """Whether the image has the place of an offset from the first term of a result,
        which is a multiple of `every`.

        Where it has for all of these, the condition asks for the offset alone.
        """
        last = ((self.axis.size or 0) - 1) // every * every * self.stride + self.first
        low, high = -self.first, self.size - last
        dtype = start.dtype
        place = smart.add(smart.mul(start, smart.const(self.stride, dtype)), offset)
        place = smart.add(place, smart.const(self.first, dtype))
        is_one = _is_between(place, 0, self.size)
        if low >= high:
            return is_one
        return smart.disjunction(_is_between(offset, max(low, 0), high), is_one)


@dataclass(frozen=True)
class RowTile:
    """A tile, and its sums."""

    point: Point
    """The values on the batch axes; that of rows is of its first one."""
    place: Expr
    """The number of its columns in the row."""
    sums: SSAValue


@dataclass(frozen=True)
class RowTiles(TileCode):
    """Writes a depthwise convolution."""

    down: Sweep
    across: Sweep

    @staticmethod
    def of(
        found: Windowed, machine: Machine, outside: Point, code: LoopCode
    ) -> RowTiles | None:
        """A depthwise convolution of images; None for others, and where sums keep their
        order."""
        if not found.is_product or not machine.reassociate or len(found.rows) != 1:
            return None
        moved = moving(found.nest, found.a), moving(found.nest, found.b)
        if not found.batch or any(found.columns[0] not in each for each in moved):
            return None
        row = found.batch[-1]
        if row in moved[1] or row.variable in outside:
            return None
        down, across = (Sweep.of(found, axis) for axis in (row, *found.rows))
        if down is None or across is None or down.dilation != 1:
            return None
        terms = [axis for axis in found.terms if axis.size != 1]
        if {*terms} != {down.window, across.window} or len(terms) != _DIMENSIONS:
            return None
        if found.window is None:
            inside = places_inside((), across.axis, across.window)
        else:
            inside = found.inside if found.window is across.window else None
        above = places_inside(found.outside, down.axis, down.window)
        if not across.has_all_inside(inside) or not down.has_all_inside(above):
            return None
        tiles = RowTiles(found, machine, outside, code, down, across)
        return tiles if tiles.gain else None

    @property
    def gain(self) -> bool:
        """Whether registers hold the weights, there are rows for a tile, and nothing is
        read for rows that the last one has not."""
        weights = prod(axis.size or 0 for axis in self.found.terms)
        if weights > _MOST_WEIGHTS or self.height < _HEIGHT:
            return False
        bias = self.bias
        if bias is None or self.height % _HEIGHT == 0:
            return True
        return bias.epilogue.axes[-3] not in moving(bias.epilogue, bias.bias)

    @property
    def height(self) -> int:
        """The rows of results."""
        return self.down.axis.size or 0

    @cached_property
    def width(self) -> int:
        """Columns of a tile: that which leaves the fewest tiles, and these equal."""
        has_many = self.machine.vector_bytes >= MANY_REGISTERS
        most = _WIDEST if has_many else _NARROWEST
        return -(-self.length // -(-self.length // most))

    @cached_property
    def strip_size(self) -> int:
        """The rows of a strip, in whole tiles: all rows where there are no strips, and
        those of two of them where one has an odd number."""
        size = self.strip or self.height
        if size % _HEIGHT and self.height % (_HEIGHT * size) == 0:
            twice = _HEIGHT * size
            size = twice if twice < self.height else size
        return -(-size // _HEIGHT) * _HEIGHT

    # ---- the whole ----

    def write(self, kind: tir.ForKind) -> None:
        """All tiles."""
        code, row = self.code, self.down.axis.variable
        with self._rows_of_tiles(kind) as point:
            place = point[row]
            has_rows = smart.lt(place, smart.const(self.height, place.dtype))
            with (
                code.when(has_rows if self.height % self.strip_size else _TRUE),
                code.loop("tile", self.number(self.tiles)) as number,
                code.block("tile"),
            ):
                shape = [_HEIGHT, self.width, self.lane.size or 1]
                sums = code.alloc("sums", shape, self.dtype, "local")
                self._write_tile(RowTile(point, number, sums))

    @contextmanager
    def _rows_of_tiles(self, kind: tir.ForKind) -> Generator[Point]:
        """Loops over all but the columns: the values on the batch axes, that of rows for
        the first row of a tile. The last strip may have fewer rows than others."""
        code, row, size = self.code, self.down.axis, self.strip_size
        outer = [a for a in self.found.batch if a.variable not in self.outside]
        dtype = row.variable.type
        height = smart.const(_HEIGHT, dtype)
        count = smart.const(size // _HEIGHT, dtype)
        if self.strip is None:
            axes = [Axis(a.variable, count, a.name) if a is row else a for a in outer]
            with fused_loop(code, axes, kind) as here:
                first = smart.mul(here[row.variable], height)
                yield {**self.outside, **here, row.variable: first}
            return
        *images, block, _ = outer
        strips = smart.const(-(-self.height // size), dtype)
        extents = [*(axis.extent for axis in images), strips, block.extent]
        name = "_".join(axis.name for axis in outer)
        with code.loop(name, product_of(extents), kind) as flat:
            *values, strip, own = split_index(flat, extents)
            point = {**self.outside, **points([*images, block], [*values, own])}
            start = smart.mul(smart.cast(dtype, strip), smart.const(size, dtype))
            with code.loop(row.name, count) as number:
                first = smart.add(start, smart.mul(number, height))
                yield {**point, row.variable: first}

    # ---- a tile ----

    def _write_tile(self, tile: RowTile) -> None:
        """All terms of a tile, row by row of the image."""
        code, down, across = self.code, self.down, self.across
        dtype, places = tile.place.dtype, down.window.size or 0
        with self._unrolled("i", down.count(_HEIGHT), dtype) as i:

            def place(r: Expr) -> Expr:
                """The row of the window that is at the row of the image for a result."""
                return smart.sub(i, smart.mul(r, smart.const(down.stride, dtype)))

            with self._rows() as r, code.when(smart.eq(place(r), self.number(0))):
                self._write_initial(tile, r)
            row = tile.point[down.axis.variable]
            with (
                code.when(down.condition(row, smart.cast(row.dtype, i), _HEIGHT)),
                self._unrolled("c", self.width, dtype) as c,
                self._unrolled("w", across.window.size or 0, dtype) as w,
            ):
                offset = smart.add(
                    smart.mul(c, smart.const(across.stride, dtype)),
                    smart.mul(w, smart.const(across.dilation, dtype)),
                )
                start = smart.mul(tile.place, self.number(self.width))
                with (
                    code.when(across.condition(start, offset, self.width)),
                    self._rows() as r,
                    code.when(_is_between(place(r), 0, places)),
                ):
                    self._add_term(tile, (r, c), i, place(r), w)
            with (
                self._rows() as r,
                code.when(smart.eq(place(r), self.number(places - 1))),
            ):
                self._write_results(tile, r)

    def _write_initial(self, tile: RowTile, r: Expr) -> None:
        """Set the sums of a row to what they are before their terms."""
        with self._unrolled("c", self.width, r.dtype) as c, self._lanes() as v:
            at = self._result(tile, r, c, v)
            self.code.store(self.initial(at), tile.sums, r, c, v)

    def _add_term(
        self, tile: RowTile, result: tuple[Expr, Expr], i: Expr, y: Expr, w: Expr
    ) -> None:
        """Add an element of a row of the image times a weight to a result."""
        code, nest, found, (r, c) = self.code, self.found.nest, self.found, result
        element = found.a if found.element is None else found.element
        with self._lanes() as v:
            # The place in the window is not of it where that is no row of the first
            # result; the row of the image is that for all results.
            first = self._at(tile, smart.const(0, r.dtype), c, v, i, w)
            image = nest.value_at(code, element, first)
            weight = nest.value_at(code, found.b, self._at(tile, r, c, v, y, w))
            before = code.load(tile.sums, r, c, v)
            total = self.machine.multiply_add(image, weight, before)
            code.store(total, tile.sums, r, c, v)

    def _write_results(self, tile: RowTile, r: Expr) -> None:
        """Write a row of results, and what follows on them."""
        code, row = self.code, tile.point[self.down.axis.variable]
        row = smart.add(row, smart.cast(row.dtype, r))
        start = smart.mul(tile.place, self.number(self.width))
        with (
            code.when(_has(row, r, self.height, _HEIGHT)),
            self._unrolled("c", self.width, r.dtype) as c,
            code.when(_has(smart.add(start, c), c, self.length, self.width)),
            self._lanes() as v,
        ):
            at = self._result(tile, r, c, v)
            self.finish(code.load(tile.sums, r, c, v), at)

    # ---- places in a tile ----

    def _rows(self) -> AbstractContextManager[Expr]:
        return self._unrolled("r", _HEIGHT, self.column.variable.type)

    def _unrolled(
        self, name: str, count: int, dtype: Attribute
    ) -> AbstractContextManager[Expr]:
        return self.code.unrolled(name, smart.const(count, dtype))

    def _lanes(self) -> AbstractContextManager[Expr]:
        return self.code.loop("v", self.lane.extent, tir.ForKind.VECTORIZED)

    def _result(self, tile: RowTile, r: Expr, c: Expr, v: Expr) -> Point:
        """The values on the axes of the results."""
        row, lane = self.down.axis.variable, self.lane.variable
        first = smart.mul(tile.place, self.number(self.width))
        return {
            **tile.point,
            row: smart.add(tile.point[row], smart.cast(row.type, r)),
            **self.element(smart.add(first, smart.cast(first.dtype, c))),
            lane: smart.cast(lane.type, v),
        }

    def _at(self, tile: RowTile, r: Expr, c: Expr, v: Expr, y: Expr, w: Expr) -> Point:
        """The same, and a place in the window."""
        down, across = self.down.window.variable, self.across.window.variable
        return {
            **self._result(tile, r, c, v),
            down: smart.cast(down.type, y),
            across: smart.cast(across.type, w),
        }


def _has(number: Expr, offset: Expr, size: int, every: int) -> Expr:
    """Whether there is a result, of an offset from the first one of a tile of `every` one
    that are there or not."""
    rest = size % every
    if not rest:
        return _TRUE
    is_always = smart.lt(offset, smart.const(rest, offset.dtype))
    return smart.disjunction(is_always, smart.lt(number, smart.const(size, number.dtype)))


def _is_between(value: Expr, low: int, high: int) -> Expr:
    """Whether a value is at least one number and less than another one."""
    first, last = (smart.const(each, value.dtype) for each in (low, high))
    return smart.conjunction(smart.ge(value, first), smart.lt(value, last))

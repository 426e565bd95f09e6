"""The vectors of tiles of convolutions, and where in the image they are.

`windowed_loops.py` writes what is computed of them.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from xdsl.ir import SSAValue

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Expr, view
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.tir._cpu_schedule.options import LEFT_TO_LLVM
from xdsl_tvm.passes.tir._cpu_schedule.windowed_pairs import PAIR, Pairs, Panel
from xdsl_tvm.passes.tir._cpu_schedule.windowed_tiling import Tiling
from xdsl_tvm.passes.tir._loops.loop_nest import Nest, Point
from xdsl_tvm.passes.tir.rewriting.loop_code import LoopCode


@dataclass(frozen=True)
class Tile:
    """Neighbouring columns of a row."""

    first: Expr
    size: int
    valid: tuple[tuple[int, int], ...] | None
    """For each place in the window, the columns that are inside; None where all are."""
    place: Expr | None = None
    """The number of the tile in its row."""


@dataclass(frozen=True)
class Later:
    """A part of the weight that the next step reads."""

    point: Point
    """The values on the axes of that step."""
    part: Expr
    parts: int
    """How many tiles there are, each of which fetches a part."""


@dataclass(frozen=True)
class Step:
    """An iteration of the outer loop."""

    point: Point
    following: Point | None = None
    """That which follows, where what it reads of the weight is fetched."""
    panel: Panel | None = None
    """The weight in pairs of terms, where they are added so."""


@dataclass(frozen=True)
class TileCode(Tiling):
    """A convolution, and the code that its tiles are written to."""

    code: LoopCode

    def element(self, number: Expr) -> Point:
        """The values on the axes of the image for an element of a row."""
        *rows, column = self.found.rows
        if not rows:
            return {column.variable: number}
        (row,) = rows
        size = self.number(column.size or 1)
        return {
            row.variable: smart.cast(row.variable.type, smart.floordiv(number, size)),
            column.variable: smart.floormod(number, size),
        }

    def number(self, value: int) -> Expr:
        return smart.const(value, self.column.variable.type)

    def batch(self, point: Point, u: Expr) -> Point:
        """The values on the batch axes for a vector, at a point that has the number of
        such vectors on the shared one."""
        shared = self.shared
        if shared is None:
            return point
        part = point[shared.variable]
        count = smart.const(self.vectors, part.dtype)
        value = smart.add(smart.mul(part, count), smart.cast(part.dtype, u))
        return {**point, shared.variable: value}

    def initial(self, at: Point) -> Expr:
        """What the result at a point is before its terms."""
        assert self.found.reduction.init is not None, "matched"
        if self.bias is None:
            return view(self.found.reduction.init)
        return self.bias.value(self.code, self._place(self.bias.epilogue, at))

    def store_result(self, value: Expr, at: Point) -> None:
        """Write results at a point."""
        result = self.found.reduction.result
        nest = self.found.nest
        indices = [nest.tree_at(index, at) for index in result.indices]
        self.code.store(value, result.buffer, *indices)

    def finish(self, value: Expr, at: Point) -> None:
        """Store the result at a point.

        The epilogue reads it from a register: LLVM does not always find that what it
        would load is what has been stored.
        """
        epilogue, code = self.found.epilogue, self.code
        if epilogue is None:
            self.store_result(value, at)
            return
        buffer, total = self.found.reduction.result.buffer, code.value(value)
        instead: dict[SSAValue, SSAValue] = {
            access.op.results[0]: total
            for access in epilogue.accesses
            if access.buffer is buffer and not access.writes
        }
        if self.bias is not None:
            instead[self.bias.sum] = total
        epilogue.write_body(code, self._place(epilogue, at), instead=instead)

    def _place(self, epilogue: Nest, at: Point) -> Point:
        """The point of the epilogue for the result at a point."""
        nest = self.found.nest
        indices = [nest.tree_at(i, at) for i in self.found.reduction.result.indices]
        axes = zip(epilogue.axes, indices, strict=True)
        return {axis.variable: index for axis, index in axes}


@dataclass(frozen=True)
class ForEach:
    """Loops over the vectors of a tile."""

    convolution: TileCode
    sums: SSAValue
    tile: Tile
    vectors: int
    point: Point
    """The values on the batch axes, that of the shared one divided by `vectors`."""
    later: Later | None = None
    """What is fetched while the terms are added; None where nothing is."""
    panel: Panel | None = None
    """The weight in pairs of terms; None where they are added one by one."""

    def vector(
        self,
        columns: tuple[int, int],
        write: Callable[[Expr, Expr, Expr, Point], None],
        before: Callable[[Expr, Expr], None] | None = None,
    ) -> None:
        """Write for some columns of the tile: column, vector and lane, and the point;
        `before` for column and vector, before the loop over lanes."""
        code, lane = self.convolution.code, self.convolution.lane
        with self._places(columns) as (r, u):
            if before is not None:
                before(r, u)
            with code.loop("v", lane.extent, tir.ForKind.VECTORIZED) as v:
                at = {
                    **self.batch(u),
                    **self._element(r),
                    lane.variable: smart.cast(lane.variable.type, v),
                }
                write(r, u, v, at)

    def columns_of_pairs(
        self, pairs: Pairs, write: Callable[[Expr, Expr, Sequence[Expr]], None]
    ) -> None:
        """Write for all columns, two at a time: the number of the two, the vector, and
        both columns, which are the same where one is left."""
        whole, size = self.convolution, self.tile.size
        for low, count in ((0, size // PAIR), (size // PAIR, size % PAIR)):
            with self._places((low, low + count)) as (q, u):
                first = smart.mul(q, whole.number(PAIR))
                last = smart.minimum(
                    smart.add(first, whole.number(1)), whole.number(size - 1)
                )
                write(q, u, (first, last))

    def vector_of_two(
        self, count: int, write: Callable[[Expr, Expr, Expr, Point], None]
    ) -> None:
        """Write for so many times two columns, whose lanes are one vector: the number of
        the two, vector and lane, and the point."""
        whole = self.convolution
        lane = whole.lane
        lanes = smart.mul(lane.extent, smart.const(PAIR, lane.extent.dtype))
        with (
            self._places((0, count)) as (q, u),
            whole.code.loop("v", lanes, tir.ForKind.VECTORIZED) as v,
        ):
            size = smart.cast(v.dtype, lane.extent)
            column = smart.add(
                smart.mul(q, whole.number(PAIR)),
                smart.cast(q.dtype, smart.floordiv(v, size)),
            )
            at = {
                **self.batch(u),
                **self._element(column),
                lane.variable: smart.cast(lane.variable.type, smart.floormod(v, size)),
            }
            write(q, u, v, at)

    @contextmanager
    def _places(self, columns: tuple[int, int]) -> Generator[tuple[Expr, Expr]]:
        """Loops over some columns of the tile and its vectors."""
        whole = self.convolution
        low, high = (whole.number(each) for each in columns)
        unrolled = tir.ForKind.UNROLLED
        with (
            whole.code.loop(
                "r", smart.sub(high, low), unrolled, low=low, annotations=LEFT_TO_LLVM
            ) as r,
            whole.code.loop(
                "u", whole.number(self.vectors), unrolled, annotations=LEFT_TO_LLVM
            ) as u,
        ):
            yield r, u

    def _element(self, r: Expr) -> Point:
        return self.convolution.element(smart.add(self.tile.first, r))

    def batch(self, u: Expr) -> Point:
        """The values on the batch axes for a vector."""
        return self.convolution.batch(self.point, u)

    def pair(
        self, columns: tuple[int, int], write: Callable[[Expr, Expr, Expr, Point], None]
    ) -> None:
        """The same with the lanes as one vector of indices, for terms in pairs."""
        whole = self.convolution
        assert whole.pairs is not None, "asked for"
        lanes = smart.ramp(whole.number(0), whole.pairs.lanes)
        with self._places(columns) as (r, u):
            write(r, u, lanes, {**self.batch(u), **self._element(r)})

"""The default schedule of copies that swap the axis along which elements are neighbours.

Square tiles as wide as a vector are read by rows, turned over in registers, and written
by columns, so that both sides move whole cache lines. Some lines of the loaded buffer are
read side by side from their beginning to their end, as processors fetch what is read in
order, and each row that is written gets neighbouring lines.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import UnitAttr, f16, i16
from xdsl.ir import Attribute, SSAValue

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Expr, Value
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.tir._cpu_schedule.elementwise import NONTEMPORAL, streams
from xdsl_tvm.passes.tir._cpu_schedule.options import Machine, kind_of
from xdsl_tvm.passes.tir._loops.loop_nest import Access, Axis, Nest, Point
from xdsl_tvm.passes.tir._schedule.axes import fused_loop
from xdsl_tvm.passes.tir._schedule.transpose import Transpose, match_transpose
from xdsl_tvm.passes.tir.rewriting.loop_code import LoopCode

_MOST_LANES = 16
"""Rows of a tile at most: as many vectors are alive at once."""
_LEAST_LANES = 4
_UNIT_BYTES = 16
_BLOCK_BYTES = 128
"""So many bytes of a row are written at a time; as many columns as that are read side by
side from their beginning to their end."""
_MANY = 8
"""Of so many, few are too many."""
_LEAST_SHARE = 0.85
"""What a row has of the columns that are copied for it, some of them twice."""


def match_large_transpose(nest: Nest, machine: Machine) -> Transpose | None:
    """The nest as a copy of that kind with at least a tile, if it is one."""
    found = match_transpose(nest)
    if found is None or machine.lanes(_dtype(found)) < 2:
        return None
    lanes, sizes = _lanes(found, machine), (found.stored.size, found.loaded.size)
    return None if any(size is not None and size < lanes for size in sizes) else found


def _lanes(found: Transpose, machine: Machine) -> int:
    """Rows and columns of a square: fewer where there are not so many."""
    lanes = min(machine.lanes(_dtype(found)), _MOST_LANES)
    sizes = [size for size in (found.stored.size, found.loaded.size) if size is not None]
    while lanes > _LEAST_LANES and any(size < lanes for size in sizes):
        lanes //= 2
    return lanes


def schedule_transpose(
    code: LoopCode, found: Transpose, machine: Machine, *, parallel: bool
) -> None:
    """Write such a copy."""
    others = [a for a in found.nest.axes if a not in (found.stored, found.loaded)]
    hints: dict[str, Attribute] | None = None
    if parallel and streams(found.nest, machine):
        hints = {NONTEMPORAL: UnitAttr()}
    lanes = _lanes(found, machine)
    squares = _squares(found, machine, lanes)
    with fused_loop(code, others, kind_of(parallel and bool(others))) as point:
        kind = kind_of(parallel and not others)
        run = _Tiles(code, found, point, lanes, squares)
        rows, columns = found.loaded, found.stored

        def columns_from(column: Expr, width: int) -> None:
            def rows_from(row: Expr, height: int) -> None:
                run.write_block(row, height, column, width)

            _write_steps(code, rows, lanes, rows_from)

        width = squares * lanes
        most = _BLOCK_BYTES // tir.bytes_of_lane(_dtype(found))
        if columns.size is None or columns.size >= _MANY * most:
            width = max(width, most)
        if kind is tir.ForKind.SERIAL and hints is None:
            _write_steps(code, columns, width, columns_from)
            return
        code.steps(
            columns.name, columns.extent, width, columns_from, kind, annotations=hints
        )


def _write_steps(
    code: LoopCode, axis: Axis, step: int, write: Callable[[Expr, int], None]
) -> None:
    """Strides over an axis, of which the last one ends where the axis does, and so copies
    some elements again."""
    size = axis.size
    if size is None or size % step == 0 or size < step:
        code.steps(axis.name, axis.extent, step, write)
        return
    count, length, last = (
        smart.const(value, axis.extent.dtype)
        for value in (-(-size // step), step, size - step)
    )
    with code.loop(f"{axis.name}.o", count) as number:
        start = smart.minimum(smart.mul(number, length), last)
        write(Value(code.value(start)), step)


def _squares(found: Transpose, machine: Machine, lanes: int) -> int:
    """How many squares are turned over at once, side by side in the lanes of vectors.

    So rows of narrow types are written as whole vectors. Few columns are to remain.
    """
    size = found.stored.size
    squares = machine.lanes(_dtype(found)) // lanes
    while squares > 1 and size is not None:
        columns = squares * lanes
        if size >= columns and _LEAST_SHARE * -(-size // columns) * columns <= size:
            break
        squares //= 2
    return squares


def _dtype(found: Transpose) -> Attribute:
    return tir.buffer_definition(found.store.buffer).type.element_type


@dataclass(frozen=True)
class _Tiles:
    """Writes blocks of tiles at one point of the other axes."""

    code: LoopCode
    found: Transpose
    point: Point
    lanes: int
    squares: int
    """How many squares of so many lanes are side by side in a vector."""

    @property
    def _dtype(self) -> Attribute:
        return _dtype(self.found)

    @property
    def width(self) -> int:
        """Columns of a tile."""
        return self.squares * self.lanes

    def write_block(self, row: Expr, height: int, column: Expr, width: int) -> None:
        """So many rows and columns of the stored buffer."""
        code = self.code
        if height % self.lanes or width % self.width:
            with (
                code.loop("r", smart.const(height, row.dtype)) as r,
                code.loop("c", smart.const(width, column.dtype)) as c,
            ):
                at = self._at(smart.add(row, r), smart.add(column, c))
                self.found.nest.write_instance(code, at)
            return
        step = smart.const(self.width, column.dtype)
        with code.loop("c", smart.const(width // self.width, column.dtype)) as c:
            self._write_tile(row, smart.add(column, smart.mul(c, step)))

    def _at(self, row: Expr, column: Expr) -> Point:
        return {
            **self.point,
            self.found.loaded.variable: row,
            self.found.stored.variable: column,
        }

    def _write_tile(self, row: Expr, column: Expr) -> None:
        code, found = self.code, self.found
        rows = [self._beside(row, column, k) for k in range(self.lanes)]
        for k, vector in enumerate(self._turned(rows)):
            places = self._places(found.store, row, column, k, True)
            value = self._as(self._dtype, vector)
            code.store(value, found.store.buffer, *places)

    def _as(self, dtype: Attribute, vector: Expr) -> Expr:
        """The bits of a vector of f16 as one of integers, or the other way round.

        Nothing is computed, and processors move integers past the caches.
        """
        if self._dtype != f16:
            return vector
        dtype = tir.with_lanes(dtype, tir.lanes_of(vector.dtype))
        return self.code.call("reinterpret", [vector], dtype)

    def _beside(self, row: Expr, column: Expr, number: int) -> SSAValue:
        """Line `number` of each square that is loaded, one after the other."""
        code, load = self.code, self.found.load
        parts: list[SSAValue] = []
        for square in range(self.squares):
            line = square * self.lanes + number
            places = self._places(load, row, column, line, False)
            vector = self._as(i16, code.load(load.buffer, *places))
            parts.append(code.value(vector))
        width = self.lanes
        while len(parts) > 1:
            width *= 2
            halves = zip(parts[::2], parts[1::2], strict=True)
            parts = [self._shuffled(a, b, range(width)) for a, b in halves]
        return parts[0]

    def _places(
        self, access: Access, row: Expr, column: Expr, number: int, stored: bool
    ) -> list[Expr]:
        """The indices of line `number` of a tile, the last a vector."""
        offset = smart.const(number, row.dtype)
        if stored:
            row = smart.add(row, offset)
        else:
            column = smart.add(column, offset)
        *outer, last = [
            self.found.nest.tree_at(index, self._at(row, column))
            for index in access.indices
        ]
        return [*outer, smart.ramp(last, self.width if stored else self.lanes)]

    def _turned(self, rows: list[SSAValue]) -> list[Expr]:
        """The columns of the squares whose rows are the vectors.

        Squares of 16 bytes a side are turned over by interleaving them, which processors
        do within each 16 bytes at once. Then the off-diagonal halves of squares of such
        squares swap places, in rounds in which they double.
        """
        small = min(max(_UNIT_BYTES // tir.bytes_of_lane(self._dtype), 1), self.lanes)
        for first in range(0, self.lanes, small):
            rows[first : first + small] = self._interleaved(rows[first : first + small])
        size, width = small, self.width
        while size < self.lanes:
            lanes = range(width)
            kept = [j if not j & size else width + j - size for j in lanes]
            other = [j + size if not j & size else width + j for j in lanes]
            for k in range(self.lanes):
                if not k & size:
                    a, b = rows[k], rows[k + size]
                    rows[k] = self._shuffled(a, b, kept)
                    rows[k + size] = self._shuffled(a, b, other)
            size *= 2
        return [Value(row) for row in rows]

    def _interleaved(self, rows: list[SSAValue]) -> list[SSAValue]:
        """The columns of the squares of as many lanes as there are rows."""
        size = len(rows)
        half = size // 2
        starts = range(0, self.width, size)
        halves = [
            [
                start + low + lane + other
                for start in starts
                for lane in range(half)
                for other in (0, self.width)
            ]
            for low in (0, half)
        ]
        for _ in range(size.bit_length() - 1):
            rows = [
                self._shuffled(rows[k], rows[k + half], lanes)
                for k in range(half)
                for lanes in halves
            ]
        return rows

    def _shuffled(self, a: SSAValue, b: SSAValue, lanes: Sequence[int]) -> SSAValue:
        return self.code.value(self.code.shuffled([a, b], lanes))

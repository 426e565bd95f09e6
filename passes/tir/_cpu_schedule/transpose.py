"""The default schedule of copies that swap the axis along which elements are neighbours.

Square tiles as wide as a vector are read by rows, turned over in registers, and written
by columns, so that both sides move whole cache lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import UnitAttr, i32
from xdsl.ir import Attribute, SSAValue

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Expr, Ramp, Value
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.tir._cpu_schedule.elementwise import NONTEMPORAL, streams
from xdsl_tvm.passes.tir._cpu_schedule.options import Machine, kind_of
from xdsl_tvm.passes.tir._loops.loop_nest import Access, Axis, Nest, Point
from xdsl_tvm.passes.tir._schedule.axes import fused_loop
from xdsl_tvm.passes.tir._schedule.transpose import Transpose, match_transpose
from xdsl_tvm.passes.tir.rewriting.loop_code import LoopCode

_MOST_LANES = 16
"""Rows of a tile at most: as many vectors are alive at once."""
_BLOCK = 64
"""Tiles are taken in squares of so many elements, for whose pages there is room."""


def match_large_transpose(nest: Nest, machine: Machine) -> Transpose | None:
    """The nest as a copy of that kind with at least a tile, if it is one."""
    found = match_transpose(nest)
    if found is None or machine.lanes(_dtype(found)) < 2:
        return None
    lanes = min(machine.lanes(_dtype(found)), _MOST_LANES)
    sizes = [found.stored.size, found.loaded.size]
    return None if any(size is not None and size < lanes for size in sizes) else found


def schedule_transpose(
    code: LoopCode, found: Transpose, machine: Machine, *, parallel: bool
) -> None:
    """Write such a copy."""
    others = [a for a in found.nest.axes if a not in (found.stored, found.loaded)]
    hints: dict[str, Attribute] | None = None
    if parallel and streams(found.nest, machine):
        hints = {NONTEMPORAL: UnitAttr()}
    lanes = min(machine.lanes(_dtype(found)), _MOST_LANES)
    with fused_loop(code, others, kind_of(parallel and bool(others))) as point:
        kind = kind_of(parallel and not others)
        run = _Tiles(code, found, point, lanes)
        rows, columns = found.loaded, found.stored

        def rows_from(row: Expr, height: int) -> None:
            def columns_from(column: Expr, width: int) -> None:
                run.write_block(row, height, column, width)

            width = _block(columns, lanes)
            code.steps(columns.name, columns.extent, width, columns_from)

        height = _block(rows, lanes)
        code.steps(rows.name, rows.extent, height, rows_from, kind, annotations=hints)


def _block(axis: Axis, lanes: int) -> int:
    """The side of a block along an axis, of which few elements are to remain."""
    return _BLOCK if axis.size is None or axis.size >= 4 * _BLOCK else lanes


def _dtype(found: Transpose) -> Attribute:
    return tir.buffer_definition(found.store.buffer).type.element_type


@dataclass(frozen=True)
class _Tiles:
    """Writes blocks of tiles at one point of the other axes."""

    code: LoopCode
    found: Transpose
    point: Point
    lanes: int

    def write_block(self, row: Expr, height: int, column: Expr, width: int) -> None:
        """A block of so many rows and columns of the stored buffer."""
        code, lanes = self.code, self.lanes
        if height % lanes or width % lanes:
            with (
                code.loop("r", smart.const(height, row.dtype)) as r,
                code.loop("c", smart.const(width, column.dtype)) as c,
            ):
                at = self._at(smart.add(row, r), smart.add(column, c))
                self.found.nest.write_instance(code, at)
            return
        step = smart.const(lanes, row.dtype)
        with (
            code.loop("c", smart.const(width // lanes, row.dtype)) as c,
            code.loop("r", smart.const(height // lanes, row.dtype)) as r,
        ):
            self._write_tile(
                smart.add(row, smart.mul(r, step)), smart.add(column, smart.mul(c, step))
            )

    def _at(self, row: Expr, column: Expr) -> Point:
        return {
            **self.point,
            self.found.loaded.variable: row,
            self.found.stored.variable: column,
        }

    def _write_tile(self, row: Expr, column: Expr) -> None:
        code, found, lanes = self.code, self.found, self.lanes
        vectors = [
            code.load(found.load.buffer, *self._places(found.load, row, column, k, False))
            for k in range(lanes)
        ]
        for k, vector in enumerate(self._turned(vectors)):
            places = self._places(found.store, row, column, k, True)
            code.store(vector, found.store.buffer, *places)

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
        dtype = tir.with_lanes(last.dtype, self.lanes)
        return [*outer, Ramp(dtype, last, smart.const(1, last.dtype))]

    def _turned(self, vectors: Sequence[Expr]) -> list[Expr]:
        """The columns of the matrix whose rows are the vectors.

        In each round, the off-diagonal halves of squares swap places, which double.
        """
        rows = [self.code.value(vector) for vector in vectors]
        size = 1
        while size < self.lanes:
            for k in range(self.lanes):
                if k & size:
                    continue
                upper, lower = rows[k], rows[k + size]
                lanes = range(self.lanes)
                first = [j if not j & size else self.lanes + j - size for j in lanes]
                second = [j + size if not j & size else self.lanes + j for j in lanes]
                rows[k] = self._shuffled(upper, lower, first)
                rows[k + size] = self._shuffled(upper, lower, second)
            size *= 2
        return [Value(row) for row in rows]

    def _shuffled(self, a: SSAValue, b: SSAValue, lanes: Sequence[int]) -> SSAValue:
        indices = [self.code.value(smart.const(lane, i32)) for lane in lanes]
        op = tir.ShuffleOp([a, b], indices, a.type)
        self.code.insert(op)
        return op.result

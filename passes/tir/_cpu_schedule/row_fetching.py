"""Rows of memory that are fetched while the row before them is computed.

Nests that share rows read a row from memory in the first of them and compute on it, in
the cache, in the others. Meanwhile memory has nothing to do: the last nest that reads a
row fetches the next one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import SSAValue

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.tir._cpu_schedule.fetching import (
    INTO_FIRST_CACHE,
    INTO_SECOND_CACHE,
    LINE_BYTES,
    fetch,
)
from xdsl_tvm.passes.tir._cpu_schedule.options import Machine
from xdsl_tvm.passes.tir._loops.loop_nest import Access, Axis, Nest, Point
from xdsl_tvm.passes.tir._schedule.maps import is_lazy, is_map
from xdsl_tvm.passes.tir.rewriting.loop_code import LoopCode

_LEAST_BYTES = 1 << 20
"""Of a buffer whose rows are fetched: smaller ones are in caches."""


@dataclass(frozen=True)
class RowFetches:
    """What a map fetches at each step of its innermost loop."""

    nest: Nest
    loads: tuple[Access, ...]
    hints: Sequence[int]
    following: Point
    """Where the next row is, by the variables of the rows."""

    def write(self, code: LoopCode, at: Point, axis: Axis, length: int) -> None:
        """Fetch the lines of the next row of `length` elements from `at` on."""
        start = at[axis.variable]
        for load in self.loads:
            element = tir.buffer_definition(load.buffer).type.element_type
            per_line = max(LINE_BYTES // tir.bytes_of_lane(element), 1)
            for offset in range(0, length, per_line):
                place = smart.add(start, smart.const(offset, start.dtype))
                here = {**at, **self.following, axis.variable: place}
                indices = [self.nest.tree_at(index, here) for index in load.indices]
                fetch(code, load.buffer, indices, self.hints)


def row_fetches(
    group: Sequence[Nest],
    number: int,
    rows: Sequence[Axis],
    point: Point,
    machine: Machine,
) -> RowFetches | None:
    """What the nest of that number fetches at a point of the rows that a group shares.

    `rows` are its own axes of these, of which the last wide one moves.
    """
    nest = group[number]
    wide = [axis for axis in rows if axis.size != 1]
    if not wide or not is_map(nest) or is_lazy(nest):
        return None
    free = [axis for axis in nest.axes if axis.variable not in point]
    inner = next((axis for axis in reversed(free) if axis.size != 1), None)
    if inner is None:
        return None
    before = {access.buffer for each in group[:number] for access in each.accesses}
    after = {access.buffer for each in group[number + 1 :] for access in each.accesses}
    written = {buffer for each in group for buffer in each.written}
    loads: dict[SSAValue, Access] = {}
    hints = INTO_FIRST_CACHE
    for access in nest.accesses:
        buffer = access.buffer
        if access.writes or buffer in written or buffer in after or buffer not in before:
            continue
        if access.step(inner) != 1 or access.step(wide[-1]) == 0:
            continue
        type_ = tir.buffer_definition(buffer).type
        shape, size = type_.get_shape(), tir.bytes_of_lane(type_.element_type)
        sizes = [axis.size for axis in free if access.step(axis) != 0]
        if DYNAMIC_INDEX in shape or None in sizes or prod(shape) * size < _LEAST_BYTES:
            continue
        row = prod(known or 1 for known in sizes) * size
        if row > machine.second_cache_bytes // 4:
            continue
        if row > machine.first_cache_bytes // 3:
            hints = INTO_SECOND_CACHE
        loads[buffer] = access
    if not loads:
        return None
    last = wide[-1]
    one = smart.const(1, last.extent.dtype)
    following = smart.minimum(
        smart.add(point[last.variable], one), smart.sub(last.extent, one)
    )
    return RowFetches(nest, tuple(loads.values()), hints, {last.variable: following})

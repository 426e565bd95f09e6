"""The GPU schedule of rows: reductions along neighbours, and what uses them.

Nests that follow each other share a kernel where they share rows, as those of softmax
and of norms do. A row has the threads of a warp, up to `warp_row` elements, or else
those of a block. Each thread has every so many-th stretch of neighbours of a row, the
same ones in all nests. It reduces its own first; then all threads of the row reduce what
they have, and all of them know the result.

What nests hand on to later ones, and nothing else reads, is not in memory: a result of a
row is with each thread, and so are the elements of a thread, for rows of up to
`row_in_registers` elements. Longer rows are written to memory, and each thread reads back
what it has written itself.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

from xdsl.dialects.builtin import i32
from xdsl.ir import Attribute, SSAValue

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Expr, Value, leaf_values, substitute
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.tir._gpu_schedule.allreduce import (
    accumulator,
    match_combined,
    write_allreduce,
)
from xdsl_tvm.passes.tir._gpu_schedule.device import (
    WARP,
    Device,
    ceildiv,
    in_range,
    is_vectorizable,
    kernel,
    name_of,
    threads_for,
)
from xdsl_tvm.passes.tir._loops.loop_nest import Axis, Nest, Point
from xdsl_tvm.passes.tir._schedule.axes import (
    is_not_empty,
    points,
    product_of,
    split_index,
)
from xdsl_tvm.passes.tir._schedule.maps import is_map
from xdsl_tvm.passes.tir._schedule.reduction import Reduction
from xdsl_tvm.passes.tir._schedule.rows import are_separated
from xdsl_tvm.passes.tir.rewriting.loop_code import LoopCode

_UNROLLED = 8
"""Steps of a row that are unrolled; more are a loop, but where registers hold a row."""


@dataclass(frozen=True)
class RowNest:
    """A nest as rows, and what it does along each of them."""

    nest: Nest
    rows: tuple[Axis, ...]
    columns: tuple[Axis, ...]
    reduction: Reduction | None

    @property
    def wide(self) -> tuple[Axis, ...]:
        return tuple(axis for axis in self.columns if axis.size != 1)


@dataclass(frozen=True)
class Rows:
    """Nests that share rows."""

    nests: tuple[RowNest, ...]
    of_row: frozenset[SSAValue]
    """Buffers with an element for a row, which the nests write."""
    of_column: frozenset[SSAValue]
    """Buffers with an element for each place of a row, which the nests write."""


def match_rows(nests: Sequence[Nest]) -> Rows | None:
    """Nests as rows, of which at least one reduces, if they are that."""
    reductions = [match_combined(nest) for nest in nests]
    first = next((each for each in reductions if each is not None), None)
    if first is None:
        return None
    depth = len(first.nest.spatial)
    found: list[RowNest] = []
    for nest, reduction in zip(nests, reductions, strict=True):
        one = _as_rows(nest, reduction, depth)
        if one is None:
            return None
        found.append(one)
    if not all(_is_along_row(each) for each in reductions if each is not None):
        return None
    if len(found) > 1 and not _share_rows(found):
        return None
    return _with_buffers(found)


def _as_rows(nest: Nest, reduction: Reduction | None, depth: int) -> RowNest | None:
    if reduction is not None:
        if len(nest.spatial) != depth:
            return None
        return RowNest(nest, nest.spatial, nest.carried, reduction)
    if not is_map(nest) or len(nest.axes) < depth:
        return None
    return RowNest(nest, nest.axes[:depth], nest.axes[depth:], None)


def _is_along_row(found: Reduction) -> bool:
    """Whether neighbouring terms are next to each other, or results are not."""
    terms = [a for a in found.nest.accesses if a.buffer is not found.result.buffer]
    wide = [axis for axis in found.nest.carried if axis.size != 1]
    results = [axis for axis in found.nest.spatial if axis.size != 1]
    if not wide or not results:
        return True
    along = any(access.step(wide[-1]) == 1 for access in terms)
    across = any(access.step(results[-1]) == 1 for access in terms)
    return along or not across


def _share_rows(found: Sequence[RowNest]) -> bool:
    """Whether different rows have nothing to do with each other, in all nests."""
    for level in zip(*(one.rows for one in found), strict=True):
        if any(axis.extent is not level[0].extent for axis in level):
            return False
        if any(axis.variable.type != level[0].variable.type for axis in level):
            return False
        if not are_separated([one.nest for one in found], level):
            return False
    columns = [one.columns for one in found if one.columns]
    for before, after in pairwise(columns):
        if [axis.extent for axis in before] != [axis.extent for axis in after]:
            return False
        if [a.variable.type for a in before] != [a.variable.type for a in after]:
            return False
    written: set[SSAValue] = set()
    for one in found:
        if written and written.isdisjoint(a.buffer for a in one.nest.accesses):
            return False
        written |= one.nest.written
    return True


def _with_buffers(found: Sequence[RowNest]) -> Rows | None:
    """The buffers that the nests write, if threads need nothing of each other's."""
    model = next(one for one in found if one.columns)
    variables = [Value(axis.variable) for axis in (*found[0].rows, *model.columns)]
    columns = {axis.variable for axis in model.columns}
    places: dict[SSAValue, set[tuple[Expr, ...]]] = {}
    first_written: dict[SSAValue, int] = {}
    first_read: dict[SSAValue, int] = {}
    for number, one in enumerate(found):
        own = [Value(axis.variable) for axis in (*one.rows, *one.columns)]
        known: dict[Expr, Expr] = dict(zip(own, variables, strict=False))
        for access in one.nest.accesses:
            indices = tuple(substitute(index, known) for index in access.indices)
            places.setdefault(access.buffer, set()).add(indices)
            (first_written if access.writes else first_read).setdefault(
                access.buffer, number
            )
    of_row: set[SSAValue] = set()
    of_column: set[SSAValue] = set()
    for buffer, number in first_written.items():
        if len(places[buffer]) != 1:
            return None
        (indices,) = places[buffer]
        if not columns.isdisjoint(leaf_values(*indices)):
            of_column.add(buffer)
            continue
        # A thread may still read what the first one has stored already.
        if first_read.get(buffer, number) < number:
            return None
        of_row.add(buffer)
    for one in found:
        reduction = one.reduction
        if reduction is not None and reduction.result.buffer in of_column:
            return None
        if not _knows_results(one, of_row, len(found)):
            return None
    return Rows(tuple(found), frozenset(of_row), frozenset(of_column))


def _knows_results(one: RowNest, of_row: set[SSAValue], count: int) -> bool:
    """Whether a nest makes all of its results of a row, without what was in memory."""
    if one.reduction is not None:
        return count == 1 or one.reduction.init is not None
    mixed = one.nest.written & of_row
    if not mixed:
        return True
    reads = {access.buffer for access in one.nest.accesses if not access.writes}
    return not one.wide and mixed == one.nest.written and mixed.isdisjoint(reads)


def schedule_rows(code: LoopCode, found: Rows, device: Device) -> None:
    """Write nests that share rows as a kernel."""
    _Kernel(code, found, device).write()


@dataclass
class _Kernel:
    """Writes one kernel."""

    code: LoopCode
    found: Rows
    device: Device
    row: Expr = field(init=False)
    lane: Expr = field(init=False)
    values: dict[SSAValue, SSAValue] = field(
        init=False, default_factory=dict[SSAValue, SSAValue]
    )
    """For buffers of results, or of elements, what a thread has of them."""

    # ---- sizes ----

    @cached_property
    def model(self) -> RowNest:
        return next(one for one in self.found.nests if one.columns)

    @cached_property
    def columns(self) -> Expr:
        return product_of([axis.extent for axis in self.model.columns])

    @cached_property
    def index(self) -> Attribute:
        return self.rows.dtype

    @cached_property
    def rows(self) -> Expr:
        rows = self.found.nests[0].rows
        if not rows:
            return smart.const(1, self.columns.dtype)
        return product_of([axis.extent for axis in rows])

    @cached_property
    def lanes(self) -> int:
        """Neighbours that a thread has at a time."""
        wide = [one.wide[-1] for one in self.found.nests if one.wide]
        if not wide:
            return 1
        own = [
            self.device.lanes([one.nest], one.wide[-1])
            for one in self.found.nests
            if one.wide
        ]
        return max(own) if all(n in (1, max(own)) for n in own) else min(own)

    @cached_property
    def threads(self) -> tuple[int, int]:
        """Rows of a block, and threads of a row."""
        device = self.device
        size = smart.literal(self.columns)
        if size is None or size > device.warp_row or device.threads <= WARP:
            return 1, threads_for(self.units, device.threads)
        width = threads_for(self.units, WARP)
        return threads_for(self.rows, device.threads // WARP), width

    @cached_property
    def units(self) -> Expr:
        """Stretches of neighbours of a row."""
        width = smart.const(self.lanes, self.columns.dtype)
        return smart.floordiv(self.columns, width)

    @cached_property
    def steps(self) -> Expr:
        """Stretches that a thread has."""
        return ceildiv(self.units, self.threads[1])

    def number(self, value: int) -> Expr:
        return smart.const(value, self.index)

    # ---- the whole ----

    def write(self) -> None:
        """All rows."""
        height, width = self.threads
        blocks = ceildiv(self.rows, height)
        with kernel(self.code, blocks, width, height) as (block, row, lane):
            self.row = smart.add(smart.mul(block, self.number(height)), row)
            self.lane = smart.cast(self.columns.dtype, lane)
            with self.code.block(name_of([one.nest for one in self.found.nests])):
                for one in self.found.nests:
                    if one.reduction is not None:
                        self._write_reduction(one, one.reduction)
                    elif one.nest.written <= self.found.of_row:
                        self._write_of_row(one)
                    else:
                        self._write_map(one)

    @cached_property
    def _is_row(self) -> Expr:
        """That the row is one: the last block may have threads for more."""
        return in_range(self.row, self.rows, self.threads[0])

    def _rows_of(self, one: RowNest) -> Point:
        extents = [axis.extent for axis in one.rows]
        if not extents:
            return {}
        return points(one.rows, split_index(self.row, extents))

    # ---- elements ----

    @contextmanager
    def _each_stretch(self, one: RowNest) -> Generator[tuple[Expr, Expr]]:
        """The stretches of a thread: their numbers, for it and in the row."""
        steps = smart.literal(self.steps)
        unrolled = steps is not None and (steps <= _UNROLLED or self._keeps_columns(one))
        kind = tir.ForKind.UNROLLED if unrolled else tir.ForKind.SERIAL
        width = smart.const(self.threads[1], self.columns.dtype)
        with self.code.when(self._is_row), self.code.loop("k", self.steps, kind) as step:
            unit = smart.add(smart.mul(step, width), self.lane)
            with self.code.when(in_range(unit, self.units, self.threads[1])):
                yield step, unit

    def _keeps_columns(self, one: RowNest) -> bool:
        return any(access.buffer in self.values for access in one.nest.accesses)

    def _each_lane(self, one: RowNest, write: Callable[[Expr], None]) -> None:
        """The neighbours of a stretch, at once where they can be."""
        fits = bool(one.wide) and is_vectorizable(one.nest, one.wide[-1])
        fits = fits and self.lanes > 1 and self.device.lanes_of(one.nest) > 1
        kind = tir.ForKind.VECTORIZED if fits else tir.ForKind.UNROLLED
        lanes = smart.const(self.lanes, self.columns.dtype)
        with self.code.loop("v", lanes, kind) as lane:
            write(lane)

    def _point(self, one: RowNest, unit: Expr, lane: Expr) -> Point:
        """A neighbour of a stretch; the innermost axis is one of whole stretches."""
        *outer, last = [axis.extent for axis in one.columns]
        width = smart.const(self.lanes, last.dtype)
        *before, inner = split_index(unit, [*outer, smart.floordiv(last, width)])
        values = [*before, smart.add(smart.mul(inner, width), lane)]
        return {**self._rows_of(one), **points(one.columns, values)}

    def _places(self, step: Expr | None, lane: Expr | None) -> Redirects:
        """Where buffers are that a thread has for itself."""
        found: Redirects = {}
        for buffer, value in self.values.items():
            if buffer in self.found.of_row:
                found[buffer] = (value, (smart.const(0, i32),))
            elif step is not None and lane is not None:
                lanes = smart.const(self.lanes, step.dtype)
                place = smart.add(smart.mul(step, lanes), lane)
                found[buffer] = (value, (place,))
        return found

    def _is_private(self, buffer: SSAValue) -> bool:
        """Whether only the nests use a buffer."""
        if not isinstance(buffer.owner, tir.AllocBufferOp):
            return False
        return all(
            any(one.nest.outermost.is_ancestor(use.operation) for one in self.found.nests)
            for use in buffer.uses
        )

    # ---- maps ----

    def _write_map(self, one: RowNest) -> None:
        """The elements of a map."""
        nest = one.nest
        for buffer in nest.written & self.found.of_column:
            self._keep(buffer)

        with self._each_stretch(one) as (step, unit):

            def write(lane: Expr) -> None:
                places = self._places(step, lane)
                nest.write_body(self.code, self._point(one, unit, lane), places)

            self._each_lane(one, write)

    def _keep(self, buffer: SSAValue) -> None:
        """Let a thread keep its elements of a buffer, if only the nests use it."""
        size = smart.literal(self.columns)
        if buffer in self.values or size is None or not self._is_private(buffer):
            return
        if size > self.device.row_in_registers:
            return
        count = int(smart.literal(self.steps) or 1) * self.lanes
        dtype = tir.buffer_definition(buffer).type.element_type
        name = buffer.name_hint or "own"
        self.values[buffer] = self.code.alloc(name, [count], dtype, "local")

    def _write_of_row(self, one: RowNest) -> None:
        """A map with one element of a row: each thread computes it."""
        nest, zero = one.nest, smart.const(0, i32)
        columns = points(
            one.columns, [smart.const(0, a.extent.dtype) for a in one.columns]
        )
        point = {**self._rows_of(one), **columns}
        written = [(a.buffer, a.indices) for a in nest.accesses if a.writes]
        for buffer in nest.written:
            dtype = tir.buffer_definition(buffer).type.element_type
            name = buffer.name_hint or "result"
            self.values[buffer] = self.code.alloc(name, [1], dtype, "local")
        with self.code.when(self._is_row):
            nest.write_body(self.code, point, self._places(None, None))
        for buffer, indices in written:
            if not self._is_private(buffer):
                with self.code.when(self._is_first()):
                    places = [nest.tree_at(index, point) for index in indices]
                    value = self.code.load(self.values[buffer], zero)
                    self.code.store(value, buffer, *places)

    def _is_first(self) -> Expr:
        """That a thread stores what all threads of a row know."""
        zero = smart.const(0, self.lane.dtype)
        return smart.conjunction(smart.eq(self.lane, zero), self._is_row)

    # ---- reductions ----

    def _write_reduction(self, one: RowNest, reduction: Reduction) -> None:
        """The result of a row."""
        code, nest = self.code, one.nest
        own = accumulator(code, reduction, self.lanes)
        own.begin()
        with self._each_stretch(one) as (step, unit):

            def add(lane: Expr) -> None:
                point = self._point(one, unit, lane)
                places = self._places(step, lane)
                own.add(nest.value_at(code, reduction.term, point, places), lane)

            self._each_lane(one, add)
        total = own.total()
        threads = self.threads[1]
        if threads > 1:
            total = write_allreduce(code, reduction.combiner, total, self.lane)
        point = self._rows_of(one)
        indices = [nest.tree_at(index, point) for index in reduction.result.indices]
        buffer = reduction.result.buffer
        zero = smart.const(0, i32)
        if reduction.init is not None:
            start = nest.value_at(code, reduction.init, point, self._places(None, None))
            total = own.finished(start, total)
            self.values[buffer] = value = code.alloc(
                buffer.name_hint or "result", [1], reduction.dtype, "local"
            )
            code.store(total, value, zero)
            if self._is_private(buffer):
                return
            total = code.load(value, zero)
        with code.when(smart.conjunction(self._is_first(), is_not_empty(nest.carried))):
            if reduction.init is None:
                total = own.finished(code.load(buffer, *indices), total)
            code.store(total, buffer, *indices)


Redirects = dict[SSAValue, tuple[SSAValue, tuple[Expr, ...]]]

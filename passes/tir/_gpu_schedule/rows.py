"""The GPU schedule of rows: reductions along neighbours, and what uses them.

Nests that follow each other share a kernel where they share rows, as those of softmax
and of norms do. A row has the threads of a warp, up to `warp_row` elements, or else
those of a block. Each thread has every so many-th stretch of neighbours of a row, the
same ones in all nests. It reduces its own first; then all threads of the row reduce what
they have, and all of them know the result.

What nests hand on to later ones, and nothing else reads, is not in memory: a result of a
row is with each thread, and so are the elements of a thread, for rows of up to
`row_in_registers` elements. Elements of longer rows are computed again where they are
used; those that need what is overwritten since then are written to memory, and each
thread reads back what it has written itself. Results that several nests write, as those
of softmax, are handed on likewise and stored by the last of them.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property

from xdsl.dialects.builtin import i32
from xdsl.ir import Attribute, SSAValue

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Expr
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.tir._gpu_schedule.allreduce import (
    accumulator,
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
from xdsl_tvm.passes.tir._gpu_schedule.row_nests import RowNest, Rows
from xdsl_tvm.passes.tir._loops.loop_nest import Point
from xdsl_tvm.passes.tir._schedule.axes import (
    is_not_empty,
    points,
    product_of,
    split_index,
)
from xdsl_tvm.passes.tir._schedule.reduction import Reduction
from xdsl_tvm.passes.tir.rewriting.loop_code import LoopCode

_UNROLLED = 8
"""Steps of a row that are unrolled; more are a loop, but where registers hold a row."""


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
    again: dict[SSAValue, tuple[RowNest, SSAValue]] = field(
        init=False, default_factory=dict[SSAValue, "tuple[RowNest, SSAValue]"]
    )
    """Buffers whose elements are computed again: by which map, and where a thread has
    those of a stretch."""

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
        # Where some nests have wider types, they access as many by two accesses.
        return max(own) if all(n == 1 or 2 * n >= max(own) for n in own) else min(own)

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
        zeros = [smart.const(0, axis.extent.dtype) for axis in one.units]
        found = points(one.units, zeros)
        if not extents:
            return found
        return {**found, **points(one.rows, split_index(self.row, extents))}

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
        fits = self.lanes > 1 and all(
            bool(each.wide)
            and is_vectorizable(each.nest, each.wide[-1])
            and self.device.lanes_of(each.nest) > 1
            for each in (*self._needed(one), one)
        )
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
        if lane is not None:
            found |= {
                buffer: (value, (lane,)) for buffer, (_, value) in self.again.items()
            }
        return found

    def _is_private(self, buffer: SSAValue) -> bool:
        """Whether only the nests use a buffer."""
        if not isinstance(buffer.owner, tir.AllocBufferOp):
            return False
        return all(
            any(one.nest.outermost.is_ancestor(use.operation) for one in self.found.nests)
            for use in buffer.uses
        )

    @cached_property
    def _last_writers(self) -> dict[SSAValue, RowNest]:
        """For results that nests hand on, the nest that stores them: nobody but maps of
        the kernel accesses what is in their place before."""
        found: dict[SSAValue, RowNest] = {}
        for buffer in self.found.of_column:
            users = [
                one
                for one in self.found.nests
                if any(access.buffer is buffer for access in one.nest.accesses)
            ]
            first, last = users[0].nest, users[-1].nest
            begins = all(a.writes for a in first.accesses if a.buffer is buffer)
            is_stored = first is not last and buffer in first.written & last.written
            if begins and is_stored and not self._is_private(buffer):
                found[buffer] = users[-1]
        return found

    def _is_handed_on(self, buffer: SSAValue) -> bool:
        """Whether what the nests write before the last one need not be in memory."""
        return self._is_private(buffer) or buffer in self._last_writers

    # ---- maps ----

    def _write_map(self, one: RowNest) -> None:
        """The elements of a map."""
        nest = one.nest
        for buffer in nest.written & self.found.of_column:
            self._keep(buffer)
        if self._can_be_computed_again(one):
            for buffer in nest.written:
                self.again[buffer] = one, self._own(buffer, self.lanes)
            return

        with self._each_stretch(one) as (step, unit):

            def write(lane: Expr) -> None:
                self._compute_needed(one, step, unit, lane)
                places, point = self._places(step, lane), self._point(one, unit, lane)
                nest.write_body(self.code, point, places)
                self._store_results(one, point, places)

            self._each_lane(one, write)

    def _store_results(self, one: RowNest, point: Point, places: Redirects) -> None:
        """Store results that a thread has had for itself so far."""
        for access in one.nest.accesses:
            buffer = access.buffer
            if not access.writes or self._last_writers.get(buffer) is not one:
                continue
            if buffer in places:
                own, place = places[buffer]
                indices = [one.nest.tree_at(index, point) for index in access.indices]
                self.code.store(self.code.load(own, *place), buffer, *indices)

    def _keep(self, buffer: SSAValue) -> None:
        """Let a thread keep its elements of a buffer, if only the nests use it."""
        size = smart.literal(self.columns)
        if buffer in self.values or size is None or not self._is_handed_on(buffer):
            return
        if size > self.device.row_in_registers:
            return
        count = int(smart.literal(self.steps) or 1) * self.lanes
        self.values[buffer] = self._own(buffer, count)

    def _own(self, buffer: SSAValue, count: int) -> SSAValue:
        """Memory of a thread for some elements of a buffer."""
        dtype = tir.buffer_definition(buffer).type.element_type
        return self.code.alloc(buffer.name_hint or "own", [count], dtype, "local")

    def _can_be_computed_again(self, one: RowNest) -> bool:
        """Whether what a map writes is nothing but what later nests may compute."""
        nest, nests = one.nest, [each.nest for each in self.found.nests]
        place = next(n for n, each in enumerate(nests) if each is nest)
        others = [*nests[:place], *nests[place + 1 :]]
        read = {access.buffer for access in nest.accesses if not access.writes}
        return all(
            buffer in self.found.of_column
            and buffer not in self.values
            and self._is_handed_on(buffer)
            and not any(
                buffer in each.written
                for each in others
                if buffer not in self._last_writers
                or each is not self._last_writers[buffer].nest
            )
            and self._last_writers.get(buffer) is not one
            for buffer in nest.written
        ) and not any(read & each.written for each in nests[place:])

    def _needed(self, one: RowNest) -> list[RowNest]:
        """The maps that are computed again for a nest, in their order."""
        pending, found = [one], list[RowNest]()
        while pending:
            for access in pending.pop().nest.accesses:
                maker, _ = self.again.get(access.buffer, (one, None))
                if maker is not one and maker not in found:
                    found.append(maker)
                    pending.append(maker)
        return [each for each in self.found.nests if each in found]

    def _compute_needed(self, one: RowNest, step: Expr, unit: Expr, lane: Expr) -> None:
        """Compute again what a nest needs of an element."""
        for each in self._needed(one):
            point, places = self._point(each, unit, lane), self._places(step, lane)
            each.nest.write_body(self.code, point, places)

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
                self._compute_needed(one, step, unit, lane)
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

"""Where in one byte array the shared memory of a kernel goes
(docs/spec/tir-passes-c-memory-and-gpu.md, MergeSharedMemoryAllocations)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from xdsl.ir import SSAValue

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import Expr
from xdsl_tvm.analysis.tir.barrier_pairs import Overlap
from xdsl_tvm.analysis.tir.storage_events import Event, Phase, StorageEvents
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.tir._storage.in_place import InPlace
from xdsl_tvm.passes.tir._storage.plan import RANGE
from xdsl_tvm.passes.tir._storage.relocation import (
    Size,
    alignment_of,
    bytes_of_memory,
    constant_bytes,
)

ALIGNMENT = 16
"""Bytes to which each piece is aligned: the widest access, and asynchronous copies."""
_SMALL_BYTES = 4
"""The size up to which memory is not shared."""

Overlaps = Callable[[tir.AllocateOp], Mapping[SSAValue, Overlap]]
"""How the data of other allocations may overlap with one; freely where not listed."""


@dataclass(eq=False)
class _Region:
    """Bytes that allocations share, each from some byte on."""

    size: int
    """0 where it is not a constant."""
    align: int
    order: int
    bytes: Expr | None = None
    """The size that is no constant."""
    parts: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    """The start of each allocation, by its data."""


@dataclass(frozen=True)
class SharedLayout:
    """The start of each allocation in an array of bytes, and the size of that."""

    starts: dict[SSAValue, Size]
    size: Size


class _Planner:
    """Gives allocations regions, in the order of their events."""

    def __init__(self, events: StorageEvents, overlaps: Overlaps) -> None:
        self._events = events
        self._overlaps = overlaps
        self._sizes: dict[SSAValue, int] = {
            op.result: constant_bytes(op) for op in events.allocations
        }
        self._in_place = InPlace(events)
        self._region: dict[tir.AllocateOp, _Region] = {}
        self._free: list[_Region] = []
        self._order = 0
        self.regions: dict[_Region, None] = {}

    def run(self) -> None:
        """Plan for all events."""
        consumed: dict[object, set[tir.AllocateOp]] = {}
        for event in self._events.events:
            if event.phase is not Phase.END:
                consumed[event.op] = self._begin(event)
            if event.phase is not Phase.BEGIN:
                kept = consumed.pop(event.op, set[tir.AllocateOp]())
                for memory in self._events.ended.get(event.op, ()):
                    if memory not in kept and memory not in self._events.pinned:
                        self._release(self._region[memory])

    def _begin(self, event: Event) -> set[tir.AllocateOp]:
        """Give regions to what a statement touches first; what it continues in place."""
        taken: set[tir.AllocateOp] = set()
        for memory in self._events.begun.get(event.op, ()):
            source = self._source(event, memory, taken)
            if source is None:
                self._allocate(memory)
                continue
            taken.add(source)
            region = self._region[source]
            region.parts[memory.result] = region.parts[source.result]
            self._region[memory] = region
        return taken

    def _source(
        self, event: Event, memory: tir.AllocateOp, taken: set[tir.AllocateOp]
    ) -> tir.AllocateOp | None:
        """Memory that a statement reads last, which it may write the new memory over."""
        size = self._sizes[memory.result]
        if size <= _SMALL_BYTES or memory in self._events.pinned:
            return None
        begun = self._events.begun.get(event.op, ())
        for source in self._events.ended.get(event.op, ()):
            region = self._region.get(source)
            if (
                source not in taken
                and source not in begun
                and source not in self._events.pinned
                and region is not None
                and self._sizes[source.result] == size
                and source.result.type == memory.result.type
                and self._in_place.is_possible(event.op, memory, source)
                and self._takes(region, 0, memory, region.parts[source.result])
            ):
                return source
        return None

    def _allocate(self, memory: tir.AllocateOp) -> None:
        size = self._sizes[memory.result]
        align = alignment_of(memory, ALIGNMENT)
        region = None
        if memory not in self._events.pinned:
            if size > _SMALL_BYTES:
                region = self._fitting(memory, size) or self._joined(memory, size)
            elif size == 0:
                region = self._equal(memory)
        if region is None:
            tree = None if size else bytes_of_memory(memory)
            region = _Region(size, align, self._next(), tree)
            self.regions[region] = None
        region.align = math.lcm(region.align, align)
        region.parts[memory.result] = 0
        self._region[memory] = region

    def _next(self) -> int:
        self._order += 1
        return self._order

    def _takes(
        self, region: _Region, base: int, memory: tir.AllocateOp, at: int = 0
    ) -> bool:
        """Whether memory may begin at `at` where a region begins at `base`, as far as the
        barriers between it and what has been there are concerned."""
        end = at + self._sizes[memory.result]
        for part, overlap in self._overlaps(memory).items():
            start = region.parts.get(part)
            if start is None:
                continue
            start += base
            is_apart = start >= end or start + self._sizes[part] <= at
            if not is_apart and (overlap is Overlap.NEVER or start != at):
                return False
        return True

    def _fitting(self, memory: tir.AllocateOp, size: int) -> _Region | None:
        """The smallest free region that is large enough."""
        found = [
            region
            for region in self._free
            if size <= region.size <= RANGE * size and self._takes(region, 0, memory)
        ]
        if not found:
            return None
        region = min(found, key=_by_size)
        self._free.remove(region)
        return region

    def _joined(self, memory: tir.AllocateOp, size: int) -> _Region | None:
        """Smaller free regions, the largest first, one after another."""
        found: list[tuple[_Region, int]] = []
        total = 0
        smaller = [region for region in self._free if 0 < region.size < size]
        for region in sorted(smaller, key=_by_size, reverse=True):
            if total >= size:
                break
            start = -(-total // region.align) * region.align
            if self._takes(region, start, memory):
                found.append((region, start))
                total = start + region.size
        if not found:
            return None
        joined = _Region(max(size, total), 1, self._next())
        for region, start in found:
            self._free.remove(region)
            del self.regions[region]
            joined.align = math.lcm(joined.align, region.align)
            joined.parts |= {part: start + own for part, own in region.parts.items()}
        self.regions[joined] = None
        return joined

    def _equal(self, memory: tir.AllocateOp) -> _Region | None:
        """A free region of the same size, which is not a constant."""
        size = bytes_of_memory(memory)
        overlaps = self._overlaps(memory).items()
        for region in self._free:
            if region.bytes is size and not any(
                part in region.parts and overlap is Overlap.NEVER
                for part, overlap in overlaps
            ):
                self._free.remove(region)
                return region
        return None

    def _release(self, region: _Region) -> None:
        if region.size == 0 or region.size > _SMALL_BYTES:
            region.order = self._next()
            self._free.append(region)


def _by_size(region: _Region) -> tuple[int, int]:
    return region.size, region.order


def plan_shared_memory(events: StorageEvents, overlaps: Overlaps) -> SharedLayout:
    """Where the allocations of some events go.

    Regions of constant size are first, in ascending order, then those up to 4 bytes, then
    the others.
    """
    planner = _Planner(events, overlaps)
    planner.run()
    regions = sorted(planner.regions, key=_final_order)
    analyzer = Analyzer()
    starts: dict[SSAValue, Size] = {}
    total: Size = 0
    for region in regions:
        base = _aligned(total, region.align, analyzer)
        for part, start in region.parts.items():
            starts[part] = base + start if isinstance(base, int) else base
        total = _plus(base, _size_of(region))
    return SharedLayout(starts, total)


def _final_order(region: _Region) -> tuple[int, int, int]:
    rank = 2 if region.size == 0 else int(region.size <= _SMALL_BYTES)
    return rank, region.size, region.order


def _size_of(region: _Region) -> Size:
    return region.size if region.bytes is None else region.bytes


def _plus(base: Size, size: Size) -> Size:
    if isinstance(base, int) and isinstance(size, int):
        return base + size
    if isinstance(base, int):
        return size if base == 0 else smart.add(base, size)
    return smart.add(base, size)


def _aligned(size: Size, align: int, analyzer: Analyzer) -> Size:
    """The next multiple of an alignment, by TVM's formula where it is no constant."""
    if isinstance(size, int):
        return -(-size // align) * align
    rest = smart.floormod(size, align)
    if analyzer.can_prove_equal(rest, smart.const(0, size.dtype)):
        return size
    padding = smart.floormod(smart.sub(align, rest), align)
    return smart.add(size, padding)

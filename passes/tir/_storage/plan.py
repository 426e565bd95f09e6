"""Which allocations share memory (docs/spec/tir-passes-c-memory-and-gpu.md,
StorageRewrite C)."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from xdsl.ir import Attribute, Operation

from xdsl_tvm.analysis.tir.storage_events import Event, Phase, StorageEvents
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.storage_scope import DYNAMIC_TAG, StorageRank, StorageScope
from xdsl_tvm.passes.tir._storage.in_place import InPlace
from xdsl_tvm.passes.tir._storage.relocation import constant_bytes

RANGE = 16
"""How many times larger or smaller reused memory may be."""
_SMALL = 32
"""Bits of memory that is not worth sharing."""
_PLAIN_TAGS = ("", DYNAMIC_TAG, ".workspace", ".vtcm")


@dataclass(eq=False)
class StorageEntry:
    """Memory that allocations share, one after another."""

    attach: Operation
    """The function, launch or loop at whose start it is allocated."""
    scope: StorageScope
    element: Attribute
    """The type of one lane."""
    bits: int
    """Its size, 0 where it is not a constant."""
    number: int
    sharers: list[tir.AllocateOp] = field(default_factory=list[tir.AllocateOp])

    @property
    def is_special(self) -> bool:
        """Whether it is in special tagged memory, of which there is one allocation."""
        return is_special(self.scope)


def is_special(scope: StorageScope) -> bool:
    """Whether memory of a scope is allocated at once, as registers of a device are."""
    return scope.tag not in _PLAIN_TAGS


@dataclass(frozen=True)
class _Free:
    """An entry that is free, ordered by size, then by when it was freed."""

    bits: int
    order: int
    entry: StorageEntry = field(compare=False)

    def __lt__(self, other: _Free) -> bool:
        return (self.bits, self.order) < (other.bits, other.order)


@dataclass
class _FreeLists:
    constant: list[_Free] = field(default_factory=list[_Free])
    symbolic: list[StorageEntry] = field(default_factory=list[StorageEntry])


class StoragePlan:
    """Which allocations of a function share memory.

    `reuse` off lets memory be shared in place only; `exact` lets it be reused for the
    same scalar type only. `attach_of` tells at whose start an allocation is placed.
    """

    def __init__(
        self,
        events: StorageEvents,
        attach_of: Callable[[Operation], Operation],
        *,
        reuse: bool = True,
        exact: bool = False,
    ) -> None:
        self.entries: list[StorageEntry] = []
        self._events = events
        self._attach_of = attach_of
        self._reuse = reuse
        self._exact = exact
        self._entry: dict[tir.AllocateOp, StorageEntry] = {}
        self._free: dict[Operation, dict[StorageScope, _FreeLists]] = {}
        self._freed = 0
        self._consumed: dict[Operation, set[tir.AllocateOp]] = {}
        """What a statement continues in place."""
        self._in_place = InPlace(events)
        for event in events.events:
            self._visit(event)

    def _visit(self, event: Event) -> None:
        op = event.op
        taken: set[tir.AllocateOp] = set()
        if event.phase is not Phase.END:
            begun = self._events.begun.get(op, [])
            for memory in begun:
                source = None
                if len(begun) <= 2:
                    source = self._source(op, memory, taken)
                if source is None:
                    entry = self._find(memory)
                else:
                    taken.add(source)
                    entry = self._entry[source]
                entry.sharers.append(memory)
                self._entry[memory] = entry
            self._consumed[op] = taken
        if event.phase is not Phase.BEGIN:
            self._free.pop(op, None)
            consumed = self._consumed.pop(op, set())
            for memory in self._events.ended.get(op, ()):
                if memory not in consumed and memory not in self._events.pinned:
                    self._release(self._entry[memory])

    # ---- in place ----

    def _source(
        self, op: Operation, memory: tir.AllocateOp, taken: Iterable[tir.AllocateOp]
    ) -> tir.AllocateOp | None:
        """Memory that ends at a statement, whose place other memory can have there."""
        pinned = self._events.pinned
        if memory in pinned:
            return None
        for source in self._events.ended.get(op, ()):
            if source in taken or source in pinned or source not in self._entry:
                continue
            entry = self._entry[source]
            if (
                source is not memory
                and entry.attach is self._attach_of(memory)
                and entry.scope == scope_of(memory)
                and entry.element == lane_of(memory)
                and entry.bits == 8 * constant_bytes(memory)
                and (is_flat(memory) or memory.shape == entry.sharers[0].shape)
                and is_flat(memory) == is_flat(entry.sharers[0])
                and self._in_place.is_possible(op, memory, source)
            ):
                return source
        return None

    # ---- free memory ----

    def _find(self, memory: tir.AllocateOp) -> StorageEntry:
        """An entry for memory: a free one, or a new one."""
        scope, bits = scope_of(memory), 8 * constant_bytes(memory)
        attach = self._attach_of(memory)
        free = self._free.get(attach, {}).get(scope)
        if (
            free is not None
            and self._reuse
            and is_flat(memory)
            and memory not in self._events.pinned
            and not _is_small(memory, scope, bits)
        ):
            element = lane_of(memory)
            found = (
                self._fitting(free, bits, memory)
                if bits
                else _first_of(free.symbolic, element)
            )
            if found is not None:
                found.bits = max(found.bits, bits)
                return found
        entry = StorageEntry(attach, scope, lane_of(memory), bits, len(self.entries))
        self.entries.append(entry)
        return entry

    def _fitting(
        self, free: _FreeLists, bits: int, memory: tir.AllocateOp
    ) -> StorageEntry | None:
        """The smallest free entry that is large enough, else the largest one below."""
        entries, element = free.constant, lane_of(memory)
        dtype = memory.result.type.element_type
        start = bisect_left(entries, bits, key=lambda each: each.bits)
        for at in range(start, len(entries)):
            each = entries[at]
            if each.bits > RANGE * bits:
                break
            if not self._exact or each.entry.element == dtype:
                return entries.pop(at).entry
        for at in range(start - 1, -1, -1):
            each = entries[at]
            if each.bits < bits // RANGE:
                break
            if each.entry.element == (dtype if self._exact else element):
                return entries.pop(at).entry
        return None

    def _release(self, entry: StorageEntry) -> None:
        """Make an entry free, unless it is too small or not flat."""
        small = not entry.scope.tag and (
            entry.scope.rank >= StorageRank.WARP
            or tir.is_handle(entry.element)
            or 0 < entry.bits <= _SMALL
        )
        if small or not is_flat(entry.sharers[0]):
            return
        lists = self._free.setdefault(entry.attach, {}).setdefault(
            entry.scope, _FreeLists()
        )
        if entry.bits:
            self._freed += 1
            insort(lists.constant, _Free(entry.bits, self._freed, entry))
        else:
            lists.symbolic.append(entry)


def _first_of(entries: list[StorageEntry], element: Attribute) -> StorageEntry | None:
    for at, entry in enumerate(entries):
        if entry.element == element:
            return entries.pop(at)
    return None


def _is_small(memory: tir.AllocateOp, scope: StorageScope, bits: int) -> bool:
    """Whether memory is not worth sharing."""
    return not scope.tag and (
        scope.rank >= StorageRank.WARP
        or tir.is_handle(memory.result.type.element_type)
        or 0 < bits <= _SMALL
    )


def is_flat(memory: tir.AllocateOp) -> bool:
    """Whether memory has one dimension."""
    return len(memory.shape) == 1


def scope_of(memory: tir.AllocateOp) -> StorageScope:
    """The storage scope of memory."""
    return StorageScope.parse(memory.result.type.scope.data)


def lane_of(memory: tir.AllocateOp) -> Attribute:
    """The type of one lane of the elements."""
    return tir.element_of(memory.result.type.element_type)

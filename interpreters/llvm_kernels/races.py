"""Who touched which bytes: races between threads that run together.

A location has the stamps of its last writer, of its last two readers and of its last
atomic update. A stamp is a time, which counts up at every synchronization point, and a
thread. Two accesses by two threads, at least one a write, race if no barrier of the block
is between and, for threads of one warp, no synchronization of both; and, of two blocks,
always. Of more than two readers some are forgotten, so that a race with them is missed.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from xdsl.ir import Operation

from xdsl_tvm.interpreters.errors import RaceError, describe
from xdsl_tvm.interpreters.llvm_kernels.layouts import Array

_THREAD_BITS = 32
_THREAD = (1 << _THREAD_BITS) - 1
_NEVER = -1
_WARP = 32


@dataclass(eq=False)
class Clock:
    """The times of a launch, for the threads that run together."""

    per_block: int
    """Threads of a block."""
    first: int = 0
    """The number of the first thread that runs, in the launch."""
    now: int = 0
    launch: int = 0
    """The time at which the launch began."""
    block: int = 0
    """The time of the last barrier of the blocks."""
    synced: Array = field(default_factory=lambda: np.zeros(0, np.int64))
    """The time of the last synchronization of each thread with others of its warp."""
    ops: list[Operation] = field(default_factory=list[Operation])
    """The operations, by their number in stamps."""
    _numbers: dict[Operation, int] = field(default_factory=dict[Operation, int])

    def begin(self, first: int, count: int) -> None:
        """Other threads begin, after those before them have ended."""
        self.first = first
        self.now += 1
        self.block = self.now
        self.synced = np.zeros(count, np.int64)

    def barrier(self) -> None:
        """All threads of every block have met."""
        self.now += 1
        self.block = self.now

    def warp_sync(self, threads: Array) -> None:
        """These threads, by their numbers in the team, have met those of their warp."""
        self.now += 1
        self.synced[threads] = self.now

    def number(self, op: Operation) -> int:
        """The number of an operation."""
        found = self._numbers.get(op)
        if found is None:
            found = self._numbers[op] = len(self.ops)
            self.ops.append(op)
        return found

    def stamps(self, threads: Array) -> Array:
        """The stamps of threads, by their numbers in the team, now."""
        return (self.now << _THREAD_BITS) + self.first + threads

    def block_of(self, threads: Array) -> Array:
        """The block in the launch of threads by their numbers there."""
        return threads // self.per_block

    def name(self, thread: int) -> str:
        """A thread of the launch, for messages."""
        return f"thread {thread % self.per_block} of block {thread // self.per_block}"

    def clashes(self, stamps: Array, mine: Array, *, across: bool) -> Array | None:
        """Where accesses with these stamps race with those of the threads of `mine`.

        `mine` are stamps. `across` tells that several blocks have the memory.
        """
        them, us = stamps & _THREAD, mine & _THREAD
        other = (stamps >> _THREAD_BITS >= self.launch) & (them != us) & (stamps >= 0)
        if not other.any():
            return None
        times = stamps >> _THREAD_BITS
        recent = other & (times >= self.block)
        if recent.any():
            recent &= ~self._ordered(times, them, us)
        if across:
            recent |= other & (self.block_of(them) != self.block_of(us))
        return recent if recent.any() else None

    def _ordered(self, times: Array, them: Array, us: Array) -> Array:
        """Whether threads of one warp have met since the times of the first ones."""
        same = self.block_of(them) == self.block_of(us)
        same &= them % self.per_block // _WARP == us % self.per_block // _WARP
        index = np.clip(them - self.first, 0, len(self.synced) - 1)
        both = np.minimum(self.synced[index], self.synced[us - self.first])
        return same & (times < both)


@dataclass(eq=False)
class Stamps:
    """The stamps of a memory, one location per `unit` bytes."""

    clock: Clock
    size: int
    across: bool
    unit: int = 0
    writers: Array | None = None
    readers: Array | None = None
    before: Array | None = None
    """The reader before the last one."""
    updates: Array | None = None
    sites: Array | None = None
    """The number of the operation that wrote, or read, last."""

    def note(
        self, op: Operation, kind: str, first: Array, size: int, threads: Array
    ) -> None:
        """Threads access `size` bytes from `first` on: `reads`, `writes` or `updates`.

        Raises RaceError, with both operations.
        """
        self._refine(size, first)
        places, mine = first // self.unit, self.clock.stamps(threads)
        count = size // self.unit
        if count > 1:
            places = (places[:, None] + np.arange(count)).ravel()
            mine = np.repeat(mine, count)
        self._compare(op, kind, "writes", self.writers, places, mine)
        if kind != "updates":
            self._compare(op, kind, "updates", self.updates, places, mine)
        if kind != "reads":
            self._compare(op, kind, "reads", self.readers, places, mine)
            self._compare(op, kind, "reads", self.before, places, mine)
        if self.sites is None:
            self.sites = np.zeros(-(-self.size // self.unit), np.int32)
        self.sites[places] = self.clock.number(op)
        match kind:
            case "writes":
                self.writers = self._state(self.writers)
                self.writers[places] = mine
                self._compare(op, kind, kind, self.writers, places, mine)
            case "updates":
                self.updates = self._state(self.updates)
                self.updates[places] = mine
            case _:
                self._add_readers(places, mine)

    def _add_readers(self, places: Array, mine: Array) -> None:
        readers = self.readers = self._state(self.readers)
        before = self.before = self._state(self.before)
        old = readers[places]
        readers[places] = mine
        moved = (old != mine) & (old >= 0)
        if moved.any():
            before[places[moved]] = old[moved]
        lost = readers[places] != mine
        if lost.any():
            before[places[lost]] = mine[lost]

    def _compare(
        self,
        op: Operation,
        kind: str,
        its: str,
        stamps: Array | None,
        places: Array,
        mine: Array,
    ) -> None:
        if stamps is None:
            return
        found = self.clock.clashes(stamps[places], mine, across=self.across)
        if found is None:
            return
        position = int(np.flatnonzero(found)[0])
        place = int(places[position])
        ours = self.clock.name(int(mine[position]) & _THREAD)
        theirs = self.clock.name(int(stamps[place]) & _THREAD)
        site = op
        if self.sites is not None and its == "writes" and kind != "writes":
            site = self.clock.ops[int(self.sites[place])]
        note = "" if site is op else f" by {describe(site)}"
        raise RaceError(
            f"{op.name}: byte {place * self.unit}, which {ours} {kind} and {theirs} "
            f"{its}{note}, has no synchronization between the two",
            op,
        )

    def _state(self, state: Array | None) -> Array:
        if state is None:
            return np.full(-(-self.size // self.unit), _NEVER, np.int64)
        return state

    def _refine(self, size: int, first: Array) -> None:
        """Locations are elements as long as all accesses are whole ones, then bytes."""
        unit = self.unit or min(size, 16)
        while size % unit or (first % unit).any():
            unit //= 2
        if unit == self.unit:
            return
        factor = self.unit // unit if self.unit else 1
        if factor > 1:
            for name in ("writers", "readers", "before", "updates", "sites"):
                state = getattr(self, name)
                if state is not None:
                    setattr(self, name, np.repeat(state, factor))
        self.unit = unit

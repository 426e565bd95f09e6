"""Copies in flight: the groups of each thread, and barriers that count (mbarriers).

The data of a copy is in its destination from the start, but whoever looks before the
copy is complete gets an AsyncCopyError: no outcome could be relied on. A copy is complete
for the thread that began it when that thread waits for the copy's group; to others it is
then a write of that thread, which a barrier has to order as any other. A copy that a
counting barrier tracks is complete for each thread that waited for the phase of the
barrier, for threads that such a thread told by a counting barrier, and for all threads of
the block at the next barrier of the block.

What a thread did before it arrived at a counting barrier is done for who waits for the
phase (`Knowledge`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from xdsl_tvm.interpreters.errors import AsyncCopyError

if TYPE_CHECKING:
    from xdsl_tvm.interpreters.gpu.shadow import Shadow

BULK_BYTES = 16
"""Size and addresses of a bulk copy are multiples of it."""


class InFlightWork(Protocol):
    """A copy, or a product of a warpgroup, that reads or writes memory for a while."""

    stamp: int
    """The thread that began it, where and when."""

    @property
    def what(self) -> str:
        """What it is, for messages."""
        ...

    @property
    def state(self) -> str:
        """What is missing, for messages."""
        ...

    def is_seen_by(self, thread: int) -> bool:
        """Whether it is complete for a thread."""
        ...


@dataclass(eq=False)
class Copy:
    """A copy that `thread` began at the op of `stamp`."""

    thread: int
    stamp: int
    ranges: list[tuple[Shadow, int, int, bool]] = field(
        default_factory=list[tuple["Shadow", int, int, bool]]
    )
    """Memory, first byte, last byte + 1, and whether they are written."""
    committed: bool = False
    barrier: CountingBarrier | None = None
    phase: int = 0
    """The phase of the barrier at whose end the copy is complete."""

    @property
    def what(self) -> str:
        """What it is, for messages."""
        return "copy"

    def add(self, shadow: Shadow, start: int, end: int, *, writes: bool) -> None:
        """The copy reads or writes these bytes."""
        self.ranges.append((shadow, start, end, writes))
        shadow.begin(self, _keys(shadow, start, end), writes=writes)

    def finish(self, stamp: int) -> None:
        """The copy is complete, see `Shadow.end`."""
        for shadow, start, end, writes in self.ranges:
            shadow.end(self, _keys(shadow, start, end), stamp, writes=writes)
        self.ranges = []

    def is_seen_by(self, thread: int) -> bool:
        """Whether the copy is complete for a thread."""
        return self.barrier is not None and self.phase < self.barrier.seen.get(thread, 0)

    @property
    def state(self) -> str:
        """What is missing, for messages."""
        if self.barrier is not None:
            return f"nobody waited for barrier {self.barrier.number}"
        return "not waited for" if self.committed else "not committed"


def _keys(shadow: Shadow, start: int, end: int) -> range:
    return range(start // shadow.unit, -(-end // shadow.unit))


@dataclass(eq=False)
class Issued:
    """The copies of one thread."""

    open: list[Copy] = field(default_factory=list[Copy])
    queues: dict[int, list[list[Copy]]] = field(
        default_factory=dict[int, list[list[Copy]]]
    )
    """The committed groups of a queue, the oldest first."""
    grouped: int | None = None
    """The queue of the group that `dma_start_group` began."""

    def commit(self, queue: int) -> None:
        """Close the current group; it may be empty."""
        for copy in self.open:
            copy.committed = True
        self.queues.setdefault(queue, []).append(self.open)
        self.open = []

    def complete(self, queue: int, inflight: int) -> Iterator[Copy]:
        """The copies of all groups but the `inflight` latest ones, which are removed."""
        if inflight < 0:
            raise AsyncCopyError(f"a wait leaves {inflight} groups in flight")
        groups = self.queues.get(queue, [])
        done = max(0, len(groups) - inflight)
        for group in groups[:done]:
            yield from group
        del groups[:done]

    def unfinished(self) -> Iterator[Copy]:
        """Copies that no wait completed, except those that a barrier tracks."""
        groups = [group for queue in self.queues.values() for group in queue]
        for group in (*groups, self.open):
            yield from (copy for copy in group if copy.barrier is None and copy.ranges)


@dataclass(eq=False)
class Knowledge:
    """What was done before, as far as a thread knows from counting barriers.

    A thread that arrives tells what it has done, and what it knows; a thread that waits
    for the phase is told.
    """

    stamps: dict[int, int] = field(default_factory=dict[int, int])
    """By thread, the generation before which its accesses are known."""
    phases: dict[int, int] = field(default_factory=dict[int, int])
    """By barrier, how many of its phases are known to have ended."""

    def add(self, other: Knowledge) -> None:
        """Know what another one knows, too."""
        for ours, theirs in ((self.stamps, other.stamps), (self.phases, other.phases)):
            for key, value in theirs.items():
                if value > ours.get(key, 0):
                    ours[key] = value


@dataclass(eq=False)
class CountingBarrier:
    """An mbarrier: a phase ends when all threads arrived and all bytes came."""

    number: int
    count: int = 0
    """Arrivals that a phase takes, 0 before initialization."""
    missing: int = 0
    bytes: int = 0
    """Bytes expected and not there, negative for those that nobody expects yet."""
    phase: int = 0
    initialized: dict[int, int] = field(default_factory=dict[int, int])
    """When which thread initialized it."""
    made: int = -1
    """The stamp of the latest initialization."""
    seen: dict[int, int] = field(default_factory=dict[int, int])
    """The phase up to which a thread has waited."""
    copies: list[Copy] = field(default_factory=list[Copy])

    known: Knowledge = field(default_factory=lambda: Knowledge())
    """What those know who have waited for the latest phase."""
    arriving: Knowledge = field(default_factory=lambda: Knowledge())
    """What those knew who have arrived in the phase that runs."""

    def passes(self, parity: int) -> bool:
        """Whether a wait goes on: the phase that runs has another parity."""
        return self.phase % 2 != parity % 2

    def initialize(self, thread: int, epoch: int, count: int) -> None:
        """Set the number of arrivals; each thread of a block may do so, once."""
        if count < 1:
            raise AsyncCopyError(f"barrier {self.number} is to count {count} arrivals")
        if thread in self.initialized or self.count not in (0, count):
            raise AsyncCopyError(f"barrier {self.number} is initialized twice")
        if not self.count:
            self.count = self.missing = count
        self.initialized[thread] = epoch

    def track(self, copy: Copy) -> None:
        """The phase that runs ends no earlier than the copy."""
        copy.barrier, copy.phase = self, self.phase
        self.copies.append(copy)

    def arrive(self) -> None:
        """One arrival."""
        self.missing -= 1
        self.advance()

    def advance(self) -> None:
        """End the phase if nothing is missing."""
        if self.missing == 0 and self.bytes == 0:
            self.phase += 1
            self.missing = self.count
            self.known.add(self.arriving)
            self.arriving = Knowledge()

    def meet(self) -> None:
        """All threads of the block met: what one of them waited for, all have."""
        seen = max(self.seen.values(), default=0)
        if seen == 0:
            return
        for copy in self.copies:
            if copy.phase < seen:
                copy.finish(-1)
        self.copies = [copy for copy in self.copies if copy.phase >= seen]

    @property
    def state(self) -> str:
        """What the phase that runs lacks, for messages."""
        arrived = self.count - self.missing
        text = f"phase {self.phase} has {arrived} of {self.count} arrivals"
        if self.bytes > 0:
            text += f" and lacks {self.bytes} bytes"
        if self.bytes < 0:
            text += f" and got {-self.bytes} bytes that nobody expects"
        return text


def check_alignment(target: int, source: int, unit: int) -> None:
    """Raise AsyncCopyError unless both bytes are multiples of `unit`."""
    for what, offset in (("destination", target), ("source", source)):
        if offset % unit:
            raise AsyncCopyError(
                f"the {what} begins at byte {offset}, not at a multiple of {unit}"
            )

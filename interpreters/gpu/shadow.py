"""What threads did to the memory that they share: stamps, races and copies in flight.

A stamp is one integer: the generation, which counts up at every barrier, the thread and
the op. Stamps are in dictionaries by location: single elements of numpy arrays are
slower to reach, and a launch touches few locations of a large array.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from xdsl_tvm.interpreters.gpu.async_copies import Copy, InFlightWork

if TYPE_CHECKING:
    from xdsl_tvm.interpreters.gpu.grid_memory import GridMemory

SITE_BITS = 20
THREAD_BITS = 20
GENERATION = SITE_BITS + THREAD_BITS
THREAD_MASK = (1 << THREAD_BITS) - 1
SITE_MASK = (1 << SITE_BITS) - 1

_T = TypeVar("_T")


@dataclass(eq=False)
class _Touches:
    """The stamps of the first and the two latest threads that touched a location.

    Two threads are enough: one of them is not the thread that asks. The first one tells
    of other blocks, which run earlier.
    """

    first: dict[int, int] = field(default_factory=dict[int, int])
    latest: dict[int, int] = field(default_factory=dict[int, int])
    second: dict[int, int] = field(default_factory=dict[int, int])

    def add(self, key: int, me: int, launch: int) -> None:
        last = self.latest.get(key)
        if last is None:
            self.first[key] = self.latest[key] = me
        elif (last ^ me) >> SITE_BITS:
            self.second[key] = last
            self.latest[key] = me
            if self.first[key] < launch:
                self.first[key] = me

    def at(self, key: int) -> Iterable[int]:
        for stamps in (self.latest, self.second, self.first):
            if key in stamps:
                yield stamps[key]

    def spread(self, size: int) -> None:
        """Take every location as `size` smaller ones."""
        for stamps in (self.first, self.latest, self.second):
            _spread(stamps, size)


def _spread(found: dict[int, _T], size: int) -> None:
    old = list(found.items())
    found.clear()
    for key, item in old:
        for position in range(size):
            found[key * size + position] = item


class InFlight(Exception):
    """An access meets `copy` before it is complete, which `its` the location."""

    def __init__(self, copy: InFlightWork, mine: str, its: str) -> None:
        super().__init__(copy, mine, its)
        self.copy, self.mine, self.its = copy, mine, its


class Clash(Exception):
    """An access races with the one of the stamp `other`."""

    def __init__(self, other: int, mine: str, its: str) -> None:
        super().__init__(other, mine, its)
        self.other, self.mine, self.its = other, mine, its


@dataclass(eq=False)
class Shadow:
    """The stamps of a memory, one location per `unit` bytes."""

    grid: GridMemory
    unit: int
    across_blocks: bool
    """Whether blocks share the memory."""
    writers: dict[int, int] = field(default_factory=dict[int, int])
    readers: _Touches = field(default_factory=_Touches)
    atomics: _Touches = field(default_factory=_Touches)
    arriving: dict[int, Copy] = field(default_factory=dict[int, Copy])
    """The copies in flight by where they write."""
    leaving: dict[int, tuple[InFlightWork, ...]] = field(
        default_factory=dict[int, "tuple[InFlightWork, ...]"]
    )
    """The copies and products in flight by what they read."""

    def refine(self) -> None:
        """Keep stamps by byte: buffers of other element sizes view the memory."""
        _spread(self.writers, self.unit)
        self.readers.spread(self.unit)
        self.atomics.spread(self.unit)
        _spread(self.arriving, self.unit)
        _spread(self.leaving, self.unit)
        self.unit = 1

    def _clashes(self, other: int, me: int) -> bool:
        grid = self.grid
        if other < grid.launch or not (other ^ me) >> SITE_BITS:
            return False
        if other < grid.epoch:
            return self.across_blocks and other < grid.block
        return not grid.ordered(other, me)

    def read(self, key: int, me: int) -> None:
        self.check_read(key, me)
        self.readers.add(key, me, self.grid.launch)

    def check_read(self, key: int, me: int) -> None:
        """What `read` checks; the read itself leaves no stamp."""
        if not (self.arriving and self._has_arrived(key, "reads")):
            self._against_writer(key, me, "reads")
        if self.atomics.latest:
            self._against(self.atomics, key, me, "reads", "updates")

    def write(self, key: int, me: int) -> None:
        if not self._are_done(key, "writes"):
            self._against_writer(key, me, "writes")
        self._against(self.readers, key, me, "writes", "reads")
        self._against(self.atomics, key, me, "writes", "updates")
        self.writers[key] = me

    def update(self, key: int, me: int) -> None:
        """An atomic operation."""
        if not self._are_done(key, "updates"):
            self._against_writer(key, me, "updates")
        self._against(self.readers, key, me, "updates", "reads")
        self.atomics.add(key, me, self.grid.launch)

    def publish(self, key: int, me: int) -> None:
        """A write that all threads know of."""
        self.write(key, me)
        del self.writers[key]

    def _has_arrived(self, key: int, mine: str) -> bool:
        """Whether the thread knows that a copy to the location is complete."""
        copy = self.arriving.get(key)
        if copy is not None and not copy.is_seen_by(self.grid.thread):
            raise InFlight(copy, mine, "writes")
        return copy is not None

    def _are_done(self, key: int, mine: str) -> bool:
        """The same before a write, which the sources of copies must not see."""
        leaving = self.leaving.get(key)
        if leaving:
            for copy in leaving:
                if not copy.is_seen_by(self.grid.thread):
                    raise InFlight(copy, mine, "reads")
            del self.leaving[key]
        if self.arriving and self._has_arrived(key, mine):
            del self.arriving[key]
            return True
        return False

    def _against_writer(self, key: int, me: int, mine: str) -> None:
        other = self.writers.get(key, -1)
        if other >= 0 and self._clashes(other, me):
            raise Clash(other, mine, "writes")

    def begin(self, copy: Copy, keys: range, *, writes: bool) -> None:
        """A copy that reads or writes these locations is in flight."""
        if not writes:
            self.leave(copy, keys)
            return
        for key in keys:
            self.arriving[key] = copy

    def leave(self, work: InFlightWork, keys: Iterable[int]) -> None:
        """A copy or a product that reads these locations is in flight."""
        for key in keys:
            self.leaving[key] = (*self.leaving.get(key, ()), work)

    def check_operand(self, keys: Iterable[int], threads: Sequence[int]) -> None:
        """Check reads by a product of a warpgroup, of which each thread has to know that
        what was written before is there, and that the product can see it."""
        grid, seen = self.grid, set[object]()
        for key in keys:
            copy = self.arriving.get(key)
            if copy is not None:
                if copy not in seen:
                    seen.add(copy)
                    for thread in threads:
                        if not copy.is_seen_by(thread):
                            grid.turn(thread)
                            raise InFlight(copy, "multiplies", "writes")
                continue
            other = self.writers.get(key, -1)
            if other < 0 or other in seen:
                continue
            seen.add(other)
            grid.require_fence(other, threads[0])
            for thread in threads:
                if self._clashes(other, grid.stamp_of(thread)):
                    grid.turn(thread)
                    raise Clash(other, "multiplies", "writes")

    def end(self, copy: Copy, keys: range, stamp: int, *, writes: bool) -> None:
        """It is complete, as if its thread had done it now; stamp -1 keeps the time."""
        for key in keys:
            if not writes:
                others = tuple(c for c in self.leaving.get(key, ()) if c is not copy)
                if others:
                    self.leaving[key] = others
                else:
                    self.leaving.pop(key, None)
                if stamp >= 0:
                    self.readers.add(key, stamp, self.grid.launch)
            elif self.arriving.get(key) is copy:
                del self.arriving[key]
                if stamp >= 0:
                    self.writers[key] = stamp

    def _against(self, touches: _Touches, key: int, me: int, mine: str, its: str) -> None:
        for other in touches.at(key):
            if self._clashes(other, me):
                raise Clash(other, mine, its)


@dataclass(frozen=True, eq=False)
class View:
    """A buffer's elements in the shadow of their memory."""

    shadow: Shadow
    start: int
    """Byte of the first element."""
    size: int
    """Bytes of an element."""

    def read(self, place: int, site: int) -> None:
        """Note a read of the element at `place` by the op at `site`."""
        shadow = self.shadow
        grid = shadow.grid
        key = self.start // self.size + place
        # The common cases first: nobody writes, or a barrier was passed since.
        writer = shadow.writers.get(key, -1)
        if (
            shadow.unit == self.size
            and (writer < 0 or (writer < grid.epoch and not shadow.across_blocks))
            and not shadow.atomics.latest
            and not shadow.arriving
        ):
            shadow.readers.add(key, grid.me | site, grid.launch)
        else:
            self._note(place, site, shadow.read)

    def write(self, place: int, site: int) -> None:
        """Note a write."""
        self._note(place, site, self.shadow.write)

    def update(self, place: int, site: int) -> None:
        """Note an atomic operation."""
        self._note(place, site, self.shadow.update)

    def publish(self, place: int, axes: frozenset[int], site: int) -> None:
        """Note that threads that differ on `axes` write what they reduced together."""
        grid = self.shadow.grid
        grid.require_all(axes, site)
        if grid.thread == 0:
            self._note(place, site, self.shadow.publish)

    def check_read(self, place: int, site: int) -> None:
        """Check a read by a copy, which `join` then notes."""
        self._note(place, site, self.shadow.check_read)

    def begin_read(self, place: int, site: int) -> None:
        """Note that an asynchronous store takes the element."""
        self.check_read(place, site)
        self.begin(place, 1, self.shadow.grid.me | site, writes=False)

    def begin_write(self, place: int, site: int) -> None:
        """Note an asynchronous store."""
        self._note(place, site, self.shadow.write)
        self.begin(place, 1, self.shadow.grid.me | site, writes=True)

    def begin(self, place: int, count: int, stamp: int, *, writes: bool) -> Copy:
        """A copy of `count` elements begins, which the running thread commits later."""
        copy = Copy(self.shadow.grid.thread, stamp)
        self.join(copy, place, count, writes=writes)
        self.shadow.grid.started(copy)
        return copy

    def join(self, copy: Copy, place: int, count: int, *, writes: bool) -> None:
        """`copy` reads or writes `count` elements."""
        start = self.start + place * self.size
        copy.add(self.shadow, start, start + count * self.size, writes=writes)

    def _note(self, place: int, site: int, touch: Callable[[int, int], None]) -> None:
        shadow, size = self.shadow, self.size
        me = shadow.grid.me | site
        try:
            if shadow.unit == size:
                touch(self.start // size + place, me)
                return
            start = self.start + place * size
            for key in range(start, start + size):
                touch(key, me)
        except Clash as clash:
            raise shadow.grid.race(place, me, clash) from None
        except InFlight as flight:
            raise shadow.grid.in_flight(place, me, flight) from None

    def lanes(self, verb: str, places: Sequence[int], predicate: Any, site: int) -> None:
        """Note what the method `verb` notes, of the places where the predicate holds."""
        note: Callable[[int, int], None] = getattr(self, verb)
        for position, place in enumerate(places):
            if predicate is None or predicate[position]:
                note(place, site)

"""Races between threads that run together, found in bulk at barriers.

While threads run together (`lockstep_threads.py`) the accesses of memory that they share
are only listed. At a barrier the list is looked through: a location that one thread
writes and another one touches is a race. What one block writes and another one touches
is a race wherever the barriers are.

The comparison tells whether there is a race, not which. On the first doubt the launch is
begun again with one thread after the other, which then reports it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray[Any, Any]

_LIMIT = 1 << 22
"""Accesses that are listed before they are looked through without a barrier."""
_NONE = -1
_SEVERAL = -2


class Fault(Exception):
    """Threads cannot go on together: one of them is at fault, or may be."""


class _Access(NamedTuple):
    places: Array
    mask: Array | None
    start: int
    size: int
    """Bytes of an element, the first of which begins at byte `start`."""
    writes: bool


@dataclass(eq=False)
class Track:
    """The accesses of one memory: those since the last barrier, and those by block."""

    size: int
    """Bytes of the memory."""
    across: bool
    """Whether several blocks of the launch share it."""
    numbers: Array
    """The numbers of the threads that run together."""
    blocks: Array
    """The block of each in the launch."""
    _unit: int = 0
    _accesses: list[_Access] = field(default_factory=list[_Access])
    _count: int = 0
    _open: bool = False
    """Whether accesses since the last barrier are in `_owners` and `_readers`."""
    _owners: Array | None = None
    _readers: Array | None = None
    _writing_blocks: Array | None = None
    _reading_blocks: Array | None = None

    def note(
        self, places: Array, mask: Array | None, start: int, size: int, *, writes: bool
    ) -> None:
        """List an access of the elements at `places` by the threads of a mask."""
        self._accesses.append(_Access(places, mask, start, size, writes))
        self._count += len(places)
        if self._count > _LIMIT:
            self.settle(ends=False)

    def settle(self, *, ends: bool) -> None:
        """Raise Fault for a race. `ends` tells that a barrier is reached."""
        accesses, self._accesses, self._count = self._accesses, [], 0
        if not accesses and not self._open:
            return
        if accesses:
            self._choose_unit(accesses)
        written = [access for access in accesses if access.writes]
        if written or self._open or self.across or not ends:
            read = [access for access in accesses if not access.writes]
            self._compare(*self._listed(written), *self._listed(read), ends)
        if ends and self._open:
            self._open = False
            self._owners = self._readers = None

    def _choose_unit(self, accesses: Sequence[_Access]) -> None:
        """Locations are elements as long as all have one size, then bytes."""
        sizes = {1 if a.start % a.size else a.size for a in accesses}
        unit = sizes.pop() if len(sizes) == 1 else 1
        if not self._unit:
            self._unit = unit
        elif unit != self._unit and self._unit != 1:
            self._owners = self._spread(self._owners)
            self._readers = self._spread(self._readers)
            self._writing_blocks = self._spread(self._writing_blocks)
            self._reading_blocks = self._spread(self._reading_blocks)
            self._unit = 1

    def _spread(self, state: Array | None) -> Array | None:
        return None if state is None else np.repeat(state, self._unit)

    def _listed(self, accesses: Sequence[_Access]) -> tuple[Array, Array]:
        """All locations, and the threads that access them."""
        if not accesses:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        pieces = [self._locations(access) for access in accesses]
        return (
            np.concatenate([places for places, _ in pieces]),
            np.concatenate([threads for _, threads in pieces]),
        )

    def _locations(self, access: _Access) -> tuple[Array, Array]:
        places, threads = access.places, self.numbers
        if access.mask is not None:
            places, threads = places[access.mask], threads[access.mask]
        if self._unit == access.size:
            return places + access.start // access.size, threads
        first = access.start + places * access.size
        spread = first[:, None] + np.arange(access.size)
        return spread.ravel(), np.repeat(threads, access.size)

    def _compare(
        self, written: Array, writers: Array, read: Array, readers: Array, ends: bool
    ) -> None:
        if self.across:
            self._compare_blocks(
                written, self.blocks[writers], read, self.blocks[readers]
            )
        if not (len(written) or self._open or not ends):
            return
        owners = self._owners = self._state(self._owners)
        _require_own(owners[written], writers)
        if self._readers is not None:
            _require_own(self._readers[written], writers)
        owners[written] = writers
        _require_own(owners[written], writers)
        _require_own(owners[read], readers)
        if ends and not self._open:
            owners[written] = _NONE
        else:
            self._open = True
            self._readers = self._state(self._readers)
            _add(self._readers, read, readers)

    def _compare_blocks(
        self, written: Array, writers: Array, read: Array, readers: Array
    ) -> None:
        writing = self._writing_blocks = self._state(self._writing_blocks)
        reading = self._reading_blocks = self._state(self._reading_blocks)
        _require_own(writing[written], writers)
        _require_own(reading[written], writers)
        writing[written] = writers
        _require_own(writing[written], writers)
        _require_own(writing[read], readers)
        _add(reading, read, readers)

    def _state(self, state: Array | None) -> Array:
        if state is None:
            return np.full(-(-self.size // self._unit), _NONE, np.int64)
        return state


def _require_own(found: Array, mine: Array) -> None:
    if ((found != _NONE) & (found != mine)).any():
        raise Fault("threads race")


def _add(state: Array, places: Array, mine: Array) -> None:
    """Note who reads locations, or that several do."""
    before = state[places]
    state[places] = mine
    several = ((before != _NONE) & (before != mine)) | (state[places] != mine)
    state[places[several]] = _SEVERAL

"""The memory of constants that compiled code reads: read-only regions for all of them.

Constants of a network take hundreds of megabytes. They are written once, to where the
code finds them: parameters become attributes whose elements are there, and so do weights
in panels. Other constants are copied from the attributes of the module; neither an object
file nor the loader is on the way. Large regions are made of huge pages, where the system
has them. The first use of memory takes the system longer than the copy: it is early work,
while passes run.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Sequence
from concurrent.futures import Future

import numpy as np

from xdsl_tvm.dialects.array_bytes import advise_huge_pages
from xdsl_tvm.lowering.llvm_text.datum import Datum
from xdsl_tvm.runtime._addresses import address_of
from xdsl_tvm.runtime.early_work import EarlyWork

_HUGE = 1 << 21
"""Bytes of a huge page, and the least size of a region that is made of them."""

_WORTH_A_REGION = 1 << 24
"""Bytes whose first use takes longer than a thread takes to start."""

_AT_ONCE = 1 << 23
"""Bytes that are used by one task, which is not stopped in the middle."""

_LINE = 64
"""The alignment of constants in a region, at least."""

_PROTECT_READ = 1


class _Region:
    """Memory of this process, which constants take from its start on."""

    def __init__(
        self, size: int, alignment: int = _LINE, *, is_read_often: bool = True
    ) -> None:
        self.is_read_often = is_read_often
        is_huge = is_read_often and size >= _HUGE
        if is_huge:
            alignment = max(alignment, _HUGE)
        length = max(size + alignment, 1)
        if hasattr(mmap, "MAP_PRIVATE"):
            # Shared memory has no huge pages on most systems.
            flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
            self._memory = mmap.mmap(-1, length, flags=flags)
        else:
            self._memory = mmap.mmap(-1, length)
        self._start = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        self._end = -self._start % alignment
        self._is_finished = False
        if is_huge:
            advise_huge_pages(self._start, length)

    def holds(self, address: int) -> bool:
        """Whether an address is in the region."""
        return self._start <= address < self._start + len(self._memory)

    def has(self, size: int, alignment: int) -> bool:
        """Whether so many bytes can be taken."""
        start = self._aligned(alignment)
        return not self._is_finished and start + size <= len(self._memory)

    def take(self, size: int, alignment: int) -> memoryview:
        """The next bytes, of which there must be enough."""
        start = self._aligned(alignment)
        self._end = start + size
        return memoryview(self._memory)[start : self._end]

    def _aligned(self, alignment: int) -> int:
        """How far from the start the next bytes are."""
        return self._end + -(self._start + self._end) % alignment

    @property
    def next_address(self) -> int:
        """Where the next bytes are."""
        return self._start + self._end

    def keep_rest(self) -> None:
        """Copies of the process have what is taken, and not what is taken from now on.

        Until the region is finished: else each would have a copy of what changes.
        """
        if not self._is_finished:
            self._end = min(self._aligned(_HUGE), len(self._memory))
            self._advise("MADV_DONTFORK", self._end)

    def finish(self) -> None:
        """Gives back what is not taken; the memory is read-only, where it can be."""
        if self._is_finished:
            return
        self._is_finished = True
        self._advise("MADV_DOFORK", 0)
        self._advise("MADV_DONTNEED", self._end)
        protect = getattr(ctypes.CDLL(None), "mprotect", None)
        if protect is not None:
            protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
            protect(self._start, len(self._memory), _PROTECT_READ)

    def _advise(self, name: str, start: int) -> None:
        """Tells the system what memory is for, where it knows this advice."""
        advice = getattr(mmap, name, None)
        start += -(self._start + start) % mmap.PAGESIZE
        if advice is not None and start < len(self._memory):
            self._memory.madvise(advice, start)


class ReservedMemory:
    """Memory for the constants of a compilation, of which much is written in place.

    `stop` ends early work, as it must before the process is forked.
    """

    def __init__(self, work: EarlyWork | None = None, *, is_used: bool = True) -> None:
        self._work = work
        self._is_used = is_used
        self._regions: list[_Region] = []
        self._touching: list[Future[int]] = []

    def expect(self, size: int) -> None:
        """Uses memory for constants of about so many bytes, which are written later."""
        if size < _WORTH_A_REGION or self._work is None or not self._work.has_threads:
            return
        # Constants may become larger, and memory that is not used costs nothing.
        region = self._region(2 * size)
        if region is None:
            return
        for start in range(0, size, _AT_ONCE):
            count = min(_AT_ONCE, size - start)
            address = region.next_address + start
            future = self._work.begin(ctypes.memset, address, 0, count)
            if future is not None:
                self._touching.append(future)

    def places(
        self, sizes: Sequence[int], *, is_read_often: bool = True
    ) -> list[memoryview | None]:
        """Memory of these sizes, to be written once, as `element_places` has it.

        What is not read often has no huge pages, which may take the system longer to
        make: memory that a virtual machine has given back consists of them.
        """
        total = sum(size + _LINE for size in sizes)
        region = self._with(total, _LINE) if is_read_often else None
        if region is None and total >= _WORTH_A_REGION:
            region = self._region(total, is_read_often=is_read_often)
        if region is None:
            return [None] * len(sizes)
        self._stop_touching()
        return [region.take(size, _LINE) for size in sizes]

    def _with(self, size: int, alignment: int) -> _Region | None:
        """A region of which so many bytes can be taken."""
        for each in self._regions:
            if each.is_read_often and each.has(size, alignment):
                return each
        return None

    def _region(self, size: int, *, is_read_often: bool = True) -> _Region | None:
        if not self._is_used:
            return None
        try:
            region = _Region(size, is_read_often=is_read_often)
        except OSError:
            # The process is limited to less.
            return None
        self._regions.append(region)
        return region

    def _stop_touching(self) -> None:
        for future in reversed(self._touching):
            if not future.cancel():
                future.result()
        self._touching.clear()

    def stop(self) -> None:
        """Ends early work; memory that it has not used yet is used when it is filled."""
        self._stop_touching()
        if self._work is not None:
            self._work.stop()
        for region in self._regions:
            region.keep_rest()

    def holding(self, address: int) -> _Region | None:
        """The region that an address is in."""
        return next((each for each in self._regions if each.holds(address)), None)

    def with_space(self, size: int, alignment: int) -> _Region:
        """A region of which so many bytes can be taken; early work is ended."""
        self._stop_touching()
        return self._with(size, alignment) or _Region(size, alignment)

    def finish(self) -> None:
        """All regions are read-only, and have only what is taken."""
        for region in self._regions:
            region.finish()


class ConstantMemory:
    """Constants at the addresses by which code names them, while the object lives.

    Those that are in reserved memory stay where they are.
    """

    def __init__(
        self, data: Sequence[Datum], reserved: ReservedMemory | None = None
    ) -> None:
        reserved = reserved or ReservedMemory()
        self.addresses: dict[str, int] = {}
        self._regions: list[_Region] = []
        others: list[Datum] = []
        for datum in data:
            address = address_of(np.frombuffer(datum.data, np.uint8))
            region = reserved.holding(address)
            if region is None or address % datum.alignment:
                others.append(datum)
            else:
                self.addresses[datum.name] = address
                if region not in self._regions:
                    self._regions.append(region)
        if others:
            self._copy(others, reserved)
        reserved.finish()

    def _copy(self, data: Sequence[Datum], reserved: ReservedMemory) -> None:
        alignment = max(_LINE, *(datum.alignment for datum in data))
        size = sum(len(datum.data) + datum.alignment for datum in data)
        region = reserved.with_space(size, alignment)
        for datum in data:
            place = region.take(len(datum.data), datum.alignment)
            place[:] = datum.data
            self.addresses[datum.name] = address_of(np.frombuffer(place, np.uint8))
        self._regions.append(region)
        region.finish()

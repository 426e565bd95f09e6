"""The memory of constants that compiled code reads: one read-only region for all of them.

Constants of a network take hundreds of megabytes. They are copied once, from the
attributes of the module to where the code finds them; neither an object file nor the
loader is on the way. Large regions are made of huge pages, where the system has them.
The first use of memory takes the system longer than the copy: it is early work, while
passes run.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Sequence

from xdsl_tvm.dialects.array_bytes import advise_huge_pages
from xdsl_tvm.lowering.llvm_text.datum import Datum
from xdsl_tvm.runtime.early_work import EarlyWork

_HUGE = 1 << 21
"""Bytes of a huge page, and the least size of a region that is made of them."""

_WORTH_A_THREAD = 1 << 24
"""Bytes whose first use takes longer than a thread takes to start."""

_AT_ONCE = 1 << 25
"""Bytes that are used by one task, which is not stopped in the middle."""

_PROTECT_READ = 1


class _Region:
    """Memory of this process, and its first address that is aligned for constants."""

    def __init__(self, size: int, alignment: int) -> None:
        if size >= _HUGE:
            alignment = max(alignment, _HUGE)
        length = max(size + alignment, 1)
        if hasattr(mmap, "MAP_PRIVATE"):
            # Shared memory has no huge pages on most systems.
            flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
            self.memory = mmap.mmap(-1, length, flags=flags)
        else:
            self.memory = mmap.mmap(-1, length)
        self._start = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        self.first = self._start + -self._start % alignment
        self.alignment = alignment
        self.size = size
        if size >= _HUGE:
            advise_huge_pages(self._start, length)

    def advise(self, name: str) -> None:
        """Tells the system what the memory is for, where it knows this advice."""
        advice = getattr(mmap, name, None)
        if advice is not None:
            self.memory.madvise(advice)

    def release_after(self, size: int) -> None:
        """Gives back the memory after so many bytes for constants."""
        end = self.first + size - self._start
        end += -end % mmap.PAGESIZE
        advice = getattr(mmap, "MADV_DONTNEED", None)
        if advice is not None and end < len(self.memory):
            self.memory.madvise(advice, end)

    def protect(self) -> None:
        """Makes the memory read-only, where the C library can."""
        protect = getattr(ctypes.CDLL(None), "mprotect", None)
        if protect is not None:
            protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
            protect(self._start, len(self.memory), _PROTECT_READ)


class ReservedMemory:
    """Memory for constants of about so many bytes, whose first use is early work.

    `stop` ends the work, as it must before the process is forked. Copies of the process
    do not have the memory until `ConstantMemory` has filled it.
    """

    def __init__(self, size: int, work: EarlyWork | None = None) -> None:
        self._region: _Region | None = None
        self._work = work
        if size < _WORTH_A_THREAD or work is None or not work.has_threads:
            return
        try:
            # Constants may become larger, and memory that is not used costs nothing.
            self._region = region = _Region(2 * size, _HUGE)
        except OSError:
            # The process is limited to less.
            return
        region.advise("MADV_DONTFORK")
        for start in range(0, size, _AT_ONCE):
            count = min(_AT_ONCE, size - start)
            work.begin(ctypes.memset, region.first + start, 0, count)

    def stop(self) -> None:
        """Ends early work; memory that it has not used yet is used when it is filled."""
        if self._work is not None:
            self._work.stop()

    def take(self, size: int, alignment: int) -> _Region | None:
        """The region, if it has this size and alignment, and was not taken before.

        Early work is ended.
        """
        self.stop()
        region, self._region = self._region, None
        if region is None or region.size < size or region.alignment % alignment:
            return None
        region.release_after(size)
        return region


class ConstantMemory:
    """Constants at the addresses by which code names them, while the object lives."""

    def __init__(
        self, data: Sequence[Datum], reserved: ReservedMemory | None = None
    ) -> None:
        offsets: list[int] = []
        end = 0
        for datum in data:
            start = end + -end % datum.alignment
            offsets.append(start)
            end = start + len(datum.data)
        alignment = max((datum.alignment for datum in data), default=1)
        found = reserved.take(end, alignment) if reserved is not None else None
        self._region = found or _Region(end, alignment)
        first = self._region.first
        self.addresses: dict[str, int] = {}
        for datum, offset in zip(data, offsets, strict=True):
            ctypes.memmove(first + offset, datum.data, len(datum.data))
            self.addresses[datum.name] = first + offset
        self._region.advise("MADV_DOFORK")
        self._region.protect()

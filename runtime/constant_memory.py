"""The memory of constants that compiled code reads: one read-only region for all of them.

Constants of a network take hundreds of megabytes. They are copied once, from the
attributes of the module to where the code finds them; neither an object file nor the
loader is on the way. Large regions are made of huge pages, where the system has them.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Sequence

from xdsl_tvm.lowering.llvm_text.datum import Datum

_HUGE = 1 << 21
"""Bytes of a huge page, and the least size of a region that is made of them."""

_ADVICE = getattr(mmap, "MADV_HUGEPAGE", None)
_PROTECT_READ = 1


class ConstantMemory:
    """Constants at the addresses by which code names them, while the object lives."""

    def __init__(self, data: Sequence[Datum]) -> None:
        offsets: list[int] = []
        end = 0
        for datum in data:
            start = end + -end % datum.alignment
            offsets.append(start)
            end = start + len(datum.data)
        slack = max((datum.alignment for datum in data), default=1)
        if end >= _HUGE:
            slack = max(slack, _HUGE)
        self._region = mmap.mmap(-1, max(end + slack, 1))
        if end >= _HUGE and _ADVICE is not None:
            self._region.madvise(_ADVICE)
        address = ctypes.addressof(ctypes.c_char.from_buffer(self._region))
        first = address + -address % slack
        self.addresses: dict[str, int] = {}
        for datum, offset in zip(data, offsets, strict=True):
            ctypes.memmove(first + offset, datum.data, len(datum.data))
            self.addresses[datum.name] = first + offset
        _protect(address, len(self._region))


def _protect(address: int, size: int) -> None:
    """Makes memory read-only, where the C library can."""
    protect = getattr(ctypes.CDLL(None), "mprotect", None)
    if protect is not None:
        protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        protect(address, size, _PROTECT_READ)

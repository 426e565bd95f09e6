"""The elements of large numpy arrays as bytes, each written once."""

from __future__ import annotations

import ctypes
import mmap
import sys
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

_LARGE = 1 << 20
"""Bytes from which on memory costs more than the calls that prepare it."""

_ADVICE = getattr(mmap, "MADV_HUGEPAGE", None)


def array_bytes(array: np.ndarray[Any, Any]) -> bytes:
    """The elements of an array in C order, as `array.tobytes()` returns them.

    `tobytes` goes element by element over arrays that are not contiguous, and holds the
    interpreter's lock.
    """
    if array.nbytes < _LARGE or sys.implementation.name != "cpython":
        return array.tobytes()
    # Late: the dialects are imported without numpy.
    import numpy as np

    # CPython lets whoever has made an object without contents write them once.
    new_bytes, address_of = _bytes_functions()
    found = new_bytes(None, array.nbytes)
    address = address_of(found)
    memory = memoryview((ctypes.c_ubyte * array.nbytes).from_address(address)).cast("B")
    np.copyto(np.frombuffer(memory, array.dtype).reshape(array.shape), array)
    return found


@cache
def _bytes_functions() -> tuple[Callable[[None, int], bytes], Callable[[bytes], int]]:
    """Prototypes of our own, as those of `ctypes.pythonapi` belong to everybody."""
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_ssize_t)
    find = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object)
    return (
        make(("PyBytes_FromStringAndSize", ctypes.pythonapi)),
        find(("PyBytes_AsString", ctypes.pythonapi)),
    )


def advise_huge_pages(address: int, size: int) -> None:
    """Asks for huge pages in memory that is not used yet, where the system has them."""
    advise = getattr(ctypes.CDLL(None), "madvise", None) if _ADVICE is not None else None
    if advise is None:
        return
    first = address + -address % mmap.PAGESIZE
    last = (address + size) // mmap.PAGESIZE * mmap.PAGESIZE
    if first < last:
        advise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        advise(first, last - first, _ADVICE)

"""The elements of large numpy arrays as bytes, each written once."""

from __future__ import annotations

import ctypes
import mmap
import sys
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    import numpy as np

_LARGE = 1 << 20
"""Bytes from which on memory costs more than the calls that prepare it."""

_ADVICE = getattr(mmap, "MADV_HUGEPAGE", None)


class ElementMemory(Protocol):
    """Memory in which large constants are where compiled code reads them."""

    def places(self, sizes: Sequence[int]) -> list[memoryview | None]:
        """Memory of these sizes that is to be written once; None where there is none."""
        ...


_memory: ContextVar[ElementMemory | None] = ContextVar("element_memory", default=None)


@contextmanager
def elements_in(memory: ElementMemory) -> Generator[None]:
    """Passes that this thread runs write large constants to a memory."""
    token = _memory.set(memory)
    try:
        yield
    finally:
        _memory.reset(token)


def element_places(sizes: Sequence[int]) -> list[memoryview | None]:
    """Where constants of these sizes are to be written; None for new bytes."""
    memory = _memory.get()
    return [None] * len(sizes) if memory is None else memory.places(sizes)


def array_bytes(array: np.ndarray[Any, Any], place: memoryview | None = None) -> bytes:
    """The elements of an array in C order, as `array.tobytes()` returns them.

    `tobytes` goes element by element over arrays that are not contiguous, and holds the
    interpreter's lock. With a `place` of as many bytes the elements are written there,
    and the result is a read-only `memoryview` of it. That is equal to such bytes, and
    has their hash, but not their methods.
    """
    # Late: the dialects are imported without numpy.
    if place is not None:
        import numpy as np

        np.copyto(np.frombuffer(place, array.dtype).reshape(array.shape), array)
        return cast("bytes", cast(object, place.toreadonly()))
    if array.nbytes < _LARGE or sys.implementation.name != "cpython":
        return array.tobytes()
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

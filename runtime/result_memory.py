"""Memory of large results, which is used again once no array uses it.

The system makes the pages of new memory when they are first touched, which takes longer
than a kernel takes to fill them, and the C library returns large memory to the system as
soon as it is released. Here it is kept for the next results. They begin at a line of the
cache: vectors as long as one would each be in two.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from math import prod
from typing import Any, TypeAlias

import numpy as np

from xdsl_tvm.runtime._addresses import address_of

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

_ALIGNED_BYTES = 1 << 15
"""Least size of results that begin at a line of the cache: smaller ones are written in
less time than it takes to align them."""
_LEAST_BYTES = 1 << 19
"""Least size of results whose memory is kept: the C library keeps what is smaller."""
_MOST_BYTES = 128 << 20
"""Most bytes that are kept while no array uses them, unless `most_kept` is set."""
_LINE_BYTES = 64
_STEPS = 8
"""Sizes between a power of two and the next, so that results that grow by a little from
call to call have the same memory."""


class _Lent:
    """The base of arrays: it is collected with the last array on its memory."""

    __slots__ = ("__array_interface__", "__weakref__")

    def __init__(self, memory: Array) -> None:
        self.__array_interface__ = {
            "shape": (memory.nbytes - _LINE_BYTES,),
            "typestr": "|u1",
            "data": (address_of(memory) + _to_line(memory), False),
            "version": 3,
        }


class ResultMemory:
    """Makes arrays for results. Several threads may do so at once."""

    def __init__(self, most_kept: int = _MOST_BYTES) -> None:
        self._most_kept = most_kept
        self._free: dict[int, Array] = {}
        """What no array uses, by its identity, the longest unused first. Threads remove
        entries by `pop`, which is atomic."""

    def empty(self, shape: Sequence[int], dtype: np.dtype[Any]) -> Array:
        """A new array with whatever elements, in the order of C.

        Raises MemoryError or ValueError for a shape of which there can be none.
        """
        size = prod(shape) * dtype.itemsize
        if size < _ALIGNED_BYTES or min(shape) < 0:
            return np.empty(shape, dtype)
        if not _LEAST_BYTES <= size <= self._most_kept:
            memory = np.empty(size + _LINE_BYTES, np.uint8)
            first = _to_line(memory)
            return memory[first : first + size].view(dtype).reshape(shape)
        memory = self._take(_rounded(size) + _LINE_BYTES)
        lent = _Lent(memory)
        # Releasing an array may run in any thread, in the middle of anything.
        weakref.finalize(lent, self._give_back, memory).atexit = False
        return np.asarray(lent)[:size].view(dtype).reshape(shape)

    @property
    def most_kept(self) -> int:
        """Most bytes that are kept while no array uses them; 0 keeps none."""
        return self._most_kept

    @most_kept.setter
    def most_kept(self, bytes_: int) -> None:
        self._most_kept = bytes_
        self._drop(self.kept)

    @property
    def kept(self) -> int:
        """Bytes that no array uses."""
        return sum(memory.nbytes for memory in self._all())

    def _all(self) -> list[Array]:
        """What is free now, the longest unused first."""
        while True:
            try:
                return list(self._free.values())
            except RuntimeError:
                # The collector has released an array meanwhile.
                continue

    def _take(self, size: int) -> Array:
        for memory in reversed(self._all()):
            if memory.nbytes == size and self._free.pop(id(memory), None) is not None:
                return memory
        return np.empty(size, np.uint8)

    def _give_back(self, memory: Array) -> None:
        if memory.nbytes <= self._most_kept:
            self._drop(memory.nbytes + self.kept)
            self._free[id(memory)] = memory

    def _drop(self, total: int) -> None:
        """Release what is longest unused, until no more than allowed are kept."""
        for each in self._all():
            if total <= self._most_kept:
                break
            self._free.pop(id(each), None)
            total -= each.nbytes


def _to_line(memory: Array) -> int:
    """The bytes before the first line of the cache that begins in some memory."""
    return -address_of(memory) % _LINE_BYTES


def _rounded(size: int) -> int:
    step = max((1 << (size.bit_length() - 1)) // _STEPS, 1)
    return -(-size // step) * step


RESULTS = ResultMemory()
"""The memory of this process."""

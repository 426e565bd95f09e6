"""Asynchronous copies: they land when a thread waits for them, not before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from xdsl.ir import Operation

from xdsl_tvm.interpreters.llvm_kernels.layouts import Array, Mask
from xdsl_tvm.interpreters.llvm_kernels.memory import Region, Spaces

_OPEN = -1


@dataclass(eq=False)
class Copy:
    """One instruction: which threads copy what. Bytes past `filled` are zero."""

    op: Operation
    target: Region
    places: Array
    """Positions in the target, by thread."""
    source: Array
    """Positions in `origin`, by thread."""
    origin: Region
    size: int
    filled: Array
    """The bytes that are read, by thread; the rest is zero."""
    pending: Array
    """The threads whose copy has not landed."""
    groups: Array
    """The group of each thread's copy, negative as long as it is open."""


@dataclass(eq=False)
class Copies:
    """The copies in flight of a team."""

    spaces: Spaces
    pending: list[Copy] = field(default_factory=list[Copy])
    committed: Array = field(init=False)
    """The groups that each thread has closed."""

    def __post_init__(self) -> None:
        self.committed = np.zeros(self.spaces.count, np.int64)

    def start(self, copy: Copy) -> None:
        """Begin a copy, whose addresses are checked."""
        target = copy.target
        if target.in_flight is None:
            target.in_flight = np.zeros(len(target.data), np.uint8)
        each = copy.places[copy.pending][:, None] + np.arange(copy.size)
        np.add.at(target.in_flight, each.ravel(), np.uint8(1))
        self._note(copy, copy.pending, "writes")
        self.pending.append(copy)

    def commit(self, mask: Mask) -> None:
        """Close the groups of these threads."""
        for copy in self.pending:
            is_open = copy.pending & (copy.groups == _OPEN)
            if mask is not None:
                is_open &= mask
            copy.groups[is_open] = self.committed[is_open]
        if mask is None:
            self.committed += 1
        else:
            self.committed[mask] += 1

    def wait(self, mask: Mask, left: int) -> None:
        """Land the copies of all groups of these threads but the last `left` ones."""
        for copy in self.pending:
            done = copy.pending & (copy.groups != _OPEN)
            done &= copy.groups < self.committed - left
            self._land(copy, done if mask is None else done & mask)
        self._forget()

    def wait_all(self, mask: Mask) -> None:
        """Land all copies of these threads, whether committed or not."""
        for copy in self.pending:
            self._land(copy, copy.pending.copy() if mask is None else copy.pending & mask)
        self._forget()

    def land(self, copies: Sequence[Copy], threads: Array) -> None:
        """Land copies of some threads, of those that are still in flight."""
        for copy in copies:
            self._land(copy, copy.pending & threads)
        self._forget()

    def _forget(self) -> None:
        self.pending = [copy for copy in self.pending if copy.pending.any()]

    def _land(self, copy: Copy, done: Array) -> None:
        if not done.any():
            return
        target = copy.target
        assert target.in_flight is not None
        step = np.arange(copy.size)
        places = copy.places[done][:, None] + step
        filled = copy.filled[done][:, None] > step
        source = np.where(filled, copy.source[done][:, None] + step, 0)
        data = np.where(filled, copy.origin.data[source], np.uint8(0))
        target.data[places] = data
        if target.marks is not None:
            target.marks[places] = 1
        np.subtract.at(target.in_flight, places.ravel(), np.uint8(1))
        copy.pending &= ~done
        self._note(copy, done, "writes")

    def _note(self, copy: Copy, threads: Array, kind: str) -> None:
        stamps = copy.target.stamps
        if stamps is not None:
            numbers = np.flatnonzero(threads)
            stamps.note(copy.op, kind, copy.places[numbers], copy.size, numbers)

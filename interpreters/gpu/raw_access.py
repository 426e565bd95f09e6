"""Access of memory at pointers, many elements at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from xdsl_tvm.interpreters.data.memory import Pointer
from xdsl_tvm.interpreters.data.numbers import Number
from xdsl_tvm.interpreters.errors import OutOfBoundsError, SimulationError
from xdsl_tvm.interpreters.gpu.grid_memory import GridMemory

Array: TypeAlias = np.ndarray[Any, Any]
Places: TypeAlias = "Sequence[int] | Array"


@dataclass(frozen=True, eq=False)
class Access:
    """How an op reaches the elements at one of its pointers."""

    element: Number
    site: int
    watched: bool
    """Whether threads share the memory,"""
    across_blocks: bool
    """also those of other blocks."""
    bank_site: int | None = None
    """The number of the op where conflicts of shared memory are counted."""

    def read(self, grid: GridMemory, pointer: Pointer, places: Places) -> Array:
        """The elements at `places`, counted from the pointer, in one dimension."""
        taken = self._inside(pointer, places)
        size = self.element.size
        mask = pointer.memory.mask
        if mask is not None:
            marks = np.ndarray((len(mask) // size, size), np.uint8, mask)
            if pointer.offset % size:
                raise SimulationError(f"a pointer to byte {pointer.offset} is misaligned")
            written = marks[taken + pointer.offset // size].all(axis=1)
            if not written.all():
                first = int(np.flatnonzero(~written)[0])
                place = int(taken[first]) + pointer.offset // size
                grid.uninitialized(place, self.site)
        self._note(grid, pointer, taken, "read")
        return pointer.array(self.element.storage)[taken]

    def write(
        self, grid: GridMemory, pointer: Pointer, places: Places, values: Any
    ) -> None:
        """Write the elements at `places`."""
        taken = self._inside(pointer, places)
        pointer.array(self.element.storage)[taken] = values
        mask = pointer.memory.mask
        if mask is not None:
            size = self.element.size
            for place in taken:
                start = pointer.offset + int(place) * size
                mask[start : start + size] = b"\1" * size
        self._note(grid, pointer, taken, "write")

    def load_guarded(
        self,
        grid: GridMemory,
        source: Access,
        target: Pointer,
        guard: bool,
        pointer: Pointer,
    ) -> None:
        """`ptx_ldg32`: write what is after `pointer`, or 0 if the guard fails."""
        value = source.read(grid, pointer, [0]) if guard else 0
        self.write(grid, target, [0], value)

    def note_banks(self, grid: GridMemory, pointer: Pointer, places: Places) -> None:
        """The running thread accesses the elements at `places` one by one, if that is
        counted."""
        if grid.banks is not None and self.bank_site is not None:
            size = self.element.size
            touched = [(pointer.offset + int(place) * size, size) for place in places]
            grid.banks.note(grid.thread, self.bank_site, (), touched)

    def read_bytes(self, grid: GridMemory, pointer: Pointer, count: int) -> bytes:
        """The first `count` bytes at a pointer, whole elements of which are read."""
        size = self.element.size
        return self.read(grid, pointer, np.arange(-(-count // size))).tobytes()[:count]

    def write_bytes(self, grid: GridMemory, pointer: Pointer, data: bytes) -> None:
        """Write the first bytes at a pointer."""
        values = np.frombuffer(data, self.element.storage)
        self.write(grid, pointer, np.arange(len(values)), values)

    def _inside(self, pointer: Pointer, places: Places) -> Array:
        taken = np.asarray(places, np.int64)
        size = self.element.size
        start = -(pointer.offset // size)
        end = (len(pointer.memory.bytes) - pointer.offset) // size
        for place in (taken.min(initial=0), taken.max(initial=-1)):
            if not start <= place < end and taken.size:
                raise OutOfBoundsError(
                    f"element {place} at a pointer is accessed, its memory has the "
                    f"elements [{start}, {end})"
                )
        return taken

    def _note(self, grid: GridMemory, pointer: Pointer, places: Array, verb: str) -> None:
        if not self.watched:
            return
        size = self.element.size
        view = grid.view(Pointer.to(pointer.memory, None), 0, size, self.across_blocks)
        first = pointer.offset // size
        view.lanes(verb, [first + int(place) for place in places], None, self.site)

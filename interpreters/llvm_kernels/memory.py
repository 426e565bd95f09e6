"""The memory that threads see: bytes of the caller, of a block, of a thread.

An address is a number: byte `o` of the `n`-th array is `(n + 1) << 36 | o`, of the shared
memory of the block `o`, of the local memory of the thread `o`; generic addresses of the
latter two begin at a window each (`values.window_of`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
from xdsl.ir import Attribute, Operation

from xdsl_tvm.dialects.dtypes import is_vector, lanes_of
from xdsl_tvm.interpreters.data.memory import Memory
from xdsl_tvm.interpreters.errors import (
    AsyncCopyError,
    OutOfBoundsError,
    SimulationError,
    UninitializedReadError,
)
from xdsl_tvm.interpreters.llvm_kernels.counts import AccessCounts
from xdsl_tvm.interpreters.llvm_kernels.layouts import Array, Mask, scalar, store_bytes
from xdsl_tvm.interpreters.llvm_kernels.races import Clock, Stamps
from xdsl_tvm.interpreters.llvm_kernels.values import LOCAL_WINDOW, SHARED_WINDOW

SPAN_BITS = 36
_ROW_BYTES = 16
"""The rows of blocks and threads begin at multiples of this."""
_POISON = 0xFF


@dataclass(eq=False)
class Region:
    """Bytes that addresses reach: of an array, or a row for each block or thread."""

    name: str
    data: Array
    marks: Array | None
    """One for every byte that was written; None where all are."""
    size: int
    """Bytes that one thread can reach."""
    starts: Array | None = None
    """The first byte of the row of each thread; None for an array."""
    stamps: Stamps | None = None
    in_flight: Array | None = None
    """The copies in flight to each byte."""
    tensor: BoxedTensor | None = None
    """What a tensor map, whose bytes these are, tells of."""
    _views: dict[str, Array] = field(default_factory=dict[str, Array])

    def watch(self, clock: Clock) -> None:
        """Look for races in memory that all blocks share, unless it is only read."""
        if self.stamps is None and self.data.flags.writeable:
            self.stamps = Stamps(clock, len(self.data), True)

    def typed(self, storage: np.dtype[Any]) -> Array:
        """The whole as elements of a dtype."""
        found = self._views.get(storage.name)
        if found is None:
            count = len(self.data) // storage.itemsize
            found = self.data[: count * storage.itemsize].view(storage)
            self._views[storage.name] = found
        return found

    def places(self, offsets: Array, mask: Mask) -> Array:
        """Positions in `data` of offsets; of other threads than the mask's, any."""
        found = offsets if self.starts is None else self.starts + offsets
        if mask is None:
            return found
        other = self.starts if self.starts is not None else np.zeros(1, np.int64)
        return np.where(mask, found, other)


@dataclass(frozen=True, eq=False)
class BoxedTensor:
    """The tensor of a map: its elements, and the box that a copy moves."""

    data: Region
    start: int
    """The first byte in the data."""
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    """In bytes; the last dimension is contiguous."""
    itemsize: int
    box: tuple[int, ...]
    swizzle: int

    @property
    def bytes(self) -> int:
        """Those of a box."""
        return prod(self.box) * self.itemsize


@dataclass(frozen=True, eq=False)
class Access:
    """What an operation accesses: a type, in an address space, with an alignment."""

    op: Operation
    type: Attribute
    space: int
    alignment: int
    atomic: bool = False
    counted: bool = True
    """Whether it is known which lane accesses what."""

    @property
    def size(self) -> int:
        """The bytes."""
        return store_bytes(self.type)


@dataclass(eq=False)
class Spaces:
    """The regions of the threads of a team."""

    count: int
    """Threads."""
    arrays: Sequence[Region]
    shared: Region
    local: Region
    clock: Clock
    warps: Array
    """The threads of each warp, -1 where it has fewer than 32."""
    counts: AccessCounts | None = None

    def name(self, thread: int) -> str:
        """A thread of the team, for messages."""
        return self.clock.name(self.clock.first + thread)

    # ---- finding ----

    def locate(
        self, op: Operation, space: int, address: Array, mask: Mask
    ) -> Iterator[tuple[Region, Array, Mask]]:
        """The regions that threads address, the offsets there, and which threads do."""
        if space == 3:
            yield self.shared, address, mask
        elif space == 5:
            yield self.local, address, mask
        else:
            yield from self._generic(op, address, mask)

    def _generic(
        self, op: Operation, address: Array, mask: Mask
    ) -> Iterator[tuple[Region, Array, Mask]]:
        keys = address >> SPAN_BITS
        if len(keys) == 1:
            region, start = self._region(op, int(keys[0]), int(address[0]))
            yield region, address - start, mask
            return
        active = keys if mask is None else keys[mask]
        first = int(active[0])
        if (active == first).all():
            region, start = self._region(op, first, int(address[0]))
            yield region, address - start, mask
            return
        for key in np.unique(active).tolist():
            chosen = keys == key if mask is None else (keys == key) & mask
            sample = int(address[np.flatnonzero(chosen)[0]])
            region, start = self._region(op, key, sample)
            yield region, address - start, chosen

    def _region(self, op: Operation, key: int, address: int) -> tuple[Region, int]:
        if key == LOCAL_WINDOW >> SPAN_BITS:
            return self.local, LOCAL_WINDOW
        if key == SHARED_WINDOW >> SPAN_BITS:
            return self.shared, SHARED_WINDOW
        if 1 <= key <= len(self.arrays):
            return self.arrays[key - 1], key << SPAN_BITS
        raise OutOfBoundsError(
            f"{op.name}: address {address:#x} is in no memory of the kernel", op
        )

    def checked(
        self, access: Access, region: Region, offsets: Array, mask: Mask, size: int
    ) -> Array:
        """The positions in a region. Raises OutOfBoundsError, and SimulationError for an
        address that is not aligned."""
        outside = (offsets < 0) | (offsets > region.size - size)
        if mask is not None:
            outside = outside & mask
        if outside.any():
            thread = int(np.flatnonzero(outside)[0])
            raise OutOfBoundsError(
                f"{access.op.name}: {self.name(thread)} accesses {size} bytes from byte "
                f"{int(offsets[thread])} of {region.name}, which has {region.size}",
                access.op,
            )
        if access.alignment > 1:
            astray = offsets & (access.alignment - 1) != 0
            if mask is not None:
                astray = astray & mask
            if astray.any():
                thread = int(np.flatnonzero(astray)[0])
                raise SimulationError(
                    f"{access.op.name}: {self.name(thread)} accesses byte "
                    f"{int(offsets[thread])} of {region.name}, which is no multiple of "
                    f"{access.alignment}",
                    access.op,
                )
        return region.places(offsets, mask)

    # ---- accessing ----

    def read(self, access: Access, region: Region, offsets: Array, mask: Mask) -> Array:
        """The values at offsets of a region."""
        size, dtype = access.size, scalar(access.type)
        places = self.checked(access, region, offsets, mask, size)
        self.require_written(access.op, region, places, size, mask)
        self._note(access, region, "updates" if access.atomic else "reads", places, mask)
        lanes = lanes_of(access.type)
        if access.alignment % dtype.size:
            raw = region.data[places[:, None] + np.arange(size)]
            rows = np.ascontiguousarray(raw).view(dtype.storage)
        else:
            index = places // dtype.size
            if lanes == 1 and not is_vector(access.type):
                return region.typed(dtype.storage)[index]
            rows = region.typed(dtype.storage)[index[:, None] + np.arange(lanes)]
        return rows if is_vector(access.type) else rows[:, 0]

    def write(
        self, access: Access, region: Region, offsets: Array, value: Array, mask: Mask
    ) -> None:
        """Write values at offsets of a region."""
        size, dtype = access.size, scalar(access.type)
        places = self.checked(access, region, offsets, mask, size)
        if not region.data.flags.writeable:
            raise SimulationError(
                f"{access.op.name}: it writes {region.name}, which is only read",
                access.op,
            )
        self.require_landed(access.op, region, places, size, mask)
        self._note(access, region, "updates" if access.atomic else "writes", places, mask)
        if len(places) == 1 and len(value) > 1:
            places = np.broadcast_to(places, (len(value),))
        if mask is not None:
            if len(places) == 1:
                places = np.broadcast_to(places, mask.shape)
            places = places[mask]
            value = value[mask] if len(value) > 1 else value
        self.put(region, places, value, dtype.storage, access.alignment)

    def put(
        self,
        region: Region,
        places: Array,
        value: Array,
        storage: np.dtype[Any],
        alignment: int,
    ) -> None:
        """Write rows of elements at positions of a region, which is not checked."""
        rows = value.reshape(len(value), -1)
        size = rows.shape[1] * storage.itemsize
        if alignment % storage.itemsize:
            raw = np.ascontiguousarray(rows.astype(storage, copy=False)).view(np.uint8)
            region.data[places[:, None] + np.arange(size)] = raw
        else:
            index = places // storage.itemsize
            if rows.shape[1] == 1:
                region.typed(storage)[index] = rows[:, 0]
            else:
                columns = np.arange(rows.shape[1])
                region.typed(storage)[index[:, None] + columns] = rows
        if region.marks is not None:
            region.marks[places[:, None] + np.arange(size)] = 1

    def require_written(
        self, op: Operation, region: Region, places: Array, size: int, mask: Mask
    ) -> None:
        """Raises for bytes that nobody has written, or that a copy is on the way to."""
        self.require_landed(op, region, places, size, mask)
        if region.marks is None:
            return
        missing = ~region.marks[places[:, None] + np.arange(size)].all(1)
        if mask is not None:
            missing = missing & mask
        if missing.any():
            thread = int(np.flatnonzero(missing)[0])
            raise UninitializedReadError(
                f"{op.name}: {self.name(thread)} reads {region.name}, where nothing was "
                "written",
                op,
            )

    def require_landed(
        self, op: Operation, region: Region, places: Array, size: int, mask: Mask
    ) -> None:
        """Raises AsyncCopyError for bytes that a copy is on the way to."""
        if region.in_flight is None:
            return
        flying = region.in_flight[places[:, None] + np.arange(size)].any(1)
        if mask is not None:
            flying = flying & mask
        if flying.any():
            thread = int(np.flatnonzero(flying)[0])
            raise AsyncCopyError(
                f"{op.name}: {self.name(thread)} accesses {region.name} while a copy to "
                "it is in flight; wait for the copy first",
                op,
            )

    def _note(
        self, access: Access, region: Region, kind: str, places: Array, mask: Mask
    ) -> None:
        if self.counts is not None and access.counted:
            self.count_access(access.op, region, places, access.size, mask, kind)
        if region.stamps is None:
            return
        threads = np.arange(self.count)
        if len(places) == 1:
            places = np.broadcast_to(places, (self.count,))
        if mask is not None:
            places, threads = places[mask], threads[mask]
        region.stamps.note(access.op, kind, places, access.size, threads)

    def count_access(
        self,
        op: Operation,
        region: Region,
        places: Array,
        size: int,
        mask: Mask,
        kind: str,
    ) -> None:
        """Count an access, if accesses are counted."""
        if self.counts is None or region is self.local:
            return
        note = self.counts.shared if region is self.shared else self.counts.outside
        note(op, places, size, self.warps, mask, kind)


def array_region(memory: Memory, name: str, clock: Clock | None) -> Region:
    """The memory of an array; with a clock, it is watched for races."""
    data = np.frombuffer(memory.bytes, np.uint8)
    marks = None
    if memory.mask is not None:
        marks = np.frombuffer(memory.mask, np.uint8)
    found = Region(name, data, marks, len(data))
    if clock is not None:
        found.watch(clock)
    return found


def rows_region(
    name: str, size: int, rows: int, row_of: Array, clock: Clock | None
) -> Region:
    """Fresh memory of `size` bytes for every row; `row_of` is the row of each thread."""
    row = -(-max(size, 1) // _ROW_BYTES) * _ROW_BYTES
    data = np.full(row * rows, _POISON, np.uint8)
    stamps = None if clock is None else Stamps(clock, len(data), False)
    marks = np.zeros(len(data), np.uint8)
    return Region(name, data, marks, size, row_of * row, stamps)

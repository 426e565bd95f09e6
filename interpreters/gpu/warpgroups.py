"""Tensor copies and products of warpgroups, of Hopper GPUs.

A tensor copy is a copy that a counting barrier tracks. A product reads both operands
where it is begun; until the threads of a warp have waited for its group, the sums of
these threads have no value, and who writes an operand gets an AsyncCopyError. What
threads did in shared memory is seen by both after `ptx_fence_proxy_async` only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Final

import numpy as np

from xdsl_tvm.interpreters.data.boxes import (
    CHUNK,
    EIGHT_ROWS,
    FURTHER_COLUMNS,
    ROWS,
    check_tensor_map,
    line_chunks,
    permuted,
    sum_places,
    term_chunks,
)
from xdsl_tvm.interpreters.data.memory import Pointer
from xdsl_tvm.interpreters.errors import (
    ArgumentError,
    AsyncCopyError,
    OutOfBoundsError,
    SimulationError,
    UninitializedReadError,
)
from xdsl_tvm.interpreters.gpu.async_copies import Copy
from xdsl_tvm.interpreters.gpu.grid_memory import WARP, GridMemory
from xdsl_tvm.interpreters.gpu.products_in_flight import Sums, WarpgroupProduct
from xdsl_tvm.interpreters.gpu.raw_access import Access, Array
from xdsl_tvm.interpreters.gpu.shadow import Clash, InFlight, Shadow

_BOX_ALIGNMENT: Final = 128
_SUM_BYTES: Final = 4


# ---- tensor maps ----


@dataclass(frozen=True, eq=False)
class TiledTensor:
    """What a tensor map tells of: a tensor, and the box that copies move."""

    pointer: Pointer
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    """In bytes; the innermost dimension is contiguous."""
    itemsize: int
    box: tuple[int, ...]
    swizzle: int

    @staticmethod
    def encode(
        pointer: Pointer | None, itemsize: int, swizzle: int, *values: int
    ) -> TiledTensor:
        """`tensormap_encode_tiled`. Raises ArgumentError for what is no tensor map."""
        if pointer is None:
            raise ArgumentError("a tensor map of the null pointer")
        rank = (len(values) + 1) // 3
        extents, box = values[:rank], values[-rank:]
        strides = [itemsize * each for each in values[rank:-rank]]
        check_tensor_map(extents, strides, itemsize, box, swizzle)
        return TiledTensor(pointer, extents, (*strides, itemsize), itemsize, box, swizzle)

    @property
    def bytes(self) -> int:
        """Those of a box."""
        return prod(self.box) * self.itemsize

    def rows(self, corner: Sequence[int]) -> list[tuple[int, int]]:
        """Where the rows of a box begin, in bytes from the pointer, and their bytes."""
        found: list[tuple[int, int]] = []
        first = corner[-1]
        if first < 0:
            raise OutOfBoundsError(f"a box at {tuple(corner)} begins before its tensor")
        left = max(0, min(self.extents[-1] - first, self.box[-1])) * self.itemsize
        for step in np.ndindex(*self.box[:-1]):
            place = [at + s for at, s in zip(corner[:-1], step, strict=True)]
            inside = all(
                0 <= at < extent for at, extent in zip(place, self.extents, strict=False)
            )
            start = first * self.itemsize
            for at, stride in zip(place, self.strides, strict=False):
                start += at * stride
            found.append((start, left if inside else 0))
        return found


def copy_box(
    grid: GridMemory,
    target: Pointer,
    tensor: object,
    coordinates: Sequence[int],
    target_site: int,
    source_site: int,
) -> Copy:
    """The copy of a box to shared memory, by the running thread."""
    if not isinstance(tensor, TiledTensor):
        raise SimulationError("a tensor copy has a handle that is no tensor map")
    if len(coordinates) != len(tensor.extents):
        raise SimulationError(
            f"{len(coordinates)} coordinates of a tensor of {len(tensor.extents)} "
            "dimensions"
        )
    if target.offset % _BOX_ALIGNMENT:
        raise AsyncCopyError(
            f"the destination begins at byte {target.offset}, not at a multiple of "
            f"{_BOX_ALIGNMENT}"
        )
    size, total = tensor.itemsize, tensor.bytes
    if target.offset + total > len(target.memory.bytes):
        raise OutOfBoundsError(
            f"a box of {total} bytes at byte {target.offset} does not fit in memory of "
            f"{len(target.memory.bytes)}"
        )
    copy = Copy(grid.thread, grid.me | target_site)
    row_bytes = tensor.box[-1] * size
    data = np.zeros(total, np.uint8)
    source = tensor.pointer
    view = grid.view(Pointer.to(source.memory, None), 0, size, True)
    held = np.frombuffer(source.memory.bytes, np.uint8)
    for number, (start, count) in enumerate(tensor.rows(coordinates)):
        if not count:
            continue
        start += source.offset
        if start < 0 or start + count > len(held):
            raise OutOfBoundsError(
                f"a tensor map reaches byte {start + count} of memory of {len(held)}"
            )
        for place in range(start // size, (start + count) // size):
            view.check_read(place, source_site)
        view.join(copy, start // size, count // size, writes=False)
        data[number * row_bytes :][:count] = held[start : start + count]
    _land(grid, copy, target, data, tensor, target_site)
    return copy


def _land(
    grid: GridMemory,
    copy: Copy,
    target: Pointer,
    data: Array,
    tensor: TiledTensor,
    site: int,
) -> None:
    """Put the bytes of a box into shared memory, where they are in flight."""
    size, start, end = tensor.itemsize, target.offset, target.offset + len(data)
    view = grid.view(Pointer.to(target.memory, None), 0, size, False)
    shadow = view.shadow
    for place in range(start // size, end // size):
        written = shadow.writers.get(place if shadow.unit == size else place * size, -1)
        if written >= 0:
            grid.require_fence(written, grid.thread)
        view.write(place, site)
    view.join(copy, start // size, len(data) // size, writes=True)
    # The copy is noted by what is in flight; it is no write that a fence is for.
    for key in range(start // shadow.unit, end // shadow.unit):
        shadow.writers.pop(key, None)
    address = np.arange(start, end)
    if tensor.swizzle:
        address = permuted(address)
    np.frombuffer(target.memory.bytes, np.uint8)[address] = data
    if target.memory.mask is not None:
        target.memory.mask[start:end] = b"\1" * len(data)


# ---- products ----


@dataclass(frozen=True, eq=False)
class MultiplyWarpgroup:
    """`ptx_wgmma_mma_async`: operands are A, B and the sums."""

    columns: int
    by_terms: bool
    """Whether rows of B are terms of 64 columns, and not lines of 64 terms."""
    a: Access
    b: Access

    def __call__(
        self, grid: GridMemory, threads: Sequence[int], operands: list[tuple[Any, ...]]
    ) -> None:
        first, product = threads[0], self._product(grid, threads[0])
        for position, what in enumerate(("A", "B")):
            for thread, given in zip(threads, operands, strict=True):
                if given[position] != operands[0][position]:
                    raise SimulationError(
                        f"{grid.name(first)} and {grid.name(thread)} disagree on {what}"
                    )
        left, right, _ = operands[0]
        rows = line_chunks(left.offset, 0, ROWS, EIGHT_ROWS)
        a = self._operand(grid, threads, product, self.a, left, rows)
        if self.by_terms:
            rows = term_chunks(right.offset, self.columns, FURTHER_COLUMNS, EIGHT_ROWS)
            b = self._operand(grid, threads, product, self.b, right, rows)
        else:
            rows = line_chunks(right.offset, 0, self.columns, EIGHT_ROWS)
            b = self._operand(grid, threads, product, self.b, right, rows).T
        total = (a.astype(np.float64) @ b.astype(np.float64))[sum_places(self.columns)]
        for thread, given, more in zip(threads, operands, total, strict=True):
            grid.turn(thread)
            self._add(grid, product, given[2], more)

    def _product(self, grid: GridMemory, first: int) -> WarpgroupProduct:
        grid.turn_warp(first)
        return WarpgroupProduct(grid, grid.me | self.a.site, first)

    def _operand(
        self,
        grid: GridMemory,
        threads: Sequence[int],
        product: WarpgroupProduct,
        access: Access,
        pointer: Pointer,
        chunks: Array,
    ) -> Array:
        """The elements of an operand by row, which is read from now on."""
        memory, size = pointer.memory, access.element.size
        places = chunks[:, :, None] + np.arange(0, CHUNK)
        if pointer.offset < 0 or int(places.max()) >= len(memory.bytes):
            raise OutOfBoundsError(
                f"an operand that begins at byte {pointer.offset} ends after the memory, "
                f"of {len(memory.bytes)} bytes"
            )
        shadow: Shadow = grid.view(Pointer.to(memory, None), 0, size, False).shadow
        keys = np.unique(places // shadow.unit).tolist()
        try:
            shadow.check_operand(keys, threads)
        except InFlight as flight:
            raise grid.in_flight(0, grid.me | access.site, flight) from None
        except Clash as clash:
            raise grid.race(0, grid.me | access.site, clash) from None
        shadow.leave(product, keys)
        if memory.mask is not None:
            marks = np.frombuffer(memory.mask, np.uint8)
            if not marks[places].all():
                raise UninitializedReadError(
                    "an operand of a product is read where nothing was written"
                )
        held = np.frombuffer(memory.bytes, np.uint8)[places]
        return held.reshape(len(chunks), -1).view(access.element.storage)

    def _add(
        self, grid: GridMemory, product: WarpgroupProduct, pointer: Pointer, more: Array
    ) -> None:
        """Add to the sums of the running thread, which have no value from now on."""
        issued = grid.products
        if not issued.is_fenced:
            raise AsyncCopyError(
                f"{grid.name(grid.thread)} begins a product without ptx_wgmma_fence "
                "since its sums may have been accessed"
            )
        memory, start, size = pointer.memory, pointer.offset, len(more) * _SUM_BYTES
        if start % _SUM_BYTES or start < 0 or start + size > len(memory.bytes):
            raise OutOfBoundsError(
                f"{size} bytes of sums at byte {start} of memory of {len(memory.bytes)}"
            )
        assert memory.mask is not None, "a thread's own memory is allocated"
        before = issued.pending.get((id(memory), start))
        if before is None or len(before.values) != len(more):
            marks = np.frombuffer(memory.mask[start : start + size], np.uint8)
            if not marks.all():
                raise UninitializedReadError(
                    f"{grid.name(grid.thread)} adds to sums that were never written, or "
                    "in part of a product that was not waited for"
                )
            old = np.frombuffer(memory.bytes, np.float32, len(more), start).copy()
        else:
            old = before.values
        memory.mask[start : start + size] = bytes(size)
        values = (old + more).astype(np.float32)
        issued.pending[id(memory), start] = Sums(product, memory, start, values)
        issued.open.append(product)


def wait_products(
    grid: GridMemory, threads: Sequence[int], operands: list[tuple[Any, ...]]
) -> None:
    """`ptx_wgmma_wait_group` of a warp: its threads have the sums of all groups but n."""
    grid.turn(threads[0])
    done = grid.turn_generation()
    for thread, (count,) in zip(threads, operands, strict=True):
        grid.turn(thread)
        issued = grid.products
        issued.is_fenced = False
        if count < 0:
            raise AsyncCopyError(f"a wait leaves {count} groups of products")
        ready = max(0, len(issued.groups) - count)
        complete = {product for group in issued.groups[:ready] for product in group}
        del issued.groups[:ready]
        for product in complete:
            product.waited.setdefault(threads[0] // WARP, done)
        for key, sums in list(issued.pending.items()):
            if sums.product in complete:
                del issued.pending[key]
                _give(grid, sums)


def _give(grid: GridMemory, sums: Sums) -> None:
    """Let a thread have its sums."""
    data = sums.values.tobytes()
    start, end = sums.start, sums.start + len(data)
    assert sums.memory.mask is not None
    if any(sums.memory.mask[start:end]):
        raise AsyncCopyError(
            f"{grid.name(grid.thread)} wrote sums of a product of its warpgroup before "
            "it waited for the product"
        )
    sums.memory.bytes[start:end] = data
    sums.memory.mask[start:end] = b"\1" * len(data)

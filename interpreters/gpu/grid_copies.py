"""Asynchronous copies and counting barriers of a kernel."""

from __future__ import annotations

from xdsl_tvm.interpreters.data.memory import Memory, Pointer
from xdsl_tvm.interpreters.errors import (
    AsyncCopyError,
    OutOfBoundsError,
    RaceError,
)
from xdsl_tvm.interpreters.gpu import async_copies as _async_copies
from xdsl_tvm.interpreters.gpu.async_copies import Copy, CountingBarrier, Knowledge
from xdsl_tvm.interpreters.gpu.grid_memory import GridMemory
from xdsl_tvm.interpreters.gpu.shadow import (
    SITE_MASK,
    View,
)
from xdsl_tvm.interpreters.gpu.warpgroups import TiledTensor, copy_box


class GridCopies(GridMemory):
    """What threads do with asynchronous copies; see `async_copies.py`."""

    # ---- copies ----

    def copy_dma(
        self,
        queue: int,
        target: Pointer,
        source: Pointer,
        count: int,
        target_site: int,
        source_site: int,
    ) -> None:
        """`dma_copy`: of the group that is open, or of one of its own."""
        self.started(self._transfer(target, source, count, target_site, source_site))
        if self._issued.grouped is None:
            self.commit(queue)

    def start_group(self, queue: int) -> None:
        """`dma_start_group`."""
        if self._issued.grouped is not None:
            raise AsyncCopyError(
                f"a group of queue {queue} is begun inside of one of queue "
                f"{self._issued.grouped}"
            )
        self._issued.grouped = queue

    def end_group(self, queue: int) -> None:
        """`dma_end_group`."""
        if self._issued.grouped != queue:
            raise AsyncCopyError(f"a group of queue {queue} is ended, but was not begun")
        self._issued.grouped = None
        self.commit(queue)

    def commit(self, queue: int) -> None:
        """The running thread closes a group of copies."""
        self._issued.commit(queue)

    def commit_scope(self, queue: int, transfers: bool) -> None:
        """A commit scope ends. It has no group of its own in one of `dma_start_group`,
        nor where it holds nothing but transfers."""
        if self._issued.grouped is None and (self._issued.open or not transfers):
            self.commit(queue)

    def wait(self, queue: int, inflight: int) -> None:
        """It waits until no more than its `inflight` latest groups are in flight."""
        for copy in self._issued.complete(queue, inflight):
            copy.finish(self.me | copy.stamp & SITE_MASK)

    def copy(
        self,
        target: Pointer,
        source: Pointer,
        count: int,
        wanted: bool,
        target_site: int,
        source_site: int,
    ) -> None:
        """`cp.async` of `count` bytes; zeros are stored at once if it is not `wanted`."""
        _async_copies.check_alignment(target.offset, source.offset, count)
        if self.banks is not None:
            self.banks.note(self.thread, target_site, (), [(target.offset, count)])
        if wanted:
            copy = self._transfer(target, source, count, target_site, source_site)
            self.started(copy)
            return
        view, start, size = self._window(target, count, across_blocks=False)
        for place in range(start, start + size):
            view.write(place, target_site)
        fill_bytes(target, count)

    def copy_bulk(
        self,
        target: Pointer,
        source: Pointer,
        count: int,
        number: int,
        target_site: int,
        source_site: int,
    ) -> None:
        """`cp.async.bulk` of `count` bytes, which arrive at a counting barrier."""
        unit = _async_copies.BULK_BYTES
        if count % unit:
            raise AsyncCopyError(
                f"a bulk copy of {count} bytes is no multiple of {unit} bytes"
            )
        _async_copies.check_alignment(target.offset, source.offset, unit)
        barrier = self._barrier(number)
        barrier.track(self._transfer(target, source, count, target_site, source_site))
        barrier.bytes -= count
        barrier.advance()

    def copy_tensor(
        self,
        target: Pointer,
        tensor: object,
        count: int,
        number: int,
        target_site: int,
        source_site: int,
        *coordinates: int,
    ) -> None:
        """`cp.async.bulk.tensor` of a box, whose bytes arrive at a counting barrier."""
        barrier = self._barrier(number)
        self.require_fence(barrier.made, self.thread)
        copy = copy_box(self, target, tensor, coordinates, target_site, source_site)
        barrier.track(copy)
        assert isinstance(tensor, TiledTensor)
        if tensor.bytes != count:
            raise AsyncCopyError(
                f"a copy of {count} bytes has a tensor map of boxes of {tensor.bytes}"
            )
        barrier.bytes -= tensor.bytes
        barrier.advance()

    def _transfer(
        self,
        target: Pointer,
        source: Pointer,
        count: int,
        target_site: int,
        source_site: int,
    ) -> Copy:
        copy = Copy(self.thread, self.me | target_site)
        view, start, size = self._window(source, count, across_blocks=True)
        for place in range(start, start + size):
            view.check_read(place, source_site)
        view.join(copy, start, size, writes=False)
        view, start, size = self._window(target, count, across_blocks=False)
        for place in range(start, start + size):
            view.write(place, target_site)
        view.join(copy, start, size, writes=True)
        move_bytes(target, source, count)
        return copy

    def _window(
        self, pointer: Pointer, count: int, *, across_blocks: bool
    ) -> tuple[View, int, int]:
        """The `count` bytes at a pointer: view, first element, elements."""
        first, end = pointer.offset, pointer.offset + count
        if first < 0 or end > len(pointer.memory.bytes):
            raise OutOfBoundsError(
                f"a copy touches the bytes [{first}, {end}) of memory that has "
                f"{len(pointer.memory.bytes)}"
            )
        size = 1 if pointer.element is None else pointer.element.size
        if first % size or count % size:
            size = 1
        view = self.view(Pointer.to(pointer.memory, None), 0, size, across_blocks)
        return view, first // size, count // size

    def end_call(self) -> None:
        """The program has ended. Raises AsyncCopyError for copies in flight."""
        if self._block.issued:
            self.check_issued()
            self._block.issued.clear()

    def check_issued(self) -> None:
        """Raise AsyncCopyError if the running thread ends with copies in flight."""
        issued = self._block.issued.get(self.thread)
        for copy in () if issued is None else issued.unfinished():
            raise self._leak(copy)
        products = self._block.products.get(self.thread)
        if products is not None and products.pending:
            begun = next(iter(products.pending.values())).product
            op, _ = self._sites[begun.stamp & SITE_MASK]
            raise AsyncCopyError(
                f"{self.name(self.thread)} ends while a product of its warpgroup is in "
                "flight",
                op,
            )

    def _leak(self, copy: Copy) -> AsyncCopyError:
        op, _ = self._sites[copy.stamp & SITE_MASK]
        return AsyncCopyError(
            f"{self._named(copy.stamp)} ends while a copy that it began is in flight: "
            f"{copy.state}",
            op,
        )

    # ---- counting barriers ----

    def create_barriers(self, count: int) -> None:
        """Declare the counting barriers of a block; every thread does so."""
        found = self._block.barriers
        if not found:
            found.extend(CountingBarrier(number) for number in range(count))
        elif len(found) != count:
            raise AsyncCopyError(f"{count} barriers are created, and {len(found)} before")

    def init_barrier(self, number: int, count: int) -> None:
        """Set the number of arrivals of a counting barrier."""
        barrier = self._declared_barrier(number)
        barrier.initialize(self.thread, self.epoch, count)
        barrier.made = self.me

    def _declared_barrier(self, number: int) -> CountingBarrier:
        barriers = self._block.barriers
        if not 0 <= number < len(barriers):
            raise AsyncCopyError(
                f"barrier {number} is used, {len(barriers)} barriers were created"
            )
        return barriers[number]

    def _barrier(self, number: int) -> CountingBarrier:
        barrier = self._declared_barrier(number)
        known = barrier.initialized
        if not known:
            raise AsyncCopyError(f"barrier {number} is used before its initialization")
        if self.thread not in known and max(known.values()) >= self.epoch:
            raise RaceError(
                f"race on barrier {number}: {self.name(next(iter(known)))} initializes "
                f"it and {self.name(self.thread)} uses it without a barrier between"
            )
        return barrier

    def arrive(self, number: int, count: int) -> None:
        """Arrive at a counting barrier and expect `count` more bytes in its phase."""
        barrier = self._barrier(number)
        known = self._block.known.setdefault(self.thread, Knowledge())
        known.stamps[self.thread] = self.turn_generation()
        barrier.arriving.add(known)
        barrier.bytes += count
        barrier.arrive()

    def learn(self, thread: int, barrier: CountingBarrier) -> None:
        """A thread has waited for the latest phase of a barrier."""
        barrier.seen[thread] = barrier.phase
        known = self._block.known.setdefault(thread, Knowledge())
        known.add(barrier.known)
        known.phases[barrier.number] = barrier.phase
        for number, phase in barrier.known.phases.items():
            seen = self._block.barriers[number].seen
            seen[thread] = max(phase, seen.get(thread, 0))

    def track(self, number: int) -> None:
        """A counting barrier tracks the copies that the running thread began before."""
        barrier = self._barrier(number)
        for copy in self._issued.unfinished():
            barrier.track(copy)

    def counting(self, number: int) -> CountingBarrier:
        """The barrier that the running thread is going to wait for."""
        return self._barrier(number)


def move_bytes(target: Pointer, source: Pointer, count: int) -> None:
    """Copy bytes, and which of them were written."""
    begin, end = target.offset, target.offset + count
    taken = slice(source.offset, source.offset + count)
    target.memory.bytes[begin:end] = bytes(source.memory.bytes[taken])
    if target.memory.mask is not None:
        marks = source.memory.mask
        target.memory.mask[begin:end] = (
            b"\1" * count if marks is None else bytes(marks[taken])
        )


def fill_bytes(target: Pointer, count: int) -> None:
    """Write zeros."""
    zeros = Memory(memoryview(bytes(count)))
    move_bytes(target, Pointer.to(zeros, None), count)

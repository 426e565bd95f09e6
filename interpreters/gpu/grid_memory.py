"""Memory of a kernel that threads share, with who accessed it, and the running thread."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.ir import Operation, SSAValue

from xdsl_tvm.analysis.derivation import origin
from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.data import memory as _memory
from xdsl_tvm.interpreters.data.memory import Memory, Pointer
from xdsl_tvm.interpreters.data.numbers import Number
from xdsl_tvm.interpreters.errors import (
    AsyncCopyError,
    RaceError,
    SimulationError,
    UninitializedReadError,
    describe,
)
from xdsl_tvm.interpreters.gpu.async_copies import (
    Copy,
    CountingBarrier,
    Issued,
    Knowledge,
)
from xdsl_tvm.interpreters.gpu.bank_conflicts import BankCounter, runs
from xdsl_tvm.interpreters.gpu.products_in_flight import IssuedProducts
from xdsl_tvm.interpreters.gpu.shadow import (
    GENERATION,
    SITE_BITS,
    SITE_MASK,
    THREAD_MASK,
    Clash,
    InFlight,
    Shadow,
    View,
)

WARP = 32
"""Lanes of a warp."""

FIRST_WARP = 1 << 19
"""Stamps of this thread number and up are those of warps that act as one."""

Request = tuple[Any, ...]
"""What a thread yields: the meeting it waits at, and its operands."""
Thread = Generator[Request, Any, None]


Act = Callable[["GridMemory", Sequence[int], list[Any]], Sequence[Any] | None]
"""What threads do together: gets them and their operands, gives their answers."""


@dataclass(frozen=True, eq=False)
class SyncPoint:
    """A synchronization point: where threads wait for each other.

    `kind` is `block`, `warp` or `grid` for barriers, `loop` for the implied one around a
    loop over threads, `mask` for the active lanes, `shuffle`, `shuffle_up`,
    `shuffle_down`, `redux_add`, `redux_min`, `redux_max`, `count` for the wait for a
    counting barrier. `matrix` is what all lanes of a warp do together, `warpgroup` what
    four warps do, `reduce` what all
    threads do that differ on `axes` only.
    """

    kind: str
    op: Operation
    undefined: Any = None
    """What a shuffle gives for lanes that take no part; the `Number` of a reduction."""
    act: Act | None = None
    axes: frozenset[int] = frozenset()


@dataclass(eq=False)
class BlockState:
    """What the threads of a block share."""

    coordinates: tuple[int, ...]
    shared: dict[tuple[int, int], Pointer] = field(
        default_factory=dict[tuple[int, int], Pointer]
    )
    private: dict[tuple[Memory, int], Memory] = field(
        default_factory=dict[tuple[Memory, int], Memory]
    )
    issued: dict[int, Issued] = field(default_factory=dict[int, Issued])
    barriers: list[CountingBarrier] = field(default_factory=list[CountingBarrier])
    known: dict[int, Knowledge] = field(default_factory=dict[int, Knowledge])
    """What threads know from counting barriers since the last barrier of the block."""
    fences: dict[int, list[int]] = field(default_factory=dict[int, "list[int]"])
    """When threads let bulk copies and products see shared memory."""
    products: dict[int, IssuedProducts] = field(default_factory=dict[int, IssuedProducts])
    """The products of warpgroups that are in flight, by thread."""
    counts: bool = False
    """Whether the barrier of the grid was prepared."""


@dataclass(eq=False)
class ThreadTeam:
    """The threads of a block, from their beginning to their end."""

    block: BlockState
    extents: tuple[int, int, int]
    threads: list[Thread]
    requests: list[Request | None]
    answers: list[Any]
    runnable: Iterable[int]
    parked: SyncPoint | None = None
    """The barrier of the grid at which all of them wait."""


class GridMemory:
    """Memory that threads share, and which thread runs: the base of `Grid`."""

    def __init__(self, banks: BankCounter | None = None) -> None:
        self.banks = banks
        """Counts the conflicts of shared memory, if that was asked for."""
        self._sites: list[tuple[Operation, SSAValue | None]] = []
        self._site_numbers: dict[tuple[Operation, SSAValue | None], int] = {}
        self._generation = 0
        self.reset()

    def reset(self) -> None:
        """Forget a launch that ended in an error."""
        if self.banks is not None:
            self.banks.reset()
        self.thread = 0
        """The thread that runs, counted within its block."""
        self._active = False
        self._in_threads = False
        self._together = False
        self._launched: Mapping[str, int] | None = None
        self._teams: list[ThreadTeam] = []
        self._extents = (1, 1, 1)
        self._coordinates = [0, 0, 0]
        self._block_starts: list[int] = []
        self._block_names: list[tuple[int, ...]] = []
        self._block: BlockState = BlockState((0, 0, 0))
        self._host = self._block
        self._tiles: dict[tuple[Memory, int, int], Any] = {}
        self._warp_stamps: list[int] = []
        self._thread_stamps: dict[int, int] = {}
        self.pending: UninitializedReadError | None = None
        self.me = self.launch = self.epoch = self.block = self._next_generation()

    @property
    def active(self) -> bool:
        """Whether a kernel runs."""
        return self._active

    @property
    def lane(self) -> int:
        """The place of the running thread in its warp."""
        return self.thread % WARP

    @property
    def tiles(self) -> dict[tuple[Memory, int, int], Any]:
        """What is known of matrix fragments, by memory, first byte of it, and index."""
        return self._tiles

    # ---- what the code calls ----

    def site(self, op: Operation, pointer: SSAValue | None = None) -> int:
        """The number of an op in stamps, and of the pointer by which it accesses."""
        key = (op, pointer)
        number = self._site_numbers.get(key)
        if number is None:
            number = self._site_numbers[key] = len(self._sites)
            if number > SITE_MASK:
                raise SimulationError("too many accesses in threads to be watched", op)
            self._sites.append(key)
        return number

    def bank_site(
        self, op: Operation, pointer: SSAValue | None = None, *, writes: bool
    ) -> int | None:
        """The number of an op whose accesses of shared memory are counted, None if none
        are."""
        if self.banks is None:
            return None
        site = self.site(op, pointer)
        self.banks.declare(site, op, _buffer_accessed(op, pointer), writes=writes)
        return site

    def note_banks(
        self,
        view: View,
        bits: int,
        places: Sequence[int],
        predicate: Any,
        iteration: tuple[int, ...],
        site: int,
    ) -> None:
        """The running thread accesses elements of `bits` bits in shared memory."""
        assert self.banks is not None
        first = view.start // view.size
        touched = [
            first + place
            for position, place in enumerate(places)
            if predicate is None or predicate[position]
        ]
        self.banks.note(self.thread, site, iteration, runs(touched, bits))

    def _next_generation(self) -> int:
        self._generation += 1
        return self._generation << GENERATION

    def view(
        self, pointer: Pointer | None, skip: int, size: int, across_blocks: bool
    ) -> View:
        """The elements of `size` bytes, `skip` at a pointer, for watching."""
        if pointer is None:
            # Accesses fail before they are noted.
            return View(Shadow(self, size, across_blocks), 0, size)
        start = pointer.offset + skip * size
        memory = pointer.memory
        if memory.shadow is None:
            memory.shadow = Shadow(self, size, across_blocks)
        shadow: Shadow = memory.shadow
        if shadow.unit != 1 and (shadow.unit != size or start % size):
            shadow.refine()
        return View(shadow, start, size)

    def uninitialized(self, place: int, site: int) -> None:
        """A thread reads what nobody has written.

        The error waits for the next barrier: if another thread writes there meanwhile,
        the two race.
        """
        if self.pending is None:
            op, pointer = self._sites[site]
            self.pending = UninitializedReadError(
                f"{_location(op, pointer, place)} is read, but was never written"
                f"{self.where()}",
                op,
            )

    def marks(
        self, marks: Any, mark: int, places: Sequence[int], predicate: Any, site: int
    ) -> Any:
        """The marks of memory, or None if a lane reads what nobody has written."""
        if marks is None:
            return None
        for position, place in enumerate(places):
            wanted = predicate is None or predicate[position]
            if wanted and marks[place] != mark:
                self.uninitialized(place, site)
                return None
        return marks

    def atomic(self, pointer: Pointer | None, size: int, site: int) -> None:
        """Note an atomic operation on the element at a pointer."""
        if pointer is None or pointer.offset % size:
            raise SimulationError("an atomic operation on a null or misaligned pointer")
        view = self.view(Pointer.to(pointer.memory, None), 0, size, True)
        view.update(pointer.offset // size, site)

    def allocate(
        self, site: int, per_warp: bool, elements: int, element: Number, lanes: int
    ) -> Pointer:
        """The memory that the threads of a block, or of a warp, share at an op."""
        key = (site, self.thread // WARP if per_warp else -1)
        shared = self._block.shared
        found = shared.get(key)
        if found is None:
            found = shared[key] = _memory.allocate(elements, element, lanes)
        if len(found.memory.bytes) < max(0, elements) * lanes * element.size:
            raise SimulationError("threads disagree about the size of shared memory")
        return found

    def private(self, pointer: Pointer, together: frozenset[int]) -> Pointer:
        """The running thread's own copy of local memory, kept while the block runs.

        Threads that differ on the axes `together` have one; it is the memory itself if
        there are no others.
        """
        memory, private = pointer.memory, self._block.private
        if together:
            found = self._copy_of_group(memory, together)
            private[memory, self.thread] = found
        else:
            known = private.get((memory, self.thread))
            found = memory.copy() if known is None else known
            private[memory, self.thread] = found
        return Pointer.to(found, pointer.element, pointer.offset)

    def _copy_of_group(self, memory: Memory, together: frozenset[int]) -> Memory:
        first, stride = 0, 1
        groups = 1
        for axis, extent in enumerate(self._extents):
            if axis not in together:
                first += self.index(axis) * stride
                groups *= extent
            stride *= extent
        if groups == 1:
            return memory
        private = self._block.private
        key = (memory, -1 - first)
        found = private.get(key)
        if found is None:
            found = private[key] = memory.copy()
        return found

    def require_all(self, axes: frozenset[int], site: int) -> None:
        """Raise RaceError if several groups of threads that differ on `axes` run."""
        if any(n > 1 for axis, n in enumerate(self._extents) if axis not in axes):
            op, _ = self._sites[site]
            raise RaceError(
                "race on the result of a reduction, which several groups of threads of "
                f"block {self._block.coordinates} put in one place",
                op,
            )

    def index(self, axis: int) -> int:
        """The coordinate of the running thread."""
        return self._index(self.thread)[axis]

    def extent(self, axis: int) -> int:
        """The number of threads of the block on an axis."""
        return self._extents[axis]

    def turn(self, thread: int) -> None:
        """What follows is done by `thread`, for all that meet."""
        self.thread = thread
        self.me = self.stamp_of(thread)

    def stamp_of(self, thread: int) -> int:
        """What a thread does now is stamped with this, and the op."""
        since = self._warp_stamps[thread // WARP]
        own = self._thread_stamps.get(thread, 0)
        return (own if own > since else since) | thread << SITE_BITS

    def knows(self, thread: int, other: int, stamp: int) -> bool:
        """Whether a counting barrier told `thread` what `other` did at a stamp."""
        known = self._block.known.get(thread)
        return known is not None and stamp < known.stamps.get(other, 0)

    # ---- the proxy of copies and products ----

    def fence_proxy(self) -> None:
        """Bulk copies and products see what the running thread did in shared memory."""
        stamp = self.turn_generation()
        self._block.fences.setdefault(self.thread, []).append(stamp)

    @property
    def products(self) -> IssuedProducts:
        """The products that the running thread began."""
        return self._block.products.setdefault(self.thread, IssuedProducts())

    def turn_generation(self) -> int:
        """What the running thread does from now on has later stamps."""
        stamp = self._next_generation()
        self._thread_stamps[self.thread] = stamp
        self.me = self.stamp_of(self.thread)
        return stamp

    def require_fence(self, written: int, thread: int) -> None:
        """Raise AsyncCopyError unless what has been written has been fenced since, by
        the thread that wrote, and `thread` knows of that."""
        if written < self.launch:
            return
        writer = written >> SITE_BITS & THREAD_MASK
        fences = self._block.fences.get(writer, [])
        place = bisect_right(fences, written)
        if place < len(fences):
            fence = fences[place]
            if (
                writer == thread
                or fence < self.epoch
                or self.knows(thread, writer, fence)
            ):
                return
        op, _ = self._sites[written & SITE_MASK]
        raise AsyncCopyError(
            f"{self._named(written)} wrote shared memory without ptx_fence_proxy_async "
            f"before the synchronization with {self.name(thread)}, whose copy or product "
            f"cannot see it, in: {describe(op)}; the access{self.where()}"
        )

    def turn_warp(self, thread: int) -> None:
        """What follows is done by the warp of `thread` as a whole."""
        self.thread = thread
        warp = thread // WARP
        self.me = self._warp_stamps[warp] | (FIRST_WARP + warp) << SITE_BITS

    @property
    def _issued(self) -> Issued:
        return self._block.issued.setdefault(self.thread, Issued())

    def started(self, copy: Copy) -> None:
        """The running thread began a copy."""
        self._issued.open.append(copy)

    # ---- reports ----

    def ordered(self, other: int, me: int) -> bool:
        """Whether one thread did both, or a barrier of the warp is between, or one that
        counts."""
        its = other >> SITE_BITS & THREAD_MASK
        mine = me >> SITE_BITS & THREAD_MASK
        if its == mine:
            return True
        warp = warp_of(mine)
        if warp_of(its) == warp and other < self._warp_stamps[warp]:
            return True
        return self.knows(mine, its, other)

    def _index(self, thread: int) -> tuple[int, int, int]:
        x, y, _ = self._extents
        return (thread % x, thread // x % y, thread // (x * y))

    def name(self, thread: int, generation: int | None = None) -> str:
        """A thread, of the block that runs or that ran in `generation`."""
        block = self._block_names[-1]
        if generation is not None:
            block = self._block_names[bisect_right(self._block_starts, generation) - 1]
        if thread >= FIRST_WARP:
            first = self._index((thread - FIRST_WARP) * WARP)
            return f"the warp of thread {first} of block {block}"
        return f"thread {self._index(thread)} of block {block}"

    def where(self) -> str:
        """The thread that runs, for messages; empty outside of kernels."""
        if not self._in_threads:
            return ""
        issued = self._block.products.get(self.thread)
        is_early = issued is not None and issued.pending
        note = ", with products of its warpgroup in flight" if is_early else ""
        return f", by {self.name(self.thread)}{note}"

    def race(self, place: int, me: int, clash: Clash) -> RaceError:
        """The error for an access of the element at `place`."""
        op, pointer = self._sites[me & SITE_MASK]
        before, _ = self._sites[clash.other & SITE_MASK]
        return RaceError(
            f"race on {_location(op, pointer, place)}: {self._named(clash.other)} "
            f"{clash.its} it and {self._named(me)} {clash.mine} it without a barrier "
            f"between, the first in: {describe(before)}; the second",
            op,
        )

    def in_flight(self, place: int, me: int, flight: InFlight) -> AsyncCopyError:
        """The error for an access of what a copy that is in flight reads or writes."""
        op, pointer = self._sites[me & SITE_MASK]
        copy = flight.copy
        begun, _ = self._sites[copy.stamp & SITE_MASK]
        return AsyncCopyError(
            f"{self._named(me)} {flight.mine} {_location(op, pointer, place)}, which a "
            f"{copy.what} of {self._named(copy.stamp)} {flight.its} that is in flight "
            f"({copy.state}), begun in: {describe(begun)}; the access",
            op,
        )

    def _named(self, stamp: int) -> str:
        if not self._active:
            return "the program"
        return self.name(stamp >> SITE_BITS & THREAD_MASK, stamp >> GENERATION)


def warp_of(thread: int) -> int:
    return thread - FIRST_WARP if thread >= FIRST_WARP else thread // WARP


def _location(op: Operation, pointer: SSAValue | None, place: int) -> str:
    """The element of a memory that an access is about, as the program writes it."""
    buffer = _accessed(op, pointer)
    if buffer is None:
        return f"element {place} of the memory"
    definition = buffer.owner
    assert isinstance(definition, tir.BufferDefinition)
    name = _buffer_name(buffer, definition)
    shape = definition.type.get_shape()
    plain = not definition.layout_strides and all(extent >= 0 for extent in shape[1:])
    if pointer not in (None, buffer) and isinstance(definition, tir.DeclBufferOp):
        plain = False
    if not plain or isinstance(definition, tir.MatchRegionOp):
        return f"element {place} of the memory of buffer {name}"
    index: list[int] = []
    for extent in reversed(shape[1:]):
        place, rest = divmod(place, extent)
        index.insert(0, rest)
    index = [place, *index] if shape else []
    return f"{name}{index}"


def _accessed(op: Operation, pointer: SSAValue | None) -> SSAValue | None:
    """The buffer that an op accesses, as far as it is known."""
    if isinstance(op, tir.LoadOp | tir.StoreOp):
        return op.buffer
    return None if pointer is None else _buffer_behind(pointer)


def _buffer_accessed(op: Operation, pointer: SSAValue | None) -> str:
    """The name of the buffer that an op accesses."""
    buffer = _accessed(op, pointer)
    if buffer is None:
        return "memory"
    definition = buffer.owner
    assert isinstance(definition, tir.BufferDefinition)
    return _buffer_name(buffer, definition)


def _buffer_behind(pointer: SSAValue) -> SSAValue | None:
    """A buffer into whose memory a pointer points; a buffer itself."""
    if isinstance(pointer.type, tir.BufferType):
        return pointer
    pointer = origin(pointer, (tir.AccessPtrOp,))
    owner = pointer.owner
    if isinstance(owner, tir.AddressOfOp | tir.DataOp):
        return owner.buffer
    for use in pointer.uses:
        if isinstance(use.operation, tir.DeclBufferOp):
            return use.operation.buffer
    return None


def _buffer_name(buffer: SSAValue, definition: tir.BufferDefinition) -> str:
    if definition.buffer_name is not None:
        return definition.buffer_name.data
    return buffer.name_hint or "of no name"

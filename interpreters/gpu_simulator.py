"""The thread grid: runs the threads of a block together and watches what they share.

The code of a thread is a Python generator that yields where it meets other threads. The
threads of a block advance one after the other up to such a meeting, and go on when it is
complete; blocks run one after the other. A block barrier is complete when every thread of
the block waits at it. A meeting of a warp (shuffles, `tvm_storage_sync "warp"`) is
complete when every lane of its mask that has not ended waits at it. When threads wait and
no meeting is complete, DivergenceError names two that disagree.

Every access of memory that threads share leaves a stamp on its location: generation,
thread and op in one integer. The generation counts up at every barrier and block, so that
a comparison tells whether two accesses have a barrier between. Two accesses of one
location, at least one a write, that are not by the same thread race if no barrier lies
between, or if they are of two blocks of a launch and the memory is not per block; atomic
operations do not race with each other. Stamps lie in dictionaries: single elements of
numpy arrays are slower to reach, and a launch touches few locations of a large array.

A warp reads undefined values, NaN or the largest integer, where a shuffle names a lane
that is not in the mask or has ended. Virtual threads are run one after the other by
the thread they belong to. Accesses by external functions are not watched, and after a
barrier of a warp a race with a third reader may be missed.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

from xdsl.ir import Operation, SSAValue

from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters import _memory
from xdsl_tvm.interpreters._memory import Memory, Pointer
from xdsl_tvm.interpreters._numbers import Number
from xdsl_tvm.interpreters.errors import (
    DivergenceError,
    RaceError,
    SimulationError,
    UninitializedReadError,
    describe,
)

_SITE_BITS = 20
_THREAD_BITS = 20
_GENERATION = _SITE_BITS + _THREAD_BITS
_THREAD_MASK = (1 << _THREAD_BITS) - 1
_SITE_MASK = (1 << _SITE_BITS) - 1
WARP = 32
"""Lanes of a warp."""

_AXES = "xyz"

Request = tuple[Any, ...]
"""What a thread yields: the meeting it waits at, and its operands."""
Thread = Generator[Request, Any, None]


@dataclass(frozen=True, eq=False)
class Meeting:
    """A place where threads wait for each other.

    `kind` is `block` or `warp` for barriers, `loop` for the implied one around a loop
    over threads, `mask` for the active lanes, `shuffle`, `shuffle_up`, `shuffle_down`.
    """

    kind: str
    op: Operation
    undefined: Any = None
    """What a shuffle gives for lanes that take no part."""


@dataclass(eq=False)
class _Touches:
    """The stamps of the first and the two latest threads that touched a location.

    Two threads are enough: one of them is not the thread that asks. The first one tells
    of other blocks, which run earlier.
    """

    first: dict[int, int] = field(default_factory=dict[int, int])
    latest: dict[int, int] = field(default_factory=dict[int, int])
    second: dict[int, int] = field(default_factory=dict[int, int])

    def add(self, key: int, me: int, launch: int) -> None:
        last = self.latest.get(key)
        if last is None:
            self.first[key] = self.latest[key] = me
        elif (last ^ me) >> _SITE_BITS:
            self.second[key] = last
            self.latest[key] = me
            if self.first[key] < launch:
                self.first[key] = me

    def at(self, key: int) -> Iterable[int]:
        for stamps in (self.latest, self.second, self.first):
            if key in stamps:
                yield stamps[key]

    def spread(self, size: int) -> None:
        """Take every location as `size` smaller ones."""
        for stamps in (self.first, self.latest, self.second):
            _spread(stamps, size)


def _spread(stamps: dict[int, int], size: int) -> None:
    old = list(stamps.items())
    stamps.clear()
    for key, stamp in old:
        for position in range(size):
            stamps[key * size + position] = stamp


class _Clash(Exception):
    """An access races with the one of the stamp `other`."""

    def __init__(self, other: int, mine: str, its: str) -> None:
        super().__init__(other, mine, its)
        self.other, self.mine, self.its = other, mine, its


@dataclass(eq=False)
class Shadow:
    """The stamps of a memory, one location per `unit` bytes."""

    grid: Grid
    unit: int
    across_blocks: bool
    """Whether blocks share the memory."""
    writers: dict[int, int] = field(default_factory=dict[int, int])
    readers: _Touches = field(default_factory=_Touches)
    atomics: _Touches = field(default_factory=_Touches)

    def refine(self) -> None:
        """Keep stamps by byte: buffers of other element sizes view the memory."""
        _spread(self.writers, self.unit)
        self.readers.spread(self.unit)
        self.atomics.spread(self.unit)
        self.unit = 1

    def _clashes(self, other: int, me: int) -> bool:
        grid = self.grid
        if other < grid.launch or not (other ^ me) >> _SITE_BITS:
            return False
        if other < grid.epoch:
            return self.across_blocks and other < grid.block
        return not grid.ordered(other, me)

    def read(self, key: int, me: int) -> None:
        other = self.writers.get(key, -1)
        if other >= 0 and self._clashes(other, me):
            raise _Clash(other, "reads", "writes")
        if self.atomics.latest:
            self._against(self.atomics, key, me, "reads", "updates")
        self.readers.add(key, me, self.grid.launch)

    def write(self, key: int, me: int) -> None:
        other = self.writers.get(key, -1)
        if other >= 0 and self._clashes(other, me):
            raise _Clash(other, "writes", "writes")
        self._against(self.readers, key, me, "writes", "reads")
        self._against(self.atomics, key, me, "writes", "updates")
        self.writers[key] = me

    def update(self, key: int, me: int) -> None:
        """An atomic operation."""
        other = self.writers.get(key, -1)
        if other >= 0 and self._clashes(other, me):
            raise _Clash(other, "updates", "writes")
        self._against(self.readers, key, me, "updates", "reads")
        self.atomics.add(key, me, self.grid.launch)

    def _against(self, touches: _Touches, key: int, me: int, mine: str, its: str) -> None:
        for other in touches.at(key):
            if self._clashes(other, me):
                raise _Clash(other, mine, its)


@dataclass(frozen=True, eq=False)
class View:
    """A buffer's elements in the shadow of their memory."""

    shadow: Shadow
    start: int
    """Byte of the first element."""
    size: int
    """Bytes of an element."""

    def read(self, place: int, site: int) -> None:
        """Note a read of the element at `place` by the op at `site`."""
        shadow = self.shadow
        grid = shadow.grid
        key = self.start // self.size + place
        # The common cases first: nobody writes, or a barrier was passed since.
        writer = shadow.writers.get(key, -1)
        if (
            shadow.unit == self.size
            and (writer < 0 or (writer < grid.epoch and not shadow.across_blocks))
            and not shadow.atomics.latest
        ):
            shadow.readers.add(key, grid.me | site, grid.launch)
        else:
            self._note(place, site, shadow.read)

    def write(self, place: int, site: int) -> None:
        """Note a write."""
        self._note(place, site, self.shadow.write)

    def update(self, place: int, site: int) -> None:
        """Note an atomic operation."""
        self._note(place, site, self.shadow.update)

    def _note(self, place: int, site: int, touch: Callable[[int, int], None]) -> None:
        shadow, size = self.shadow, self.size
        me = shadow.grid.me | site
        try:
            if shadow.unit == size:
                touch(self.start // size + place, me)
                return
            start = self.start + place * size
            for key in range(start, start + size):
                touch(key, me)
        except _Clash as clash:
            raise shadow.grid.race(place, me, clash) from None

    def read_lanes(self, places: Sequence[int], predicate: Any, site: int) -> None:
        """Note a read of the places where the predicate holds."""
        for position, place in enumerate(places):
            if predicate is None or predicate[position]:
                self.read(place, site)

    def write_lanes(self, places: Sequence[int], predicate: Any, site: int) -> None:
        """Note a write of the places where the predicate holds."""
        for position, place in enumerate(places):
            if predicate is None or predicate[position]:
                self.write(place, site)


class Grid:
    """The state of the launches of a module."""

    def __init__(self) -> None:
        self._sites: list[Operation] = []
        self._site_numbers: dict[Operation, int] = {}
        self._generation = 0
        self.reset()

    def reset(self) -> None:
        """Forget a launch that ended in an error."""
        self.me = 0
        self.launch = self.epoch = self.block = 0
        self._active = False
        self._in_threads = False
        self._extents = (1, 1, 1)
        self._thread = 0
        self._coordinates = [0, 0, 0]
        self._block_starts: list[int] = []
        self._block_names: list[tuple[int, ...]] = []
        self._shared: dict[tuple[int, int], Pointer] = {}
        self._private: dict[tuple[Memory, int], Memory] = {}
        self._warp_stamps: list[int] = []
        self.pending: UninitializedReadError | None = None

    @property
    def active(self) -> bool:
        """Whether a kernel runs."""
        return self._active

    # ---- what the code calls ----

    def site(self, op: Operation) -> int:
        """The number of an op in stamps."""
        number = self._site_numbers.get(op)
        if number is None:
            number = self._site_numbers[op] = len(self._sites)
            if number > _SITE_MASK:
                raise SimulationError("too many accesses in threads to be watched", op)
            self._sites.append(op)
        return number

    def begin(self) -> None:
        """A kernel starts. Raises SimulationError inside of another one."""
        if self._active:
            raise SimulationError("a kernel is launched by a thread of another one")
        self._active = True
        self._coordinates = [0, 0, 0]
        self._block_starts = []
        self._block_names = []
        self.launch = self._next_generation()
        self._enter()

    def end(self) -> None:
        """All threads of the kernel have ended."""
        self._active = False

    def enter_block(self, axis: int, index: int) -> None:
        """The block with this index of a block axis begins."""
        self._coordinates[axis] = index
        self._enter()

    def _enter(self) -> None:
        self.block = self.epoch = self._next_generation()
        self.me = self.epoch
        self._shared = {}
        self._private = {}
        self._block_starts.append(self._generation)
        self._block_names.append(tuple(self._coordinates))

    def _next_generation(self) -> int:
        self._generation += 1
        return self._generation << _GENERATION

    def view(self, pointer: Pointer, skip: int, size: int, across_blocks: bool) -> View:
        """The elements of `size` bytes, `skip` behind a pointer, for watching."""
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
            op = self._sites[site]
            self.pending = UninitializedReadError(
                f"{_location(op, place)} is read, but was never written{self.where()}", op
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
        """Note an atomic operation on the element behind a pointer."""
        if pointer is None or pointer.offset % size:
            raise SimulationError("an atomic operation on a null or misaligned pointer")
        view = self.view(Pointer.to(pointer.memory, None), 0, size, True)
        view.update(pointer.offset // size, site)

    def allocate(
        self, site: int, per_warp: bool, elements: int, element: Number, lanes: int
    ) -> Pointer:
        """The memory that the threads of a block, or of a warp, share at an op."""
        key = (site, self._thread // WARP if per_warp else -1)
        found = self._shared.get(key)
        if found is None:
            found = self._shared[key] = _memory.allocate(elements, element, lanes)
        if len(found.memory.bytes) < max(0, elements) * lanes * element.size:
            raise SimulationError("threads disagree about the size of shared memory")
        return found

    def private(self, pointer: Pointer) -> Pointer:
        """The running thread's own copy of local memory, kept while the block runs."""
        key = (pointer.memory, self._thread)
        found = self._private.get(key)
        if found is None:
            found = self._private[key] = pointer.memory.copy()
        return Pointer.to(found, pointer.element, pointer.offset)

    def run(self, body: Callable[[int, int, int], Thread], *extents: int) -> None:
        """Run a thread for every index of `extents`, which are x, y and z.

        Raises DivergenceError when threads wait for others that do not come.
        """
        count = prod(max(0, extent) for extent in extents)
        if count > _THREAD_MASK:
            raise SimulationError(f"a block has {count} threads")
        x, y, _ = extents
        self._extents = (max(1, x), max(1, y), 1)
        threads = [body(t % x, t // x % y, t // (x * y)) for t in range(count)]
        self._new_epoch(count)
        self._in_threads = True
        requests: list[Request | None] = [None] * count
        answers: list[Any] = [None] * count
        runnable: Iterable[int] = range(count)
        while runnable:
            for t in runnable:
                self._thread = t
                self.me = self._warp_stamps[t // WARP] | t << _SITE_BITS
                try:
                    requests[t] = threads[t].send(answers[t])
                except StopIteration:
                    requests[t] = None
                answers[t] = None
            runnable = self._release(requests, answers)
        self._in_threads = False
        self._thread = 0
        self._new_epoch(1)
        self.me = self.epoch

    # ---- meetings ----

    def _new_epoch(self, count: int) -> None:
        if self.pending is not None:
            raise self.pending
        self.epoch = self._next_generation()
        self._warp_stamps = [self.epoch] * (-(-count // WARP))

    def _release(
        self, requests: list[Request | None], answers: list[Any]
    ) -> Iterable[int]:
        """The threads that go on; none if all have ended."""
        waiting = [(t, r) for t, r in enumerate(requests) if r is not None]
        if not waiting:
            return ()
        meetings: dict[Meeting, list[int]] = {}
        for t, request in waiting:
            meetings.setdefault(request[0], []).append(t)
        loops = [t for m, group in meetings.items() if m.kind == "loop" for t in group]
        if loops:
            self._new_epoch(len(requests))
            return sorted(loops)
        released = self._release_warps(meetings, requests, answers)
        if released:
            return released
        meeting, group = next(iter(meetings.items()))
        if meeting.kind == "block" and len(group) == len(requests):
            self._new_epoch(len(requests))
            return group
        raise self._divergence(meeting, group, requests)

    def _release_warps(
        self,
        meetings: dict[Meeting, list[int]],
        requests: list[Request | None],
        answers: list[Any],
    ) -> list[int]:
        released: list[int] = []
        masks: list[int] = []
        for meeting, group in meetings.items():
            if meeting.kind in ("block", "loop"):
                continue
            for warp in sorted({t // WARP for t in group}):
                lanes = [t for t in group if t // WARP == warp]
                if meeting.kind == "mask":
                    mask = sum(1 << t % WARP for t in lanes)
                    for t in lanes:
                        answers[t] = mask
                    masks.extend(lanes)
                elif meeting.kind == "warp":
                    if len(lanes) == len(_live(warp, requests)):
                        self._warp_stamps[warp] = self._next_generation()
                        released.extend(lanes)
                else:
                    released.extend(self._shuffle(meeting, lanes, requests, answers))
        return sorted(released or masks)

    def _shuffle(
        self,
        meeting: Meeting,
        lanes: list[int],
        requests: list[Request | None],
        answers: list[Any],
    ) -> list[int]:
        """Answer the lanes whose mask is complete, and return them."""
        live = _live(lanes[0] // WARP, requests)
        operands = {t: request for t in lanes if (request := requests[t]) is not None}
        released: list[int] = []
        for t, (_, mask, _, _, _) in operands.items():
            if not mask >> t % WARP & 1:
                raise DivergenceError(
                    f"{self.name(t)} is not in the mask {mask & 0xFFFFFFFF:#010x} that "
                    "it gives to a shuffle",
                    meeting.op,
                )
            wanted = [other for other in live if mask >> other % WARP & 1]
            if any(other not in operands for other in wanted):
                continue
            if any(operands[other][1] != mask for other in wanted):
                raise DivergenceError(
                    f"{self.name(t)} and other lanes of its warp give different masks to "
                    "a shuffle",
                    meeting.op,
                )
            released.append(t)
        for t in released:
            _, mask, value, lane, width = operands[t]
            source = _source(meeting, t, lane, width)
            if source is None:
                answers[t] = value
            elif source in operands and mask >> source % WARP & 1:
                answers[t] = operands[source][2]
            else:
                answers[t] = meeting.undefined
        return released

    def _divergence(
        self, meeting: Meeting, group: list[int], requests: list[Request | None]
    ) -> DivergenceError:
        """The error for a meeting that is never complete."""
        here = group[0]
        warp = here // WARP
        near = range(len(requests)) if meeting.kind == "block" else _live(warp, requests)
        away = next((t for t in near if t not in group), here)
        request = requests[away]
        doing = "has ended"
        if request is not None:
            doing = f"waits at {describe(request[0].op)}"
        return DivergenceError(
            f"{self.name(here)} waits for {self.name(away)}, which {doing}", meeting.op
        )

    # ---- reports ----

    def ordered(self, other: int, me: int) -> bool:
        """Whether one thread did both, or a barrier of the warp lies between."""
        its = other >> _SITE_BITS & _THREAD_MASK
        mine = me >> _SITE_BITS & _THREAD_MASK
        if its == mine:
            return True
        return its // WARP == mine // WARP and other < self._warp_stamps[mine // WARP]

    def name(self, thread: int, generation: int | None = None) -> str:
        """A thread, of the block that runs or that ran in `generation`."""
        x, y, _ = self._extents
        index = (thread % x, thread // x % y, thread // (x * y))
        block = self._block_names[-1]
        if generation is not None:
            block = self._block_names[bisect_right(self._block_starts, generation) - 1]
        return f"thread {index} of block {block}"

    def where(self) -> str:
        """The thread that runs, for messages; empty outside of kernels."""
        return f", by {self.name(self._thread)}" if self._in_threads else ""

    def race(self, place: int, me: int, clash: _Clash) -> RaceError:
        """The error for an access of the element at `place`."""
        op = self._sites[me & _SITE_MASK]
        before = self._sites[clash.other & _SITE_MASK]
        return RaceError(
            f"race on {_location(op, place)}: {self._named(clash.other)} {clash.its} it "
            f"and {self._named(me)} {clash.mine} it without a barrier between, the first "
            f"in: {describe(before)}; the second",
            op,
        )

    def _named(self, stamp: int) -> str:
        return self.name(stamp >> _SITE_BITS & _THREAD_MASK, stamp >> _GENERATION)


def _live(warp: int, requests: list[Request | None]) -> list[int]:
    last = min((warp + 1) * WARP, len(requests))
    return [t for t in range(warp * WARP, last) if requests[t] is not None]


def _source(meeting: Meeting, thread: int, lane: int, width: int) -> int | None:
    """The thread a shuffle reads, None where it keeps the thread's own value."""
    if not 1 <= width <= WARP or width & width - 1:
        raise SimulationError(f"a shuffle has the width {width}", meeting.op)
    start = thread - thread % width
    if meeting.kind == "shuffle":
        return start + lane % width
    source = thread - lane if meeting.kind == "shuffle_up" else thread + lane
    return source if start <= source < start + width else None


def _location(op: Operation, place: int) -> str:
    """The element of a memory that an access is about, as the program writes it."""
    access = op
    if isinstance(op, tir.CallOp):
        access = op.args[0].owner
    if not isinstance(access, tir.LoadOp | tir.StoreOp | tir.AddressOfOp):
        return f"element {place} of the memory"
    definition = access.buffer.owner
    assert isinstance(definition, tir.BufferDefinition)
    name = _buffer_name(access.buffer, definition)
    shape = definition.type.get_shape()
    plain = not definition.layout_strides and all(extent >= 0 for extent in shape[1:])
    if access is not op and isinstance(definition, tir.DeclBufferOp):
        plain = False
    if not plain or isinstance(definition, tir.MatchRegionOp):
        return f"element {place} of the memory of buffer {name}"
    index: list[int] = []
    for extent in reversed(shape[1:]):
        place, rest = divmod(place, extent)
        index.insert(0, rest)
    index = [place, *index] if shape else []
    return f"{name}{index}"


def _buffer_name(buffer: SSAValue, definition: tir.BufferDefinition) -> str:
    if definition.buffer_name is not None:
        return definition.buffer_name.data
    return buffer.name_hint or "of no name"

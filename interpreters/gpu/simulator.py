"""The thread grid: runs the threads of a block together and watches what they share.

The code of a thread is a Python generator that yields where it meets other threads. The
threads of a block advance one after the other up to such a meeting, and go on when it is
complete; blocks run one after the other. A block barrier is complete when every thread of
the block waits at it. A meeting of a warp (shuffles, `tvm_storage_sync "warp"`) is
complete when every lane of its mask that has not ended waits at it. When threads wait and
no meeting is complete, DivergenceError names two that disagree.

Every access of memory that threads share leaves a stamp on its location (`shadow.py`).
The generation in it counts up at every barrier and block, so that a comparison tells
whether two accesses have a barrier between. Two accesses of one location, at least one a
write, that are not by the same thread race if no barrier lies between, or if they are of
two blocks of a launch and the memory is not per block; atomic operations do not race with
each other. What the lanes of a warp read and write together, as a matrix, counts as done
by the warp: which lane touches which element is not specified.

Blocks of a kernel that holds a barrier of the grid begin together and each runs up to the
barrier; such a barrier orders everything. Copies in flight are in `async_copies.py`.

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

from xdsl_tvm.analysis.derivation import origin
from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.data import memory as _memory
from xdsl_tvm.interpreters.data.memory import Memory, Pointer
from xdsl_tvm.interpreters.data.numbers import Number
from xdsl_tvm.interpreters.errors import (
    AsyncCopyError,
    DivergenceError,
    OutOfBoundsError,
    RaceError,
    SimulationError,
    UninitializedReadError,
    describe,
)
from xdsl_tvm.interpreters.gpu import async_copies as _async_copies
from xdsl_tvm.interpreters.gpu.async_copies import Copy, CountingBarrier, Issued
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

_FIRST_WARP = 1 << 19
"""Stamps of this thread number and up are those of warps that act as one."""
_MAX_GROUPS_NAMED = 4

Request = tuple[Any, ...]
"""What a thread yields: the meeting it waits at, and its operands."""
Thread = Generator[Request, Any, None]


Act = Callable[["Grid", Sequence[int], list[Any]], Sequence[Any] | None]
"""What threads do together: gets them and their operands, gives their answers."""


@dataclass(frozen=True, eq=False)
class Meeting:
    """A place where threads wait for each other.

    `kind` is `block`, `warp` or `grid` for barriers, `loop` for the implied one around a
    loop over threads, `mask` for the active lanes, `shuffle`, `shuffle_up`,
    `shuffle_down`, `count` for the wait for a counting barrier. `matrix` is what all
    lanes of a warp do together, `reduce` what all threads do that differ on `axes` only.
    """

    kind: str
    op: Operation
    undefined: Any = None
    """What a shuffle gives for lanes that take no part."""
    act: Act | None = None
    axes: frozenset[int] = frozenset()


@dataclass(eq=False)
class _Block:
    """What the threads of a block have in common."""

    coordinates: tuple[int, ...]
    shared: dict[tuple[int, int], Pointer] = field(
        default_factory=dict[tuple[int, int], Pointer]
    )
    private: dict[tuple[Memory, int], Memory] = field(
        default_factory=dict[tuple[Memory, int], Memory]
    )
    issued: dict[int, Issued] = field(default_factory=dict[int, Issued])
    barriers: list[CountingBarrier] = field(default_factory=list[CountingBarrier])
    counts: bool = False
    """Whether the barrier of the grid was prepared."""


@dataclass(eq=False)
class _Team:
    """The threads of a block, from their beginning to their end."""

    block: _Block
    extents: tuple[int, int, int]
    threads: list[Thread]
    requests: list[Request | None]
    answers: list[Any]
    runnable: Iterable[int]
    parked: Meeting | None = None
    """The barrier of the grid at which all of them wait."""


class Grid:
    """The state of the launches of a module."""

    def __init__(self) -> None:
        self._sites: list[tuple[Operation, SSAValue | None]] = []
        self._site_numbers: dict[tuple[Operation, SSAValue | None], int] = {}
        self._generation = 0
        self.reset()

    def reset(self) -> None:
        """Forget a launch that ended in an error."""
        self.thread = 0
        """The thread that runs, counted within its block."""
        self._active = False
        self._in_threads = False
        self._together = False
        self._teams: list[_Team] = []
        self._extents = (1, 1, 1)
        self._coordinates = [0, 0, 0]
        self._block_starts: list[int] = []
        self._block_names: list[tuple[int, ...]] = []
        self._block: _Block = _Block((0, 0, 0))
        self._host = self._block
        self._tiles: dict[tuple[Memory, int, int], Any] = {}
        self._warp_stamps: list[int] = []
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

    def begin(self, together: bool = False) -> None:
        """A kernel starts. Raises SimulationError inside of another one.

        `together` tells that its blocks meet each other.
        """
        if self._active:
            raise SimulationError("a kernel is launched by a thread of another one")
        self._active = True
        self._host = self._block
        self._together = together
        self._coordinates = [0, 0, 0]
        self._block_starts = []
        self._block_names = []
        self._tiles = {}
        self.launch = self._next_generation()
        self._enter()

    def end(self) -> None:
        """All threads of the kernel have ended, after those that meet other blocks."""
        self._run_together()
        self._active = False
        self._block = self._host
        self.me = self.launch = self.epoch = self.block = self._next_generation()

    def enter_block(self, axis: int, index: int) -> None:
        """The block with this index of a block axis begins."""
        self._coordinates[axis] = index
        self._enter()

    def _enter(self) -> None:
        self._block = _Block(tuple(self._coordinates))
        self._continue_block()

    def _continue_block(self) -> None:
        self.block = self.epoch = self._next_generation()
        self.me = self.epoch
        self._block_starts.append(self._generation)
        self._block_names.append(self._block.coordinates)

    def _next_generation(self) -> int:
        self._generation += 1
        return self._generation << GENERATION

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
        """Note an atomic operation on the element behind a pointer."""
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
        self.me = self._warp_stamps[thread // WARP] | thread << SITE_BITS

    def turn_warp(self, thread: int) -> None:
        """What follows is done by the warp of `thread` as a whole."""
        self.thread = thread
        warp = thread // WARP
        self.me = self._warp_stamps[warp] | (_FIRST_WARP + warp) << SITE_BITS

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

    @property
    def _issued(self) -> Issued:
        return self._block.issued.setdefault(self.thread, Issued())

    def started(self, copy: Copy) -> None:
        """The running thread began a copy."""
        self._issued.open.append(copy)

    def commit(self, queue: int) -> None:
        """The running thread closes a group of copies."""
        self._issued.commit(queue)

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
        if wanted:
            copy = self._transfer(target, source, count, target_site, source_site)
            self.started(copy)
            return
        view, start, size = self._window(target, count, across_blocks=False)
        for place in range(start, start + size):
            view.write(place, target_site)
        _fill(target, count)

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
        _move(target, source, count)
        return copy

    def _window(
        self, pointer: Pointer, count: int, *, across_blocks: bool
    ) -> tuple[View, int, int]:
        """The `count` bytes behind a pointer: view, first element, elements."""
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
        self._declared_barrier(number).initialize(self.thread, self.epoch, count)

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
        barrier.bytes += count
        barrier.arrive()

    def track(self, number: int) -> None:
        """A counting barrier tracks the copies that the running thread began before."""
        barrier = self._barrier(number)
        for copy in self._issued.unfinished():
            barrier.track(copy)

    def counting(self, number: int) -> CountingBarrier:
        """The barrier that the running thread is going to wait for."""
        return self._barrier(number)

    # ---- running ----

    def run(self, body: Callable[[int, int, int], Thread], *extents: int) -> None:
        """Run a thread for every index of `extents`, which are x, y and z.

        Raises DivergenceError when threads wait for others that do not come.
        """
        count = prod(max(0, extent) for extent in extents)
        if count >= _FIRST_WARP:
            raise SimulationError(f"a block has {count} threads")
        x, y, z = extents
        team = _Team(
            self._block,
            (max(1, x), max(1, y), max(1, z)),
            [body(t % x, t // x % y, t // (x * y)) for t in range(count)],
            [None] * count,
            [None] * count,
            range(count),
        )
        if self._together:
            self._teams.append(team)
        else:
            self._advance(team)

    def _run_together(self) -> None:
        teams, self._teams = self._teams, []
        waiting = teams
        while waiting:
            for team in waiting:
                self._block = team.block
                self._continue_block()
                self._advance(team)
            waiting = [team for team in waiting if team.parked is not None]
            if waiting:
                self._meet_blocks(teams, waiting)
                self.launch = self._next_generation()

    def _meet_blocks(self, teams: list[_Team], waiting: list[_Team]) -> None:
        first = waiting[0]
        assert first.parked is not None
        other = next((team for team in teams if team.parked is not first.parked), None)
        if other is not None:
            doing = "has ended"
            if other.parked is not None:
                doing = f"waits at {describe(other.parked.op)}"
            raise DivergenceError(
                f"block {first.block.coordinates} waits for block "
                f"{other.block.coordinates}, which {doing}",
                first.parked.op,
            )
        for team in waiting:
            _, _, expected = team.requests[0] or (None, None, len(teams))
            if expected != len(teams):
                raise DivergenceError(
                    f"block {team.block.coordinates} waits for {expected} blocks at a "
                    f"barrier of the grid, which has {len(teams)}",
                    first.parked.op,
                )

    def _advance(self, team: _Team) -> None:
        """Run the threads to their end, or to a barrier of the grid."""
        self._extents = team.extents
        requests, answers = team.requests, team.answers
        self._new_epoch(len(requests))
        self._in_threads = True
        team.parked = None
        runnable = team.runnable
        while runnable:
            for t in runnable:
                self.thread = t
                self.me = self._warp_stamps[t // WARP] | t << SITE_BITS
                try:
                    requests[t] = team.threads[t].send(answers[t])
                except StopIteration:
                    requests[t] = None
                    self.check_issued()
                answers[t] = None
            runnable = self._release(team)
            if team.parked is not None:
                team.runnable = runnable
                break
        self._in_threads = False
        self.thread = 0
        self._new_epoch(1)
        self.me = self.epoch
        if team.parked is None:
            self._check_tracked()

    def _check_tracked(self) -> None:
        for barrier in self._block.barriers:
            for copy in barrier.copies:
                raise self._leak(copy)

    # ---- meetings ----

    def _new_epoch(self, count: int) -> None:
        if self.pending is not None:
            raise self.pending
        self.epoch = self._next_generation()
        self._warp_stamps = [self.epoch] * (-(-count // WARP))
        for barrier in self._block.barriers:
            barrier.meet()

    def _release(self, team: _Team) -> Iterable[int]:
        """The threads that go on; none if all have ended."""
        requests = team.requests
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
        released = self._release_some(meetings, team)
        if released:
            return released
        meeting, group = next(iter(meetings.items()))
        if len(group) == len(requests) and meeting.kind in ("block", "grid"):
            if meeting.kind == "block":
                self._new_epoch(len(requests))
            else:
                self._park(team, meeting)
            return group
        stuck = {m: g for m, g in meetings.items() if m.kind == "count"}
        if stuck:
            raise self._deadlock(stuck, requests)
        raise self._divergence(meeting, group, requests)

    def _park(self, team: _Team, meeting: Meeting) -> None:
        """All threads of a block wait at a barrier of the grid."""
        leads = 0
        counts: set[int] = set()
        for request in team.requests:
            assert request is not None
            leads += bool(request[1])
            counts.add(request[2])
        if not self._block.counts:
            raise DivergenceError(
                "a barrier of the grid is reached before tvm_global_barrier_kinit by "
                f"{self.name(0)}",
                meeting.op,
            )
        if leads != 1 or len(counts) != 1:
            raise DivergenceError(
                f"{leads} threads of block {self._block.coordinates} lead at a barrier "
                f"of the grid and expect {sorted(counts)} blocks; one has to lead",
                meeting.op,
            )
        team.parked = meeting

    def prepare_grid_barrier(self) -> None:
        """`tvm_global_barrier_kinit`."""
        self._block.counts = True

    def _deadlock(
        self, stuck: dict[Meeting, list[int]], requests: list[Request | None]
    ) -> AsyncCopyError:
        threads = [t for group in stuck.values() for t in group]
        names = ", ".join(str(self._index(t)) for t in threads[:_MAX_GROUPS_NAMED])
        if len(threads) > _MAX_GROUPS_NAMED:
            names += f" and {len(threads) - _MAX_GROUPS_NAMED} more"
        barrier = _counting(requests[threads[0]])
        return AsyncCopyError(
            f"threads {names} of block {self._block.coordinates} wait for barrier "
            f"{barrier.number} for ever: {barrier.state}",
            next(iter(stuck)).op,
        )

    def _release_some(self, meetings: dict[Meeting, list[int]], team: _Team) -> list[int]:
        """The threads of all meetings that need no whole block and are complete."""
        released = self._release_warps(meetings, team.requests, team.answers)
        others: list[int] = []
        for meeting, group in meetings.items():
            if meeting.act is not None:
                others.extend(self._act_together(meeting, meeting.act, group, team))
            elif meeting.kind == "count":
                others.extend(self._pass(group, team.requests))
        return sorted({*released, *others}) if others else released

    def _pass(self, group: list[int], requests: list[Request | None]) -> list[int]:
        """The threads whose counting barrier lets them go on."""
        released: list[int] = []
        for t in group:
            barrier = _counting(requests[t])
            if barrier.passes:
                barrier.seen[t] = barrier.phase
                released.append(t)
        return released

    def _act_together(
        self, meeting: Meeting, act: Act, group: list[int], team: _Team
    ) -> list[int]:
        waiting = set(group)
        released: list[int] = []
        for t in group:
            if t not in waiting:
                continue
            members = self._members(meeting, t)
            if not waiting.issuperset(members):
                continue
            waiting.difference_update(members)
            requests = [team.requests[member] for member in members]
            operands = [request[1] for request in requests if request is not None]
            answers = self._attempt(meeting, act, members, operands)
            for member, answer in zip(members, answers or (), strict=False):
                team.answers[member] = answer
            released.extend(members)
        return released

    def _attempt(
        self, meeting: Meeting, act: Act, members: Sequence[int], operands: list[Any]
    ) -> Sequence[Any] | None:
        self.thread = members[0]
        try:
            return act(self, members, operands)
        except SimulationError as error:
            if error.op is not None:
                raise
            raise type(error)(f"{error.reason}{self.where()}", meeting.op) from None

    def _members(self, meeting: Meeting, thread: int) -> Sequence[int]:
        """All threads that have to meet with `thread`, also those that do not exist."""
        if meeting.kind == "matrix":
            first = thread - thread % WARP
            return range(first, first + WARP)
        index = self._index(thread)
        choices = [
            range(extent) if axis in meeting.axes else (index[axis],)
            for axis, extent in enumerate(self._extents)
        ]
        x, y, _ = self._extents
        return [
            i + x * (j + y * k)
            for k in choices[2]
            for j in choices[1]
            for i in choices[0]
        ]

    def _release_warps(
        self,
        meetings: dict[Meeting, list[int]],
        requests: list[Request | None],
        answers: list[Any],
    ) -> list[int]:
        released: list[int] = []
        masks: list[int] = []
        for meeting, group in meetings.items():
            if meeting.kind not in _OF_WARPS:
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
        near: Iterable[int] = _live(warp, requests)
        if meeting.kind in ("block", "grid"):
            near = range(len(requests))
        elif meeting.act is not None:
            near = self._members(meeting, here)
        away = next((t for t in near if t not in group), here)
        if away >= len(requests):
            return DivergenceError(
                f"the warp of {self.name(here)} has {len(requests) % WARP} threads, not "
                f"{WARP}",
                meeting.op,
            )
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
        its = other >> SITE_BITS & THREAD_MASK
        mine = me >> SITE_BITS & THREAD_MASK
        if its == mine:
            return True
        warp = _warp(mine)
        return _warp(its) == warp and other < self._warp_stamps[warp]

    def _index(self, thread: int) -> tuple[int, int, int]:
        x, y, _ = self._extents
        return (thread % x, thread // x % y, thread // (x * y))

    def name(self, thread: int, generation: int | None = None) -> str:
        """A thread, of the block that runs or that ran in `generation`."""
        block = self._block_names[-1]
        if generation is not None:
            block = self._block_names[bisect_right(self._block_starts, generation) - 1]
        if thread >= _FIRST_WARP:
            first = self._index((thread - _FIRST_WARP) * WARP)
            return f"the warp of thread {first} of block {block}"
        return f"thread {self._index(thread)} of block {block}"

    def where(self) -> str:
        """The thread that runs, for messages; empty outside of kernels."""
        return f", by {self.name(self.thread)}" if self._in_threads else ""

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
            f"copy of {self._named(copy.stamp)} {flight.its} that is in flight "
            f"({copy.state}), begun in: {describe(begun)}; the access",
            op,
        )

    def _named(self, stamp: int) -> str:
        if not self._active:
            return "the program"
        return self.name(stamp >> SITE_BITS & THREAD_MASK, stamp >> GENERATION)


_OF_WARPS = ("warp", "mask", "shuffle", "shuffle_up", "shuffle_down")


def _counting(request: Request | None) -> CountingBarrier:
    assert request is not None
    return request[1]


def _warp(thread: int) -> int:
    return thread - _FIRST_WARP if thread >= _FIRST_WARP else thread // WARP


def _move(target: Pointer, source: Pointer, count: int) -> None:
    """Copy bytes, and which of them were written."""
    begin, end = target.offset, target.offset + count
    taken = slice(source.offset, source.offset + count)
    target.memory.bytes[begin:end] = bytes(source.memory.bytes[taken])
    if target.memory.mask is not None:
        marks = source.memory.mask
        target.memory.mask[begin:end] = (
            b"\1" * count if marks is None else bytes(marks[taken])
        )


def _fill(target: Pointer, count: int) -> None:
    """Write zeros."""
    zeros = Memory(memoryview(bytes(count)))
    _move(target, Pointer.to(zeros, None), count)


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


def _location(op: Operation, pointer: SSAValue | None, place: int) -> str:
    """The element of a memory that an access is about, as the program writes it."""
    if isinstance(op, tir.LoadOp | tir.StoreOp):
        buffer = op.buffer
    else:
        buffer = None if pointer is None else _buffer_behind(pointer)
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

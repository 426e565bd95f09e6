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
write, that are not by the same thread race if no barrier is between, or if they are of
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

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from math import prod
from typing import Any

from xdsl_tvm.interpreters.errors import (
    AsyncCopyError,
    DivergenceError,
    SimulationError,
    describe,
)
from xdsl_tvm.interpreters.gpu.async_copies import CountingBarrier
from xdsl_tvm.interpreters.gpu.grid_copies import GridCopies
from xdsl_tvm.interpreters.gpu.grid_memory import (
    FIRST_WARP,
    WARP,
    Act,
    BlockState,
    Request,
    SyncPoint,
    Thread,
    ThreadTeam,
)

_MAX_GROUPS_NAMED = 4


class Grid(GridCopies):
    """The state of the launches of a module."""

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

    @contextmanager
    def launched(self, sizes: Mapping[str, int]) -> Generator[None]:
        """A launch with these sizes by axis, while the host calls the kernel."""
        outer, self._launched = self._launched, sizes
        try:
            yield
        finally:
            self._launched = outer

    def expect_launched(self, name: str, size: int) -> None:
        """The kernel opens an axis with this extent, or has so much dynamic memory.

        Raises SimulationError where the launch, if it said so, had another size.
        """
        if self._launched is None:
            return
        given = self._launched.get(name, 1)
        if given != size:
            raise SimulationError(
                f"the kernel is launched with {given} for {name}, and needs {size}"
            )

    def enter_block(self, axis: int, index: int) -> None:
        """The block with this index of a block axis begins."""
        self._coordinates[axis] = index
        self._enter()

    def _enter(self) -> None:
        self._block = BlockState(tuple(self._coordinates))
        self._continue_block()

    def _continue_block(self) -> None:
        self.block = self.epoch = self._next_generation()
        self.me = self.epoch
        self._block_starts.append(self._generation)
        self._block_names.append(self._block.coordinates)

    # ---- running ----

    def run(self, body: Callable[[int, int, int], Thread], *extents: int) -> None:
        """Run a thread for every index of `extents`, which are x, y and z.

        Raises DivergenceError when threads wait for others that do not come.
        """
        count = prod(max(0, extent) for extent in extents)
        if count >= FIRST_WARP:
            raise SimulationError(f"a block has {count} threads")
        x, y, z = extents
        team = ThreadTeam(
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

    def _meet_blocks(self, teams: list[ThreadTeam], waiting: list[ThreadTeam]) -> None:
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

    def _advance(self, team: ThreadTeam) -> None:
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
                self.me = self.stamp_of(t)
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
        if self.banks is not None:
            self.banks.settle()
        self.epoch = self._next_generation()
        self._warp_stamps = [self.epoch] * (-(-count // WARP))
        self._thread_stamps.clear()
        self._block.known.clear()
        for barrier in self._block.barriers:
            barrier.meet()

    def _release(self, team: ThreadTeam) -> Iterable[int]:
        """The threads that go on; none if all have ended."""
        requests = team.requests
        waiting = [(t, r) for t, r in enumerate(requests) if r is not None]
        if not waiting:
            return ()
        meetings: dict[SyncPoint, list[int]] = {}
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

    def _park(self, team: ThreadTeam, meeting: SyncPoint) -> None:
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
        self, stuck: dict[SyncPoint, list[int]], requests: list[Request | None]
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

    def _release_some(
        self, meetings: dict[SyncPoint, list[int]], team: ThreadTeam
    ) -> list[int]:
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
            request = requests[t]
            assert request is not None
            _, barrier, parity = request
            if barrier.passes(parity):
                self.learn(t, barrier)
                released.append(t)
        return released

    def _act_together(
        self, meeting: SyncPoint, act: Act, group: list[int], team: ThreadTeam
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
        self, meeting: SyncPoint, act: Act, members: Sequence[int], operands: list[Any]
    ) -> Sequence[Any] | None:
        self.thread = members[0]
        try:
            return act(self, members, operands)
        except SimulationError as error:
            if error.op is not None:
                raise
            raise type(error)(f"{error.reason}{self.where()}", meeting.op) from None

    def _members(self, meeting: SyncPoint, thread: int) -> Sequence[int]:
        """All threads that have to meet with `thread`, also those that do not exist."""
        if meeting.kind in _SIZES:
            size = _SIZES[meeting.kind]
            first = thread - thread % size
            return range(first, first + size)
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
        meetings: dict[SyncPoint, list[int]],
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
        meeting: SyncPoint,
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
            if meeting.kind in _REDUCTIONS:
                members = (other for other in live if mask >> other % WARP & 1)
                values = [int(operands[other][2]) for other in members]
                answers[t] = meeting.undefined.wrap(_REDUCTIONS[meeting.kind](values))
                continue
            source = _source(meeting, t, lane, width)
            if source is None:
                answers[t] = value
            elif source in operands and mask >> source % WARP & 1:
                answers[t] = operands[source][2]
            else:
                answers[t] = meeting.undefined
        return released

    def _divergence(
        self, meeting: SyncPoint, group: list[int], requests: list[Request | None]
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
            size = _SIZES[meeting.kind]
            kind = "warp" if size == WARP else meeting.kind
            return DivergenceError(
                f"the {kind} of {self.name(here)} has {len(requests) % size} threads, "
                f"not {size}",
                meeting.op,
            )
        request = requests[away]
        doing = "has ended"
        if request is not None:
            doing = f"waits at {describe(request[0].op)}"
        return DivergenceError(
            f"{self.name(here)} waits for {self.name(away)}, which {doing}", meeting.op
        )


_REDUCTIONS: dict[str, Callable[[list[int]], int]] = {
    "redux_add": sum,
    "redux_max": max,
    "redux_min": min,
}
_SIZES = {"matrix": WARP, "warpgroup": 4 * WARP}
"""How many threads do together what such a synchronization point is for."""
_OF_WARPS = ("warp", "mask", "shuffle", "shuffle_up", "shuffle_down", *_REDUCTIONS)


def _counting(request: Request | None) -> CountingBarrier:
    assert request is not None
    return request[1]


def _live(warp: int, requests: list[Request | None]) -> list[int]:
    last = min((warp + 1) * WARP, len(requests))
    return [t for t in range(warp * WARP, last) if requests[t] is not None]


def _source(meeting: SyncPoint, thread: int, lane: int, width: int) -> int | None:
    """The thread a shuffle reads, None where it keeps the thread's own value."""
    if not 1 <= width <= WARP or width & width - 1:
        raise SimulationError(f"a shuffle has the width {width}", meeting.op)
    start = thread - thread % width
    if meeting.kind == "shuffle":
        return start + lane % width
    source = thread - lane if meeting.kind == "shuffle_up" else thread + lane
    return source if start <= source < start + width else None

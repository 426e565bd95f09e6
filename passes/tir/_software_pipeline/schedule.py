"""The schedule of a software pipeline: its stages and orders, and what follows of them.

An instance of a statement of stage `s` for iteration `x` runs in step `x + s`, and within
a step the statements run in their order. So a statement `b` runs after `a`, which is `d`
iterations before it, if `(s_a, order_a) < (s_b + d, order_b)`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from xdsl.ir import SSAValue
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.tir.memory_order import Memory
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.annotations import integer_of, list_items
from xdsl_tvm.passes.tir._software_pipeline.conflicts import Conflict, Conflicts, Touch
from xdsl_tvm.passes.tir._software_pipeline.statements import PipelineBody
from xdsl_tvm.passes.tir.rewriting.statements import describe

STAGE = "software_pipeline_stage"
ORDER = "software_pipeline_order"
ASYNC = "software_pipeline_async_stages"
MAX_STAGE: Final = 1024
"""The largest stage: conflicts are looked for at all distances up to it."""


def integers(loop: tir.ForOp, key: str) -> list[int] | None:
    """The list of integers that a loop is annotated with, None for none."""
    if loop.annotations is None or key not in loop.annotations.data:
        return None
    items = list_items(loop.annotations.data[key])
    # The verifier has seen to it that these are integers.
    assert items is not None
    return [number for item in items if (number := integer_of(item)) is not None]


@dataclass(frozen=True)
class Schedule:
    """When the statements of a pipeline run, by their number."""

    stages: Sequence[int]
    orders: Sequence[int]
    async_stages: frozenset[int]

    @property
    def last_stage(self) -> int:
        """The largest stage, which is the number of steps before all of them run."""
        return max(self.stages)

    @property
    def sequence(self) -> list[int]:
        """The statements in the order in which a step runs them."""
        return sorted(range(len(self.orders)), key=self.orders.__getitem__)

    def is_async(self, statement: int) -> bool:
        """Whether a statement only starts its copies."""
        return self.stages[statement] in self.async_stages

    def keeps(self, first: int, second: int, distance: int) -> bool:
        """Whether the second runs after the first, which is `distance` before it."""
        before = self.stages[first], self.orders[first]
        return before < (self.stages[second] + distance, self.orders[second])

    def least_distance(self, first: int, second: int) -> int:
        """From which distance on the second runs after the first."""
        stages = self.stages[first] - self.stages[second]
        return stages if self.orders[first] < self.orders[second] else stages + 1


def schedule_of(loop: tir.ForOp, body: PipelineBody) -> Schedule:
    """What the annotations of a loop say.

    Raises PassFailedException where it does not fit the statements.
    """
    stages, orders = integers(loop, STAGE), integers(loop, ORDER)
    assert stages is not None
    assert orders is not None
    count = len(body.statements)
    for key, numbers in ((STAGE, stages), (ORDER, orders)):
        if len(numbers) != count:
            names = ", ".join(
                f'"{each.block_name.data}"' if each.block_name.data else "a statement"
                for each in body.statements
            )
            raise PassFailedException(
                f"{describe(loop)}: {key} lists {len(numbers)} numbers, {numbers}, but "
                f"the pipeline has {count} statements: {names}; list one for each"
            )
    if len(set(orders)) != count:
        raise PassFailedException(
            f"{describe(loop)}: {ORDER} gives two statements one place, {orders}; number "
            "them differently"
        )
    if min(stages) < 0:
        raise PassFailedException(
            f"{describe(loop)}: {STAGE} has a negative stage, {stages}; count from 0"
        )
    if max(stages) > MAX_STAGE:
        raise PassFailedException(
            f"{describe(loop)}: {STAGE} has the stage {max(stages)}, and buffers as many "
            f"versions; use stages up to {MAX_STAGE}"
        )
    async_stages = frozenset(integers(loop, ASYNC) or ())
    return Schedule(stages, orders, async_stages)


# ---- legality ----


def check_order(
    loop: tir.ForOp, body: PipelineBody, schedule: Schedule, conflicts: Conflicts
) -> None:
    """Raise PassFailedException unless the pipeline runs all conflicts in their order."""
    for (first, second), pairs in conflicts.between.items():
        for distance in _overtaken(first, second, schedule):
            _require_none(loop, body, conflicts, pairs, (first, second, distance))
    for within in conflicts.within.values():
        for (first, second), pairs in within.items():
            if first < second and not schedule.keeps(first, second, 0):
                _require_none(loop, body, conflicts, pairs, (first, second, 0))


def _overtaken(first: int, second: int, schedule: Schedule) -> Iterator[int]:
    """How many iterations later the second is where it wrongly runs before the first."""
    start = 0 if first < second else 1
    yield from range(start, schedule.least_distance(first, second))


def _require_none(
    loop: tir.ForOp,
    body: PipelineBody,
    conflicts: Conflicts,
    pairs: Sequence[Conflict],
    which: tuple[int, int, int],
) -> None:
    first, second, distance = which
    count = tir.constant_value(loop.extent)
    if first == second or (count is not None and distance >= count):
        return
    for pair in pairs:
        if conflicts.at(pair, distance):
            raise PassFailedException(_order_error(loop, body, pair, which))


def _order_error(
    loop: tir.ForOp, body: PipelineBody, pair: Conflict, which: tuple[int, int, int]
) -> str:
    first, second, distance = which
    what = "memory"
    if pair.buffer is not None:
        name = tir.buffer_definition(pair.buffer).buffer_name
        what = "a buffer" if name is None else f'buffer "{name.data}"'
    when = "in the same iteration"
    if distance:
        when = "an iteration later" if distance == 1 else f"{distance} iterations later"
    return (
        f"{describe(loop)}: {_statement(body, second)} depends on "
        f"{_statement(body, first)} through {what} {when}, but the pipeline runs it "
        "earlier; change software_pipeline_stage or software_pipeline_order"
    )


def _statement(body: PipelineBody, number: int) -> str:
    name = body.statements[number].block_name.data
    return f"statement {number}" + (f' ("{name}")' if name else "")


# ---- versions ----


def versions(
    memory: SSAValue,
    touches: Iterable[Touch],
    schedule: Schedule,
    conflicts: Conflicts,
    *,
    doubled: bool,
) -> int:
    """How many iterations' worth of a buffer are in use at one time.

    `doubled` asks for two where one would do.
    """
    found = list(touches)
    stages = schedule.stages
    writers = [touch for touch in found if touch.writes]
    readers = [touch for touch in found if not touch.writes]
    count = 1
    if writers and readers:
        first = min(stages[touch.statement] for touch in writers)
        last = max(stages[touch.statement] for touch in readers)
        count = max(1, last - first + 1)
    if count == 2 and not _overlaps(writers, readers, schedule, conflicts):
        count = 1
    pairs = conflicts.within.get(memory, {})
    count = max(count, _least_versions(pairs, schedule, conflicts))
    return 2 if doubled and count == 1 else count


def _overlaps(
    writers: Sequence[Touch],
    readers: Sequence[Touch],
    schedule: Schedule,
    conflicts: Conflicts,
) -> bool:
    """Whether a step writes the next content before the old one is read."""
    return any(
        schedule.orders[w.statement] < schedule.orders[r.statement]
        and schedule.stages[w.statement] < schedule.stages[r.statement]
        and conflicts.at(Conflict(w, r), 0)
        for w in writers
        for r in readers
    )


def _least_versions(
    pairs: Mapping[tuple[int, int], Sequence[Conflict]],
    schedule: Schedule,
    conflicts: Conflicts,
) -> int:
    """The least number for which no iteration overtakes the last one in its place."""
    least = 1
    for (first, second), found in pairs.items():
        needed = 0 if first == second else schedule.least_distance(first, second)
        if needed > least and any(conflicts.at(pair, None) for pair in found):
            least = needed
    return least


# ---- asynchronous stages ----


@dataclass(frozen=True)
class Wait:
    """A wait for what `queue` was given `distance` iterations before: group `group`."""

    queue: int
    distance: int
    group: int
    before: int
    """How many groups of the queue a step commits before the statement that waits."""


@dataclass(frozen=True)
class AsyncPlan:
    """Which statements commit together, and which wait."""

    units: Sequence[Sequence[int]]
    """The statements in the order of a step; those of a unit are committed as one."""
    groups: Mapping[int, int]
    """How many groups each queue is given per iteration."""
    waits: Mapping[int, Sequence[Wait]]
    """The waits of each statement."""
    left: Sequence[int]
    """Queues with copies that nothing in the loop waits for."""


def async_plan(
    body: PipelineBody,
    schedule: Schedule,
    conflicts: Conflicts,
    counts: Mapping[Memory, int],
) -> AsyncPlan:
    """The groups and the waits of a pipeline; `counts` are the versions of buffers."""
    planner = _Planner(body, schedule, conflicts, counts)
    return planner.plan()


@dataclass(frozen=True)
class _Need:
    """What a statement has to wait for."""

    statement: int
    wait: Wait
    time: tuple[int, int]
    """Stage and order of the wait, for an iteration of the copies."""


class _Planner:
    def __init__(
        self,
        body: PipelineBody,
        schedule: Schedule,
        conflicts: Conflicts,
        counts: Mapping[Memory, int],
    ) -> None:
        self._count = len(body.statements)
        self._schedule = schedule
        self._conflicts = conflicts
        self._versions = counts
        self._copies = [n for n in range(self._count) if schedule.is_async(n)]
        self._distances: dict[tuple[int, int], int] = {}
        """How much later the second statement meets what the first copies, at least."""

    def plan(self) -> AsyncPlan:
        sequence = self._schedule.sequence
        if not self._copies:
            return AsyncPlan([[each] for each in sequence], {}, {}, ())
        self._find_distances()
        units = self._units(sequence)
        groups: dict[int, int] = {}
        group_of: dict[int, int] = {}
        before: dict[tuple[int, int], int] = {}
        for unit in units:
            for statement in unit:
                for queue in self._schedule.async_stages:
                    before[statement, queue] = groups.get(queue, 0)
            if self._schedule.is_async(unit[0]):
                queue = self._schedule.stages[unit[0]]
                number = groups.get(queue, 0)
                groups[queue] = number + 1
                group_of |= dict.fromkeys(unit, number)
        needs = self._needs(group_of, before)
        waits: dict[int, list[Wait]] = {}
        for need in needs:
            waits.setdefault(need.statement, []).append(need.wait)
        left = [
            queue
            for queue, count in groups.items()
            if not any(
                need.wait.queue == queue
                and need.wait.distance == 0
                and need.wait.group == count - 1
                for need in needs
            )
        ]
        return AsyncPlan(units, groups, waits, left)

    def _find_distances(self) -> None:
        for copy in self._copies:
            for other in range(self._count):
                pairs = self._conflicts.between.get((copy, other), ())
                found = [self._distance(copy, other, pairs)]
                for memory, within in self._conflicts.within.items():
                    own = within.get((copy, other), ())
                    found.append(self._own_distance(copy, other, own, memory))
                least = min((each for each in found if each is not None), default=None)
                if least is not None:
                    self._distances[copy, other] = least

    def _distance(self, copy: int, other: int, pairs: Sequence[Conflict]) -> int | None:
        """For memory around the loop, the least distance of a conflict."""
        start = 0 if copy < other else 1
        start = max(start, self._schedule.least_distance(copy, other))
        known = range(start, start + self._schedule.last_stage + 2)
        found: list[int] = []
        for pair in pairs:
            here = next((d for d in known if self._conflicts.at(pair, d)), None)
            if here is not None:
                found.append(here)
            elif self._conflicts.at(pair, None):
                found.append(known.stop)
        return min(found, default=None)

    def _own_distance(
        self, copy: int, other: int, pairs: Sequence[Conflict], memory: Memory
    ) -> int | None:
        """The same for memory of iterations, which a later one gets again."""
        if copy < other and any(self._conflicts.at(pair, 0) for pair in pairs):
            return 0
        if any(self._conflicts.at(pair, None) for pair in pairs):
            return self._versions[memory]
        return None

    def _units(self, sequence: Sequence[int]) -> list[list[int]]:
        """Neighbours of one asynchronous stage that do not wait for each other."""
        units: list[list[int]] = []
        for statement in sequence:
            last = units[-1] if units else []
            if (
                last
                and self._schedule.is_async(statement)
                and self._schedule.stages[last[0]] == self._schedule.stages[statement]
                and all(self._distances.get((each, statement)) != 0 for each in last)
            ):
                last.append(statement)
            else:
                units.append([statement])
        return units

    def _needs(
        self, group_of: Mapping[int, int], before: Mapping[tuple[int, int], int]
    ) -> list[_Need]:
        """The waits, without those that come after a wait for the same or for more."""
        strictest: dict[tuple[int, int], tuple[int, int]] = {}
        for (copy, other), distance in self._distances.items():
            key = other, self._schedule.stages[copy]
            found = distance, -group_of[copy]
            strictest[key] = min(strictest.get(key, found), found)
        all_: list[_Need] = []
        for (other, queue), (distance, group) in strictest.items():
            wait = Wait(queue, distance, -group, before[other, queue])
            stage = self._schedule.stages[other] + distance
            all_.append(_Need(other, wait, (stage, self._schedule.orders[other])))
        kept: list[_Need] = []
        for need in sorted(all_, key=lambda each: each.time):
            if not any(_covers(earlier.wait, need.wait) for earlier in kept):
                kept.append(need)
        return kept


def _covers(earlier: Wait, later: Wait) -> bool:
    """Whether a wait that comes first has waited for all that the other waits for."""
    return (
        earlier.queue == later.queue
        and earlier.group >= later.group
        and earlier.distance <= later.distance
    )

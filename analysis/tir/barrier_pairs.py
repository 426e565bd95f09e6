"""Pairs of allocations that no barrier keeps apart, so that they must not share bytes.

Memory that threads share may hold one thing after another only if no thread still uses
the first when another one has begun with the second. Live ranges do not tell: they are
those of one thread. A barrier between them does, or the proof that every byte belongs to
one thread all the time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum, auto

from xdsl.ir import Operation, SSAValue

from xdsl_tvm.analysis.tir.barrier_walk import BarrierWalk, Level, State
from xdsl_tvm.analysis.tir.memory_order import memory_of
from xdsl_tvm.analysis.tir.thread_separation import Kind, ThreadAccess
from xdsl_tvm.dialects import tir

_MAX_ACCESSES = 8
"""Accesses of one allocation between two barriers that are looked at one by one."""


class Overlap(Enum):
    """What keeps two allocations apart."""

    FREE = auto()
    """Barriers, so that they may share any bytes."""
    SAME_START = auto()
    """Nothing but that each element is of one thread: they may begin at one byte."""
    NEVER = auto()
    """Nothing."""


class BarrierPairs(BarrierWalk):
    """How allocations of a kernel may overlap, as far as its threads are concerned.

    `ends` are ops that end accesses of memory, such as waits for asynchronous copies.
    Time is linear in the number of accesses, times that of the allocations.
    """

    def __init__(
        self,
        launch: tir.LaunchThreadOp,
        memories: Iterable[tir.AllocateOp],
        ends: Mapping[Operation, Iterable[tir.AllocateOp]],
    ) -> None:
        self._wanted: set[SSAValue] = {memory.result for memory in memories}
        self._ends = ends
        self._found: dict[SSAValue, dict[SSAValue, Overlap]] = {}
        super().__init__(launch, Level.BLOCK)
        self.walk()

    def overlaps(self, memory: tir.AllocateOp) -> Mapping[SSAValue, Overlap]:
        """What keeps the data of other allocations apart from one; FREE if not listed."""
        return self._found.get(memory.result, {})

    def _visit(self, op: Operation, state: State) -> bool:
        for memory in self._ends.get(op, ()):
            access = ThreadAccess(op, memory.result, memory.result, None, (), True)
            self._note(access, state)
        return super()._visit(op, state)

    def _watches(self, buffer: SSAValue) -> bool:
        return memory_of(buffer) in self._wanted

    def _note(self, access: ThreadAccess, state: State) -> None:
        of_memory = 0
        for earlier in state.values():
            if earlier.memory is access.memory:
                of_memory += 1
            else:
                self._relate(earlier, access)
        key: object = access.memory, access.key
        if of_memory < _MAX_ACCESSES or key in state:
            state.setdefault(key, access)
        else:
            unknown = ThreadAccess(
                access.op, access.buffer, access.memory, None, (), writes=True
            )
            state.setdefault((access.memory, None), unknown)

    def _relate(self, earlier: ThreadAccess, later: ThreadAccess) -> None:
        assert earlier.memory is not None
        assert later.memory is not None
        known = self._found.setdefault(earlier.memory, {})
        if known.get(later.memory) is Overlap.NEVER:
            return
        apart = (
            earlier.indices is not None
            and later.indices is not None
            and self._separation.are_separate(earlier, later, Kind.THREAD)
        )
        found = Overlap.SAME_START if apart else Overlap.NEVER
        known[later.memory] = found
        self._found.setdefault(later.memory, {})[earlier.memory] = found

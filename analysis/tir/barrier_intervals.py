"""Accesses of a kernel that no barrier orders, and whether they may clash.

`KernelRaces` walks a kernel (`barrier_walk.py`) for the threads of a block, and where it
holds barriers or memory of theirs, for those of a warp and of the grid.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from xdsl.ir import SSAValue

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.analysis.tir.access_families import AccessFamily, families
from xdsl_tvm.analysis.tir.barrier_walk import (
    NAMES,
    BarrierWalk,
    Level,
    State,
    accessed_memory,
    has_barrier_of_grid,
    scope_of,
)
from xdsl_tvm.analysis.tir.thread_separation import Kind, ThreadAccess
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.storage_scope import StorageRank


@dataclass(frozen=True, eq=False)
class Clash:
    """Two accesses of one element by two threads, one of them a write, in no order."""

    first: ThreadAccess
    second: ThreadAccess
    axes: Kind
    """Whether the threads are of one block (`THREAD`) or of two (`BLOCK`)."""

    @property
    def is_of_next_iteration(self) -> bool:
        """Whether the second access is in the iteration after that of the first one."""
        later = self.second.iterations
        return any(
            value in later and later[value].ahead > first.ahead
            for value, first in self.first.iterations.items()
            if value in later and later[value].loop == first.loop
        )


class KernelRaces:
    """The accesses of memory that the threads of a kernel share.

    `clash` is the first pair that cannot be shown to be apart, `unwritten` the first read
    of memory that belongs to the kernel and that it never writes.
    """

    def __init__(
        self, launch: tir.LaunchThreadOp, *, skip_volatile: bool = False
    ) -> None:
        skipped = _volatile_memory(launch) if skip_volatile else set[SSAValue | None]()
        meets = has_barrier_of_grid(launch)
        threads = _Races(launch, Level.BLOCK, skipped)
        if not meets:
            threads.compare_blocks()
        walks = [threads]
        if _has_memory_of_warps(launch):
            walks.append(_Races(launch, Level.WARP, skipped))
        if meets:
            walks.append(_Races(launch, Level.GRID, skipped))
        found = (walk.clash for walk in walks if walk.clash is not None)
        self.clash: Clash | None = next(found, None)
        self.unwritten: tir.LoadOp | None = _find_unwritten(launch)


class _Races(BarrierWalk):
    """Finds the first two accesses that barriers of a level do not order."""

    def __init__(
        self,
        launch: tir.LaunchThreadOp,
        level: Level,
        skipped: AbstractSet[SSAValue | None],
    ) -> None:
        super().__init__(launch, level)
        self.clash: Clash | None = None
        self._skipped = skipped
        self.collect()
        self.walk()

    def _watches(self, buffer: SSAValue) -> bool:
        return accessed_memory(buffer) not in self._skipped and super()._watches(buffer)

    def _conflict(self, a: ThreadAccess, b: ThreadAccess) -> bool:
        return self.clash is None and super()._conflict(a, b)

    def _resolve(
        self, conflicts: Sequence[ThreadAccess], access: ThreadAccess, state: State
    ) -> None:
        axes = Kind.BLOCK if self._level is Level.GRID else Kind.THREAD
        self.clash = Clash(conflicts[0], access, axes)

    def compare_blocks(self) -> None:
        """Compare what two blocks do, which no barrier of a block orders."""
        for accesses in self._of_memory.values():
            once = {
                (a.indices or a.op, a.writes, a.conditions, a.buffer): a
                for a in accesses.values()
                if scope_of(a.buffer).rank is StorageRank.GLOBAL
            }
            found = families(once.values(), self._separation)
            writes = [family for family in found if family.writes]
            reads = [family for family in found if not family.writes]
            for number, write in enumerate(writes):
                for family in (*writes[number:], *reads):
                    if self.clash is None:
                        self._compare_families(write, family)

    def _compare_families(self, one: AccessFamily, other: AccessFamily) -> None:
        """Find accesses of two blocks; one by one only where that has to be."""
        if self._separation.are_separate(one.whole, other.whole, Kind.BLOCK):
            return
        for first in one.members:
            for second in other.members:
                if not self._separation.are_separate(first, second, Kind.BLOCK):
                    self.clash = Clash(first, second, Kind.BLOCK)
                    return


def _volatile_memory(launch: tir.LaunchThreadOp) -> set[SSAValue | None]:
    """Memory of reductions, which has barriers of warps where those are enough."""
    return {
        accessed_memory(op.node)
        for op in all_ops(launch)
        if isinstance(op, tir.AttrOp)
        and op.key.data == "volatile_scope"
        and op.node is not None
    }


def _has_memory_of_warps(launch: tir.LaunchThreadOp) -> bool:
    return any(
        isinstance(op, tir.LoadOp | tir.StoreOp)
        and scope_of(op.buffer).rank is StorageRank.WARP
        for op in all_ops(launch)
    )


def _find_unwritten(launch: tir.LaunchThreadOp) -> tir.LoadOp | None:
    """Find a read of memory of the kernel that nothing in the kernel writes."""
    written: set[SSAValue | None] = set()
    reads: list[tir.LoadOp] = []
    for op in launch.walk():
        if isinstance(op, tir.LoadOp):
            if scope_of(op.buffer).rank is not StorageRank.GLOBAL:
                reads.append(op)
        elif not isinstance(op, NAMES):
            written.update(
                accessed_memory(operand)
                for operand in op.operands
                if isinstance(operand.type, tir.BufferType | tir.PtrType)
            )
    for read in reads:
        memory = accessed_memory(read.buffer)
        if (
            memory is not None
            and isinstance(memory.owner, tir.AllocBufferOp | tir.AllocateOp)
            and memory not in written
        ):
            return read
    return None

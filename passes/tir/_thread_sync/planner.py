"""Where a kernel needs barriers, from its innermost loops outward.

A conflict of two accesses is mended in the innermost block that holds both, before the
statement with the second one; where the second one is in a later iteration of a loop, in
the body of that loop. The body of a loop is planned alone first, as three iterations: a
first one, the next one, and any after that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.analysis.tir.barrier_walk import (
    NAMES,
    BarrierWalk,
    Level,
    State,
    accessed_memory,
    barrier_scope,
    scope_of,
)
from xdsl_tvm.analysis.tir.side_effect import own_effect
from xdsl_tvm.analysis.tir.thread_separation import Iteration, Path, ThreadAccess
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.storage_scope import StorageRank, StorageScope
from xdsl_tvm.passes.tir.rewriting.statements import describe

_LEVELS = {
    StorageRank.GLOBAL: Level.GRID,
    StorageRank.SHARED: Level.BLOCK,
    StorageRank.WARP: Level.WARP,
}
_STATEMENTS = (
    tir.AllocateOp,
    tir.AllocateConstOp,
    tir.AssertOp,
    tir.BufferDefinition,
    tir.EvaluateOp,
    tir.ShapeVarOp,
)
"""Ops without an effect that are statements all the same."""


class Barrier(Protocol):
    """Makes the ops of a barrier, the last of which is its call."""

    def __call__(self, path: Path) -> Sequence[Operation]:
        """The ops for a place inside of the ops of a path."""
        ...


def can_plan(scope: StorageScope) -> bool:
    """Whether threads share memory of a scope and have barriers for it."""
    return scope.rank in _LEVELS


class BarrierPlanner(BarrierWalk):
    """Inserts the barriers that memory of one scope needs in a kernel.

    `own` holds the barriers that are already inserted, and receives the others.
    """

    def __init__(
        self,
        launch: tir.LaunchThreadOp,
        scope: StorageScope,
        barrier: Barrier,
        own: set[Operation],
    ) -> None:
        self._own = own
        self._scope = scope
        self._barrier = barrier
        super().__init__(launch, _LEVELS[scope.rank])
        self._planned: set[Operation] = set()
        self._order = {op: number for number, op in enumerate(launch.walk())}
        self._last_access = self._find_last_accesses()

    def run(self) -> None:
        """Insert barriers until every conflict is mended that a barrier can mend.

        Raises PassFailedException for a conflict in code that threads reach apart.
        """
        self.collect()
        inserted = -1
        while inserted < len(self._own):
            inserted = len(self._own)
            self._planned.clear()
            self.walk()

    def _watches(self, buffer: SSAValue) -> bool:
        return not self._is_ordered(buffer) and scope_of(buffer) == self._scope

    def _is_barrier(self, op: Operation) -> bool:
        if self._level is Level.WARP and barrier_scope(op) == "warp":
            return op in self._own
        return super()._is_barrier(op)

    def _visit(self, op: Operation, state: State) -> bool:
        scope = op.parent_op()
        if self._parted and op in self._own and scope is not None:
            raise PassFailedException(
                f"{describe(scope)}: what waits for copies needs a barrier, and threads "
                "of a block reach it apart from each other; wait outside of the "
                "condition, or mark a condition that is the same in all threads by "
                "T.tvm_thread_invariant"
            )
        return super()._visit(op, state)

    def _attr(self, op: tir.AttrOp, state: State) -> bool:
        return op.key.data != "hand_threaded" and super()._attr(op, state)

    # ---- loops ----

    def _for(self, op: tir.ForOp, state: State) -> bool:
        if op not in self._planned and not self._is_collecting:
            self._planned.add(op)
            if not self._parted and self._is_uniform(op.min, op.extent):
                self._plan(op)
        return super()._for(op, state)

    def _plan(self, loop: tir.ForOp) -> None:
        """Mend the conflicts within the body of a loop that all threads do alike."""
        extent = tir.constant_value(loop.extent)
        count = 3 if extent is None else min(int(extent), 3)
        saved, self._saved = self._saved, []
        self._alike.add(loop.loop_var)
        state: State = {}
        run = self._next_run()
        for ahead in range(count):
            if ahead == 2:
                if loop in self._with_barrier:
                    break
                state = self._first_iteration(state, loop)
            self._iterations[loop.loop_var] = Iteration(run, ahead, ahead == 2)
            self._block(loop.body.block, state)
        self._iterations.pop(loop.loop_var, None)
        self._alike.discard(loop.loop_var)
        self._saved = saved

    def _first_iteration(self, state: State, loop: tir.ForOp) -> State:
        """The accesses of the first iteration of a loop among those of two."""
        variable = loop.loop_var
        return {
            key: access
            for key, access in state.items()
            if variable in access.iterations and not access.iterations[variable].ahead
        }

    # ---- conflicts ----

    def _find_last_accesses(self) -> dict[SSAValue | None, int]:
        """Where each memory of dynamic size is accessed last."""
        found: dict[SSAValue | None, int] = {}
        if self._scope.is_dynamic_shared:
            for op, number in self._order.items():
                for operand in () if isinstance(op, NAMES) else op.operands:
                    if isinstance(operand.type, tir.BufferType | tir.PtrType):
                        found[accessed_memory(operand)] = number
        return found

    def _conflict(self, a: ThreadAccess, b: ThreadAccess) -> bool:
        if (
            self._scope.is_dynamic_shared
            and a.memory is not b.memory
            and None not in (a.memory, b.memory)
        ):
            return self._threads > 1 and self._may_take_memory(a, b)
        return super()._conflict(a, b)

    def _may_take_memory(self, a: ThreadAccess, b: ThreadAccess) -> bool:
        """Whether `b` may write to memory that is that of `a` until there.

        Allocations of dynamic shared memory become one, in which those that are not in
        use at the same time may overlap.
        """
        if not b.writes:
            return False
        last, first = self._last_access[a.memory], self._order.get(a.op, -1)
        if a.writes:
            return last <= first
        level = _common_level(a.path, b.path)
        is_carried = a.path[level][1] is b.path[level][1]
        return is_carried or last < self._order.get(b.op, last)

    def _resolve(
        self, conflicts: Sequence[ThreadAccess], access: ThreadAccess, state: State
    ) -> None:
        levels = [(_level(each, access), each) for each in conflicts]
        mended = [(level, each) for level, each in levels if level is not None]
        if not mended:
            # One op by several threads: no barrier can part it from itself.
            return
        level, earlier = max(mended, key=lambda pair: pair[0])
        run, place, parted = access.path[level]
        if parted:
            self._refuse(earlier.op, access.op)
        stops = {
            each.path[level][1]
            for each in conflicts
            if len(each.path) > level and each.path[level][0] == run
        }
        after = {place}
        previous = place.prev_op
        while previous is not None and previous not in stops and _is_expression(previous):
            after.add(previous)
            place, previous = previous, previous.prev_op
        self._insert(place, access.path[:level])
        for depth, each in ((len(self._path), state), *self._saved):
            if depth >= level:
                _keep(each, level, run, after)

    def _refuse(self, first: Operation, second: Operation) -> None:
        kind = "conditions or loops that threads pass apart from each other"
        if first is second:
            raise PassFailedException(
                f"{describe(second)} conflicts with itself in another iteration, under "
                f"{kind}, where no barrier can be; let all threads run the loop alike"
            )
        raise PassFailedException(
            f"{describe(second)} may access one element of memory of the scope "
            f'"{self._scope}" with {describe(first)} in different threads, both under '
            f"{kind}, where no barrier can be; move one of them out, or mark a condition "
            "that is the same in all threads by T.tvm_thread_invariant"
        )

    def _insert(self, place: Operation, path: Path) -> None:
        previous = place.prev_op
        if previous in self._own:
            raise PassFailedException(
                f"{describe(place)} may access memory of the scope "
                f'"{self._scope}" that another thread accesses, in an order that no '
                "barrier before it decides; write the barriers by hand"
            )
        ops = self._barrier(path)
        for op in ops:
            op.location = place.location
        Rewriter.insert_op(ops, InsertPoint.before(place))
        self._own.add(ops[-1])
        self._with_barrier.update(self._ops_around(ops[-1], set()))


def _common_level(a: Path, b: Path) -> int:
    """How deep the innermost run of a block is that both are in."""
    level = -1
    for (one, _, _), (other, _, _) in zip(a, b, strict=False):
        if one != other:
            break
        level += 1
    return level


def _level(a: ThreadAccess, b: ThreadAccess) -> int | None:
    """How deep in the path of `b` a barrier is that orders it after `a`, if any."""
    level = _common_level(a.path, b.path)
    if a.path[level][1] is not b.path[level][1]:
        return level
    return level + 1 if len(b.path) > level + 1 else None


def _keep(state: State, level: int, run: int, ops: set[Operation]) -> None:
    """Forget accesses other than those in certain ops of a run of a block."""
    for key, access in list(state.items()):
        path = access.path
        if not (len(path) > level and path[level][0] == run and path[level][1] in ops):
            del state[key]


def _is_expression(op: Operation) -> bool:
    """Whether it is a part of the statement after it: it has no effect but reads."""
    if isinstance(op, _STATEMENTS):
        return False
    if isinstance(op, tir.LetOp) and op.kind.data is tir.LetKind.STMT:
        return False
    if op.regions and not isinstance(op, tir.IfThenElseOp):
        return False
    return all(
        own_effect(inner) <= tir.CallEffect.READ_STATE or isinstance(inner, tir.YieldOp)
        for inner in all_ops(op)
    )

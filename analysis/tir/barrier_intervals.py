"""Accesses of a kernel that no barrier of the block orders, and whether they may clash.

`KernelRaces` walks a kernel in the order of the text with the accesses that some thread
may have done since the last barrier, and compares each new access with them. A loop that
holds a barrier is walked twice, so that the end of an iteration meets the start of the
next one. A kernel of `n` accesses takes time quadratic in those between two barriers, and
twice as much for each loop with barriers around them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import inf, prod

from xdsl.ir import Attribute, Block, Operation, SSAValue

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import (
    Broadcast,
    Expr,
    Not,
    Ramp,
    Value,
    leaf_values,
    view,
)
from xdsl_tvm.analysis.tir.memory_order import memory_of
from xdsl_tvm.analysis.tir.thread_separation import (
    Iteration,
    Kind,
    Separation,
    ThreadAccess,
    Variable,
)
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.storage_scope import StorageRank, StorageScope

_NAMES = (
    tir.DeclBufferOp,
    tir.DataOp,
    tir.AddressOfOp,
    tir.AccessPtrOp,
    tir.LetOp,
    tir.MatchBufferOp,
    tir.MatchRegionOp,
    tir.AttrOp,
)
"""Ops that name memory and do not access it."""
_BARRIERS = ("shared", "shared.dyn")
"""Scopes whose barrier is one of all threads of a block."""
_WARP = 32
"""Threads of a warp, for which its barrier is as good."""
_State = dict[object, ThreadAccess]


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

    def __init__(self, launch: tir.LaunchThreadOp) -> None:
        self.clash: Clash | None = None
        self.unwritten: tir.LoadOp | None = None
        self._trees: dict[SSAValue, Expr] = {}
        self._axes: dict[str, SSAValue] = {}
        self._conditions: list[Expr] = []
        self._iterations: dict[SSAValue, Iteration] = {}
        self._lanes: dict[tuple[int, Attribute], SSAValue] = {}
        self._runs = 0
        self._parted = 0
        self._of_memory: dict[SSAValue | None, dict[object, ThreadAccess]] = {}
        self._separation = Separation(self._variables(launch))
        self._in_one_warp = self._threads() <= _WARP
        self._with_barrier = set(self._around_barriers(launch))
        state: _State = {}
        self._launch(launch, state)
        self._across_blocks()
        self._find_unwritten(launch)

    # ---- variables ----

    def _variables(self, launch: tir.LaunchThreadOp) -> dict[SSAValue, Variable]:
        found: dict[SSAValue, Variable] = {}
        for op in launch.walk():
            match op:
                case tir.LaunchThreadOp() if op.virtual is None:
                    self._bind_axis(op, found)
                case tir.LaunchThreadOp():
                    found[op.thread_var] = _loop_variable(None, op.extent)
                case tir.ForOp():
                    found[op.loop_var] = _loop_variable(op.min, op.extent)
                case _:
                    pass
            for operand in op.operands:
                if _is_outside(operand, launch):
                    self._bind_outside(operand, found)
        return found

    def _bind_axis(self, op: tir.LaunchThreadOp, found: dict[SSAValue, Variable]) -> None:
        first = self._axes.setdefault(op.tag.data, op.thread_var)
        extent = tir.constant_value(op.extent)
        kind = Kind.BLOCK if op.axis.is_block else Kind.THREAD
        if first is op.thread_var:
            found[first] = Variable(kind, 0, inf if extent is None else int(extent) - 1)
        elif first.type == op.thread_var.type:
            self._trees[op.thread_var] = view(first, self._trees)

    def _bind_outside(self, value: SSAValue, found: dict[SSAValue, Variable]) -> None:
        for leaf in leaf_values(view(value, self._trees)):
            found.setdefault(leaf, Variable(Kind.UNIFORM))

    def _is_uniform(self, *values: SSAValue) -> bool:
        """Whether values are the same in all threads of the block at this point."""
        known = self._separation.variables
        for leaf in leaf_values(*(view(value, self._trees) for value in values)):
            variable = known.get(leaf)
            if variable is None or variable.kind is Kind.THREAD:
                return False
            if variable.kind is Kind.LOOP and leaf not in self._iterations:
                return False
        return True

    def _threads(self) -> float:
        """The number of threads of a block, as far as it is known."""
        variables = self._separation.variables.values()
        return prod(v.high + 1 for v in variables if v.kind is Kind.THREAD)

    def _is_barrier(self, op: tir.CallOp) -> bool:
        """Whether a call is a barrier of the whole block."""
        if op.callee.data != "tvm_storage_sync" or not op.args:
            return False
        scope = op.args[0].owner
        name = scope.value.data if isinstance(scope, tir.StringOp) else ""
        return name in _BARRIERS or (name == "warp" and self._in_one_warp)

    def _around_barriers(self, launch: Operation) -> Iterator[Operation]:
        """The ops that hold a barrier."""
        seen: set[Operation] = set()
        for op in launch.walk():
            if not isinstance(op, tir.CallOp) or not self._is_barrier(op):
                continue
            parent = op.parent_op()
            while parent is not None and parent not in seen:
                seen.add(parent)
                yield parent
                parent = None if parent is launch else parent.parent_op()

    # ---- the walk ----

    def _block(self, block: Block, state: _State) -> bool:
        """Walk a block; tells whether all threads meet a barrier in it for certain."""
        met = False
        for op in block.ops:
            met |= self._visit(op, state)
        return met

    def _visit(self, op: Operation, state: _State) -> bool:
        match op:
            case tir.LoadOp():
                self._access(op, op.buffer, self._element(op), state, writes=False)
            case tir.StoreOp():
                self._access(op, op.buffer, self._element(op), state, writes=True)
            case tir.CallOp() if self._is_barrier(op):
                if not self._parted:
                    state.clear()
                return not self._parted
            case tir.LaunchThreadOp() if op.virtual is None:
                return self._launch(op, state)
            case tir.LetOp() if op.value.type == op.result.type:
                self._trees[op.result] = self._tree(op.value)
            case tir.ForOp():
                return self._for(op, state)
            case tir.IfOp():
                other = op.else_region
                then = op.then_region.block
                return self._choice(
                    op.condition, then, None if other is None else other.block, state
                )
            case tir.IfThenElseOp():
                blocks = op.true_region.block, op.false_region.block
                return self._choice(op.condition, *blocks, state)
            case tir.ScopeOp() | tir.AttrOp():
                return self._block(op.regions[0].block, state)
            case _:
                self._other(op, state)
        return False

    def _other(self, op: Operation, state: _State) -> None:
        """An op that may do its regions again, and access what it names as a whole."""
        if not isinstance(op, _NAMES):
            for operand in op.operands:
                if isinstance(operand.type, tir.BufferType | tir.PtrType):
                    self._access(op, operand, None, state, writes=True)
        blocks = [block for region in op.regions for block in region.blocks]
        self._parted += 1
        for _ in range(2 if blocks else 0):
            for block in blocks:
                self._block(block, state)
        self._parted -= 1

    def _tree(self, value: SSAValue) -> Expr:
        return view(value, self._trees)

    def _launch(self, op: tir.LaunchThreadOp, state: _State) -> bool:
        return self._block(op.body.block, state)

    def _for(self, op: tir.ForOp, state: _State) -> bool:
        body = op.body.block
        extent = tir.constant_value(op.extent)
        runs = extent is not None and extent >= 1
        if op not in self._with_barrier:
            # Its variable has a value of its own in each thread, whatever the iteration.
            self._block(body, state)
            return False
        uniform = self._is_uniform(op.min, op.extent)
        together = uniform and not self._parted and self._always_meets(body)
        before = dict(state)
        self._runs += 1
        run = self._runs
        self._parted += not uniform
        for ahead in range(1 if extent == 1 else 2):
            if together:
                self._iterations[op.loop_var] = Iteration(run, ahead)
            if ahead and not together:
                # An iteration may end before its barrier.
                state.update(before)
            self._block(body, state)
        self._parted -= not uniform
        self._iterations.pop(op.loop_var, None)
        if not (runs and together):
            state.update(before)
        return runs and together

    def _always_meets(self, block: Block) -> bool:
        """Whether all threads meet a barrier each time that they run a block."""
        for op in block.ops:
            if isinstance(op, tir.CallOp):
                if self._is_barrier(op):
                    return True
            elif op not in self._with_barrier:
                continue
            elif isinstance(op, tir.ScopeOp | tir.AttrOp):
                if self._always_meets(op.regions[0].block):
                    return True
            elif isinstance(op, tir.ForOp) and self._always_meets(op.body.block):
                extent = tir.constant_value(op.extent)
                if extent is not None and extent >= 1:
                    return True
        return False

    def _choice(
        self, condition: SSAValue, then: Block, other: Block | None, state: _State
    ) -> bool:
        tree = self._tree(condition)
        parted = not self._is_uniform(condition)
        before = dict(state)
        self._parted += parted
        self._conditions.append(tree)
        met = self._block(then, state)
        self._conditions.pop()
        after_then = dict(state)
        if not parted:
            # Where the condition is uniform, no thread is in the other branch.
            state.clear()
        state.update(before)
        if other is not None:
            self._conditions.append(Not(tree))
            met &= self._block(other, state)
            self._conditions.pop()
        self._parted -= parted
        state.update(after_then)
        return met and other is not None and not parted

    # ---- accesses ----

    def _element(self, op: tir.LoadOp | tir.StoreOp) -> list[Expr]:
        """The indices of an access, those of its lanes as one with a variable."""
        return [self._lane_index(self._tree(index)) for index in op.indices]

    def _lane_index(self, index: Expr) -> Expr:
        lanes = tir.lanes_of(index.dtype)
        match index:
            case Ramp(base=base, stride=stride) if not tir.is_scalable(index.dtype):
                key = lanes, base.dtype
                lane = self._lanes.get(key)
                if lane is None:
                    lane = self._lanes[key] = Block(arg_types=[base.dtype]).args[0]
                    self._separation.variables[lane] = Variable(Kind.LOOP, 0, lanes - 1)
                return smart.add(base, smart.mul(stride, Value(lane)))
            case Broadcast():
                return index.operands[0]
            case _:
                return index

    def _access(
        self,
        op: Operation,
        buffer: SSAValue,
        indices: Iterable[Expr] | None,
        state: _State,
        *,
        writes: bool,
    ) -> None:
        if not _scope(buffer).is_shared_by_threads:
            return
        access = ThreadAccess(
            op,
            buffer,
            _memory(buffer),
            None if indices is None else tuple(indices),
            tuple(self._conditions),
            writes,
            dict(self._iterations),
        )
        key = access.key
        self._of_memory.setdefault(access.memory, {}).setdefault(key, access)
        for earlier in (*state.values(), access):
            self._compare(earlier, access, Kind.THREAD)
        state.setdefault(key, access)

    def _compare(self, a: ThreadAccess, b: ThreadAccess, axes: Kind) -> None:
        if self.clash is not None or not (a.writes or b.writes):
            return
        if a.memory is not None and b.memory is not None and a.memory is not b.memory:
            return
        if not self._separation.are_separate(a, b, axes):
            self.clash = Clash(a, b, axes)

    def _across_blocks(self) -> None:
        """Compare what two blocks do, which no barrier of a block orders."""
        for accesses in self._of_memory.values():
            once = {
                (a.indices or a.op, a.writes, a.conditions, a.buffer): a
                for a in accesses.values()
                if _scope(a.buffer).rank is StorageRank.GLOBAL
            }
            found = list(once.values())
            writes = [access for access in found if access.writes]
            for write in writes:
                for access in found:
                    self._compare(write, access, Kind.BLOCK)

    def _find_unwritten(self, launch: tir.LaunchThreadOp) -> None:
        """Find a read of memory of the kernel that nothing in the kernel writes."""
        written: set[SSAValue | None] = set()
        reads: list[tir.LoadOp] = []
        for op in launch.walk():
            if isinstance(op, tir.LoadOp):
                if _scope(op.buffer).rank is not StorageRank.GLOBAL:
                    reads.append(op)
            elif not isinstance(op, _NAMES):
                written.update(
                    _memory(operand)
                    for operand in op.operands
                    if isinstance(operand.type, tir.BufferType | tir.PtrType)
                )
        for read in reads:
            memory = _memory(read.buffer)
            if (
                memory is not None
                and isinstance(memory.owner, tir.AllocBufferOp | tir.AllocateOp)
                and memory not in written
            ):
                self.unwritten = read
                return


def _memory(value: SSAValue) -> SSAValue | None:
    memory = memory_of(value, distinct_parameters=True)
    return memory if isinstance(memory, SSAValue) else None


def _scope(value: SSAValue) -> StorageScope:
    type_ = value.type
    assert isinstance(type_, tir.BufferType | tir.PtrType)
    return StorageScope.parse(type_.scope.data)


def _loop_variable(low: SSAValue | None, extent: SSAValue) -> Variable:
    first = 0 if low is None else tir.constant_value(low)
    count = tir.constant_value(extent)
    if first is None:
        return Variable(Kind.LOOP)
    last = inf if count is None else int(first) + int(count) - 1
    return Variable(Kind.LOOP, int(first), last)


def _is_outside(value: SSAValue, launch: tir.LaunchThreadOp) -> bool:
    """Whether a value is defined outside of a kernel."""
    owner = value.owner
    inner = owner.parent_op() if isinstance(owner, Block) else owner
    while inner is not None and inner is not launch:
        inner = inner.parent_op()
    return inner is None or owner is launch

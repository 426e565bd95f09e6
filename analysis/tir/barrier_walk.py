"""The walk over a kernel with the accesses that no barrier orders.

`BarrierWalk` goes through a kernel in the order of the text with the accesses that some
thread may have done since the last barrier, and compares each new access with them. A
loop that holds a barrier is walked twice, so that the end of an iteration meets the start
of the next one. A kernel of `n` accesses takes time quadratic in those between two
barriers, and twice as much for each loop with barriers around them.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import Enum, auto
from math import inf, prod

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.hints import isa

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import (
    Broadcast,
    Call,
    Expr,
    Not,
    Value,
    leaf_values,
    substitute,
    view,
)
from xdsl_tvm.analysis.arith.vector_lane import of_lane
from xdsl_tvm.analysis.derivation import derivation
from xdsl_tvm.analysis.tir.access_families import FamilyTable
from xdsl_tvm.analysis.tir.builtin_offsets import position_of, transposes_bytes
from xdsl_tvm.analysis.tir.copy_rings import ordered_memory
from xdsl_tvm.analysis.tir.memory_order import memory_of
from xdsl_tvm.analysis.tir.radix_split import with_outer_remainders
from xdsl_tvm.analysis.tir.thread_separation import (
    Iteration,
    Kind,
    Separation,
    ThreadAccess,
    Variable,
    compact_shape,
    layout_values,
)
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.storage_scope import StorageRank, StorageScope
from xdsl_tvm.dialects.tir.types import bytes_of

NAMES = (
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
_BLOCK_BARRIERS = ("shared", "shared.dyn", "global")
"""Scopes whose barrier is one of all threads of a block."""
_WARP = 32
"""Threads of a warp, for which its barrier is as good."""
_LOAD_MATRICES = "ptx_ldmatrix"
_ROW_BYTES = 16
"""Of a row of the matrices that it loads."""
_OF_WARPS = ("tvm_store_matrix_sync", "mma_store")
"""Builtins that the threads of a warp do together, as one access."""
_ONLY_READ = {
    "ptx_ldmatrix": ("smem_ptr",),
    "ptx_cp_async": ("global_ptr",),
    "ptx_cp_async_bulk": ("global_ptr",),
    "ptx_wgmma_mma_async": ("a", "b"),
    "tvm_load_matrix_sync": ("ptr",),
    "ptx_ldg32": ("address",),
    "ptx_mma": ("a", "b"),
    "ptx_mma_sp": ("a", "b", "metadata"),
}
"""Pointers by which a builtin reads and does not write."""
_ONLY_WRITTEN = {
    "ptx_ldmatrix": ("local_ptr",),
    "ptx_cp_async": ("shared_ptr",),
    "ptx_cp_async_bulk": ("shared_ptr",),
    "ptx_cp_async_bulk_tensor": ("shared_ptr",),
    "tvm_store_matrix_sync": ("ptr",),
    "mma_store": ("dst_ptr",),
}
_ASYNC_COPIES = ("ptx_cp_async", "ptx_cp_async_bulk")
_WAITS = ("ptx_wait_group", "ptx_wait_barrier")
_INVARIANT = "tvm_thread_invariant"
_INFLIGHT = "async_wait_inflight_count"
State = dict[object, ThreadAccess]
"""Accesses by their keys."""


class Level(Enum):
    """The threads that a barrier is of."""

    WARP = auto()
    BLOCK = auto()
    GRID = auto()


def barrier_scope(op: Operation) -> str | None:
    """The scope of a call of `tvm_storage_sync`; None for other ops."""
    if not isinstance(op, tir.CallOp) or op.callee.data != "tvm_storage_sync":
        return None
    scope = op.args[0].owner if op.args else None
    return scope.value.data if isinstance(scope, tir.StringOp) else None


def has_barrier_of_grid(root: Operation) -> bool:
    """Whether blocks of the launch meet somewhere in it."""
    return any(barrier_scope(op) == "global" for op in all_ops(root))


def scope_of(value: SSAValue) -> StorageScope:
    """The storage scope of a buffer or a pointer."""
    type_ = value.type
    assert isinstance(type_, tir.BufferType | tir.PtrType)
    return StorageScope.parse(type_.scope.data)


def accessed_memory(value: SSAValue) -> SSAValue | None:
    """What defines the memory of a buffer or pointer; parameters have one each."""
    memory = memory_of(value, distinct_parameters=True)
    return memory if isinstance(memory, SSAValue) else None


@dataclass(frozen=True)
class _Region:
    """What an op accesses by a pointer."""

    buffer: SSAValue
    indices: tuple[Expr, ...] | None
    reads: bool
    writes: bool


class BarrierWalk:
    """The accesses of a kernel that barriers of a level order, or do not.

    A class that derives from it says in `_resolve` what becomes of accesses that may
    conflict.
    """

    def __init__(self, launch: tir.LaunchThreadOp, level: Level) -> None:
        self._root = launch
        self._level = level
        self._trees: dict[SSAValue, Expr] = {}
        self._normal: dict[Expr, Expr] = {}
        self._axes: dict[str, SSAValue] = {}
        self._conditions: list[Expr] = []
        self._iterations: dict[SSAValue, Iteration] = {}
        self._runs = 0
        self._parted = 0
        self._path: list[tuple[int, Operation, bool]] = []
        self._saved: list[tuple[int, State]] = []
        """States that come back where branches and loops end, each with its depth."""
        self._alike: set[SSAValue] = set()
        """Variables of loops around that all threads do alike."""
        self._free: list[tuple[int, SSAValue]] = []
        """Loops without barriers around: runs of their bodies, and their variables."""
        self._in_flight: State = {}
        """Asynchronous accesses that a later wait completes."""
        self._in_async = 0
        self._of_memory: dict[SSAValue | None, State] = {}
        variables = self._variables(launch)
        self._threads = prod(
            v.high + 1 for v in variables.values() if v.kind is Kind.THREAD
        )
        if level is Level.WARP:
            self._keep_warps_together(variables)
        self._separation = Separation(variables, blocks_meet=level is Level.GRID)
        self._families = FamilyTable(self._separation)
        self._ordered = ordered_memory(launch)
        """What counting barriers order."""
        self._is_collecting = False
        """Whether the walk adds accesses to families, and compares none."""
        row = self._axes.get("threadIdx.x")
        self._lanes: SSAValue | None = None
        """The axis that counts the threads of a warp, where there is one."""
        if row is not None and row in variables and variables[row].high + 1 == _WARP:
            self._lanes = row
        self._changing = self._changing_memory(launch)
        self._with_barrier = set(self._around_barriers(launch))

    def walk(self) -> None:
        """Walk the kernel once."""
        self._in_flight = {}
        self._path = [(self._next_run(), self._root, False)]
        self._launch(self._root, {})
        self._path.pop()

    def collect(self) -> None:
        """Walk the kernel for the families of its accesses, which walks go by then."""
        self._is_collecting = True
        self.walk()
        self._is_collecting = False

    def _resolve(
        self, conflicts: Sequence[ThreadAccess], access: ThreadAccess, state: State
    ) -> None:
        """Handle accesses since the last barrier that may conflict with a new one."""
        raise NotImplementedError

    def _watches(self, buffer: SSAValue) -> bool:
        if self._is_ordered(buffer):
            return False
        scope = scope_of(buffer)
        match self._level:
            case Level.WARP:
                return scope.rank is StorageRank.WARP
            case Level.GRID:
                return scope.rank is StorageRank.GLOBAL
            case Level.BLOCK:
                return scope.is_shared_by_threads and scope.rank is not StorageRank.WARP

    def _is_ordered(self, buffer: SSAValue) -> bool:
        """Whether counting barriers order the accesses of memory."""
        return bool(self._ordered) and accessed_memory(buffer) in self._ordered

    # ---- variables ----

    def _next_run(self) -> int:
        self._runs += 1
        return self._runs

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
        values = [value]
        if isinstance(value.type, tir.BufferType):
            values += layout_values(value)
        for each in values:
            for leaf in leaf_values(view(each, self._trees)):
                found.setdefault(leaf, Variable(Kind.UNIFORM))

    def _keep_warps_together(self, variables: dict[SSAValue, Variable]) -> None:
        """Threads of a warp have the other indices in common where rows are full."""
        row = self._axes.get("threadIdx.x")
        if row is None or row not in variables:
            return
        width = variables[row].high + 1
        if width < inf and width % _WARP == 0:
            for tag in ("threadIdx.y", "threadIdx.z"):
                axis = self._axes.get(tag)
                if axis is not None and axis in variables:
                    variables[axis] = replace(variables[axis], kind=Kind.UNIFORM)

    def _changing_memory(self, launch: Operation) -> set[SSAValue | None]:
        """What the kernel may write."""
        return {
            accessed_memory(operand)
            for op in all_ops(launch)
            if not isinstance(op, (*NAMES, tir.LoadOp))
            for operand in op.operands
            if isinstance(operand.type, tir.BufferType | tir.PtrType)
        }

    def _is_uniform(self, *values: SSAValue, now: bool = False) -> bool:
        """Whether values are the same in all threads that a barrier is of.

        They may be so in each iteration of the loops around; with `now` they are so at
        this point, which threads may be at in different iterations.
        """
        return all(self._is_uniform_tree(self._tree(value), now) for value in values)

    def _is_uniform_tree(self, tree: Expr, now: bool) -> bool:
        known = self._separation.variables
        pending, seen = [tree], set[Expr]()
        while pending:
            node = pending.pop()
            if node in seen:
                continue
            seen.add(node)
            if isinstance(node, Call) and node.name == _INVARIANT:
                continue
            pending += node.operands
            if not isinstance(node, Value):
                continue
            variable = known.get(node.value)
            if variable is None:
                if not self._is_uniform_result(node.value, now):
                    return False
            elif not self._is_uniform_variable(node.value, variable.kind, now):
                return False
        return True

    def _is_uniform_variable(self, value: SSAValue, kind: Kind, now: bool) -> bool:
        match kind:
            case Kind.UNIFORM:
                return True
            case Kind.THREAD:
                return False
            case Kind.BLOCK:
                return self._level is not Level.GRID
            case Kind.LOOP:
                return value in self._iterations or (not now and value in self._alike)

    def _is_uniform_result(self, value: SSAValue, now: bool) -> bool:
        """Whether it is called so, or read from an element that the kernel keeps."""
        load = value.owner
        if isinstance(load, tir.CallOp) and load.callee.data == _INVARIANT:
            return True
        if not isinstance(load, tir.LoadOp) or load.predicate is not None:
            return False
        memory = accessed_memory(load.buffer)
        if memory is None or None in self._changing or memory in self._changing:
            return False
        return scope_of(load.buffer).rank is StorageRank.GLOBAL and self._is_uniform(
            *load.indices, now=now
        )

    # ---- barriers ----

    def _is_barrier(self, op: Operation) -> bool:
        """Whether an op is a barrier of all threads that the level is about."""
        scope = barrier_scope(op)
        if scope is None:
            return False
        if self._level is Level.GRID:
            return scope == "global"
        if scope == "warp":
            return self._level is Level.WARP or self._threads <= _WARP
        return scope in _BLOCK_BARRIERS

    def _around_barriers(self, launch: Operation) -> Iterator[Operation]:
        """The ops that hold a barrier."""
        seen: set[Operation] = set()
        for op in launch.walk():
            if self._is_barrier(op):
                yield from self._ops_around(op, seen)

    def _ops_around(self, op: Operation, seen: set[Operation]) -> Iterator[Operation]:
        parent = op.parent_op()
        while parent is not None and parent not in seen:
            seen.add(parent)
            yield parent
            parent = None if parent is self._root else parent.parent_op()

    # ---- the walk ----

    def _block(self, block: Block, state: State) -> bool:
        """Walk a block; tells whether all threads meet a barrier in it for certain."""
        met = False
        run = self._next_run()
        for op in block.ops:
            self._path.append((run, op, self._parted > 0))
            met |= self._visit(op, state)
            self._path.pop()
        return met

    def _visit(self, op: Operation, state: State) -> bool:
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
            case tir.WhileOp():
                return self._while(op, state)
            case tir.IfOp():
                other = op.else_region
                then = op.then_region.block
                return self._choice(
                    op.condition, then, None if other is None else other.block, state
                )
            case tir.IfThenElseOp():
                blocks = op.true_region.block, op.false_region.block
                return self._choice(op.condition, *blocks, state)
            case tir.AttrOp():
                return self._attr(op, state)
            case tir.ScopeOp():
                return self._block(op.regions[0].block, state)
            case _:
                self._other(op, state)
        return False

    def _attr(self, op: tir.AttrOp, state: State) -> bool:
        is_async = op.key.data == "async_scope"
        if op.key.data == _INFLIGHT:
            self._complete(op, _constant_of(op) == 0, state)
        self._in_async += is_async
        met = self._block(op.body.block, state)
        self._in_async -= is_async
        return met

    def _complete(self, wait: Operation, everything: bool, state: State) -> None:
        """Threads that wait for copies have made them by then, in some iteration."""
        for copy in list(self._in_flight.values()):
            done = replace(copy, op=wait, iterations={}, path=tuple(self._path))
            state[done.key] = done
        if everything:
            self._in_flight.clear()

    def _other(self, op: Operation, state: State) -> None:
        """An op that may do its regions again, and access what it names as a whole."""
        if isinstance(op, tir.CallOp) and op.callee.data in _WAITS:
            none_left = op.args and tir.constant_value(op.args[0]) == 0
            is_group = op.callee.data == "ptx_wait_group"
            self._complete(op, bool(is_group and none_left), state)
        if not isinstance(op, NAMES):
            is_copy = isinstance(op, tir.CallOp) and op.callee.data in _ASYNC_COPIES
            self._in_async += is_copy
            for position, operand in enumerate(op.operands):
                if isinstance(operand.type, tir.BufferType | tir.PtrType):
                    self._operand(op, position, operand, state)
            self._in_async -= is_copy
        blocks = [block for region in op.regions for block in region.blocks]
        self._parted += 1
        for _ in range(2 if blocks else 0):
            for block in blocks:
                self._block(block, state)
        self._parted -= 1

    def _tree(self, value: SSAValue) -> Expr:
        return with_outer_remainders(view(value, self._trees), self._normal)

    def _launch(self, op: tir.LaunchThreadOp, state: State) -> bool:
        """A thread axis, which is less than its extent; constant ones are ranges."""
        if tir.constant_value(op.extent) is not None:
            return self._block(op.body.block, state)
        index, extent = Value(op.thread_var), self._tree(op.extent)
        self._conditions.append(smart.lt(index, extent))
        met = self._block(op.body.block, state)
        self._conditions.pop()
        return met

    @contextmanager
    def _saving(self, state: State) -> Generator[State]:
        """A copy of a state that comes back later."""
        copy = dict(state)
        self._saved.append((len(self._path) - 1, copy))
        yield copy
        self._saved.pop()

    def _for(self, op: tir.ForOp, state: State) -> bool:
        uniform = self._is_uniform(op.min, op.extent)
        is_alike = uniform and not self._parted
        self._parted += not uniform
        if is_alike:
            self._alike.add(op.loop_var)
        if op in self._with_barrier:
            met = self._loop(op, state, is_alike)
        else:
            # Its variable has a value of its own in each thread, whatever the iteration.
            self._free.append((self._runs + 1, op.loop_var))
            self._block(op.body.block, state)
            met = False
            self._free.pop()
        self._alike.discard(op.loop_var)
        self._parted -= not uniform
        return met

    def _loop(self, op: tir.ForOp, state: State, is_alike: bool) -> bool:
        """A loop that holds a barrier; tells whether all threads meet in it."""
        body = op.body.block
        extent = tir.constant_value(op.extent)
        together = is_alike and self._always_meets(body)
        met = together and extent is not None and extent >= 1
        run = self._next_run()
        with self._saving(state) as before:
            # Where an iteration may have no barrier, those far apart meet, too.
            sweeps = 2 if together or not is_alike else 3
            sweeps = 1 if self._is_collecting else sweeps
            for ahead in range(sweeps if extent is None else min(sweeps, int(extent))):
                if is_alike:
                    self._iterations[op.loop_var] = Iteration(run, ahead, ahead == 2)
                if ahead and not is_alike:
                    # Threads may be in any iteration.
                    state.update(before)
                self._block(body, state)
            self._iterations.pop(op.loop_var, None)
            if not met:
                state.update(before)
        return met

    def _while(self, op: tir.WhileOp, state: State) -> bool:
        """A loop of unknown length, whose condition is evaluated at least once."""
        test, body = op.condition.block, op.body.block
        last = test.last_op
        assert last is not None
        met = self._block(test, state)
        uniform = self._is_uniform(*last.operands)
        self._parted += not uniform
        with self._saving(state) as before:
            for again in range(2):
                if again:
                    state.update(before)
                self._block(body, state)
                self._block(test, state)
            state.update(before)
        self._parted -= not uniform
        return met

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
        self, condition: SSAValue, then: Block, other: Block | None, state: State
    ) -> bool:
        tree = self._tree(condition)
        parted = not self._is_uniform(condition)
        exclusive = self._is_uniform(condition, now=True)
        self._parted += parted
        with self._saving(state) as before:
            self._conditions.append(tree)
            met = self._block(then, state)
            self._conditions.pop()
            with self._saving(state) as after_then:
                if exclusive:
                    # Where the condition is the same, no thread is in the other branch.
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

    def _element(self, op: tir.LoadOp | tir.StoreOp) -> tuple[Expr, ...]:
        """The indices of an access, those of its lanes as one with a variable."""
        return tuple(self._lane_index(self._tree(index)) for index in op.indices)

    def _lane_index(self, index: Expr) -> Expr:
        if tir.is_scalable(index.dtype):
            return index.operands[0] if isinstance(index, Broadcast) else index
        lanes = tir.lanes_of(index.dtype)
        found = of_lane(index, lambda dtype: Value(self._separation.lane(lanes, dtype)))
        return index if found is None else found

    def _operand(
        self, op: Operation, position: int, operand: SSAValue, state: State
    ) -> None:
        """An access by a pointer that an op accepts."""
        region = self._region(op, position, operand)
        for writes in (False, True):
            if region.writes if writes else region.reads and not region.writes:
                self._access(op, region.buffer, region.indices, state, writes=writes)

    def _region(self, op: Operation, position: int, operand: SSAValue) -> _Region:
        name = op.callee.data if isinstance(op, tir.CallOp) else ""
        reads = writes = True
        if isinstance(op, tir.CallOp):
            writes = not _is_among(op, position, _ONLY_READ.get(name, ()))
            reads = not _is_among(op, position, _ONLY_WRITTEN.get(name, ()))
            if name in _ASYNC_COPIES:
                found = self._copied(op, position)
                if found is not None:
                    memory = _memory_behind(operand)
                    return _Region(memory, found, reads, writes)
            if name == _LOAD_MATRICES and position == position_of(op, "smem_ptr"):
                loaded = self._loaded_rows(op, operand)
                if loaded is not None:
                    return loaded
        for value in derivation(operand):
            pointer = value.owner
            if isinstance(pointer, tir.AccessPtrOp):
                mask = pointer.mode.data.mask
                reads, writes = reads and bool(mask & 1), writes and bool(mask & 2)
                memory = _memory_behind(pointer.data)
                element, offset = pointer.element_type, pointer.offset
                extent = tir.constant_value(pointer.extent)
                found = self._range(memory, element, self._tree(offset), extent)
                if isinstance(op, tir.CallOp) and name in _OF_WARPS:
                    found = self._tile(op, memory, element, offset) or found
                return _Region(operand if found is None else memory, found, reads, writes)
            if isinstance(pointer, tir.DeclBufferOp):
                break
        return _Region(operand, None, reads, writes)

    def _copied(self, op: tir.CallOp, position: int) -> tuple[Expr, ...] | None:
        """The elements of a side of an asynchronous copy."""
        memory = _memory_behind(op.args[position])
        if not isinstance(memory.type, tir.BufferType | tir.PtrType):
            return None
        element = memory.type.element_type
        count = tir.constant_value(op.args[position_of(op, "bytes")])
        if count is None or tir.is_scalable(element):
            return None
        size = bytes_of(element)
        if count % size:
            return None
        start = self._tree(op.args[position + 1])
        return self._range(memory, element, start, count // size)

    def _loaded_rows(self, op: tir.CallOp, operand: SSAValue) -> _Region | None:
        """The rows of matrices that a warp loads; None where they are not known.

        Each lane says where a row of 16 bytes is, whose elements other lanes receive.
        """
        if transposes_bytes(op) or not isinstance(operand.type, tir.PtrType):
            return None
        start, pointer = (
            self._tree(op.args[position_of(op, "smem_offset")]),
            operand.owner,
        )
        source = operand
        if isinstance(pointer, tir.AccessPtrOp):
            source, first = pointer.data, self._tree(pointer.offset)
            start = smart.add(first, smart.cast(first.dtype, start))
        element = operand.type.element_type
        in_warp = self._in_any_lane(start)
        if in_warp is None or tir.is_scalable(element) or _ROW_BYTES % bytes_of(element):
            return None
        memory, count = _memory_behind(source), _ROW_BYTES // bytes_of(element)
        found = self._range(memory, element, in_warp, count)
        return None if found is None else _Region(memory, found, True, False)

    def _in_any_lane(self, index: Expr) -> Expr | None:
        """An index for all threads of a warp; None where warps are no parts of rows."""
        row = self._axes.get("threadIdx.x")
        width = 0 if row is None else self._separation.variables[row].high + 1
        if row is None or width == inf or width % _WARP:
            return None
        size = smart.const(_WARP, row.type)
        lane: Expr = Value(self._separation.lane(_WARP, row.type, of_rows=True))
        first = smart.mul(smart.floordiv(Value(row), size), size)
        return substitute(
            index, {Value(row): lane if width == _WARP else smart.add(first, lane)}
        )

    def _tile(
        self, op: tir.CallOp, memory: SSAValue, element: Attribute, offset: SSAValue
    ) -> tuple[Expr, ...] | None:
        """The elements of a matrix that a warp stores, of which rows are apart."""
        shape = [tir.constant_value(op.args[position_of(op, each)]) for each in "mn"]
        start = self._range(memory, element, self._tree(offset), 1)
        if start is None or None in shape:
            return None
        rows, columns = (int(extent or 0) for extent in shape)
        step = "dst_stride"
        if op.callee.data == "tvm_store_matrix_sync":
            step = "stride"
            layout = op.args[position_of(op, "layout")].owner
            if not isinstance(layout, tir.StringOp):
                return None
            if layout.value.data == "col_major":
                rows, columns = columns, rows
        dtype = start[0].dtype
        stride = self._tree(op.args[position_of(op, step)])
        if stride.dtype != dtype or min(rows, columns) < 1:
            return None
        row = Value(self._separation.lane(rows, dtype, of_rows=True))
        column = Value(self._separation.lane(columns, dtype))
        row_start = smart.add(start[0], smart.mul(row, stride))
        return (smart.add(row_start, column),)

    def _range(
        self, memory: SSAValue, element: Attribute, start: Expr, extent: float | None
    ) -> tuple[Expr, ...] | None:
        """The elements from `start` on in memory of such elements, as one index."""
        if extent is None or extent < 1:
            return None
        type_ = memory.type
        assert isinstance(type_, tir.BufferType | tir.PtrType)
        shape = compact_shape(memory)
        is_flat = shape is not None and len(shape) == 1
        ratio = _ratio(element, type_.element_type) if is_flat else 0
        if not ratio:
            return None
        start, count = smart.mul(start, ratio), int(extent) * ratio
        if count == 1:
            return (start,)
        return (smart.add(start, Value(self._separation.lane(count, start.dtype))),)

    def _access(
        self,
        op: Operation,
        buffer: SSAValue,
        indices: Iterable[Expr] | None,
        state: State,
        *,
        writes: bool,
    ) -> None:
        if not self._watches(buffer):
            return
        access = ThreadAccess(
            op,
            buffer,
            accessed_memory(buffer),
            None if indices is None else tuple(indices),
            tuple(self._conditions),
            writes,
            dict(self._iterations),
            tuple(self._path),
        )
        if self._is_collecting:
            self._families.add(access)
            return
        if self._in_async:
            self._in_flight[access.key] = access
        self._note(access, state)

    def _note(self, access: ThreadAccess, state: State) -> None:
        key = access.key
        self._of_memory.setdefault(access.memory, {}).setdefault(key, access)
        found = [
            earlier
            for earlier in (*state.values(), access)
            if (earlier.writes or access.writes) and self._conflict(earlier, access)
        ]
        if found:
            self._resolve(found, access, state)
        state[key] = access

    def _conflict(self, a: ThreadAccess, b: ThreadAccess) -> bool:
        """Whether two threads of the level may access one element; one of both writes."""
        if a.memory is not None and b.memory is not None and a.memory is not b.memory:
            return False
        one, other = self._whole(a), self._whole(b)
        is_alone = one is a and other is b
        return (is_alone or self._may_clash(one, other)) and self._may_clash(a, b)

    def _whole(self, access: ThreadAccess) -> ThreadAccess:
        """The access for all of its family, at the place of this one."""
        found = self._families.whole(access)
        if found.indices is access.indices:
            return access
        indices, conditions = found.indices, found.conditions
        return replace(access, indices=indices, conditions=conditions)

    def _may_clash(self, a: ThreadAccess, b: ThreadAccess) -> bool:
        """Whether they may meet in the same or in different iterations of loops."""
        return self._may_meet(a, b) and any(
            self._may_meet(*pair) for pair in self._by_iterations(a, b)
        )

    def _may_meet(self, a: ThreadAccess, b: ThreadAccess) -> bool:
        axes = (Kind.THREAD, Kind.BLOCK) if self._level is Level.GRID else (Kind.THREAD,)
        lanes = self._lanes if self._lanes and _is_one_access_of_warp(a, b) else None
        return not all(self._separation.are_separate(a, b, kind, lanes) for kind in axes)

    def _by_iterations(
        self, a: ThreadAccess, b: ThreadAccess
    ) -> Iterator[tuple[ThreadAccess, ThreadAccess]]:
        """Two accesses in all orders of the iterations of loops around both.

        The loops are those without a barrier; where one iterates later in one thread, the
        loops in it do so in any way.
        """
        runs = {run for run, _, _ in a.path}
        same: dict[SSAValue, Iteration] = {}
        for run, variable in self._free:
            if run not in runs:
                continue
            one = {**same, variable: Iteration(-run, 0)}
            other = {**same, variable: Iteration(-run, 1, or_more=True)}
            yield _at(a, one), _at(b, other)
            yield _at(b, one), _at(a, other)
            same[variable] = Iteration(-run, 0)
        yield _at(a, same), _at(b, same)


def _is_one_access_of_warp(a: ThreadAccess, b: ThreadAccess) -> bool:
    """Whether two accesses are what the threads of each warp do together."""
    return (
        a.op is b.op
        and isinstance(a.op, tir.CallOp)
        and a.op.callee.data in _OF_WARPS
        and a.iterations == b.iterations
    )


def _at(access: ThreadAccess, iterations: dict[SSAValue, Iteration]) -> ThreadAccess:
    return replace(access, iterations={**access.iterations, **iterations})


def _memory_behind(pointer: SSAValue) -> SSAValue:
    """The buffer or the allocation that a pointer points to the start of."""
    owner = pointer.owner
    if isinstance(owner, tir.DataOp):
        return _memory_behind(owner.buffer)
    if isinstance(owner, tir.DeclBufferOp) and owner.elem_offset is None:
        return _memory_behind(owner.data)
    return pointer


def _ratio(element: Attribute, stored: Attribute) -> int:
    """How many elements of memory one element of a pointer is; 0 if it is no number."""
    if element == stored:
        return 1
    if tir.is_scalable(element) or tir.is_scalable(stored):
        return 0
    quotient, rest = divmod(bytes_of(element), bytes_of(stored))
    return 0 if rest else quotient


def _is_among(op: tir.CallOp, position: int, names: Iterable[str]) -> bool:
    return any(position_of(op, name) == position for name in names)


def _constant_of(op: tir.AttrOp) -> float | None:
    if op.value is not None:
        return tir.constant_value(op.value)
    value = op.value_attr
    return value.value.data if isa(value, IntegerAttr) else None


def _loop_variable(low: SSAValue | None, extent: SSAValue) -> Variable:
    first = 0 if low is None else tir.constant_value(low)
    if first is None:
        return Variable(Kind.LOOP)
    count = tir.constant_value(extent)
    if count is None:
        # Such as 3 for what is left of a number modulo 4.
        count = Analyzer().const_int_bound(view(extent)).max
    last = inf if count == inf else int(first) + int(count) - 1
    return Variable(Kind.LOOP, int(first), last)


def _is_outside(value: SSAValue, launch: tir.LaunchThreadOp) -> bool:
    """Whether a value is defined outside of a kernel."""
    owner = value.owner
    inner = owner.parent_op() if isinstance(owner, Block) else owner
    while inner is not None and inner is not launch:
        inner = inner.parent_op()
    return inner is None or owner is launch

"""Barriers between the accesses of threads that share memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i1, i32
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.all_ops import all_ops, ops_of
from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Expr, emit, view
from xdsl_tvm.analysis.derivation import origin
from xdsl_tvm.analysis.tir.barrier_walk import NAMES, barrier_scope, scope_of
from xdsl_tvm.analysis.tir.thread_separation import Path
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.quick_accessors import stored_operands, type_of, types_in
from xdsl_tvm.dialects.tir.storage_scope import StorageRank, StorageScope
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.tir._loops.thread_axes import outermost_ops
from xdsl_tvm.passes.tir._thread_sync.planner import BarrierPlanner, can_plan
from xdsl_tvm.passes.tir.rewriting.barriers import barrier_of
from xdsl_tvm.passes.tir.rewriting.statements import taken_ops

_WAIT = "async_wait_queue_scope"
_INFLIGHT = "async_wait_inflight_count"
_ZERO = IntegerAttr(0, i32)
_ONE = IntegerAttr(1, i32)


@dataclass(frozen=True)
class ThreadSync(CompilerPass):
    """Summary: Inserts barriers between accesses of one element by different threads.

    TVM name: tir.ThreadSync (v0.20)
    Input form: loops and buffers, and later forms, with the thread axes as
        tir.launch_thread
    Output form: the same
    Options: `storage_scope` ("shared"): the scope of the memory that is looked at,
        "shared", "shared.dyn", "warp", "global", or one of these with another tag
    Rewrites: before

            tir.store %x, %S[%t] : f32
            %y = tir.load %S[%r] : f32          // %r is 63 - %t
            tir.store %y, %B[%t] : f32

        after

            tir.store %x, %S[%t] : f32
            %scope = tir.string "shared"
            %s = tir.call "tvm_storage_sync"(%scope) : (!tir.handle) -> i32
            %y = tir.load %S[%r] : f32
            tir.store %y, %B[%t] : f32

        A barrier is in the innermost block that holds two accesses that may conflict,
        before the statement with the second one and the expressions of that; where they
        are in two iterations, in the body of the loop. It is where all threads arrive:
        before a condition or loop that depends on the thread, if the first access is not
        in that, too. The bodies of loops are treated first. Accesses conflict as in
        tir-verify-thread-sync. With "shared", what waits for asynchronous copies begins
        with a barrier. With "global", the barrier is one of the grid,

            tir.call "tvm_storage_sync"(%scope, %lead, %blocks)
                : (!tir.handle, i1, i32) -> i32

        for the first thread of each block and the number of blocks; before the kernel is
        `tvm_call_packed("__tvm_prepare_global_barrier")`, the kernel begins with
        `tvm_global_barrier_kinit`, and memory that it both reads and writes is
        `volatile_scope`.
    Leaves alone: kernels of one thread; elements that are proved to belong to one thread,
        or to differ; accesses that a barrier orders, or the counting barriers of stages
        (see tir-verify-thread-sync); what `hand_threaded` holds; one op
        that stores an element in several threads, which no barrier can part from itself.
        Nothing is removed. Time is quadratic in the different accesses of one memory
        between two barriers, times the depth of loops, and doubles with each loop around
        a barrier.
    Errors: a scope that threads do not share; a conflict where one of the accesses cannot
        be reached without the other, under a condition or in a loop that threads pass
        apart from each other; a barrier of the grid outside of a thread axis of its
        kernel
    Attributes: read: `hand_threaded`, `async_scope`, `async_wait_queue_scope`,
        `async_wait_inflight_count`; created: `volatile_scope`; removed: none, but the
        nodes of the two that wait become 0
    Differs from TVM: two writes conflict, and so do a read and a write of one statement,
        between which the barrier then is. An element belongs to a thread only if all
        axes of the block tell so; indices of two iterations are compared as such.
        Fewer barriers are inserted where that proves more. What pointers are for is
        followed: address_of, access pointers, the builtins of matrices and copies, and
        what other ops accept counts as read and written. `ptx_ldmatrix` reads the rows
        that the lanes of its warp name, for all of them. A copy counts again where it
        is waited for. A condition may be any that is the same in all threads of the
        block, and a load in a condition comes before it. Allocations of dynamic shared
        memory, which TVM takes for one, conflict where their live ranges allow them to
        overlap. A loop with bounds that depend on the thread gets no barrier inside. A
        barrier of the block does not order blocks. `is_lead` is true and `num_blocks`
        is 1 where the kernel has no such axes. `double_buffer_write` is not believed.
        A second barrier is not put next to one after a wait.
    """

    name = "tir-thread-sync"

    storage_scope: str = "shared"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        scope = self._parsed_scope()
        for func in op.body.block.ops:
            if isinstance(func, tir.FuncOp):
                own: set[Operation] = set()
                if str(scope) == "shared":
                    own.update(_synchronize_waits(func))
                if _accesses(func, scope):
                    _Kernels(func, scope).run(own)

    def _parsed_scope(self) -> StorageScope:
        try:
            scope = StorageScope.parse(self.storage_scope)
        except ValueError as error:
            raise PassFailedException(f"{self.name}: {error}") from error
        if not can_plan(scope):
            raise PassFailedException(
                f"{self.name}: threads do not share memory of the scope '{scope}'; name "
                "one of shared, shared.dyn, warp, global"
            )
        return scope


def _accesses(func: tir.FuncOp, scope: StorageScope) -> bool:
    """Whether an op of a function may access memory of a scope."""
    # By identity first: there are few types, and most ops have no memory.
    elsewhere: set[int] = set()
    ops = all_ops(func)
    if not any(_is_in(type_, scope) for type_ in types_in(ops)):
        return False
    for op in ops:
        operands = stored_operands(op)
        if elsewhere.issuperset(map(id, map(type_of, operands))):
            continue
        for operand in operands:
            type_ = type_of(operand)
            if id(type_) in elsewhere:
                continue
            is_memory = isinstance(type_, tir.BufferType | tir.PtrType)
            if not is_memory or scope_of(operand) != scope:
                elsewhere.add(id(type_))
            elif not isinstance(op, NAMES):
                return True
    return False


def _is_in(type_: Attribute, scope: StorageScope) -> bool:
    """Whether a type is that of a buffer, or a pointer, in a scope."""
    is_memory = isinstance(type_, tir.BufferType | tir.PtrType)
    return is_memory and StorageScope.parse(type_.scope.data) == scope


def _is_launch(op: Operation) -> bool:
    return isinstance(op, tir.LaunchThreadOp) and op.virtual is None


# ---- copies ----


def _synchronize_waits(func: tir.FuncOp) -> Iterator[Operation]:
    """Let what waits for copies begin with a barrier; yields those that are new."""
    if not any(map(_is_wait, ops_of(func, tir.AttrOp))):
        return
    for wait in list(outermost_ops(func, _is_wait)):
        assert isinstance(wait, tir.AttrOp)
        for inner in list(wait.body.block.ops):
            if not (isinstance(inner, tir.AttrOp) and inner.key.data == _INFLIGHT):
                continue
            body = inner.body.block
            for each in (inner, wait):
                _replace_node(each)
            if not _begins_with_barrier(body):
                ops = barrier_of("shared")
                for op in ops:
                    op.location = inner.location
                Rewriter.insert_op(ops, InsertPoint.at_start(body))
                yield ops[-1]


def _is_wait(op: Operation) -> bool:
    return (
        isinstance(op, tir.AttrOp)
        and op.key.data == _WAIT
        and any(
            isinstance(inner, tir.AttrOp) and inner.key.data == _INFLIGHT
            for inner in op.body.block.ops
        )
    )


def _replace_node(scope: tir.AttrOp) -> None:
    """Let the node of an attribute be 0, in place."""
    if scope.node_attr == _ZERO:
        return
    value = scope.value if scope.value is not None else scope.value_attr
    assert value is not None
    body = scope.detach_region(0)
    new = tir.AttrOp(scope.key, _ZERO, value, body)
    new.location = scope.location
    Rewriter.replace_op(scope, new)


def _begins_with_barrier(block: Block) -> bool:
    for op in block.ops:
        if barrier_scope(op) is not None:
            return barrier_scope(op) != "warp"
        if not isinstance(op, tir.StringOp):
            return False
    return False


# ---- kernels ----


class _Kernels:
    """The kernels of a function, and their barriers for one scope."""

    def __init__(self, func: tir.FuncOp, scope: StorageScope) -> None:
        self._func = func
        self._scope = scope

    def run(self, own: set[Operation]) -> None:
        """Insert the barriers; `own` holds those that are inserted already."""
        before = len(own)
        launches = list(outermost_ops(self._func, _is_launch))
        for launch in launches:
            assert isinstance(launch, tir.LaunchThreadOp)
            barrier = self._barrier_of_grid if self._is_global else self._barrier
            BarrierPlanner(launch, self._scope, barrier, own).run()
        if self._is_global and len(own) > before:
            for launch in launches:
                assert isinstance(launch, tir.LaunchThreadOp)
                _prepare(launch)

    @property
    def _is_global(self) -> bool:
        return self._scope.rank is StorageRank.GLOBAL

    def _barrier(self, path: Path) -> Sequence[Operation]:
        return barrier_of(str(self._scope))

    def _barrier_of_grid(self, path: Path) -> Sequence[Operation]:
        launches = [op for _, op, _ in path if isinstance(op, tir.LaunchThreadOp)]
        axes = [launch for launch in launches if _is_launch(launch)]
        found = {launch.tag.data for launch in axes}
        for op in axes[0].walk() if axes else ():
            if (
                isinstance(op, tir.LaunchThreadOp)
                and _is_launch(op)
                and op.tag.data not in found
            ):
                raise PassFailedException(
                    f"{op.name} in @{self._func.sym_name.data}: a barrier of the grid is "
                    f'needed outside of "{op.tag.data}"; launch the threads of all axes '
                    "around the code that shares memory"
                )
        lead: Expr = smart.const(True, i1)
        count: Expr = smart.const(1, i32)
        for launch in axes:
            if launch.axis.is_block:
                extent = view(launch.extent)
                count = smart.mul(extent, count)
            else:
                index = view(launch.thread_var)
                lead = smart.conjunction(lead, smart.eq(index, 0))
        block = Block()
        builder = Builder(InsertPoint.at_end(block))
        operands = [emit(tree, builder) for tree in (lead, count)]
        block.add_ops(barrier_of(str(self._scope), *operands))
        return taken_ops(block)


def _prepare(launch: tir.LaunchThreadOp) -> None:
    """Let blocks of a kernel be able to meet."""
    kernel = Block()
    new: list[Operation] = [tir.CallOp("tvm_global_barrier_kinit", [], i32)]
    scopes: list[Operation] = []
    pointers: list[SSAValue] = []
    for memory in _read_and_written(launch):
        if isinstance(memory.type, tir.BufferType):
            data = tir.DataOp(memory)
            new.append(data)
            memory = data.result
        pointers.append(memory)
    kernel.add_ops(taken_ops(launch.body.block))
    for pointer in reversed(pointers):
        scope = tir.AttrOp("volatile_scope", pointer, _ONE, Region(kernel))
        scopes.append(scope)
        kernel = Block([scope])
    launch.body.block.add_ops([*new, *taken_ops(kernel)])
    name = tir.StringOp("__tvm_prepare_global_barrier")
    call = tir.CallOp("tvm_call_packed", [name], i32)
    for op in (*new, *scopes, name, call):
        op.location = launch.location
    Rewriter.insert_op([name, call], InsertPoint.before(launch))


def _read_and_written(launch: tir.LaunchThreadOp) -> list[SSAValue]:
    """Memory from outside of a kernel that it reads and writes, by first access."""
    order: dict[SSAValue, None] = {}
    reads: set[SSAValue] = set()
    writes: set[SSAValue] = set()
    for op in launch.walk():
        if isinstance(op, NAMES):
            continue
        for operand in op.operands:
            if not isinstance(operand.type, tir.BufferType | tir.PtrType):
                continue
            if scope_of(operand).rank is not StorageRank.GLOBAL:
                continue
            memory = origin(operand)
            if launch.is_ancestor(memory.owner):
                continue
            order.setdefault(memory)
            mask = _mask(op, operand)
            if mask & 1:
                reads.add(memory)
            if mask & 2:
                writes.add(memory)
    return [memory for memory in order if memory in reads and memory in writes]


def _mask(op: Operation, operand: SSAValue) -> int:
    """What an op does by a pointer: 1 for reads, 2 for writes."""
    if isinstance(op, tir.LoadOp):
        return 1
    if isinstance(op, tir.StoreOp):
        return 2
    pointer = operand.owner
    return pointer.mode.data.mask if isinstance(pointer, tir.AccessPtrOp) else 3

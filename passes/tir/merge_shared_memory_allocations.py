"""Shared memory of a kernel becomes one allocation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import IntegerType, ModuleOp, Signedness
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from xdsl_tvm.analysis.all_ops import all_ops, ops_of
from xdsl_tvm.analysis.arith.expr import Expr, emit
from xdsl_tvm.analysis.tir.barrier_pairs import BarrierPairs
from xdsl_tvm.analysis.tir.storage_events import StorageEvents
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.infra import CompilerPass, PassContext
from xdsl_tvm.passes.tir._storage.placement import Placement
from xdsl_tvm.passes.tir._storage.relocation import Arena
from xdsl_tvm.passes.tir._storage.shared_layout import plan_shared_memory
from xdsl_tvm.passes.tir.rewriting.statements import erase_if_unused

_BYTE = IntegerType(8, Signedness.UNSIGNED)
_DYNAMIC = ("shared.dyn", "buf_dyn_shmem")
_STATIC = ("shared", "buf_shmem")


@dataclass(frozen=True)
class MergeSharedMemoryAllocations(CompilerPass):
    """Summary: Merges the dynamic shared memory of each kernel into one array of bytes,
        in which pieces with disjoint live ranges overlap.

    TVM name: tir.MergeSharedMemoryAllocations (v0.20)
    Input form: flat buffers; barriers are placed
    Output form: the same; a kernel has one allocation in the scope `shared.dyn` at most,
        except for those below
    Options: none. The configuration `tir.merge_static_smem` merges the memory of the
        scope `shared` as well
    Rewrites: before

            tir.launch_thread %t = "threadIdx.x" to %c128 {
              %p = tir.allocate "P" [128] : !tir.ptr<f32, "shared.dyn">
              %P = tir.decl_buffer "P" %p : !tir.buffer<128xf32, "shared.dyn">
              %q = tir.allocate "Q" [128] : !tir.ptr<f32, "shared.dyn">
              %Q = tir.decl_buffer "Q" %q : !tir.buffer<128xf32, "shared.dyn">
              …
              %x = tir.load %Q[%t] : f32
            }

        after

            tir.launch_thread %t = "threadIdx.x" to %c128 {
              %b = tir.allocate "buf_dyn_shmem" [1024] : !tir.ptr<ui8, "shared.dyn">
              %P = tir.decl_buffer "buf_dyn_shmem" %b : !tir.buffer<128xf32, …>
              %Q = tir.decl_buffer "buf_dyn_shmem" %b : !tir.buffer<256xf32, …>
              …
              %j = tir.add %t, %c128 : i32
              %x = tir.load %Q[%j] : f32
            }

        or `[512]` and `%t` if a barrier is between the last access of `P` and the first
        one of `Q`. The array is named `buf_shmem` in the scope `shared`. Offsets are
        multiples of 16 bytes and of the largest element. Regions and destinations of
        asynchronous copies are moved, too; other uses of a pointer get one into the
        array. Time is linear in the number of accesses, times that of the allocations.
    Leaves alone: functions with less than two allocations of the scope; memory that two
        launches use, of several dimensions, or whose extents are computed in the kernel;
        memory of loops that are bound to threads
    Errors: a use of a buffer by an op that neither accesses it nor takes its pointer
    Attributes: read: none; created: none; removed: none
    Differs from TVM: pieces overlap only where a barrier is between them on all paths, or
        each element is of one thread; TVM does not look at barriers, and writes memory in
        the statement that reads it last. Joined pieces keep their places, so that live
        ones never overlap. Every piece is aligned to 16 bytes, lanes of vectors count,
        memory up to 4 bytes gets bytes of its own after the others, and symbolic memory
        is reused where the sizes are equal. Addresses and pointers are uses, and are
        redirected, as attributes are. Copies in flight keep their memory until the wait.
        Each launch of a function gets an array. Allocations before a launch that only it
        uses count as inside of it, so that they may overlap.
    """

    name = "tir-merge-shared-memory-allocations"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        static = PassContext.current().get_config("tir.merge_static_smem", bool)
        for func in ops_of(op, tir.FuncOp):
            for scope, name in (_DYNAMIC, _STATIC) if static else (_DYNAMIC,):
                _merge(func, scope, name)


def _merge(func: tir.FuncOp, scope: str, name: str) -> None:
    """Merge the memory of a scope in each kernel of a function."""
    found = [
        op for op in ops_of(func, tir.AllocateOp) if op.result.type.scope.data == scope
    ]
    if len(found) < 2:
        return
    for launch, memories in _by_kernel(func, found):
        if len(memories) > 1:
            _merge_kernel(func, launch, memories, name)


def _by_kernel(
    func: tir.FuncOp, memories: Sequence[tir.AllocateOp]
) -> Iterator[tuple[tir.LaunchThreadOp, list[tir.AllocateOp]]]:
    """The outermost launches, with the memory that only they use."""
    kernels: dict[tir.LaunchThreadOp, list[tir.AllocateOp]] = {}
    for memory in memories:
        used = {_kernel(func, op) for op in (memory, *_users(memory))}
        inside = {kernel for kernel in used if kernel is not None}
        around = [op for op in _users(memory) if _kernel(func, op) is None]
        if len(inside) == 1 and all(isinstance(op, _NAMES) for op in around):
            kernels.setdefault(inside.pop(), []).append(memory)
    yield from kernels.items()


_NAMES = (tir.DeclBufferOp, tir.DataOp, tir.AddressOfOp, tir.AccessPtrOp)


def _users(memory: tir.AllocateOp) -> list[Operation]:
    """The ops that use a piece of memory, or what names it, in no order."""
    found: dict[Operation, None] = {}
    pending: list[SSAValue] = [memory.result]
    while pending:
        for use in pending.pop().uses:
            op = use.operation
            if op not in found:
                found[op] = None
                if isinstance(op, (*_NAMES, tir.LetOp)):
                    pending += op.results
    return list(found)


def _kernel(func: tir.FuncOp, op: Operation) -> tir.LaunchThreadOp | None:
    """The outermost launch around an op."""
    found = None
    parent = op.parent_op()
    while parent is not None and parent is not func:
        if isinstance(parent, tir.LaunchThreadOp):
            found = parent
        parent = parent.parent_op()
    return found


def _merge_kernel(
    func: tir.FuncOp,
    launch: tir.LaunchThreadOp,
    memories: Sequence[tir.AllocateOp],
    name: str,
) -> None:
    _move_inside(func, launch, memories)
    placement = Placement(func)
    merged = {
        memory: None
        for memory in memories
        if len(memory.shape) == 1 and placement.can_compute(memory.operands, launch)
    }
    if len(merged) < 2:
        return
    events = StorageEvents(func, merged.__contains__)
    pairs = BarrierPairs(launch, merged, events.waits)
    mark = placement.mark(launch)
    for memory in merged:
        for at, operand in enumerate(memory.operands):
            memory.operands[at] = placement.value(operand, launch)
    layout = plan_shared_memory(events, pairs.overlaps)
    size = layout.size
    known: dict[Expr, SSAValue] = {}
    extent = (
        size
        if isinstance(size, int)
        else emit(size, Builder(InsertPoint.before(mark)), known)
    )
    scope = memories[0].result.type.scope
    whole = tir.AllocateOp(tir.PtrType(_BYTE, scope), [extent], name=name)
    whole.location = memories[0].location
    whole.result.name_hint = name
    Rewriter.insert_op(whole, InsertPoint.before(mark))
    arena = Arena(whole, size, known)
    for memory in merged:
        start = layout.starts.get(memory.result)
        if start is not None:
            arena.take(memory.result, start)
        if memory.result.first_use is None:
            operands = tuple(memory.operands)
            Rewriter.erase_op(memory)
            erase_if_unused(operands)
    placement.finish()


def _move_inside(
    func: tir.FuncOp, launch: tir.LaunchThreadOp, memories: Sequence[tir.AllocateOp]
) -> None:
    """Move memory that is allocated before a launch, and its names, to its start."""
    outside: set[Operation] = set()
    for memory in memories:
        if not launch.is_ancestor(memory):
            users = [op for op in _users(memory) if not launch.is_ancestor(op)]
            outside.update((memory, *users))
    last: Operation | None = None
    for op in [op for op in all_ops(func) if op in outside]:
        op.detach()
        body = launch.body.block
        first = body.first_op
        if last is not None:
            Rewriter.insert_op(op, InsertPoint.after(last))
        elif first is not None:
            Rewriter.insert_op(op, InsertPoint.before(first))
        else:
            body.add_op(op)
        last = op

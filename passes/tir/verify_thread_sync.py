"""The check that GPU kernels have the barriers that they need."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.tir.barrier_intervals import Clash, KernelRaces
from xdsl_tvm.analysis.tir.thread_separation import Kind
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.tir._loops.thread_axes import outermost_ops
from xdsl_tvm.passes.tir.rewriting.statements import describe, describe_buffer


@dataclass(frozen=True)
class VerifyThreadSync(CompilerPass):
    """Summary: Checks that threads which share memory meet at a barrier between accesses
        of one element, and changes nothing.

    TVM name: none (ours)
    Input form: loops and buffers, and later forms, with the thread axes as
        tir.launch_thread
    Output form: the same
    Options: `skip_volatile`: leave out memory with the attribute `volatile_scope`, which
        LowerThreadAllreduce makes, with barriers of warps where threads exchange within
        warps only (false)
    Rewrites: none. A kernel, the outermost of nested launches, is refused where
            tir.store %x, %S[%t] : f32
            %y = tir.load %S[%r] : f32          // %r is 63 - %t
        have no barrier of the threads of a block between them, in the same iteration of a
        loop or in one and the next, and it is not proved that each thread accesses
        elements of its own, or that the elements differ; and where several threads, or
        threads of several blocks, may store one element. Elements differ where the
        indices, read as numbers in a mixed radix, also of symbolic sizes as in
        `x // n * m + x % n`, are equal for one thread only, or where
        an evaluation for all threads shows it (up to 2^17 combinations of thread axes and
        loop variables; of a variable that counts modulo a number only, as in `i % 2`,
        that many values are taken, however long the loop is). Elements of two sizes,
        in views of one memory, are compared byte by byte. Conditions around an access
        count. A barrier counts in a branch or loop only where the condition or the bounds
        are the same in all threads of the block. Blocks are ordered by barriers of the
        grid alone, memory of a warp by those of the warp, too. What waits for copies
        makes them once more. Stages in shared memory that tensor copies fill and products
        of warpgroups read are ordered by counting barriers, where these are proved to be
        those of a ring (`analysis/tir/copy_rings.py`): of a step s of S stages
            tir.call "ptx_wait_barrier"(%empty, %turn)    // S + s % S, (s // S + 1) % 2
            tir.call "ptx_arrive_barrier_expect_tx"(%full, %bytes)    // s % S
            tir.call "ptx_cp_async_bulk_tensor"(%tiles, %at, …, %full, …)
        in one thread, with the bytes of all its copies, which do not overlap; and in
        whole warps, of each of which one lane arrives,
            tir.call "ptx_wait_barrier"(%full, %turn)    // s % S, s // S % 2
            tir.call "ptx_wgmma_mma_async"(…, %tiles, %at, …)
            tir.call "ptx_wgmma_commit_group"()
            tir.call "ptx_wgmma_wait_group"(%g)
            tir.call "ptx_arrive_barrier"(%empty)    // S + (s - g) % S
    Leaves alone: everything. Memory that threads do not share, and kernels of one thread,
        need no barrier. Memory of different parameters is taken to be different.
        Memory that an op other than a load or a store names is accessed as a whole.
        Accesses that differ by constants, as those of an unrolled loop, are compared as
        one first. Time is quadratic in the others of one memory between two barriers, and
        doubles with each loop around a barrier.
    Errors: two accesses that may conflict, with the buffer; a read of memory of the
        kernel that nothing in the kernel writes
    Attributes: read: none; created: none; removed: none
    Differs from TVM: TVM has no such check; tir-thread-sync inserts what it asks for.
    """

    name = "tir-verify-thread-sync"

    skip_volatile: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in op.body.block.ops:
            if isinstance(func, tir.FuncOp):
                for kernel in outermost_ops(func, _is_launch):
                    assert isinstance(kernel, tir.LaunchThreadOp)
                    races = KernelRaces(kernel, skip_volatile=self.skip_volatile)
                    if races.unwritten is not None:
                        raise PassFailedException(_unwritten(races.unwritten))
                    if races.clash is not None:
                        raise PassFailedException(_message(races.clash))


def _is_launch(op: Operation) -> bool:
    return isinstance(op, tir.LaunchThreadOp)


def _unwritten(read: tir.LoadOp) -> str:
    scope = tir.buffer_definition(read.buffer).type.scope.data
    return (
        f"{describe(read)} reads {describe_buffer(read.buffer)}, which nothing in the "
        f'kernel writes, and memory of the scope "{scope}" ends with the launch; write '
        "it in the same kernel, or allocate it in global memory"
    )


def _message(clash: Clash) -> str:
    first, second = describe(clash.first.op), describe(clash.second.op)
    where = describe_buffer(clash.second.buffer)
    if clash.axes is Kind.BLOCK:
        both = first if clash.first is clash.second else f"{first} and {second}"
        return (
            f"{both} may access one element of {where} in different blocks, which no "
            "barrier orders; let each block access elements of its own, or launch two "
            "kernels"
        )
    if clash.first.op is clash.second.op and not clash.is_of_next_iteration:
        return (
            f"{first} may store one element of {where} in several threads; let one of "
            "them store it, as under a condition on the thread"
        )
    turn = " of the next iteration" if clash.is_of_next_iteration else ""
    scope = _scope(clash.second.buffer)
    barrier = scope if scope.startswith("shared") else "shared"
    return (
        f"{first} and {second}{turn} may access one element of {where} in different "
        f"threads, with no barrier between them; insert "
        f'T.tvm_storage_sync("{barrier}")'
    )


def _scope(value: SSAValue) -> str:
    assert isinstance(value.type, tir.BufferType | tir.PtrType)
    return value.type.scope.data

"""The check that GPU kernels have the barriers that they need."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.thread_conflicts import Conflict, conflicts_in
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.tir._editing import describe


@dataclass(frozen=True)
class VerifyThreadSync(CompilerPass):
    """Summary: Checks that threads which share memory meet at a barrier between accesses
        of one element, and changes nothing.

    TVM name: none (ours)
    Input form: loops and buffers, and later forms, with the thread axes as
        tir.launch_thread
    Output form: the same
    Options: none
    Rewrites: none. A kernel, the outermost of nested launches, is refused where
            tir.store %x, %S[%t] : f32
            %y = tir.load %S[%r] : f32          // %r is 63 - %t
        have no barrier of the threads of a block between them, in the same iteration of a
        loop or in one and the next, and it is not proved that each thread accesses
        elements of its own, or that the elements differ; and where several threads may
        store one element at once.
    Leaves alone: everything. Memory that threads do not share, kernels of one thread, and
        the order of different blocks, which no barrier gives, are not looked at. Memory
        of different parameters is taken to be different. Linear in the number of ops,
        but for the pairs of different accesses of one memory between two barriers.
    Errors: the first two accesses that may conflict, with the buffer
    Attributes: read: none; created: none; removed: none
    Differs from TVM: TVM inserts barriers (ThreadSync) and has no such check.
    """

    name = "tir-verify-thread-sync"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in op.body.block.ops:
            if isinstance(func, tir.FuncOp):
                for kernel in _kernels_in(func):
                    for conflict in conflicts_in(kernel):
                        raise PassFailedException(_message(conflict))


def _kernels_in(func: tir.FuncOp) -> list[tir.LaunchThreadOp]:
    """The outermost launches of a function."""
    found: list[tir.LaunchThreadOp] = []
    pending: list[Operation] = [func]
    while pending:
        for region in pending.pop().regions:
            for block in region.blocks:
                for op in block.ops:
                    if isinstance(op, tir.LaunchThreadOp):
                        found.append(op)
                    elif op.regions:
                        pending.append(op)
    return found


def _message(conflict: Conflict) -> str:
    first, second = describe(conflict.first), describe(conflict.second)
    memory = conflict.memory
    where = "memory"
    scope = "shared"
    if memory is not None and isinstance(memory.type, tir.BufferType):
        definition = tir.buffer_definition(memory)
        name = definition.buffer_name
        where = f"buffer '{memory.name_hint if name is None else name.data}'"
        scope = definition.type.scope.data
    if conflict.first is conflict.second and conflict.loop is None:
        return (
            f"{first} may store one element of {where} in several threads; let one of "
            "them store it, as under a condition on the thread"
        )
    turn = " of the next iteration" if conflict.loop is not None else ""
    barrier = scope if scope.startswith("shared") else "shared"
    return (
        f"{first} and {second}{turn} may access one element of {where} in different "
        f"threads, with no barrier between them; insert "
        f'T.tvm_storage_sync("{barrier}")'
    )

"""Where the threads of a block do not reach a reduction as its code needs them to."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from xdsl.ir import Block, Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.tir._loops.thread_axes import axis_of
from xdsl_tvm.passes.tir.rewriting.statements import describe


def require_all_axes(
    op: tir.ThreadAllreduceOp, kernel: Operation, tags: Collection[str]
) -> None:
    """Raise PassFailedException if a kernel has axes of threads beside `tags`.

    Threads that differ along such an axis only would share the memory of a reduction.
    """
    for inner in kernel.walk():
        tag = axis_of(inner)
        if tag not in tir.THREAD_TAGS or tag in tags:
            continue
        if isinstance(inner, tir.LaunchThreadOp) and tir.is_constant(inner.extent, 1):
            continue
        raise PassFailedException(
            f'{describe(op)}: the kernel binds "{tag}" elsewhere, so that several '
            "threads are each of those that reduce; launch all axes of the kernel around "
            "the reduction"
        )


def require_uniform(op: tir.ThreadAllreduceOp, variables: Collection[SSAValue]) -> None:
    """Raise PassFailedException if a thread may not reach the barriers of a reduction.

    That is where a condition, or the bounds of a loop, around it are computed from thread
    variables. What is loaded from memory is believed to be the same in all threads.
    """
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, tir.FuncOp):
        values: Sequence[SSAValue] = ()
        if isinstance(parent, tir.IfOp):
            values = [parent.condition]
        elif isinstance(parent, tir.ForOp):
            values = [parent.min, parent.extent]
        if _depends_on(values, variables):
            raise PassFailedException(
                f"{describe(op)}: it needs barriers, which all threads of the block have "
                f"to reach, and the {parent.name} around it depends on the thread; "
                "reduce in all threads, with a condition of the reduction itself"
            )
        parent = parent.parent_op()


def _depends_on(values: Sequence[SSAValue], variables: Collection[SSAValue]) -> bool:
    pending, seen = list(values), set[SSAValue]()
    while pending:
        value = pending.pop()
        if value in variables:
            return True
        owner = value.owner
        if value in seen or isinstance(owner, Block | tir.LoadOp):
            continue
        seen.add(value)
        pending += owner.operands
    return False

"""Whether threads of a block that have to meet may be kept apart.

A barrier, a shuffle or a reduction over threads must be reached by all threads of a block
at one place of the program. So a pass must not put it under a condition, or into one of
several loops, by a value that may differ between the threads.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.ir import BlockArgument, Operation, SSAValue

from xdsl_tvm.analysis.tir.side_effect import own_effect
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir import CallEffect


def may_diverge(op: Operation, values: Iterable[SSAValue]) -> bool:
    """Whether a choice by the values, before `op`, may part threads that meet in it.

    The values are those outside of `op` that the choice depends on. Linear in the size of
    `op` and the depth it is at.
    """
    return (
        not all(map(is_uniform, values))
        and _is_in_threads(op)
        and any(map(is_collective, op.walk()))
    )


def is_collective(op: Operation) -> bool:
    """Whether the threads of a block may have to reach an op together.

    Barriers, shuffles, reductions over threads, and whatever else changes more than
    memory that is named; what the op holds does not count.
    """
    if isinstance(op, tir.StoreOp):
        return False
    return own_effect(op) >= CallEffect.UPDATE_STATE


def is_uniform(value: SSAValue) -> bool:
    """Whether a value is certainly the same in all threads of a block.

    Parameters, symbolic sizes, indices of blocks and variables of loops with constant
    bounds are; of other values it is not known.
    """
    if not isinstance(value, BlockArgument):
        return isinstance(value.owner, tir.ShapeVarOp)
    match value.owner.parent_op():
        case tir.FuncOp():
            return True
        case tir.LaunchThreadOp() as launch:
            return launch.axis.is_block
        case tir.ForOp() as loop:
            bounds = (loop.min, loop.extent)
            is_bound = loop.kind.data is tir.ForKind.THREAD_BINDING
            return not is_bound and None not in map(tir.constant_value, bounds)
        case _:
            return False


def _is_in_threads(op: Operation) -> bool:
    """Whether it is inside of a launch of threads, or of a loop bound to them."""
    parent = op.parent_op()
    while parent is not None:
        if isinstance(parent, tir.LaunchThreadOp):
            return True
        if isinstance(parent, tir.ForOp) and parent.thread_tag is not None:
            return True
        parent = parent.parent_op()
    return False

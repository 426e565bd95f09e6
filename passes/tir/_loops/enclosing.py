"""The loops and blocks around an op."""

from __future__ import annotations

from xdsl.ir import Operation

from xdsl_tvm.dialects import tir


def loops_around(op: Operation, end: Operation | None = None) -> list[tir.ForOp]:
    """The loops that an op is in, from the outermost, inside of `end`."""
    found: list[tir.ForOp] = []
    parent = op.parent_op()
    while parent is not None and parent is not end:
        if isinstance(parent, tir.ForOp):
            found.append(parent)
        parent = parent.parent_op()
    return found[::-1]


def container_of(op: Operation) -> tir.BlockOp | tir.FuncOp:
    """The block that an op is in, or the function where it is in none."""
    parent = op.parent_op()
    while not isinstance(parent, tir.BlockOp | tir.FuncOp):
        assert parent is not None
        parent = parent.parent_op()
    return parent

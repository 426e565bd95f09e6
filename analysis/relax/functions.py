"""The Relax functions of a module."""

from __future__ import annotations

from xdsl.ir import Operation

from xdsl_tvm.dialects import relax, tir


def relax_functions(root: Operation) -> list[relax.FuncOp]:
    """The Relax functions in an op, also in modules in it, in the order of the text.

    It does not look into TIR functions, which are most of a legalized module.
    """
    found: list[relax.FuncOp] = []
    pending = [root]
    while pending:
        op = pending.pop()
        if isinstance(op, tir.FuncOp):
            continue
        if isinstance(op, relax.FuncOp):
            found.append(op)
        for region in reversed(op.regions):
            for block in reversed(region.blocks):
                pending += reversed(block.ops)
    return found

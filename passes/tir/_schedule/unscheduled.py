"""Functions that were written without a schedule."""

from __future__ import annotations

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.by_class import of_classes

_OPAQUE = (
    tir.AddressOfOp,
    tir.DataOp,
    tir.DeclBufferOp,
    tir.LaunchThreadOp,
    tir.MatchRegionOp,
)
"""Ops that may give memory a second name."""


_is_opaque = of_classes(*_OPAQUE)
_is_loop = of_classes(tir.ForOp)
_is_match = of_classes(tir.MatchBufferOp)


def is_unscheduled(function: tir.FuncOp) -> bool:
    """Whether nothing in a function says how to run it."""
    if "tir.is_scheduled" in function.attributes:
        return False
    ops = all_ops(function)
    for op in ops:
        if _is_opaque(op):
            return False
        if _is_loop(op) and (op.kind.data is not tir.ForKind.SERIAL or op.annotations):
            return False
    matched = [op.param for op in ops if _is_match(op)]
    return len(set(matched)) == len(matched)

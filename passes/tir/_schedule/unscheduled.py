"""Functions that were written without a schedule."""

from __future__ import annotations

from xdsl_tvm.dialects import tir

_OPAQUE = (
    tir.AddressOfOp,
    tir.DataOp,
    tir.DeclBufferOp,
    tir.LaunchThreadOp,
    tir.MatchRegionOp,
)
"""Ops that may give memory a second name."""


def is_unscheduled(function: tir.FuncOp) -> bool:
    """Whether nothing in a function says how to run it."""
    if "tir.is_scheduled" in function.attributes:
        return False
    for op in function.walk():
        if isinstance(op, _OPAQUE):
            return False
        if isinstance(op, tir.ForOp) and (
            op.kind.data is not tir.ForKind.SERIAL or op.annotations
        ):
            return False
    matched = [op.param for op in function.walk() if isinstance(op, tir.MatchBufferOp)]
    return len(set(matched)) == len(matched)

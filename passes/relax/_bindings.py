"""Kinds of bindings: what a block of a Relax function consists of."""

from __future__ import annotations

from xdsl.ir import Operation

from xdsl_tvm.dialects import relax

LEAVES = (relax.ConstantOp, relax.ShapeOp, relax.PrimValueOp, relax.NullValueOp)
"""Operations that TVM writes as a part of others, not as bindings of their own."""
NO_CALLS = (
    *LEAVES,
    relax.TupleOp,
    relax.GetItemOp,
    relax.AliasOp,
    relax.MatchCastOp,
)
"""Operations whose counterpart in TVM is no call."""


def is_function(op: Operation) -> bool:
    """Whether an operation is a function literal, whose symbols are its own."""
    return isinstance(op, relax.LambdaOp)

"""Kinds of bindings: what a block of a Relax function consists of."""

from __future__ import annotations

from xdsl.ir import Operation
from xdsl.traits import is_side_effect_free

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.calls import is_impure

LEAVES = (
    relax.ConstantOp,
    relax.ShapeOp,
    relax.PrimValueOp,
    relax.NullValueOp,
    relax.GlobalRefOp,
)
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


def may_stand_in_dataflow(op: Operation) -> bool:
    """Whether a dataflow block can hold an operation: no control flow, no effects."""
    if isinstance(op, relax.IfOp) or is_impure(op):
        return False
    if op.name.startswith("relax."):
        return True
    return not op.regions and is_side_effect_free(op)

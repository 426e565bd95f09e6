"""Kinds of bindings: what a block of a Relax function consists of."""

from __future__ import annotations

from xdsl.dialects.builtin import BoolAttr
from xdsl.ir import Operation
from xdsl.traits import is_side_effect_free
from xdsl.utils.exceptions import PassFailedException

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


def allow_effects(op: Operation, pass_name: str) -> None:
    """Let the function around an operation hold impure calls in the operation's place.

    Raises PassFailedException, naming the pass, in a dataflow block.
    """
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, relax.FuncOp | relax.LambdaOp):
        if isinstance(parent, relax.DataflowOp):
            callee = op.properties.get("callee", "")
            raise PassFailedException(
                f"{pass_name}: {f'{op.name} {callee}'.rstrip()} is in a dataflow "
                "block, which holds no impure call; run relax-to-non-dataflow first"
            )
        parent = parent.parent_op()
    if parent is not None and parent.is_pure:
        parent.attributes[relax.FORCE_PURE] = BoolAttr.from_bool(True)

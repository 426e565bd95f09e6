"""Tuples that are part of an argument: TVM's text writes them where they are used.

In TVM such a tuple is an expression without a variable. In SSA it is an operation like
any other; what is used in it is used by the operation that takes the tuple.
"""

from __future__ import annotations

from xdsl_tvm.dialects import relax

NEEDS_NAMES = (relax.OutputOp, relax.YieldOp, relax.AliasOp)
"""Users of values that TVM's text names and does not write in their place."""
NAMED_TUPLES = (*NEEDS_NAMES, relax.GetItemOp, relax.AssertOp)
"""Users of tuples that TVM's text names and does not write in their place."""


def is_argument_tuple(op: relax.TupleOp) -> bool:
    """Whether a tuple has one use, by an operation of its block that takes it whole."""
    uses = op.result.uses
    if uses.get_length() != 1:
        return False
    (use,) = uses
    user = use.operation
    return user.parent is op.parent and not isinstance(user, NAMED_TUPLES)

"""Where a function reads its weights, once they are no parameters of their own."""

from __future__ import annotations

from xdsl.ir import Operation

from xdsl_tvm.dialects import relax


def reading_place(user: Operation) -> Operation:
    """The operation before which to read a value that `user` uses.

    It is the user, or the outermost function literal that holds it: in a literal the
    symbols of the function around are not visible.
    """
    place, parent = user, user.parent_op()
    while parent is not None and not isinstance(parent, relax.FuncOp):
        if isinstance(parent, relax.LambdaOp):
            place = parent
        parent = parent.parent_op()
    return place

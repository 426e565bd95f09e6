"""How much code passes make of copies, and the error for more."""

from __future__ import annotations

from xdsl.ir import Operation
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.passes.tir.rewriting.statements import describe

MAX_COPIED_OPS = 1 << 18
"""Ops that copies of the body of one op may have in all.

An op takes about a kilobyte and each later pass reads it, so a function of this size
compiles in minutes; programs that people write stay below a hundredth of it.
"""


def check_copies(op: Operation, copies: int, ops: int, remedy: str) -> None:
    """Check that so many copies of a body of `ops` ops may be made of `op`.

    Raises PassFailedException, which names `op`, the limit and the remedy.
    """
    if copies * ops > MAX_COPIED_OPS:
        raise PassFailedException(
            f"{describe(op)}: {copies} copies of {ops} ops are more than the "
            f"{MAX_COPIED_OPS} ops that copies of a body may have in all; {remedy}"
        )

"""Whether expressions have a value whatever their leaves hold."""

from __future__ import annotations

from collections.abc import MutableMapping

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.const_int_bound import SHIFTS
from xdsl_tvm.analysis.arith.expr import Call, Div, Expr, FloorDiv, FloorMod, Mod, fold
from xdsl_tvm.dialects import tir

_PARTIAL = (Div, Mod, FloorDiv, FloorMod)


def is_total(root: Expr, known: MutableMapping[Expr, bool] | None = None) -> bool:
    """Whether nothing in the tree is undefined for some values of the leaves.

    Divisions of integers are, except by constants other than 0, and shifts by anything
    but a constant from 0 to the bits of the type. Overflow is not looked at. Such a tree
    may be computed anywhere, and may be simplified by facts that do not hold everywhere:
    one that is not may become undefined where they do not. `known` holds results that are
    given, and receives more.
    """
    return fold(root, _is_total, known)


def _is_total(node: Expr, operands: list[bool]) -> bool:
    if not all(operands):
        return False
    if isinstance(node, _PARTIAL) and tir.is_integer(node.dtype):
        return bool(smart.literal(node.rhs))
    if isinstance(node, Call) and node.name in SHIFTS:
        amount = smart.literal(node.operands[1])
        return isinstance(amount, int) and 0 <= amount < tir.bits_of_lane(node.dtype)
    return True

"""Conditions under which the value of an expression counts."""

from __future__ import annotations

from xdsl.dialects.builtin import i1
from xdsl.ir import Operation, SSAValue

from xdsl_tvm.analysis.arith.expr import (
    PURE_CALLS,
    Expr,
    is_expression_class,
    view,
)
from xdsl_tvm.analysis.arith.facts import negated
from xdsl_tvm.dialects import tir

_MOST = 8
"""How many conditions are looked at, the innermost ones first."""
_DIVISIONS = (tir.DivOp, tir.ModOp, tir.FloorDivOp, tir.FloorModOp)


class SelectGuards:
    """For values that selects alone use, the conditions under which they are selected.

    What is computed for one case only may have any value in the other, as long as nothing
    divides by it.
    """

    def __init__(self) -> None:
        self._trees: dict[SSAValue, Expr] = {}
        """Of conditions, which the walk has not come to: they may be lowered later."""
        self._known: dict[SSAValue, tuple[Expr, ...]] = {}

    def of(self, value: SSAValue) -> tuple[Expr, ...]:
        """The conditions for a value; none where it counts always."""
        chain: list[SSAValue] = []
        found: tuple[Expr, ...] = ()
        current: SSAValue | None = value
        while current is not None:
            known = self._known.get(current)
            if known is not None:
                found = known
                break
            chain.append(current)
            current = _only_result(current)
        for part in reversed(chain):
            own = self._own(part)
            if own is not None:
                found = (own, *found)[:_MOST]
            self._known[part] = found
        return found

    def _own(self, value: SSAValue) -> Expr | None:
        """The condition of the select that uses the value, and nothing else does."""
        use = value.get_user_of_unique_use()
        if not isinstance(use, tir.SelectOp) or use.condition.type != i1:
            return None
        if value is use.condition:
            return None
        condition = view(use.condition, self._trees)
        return condition if value is use.true_value else negated(condition)


def _only_result(value: SSAValue) -> SSAValue | None:
    """What is computed from a value without another use, None where that is no value."""
    user = value.get_user_of_unique_use()
    if user is None or not _is_pure(user):
        return None
    if isinstance(user, _DIVISIONS):
        divisor = tir.constant_value(user.rhs)
        if value is user.rhs or divisor is None or divisor in (0, -1):
            return None
    return user.results[0]


def _is_pure(op: Operation) -> bool:
    if isinstance(op, tir.CallOp):
        return op.callee.data in PURE_CALLS and op.result is not None
    return is_expression_class(type(op))

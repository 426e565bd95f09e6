"""Floor division and its remainder by division toward zero.

docs/spec/tir-builtins.md §9.
"""

from __future__ import annotations

from xdsl.dialects.builtin import i32, i64

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import (
    Broadcast,
    Const,
    Expr,
    FloorDiv,
    Select,
    leaf_values,
)
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.dtypes import integer_range
from xdsl_tvm.passes.tir.intrinsics.common_rules import bit_and, shift_right


class FloorDivision:
    """A floor division of integers, and the forms that it can have.

    `lhs` and `rhs` are trees whose values are available, of one integer dtype. What is
    returned computes the same wherever the facts of the analyzer hold.
    """

    def __init__(self, lhs: Expr, rhs: Expr, analyzer: Analyzer) -> None:
        self._lhs = lhs
        self._rhs = rhs
        self._analyzer = analyzer

    def quotient(self) -> Expr:
        """`lhs // rhs`."""
        a, b = self._lhs, self._rhs
        shift = _log2(b)
        if shift is not None:
            return shift_right(a, shift) if shift else a
        quotient, rest = smart.truncdiv(a, b), smart.truncmod(a, b)
        if self.is_nonnegative(b):
            if self.is_nonnegative(a) or self.is_nonnegative(FloorDiv(a, b)):
                return quotient
            moved = self._moved()
            if moved is not None:
                dividend, steps = moved
                return smart.sub(smart.truncdiv(dividend, b), steps)
            if a.dtype in (i32, i64):
                return smart.add(quotient, _sign(rest))
            is_exact = smart.ge(rest, 0)
        else:
            is_exact = _agree(b, rest)
        return Select(is_exact, quotient, smart.sub(quotient, 1))

    def remainder(self) -> Expr:
        """`lhs - lhs // rhs * rhs`."""
        a, b = self._lhs, self._rhs
        shift = _log2(b)
        if shift is not None:
            return bit_and(a, (1 << shift) - 1)
        rest = smart.truncmod(a, b)
        if self.is_nonnegative(b):
            if self.is_nonnegative(a):
                return rest
            moved = self._moved()
            if moved is not None:
                return smart.truncmod(moved[0], b)
            if a.dtype in (i32, i64):
                return smart.add(rest, bit_and(b, _sign(rest)))
            is_exact = smart.ge(rest, 0)
        else:
            is_exact = _agree(b, rest)
        return Select(is_exact, rest, smart.add(rest, b))

    def is_nonnegative(self, tree: Expr) -> bool:
        """Whether a tree is proven not to be negative."""
        if self._analyzer.const_int_bound(tree).min >= 0:
            return True
        simplified = self._analyzer.rewrite_simplify(tree)
        return self._analyzer.const_int_bound(simplified).min >= 0

    def _moved(self) -> tuple[Expr, Expr] | None:
        """The dividend with so many divisors added that it is not negative, and how many.

        None where the least dividend is not known, or the sum may overflow.
        """
        a, b = self._lhs, self._rhs
        low, high = integer_range(a.dtype)
        bound = self._analyzer.const_int_bound(a)
        least = bound.min
        if not low < least < 0:
            return None
        # The number of divisors times the divisor is at most `divisor - 1 - least`.
        added = self._analyzer.const_int_bound(b).max - 1 - least
        if bound.max + added > high or added > high:
            return None
        least = int(least)
        steps = smart.truncdiv(smart.sub(smart.sub(b, 1), least), b)
        plain = smart.add(a, smart.mul(b, steps))
        simplified = self._analyzer.simplify(plain)
        is_available = set(leaf_values(simplified)) <= set(leaf_values(a, b))
        return simplified if is_available else plain, steps


def _log2(divisor: Expr) -> int | None:
    """The power of two that the divisor is, as an exponent; None if it is none."""
    if isinstance(divisor, Broadcast):
        divisor = divisor.value
    if not isinstance(divisor, Const):
        return None
    number = int(divisor.value)
    return number.bit_length() - 1 if number > 0 and not number & number - 1 else None


def _sign(tree: Expr) -> Expr:
    """-1 where a signed value is negative, else 0."""
    return shift_right(tree, tir.bits_of_lane(tree.dtype) - 1)


def _agree(divisor: Expr, rest: Expr) -> Expr:
    """Whether a remainder is 0 or has the sign of the divisor."""
    return smart.disjunction(
        smart.conjunction(smart.ge(divisor, 0), smart.ge(rest, 0)),
        smart.conjunction(smart.lt(divisor, 0), smart.le(rest, 0)),
    )

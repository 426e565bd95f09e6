"""The values of a variable for which a condition certainly holds.

`deduce_bound(v, condition, hint, relax)` finds an interval such that

    for every `v` in the interval, and all other leaves in their sets of `hint` and
    `relax` and as the facts of the analyzer allow: the condition is true, wherever it
    is defined.

The ends of the interval do not mention leaves of `relax`. It is an approximation from
inside: there may be more such `v`. `NOTHING` says that no interval was found.

The condition is an inequality or an equation in which `v` occurs once. Its side with `v`,
`E(v)`, is relaxed to the end that matters, which no value of the relaxed leaves passes,
and then solved for `v` from outside in: sums and differences move to the other side; a
factor or a divisor whose sign is known divides or multiplies it, and turns the inequality
if it is negative. The roundings are exact over the integers:

    x*k >= r  iff  x >= ceil(r / k)        x*k <= r  iff  x <= floor(r / k)      (k > 0)
    x*k >= r  iff  x <= floor(r / k)       x*k <= r  iff  x >= ceil(r / k)       (k < 0)
    floor(x / k) >= r  iff  x >= r*k       floor(x / k) <= r  iff  x <= r*k + k - 1
                                                                                 (k > 0)
    floor(x / k) >= r  iff  x <= r*k       floor(x / k) <= r  iff  x >= r*k + k + 1
                                                                                 (k < 0)

where `ceil` is one more than `floor` unless the division is known to be exact.
See docs/spec/tir-passes-b-arith-and-loops.md §1.12; TVM name `DeduceBound`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import (
    Add,
    Cmp,
    Expr,
    FloorDiv,
    Mul,
    Sub,
    fold,
    postorder,
)
from xdsl_tvm.analysis.arith.facts import SWAPPED
from xdsl_tvm.analysis.arith.int_set import (
    NOTHING,
    IntSet,
    IntSetEvaluator,
    can_prove_negative,
    can_prove_positive,
    compared,
    single_point,
)
from xdsl_tvm.analysis.arith.linear_equation import mentions
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir import CmpPredicate
from xdsl_tvm.dialects.tir.types import is_index_type

Sets = Mapping[Expr, IntSet]


def occurrences(root: Expr, node: Expr) -> int:
    """How often a node occurs in the tree, written out in full; 2 stands for more."""
    return fold(root, lambda n, counts: 1 if n is node else min(sum(counts), 2))


@dataclass
class _Inequality:
    """`left predicate right`, where `left` has the variable and `predicate` is one of
    `>=`, `<=` and `==`."""

    predicate: CmpPredicate
    left: Expr
    right: Expr

    def turn(self) -> None:
        self.predicate = SWAPPED[self.predicate]


def deduce_bound(
    variable: Expr,
    condition: Expr,
    hint: Sets | None = None,
    relax: Sets | None = None,
    analyzer: Analyzer | None = None,
) -> IntSet:
    """The interval of the variable, with simplified ends; `NOTHING` if none was found.

    The variable may be any tree of a 32- or 64-bit signed type that occurs once in the
    condition, which is of type `i1`; it is in neither of the sets. `hint` is used for the
    signs of factors and divisors.
    """
    analyzer = analyzer or Analyzer()
    hint, relax = hint or {}, relax or {}
    start = _normal(variable, condition)
    if start is None:
        return NOTHING
    relaxed = _relaxed(start, IntSetEvaluator(analyzer, relax))
    if relaxed is None or occurrences(relaxed.left, variable) != 1:
        return NOTHING
    if mentions(relaxed.right, variable):
        return NOTHING
    evaluate = IntSetEvaluator(analyzer, {**relax, **hint})
    if not _Solver(analyzer, evaluate, relaxed.left, variable).solve(relaxed):
        return NOTHING
    end = analyzer.simplify(relaxed.right)
    return compared(relaxed.predicate, end)


def _normal(variable: Expr, condition: Expr) -> _Inequality | None:
    """The condition with the variable on the left, and without strict comparisons."""
    if not isinstance(condition, Cmp) or not is_index_type(condition.lhs.dtype):
        return None
    if occurrences(condition, variable) != 1 or not is_index_type(variable.dtype):
        return None
    left, right, predicate = condition.lhs, condition.rhs, condition.predicate
    if mentions(right, variable):
        left, right, predicate = right, left, SWAPPED[predicate]
    match predicate:
        case CmpPredicate.LT:
            return _Inequality(CmpPredicate.LE, left, smart.sub(right, 1))
        case CmpPredicate.GT:
            return _Inequality(CmpPredicate.GE, left, smart.add(right, 1))
        case CmpPredicate.NE:
            return None
        case _:
            return _Inequality(predicate, left, right)


def _relaxed(found: _Inequality, evaluate: IntSetEvaluator) -> _Inequality | None:
    """What implies the inequality for all values of the relaxed leaves."""
    left, right = evaluate(found.left), evaluate(found.right)
    match found.predicate:
        case CmpPredicate.GE:
            low, high = left.min, right.max
        case CmpPredicate.LE:
            low, high = left.max, right.min
        case _:
            low, high = left.point, right.point
    if low is None or high is None:
        return None
    return _Inequality(found.predicate, low, high)


class _Solver:
    """Moves all but the variable to the right of an inequality."""

    def __init__(
        self, analyzer: Analyzer, evaluate: IntSetEvaluator, root: Expr, variable: Expr
    ) -> None:
        self._analyzer = analyzer
        self._evaluate = evaluate
        self._variable = variable
        self._path: set[Expr] = {variable}
        for node in postorder(root):
            if any(operand in self._path for operand in node.operands):
                self._path.add(node)

    def solve(self, found: _Inequality) -> bool:
        """Solve in place; false if there is a node that has no inverse."""
        while found.left is not self._variable:
            node = found.left
            if not is_index_type(node.dtype) or not self._step(found, node):
                return False
        return True

    def _step(self, found: _Inequality, node: Expr) -> bool:
        path = self._path
        match node:
            case Add(lhs, rhs):
                inner, other = (lhs, rhs) if lhs in path else (rhs, lhs)
                found.left, found.right = inner, smart.sub(found.right, other)
                return True
            case Sub(lhs, rhs) if lhs in path:
                found.left, found.right = lhs, smart.add(found.right, rhs)
                return True
            case Sub(lhs, rhs):
                found.left, found.right = rhs, smart.sub(lhs, found.right)
                found.turn()
                return True
            case Mul(lhs, rhs):
                inner, factor = (lhs, rhs) if lhs in path else (rhs, lhs)
                found.left = inner
                return self._divide(found, factor)
            case FloorDiv(lhs, rhs) if lhs in path:
                found.left = lhs
                return self._multiply(found, rhs)
            case _:
                return False

    def _sign(self, node: Expr) -> int:
        """1 or -1 if that is the sign for certain, else 0."""
        if tir.is_uint(node.dtype):
            return 1
        for known in (self._evaluate(node), single_point(node)):
            if can_prove_positive(known, self._analyzer):
                return 1
            if can_prove_negative(known, self._analyzer):
                return -1
        return 0

    def _divide(self, found: _Inequality, factor: Expr) -> bool:
        """`x * factor` is `found.right`, or more, or less: what `x` is."""
        sign = self._sign(factor)
        if sign == 0:
            return False
        if sign < 0:
            found.turn()
        remainder = self._analyzer.simplify(smart.floormod(found.right, factor))
        exact = self._analyzer.can_prove_equal(remainder, smart.const(0, factor.dtype))
        found.right = smart.floordiv(found.right, factor)
        if exact:
            return True
        if found.predicate is CmpPredicate.GE:
            found.right = smart.add(found.right, 1)
        return found.predicate is not CmpPredicate.EQ

    def _multiply(self, found: _Inequality, divisor: Expr) -> bool:
        """`x // divisor` is at least or at most `found.right`: what `x` is."""
        sign = self._sign(divisor)
        if sign == 0 or found.predicate is CmpPredicate.EQ:
            return False
        up = found.predicate is CmpPredicate.LE
        found.right = smart.mul(found.right, divisor)
        if sign < 0:
            found.turn()
        if up:
            # The last number with this quotient; for negative divisors, the first one.
            found.right = smart.sub(smart.add(found.right, divisor), sign)
        return True

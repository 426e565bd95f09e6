"""What the conditions around an access say of the variables in it.

While statements are walked, `ConditionalBounds` keeps sets of variables: *relaxed* ones,
which run over their sets, and *hints* for variables that stay as they are. Entering a
condition narrows the sets: the inequalities among its conjuncts, over integer variables
and literals, are solved for ranges. That is done only where the ranges say all that the
inequalities say; otherwise the condition as a whole is *pending*, for whoever can use it,
such as the predicate of an iterator map. Either way the sets stay right: they hold every
value that a variable has where the condition is true.

See docs/spec/tir-passes-a-blocks-and-buffers.md §0.2 and
docs/spec/tir-passes-b-arith-and-loops.md §1.14.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager

from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import (
    Add,
    Cmp,
    Const,
    Expr,
    FloorDiv,
    FloorMod,
    Mul,
    Sub,
    Value,
    postorder,
)
from xdsl_tvm.analysis.arith.facts import conjuncts
from xdsl_tvm.analysis.arith.int_set import EVERYTHING, IntSet, Range, from_range, meet
from xdsl_tvm.analysis.arith.linear_equation import mentions
from xdsl_tvm.analysis.arith.solve_inequalities import solve_inequalities_to_range
from xdsl_tvm.dialects.tir.types import is_index_type, is_integer_type

_ARITHMETIC = (Add, Sub, Mul, FloorDiv, FloorMod, Const, Value)


class ConditionalBounds:
    """Sets of variables under conditions, in scopes that end in the order they began."""

    def __init__(self, analyzer: Analyzer) -> None:
        self._analyzer = analyzer
        self.relaxed: dict[Expr, IntSet] = {}
        """What the variables that are relaxed run over."""
        self.hints: dict[Expr, IntSet] = {}
        """What is known of other variables."""
        self.pending: list[Expr] = []
        """Conditions that hold, and that the sets do not say all of."""

    @contextmanager
    def variable(self, leaf: Expr, domain: Range) -> Generator[None]:
        """A scope in which a variable is relaxed over a range."""
        known = self.relaxed.get(leaf)
        self.relaxed[leaf] = from_range(domain)
        try:
            yield
        finally:
            _restore(self.relaxed, leaf, known)

    @contextmanager
    def condition(self, condition: Expr) -> Generator[None]:
        """A scope in which a condition, of type `i1`, is true."""
        simplified = self._analyzer.simplify(condition, 3)
        solved = self._solved(simplified)
        if solved is None:
            self.pending.append(simplified)
            try:
                yield
            finally:
                self.pending.pop()
            return
        changed: list[tuple[dict[Expr, IntSet], Expr, IntSet | None]] = []
        for leaf, found in solved.items():
            sets = self.relaxed if leaf in self.relaxed else self.hints
            known = sets.get(leaf)
            changed.append((sets, leaf, known))
            sets[leaf] = meet(known or EVERYTHING, from_range(found))
        try:
            yield
        finally:
            for sets, leaf, known in reversed(changed):
                _restore(sets, leaf, known)

    def _solved(self, condition: Expr) -> dict[Expr, Range] | None:
        """The ranges that the simple conjuncts are equal to; None if there are none."""
        simple = [part for part in conjuncts(condition) if _is_simple(part)]
        variables = list(dict.fromkeys(_variables(simple)))
        if not variables:
            return None
        ranges = {
            leaf: found
            for leaf in variables
            if (found := self._range_of(leaf, variables)) is not None
        }
        solution = solve_inequalities_to_range(variables, ranges, simple)
        return None if solution.relations else solution.ranges

    def _range_of(self, leaf: Expr, variables: list[Expr]) -> Range | None:
        """The set of a variable as a range, where it does not depend on another one."""
        known = self.relaxed.get(leaf) or self.hints.get(leaf)
        if known is None or known.min is None or known.max is None:
            return None
        if mentions(known.min, *variables) or mentions(known.max, *variables):
            return None
        one = Const(1, leaf.dtype)
        extent = self._analyzer.simplify(Add(Sub(known.max, known.min), one))
        return Range(known.min, extent)


def _restore(sets: dict[Expr, IntSet], leaf: Expr, known: IntSet | None) -> None:
    if known is None:
        sets.pop(leaf, None)
    else:
        sets[leaf] = known


def _is_simple(condition: Expr) -> bool:
    """Whether it compares what is built of integer variables and literals."""
    return (
        isinstance(condition, Cmp)
        and is_index_type(condition.lhs.dtype)
        and all(
            isinstance(node, _ARITHMETIC) and not _is_extreme(node)
            for operand in condition.operands
            for node in postorder(operand)
        )
    )


def _is_extreme(node: Expr) -> bool:
    """Whether a literal is so large that sums of such may be no values of the type."""
    if not isinstance(node, Const) or not isinstance(node.value, int):
        return False
    assert is_integer_type(node.dtype)
    return abs(node.value) >= 1 << max(node.dtype.width.data - 4, 0)


def _variables(conditions: Iterable[Expr]) -> Iterable[Expr]:
    return (node for node in postorder(*conditions) if isinstance(node, Value))

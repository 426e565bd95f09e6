"""Comparisons that follow from known comparisons.

Facts about integers are held as differences `l - r <= k` and `l - r != k` of trees, where
either tree may be the number zero. Whether `x < y` follows from them is then a question
about shortest paths: every path from `y` to `x` over differences bounds `x - y` by its
length. This decides all that follows from differences of two trees, and nothing that
needs a factor or a sum of two variables (docs/spec/tir-passes-b-arith-and-loops.md §1.8).

Only 32- and 64-bit signed integers are compared, whose arithmetic is that of the
integers.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from enum import IntFlag

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Cmp, Const, Expr
from xdsl_tvm.analysis.arith.facts import offset_of
from xdsl_tvm.dialects.integers import INF, Bound, Limit
from xdsl_tvm.dialects.tir import CmpPredicate
from xdsl_tvm.dialects.tir.types import is_index_type

MAX_STEPS = 256
"""How many differences a search for a path looks at."""

Key = Expr | None
"""A tree, or None for the number zero."""


class Comparison(IntFlag):
    """What the outcome of comparing two numbers may be: a set of outcomes."""

    INCONSISTENT = 0
    EQ = 1
    LT = 2
    LE = 3
    GT = 4
    GE = 5
    NE = 6
    UNKNOWN = 7


@dataclass(frozen=True, slots=True)
class _Fact:
    """`left - right <= limit`, or `left - right != limit` if `differs`."""

    left: Key
    right: Key
    limit: int
    differs: bool = False


def without_offset(node: Expr) -> tuple[Key, int]:
    """The tree without literal offsets, and their sum; of a literal, None and itself."""
    total = 0
    base, offset = offset_of(node)
    while base is not None:
        node = base
        total += offset
        base, offset = offset_of(node)
    if isinstance(node, Const) and isinstance(node.value, int):
        return None, node.value + total
    return node, total


def of_difference(difference: Bound) -> Comparison:
    """How `x` compares with `y` where `x - y` is within the bound."""
    found = Comparison.UNKNOWN
    if difference.max <= 0:
        found &= Comparison.LE
    if difference.min >= 0:
        found &= Comparison.GE
    if difference.max < 0:
        found &= Comparison.LT
    if difference.min > 0:
        found &= Comparison.GT
    return found


def _facts_of(condition: Expr) -> tuple[_Fact, ...]:
    """What a comparison of index types says; nothing for any other condition."""
    if not isinstance(condition, Cmp) or not is_index_type(condition.lhs.dtype):
        return ()
    left, p = without_offset(condition.lhs)
    right, q = without_offset(condition.rhs)
    if left is right:
        return ()
    limit = q - p
    match condition.predicate:
        case CmpPredicate.LT:
            return (_Fact(left, right, limit - 1),)
        case CmpPredicate.LE:
            return (_Fact(left, right, limit),)
        case CmpPredicate.GT:
            return (_Fact(right, left, -limit - 1),)
        case CmpPredicate.GE:
            return (_Fact(right, left, -limit),)
        case CmpPredicate.EQ:
            return _Fact(left, right, limit), _Fact(right, left, -limit)
        case CmpPredicate.NE:
            return (_Fact(left, right, limit, differs=True),)


class TransitiveComparisons:
    """Known comparisons, in scopes that end in the order they were begun."""

    def __init__(self) -> None:
        self._about: dict[Key, list[_Fact]] = {}
        self._log: list[tuple[tuple[_Fact, ...], bool]] = []
        """Facts that were added, or dropped where it says False."""
        self._ranges: list[tuple[Expr, Expr, Expr]] = []
        """Variables in ranges, which nobody has asked about yet; newer than the log."""

    # ---- scopes ----

    def mark(self) -> int:
        """The present state, for `rewind`."""
        return len(self._log) + len(self._ranges)

    def rewind(self, mark: int) -> None:
        """Forget what was added since the mark."""
        del self._ranges[max(mark - len(self._log), 0) :]
        while len(self._log) > mark:
            facts, added = self._log.pop()
            for fact in reversed(facts):
                (self._drop if added else self._insert)(fact)

    # ---- recording ----

    def assume(self, condition: Expr) -> None:
        """Record a comparison that holds; any other condition says nothing here."""
        facts = _facts_of(condition)
        if facts:
            self._take_ranges()
            self._add(facts)

    def assume_within(self, variable: Expr, low: Expr, extent: Expr) -> None:
        """Record that a variable is at least `low`, and less than it plus `extent`.

        What that says of others is found out with the first question: of most loops
        there is none.
        """
        self._ranges.append((variable, low, extent))

    def _take_ranges(self) -> None:
        ranges, self._ranges = self._ranges, []
        for variable, low, extent in ranges:
            first = smart.ge(variable, low)
            last = smart.lt(variable, smart.add(low, extent))
            self._add((*_facts_of(first), *_facts_of(last)))

    def forget(self, node: Expr) -> None:
        """Drop the facts about a tree, a variable that is bound anew."""
        self._take_ranges()
        for fact in list(self._about.get(node, ())):
            self._drop(fact)
            self._log.append(((fact,), False))

    def _add(self, facts: tuple[_Fact, ...]) -> None:
        for fact in facts:
            self._insert(fact)
        self._log.append((facts, True))

    def _insert(self, fact: _Fact) -> None:
        for key in (fact.left, fact.right):
            self._about.setdefault(key, []).append(fact)

    def _drop(self, fact: _Fact) -> None:
        for key in (fact.left, fact.right):
            facts = self._about[key]
            # The newest facts are dropped first, mostly.
            del facts[len(facts) - 1 - facts[::-1].index(fact)]

    # ---- queries ----

    def compare(self, x: Expr, y: Expr, *, transitive: bool) -> Comparison:
        """How `x` compares with `y`; if not `transitive`, by facts about the two."""
        self._take_ranges()
        if not self._about or not is_index_type(x.dtype):
            return Comparison.UNKNOWN
        left, p = without_offset(x)
        right, q = without_offset(y)
        if left not in self._about or right not in self._about:
            return Comparison.UNKNOWN
        offset = p - q
        if transitive:
            high = self._distance(right, left)
            low = -self._distance(left, right)
        else:
            low, high = self._direct(left, right)
        found = of_difference(Bound(low + offset, high + offset))
        if self._differs(left, right, -offset):
            found &= Comparison.NE
        return found

    def _direct(self, left: Key, right: Key) -> tuple[Limit, Limit]:
        """Bounds of `left - right` by facts about the two."""
        low: Limit = -INF
        high: Limit = INF
        for fact in self._shorter(left, right):
            if fact.differs:
                continue
            if fact.left is left and fact.right is right:
                high = min(high, fact.limit)
            elif fact.left is right and fact.right is left:
                low = max(low, -fact.limit)
        return low, high

    def _shorter(self, left: Key, right: Key) -> list[_Fact]:
        """Facts among which those about both trees are."""
        return min(self._about[left], self._about[right], key=len)

    def _differs(self, left: Key, right: Key, value: int) -> bool:
        """Whether `left - right != value` is a fact."""
        return any(
            fact.differs
            and (
                (fact.left is left and fact.right is right and fact.limit == value)
                or (fact.left is right and fact.right is left and fact.limit == -value)
            )
            for fact in self._shorter(left, right)
        )

    def _distance(self, source: Key, target: Key) -> Limit:
        """The least known bound of `target - source`."""
        distances: dict[Key, int] = {source: 0}
        pending: deque[Key] = deque([source])
        steps = 0
        while pending and steps < MAX_STEPS:
            key = pending.popleft()
            reached = distances[key]
            for fact in self._about[key]:
                if fact.differs or fact.right is not key:
                    continue
                steps += 1
                length = reached + fact.limit
                known = distances.get(fact.left)
                if known is None or length < known:
                    distances[fact.left] = length
                    pending.append(fact.left)
        return distances.get(target, INF)

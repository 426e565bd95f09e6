"""Conditions as conjunctions of disjunctions.

A condition is expanded to groups, each of which must have a member that holds; members
are simplified against each other within groups and across them. See
docs/spec/tir-passes-b-arith-and-loops.md §1.15.

The expansion is exponential at worst, so a condition with more than `MAX_GROUPS` groups
stays as it is. So does one with an operand that has no value for some values of the
leaves, since the expansion separates operands from those that guard them.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from itertools import combinations, product
from typing import Protocol

from xdsl.dialects.builtin import i1

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import And, Const, Expr, Or
from xdsl_tvm.analysis.arith.facts import negated

MAX_GROUPS = 24
MAX_MEMBERS = 12

Group = tuple[Expr, ...]
"""Conditions of which at least one holds: never with a literal true."""


class BooleanSimplifier(Protocol):
    """What simplifies the parts of a condition."""

    def is_total(self, node: Expr) -> bool:
        """Whether the tree has a value whatever its leaves hold."""
        ...

    def by_rules_alone(self, node: Expr, known: Expr | None = None) -> Expr:
        """The condition simplified without this normal form, `known` being true."""
        ...


def and_of_ors(root: Expr, simplifier: BooleanSimplifier) -> Expr | None:
    """The normal form of a condition of type `i1`; None where it is not taken."""
    groups = _expanded(root) if simplifier.is_total(root) else None
    if groups is None:
        return None
    groups = [_within(group, simplifier) for group in groups]
    return _rebuilt(_across(_present(groups), simplifier))


def _expanded(root: Expr) -> list[Group] | None:
    """The groups of a condition, None if they are too many."""
    known: dict[Expr, list[Group]] = {}
    stack = [root]
    while stack:
        node = stack[-1]
        if not isinstance(node, And | Or):
            known[node] = [(node,)]
        if node in known:
            stack.pop()
            continue
        missing = [operand for operand in node.operands if operand not in known]
        if missing:
            stack += missing
            continue
        groups = _combined(node, *(known[operand] for operand in node.operands))
        if groups is None:
            return None
        known[node] = groups
    return known[root]


def _combined(node: Expr, lhs: list[Group], rhs: list[Group]) -> list[Group] | None:
    if len(lhs) * len(rhs) > MAX_GROUPS * MAX_GROUPS:
        return None
    if isinstance(node, And):
        groups = [*lhs, *rhs]
    else:
        groups = [_unique((*a, *b)) for a, b in product(lhs, rhs)]
    distinct = {frozenset(group): group for group in reversed(groups)}
    found = list(reversed(distinct.values()))
    too_large = any(len(group) > MAX_MEMBERS for group in found)
    return None if too_large or len(found) > MAX_GROUPS else found


def _unique(members: Iterable[Expr]) -> Group:
    return tuple(dict.fromkeys(members))


def _within(group: Group, simplifier: BooleanSimplifier) -> Group | None:
    """The group with its members simplified in pairs; None if it always holds."""
    members: list[Expr] = list(group)
    for i, j in combinations(range(len(members)), 2):
        a, b = members[i], members[j]
        if a is _FALSE or b is _FALSE:
            continue
        found = simplifier.by_rules_alone(smart.disjunction(a, b))
        if isinstance(found, Or):
            members[i], members[j] = found.operands
        else:
            members[i], members[j] = _FALSE, found
    if _TRUE in members:
        return None
    return _unique(member for member in members if member is not _FALSE)


_TRUE, _FALSE = Const(1, i1), Const(0, i1)


def _present(groups: Iterable[Group | None]) -> list[Group]:
    """The groups that do not always hold, each set of members once."""
    distinct: dict[frozenset[Expr], Group] = {}
    for group in groups:
        if group is not None:
            distinct.setdefault(frozenset(group), group)
    return list(distinct.values())


def _across(groups: list[Group], simplifier: BooleanSimplifier) -> list[Group]:
    """The groups, each simplified by every other one."""
    found: list[Group | None] = list(groups)
    for i, j in combinations(range(len(found)), 2):
        first, second = found[i], found[j]
        if first is not None and second is not None:
            found[i], found[j] = _of_two(first, second, simplifier)
    return _present(found)


def _of_two(
    first: Group, second: Group, simplifier: BooleanSimplifier
) -> tuple[Group | None, Group | None]:
    """Two groups that both have to hold; None for one that need not be mentioned."""
    a, b = set(first), set(second)
    if a <= b:
        return first, None
    if b <= a:
        return None, second
    own, other = [m for m in first if m not in b], [m for m in second if m not in a]
    if len(first) != len(second) or len(own) != 1:
        return first, second
    shared = tuple(member for member in first if member in b)
    known = reduce(smart.conjunction, map(negated, shared)) if shared else None
    both = simplifier.by_rules_alone(smart.conjunction(own[0], other[0]), known)
    if isinstance(both, And):
        a_own, b_own = both.operands
        return _changed(first, own[0], a_own), _changed(second, other[0], b_own)
    return None, _changed(second, other[0], both)


def _changed(group: Group, member: Expr, new: Expr) -> Group | None:
    """The group with a new member in the place of another."""
    if new is _TRUE:
        return None
    found = (new if m is member else m for m in group)
    return _unique(m for m in found if m is not _FALSE)


def _rebuilt(groups: list[Group]) -> Expr:
    disjunctions = [reduce(smart.disjunction, group, _FALSE) for group in groups]
    return reduce(smart.conjunction, disjunctions, _TRUE)

"""What the condition of a branch says of the variables of loops around it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.deduce_bound import deduce_bound
from xdsl_tvm.analysis.arith.expr import Cmp, Expr, postorder
from xdsl_tvm.analysis.arith.facts import conjuncts, negated, normalized
from xdsl_tvm.analysis.arith.int_set import IntSet, intersection
from xdsl_tvm.dialects.tir import CmpPredicate

Sets = Mapping[Expr, IntSet]
"""The sets that leaves are in."""


def tightened(
    condition: Expr, holds: bool, env: Sets, analyzer: Analyzer
) -> dict[Expr, IntSet]:
    """The leaves of `env` that range less where a condition holds, or does not.

    Values of a leaf are left out where a part of the condition fails for all values of
    the others. A set that would be empty stays as it was: of code that is never reached
    more may be said than nothing.
    """
    known = normalized(condition) if holds else negated(condition)
    found: dict[Expr, IntSet] = {}
    for part in _inequalities(known):
        for leaf in postorder(part):
            if leaf not in env:
                continue
            others = {key: each for key, each in env.items() if key is not leaf}
            excluded = deduce_bound(leaf, negated(part), {}, others, analyzer)
            left = _outside(excluded)
            smaller = intersection((found.get(leaf, env[leaf]), left), analyzer)
            if not smaller.is_nothing:
                found[leaf] = smaller
    return found


def _inequalities(condition: Expr) -> Iterator[Expr]:
    """The parts of a conjunction; of an equation, both inequalities."""
    for part in conjuncts(condition):
        if isinstance(part, Cmp) and part.predicate is CmpPredicate.EQ:
            yield Cmp(CmpPredicate.LE, part.lhs, part.rhs)
            yield Cmp(CmpPredicate.LE, part.rhs, part.lhs)
        else:
            yield part


def _outside(excluded: IntSet) -> IntSet:
    """What is not in a set that is unbounded on one side; all of it for other sets."""
    if excluded.max is None and excluded.min is not None:
        return IntSet(None, smart.sub(excluded.min, 1))
    if excluded.min is None and excluded.max is not None:
        return IntSet(smart.add(excluded.max, 1), None)
    return IntSet(None, None)

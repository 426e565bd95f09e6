"""Which expressions of a block are worth a binding, and in what order they get it.

The expressions of a block are a graph in which equal ones are one node. A node is used
where it stands by itself, once per place in the text, and once by each larger node that
it is a part of. With two uses it is shared. TVM finds the same by rounds over lists of
expressions (docs/spec/tir-passes-b-arith-and-loops.md, CommonSubexprElimTIR): in a round,
the larger ones come first, and one that has just been shared shows its parts to the next
round only. The rounds number the bindings, so they are kept here, as numbers.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from xdsl_tvm.analysis.arith.expr import Expr


class Use(NamedTuple):
    """A use is seen from round `start` on, except in round `hole`."""

    start: int = 1
    hole: int | None = None


@dataclass
class Term:
    """An expression of a block; `place` is the last binding that it depends on.

    `may_share` is asked of terms with several uses only.
    """

    tree: Expr
    place: int
    may_share: Callable[[], bool]
    uses: list[Use] = field(default_factory=list[Use])

    @property
    def start(self) -> int:
        """The round that the term is seen in first."""
        return min(use.start for use in self.uses)

    def shows(self, turn: int | None) -> Use:
        """The use of a part by this term, which is shared in the round `turn`."""
        return Use(self.start + 1) if self.start == turn else Use(self.start, turn)

    def shared_in(self) -> int | None:
        """The round in which the term is shared, None if it is not."""
        if len(self.uses) < 2 or not self.may_share():
            return None
        turn = sorted(use.start for use in self.uses)[1]
        while sum(use.start <= turn != use.hole for use in self.uses) < 2:
            turn += 1
        return turn


class Shared(NamedTuple):
    """A term that gets a binding, after the binding at `place` or at the beginning."""

    tree: Expr
    place: int
    turn: int


_MANY = 8
"""Uses beyond this number cannot change in which round a term is shared."""


def shared_terms(
    counts: Mapping[Expr, int],
    parts: Callable[[Expr], Iterable[Expr]],
    term: Callable[[Expr], Term],
    order: Callable[[Expr], tuple[int, int]],
) -> list[Shared]:
    """The terms that are shared, in the order in which TVM names those of a place.

    `counts` says how often expressions stand by themselves, 2 for any number above.
    `parts` gives the largest expressions inside of one, `term` its place, and `order` a
    unique key by which larger expressions come first.
    """
    terms: dict[Expr, Term] = {}
    heap: list[tuple[tuple[int, int], Expr]] = []

    def use(tree: Expr, what: Use) -> None:
        if tree not in terms:
            terms[tree] = term(tree)
            heapq.heappush(heap, (order(tree), tree))
        if len(terms[tree].uses) < _MANY:
            terms[tree].uses.append(what)

    for tree, count in counts.items():
        for _ in range(count):
            use(tree, Use())
    found: list[Shared] = []
    while heap:
        _, tree = heapq.heappop(heap)
        current = terms[tree]
        turn = current.shared_in()
        if turn is not None:
            found.append(Shared(tree, current.place, turn))
        for part in parts(tree):
            # Where a smaller term has its place, what depends on later bindings is only
            # taken apart.
            earlier = term(part).place < current.place
            use(part, Use() if earlier else current.shows(turn))
    found.sort(key=lambda each: (each.turn, order(each.tree)))
    return found


def in_order_of_bindings(
    shared: list[Shared],
    parts: Callable[[Expr], Iterable[Expr]],
    order: Callable[[Expr], tuple[int, int]],
) -> list[Shared]:
    """Terms of one place, parts before what is made of them, else the newest first."""
    turns = {each.tree: each.turn for each in shared}
    least: dict[Expr, int] = {}
    for each in sorted(shared, key=lambda each: order(each.tree), reverse=True):
        _least(each.tree, parts, turns, least)
    ranked = [(-least[each.tree], order(each.tree), each) for each in shared]
    # Among those of one round, the smallest and newest comes first.
    ranked.sort(key=lambda item: (item[0], (-item[1][0], -item[1][1])))
    return [each for _, _, each in ranked]


_NEVER = 1 << 62


def _least(
    root: Expr,
    parts: Callable[[Expr], Iterable[Expr]],
    turns: Mapping[Expr, int],
    known: dict[Expr, int],
) -> None:
    """The first round in which a term, or a shared part of it, is shared."""
    stack = [root]
    while stack:
        tree = stack[-1]
        if tree in known:
            stack.pop()
            continue
        below = list(parts(tree))
        missing = [part for part in below if part not in known]
        if missing:
            stack += missing
            continue
        least = min((known[part] for part in below), default=_NEVER)
        known[tree] = min(least, turns.get(tree, _NEVER))
        stack.pop()

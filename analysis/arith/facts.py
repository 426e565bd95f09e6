"""What an analyzer holds to be true, in scopes that end in the order they were begun.

A fact is about a tree, and trees are hash-consed, so a fact about `x + y` is found
wherever `x + y` is. Leaves stand for SSA values, which do not change: a fact about a
loaded value is about that load alone, not about the memory it came from.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Generic, TypeVar

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import (
    Add,
    And,
    Call,
    Cmp,
    Const,
    Expr,
    FloorMod,
    Mod,
    Not,
    Or,
    Sub,
)
from xdsl_tvm.analysis.arith.modular_set import ModularSet
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.integers import INF, Bound
from xdsl_tvm.dialects.tir import CmpPredicate
from xdsl_tvm.dialects.tir.types import is_index_type

_V = TypeVar("_V")

SWAPPED = {
    CmpPredicate.LT: CmpPredicate.GT,
    CmpPredicate.GT: CmpPredicate.LT,
    CmpPredicate.LE: CmpPredicate.GE,
    CmpPredicate.GE: CmpPredicate.LE,
    CmpPredicate.EQ: CmpPredicate.EQ,
    CmpPredicate.NE: CmpPredicate.NE,
}
NEGATED = {
    CmpPredicate.LT: CmpPredicate.GE,
    CmpPredicate.GE: CmpPredicate.LT,
    CmpPredicate.LE: CmpPredicate.GT,
    CmpPredicate.GT: CmpPredicate.LE,
    CmpPredicate.EQ: CmpPredicate.NE,
    CmpPredicate.NE: CmpPredicate.EQ,
}
"""Comparison -> the one that holds where it does not; of integers."""


class ScopedTable(Generic[_V]):
    """A table by trees that can be taken back to an earlier state."""

    def __init__(self) -> None:
        self._entries: dict[Expr, _V] = {}
        self.replaced: list[tuple[Expr, _V | None]] = []
        """What entries were before each change; their number is the mark."""

    def get(self, key: Expr) -> _V | None:
        return self._entries.get(key)

    def set(self, key: Expr, value: _V) -> None:
        self.replaced.append((key, self._entries.get(key)))
        self._entries[key] = value

    def remove(self, key: Expr) -> None:
        if key in self._entries:
            self.replaced.append((key, self._entries.pop(key)))

    def newest(self) -> Iterator[_V]:
        """What the table holds, the newest first."""
        return reversed(self._entries.values())

    def mark(self) -> int:
        """The present state, for `rewind`."""
        return len(self.replaced)

    def rewind(self, mark: int) -> None:
        """Undo what was set since the mark; marks are used last first."""
        while len(self.replaced) > mark:
            key, old = self.replaced.pop()
            if old is None:
                self._entries.pop(key, None)
            else:
                self._entries[key] = old

    def __bool__(self) -> bool:
        return bool(self._entries)


def conjuncts(condition: Expr) -> Iterator[Expr]:
    """The parts of a conjunction, from left to right; `likely` is looked through."""
    stack = [condition]
    while stack:
        node = stack.pop()
        match node:
            case And(lhs, rhs):
                stack += (rhs, lhs)
            case Call(name="likely", operands=(value,)):
                stack.append(value)
            case _:
                yield node


def negated(condition: Expr) -> Expr:
    """The negation, moved inward to the comparisons.

    A comparison of floats stays under a `Not`: with a NaN, neither it nor its opposite
    holds. `>` and `>=` become `<` and `<=`.
    """
    return _normal(condition, truth=False)


def normalized(condition: Expr) -> Expr:
    """The condition with negations moved inward, and without `>` and `>=`."""
    return _normal(condition, truth=True)


def _normal(root: Expr, *, truth: bool) -> Expr:
    done: dict[tuple[Expr, bool], Expr] = {}
    stack = [(root, truth)]
    while stack:
        key = stack[-1]
        if key in done:
            stack.pop()
            continue
        needed = _needed(*key)
        missing = [part for part in needed if part not in done]
        if missing:
            stack += reversed(missing)
            continue
        done[key] = _assembled(*key, [done[part] for part in needed])
        stack.pop()
    return done[root, truth]


def _needed(node: Expr, truth: bool) -> list[tuple[Expr, bool]]:
    match node:
        case And(lhs, rhs) | Or(lhs, rhs):
            return [(lhs, truth), (rhs, truth)]
        case Not(value):
            return [(value, not truth)]
        case _:
            return []


def _assembled(node: Expr, truth: bool, parts: list[Expr]) -> Expr:
    match node:
        case And():
            return (smart.conjunction if truth else smart.disjunction)(*parts)
        case Or():
            return (smart.disjunction if truth else smart.conjunction)(*parts)
        case Not():
            return parts[0]
        case Cmp(lhs=lhs) if truth or not tir.is_float(lhs.dtype):
            return _ordered(node, truth=truth)
        case _:
            return node if truth else smart.negation(node)


def _ordered(node: Cmp, *, truth: bool) -> Expr:
    predicate = node.predicate if truth else NEGATED[node.predicate]
    if predicate in (CmpPredicate.GT, CmpPredicate.GE):
        return smart.compare(SWAPPED[predicate], node.rhs, node.lhs)
    return smart.compare(predicate, node.lhs, node.rhs)


class Facts:
    """Bounds, modular sets, values and truths of trees."""

    def __init__(self) -> None:
        self._bounds: ScopedTable[Bound] = ScopedTable()
        self._moduli: ScopedTable[ModularSet] = ScopedTable()
        self._values: ScopedTable[Expr] = ScopedTable()
        self._truths: ScopedTable[bool] = ScopedTable()
        self._alternatives: ScopedTable[Or] = ScopedTable()
        self._tables = (
            self._bounds,
            self._moduli,
            self._values,
            self._truths,
            self._alternatives,
        )

    # ---- scopes ----

    def mark(self) -> tuple[int, ...]:
        """The present state, for `rewind`."""
        a, b, c, d, e = self._tables
        return (
            len(a.replaced),
            len(b.replaced),
            len(c.replaced),
            len(d.replaced),
            len(e.replaced),
        )

    def rewind(self, marks: tuple[int, ...]) -> None:
        """Forget what was added since the mark."""
        for table, mark in zip(self._tables, marks, strict=True):
            if len(table.replaced) > mark:
                table.rewind(mark)

    # ---- what is known ----

    def bound_of(self, node: Expr) -> Bound | None:
        """The recorded bound of a tree, None if nothing is recorded."""
        return self._bounds.get(node)

    def modulus_of(self, node: Expr) -> ModularSet | None:
        """The recorded modular set of a tree, None if nothing is recorded."""
        return self._moduli.get(node)

    def value_of(self, node: Expr) -> Expr | None:
        """The tree that a leaf is bound to, None if it is not."""
        return self._values.get(node)

    def truth_of(self, condition: Expr) -> bool | None:
        """Whether the condition is a fact, or the negation of one; None if neither."""
        if not self._truths:
            return None
        found = self._truths.get(normalized(condition))
        if found is not None or not isinstance(condition, Cmp):
            return found
        if condition.predicate not in (CmpPredicate.EQ, CmpPredicate.NE):
            return None
        return self._truths.get(Cmp(condition.predicate, condition.rhs, condition.lhs))

    def alternatives(self, count: int) -> Iterator[Or]:
        """The disjunctions that are facts, the newest ones, as many as `count`."""
        return islice(self._alternatives.newest(), count)

    # ---- recording ----

    def set_bound(self, node: Expr, bound: Bound) -> None:
        """Let `bound` be what is recorded of a tree, in place of what was."""
        self._bounds.set(node, bound)

    def set_modulus(self, node: Expr, modulus: ModularSet) -> None:
        """Let `modulus` be what is recorded of a tree, in place of what was."""
        self._moduli.set(node, modulus)

    def set_value(self, node: Expr, value: Expr) -> None:
        """Bind a leaf."""
        self._values.set(node, value)

    def forget(self, node: Expr) -> None:
        """Drop what is recorded of a leaf, its binding included."""
        self._bounds.remove(node)
        self._moduli.remove(node)
        self._values.remove(node)

    def assume(self, part: Expr) -> None:
        """Record a condition that holds, which is no conjunction."""
        part = normalized(part)
        self._truths.set(part, True)
        self._truths.set(negated(part), False)
        match part:
            case Or():
                self._alternatives.set(part, part)
            case Cmp(predicate=predicate, lhs=lhs, rhs=Const(value=int() as value)):
                self._compared(predicate, lhs, value)
            case Cmp(predicate=predicate, lhs=Const(value=int() as value), rhs=rhs):
                self._compared(SWAPPED[predicate], rhs, value)
            case Not(value=value):
                self._narrow(value, Bound(0, 0))
            case _:
                self._narrow(part, Bound(1, 1))

    def _compared(self, predicate: CmpPredicate, node: Expr, value: int) -> None:
        """Record `node predicate value`, and the same of what `node` is an offset of."""
        base: Expr | None = node
        while base is not None:
            bound = _bound(predicate, value)
            if bound is not None:
                self._narrow(base, bound)
            if predicate is CmpPredicate.EQ:
                self._equal(base, value)
            base, offset = offset_of(base)
            value -= offset

    def _equal(self, node: Expr, value: int) -> None:
        self._meet(node, ModularSet(0, value))
        match node:
            case Mod(lhs=base, rhs=Const(value=int() as modulus)) if modulus != 0:
                self._meet(base, ModularSet.of(modulus, value))
            case FloorMod(lhs=base, rhs=Const(value=int() as modulus)) if modulus != 0:
                self._meet(base, ModularSet.of(modulus, value))
            case _:
                pass

    def _narrow(self, node: Expr, bound: Bound) -> None:
        known = self._bounds.get(node)
        self._bounds.set(node, bound if known is None else known.intersection(bound))

    def _meet(self, node: Expr, modulus: ModularSet) -> None:
        known = self._moduli.get(node)
        self._moduli.set(node, modulus if known is None else known.intersection(modulus))


def offset_of(node: Expr) -> tuple[Expr | None, int]:
    """`(x, c)` where the node is `x + c` or `x - c` of an index type, else nothing."""
    if is_index_type(node.dtype):
        match node:
            case Add(lhs=base, rhs=Const(value=int() as offset)):
                return base, offset
            case Sub(lhs=base, rhs=Const(value=int() as offset)):
                return base, -offset
            case _:
                pass
    return None, 0


def _bound(predicate: CmpPredicate, value: int) -> Bound | None:
    match predicate:
        case CmpPredicate.LT:
            return Bound(-INF, value - 1)
        case CmpPredicate.LE:
            return Bound(-INF, value)
        case CmpPredicate.GT:
            return Bound(value + 1, INF)
        case CmpPredicate.GE:
            return Bound(value, INF)
        case CmpPredicate.EQ:
            return Bound(value, value)
        case CmpPredicate.NE:
            return None

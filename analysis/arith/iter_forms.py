"""The forms of iterator maps, and the trees they stand for; see `iter_map`."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import IntEnum

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import Const, Expr


class IterMapLevel(IntEnum):
    """What is asked of a map; TVM's values."""

    BIJECTIVE = 0
    SURJECTIVE = 1
    NO_CHECK = 3
    """The form only."""


@dataclass(frozen=True, eq=False)
class IterMark:
    """An iterator with a name, which takes the values of `[0, extent)`.

    Marks are compared by identity; one detection makes one of each.
    """

    source: Expr | IterSumExpr
    extent: Expr

    def __str__(self) -> str:
        return str(normalize_iter_map_to_expr(self))


@dataclass(frozen=True)
class IterSplitExpr:
    """`floormod(floordiv(source, lower_factor), extent) * scale`."""

    source: IterMark
    lower_factor: Expr
    extent: Expr
    scale: Expr

    @property
    def key(self) -> Key:
        """What the split is apart from its scale."""
        return self.source, self.lower_factor, self.extent

    @property
    def is_whole(self) -> bool:
        """Whether it is the mark, times the scale."""
        whole = smart.literal(self.lower_factor) == 1
        return whole and self.extent is self.source.extent

    def __str__(self) -> str:
        return str(normalize_iter_map_to_expr(self))


Key = tuple[IterMark, Expr, Expr]


@dataclass(frozen=True)
class IterSumExpr:
    """The sum of splits, from the outermost on, and a base."""

    args: tuple[IterSplitExpr, ...]
    base: Expr

    def __str__(self) -> str:
        return str(normalize_iter_map_to_expr(self))


# ---- back to trees ----


def marks_below(splits: Iterable[IterSplitExpr]) -> list[IterMark]:
    """All marks that the splits are made of, each after those it is made of."""
    order: list[IterMark] = []
    seen: set[IterMark] = set()
    stack = [(split.source, False) for split in splits]
    while stack:
        mark, done = stack.pop()
        if done:
            order.append(mark)
        elif mark not in seen:
            seen.add(mark)
            stack.append((mark, True))
            if isinstance(mark.source, IterSumExpr):
                stack += [(split.source, False) for split in mark.source.args]
    return order


def normalize_iter_map_to_expr(found: IterMark | IterSplitExpr | IterSumExpr) -> Expr:
    """The tree that a mark, a split or a sum stands for; not simplified."""
    match found:
        case IterMark(source=Expr() as source):
            return source
        case IterMark(source=source):
            total = source
        case IterSplitExpr():
            total = IterSumExpr((found,), smart.const(0, found.scale.dtype))
        case IterSumExpr():
            total = found
    assert isinstance(total, IterSumExpr)
    values: dict[IterMark, Expr] = {}
    for mark in marks_below(total.args):
        source = mark.source
        values[mark] = source if isinstance(source, Expr) else _sum(source, values)
    return _sum(total, values)


def _sum(found: IterSumExpr, values: dict[IterMark, Expr]) -> Expr:
    total = smart.const(0, found.base.dtype)
    for split in found.args:
        total = smart.add(total, _split(split, values[split.source], values))
    return smart.add(total, found.base)


def _split(split: IterSplitExpr, value: Expr, values: dict[IterMark, Expr]) -> Expr:
    """The tree of a split; the remainder is left out where all of it is taken."""
    if not split.is_whole:
        value = _digits(split, values) or _quotient(split, value)
    return smart.mul(value, split.scale)


def _quotient(split: IterSplitExpr, value: Expr) -> Expr:
    end = smart.mul(split.lower_factor, split.extent)
    if not _covers(end, split.source.extent):
        value = smart.floormod(value, end)
    return smart.floordiv(value, split.lower_factor)


def _digits(split: IterSplitExpr, values: dict[IterMark, Expr]) -> Expr | None:
    """A split by a symbol of a fused iterator, as the digits that were fused.

    With literals it is left to the simplifier, which needs no help there.
    """
    source = split.source.source
    literals = is_literal(split.lower_factor) and is_literal(split.extent)
    if literals or isinstance(source, Expr) or not is_literal(source.base, 0):
        return None
    algebra = Algebra(Analyzer())
    reach, inside = algebra.one(source.base), False
    total = algebra.zero(reach)
    end = algebra.mul(split.lower_factor, split.extent)
    for part in reversed(source.args):
        inside = inside or reach is split.lower_factor
        if reach is end:
            return total
        if part.scale is not reach:
            return None
        if inside:
            scale = algebra.div(reach, split.lower_factor)
            digit = replace(part, scale=scale)
            total = smart.add(_split(digit, values[part.source], values), total)
        reach = algebra.mul(reach, part.extent)
    return total if inside and reach is end else None


def _covers(end: Expr, extent: Expr) -> bool:
    if end is extent:
        return True
    last, size = smart.literal(end), smart.literal(extent)
    if last is None or size is None:
        return Analyzer().can_prove_equal(end, extent)
    return last >= size


# ---- arithmetic of factors ----


class NoMatchError(Exception):
    """An expression is no iterator map; the message says why, in one line."""


# ---- arithmetic of factors ----


class Algebra:
    """Arithmetic of extents and scales, simplified; literals at once."""

    def __init__(self, analyzer: Analyzer) -> None:
        self.analyzer = analyzer

    def simplify(self, node: Expr) -> Expr:
        return node if isinstance(node, Const) else self.analyzer.simplify(node)

    def add(self, a: Expr, b: Expr | int) -> Expr:
        return self.simplify(smart.add(a, b))

    def sub(self, a: Expr, b: Expr | int) -> Expr:
        return self.simplify(smart.sub(a, b))

    def mul(self, a: Expr, b: Expr) -> Expr:
        return self.simplify(smart.mul(a, b))

    def div(self, a: Expr, b: Expr) -> Expr:
        return self.simplify(smart.floordiv(a, b))

    def mod(self, a: Expr, b: Expr) -> Expr:
        return self.simplify(smart.floormod(a, b))

    def ceildiv(self, a: Expr, b: Expr) -> Expr:
        return self.div(smart.sub(smart.add(a, b), 1), b)

    def equal(self, a: Expr, b: Expr) -> bool:
        if a is b:
            return True
        if isinstance(a, Const) and isinstance(b, Const):
            return False
        return self.analyzer.can_prove_equal(a, b)

    def at_most(self, a: Expr, b: Expr) -> bool:
        return self.analyzer.can_prove(smart.le(a, b))

    def divides(self, d: Expr, a: Expr) -> bool:
        """Whether `a` is certainly a multiple of `d`."""
        if smart.literal(d) == 0:
            return False
        return smart.literal(self.mod(a, d)) == 0

    def lcm(self, a: Expr, b: Expr) -> Expr:
        """A common multiple, the least one of literals."""
        m, n = smart.literal(a), smart.literal(b)
        if isinstance(m, int) and isinstance(n, int):
            return smart.const(math.lcm(m, n), a.dtype)
        if self.divides(b, a):
            return a
        return b if self.divides(a, b) else self.mul(a, b)

    def one(self, like: Expr) -> Expr:
        return smart.const(1, like.dtype)

    def zero(self, like: Expr) -> Expr:
        return smart.const(0, like.dtype)


def is_literal(node: Expr, value: int | None = None) -> bool:
    """Whether the tree is this literal; without a value, whether it is one."""
    found = smart.literal(node)
    return found is not None if value is None else found == value

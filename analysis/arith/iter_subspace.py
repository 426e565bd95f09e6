"""Iterator maps divided into subspaces, and inverted; see `iter_map`.

*Division.* Given some of the inputs as the inner ones, `subspace_divide` writes every
binding as `outer * E + inner`, where `inner` depends on inner inputs only and takes
values of `[0, E)` above its base, and `outer` depends on the other inputs only. This is
what blockizing loops wants.

*Inverse.* `inverse_affine_iter_map` finds for given values of the indices of a bijective
map the values of its inputs.

See docs/spec/tir-passes-b-arith-and-loops.md §1.13; TVM names `SubspaceDivide`,
`InverseAffineIterMap`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import NamedTuple

from xdsl.dialects.builtin import i1

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import Expr, LiteralRangeError, postorder
from xdsl_tvm.analysis.arith.facts import conjuncts
from xdsl_tvm.analysis.arith.int_set import Range
from xdsl_tvm.analysis.arith.iter_forms import (
    Algebra,
    IterMapLevel,
    IterMark,
    IterSplitExpr,
    IterSumExpr,
    NoMatchError,
    is_literal,
    marks_below,
)
from xdsl_tvm.analysis.arith.iter_map import bind_inputs, detect_iter_map
from xdsl_tvm.analysis.arith.linear_equation import mentions

MAX_DEPTH = 64
"""How deep iterators of iterators are divided."""


class Division(NamedTuple):
    """A binding as `outer * inner.extent + inner`; the base is part of `inner`.

    The extents are of the values without the base.
    """

    outer: IterMark
    inner: IterMark


@dataclass(frozen=True)
class SubspaceDivision:
    """All bindings, and the conditions on outer and on inner inputs that remain."""

    bindings: list[Division]
    outer_predicate: Expr
    inner_predicate: Expr


class _Parts(NamedTuple):
    """`outer * inner_extent + inner`, both sums without base; None is 0, of extent 1."""

    outer: IterSplitExpr | IterSumExpr | None
    inner: IterSplitExpr | IterSumExpr | None
    outer_extent: Expr
    inner_extent: Expr


class _Divider:
    def __init__(self, analyzer: Analyzer, inner: AbstractSet[Expr]) -> None:
        self._algebra = Algebra(analyzer)
        self._inner = inner

    def divide(self, total: IterSumExpr) -> Division:
        """A binding, a sum of at most one split."""
        one = self._algebra.one(total.base)
        if not total.args:
            parts = _Parts(None, None, one, one)
        else:
            (split,) = total.args
            if not is_literal(split.scale, 1):
                raise NoMatchError(f"{total} has a scale")
            parts = self._split(split, 0)
        zero = self._algebra.zero(one)
        return Division(
            IterMark(_as_sum(parts.outer, zero), parts.outer_extent),
            IterMark(_as_sum(parts.inner, total.base), parts.inner_extent),
        )

    def _split(self, split: IterSplitExpr, depth: int) -> _Parts:
        """The parts of a split, taken as if its scale were 1."""
        one = self._algebra.one(split.scale)
        plain = replace(split, scale=one)
        kinds = self._kinds(split.source)
        if depth > MAX_DEPTH:
            raise NoMatchError(f"{split} is too deep")
        if not kinds[0]:
            return _Parts(None, plain, one, split.extent)
        if not kinds[1]:
            return _Parts(plain, None, split.extent, one)
        source = split.source.source
        assert isinstance(source, IterSumExpr)
        parts = self._sum(source, split.source, depth)
        return parts if split.is_whole else self._digits(split, parts)

    def _kinds(self, mark: IterMark) -> tuple[bool, bool]:
        """Whether the mark has outer inputs, and inner ones."""
        split = IterSplitExpr(mark, mark.extent, mark.extent, mark.extent)
        outer = inner = False
        for found in marks_below([split]):
            if isinstance(found.source, Expr):
                is_inner = any(node in self._inner for node in postorder(found.source))
                inner, outer = inner or is_inner, outer or not is_inner
        return outer, inner

    def _is_dense(self, mark: IterMark, source: IterSumExpr) -> bool:
        """Whether the parts of a mark take all their combinations, one for each value."""
        extent = self._algebra.one(mark.extent)
        for part in source.args:
            extent = self._algebra.mul(extent, part.extent)
        return is_literal(source.base, 0) and self._algebra.equal(extent, mark.extent)

    def _sum(self, source: IterSumExpr, mark: IterMark, depth: int) -> _Parts:
        """The parts of a mark that has inputs of both kinds."""
        algebra = self._algebra
        if not self._is_dense(mark, source):
            raise NoMatchError(f"{mark} is bounded as a whole, over both spaces")
        one = algebra.one(mark.extent)
        outer: list[IterSplitExpr] = []
        inner: list[IterSplitExpr] = []
        inner_extent = outer_extent = one
        if len(source.args) == 1:
            return self._split(source.args[0], depth + 1)
        for part in reversed(source.args):
            parts = self._split(part, depth + 1)
            if parts.outer is not None and parts.inner is not None:
                raise NoMatchError(f"{part} is in both spaces")
            if parts.outer is None and outer:
                raise NoMatchError(f"{mark} has inner inputs outside of outer ones")
            if parts.outer is None:
                inner.insert(0, part)
                inner_extent = algebra.mul(inner_extent, part.extent)
            else:
                scale = algebra.div(part.scale, inner_extent)
                outer.insert(0, replace(part, scale=scale))
                outer_extent = algebra.mul(outer_extent, part.extent)
        zero = algebra.zero(one)
        return _Parts(
            IterSumExpr(tuple(outer), zero) if outer else None,
            IterSumExpr(tuple(inner), zero) if inner else None,
            outer_extent,
            inner_extent,
        )

    def _digits(self, split: IterSplitExpr, parts: _Parts) -> _Parts:
        """The parts of some digits of a mark whose parts are given."""
        algebra = self._algebra
        one, border = algebra.one(split.scale), parts.inner_extent
        lower, end = split.lower_factor, algebra.mul(split.lower_factor, split.extent)
        outer = IterMark(_as_sum(parts.outer, algebra.zero(one)), parts.outer_extent)
        inner = IterMark(_as_sum(parts.inner, algebra.zero(one)), parts.inner_extent)
        if algebra.divides(border, lower):
            place = algebra.div(lower, border)
            found = IterSplitExpr(outer, place, split.extent, one)
            return _Parts(found, None, split.extent, one)
        if algebra.divides(end, border):
            found = IterSplitExpr(inner, lower, split.extent, one)
            return _Parts(None, found, one, split.extent)
        if not (algebra.divides(lower, border) and algebra.divides(border, end)):
            raise NoMatchError(f"{split} is not divided where the spaces are")
        low, high = algebra.div(border, lower), algebra.div(end, border)
        return _Parts(
            IterSplitExpr(outer, one, high, one),
            IterSplitExpr(inner, lower, low, one),
            high,
            low,
        )


def _as_sum(part: IterSplitExpr | IterSumExpr | None, base: Expr) -> IterSumExpr:
    if part is None:
        return IterSumExpr((), base)
    if isinstance(part, IterSplitExpr):
        return IterSumExpr((part,), base)
    return IterSumExpr(part.args, base)


def subspace_divide(
    bindings: Sequence[Expr],
    inputs: Mapping[Expr, Range],
    inner: Iterable[Expr],
    predicate: Expr | None = None,
    level: IterMapLevel = IterMapLevel.SURJECTIVE,
    analyzer: Analyzer | None = None,
) -> SubspaceDivision | None:
    """The bindings divided, `inner` being some of the inputs; None if that cannot be.

    The predicate is true where the two remaining predicates are, and only there. Inputs
    of extent 1 stay iterators.
    """
    analyzer = analyzer or Analyzer()
    found = detect_iter_map(
        bindings, inputs, predicate, level, analyzer, simplify_trivial=False
    )
    if found.errors:
        return None
    inner = set(inner)
    divider = _Divider(analyzer, inner)
    true = smart.const(1, i1)
    try:
        divided = [divider.divide(total) for total in found.indices]
        with analyzer.assumed(()):
            bind_inputs(analyzer, inputs)
            remaining = _predicates(predicate or true, inputs, inner, analyzer)
    except (NoMatchError, LiteralRangeError):
        return None
    return SubspaceDivision(divided, *remaining)


def _predicates(
    predicate: Expr, inputs: Iterable[Expr], inner: AbstractSet[Expr], analyzer: Analyzer
) -> tuple[Expr, Expr]:
    """The parts of the predicate that are not always true, the inner ones apart.

    Those that mention no input are among the outer ones.
    """
    outer_inputs = [leaf for leaf in inputs if leaf not in inner]
    outer_part = inner_part = smart.const(1, i1)
    for part in conjuncts(predicate):
        if analyzer.can_prove(part):
            continue
        if not mentions(part, *inner):
            outer_part = smart.conjunction(outer_part, part)
        elif not mentions(part, *outer_inputs):
            inner_part = smart.conjunction(inner_part, part)
        else:
            raise NoMatchError(f"{part} is about both spaces")
    return outer_part, inner_part


def inverse_affine_iter_map(
    indices: Sequence[IterSumExpr],
    values: Sequence[Expr],
    analyzer: Analyzer | None = None,
) -> dict[Expr, Expr]:
    """The inputs, as simplified trees, for which the indices have the values.

    The indices are those of a bijective map; constant ones are ignored. Inputs that no
    index uses are not in the result. Raises ValueError when the numbers of indices and
    values differ, and for a scale other than 1 and -1 of an index.
    """
    if len(indices) != len(values):
        raise ValueError(f"{len(indices)} indices, but {len(values)} values")
    algebra = Algebra(analyzer or Analyzer())
    splits = [split for total in indices for split in total.args]
    found: dict[IterMark, Expr] = {}
    for total, value in zip(indices, values, strict=True):
        if total.args:
            _propagate(total, value, found, algebra)
    inputs: dict[Expr, Expr] = {}
    for mark in reversed(marks_below(splits)):
        if isinstance(mark.source, IterSumExpr):
            _propagate(mark.source, found[mark], found, algebra)
        else:
            leaf, start = _leaf_of(mark.source)
            inputs[leaf] = algebra.simplify(smart.add(found[mark], start))
    return inputs


def _leaf_of(source: Expr) -> tuple[Expr, Expr]:
    """The input that a mark is, and its least value."""
    if source.operands:
        leaf, start = source.operands
        return leaf, start
    return source, smart.const(0, source.dtype)


def _propagate(
    total: IterSumExpr, value: Expr, found: dict[IterMark, Expr], algebra: Algebra
) -> None:
    """Add to the marks of a sum what they are if the sum has a value."""
    rest = algebra.sub(value, total.base)
    for position, split in enumerate(total.args):
        digit = rest
        if len(total.args) == 1:
            if not (is_literal(split.scale, 1) or is_literal(split.scale, -1)):
                raise ValueError(f"{total} has a scale other than 1 and -1")
            digit = smart.mul(rest, split.scale)
        else:
            digit = smart.floordiv(rest, split.scale)
            if position:
                digit = smart.floormod(digit, split.extent)
        part = smart.mul(algebra.simplify(digit), split.lower_factor)
        known = found.get(split.source)
        found[split.source] = part if known is None else smart.add(known, part)

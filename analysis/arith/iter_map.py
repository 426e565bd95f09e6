"""Iterator maps: index expressions that are made of splits and fusions of iterators.

An *iterator* is a number that takes all values of `[0, extent)`. A *mark* is one with a
name: a variable less its least value, or a sum. A *split* of a mark is the iterator
`floormod(floordiv(mark, lower_factor), extent)` times a scale, and a *sum* adds splits,
from the outermost to the innermost, and a base. Fusing puts a sum together to one
iterator: `x*8 + y` with `y` in `[0, 8)`. `detect_iter_map` finds for index expressions
over input variables sums of at most one split, such that

- the sum has the value of the index for all inputs in their ranges for which the
  predicate is true,
- level `SURJECTIVE`: the splits at the leaves of all sums, taken together, take every
  combination of values in their ranges; so indices vary independently of each other,
- level `BIJECTIVE`: moreover, different inputs give different indices.

All of this where the domain is not empty: an extent that is not a literal is read as one
that is positive. A divisor must be known to be.

*Padding.* A quotient by what does not divide an extent, or of a sum with a base, is a
split of a padded mark: the iterator moved up by a left padding, its extent rounded up.
The levels hold with padding too. The padding predicate says which values of the variables
are padding, if the variables are let run over the padded range: with `x` in `[0, 10)`,
`x // 4` has the predicate `x // 4 == 2 and x % 4 >= 2`, which is true for 10 and 11. A
part of a padded mark is not padded in turn: no values of the variables would be those.

*Predicates.* A comparison of one variable tightens its range. Another one must bound a
sum that can be fused, and the fused iterator starts and ends where the predicate says.
Any use of its parts other than through the fused iterator makes detection fail, unless
there is no check, for they are not independent.

See docs/spec/tir-passes-b-arith-and-loops.md §1.13; TVM names `DetectIterMap`,
`IterMapSimplify`, `NormalizeToIterSum`, `NormalizeIterMapToExpr`, `SubspaceDivide`,
`InverseAffineIterMap`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import i1

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import Cmp, Const, Expr, LiteralRangeError
from xdsl_tvm.analysis.arith.facts import conjuncts
from xdsl_tvm.analysis.arith.int_set import Range
from xdsl_tvm.analysis.arith.iter_forms import (
    Algebra,
    IterMapLevel,
    IterMark,
    IterSplitExpr,
    IterSumExpr,
    Key,
    NoMatchError,
    is_literal,
    marks_below,
    normalize_iter_map_to_expr,
)
from xdsl_tvm.analysis.arith.iter_rewriter import (
    Constraint,
    Padded,
    Rewriter,
    scale_parts,
)
from xdsl_tvm.analysis.arith.linear_equation import literal_factors, mentions
from xdsl_tvm.dialects.tir import CmpPredicate
from xdsl_tvm.dialects.tir.types import is_index_type

__all__ = [
    "IterMapLevel",
    "IterMapResult",
    "IterMark",
    "IterSplitExpr",
    "IterSumExpr",
    "detect_iter_map",
    "iter_map_simplify",
    "normalize_iter_map_to_expr",
    "normalize_to_iter_sum",
]

MAX_ROUNDS = 6
"""How often indices are rewritten until no division wants more padding."""


@dataclass(frozen=True)
class IterMapResult:
    """What was found; `indices` is empty on failure, and `errors` says why."""

    indices: list[IterSumExpr]
    errors: list[str]
    padding_predicate: Expr


def _merge_ends(
    algebra: Algebra, a: Expr | None, b: Expr | None, *, greatest: bool
) -> Expr | None:
    """The greater, or the lesser, of two ends; None is no end."""
    if a is None or b is None:
        return b if a is None else a
    if algebra.at_most(a, b):
        return b if greatest else a
    if algebra.at_most(b, a):
        return a if greatest else b
    return smart.maximum(a, b) if greatest else smart.minimum(a, b)


@dataclass
class _Limits:
    """What a predicate says of a number: `low <= it < end`; None is no end."""

    low: Expr | None = None
    end: Expr | None = None

    def narrow(self, algebra: Algebra, low: Expr | None, end: Expr | None) -> None:
        self.low = _merge_ends(algebra, self.low, low, greatest=True)
        self.end = _merge_ends(algebra, self.end, end, greatest=False)


def _solved(
    algebra: Algebra, factor: int, base: Expr, most: int
) -> tuple[Expr | None, Expr | None]:
    """`low <= it < end` as it follows from `factor * it + base <= most`."""
    size = smart.const(abs(factor), base.dtype)
    if factor > 0:
        room = algebra.sub(smart.const(most, base.dtype), base)
        return None, algebra.add(algebra.div(room, size), 1)
    return algebra.ceildiv(algebra.sub(base, most), size), None


class _Detection:
    """The detection of one map."""

    def __init__(
        self,
        analyzer: Analyzer,
        inputs: Mapping[Expr, Range],
        predicate: Expr | None,
        level: IterMapLevel,
        *,
        trivial: bool,
        opaque: bool = False,
    ) -> None:
        self.algebra = Algebra(analyzer)
        self.level = level
        self._inputs = dict(inputs)
        self._bounds: list[tuple[Expr, int]] = []
        for leaf, found in inputs.items():
            if mentions(found.min, *inputs) or mentions(found.extent, *inputs):
                raise NoMatchError(f"the range of {leaf} is in terms of inputs")
        for part in conjuncts(smart.const(1, i1) if predicate is None else predicate):
            self._take(part)
        starts = {v: self._start(v, r, trivial=trivial) for v, r in self._inputs.items()}
        self.rewriter = Rewriter(analyzer, starts, level, opaque=opaque)

    # ---- predicates ----

    def _take(self, part: Expr) -> None:
        """Use a comparison of one input; keep one of several for later."""
        if isinstance(part, Const) and part.value:
            return
        if not mentions(part, *self._inputs):
            return
        if not isinstance(part, Cmp) or not is_index_type(part.lhs.dtype):
            raise NoMatchError(f"the predicate {part} is no comparison of indices")
        match part.predicate:
            case CmpPredicate.LT | CmpPredicate.LE:
                difference = smart.sub(part.lhs, part.rhs)
            case CmpPredicate.GT | CmpPredicate.GE:
                difference = smart.sub(part.rhs, part.lhs)
            case _:
                raise NoMatchError(f"the predicate {part} is no inequality")
        strict = part.predicate in (CmpPredicate.LT, CmpPredicate.GT)
        most = -1 if strict else 0
        linear = literal_factors(difference, list(self._inputs), self.algebra.analyzer)
        if linear is not None and len(linear[0]) == 1:
            ((leaf, factor),) = linear[0].items()
            self._tighten(leaf, *_solved(self.algebra, factor, linear[1], most))
        else:
            self._bounds.append((difference, most))

    def _tighten(self, leaf: Expr, low: Expr | None, end: Expr | None) -> None:
        algebra, known = self.algebra, self._inputs[leaf]
        limits = _Limits(known.min, algebra.add(known.min, known.extent))
        limits.narrow(algebra, low, end)
        assert limits.low is not None
        assert limits.end is not None
        extent = algebra.sub(limits.end, limits.low)
        _require_members(leaf, extent)
        self._inputs[leaf] = Range(algebra.simplify(limits.low), extent)

    def _start(self, leaf: Expr, found: Range, *, trivial: bool) -> IterSumExpr:
        """An input as an iterator."""
        _require_members(leaf, found.extent)
        if trivial and is_literal(found.extent, 1):
            return IterSumExpr((), found.min)
        mark = IterMark(smart.sub(leaf, found.min), self.algebra.simplify(found.extent))
        one = self.algebra.one(found.min)
        return IterSumExpr((IterSplitExpr(mark, one, mark.extent, one),), found.min)

    def _constrain(self) -> None:
        """Tell the rewriter which fused iterators the predicate bounds."""
        rewriter, algebra = self.rewriter, self.algebra
        rewriter.forget_constraints()
        found: dict[frozenset[tuple[Key, Expr]], tuple[IterSumExpr, _Limits]] = {}
        for difference, most in self._bounds:
            total = rewriter.sum_of(difference)
            if not total.args:
                continue
            splits = IterSumExpr(total.args, algebra.zero(total.base))
            base = algebra.simplify(total.base)
            sign = self._sign(splits)
            splits = rewriter.scaled(splits, smart.const(sign, base.dtype))
            key = frozenset((split.key, split.scale) for split in splits.args)
            _, limits = found.setdefault(key, (splits, _Limits()))
            limits.narrow(algebra, *_solved(algebra, sign, base, most))
        for splits, limits in sorted(found.values(), key=lambda pair: len(pair[0].args)):
            self._constrain_one(splits, limits)
            rewriter.restart()

    def _sign(self, splits: IterSumExpr) -> int:
        """The sign of the innermost scale, 1 if it is not known."""
        scales = [smart.literal(split.scale) for split in splits.args]
        numbers = [scale for scale in scales if isinstance(scale, int)]
        return -1 if numbers and min(numbers, key=abs) < 0 else 1

    def _constrain_one(self, splits: IterSumExpr, limits: _Limits) -> None:
        """Register `limits.low <= splits < limits.end`."""
        rewriter, algebra = self.rewriter, self.algebra
        fused = rewriter.fuse(splits)
        split = fused.split
        scale = None if split is None else smart.literal(split.scale)
        if split is None or not isinstance(scale, int):
            raise NoMatchError(f"the predicate bounds {splits}, whose scale is symbolic")
        base = algebra.simplify(fused.base)
        natural = _Limits(algebra.zero(base), split.extent)
        if limits.end is not None:
            room = algebra.sub(base, limits.end)
            natural.narrow(algebra, *_solved(algebra, scale, room, -1))
        if limits.low is not None:
            room = algebra.sub(limits.low, base)
            natural.narrow(algebra, *_solved(algebra, -scale, room, 0))
        low, end = natural.low, natural.end
        assert low is not None
        assert end is not None
        if is_literal(low, 0) and end is split.extent:
            return
        extent = algebra.sub(end, low)
        _require_members(splits, extent)
        whole = replace(split, scale=algebra.one(base))
        minus = algebra.sub(algebra.zero(base), low)
        source = IterSumExpr((whole,), minus)
        inner = whole.source.source
        composite = whole.is_whole and split.source not in rewriter.padded
        if composite and isinstance(inner, IterSumExpr):
            source = IterSumExpr(inner.args, algebra.add(inner.base, minus))
        rewriter.constrain(Constraint(rewriter.mark(source, extent), low, fused.parts))

    # ---- indices ----

    def run(self, indices: Sequence[Expr]) -> IterMapResult:
        found = self._rewritten(indices)
        if self.level is not IterMapLevel.NO_CHECK:
            _Check(self, found).run()
        return IterMapResult(found, [], self._padding_predicate(found))

    def _rewritten(self, indices: Sequence[Expr]) -> list[IterSumExpr]:
        """The indices as sums, with all the padding that they want."""
        rewriter = self.rewriter
        for _ in range(MAX_ROUNDS):
            before = dict(rewriter.paddings)
            rewriter.restart()
            try:
                self._constrain()
                found = [rewriter.iterator_of(index) for index in indices]
            except (NoMatchError, LiteralRangeError):
                # Without the padding that it wants, an index may look different.
                if rewriter.paddings == before:
                    raise
                continue
            if rewriter.paddings == before:
                return found
        raise NoMatchError("the padding of one iterator depends on that of another")

    def sum_of(self, node: Expr) -> IterSumExpr:
        """The tree as a sum of many splits."""
        total = self.rewriter.sum_of(node)
        splits = self.rewriter.merged(total.args)
        splits.sort(key=_decreasing)
        return IterSumExpr(tuple(splits), self.algebra.simplify(total.base))

    def _padding_predicate(self, found: list[IterSumExpr]) -> Expr:
        padded = self.rewriter.padded
        splits = [split for total in found for split in total.args]
        total = smart.const(0, i1)
        for mark in marks_below(splits):
            if mark in padded:
                for part in _outside(mark, padded[mark]):
                    total = smart.disjunction(total, part)
        # Without facts: the variables are not in their ranges here.
        return Analyzer().simplify(total, 3)


def _require_members(what: Expr | IterSumExpr, extent: Expr) -> None:
    size = smart.literal(extent)
    if size is not None and size <= 0:
        raise NoMatchError(f"{what} has no value: its extent is {extent}")


def _decreasing(split: IterSplitExpr) -> tuple[int, int]:
    literal, symbols = scale_parts(split.scale)
    return -literal, symbols


def _outside(mark: IterMark, info: Padded) -> list[Expr]:
    """Where a padded mark is less, or greater, than it can be."""
    value, factor = normalize_iter_map_to_expr(mark), info.padding.factor
    block, place = smart.floordiv(value, factor), smart.floormod(value, factor)
    found: list[Expr] = []
    left = info.padding.left
    if not is_literal(left, 0):
        found.append(smart.conjunction(smart.eq(block, 0), smart.lt(place, left)))
    edge = smart.add(left, info.mark.extent)
    last, rest = smart.floordiv(edge, factor), smart.floormod(edge, factor)
    if not is_literal(Analyzer().simplify(rest), 0):
        found.append(smart.conjunction(smart.eq(block, last), smart.ge(place, rest)))
    return found


class _Check:
    """Whether the splits of all indices are independent, and what they cover."""

    def __init__(self, detection: _Detection, found: list[IterSumExpr]) -> None:
        self._algebra = detection.algebra
        self._bijective = detection.level is IterMapLevel.BIJECTIVE
        self._detection = detection
        self._found = found
        self._uses: dict[IterMark, list[IterSplitExpr]] = {}

    def run(self) -> None:
        """Raises NoMatchError where the level is not reached."""
        self._visit([split for total in self._found for split in total.args])
        if self._bijective:
            self._require_all_used()
        for constraint in self._detection.rewriter.constraints:
            # The parts of a bounded iterator are not independent, used or not.
            source = constraint.mark.source
            if constraint.mark not in self._uses and isinstance(source, IterSumExpr):
                self._uses[constraint.mark] = []
                self._visit(source.args)
        for mark, splits in self._uses.items():
            self._check_mark(mark, [s for s in splits if not is_literal(s.extent, 1)])

    def _visit(self, splits: Sequence[IterSplitExpr]) -> None:
        pending = list(splits)
        while pending:
            split = pending.pop()
            mark = split.source
            if mark not in self._uses and isinstance(mark.source, IterSumExpr):
                pending += mark.source.args
            self._uses.setdefault(mark, []).append(split)

    def _require_all_used(self) -> None:
        for leaf, split in self._detection.rewriter.inputs():
            if split.source not in self._uses and not is_literal(split.extent, 1):
                raise NoMatchError(f"{leaf} is not used, so the map is not bijective")
        for total in self._found:
            for split in total.args:
                if not self._is_not_zero(split.scale):
                    raise NoMatchError(f"the scale of {split} may be zero")

    def _is_not_zero(self, scale: Expr) -> bool:
        bound = self._algebra.analyzer.const_int_bound(scale)
        return bound.min > 0 or bound.max < 0

    def _check_mark(self, mark: IterMark, splits: list[IterSplitExpr]) -> None:
        if not splits:
            return
        algebra = self._algebra
        covered = self._covered(mark, splits)
        info = self._detection.rewriter.padded.get(mark)
        if self._bijective:
            if not algebra.equal(covered, mark.extent):
                raise NoMatchError(f"{mark} is not used up, so the map is not bijective")
        elif info is not None and self._is_full_top(splits, mark, info):
            return
        elif not algebra.divides(covered, mark.extent):
            raise NoMatchError(f"the splits of {mark} do not divide its extent")
        elif info is not None and not algebra.at_most(covered, info.mark.extent):
            raise NoMatchError(f"the splits of {mark} take values that are padding")

    def _is_full_top(
        self, splits: list[IterSplitExpr], mark: IterMark, info: Padded
    ) -> bool:
        """Whether the only split is the upper digits, neither end of them all padding."""
        algebra = self._algebra
        if len(splits) != 1:
            return False
        lower = splits[0].lower_factor
        end = algebra.mul(lower, splits[0].extent)
        if not algebra.equal(end, mark.extent):
            return False
        left, edge = info.padding.left, smart.add(info.padding.left, info.mark.extent)
        prove = algebra.analyzer.can_prove
        return prove(smart.lt(left, lower)) and prove(
            smart.gt(smart.add(edge, lower), mark.extent)
        )

    def _covered(self, mark: IterMark, splits: list[IterSplitExpr]) -> Expr:
        """The product that the splits are digits of, which must not overlap."""
        algebra = self._algebra
        product = algebra.one(mark.extent)
        remaining = sorted(splits, key=_by_lower_factor)
        while remaining:
            position = self._next(remaining, product)
            if position is None:
                raise NoMatchError(f"{mark} is used more than once, or not as digits")
            split = remaining.pop(position)
            product = algebra.mul(split.lower_factor, split.extent)
        return product

    def _next(self, splits: list[IterSplitExpr], product: Expr) -> int | None:
        algebra = self._algebra
        for position, split in enumerate(splits):
            if algebra.equal(split.lower_factor, product):
                return position
        if self._bijective:
            return None
        for position, split in enumerate(splits):
            if algebra.divides(product, split.lower_factor):
                return position
        return None


def _by_lower_factor(split: IterSplitExpr) -> float:
    lower = smart.literal(split.lower_factor)
    return float("inf") if lower is None else lower


# ---- what is asked ----


def detect_iter_map(
    indices: Sequence[Expr],
    inputs: Mapping[Expr, Range],
    predicate: Expr | None = None,
    level: IterMapLevel = IterMapLevel.SURJECTIVE,
    analyzer: Analyzer | None = None,
    *,
    simplify_trivial: bool = True,
) -> IterMapResult:
    """The indices as iterator maps of the inputs, of at least the level.

    The predicate is a conjunction of inequalities. With `simplify_trivial`, an input of
    extent 1 is its least value. Facts of the analyzer must hold for all inputs.
    """
    analyzer = analyzer or Analyzer()
    try:
        detection = _Detection(
            analyzer, inputs, predicate, level, trivial=simplify_trivial
        )
        return detection.run(indices)
    except (NoMatchError, LiteralRangeError) as error:
        return IterMapResult([], [str(error)], smart.const(0, i1))


def bind_inputs(analyzer: Analyzer, inputs: Mapping[Expr, Range]) -> None:
    """Bind the inputs of a map to their ranges, but for those that are bound already."""
    for leaf, domain in inputs.items():
        if analyzer.range_of(leaf) is None and analyzer.value_of(leaf) is None:
            analyzer.bind(leaf, domain)


def iter_map_simplify(
    indices: Sequence[Expr],
    inputs: Mapping[Expr, Range],
    predicate: Expr | None = None,
    level: IterMapLevel = IterMapLevel.SURJECTIVE,
    analyzer: Analyzer | None = None,
    *,
    simplify_trivial: bool = True,
) -> list[Expr]:
    """The indices as simplified trees of their iterator maps, or as they are.

    Where there is no map under the predicate, one is looked for without it, unless it
    must be bijective.
    """
    analyzer = analyzer or Analyzer()
    found = detect_iter_map(
        indices, inputs, predicate, level, analyzer, simplify_trivial=simplify_trivial
    )
    if found.errors and predicate is not None and level is not IterMapLevel.BIJECTIVE:
        found = detect_iter_map(
            indices, inputs, None, level, analyzer, simplify_trivial=simplify_trivial
        )
    if found.errors:
        return list(indices)
    with analyzer.assumed(()):
        bind_inputs(analyzer, inputs)
        return [analyzer.simplify(normalize_iter_map_to_expr(t)) for t in found.indices]


def normalize_to_iter_sum(
    index: Expr, inputs: Mapping[Expr, Range], analyzer: Analyzer | None = None
) -> IterSumExpr:
    """An index as a sum of splits, by decreasing literal factor of their scales.

    Splits with equal literal factors are in order of the number of other factors. Nothing
    is checked, and the base keeps all that is no sum of splits, inputs included. Raises
    ValueError for an input whose range is in terms of inputs, or has no value.
    """
    try:
        detection = _Detection(
            analyzer or Analyzer(),
            inputs,
            None,
            IterMapLevel.NO_CHECK,
            trivial=True,
            opaque=True,
        )
        return detection.sum_of(index)
    except (NoMatchError, LiteralRangeError) as error:
        raise ValueError(str(error)) from None

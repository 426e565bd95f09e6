"""Which part of a buffer a region covers while its variables run over their ranges.

A region is a box: for each dimension a start and an extent, in terms of variables. Over
all values of the variables in their ranges for which a predicate holds, the boxes cover
some set of elements, and

- the *strict* bound is that very set, where it is a box again: the starts are iterators
  independent of each other (`iter_map`), and no gap is left between two boxes. With the
  start `base + scale * i`, `i` in `[0, n)`, and an extent `e >= abs(scale)`, a dimension
  is covered from `base` to `base + (n - 1) * scale + e`, or from
  `base + (n - 1) * scale` to `base + e` if the scale is negative;
- a *lower* bound is within it: the strict bound, or none;
- an *upper* bound contains it: the strict bound, or else one dimension at a time, whose
  intervals may have gaps, or else integer sets.

The domain must not be empty, and neither may the boxes be. See
docs/spec/tir-passes-b-arith-and-loops.md §1.10; TVM names `EstimateRegionStrictBound`,
`EstimateRegionLowerBound`, `EstimateRegionUpperBound`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import Const, Expr
from xdsl_tvm.analysis.arith.facts import conjuncts
from xdsl_tvm.analysis.arith.int_set import (
    EVERYTHING,
    NOTHING,
    IntSet,
    IntSetEvaluator,
    Range,
    from_range,
    intersection,
    simplified,
)
from xdsl_tvm.analysis.arith.iter_map import IterMapLevel, IterSumExpr, detect_iter_map
from xdsl_tvm.analysis.arith.linear_equation import mentions

Region = Sequence[Range]
Domains = Mapping[Expr, Range]


def estimate_region_strict_bound(
    region: Region,
    domains: Domains,
    predicate: Expr | None = None,
    analyzer: Analyzer | None = None,
) -> list[IntSet] | None:
    """What the region covers, for each dimension; None where it is no box for certain.

    The extents must be literals.
    """
    analyzer = analyzer or Analyzer()
    if not all(isinstance(dim.extent, Const) for dim in region):
        return None
    starts = [dim.min for dim in region]
    level = IterMapLevel.SURJECTIVE
    found = detect_iter_map(starts, domains, predicate, level, analyzer)
    if found.errors:
        return None
    sets: list[IntSet] = []
    for total, dim in zip(found.indices, region, strict=True):
        covered = _covered(total, dim.extent, analyzer)
        if covered is None:
            return None
        sets.append(covered)
    return sets


def _covered(total: IterSumExpr, extent: Expr, analyzer: Analyzer) -> IntSet | None:
    """What boxes of an extent that start at an iterator cover, without gaps."""
    if analyzer.can_prove_equal(extent, smart.const(0, extent.dtype)):
        return NOTHING
    base = total.base
    if not total.args:
        return simplified(from_range(Range(base, extent)), analyzer)
    (split,) = total.args
    scale = split.scale
    if smart.literal(split.extent) == 0:
        return NOTHING
    far = smart.add(base, smart.mul(smart.sub(split.extent, 1), scale))
    if analyzer.can_prove_greater_equal(scale, 0):
        first, last, step = base, far, scale
    elif analyzer.can_prove_less(scale, 0):
        first, last, step = far, base, smart.sub(smart.const(0, scale.dtype), scale)
    else:
        return None
    if not analyzer.can_prove(smart.ge(extent, step)):
        return None
    end = smart.sub(smart.add(last, extent), 1)
    return simplified(IntSet(first, end), analyzer)


def estimate_region_lower_bound(
    region: Region,
    domains: Domains,
    predicate: Expr | None = None,
    analyzer: Analyzer | None = None,
) -> list[IntSet] | None:
    """A box that the region certainly covers; None where none was found."""
    return estimate_region_strict_bound(region, domains, predicate, analyzer)


def estimate_region_upper_bound(
    region: Region,
    domains: Domains,
    predicate: Expr | None = None,
    analyzer: Analyzer | None = None,
) -> list[IntSet]:
    """A box that contains all that the region covers; its sides may be unbounded.

    It does not mention the variables of the domains.
    """
    analyzer = analyzer or Analyzer()
    strict = estimate_region_strict_bound(region, domains, predicate, analyzer)
    if strict is not None:
        return strict
    if predicate is not None and len(parts := list(conjuncts(predicate))) > 1:
        # What holds for all that one conjunct lets through holds for less of it.
        boxes = [
            estimate_region_upper_bound(region, domains, part, analyzer)
            for part in parts[:_MOST_CONJUNCTS]
        ]
        boxes.append(_hulls(region, domains, predicate, analyzer))
        return [intersection(sides, analyzer) for sides in zip(*boxes, strict=True)]
    return _hulls(region, domains, predicate, analyzer)


_MOST_CONJUNCTS = 4
"""How many parts of a predicate that has no map as a whole are tried each by itself."""


def _hulls(
    region: Region, domains: Domains, predicate: Expr | None, analyzer: Analyzer
) -> list[IntSet]:
    """The hull of what each dimension covers by itself."""
    env = {leaf: from_range(domain) for leaf, domain in domains.items()}
    evaluate = IntSetEvaluator(analyzer, env)
    return [_upper(dim, domains, predicate, analyzer, evaluate) for dim in region]


def _upper(
    dim: Range,
    domains: Domains,
    predicate: Expr | None,
    analyzer: Analyzer,
    evaluate: IntSetEvaluator,
) -> IntSet:
    """The hull of what one dimension covers."""
    extent = dim.extent
    if mentions(extent, *domains):
        longest = evaluate(extent).max
        if longest is None:
            return EVERYTHING
        extent = analyzer.simplify(longest)
    level = IterMapLevel.SURJECTIVE
    found = detect_iter_map([dim.min], domains, predicate, level, analyzer)
    covered = None
    if not found.errors:
        covered = _covered(found.indices[0], extent, analyzer)
    if covered is None or covered.is_nothing:
        covered = simplified(evaluate.of_range(dim), analyzer)
    return covered

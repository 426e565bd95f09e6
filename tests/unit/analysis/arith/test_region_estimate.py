"""Region estimates: the cases, checked on every point.

Cases: docs/spec/tir-passes-b-arith-and-loops.md §1.20.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

import numpy as np
import pytest
from support.expr_trees import Symbol, evaluate, symbols
from support.iter_maps import points_of, ranges
from xdsl.dialects.builtin import i32

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import Const, Expr
from xdsl_tvm.analysis.arith.int_set import EVERYTHING, NOTHING, IntSet, Range
from xdsl_tvm.analysis.arith.region_estimate import (
    estimate_region_lower_bound,
    estimate_region_strict_bound,
    estimate_region_upper_bound,
)

L, J, K, N = symbols(i32, i32, i32, i32)
Domains = Mapping[Symbol, int]
Box = list[tuple[int, int]]
"""For each dimension the first element, and the first one past the last."""


def box_of(sets: list[IntSet] | None) -> Box | None:
    if sets is None:
        return None
    box: Box = []
    for found in sets:
        assert found.min is not None
        assert found.max is not None
        low, high = smart.literal(found.min), smart.literal(found.max)
        assert isinstance(low, int)
        assert isinstance(high, int)
        box.append((low, high + 1))
    return box


def covered(
    region: list[tuple[Symbol, int]], domains: Domains, predicate: Symbol | None
) -> set[tuple[int, ...]]:
    """All elements that the region covers."""
    points = points_of(
        {leaf.node: (0, n) for leaf, n in domains.items()},
        None if predicate is None else predicate.node,
    )
    starts = [evaluate(start.node, points).numbers for start, _ in region]
    found: set[tuple[int, ...]] = set()
    for corner in zip(*starts, strict=True):
        offsets = np.ndindex(*(extent for _, extent in region))
        found |= {
            tuple(int(c) + o for c, o in zip(corner, offset, strict=True))
            for offset in offsets
        }
    return found


def check(
    region: list[tuple[Symbol, int]],
    domains: Domains,
    strict: Box | None,
    upper: Box | None = None,
    predicate: Symbol | None = None,
) -> None:
    """The strict bound, and the upper one if there is no strict one."""
    boxes = [Range(start.node, Const(extent, i32)) for start, extent in region]
    inputs = ranges({leaf.node: (0, n) for leaf, n in domains.items()})
    condition = None if predicate is None else predicate.node
    exact = estimate_region_strict_bound(boxes, inputs, condition)
    lower = estimate_region_lower_bound(boxes, inputs, condition)
    wide = estimate_region_upper_bound(boxes, inputs, condition)
    assert box_of(exact) == strict
    assert box_of(lower) == strict
    assert box_of(wide) == (strict if upper is None else upper)
    elements = covered(region, domains, predicate)
    if strict is not None:
        assert elements == set(product(*(range(start, end) for start, end in strict)))
    for element in elements:
        box = box_of(wide)
        assert box is not None
        assert all(s <= e < end for e, (s, end) in zip(element, box, strict=True))


# ---- spec 1.20, interval sets: region estimates ----


def test_simple_regions():
    check([(L, 1), (J, 1)], {L: 8, J: 4}, [(0, 8), (0, 4)])
    check([(L * 8 + J, 1)], {L: 8, J: 8}, [(0, 64)])
    check(
        [(L * 8 + J + 3, 1), (Symbol(Const(5, i32)), 2)], {L: 2, J: 8}, [(3, 19), (5, 7)]
    )


def test_dependent_dimensions():
    check([(L, 1), (L, 1)], {L: 8}, None, [(0, 8), (0, 8)])
    check([(L // 4, 1), (L, 2)], {L: 8}, None, [(0, 2), (0, 9)])


def test_strides():
    check([(L * 4, 2)], {L: 64}, None, [(0, 254)])
    check([(L * 4, 8)], {L: 64}, [(0, 260)])
    check([(L * -4, 4)], {L: 16}, [(-60, 4)])
    check([(L * -4, 3)], {L: 16}, None, [(-60, 3)])


def test_predicates_on_splits():
    check([(L * 8 + J, 1)], {L: 8, J: 8}, [(0, 63)], predicate=L * 8 + J < 63)


def test_several_variables():
    fused = L * 16 + J * 4 + K
    domains = {L: 4, J: 4, K: 4}
    check([(fused // 8, 1), (fused % 8, 1)], domains, [(0, 8), (0, 8)])
    check([(fused // 4, 1), (fused % 4 + 1, 1)], domains, [(0, 16), (1, 5)])


def test_tiles_that_are_not_perfect():
    """A free variable in the base, bounds from both sides."""
    (h3, h2) = L, J
    start = h3 * 8 + h2
    condition = (start >= 1) & (start < 224)
    inputs = ranges({h2.node: (0, 10)})
    analyzer = Analyzer()
    (found,) = estimate_region_upper_bound(
        [Range(start.node, Const(1, i32))], inputs, condition.node, analyzer
    )
    for outer in range(28):
        points = {h3.node: np.full(10, outer), h2.node: np.arange(10)}
        inside = evaluate(condition.node, points).numbers != 0
        numbers = evaluate(start.node, points).numbers[inside]
        assert found.min is not None
        assert found.max is not None
        assert evaluate(found.min, points).numbers[0] == numbers.min()
        assert evaluate(found.max, points).numbers[0] == numbers.max()


def test_predicates_that_are_no_help():
    check([(L, 1), (J, 1)], {L: 8, J: 4}, None, [(0, 8), (0, 4)], predicate=L + J < 3)
    check([((L + J) // 2, 1)], {L: 8, J: 4}, [(0, 6)])


def test_empty_boxes():
    found = estimate_region_strict_bound(
        [Range(L.node, Const(0, i32))], ranges({L.node: (0, 4)})
    )
    assert found == [NOTHING]


def test_extents_that_are_no_literals():
    """The reference leaves the variables of an extent in its upper bound."""
    inputs = ranges({L.node: (0, 4)})
    region = [Range((L * 4).node, (L + 4).node)]
    assert estimate_region_strict_bound(region, inputs) is None
    (found,) = estimate_region_upper_bound(region, inputs)
    assert found == IntSet(Const(0, i32), Const(18, i32))
    products = ranges({L.node: (0, 4), J.node: (0, 4)})
    region = [Range((L * J).node, (L // (J + N)).node)]
    assert estimate_region_upper_bound(region, products) == [EVERYTHING]


@pytest.mark.parametrize("scale", [3, -3])
def test_symbolic_extents_of_domains(scale: int):
    domain = {L.node: Range(Const(0, i32), N.node)}
    (found,) = estimate_region_upper_bound(
        [Range((L * scale).node, Const(3, i32))], domain
    )
    low, high = (0, N * 3 - 1) if scale > 0 else (3 - N * 3, 2)
    assert found == IntSet(end(low), end(high))


def end(value: Symbol | int) -> Expr:
    return (
        Const(value, i32) if isinstance(value, int) else Analyzer().simplify(value.node)
    )

"""Region estimates are what regions cover, or contain it, on random regions."""

from __future__ import annotations

import os

import numpy as np
from support.expr_trees import evaluate
from support.iter_maps import Maps, points_of, ranges
from xdsl.dialects.builtin import i32

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Const, Expr
from xdsl_tvm.analysis.arith.int_set import IntSet, Range
from xdsl_tvm.analysis.arith.region_estimate import (
    estimate_region_strict_bound,
    estimate_region_upper_bound,
)

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "50"))
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))


def literal(end: Expr | None) -> int:
    value = None if end is None else smart.literal(end)
    assert isinstance(value, int)
    return value


def members(found: IntSet) -> tuple[int, int]:
    return literal(found.min), literal(found.max)


def test_random_regions():
    exact = 0
    for seed in range(FIRST, FIRST + COUNT):
        maps = Maps(seed)
        indices, predicate = maps.indices(), maps.predicate()
        extents = [maps.draw.choice((1, 2, 4)) for _ in indices]
        region = [
            Range(index, Const(extent, i32))
            for index, extent in zip(indices, extents, strict=True)
        ]
        points = points_of(maps.inputs, predicate)
        if not len(next(iter(points.values()))):
            continue
        inputs = ranges(maps.inputs)
        upper = estimate_region_upper_bound(region, inputs, predicate)
        starts = [evaluate(index, points).numbers for index in indices]
        for found, start, extent in zip(upper, starts, extents, strict=True):
            low, high = members(found)
            assert low <= start.min()
            assert start.max() + extent - 1 <= high
        strict = estimate_region_strict_bound(region, inputs, predicate)
        if strict is None:
            continue
        exact += 1
        corners = set(zip(*(start.tolist() for start in starts), strict=True))
        elements = {
            tuple(int(c) + o for c, o in zip(corner, offset, strict=True))
            for corner in corners
            for offset in np.ndindex(*extents)
        }
        box = [members(found) for found in strict]
        assert len(elements) == np.prod([high - low + 1 for low, high in box])
        for (low, high), *numbers in zip(box, *elements, strict=True):
            assert min(numbers) == low
            assert max(numbers) == high
    assert exact > COUNT // 10

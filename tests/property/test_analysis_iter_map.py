"""Iterator maps have the values of the indices, and reach the level they claim.

Random indices over random inputs, with and without predicates, on every point. The
ordinary run takes a few hundred maps; `XDSL_TVM_FUZZ=100000` takes that many.
"""

from __future__ import annotations

import os
from collections import Counter

import pytest
from support.iter_maps import Maps, checked, points_of, ranges, same_numbers

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.iter_map import (
    IterMapLevel,
    iter_map_simplify,
    normalize_iter_map_to_expr,
    normalize_to_iter_sum,
)

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "200"))
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))
BATCH = 100


@pytest.mark.parametrize("batch", range(FIRST, FIRST + max(COUNT // BATCH, 1)))
def test_detected_maps(batch: int):
    found = Counter[IterMapLevel]()
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        maps = Maps(seed)
        indices, predicate = maps.indices(), maps.predicate()
        for level in IterMapLevel:
            if not checked(indices, maps.inputs, predicate, level).errors:
                found[level] += 1
    assert all(found[level] for level in IterMapLevel), found


def test_simplified_maps():
    for seed in range(FIRST, FIRST + COUNT // 8):
        maps = Maps(10**6 + seed)
        indices, predicate = maps.indices(), maps.predicate()
        points = points_of(maps.inputs, predicate)
        simplified = iter_map_simplify(indices, ranges(maps.inputs), predicate)
        for index, other in zip(indices, simplified, strict=True):
            same_numbers(index, other, points)


def test_sums():
    for seed in range(FIRST, FIRST + COUNT // 4):
        maps = Maps(2 * 10**6 + seed)
        index = smart.add(maps.index(), maps.index())
        if seed % 4 == 0:
            index = smart.add(index, smart.maximum(index, 3))
        total = normalize_to_iter_sum(index, ranges(maps.inputs))
        points = points_of(maps.inputs, None)
        same_numbers(index, normalize_iter_map_to_expr(total), points)

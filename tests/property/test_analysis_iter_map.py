"""Iterator maps have the values of the indices, and reach the level they claim.

Random indices over random inputs, with and without predicates, on every point. The
ordinary run takes a few hundred maps; `XDSL_TVM_FUZZ=100000` takes that many.
"""

from __future__ import annotations

import os
import random
from collections import Counter

import pytest
from expr_trees import leaves_of
from iter_maps import checked, points_of, ranges, same_numbers
from xdsl.dialects.builtin import i32

from xdsl_tvm.analysis import smart
from xdsl_tvm.analysis.expr import Expr
from xdsl_tvm.analysis.iter_map import (
    IterMapLevel,
    iter_map_simplify,
    normalize_iter_map_to_expr,
    normalize_to_iter_sum,
)

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "400"))
BATCH = 100
LEAVES = leaves_of(i32, i32, i32)
EXTENTS = (1, 2, 3, 4, 4, 6, 8, 8, 12, 16)
NUMBERS = (2, 3, 4, 4, 6, 8, 16)


class Maps:
    """Makes random maps."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        used = LEAVES[: self.draw.randrange(1, 4)]
        self.inputs = {
            leaf: (self.draw.choice((0, 0, 0, 1, -3)), self.draw.choice(EXTENTS))
            for leaf in used
        }

    def fused(self) -> Expr:
        """Inputs, perhaps split, as digits of one number."""
        leaves = list(self.inputs)
        self.draw.shuffle(leaves)
        total = smart.const(0, i32)
        reach = 1
        for leaf in leaves[: self.draw.randrange(1, 4)]:
            low, extent = self.inputs[leaf]
            term = smart.sub(leaf, low) if self.draw.random() < 0.8 else leaf
            if self.draw.random() < 0.4:
                term = self.split(term)
            scale = reach if self.draw.random() < 0.8 else self.draw.choice(NUMBERS)
            total = smart.add(total, smart.mul(term, scale))
            reach *= extent
        if self.draw.random() < 0.2:
            total = smart.add(total, self.draw.randrange(-5, 20))
        return total

    def split(self, node: Expr) -> Expr:
        kind = self.draw.choice((smart.floordiv, smart.floormod))
        return kind(node, self.draw.choice(NUMBERS))

    def index(self) -> Expr:
        node = self.fused()
        while self.draw.random() < 0.6:
            node = self.split(node)
            if self.draw.random() < 0.2:
                node = smart.add(smart.mul(node, self.draw.choice((-1, 2, 4))), 3)
        return node

    def indices(self) -> list[Expr]:
        """Independent ones, or the two parts of one."""
        if self.draw.random() < 0.4:
            node, by = self.fused(), self.draw.choice(NUMBERS)
            return [smart.floordiv(node, by), smart.floormod(node, by)]
        return [self.index() for _ in range(self.draw.randrange(1, 4))]

    def predicate(self) -> Expr | None:
        if self.draw.random() < 0.5:
            return None
        compare = self.draw.choice((smart.lt, smart.le, smart.gt, smart.ge))
        found = compare(self.fused(), self.draw.randrange(1, 40))
        if self.draw.random() < 0.3:
            found = smart.conjunction(found, smart.lt(self.fused(), 20))
        return found


@pytest.mark.parametrize("batch", range(max(COUNT // BATCH, 1)))
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
    for seed in range(COUNT // 8):
        maps = Maps(10**6 + seed)
        indices, predicate = maps.indices(), maps.predicate()
        points = points_of(maps.inputs, predicate)
        simplified = iter_map_simplify(indices, ranges(maps.inputs), predicate)
        for index, other in zip(indices, simplified, strict=True):
            same_numbers(index, other, points)


def test_sums():
    for seed in range(COUNT // 4):
        maps = Maps(2 * 10**6 + seed)
        index = smart.add(maps.index(), maps.index())
        if seed % 4 == 0:
            index = smart.add(index, smart.maximum(index, 3))
        total = normalize_to_iter_sum(index, ranges(maps.inputs))
        points = points_of(maps.inputs, None)
        same_numbers(index, normalize_iter_map_to_expr(total), points)

"""What iterator maps claim, checked on every point of their inputs; random maps."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import numpy as np
from xdsl.dialects.builtin import i32

from support.expr_trees import Array, evaluate, grid, leaves_of
from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Const, Expr
from xdsl_tvm.analysis.arith.int_set import Range
from xdsl_tvm.analysis.arith.iter_map import (
    IterMapLevel,
    IterMapResult,
    IterSplitExpr,
    detect_iter_map,
    normalize_iter_map_to_expr,
)

Inputs = Mapping[Expr, tuple[int, int]]
"""Leaves with their least value and their extent."""


def ranges(inputs: Inputs) -> dict[Expr, Range]:
    return {
        leaf: Range(Const(low, leaf.dtype), Const(extent, leaf.dtype))
        for leaf, (low, extent) in inputs.items()
    }


def points_of(inputs: Inputs, predicate: Expr | None) -> dict[Expr, Array]:
    """All points of the inputs at which the predicate is true."""
    points = grid({leaf: range(low, low + n) for leaf, (low, n) in inputs.items()})
    if predicate is None:
        return points
    where = evaluate(predicate, points).numbers != 0
    return {leaf: numbers[where] for leaf, numbers in points.items()}


def number(node: Expr) -> int:
    value = smart.literal(node)
    assert isinstance(value, int), node
    return value


def unscaled(split: IterSplitExpr) -> IterSplitExpr:
    one = smart.const(1, split.scale.dtype)
    return IterSplitExpr(split.source, split.lower_factor, split.extent, one)


def checked(
    indices: Sequence[Expr],
    inputs: Inputs,
    predicate: Expr | None = None,
    level: IterMapLevel = IterMapLevel.SURJECTIVE,
) -> IterMapResult:
    """What is detected, after all of its claims have been found true."""
    found = detect_iter_map(indices, ranges(inputs), predicate, level)
    assert bool(found.errors) != bool(found.indices) or not indices
    points = points_of(inputs, predicate)
    count = len(next(iter(points.values())))
    if found.errors or not count:
        return found
    for index, total in zip(indices, found.indices, strict=True):
        same_numbers(index, normalize_iter_map_to_expr(total), points)
    if level is IterMapLevel.NO_CHECK:
        return found
    splits = [split for total in found.indices for split in total.args]
    columns = [
        evaluate(normalize_iter_map_to_expr(unscaled(split)), points).numbers
        for split in splits
    ]
    combinations = (
        {tuple(row) for row in np.stack([*columns, columns[0]], 1).tolist()}
        if (columns)
        else {()}
    )
    size = 1
    for split, column in zip(splits, columns, strict=True):
        size *= number(split.extent)
        assert column.min() >= 0
        assert column.max() < number(split.extent)
    assert len(combinations) == size, ([str(i) for i in indices], str(predicate))
    if level is IterMapLevel.BIJECTIVE:
        assert size == count
    return found


def same_numbers(a: Expr, b: Expr, points: Mapping[Expr, Array]) -> None:
    left, right = evaluate(a, points), evaluate(b, points)
    assert (left.numbers == right.numbers)[left.defined].all(), (str(a), str(b))
    assert right.defined[left.defined].all()


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

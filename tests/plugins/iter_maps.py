"""What iterator maps claim, checked on every point of their inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from expr_trees import Array, evaluate, grid

from xdsl_tvm.analysis import smart
from xdsl_tvm.analysis.expr import Const, Expr
from xdsl_tvm.analysis.int_set import Range
from xdsl_tvm.analysis.iter_map import (
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

"""Whatever a deduced bound holds makes the condition true, for all relaxed values."""

from __future__ import annotations

import os
import random

import numpy as np
import pytest
from support.expr_trees import evaluate, grid, leaves_of
from xdsl.dialects.builtin import i32

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.deduce_bound import deduce_bound
from xdsl_tvm.analysis.arith.expr import (
    Add,
    Cmp,
    Const,
    Expr,
    FloorDiv,
    Max,
    Min,
    Mul,
    Sub,
)
from xdsl_tvm.analysis.arith.int_set import IntSet
from xdsl_tvm.dialects.tir import CmpPredicate

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "150"))
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))
BATCH = 50
V, R, H, P = leaves_of(i32, i32, i32, i32)
RANGES = {V: range(-40, 41), R: range(-2, 3), H: range(-3, 0), P: range(1, 4)}
POINTS = grid(RANGES)
RELAX = {R: IntSet(Const(-2, i32), Const(2, i32))}
HINT = {
    H: IntSet(Const(-3, i32), Const(-1, i32)),
    P: IntSet(Const(1, i32), Const(3, i32)),
}


def around(draw: random.Random, node: Expr) -> Expr:
    """The tree as an operand of another node; sometimes one without an inverse."""
    other = draw.choice((R, H, P, *(Const(n, i32) for n in (-3, -2, 1, 2, 3, 5))))
    kind = draw.choice((Add, Sub, Mul, Mul, FloorDiv, FloorDiv, Add, Sub, Min, Max))
    if kind is FloorDiv:
        other = draw.choice((H, P, Const(-3, i32), Const(2, i32), Const(4, i32)))
        return FloorDiv(node, other)
    return kind(node, other) if draw.random() < 0.6 else kind(other, node)


@pytest.mark.parametrize("batch", range(FIRST, FIRST + max(COUNT // BATCH, 1)))
def test_deduced_bounds(batch: int):
    draw = random.Random(batch)
    found_some = 0
    for _ in range(BATCH):
        left: Expr = V
        for _ in range(draw.randrange(1, 4)):
            left = around(draw, left)
        right = smart.add(draw.choice((R, H, P)), draw.randrange(-12, 13))
        condition = Cmp(draw.choice(list(CmpPredicate)), left, right)
        found = deduce_bound(V, condition, HINT, RELAX)
        if found.is_nothing:
            continue
        found_some += 1
        inside = np.ones(len(POINTS[V]), dtype=bool)
        if found.min is not None:
            inside &= POINTS[V] >= evaluate(found.min, POINTS).numbers
        if found.max is not None:
            inside &= POINTS[V] <= evaluate(found.max, POINTS).numbers
        truth = evaluate(condition, POINTS)
        assert truth.numbers[inside & truth.defined].all(), (condition, str(found))
    assert found_some > BATCH // 10

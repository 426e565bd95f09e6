"""Integer sets hold every value that a tree takes.

Random trees, with some of their leaves relaxed to symbolic intervals of the others,
evaluated on every point of small ranges. The ordinary run takes a few hundred;
`XDSL_TVM_FUZZ=100000` takes that many.
"""

from __future__ import annotations

import os

import numpy as np
import pytest
from support.expr_trees import Array, Trees, evaluate, grid, leaves_of
from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.analyzer import Analyzer, ProofStrength
from xdsl_tvm.analysis.arith.expr import Expr, leaf_values
from xdsl_tvm.analysis.arith.int_set import IntSet, simplified, union_lower_bound
from xdsl_tvm.dialects.integers import Bound

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "100"))
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))
BATCH = 50

V, W, A, B = LEAVES = leaves_of(i32, i32, i32, i32)
FREE = {A: range(-3, 4), B: range(1, 4)}
POINTS = grid({V: range(-6, 7), W: range(-6, 7), **FREE})


def end_of(trees: Trees) -> Expr:
    """A literal or a free leaf, with an offset at times."""
    leaf = trees.random.choice((A, B, A))
    offset = trees.random.randrange(-3, 4)
    if trees.random.random() < 0.5:
        return smart.const(offset, i32)
    return smart.add(leaf, offset)


def set_of(trees: Trees) -> IntSet:
    low = end_of(trees)
    if trees.random.random() < 0.5:
        return IntSet(low, smart.add(low, trees.random.randrange(0, 5)))
    high = end_of(trees)
    ends = low if trees.random.random() < 0.9 else None, high
    return IntSet(*ends)


def members(found: IntSet, numbers: Array, where: Array) -> Array:
    """Where the numbers are in the set; ends that are needed must be defined."""
    inside = np.ones(len(numbers), dtype=bool)
    for end, compare in ((found.min, np.greater_equal), (found.max, np.less_equal)):
        if end is not None:
            values = evaluate(end, POINTS)
            assert values.defined[where].all(), end
            inside &= compare(numbers, values.numbers)
    return inside


def analyzer_of_free_leaves() -> Analyzer:
    analyzer = Analyzer()
    for leaf, numbers in FREE.items():
        analyzer.update(leaf, Bound(min(numbers), max(numbers)))
    return analyzer


@pytest.mark.parametrize("batch", range(FIRST, FIRST + max(COUNT // BATCH, 1)))
def test_sets_hold_all_values(batch: int):
    analyzer = analyzer_of_free_leaves()
    trees = Trees(LEAVES, batch, index_only=True)
    for size in range(BATCH):
        env = {V: set_of(trees), W: set_of(trees)}
        everywhere = np.ones(len(POINTS[V]), dtype=bool)
        allowed = members(env[V], POINTS[V], everywhere)
        allowed &= members(env[W], POINTS[W], everywhere)
        tree = trees.integer(2 + size % 9)
        values = evaluate(tree, POINTS)
        where = allowed & values.defined
        found = analyzer.int_set(tree, env)
        if found.is_nothing:
            assert not where.any()
            continue
        assert members(found, values.numbers, where)[where].all(), (tree, str(found))
        for end in (found.min, found.max):
            if end is not None:
                assert not {V, W} & set(map(leaf_node, leaf_values(end)))


def leaf_node(value: SSAValue) -> Expr:
    return next(leaf for leaf in LEAVES if leaf.payload is value)


@pytest.mark.parametrize("batch", range(FIRST, FIRST + max(COUNT // BATCH, 1)))
def test_symbolic_proofs(batch: int):
    """What the ends of sets prove holds."""
    trees = Trees(LEAVES, 100 + batch, index_only=True)
    proved = 0
    for _ in range(BATCH // 2):
        analyzer = analyzer_of_free_leaves()
        condition = trees.condition(7)
        with analyzer.constraint(smart.lt(V, A)), analyzer.constraint(smart.ge(W, V)):
            if analyzer.can_prove(condition, ProofStrength.SYMBOLIC_BOUND):
                proved += 1
                values = evaluate(condition, POINTS)
                where = (POINTS[V] < POINTS[A]) & (POINTS[W] >= POINTS[V])
                assert values.numbers[values.defined & where].all(), condition
    assert proved or batch


def test_union_lower_bounds_hold_no_more_than_the_sets():
    analyzer = analyzer_of_free_leaves()
    trees = Trees(LEAVES, 9)
    everywhere = np.ones(len(POINTS[V]), dtype=bool)
    for _ in range(60):
        sets = [simplified(set_of(trees), analyzer) for _ in range(3)]
        found = union_lower_bound(sets, analyzer)
        inside = members(found, POINTS[V], everywhere)
        any_of = np.zeros_like(inside)
        for each in sets:
            any_of |= members(each, POINTS[V], everywhere)
        assert (any_of | ~inside).all(), [str(each) for each in sets]

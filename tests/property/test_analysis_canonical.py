"""Canonical forms have the value of the tree, whatever the facts and the types are."""

from __future__ import annotations

import os
from contextlib import ExitStack

import numpy as np
import pytest
from support.expr_trees import Trees, evaluate, grid, i8, leaves_of, ui8
from xdsl.dialects.builtin import i32, i64

from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import Expr
from xdsl_tvm.dialects.integers import Bound

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "200"))
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))
BATCH = 50

LEAVES = leaves_of(i32, i32, i32, i8, ui8, i64)
RANGES = dict(
    zip(
        LEAVES,
        (range(-5, 6), range(8), range(1, 4), (-128, 0, 127), (0, 255), range(-1, 2)),
        strict=True,
    )
)
POINTS = grid(RANGES)


def random_tree(trees: Trees, size: int) -> Expr:
    if trees.random.random() < 0.3:
        return trees.condition(size)
    return trees.integer(size, trees.random.choice((i32, i32, i64, i8)))


@pytest.mark.parametrize("batch", range(FIRST, FIRST + max(COUNT // BATCH, 1)))
def test_same_values(batch: int):
    trees = Trees(LEAVES, 31 * batch, index_only=bool(batch % 2))
    for step in range(BATCH):
        analyzer = Analyzer()
        if step % 2:
            for leaf, numbers in RANGES.items():
                analyzer.update(leaf, Bound(min(numbers), max(numbers)))
        where = np.ones(len(POINTS[LEAVES[0]]), dtype=bool)
        with ExitStack() as scopes:
            if step % 3 == 0:
                condition = trees.condition(4)
                found = evaluate(condition, POINTS)
                where = found.defined & (found.numbers != 0)
                scopes.enter_context(analyzer.constraint(condition))
            tree = random_tree(trees, 2 + step % 14)
            result = analyzer.canonical_simplify(tree)
            before, after = evaluate(tree, POINTS), evaluate(result, POINTS)
            checked = where & before.defined
            assert after.defined[checked].all(), (tree, result)
            same = before.numbers[checked] == after.numbers[checked]
            assert same.all(), (tree, result)
            assert analyzer.canonical_simplify(result).dtype == tree.dtype

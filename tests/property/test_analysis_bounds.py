"""Bounds and modular sets are never narrower than the truth.

Random trees of all operators, evaluated on every point of small ranges, with and without
constraints. The ordinary run takes a few hundred; `XDSL_TVM_FUZZ=100000` takes that many.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from itertools import product

import numpy as np
import pytest
from support.expr_trees import Array, Trees, Values, evaluate, grid, i8, leaves_of, ui8
from xdsl.dialects.builtin import i32, i64

from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import Expr, postorder
from xdsl_tvm.dialects import integers
from xdsl_tvm.dialects.integers import INF, Bound, truncated_quotient

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "200"))
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))
BATCH = 50

LEAVES = leaves_of(i32, i32, i8, ui8, i64)
RANGES = dict(
    zip(
        LEAVES,
        (range(-3, 4), range(1, 5), (-128, -7, 0, 127), (0, 3, 255), range(-2, 3)),
        strict=True,
    )
)
POINTS = grid(RANGES)


def analyzer_of_ranges() -> Analyzer:
    analyzer = Analyzer()
    for leaf, numbers in RANGES.items():
        analyzer.update(leaf, Bound(min(numbers), max(numbers)))
    return analyzer


def check(
    analyzer: Analyzer, root: Expr, where: Array, known: dict[Expr, Values]
) -> None:
    for node in postorder(root):
        found = known.get(node)
        if found is None:
            found = known[node] = evaluate(node, POINTS)
        numbers = found.numbers[found.defined & where]
        if not len(numbers):
            continue
        bound = analyzer.const_int_bound(node)
        assert bound.min <= numbers.min(), (node, bound)
        assert bound.max >= numbers.max(), (node, bound)
        modulus = analyzer.modular_set(node)
        for number in np.unique(numbers):
            assert int(number) in modulus, (node, str(modulus), number)


@pytest.mark.parametrize("batch", range(FIRST, FIRST + max(COUNT // BATCH, 1)))
def test_random_trees(batch: int):
    analyzer = analyzer_of_ranges()
    trees = Trees(LEAVES, batch)
    everywhere = np.ones(len(POINTS[LEAVES[0]]), dtype=bool)
    for size in range(BATCH):
        dtype = trees.random.choice((i32, i32, i8, ui8))
        check(analyzer, trees.integer(2 + size % 9, dtype), everywhere, {})


@pytest.mark.parametrize("batch", range(FIRST, FIRST + max(COUNT // BATCH, 1)))
def test_random_trees_under_constraints(batch: int):
    """Conditions, and the trees in them, say more where the conditions hold."""
    trees = Trees(LEAVES, 7000 + batch)
    for _ in range(BATCH // 5):
        analyzer = analyzer_of_ranges()
        known: dict[Expr, Values] = {}
        where = np.ones(len(POINTS[LEAVES[0]]), dtype=bool)
        with ExitStack() as scopes:
            for _ in range(2):
                condition = trees.condition(6)
                found = evaluate(condition, POINTS)
                where &= found.defined & (found.numbers != 0)
                scopes.enter_context(analyzer.constraint(condition))
                check(analyzer, condition, where, known)
                check(analyzer, trees.integer(6), where, known)


_LIMITS = (-INF, -4, -2, -1, 0, 1, 3, 4, INF)
_BOUNDS = [
    Bound(low, high)
    for low, high in product(_LIMITS, _LIMITS)
    if low <= high and low != INF and high != -INF
]
_FAR = 9


def samples(bound: Bound) -> range:
    return range(int(max(bound.min, -_FAR)), int(min(bound.max, _FAR)) + 1)


def remainder(a: int, b: int) -> int:
    return a - truncated_quotient(a, b) * b


def truncated(a: Bound, b: Bound) -> Bound:
    return integers.quotient(a, b, floor=False)


def floored(a: Bound, b: Bound) -> Bound:
    return integers.quotient(a, b, floor=True)


Operation = tuple[Callable[[Bound, Bound], Bound], Callable[[int, int], int]]
_OPERATIONS: dict[str, Operation] = {
    "add": (integers.add, int.__add__),
    "sub": (integers.sub, int.__sub__),
    "mul": (integers.mul, int.__mul__),
    "div": (truncated, truncated_quotient),
    "floordiv": (floored, int.__floordiv__),
    "mod": (integers.remainder_toward_zero, remainder),
    "floormod": (integers.floor_remainder, int.__mod__),
    "bitwise_and": (integers.bitwise_and, int.__and__),
    "bitwise_or": (integers.bitwise_or, int.__or__),
    "bitwise_xor": (integers.bitwise_xor, int.__xor__),
    "shift_left": (integers.shift_left, int.__lshift__),
    "shift_right": (integers.shift_right, int.__rshift__),
}


def allows(name: str, right: int) -> bool:
    if name in ("div", "floordiv", "mod", "floormod"):
        return right != 0
    return right >= 0 if name.startswith("shift") else True


@pytest.mark.parametrize("name", _OPERATIONS)
def test_all_bounds_of_small_operands(name: str):
    """Every pair of bounds, half-infinite ones too, against all numbers nearby."""
    bound_of, compute = _OPERATIONS[name]
    for a, b in product(_BOUNDS, _BOUNDS):
        bound = bound_of(a, b)
        results = [
            compute(left, right)
            for left, right in product(samples(a), samples(b))
            if allows(name, right)
        ]
        assert all(bound.min <= result <= bound.max for result in results), (a, b)
        if results and a.is_finite and b.is_finite and name in _TIGHT:
            assert bound == Bound(min(results), max(results)), (a, b)


_TIGHT = ("add", "sub", "mul", "div", "floordiv", "shift_right", "shift_left")
"""Operations whose bound of finite operands is the narrowest there is."""

"""Deduced bounds: the cases, and more of them by value.

Cases: docs/spec/tir-passes-b-arith-and-loops.md §1.20.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import pytest
from support.expr_trees import Symbol, choice, equal, greatest, least, symbols
from xdsl.dialects.builtin import i32

from xdsl_tvm.analysis.arith import int_set
from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.deduce_bound import deduce_bound
from xdsl_tvm.analysis.arith.expr import Call, Const, Expr
from xdsl_tvm.analysis.arith.int_set import NOTHING, IntSet

A, B, C, D = symbols(i32, i32, i32, i32)
End = Symbol | int | None
Sets = Mapping[Symbol, tuple[int, int]]
NONE: Sets = MappingProxyType({})


def end(value: End) -> Expr | None:
    if value is None:
        return None
    return value.node if isinstance(value, Symbol) else Const(value, i32)


def sets(found: Sets) -> dict[Expr, IntSet]:
    return {leaf.node: IntSet(end(low), end(high)) for leaf, (low, high) in found.items()}


def deduced(condition: Symbol, hint: Sets, relax: Sets) -> IntSet:
    return deduce_bound(A.node, condition.node, sets(hint), sets(relax))


def check(
    condition: Symbol, low: End, high: End, hint: Sets = NONE, relax: Sets = NONE
) -> None:
    analyzer = Analyzer()
    found = deduced(condition, hint, relax)
    expected = int_set.simplified(IntSet(end(low), end(high)), analyzer)
    assert found == expected, str(found)


def check_fails(condition: Symbol, hint: Sets = NONE, relax: Sets = NONE) -> None:
    assert deduced(condition, hint, relax) == NOTHING


HINT: Sets = {B: (4, 8), C: (-8, -4), D: (1, 9)}


# ---- spec 1.20, deduce bound ----


def test_sums():
    check(A + B < D, None, D - B - 1)
    check(B - A > D, None, B - D - 1)
    check(A - 7 >= D, D + 7, None)
    check(equal(A + 3, B), B - 3, B - 3)


def test_mirrored():
    check(B > A, None, B - 1)
    check(B <= A, B, None)
    check(equal(B, A), B, B)


def test_factors_by_sign():
    check(A * 4 < 16, None, 3)
    check(A * -3 < 16, -5, None)
    check(A * C < D, (D - 1) // C + 1, None, HINT)
    check(A * B <= D, None, D // B, HINT)
    check_fails(A * B <= D)


def test_maximum_of_the_variable():
    check_fails(greatest(Symbol(Const(5, i32)), A * 4) < 0)


def test_relaxed():
    check(A + B < D, None, -8, relax={B: (4, 8), D: (1, 9)})
    check(A * 4 + B * 3 >= C, 0, None, relax={B: (0, 8), C: (-3, 0)})


def test_equations():
    check(equal(A, B), B, B)
    check_fails(equal(A, B), relax={B: (0, 2)})
    check(equal(A * 5, -10), -2, -2)
    check_fails(equal(A * 4, B))
    check(equal(B * A, B), 1, 1, HINT)


@pytest.mark.parametrize(
    "condition",
    [
        A + B,
        (A < B) & (B < 3),
        equal(choice(A < B, A, B), 3),
        A * 2 + A < B,
        A % 3 < B,
        least(A, B) < 3,
        greatest(A, 3) < B,
        ~(A < B),
        ~equal(A, B),
        Symbol(Const(8, i32)) // A > 3,
        B // A > 3,
    ],
    ids=str,
)
def test_no_bound(condition: Symbol):
    check_fails(condition, HINT)


def test_calls_around_the_variable():
    shifted = Symbol(Call("shift_left", [A.node, Const(1, i32)], i32))
    check_fails(shifted < B)


@pytest.mark.parametrize(
    ("condition", "low", "high"),
    [
        (A // 8 > 3, 32, None),
        (A // 8 >= 3, 24, None),
        (A // 8 < 3, None, 23),
        (A // 8 <= 3, None, 31),
        (A // -8 > 3, None, -32),
        (A // -8 >= 3, None, -24),
        (A // -8 < 3, -23, None),
        (A // -8 <= 3, -31, None),
    ],
    ids=str,
)
def test_quotients(condition: Symbol, low: int | None, high: int | None):
    check(condition, low, high)


def test_more_quotients():
    check_fails(equal(A // 8, 3))
    check(B * 3 + A // 8 < 63, None, 359, relax={B: (2, 6)})


def test_sub_expressions():
    """The variable may be any tree."""
    found = deduce_bound((A * B).node, ((A * B) + 3 < C).node)
    assert found == IntSet(None, Analyzer().simplify((C - 4).node))

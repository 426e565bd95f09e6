"""Constructors of trees that fold, and what they leave alone.

Rules: docs/spec/tir-passes-b-arith-and-loops.md §1.2.
"""

from __future__ import annotations

import math

import pytest
from support.expr_trees import i8, leaves_of, ui8
from xdsl.dialects.builtin import (
    Float16Type,
    IntegerType,
    Signedness,
    VectorType,
    f32,
    f64,
    i1,
    i32,
    i64,
)

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import (
    Add,
    Broadcast,
    Call,
    Cast,
    Cmp,
    Const,
    Div,
    Expr,
    FloorDiv,
    Max,
    Min,
    Mul,
    Ramp,
    Select,
)
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.dtypes import integer_range
from xdsl_tvm.dialects.tir import CmpPredicate

f16 = Float16Type()
ui32 = IntegerType(32, Signedness.UNSIGNED)
X, Y, F, C, W, B, U = leaves_of(i32, i32, f32, i1, i64, i8, ui32)
ZERO, ONE = Const(0, i32), Const(1, i32)
BIG = (1 << 31) - 1


def test_literals_fold():
    assert smart.add(Const(2, i32), 3) is Const(5, i32)
    assert smart.mul(Const(100, i8), Const(3, i8)) is Const(44, i8)
    assert smart.truncdiv(Const(-7, i32), 2) is Const(-3, i32)
    assert smart.floordiv(Const(-7, i32), 2) is Const(-4, i32)
    assert smart.floormod(Const(-7, i32), 2) is Const(1, i32)
    assert smart.truncmod(Const(-7, i32), 2) is Const(-1, i32)
    assert smart.minimum(Const(2, i32), 3) is Const(2, i32)
    assert smart.add(Const(0.5, f32), 0.25) is Const(0.75, f32)
    assert smart.add(Const(1.0, f16), 1.0) is Add(Const(1.0, f16), Const(1.0, f16))
    assert smart.lt(Const(2, i32), 3) is Const(1, i1)
    assert smart.negation(Const(1, i1)) is Const(0, i1)
    assert smart.call("shift_left", [ONE, Const(3, i32)], i32) is Const(8, i32)


def test_neutral_elements_fold():
    for tree in (
        smart.add(X, 0),
        smart.add(0, X),
        smart.sub(X, 0),
        smart.mul(X, 1),
        smart.mul(1, X),
        smart.floordiv(X, 1),
        smart.minimum(X, X),
        smart.select(Const(1, i1), X, Y),
        smart.if_then_else(Const(0, i1), Y, X),
        smart.select(C, X, X),
        smart.call("shift_right", [X, ZERO], i32),
        smart.call("round", [X], i32),
    ):
        assert tree is X
    assert smart.mul(X, 0) is ZERO
    assert smart.floormod(X, 1) is ZERO
    assert smart.floordiv(0, X) is ZERO
    assert smart.conjunction(Const(1, i1), C) is C
    assert smart.disjunction(C, Const(1, i1)) is Const(1, i1)
    assert smart.mul(F, 1.0) is F
    assert smart.add(F, 0.0) is F


def test_folding_loses_no_value():
    """Index literals do not wrap, infinities are not multiplied away."""
    assert smart.add(Const(BIG, i32), 1) is Add(Const(BIG, i32), ONE)
    assert smart.add(Const(BIG, ui32), 1) is Const(BIG + 1, ui32)
    least = Const(-BIG - 1, i32)
    assert smart.truncdiv(least, -1) is Div(least, Const(-1, i32))
    assert smart.mul(F, 0.0) is Mul(F, Const(0.0, f32))
    assert smart.truncdiv(0.0, F) is Div(Const(0.0, f32), F)
    assert smart.truncdiv(X, 0) is Div(X, ZERO)
    # The literal is rounded to its type where it is evaluated.
    tenth = Const(0.1, f32)
    assert smart.eq(tenth, Const(0.10000000149011612, f32)) is Const(1, i1)
    assert smart.literal(Const(0.1, f16)) != 0.1


def test_operands_are_brought_to_one_type():
    assert smart.add(X, W) is Add(Cast(i64, X), W)
    assert smart.add(X, U) is Add(Cast(ui32, X), U)
    assert smart.add(X, F) is Add(Cast(f32, X), F)
    assert smart.add(F, Const(1.0, f64)) is Add(Cast(f64, F), Const(1.0, f64))
    assert smart.add(C, X) is Add(Cast(i32, C), X)
    lanes = VectorType(i32, [4])
    ramp = Ramp(lanes, X, ONE)
    assert smart.add(ramp, Y) is Add(ramp, Broadcast(lanes, Y))
    assert smart.add(ramp, 2) is Add(ramp, Broadcast(lanes, Const(2, i32)))
    with pytest.raises(ValueError, match="one of the operands must be a tree"):
        smart.add(1, 2)
    (pointer,) = leaves_of(tir.HandleType())
    with pytest.raises(ValueError, match="has no arithmetic"):
        smart.add(pointer, X)


def test_casts_fold():
    lanes, wide = VectorType(i32, [4]), VectorType(i64, [4])
    assert smart.cast(i32, X) is X
    assert smart.cast(i8, Const(300, i32)) is Const(44, i8)
    assert smart.cast(i32, Const(2.75, f32)) is Const(2, i32)
    assert smart.cast(i1, Const(5, i32)) is Const(1, i1)
    assert smart.cast(f32, Const(3, i32)) is Const(3.0, f32)
    assert smart.cast(wide, Broadcast(lanes, X)) is Broadcast(wide, Cast(i64, X))
    ramp = Ramp(lanes, X, ONE)
    assert smart.cast(wide, ramp) is Ramp(wide, Cast(i64, X), Const(1, i64))
    assert smart.cast(wide, X) is Broadcast(wide, Cast(i64, X))


def test_casts_that_change_the_value_stay():
    huge = Const(1e10, f32)
    assert smart.cast(i32, huge) is Cast(i32, huge)
    nan = Const(float("nan"), f32)
    assert smart.cast(i32, nan) is Cast(i32, nan)
    narrow = Ramp(VectorType(i8, [4]), B, Const(1, i8))
    wide = VectorType(i32, [4])
    assert smart.cast(wide, narrow) is Cast(wide, narrow)
    odd = Const((1 << 62) + 1, i64)
    assert smart.cast(f32, odd) is Cast(f32, odd)


def test_calls_of_literals_fold():
    half = Const(2.5, f32)
    assert smart.call("floor", [half], f32) is Const(2.0, f32)
    assert smart.call("ceil", [half], f32) is Const(3.0, f32)
    assert smart.call("nearbyint", [half], f32) is Const(2.0, f32)
    assert smart.call("round", [half], f32) is Const(3.0, f32)
    assert smart.call("round", [Const(-2.5, f32)], f32) is Const(-3.0, f32)
    assert smart.call("isnan", [X], i1) is Const(0, i1)
    assert smart.call("likely", [Const(1, i1)], i1) is Const(1, i1)
    likely = Call("likely", [C], i1)
    assert smart.call("likely", [C], i1) is likely


def test_trees_are_folded_from_the_leaves():
    tree: Expr = Select(
        Cmp(CmpPredicate.LT, Const(1, i32), Const(2, i32)), Add(X, Mul(Y, ZERO)), Y
    )
    assert smart.folded(tree) is X
    assert smart.const(3, VectorType(ui8, [2])).dtype == VectorType(ui8, [2])
    with pytest.raises(ValueError, match="no integer type"):
        integer_range(f32)


@pytest.mark.parametrize("divisor", [2.0, 1e-300])
@pytest.mark.parametrize("number", [math.inf, -math.inf, math.nan, 1e300])
def test_infinite_quotients_are_not_floored(number: float, divisor: float) -> None:
    lhs, rhs = Const(number, f64), Const(divisor, f64)
    found = smart.binary(FloorDiv, lhs, rhs)
    if number == 1e300 and divisor == 2.0:
        assert found is Const(5e299, f64)
    else:
        assert isinstance(found, FloorDiv)


def test_the_lesser_of_nan_is_nan() -> None:
    nan, one = Const(math.nan, f32), Const(1.0, f32)
    for kind in (Min, Max):
        assert smart.binary(kind, nan, one) is nan
        assert smart.binary(kind, one, nan) is nan

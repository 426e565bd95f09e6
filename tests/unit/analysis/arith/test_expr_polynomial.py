"""Polynomial normal forms: what they prove, and that what they prove is true."""

from __future__ import annotations

import itertools
import random

import pytest
from xdsl.dialects.builtin import IntegerType, Signedness, i1, i8, i32, i64
from xdsl.ir import Attribute, Block

from xdsl_tvm.analysis.arith.expr import (
    Add,
    Cast,
    Const,
    Div,
    Expr,
    FloorDiv,
    FloorMod,
    Max,
    Min,
    Mod,
    Mul,
    Sub,
    Value,
    fold,
    postorder,
)
from xdsl_tvm.analysis.arith.polynomial import (
    MAX_TERMS,
    Polynomial,
    polynomial,
    prove_equal,
)

ui32 = IntegerType(32, Signedness.UNSIGNED)


def variables(dtype: Attribute, count: int) -> list[Expr]:
    return [Value(arg) for arg in Block(arg_types=[dtype] * count).args]


def c(value: int, dtype: Attribute = i32) -> Expr:
    return Const(value, dtype)


def evaluate(tree: Expr, values: dict[Expr, int]) -> int:
    """The value in the integers; raises ZeroDivisionError where it is undefined."""

    def compute(node: Expr, operands: list[int]) -> int:
        match node:
            case Const(value=value):
                return int(value)
            case Cast():
                return operands[0]
            case Add():
                return operands[0] + operands[1]
            case Sub():
                return operands[0] - operands[1]
            case Mul():
                return operands[0] * operands[1]
            case FloorDiv():
                return operands[0] // operands[1]
            case FloorMod():
                return operands[0] % operands[1]
            case Div():
                return _truncated(*operands)
            case Mod():
                return operands[0] - operands[1] * _truncated(*operands)
            case Min():
                return min(operands)
            case Max():
                return max(operands)
            case _:
                raise AssertionError(node)

    return fold(tree, compute, dict(values))


def _truncated(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def test_exact_divisions_are_resolved():
    p, q = variables(i32, 2)
    assert prove_equal(FloorDiv(Mul(c(72), p), c(72)), p)
    assert prove_equal(Div(Mul(c(72), p), c(72)), p)
    assert prove_equal(FloorMod(Mul(c(72), p), c(72)), c(0))
    assert prove_equal(Mod(Mul(p, c(72)), c(8)), c(0))
    assert prove_equal(FloorDiv(Mul(Mul(p, q), c(6)), Mul(c(3), q)), Mul(c(2), p))
    assert prove_equal(FloorDiv(Sub(Mul(p, p), Mul(q, q)), Sub(p, q)), Add(p, q))
    assert not prove_equal(FloorDiv(Mul(c(71), p), c(72)), p)
    assert not prove_equal(FloorDiv(Mul(p, p), Mul(p, q)), p)


def test_sums_and_products_have_one_form():
    p, q = variables(i32, 2)
    square = Mul(Add(p, q), Add(q, p))
    assert prove_equal(square, Add(Add(Mul(p, p), Mul(Mul(p, c(2)), q)), Mul(q, q)))
    assert prove_equal(Sub(p, p), c(0))
    assert polynomial(Sub(Add(p, c(5)), p)).as_constant == 5
    assert polynomial(p).as_constant is None
    assert polynomial(Sub(p, p)).as_constant == 0


def test_only_arithmetic_that_cannot_wrap_is_expanded():
    for dtype in (i8, ui32):
        p, q = variables(dtype, 2)
        assert not prove_equal(Sub(Add(p, q), q), p)
        assert not prove_equal(FloorDiv(Mul(c(2, dtype), p), c(2, dtype)), p)


def test_casts_that_keep_values_are_seen_through():
    (p,) = variables(i32, 1)
    wide = Cast(i64, Mul(c(8), p))
    assert prove_equal(FloorDiv(wide, c(8, i64)), Cast(i64, p))
    assert prove_equal(Cast(i64, Add(p, c(1))), Add(Cast(i64, p), c(1, i64)))
    (w,) = variables(i64, 1)
    narrow = Cast(i32, Add(w, c(1, i64)))
    assert not prove_equal(narrow, Add(Cast(i32, w), c(1)))
    (b,) = variables(i1, 1)
    (u,) = variables(ui32, 1)
    assert prove_equal(Sub(Cast(i32, b), Cast(i32, b)), c(0))
    assert prove_equal(Cast(i64, u), Cast(i64, u))
    assert not prove_equal(Cast(i64, Cast(i32, u)), Cast(i64, u))


def test_quotients():
    p, q = (polynomial(v) for v in variables(i32, 2))
    two, zero = Polynomial.constant(2), Polynomial.constant(0)
    assert (p * q).exact_quotient(q) == p
    assert (p * two).exact_quotient(two) == p
    assert p.exact_quotient(two) is None
    assert p.exact_quotient(zero) is None
    assert zero.exact_quotient(p) == zero
    assert two.exact_quotient(p) is None
    assert ((p + q) * (p - q) * (p + two)).exact_quotient(p - q) == (p + q) * (p + two)
    assert (p * p + q).exact_quotient(p) is None


def test_trees_of_polynomials():
    p, q = variables(i32, 2)
    form = polynomial(Add(Mul(Add(p, q), c(3)), Mul(p, q)))
    assert form.to_expr(i32) is Add(Add(Mul(p, q), Mul(p, c(3))), Mul(q, c(3)))
    assert polynomial(form.to_expr(i32)) == form
    assert polynomial(p).to_expr(i64) is Cast(i64, p)
    assert Polynomial.constant(0).to_expr(i64) is c(0, i64)
    assert len({form, polynomial(form.to_expr(i32))}) == 1


def test_large_products_stay_atoms():
    many = variables(i32, MAX_TERMS // 8)
    total = many[0]
    for variable in many[1:]:
        total = Add(total, variable)
    product = Mul(total, total)
    assert polynomial(product).terms == {(product,): 1}
    assert prove_equal(Sub(product, product), c(0))


def test_deep_and_shared_sums_take_linear_time():
    p, q = variables(i32, 2)
    deep = p
    for _ in range(20_000):
        deep = Add(deep, q)
    assert polynomial(deep).terms == {(p,): 1, (q,): 20_000}
    shared = p
    for _ in range(500):
        shared = Add(shared, shared)
    assert polynomial(shared).terms == {(p,): 2**500}


KINDS = [Add, Sub, Mul, FloorDiv, FloorMod, Div, Mod, Min, Max]


@pytest.mark.parametrize("seed", range(8))
def test_normal_forms_have_the_value_of_the_tree(seed: int):
    """Random trees, evaluated at all points of a box, against their normal form."""
    rng = random.Random(seed)
    p, q = variables(i32, 2)
    box = list(itertools.product(range(-4, 5), repeat=2))
    for _ in range(60):
        pool: list[Expr] = [p, q, *(c(n) for n in (-2, 1, 2, 3, 6))]
        for _ in range(rng.randint(1, 9)):
            kind = rng.choice(KINDS)
            pool.append(kind(rng.choice(pool[-6:]), rng.choice(pool)))
        tree = pool[-1]
        form = polynomial(tree).to_expr(i32)
        assert all(node.dtype == i32 for node in postorder(form))
        for point in box:
            values = dict(zip((p, q), point, strict=True))
            try:
                expected = evaluate(tree, values)
            except ZeroDivisionError:
                continue
            assert evaluate(form, values) == expected, f"{tree} at {point}: {form}"

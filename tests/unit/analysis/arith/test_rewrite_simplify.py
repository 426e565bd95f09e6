"""The rewrite simplifier: the cases, hazards and limits.

Cases: docs/spec/tir-passes-b-arith-and-loops.md §1.20.

One example for every rule is in `test_rewrite_simplify_rules.py`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from itertools import product

import pytest
from support.effort import calls
from support.expr_trees import evaluate, grid, i8, leaves_of, ui8
from support.rule_terms import TermTrees
from xdsl.dialects.builtin import Float16Type, VectorType, f32, f64, i1, i16, i32, i64
from xdsl.ir import Attribute

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.analyzer import Analyzer, ProofStrength, Range
from xdsl_tvm.analysis.arith.expr import (
    Add,
    And,
    Broadcast,
    Call,
    Cast,
    Cmp,
    Const,
    Div,
    Expr,
    FloorDiv,
    FloorMod,
    IfThenElse,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    Ramp,
    Select,
    Sub,
    Value,
    postorder,
)
from xdsl_tvm.analysis.arith.extension import Extension
from xdsl_tvm.analysis.arith.patterns import parse_term
from xdsl_tvm.analysis.arith.rewrite_simplify import RewriteLimitError
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.integers import INF, Bound
from xdsl_tvm.dialects.tir import CmpPredicate

TRUE, FALSE = Const(1, i1), Const(0, i1)
Ranges = Mapping[str, tuple[float, float]]
UP = (0, INF)


class Known:
    """An analyzer and trees by their text in the rule language."""

    def __init__(
        self,
        ranges: Ranges | None = None,
        facts: Sequence[str] = (),
        extensions: Extension = Extension.NONE,
        dtype: Attribute = i32,
    ) -> None:
        self.trees = TermTrees({}, dtype)
        self.analyzer = Analyzer(extensions)
        for name, (low, high) in (ranges or {}).items():
            self.analyzer.update(self.tree(f"{name} + 0").operands[0], Bound(low, high))
        self.facts = [self.tree(fact) for fact in facts]

    def tree(self, text: str) -> Expr:
        return self.trees.tree(parse_term(text))

    def simplified(self, root: Expr) -> Expr:
        with ExitStack() as scopes:
            for fact in self.facts:
                scopes.enter_context(self.analyzer.constraint(fact))
            return self.analyzer.rewrite_simplify(root)

    def check(self, before: str, after: str | None = None) -> None:
        """The one becomes the other, or stays."""
        wanted = self.tree(before if after is None else after)
        assert self.simplified(self.tree(before)) is wanted, before


def check(
    before: str,
    after: str | None = None,
    ranges: Ranges | None = None,
    facts: Sequence[str] = (),
) -> None:
    Known(ranges, facts).check(before, after)


def simplify(root: Expr) -> Expr:
    return Analyzer().rewrite_simplify(root)


# ---- the cases of the spec ----


@pytest.mark.parametrize("k", range(-3, 4))
def test_bounds_of_multiples(k: int):
    # Rewrite 1
    check(f"x * 2 <= {k}", f"x <= {k // 2}")
    check(f"x * 2 >= {k}", f"{-(-k // 2)} <= x")
    check(f"x * (-2) <= {k}", f"{-(k // 2)} <= x")
    check(f"x * (-2) >= {k}", f"x <= {-k // 2}")
    check("x * 4 <= 2", "x <= 0")
    check("x * 4 >= 2", "1 <= x")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # Rewrite 2
        ("td(x, 2) >= 0", "-1 <= x"),
        ("x // 2 >= 0", "0 <= x"),
        ("td(x, 2) <= -1", "x <= -2"),
        # Rewrite 3
        ("x // 4 * 4 >= x", "x % 4 == 0"),
        # Rewrite 4
        ("(x * 8 + 7) // 16", "x // 2"),
        ("(x * 8 + 39) // 16", "x // 2 + 2"),
        ("(x * 8 + -1) // 16", "(x * 8 + -1) // 16"),
        ("(x * 8 - 9) // 16", "x // 2 + -1"),
        # Rewrite 7
        ("(x + 1) % 2 + x % 2", "1"),
        ("(x + 1) % 2", "(x + 1) % 2"),
        ("(x + 5) // 2 - (x - 3) // 2", "4"),
        # Rewrite 8
        ("(x - x % 9) % 9", "0"),
        ("(x - x % -9) % 9", "0"),
        ("(x - x % 9) % -9", "0"),
        ("(x - x % y) % y", "0"),
        ("(x - x % -y) % y", "0"),
        ("(x + -x % 9) % 9", "0"),
        ("(x + 8 * x % 9) % 9", "0"),
        # Rewrite 9
        ("tm(x * -10 + y, 2)", "tm(x * -10 + y, 2)"),
        ("tm(x * 10, -2)", "0"),
        # Rewrite 10
        ("x < 20 and x % 5 < 2", "x < 17 and x % 5 < 2"),
        ("x < -20 and x % 5 < 2", "x < -23 and x % 5 < 2"),
        ("x < 16 and x % 5 < 2", "x < 16 and x % 5 < 2"),
        # Rewrite 11
        ("x // 10 == -5 and x % 10 < 7", "-50 <= x and x < -43"),
    ],
)
def test_index_expressions(before: str, after: str):
    check(before, after)


def test_linear_sums_and_bounds():
    # Rewrite 5, 6
    check("(x * 360 + y) // 25", "x * 14", {"x": (0, 1), "y": (0, 6)})
    check("(x * 32 + y) % 64", "x % 2 * 32 + y", {"y": (0, 31)})
    check("(x * 32 - y) % 64", None, {"y": (0, 31)})


def test_constraints():
    # Rewrite 12
    check("x < 11", "True", facts=["x <= 10"])
    check("z - 5 <= y + 10", "True", facts=["z <= 5", "y >= -10"])
    check("x * 6 <= -3", "False", facts=["x >= 0"])
    check("x * y <= 0", "True", facts=["x >= 0", "y <= 0"])
    check("x * y <= 0", "True", facts=["x <= 0", "y >= 0"])
    check("x * y <= 0", "x == 0 or y == 0", facts=["x >= 0", "y >= 0"])
    check("x < y and z < s", "z < s", facts=["x < y"])
    check("x < y", "False", facts=["y <= x"])
    check("not x < y", "False", facts=["x < y and z < s"])
    check("y == x", "True", facts=["x == y"])


@pytest.mark.parametrize("lattice", ["min", "max"])
def test_minima_and_maxima(lattice: str):
    # Rewrite 13
    other = {"min": "max", "max": "min"}[lattice]
    check(f"{lattice}(x, x)", "x")
    check(f"{lattice}({other}(x, y), {lattice}(x, y))", f"{lattice}(x, y)")
    check(f"{lattice}({other}(x, y), {other}(z, x))", f"{other}({lattice}(y, z), x)")
    check(f"{lattice}(x + 1, x + 10)", "x + 1" if lattice == "min" else "x + 10")
    check(f"{lattice}(x, y) + z - {lattice}(x, y)", "z")
    # What is added keeps the order of the operands.
    check(f"{lattice}(x - z, y) + z", f"{lattice}(x, y + z)")
    check(f"{lattice}(x + 3, y) + (-3)", f"{lattice}(x, y + (-3))")
    check(f"{lattice}(z, x + y) - x", f"{lattice}(z - x, y)")
    check(f"x - {lattice}(0, x - 1)", f"{other}(x, 1)")
    within = {"x": (0, 4), "y": (4, 9)}
    check(f"{lattice}(x, y)", "x" if lattice == "min" else "y", within)
    check(f"{lattice}(y, x)", "x" if lattice == "min" else "y", within)
    check(f"{lattice}(x, y)", None, {"x": (0, 5), "y": (4, 9)})


def test_choices():
    # Rewrite 15
    given = "select(x < y, {}, {})"
    for op in ("+", "-"):
        both = f"{given.format('z', 's')} {op} {given.format('s', 't')}"
        check(both, given.format(f"z {op} s", f"s {op} t"))
    for op in ("min", "max"):
        both = f"{op}({given.format('z', 's')}, {given.format('x', 't')})"
        check(both, given.format(f"{op}(z, x)", f"{op}(s, t)"))
    check(f"{given.format('z', 's')} - s", given.format("z - s", "0"))
    check(f"{given.format('z', 's')} - z", given.format("0", "s - z"))
    check(given.format("z", "z"), "z")


@pytest.mark.parametrize("lanes", [4, None])
@pytest.mark.parametrize("dtype", [i32, i64])
def test_vectors(dtype: Attribute, lanes: int | None):
    # Rewrite 14
    x, y, z, s = leaves_of(dtype, dtype, dtype, dtype)
    vector = tir.with_lanes(dtype, lanes or 4, scalable=lanes is None)
    mask = tir.like_lanes(i1, vector)

    def ramp(base: Expr, stride: Expr | int) -> Expr:
        step = Const(stride, dtype) if isinstance(stride, int) else stride
        return Ramp(vector, base, step)

    def every(lane: Expr | int) -> Expr:
        return Broadcast(vector, Const(lane, dtype) if isinstance(lane, int) else lane)

    examples: list[tuple[Expr, Expr]] = [
        (Add(ramp(x, z), ramp(y, s)), ramp(Add(x, y), Add(z, s))),
        (Sub(ramp(x, z), ramp(y, s)), ramp(Sub(x, y), Sub(z, s))),
        (Add(ramp(x, z), every(y)), ramp(Add(x, y), z)),
        (Add(every(y), ramp(x, z)), ramp(Add(y, x), z)),
        (Sub(ramp(x, z), every(y)), ramp(Sub(x, y), z)),
        (Sub(every(y), ramp(x, z)), ramp(Sub(y, x), Sub(Const(0, dtype), z))),
        (Mul(ramp(x, z), every(y)), ramp(Mul(x, y), Mul(z, y))),
        (Mul(every(y), ramp(x, z)), ramp(Mul(x, y), Mul(z, y))),
        (Cmp(CmpPredicate.LT, ramp(x, z), ramp(y, z)), Broadcast(mask, smart.lt(x, y))),
        (Not(Broadcast(mask, smart.lt(x, y))), Broadcast(mask, smart.le(y, x))),
        (Min(Min(ramp(x, z), every(y)), every(s)), Min(ramp(x, z), every(Min(y, s)))),
        (Max(Max(ramp(x, z), every(y)), every(s)), Max(ramp(x, z), every(Max(y, s)))),
        (FloorDiv(ramp(x, 8), every(4)), ramp(smart.floordiv(x, 4), 2)),
        (FloorMod(ramp(x, 8), every(4)), every(smart.floormod(x, 4))),
        (Mul(every(0), ramp(x, z)), every(0)),
        (Mul(ramp(x, z), every(0)), every(0)),
    ]
    for kind in (Add, Sub, Mul, Div, Mod, FloorDiv, FloorMod, Min, Max):
        examples.append((kind(every(x), every(y)), every(kind(x, y))))
    for before, after in examples:
        assert simplify(before) is after, before
    for before in (
        FloorDiv(ramp(smart.mul(x, 8), 3), every(4)),
        FloorDiv(ramp(x, 1), every(4)),
        FloorMod(ramp(x, 3), every(8)),
        Cmp(CmpPredicate.LT, ramp(x, z), ramp(y, s)),
    ):
        assert simplify(before) is before, before


@pytest.mark.parametrize("kind", [Div, Mod])
def test_truncated_divisions_of_ramps(kind: type[Div | Mod]):
    """Lanes that may be negative are rounded the other way: only others are split."""
    (x,) = leaves_of(i32)
    vector = VectorType(i32, [4])
    root = kind(Ramp(vector, smart.mul(x, 8), Const(1, i32)), smart.const(4, vector))
    assert simplify(root) is root
    analyzer = Analyzer()
    analyzer.update(x, Bound(0, 100))
    found = analyzer.rewrite_simplify(root)
    wanted = {
        Div: Broadcast(vector, smart.mul(x, 2)),
        Mod: Ramp(vector, Const(0, i32), Const(1, i32)),
    }
    assert found is wanted[kind]


@pytest.mark.parametrize("dtype", [i8, i16, i32, i64, ui8, f32, f64, Float16Type()])
def test_casts_of_differences(dtype: Attribute):
    # Rewrite 16, but for floats: an infinity less itself is no zero.
    (x,) = leaves_of(dtype)
    for target in (i1, i8, i32, i64, f32):
        difference = Cast(target, Sub(x, x))
        if tir.is_float(dtype):
            assert not isinstance(simplify(difference), Const)
        else:
            assert simplify(difference) is Const(0, target)
        equal = Cast(target, Cmp(CmpPredicate.EQ, x, x))
        if tir.is_float(dtype):
            assert isinstance(simplify(equal), Cast | Cmp)
        else:
            assert simplify(equal) is Const(1, target)


def test_the_difference_of_a_load_and_itself():
    # Rewrite 17: the reference's result is 0.0, which a load of an infinity is not.
    (load,) = leaves_of(f32)
    difference = Sub(load, load)
    assert simplify(difference) is difference
    (load,) = leaves_of(i32)
    assert simplify(Sub(load, load)) is Const(0, i32)


def test_nested_lazy_choices():
    # Rewrite 18
    x, y, b, c = leaves_of(i32, i32, i1, i1)
    zero, one = Const(0, i32), Const(1, i32)
    nested = IfThenElse(b, IfThenElse(c, x, zero), zero)
    assert simplify(nested) is IfThenElse(And(b, c), x, zero)
    other = IfThenElse(b, IfThenElse(c, x, zero), one)
    assert simplify(other) is other
    implied = IfThenElse(smart.lt(x, 3), IfThenElse(smart.lt(x, 5), y, zero), one)
    assert simplify(implied) is IfThenElse(smart.lt(x, 3), y, one)


def test_a_condition_that_needs_the_outer_one_is_not_merged():
    """`y // x` must not be evaluated where `x` is 0."""
    x, y = leaves_of(i32, i32)
    zero = Const(0, i32)
    inner = IfThenElse(smart.lt(FloorDiv(y, x), 3), y, zero)
    root = IfThenElse(Not(smart.eq(x, 0)), inner, zero)
    assert isinstance(simplify(root).operands[1], IfThenElse)


def test_comparisons_of_products_and_sums():
    # Rewrite 21
    extension = Extension.COMPARISON_OF_PRODUCT_AND_SUM
    product_is_less = "x * y < (x + y) * 2048"
    for ranges in (
        {"x": (1, 2047), "y": (1, INF)},
        {"x": (1, 4095), "y": (1, 4095)},
    ):
        Known(ranges, extensions=extension).check(product_is_less, "True")
        Known(ranges, extensions=extension).check("x * y >= (x + y) * 2048", "False")
        assert Known(ranges).simplified(Known(ranges).tree(product_is_less)) is not TRUE
    both = {"x": (1, 4095), "y": (1, 4095)}
    Known(both, extensions=extension).check("x * y * 2 < (x + y) * 4096", "True")
    Known(both, extensions=extension).check("x * y * 2 < (x + y) * 4099", "True")
    wide = {"x": (1, 5000), "y": (1, 5000)}
    known = Known(wide, extensions=extension)
    assert known.simplified(known.tree(product_is_less)) not in (TRUE, FALSE)


def test_choices_know_their_condition():
    # Canonical 12
    x, y = leaves_of(i32, i32)
    zero = Const(0, i32)
    small = IfThenElse(smart.lt(Div(x, Const(3, i32)), 2), x, zero)
    root = Select(smart.ge(x, 10), small, zero)
    assert simplify(root) is zero
    root = Select(smart.lt(x, y), Min(x, y), Max(x, y))
    found = simplify(root)
    assert isinstance(found, Select)
    literal = IfThenElse(smart.lt(x, x), FloorDiv(x, zero), y)
    assert simplify(literal) is y


@pytest.mark.parametrize("method", ["rewrite_simplify", "canonical_simplify"])
def test_eager_choices_stay_defined(method: str):
    """`8 // (x > 3 ? 1 : y)` is not `8 // y` where its value is not chosen."""
    x, y = leaves_of(i32, i32)
    divisor = IfThenElse(smart.gt(x, 3), Const(1, i32), y)
    for quotient in (FloorDiv(Const(8, i32), divisor), Mod(Const(8, i32), divisor)):
        for kind in (Select, IfThenElse):
            root = kind(smart.lt(x, 3), quotient, y)
            points = grid({x: range(7), y: range(-2, 3)})
            wanted = evaluate(root, points)
            found = evaluate(getattr(Analyzer(), method)(root), points)
            assert found.defined[wanted.defined].all()
            same = found.numbers == wanted.numbers
            assert same[wanted.defined].all()


def test_proofs():
    # Simplify/prove 1, 2, 5
    i0, i1_ = leaves_of(i64, i64)
    analyzer = Analyzer()
    analyzer.bind(i0, Range(Const(0, i64), Const(8, i64)))
    analyzer.bind(i1_, Range(Const(0, i64), Const(3, i64)))
    flat = smart.add(smart.mul(i0, 3), i1_)
    again = smart.add(
        smart.mul(smart.floordiv(flat, 12), 12),
        smart.add(
            smart.mul(smart.floordiv(smart.floormod(flat, 12), 4), 4),
            smart.floormod(smart.floormod(flat, 12), 4),
        ),
    )
    assert analyzer.can_prove_equal(flat, again)
    for dtype in (i8, i16, i32, i64, ui8, f32, f64):
        (n,) = leaves_of(dtype)
        assert Analyzer().can_prove_equal(n, n)
    x, y = leaves_of(i32, i32)
    cast_of_bool = smart.eq(Cast(i32, smart.lt(x, y)), Cast(i32, smart.lt(y, x)))
    assert not Analyzer().can_prove(cast_of_bool, ProofStrength.SYMBOLIC_BOUND)


# ---- hazards ----


def test_quotients_of_sums_toward_zero_need_a_dividend_that_is_not_negative():
    """TVM makes `td(tm(x, 3) + 2, 3)` of the first, which is wrong at -2."""
    before = "td(x + 5, 3) - td(x + 3, 3)"
    known = Known({"x": (-2, 100)})
    root = known.tree(before)
    (x,) = (node for node in postorder(root) if isinstance(node, Value))
    points = grid({x: range(-2, 101)})
    found = evaluate(known.simplified(root), points)
    assert (found.numbers == evaluate(root, points).numbers).all()
    check("td(x + 5, 3) - td(x + 4, 3)", "td(tm(x + 1, 3) + 1, 3)", {"x": (0, 100)})


def test_ramps_that_cross_zero():
    """Toward zero, the lanes 1, 0 and -1 modulo 4 are not in one block of floors."""
    (x,) = leaves_of(i32)
    vector = VectorType(i32, [3])
    base = Add(Mul(x, Const(4, i32)), Const(1, i32))
    analyzer = Analyzer()
    analyzer.update(x, Bound(0, 5))
    for kind in (Div, Mod, FloorDiv, FloorMod):
        root = kind(Ramp(vector, base, Const(-1, i32)), smart.const(4, vector))
        points = grid({x: range(0, 6)})
        wanted = evaluate(root, points)
        found = evaluate(analyzer.rewrite_simplify(root), points)
        assert (found.numbers == wanted.numbers).all()


def test_strides_toward_zero():
    """The lanes -1 and 3 both divided by 4 are 0: not a ramp with stride 1, as in TVM."""
    (x,) = leaves_of(i32)
    vector = VectorType(i32, [2])
    root = Div(Ramp(vector, x, Const(4, i32)), smart.const(4, vector))
    assert simplify(root) is root
    analyzer = Analyzer()
    analyzer.update(x, Bound(0, 9))
    wanted = Ramp(vector, smart.truncdiv(x, 4), Const(1, i32))
    assert analyzer.rewrite_simplify(root) is wanted


@pytest.mark.parametrize("divisor", [-4, -3, 3, 4])
def test_quotients_and_remainders_together(divisor: int):
    """TVM takes a negative divisor for a positive one here."""
    for quotient, rest, op in product((-2, 0, 1), range(-5, 6), ("<", "<=", "==")):
        known = Known()
        text = f"x // {divisor} == {quotient} and x % {divisor} {op} {rest}"
        root = known.tree(text)
        points = grid({known.trees.leaves["x"]: range(-20, 21)})
        found = evaluate(known.simplified(root), points)
        assert (found.numbers == evaluate(root, points).numbers).all(), text


def test_constant_bases_are_no_divisors():
    """The modular set of a constant has the coefficient 0."""
    vector = VectorType(i32, [4])
    for base, divisor in product(range(-3, 9), (-3, 2, 4, 5)):
        for kind in (Div, Mod, FloorDiv, FloorMod):
            root = kind(
                Ramp(vector, Const(base, i32), Const(3, i32)),
                smart.const(divisor, vector),
            )
            wanted, found = evaluate(root, {}), evaluate(simplify(root), {})
            assert (found.numbers == wanted.numbers).all()


@pytest.mark.parametrize("dtype", [f32, f64])
def test_comparisons_with_a_nan(dtype: Attribute):
    x, y = leaves_of(dtype, dtype)
    for predicate in CmpPredicate:
        node = Cmp(predicate, x, y)
        assert isinstance(simplify(Not(node)), Not)
    assert simplify(Cmp(CmpPredicate.EQ, x, x)) is Cmp(CmpPredicate.EQ, x, x)
    assert isinstance(simplify(Or(smart.lt(x, y), smart.le(y, x))), Or)
    assert simplify(And(smart.lt(x, y), smart.le(y, x))) is FALSE
    less = smart.lt(x, y)
    analyzer = Analyzer()
    with analyzer.constraint(Not(less)):
        assert analyzer.rewrite_simplify(less) is FALSE
        assert analyzer.rewrite_simplify(smart.le(y, x)) is smart.le(y, x)


def test_sums_of_floats_are_rounded():
    x, y = leaves_of(f32, f32)
    root = Sub(Add(x, y), y)
    assert simplify(root) is root
    third = Div(x, Const(3.0, f32))
    assert simplify(third) is third
    assert simplify(Div(x, Const(math.inf, f32))) is Div(x, Const(math.inf, f32))


def test_unsigned_differences_are_no_negations():
    x, y = leaves_of(ui8, ui8)
    root = Sub(x, Add(x, y))
    assert simplify(root) is root
    assert simplify(Sub(Add(x, y), y)) is x


def test_contradicting_facts():
    """Nothing is wrong in code that is not reached, and nothing fails either."""
    known = Known(facts=["x < 0", "x > 3", "x == 5", "x // 2 == 7"])
    for text in ("x < 1", "x // 3 + x % 3", "min(x, 2) == x", "x == y or y < x"):
        known.simplified(known.tree(text))


# ---- extensions ----


def test_conjunctions_of_disjunctions():
    known = Known(extensions=Extension.CONVERT_BOOLEAN_TO_AND_OF_ORS)
    known.check("x < y and z < s or x < y", "x < y")
    known.check("x < y and z < s or x < t", "(x < y or x < t) and (z < s or x < t)")
    known.check("(x < y or z < s) and (x < y or s <= z)", "x < y")
    known.check("(x < y or x == y) and z < s", "x <= y and z < s")
    known.check("(x < 3 or z < s) and (z < s or 5 < x)", "z < s")
    known.check("x < y and (y <= x or z < s) and s <= z")


def test_conditions_that_guard_a_division_are_not_expanded():
    known = Known(extensions=Extension.CONVERT_BOOLEAN_TO_AND_OF_ORS)
    guarded = "z < 5 or not x == 0 and y // x < 3"
    known.check(guarded, "z < 5 or x != 0 and y // x < 3")


def test_large_conditions_are_not_expanded():
    x = leaves_of(*[i1] * 24)
    root: Expr = FALSE
    for a, b in zip(x[::2], x[1::2], strict=True):
        root = smart.disjunction(root, And(a, b))
    analyzer = Analyzer(Extension.CONVERT_BOOLEAN_TO_AND_OF_ORS)
    results: list[Expr] = []
    entered = calls(lambda: results.append(analyzer.rewrite_simplify(root)))
    assert isinstance(results[0], Or)
    assert entered < 1_000_000


def test_operands_of_conditions_know_each_other():
    extension = Extension.APPLY_CONSTRAINTS_TO_BOOLEAN_BRANCHES
    known = Known(extensions=extension)
    known.check("x < 5 and (x < 7 and y < 3)", "x < 5 and y < 3")
    known.check("x < 5 or (x < 3 or y < 3)", "x < 5 or y < 3")
    Known().check("x < 5 and (x < 7 or y < 3)")
    guard = "x != 0 and y // x * x + y % x < 3"
    assert isinstance(known.simplified(known.tree(guard)), And)


def test_chains_of_comparisons():
    facts = ["x < y", "y < z", "z <= s"]
    extension = Extension.TRANSITIVELY_PROVE_INEQUALITIES
    Known(facts=facts, extensions=extension).check("x + 1 < s", "True")
    Known(facts=facts).check("x < y + 1", "True")
    assert Known(facts=facts).simplified(Known().tree("x + 1 < s")) is not TRUE


# ---- bindings and calls ----


def test_bound_variables_are_replaced():
    x, y, b = leaves_of(i32, i32, i1)
    analyzer = Analyzer()
    analyzer.bind(x, smart.add(y, 2))
    assert analyzer.rewrite_simplify(Sub(x, y)) is Const(2, i32)
    with analyzer.constraint(b):
        assert analyzer.rewrite_simplify(Not(b)) is FALSE
        assert analyzer.rewrite_simplify(Call("likely", [b], i1)) is TRUE
    assert analyzer.rewrite_simplify(Call("likely", [b], i1)) is Call("likely", [b], i1)


# ---- limits ----


def chain(length: int, leaves: Sequence[Expr]) -> Expr:
    """A deep tree of all index operators."""
    root = leaves[0]
    for index in range(length):
        leaf = leaves[index % len(leaves)]
        match index % 7:
            case 0:
                root = Add(root, leaf)
            case 1:
                root = Mul(root, Const(3, i32))
            case 2:
                root = FloorDiv(root, Const(5, i32))
            case 3:
                root = Min(root, leaf)
            case 4:
                root = Sub(leaf, root)
            case 5:
                root = FloorMod(root, Const(64, i32))
            case _:
                root = Select(smart.lt(root, leaf), root, leaf)
    return root


DEEP = 1100
"""Deeper than Python recurses."""


def test_deep_trees():
    leaves = leaves_of(i32, i32, i32)
    deep = chain(DEEP, leaves)
    assert simplify(deep).dtype == i32
    conjunction: Expr = TRUE
    choice: Expr = leaves[0]
    for index in range(DEEP):
        condition = Cmp(CmpPredicate.LT, leaves[index % 3], Const(index, i32))
        conjunction = smart.conjunction(condition, conjunction)
        choice = Select(condition, choice, leaves[1])
    assert simplify(conjunction).dtype == i1
    assert simplify(choice).dtype == i32


def visits(length: int) -> int:
    analyzer = Analyzer()
    analyzer.rewrite_simplify(chain(length, leaves_of(i32, i32, i32)))
    return analyzer.rewrite_simplify_stats.nodes_visited


def test_visits_grow_with_the_tree():
    assert visits(600) < 3 * visits(300)


def test_the_rewrites_are_limited():
    analyzer = Analyzer()
    (x,) = leaves_of(i32)
    root = Add(Sub(Add(x, Const(3, i32)), x), Const(4, i32))
    assert analyzer.rewrite_simplify(root) is Const(7, i32)
    stats = analyzer.rewrite_simplify_stats
    performed = stats.rewrites_performed
    assert performed > 0
    assert stats.rewrites_attempted >= performed
    assert stats.rules.total() == performed
    analyzer.reset_rewrite_simplify_stats()
    assert analyzer.rewrite_simplify_stats.rewrites_performed == 0
    limited = Analyzer()
    limited.set_maximum_rewrites(performed - 1)
    with pytest.raises(RewriteLimitError, match="more than"):
        limited.rewrite_simplify(root)
    limited.set_maximum_rewrites(None)
    assert limited.rewrite_simplify(root) is Const(7, i32)


def test_results_are_kept_while_the_facts_hold():
    analyzer = Analyzer()
    x, y = leaves_of(i32, i32)
    root = smart.lt(Min(x, y), Max(x, y))
    found = analyzer.rewrite_simplify(root)
    visited = analyzer.rewrite_simplify_stats.nodes_visited
    assert analyzer.rewrite_simplify(root) is found
    assert analyzer.rewrite_simplify_stats.nodes_visited == visited
    with analyzer.constraint(smart.lt(x, y)):
        assert analyzer.rewrite_simplify(root) is TRUE
    assert analyzer.rewrite_simplify(root) is found

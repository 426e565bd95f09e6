"""The analyzer: facts and their scopes, bounds, modular sets, proofs.

The cases of docs/spec/tir-passes-b-arith-and-loops.md §1.20 are named by their numbers
there.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations_with_replacement

import pytest
from support.expr_trees import (
    Symbol,
    choice,
    comparison,
    equal,
    greatest,
    i8,
    least,
    leaves_of,
    symbols,
    td,
    tm,
    ui8,
)
from support.ir import parse
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
from xdsl.ir import Attribute, Operation

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.analyzer import Analyzer, ProofStrength, Range
from xdsl_tvm.analysis.arith.expr import Broadcast, Call, Cast, Const, Expr, Ramp, Value
from xdsl_tvm.analysis.arith.extension import Extension
from xdsl_tvm.analysis.arith.modular_set import ModularSet
from xdsl_tvm.analysis.arith.transitive_comparison import Comparison
from xdsl_tvm.analysis.tir.scoped_facts import FactsWalker
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.integers import INF, Bound
from xdsl_tvm.dialects.tir import CmpPredicate
from xdsl_tvm.dialects.tir.folding import wrap

X, Y, Z, N = symbols(i32, i32, i32, i32)
ui32 = IntegerType(32, Signedness.UNSIGNED)
INT32 = Bound(-(1 << 31), (1 << 31) - 1)
Limits = tuple[float, float]
TRUE, FALSE = Const(1, i1), Const(0, i1)


def number(value: int) -> Expr:
    return Const(value, i32)


def bound(tree: Symbol | Expr, **limits: Limits) -> Limits:
    """The bound of a tree, with `x`, `y`, `z` and `n` within these limits."""
    analyzer = Analyzer()
    for name, (low, high) in limits.items():
        leaf = {"x": X, "y": Y, "z": Z, "n": N}[name]
        analyzer.update(leaf.node, Bound(low, high))
    node = tree.node if isinstance(tree, Symbol) else tree
    found = analyzer.const_int_bound(node)
    return found.min, found.max


# ---- constant bounds ----


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        (i64, (-INF, INF)),
        (i8, (-128, 127)),
        (ui8, (0, 255)),
        (i1, (0, 1)),
        (f32, (-INF, INF)),
        (IntegerType(64, Signedness.UNSIGNED), (0, INF)),
    ],
)
def test_bounds_of_types(dtype: Attribute, expected: Limits):
    #  1.20 Const bounds, case 1
    (leaf,) = leaves_of(dtype)
    assert bound(leaf) == expected


def test_bounds_of_size_variables():
    size = tir.ShapeVarOp("n", i32, size_var=True).result
    assert bound(Value(size)) == (0, INT32.max)
    assert bound(Value(tir.ShapeVarOp("n").result)) == (INT32.min, INT32.max)


def test_bounds_of_casts():
    #  1.20 Const bounds, case 2, where TVM has [0, 2] for the first: -1 is 2^32 - 1.
    (x,) = symbols(i8)
    rest = tm(x, 3)
    assert bound(rest.to(ui32)) == (0, (1 << 32) - 1)
    assert bound(rest.to(f32).to(i32)) == (-2, 2)
    assert bound((X % 200).to(i8)) == (-128, 127)
    assert bound((X % 100).to(i8)) == (0, 99)
    assert bound(X.to(Float16Type()).to(i64)) == (-INF, INF)
    assert bound((X > 0).to(i32)) == (0, 1)
    assert bound(X.to(i1), x=(3, 9)) == (1, 1)


def test_bounds_of_sums_and_products():
    #  1.20 Const bounds, cases 3 and 4
    ranges: dict[str, Limits] = {"x": (0, 4), "y": (1, 10)}
    assert bound(X + Y, **ranges) == (1, 14)
    assert bound(X - Y, **ranges) == (-10, 3)
    assert bound(X * Y + 20, x=(-2, 4), y=(4, 10)) == (0, 60)
    wide = symbols(i64, i64)
    analyzer = Analyzer()
    analyzer.update(wide[0].node, Bound(-INF, 4))
    analyzer.update(wide[1].node, Bound(-8, 2))
    assert analyzer.const_int_bound((wide[0] * wide[1]).node) == Bound(-INF, INF)


def test_bounds_of_quotients():
    #  1.20 Const bounds, cases 5 and 6
    assert bound(td(X, Y), x=(-9, 4), y=(4, 10)) == (-2, 1)
    assert bound(td(X, Y), x=(-9, 4), y=(-2, 0)) == (-4, 9)
    assert bound(td(X, Y), x=(-9, 4), y=(-4, 12)) == (-9, 9)
    assert bound(X // Y, x=(-9, 4), y=(4, 10)) == (-3, 1)
    assert bound(X // Y, x=(-9, 4), y=(-2, 0)) == (-4, 9)
    assert bound(X // Y, x=(-9, 4), y=(-4, 12)) == (-9, 9)
    a, b = symbols(ui32, ui32)
    analyzer = Analyzer()
    analyzer.update(a.node, Bound(1, 4))
    analyzer.update(b.node, Bound(0, 12))
    assert analyzer.const_int_bound((a // b).node) == Bound(0, 4)


def test_bounds_of_remainders():
    #  1.20 Const bounds, cases 7, 8 and 9
    assert bound(tm(X, Y), x=(-9, 4), y=(4, 10)) == (-9, 4)
    assert bound(tm(X, Y), y=(4, 10)) == (-9, 9)
    assert bound(tm(X, Y), x=(1, INF), y=(4, 10)) == (0, 9)
    for limits in ((-9, 4), (-INF, INF), (1, INF)):
        assert bound(X % Y, x=limits, y=(4, 10)) == (0, 9)
    assert bound(X % Y, x=(0, 6), y=(-5, 7)) == (-4, 6)
    assert bound(X // Y, x=(0, 6), y=(0, INF)) == (0, 6)
    assert bound(X % Y, x=(0, 6), y=(0, INF)) == (0, 6)


def test_bounds_of_choices():
    #  1.20 Const bounds, case 10
    assert bound(least(X, Y), x=(-INF, 11), y=(4, INF)) == (INT32.min, 11)
    assert bound(greatest(X, Y), x=(-INF, 11), y=(4, INF)) == (4, INT32.max)
    tree = choice(X > 1, (Y < 0).to(i32), Y + 1)
    assert bound(tree, y=(4, 10)) == (0, 11)


def test_bounds_of_bits():
    #  1.20 Const bounds, case 11
    pair = [X.node, Y.node]
    ranges: dict[str, Limits] = {"x": (-9, 11), "y": (2, 10)}
    assert bound(Call("shift_right", pair, i32), **ranges) == (-3, 2)
    assert bound(Call("bitwise_and", pair, i32), **ranges) == (0, 10)
    assert bound(Call("bitwise_or", pair, i32), x=(1, 4), y=(2, 8)) == (2, 15)
    assert bound(Call("bitwise_not", pair[:1], i32), x=(1, 4)) == (-5, -2)
    assert bound(Call("shift_left", pair, i32), x=(1, 3), y=(0, 2)) == (1, 12)
    assert bound(Call("shift_left", pair, i32), x=(1, 3)) == (INT32.min, INT32.max)
    assert bound(Call("popcount", pair[:1], i32)) == (0, 32)


# CASE: Simplify.9
@pytest.mark.parametrize("amounts", [(-1, 3), (0, 32), (-5, -1), (32, 40)])
@pytest.mark.parametrize("name", ["shift_left", "shift_right"])
def test_bounds_of_undefined_shifts(name: str, amounts: Limits):
    """Nothing is known of a shift whose amount may be outside of the type."""
    pair = [X.node, Y.node]
    assert bound(Call(name, pair, i32), x=(1, 3), y=amounts) == (INT32.min, INT32.max)


# CASE: Simplify.9
def test_bounds_of_shifts_of_negative_numbers():
    pair = [X.node, Y.node]
    ranges: dict[str, Limits] = {"x": (-1, 3), "y": (0, 2)}
    assert bound(Call("shift_left", pair, i32), **ranges) == (INT32.min, INT32.max)
    assert bound(Call("shift_right", pair, i32), **ranges) == (-1, 3)


@pytest.mark.parametrize("name", ["shift_left", "shift_right"])
def test_bounds_of_shifts_contain_what_is_computed(name: str):
    """All ranges of a few numbers and amounts; undefined ones result in 0."""
    x, y = symbols(i8, i8)
    compute = int.__lshift__ if name == "shift_left" else int.__rshift__
    ends = (-128, -3, 0, 5, 127), (-2, 0, 3, 7, 8, 9)
    for low, high in combinations_with_replacement(ends[0], 2):
        for least_amount, most in combinations_with_replacement(ends[1], 2):
            analyzer = Analyzer()
            analyzer.update(x.node, Bound(low, high))
            analyzer.update(y.node, Bound(least_amount, most))
            found = analyzer.const_int_bound(Call(name, [x.node, y.node], i8))
            for value in {low, high, (low + high) // 2}:
                for amount in range(least_amount, most + 1):
                    result = 0
                    if 0 <= amount < 8:
                        result = wrap(compute(value, amount), i8)
                    assert found.min <= result <= found.max


def test_moduli_of_undefined_shifts():
    for amount in (-1, 32, 40):
        shift = Call("shift_right", [(X * 64).node, number(amount)], i32)
        assert modulus(shift) == (1, 0)


def test_bounds_of_split_sums():
    #  1.20 Const bounds, case 12
    assert bound(tm(X, 8) + td(X, 8) * 8, x=(0, 23)) == (0, 23)
    assert bound(tm(X, 7) + td(X, 7) * 7, x=(0, 23)) == (0, 27)


def test_bounds_of_bindings():
    #  1.20 Const bounds, case 13
    analyzer = Analyzer()
    analyzer.bind(X.node, number(1))
    assert analyzer.const_int_bound((X + 1).node) == Bound(2, 2)


def test_bounds_under_conditions():
    #  1.20 Const bounds, case 14
    analyzer = Analyzer()
    analyzer.update(X.node, Bound(0, 128))
    rest = X % 58
    with analyzer.constraint(((rest >= 1) & (rest < 57)).node):
        assert analyzer.const_int_bound((rest - 1).node) == Bound(0, 55)
    assert analyzer.const_int_bound((rest - 1).node).min == -1


def test_bounds_of_vectors():
    #  1.20 Const bounds, case 15
    lanes = VectorType(i32, [4])
    two = Broadcast(lanes, number(2))
    assert bound(Broadcast(lanes, X.node), x=(0, 128)) == (0, 128)
    ramp = Ramp(lanes, X.node, number(2))
    assert bound(smart.add(ramp, two), x=(0, 128)) == (2, 136)
    scalable = tir.parse_dtype("int32xvscalex4")
    assert bound(Ramp(scalable, X.node, number(1)), x=(0, 1)) == (0, INF)
    analyzer = Analyzer(vscale=(1, 2, 4, 8, 16))
    analyzer.update(X.node, Bound(0, 1))
    found = analyzer.const_int_bound(Ramp(scalable, X.node, number(1)))
    assert found == Bound(0, 64)
    assert analyzer.const_int_bound(Call("vscale", (), i32)) == Bound(1, 16)
    assert bound(Call("vscale", (), i32)) == (1, INF)


def test_bounds_do_not_follow_each_other():
    #  1.20 Const bounds, case 16: only the canonical form has tight bounds
    a, b, c = X, Y, Z
    tree = (a + b) * c - a * b
    ranges: dict[str, Limits] = {"x": (1, 4), "y": (1, 4), "z": (8, 8)}
    assert bound(tree, **ranges) == (0, 63)


def test_narrow_arithmetic_wraps():
    x, y = symbols(i8, ui8)
    assert bound(x + 1) == (-128, 127)
    assert bound(y - 1) == (0, 255)
    assert bound(y % 16 + 1) == (1, 16)
    assert bound(X + 1) == (INT32.min + 1, INT32.max + 1)


def test_bounds_of_rounded_logarithms():
    logarithm = Call("log2", (X.to(f64).node,), f64)
    rounded = Cast(i32, Call("ceil", (logarithm,), f64))
    assert bound(rounded, x=(4, 1000)) == (2, 10)
    assert bound(rounded, x=(0, 1000)) == (INT32.min, INT32.max)


# ---- modular sets ----


def modulus(tree: Symbol | Expr, analyzer: Analyzer | None = None) -> tuple[int, int]:
    node = tree.node if isinstance(tree, Symbol) else tree
    found = (analyzer or Analyzer()).modular_set(node)
    return found.coeff, found.base


def test_moduli_of_sums_and_products():
    #  1.20 Modular sets, cases 1 and 2
    assert modulus(X * 6 + Y * 4) == (2, 0)
    analyzer = Analyzer()
    analyzer.bind(Y.node, (X * 4 + 1).node)
    assert modulus(1 - Y, analyzer) == (4, 0)
    assert modulus((X * 4 + 2) * (Y * 6 + 1)) == (4, 2)


def test_moduli_of_divisions():
    #  1.20 Modular sets, cases 3, 4 and 5; those stated are supersets of some here
    assert modulus((128 * X + 4 * Y) % 256) == (4, 0)
    assert modulus(td(X * 4 + 2, 2)) == (2, 1)
    assert modulus(td(X * 4 + 3, 2)) == (1, 0)
    positive = Analyzer()
    positive.update(X.node, Bound(0, 100))
    assert modulus(td(X * 4 + 3, 2), positive) == (2, 1)
    assert modulus((X * 4 + 3) // 2) == (2, 1)
    shift = Call("shift_right", [(X * 4 + 3).node, number(1)], i32)
    assert modulus(shift) == (2, 1)
    assert modulus(Call("bitwise_and", [(X * 4 + 3).node, number(7)], i32)) == (4, 3)
    assert modulus(tm(X * 4 + 1, 4)) == (4, 1)
    assert modulus(tm(X * 4, 4)) == (0, 0)
    assert modulus((X * 4 + 3) % 8) == (4, 3)
    assert modulus((X * 4 + 3) % 4) == (0, 3)


def test_moduli_of_choices():
    #  1.20 Modular sets, case 6
    assert modulus(least(X * 3, Y * 9)) == (3, 0)
    assert modulus(greatest(X * 3 + 1, Y * 9 + 4)) == (3, 1)
    assert modulus(choice(X > 0, X * 3 + 1, Y * 9 + 2)) == (1, 0)


def test_moduli_under_conditions():
    #  1.20 Modular sets, cases 7 and 8
    analyzer = Analyzer()
    with analyzer.constraint(equal(Y % 4, 2).node):
        assert modulus(Y + 1, analyzer) == (4, 3)
        with analyzer.constraint(equal(X % 2, 1).node):
            assert modulus(Y + 2 * X, analyzer) == (4, 0)
        assert modulus(Y + 2 * X, analyzer) == (2, 0)
    assert modulus(Y + 1, analyzer) == (1, 0)
    parts = equal(X % 3, 2) & equal(X % 5, 3) & equal(X % 7, 2)
    with analyzer.constraint(parts.node):
        assert modulus(X, analyzer) == (105, 23)
        with analyzer.constraint(equal(X, 128).node):
            assert modulus(X, analyzer) == (0, 128)
        with analyzer.constraint(equal(X % 3, 1).node):
            assert modulus(X, analyzer) == (105, 23)


def test_moduli_of_casts():
    #  1.20 Modular sets, case 9, where a float is wide enough; TVM asks nothing
    tree = X * 4 + 3
    analyzer = Analyzer()
    analyzer.update(X.node, Bound(0, 1000))
    assert modulus(tree.to(i64), analyzer) == (4, 3)
    assert modulus(tree.to(ui8), analyzer) == (4, 3)
    assert modulus(tree.to(f32).to(i32), analyzer) == (4, 3)
    assert modulus(tree.to(f32).to(i32)) == (1, 0)
    assert modulus((X * 3 + 1).to(i8)) == (1, 0)


def test_modular_sets():
    everything = ModularSet(1, 0)
    assert ModularSet.of(-4, 7) == ModularSet(4, 3)
    assert everything.is_everything
    assert 7 in ModularSet(4, 3)
    assert -1 in ModularSet(4, 3)
    assert 6 not in ModularSet(4, 3)
    assert ModularSet(0, 5).intersection(ModularSet(0, 6)) == ModularSet(0, 5)
    assert ModularSet(0, 5).intersection(ModularSet(4, 1)) == ModularSet(0, 5)
    assert ModularSet(0, 5).union(ModularSet(0, 5)) == ModularSet(0, 5)
    assert ModularSet(0, 5).union(ModularSet(0, 11)) == ModularSet(6, 5)


# ---- facts and scopes ----


def test_a_variable_is_bound_once():
    analyzer = Analyzer()
    what = Range(number(0), number(8))
    analyzer.bind(X.node, what)
    analyzer.bind(X.node, Range(number(0), number(8)))
    with pytest.raises(ValueError, match="is bound to"):
        analyzer.bind(X.node, number(3))
    analyzer.bind(X.node, number(3), override=True)
    assert analyzer.simplify((X + 1).node) is number(4)
    analyzer.bind(X.node, Range(number(0), number(1)), override=True)
    assert analyzer.simplify(X.node) is number(0)
    analyzer.bind(X.node, what, override=True)
    assert analyzer.const_int_bound(X.node) == Bound(0, 7)
    assert analyzer.simplify(X.node) is X.node


def test_what_cannot_be_bound():
    analyzer = Analyzer()
    with pytest.raises(ValueError, match="only values can be bound"):
        analyzer.bind((X + 1).node, number(3))
    with pytest.raises(ValueError, match="has type i32, its value i64"):
        analyzer.bind(X.node, Const(3, i64))
    with pytest.raises(ValueError, match="made of it"):
        analyzer.bind(X.node, (X + 1).node)
    with pytest.raises(ValueError, match="must be an i1"), analyzer.constraint(X.node):
        pass
    analyzer.update(X.node, Bound(0, 3))
    with pytest.raises(ValueError, match="has the bound"):
        analyzer.update(X.node, Bound(0, 4))


def test_bindings_do_not_go_in_circles():
    analyzer = Analyzer()
    analyzer.bind(X.node, (Y + 1).node)
    analyzer.bind(Y.node, (X - 1).node)
    assert analyzer.simplify((X - Y).node) is number(1)


def test_facts_end_with_their_scope():
    analyzer = Analyzer()
    condition = (X < Y).node
    with analyzer.constraint(condition):
        assert analyzer.truth_of(condition) is True
        assert analyzer.truth_of((Y > X).node) is True
        assert analyzer.truth_of((X >= Y).node) is False
        assert analyzer.compare(X.node, Y.node) is Comparison.LT
        analyzer.bind(Z.node, Range(number(0), number(4)))
        assert analyzer.const_int_bound(Z.node) == Bound(0, 3)
    assert analyzer.truth_of(condition) is None
    assert analyzer.compare(X.node, Y.node) is Comparison.UNKNOWN
    assert analyzer.const_int_bound(Z.node) == INT32
    analyzer.bind(Z.node, number(7))


def test_facts_end_when_an_error_passes():
    analyzer = Analyzer()
    with pytest.raises(KeyError), analyzer.constraint((X < 3).node):
        raise KeyError
    assert analyzer.const_int_bound(X.node) == INT32


def test_contradictory_facts_do_no_harm():
    analyzer = Analyzer()
    with analyzer.constraint((X < 3).node), analyzer.constraint((X > 5).node):
        assert not analyzer.const_int_bound((X * 2 + Y).node).is_empty
        analyzer.simplify((X // 4 + least(X, Y)).node)
    with analyzer.constraint(FALSE):
        analyzer.simplify((X + 1).node)
    empty = Range(number(0), number(-3))
    analyzer.bind(Y.node, empty)
    assert not analyzer.const_int_bound(Y.node).is_empty


def test_facts_of_bool_values():
    analyzer = Analyzer()
    (flag,) = symbols(i1)
    with analyzer.constraint((~flag & (X > 2)).node):
        assert analyzer.truth_of(flag.node) is False
        assert analyzer.const_int_bound(flag.node) == Bound(0, 0)
        assert analyzer.const_int_bound(X.node).min == 3
    likely = Call("likely", ((X > 2).node,), i1)
    with analyzer.constraint(likely):
        assert analyzer.const_int_bound(X.node).min == 3


def test_float_comparisons_have_no_opposite():
    x, y = symbols(f32, f32)
    analyzer = Analyzer()
    with analyzer.constraint((~(x < y)).node):
        assert analyzer.truth_of((x < y).node) is False
        assert analyzer.truth_of((x >= y).node) is None


# ---- comparisons ----


def test_transitive_comparisons():
    analyzer = Analyzer(Extension.TRANSITIVELY_PROVE_INEQUALITIES)
    facts: Sequence[Symbol] = (X < Y, Y <= Z - 3, equal(Z, N + 1))
    parts = [fact.node for fact in facts]
    with analyzer.assumed(parts):
        assert analyzer.compare(X.node, N.node) is Comparison.LT
        assert analyzer.compare((X + 2).node, N.node) is Comparison.LT
        assert analyzer.compare((X + 3).node, N.node) is Comparison.LE
        assert analyzer.compare(N.node, X.node) is Comparison.GT
        assert analyzer.compare((X + 4).node, N.node) is Comparison.UNKNOWN
        analyzer.extensions = Extension.NONE
        assert analyzer.compare(X.node, N.node) is Comparison.UNKNOWN
        assert analyzer.compare(X.node, Y.node) is Comparison.LT
        assert analyzer.compare(Z.node, N.node) is Comparison.GT


def test_comparisons_with_constants_are_part_of_chains():
    analyzer = Analyzer(Extension.TRANSITIVELY_PROVE_INEQUALITIES)
    with analyzer.constraint(((X <= 5) & (Y >= 7)).node):
        assert analyzer.compare(X.node, Y.node) is Comparison.LT
    differs = comparison(CmpPredicate.NE, X, Y + 2)
    with analyzer.constraint(differs.node):
        assert analyzer.compare(X.node, (Y + 2).node) is Comparison.NE
        assert analyzer.compare((Y + 2).node, X.node) is Comparison.NE
        assert analyzer.compare(Y.node, X.node) is Comparison.UNKNOWN


def test_contradictory_comparisons_end():
    analyzer = Analyzer(Extension.TRANSITIVELY_PROVE_INEQUALITIES)
    with analyzer.constraint((X < Y).node), analyzer.constraint((Y < X).node):
        analyzer.compare(X.node, Y.node)
        analyzer.compare(X.node, Z.node)


def test_narrow_integers_are_not_compared_by_offsets():
    x, y = symbols(i8, i8)
    analyzer = Analyzer(Extension.TRANSITIVELY_PROVE_INEQUALITIES)
    with analyzer.constraint((x < y).node):
        assert not analyzer.can_prove((x + 1 <= y).node)
        assert analyzer.can_prove((x < y).node)


def test_rebinding_forgets_comparisons():
    analyzer = Analyzer()
    analyzer.bind(X.node, Range(number(0), N.node))
    assert analyzer.compare(X.node, N.node) is Comparison.LT
    analyzer.bind(X.node, Range(number(0), Z.node), override=True)
    assert analyzer.compare(X.node, N.node) is Comparison.UNKNOWN
    assert analyzer.compare(X.node, Z.node) is Comparison.LT


# ---- proofs ----


def test_reshape_round_trip():
    #  1.20 Simplify/prove, case 1
    a, b = symbols(i64, i64)
    analyzer = Analyzer()
    analyzer.bind(a.node, Range(Const(0, i64), Const(8, i64)))
    analyzer.bind(b.node, Range(Const(0, i64), Const(3, i64)))
    fused = a * 3 + b
    tree = fused // 12 * 12 + fused % 12 // 4 * 4 + fused % 4
    assert analyzer.simplify(tree.node) is fused.node


@pytest.mark.parametrize("dtype", [i8, ui8, i32, ui32, i64, f32, f64, Float16Type()])
def test_a_value_equals_itself(dtype: Attribute):
    #  1.20 Simplify/prove, case 2
    (leaf,) = leaves_of(dtype)
    assert Analyzer().can_prove_equal(leaf, leaf)


def test_symbolic_bounds():
    #  1.20 Simplify/prove, case 3
    size = Symbol(Value(tir.ShapeVarOp("m", i32, size_var=True).result))
    analyzer = Analyzer()
    blocks = (N + 31) // 32
    analyzer.bind(X.node, Range(number(0), blocks.node))
    analyzer.bind(Y.node, Range(number(0), number(32)))
    index = X * 32 + Y
    strong = ProofStrength.SYMBOLIC_BOUND
    for condition in (
        index < blocks * 32,
        index < blocks * 32 + size,
        index + 1 <= blocks * 32,
        blocks * 32 > index,
        blocks * 32 >= index + 1,
    ):
        assert not analyzer.can_prove(condition.node)
        assert analyzer.can_prove(condition.node, strong)
    assert not analyzer.can_prove((index + 1 < blocks * 32).node, strong)
    assert not analyzer.can_prove((index < blocks * 32 - size).node, strong)


def test_vscale():
    #  1.20 Simplify/prove, case 4
    scale = Symbol(Call("vscale", (), i32))
    condition = (scale * 4 < 65).node
    assert Analyzer(vscale=(1, 2, 4, 8, 16)).can_prove(condition)
    assert not Analyzer().can_prove(condition)
    assert Analyzer().can_prove((scale > 0).node)
    even = equal(scale * 2 % 4 * (scale - 1), 0).node
    assert Analyzer(vscale=(1, 2, 4, 8, 16)).can_prove(even)
    assert not Analyzer(vscale=(1, 3)).can_prove(even)


def test_comparisons_of_casts_of_conditions_end():
    #  1.20 Simplify/prove, case 5
    analyzer = Analyzer()
    tree = equal((X < Y).to(i32), (Y < Z).to(i32))
    analyzer.simplify(tree.node)
    analyzer.can_prove((tree.to(i32) < (X < Z).to(i32)).node)


def test_bounds_against_numbers():
    analyzer = Analyzer()
    analyzer.update(X.node, Bound(2, 5))
    assert analyzer.can_prove_greater_equal((X * 2).node, 4)
    assert not analyzer.can_prove_greater_equal((X * 2).node, 5)
    assert analyzer.can_prove_less((X * 2).node, 11)
    assert not analyzer.can_prove_less((X * 2).node, 10)


def test_sizes_of_the_program_are_not_negative():
    analyzer = Analyzer()
    analyzer.mark_global_nonneg((N * 32 - 1).node)
    assert analyzer.const_int_bound(N.node).min == 1
    analyzer.mark_global_nonneg((X - 5).node)
    assert analyzer.const_int_bound(X.node).min == 5
    analyzer.mark_global_nonneg((Y * Z).node)
    assert analyzer.const_int_bound(Y.node) == INT32


def test_extents_with_literal_factors():
    analyzer = Analyzer()
    analyzer.update(X.node, Bound(0, 32))
    assert analyzer.can_prove_within_shape(X.node, (N * 32).node)
    assert not analyzer.can_prove_within_shape((X + 1).node, (N * 32).node)
    assert not analyzer.can_prove_within_shape(X.node, N.node)


def test_compare_of_other_types_is_unknown():
    x, y = symbols(f32, f32)
    assert Analyzer().compare(x.node, y.node) is Comparison.UNKNOWN
    assert Analyzer().compare(x.node, x.node) is Comparison.EQ


# ---- hazards: docs/spec/tir-passes-b-arith-and-loops.md §1.21 ----


PROGRAM = """
tir.func @f(%p: !tir.handle, %i: i32) {
  %A = tir.match_buffer %p : !tir.buffer<8xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %first = tir.load %A[%i] : i32
  %small = tir.cmp lt %first, %c1 : i32
  %again = tir.add %first, %c0 : i32
  tir.if %small {
    tir.store %c1, %A[%i] : i32
    %second = tir.load %A[%i] : i32
    %more = tir.add %second, %c1 : i32
    tir.evaluate %more : i32
    tir.evaluate %first : i32
  }
  %same = tir.sub %first, %again : i32
  %third = tir.load %A[%i] : i32
  %other = tir.sub %third, %first : i32
  tir.evaluate %same : i32
  tir.evaluate %other : i32
}"""


def test_facts_about_a_load_are_about_that_load():
    """A condition on an element says nothing of it after a store (hazard 2)."""
    found: list[tuple[Bound, Expr]] = []
    analyzer = Analyzer()

    def visit(op: Operation) -> None:
        if isinstance(op, tir.EvaluateOp) and op.value is not None:
            tree = walker.tree(op.value)
            found.append((analyzer.const_int_bound(tree), analyzer.simplify(tree)))

    walker = FactsWalker(analyzer, visit)
    walker.walk(parse(PROGRAM))
    second, first, same, other = found
    assert second[0].max == INT32.max + 1
    assert first[0].max == 0
    assert same[1] is number(0)
    assert not isinstance(other[1], Const)


def test_values_computed_twice_are_one_tree():
    """Facts are matched by structure, whichever ops compute the value (hazard 3)."""
    analyzer = Analyzer()
    with analyzer.constraint(((X + Y) * 2 < 8).node):
        assert analyzer.truth_of(((X + Y) * 2 < 8).node) is True
        assert analyzer.const_int_bound(((X + Y) * 2).node).max <= 7
        assert analyzer.const_int_bound((X + Y).node).max <= 3


def test_rounds_end():
    """Canonical and rewrite rounds undo each other's work, a few times (hazard 4)."""
    analyzer = Analyzer()
    tree = (X * 4 + X * Y).node
    results = [analyzer.simplify(tree, steps) for steps in range(6)]
    assert len(results) == 6
    deep = X
    for _ in range(20):
        deep = least(deep, X - 1) + choice(X < Y, deep, 3)
    analyzer.simplify(deep.node)


def test_sums_of_variables_are_not_rewritten() -> None:
    x, y = leaves_of(i32, i32)
    analyzer = Analyzer()
    tree = smart.sub(smart.add(smart.mul(x, 3), smart.add(y, 5)), smart.mul(y, 4))
    found = analyzer.simplify(tree)
    assert analyzer.rewrite_simplify_stats.nodes_visited == 0
    assert found is analyzer.canonical_simplify(analyzer.rewrite_simplify(found))
    analyzer.simplify(smart.floordiv(tree, 2))
    assert analyzer.rewrite_simplify_stats.nodes_visited > 0

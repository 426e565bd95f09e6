"""Integer sets: the cases, and what the sets are made of.

Cases: docs/spec/tir-passes-b-arith-and-loops.md §1.20.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from support.expr_trees import Symbol, choice, greatest, i8, least, symbols, td, tm
from support.ir import parse
from xdsl.dialects.builtin import ArrayAttr, BoolAttr, VectorType, i1, i32, i64

from xdsl_tvm.analysis.arith import int_set, smart
from xdsl_tvm.analysis.arith.analyzer import Analyzer, ProofStrength, Range
from xdsl_tvm.analysis.arith.expr import Broadcast, Cast, Const, Expr, Ramp, Value, view
from xdsl_tvm.analysis.arith.int_set import EVERYTHING, NOTHING, IntSet
from xdsl_tvm.dialects import tir

X, Y, Z, N = symbols(i32, i32, i32, i32)
End = Symbol | int | None
Env = Mapping[Symbol, tuple[End, End]]


def end(value: End) -> Expr | None:
    if value is None:
        return None
    return value.node if isinstance(value, Symbol) else Const(value, i32)


def interval(low: End, high: End) -> IntSet:
    return IntSet(end(low), end(high))


def check(
    tree: Symbol, env: Env, low: End, high: End, analyzer: Analyzer | None = None
) -> None:
    """The set of the tree has these ends, after both have been simplified."""
    analyzer = analyzer or Analyzer()
    sets = {leaf.node: interval(*ends) for leaf, ends in env.items()}
    found = analyzer.int_set(tree.node, sets)
    assert found == int_set.simplified(interval(low, high), analyzer)


# ---- spec 1.20, interval sets ----


def test_points():
    check(X, {}, X, X)
    check(X + 3, {}, X + 3, X + 3)
    check(X, {X: (Y, Y)}, Y, Y)


def test_vectors():
    ramp = Symbol(Ramp(VectorType(i32, [2]), Const(10, i32), Const(3, i32)))
    check(ramp, {}, 10, 13)
    check(Symbol(Broadcast(VectorType(i32, [4]), X.node)), {X: (0, 3)}, 0, 3)
    down = Symbol(Ramp(VectorType(i32, [4]), X.node, Const(-1, i32)))
    check(down, {}, X - 3, X)


def test_scalable_vectors():
    scalable = VectorType(i32, [4], ArrayAttr([BoolAttr.from_bool(True)]))
    check(Symbol(Ramp(scalable, X.node, Const(2, i32))), {}, X, None)
    check(Symbol(Ramp(scalable, X.node, Const(-2, i32))), {}, None, X)


def test_sums():
    check(X + Y, {X: (0, 10)}, Y, Y + 10)
    check(X - Y, {X: (0, 10), Y: (1, 11)}, -11, 9)
    check(X + Y, {X: (0, None), Y: (1, 2)}, 1, None)
    check(X - Y, {X: (0, None), Y: (1, None)}, None, None)


def test_products_and_quotients():
    check(X * Y, {X: (0, 10), Y: (5, 5)}, 0, 50)
    check(X * -3, {X: (0, 10)}, -30, 0)
    check(X // 2, {X: (0, 10)}, 0, 5)
    check(X // -2, {X: (1, 10)}, -5, -1)
    check(td(X, -2), {X: (1, 10)}, -5, 0)
    check(X * Y, {X: (-2, 3), Y: (-5, 1)}, -15, 10)
    check(X // Y, {X: (0, 10), Y: (1, 2)}, None, None)
    analyzer = Analyzer()
    analyzer.bind(Y.node, Range(Const(1, i32), Const(100, i32)))
    check(X * Y, {X: (0, 10)}, 0, Y * 10, analyzer)
    check(td(X, Y), {X: (0, 10)}, 0, td(Symbol(Const(10, i32)), Y), analyzer)


def test_a_factor_of_unknown_sign():
    check(
        X * N,
        {X: (2, 10)},
        choice(N >= 0, N * 2, N * 10),
        choice(N >= 0, N * 10, N * 2),
    )


@pytest.mark.parametrize(
    ("low", "high", "first", "last"), [(3, 5, 3, 5), (13, 15, 3, 5), (3, 15, 0, 9)]
)
def test_floor_remainders(low: int, high: int, first: int, last: int):
    check(X % 10, {X: (low, high)}, first, last)


def test_remainders_whose_dividend_may_be_larger():
    """The end is the divisor's, not the lower one of both, as in TVM."""
    check(X % 2, {X: (0, N - 2)}, 0, 1)
    check(tm(X, 2), {X: (0, N - 2)}, 0, 1)
    known = Analyzer()
    known.bind(N.node, Range(Const(8, i32), Const(4, i32)))
    check(X % N, {X: (0, 3)}, 0, 3, known)


def test_floor_remainder_of_a_block():
    block = {Y: (Z * 8 + X * 4, Z * 8 + X * 4 + 3)}
    analyzer = Analyzer()
    analyzer.bind(X.node, Range(Const(0, i32), Const(2, i32)))
    check(Y % 8, block, X * 4, X * 4 + 3, analyzer)
    wider = Analyzer()
    wider.bind(X.node, Range(Const(0, i32), Const(3, i32)))
    start = Z * 8 + X * 4 - (Z * 8 + X * 4) // 8 * 8
    check(Y % 8, block, start, start + 3, wider)


def test_truncated_remainders_of_negative_dividends():
    """The reference says `[0, 9]` for any dividend."""
    check(tm(X, 10), {X: (-5, 20)}, -9, 9)
    check(tm(X, 10), {X: (0, 20)}, 0, 9)
    check(tm(X, 10), {X: (0, 4)}, 0, 4)


def test_lattice():
    check(least(X, Y), {X: (0, 10), Y: (5, 8)}, 0, 8)
    check(greatest(X, Y), {X: (0, 10), Y: (5, 8)}, 5, 10)
    check(least(X, 3), {X: (0, None)}, 0, 3)
    check(greatest(X, 3), {X: (None, 7)}, 3, 7)


def test_select():
    check(choice(Y > 0, X, Y), {X: (3, 8), Y: (0, 4)}, 0, 8)
    check(choice(Y > 0, X, Y), {}, choice(Y > 0, X, Y), choice(Y > 0, X, Y))


# ---- more ----


def test_lazy_choice():
    """A branch that is not taken may divide by zero; so no end may divide there."""
    check(choice(Y > 0, X, X + 1, lazy=True), {X: (0, 4)}, 0, 5)
    check(choice(equal_zero(Y), X, X // Y, lazy=True), {X: (0, 4)}, None, None)


def equal_zero(value: Symbol) -> Symbol:
    return Symbol(smart.eq(value.node, 0))


def test_conditions():
    found = Analyzer().int_set((X < Y).node, {X.node: interval(0, 3)})
    assert found == IntSet(Const(0, i1), Const(1, i1))


def test_casts():
    def set_of(source: Symbol, low: int, high: int) -> IntSet:
        dtype = source.node.dtype
        ends = IntSet(Const(low, dtype), Const(high, dtype))
        cast = Cast(i64 if dtype == i32 else i32, source.node)
        return Analyzer().int_set(cast, {source.node: ends})

    (wide,) = symbols(i64)
    assert set_of(X, -2, 7) == IntSet(Const(-2, i64), Const(7, i64))
    assert set_of(wide, -2, 7) == interval(-2, 7)
    assert set_of(wide, 0, 1 << 40) == EVERYTHING


def test_narrow_integers_wrap():
    (byte,) = symbols(i8)
    found = Analyzer().int_set(
        (byte + 100).node, {byte.node: IntSet(Const(0, i8), Const(100, i8))}
    )
    assert found == EVERYTHING


def test_variables_in_terms_of_variables():
    env: Env = {X: (0, Y), Y: (0, N - 1)}
    check(X, env, 0, N - 1)
    check(X - Y, env, 1 - N, N - 1)


def test_variables_in_terms_of_each_other():
    """The end that would go round in circles is given up."""
    check(X, {X: (Y, Y + 1), Y: (X - 1, X)}, None, None)
    check(X, {X: (0, Y), Y: (X, 9)}, 0, 9)


def test_constraints():
    analyzer = Analyzer()
    with analyzer.constraint((X < N).node), analyzer.constraint((X >= 2).node):
        check(
            X + 1, {X: (0, 100)}, 3, least(Symbol(Const(100, i32)), N - 1) + 1, analyzer
        )
    check(X, {X: (0, 100)}, 0, 100, analyzer)


def test_empty_sets():
    assert Analyzer().int_set((X + Y).node, {X.node: NOTHING}) == NOTHING


def test_values_made_in_a_loop_are_no_points():
    """A loaded value is another one in each iteration, whatever its indices are."""
    module = parse("""
      tir.func @f(%a: !tir.handle) {
        %c0 = tir.const 0 : i32
        %c8 = tir.const 8 : i32
        %A = tir.match_buffer %a : !tir.buffer<8xi32>
        %before = tir.load %A[%c0] : i32
        tir.for %i = %c0 to %c8 {
          %x = tir.load %A[%c0] : i32
          %both = tir.add %before, %x : i32
          tir.store %both, %A[%c0] : i32
        }
      }
    """)
    loop = next(op for op in module.walk() if isinstance(op, tir.ForOp))
    both = next(op for op in module.walk() if isinstance(op, tir.AddOp))
    env: dict[Expr, IntSet] = {Value(loop.loop_var): interval(0, 7)}
    before, inside = (view(operand) for operand in both.operands)
    assert Analyzer().int_set(before, env) == int_set.single_point(before)
    assert Analyzer().int_set(inside, env) == EVERYTHING
    assert Analyzer().int_set(inside, {}) == int_set.single_point(inside)


# ---- operations on sets ----


def test_union():
    analyzer = Analyzer()
    assert int_set.union([], analyzer) == NOTHING
    assert int_set.union([NOTHING, interval(1, 3)], analyzer) == interval(1, 3)
    found = int_set.union([interval(N, N + 3), interval(N + 2, N + 5)], analyzer)
    assert found == interval(N, N + 5)


def test_intersection():
    analyzer = Analyzer()
    assert int_set.intersection([], analyzer) == EVERYTHING
    assert int_set.intersection([interval(0, 5), interval(3, None)], analyzer) == (
        interval(3, 5)
    )
    assert int_set.intersection([interval(0, 2), interval(3, 4)], analyzer) == NOTHING


def test_union_lower_bound():
    analyzer = Analyzer()

    def bound(*sets: IntSet) -> IntSet:
        return int_set.union_lower_bound(sets, analyzer)

    assert bound(interval(None, 0), interval(1, None)) == EVERYTHING
    assert bound(NOTHING, interval(1, 2), NOTHING) == interval(1, 2)
    assert bound(interval(0, 3), interval(9, 10)) == interval(0, 3)
    assert bound(interval(0, 3), interval(N, N)) == interval(0, 3)
    assert bound(interval(N, N + 3), interval(N + 4, N + 7)) == interval(N, N + 7)


def test_regions():
    analyzer = Analyzer()
    first, second = [interval(0, 3), interval(0, 7)], [interval(4, 5), interval(0, 7)]
    both = [interval(0, 5), interval(0, 7)]
    assert int_set.union_regions([first, second], analyzer) == both
    assert int_set.union_regions_lower_bound([first, second], analyzer) == both
    apart = [interval(4, 5), interval(8, 9)]
    assert int_set.union_regions_lower_bound([first, apart], analyzer) == first


def test_ranges():
    analyzer = Analyzer()
    default = Range(Const(0, i32), N.node)
    covered = int_set.cover_range(interval(X, X + 7), default, analyzer)
    assert covered == Range(X.node, Const(8, i32))
    assert int_set.cover_range(interval(X, None), default, analyzer) is default
    assert int_set.from_range(Range(X.node, Const(1, i32))).point is X.node
    assert int_set.matches_range(
        interval(X, X + 7), Range(X.node, Const(8, i32)), analyzer
    )
    assert not int_set.matches_range(interval(X, X + 7), default, analyzer)


def test_set_of_a_range_whose_ends_share_variables():
    evaluator = int_set.IntSetEvaluator(Analyzer(), {X.node: interval(0, N)})
    found = evaluator.of_range(Range(X.node, (N - X).node))
    assert int_set.simplified(found, Analyzer()) == interval(0, N - 1)


def test_signs():
    analyzer = Analyzer()
    assert int_set.can_prove_positive(interval(1, 3), analyzer)
    assert not int_set.can_prove_positive(interval(0, 3), analyzer)
    assert int_set.can_prove_non_negative(interval(0, 3), analyzer)
    assert int_set.can_prove_negative(interval(None, -1), analyzer)
    assert int_set.can_prove_non_positive(interval(None, 0), analyzer)
    assert not int_set.can_prove_negative(interval(None, 0), analyzer)


# ---- what the analyzer does with them ----


def test_sets_of_bound_variables():
    analyzer = Analyzer()
    analyzer.bind(X.node, Range(Const(0, i32), N.node))
    analyzer.bind(Y.node, Range(X.node, Const(4, i32)))
    assert analyzer.int_set((Y + 1).node) == interval(1, N + 3)


def test_proofs_by_symbolic_ends():
    """spec 1.20, simplify and prove, case 3."""
    analyzer = Analyzer()
    tiles = (N + 31) // 32
    analyzer.bind(X.node, Range(Const(0, i32), tiles.node))
    analyzer.bind(Y.node, Range(Const(0, i32), Const(32, i32)))
    index, end = X * 32 + Y, (N + 31) // 32 * 32
    strong = ProofStrength.SYMBOLIC_BOUND
    for condition in (index < end, end > index, index + 1 <= end, end >= index):
        assert analyzer.can_prove(condition.node, strong)
    assert not analyzer.can_prove((index < end).node)
    assert not analyzer.can_prove((index + 1 < end).node, strong)


def test_extents_of_dimensions():
    analyzer = Analyzer()
    assert analyzer.can_prove_within_shape(Const(32, i32), (N * 32).node)
    assert not analyzer.can_prove_within_shape(Const(33, i32), (N * 32).node)
    assert analyzer.can_prove_within_shape(N.node, N.node)
    assert not analyzer.can_prove_within_shape(Const(5, i32), N.node)


def test_facts_that_contradict_each_other():
    """Hazard 6 of spec 1.21: the code is not reached, and nothing goes wrong."""
    analyzer = Analyzer()
    env = {X.node: interval(0, 9)}
    with analyzer.constraint((X < 0).node), analyzer.constraint((X > 5).node):
        found = analyzer.int_set((X * 2 + Y).node, env)
        assert found.is_nothing or found.is_bounded
        assert analyzer.int_set((Y % 4).node, env) == int_set.single_point((Y % 4).node)

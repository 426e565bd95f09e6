"""Solvers and narrowed predicates.

Cases: docs/spec/tir-passes-b-arith-and-loops.md §1.20.
"""

from __future__ import annotations

import pytest
from support.expr_trees import Symbol, equal, symbols
from support.ir import parse
from xdsl.dialects.builtin import i32, i64

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import Const, Expr, Value, substitute, view
from xdsl_tvm.analysis.arith.int_set import IntSet, Range
from xdsl_tvm.analysis.arith.narrow_predicate import narrow_predicate
from xdsl_tvm.analysis.arith.solve_inequalities import (
    MAX_RELATIONS,
    solve_inequalities_deskew_range,
    solve_inequalities_to_range,
    solve_linear_inequalities,
)
from xdsl_tvm.analysis.arith.solve_linear import (
    IntConstraintsTransform,
    extended_gcd,
    name_of,
    solve_linear_equations,
)
from xdsl_tvm.dialects import tir

X, Y, Z, A, B, N, L = symbols(*[i32] * 7)
Domains = dict[Symbol, tuple[int, int]]
"""Leaves with their first value and the first one after the last."""


def ranges(domains: Domains) -> dict[Expr, Range]:
    return {
        leaf.node: Range(Const(low, i32), Const(end - low, i32))
        for leaf, (low, end) in domains.items()
    }


def nodes(*trees: Symbol) -> list[Expr]:
    return [tree.node for tree in trees]


def text(tree: Symbol) -> str:
    return str(Analyzer().simplify(tree.node, 3))


def texts(trees: list[Expr]) -> list[str]:
    return [str(Analyzer().simplify(tree, 3)) for tree in trees]


def solved(
    variables: list[Symbol], domains: Domains, *relations: Symbol
) -> IntConstraintsTransform:
    return solve_linear_equations(nodes(*variables), ranges(domains), nodes(*relations))


# ---- spec 1.20, solvers: equations ----


def test_a_unique_solution():
    found = solved([X, Y], {}, equal(X + Y, 20), equal(X - Y, 10))
    assert found.dst.variables == []
    assert found.dst.relations == []
    assert texts([found.src_to_dst[X.node], found.src_to_dst[Y.node]]) == ["15", "5"]


def test_solutions_in_terms_of_others():
    found = solved([X, Y], {}, equal(X * 2 + Y, A), equal(X + Y, B))
    assert texts([found.src_to_dst[X.node]]) == [text(A - B)]
    assert texts([found.src_to_dst[Y.node]]) == [text(B * 2 - A)]


def test_a_condition_on_others():
    found = solved([X], {}, equal(X * 4, A))
    assert texts([found.src_to_dst[X.node]]) == [text(A // 4)]
    assert texts(found.dst.relations) == [text(equal(A % 4, 0))]


def test_a_free_variable():
    found = solved([X, Y, Z], {}, equal(X + Y + Z, 15), equal(X + Y, 10))
    (free,) = found.dst.variables
    assert name_of(free).startswith("n0")
    total = substitute((X + Y).node, found.src_to_dst)
    assert texts([total, found.src_to_dst[Z.node]]) == ["10", "5"]


def test_an_inferred_range():
    found = solved([X, Y], {X: (-5, 5), Y: (0, 10)}, equal(X + Y, 0))
    (free,) = found.dst.variables
    assert found.dst.ranges == {free: Range(Const(-9, i32), Const(10, i32))}
    assert texts(found.dst.relations) == [text(Symbol(free) >= -5)]
    assert found.src_to_dst[X.node] is free


def test_contradictory_equations():
    found = solved([X, Y], {}, equal(X + Y, 1), equal(X + Y, 2))
    assert found.dst.variables == []
    assert texts(found.dst.relations) == ["0"]
    assert found.dst.is_unsolvable
    assert solved([X], {}, equal(X * 2, 5)).dst.is_unsolvable
    assert solved([X], {X: (0, 4)}, equal(X, 7)).dst.is_unsolvable


def test_no_variables():
    found = solved([], {}, equal(A, B))
    assert texts(found.dst.relations) == [text(equal(A, B))]
    assert found.src_to_dst == {}


def test_relations_that_are_no_equations():
    found = solved([X, Y], {}, equal(X, Y + 1), X < A, equal(X * X, 4))
    assert len(found.dst.variables) == 1
    moved = [substitute(tree, found.src_to_dst) for tree in nodes(X < A)]
    assert texts(moved)[0] in texts(found.dst.relations)
    assert len(found.dst.relations) == 2


def test_extended_gcd():
    for a in range(-9, 10):
        for b in range(-9, 10):
            g, x, y = extended_gcd(a, b)
            assert a * x + b * y == g >= 0
            assert g == 0 or (a % g == 0 and b % g == 0)


# ---- spec 1.20, solvers: inequalities ----

PAIR = (X + Y <= 20, X - Y >= 10)
BOX: Domains = {X: (-100, 100), Y: (0, 10)}


def test_bounds_of_a_pair():
    found = solve_linear_inequalities(nodes(X, Y), {}, nodes(*PAIR))
    assert texts(found.conditions()) == [
        text(X >= Y + 10),
        text(X <= 20 - Y),
        text(Y <= 5),
    ]


def test_ranges_of_a_pair():
    found = solve_inequalities_to_range(nodes(X, Y), ranges(BOX), nodes(*PAIR))
    assert found.ranges[Y.node] == Range(Const(0, i32), Const(6, i32))
    assert str(found.ranges[X.node].min) == text(Y + 10)
    assert str(found.ranges[X.node].extent) == "11"
    assert texts(found.relations) == [text(X + Y <= 20)]


def test_deskewed_ranges_of_a_pair():
    found = solve_inequalities_deskew_range(nodes(X, Y), ranges(BOX), nodes(*PAIR))
    x, y = found.dst.variables
    assert [str(found.dst.ranges[v].extent) for v in (x, y)] == ["11", "6"]
    assert [name_of(v) for v in (x, y)] == ["v.shifted", "v.shifted"]
    assert texts(found.dst.relations) == [text(Symbol(y) * 2 + Symbol(x) <= 10)]
    assert texts([found.src_to_dst[X.node]]) == [text(Symbol(x) + Symbol(y) + 10)]
    assert texts([found.dst_to_src[x]]) == [text(X - Y - 10)]


def test_forced_equalities():
    relations = nodes(X >= Y, X <= Y, Y >= 3, Y <= 3)
    found = solve_linear_inequalities(nodes(X, Y), {}, relations)
    assert [b.equal for b in found.bounds.values()] == [[Y.node], [Const(3, i32)]]
    ranged = solve_inequalities_to_range(nodes(X, Y), {}, relations)
    assert all(smart.literal(r.extent) == 1 for r in ranged.ranges.values())
    moved = solve_inequalities_deskew_range(nodes(X, Y), {}, relations)
    assert moved.dst.variables == []
    assert texts([moved.src_to_dst[X.node]]) == ["3"]


def test_factors():
    found = solve_linear_inequalities(nodes(X), {}, nodes(X * 2 >= A, X * 3 <= B))
    bounds = found.bounds[X.node]
    assert bounds.coef == 6
    assert texts([*bounds.lower, *bounds.upper]) == [text(A * 3), text(B * 2)]
    assert texts(found.relations) == [text(A * 3 <= B * 2)]


def test_relations_that_are_not_linear():
    relations = nodes(X >= 0, X <= 5, X * X <= Y, X // 2 <= 1)
    found = solve_linear_inequalities(nodes(X), {}, relations)
    bounds = found.bounds[X.node].conditions(X.node)
    assert texts(bounds) == [text(X >= 0), text(X <= 3)]
    assert texts(found.relations) == [text(X * X <= Y)]


def test_casts_are_not_solved_for():
    """What bounds the wide integer need not fit the narrow one."""
    (wide,) = symbols(i64)
    relation = X.to(i64) <= wide
    found = solve_linear_inequalities(nodes(X), {}, [relation.node])
    assert found.bounds[X.node].conditions(X.node) == []
    assert texts(found.relations) == [text(relation)]


def test_unsolvable_inequalities():
    relations = nodes(X >= Y, X < Y)
    found = solve_linear_inequalities(nodes(X, Y), {}, relations)
    assert texts(found.conditions()) == ["0"]
    assert solve_inequalities_to_range(nodes(X, Y), {}, relations).is_unsolvable
    moved = solve_inequalities_deskew_range(nodes(X, Y), {}, relations)
    assert moved.dst.is_unsolvable
    outside = nodes(X > 10)
    assert solve_inequalities_to_range(
        nodes(X), ranges({X: (0, 5)}), outside
    ).is_unsolvable


def test_ranges_without_an_end():
    relations = nodes(X >= Y, X <= Z + 1, X >= A)
    found = solve_inequalities_to_range(nodes(Z, X), {}, relations)
    assert found.ranges == {}
    assert sorted(texts(found.relations)) == sorted(
        [text(Z >= X - 1), text(X >= Y), text(X >= A)]
    )


def test_many_relations():
    """What is implied is limited, so that time is not beyond measure."""
    variables = symbols(*[i32] * 8)
    relations = [
        (a * ((n * 5) % 7 - 3) + b * ((n * 3) % 5 - 2) <= n)
        for n, (a, b) in enumerate((a, b) for a in variables for b in variables)
    ]
    found = solve_linear_inequalities(nodes(*variables), {}, nodes(*relations))
    assert len(found.bounds) == 8
    assert len(found.conditions()) < 8 * 3 * MAX_RELATIONS


# ---- spec 1.20, solvers: narrowed predicates ----


def narrowed(condition: Symbol) -> str:
    parameters = {N.node: IntSet(Const(0, i32), Const(7, i32))}
    return str(narrow_predicate(condition.node, parameters))


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (L > N, L > 7),
        (L < N, L < 0),
        (L <= N, L <= 0),
        (equal(L, N), (L <= 0) & (L >= 7)),
        (~equal(L, N), (L < 0) | (L > 7)),
        ((L + N) // 4 > 0, L // 4 > 0),
        (L - N < 10, L < 10),
        (L * -1 < N, L * -1 < 0),
        (N * -1 > L, L < -7),
        (~(L > N), L <= 0),
        (L < 3, L < 3),
    ],
    ids=str,
)
def test_narrow_predicates(condition: Symbol, expected: Symbol):
    assert narrowed(condition) == text(expected)


@pytest.mark.parametrize(
    "condition", [(L + N) % 8 < 3, L // N > 0, L * N * N > N], ids=str
)
def test_predicates_that_cannot_be_narrowed(condition: Symbol):
    assert narrowed(condition) == "0"


def test_loads_that_depend_on_a_parameter():
    module = parse("""
      tir.func @f(%a: !tir.handle) {
        %c0 = tir.const 0 : i32
        %c8 = tir.const 8 : i32
        %A = tir.match_buffer %a : !tir.buffer<8xi32>
        tir.for %n = %c0 to %c8 {
          %x = tir.load %A[%n] : i32
          %first = tir.cmp gt %x, %c0 : i32
          tir.evaluate %first : i1
        }
      }
    """)
    loop = next(op for op in module.walk() if isinstance(op, tir.ForOp))
    first = next(op for op in module.walk() if isinstance(op, tir.CmpOp))
    n = Value(loop.loop_var)
    parameters: dict[Expr, IntSet] = {n: IntSet(Const(0, i32), Const(7, i32))}
    load = view(first.result)
    assert str(narrow_predicate(load, parameters)) == "0"
    either = smart.disjunction(load, smart.le(L.node, n))
    assert str(narrow_predicate(either, parameters)) == text(L <= 0)

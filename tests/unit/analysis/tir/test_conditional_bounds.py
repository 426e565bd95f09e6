"""Conditional bounds: what conditions say of variables, by examples and by value."""

from __future__ import annotations

import random
from contextlib import ExitStack

import numpy as np
from support.expr_trees import (
    Array,
    Symbol,
    Trees,
    choice,
    equal,
    evaluate,
    grid,
    symbols,
)
from xdsl.dialects.builtin import i32

from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import Call, Const, Expr
from xdsl_tvm.analysis.arith.int_set import IntSet, IntSetEvaluator, Range, simplified
from xdsl_tvm.analysis.tir.conditional_bounds import ConditionalBounds

L, J, N = symbols(i32, i32, i32)


def bounds(stack: ExitStack, extent: int = 20) -> ConditionalBounds:
    """Two variables that are relaxed over `[0, extent)`."""
    found = ConditionalBounds(Analyzer())
    for leaf in (L, J):
        domain = Range(Const(0, i32), Const(extent, i32))
        stack.enter_context(found.variable(leaf.node, domain))
    return found


def set_of(found: ConditionalBounds, leaf: Symbol) -> str:
    return str(simplified(found.relaxed[leaf.node], Analyzer()))


def test_a_box():
    with ExitStack() as scopes:
        found = bounds(scopes)
        inside = (L >= 2) & (L < 18) & (J >= 2) & (J < 18)
        with found.condition(inside.node):
            assert set_of(found, L) == set_of(found, J) == "[2, 17]"
            assert found.pending == []
        assert set_of(found, L) == set_of(found, J) == "[0, 19]"
    assert found.relaxed == {}


def test_a_condition_over_two_variables_is_pending():
    with ExitStack() as scopes:
        found = bounds(scopes)
        with found.condition((L * 4 + J < 10).node):
            assert len(found.pending) == 1
            assert set_of(found, L) == "[0, 19]"
        assert found.pending == []


def test_hints():
    with ExitStack() as scopes:
        found = bounds(scopes)
        with found.condition((N < 8).node):
            assert found.pending == [(N < 8).node]
        with found.condition(((N < 8) & (N >= 3)).node):
            assert str(found.hints[N.node]) == "[3, 7]"
        assert found.hints == {}


def test_conjuncts_that_are_not_simple_are_dropped():
    with ExitStack() as scopes:
        found = bounds(scopes)
        odd = choice(J > 3, L, J) > 2
        condition = Call("likely", [((L < 5) & odd).node], odd.node.dtype)
        with found.condition(condition):
            assert set_of(found, L) == "[0, 4]"
            assert found.pending == []
        with found.condition(odd.node):
            assert len(found.pending) == 1
        with found.condition(((L < 5) | (J < 5)).node):
            assert len(found.pending) == 1


def test_equations_and_contradictions():
    with ExitStack() as scopes:
        found = bounds(scopes)
        with found.condition(equal(L, 7).node):
            assert set_of(found, L) == "[7, 7]"
        with found.condition((L > 30).node):
            assert len(found.pending) == 1


def test_sets_hold_all_values():
    """Whatever the conditions are, no value that is possible is lost."""
    points = grid({L.node: range(8), J.node: range(8), N.node: range(-4, 9)})
    narrowed = 0
    for seed in range(60):
        draw = random.Random(seed)
        trees = Trees([L.node, J.node, N.node], seed, index_only=True)
        with ExitStack() as scopes:
            found = bounds(scopes, 8)
            where = np.ones(len(points[L.node]), dtype=bool)
            for _ in range(2):
                condition = trees.condition(draw.choice((3, 5, 8)))
                values = evaluate(condition, points)
                where &= values.defined & (values.numbers != 0)
                scopes.enter_context(found.condition(condition))
            narrowed += check_sets(found, points, where)
    assert narrowed


def check_sets(found: ConditionalBounds, points: dict[Expr, Array], where: Array) -> bool:
    evaluator = IntSetEvaluator(Analyzer(), found.relaxed)
    for leaf in (L.node, J.node):
        for known in (found.relaxed[leaf], evaluator(leaf)):
            check_members(known, leaf, points, where)
    for leaf, known in found.hints.items():
        check_members(known, leaf, points, where)
    return str(found.relaxed[L.node]) != "[0, 7]"


def check_members(
    known: IntSet, leaf: Expr, points: dict[Expr, Array], where: Array
) -> None:
    numbers = points[leaf]
    if known.min is not None:
        assert (evaluate(known.min, points).numbers <= numbers)[where].all()
    if known.max is not None:
        assert (evaluate(known.max, points).numbers >= numbers)[where].all()

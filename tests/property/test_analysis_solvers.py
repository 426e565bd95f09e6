"""Solutions are exactly those of the system, on boxes of integers."""

from __future__ import annotations

import os
import random
from collections.abc import Mapping

import numpy as np
from support.expr_trees import Array, evaluate, grid, leaves_of
from xdsl.dialects.builtin import i32

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Const, Expr, substitute
from xdsl_tvm.analysis.arith.int_set import IntSet, Range
from xdsl_tvm.analysis.arith.narrow_predicate import narrow_predicate
from xdsl_tvm.analysis.arith.solve_inequalities import (
    solve_inequalities_deskew_range,
    solve_inequalities_to_range,
    solve_linear_inequalities,
)
from xdsl_tvm.analysis.arith.solve_linear import diagonalize, solve_linear_equations
from xdsl_tvm.dialects.tir import CmpPredicate

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "15"))
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))
X, Y, Z, N = LEAVES = leaves_of(i32, i32, i32, i32)
POINTS = grid({X: range(-6, 7), Y: range(-6, 7), Z: range(-3, 4), N: range(-2, 3)})


def truth(conditions: list[Expr]) -> Array:
    """Where all conditions are true; each must be defined wherever it is asked."""
    where = np.ones(len(POINTS[X]), dtype=bool)
    for condition in conditions:
        values = evaluate(condition, POINTS)
        assert values.defined.all()
        where &= values.numbers != 0
    return where


def in_ranges(ranges: Mapping[Expr, Range]) -> list[Expr]:
    found: list[Expr] = []
    for leaf, domain in ranges.items():
        found.append(smart.le(domain.min, leaf))
        found.append(smart.lt(leaf, smart.add(domain.min, domain.extent)))
    return found


class Systems:
    """Makes random systems."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.variables = [X, Y, Z][: self.draw.randrange(1, 4)]
        self.draw.shuffle(self.variables)

    def linear(self) -> Expr:
        total = smart.const(self.draw.randrange(-6, 7), i32)
        for leaf in self.variables:
            if self.draw.random() < 0.7:
                factor = self.draw.choice((1, 1, -1, -1, 2, -2, 3, 4))
                total = smart.add(total, smart.mul(leaf, factor))
        return smart.add(total, N) if self.draw.random() < 0.3 else total

    def ranges(self) -> dict[Expr, Range]:
        found: dict[Expr, Range] = {}
        for position, leaf in enumerate(self.variables):
            if self.draw.random() < 0.6:
                low: Expr = Const(self.draw.randrange(-5, 3), i32)
                others = self.variables[position + 1 :]
                if others and self.draw.random() < 0.2:
                    low = smart.add(self.draw.choice(others), 1)
                extent = Const(self.draw.choice((1, 3, 5)), i32)
                found[leaf] = Range(low, extent)
        return found

    def relation(self, *predicates: CmpPredicate) -> Expr:
        predicate = self.draw.choice(predicates)
        return smart.compare(predicate, self.linear(), self.linear())

    def relations(self, *predicates: CmpPredicate) -> list[Expr]:
        return [self.relation(*predicates) for _ in range(self.draw.randrange(1, 4))]


ALL = tuple(CmpPredicate)
INEQUALITIES = tuple(p for p in ALL if p is not CmpPredicate.NE)


def test_equations():
    unsolvable = 0
    for seed in range(FIRST, FIRST + COUNT):
        systems = Systems(seed)
        ranges = systems.ranges()
        relations = systems.relations(CmpPredicate.EQ)
        if systems.draw.random() < 0.3:
            relations.append(systems.relation(*ALL))
        found = solve_linear_equations(systems.variables, ranges, relations)
        wanted = truth([*relations, *in_ranges(ranges)])
        if found.dst.is_unsolvable:
            unsolvable += 1
            assert not wanted.any()
            continue
        # A point is a solution if it has new variables that fulfill all that is said of
        # them, and that give it back.
        conditions = [*found.dst.relations, *in_ranges(found.dst.ranges)]
        back = [substitute(condition, found.dst_to_src) for condition in conditions]
        same = [
            smart.eq(leaf, substitute(found.src_to_dst[leaf], found.dst_to_src))
            for leaf in systems.variables
        ]
        assert (truth([*back, *same]) == wanted).all(), list(map(str, relations))
    assert 0 < unsolvable < COUNT


def test_diagonal_forms():
    draw = random.Random(FIRST + 3)
    for _ in range(COUNT):
        height, width = draw.randrange(1, 5), draw.randrange(1, 5)
        matrix = [[draw.randrange(-6, 7) for _ in range(width)] for _ in range(height)]
        zero = [Const(0, i32)] * height
        form, rank = diagonalize(matrix, list(zero), width)
        columns, inverse = np.array(form.columns), np.array(form.inverse)
        assert (columns @ inverse == np.eye(width, dtype=int)).all()
        diagonal = np.array(form.matrix)
        off = diagonal.copy()
        np.fill_diagonal(off, 0)
        assert not off.any()
        assert np.count_nonzero(diagonal) == rank == np.linalg.matrix_rank(matrix)


def test_inequalities():
    unsolvable = 0
    for seed in range(FIRST, FIRST + COUNT):
        systems = Systems(10**6 + seed)
        variables, ranges = systems.variables, systems.ranges()
        relations = systems.relations(*(INEQUALITIES if seed % 5 else ALL))
        wanted = truth([*relations, *in_ranges(ranges)])
        text = [str(relation) for relation in relations]
        bounds = solve_linear_inequalities(variables, ranges, relations)
        assert (truth(bounds.conditions()) == wanted).all(), text
        unsolvable += bounds.is_unsolvable
        ranged = solve_inequalities_to_range(variables, ranges, relations)
        conditions = [*ranged.relations, *in_ranges(ranged.ranges)]
        assert (truth(conditions) == wanted).all(), text
        check_order(variables, ranged.ranges)
        moved = solve_inequalities_deskew_range(variables, ranges, relations)
        if moved.dst.is_unsolvable:
            assert not wanted.any()
            continue
        back = [
            substitute(condition, moved.dst_to_src)
            for condition in [*moved.dst.relations, *in_ranges(moved.dst.ranges)]
        ]
        same = [
            smart.eq(leaf, substitute(moved.src_to_dst[leaf], moved.dst_to_src))
            for leaf in variables
        ]
        assert (truth([*back, *same]) == wanted).all(), text
        assert all(smart.literal(r.min) == 0 for r in moved.dst.ranges.values())
    assert 0 < unsolvable < COUNT


def check_order(variables: list[Expr], ranges: Mapping[Expr, Range]) -> None:
    """A range mentions later variables only."""
    for position, variable in enumerate(variables):
        if variable in ranges:
            domain = ranges[variable]
            earlier = dict.fromkeys(variables[: position + 1], Const(0, i32))
            assert substitute(domain.min, dict(earlier)) is domain.min
            assert substitute(domain.extent, dict(earlier)) is domain.extent


def test_narrowed_predicates():
    kept = 0
    parameters = {Z: IntSet(Const(-3, i32), Const(3, i32))}
    for seed in range(FIRST, FIRST + COUNT):
        systems = Systems(2 * 10**6 + seed)
        systems.variables = [X, Y, Z]
        condition = systems.relation(*ALL)
        other = systems.relation(*ALL)
        combine = systems.draw.choice((smart.conjunction, smart.disjunction))
        condition = combine(condition, other)
        if seed % 3 == 0:
            condition = smart.negation(condition)
        if seed % 7 == 0:
            rest = smart.floormod(systems.linear(), 3)
            condition = combine(condition, smart.lt(rest, smart.mul(Z, Y)))
        narrowed = narrow_predicate(condition, parameters)
        assert substitute(narrowed, {Z: X}) is narrowed
        strong, weak = truth([narrowed]), truth([condition])
        assert (weak | ~strong).all(), str(condition)
        kept += bool(strong.any())
    assert kept > COUNT // 4

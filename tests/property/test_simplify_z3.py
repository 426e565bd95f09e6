"""Simplified index expressions are equal to the original for all integers, says z3.

Values are mathematical integers within the types of the leaves. What z3 does not decide
in time counts as nothing; what it refutes is a failure. Needs the `[smt]` extra.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import reduce
from typing import Any

import pytest
from support.expr_trees import Trees, leaves_of
from xdsl.dialects.builtin import i1, i32

from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import (
    Add,
    And,
    Binary,
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
    Select,
    Sub,
    Value,
    fold,
)
from xdsl_tvm.dialects.dtypes import integer_range
from xdsl_tvm.dialects.tir import CmpPredicate

BATCHES = 4
z3: Any = pytest.importorskip("z3", reason="pip install 'xdsl-tvm[smt]'")

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "120")) // BATCHES
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))
TIMEOUT = 100
"""Milliseconds for a question."""

Operation = Callable[[Any, Any], Any]
Term = tuple[Any, Any]
"""A value, and the condition under which it is defined."""


def floor_quotient(a: Any, b: Any) -> Any:
    """z3 rounds so that remainders are not negative."""
    return z3.If(b > 0, a / b, -a / -b)


def quotient(a: Any, b: Any) -> Any:
    floor = floor_quotient(a, b)
    return z3.If(z3.And(floor < 0, floor * b != a), floor + 1, floor)


_ARITHMETIC: dict[type[Expr], Operation] = {
    Add: lambda a, b: a + b,
    Sub: lambda a, b: a - b,
    Mul: lambda a, b: a * b,
    FloorDiv: floor_quotient,
    FloorMod: lambda a, b: a - floor_quotient(a, b) * b,
    Div: quotient,
    Mod: lambda a, b: a - quotient(a, b) * b,
    Min: lambda a, b: z3.If(a <= b, a, b),
    Max: lambda a, b: z3.If(a >= b, a, b),
    And: lambda a, b: z3.And(a, b),
    Or: lambda a, b: z3.Or(a, b),
}
_COMPARISONS: dict[CmpPredicate, Operation] = {
    CmpPredicate.EQ: lambda a, b: a == b,
    CmpPredicate.NE: lambda a, b: a != b,
    CmpPredicate.LT: lambda a, b: a < b,
    CmpPredicate.LE: lambda a, b: a <= b,
    CmpPredicate.GT: lambda a, b: a > b,
    CmpPredicate.GE: lambda a, b: a >= b,
}


def term(node: Expr, parts: list[Term]) -> Term:
    values = [value for value, _ in parts]
    defined = reduce(z3.And, (d for _, d in parts), z3.BoolVal(True))
    match node:
        case Const(value=value):
            return (
                z3.BoolVal(bool(value)) if node.dtype == i1 else z3.IntVal(value)
            ), defined
        case Value():
            return z3.Int(f"v{node.serial}"), defined
        case Div() | Mod() | FloorDiv() | FloorMod():
            return _ARITHMETIC[type(node)](*values), z3.And(defined, values[1] != 0)
        case Binary():
            return _ARITHMETIC[type(node)](*values), defined
        case Cmp(predicate=predicate):
            return _COMPARISONS[predicate](*values), defined
        case Not():
            return z3.Not(values[0]), defined
        case Select():
            return z3.If(*values), defined
        case IfThenElse():
            taken = z3.If(values[0], parts[1][1], parts[2][1])
            return z3.If(*values), z3.And(parts[0][1], taken)
        case _:
            raise ValueError(f"no term for {node}")


def answer(root: Expr, result: Expr, leaves: list[Expr]) -> str:
    """Whether there are values for which the two differ: sat, unsat or unknown."""
    before, defined = fold(root, term)
    after, still_defined = fold(result, term)
    solver = z3.Solver()
    solver.set("timeout", TIMEOUT)
    for leaf in leaves:
        low, high = integer_range(leaf.dtype)
        value, _ = term(leaf, [])
        solver.add(value >= low, value <= high)
    solver.add(defined, z3.Or(before != after, z3.Not(still_defined)))
    return str(solver.check())


@pytest.mark.parametrize("batch", range(FIRST, FIRST + BATCHES))
def test_random_trees(batch: int):
    leaves = leaves_of(i32, i32, i32)
    trees = Trees(leaves, batch, index_only=True)
    answers: list[str] = []
    for size in range(COUNT):
        make = trees.condition if size % 2 else trees.integer
        root = make(3 + size % 7)
        result = Analyzer().rewrite_simplify(root)
        if result is not root:
            answers.append(answer(root, result, leaves))
            assert answers[-1] != "sat", f"{root} is not {result}"
    assert answers.count("unsat") > len(answers) / 2


def test_a_wrong_result_is_refuted():
    x, y = leaves_of(i32, i32)
    assert answer(Div(x, y), FloorDiv(x, y), [x, y]) == "sat"
    assert answer(FloorDiv(x, Const(2, i32)), FloorDiv(x, Const(2, i32)), [x]) == "unsat"

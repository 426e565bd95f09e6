"""Limits of integer types as literals, in expressions, ranges of loops and conditions.

Analyses compute with integers of any size, and what they compute need not fit the type of
the expressions that they write it into. Whatever passes do then, they raise no exception
of Python's own: `CompilerPass` reports one as a failure with a cause.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Sequence

import pytest
from support.expr_trees import leaves_of
from xdsl.dialects.builtin import IntegerType, ModuleOp, i32, i64
from xdsl.utils.exceptions import DiagnosticException

from xdsl_tvm import tvmscript
from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.analyzer import Analyzer, Range
from xdsl_tvm.analysis.arith.expr import Const, Expr
from xdsl_tvm.analysis.arith.iter_map import detect_iter_map, iter_map_simplify
from xdsl_tvm.analysis.arith.solve_inequalities import (
    solve_inequalities_deskew_range,
    solve_inequalities_to_range,
)
from xdsl_tvm.analysis.arith.solve_linear import solve_linear_equations
from xdsl_tvm.dialects.dtypes import integer_range
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.tir import (
    DefaultPipeline,
    HoistExpression,
    LoopPartition,
    RemoveNoOp,
    Simplify,
    VectorizeLoop,
)

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "3"))
FROM = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))
LIMITS = {
    name: (0 if unsigned else -(1 << (bits - 1)), (1 << (bits - (not unsigned))) - 1)
    for bits in (8, 32, 64)
    for name, unsigned in ((f"int{bits}", False), (f"uint{bits}", True))
}
PASSES: list[CompilerPass] = [
    Simplify(),
    Simplify(
        transitively_prove_inequalities=True,
        propagate_knowns_to_prove_conditional=True,
        propagate_knowns_to_simplify_expressions=True,
        convert_boolean_to_and_of_ors=True,
        apply_constraints_to_boolean_branches=True,
    ),
    RemoveNoOp(use_dataflow_analysis=True),
    HoistExpression(),
    LoopPartition(),
    VectorizeLoop(),
    DefaultPipeline(),
]
GUARDED = """
@T.prim_func
def main(
    A: T.Buffer(({size},), "{dtype}"), C: T.Buffer((4, 64), "{dtype}"), n: T.{dtype}
):
    B = T.alloc_buffer((4, 8), "{dtype}")
    for i in range({start}, {end}):
        for j in T.{kind}(T.{index}(8)):
            if {condition}:
                C[i % T.{index}(4), i % T.{index}(64)] = {value}
            else:
                A[{place}] = {other} + B[i % T.{index}(4), j]
                B[i % T.{index}(4), j] = {value}
"""


class Texts:
    """Expressions of TVMScript over integers of one type."""

    def __init__(self, pick: random.Random, dtype: str, leaves: Sequence[str]) -> None:
        self._pick = pick
        self._dtype = dtype
        self._leaves = leaves

    def literal(self) -> str:
        low, high = LIMITS[self._dtype]
        near = low, low + 1, low // 2, high // 2 + 1, high // 3, high - 1, high
        value = self._pick.choice((*near, 0, 1, 2, 3, 7, -1, -2))
        return f"T.{self._dtype}({min(max(value, low), high)})"

    def value(self, depth: int) -> str:
        pick = self._pick
        if depth == 0 or pick.random() < 0.2:
            return pick.choice(self._leaves) if pick.random() < 0.5 else self.literal()
        lhs, rhs = self.value(depth - 1), self.value(depth - 1)
        operator = pick.choice(("+", "-", "*", "+", "-", "*", "//", "%", "min", "shift"))
        if operator == "min":
            return f"T.{pick.choice(('min', 'max', 'truncmod'))}({lhs}, {rhs})"
        if operator == "shift":
            return f"T.{pick.choice(('shift_left', 'shift_right'))}({lhs}, {rhs})"
        return f"({lhs} {operator} {rhs})"

    def condition(self) -> str:
        predicate = self._pick.choice(("<", "<=", ">", ">=", "==", "!="))
        return f"{self.value(2)} {predicate} {self.value(2)}"


def script(seed: int) -> str:
    """The text of a function, which need not be accepted."""
    pick = random.Random(seed)
    dtype = pick.choice((*LIMITS, "int32", "int64", "int64"))
    index = dtype if dtype in ("int32", "int64") else "int32"
    variables = ["i", "j", "n", "A[5]"]
    if index != dtype:
        variables = [f'T.Cast("{dtype}", i)', "A[i % 8]", "n"]
    texts, places = Texts(pick, dtype, variables), Texts(pick, index, ["i", "j"])
    start, end = f"T.{index}(0)", f"T.{index}({pick.choice((1, 4, 33))})"
    if pick.random() < 0.4:
        start, end = places.literal(), places.literal()
    return GUARDED.format(
        dtype=dtype,
        index=index,
        size=pick.choice(("64", "64", f"T.int64({1 << 33})")),
        start=start,
        end=end,
        kind=pick.choice(("serial", "serial", "vectorized")),
        condition=texts.condition(),
        value=texts.value(2),
        other=texts.value(1),
        place=places.value(2),
    )


def module_of(text: str) -> ModuleOp | None:
    """The module, if it is one: literals fold, and may divide by zero."""
    try:
        return tvmscript.parse(text)
    except tvmscript.ScriptError:
        return None


def failure(run: CompilerPass, module: ModuleOp) -> DiagnosticException | None:
    try:
        run(module).verify()
    except DiagnosticException as error:
        return error
    return None


def test_passes_raise_documented_exceptions():
    found = [module_of(script(seed)) for seed in range(FROM, FROM + COUNT)]
    modules = [module for module in found if module is not None]
    assert len(modules) >= COUNT // 2
    for module in modules:
        for run in PASSES:
            error = failure(run, module)
            cause = None if error is None else error.__cause__
            assert cause is None or isinstance(cause, DiagnosticException), error


def tree(pick: random.Random, dtype: IntegerType, leaves: list[Expr], depth: int) -> Expr:
    low, high = integer_range(dtype)
    if depth == 0 or pick.random() < 0.25:
        if pick.random() < 0.5:
            return pick.choice(leaves)
        near = low, low + 1, low // 2, high // 3, high // 2, high - 1, high
        return Const(pick.choice((*near, 0, 1, 2, 3, 7, -1, -2)), dtype)
    build: Callable[[Expr, Expr], Expr] = pick.choice(
        (smart.add, smart.sub, smart.mul, smart.minimum, smart.floordiv, smart.floormod)
    )
    return build(*(tree(pick, dtype, leaves, depth - 1) for _ in range(2)))


@pytest.mark.parametrize("dtype", [i32, i64], ids=str)
def test_analyses_give_up_where_results_do_not_fit(dtype: IntegerType):
    low, high = integer_range(dtype)
    for seed in range(FROM, FROM + 5 * COUNT):
        pick = random.Random(seed)
        leaves = leaves_of(dtype, dtype, dtype)
        ranges = {
            leaf: Range(
                Const(pick.choice((low, low + 1, low // 2, -1, 0, 5, high - 4)), dtype),
                Const(pick.choice((1, 2, 8, 33, high // 2, high - 1, high)), dtype),
            )
            for leaf in leaves
            if pick.random() < 0.8
        }

        trees = [tree(pick, dtype, leaves, 2) for _ in range(4)]
        compare = pick.choice((smart.lt, smart.ge))
        conditions = [compare(*trees[:2]), compare(*trees[2:])]
        sides = [tree(pick, dtype, leaves, 1) for _ in range(4)]
        equations = [smart.eq(*sides[:2]), smart.eq(*sides[2:])]
        value = tree(pick, dtype, leaves, 3)
        analyzer = Analyzer()
        for leaf, domain in ranges.items():
            analyzer.bind(leaf, domain)
        with analyzer.constraint(conditions[0]):
            analyzer.simplify(value, 3)
            analyzer.can_prove(conditions[1])
        solve_inequalities_to_range(leaves[:2], ranges, conditions)
        solve_inequalities_deskew_range(leaves[:2], ranges, conditions)
        solve_linear_equations(leaves[:2], ranges, equations)
        detect_iter_map([value], ranges)
        iter_map_simplify([value], ranges)

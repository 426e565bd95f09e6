"""A bare ValueError came out of compaction: analyses wrote integers that do not fit.

The bound of a guard near the limit of its type, the period of what a loop stores, and the
common multiple of paddings were made literals of the type of the index.
"""

from __future__ import annotations

import pytest
from support.expr_trees import leaves_of
from xdsl.dialects.builtin import i32

from xdsl_tvm import tvmscript
from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.analyzer import Range
from xdsl_tvm.analysis.arith.expr import Const
from xdsl_tvm.analysis.arith.solve_inequalities import solve_linear_inequalities
from xdsl_tvm.analysis.arith.solve_linear import solve_linear_equations
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.tir import (
    DefaultPipeline,
    PlanAndUpdateBufferAllocationLocation,
    Simplify,
)

GUARDED = """
@T.prim_func
def f(A: T.Buffer((64,), "{dtype}"), C: T.Buffer((4, 64), "int32")):
    B = T.alloc_buffer((4, 8), "int32")
    for i, j in T.grid(4, 8):
        with T.block("b"):
            x, y = T.axis.remap("SS", [i, j])
            B[x, y] = x + y
    for i in range(33):
        if A[5] + T.{dtype}(10) >= T.{dtype}({limit}):
            C[i % 4, i] = B[i % 4, i % 8]
"""
LOWEST = -(1 << 31)


@pytest.mark.parametrize(
    ("dtype", "limit"), [("int64", -(1 << 63)), ("int32", -(1 << 31))]
)
def test_guard_at_the_limit(dtype: str, limit: int):
    DefaultPipeline()(tvmscript.parse(GUARDED.format(dtype=dtype, limit=limit))).verify()


def test_relations_that_do_not_fit():
    x, y = leaves_of(i32, i32)
    ranges = {y: Range(Const(0, i32), Const(8, i32))}
    relation = smart.ge(smart.add(x, 10), Const(LOWEST, i32))
    # All numbers of the type fulfill it.
    assert solve_linear_inequalities([x], ranges, [relation]).conditions() == []
    # The factors have a common multiple that 32 bits do not hold.
    primes = (65537, 65539)
    bounds = [smart.le(smart.mul(x, prime), y) for prime in primes]
    found = solve_linear_inequalities([x], {}, bounds)
    assert len(found.conditions()) == 2


def test_equations_without_a_solution_that_fits_stay_as_they_are():
    x, y = leaves_of(i32, i32)
    equation = smart.eq(smart.mul(x, Const(LOWEST, i32)), y)
    found = solve_linear_equations([x], {}, [equation])
    assert found.dst.variables == [x]
    assert found.dst.relations == [equation]


LARGE = """
@T.prim_func
def f(A: T.Buffer((64,), "int32")):
    B = T.alloc_buffer((4, T.int64(1 << 40)), "int32")
    for i in range(4):
        B[i, i] = A[i]
        A[i] = B[i, i] + B[i, 3]
"""


@pytest.mark.parametrize(
    "run",
    [
        PlanAndUpdateBufferAllocationLocation(),
        Simplify(propagate_knowns_to_simplify_expressions=True),
    ],
    ids=str,
)
def test_extents_beyond_the_type_of_the_index(run: CompilerPass):
    run(tvmscript.parse(LARGE.replace("1 << 40", str(1 << 40)))).verify()

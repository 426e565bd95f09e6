"""Passes erased statements that do more than nothing.

HoistExpression and HoistIfThenElse took an else branch that holds only an assumption, or
only a wait for copies, for empty, and moved an assumption next to an `if` under its
condition. VectorizeLoop erased assumptions.
"""

from __future__ import annotations

import pytest
from support.ir import parse

from xdsl_tvm import tvmscript
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.tir import (
    HoistExpression,
    HoistIfThenElse,
    ReduceBranchingThroughOvercompute,
    RemoveNoOp,
    Simplify,
    UnrollLoop,
    VectorizeLoop,
)

BRANCHES = """
@T.prim_func
def main(X: T.Buffer((2, 24), "float32"), n: T.int32):
    for i in T.{kind}(2):
        for j in T.{kind}(24):
            if n > 3:
                X[0, j] = T.float32(1)
            else:
                {statement}
"""
SEQUENCE = """
@T.prim_func
def main(X: T.Buffer((24,), "float32"), n: T.int32):
    for j in range(24):
        T.assume(X[j] == T.float32(0))
        if n > 3:
            X[j] = T.float32(1)
"""
STATEMENTS = {
    "assume": "T.assume(X[1, j] == T.float32(0))",
    "tir.assert": 'assert n > 0, "no"',
    "call_extern": 'T.evaluate(T.call_extern("int32", "f", j))',
    "tvm_storage_sync": 'T.tvm_storage_sync("shared")',
    "tir.while": (
        "while X[0, j] < T.float32(3):\n"
        "                    X[0, j] = X[0, j] + T.float32(1)"
    ),
    "async_wait_queue_scope": (
        'with T.attr(0, "async_wait_queue_scope", 0):\n'
        '                    with T.attr(0, "async_wait_inflight_count", 0):\n'
        "                        T.evaluate(0)"
    ),
    "async_commit_queue_scope": (
        'with T.attr(0, "async_commit_queue_scope", 0):\n'
        "                    T.evaluate(0)"
    ),
}
PASSES = [
    HoistExpression(),
    HoistIfThenElse(),
    HoistIfThenElse("basic"),
    ReduceBranchingThroughOvercompute(),
    RemoveNoOp(),
    Simplify(),
    UnrollLoop(),
    VectorizeLoop(),
]
VECTORIZED = """
tir.func @f(%a: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<8xi32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  tir.for %j = %c0 to %c4 vectorized {
    %v = tir.load %A[%j] : i32
    %p = tir.cmp eq %v, %j : i32
    %q = tir.call "assume"(%p) : (i1) -> i1
    tir.store %j, %A[%j] : i32
  }
}
"""


@pytest.mark.parametrize("run", PASSES, ids=str)
@pytest.mark.parametrize("name", STATEMENTS)
def test_the_other_branch_is_kept(name: str, run: CompilerPass):
    kind = "unroll" if run.name == "tir-unroll-loop" else "serial"
    text = BRANCHES.format(kind=kind, statement=STATEMENTS[name])
    module = tvmscript.parse(text)
    assert name in str(module)
    assert name in str(run(module))


@pytest.mark.parametrize("run", [HoistExpression(), HoistIfThenElse()], ids=str)
def test_an_assumption_does_not_move_under_a_condition(run: CompilerPass):
    module = tvmscript.parse(SEQUENCE)
    before = tvmscript.print_script(module)
    if run.name == "tir-hoist-expression":
        # It simplifies in any case.
        before = before.replace("n > 3", "3 < n")
    assert tvmscript.print_script(run(module)) == before


def test_a_vectorized_assumption_is_one_for_each_lane():
    text = str(VectorizeLoop()(parse(VECTORIZED)))
    assert text.count('"assume"') == 1
    assert text.index("tir.for") < text.index('"assume"') < text.index("tir.store")

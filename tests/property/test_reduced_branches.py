"""Branches whose cases are nearly equal compute the same after their reduction.

`XDSL_TVM_FUZZ` sets the number of programs, `XDSL_TVM_FUZZ_FROM` the first of them.
"""

from __future__ import annotations

import os
import random

import pytest

from xdsl_tvm import tvmscript
from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.semantics import check_semantics
from xdsl_tvm.passes.tir import ReduceBranchingThroughOvercompute

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "3"))
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))
HEADER = """
@T.prim_func
def main(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32"), n: T.int32):
"""
CONDITIONS = ("i > 3", "i == 2", "n > 2", "i < n", "A[i] > n", "n <= 0", "i != 0")
INDICES = ("i", "0", "2", "7 - i", "i // 2")


def random_branches(seed: int) -> str:
    """The text of a function: a loop with branches, some in each other."""
    rng = random.Random(seed)

    def store() -> str:
        value = rng.choice(("n", "i * 2", "B[i] + 1", "A[0]"))
        return f"{rng.choice('AB')}[{rng.choice(INDICES)}] = {value}"

    def extra() -> list[str]:
        """A statement that may have an effect, or none."""
        name, index = rng.choice("AB"), rng.choice(INDICES)
        same = index if rng.random() < 0.7 else rng.choice(INDICES)
        copy = f"{name}[{index}] = {name}[{same}]"
        kind = rng.random()
        if kind < 0.5:
            return [copy]
        extent = rng.choice(("0", "n", "i - 7", "2"))
        return [f"for k in range({extent}):", "    " + (copy if kind < 0.7 else store())]

    def with_extras(common: list[list[str]], count: int) -> list[str]:
        parts = list(common)
        for _ in range(count):
            parts.insert(rng.randint(0, len(parts)), extra())
        return [line for part in parts for line in part]

    def branch(depth: int) -> list[str]:
        inner = [branch(depth - 1)] if depth and rng.random() < 0.5 else []
        common = [[store()] for _ in range(rng.randint(1, 2))] + inner
        cases = [common, common]
        extras = [rng.choice((0, 0, 1)), rng.choice((1, 2))]
        rng.shuffle(extras)
        lines = [f"if {rng.choice(CONDITIONS)}:"]
        for number, (case, count) in enumerate(zip(cases, extras, strict=True)):
            lines += ["else:"] if number else []
            lines += ["    " + line for line in with_extras(case, count)]
        return lines

    lines = ["for i in range(8):"]
    for _ in range(2):
        lines += ["    " + line for line in branch(1)]
    return HEADER + "\n".join("    " + line for line in lines) + "\n"


@pytest.mark.parametrize("use_dataflow_analysis", [False, True])
def test_branches_compute_the_same(use_dataflow_analysis: bool) -> None:
    reduce = ReduceBranchingThroughOvercompute(use_dataflow_analysis)
    before = after = 0
    for seed in range(FIRST, FIRST + COUNT):
        module = tvmscript.parse(random_branches(seed))
        report = check_semantics(module, (reduce,), seed=seed, runs=2, tolerance=0.0)
        assert report.checked
        before += sum(isinstance(op, tir.IfOp) for op in module.walk())
        after += sum(isinstance(op, tir.IfOp) for op in reduce(module).walk())
    assert 0 < after < before - COUNT // 4

"""Simplified random expressions have the value of the original.

The ordinary run takes 2000; `python -m tests.property.fuzz_simplify --n 100000` takes
that many.
"""

from __future__ import annotations

import os

import pytest
from support import simplify_fuzz
from support.simplify_fuzz import Case, as_tir, failure, main, random_case, report, shrunk
from xdsl.dialects.builtin import i32

from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import Add, Const, Expr, Mul, Sub, postorder, substitute

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "250"))
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))
BATCHES = 8


@pytest.mark.parametrize("batch", range(BATCHES))
def test_random_expressions(batch: int):
    for seed in range(FIRST + batch, FIRST + COUNT, BATCHES):
        assert report(seed) is None


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """A simplifier that takes every sum for a difference."""

    def wrong(self: Analyzer, node: Expr) -> Expr:
        sums = [n for n in postorder(node) if isinstance(n, Add) and n.dtype == i32]
        return substitute(node, {n: Sub(n.lhs, n.rhs) for n in sums})

    monkeypatch.setattr(Analyzer, "rewrite_simplify", wrong)
    monkeypatch.setattr(simplify_fuzz, "METHODS", ("rewrite_simplify",))


@pytest.mark.usefixtures("broken")
def test_a_wrong_simplifier_is_noticed_and_the_case_made_small():
    x, y, *_ = simplify_fuzz.LEAVES
    root = Mul(Add(Mul(x, Const(3, i32)), y), Sub(y, Const(2, i32)))
    case = Case(root)
    assert failure(case) is not None
    small = shrunk(case)
    assert isinstance(small.root, Add)
    assert len(small.nodes()) <= 3
    text = as_tir(small)
    assert "tir.func @failing" in text
    assert "tir.add" in text


@pytest.mark.usefixtures("broken")
def test_the_command_fails_with_a_report(capsys: pytest.CaptureFixture[str]):
    assert main(["--n", "30"]) == 1
    output = capsys.readouterr().out
    assert "rewrite_simplify gives" in output
    assert "tir.add" in output
    assert "30 expressions" in output


def test_the_command_counts(capsys: pytest.CaptureFixture[str]):
    assert main(["--n", "20", "--seed", "5"]) == 0
    assert "failures 0" in capsys.readouterr().out


def test_cases_are_reproducible():
    assert random_case(17) == random_case(17)

"""Random sequences of passes keep what random programs compute.

The ordinary run takes a few; `python -m tests.property.fuzz_pipelines --n 200` takes that
many.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import pytest
from support.pipeline_fuzz import Case, PipelineRun, is_well_formed, main, report, shrunk
from support.varied_programs import varied_module
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from xdsl_tvm.dialects import tir

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "1"))
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
def test_random_pipelines(seed: int):
    assert report(seed) is None


@dataclass(frozen=True)
class DropStores(ModulePass):
    """A pass that is wrong: it forgets all stores."""

    name = "drop-stores"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for store in [op for op in op.walk() if isinstance(op, tir.StoreOp)]:
            store.detach()
            store.erase()


def test_a_wrong_pass_is_noticed_and_the_program_made_small():
    case = Case(3, varied_module(3).module, (DropStores(),))
    run = PipelineRun(case)
    assert "drop-stores" in (run.failure() or "")
    small, one, again = shrunk(case, run, trials=60)
    assert one == DropStores()
    assert "drop-stores" in again
    assert sum(1 for _ in small.walk()) < sum(1 for _ in case.module.walk())


def test_varied_programs_are_reproducible_and_well_formed():
    for seed in range(10):
        module = varied_module(seed).module
        module.verify()
        assert is_well_formed(module)
        again = varied_module(seed).module
        assert module.is_structurally_equivalent(again)


def test_the_command_counts(capsys: pytest.CaptureFixture[str]):
    assert main(["--n", "1", "--seed", "0"]) == 0
    assert "failures 0" in capsys.readouterr().out

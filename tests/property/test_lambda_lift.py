"""LambdaLift on random programs with literals in each other.

`XDSL_TVM_FUZZ` sets their number, `XDSL_TVM_FUZZ_FROM` the first of them.
"""

from __future__ import annotations

import os

from support.ir import parse
from support.relax_lambdas import RandomLambdas

from xdsl_tvm.dialects import relax
from xdsl_tvm.interpreters.semantics import check_semantics
from xdsl_tvm.passes.relax.dead_code_elimination import DeadCodeElimination
from xdsl_tvm.passes.relax.lambda_lift import LambdaLift

FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))
COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "4"))


def test_what_programs_compute_is_kept() -> None:
    literals = closures = direct = 0
    for seed in range(FIRST, FIRST + COUNT):
        module = parse(RandomLambdas(seed).text())
        literals += sum(isinstance(op, relax.LambdaOp) for op in module.walk())
        report = check_semantics(
            module.clone(), [LambdaLift(), DeadCodeElimination()], seed=seed
        )
        assert "main" in report.checked, seed
        lifted = LambdaLift()(module)
        lifted.verify()
        for op in lifted.walk():
            assert not isinstance(op, relax.LambdaOp | relax.CallIndirectOp), seed
            closures += isinstance(op, relax.MakeClosureOp)
            direct += isinstance(op, relax.CallOp)
    assert min(literals, closures, direct) > COUNT // 12

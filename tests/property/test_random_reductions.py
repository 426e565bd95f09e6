"""Random reductions over threads compute the same when threads reduce a part each.

The ordinary run takes a few programs; `XDSL_TVM_FUZZ=1000` takes that many.
"""

from __future__ import annotations

import os

import pytest
from support.ir import parse
from support.reduction_kernels import random_reduction
from xdsl.transforms.common_subexpression_elimination import (
    CommonSubexpressionElimination,
)

from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.semantics import SemanticsChecker
from xdsl_tvm.passes.tir.lower_cross_thread_reduction import LowerCrossThreadReduction
from xdsl_tvm.registry import new_context

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "10"))
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
def test_reductions_over_threads(seed: int) -> None:
    text = random_reduction(seed)
    module = parse(text)
    # Sums of halves in another order differ by more than usual.
    tolerance = 0.1 if "xf16" in text else None
    checker = SemanticsChecker(module, seed=seed, runs=1, tolerance=tolerance)
    if seed % 2:
        CommonSubexpressionElimination().apply(new_context(), module)
    assert checker.report.checked == ["main"], checker.report.skipped
    blocks = [op for op in module.walk() if isinstance(op, tir.BlockOp)]
    reductions = sum(op.init is not None for op in blocks)
    LowerCrossThreadReduction().apply(new_context(), module)
    module.verify()
    after = [op for op in module.walk() if isinstance(op, tir.BlockOp)]
    assert sum(op.block_name.data.endswith("_write_back") for op in after) == reductions
    assert not any(op.init is not None for op in after)
    checker.check("tir-lower-cross-thread-reduction", module)
    assert checker.report.checked == ["main"], checker.report.skipped

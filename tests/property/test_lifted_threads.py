"""Kernels compute the same when the loops over a thread axis are one.

The ordinary run takes a few kernels; `XDSL_TVM_FUZZ=1000` takes that many of each kind.
"""

from __future__ import annotations

import os
from collections import Counter

import pytest
from support.ir import parse
from support.reduction_kernels import random_reduction
from support.thread_nests import random_nest
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.semantics import SemanticsChecker
from xdsl_tvm.passes.infra.pipeline_runner import parse_passes
from xdsl_tvm.passes.tir.lift_thread_binding import LiftThreadBinding
from xdsl_tvm.registry import all_passes, new_context

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "6"))
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))
SEEDS = range(FIRST, FIRST + COUNT)
OPAQUE = (
    "tir-lower-cross-thread-reduction,tir-lower-init-block,tir-convert-blocks-to-opaque"
)


def lift(module: ModuleOp, checker: SemanticsChecker) -> None:
    """Lift, and check what came out of it."""
    assert checker.report.checked == ["main"], checker.report.skipped
    LiftThreadBinding().apply(new_context(), module)
    module.verify()
    for kernel in module.walk():
        if isinstance(kernel, tir.ForOp) and kernel.thread_tag is not None:
            parent = kernel.parent_op()
            if not any(True for _ in _axes(parent)):
                tags = Counter(_tags(kernel))
                assert max(tags.values()) == 1, tags
    checker.check("tir-lift-thread-binding", module)
    assert checker.report.checked == ["main"], checker.report.skipped


def _axes(op: object) -> list[tir.ForOp]:
    found: list[tir.ForOp] = []
    while isinstance(op, tir.ForOp | tir.BlockOp | tir.ScopeOp | tir.IfOp):
        if isinstance(op, tir.ForOp) and op.thread_tag is not None:
            found.append(op)
        op = op.parent_op()
    return found


def _tags(kernel: tir.ForOp) -> list[str]:
    return [
        op.thread_tag.data
        for op in kernel.walk()
        if isinstance(op, tir.ForOp) and op.thread_tag is not None
    ]


@pytest.mark.parametrize("seed", SEEDS)
def test_nests(seed: int) -> None:
    module = parse(random_nest(seed))
    checker = SemanticsChecker(module, seed=seed, runs=1)
    try:
        lift(module, checker)
    except PassFailedException as error:
        # Virtual threads would repeat what is before them.
        if "would be repeated by the threads" not in str(error):
            raise


@pytest.mark.parametrize("seed", SEEDS)
def test_reductions(seed: int) -> None:
    text = random_reduction(seed, barriers=True)
    module = parse(text)
    tolerance = 0.1 if "xf16" in text else None
    checker = SemanticsChecker(module, seed=seed, runs=1, tolerance=tolerance)
    for one in parse_passes(all_passes(), OPAQUE):
        one.apply(new_context(), module)
    lift(module, checker)

"""Copies of devices compute what loads and stores do, on random programs.

`XDSL_TVM_FUZZ` sets the number of programs per pass, `XDSL_TVM_FUZZ_FROM` the first.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
from support import random_copies
from support.ir import parse
from xdsl.passes import ModulePass

from xdsl_tvm.interpreters.semantics import SemanticsError, check_semantics
from xdsl_tvm.passes.tir import (
    InjectPTXAsyncCopy,
    InjectPTXLDG32,
    LowerAsyncDMA,
    LowerDeviceStorageAccessInfo,
)
from xdsl_tvm.registry import new_context

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "3"))
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))


@pytest.mark.parametrize(
    ("program", "one", "made", "share"),
    [
        (random_copies.staged_kernel, InjectPTXAsyncCopy(), "ptx_cp_async", 0.3),
        (random_copies.guarded_kernel, InjectPTXLDG32(), "ptx_ldg32", 0.2),
        (random_copies.queued_copies, LowerAsyncDMA(), "dma_copy", 0.4),
        (random_copies.pointers, LowerDeviceStorageAccessInfo(), "tir.address_of", 0.9),
    ],
    ids=["async", "ldg32", "dma", "pointers"],
)
def test_programs_compute_the_same(
    program: Callable[[int], str], one: ModulePass, made: str, share: float
) -> None:
    rewritten = wrong = 0
    for seed in range(FIRST, FIRST + COUNT):
        module = parse(program(seed))
        try:
            report = check_semantics(module, (one,), seed=seed, tolerance=0.0)
        except SemanticsError as error:
            # Some programs have a race, or are wrong otherwise, before any pass.
            if error.pass_name is not None:
                raise AssertionError(f"seed {seed}: {error}\n{module}") from error
            wrong += 1
            continue
        assert report.checked == ["f"]
        result = module.clone()
        one.apply(new_context(), result)
        rewritten += made in str(result)
    assert wrong <= COUNT // 3
    assert rewritten >= int(share * COUNT) // 2, (rewritten, wrong)

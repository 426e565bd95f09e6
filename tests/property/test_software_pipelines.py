"""Software pipelines compute what their loops do, or are refused, on random programs.

`XDSL_TVM_FUZZ` sets the number of programs, `XDSL_TVM_FUZZ_FROM` the first of them.
"""

from __future__ import annotations

import os
from collections import Counter

from support.pipelined_loops import random_pipeline
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.semantics import check_semantics
from xdsl_tvm.passes.infra.pipeline_runner import parse_passes
from xdsl_tvm.passes.tir.inject_software_pipeline import InjectSoftwarePipeline
from xdsl_tvm.registry import all_passes, new_context

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "10"))
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))
LOWERING = "tir-lower-opaque-block,tir-flatten-buffer,tir-simplify"


def parsed(text: str) -> ModuleOp:
    module = Parser(new_context(), text).parse_module()
    module.verify()
    return module


def check(module: ModuleOp, seed: int, lowering: str = "") -> None:
    """Compare what the pipelines compute, exactly, and that nothing is left out."""
    passes = parse_passes(all_passes(), lowering) if lowering else ()
    report = check_semantics(
        module, (InjectSoftwarePipeline(), *passes), seed=seed, tolerance=0.0
    )
    assert report.checked
    assert not report.skipped


def is_async(module: ModuleOp) -> bool:
    return "software_pipeline_async_stages" in str(module)


def test_pipelines_are_right_or_refused() -> None:
    found: Counter[str] = Counter()
    for seed in range(FIRST, FIRST + COUNT):
        module = parsed(random_pipeline(seed))
        try:
            check(module, seed, LOWERING if seed % 4 == 0 else "")
        except PassFailedException:
            found["refused"] += 1
        else:
            found["asynchronous" if is_async(module) else "plain"] += 1
    assert found["plain"] >= COUNT // 5, found
    assert found["asynchronous"] >= COUNT // 16, found
    assert found["refused"] >= COUNT // 8, found


def test_pipelines_in_the_order_of_the_loop_are_accepted() -> None:
    refusals: list[str] = []
    for seed in range(FIRST, FIRST + COUNT // 2):
        module = parsed(random_pipeline(seed, in_order=True))
        try:
            check(module, seed)
        except PassFailedException as error:
            refusals.append(str(error))
    # What the loop loads in front must not move past a store.
    assert all("load it where it is used" in refusal for refusal in refusals)
    assert len(refusals) <= COUNT // 8


def test_the_loops_are_gone() -> None:
    module = parsed(random_pipeline(0, in_order=True))
    InjectSoftwarePipeline().apply(new_context(), module)
    left = [op for op in module.walk() if isinstance(op, tir.ForOp)]
    assert left
    assert not any(op.annotations for op in left)

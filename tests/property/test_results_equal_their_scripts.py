"""What passes make of the programs of the corpus is equal to its own script, read again.

Every second program takes a random pass or pipeline. With `XDSL_TVM_FUZZ` all programs
do; it is the number of pipelines per program, and `XDSL_TVM_FUZZ_FROM` the seed.
"""

from __future__ import annotations

import os
import random

import pytest
from support.printed_scripts import unchecked
from support.rewriting_passes import LOWERING, rewriting_passes
from support.script_corpus import Script, scripts
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.structural_equal import assert_structural_equal
from xdsl_tvm.passes.infra.pipeline_runner import parse_passes
from xdsl_tvm.registry import all_passes, new_context
from xdsl_tvm.tvmscript import parse
from xdsl_tvm.tvmscript.printer import print_script

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "1"))
SEED = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))
OPTIONS = {
    "tir-bind-target": 'tir-bind-target{target="cuda" host="llvm"}',
    "tir-narrow-data-type": "tir-narrow-data-type{target_bits=32}",
}
"""Passes that need some."""
NOT_SCRIPTS = frozenset(
    (
        # An attribute around the root block: a script with one gets another root.
        "tir-decorate-device-scope",
        # Indices into the constants of the module.
        "tir-extract-prim-func-constants",
        # Assertions in branches of `tir.if_then_else`.
        "tir-insert-bound-checks",
        # Calls before the root block, which get another root, too.
        "tir-instrument-profile-intrinsics",
    )
)
"""Passes that write what scripts cannot say."""
PIPELINES = (
    *(OPTIONS.get(name, name) for name in rewriting_passes() if name not in NOT_SCRIPTS),
    LOWERING,
    "tir-default-pipeline",
    f"{LOWERING},tir-flatten-buffer,tir-unroll-loop,tir-simplify",
)
TOPICS = sorted({script.topic for script in scripts()})


def _equals_its_script(script: Script, pipeline: str) -> bool:
    """Whether the pipeline accepts the program; fails unless the result is equal."""
    module = parse(script.text)
    try:
        for each in parse_passes(all_passes(), pipeline):
            each.apply(new_context(), module)
    except PassFailedException:
        return False
    text = print_script(module)
    try:
        assert_structural_equal(module, parse(unchecked(text)))
    except AssertionError as error:
        pytest.fail(f"{script.id} after {pipeline}: {error}", pytrace=False)
    return True


@pytest.mark.parametrize("topic", TOPICS)
def test_results(topic: str):
    rng = random.Random(f"{topic}{SEED}")
    programs = [script for script in scripts() if script.topic == topic]
    if "XDSL_TVM_FUZZ" not in os.environ:
        programs = programs[::2]
    compared = sum(
        _equals_its_script(script, pipeline)
        for script in programs
        for pipeline in rng.sample(PIPELINES, min(COUNT, len(PIPELINES)))
    )
    assert compared > COUNT * len(programs) // 2

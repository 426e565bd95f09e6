"""Every Relax pass keeps what random programs compute.

Passes are found by themselves, so that none is forgotten; a pass that needs options or
an input form has a line here. A program holds functions that call each other, branches,
dataflow blocks, casts, symbols and, every second one, calls with effects.
`XDSL_TVM_FUZZ` sets the number of programs per pass, `XDSL_TVM_FUZZ_FROM` the first.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache

import pytest
from support.relax_modules import EXTERNS, random_relax_module
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.interpreters.semantics import SemanticsChecker
from xdsl_tvm.passes.infra.pipeline_runner import parse_passes
from xdsl_tvm.registry import all_passes

PASSES = all_passes()
COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "1"))
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))
FLAT = "relax-to-non-dataflow"
ALLOCATED = "relax-legalize-ops,relax-to-non-dataflow,relax-call-tir-rewrite"
VARIANTS: dict[str, tuple[str, ...]] = {
    "relax-convert-to-dataflow": ("", "min_size=1", "min_size=6"),
    "relax-eliminate-common-subexpr": ("", "call_only=true"),
    "relax-fuse-ops-by-pattern": (
        'patterns="generic."',
        'patterns="generic." annotate_codegen=true bind_constants=false',
    ),
    "relax-rewrite-cuda-graph": ("use_cuda_graph=true",),
    "relax-topological-sort": tuple(
        f'order="{order}" direction="from-{end}"'
        for order in ("depth-first", "breadth-first")
        for end in ("inputs", "outputs")
    ),
}
"""For a pass, the option lists to run it with; one without options is not implied."""
NEEDS: dict[str, str] = {
    "relax-annotate-tir-op-pattern": "relax-legalize-ops",
    "relax-call-tir-rewrite": FLAT,
    "relax-fuse-ops": "relax-legalize-ops,relax-annotate-tir-op-pattern",
    "relax-fuse-tir": "relax-legalize-ops,relax-annotate-tir-op-pattern,relax-fuse-ops",
    "relax-kill-after-last-use": FLAT,
    "relax-lower-alloc-tensor": ALLOCATED,
    "relax-lower-runtime-builtin": FLAT,
    "relax-rewrite-dataflow-reshape": "relax-legalize-ops",
    "relax-merge-composite-functions": 'relax-fuse-ops-by-pattern{patterns="generic."}',
    "relax-remove-purity-checking": FLAT,
    "relax-rewrite-cuda-graph": f"{ALLOCATED},relax-static-plan-block-memory",
    "relax-static-plan-block-memory": ALLOCATED,
    "relax-vm-shape-lower": (
        f"{ALLOCATED},relax-static-plan-block-memory,relax-lower-alloc-tensor,"
        "relax-kill-after-last-use,relax-lower-runtime-builtin,relax-compute-prim-value"
    ),
}
"""For a pass, a pipeline that brings any program to its input form."""
ELSEWHERE = frozenset(
    {
        "relax-bind-params",
        "relax-bind-symbolic-vars",
        "relax-convert-to-memref",
        "relax-gradient",
        "relax-lazy-get-input",
        "relax-lazy-set-output",
        "relax-update-v-device",
    }
)
"""Passes with tests of their own: they leave the dialect, or change what is called."""


def pipelines() -> Iterator[str]:
    for name in sorted(PASSES):
        if name.startswith("relax-") and name not in ELSEWHERE:
            for options in VARIANTS.get(name, ("",)):
                yield f"{name}{{{options}}}" if options else name


@cache
def programs() -> list[tuple[ModuleOp, SemanticsChecker]]:
    """Programs, and what they compute."""
    found: list[tuple[ModuleOp, SemanticsChecker]] = []
    for seed in range(FIRST, FIRST + COUNT):
        module = random_relax_module(seed, impure=seed % 2 == 1)
        module.verify()
        found.append((module, SemanticsChecker(module, seed=seed, externs=EXTERNS)))
    return found


@pytest.mark.parametrize("pipeline", list(pipelines()))
def test_a_pass_keeps_what_programs_compute(pipeline: str) -> None:
    accepted, refusals = 0, list[str]()
    needs = NEEDS.get(pipeline.partition("{")[0], "")
    passes = (
        *(parse_passes(PASSES, needs) if needs else ()),
        *parse_passes(PASSES, pipeline),
    )
    for program, checker in programs():
        module = program.clone()
        try:
            report = checker.fresh().check_passes(module, passes)
        except PassFailedException as error:
            refusals.append(str(error))
            continue
        accepted += "main" in report.checked
        assert module.is_structurally_equivalent(program)
    assert accepted, refusals[:3]


def test_what_is_listed_exists() -> None:
    assert {*VARIANTS, *NEEDS, *ELSEWHERE} <= set(PASSES)

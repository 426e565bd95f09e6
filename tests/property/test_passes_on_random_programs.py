"""Every TIR pass keeps what random programs compute.

Passes are found by themselves, so that none is forgotten; a pass with options that matter
lists its variants here. Programs come in the form with blocks and in the one that loops
over buffers only. `XDSL_TVM_FUZZ` sets the number of programs per pass,
`XDSL_TVM_FUZZ_FROM` the first of them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache

import pytest
from support.rewriting_passes import lower_blocks, rewriting_passes
from support.tir_programs import random_module
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.interpreters.semantics import SemanticsChecker, SemanticsError
from xdsl_tvm.passes.infra.pipeline_runner import parse_passes
from xdsl_tvm.registry import all_passes

PASSES = all_passes()
COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "3"))
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))
VARIANTS: dict[str, tuple[str, ...]] = {
    "tir-bind-target": ('target="llvm"', 'target="cuda" host="llvm"'),
    "tir-compact-buffer-allocation": ("", "is_strict=false"),
    "tir-common-subexpr-elim-tir": ("", "identify_equiv_terms=true"),
    "tir-reduce-branching-through-overcompute": ("", "use_dataflow_analysis=true"),
    "tir-remove-no-op": ("", "use_dataflow_analysis=true"),
    "tir-hoist-expression": ("", "hoisted_conditionals=15 hoisted_let_bindings=7"),
    "tir-loop-partition": ("partition_const_loop=true",),
    "tir-hoist-if-then-else": ("", "support_block_scope_hosting=true"),
    "tir-narrow-data-type": ("target_bits=8", "target_bits=16", "target_bits=32"),
    "tir-simplify": (
        "",
        "transitively_prove_inequalities=true convert_boolean_to_and_of_ors=true "
        "apply_constraints_to_boolean_branches=true",
        "propagate_knowns_to_prove_conditional=true "
        "propagate_knowns_to_simplify_expressions=true",
    ),
    "tir-unroll-loop": (
        "auto_max_step=64",
        "auto_max_extent=1 explicit_unroll=false unroll_local_access=true",
    ),
}
"""For a pass, the option lists to run it with; one without options is not implied."""
_BIND = 'tir-bind-target{target="cuda" host="llvm"}'
NEEDS: dict[str, str] = {
    "tir-annotate-device-regions": _BIND,
    "tir-lower-device-kernel-launch": (
        f"{_BIND},tir-annotate-device-regions,tir-split-host-device"
    ),
    "tir-split-host-device": f"{_BIND},tir-annotate-device-regions",
    "tir-compact-buffer-allocation": (
        "tir-lower-init-block,tir-convert-blocks-to-opaque"
    ),
    "tir-finalize-device-passes": 'tir-bind-target{target="llvm" host="llvm"}',
    "tir-finalize-host-passes": 'tir-bind-target{target="c"}',
    "tir-make-packed-api": 'tir-bind-target{target="llvm" host="llvm"}',
    "tir-make-unpacked-api": 'tir-bind-target{target="llvm" host="llvm"}',
    "tir-plan-and-update-buffer-allocation-location": "tir-lower-init-block",
    "tir-lower-custom-datatypes": 'tir-bind-target{target="c"}',
    "tir-lower-intrin": 'tir-bind-target{target="c"}',
}
"""For a pass, a pipeline that brings any program to its input form.

For the target `c`, `tir-lower-intrin` fuses no product with a sum.
"""
REFUSES_ANY = frozenset[str]()
"""Passes that random programs hold nothing for."""


def pipelines() -> Iterator[str]:
    for name in rewriting_passes():
        for options in VARIANTS.get(name, ("",)):
            yield f"{name}{{{options}}}" if options else name


def passes_of(pipeline: str) -> tuple[ModulePass, ...]:
    return parse_passes(PASSES, pipeline) if pipeline else ()


@cache
def programs() -> list[tuple[ModuleOp, SemanticsChecker]]:
    """Programs with blocks, and the same ones without, and what they compute."""
    found: list[tuple[ModuleOp, SemanticsChecker]] = []
    for seed in range(FIRST, FIRST + COUNT):
        program = random_module(seed, isolated=True)
        if program.foreign:
            continue
        lowered = program.module.clone()
        lower_blocks(lowered)
        for module in (program.module, lowered):
            module.verify()
            found.append((module, SemanticsChecker(module, seed=seed, tolerance=0.0)))
    return found


@pytest.mark.parametrize("pipeline", list(pipelines()))
def test_a_pass_keeps_what_programs_compute(pipeline: str) -> None:
    name = pipeline.partition("{")[0]
    accepted, refusals = 0, list[str]()
    for program, checker in programs():
        module = program.clone()
        passes = passes_of(NEEDS.get(name, "")) + passes_of(pipeline)
        try:
            checker.fresh().check_passes(module, passes)
        except PassFailedException as error:
            refusals.append(str(error))
        except SemanticsError as error:
            # Loops are bound to threads without asking what they write, so their threads
            # may race, or fail before any pass.
            if error.pass_name is None or "race on" in str(error):
                continue
            raise
        else:
            accepted += 1
        assert module.is_structurally_equivalent(program)
    assert accepted or name in REFUSES_ANY, refusals[:3]


def test_what_is_listed_exists() -> None:
    listed = {*VARIANTS, *NEEDS, *REFUSES_ANY}
    assert listed <= set(PASSES)

"""The default pipeline keeps what random programs compute, and reaches its forms.

Each program runs in the interpreter before the pipeline and after each of its passes that
changes it, all forms being checked; then follow the passes that finish functions.
`XDSL_TVM_FUZZ` sets the number of programs, `XDSL_TVM_FUZZ_FROM` the first of them.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
from support.cpu_nests import random_nests
from support.oversized_buffers import roomy_program
from support.staged_programs import staged_program
from support.varied_programs import varied_module
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.interpreters.semantics import SemanticsError, check_semantics
from xdsl_tvm.passes.tir.default_cpu_schedule import DefaultCPUSchedule
from xdsl_tvm.passes.tir.default_pipeline import DefaultPipeline
from xdsl_tvm.passes.tir.finalize_device_passes import FinalizeDevicePasses
from xdsl_tvm.passes.tir.finalize_host_passes import FinalizeHostPasses
from xdsl_tvm.registry import new_context
from xdsl_tvm.tvmscript.parser import parse

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "3"))
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))
IN_ORDER = DefaultCPUSchedule(
    vector_bytes=8, parallel_grain=2, reassociate=False, fuse_multiply_add=False
)
PIPELINE = (
    IN_ORDER,
    # For C, since code for LLVM contracts products and sums.
    *DefaultPipeline(target="c", debug=True).passes(),
    FinalizeDevicePasses(),
    FinalizeHostPasses(),
)
REFUSED = "is to be unrolled, but its extent is no constant"


PROGRAMS: dict[str, Callable[[int], ModuleOp]] = {
    "nests": lambda seed: parse(random_nests(seed)),
    "roomy": lambda seed: Parser(new_context(), roomy_program(seed)).parse_module(),
    "staged": lambda seed: parse(staged_program(seed)),
    "varied": lambda seed: varied_module(seed).module,
}


@pytest.mark.parametrize("kind", PROGRAMS)
def test_random_programs(kind: str) -> None:
    accepted = 0
    for seed in range(FIRST, FIRST + COUNT):
        module = PROGRAMS[kind](seed)
        try:
            check_semantics(module, PIPELINE, seed=seed, tolerance=0.0)
        except PassFailedException as error:
            # As in TVM.
            if REFUSED not in str(error):
                raise
        except SemanticsError as error:
            # The program itself may be undefined.
            if error.pass_name is not None:
                raise
        else:
            accepted += 1
    assert accepted >= COUNT // 4

"""The default pipeline keeps what random programs compute, and reaches its forms.

Each program runs in the interpreter before the pipeline and after each of its passes that
changes it, all forms being checked; then follow the passes that finish functions.
`XDSL_TVM_FUZZ` sets the number of programs, `XDSL_TVM_FUZZ_FROM` the first of them. So do
the kernels of the benchmarks, at small sizes.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Callable
from typing import Any

import pytest
from support import paths
from support.cpu_nests import random_nests
from support.lowering import default_passes_with_forms
from support.oversized_buffers import roomy_program
from support.staged_programs import staged_program
from support.varied_programs import varied_module
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.interpreters.semantics import SemanticsError, check_semantics
from xdsl_tvm.passes.tir.default_cpu_schedule import DefaultCPUSchedule
from xdsl_tvm.passes.tir.finalize_device_passes import FinalizeDevicePasses
from xdsl_tvm.passes.tir.finalize_host_passes import FinalizeHostPasses
from xdsl_tvm.registry import new_context
from xdsl_tvm.tvmscript.parser import parse

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "1"))
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))
IN_ORDER = DefaultCPUSchedule(
    vector_bytes=8, parallel_grain=2, reassociate=False, fuse_multiply_add=False
)
PIPELINE = (
    IN_ORDER,
    # For C, since code for LLVM contracts products and sums.
    *default_passes_with_forms("c"),
    FinalizeDevicePasses(),
    FinalizeHostPasses(),
)
REFUSED = (
    "is to be unrolled, but its extent is no constant",
    # A kernel for the processor has no argument that says where its memory is.
    "main_kernel: requires the device id",
)


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
            if not any(reason in str(error) for reason in REFUSED):
                raise
        except SemanticsError as error:
            # The program itself may be undefined.
            if error.pass_name is not None:
                raise
        else:
            accepted += 1
    assert accepted >= COUNT // 4


sys.path.append(str(paths.ROOT / "benchmarks"))
sources: Any = importlib.import_module("_cpu_kernel_sources")

TOTAL = "A[vi, vj] + B[vi, vj]"
RELU = "T.max(A[vi, vj] * B[vi, vj] + C[vi, vj], T.float32(0))"
SMALL = {"56": "4", "57": "5", "58": "6", "64": "2"}
"""Extents of the images of the convolution, and smaller ones."""


def small(source: str) -> str:
    return re.sub(r"\b(56|57|58|64)\b", lambda found: SMALL[found[0]], source)


KERNELS = {
    "add": sources.map_kernel("add", "AB", TOTAL, 5, 12),
    "chain": sources.map_kernel("chain", "ABC", RELU, 5, 12),
    "transpose": sources.map_kernel("transpose", "A", "A[vj, vi]", 9, 9),
    "columns": sources.sum_kernel(0, 6, 6),
    "rows": sources.sum_kernel(1, 6, 6),
    "softmax": sources.softmax(3, 10),
    "layer norm": sources.layer_norm(3, 10),
    "matmul": sources.matmul(8),
    "conv2d": small(sources.CONV2D),
}


CHOSEN = KERNELS if "XDSL_TVM_FUZZ" in os.environ else ["chain", "softmax", "matmul"]


@pytest.mark.parametrize("name", CHOSEN)
def test_kernels_of_benchmarks(name: str) -> None:
    module = parse(f"from xdsl_tvm.tvmscript import tir as T\n{KERNELS[name]}")
    check_semantics(module, PIPELINE, tolerance=0.0)

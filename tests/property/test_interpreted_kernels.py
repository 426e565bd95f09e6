"""Random kernels, lowered to the last level before LLVM IR, compute what TIR does.

The road to PTX lowers them; the result is run by the interpreter of that level. What the
road refuses is not counted. `XDSL_TVM_FUZZ` sets the number of kernels of each kind,
`XDSL_TVM_FUZZ_FROM` the first of them.
"""

from __future__ import annotations

import os
from copy import deepcopy
from typing import Any

import numpy as np
import pytest
from support.gpu_programs import KERNELS, UNSYNCHRONIZED, exposed, is_kernel
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import InterpretationError, PassFailedException

from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.random_inputs import random_arguments
from xdsl_tvm.interpreters.tir import interpret
from xdsl_tvm.lowering.pipelines import run_pipeline
from xdsl_tvm.registry import new_context
from xdsl_tvm.runtime.kernel_interpreter import InterpretedKernels

pytest.importorskip("llvmlite")

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "1"))
WARP_MEMORY = 'tir-bind-target{target="cuda"},tir-lower-warp-memory'
"""What the road has no place for: memory of warps is lowered before it."""
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))


def copied(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments, arrays with all that is between their elements."""
    return tuple(deepcopy(arguments))


def compared(module: ModuleOp, func: tir.FuncOp, seed: int) -> str | None:
    """Why a function was not run at both levels; None if it was, with equal results."""
    name = func.sym_name.data
    tolerance = 0.1 if "f16" in str(func) else 1e-5
    try:
        arguments = random_arguments(func, np.random.default_rng(seed))
        expected = copied(arguments)
        interpret(module)[name](*expected)
        kernels = InterpretedKernels(module)
        run = kernels[name]
    except (InterpretationError, PassFailedException) as error:
        # A fault of the program, or what the road does not lower.
        return str(error)
    found = copied(arguments)
    try:
        run(*found)
    except PassFailedException as error:
        return str(error)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, tolerance, tolerance, err_msg=name)
    return None


@pytest.mark.parametrize("kind", KERNELS)
def test_random_kernels(kind: str) -> None:
    executed = 0
    refused: list[str] = []
    for seed in range(FIRST, FIRST + 8 * COUNT):
        module = KERNELS[kind](seed)
        if executed >= COUNT or not is_kernel(module):
            continue
        exposed(module)
        for func in module.ops:
            if isinstance(func, tir.FuncOp):
                reason = compared(module, func, seed)
                executed += reason is None
                refused += [reason] if reason else []
    assert executed >= COUNT, refused


@pytest.mark.parametrize("kind", UNSYNCHRONIZED)
def test_kernels_without_barriers(kind: str) -> None:
    refused: list[str] = []
    for seed in range(FIRST, FIRST + COUNT):
        kernel = UNSYNCHRONIZED[kind](seed)
        exposed(kernel.module)
        if kind == "warps":
            run_pipeline(new_context(), kernel.module, WARP_MEMORY)
        try:
            (name, *_) = kernels = InterpretedKernels(kernel.module)
        except PassFailedException as error:
            refused.append(str(error))
            continue
        found = copied(kernel.arrays)
        kernels[name](*found)
        for one, other in zip(found, kernel.expected, strict=True):
            np.testing.assert_allclose(one, other, kernel.tolerance, kernel.tolerance)
    if len(refused) == COUNT:
        pytest.skip(f"the road lowers none of them: {refused[0]}")

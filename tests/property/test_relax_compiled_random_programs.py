"""Compiled random Relax programs compute what the interpreter does.

They take the default pipeline, fusion and planning included, and the plain road. Among
them are functions that call each other and Python, branches, casts, symbols and tuples.
`XDSL_TVM_FUZZ` sets the number of programs, `XDSL_TVM_FUZZ_FROM` the first.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from support.relax_modules import EXTERNS, random_relax_module
from xdsl.dialects.builtin import ModuleOp

import xdsl_tvm
from xdsl_tvm.dialects import relax
from xdsl_tvm.interpreters.errors import SimulationError
from xdsl_tvm.interpreters.random_relax_inputs import random_relax_arguments
from xdsl_tvm.interpreters.relax import interpret

pytest.importorskip("llvmlite")
COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "2"))
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))


def main_of(module: ModuleOp) -> relax.FuncOp:
    return next(
        op
        for op in module.body.ops
        if isinstance(op, relax.FuncOp) and "global_symbol" in op.attributes
    )


def outcome(function: Any, arguments: Any) -> Any:
    """What a call gives; the word `failed` where the program fails."""
    try:
        return function(*arguments)
    except (SimulationError, RuntimeError):
        return "failed"


@pytest.mark.parametrize("optimize", [True, False])
@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
def test_compiled_programs(seed: int, optimize: bool) -> None:
    module = random_relax_module(seed)
    interpreted = interpret(module, externs=EXTERNS)["main"]
    compiled = xdsl_tvm.compile(module, optimize=optimize, externs=EXTERNS)["main"]
    rng = np.random.default_rng(seed)
    for attempt in range(3):
        arguments = random_relax_arguments(main_of(module), rng, attempt)
        expected = outcome(interpreted, arguments)
        found = outcome(compiled, arguments)
        if isinstance(expected, str):
            assert found == expected
            continue
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)

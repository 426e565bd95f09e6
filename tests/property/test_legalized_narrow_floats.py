"""Random programs on narrow floats, legalized: in the interpreter and as machine code.

They are compared with numpy, which computes in float32 and rounds where narrow memory is
written (`support/narrow_programs.py`): all bits, but for signs of zeros and NaNs.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np
import pytest
from support.ir import parse
from support.narrow_programs import DTYPES, Array, Program, narrow_program, same

import xdsl_tvm
from xdsl_tvm.interpreters.tir import interpret
from xdsl_tvm.lowering.pipelines import passes_of
from xdsl_tvm.registry import new_context

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "1"))
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))
SEEDS = range(FIRST, FIRST + COUNT)
COMPILED = range(FIRST, FIRST + (COUNT + 2) // 3) if COUNT < 12 else SEEDS
"""In an ordinary run fewer programs are compiled, which takes longest."""
COMPUTE = ("tir-bf16-compute-legalize", "tir-fp8-compute-legalize")
STORAGE = ("tir-fp8-storage-legalize", "tir-bf16-storage-legalize")


def check(program: Program, found: Sequence[Array], seed: int) -> None:
    for array, expected in zip(found, program.results, strict=True):
        assert same(array, expected), (seed, array, expected, program.text)


@pytest.mark.parametrize("dtype", DTYPES)
def test_computed_in_f32(dtype: str) -> None:
    for seed in SEEDS:
        program = narrow_program(seed, dtype)
        module = parse(program.text)
        for one in passes_of(",".join(COMPUTE)):
            one.apply(new_context(), module)
        module.verify()
        found = [array.copy() for array in program.arguments]
        interpret(module)["f"](*found)
        check(program, found, seed)


@pytest.mark.parametrize("dtype", DTYPES)
def test_stored_as_integers(dtype: str) -> None:
    for seed in SEEDS:
        program = narrow_program(seed, dtype, pointers=True)
        module = parse(program.text)
        for one in passes_of(",".join((*COMPUTE, *STORAGE))):
            one.apply(new_context(), module)
        module.verify()
        assert dtype not in str(module).replace(f'"{dtype}"', "")
        narrow = DTYPES[dtype]
        bits = np.dtype(f"u{np.dtype(narrow).itemsize}")
        found = [array.copy() for array in program.arguments]
        interpret(module)["f"](
            *(array.view(bits) if array.dtype == narrow else array for array in found)
        )
        check(program, found, seed)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("optimize", [False, True])
def test_machine_code(dtype: str, optimize: bool) -> None:
    pytest.importorskip("llvmlite", reason="machine code needs llvmlite")
    # All programs in one module: LLVM takes longer for its start than for one of them.
    programs = {seed: narrow_program(seed, dtype) for seed in COMPILED}
    for first in range(0, len(programs), 50):
        some = dict(list(programs.items())[first : first + 50])
        text = "\n".join(
            program.text.replace("@f(", f"@f{seed}(").replace('"f"', f'"f{seed}"')
            for seed, program in some.items()
        )
        compiled = xdsl_tvm.compile(text, optimize=optimize)
        for seed, program in some.items():
            found = [array.copy() for array in program.arguments]
            compiled[f"f{seed}"](*found)
            check(program, found, seed)

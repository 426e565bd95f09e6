"""Machine code of what LowerIntrin leaves: that of the builtins and divisions before."""

from __future__ import annotations

import numpy as np
import pytest
from support.division_programs import DivisionProgram
from support.ir import parse as parse_ir
from xdsl.utils.exceptions import PassFailedException

import xdsl_tvm
from xdsl_tvm.passes.tir import BindTarget, LowerIntrin
from xdsl_tvm.tvmscript import parse

pytest.importorskip("llvmlite", reason="machine code needs llvmlite")

SCRIPT = """
@T.prim_func
def f(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "int32"),
      C: T.Buffer((64,), "float32"), D: T.Buffer((64,), "int32")):
    for i in range(64):
        C[i] = T.tanh(A[i]) + T.sigmoid(A[i]) * T.exp(A[i]) + T.atan(A[i])
        D[i] = B[i] // 7 * 1000 + B[i] % 5 * 100 + T.clz(B[i]) + i // 9 % 3
"""


@pytest.mark.parametrize("target", ["llvm", "c", "cuda", "nvptx", "opencl", "vulkan"])
def test_a_script(target: str) -> None:
    module = parse(SCRIPT)
    bound = BindTarget(target, "llvm")(module)
    lowered = LowerIntrin()(bound)
    for func in lowered.ops:
        del func.attributes["target"]
    a = np.linspace(-3, 3, 64, dtype=np.float32)
    b = np.arange(-32, 32, dtype=np.int32)
    c, e = np.zeros((2, 64), np.float32)
    d, f = np.zeros((2, 64), np.int32)
    xdsl_tvm.compile(module)["f"](a, b, c, d)
    if target == "vulkan":
        with pytest.raises(PassFailedException, match='"find_msb" has no lowering'):
            xdsl_tvm.compile(lowered)
        return
    xdsl_tvm.compile(lowered)["f"](a, b, e, f)
    assert np.array_equal(d, f)
    assert np.allclose(c, e, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_random_divisions(seed: int) -> None:
    program = DivisionProgram(seed, "llvm")
    module = parse_ir(program.text)
    arguments = program.arguments()
    expected = [array.copy() for array in arguments]
    xdsl_tvm.interpret(module)["f"](*expected)
    xdsl_tvm.compile(LowerIntrin()(module))["f"](*arguments)
    for found, wanted in zip(arguments, expected, strict=True):
        assert np.array_equal(found, wanted), program.text

"""A division under a condition, by a value that does not change in the loop.

LLVM's loop vectorizer computes such a division in one lane of its vectors, where the
condition holds for that lane, and uses it in all. On processors with AVX-512 an index
then came out as anything, and the process died.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import xdsl_tvm
from xdsl_tvm.lowering.llvm_text.emitter import emit_llvm_ir
from xdsl_tvm.lowering.pipelines import lower_to_llvm
from xdsl_tvm.registry import new_context
from xdsl_tvm.runtime import llvm_jit
from xdsl_tvm.tvmscript import parse

pytest.importorskip("llvmlite", reason="native code needs llvmlite")

SCRIPT = """
@T.prim_func
def f(a: T.handle, c: T.handle):
    n = T.{dtype}()
    A = T.match_buffer(a, (n,), "int32")
    C = T.match_buffer(c, (n, 2, 16), "int32")
    for k in range(T.{dtype}(2)):
        for j in range(T.{dtype}(16)):
            for i in range(n):
                C[i, k, j] = T.if_then_else(
                    i > 6, A[{op}(j, n)] + A[{op}(k, n)], A[k]
                )
"""

HIDDEN = SCRIPT.replace(", n)]", ", T.popcount(n) + 7)]")
"""The same, where only LLVM sees that the divisor, 9 again, does not change."""

RUN = """
import sys
import numpy as np
import xdsl_tvm
from xdsl_tvm.interpreters.tir import interpret
from xdsl_tvm.tvmscript import parse

inputs = np.arange(9, dtype="i4")
for text in sys.stdin.read().split("-----"):
    module = parse(text)
    want = np.zeros((9, 2, 16), "i4")
    interpret(module)["f"](inputs, want)
    for optimize in (False, True):
        got = np.zeros_like(want)
        xdsl_tvm.compile(module, optimize=optimize)["f"](inputs, got)
        assert (got == want).all(), (text, optimize)
"""

OPERATORS = ("T.floormod", "T.floordiv", "T.truncmod", "T.truncdiv")
DTYPES = ("int8", "int32", "uint64")


def test_the_result_is_the_interpreters() -> None:
    texts = [
        script.format(dtype="int32", op=op)
        for op in OPERATORS
        for script in (SCRIPT, HIDDEN)
    ]
    if "XDSL_TVM_FUZZ" not in os.environ:
        # Remainders by a divisor that is seen, quotients by one that is not.
        texts = [texts[0], texts[3], texts[4], texts[7]]
    done = subprocess.run(
        [sys.executable, "-c", RUN],
        input="-----".join(texts),
        capture_output=True,
        check=False,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("optimize", [False, True])
def test_loops_that_divide_by_a_variable_stay_scalar(dtype: str, optimize: bool) -> None:
    """Whatever the processor: the code is not run here."""
    for op in OPERATORS:
        module = parse(HIDDEN.format(dtype=dtype, op=op))
        code = _llvm_ir(module, vector_bytes=64 if optimize else None)
        assert "rem i" in code or "div i" in code
        assert code.count("!llvm.loop") == 3
        assert not _has_vectors(code, "skylake-avx512")


def test_loops_without_a_division_are_vectorized() -> None:
    """Of a nest, those that hold none."""
    module = parse("""
@T.prim_func
def f(a: T.handle, c: T.handle, d: T.int32):
    n = T.int32()
    m = T.int32()
    A = T.match_buffer(a, (n, m), "float32")
    C = T.match_buffer(c, (n, m), "float32")
    for i in range(n):
        C[i % d, 0] = A[i, 0]
        for j in range(m):
            C[i, j] = A[i, j] * T.float32(2)
""")
    code = _llvm_ir(module)
    assert code.count("!llvm.loop !") == 1
    assert _has_vectors(code, "skylake-avx512")


def test_a_division_that_is_moved_out_of_a_loop_cannot_fail() -> None:
    """It is done also where the loop has no iteration, or the condition never holds."""
    module = parse("""
@T.prim_func
def f(C: T.Buffer((4, 2), "int32"), n: T.int32, x: T.int32, d: T.int32, e: T.uint32):
    for i in range(n):
        for j in range(2):
            if d > 0 or x > T.int32(-2147483648) and d < 0:
                C[i, 0] = T.truncdiv(x, d) + T.floormod(x, d)
            if e > T.uint32(0):
                C[i, 1] = T.Cast("int32", T.uint32(7) // e)
""")
    code = _llvm_ir(module)
    assert code.count("sdiv") == code.count("udiv") == 1
    assert "!llvm.loop" not in code
    least = -(2**31)
    undefined = [(0, 5, 0), (2, 5, 0), (2, least, -1), (0, least, -1)]
    defined = [(7, 2), (-7, 2), (-7, -2), (least, 1), (least + 1, -1)]
    for optimize in (False, True):
        function = xdsl_tvm.compile(module, optimize=optimize)["f"]
        for n, x, d in undefined:
            out = np.zeros((4, 2), "i4")
            function(out, n, x, d, 0)
            assert not out.any()
        for x, d in defined:
            out = np.zeros((4, 2), "i4")
            function(out, 1, x, d, 3)
            assert out[0].tolist() == [int(x / d) + x % d, 2]


def _llvm_ir(module: ModuleOp, vector_bytes: int | None = None) -> str:
    lowered = module.clone()
    lower_to_llvm(new_context(), lowered, vector_bytes=vector_bytes)
    return emit_llvm_ir([lowered])


def _has_vectors(code: str, cpu: str) -> bool:
    triple = "x86_64-unknown-linux-gnu"
    text = llvm_jit.assembly(code, triple=triple, cpu=cpu)
    return re.search(r"%[yz]mm", text) is not None

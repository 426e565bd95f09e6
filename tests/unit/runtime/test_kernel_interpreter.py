"""Modules compiled for a GPU: host code runs, kernels are interpreted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support import paths
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm import relax
from xdsl_tvm.interpreters.errors import OutOfBoundsError
from xdsl_tvm.runtime.device_array import DeviceArray
from xdsl_tvm.runtime.interpreted import interpret
from xdsl_tvm.runtime.kernel_interpreter import InterpretedKernels
from xdsl_tvm.runtime.load import load_module
from xdsl_tvm.tools.cli import main
from xdsl_tvm.tvmscript import parse

pytest.importorskip("llvmlite")
KERNELS = paths.EXAMPLES / "kernels"


def test_examples() -> None:
    rng = np.random.default_rng(0)
    add = InterpretedKernels(load_module(KERNELS / "vector_add.mlir"))["vector_add"]
    for count in (0, 1, 300):
        a, b = rng.random(count, "f4"), rng.random(count, "f4")
        c = np.full(count, np.nan, "f4")
        add(a, b, c)
        np.testing.assert_array_equal(c, a + b)
    softmax = load_module(paths.EXAMPLES / "tvmscript" / "softmax_threads.py")
    x, y = rng.normal(size=(16, 256)).astype("f4"), np.zeros((16, 256), "f4")
    expected = np.zeros_like(y)
    interpret(softmax)["softmax"](x, expected)
    InterpretedKernels(softmax, "sm_90")["softmax"](x, y)
    np.testing.assert_allclose(y, expected, 1e-6)


SHARED = """
@T.prim_func
def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for t in T.thread_binding(64, thread="threadIdx.x"):
        S = T.decl_buffer((128,), scope="shared.dyn")
        S[t] = A[t]
        T.tvm_storage_sync("shared.dyn")
        B[t] = S[63 - t] + S[t]
"""


def test_dynamic_shared_memory() -> None:
    kernels = InterpretedKernels(parse(SHARED), count_accesses=True)
    a, b = np.arange(64, dtype="f4"), np.zeros(64, "f4")
    kernels["main"](a, b)
    assert (b == 63).all()
    report = kernels.kernels.counts.banks()
    assert (report.worst, report.steps) == (1, 6)


def test_a_relax_function() -> None:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((3, 5), "float32"))
    w = relax.Var("w", relax.TensorStructInfo((5, 4), "float32"))
    with builder.function("main", [x, w]):
        with builder.dataflow():
            y = builder.emit(relax.op.nn.relu(relax.op.matmul(x, w)))
            result = builder.emit_output(y)
        builder.emit_func_output(result)
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(3, 5)).astype("f4"), rng.normal(size=(5, 4)).astype("f4")
    found = InterpretedKernels(builder.get())["main"](a, b)
    assert isinstance(found, DeviceArray)
    np.testing.assert_allclose(found.numpy(), np.maximum(a @ b, 0), 1e-5)


def test_faults_are_those_of_the_interpreter() -> None:
    """The index is one of the data: nothing before the run tells that it is too large."""
    module = parse(
        """
@T.prim_func
def main(A: T.Buffer((32,), "int32"), B: T.Buffer((32,), "int32")):
    for t in T.thread_binding(32, thread="threadIdx.x"):
        B[t] = A[A[t]]
"""
    )
    function = InterpretedKernels(module)["main"]
    a, b = np.full(32, 3, np.int32), np.zeros(32, np.int32)
    function(a, b)
    assert (b == 3).all()
    a[7] = 32
    with pytest.raises(OutOfBoundsError, match="thread 7 of block 0 accesses 4 bytes"):
        function(a, b)
    a[7] = 31
    function(a, b)


def test_what_has_no_kernel() -> None:
    with pytest.raises(PassFailedException, match="directly accessed by host memory"):
        InterpretedKernels(load_module(paths.EXAMPLES / "scale.mlir"))


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "shared.py"
    file.write_text(f"from tvm.script import tir as T\n{SHARED}")
    flags = ["--interpret", "--target", "cuda", "--bank-conflicts"]
    assert main(["run", str(file), *flags]) == 0
    out = capsys.readouterr().out
    assert "bank conflicts: 0 of 6 steps" in out
    assert out.count("global memory: reads 8 sectors of 32 bytes, 8 would do") == 1

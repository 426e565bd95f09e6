"""Reductions over threads on the road to PTX; `ptxas` judges the text where it is."""

from __future__ import annotations

import io
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from support.allreduce_kernels import allreduce_kernel
from support.ir import parse as parse_ir
from xdsl.dialects.builtin import ModuleOp

from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.tir import interpret
from xdsl_tvm.lowering.pipelines import gpu_pipeline, run_pipeline
from xdsl_tvm.registry import new_context
from xdsl_tvm.targets.ptx import PTXTarget
from xdsl_tvm.tvmscript import parse

SHUFFLES = {"f32": 1, "f16": 1, "i64": 2, "f64": 2}
"""The shuffles of PTX that one of TIR becomes, by dtype."""


def ptx(module: ModuleOp) -> str:
    output = io.StringIO()
    PTXTarget().emit(new_context(), module, output)
    return output.getvalue()


def kernel(extents: tuple[int, ...], reduced: str = "x", dtype: str = "f32") -> str:
    return ptx(parse_ir(allreduce_kernel(extents, reduced, dtype=dtype, target=None)))


def check_by_ptxas(text: str, folder: Path) -> None:
    ptxas = shutil.which("ptxas")
    if ptxas is None:
        return
    file = folder / "kernel.ptx"
    file.write_text(text)
    command = [ptxas, "-arch=sm_80", str(file), "-o", str(folder / "kernel.cubin")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("dtype", SHUFFLES)
def test_a_warp(dtype: str, tmp_path: Path) -> None:
    text = kernel((32,), dtype=dtype)
    assert text.count("activemask.b32") == 1
    assert text.count("shfl.sync.down.b32") == 5 * SHUFFLES[dtype]
    assert text.count("shfl.sync.idx.b32") == SHUFFLES[dtype]
    assert "bar.sync" not in text
    assert ".shared" not in text
    check_by_ptxas(text, tmp_path)


def test_integers_of_a_warp(tmp_path: Path) -> None:
    """All lanes get the result of one instruction; of more warps, of one each."""
    text = kernel((32,), dtype="i32")
    assert text.count("redux.sync.add.s32") == 1
    assert "shfl" not in text
    check_by_ptxas(text, tmp_path)
    assert kernel((64,), dtype="i32").count("redux.sync.add.s32") == 1


@pytest.mark.parametrize("dtype", ["i8", "i16", "ui32"])
def test_dtypes_without_shuffles(dtype: str, tmp_path: Path) -> None:
    text = kernel((32,), dtype=dtype)
    assert "shfl" not in text
    assert text.count("bar.warp.sync") == 5
    check_by_ptxas(text, tmp_path)


@pytest.mark.parametrize(
    ("extents", "reduced", "counts"),
    [
        ((128,), "x", {"shfl.sync.down": 7, "bar.sync": 2, "bar.warp.sync": 0}),
        ((1024,), "x", {"shfl.sync.down": 10, "bar.sync": 2, "bar.warp.sync": 0}),
        ((12,), "x", {"shfl.sync.down": 4, "bar.sync": 0, "bar.warp.sync": 0}),
        ((8, 32), "x", {"shfl.sync.down": 3, "bar.sync": 0, "bar.warp.sync": 0}),
        ((33,), "x", {"shfl.sync.down": 0, "bar.sync": 4, "bar.warp.sync": 5}),
        ((4, 16), "y", {"shfl.sync.down": 0, "bar.sync": 6, "bar.warp.sync": 0}),
    ],
)
def test_numbers_of_threads(
    extents: tuple[int, ...], reduced: str, counts: dict[str, int], tmp_path: Path
) -> None:
    text = kernel(extents, reduced)
    assert {name: text.count(name) for name in counts} == counts
    check_by_ptxas(text, tmp_path)


SOFTMAX = Path(__file__).parents[2] / "examples" / "tvmscript" / "softmax_threads.py"


def test_softmax_of_blocks(tmp_path: Path) -> None:
    text = ptx(parse(SOFTMAX.read_text()))
    assert text.count(".entry") == 1
    assert text.count("shfl.sync.down.b32") == 2 * (5 + 3)
    check_by_ptxas(text, tmp_path)


def test_softmax_in_the_simulator() -> None:
    module = parse(SOFTMAX.read_text())
    passes = gpu_pipeline().removesuffix(",tir-convert-to-gpu")
    run_pipeline(new_context(), module, passes)
    names = {op.callee.data for op in module.walk() if isinstance(op, tir.CallOp)}
    assert {"tvm_warp_shuffle_down", "tvm_storage_sync"} <= names
    given = np.random.default_rng(0).standard_normal((16, 256), np.float32)
    found = np.zeros_like(given)
    interpret(module)["softmax"](given, found)
    powers = np.exp(given - given.max(axis=1, keepdims=True))
    expected = powers / powers.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


ROW_SUM = """
@T.prim_func
def rows(A: T.Buffer((8, 512), "float32"), B: T.Buffer((8,), "float32")):
    for i in T.thread_binding(8, thread="blockIdx.x"):
        for ko in range(4):
            for ki in T.thread_binding(128, thread="threadIdx.x"):
                with T.block("sum"):
                    vi = T.axis.spatial(8, i)
                    vk = T.axis.reduce(512, ko * 128 + ki)
                    with T.init():
                        B[vi] = T.float32(0)
                    B[vi] = B[vi] + A[vi, vk]
"""


def test_partial_sums_of_threads(tmp_path: Path) -> None:
    text = ptx(parse(ROW_SUM))
    assert text.count("shfl.sync.down.b32") == 5 + 2
    assert text.count("st.global") == 1
    check_by_ptxas(text, tmp_path)

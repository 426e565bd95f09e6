"""Products that the GPU schedule has warpgroups do, on `sm_90a`: TIR, the road, PTX."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.gpu_schedules import MANY, kernel_passes
from xdsl.dialects.builtin import ModuleOp

from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.semantics import check_semantics
from xdsl_tvm.interpreters.tir import interpret
from xdsl_tvm.passes.tir.gpu_schedule import GPUSchedule
from xdsl_tvm.registry import new_context
from xdsl_tvm.runtime.kernel_interpreter import InterpretedKernels
from xdsl_tvm.tvmscript import parse

pytest.importorskip("llvmlite", reason="machine code of the host needs llvmlite")

TARGET = "cuda -arch=sm_90a"
PRODUCT = """
@T.prim_func
def main(A: T.Buffer(({batch}, {m}, {k}), "{dtype}"), B: T.Buffer({b}, "{dtype}"),
         C: T.Buffer(({batch}, {m}, {n}), "{out}")):
    T.func_attr({{"global_symbol": "main", "tir.noalias": True}})
    for b, i, j, t in T.grid({batch}, {m}, {n}, {k}):
        with T.block("C"):
            vb, vi, vj, vk = T.axis.remap("SSSR", [b, i, j, t])
            with T.init():
                C[vb, vi, vj] = T.{out}(0)
            C[vb, vi, vj] = C[vb, vi, vj] + T.Cast("{out}", A[vb, vi, vk]) * T.Cast(
                "{out}", B[{at_b}])
"""


def product(
    m: int,
    n: int,
    k: int,
    by_columns: bool,
    batch: int = 1,
    dtype: str = "float16",
    out: str = "float32",
    weights: bool = False,
) -> ModuleOp:
    """A `[batch, m, k]` by B `[batch, n, k]` or `[batch, k, n]`, or without the batch."""
    shape = f"{n}, {k}" if by_columns else f"{k}, {n}"
    at = "vj, vk" if by_columns else "vk, vj"
    if not weights:
        shape, at = f"{batch}, {shape}", f"vb, {at}"
    values = {"m": m, "n": n, "k": k, "batch": batch, "dtype": dtype, "out": out}
    return parse(PRODUCT.format(b=f"({shape})", at_b=at, **values))


def operands(shapes: list[tuple[int, ...]], dtype: Any = "f2") -> list[Any]:
    rng = np.random.default_rng(0)
    return [rng.uniform(-1, 1, shape).astype(dtype) for shape in shapes]


CASES = (
    {"m": 72, "n": 40, "k": 200, "by_columns": True, "weights": True},
    {"m": 40, "n": 72, "k": 136, "by_columns": False, "batch": 2},
)
MORE = (
    {"m": 64, "n": 64, "k": 128, "by_columns": True},
    {"m": 65, "n": 64, "k": 72, "by_columns": True, "batch": 3},
    {"m": 128, "n": 136, "k": 328, "by_columns": False, "weights": True, "batch": 2},
    {"m": 64, "n": 256, "k": 72, "by_columns": True},
)


def is_wave(loop: tir.ForOp) -> bool:
    """Whether a loop is that of the tiles of a block."""
    inner = loop.body.block.ops
    return any(isinstance(op, tir.ForOp) and _holds_wait(op) for op in inner)


def _holds_wait(loop: tir.ForOp) -> bool:
    ops = loop.body.block.ops
    calls = [op.callee.data for op in ops if isinstance(op, tir.CallOp)]
    return "ptx_wait_barrier" in calls


@pytest.mark.parametrize("case", [*CASES, *(MORE if MANY else ())])
def test_scheduled_products(case: dict[str, Any]) -> None:
    """Full and ragged tiles, fewer and more steps than stages, batches: no races.

    One multiprocessor has three blocks at a time: four tiles are two of two blocks.
    """
    module = product(**case)
    schedule = GPUSchedule(TARGET, warpgroup_tile=64, multiprocessors=1)
    schedule.apply(new_context(), module)
    assert '"ptx_wgmma_mma_async"' in str(module)
    batch, m, n, k = (case.get(name, 1) for name in ("batch", "m", "n", "k"))
    tiles = batch * -(-m // 64) * -(-n // 64)
    waves = [op for op in module.walk() if isinstance(op, tir.ForOp) and is_wave(op)]
    assert [tir.constant_value(op.extent) for op in waves] == [2, 2] * (tiles == 4)
    shape = (n, k) if case["by_columns"] else (k, n)
    shape = shape if case.get("weights") else (batch, *shape)
    a, b = operands([(batch, m, k), shape])
    c = np.full((batch, m, n), np.nan, "f4")
    interpret(module)["main"](a, b, c)
    right = np.swapaxes(b, -1, -2) if case["by_columns"] else b
    np.testing.assert_allclose(c, a.astype("f8") @ right.astype("f8"), 1e-4, 1e-4)


@pytest.mark.skipif(not MANY, reason="after each pass, in the long run")
def test_semantics_of_the_pipeline() -> None:
    module = product(40, 40, 72, by_columns=True)
    schedule = GPUSchedule(TARGET, warpgroup_tile=64)
    first, others = kernel_passes(schedule)
    check_semantics(module, [first, *others])


LAYER = """
@I.ir_module
class Module:
    @R.function
    def main(
        x: R.Tensor((2, 40, 72), "{dtype}"),
        w: R.Tensor((72, 40), "{dtype}"),
        b: R.Tensor((40,), "{dtype}"),
    ) -> R.Tensor((2, 40, 40), "{dtype}"):
        with R.dataflow():
            y = R.nn.relu(R.add(R.matmul(x, w), b))
            R.output(y)
        return y
"""


@pytest.mark.parametrize("dtype", ["float16", *(["bfloat16"] if MANY else [])])
def test_layer_by_default(dtype: str) -> None:
    """A layer of Relax is one kernel of warpgroups, with what is after the product."""
    storage: Any = "f2"
    if dtype == "bfloat16":
        storage = pytest.importorskip("ml_dtypes").bfloat16
    kernels = InterpretedKernels(parse(LAYER.format(dtype=dtype)), "sm_90a")
    kind = "f16" if dtype == "float16" else "bf16"
    assert f"m64n64k16.f32.{kind}.{kind}" in kernels.ptx
    assert kernels.ptx.count(".entry") == 1
    x, w, b = operands([(2, 40, 72), (72, 40), (40,)], storage)
    exact = np.maximum(x.astype("f8") @ w.astype("f8") + b.astype("f8"), 0)
    found = kernels["main"](x, w, b).numpy().astype("f8")
    np.testing.assert_allclose(found, exact, 0, 0.02 if dtype == "float16" else 0.1)


@pytest.mark.parametrize(
    ("case", "target"),
    [
        ({"m": 64, "n": 64, "k": 96, "by_columns": True}, "cuda -arch=sm_90"),
        ({"m": 32, "n": 64, "k": 96, "by_columns": True}, TARGET),
        ({"m": 64, "n": 64, "k": 64, "by_columns": True}, TARGET),
        ({"m": 64, "n": 64, "k": 100, "by_columns": True}, TARGET),
        ({"m": 64, "n": 60, "k": 96, "by_columns": False}, TARGET),
    ],
)
def test_what_stays_with_warps(case: dict[str, Any], target: str) -> None:
    """Other architectures, few rows or terms, rows that are no multiples of 16 bytes."""
    module = product(**case)
    GPUSchedule(target).apply(new_context(), module)
    text = str(module)
    assert '"ptx_mma"' in text
    assert "wgmma" not in text

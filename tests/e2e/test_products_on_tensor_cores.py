"""Scheduled products on tensor cores, lowered: run below LLVM IR, and as PTX.

The simulator runs the same kernels as TIR (`tests/unit/passes/tir/test_gpu_schedule.py`).
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view
from support.gpu_schedules import MANY

from xdsl_tvm.dialects import nvvm, tvm_llvm
from xdsl_tvm.interpreters.llvm_kernels.counts import AccessCounts
from xdsl_tvm.interpreters.llvm_kernels.launches import LLVMKernels
from xdsl_tvm.lowering.llvm_ir import llvm_ir, lowered_functions
from xdsl_tvm.passes.infra import PassContext
from xdsl_tvm.passes.tir.gpu_schedule import GPUSchedule
from xdsl_tvm.registry import new_context
from xdsl_tvm.runtime.kernel_interpreter import InterpretedKernels
from xdsl_tvm.tvmscript import parse

SIDE = 32
PRODUCT = """
@T.prim_func
def main(A: T.Buffer({a}, "float16"), B: T.Buffer({b}, "float16"),
         C: T.Buffer(({m}, {n}), "float32")):
    T.func_attr({{"global_symbol": "main", "tir.noalias": True}})
    for i, j, t in T.grid({m}, {n}, {k}):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, t])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + T.Cast("float32", A[{at_a}]) * T.Cast(
                "float32", B[{at_b}])
"""
SHAPES = ((32, 32, 128, True, True), (40, 24, 104, True, False))
MORE_SHAPES = ((40, 24, 104, False, True), (33, 35, 70, False, False))


@pytest.mark.parametrize(
    ("m", "n", "k", "by_rows", "by_columns", "stages"),
    [(*shape, stages) for shape in (*SHAPES, *MORE_SHAPES) for stages in (1, 4)]
    if MANY
    else [(*SHAPES[0], 1), (*SHAPES[1], 4)],
)
def test_lowered_products(
    m: int, n: int, k: int, by_rows: bool, by_columns: bool, stages: int
) -> None:
    """A by rows or columns, B by columns or rows; without conflicts of banks."""
    shape_a, at_a = ((m, k), "vi, vk") if by_rows else ((k, m), "vk, vi")
    shape_b, at_b = ((n, k), "vj, vk") if by_columns else ((k, n), "vk, vj")
    module = parse(
        PRODUCT.format(m=m, n=n, k=k, a=shape_a, b=shape_b, at_a=at_a, at_b=at_b)
    )
    schedule = GPUSchedule(
        "cuda -arch=sm_80", tensor_cores=True, tensor_core_tile=SIDE, stages=stages
    )
    ctx = new_context()
    with PassContext(config={"tir.use_async_copy": stages > 1}):
        schedule.apply(ctx, module)
        functions = lowered_functions(ctx, module, "nvptx", "sm_80")
    rng = np.random.default_rng(m)
    a = rng.uniform(-1, 1, shape_a).astype("f2")
    b = rng.uniform(-1, 1, shape_b).astype("f2")
    result = np.full((m, n), np.nan, "f4")
    blocks = -(-m // SIDE) * -(-n // SIDE)
    warps = 4 if min(m, n) > SIDE // 2 else 2
    counts = AccessCounts()
    copies = stages * 2 * SIDE * 32 * 2
    LLVMKernels(functions, counts=counts).launch(
        "main_kernel", (blocks, 1, 1), (32, warps, 1), [a, b, result], copies
    )
    left = a if by_rows else a.T
    right = b.T if by_columns else b
    np.testing.assert_allclose(result, left.astype("f8") @ right.astype("f8"), 1e-3, 1e-3)
    copying = [
        op
        for each in functions
        for op in each.walk()
        if isinstance(op, nvvm.CpAsyncOp | tvm_llvm.CallIntrinsicOp)
        and "cp.async" in str(op)
    ]
    # Rows of an odd length are not in pieces of 4 bytes.
    assert bool(copying) == (stages > 1 and n % 2 == 0)


CONVOLUTION = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor({x}, "float16"), w: R.Tensor({w}, "float16"),
             y: R.Tensor({y}, "float16")):
        with R.dataflow():
            z = R.nn.conv2d(x, w, strides={stride}, padding={pad}, data_layout="NHWC",
                            kernel_layout="OHWI")
            z = R.nn.relu(R.add(z, y))
            R.output(z)
        return z
"""


@pytest.mark.parametrize(
    ("inputs", "outputs", "size", "window", "stride"),
    [(8, 16, 7, 3, 2), *([(16, 24, 9, 3, 1), (3, 8, 9, 7, 2)] if MANY else ())],
)
def test_convolutions(
    inputs: int, outputs: int, size: int, window: int, stride: int
) -> None:
    """One kernel has the padding and what is done with the results, and copies 16 bytes
    of channels, which three channels do not have."""
    pad = window // 2
    after = (size + 2 * pad - window) // stride + 1
    shapes = (
        (1, size, size, inputs),
        (outputs, window, window, inputs),
        (1, after, after, outputs),
    )
    names = dict(zip("xwy", shapes, strict=True))
    module = parse(CONVOLUTION.format(stride=stride, pad=pad, **names))
    kernels = InterpretedKernels(module, "sm_80", count_accesses=True)
    assert kernels.ptx.count(".entry") == 1
    assert "mma.sync" in kernels.ptx
    assert ("cp.async.cg" in kernels.ptx) == (inputs % 8 == 0)
    rng = np.random.default_rng(inputs)
    x, w, y = (rng.uniform(-1, 1, shape).astype("f2") for shape in shapes)
    found = kernels["main"](x, w, y).numpy()
    padded = np.pad(x.astype("f8"), ((0, 0), (pad, pad), (pad, pad), (0, 0)))
    windows = sliding_window_view(padded, (window, window), axis=(1, 2))
    sums = np.einsum("nhwcij,oijc->nhwo", windows[:, ::stride, ::stride], w)
    np.testing.assert_allclose(found, np.maximum(sums + y, 0), 4e-3, 4e-3)
    assert kernels.kernels.counts.banks().conflicts == 0


def test_products_need_an_architecture() -> None:
    """What the GPU lacks is an error before LLVM sees it."""
    module = parse(
        PRODUCT.format(
            m=32, n=32, k=64, a=(32, 64), b=(64, 32), at_a="vi, vk", at_b="vk, vj"
        )
    )
    GPUSchedule("cuda -arch=sm_80", stages=1).apply(new_context(), module)
    with pytest.raises(Exception, match="needs sm_75 or later, not sm_70"):
        llvm_ir(new_context(), module, "nvptx", "sm_70", check=True)

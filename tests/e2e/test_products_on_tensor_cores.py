"""Scheduled products, mostly on tensor cores, lowered: run below LLVM IR, and as PTX.

The simulator runs the same kernels as TIR
(`tests/unit/passes/tir/test_gpu_schedule_products.py`).
"""

from __future__ import annotations

from itertools import product as pairs_of
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view
from support.gpu_schedules import MANY

from xdsl_tvm.dialects import nvvm, tvm_llvm
from xdsl_tvm.interpreters.llvm_kernels.launches import LLVMKernels
from xdsl_tvm.lowering.llvm_ir import llvm_ir, lowered_functions
from xdsl_tvm.passes.infra import PassContext
from xdsl_tvm.passes.tir._gpu_schedule.product_time import ThreadModel, Tile
from xdsl_tvm.passes.tir.gpu_schedule import GPUSchedule
from xdsl_tvm.registry import new_context
from xdsl_tvm.runtime.kernel_interpreter import InterpretedKernels
from xdsl_tvm.tvmscript import parse

Array = np.ndarray[Any, Any]
SIDE = 32
PRODUCT = """
@T.prim_func
def main(A: T.Buffer({a}, "{dtype}"), B: T.Buffer({b}, "{dtype}"),
         C: T.Buffer(({m}, {n}), "{acc}")):
    T.func_attr({{"global_symbol": "main", "tir.noalias": True}})
    for i, j, t in T.grid({m}, {n}, {k}):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, t])
            with T.init():
                C[vi, vj] = T.Cast("{acc}", 0)
            C[vi, vj] = C[vi, vj] + T.Cast("{acc}", A[{at_a}]) * T.Cast(
                "{acc}", B[{at_b}])
"""
ACCUMULATED = {"float16": "float32", "float32": "float32", "int8": "int32"}


def product(dtype: str, **parts: object) -> str:
    return PRODUCT.format(dtype=dtype, acc=ACCUMULATED[dtype], **parts)


def truncated(numbers: Array) -> Array:
    """What products look at: of f32, all but the low 13 bits."""
    if numbers.dtype == np.float32:
        bits = np.ascontiguousarray(numbers).view(np.uint32) & np.uint32(0xFFFFE000)
        numbers = bits.view(np.float32)
    return numbers.astype("f8")


SHAPES = ((32, 32, 128, True, True), (40, 24, 104, True, False))
MORE_SHAPES = ((40, 24, 104, False, True), (33, 35, 70, False, False))


@pytest.mark.parametrize(
    ("dtype", "m", "n", "k", "by_rows", "by_columns", "stages"),
    [
        *(
            (dtype, *shape, stages)
            for dtype in ("float16", "float32", "int8")
            for shape in (*SHAPES, *MORE_SHAPES)
            for stages in (1, 4)
        ),
        *(("int8", 24, n, 128, False, False, 4) for n in (16, 64, 128)),
    ]
    if MANY
    else [
        ("float16", *SHAPES[0], 1),
        ("float16", *SHAPES[1], 4),
        ("float32", 32, 32, 32, False, False, 1),
        ("float32", 32, 32, 32, True, True, 2),
        ("int8", 32, 32, 128, True, False, 2),
    ],
)
def test_lowered_products(
    dtype: str, m: int, n: int, k: int, by_rows: bool, by_columns: bool, stages: int
) -> None:
    """A by rows or columns, B by columns or rows; without conflicts of banks."""
    shape_a, at_a = ((m, k), "vi, vk") if by_rows else ((k, m), "vk, vi")
    shape_b, at_b = ((n, k), "vj, vk") if by_columns else ((k, n), "vk, vj")
    module = parse(
        product(dtype, m=m, n=n, k=k, a=shape_a, b=shape_b, at_a=at_a, at_b=at_b)
    )
    schedule = GPUSchedule(
        "cuda -arch=sm_80", tensor_core_tile=SIDE, stages=stages, allow_tf32=True
    )
    ctx = new_context()
    with PassContext(config={"tir.use_async_copy": stages > 1}):
        schedule.apply(ctx, module)
        functions = lowered_functions(ctx, module, "nvptx", "sm_80")
    rng = np.random.default_rng(m)
    most = 127 if dtype == "int8" else 1
    a, b = (rng.uniform(-most, most, each).astype(dtype) for each in (shape_a, shape_b))
    result = np.full((m, n), 1 << 30, ACCUMULATED[dtype])
    blocks = -(-m // SIDE) * -(-n // SIDE)
    warps = 4 if min(m, n) > SIDE // 2 else 2
    copies = stages * 2 * SIDE * 64
    kernels = LLVMKernels(functions, count_accesses=True)
    kernels.launch("main_kernel", (blocks, 1, 1), (32, warps, 1), [a, b, result], copies)
    left = truncated(a if by_rows else a.T)
    right = truncated(b.T if by_columns else b)
    bound = 0 if dtype == "int8" else 1e-5
    np.testing.assert_allclose(result, left @ right, bound, bound)
    copying = [
        op
        for each in functions
        for op in each.walk()
        if isinstance(op, nvvm.CpAsyncOp | tvm_llvm.CallIntrinsicOp)
        and "cp.async" in str(op)
    ]
    # Rows of an odd length are not in pieces of 4 bytes.
    assert bool(copying) == (stages > 1 and (n % 2 == 0 or dtype == "float32"))
    banks = kernels.counts.banks()
    assert banks.steps > 0
    assert banks.conflicts == 0


TILES = ThreadModel.TILES
LAYOUTS = tuple(pairs_of((True, False), (True, False)))
ONE_STAGE = ((TILES[1], True, False, 1), (TILES[2], False, True, 1))


@pytest.mark.parametrize(
    ("tile", "by_rows", "by_columns", "stages"),
    [*((tile, *layout, 4) for tile in TILES for layout in LAYOUTS), *ONE_STAGE]
    if MANY
    else [(TILES[3], True, False, 4)],
)
def test_products_of_threads(
    tile: Tile,
    by_rows: bool,
    by_columns: bool,
    stages: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All tiles that threads may have are without conflicts of banks, too."""
    monkeypatch.setattr(ThreadModel, "TILES", (tile,))
    m, n, k = tile.rows, tile.columns, 32
    shape_a, at_a = ((m, k), "vi, vk") if by_rows else ((k, m), "vk, vi")
    shape_b, at_b = ((n, k), "vj, vk") if by_columns else ((k, n), "vk, vj")
    parts = {"a": shape_a, "b": shape_b, "at_a": at_a, "at_b": at_b}
    module, ctx = parse(product("float32", m=m, n=n, k=k, **parts)), new_context()
    with PassContext(config={"tir.use_async_copy": stages > 1}):
        GPUSchedule("cuda -arch=sm_80", stages=stages).apply(ctx, module)
        functions = lowered_functions(ctx, module, "nvptx", "sm_80")
    rng = np.random.default_rng(m)
    a, b = (rng.uniform(-1, 1, each).astype("f4") for each in (shape_a, shape_b))
    result = np.full((m, n), np.nan, "f4")
    kernels = LLVMKernels(functions, count_accesses=True)
    shared = stages * (m + n) * 16 * 4
    kernels.launch("main_kernel", (1, 1, 1), (16, 16, 1), [a, b, result], shared)
    left, right = a if by_rows else a.T, b.T if by_columns else b
    np.testing.assert_allclose(result, left.astype("f8") @ right, 1e-5, 1e-5)
    banks = kernels.counts.banks()
    assert banks.steps > 0
    assert banks.conflicts == 0


CONVOLUTION = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor({x}, "{dtype}"), w: R.Tensor({w}, "{dtype}"),
             y: R.Tensor({y}, "{acc}")):
        with R.dataflow():
            z = R.nn.conv2d(x, w, strides={stride}, padding={pad}, data_layout="NHWC",
                            kernel_layout="OHWI", out_dtype="{acc}")
            z = R.nn.relu(R.add(z, y))
            R.output(z)
        return z
"""


@pytest.mark.parametrize(
    ("dtype", "inputs", "outputs", "size", "window", "stride", "is_copied"),
    [
        ("float16", 16, 24, 9, 3, 1, True),
        *(
            [
                ("float16", 8, 16, 5, 3, 2, True),
                ("int8", 16, 16, 5, 3, 1, True),
                ("float16", 8, 16, 7, 3, 2, True),
                ("float16", 3, 8, 9, 7, 2, False),
                ("int8", 32, 24, 9, 3, 2, True),
            ]
            if MANY
            else ()
        ),
    ],
)
def test_convolutions(
    dtype: str,
    inputs: int,
    outputs: int,
    size: int,
    window: int,
    stride: int,
    is_copied: bool,
) -> None:
    """One kernel has the padding and what is done with the results. It copies 16 bytes
    of channels asynchronously, which three channels do not have."""
    pad = window // 2
    after = (size + 2 * pad - window) // stride + 1
    shapes = (
        (1, size, size, inputs),
        (outputs, window, window, inputs),
        (1, after, after, outputs),
    )
    names = dict(zip("xwy", shapes, strict=True))
    acc = "int32" if dtype == "int8" else dtype
    text = CONVOLUTION.format(stride=stride, pad=pad, dtype=dtype, acc=acc, **names)
    module = parse(text)
    kernels = InterpretedKernels(module, "sm_80", count_accesses=True)
    assert kernels.ptx.count(".entry") == 1
    assert "mma.sync" in kernels.ptx
    assert ("cp.async.cg" in kernels.ptx) == is_copied
    rng, most = np.random.default_rng(inputs), 127 if dtype == "int8" else 1
    x, w = (rng.uniform(-most, most, shape).astype(dtype) for shape in shapes[:2])
    y = rng.uniform(-most, most, shapes[2]).astype(acc)
    found = kernels["main"](x, w, y).numpy()
    padded = np.pad(x.astype("f8"), ((0, 0), (pad, pad), (pad, pad), (0, 0)))
    windows = sliding_window_view(padded, (window, window), axis=(1, 2))
    sums = np.einsum("nhwcij,oijc->nhwo", windows[:, ::stride, ::stride], w)
    bound = 0 if dtype == "int8" else 4e-3
    np.testing.assert_allclose(found, np.maximum(sums + y, 0), bound, bound)
    assert kernels.kernels.counts.banks().conflicts == 0


def test_products_need_an_architecture() -> None:
    """What the GPU lacks is an error before LLVM sees it."""
    module = parse(
        product(
            "float16",
            **{"m": 32, "n": 32, "k": 64, "a": (32, 64), "b": (64, 32)},
            **{"at_a": "vi, vk", "at_b": "vk, vj"},
        )
    )
    GPUSchedule("cuda -arch=sm_80", stages=1).apply(new_context(), module)
    with pytest.raises(Exception, match="needs sm_75 or later, not sm_70"):
        llvm_ir(new_context(), module, "nvptx", "sm_70", check=True)

"""Attention as one kernel of a GPU: run below LLVM IR and as TIR, against numpy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.attention import (
    Array,
    assert_close,
    attention_module,
    exact_attention,
    random_arrays,
)
from support.gpu_schedules import MANY, until_barriers
from support.ptx_road import assemble

from xdsl_tvm.dialects import relax, tir
from xdsl_tvm.interpreters.tir import interpret
from xdsl_tvm.lowering.pipelines import gpu_pipeline, run_pipeline
from xdsl_tvm.passes.infra import PassContext
from xdsl_tvm.passes.relax.one_pass_attention import OnePassAttention
from xdsl_tvm.passes.tir.gpu_schedule import GPUSchedule
from xdsl_tvm.registry import new_context
from xdsl_tvm.runtime.kernel_interpreter import InterpretedKernels
from xdsl_tvm.runtime.load import load_module

CUDA = "cuda -arch=sm_80"
TOLERANCES = {"float16": 2.0**-10, "float32": 2.0**-19}
"""Weights of f16 are rounded before they are multiplied, and results are. Of f32, sums
have up to 256 terms, and powers of two are off by two parts in 2^23."""


def check(
    arrays: list[Array],
    attributes: str = "",
    *,
    scale: float | None = None,
    causal: str | None = None,
    window: int | None = None,
) -> InterpretedKernels:
    """Fail unless one kernel computes attention, without conflicts of banks."""
    module = attention_module(arrays, attributes)
    kernels = InterpretedKernels(module, "sm_80", count_accesses=True)
    found = kernels["main"](*arrays).numpy().astype("f8")
    expected = exact_attention(arrays, scale=scale, causal=causal, window=window)
    assert_close(found, expected, TOLERANCES[str(arrays[0].dtype)])
    assert kernels.ptx.count(".entry") == 1
    assert kernels.kernels.counts.banks().conflicts == 0
    return kernels


def test_tensor_cores() -> None:
    """Queries, keys and features are no multiples of tiles, and heads share keys."""
    arrays = random_arrays(
        (1, 20, 2, 24), (1, 70, 1, 24), (1, 70, 2, 40), dtype=np.float16
    )
    kernels = check(arrays, 'causal "BottomRight"', causal="BottomRight")
    assert "mma.sync" in kernels.ptx
    assert "cp.async.cg" in kernels.ptx


@pytest.mark.skipif(not MANY, reason="the ordinary run compiles one kernel")
@pytest.mark.parametrize(
    ("features", "values", "dtype"),
    [
        (96, 96, np.float16),
        (160, 160, np.float16),
        (136, 192, np.float16),
        (256, 256, np.float16),
        (160, 256, np.float32),
        (256, 200, np.float32),
    ],
)
def test_many_features(features: int, values: int, dtype: type, tmp_path: Path) -> None:
    shapes = (1, 70, 2, features), (1, 70, 1, features), (1, 70, 2, values)
    kernels = check(random_arrays(*shapes, dtype=dtype))
    assemble(kernels.ptx, tmp_path)


@pytest.mark.skipif(not MANY, reason="the ordinary run compiles one kernel")
@pytest.mark.parametrize("attributes", ["", 'causal "BottomRight"'])
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_symbolic_queries(attributes: str, dtype: type) -> None:
    element = "f16" if dtype is np.float16 else "f32"
    q, k, v = (
        f"tensor<?x?x{heads}x{features}x{element}, #relax.dims<[b, {n}, {heads}, "
        f"{features}]>>"
        for n, heads, features in (("n", 2, 32), ("m", 1, 32), ("m", 2, 24))
    )
    result = v.replace("m,", "n,")
    module = load_module(f"""
      relax.func @main<b, n, m>(%q: {q}, %k: {k}, %v: {v}) -> {result}
          attributes {{global_symbol = "main"}} {{
        %y = relax.nn.attention %q, %k, %v {attributes} : ({q}, {k}, {v}) -> {result}
        relax.return %y : {result}
      }}
    """)
    kernels = InterpretedKernels(module, "sm_80")
    assert kernels.ptx.count(".entry") == 1
    for batch, queries, keys in ((2, 5, 7), (1, 70, 75)):
        shapes = (batch, queries, 2, 32), (batch, keys, 1, 32), (batch, keys, 2, 24)
        arrays = random_arrays(*shapes, dtype=dtype)
        found = kernels["main"](*arrays).numpy().astype("f8")
        causal = "BottomRight" if attributes else None
        expected = exact_attention(arrays, causal=causal)
        assert_close(found, expected, TOLERANCES[str(arrays[0].dtype)])


MASKS: dict[str, tuple[float | None, str | None, int | None]] = {
    "": (None, None, None),
    'causal "TopLeft"': (None, "TopLeft", None),
    'causal "TopLeft" window 7': (None, "TopLeft", 7),
    "scale -0.5 window 70": (-0.5, None, 70),
}
"""Attributes, and the scale, mask and window that they say."""


@pytest.mark.skipif(not MANY, reason="the ordinary run compiles one kernel")
@pytest.mark.parametrize("attributes", MASKS)
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_masks(attributes: str, dtype: type) -> None:
    """The queries of a block see no key of some tiles, and all of others."""
    shapes = (1, 150, 1, 32), (1, 150, 1, 32), (1, 150, 1, 64)
    scale, causal, window = MASKS[attributes]
    arrays = random_arrays(*shapes, dtype=dtype)
    check(arrays, attributes, scale=scale, causal=causal, window=window)


@pytest.mark.skipif(not MANY, reason="the ordinary run compiles one kernel")
@pytest.mark.parametrize("queries", [1, 20, 40])
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_bias(queries: int, dtype: type) -> None:
    """Some query sees no key: NaN, as of the operator."""
    key = (2, 70, 1, 8)
    arrays = random_arrays((2, queries, 1, 8), key, key, (2, 1, queries, 70), dtype=dtype)
    arrays[3][1, 0, queries // 2] = -np.inf
    check(arrays)


@pytest.mark.skipif(not MANY, reason="the ordinary run compiles one kernel")
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_simulated(dtype: type) -> None:
    """As TIR, before copies are asynchronous: without races."""
    arrays = random_arrays((1, 20, 1, 32), (1, 130, 1, 32), (1, 130, 1, 32), dtype=dtype)
    module = attention_module(arrays)
    context = new_context()
    OnePassAttention(target=CUDA).apply(context, module)
    for op in list(module.ops):
        if isinstance(op, relax.FuncOp):
            op.detach()
    until_barriers(GPUSchedule(CUDA), alone=True).apply(context, module)
    result = np.full_like(arrays[0], np.nan)
    interpret(module)["one_pass_attention"](*arrays, result)
    expected = exact_attention(arrays)
    assert_close(result.astype("f8"), expected, TOLERANCES[str(arrays[0].dtype)])


def is_one_function(arrays: list[Array], target: str) -> bool:
    module = attention_module(arrays)
    OnePassAttention(target=target, least_queries=1).apply(new_context(), module)
    return any(isinstance(op, tir.FuncOp) for op in module.ops)


def test_what_has_no_kernel() -> None:
    """The operator stays, for the kernels of what it consists of."""
    shape = (1, 4, 1, 8)
    half, single = (
        random_arrays(shape, shape, shape, dtype=dtype)
        for dtype in (np.float16, np.float32)
    )
    assert is_one_function(half, CUDA)
    assert not is_one_function(half, "cuda -arch=sm_75")
    assert is_one_function(single, "cuda -arch=sm_75")
    for features in (264, 7):
        shape = (1, 4, 1, features)
        assert not is_one_function(
            random_arrays(shape, shape, shape, dtype=np.float16), CUDA
        )


def test_copies_that_are_waited_for() -> None:
    shape = (1, 4, 1, 8)
    module = attention_module(random_arrays(shape, shape, shape, dtype=np.float16))
    with PassContext(config={"tir.use_async_copy": False}):
        OnePassAttention(target=CUDA, least_queries=1).apply(new_context(), module)
    assert "software_pipeline_stage" not in str(module)


@pytest.mark.skipif(not MANY, reason="the ordinary run compiles one kernel")
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_causal_queries_that_fill_no_blocks(dtype: type) -> None:
    """The stores of blocks are proved to be apart, however many blocks there are."""
    shape = np.broadcast_to(dtype(0), (4, 1000, 16, 128))
    module = attention_module([shape] * 3, 'causal "TopLeft"')
    run_pipeline(new_context(), module, gpu_pipeline(CUDA, relax=True))
    assert '"gpu.launch_func"' in str(module)

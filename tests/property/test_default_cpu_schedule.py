"""The default CPU schedule keeps what loop nests compute.

Random nests run in the interpreter before and after it, and some of them as machine code.
`XDSL_TVM_FUZZ` sets their number, `XDSL_TVM_FUZZ_FROM` the first of them.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from support.cpu_nests import random_nests
from xdsl.dialects.builtin import ModuleOp

from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.random_inputs import random_arguments
from xdsl_tvm.interpreters.semantics import check_semantics
from xdsl_tvm.passes.tir.default_cpu_schedule import DefaultCPUSchedule
from xdsl_tvm.runtime.executable import compile
from xdsl_tvm.tvmscript.parser import parse

Array = np.ndarray[Any, Any]
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))
COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "2"))
IN_ORDER = DefaultCPUSchedule(
    vector_bytes=8,
    parallel_grain=2,
    reassociate=False,
    fuse_multiply_add=False,
    cache_bytes=512,
    first_cache_bytes=64,
    second_cache_bytes=256,
)
REORDERED = DefaultCPUSchedule(vector_bytes=16, parallel_grain=30, cache_bytes=512)


def scheduled(module: ModuleOp, schedule: DefaultCPUSchedule) -> ModuleOp:
    result = schedule(module)
    result.verify()
    return result


@pytest.mark.parametrize(("schedule", "tolerance"), [(IN_ORDER, 0.0), (REORDERED, 1e-4)])
def test_random_nests(schedule: DefaultCPUSchedule, tolerance: float) -> None:
    changed = 0
    for seed in range(FIRST, FIRST + COUNT):
        module = parse(random_nests(seed))
        changed += str(scheduled(module, schedule)) != str(module)
        check_semantics(module, (schedule,), seed=seed, tolerance=tolerance)
    assert changed >= COUNT * 3 // 4


@pytest.mark.parametrize("seed", range(FIRST, FIRST + max(COUNT // 5, 1)))
def test_random_nests_as_machine_code(seed: int) -> None:
    pytest.importorskip("llvmlite")
    module = parse(random_nests(seed))
    (function,) = (op for op in module.walk() if isinstance(op, tir.FuncOp))
    arguments = random_arguments(function, np.random.default_rng(seed))
    inputs: list[Array] = [a for a in arguments if isinstance(a, np.ndarray)]
    results: list[list[Array]] = []
    plain = compile(module, optimize=False)
    fast = compile(scheduled(module, REORDERED))
    for executable in (plain, fast):
        arrays = [array.copy() for array in inputs]
        executable["main"](*arrays)
        results.append(arrays)
    for expected, found in zip(*results, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


_MATMUL = """
from xdsl_tvm.tvmscript import tir as T

@T.prim_func
def main(a: T.handle, b: T.handle, c: T.handle):
    T.func_attr({"global_symbol": "main", "tir.noalias": True})
    n, m, l = T.int64(), T.int64(), T.int64()
    A = T.match_buffer(a, (n, l), "float32")
    B = T.match_buffer(b, (l, m), "float32")
    C = T.match_buffer(c, (n, m), "float32")
    for i, j, k in T.grid(n, m, l):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""


def test_products_of_any_size() -> None:
    """Symbolic extents: tiles with and without edges, and terms in several blocks."""
    pytest.importorskip("llvmlite")
    module = scheduled(parse(_MATMUL), DefaultCPUSchedule())
    function = compile(module)["main"]
    random = np.random.default_rng(1)
    for n, m, terms in ((1, 1, 1), (3, 17, 5), (31, 33, 600), (64, 96, 1024)):
        a = random.standard_normal((n, terms)).astype(np.float32)
        b = random.standard_normal((terms, m)).astype(np.float32)
        c = np.full((n, m), np.nan, np.float32)
        function(a, b, c)
        np.testing.assert_allclose(c, a @ b, rtol=1e-4, atol=1e-4)


_CONVOLUTION = """
!x = tensor<1x90x5x5xf32>
!w = tensor<20x90x3x3xf32>
!z = tensor<1x20x3x3xf32>
relax.func @main(%x: !x, %w: !w) -> !z attributes {global_symbol = "main"} {
  %z = relax.dataflow -> (!z) {
    %0 = relax.nn.conv2d %x, %w strides [1] padding [0] dilation [1] groups 1
      layout "NCHW" kernel "OIHW" : (!x, !w) -> !z
    %1 = relax.nn.relu %0 : (!z) -> !z
    relax.output %1 : !z
  }
  relax.return %z : !z
}
"""


def test_rows_that_are_read_in_place() -> None:
    """Few columns: terms of several axes, in two blocks, at edges, and a map after."""
    pytest.importorskip("llvmlite")
    random = np.random.default_rng(1)
    image = random.standard_normal((1, 90, 5, 5)).astype(np.float32)
    weight = random.standard_normal((20, 90, 3, 3)).astype(np.float32)
    windows = np.lib.stride_tricks.sliding_window_view(image[0], (3, 3), (1, 2))
    expected = np.maximum(np.einsum("cijpq,ocpq->oij", windows, weight), 0)
    found: Any = compile(_CONVOLUTION)["main"](image, weight)
    np.testing.assert_allclose(found[0], expected, rtol=1e-4, atol=1e-4)

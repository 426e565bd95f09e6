"""Sorts, scans and draws on the whole road to GPUs, and what ptxas says to their code.

In the ordinary run, tiles are small; with `XDSL_TVM_FUZZ` they are those of `compile`.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from support.gpu_driver import simulated_driver
from support.ir import parse
from support.ptx_road import assemble
from xdsl.dialects.builtin import ModuleOp

from xdsl_tvm.passes.relax.dispatch_sampling import DispatchSampling
from xdsl_tvm.passes.relax.dispatch_sort_scan import DispatchSortScan
from xdsl_tvm.runtime.cuda import CudaExecutable
from xdsl_tvm.runtime.kernel_interpreter import InterpretedKernels

pytest.importorskip("llvmlite")
MANY = "XDSL_TVM_FUZZ" in os.environ
SAMPLER = """
!x = tensor<?x20xf32, #relax.dims<[n, 20]>>
!v = tensor<?x8xf32, #relax.dims<[n, 8]>>
!i = tensor<?x8xi32, #relax.dims<[n, 8]>>
!both = !relax.tuple<!v, !i>
!u = tensor<?x1xf32, #relax.dims<[n, 1]>>
!d = tensor<?x1xi64, #relax.dims<[n, 1]>>
!out = !relax.tuple<!i, !v, !d>
relax.func @main<n>(%logits: !x, %uniform: !u, %rows: !d) -> !out
    attributes {global_symbol = "main"} {
  %r = relax.dataflow -> (!out) {
    %best = relax.topk %logits k 8 axis -1 ret "both" dtype i32 : (!x) -> !both
    %values = relax.get_item %best[0] : !both -> !v
    %indices = relax.get_item %best[1] : !both -> !i
    %p = relax.nn.softmax %values axis -1 : (!v) -> !v
    %sums = relax.cumsum %p axis -1 : (!v) -> !v
    %drawn = relax.multinomial_from_uniform %p, %uniform, %rows dtype i64 :
      (!v, !u, !d) -> !d
    %t = relax.tuple(%indices, %sums, %drawn) : !i, !v, !d
    relax.output %t : !out
  }
  relax.return %r : !out
}
"""
"""Draws among the most probable of 20."""
LONG = """
!t = tensor<?x?xf32, #relax.dims<[m, n]>>
!i = tensor<?x?xi64, #relax.dims<[m, n]>>
!out = !relax.tuple<!i, !t>
relax.func @main<m, n>(%x: !t) -> !out attributes {global_symbol = "main"} {
  %order = relax.argsort %x axis -1 descending dtype i64 : (!t) -> !i
  %sums = relax.cumsum %x axis -1 exclusive : (!t) -> !t
  %r = relax.tuple(%order, %sums) : !i, !t
  relax.return %r : !out
}
"""
"""Rows of any length, which need several launches."""


def dispatched(text: str) -> ModuleOp:
    """A module, in the ordinary run with kernels for small tiles."""
    module = parse(text)
    if MANY:
        return module
    sampled = DispatchSampling("cuda", threads=4, tile=8)(module)
    return DispatchSortScan("cuda", threads=4, tile=8)(sampled)


@pytest.mark.parametrize("simulated", [False, True] if MANY else [True])
def test_a_model_equals_numpy(simulated: bool) -> None:
    module = dispatched(SAMPLER)
    if simulated:
        kernels = CudaExecutable(module, driver=simulated_driver(module))
    else:
        kernels = InterpretedKernels(module)
    rng = np.random.default_rng(0)
    logits = rng.permuted(np.tile(np.arange(20, dtype="f4") / 8, (2, 1)), axis=1)
    uniform, rows = np.array([[0.3], [0.8]], "f4"), np.array([[1], [0]])
    indices, sums, drawn = kernels["main"](logits, uniform, rows)
    expected = np.argsort(-logits, axis=1, kind="stable")[:, :8]
    np.testing.assert_array_equal(indices.numpy(), expected)
    values = np.exp(np.take_along_axis(logits, expected, 1))
    cumulated = np.cumsum(values / values.sum(1, keepdims=True), axis=1)
    np.testing.assert_allclose(sums.numpy(), cumulated, 1e-5)
    found = np.argmax(cumulated[rows[:, 0]] > uniform, axis=1)
    np.testing.assert_array_equal(drawn.numpy()[:, 0], found)


def test_rows_of_several_tiles(tmp_path: Path) -> None:
    kernels = InterpretedKernels(dispatched(LONG))
    assert kernels.ptx.count(".entry") == 7
    assemble(kernels.ptx, tmp_path)
    long = 1500 if MANY else 20
    for shape in ((1, long), (2, 3), (0, 3), (3, 0)):
        x = np.random.default_rng(0).integers(0, 50, shape).astype("f4")
        order, sums = kernels["main"](x)
        expected = np.argsort(-x, axis=1, kind="stable")
        np.testing.assert_array_equal(order.numpy(), expected)
        np.testing.assert_array_equal(sums.numpy(), np.cumsum(x, 1) - x)

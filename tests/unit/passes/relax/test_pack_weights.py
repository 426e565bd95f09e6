"""Products with packed weights: as they are scheduled, and as machine code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp

import xdsl_tvm
from xdsl_tvm.dialects import relax, tir
from xdsl_tvm.dialects.relax.dense import dense_of
from xdsl_tvm.interpreters.semantics import check_semantics
from xdsl_tvm.passes.relax.pack_weights import PackWeights
from xdsl_tvm.passes.tir._cpu_schedule import contraction_sizes
from xdsl_tvm.passes.tir.default_cpu_schedule import DefaultCPUSchedule
from xdsl_tvm.registry import new_context
from xdsl_tvm.runtime import threads
from xdsl_tvm.runtime.load import load_module

Array = NDArray[Any]


def _module(rows: int, weight: Array, behind: str = "relax.nn.relu") -> ModuleOp:
    """The product of a parameter and a constant weight, and a map after it."""
    terms, columns = weight.shape
    x, w, y = (
        f"tensor<{a}x{b}xf32>"
        for a, b in ((rows, terms), (terms, columns), (rows, columns))
    )
    module = load_module(f"""
      relax.func @main(%x: {x}) -> {y} attributes {{global_symbol = "main"}} {{
        %w = relax.constant dense<0.0> : {w}
        %r = relax.dataflow -> ({y}) {{
          %m = relax.matmul %x, %w : ({x}, {w}) -> {y}
          %z = {behind} %m : ({y}) -> {y}
          relax.output %z : {y}
        }}
        relax.return %r : {y}
      }}
    """)
    for op in module.walk():
        if isinstance(op, relax.ConstantOp):
            op.properties["value"] = dense_of(weight)
    return module


def _weight(terms: int, columns: int) -> Array:
    random = np.random.default_rng(5)
    weight = random.standard_normal((terms, columns)) / np.sqrt(terms)
    return weight.astype(np.float32)


def _packed_kernel(rows: int, weight: Array, vector_bytes: int) -> ModuleOp:
    """The TIR function of a packed product, alone in a module."""
    module = _module(rows, weight)
    PackWeights(vector_bytes).apply(new_context(), module)
    for op in tuple(module.ops):
        if isinstance(op, relax.FuncOp):
            op.detach()
        else:
            op.attributes["global_symbol"] = op.properties["sym_name"]
    return module


@pytest.mark.parametrize("columns", [16, 21])
def test_panels_are_read_where_they_are(
    columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In parts of rows and of terms, and in blocks of terms."""
    monkeypatch.setattr(contraction_sizes, "_ROWS", 16)
    module = _packed_kernel(41, _weight(48, columns), 16)
    schedule = DefaultCPUSchedule(
        vector_bytes=16,
        parallel_grain=30,
        fuse_multiply_add=False,
        cache_bytes=2304,
        first_cache_bytes=256,
        second_cache_bytes=1536,
    )
    found = schedule(module)
    assert 'tir.alloc_buffer "columns"' not in str(found)
    assert {"k.p", "tile.p", "k.o"} <= {
        op.loop_var.name_hint for op in found.walk() if isinstance(op, tir.ForOp)
    }
    check_semantics(module, (schedule,))


def test_panels_in_memory_are_fetched_ahead() -> None:
    """Results do not depend on the number of threads, or on packing."""
    pytest.importorskip("llvmlite")
    weight = _weight(1032, 300)
    x = np.random.default_rng(6).standard_normal((11, 1032)).astype(np.float32)
    packed = xdsl_tvm.compile(_module(11, weight))["main"]
    before = threads.num_threads()
    try:
        results: list[Array] = []
        for count in (1, 2):
            threads.set_num_threads(count)
            results.append(packed(x))
    finally:
        threads.set_num_threads(before)
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_allclose(
        results[0], np.maximum(x.astype(np.float64) @ weight, 0), rtol=1e-4, atol=1e-4
    )


def test_lines_of_large_panels_are_fetched() -> None:
    schedule = DefaultCPUSchedule()
    for terms, columns, is_large in (
        (64, 288, False),
        (1024, 288, True),
        (64, 4128, True),
    ):
        module = schedule(_packed_kernel(16, _weight(terms, columns), 64))
        calls = [op.callee.data for op in module.walk() if isinstance(op, tir.CallOp)]
        assert ("prefetch" in calls) == is_large

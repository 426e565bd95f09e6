"""Transposed copies in the default CPU schedule."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.semantics import check_semantics
from xdsl_tvm.passes.tir.default_cpu_schedule import DefaultCPUSchedule
from xdsl_tvm.passes.tir.default_gpu_schedule import DefaultGPUSchedule
from xdsl_tvm.registry import new_context
from xdsl_tvm.runtime.executable import compile
from xdsl_tvm.tvmscript.parser import parse

WIDE = DefaultCPUSchedule(vector_bytes=64, parallel_grain=64, cache_bytes=64)
NARROW = DefaultCPUSchedule(vector_bytes=16, parallel_grain=64, cache_bytes=64)
LINE = 64


def transposed(rows: int, columns: int, dtype: str) -> ModuleOp:
    """`C[rows, columns]`, the transpose of `A`."""
    return parse(f"""
from xdsl_tvm.tvmscript import tir as T

@T.prim_func
def main(
    A: T.Buffer(({columns}, {rows}), "{dtype}"),
    C: T.Buffer(({rows}, {columns}), "{dtype}"),
):
    T.func_attr({{"global_symbol": "main", "tir.noalias": True}})
    for i, j in T.grid({rows}, {columns}):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vj, vi]
""")


def stored_lanes(module: ModuleOp) -> set[int]:
    """How many elements are stored at once."""
    stores = (op for op in module.walk() if isinstance(op, tir.StoreOp))
    return {tir.lanes_of(op.value.type) for op in stores}


@pytest.mark.parametrize(
    ("schedule", "dtype", "rows", "columns", "lanes"),
    [
        (WIDE, "float32", 33, 35, {16, 1}),
        (WIDE, "float64", 16, 24, {8}),
        (WIDE, "float16", 33, 64, {32}),
        (WIDE, "float16", 16, 48, {16}),
        (WIDE, "int8", 16, 128, {64}),
        (WIDE, "uint8", 17, 39, {16, 1}),
        (WIDE, "uint8", 24, 14, {8, 1}),
        (NARROW, "float32", 9, 10, {4, 1}),
        (NARROW, "int8", 16, 32, {16}),
    ],
)
def test_rows_are_stored_as_vectors(
    schedule: DefaultCPUSchedule, dtype: str, rows: int, columns: int, lanes: set[int]
) -> None:
    module = transposed(rows, columns, dtype)
    check_semantics(module, [schedule])
    schedule.apply(new_context(), module)
    assert stored_lanes(module) == lanes


@pytest.mark.parametrize(("factor", "lanes"), [(16, {32}), (15, {1}), (-16, {1})])
def test_an_index_may_count_two_axes(factor: int, lanes: set[int]) -> None:
    """Places differ where an index has each value once; else stores keep their order."""
    module = parse(f"""
from xdsl_tvm.tvmscript import tir as T

@T.prim_func
def main(
    A: T.Buffer((3, 32, 16), "uint8"),
    C: T.Buffer((48, 32), "uint8"),
):
    T.func_attr({{"global_symbol": "main", "tir.noalias": True}})
    for g, c, j in T.grid(3, 16, 32):
        with T.block("C"):
            vg, vc, vj = T.axis.remap("SSS", [g, c, j])
            C[{max(-2 * factor, 0)} + vg * {factor} + vc, vj] = A[vg, vj, vc]
""")
    check_semantics(module, [WIDE])
    if factor == 16:
        check_semantics(module, [DefaultGPUSchedule("cuda")])
    WIDE.apply(new_context(), module)
    assert stored_lanes(module) == lanes


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
def test_results_may_begin_anywhere(dtype: str) -> None:
    """Where lines of memory begin, rows are stored in another way than elsewhere."""
    pytest.importorskip("llvmlite")
    rows, columns = 34, 160
    module = transposed(rows, columns, dtype)
    WIDE.apply(new_context(), module)
    function = compile(module)["main"]
    values = np.arange(rows * columns) % 251 - 120
    a = values.astype(dtype).reshape(columns, rows)
    memory = np.empty(a.nbytes + 2 * LINE, np.uint8)
    begin = -memory.ctypes.data % LINE
    for start in (begin, begin + 16, begin + 8):
        memory[...] = 77
        c = memory[start : start + a.nbytes].view(dtype).reshape(rows, columns)
        function(a, c)
        assert (c == a.T).all()
        assert (memory[:start] == 77).all()
        assert (memory[start + a.nbytes :] == 77).all()

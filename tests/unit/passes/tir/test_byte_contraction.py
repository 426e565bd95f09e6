"""Products of bytes are summed in pairs of terms by the default CPU schedule."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp

from xdsl_tvm.interpreters.semantics import check_semantics
from xdsl_tvm.passes.tir.default_cpu_schedule import DefaultCPUSchedule
from xdsl_tvm.runtime.executable import compile
from xdsl_tvm.tvmscript.parser import parse

Array = NDArray[Any]
PAIRS = 'tir.buffer<2x{}xi16, "local">'
SCHEDULE = DefaultCPUSchedule(
    vector_bytes=16,
    parallel_grain=30,
    cache_bytes=768,
    first_cache_bytes=1024,
    second_cache_bytes=512,
)


def _product(
    rows: int, columns: int, terms: int, a: str = "int8", b: str = "int8"
) -> ModuleOp:
    """`C[i, j] = sum(A[i, k] * B[k, j])` in int32."""
    left, right = (
        f'T.Cast("int32", {x})' if dtype != "int32" else x
        for x, dtype in (("A[vi, vk]", a), ("B[vk, vj]", b))
    )
    return parse(f"""
from xdsl_tvm.tvmscript import tir as T

@T.prim_func
def main(x: T.handle, y: T.handle, z: T.handle):
    T.func_attr({{"global_symbol": "main", "tir.noalias": True}})
    A = T.match_buffer(x, ({rows}, {terms}), "{a}")
    B = T.match_buffer(y, ({terms}, {columns}), "{b}")
    C = T.match_buffer(z, ({rows}, {columns}), "int32")
    for i, j, k in T.grid({rows}, {columns}, {terms}):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] = C[vi, vj] + {left} * {right}
""")


@pytest.mark.parametrize(
    ("rows", "columns", "terms", "a", "b"),
    [
        (12, 16, 32, "int8", "int8"),
        (13, 21, 45, "uint8", "int8"),
        (10, 8, 9, "int8", "uint8"),
    ],
)
def test_pairs_of_terms(rows: int, columns: int, terms: int, a: str, b: str) -> None:
    """Signed and unsigned; whole tiles and pairs, edges and a last term alone; parts."""
    module = _product(rows, columns, terms, a, b)
    text = str(SCHEDULE(module))
    assert PAIRS.format(8) in text
    assert "tir.shuffle" in text
    check_semantics(module, (SCHEDULE,))


@pytest.mark.parametrize(("a", "b"), [("int16", "int8"), ("int32", "int32")])
def test_wider_integers_are_added_one_by_one(a: str, b: str) -> None:
    assert PAIRS.format(8) not in str(SCHEDULE(_product(12, 16, 32, a, b)))


def test_sums_are_exact() -> None:
    """The largest products, as machine code."""
    pytest.importorskip("llvmlite")
    function = compile(_product(17, 70, 1025, "uint8", "int8"))["main"]
    random = np.random.default_rng(2)
    a: Array = random.integers(250, 256, (17, 1025)).astype(np.uint8)
    b: Array = random.integers(-128, -120, (1025, 70)).astype(np.int8)
    c = np.zeros((17, 70), np.int32)
    function(a, b, c)
    np.testing.assert_array_equal(c, a.astype(np.int32) @ b.astype(np.int32))

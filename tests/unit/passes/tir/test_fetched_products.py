"""Products and rows that fetch what they read next, in the default CPU schedule."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.constants import constant_value
from xdsl_tvm.interpreters.semantics import check_semantics
from xdsl_tvm.passes.tir._cpu_schedule import (
    contraction_sizes,
    packing_contraction,
    row_fetching,
    skinny_matmul,
    skinny_panels,
)
from xdsl_tvm.passes.tir.default_cpu_schedule import DefaultCPUSchedule
from xdsl_tvm.registry import new_context
from xdsl_tvm.runtime.executable import compile
from xdsl_tvm.runtime.threads import num_threads, set_num_threads
from xdsl_tvm.tvmscript.parser import parse

SCHEDULE = DefaultCPUSchedule(vector_bytes=16, parallel_grain=64)
EXACT = DefaultCPUSchedule(vector_bytes=16, parallel_grain=64, reassociate=False)


def product(rows: int, terms: int, columns: int, panel: int = 0) -> ModuleOp:
    """A product whose matrix is in panels of so many columns, or in rows."""
    shape, element = (terms, columns), "B[vk, vj]"
    if panel:
        shape = (-(-columns // panel), terms, panel)
        element = f"B[vj // {panel}, vk, vj % {panel}]"
    return parse(f"""
from xdsl_tvm.tvmscript import tir as T

@T.prim_func
def main(
    A: T.Buffer(({rows}, {terms}), "float32"), B: T.Buffer({shape}, "float32"),
    C: T.Buffer(({rows}, {columns}), "float32"),
):
    T.func_attr({{"global_symbol": "main", "tir.noalias": True}})
    for i, j, k in T.grid({rows}, {columns}, {terms}):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * {element}
""")


SOFTMAX = """
from xdsl_tvm.tvmscript import tir as T

@T.prim_func
def main(A: T.Buffer((6, 21), "float32"), Z: T.Buffer((6, 21), "float32")):
    T.func_attr({"global_symbol": "main", "tir.noalias": True})
    total = T.alloc_buffer((6,), "float32")
    for i, k in T.grid(6, 21):
        with T.block("total"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                total[vi] = T.float32(1)
            total[vi] = total[vi] + A[vi, vk] * A[vi, vk]
    for i, j in T.grid(6, 21):
        with T.block("quotient"):
            vi, vj = T.axis.remap("SS", [i, j])
            Z[vi, vj] = A[vi, vj] / total[vi]
"""


def scheduled(module: ModuleOp, schedule: DefaultCPUSchedule = SCHEDULE) -> ModuleOp:
    result = module.clone()
    schedule.apply(new_context(), result)
    result.verify()
    return result


def fetches(module: ModuleOp) -> list[tir.CallOp]:
    """The calls that fetch a line."""
    calls = (op for op in module.walk() if isinstance(op, tir.CallOp))
    return [call for call in calls if "prefetch" in str(call.callee)]


def streams_of(module: ModuleOp) -> list[int | float | None]:
    """How many streams each loop over them has."""
    return [
        constant_value(op.extent)
        for op in module.walk()
        if isinstance(op, tir.ForOp) and op.loop_var.name_hint == "s"
    ]


@pytest.fixture(autouse=True)
def everything_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small matrices are fetched as large ones are, from a few elements on."""
    monkeypatch.setattr(skinny_panels, "_LEAST_BYTES", 0)
    monkeypatch.setattr(skinny_panels, "_BYTES_AHEAD", 64)
    monkeypatch.setattr(skinny_matmul, "LEAST_FETCHED", 0)
    monkeypatch.setattr(skinny_matmul, "_BYTES_AHEAD", 64)
    monkeypatch.setattr(row_fetching, "_LEAST_BYTES", 0)
    monkeypatch.setattr(packing_contraction, "_LEAST_BYTES", 0)
    monkeypatch.setattr(packing_contraction, "_TERMS", 16)
    monkeypatch.setattr(contraction_sizes, "_LARGE_COLUMNS", 0)
    monkeypatch.setattr(contraction_sizes, "_FEW_PANELS", 1)


@pytest.mark.parametrize(
    ("rows", "terms", "columns", "streams"), [(4, 16, 24, 4), (6, 12, 20, 2)]
)
def test_panels_are_read_in_streams(
    rows: int, terms: int, columns: int, streams: int
) -> None:
    module = product(rows, terms, columns, 8)
    result = scheduled(module)
    assert streams_of(result) == [streams]
    assert fetches(result)
    check_semantics(module, [SCHEDULE], tolerance=1e-5)


def test_streams_keep_no_order() -> None:
    module = product(4, 16, 24, 8)
    assert not streams_of(scheduled(module, EXACT))
    # What has no equal parts, or more rows than a tile, is read in one stream.
    assert not streams_of(scheduled(product(4, 17, 24, 8)))
    assert not streams_of(scheduled(product(40, 16, 24, 8)))


@pytest.mark.parametrize(
    ("rows", "terms", "columns"), [(1, 21, 37), (3, 9, 18), (2, 16, 4200)]
)
def test_rows_of_the_matrix_are_fetched(rows: int, terms: int, columns: int) -> None:
    """Also where they are shorter than what is fetched ahead, and in stretches."""
    module = product(rows, terms, columns)
    assert fetches(scheduled(module))
    if columns < 100:
        check_semantics(module, [SCHEDULE], tolerance=1e-5)


def test_the_next_row_is_fetched() -> None:
    module = parse(SOFTMAX)
    # Vectors of 4 elements, two at a time: half a line, once a step.
    assert len(fetches(scheduled(module))) == 1
    check_semantics(module, [SCHEDULE], tolerance=1e-5)


@pytest.mark.parametrize(("rows", "terms"), [(9, 40), (13, 16), (27, 20)])
def test_the_first_tile_copies_a_panel(
    rows: int, terms: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = product(rows, terms, 16)
    packed: list[bool] = []
    write = packing_contraction.PackingContraction.write

    def writes(self: packing_contraction.PackingContraction) -> None:
        packed.append(True)
        write(self)

    with monkeypatch.context() as patch:
        patch.setattr(packing_contraction.PackingContraction, "write", writes)
        scheduled(module)
    assert packed == [True]
    check_semantics(module, [SCHEDULE], tolerance=1e-5)


def test_machine_code_of_streams() -> None:
    """Results are right, and the same on any number of threads."""
    pytest.importorskip("llvmlite")
    rows, terms, columns, panel = 5, 64, 90, 32
    function = compile(product(rows, terms, columns, panel))["main"]
    random = np.random.default_rng(1)
    x = random.standard_normal((rows, terms)).astype(np.float32)
    w = np.zeros((terms, 3 * panel), np.float32)
    w[:, :columns] = random.standard_normal((terms, columns))
    panels = np.ascontiguousarray(w.reshape(terms, 3, panel).swapaxes(0, 1))
    before = num_threads()
    results: list[np.ndarray[tuple[int, int], np.dtype[np.float32]]] = []
    try:
        for threads in (1, 2):
            set_num_threads(threads)
            result = np.full((rows, columns), np.nan, np.float32)
            function(x, panels, result)
            results.append(result)
    finally:
        set_num_threads(before)
    expected = x @ w[:, :columns]
    np.testing.assert_allclose(results[0], expected, rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(results[1], results[0])

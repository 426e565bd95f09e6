"""Products of two arguments: what is copied for their parts, and fetched ahead."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import ModuleOp

from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.semantics import check_semantics
from xdsl_tvm.passes.tir._cpu_schedule import contraction_sizes
from xdsl_tvm.passes.tir.default_cpu_schedule import DefaultCPUSchedule
from xdsl_tvm.tvmscript.parser import parse


def product(rows: int, columns: int, terms: int, init: bool = True) -> ModuleOp:
    """`C[i, j] += A[i, k] * B[k, j]`, from zero or from what `C` is."""
    begin = "with T.init():\n                C[vi, vj] = T.float32(0)" if init else ""
    return parse(f"""
from xdsl_tvm.tvmscript import tir as T

@T.prim_func
def main(
    A: T.Buffer(({rows}, {terms}), "float32"),
    B: T.Buffer(({terms}, {columns}), "float32"),
    C: T.Buffer(({rows}, {columns}), "float32"),
):
    T.func_attr({{"global_symbol": "main", "tir.noalias": True}})
    for i, j, k in T.grid({rows}, {columns}, {terms}):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            {begin}
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
""")


def allocated(module: ModuleOp) -> dict[str, tuple[int, ...]]:
    """The shapes of the buffers of a module, by name."""
    ops = (op for op in module.walk() if isinstance(op, tir.AllocBufferOp))
    return {op.buffer.name_hint or "": op.type.get_shape() for op in ops}


def test_panels_are_copied_once_for_all_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contraction_sizes, "_ROWS", 16)
    module = product(30, 74, 24)
    schedule = DefaultCPUSchedule(
        vector_bytes=16,
        parallel_grain=30,
        cache_bytes=1536,
        first_cache_bytes=512,
        second_cache_bytes=1024,
    )
    found = schedule(module)
    panels, _, width = allocated(found)["columns"]
    assert panels * width >= 74 > (panels - 1) * width
    loops = [op.loop_var.name_hint for op in found.walk() if isinstance(op, tir.ForOp)]
    assert "tile.p" in loops
    check_semantics(module, (schedule,), tolerance=1e-4)


def test_parts_of_many_rows_are_in_the_second_cache(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Tiles fetch the next of the panels, which all parts of the rows go over."""
    for name, value in (("_LEAST_ROWS", 8), ("_LARGE", 256), ("_LEAST_STEPS", 1)):
        monkeypatch.setattr(contraction_sizes, name, value)
    module = product(40, 96, 48)
    schedule = DefaultCPUSchedule(
        vector_bytes=16, parallel_grain=30, second_cache_bytes=1024
    )
    found = schedule(module)
    tiles, elements = allocated(found)["rows"]
    assert tiles * elements * 4 < 1024 + 40 * 16
    loops = {op.loop_var.name_hint for op in found.walk() if isinstance(op, tir.ForOp)}
    assert {"tile.p", "k.p"} <= loops
    calls = (op for op in found.walk() if isinstance(op, tir.CallOp))
    assert "prefetch" in {op.callee.data for op in calls}
    check_semantics(module, (schedule,), tolerance=1e-4)


@pytest.mark.parametrize("init", [True, False])
def test_the_last_tile_ends_with_the_last_row(init: bool) -> None:
    """Rows that two tiles have are computed twice; sums that go on are not."""
    module = product(17, 24, 12, init)
    schedule = DefaultCPUSchedule(vector_bytes=16, parallel_grain=30)
    assert ("edge" in allocated(schedule(module))) is not init
    check_semantics(module, (schedule,), tolerance=1e-4)


def test_the_next_panel_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contraction_sizes, "_LARGE_COLUMNS", 512)
    module = product(16, 80, 24)
    schedule = DefaultCPUSchedule(vector_bytes=16, parallel_grain=30)
    calls = (op for op in schedule(module).walk() if isinstance(op, tir.CallOp))
    assert "prefetch" in {op.callee.data for op in calls}
    check_semantics(module, (schedule,), tolerance=1e-4)

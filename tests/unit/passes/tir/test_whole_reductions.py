"""Reductions of whole arrays in the default CPU schedule: parts on several threads."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.semantics import check_semantics
from xdsl_tvm.passes.tir.default_cpu_schedule import DefaultCPUSchedule
from xdsl_tvm.registry import new_context
from xdsl_tvm.runtime.executable import compile
from xdsl_tvm.runtime.threads import num_threads, set_num_threads
from xdsl_tvm.tvmscript.parser import parse

NARROW = DefaultCPUSchedule(vector_bytes=16, parallel_grain=64)
EXACT = DefaultCPUSchedule(vector_bytes=16, parallel_grain=64, reassociate=False)
SUM, MOST = ("C[0] + X", "T.float32(0)"), ("T.max(C[0], X)", 'T.min_value("float32")')


def reduction(*shape: int | str, value: tuple[str, str] = SUM) -> ModuleOp:
    """All elements of an array combined; extents that are names are symbolic."""
    step, first = value
    axes = "ij"[: len(shape)]
    element = f"A[{', '.join('v' + axis for axis in axes)}]"
    symbols = [f"{e} = T.int64()" for e in shape if isinstance(e, str)]
    extents = ", ".join(map(str, shape))
    lines = [
        *symbols,
        f'A = T.match_buffer(pA, ({extents},), "float32")',
        'C = T.match_buffer(pC, (1,), "float32")',
        f"for {', '.join(axes)} in T.grid({extents}):",
        '    with T.block("C"):',
        *(
            f"        v{a} = T.axis.reduce({e}, {a})"
            for a, e in zip(axes, shape, strict=True)
        ),
        "        with T.init():",
        f"            C[0] = {first}",
        f"        C[0] = {step.replace('X', element)}",
    ]
    head = [
        "from xdsl_tvm.tvmscript import tir as T",
        "",
        "@T.prim_func",
        "def main(pA: T.handle, pC: T.handle):",
        '    T.func_attr({"global_symbol": "main", "tir.noalias": True})',
    ]
    return parse("\n".join([*head, *(f"    {line}" for line in lines), ""]))


@pytest.mark.parametrize("value", [SUM, MOST])
@pytest.mark.parametrize(
    "shape",
    [(1100,), (250,), (35, 21), (3, 133), (16, 64), ("n",), ("n", 40), (40, "n")],
)
def test_threads_share_the_terms(
    shape: tuple[int | str, ...], value: tuple[str, str]
) -> None:
    module = reduction(*shape, value=value)
    check_semantics(module, [NARROW], tolerance=1e-4)
    NARROW.apply(new_context(), module)
    (loop,) = (
        op
        for op in module.walk()
        if isinstance(op, tir.ForOp) and op.kind.data is tir.ForKind.PARALLEL
    )
    assert tir.constant_value(loop.extent) == 16


def test_terms_in_order_are_on_one_thread() -> None:
    module = reduction(1100)
    EXACT.apply(new_context(), module)
    kinds = {op.kind.data for op in module.walk() if isinstance(op, tir.ForOp)}
    assert kinds == {tir.ForKind.SERIAL}


def test_machine_code() -> None:
    """The sum is right, and the same on any number of threads."""
    pytest.importorskip("llvmlite")
    function = compile(reduction(301, 3001))["main"]
    array = np.random.default_rng(1).standard_normal((301, 3001)).astype(np.float32)
    found = list[float]()
    before = num_threads()
    try:
        for threads in (1, 2, 5):
            set_num_threads(threads)
            result = np.full(1, np.nan, np.float32)
            function(array, result)
            found.append(float(result[0]))
    finally:
        set_num_threads(before)
    assert found[0] == pytest.approx(array.sum(dtype=np.float64), abs=1e-2)
    assert len(set(found)) == 1

"""Extents of loops: sums in the body of an outer loop, and those that may be negative."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.tir import interpret
from xdsl_tvm.passes.tir.default_cpu_schedule import DefaultCPUSchedule
from xdsl_tvm.passes.tir.gpu_schedule import GPUSchedule
from xdsl_tvm.tvmscript import parse

STEPS = """
@T.prim_func
def main(x: T.handle, y: T.handle):
    T.func_attr({"global_symbol": "main", "tir.noalias": True})
    n = T.int64()
    X = T.match_buffer(x, (n, 3))
    Y = T.match_buffer(y, (n, 3))
    for i, j in T.grid(n - 1, T.int64(3)):
        with T.block("Y"):
            vi = T.axis.spatial(n - 1, i)
            vj = T.axis.spatial(T.int64(3), j)
            Y[vi, vj] = X[vi + 1, vj] - X[vi, vj]
"""


SCHEDULES = [DefaultCPUSchedule(), GPUSchedule("cuda", threads=64)]


def is_scheduled(module: ModuleOp) -> bool:
    loops = (op for op in module.walk() if isinstance(op, tir.ForOp))
    return any(loop.kind.data is not tir.ForKind.SERIAL for loop in loops)


@pytest.mark.parametrize("schedule", SCHEDULES, ids=["cpu", "gpu"])
@pytest.mark.parametrize("rows", [0, 1, 2, 40])
def test_differences(schedule: DefaultCPUSchedule | GPUSchedule, rows: int) -> None:
    """The domain of a block is computed in the loop around it. Without rows, loops do not
    run, and neither do their rests."""
    module = schedule(parse(STEPS))
    module.verify()
    assert is_scheduled(module)
    x = np.arange(rows * 3, dtype="f4").reshape(rows, 3) ** 2
    y = np.zeros_like(x)
    interpret(module)["main"](x, y)
    np.testing.assert_array_equal(y[: max(rows - 1, 0)], np.diff(x, axis=0))
    assert not y[max(rows - 1, 0) :].any()


BLOCK = """
@T.prim_func
def main(x: T.handle, y: T.handle):
    T.func_attr({"global_symbol": "main", "tir.noalias": True})
    n = T.int32()
    m = T.int32()
    X = T.match_buffer(x, (n, m))
    Y = T.match_buffer(y, (n, m))
    for i, j in T.grid(n - 1, m - 1):
        with T.block("Y"):
            vi = T.axis.spatial(n - 1, i)
            vj = T.axis.spatial(m - 1, j)
            Y[vi, vj] = X[vi, vj] + X[vi + 1, vj + 1]
"""


@pytest.mark.parametrize("schedule", SCHEDULES, ids=["cpu", "gpu"])
def test_products_of_negative_extents(
    schedule: DefaultCPUSchedule | GPUSchedule,
) -> None:
    module = schedule(parse(BLOCK))
    for shape in ((0, 0), (0, 5), (3, 37)):
        x = np.arange(np.prod(shape), dtype="f4").reshape(shape)
        y = np.zeros_like(x)
        interpret(module)["main"](x, y)
        np.testing.assert_array_equal(y[:-1, :-1], x[:-1, :-1] + x[1:, 1:])

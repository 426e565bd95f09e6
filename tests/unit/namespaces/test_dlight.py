"""Schedules of kernels in the words of TVM's dlight."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

from xdsl_tvm import dlight as dl
from xdsl_tvm import interpret, tir
from xdsl_tvm.target import Target
from xdsl_tvm.transform import Sequential
from xdsl_tvm.tvmscript import parse

TEXT = """
@T.prim_func
def product(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16, 16), "float32"),
            C: T.Buffer((16, 16), "float32")):
    for i, j, k in T.grid(16, 16, 16):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""


@pytest.mark.parametrize(
    ("rules", "memory"),
    [
        ((dl.gpu.Matmul(), dl.gpu.GEMV(), dl.gpu.Fallback()), "shared"),
        ((dl.gpu.Fallback(),), "global"),
    ],
)
def test_kernels_get_threads(rules: tuple[dl.ScheduleRule, ...], memory: str) -> None:
    module = parse(TEXT)
    row = Sequential([dl.ApplyDefaultSchedule(*rules)])
    with Target("cuda"):
        scheduled = row(module)
    text = scheduled.script()
    assert 'thread="threadIdx.x"' in text
    assert ('scope="shared"' in text) == (memory == "shared")
    assert "threadIdx" not in module.script()
    rng = np.random.default_rng(0)
    a, b = (rng.integers(0, 4, (16, 16)).astype("float32") for _ in range(2))
    c = np.zeros((16, 16), "float32")
    # Barriers come with the passes that follow.
    lowered = tir.get_default_tir_pipeline("cuda")(scheduled)
    interpret(lowered)["product"](a, b, c)
    np.testing.assert_array_equal(c, a @ b)


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="there is no current target; enter one"):
        dl.ApplyDefaultSchedule(dl.gpu.Reduction())(parse(TEXT))
    with pytest.raises(TypeError, match=r"such as dl\.gpu\.Matmul\(\), not str"):
        dl.ApplyDefaultSchedule(cast(Any, "Matmul"))
    with pytest.raises(AttributeError, match="has no attribute 'Matmull'; did you mean"):
        cast(Any, dl.gpu).Matmull()
    for rule in (dl.gpu.LowBatchGEMV(8), dl.gpu.RMSNorm(), dl.gpu.Transpose()):
        assert isinstance(rule, dl.ScheduleRule)
    assert isinstance(dl.gpu.GeneralReduction(), dl.ScheduleRule)

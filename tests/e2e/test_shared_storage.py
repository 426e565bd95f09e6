"""Machine code of functions whose allocations of different types share memory."""

from __future__ import annotations

import numpy as np
import pytest
from support.scripted import allocations, scripted

from xdsl_tvm import compile, interpret
from xdsl_tvm.passes import tir as tir_passes
from xdsl_tvm.passes.infra import PassContext

pytest.importorskip("llvmlite")

SHAPE = "T.Buffer((16,), 'float32')"


@pytest.mark.parametrize("size", [16, 1024])
def test_elements_of_other_types(size: int) -> None:
    """The memory of `P` is that of `Q` later; small memory is on the stack."""
    module = scripted(
        f"A: {SHAPE}, B: {SHAPE}",
        f"""
        P = T.allocate([{size}], "float32", "global")
        P_1 = T.decl_buffer(({size},), data=P)
        S = T.allocate([16], "int32", "global")
        S_1 = T.decl_buffer((16,), "int32", data=S)
        Q = T.allocate([{size}], "int16", "global")
        Q_1 = T.decl_buffer(({size},), "int16", data=Q)
        for i in range({size}):
            P_1[i] = A[i % 16] + T.float32(1)
        for i in range(16):
            S_1[i] = T.Cast("int32", P_1[15 - i])
        for i in range({size}):
            Q_1[i] = T.Cast("int16", S_1[i % 16] * 3)
        for i in range(16):
            B[i] = T.Cast("float32", Q_1[15 - i]) + T.Cast("float32", S_1[i])
        """,
    )
    planned = tir_passes.StorageRewrite()(module)
    assert [found[:2] for found in allocations(planned)] == [("P", "f32"), ("S", "i32")]
    argument = np.arange(16, dtype=np.float32)
    results: list[np.ndarray[tuple[int], np.dtype[np.float32]]] = []
    for disabled in (False, True):
        with PassContext(config={"tir.disable_storage_rewrite": disabled}):
            results.append(np.zeros(16, np.float32))
            compile(module)["f"](argument, results[-1])
    results.append(np.zeros(16, np.float32))
    interpret(module)["f"](argument, results[-1])
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])

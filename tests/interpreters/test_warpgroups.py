"""Tensor copies and products of warpgroups in the simulator: values, and every fault."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.gpu_schedules import MANY
from support.warpgroup_kernels import RingProduct

from xdsl_tvm.interpreters.errors import (
    ArgumentError,
    AsyncCopyError,
    RaceError,
    SimulationError,
    UninitializedReadError,
)
from xdsl_tvm.interpreters.tir import interpret

WAIT_FULL = "            T.ptx_wait_barrier(s % 2, s // 2 % 2)\n"
WAIT_EMPTY = "T.ptx_wait_barrier(2 + s % 2, (s // 2 + 1) % 2)\n"
WAIT_GROUP = "            T.ptx_wgmma_wait_group(0)\n"
FENCE = "            T.ptx_wgmma_fence()\n"
RELEASE = """            if tx % 32 == 0:
                T.ptx_arrive_barrier(2 + s % 2)
"""


def run(product: RingProduct) -> tuple[Any, Any]:
    """C, and what it should be."""
    a, b, c = product.arguments()
    interpret(product.module())["product"](a, b, c)
    return c, product.expected(a, b)


CASES = (
    RingProduct(m=72, n=24, k=200),
    RingProduct(n=72, columns=72, k=72, by_terms=True),
)
MORE = (
    RingProduct(m=100, n=24, k=104, groups=2),
    RingProduct(n=128, columns=128, k=104, by_terms=True, groups=2, stages=3),
    RingProduct(n=256, columns=256, k=320, stages=4, dtype="bfloat16"),
    RingProduct(k=8),
)


@pytest.mark.parametrize("product", [*CASES, *(MORE if MANY else ())])
def test_values(product: RingProduct) -> None:
    """What is outside of a tensor is zero, also where the tile is larger."""
    found, exact = run(product)
    np.testing.assert_allclose(found, exact, 1e-5, 1e-5)


FAULTS: list[tuple[dict[str, str], type[Exception], str]] = [
    (
        {WAIT_FULL: ""},
        SimulationError,
        "multiplies .* which a copy of .* in flight|is read where nothing was written",
    ),
    # Who copies has to know that products have read what was there.
    (
        {WAIT_EMPTY: "T.evaluate(0)\n"},
        AsyncCopyError,
        r"writes .*, which a copy of .* in flight \(nobody waited for barrier 0\)",
    ),
    (
        {RELEASE: "", WAIT_GROUP: f"{RELEASE}{WAIT_GROUP}"},
        AsyncCopyError,
        "writes .*, which a product of .* reads that is in flight",
    ),
    (
        {"tx % 32 == 0": "tx % 32 == 0 and tx < 96"},
        AsyncCopyError,
        r"for ever: phase",
    ),
    (
        {"expect_tx(s % 2, 10240)": "expect_tx(s % 2, 10256)"},
        AsyncCopyError,
        "for ever: phase 0 has 1 of 1 arrivals and lacks 16 bytes",
    ),
    (
        {"expect_tx(s % 2, 10240)": "expect_tx(s % 2, 8192)"},
        AsyncCopyError,
        "which a copy of .* writes that is in flight",
    ),
    (
        {"        T.ptx_fence_proxy_async()\n": ""},
        AsyncCopyError,
        r"wrote shared memory without ptx_fence_proxy_async .*copy or product",
    ),
    (
        {'    T.tvm_storage_sync("shared")\n': ""},
        RaceError,
        "race on barrier .* initializes it and .* uses it without a barrier between",
    ),
    ({FENCE: ""}, AsyncCopyError, "begins a product without ptx_wgmma_fence"),
    (
        {WAIT_GROUP: ""},
        AsyncCopyError,
        "which a product of .* reads that is in flight",
    ),
    (
        {
            WAIT_GROUP: "            T.ptx_wgmma_wait_group(1)\n",
            RELEASE: "",
            "for s in range(4)": "for s in range(1)",
        },
        UninitializedReadError,
        "never written, by .*, with products of its warpgroup in flight",
    ),
    (
        {WAIT_GROUP: f"            sums[0] = T.float32(0)\n{WAIT_GROUP}"},
        AsyncCopyError,
        "wrote sums of a product of its warpgroup before it waited",
    ),
    (
        {FENCE: f"            tiles[tx] = T.float16(1)\n{FENCE}"},
        SimulationError,
        "wrote shared memory without ptx_fence_proxy_async|race on tiles",
    ),
    (
        {
            "            for t in T.unroll(4):\n": "            if tx < 96:\n",
            "t * 16": "0",
        },
        SimulationError,
        "waits? for",
    ),
]


@pytest.mark.parametrize(("changes", "error", "message"), FAULTS)
def test_faults(changes: dict[str, str], error: type[Exception], message: str) -> None:
    product = RingProduct(k=256, faults=changes)
    with pytest.raises(error, match=message):
        run(product)


def test_sums_that_nobody_waited_for() -> None:
    product = RingProduct(k=64, faults={WAIT_GROUP: ""})
    with pytest.raises(
        UninitializedReadError, match="with products of its warpgroup in flight"
    ):
        run(product)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ("64, 128, 132, 64, 64", "multiples of 16 bytes"),
        ("64, 128, 128, 64, 32", "a permuted row has 128 bytes, not 64"),
        ("64, 128, 128, 257, 64", "a box has 1 to 256 elements"),
        ("0, 128, 128, 64, 64", r"a dimension has 1 to 2\^32 elements"),
    ],
)
def test_maps_that_there_are_not(values: str, message: str) -> None:
    changes = {"128, 64, 128, 128, 64, 64)": f"128, {values})"}
    with pytest.raises(ArgumentError, match=message):
        run(RingProduct(faults=changes))

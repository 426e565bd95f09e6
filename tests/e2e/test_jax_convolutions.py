"""Convolutions of JAX in all layouts, strides, paddings, dilations and groups.

Few by default, and as many as `XDSL_TVM_FUZZ` says. They are compiled and interpreted.
"""

from __future__ import annotations

import os
import random
from typing import Any

import numpy as np
import pytest

import xdsl_tvm
from xdsl_tvm.runtime.unit_objects import PROCESSES_VARIABLE

jax: Any = pytest.importorskip("jax")
pytest.importorskip("llvmlite")

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", 0)) or 4
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))


def _layout(rng: random.Random, letters: str, rank: int) -> str:
    """The dimensions of a tensor in any order."""
    dims = [*letters, *"DHW"[3 - rank :]]
    rng.shuffle(dims)
    return "".join(dims)


def _shaped(layout: str, extents: dict[str, int]) -> tuple[int, ...]:
    return tuple(extents[letter] for letter in layout)


def _case(seed: int) -> tuple[Any, list[Any], str]:
    """A function of data and kernel, these, and what it is."""
    rng = random.Random(seed)
    rank = rng.choice((1, 2, 2, 2, 3))
    spatial = "DHW"[3 - rank :]
    layouts = [_layout(rng, letters, rank) for letters in ("NC", "OI", "NC")]
    features, batches = rng.choice(((1, 1), (1, 1), (2, 1), (3, 1), (1, 2), (1, 3)))
    inner, batch = rng.randint(1, 3), rng.randint(1, 2) * batches
    outer = rng.randint(1, 2) * features * batches
    kernel = {letter: rng.randint(1, 3) for letter in spatial}
    strides = [rng.randint(1, 3) for _ in spatial]
    of_data, of_kernel = ([rng.choice((1, 1, 2, 3)) for _ in spatial] for _ in range(2))
    pads: list[tuple[int, int]] = []
    data: dict[str, int] = {}
    for letter, spread, apart in zip(spatial, of_data, of_kernel, strict=True):
        reach = (kernel[letter] - 1) * apart + 1
        low, high = rng.randint(-1, 3), rng.randint(-1, 3)
        pads.append((low, high))
        # At least one window is within the padded data.
        least = max(-(-(reach - low - high - 1) // spread) + 1, 1)
        data[letter] = least + rng.randint(max(2 - least, 0), 3)
    settings = {
        "window_strides": strides,
        "padding": pads,
        "lhs_dilation": of_data,
        "rhs_dilation": of_kernel,
        "feature_group_count": features,
        "batch_group_count": batches,
        "dimension_numbers": tuple(layouts),
    }
    shapes = (
        _shaped(layouts[0], {"N": batch, "C": inner * features, **data}),
        _shaped(layouts[1], {"O": outer, "I": inner, **kernel}),
    )
    values = np.random.default_rng(seed)
    arrays = [values.standard_normal(shape).astype(np.float32) for shape in shapes]

    def convolved(x: Any, w: Any) -> Any:
        return jax.lax.conv_general_dilated(x, w, **settings)

    return convolved, arrays, f"{shapes} {settings}"


@pytest.fixture(autouse=True)
def _one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    # JAX has threads, and warns of processes that begin as copies.
    monkeypatch.setenv(PROCESSES_VARIABLE, "1")


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
def test_a_convolution_agrees_with_jax(seed: int) -> None:
    function, arrays, what = _case(seed)
    text = jax.jit(function).lower(*arrays).as_text()
    expected = np.asarray(function(*arrays))
    for road in (xdsl_tvm.interpret, xdsl_tvm.compile):
        found = road(text)["main"](*arrays)
        np.testing.assert_allclose(
            found, expected, rtol=1e-4, atol=1e-4, err_msg=what, strict=True
        )

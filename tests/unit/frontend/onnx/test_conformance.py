"""The standard's tests of operators: a sample, interpreted and compiled.

`make onnx` runs all of them, and docs/onnx.md has the result. With `XDSL_TVM_FUZZ` all
are interpreted here.
"""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from support.paths import ROOT

pytest.importorskip("onnx")

from onnx.backend.test.case import node
from onnx.backend.test.case.test_case import TestCase
from onnx.reference.ops import op_pool_common

from xdsl_tvm.frontend.onnx.node import CONVERTERS
from xdsl_tvm.tools.onnx_conformance import run_test
from xdsl_tvm.tools.onnx_suites import KINDS, has_supported_types, suite

EVERY = 1 if "XDSL_TVM_FUZZ" in os.environ else 60
"""Which part of the tests is interpreted."""

COMPILED = (
    "test_averagepool_2d_pads",
    "test_batchnorm_example",
    "test_cast_FLOAT_to_FLOAT16",
    "test_clip_example",
    "test_concat_2d_axis_1",
    "test_conv_with_strides_padding",
    "test_convtranspose_pads",
    "test_gather_1",
    "test_gemm_all_attributes",
    "test_layer_normalization_2d_axis1",
    "test_lstm_defaults",
    "test_maxpool_2d_default",
    "test_reduce_mean_keepdims_example",
    "test_resize_upsample_scales_linear",
    "test_softmax_axis_1",
    "test_top_k",
    "test_where_example",
)
"""Tests of operators of common networks."""


DIFFERENT = re.compile(r"test_(attention_.*(bf|fp)16|dft_inverse(_opset19)?)(_expanded)?")
"""Tests of which a few results differ: of 16-bit floats, rounded at other places; and of
a transform, where the expected zeros are 2e-7."""


@pytest.fixture(scope="module")
def cases() -> Iterator[dict[str, TestCase]]:
    """The tests of nodes, in the ordinary run without poolings of volumes and LpPool.

    Their expected results alone take seconds.
    """
    with pytest.MonkeyPatch.context() as patch:
        if EVERY == 1:
            yield {case.name: case for case in suite()}
            return
        name = f"{node.__name__}.lppool"
        patch.setitem(sys.modules, name, ModuleType(name))
        pool = op_pool_common.pool

        def of_images(padded: Any, shape: Any, *given: Any, **named: Any) -> Any:
            if len(shape) < 5:
                return pool(padded, shape, *given, **named)
            return np.zeros((1,) * len(shape), padded.dtype)

        patch.setattr(op_pool_common, "pool", of_images)
        volumes = re.compile(r"test_(average|max)pool_3d")
        yield {case.name: case for case in suite() if not volumes.match(case.name)}


def failing() -> dict[str, str]:
    """The operators of which not all tests pass, with their row of the page."""
    rows: dict[str, str] = {}
    for line in (ROOT / "docs" / "onnx.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 5 and " of " in cells[3]:
            good, _, whole = cells[3].partition(" of ")
            if good != whole:
                rows[cells[0]] = line
    return rows


def test_a_sample_is_interpreted_as_the_page_says(cases: dict[str, TestCase]) -> None:
    known = failing()
    unexpected: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in list(cases)[::EVERY]:
            outcome = run_test(cases[name], interpreted=True)
            if DIFFERENT.fullmatch(name):
                continue
            is_refused = not outcome.failure.startswith("ValueError")
            base = cases.get(name.partition("_expanded")[0], cases[name])
            assert base.model is not None
            operator = base.model.graph.node[-1].op_type
            if outcome.failure and not (is_refused and operator in known):
                unexpected.append(f"{name}: {outcome.failure}")
    assert not unexpected, "\n".join(unexpected)


@pytest.mark.parametrize("name", COMPILED)
def test_compiled(cases: dict[str, TestCase], name: str) -> None:
    pytest.importorskip("llvmlite")
    # The code of this one is much; the ordinary run interprets it.
    interpreted = EVERY > 1 and name == "test_lstm_defaults"
    assert run_test(cases[name], interpreted=interpreted).failure == ""


@pytest.mark.parametrize("kind", KINDS[1:4])
def test_all_of_supported_types_pass(kind: str) -> None:
    chosen = [
        case
        for case in suite(kind)
        if case.model is not None and has_supported_types(case.model)
    ]
    failures = [
        f"{outcome.name}: {outcome.failure}"
        for outcome in (run_test(case, interpreted=True) for case in chosen[::EVERY])
        if outcome.failure
    ]
    assert len(chosen) > 5
    assert not failures, "\n".join(failures)


def test_types_that_are_not_supported(cases: dict[str, TestCase]) -> None:
    expected = {
        "test_add": True,
        "test_reversesequence_time": True,
        "test_cast_FLOAT_to_INT4": False,
        "test_dequantizelinear_uint4": False,
        "test_identity_sequence": False,
        "test_if_opt": False,
        "test_string_concat": False,
        "test_batchnorm_example_training_mode": False,
        "test_training_dropout": False,
    }
    found: dict[str, bool] = {}
    for name in expected:
        model = cases[name].model
        assert model is not None
        found[name] = has_supported_types(model)
    assert found == expected


def test_the_page_names_every_converter() -> None:
    text = (ROOT / "docs" / "onnx.md").read_text()
    missing = [name for name in CONVERTERS if f"| {name} |" not in text]
    assert not missing or missing == ["Scatter", "Upsample"]

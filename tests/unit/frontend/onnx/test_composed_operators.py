"""Operators that are composed of many others, on random data, against the evaluator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import xdsl_tvm

pytest.importorskip("onnx")

from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from xdsl_tvm.frontend.onnx import OnnxError, from_onnx

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(11)


def normal(*shape: int) -> Array:
    return RNG.standard_normal(shape).astype(np.float32)


BOXES = RNG.random((2, 9, 4)).astype(np.float32)
SCORES = (RNG.integers(0, 6, (2, 3, 9)) / 8).astype(np.float32)
LIMITS = [np.array(each) for each in (np.int64(4), np.float32(0.2), np.float32(0.1))]
REGIONS = np.array([[-3, 1, 4, 9], [2, 2, 2.5, 2.25], [0, 0, 7, 6]], np.float32)
WORDS = RNG.integers(0, 4, (3, 7))
BATCHES = np.array([1, 0, 1])
OFFSETS = 2 * normal(1, 2 * 2 * 4, 5, 4)
KERNEL = {"kernel_shape": [2, 2]}

CASES: dict[str, tuple[str, list[Array], dict[str, Any], list[Array], int]] = {
    "boxes": ("NonMaxSuppression", [BOXES, SCORES], {}, LIMITS, 1),
    "centers": (
        "NonMaxSuppression",
        [BOXES, SCORES],
        {"center_point_box": 1},
        LIMITS[:2],
        1,
    ),
    "regions": (
        "RoiAlign",
        [normal(2, 3, 6, 7), REGIONS, BATCHES],
        {"sampling_ratio": 3, "output_height": 2, "output_width": 3},
        [],
        1,
    ),
    "region maxima": (
        "RoiAlign",
        [normal(2, 3, 6, 7), REGIONS, BATCHES],
        {
            "sampling_ratio": 2,
            "mode": "max",
            "spatial_scale": 0.5,
            "coordinate_transformation_mode": "output_half_pixel",
        },
        [],
        1,
    ),
    "deformed": (
        "DeformConv",
        [normal(1, 4, 5, 4), normal(6, 2, 2, 2), OFFSETS, normal(6)],
        {"group": 2, "offset_group": 2, "pads": [0, 1, 1, 0], **KERNEL},
        [],
        1,
    ),
    "places": ("MaxPool", [normal(2, 2, 5, 7)], {**KERNEL, "strides": [2, 3]}, [], 2),
    "padded places": (
        "MaxPool",
        [-1 - abs(normal(1, 2, 6))],
        {"kernel_shape": [3], "pads": [1, 1], "strides": [2]},
        [],
        2,
    ),
    "unique": ("Unique", [WORDS.ravel()], {"sorted": 0}, [], 4),
    "unique rows": ("Unique", [WORDS[:, :2]], {"axis": 1}, [], 4),
    "n-grams": (
        "TfIdfVectorizer",
        [WORDS],
        {
            "mode": "TFIDF",
            "min_gram_length": 1,
            "max_gram_length": 2,
            "max_skip_count": 2,
            "ngram_counts": [0, 2],
            "ngram_indexes": [0, 2, 1, 3],
            "pool_int64s": [1, 3, 0, 2, 3, 3],
            "weights": [1.0, 2.0, 3.0, 0.5],
        },
        [],
        1,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_composed_operator(name: str) -> None:
    kind, inputs, attributes, constants, count = CASES[name]
    model = _model(kind, inputs, attributes, constants, count)
    evaluator: Any = ReferenceEvaluator(model)
    feeds = {f"x{index}": each for index, each in enumerate(inputs)}
    expected: Any = evaluator.run(None, feeds)
    found = xdsl_tvm.interpret(from_onnx(model))["main"](*inputs)
    for one, other in zip([found] if count == 1 else found, expected, strict=True):
        assert np.asarray(one).dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_what_a_composed_operator_refuses() -> None:
    regions = _model("RoiAlign", [normal(2, 3, 6, 7), REGIONS, BATCHES], {}, [], 1)
    with pytest.raises(OnnxError, match="sampling_ratio of 0"):
        from_onnx(regions)
    boxes = [normal(1, 2000, 4), normal(1, 1, 2000)]
    many = _model("NonMaxSuppression", boxes, {}, [np.array(np.int64(2000))], 1)
    with pytest.raises(OnnxError, match="lower max_output_boxes_per_class"):
        from_onnx(many)


def _model(
    kind: str,
    inputs: list[Array],
    attributes: dict[str, Any],
    constants: list[Array],
    count: int,
) -> Any:
    names = [f"x{index}" for index in range(len(inputs))]
    weights = [
        numpy_helper.from_array(np.atleast_1d(each), f"w{index}")
        for index, each in enumerate(constants)
    ]
    outputs = [f"y{index}" for index in range(count)]
    node = helper.make_node(
        kind, [*names, *(each.name for each in weights)], outputs, **attributes
    )
    given = [
        helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(each.dtype), each.shape
        )
        for name, each in zip(names, inputs, strict=True)
    ]
    results = [helper.make_empty_tensor_value_info(name) for name in outputs]
    graph = helper.make_graph([node], "g", given, results, weights)
    opsets = [helper.make_opsetid("", 22)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)

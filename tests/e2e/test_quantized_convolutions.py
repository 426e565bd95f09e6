"""Quantized convolutions, compiled: exact for the ends of all ranges."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

import xdsl_tvm

pytest.importorskip("onnx")
pytest.importorskip("llvmlite")

from onnx import ModelProto, helper, numpy_helper

from xdsl_tvm.frontend.onnx import from_onnx
from xdsl_tvm.runtime import llvm_jit

Array = np.ndarray[Any, Any]
SIZE = 20
LAYERS = ((3, 32, 3, 1, 2), (32, 32, 3, 32, 1), (32, 48, 1, 1, 1))
"""Input and output channels, window, groups and stride."""
ZEROS = (255, 0, 128, 3)
"""Zero points of unsigned data before each layer and after the last."""


def _ends(shape: tuple[int, ...], dtype: str, random: np.random.Generator) -> Array:
    """Mostly the least and greatest numbers."""
    limits = np.iinfo(dtype)
    values = [limits.min, limits.max, limits.max, 1]
    return random.choice(values, shape).astype(dtype)


def _network(dtype: str) -> tuple[ModelProto, list[dict[str, Array]]]:
    """A stem, a depthwise convolution and one of single pixels."""
    random = np.random.default_rng(4)
    shift = int(np.iinfo(dtype).min)
    nodes: list[Any] = []
    constants: dict[str, Array] = {}
    layers: list[dict[str, Array]] = []
    for number, (inputs, outputs, window, groups, stride) in enumerate(LAYERS):
        shape = (outputs, inputs // groups, window, window)
        weight = _ends(shape, "int8", random)
        scales = random.random(outputs) * 0.01 + 0.5 / weight[0].size / 128
        layer = {
            "xs": np.array(0.5, np.float32),
            "xz": np.array(ZEROS[number] + shift, dtype),
            "w": weight,
            "ws": scales.astype(np.float32),
            "wz": np.zeros(outputs, np.int8),
            "ys": np.array(0.75, np.float32),
            "yz": np.array(ZEROS[number + 1] + shift, dtype),
            "b": random.integers(-9999, 9999, outputs).astype(np.int32),
        }
        constants |= {f"{name}{number}": each for name, each in layer.items()}
        nodes.append(
            helper.make_node(
                "QLinearConv",
                [f"x{number}", *(f"{name}{number}" for name in layer)],
                [f"x{number + 1}"],
                pads=[window // 2] * 4,
                strides=[stride] * 2,
                group=groups,
            )
        )
        layers.append(layer)
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    graph = helper.make_graph(
        nodes,
        "main",
        [helper.make_tensor_value_info("x0", kind, (1, LAYERS[0][0], SIZE, SIZE))],
        [helper.make_tensor_value_info(f"x{len(LAYERS)}", kind, None)],
        [numpy_helper.from_array(each, name) for name, each in constants.items()],
    )
    opset = helper.make_opsetid("", 20)
    return helper.make_model(graph, opset_imports=[opset], ir_version=10), layers


def _expected(x: Array, layers: list[dict[str, Array]]) -> Array:
    for layer, (inputs, outputs, size, groups, stride) in zip(
        layers, LAYERS, strict=True
    ):
        wide = x.astype(np.int64) - int(layer["xz"])
        around = size // 2
        wide = np.pad(wide, [(0, 0), (0, 0), (around, around), (around, around)])
        windows = np.lib.stride_tricks.sliding_window_view(wide, (size, size), (2, 3))
        windows = windows[:, :, ::stride, ::stride]
        rows, columns = windows.shape[2:4]
        terms = windows.reshape(groups, inputs // groups, rows, columns, size, size)
        weight = layer["w"].astype(np.int64)
        weight = weight.reshape(groups, outputs // groups, inputs // groups, size, size)
        sums = np.einsum("gihwuv,goiuv->gohw", terms, weight)
        sums = sums.reshape(1, outputs, rows, columns) + layer["b"][:, None, None]
        scale = layer["xs"] * layer["ws"] / layer["ys"]
        places = np.rint(sums.astype(np.float32) * scale[:, None, None])
        limits = np.iinfo(x.dtype)
        places += np.float32(layer["yz"])
        x = np.clip(places, limits.min, limits.max).astype(x.dtype)
    return x


@pytest.mark.parametrize(
    ("dtype", "target"),
    [
        ("int8", None),
        ("uint8", "llvm -mattr=-avx512vnni,-avxvnni"),
        *([("uint8", None)] if "XDSL_TVM_FUZZ" in os.environ else []),
    ],
)
def test_a_network_is_exact(dtype: str, target: str | None) -> None:
    if target is not None and not llvm_jit.host_features():
        pytest.skip("this processor has none of the instructions")
    model, layers = _network(dtype)
    x = _ends((1, LAYERS[0][0], SIZE, SIZE), dtype, np.random.default_rng(6))
    expected = _expected(x, layers)
    assert len(np.unique(expected)) > 4
    main = xdsl_tvm.compile(from_onnx(model), target)["main"]
    np.testing.assert_array_equal(main(x), expected)

"""Gradients of pools and convolutions, and spectra, against numpy without torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from xdsl_tvm import interpret
from xdsl_tvm.dialects.relax.symbolic import Dim
from xdsl_tvm.frontend.torch import TorchError
from xdsl_tvm.frontend.torch.convert import from_graph
from xdsl_tvm.frontend.torch.graph import Graph, GraphNode, Input, Ref, TensorMeta

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(5)


def meta(*dims: int, dtype: str = "float32") -> TensorMeta:
    return TensorMeta(tuple(map(Dim.of, dims)), dtype)


def floats(*shape: int) -> Array:
    return RNG.standard_normal(shape).astype(np.float32)


def gradient_of_pool(target: str, grad: Array, x: Array, **window: object) -> Array:
    inputs = [Input("g", "user", meta(*grad.shape)), Input("x", "user", meta(*x.shape))]
    given = {"grad_output": Ref("g"), "self": Ref("x"), **window}
    node = GraphNode("y", f"aten.{target}.default", given, meta(*x.shape))
    (found,) = interpret(from_graph(Graph(inputs, [node], [Ref("y")])))["main"](grad, x)
    return found


def test_the_gradient_of_a_mean_is_shared_by_its_window() -> None:
    grad, x = floats(1, 2, 3, 2), floats(1, 2, 5, 4)
    window = {"kernel_size": [3, 2], "stride": [2, 2], "padding": [1, 0]}
    found = gradient_of_pool("avg_pool2d_backward", grad, x, **window)
    expected = np.zeros_like(x)
    for i in range(3):
        for j in range(2):
            rows = slice(max(2 * i - 1, 0), 2 * i + 2)
            part = expected[:, :, rows, 2 * j : 2 * j + 2]
            part += grad[:, :, i : i + 1, j : j + 1] / part[0, 0].size
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_an_infinite_gradient_reaches_its_window_alone() -> None:
    grad = np.array([[[1, np.inf]]], np.float32)
    name = "_adaptive_avg_pool2d_backward"
    found = gradient_of_pool(name, grad, floats(1, 2, 4))
    np.testing.assert_array_equal(found, [[[0.25, 0.25, np.inf, np.inf]] * 2])


def test_gradients_of_a_convolution() -> None:
    x, weight, grad = floats(2, 3, 7), floats(4, 3, 2), floats(2, 4, 3)
    stride, pad, dilation = 2, 1, 3
    wide = np.pad(x, [(0, 0), (0, 0), (pad, pad)])
    of_wide, of_weight = np.zeros_like(wide), np.zeros_like(weight)
    for step in range(3):
        for place in range(2):
            at = step * stride + place * dilation
            of_wide[:, :, at] += grad[:, :, step] @ weight[:, :, place]
            of_weight[:, :, place] += grad[:, :, step].T @ wide[:, :, at]
    arrays = {"grad_output": grad, "input": x, "weight": weight}
    given: dict[str, object] = {
        "stride": [stride],
        "padding": [pad],
        "dilation": [dilation],
        "transposed": False,
        "output_padding": [0],
        "groups": 1,
        "output_mask": [True, True, True],
        **{name: Ref(name) for name in arrays},
    }
    metas = [meta(*x.shape), meta(*weight.shape), meta(4)]
    nodes = [GraphNode("y", "aten.convolution_backward.default", given, metas)]
    for index, each in enumerate(metas):
        part: dict[str, object] = {"self": Ref("y"), "index": index}
        nodes.append(GraphNode(f"y{index}", "getitem", part, each))
    inputs = [Input(name, "user", meta(*each.shape)) for name, each in arrays.items()]
    graph = Graph(inputs, nodes, [Ref(f"y{index}") for index in range(3)])
    found = interpret(from_graph(graph))["main"](*arrays.values())
    expected = of_wide[:, :, pad:-pad], of_weight, grad.sum((0, 2))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def spectrum(*outputs: str) -> Graph:
    """A filter by frequencies: the spectrum of x, three times it, and the way back."""
    half = meta(2, 4, dtype="complex64")
    transform: dict[str, object] = {"dim": [1], "normalization": 0}
    nodes = [
        GraphNode(
            "f", "aten._fft_r2c.default",
            {"self": Ref("x"), "onesided": True, **transform}, half,
        ),
        GraphNode(
            "parts", "aten.view_as_real.default", {"self": Ref("f")}, meta(2, 4, 2)
        ),
        GraphNode("size", "aten.abs.default", {"self": Ref("f")}, meta(2, 4)),
        GraphNode("more", "aten.mul.Tensor", {"self": Ref("f"), "other": 3}, half),
        GraphNode(
            "back", "aten._fft_c2r.default",
            {"self": Ref("more"), "dim": [1], "normalization": 2, "last_dim_size": 7},
            meta(2, 7),
        ),
    ]  # fmt: skip
    return Graph([Input("x", "user", meta(2, 7))], nodes, [Ref(each) for each in outputs])


def test_spectra_are_pairs_of_real_numbers() -> None:
    x = floats(2, 7)
    module = from_graph(spectrum("parts", "size", "back"))
    parts, size, back = interpret(module)["main"](x)
    expected = np.fft.rfft(x)
    np.testing.assert_allclose(parts[..., 0], expected.real, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(parts[..., 1], expected.imag, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(size, abs(expected), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(back, 3 * x, rtol=1e-4, atol=1e-5)


def test_complex_numbers_are_not_returned() -> None:
    with pytest.raises(TorchError, match=r"return torch\.view_as_real of them"):
        from_graph(spectrum("f"))

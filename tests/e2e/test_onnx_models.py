"""Topologies of known networks as ONNX models, against other runtimes.

The widths are small. With `XDSL_TVM_FUZZ` depths are those of the networks, and they are
compiled; by default there is one block a stage, and they are interpreted. The expected
outputs are those of onnxruntime where it is installed, and of the evaluator of the
package `onnx`. Its light models, which are whole networks of constant weights, have
expected outputs; by default one of them runs.
"""

import importlib
import importlib.util
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import xdsl_tvm

pytest.importorskip("onnx")

from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from xdsl_tvm.relax.frontend.onnx import from_onnx
from xdsl_tvm.tools.onnx_conformance import run_test
from xdsl_tvm.tools.onnx_suites import suite, with_random_weights

FULL = "XDSL_TVM_FUZZ" in os.environ
pytestmark = pytest.mark.skipif(
    FULL and importlib.util.find_spec("llvmlite") is None, reason="needs llvmlite"
)
Array = np.ndarray[Any, Any]


class Network:
    """A graph that is written node by node, with random weights."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.nodes: list[NodeProto] = []
        self.weights: list[TensorProto] = []

    def op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """A node with one output; the name of that."""
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        return name

    def constant(self, value: Any) -> str:
        """The name of an initializer."""
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def weight(self, *shape: int) -> str:
        """Random numbers, small enough that sums of them stay near 1."""
        scale = 1 / np.sqrt(max(np.prod(shape[1:]), 1))
        values = self.rng.standard_normal(shape) * scale
        return self.constant(values.astype(np.float32))

    def ones(self, count: int) -> str:
        """Numbers near 1."""
        values = 1 + 0.1 * self.rng.standard_normal(count)
        return self.constant(values.astype(np.float32))

    def model(self, inputs: Sequence[tuple[str, int, list[int]]], out: str) -> ModelProto:
        """The model."""
        given = [helper.make_tensor_value_info(*each) for each in inputs]
        result = helper.make_tensor_value_info(out, TensorProto.FLOAT, None)
        graph = helper.make_graph(self.nodes, "g", given, [result], self.weights)
        opsets = [helper.make_opsetid("", 17)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=8)

    # ---- layers ----

    def convolution(
        self, x: str, inner: int, outer: int, size: int, stride: int = 1, group: int = 1
    ) -> str:
        """A convolution and batch normalization."""
        weight = self.weight(outer, inner // group, size, size)
        pads, strides = [size // 2] * 4, [stride, stride]
        x = self.op("Conv", x, weight, pads=pads, strides=strides, group=group)
        mean = self.constant(self.rng.standard_normal(outer).astype(np.float32) * 0.1)
        variance = self.constant(self.rng.random(outer).astype(np.float32) + 0.5)
        beta = self.weight(outer)
        return self.op("BatchNormalization", x, self.ones(outer), beta, mean, variance)

    def linear(self, x: str, inner: int, outer: int) -> str:
        """A product with a matrix, and a bias."""
        product = self.op("MatMul", x, self.weight(inner, outer))
        return self.op("Add", product, self.weight(outer))

    def norm(self, x: str, width: int) -> str:
        """A layer normalization."""
        return self.op("LayerNormalization", x, self.ones(width), self.weight(width))

    def heads(self, x: str, length: int, count: int, size: int) -> str:
        """`[1, length, width]` as `[1, heads, length, size]`."""
        shape = self.constant(np.array([1, length, count, size]))
        return self.op("Transpose", self.op("Reshape", x, shape), perm=[0, 2, 1, 3])

    def attention(self, x: str, length: int, width: int, causal: bool) -> str:
        """Attention of two heads."""
        size = width // 2
        q, k, v = (
            self.heads(self.linear(x, width, width), length, 2, size) for _ in range(3)
        )
        scores = self.op("MatMul", q, self.op("Transpose", k, perm=[0, 1, 3, 2]))
        scale = self.constant(np.float32(np.sqrt(size)))
        scores = self.op("Div", scores, scale)
        if causal:
            mask = np.tril(np.ones((length, length), bool))
            low = self.constant(np.float32(-1e9))
            scores = self.op("Where", self.constant(mask), scores, low)
        mixed = self.op("MatMul", self.op("Softmax", scores, axis=-1), v)
        shape = self.constant(np.array([1, length, width]))
        joined = self.op("Transpose", mixed, perm=[0, 2, 1, 3])
        return self.linear(self.op("Reshape", joined, shape), width, width)

    def gelu(self, x: str) -> str:
        """GELU as exporters write it."""
        scaled = self.op("Div", x, self.constant(np.float32(np.sqrt(2))))
        more = self.op("Add", self.op("Erf", scaled), self.constant(np.float32(1)))
        product = self.op("Mul", x, more)
        return self.op("Mul", product, self.constant(np.float32(0.5)))


def resnet_50() -> tuple[ModelProto, list[Array]]:
    net = Network(1)
    x = net.op("Relu", net.convolution("x", 3, 8, 7, 2))
    x = net.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    inner = 8
    for stage, blocks in enumerate((3, 4, 6, 3) if FULL else (1, 1, 1, 1)):
        width = 4 << stage
        for block in range(blocks):
            stride = 2 if stage and not block else 1
            y = net.op("Relu", net.convolution(x, inner, width, 1))
            y = net.op("Relu", net.convolution(y, width, width, 3, stride))
            y = net.convolution(y, width, 4 * width, 1)
            if not block:
                x = net.convolution(x, inner, 4 * width, 1, stride)
            x, inner = net.op("Relu", net.op("Add", y, x)), 4 * width
    x = net.op("Flatten", net.op("GlobalAveragePool", x))
    y = net.op("Gemm", x, net.weight(10, inner), net.weight(10), transB=1)
    image = net.rng.standard_normal((1, 3, 32, 32)).astype(np.float32)
    return net.model([("x", TensorProto.FLOAT, [1, 3, 32, 32])], y), [image]


def mobilenet_v2() -> tuple[ModelProto, list[Array]]:
    net = Network(2)

    def clipped(x: str) -> str:
        return net.op("Clip", x, net.constant(np.float32(0)), net.constant(np.float32(6)))

    x, inner = clipped(net.convolution("x", 3, 8, 3, 2)), 8
    stages = [(1, 4, 1, 1), (6, 6, 2, 2), (6, 8, 3, 2), (6, 12, 4, 2), (6, 16, 3, 1)]
    for expansion, width, blocks, first in stages:
        for block in range(blocks if FULL else 1):
            stride, wide = (1 if block else first), expansion * inner
            y = clipped(net.convolution(x, inner, wide, 1)) if expansion > 1 else x
            y = clipped(net.convolution(y, wide, wide, 3, stride, wide))
            y = net.convolution(y, wide, width, 1)
            is_same = stride == 1 and inner == width
            x, inner = net.op("Add", x, y) if is_same else y, width
    x = net.op("ReduceMean", x, axes=[2, 3], keepdims=0)
    y = net.op("Softmax", net.linear(x, inner, 10), axis=-1)
    image = net.rng.standard_normal((1, 3, 32, 32)).astype(np.float32)
    return net.model([("x", TensorProto.FLOAT, [1, 3, 32, 32])], y), [image]


def _embedded(net: Network, length: int, width: int) -> str:
    table = net.op("Gather", net.weight(50, width), "x")
    return net.op("Add", table, net.weight(length, width))


def bert() -> tuple[ModelProto, list[Array]]:
    net, length, width = Network(3), 9, 32
    x = net.norm(_embedded(net, length, width), width)
    for _ in range(12 if FULL else 2):
        y = net.attention(x, length, width, causal=False)
        x = net.norm(net.op("Add", x, y), width)
        y = net.gelu(net.linear(x, width, 4 * width))
        y = net.linear(y, 4 * width, width)
        x = net.norm(net.op("Add", x, y), width)
    first = net.op("Gather", x, net.constant(np.int64(0)), axis=1)
    y = net.op("Tanh", net.linear(first, width, width))
    words = net.rng.integers(0, 50, (1, length))
    return net.model([("x", TensorProto.INT64, [1, length])], y), [words]


def gpt_2() -> tuple[ModelProto, list[Array]]:
    net, length, width = Network(4), 7, 32
    x = _embedded(net, length, width)
    for _ in range(12 if FULL else 2):
        y = net.attention(net.norm(x, width), length, width, causal=True)
        x = net.op("Add", x, y)
        y = net.gelu(net.linear(net.norm(x, width), width, 4 * width))
        x = net.op("Add", x, net.linear(y, 4 * width, width))
    y = net.op("MatMul", net.norm(x, width), net.weight(width, 50))
    words = net.rng.integers(0, 50, (1, length))
    return net.model([("x", TensorProto.INT64, [1, length])], y), [words]


def _expected(model: ModelProto, inputs: list[Array]) -> list[Array]:
    names = [each.name for each in model.graph.input]
    feeds = dict(zip(names, inputs, strict=True))
    evaluator: Any = ReferenceEvaluator(model)
    found: Any = evaluator.run(None, feeds)
    if importlib.util.find_spec("onnxruntime") is not None:
        runtime: Any = importlib.import_module("onnxruntime")
        session = runtime.InferenceSession(model.SerializeToString())
        others: Any = session.run(None, feeds)
        for one, other in zip(found, others, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)
        return others
    return found


@pytest.mark.parametrize("network", [resnet_50, mobilenet_v2, bert, gpt_2])
def test_a_network_computes_what_other_runtimes_do(
    network: Callable[[], tuple[ModelProto, list[Array]]],
) -> None:
    model, inputs = network()
    (expected,) = _expected(model, inputs)
    # Compiling all kernels of a deep network takes long.
    road = xdsl_tvm.compile if FULL else xdsl_tvm.interpret
    found = road(from_onnx(model))["main"](*inputs)
    assert np.abs(expected).max() > 1e-2
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


# ---- the light models of the package onnx ----

LIGHT = (
    *("squeezenet", "shufflenet", "bvlc_alexnet", "zfnet512", "inception_v1"),
    *("resnet50", "inception_v2", "densenet121", "vgg19"),
)
ROADS = (True, False) if FULL else (True,)


@pytest.mark.parametrize(
    "interpreted", ROADS, ids=["interpreted", "compiled"][: len(ROADS)]
)
@pytest.mark.parametrize("name", LIGHT if FULL else LIGHT[:1])
def test_a_light_model_computes_the_expected_outputs(
    name: str, interpreted: bool
) -> None:
    (case,) = suite("light", f"^light_{name}$")
    assert run_test(case, interpreted=interpreted).failure == ""


def test_a_light_model_of_other_weights_computes_what_the_evaluator_does() -> None:
    """With the weights of the suite all classes are equal, whatever is computed."""
    (case,) = suite("light", f"^light_{LIGHT[0]}$")
    assert case.model is not None
    model = with_random_weights(case.model)
    # The evaluator reads the axis of Softmax by the rules of later opsets.
    last = model.graph.node.pop()
    assert last.op_type == "Softmax"
    model.graph.output[0].name = last.input[0]
    shape = [dim.dim_value for dim in model.graph.input[0].type.tensor_type.shape.dim]
    # Smaller images, which the evaluator reads slowly.
    shape[2:] = [47, 47]
    for dim, extent in zip(
        model.graph.input[0].type.tensor_type.shape.dim, shape, strict=True
    ):
        dim.dim_value = extent
    image = np.random.default_rng(6).standard_normal(shape).astype(np.float32)
    (expected,) = _expected(model, [image])
    found = xdsl_tvm.interpret(from_onnx(model))["main"](image)
    assert np.ptp(expected) > 1
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-6)

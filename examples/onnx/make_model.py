"""Writes `model.onnx`, a small network for images: python make_model.py [FILE]."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper


def model() -> ModelProto:
    """A convolution, a pool and a classifier, for any number of 8x8 images."""
    random = np.random.default_rng(0)

    def weight(name: str, *shape: int) -> TensorProto:
        values = random.normal(0, 0.3, shape).astype(np.float32)
        return numpy_helper.from_array(values, name)

    nodes = [
        helper.make_node("Conv", ["images", "filters", "bias"], ["c"], pads=[1] * 4),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Flatten", ["p"], ["f"]),
        helper.make_node("Gemm", ["f", "matrix", "shift"], ["g"]),
        helper.make_node("Softmax", ["g"], ["scores"], axis=1),
    ]
    images = helper.make_tensor_value_info("images", TensorProto.FLOAT, ["n", 1, 8, 8])
    scores = helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["n", 10])
    weights = [
        weight("filters", 4, 1, 3, 3),
        weight("bias", 4),
        weight("matrix", 64, 10),
        weight("shift", 10),
    ]
    graph = helper.make_graph(nodes, "digits", [images], [scores], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])


if __name__ == "__main__":
    file = Path(sys.argv[1] if len(sys.argv) > 1 else "model.onnx")
    file.write_bytes(model().SerializeToString())
    print(f"wrote {file}")

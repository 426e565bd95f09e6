"""A convolutional classifier of handwritten digits, with trained weights.

Two convolutions, a pooling and a dense layer; `train_digits_cnn.py` made the weights from
the images of `examples/digits`, of which every fifth is for testing.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
from digits.data import load_digits, split
from numpy.typing import NDArray

from models import layers
from models.network import Array, Model, Parameters, Weights, Wide
from xdsl_tvm import relax
from xdsl_tvm.relax import op

WEIGHTS = Path(__file__).parent / "digits_cnn.npz"


@dataclass(frozen=True)
class DigitsCNN(Model):
    """The probabilities of the ten digits for any number of 8x8 images."""

    first: int = 16
    second: int = 32

    @classmethod
    def small(cls) -> Self:
        return cls()

    def network(self, w: Weights) -> tuple[list[relax.Var], relax.Expr]:
        shape = (relax.sym("n"), 1, 8, 8)
        images = relax.Var("images", relax.TensorStructInfo(shape, "float32"))
        first, second = self.first, self.second
        x = _convolution(w, "conv1", images, 1, first)
        x = _convolution(w, "conv2", x, first, second)
        x = op.nn.max_pool2d(x, pool_size=2, strides=2)
        x = op.reshape(x, (relax.sym("n"), second * 16))
        weight = w.weight("dense.weight", (second * 16, 10), second * 16)
        return [images], op.nn.softmax(op.matmul(x, weight) + w.bias("dense.bias", 10))

    def parameters(self, seed: int = 0) -> dict[str, NDArray[np.float32]]:
        """The trained parameters, whatever the seed."""
        with np.load(WEIGHTS) as file:
            return {name: file[name].astype(np.float32) for name in file.files}

    def inputs(self, seed: int = 0) -> list[Array]:
        """Sixteen of the test images."""
        images = split(load_digits()[0])[1].reshape(-1, 1, 8, 8)
        order = np.random.default_rng(seed).permutation(len(images))
        return [images[order[:16]]]

    def reference(self, parameters: Parameters, *inputs: Array) -> list[Wide]:
        p = parameters
        x = inputs[0].astype(np.float64)
        for name in ("conv1", "conv2"):
            x = layers.conv2d(x, p[f"{name}.weight"], padding=1)
            x = layers.relu(x + p[f"{name}.bias"][:, None, None])
        x = layers.max_pool2d(x, 2, 2, 0).reshape(len(x), -1)
        return [layers.softmax(layers.dense(x, p, "dense"))]


def _convolution(
    w: Weights, name: str, x: relax.Expr, inputs: int, outputs: int
) -> relax.Expr:
    weight = w.weight(f"{name}.weight", (outputs, inputs, 3, 3), inputs * 9)
    bias = op.reshape(w.bias(f"{name}.bias", outputs), (1, outputs, 1, 1))
    return op.nn.relu(op.nn.conv2d(x, weight, padding=1) + bias)

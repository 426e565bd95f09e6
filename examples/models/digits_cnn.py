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
from models.modules import Dense, max_pool2d
from models.network import Array, Model, Parameters, Wide
from xdsl_tvm import IRModule
from xdsl_tvm.relax.frontend import nn

WEIGHTS = Path(__file__).parent / "digits_cnn.npz"


@dataclass(frozen=True)
class DigitsCNN(Model):
    """The probabilities of the ten digits for any number of 8x8 images."""

    first: int = 16
    second: int = 32

    @classmethod
    def small(cls) -> Self:
        return cls()

    def network(self) -> nn.Module:
        return Classifier(self.first, self.second)

    def input_specs(self) -> dict[str, nn.spec.Tensor]:
        return {"images": nn.spec.Tensor(("n", 1, 8, 8), "float32")}

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


class Classifier(nn.Module):
    """Two convolutions, a pooling and a dense layer."""

    def __init__(self, first: int, second: int) -> None:
        self.conv1 = nn.Conv2D(1, first, 3, padding=1)
        self.conv2 = nn.Conv2D(first, second, 3, padding=1)
        self.dense = Dense(second * 16, 10)

    def forward(self, images: nn.Tensor) -> nn.Tensor:
        """The probabilities `[n, 10]`."""
        x = nn.relu(self.conv2(nn.relu(self.conv1(images))))
        x = nn.reshape(max_pool2d(x, 2, 2), (images.shape[0], x.shape[1] * 16))
        return nn.softmax(self.dense(x))


def build_module() -> IRModule:
    """What `xdsl-tvm compile --execute` compiles of this file: the model in full size."""
    return DigitsCNN().build()

"""ResNet-18: residual blocks of two 3x3 convolutions (He et al., 2015).

The topology of the paper, with random weights: a 7x7 convolution and a pooling, four
stages of two blocks, each stage but the first of half the resolution and twice the
channels, the mean over the image, and one dense layer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from models import layers
from models.network import Array, ImageModel, Parameters, Weights, Wide
from xdsl_tvm import relax
from xdsl_tvm.relax import op


@dataclass(frozen=True)
class ResNet18(ImageModel):
    """A classifier of `[batch, 3, image, image]`."""

    channels: int = 64
    stages: int = 4

    @classmethod
    def small(cls) -> Self:
        # Two stages have blocks of both kinds, with and without a new resolution.
        return cls(batch=2, image=32, channels=4, classes=7, stages=2)

    @property
    def blocks(self) -> list[tuple[str, int, int, int]]:
        """Name, input channels, output channels and stride of the residual blocks."""
        result: list[tuple[str, int, int, int]] = []
        inputs = self.channels
        for stage in range(self.stages):
            outputs = self.channels << stage
            for block in range(2):
                stride = 2 if stage and not block else 1
                result.append((f"stage{stage}.block{block}", inputs, outputs, stride))
                inputs = outputs
        return result

    def network(self, w: Weights) -> tuple[list[relax.Var], relax.Expr]:
        image = self.image_var()
        x = op.nn.relu(convolution(w, "stem", image, 3, self.channels, 7, 2))
        x = op.nn.max_pool2d(x, pool_size=3, strides=2, padding=1)
        for name, inputs, outputs, stride in self.blocks:
            y = convolution(w, f"{name}.conv0", x, inputs, outputs, 3, stride)
            y = convolution(w, f"{name}.conv1", op.nn.relu(y), outputs, outputs, 3, 1)
            if stride != 1 or inputs != outputs:
                x = convolution(w, f"{name}.shortcut", x, inputs, outputs, 1, stride)
            x = op.nn.relu(x + y)
        return [image], classifier(w, x, self.blocks[-1][2], self.classes)

    def reference(self, parameters: Parameters, *inputs: Array) -> list[Wide]:
        p = parameters

        def convolve(name: str, data: Wide, stride: int) -> Wide:
            weight = p[f"{name}.weight"]
            data = layers.conv2d(data, weight, stride, weight.shape[-1] // 2)
            return layers.batch_norm(data, p, name)

        x = layers.relu(convolve("stem", inputs[0].astype(np.float64), 2))
        x = layers.max_pool2d(x, 3, 2, 1)
        for name, *_, stride in self.blocks:
            y = layers.relu(convolve(f"{name}.conv0", x, stride))
            y = convolve(f"{name}.conv1", y, 1)
            if f"{name}.shortcut.weight" in p:
                x = convolve(f"{name}.shortcut", x, stride)
            x = layers.relu(x + y)
        return [layers.dense(x.mean(axis=(2, 3)), p, "classifier")]


def convolution(
    w: Weights,
    name: str,
    data: relax.Expr,
    inputs: int,
    outputs: int,
    size: int,
    stride: int,
    groups: int = 1,
) -> relax.Expr:
    """A convolution that keeps the resolution but for its stride, and a normalisation."""
    fan_in = inputs // groups * size * size
    shape = (outputs, inputs // groups, size, size)
    weight = w.weight(f"{name}.weight", shape, fan_in)
    x = op.nn.conv2d(data, weight, strides=stride, padding=size // 2, groups=groups)
    normal = op.nn.batch_norm(
        x,
        w.scale(f"{name}.gamma", outputs),
        w.bias(f"{name}.beta", outputs),
        w.bias(f"{name}.mean", outputs),
        w.scale(f"{name}.var", outputs),
        axis=1,
        training=False,
    )
    return normal[0]


def classifier(w: Weights, x: relax.Expr, inputs: int, classes: int) -> relax.Expr:
    """The mean over the image, and a dense layer."""
    x = op.mean(x, axis=[2, 3])
    weight = w.weight("classifier.weight", (inputs, classes), inputs)
    return op.matmul(x, weight) + w.bias("classifier.bias", classes)

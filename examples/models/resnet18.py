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
from models.modules import Convolution, ImageClassifier, max_pool2d
from models.network import Array, ImageModel, Parameters, Wide
from xdsl_tvm import IRModule
from xdsl_tvm.relax.frontend import nn


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
    def blocks(self) -> list[tuple[int, int, int]]:
        """Input channels, output channels and stride of the residual blocks."""
        result: list[tuple[int, int, int]] = []
        inputs = self.channels
        for stage in range(self.stages):
            outputs = self.channels << stage
            for block in range(2):
                stride = 2 if stage and not block else 1
                result.append((inputs, outputs, stride))
                inputs = outputs
        return result

    def network(self) -> nn.Module:
        return Network(self)

    def reference(self, parameters: Parameters, *inputs: Array) -> list[Wide]:
        p = parameters

        def convolve(name: str, data: Wide, stride: int) -> Wide:
            weight = p[f"{name}.weight"]
            data = layers.conv2d(data, weight, stride, weight.shape[-1] // 2)
            return layers.batch_norm(data, p, name)

        x = layers.relu(convolve("stem", inputs[0].astype(np.float64), 2))
        x = layers.max_pool2d(x, 3, 2, 1)
        for index, (*_, stride) in enumerate(self.blocks):
            name = f"blocks.{index}"
            y = layers.relu(convolve(f"{name}.conv0", x, stride))
            y = convolve(f"{name}.conv1", y, 1)
            if f"{name}.shortcut.weight" in p:
                x = convolve(f"{name}.shortcut", x, stride)
            x = layers.relu(x + y)
        return [layers.dense(x.mean(axis=(2, 3)), p, "classifier")]


class Network(nn.Module):
    """A convolution and a pooling, the blocks, and the scores."""

    def __init__(self, size: ResNet18) -> None:
        self.stem = Convolution(3, size.channels, 7, 2)
        blocks = [Block(*block) for block in size.blocks]
        self.blocks = nn.ModuleList(blocks)
        self.classifier = ImageClassifier(size.blocks[-1][1], size.classes)

    def forward(self, image: nn.Tensor) -> nn.Tensor:
        """The scores `[batch, classes]`."""
        x = max_pool2d(nn.relu(self.stem(image)), 3, 2, 1)
        return self.classifier(self.blocks(x))


class Block(nn.Module):
    """Two convolutions and the image itself, or another convolution of it."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        self.conv0 = Convolution(inputs, outputs, 3, stride)
        self.conv1 = Convolution(outputs, outputs, 3)
        is_same = stride == 1 and inputs == outputs
        self.shortcut = None if is_same else Convolution(inputs, outputs, 1, stride)

    def forward(self, x: nn.Tensor) -> nn.Tensor:
        """The image `[n, outputs, h / stride, w / stride]`."""
        y = self.conv1(nn.relu(self.conv0(x)))
        return nn.relu((x if self.shortcut is None else self.shortcut(x)) + y)


def build_module() -> IRModule:
    """What `xdsl-tvm compile --execute` compiles of this file: the model in full size."""
    return ResNet18().build()

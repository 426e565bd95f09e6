"""MobileNetV2: inverted residuals with depthwise convolutions (Sandler et al., 2018).

The topology of the paper's table 2, with random weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from models import layers
from models.modules import Convolution, ImageClassifier
from models.network import Array, ImageModel, Parameters, Wide
from xdsl_tvm import IRModule
from xdsl_tvm.relax.frontend import nn

STAGES = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)
"""Expansion, output channels, number of blocks, and stride of the first block."""


@dataclass(frozen=True)
class MobileNetV2(ImageModel):
    """A classifier of `[batch, 3, image, image]`; channels are divided by `thinner`."""

    thinner: int = 1
    stages: tuple[tuple[int, int, int, int], ...] = STAGES

    @classmethod
    def small(cls) -> Self:
        # A block of each kind: without and with expansion, with and without shortcut.
        return cls(2, 16, 7, 8, ((1, 16, 1, 1), (6, 24, 2, 2)))

    @property
    def blocks(self) -> list[tuple[int, int, int, int]]:
        """Input, inner and output channels, and stride of the blocks."""
        result: list[tuple[int, int, int, int]] = []
        inputs = 32 // self.thinner
        for expansion, channels, count, first in self.stages:
            outputs = channels // self.thinner
            for block in range(count):
                stride = 1 if block else first
                result.append((inputs, inputs * expansion, outputs, stride))
                inputs = outputs
        return result

    def network(self) -> nn.Module:
        return Network(self)

    def reference(self, parameters: Parameters, *inputs: Array) -> list[Wide]:
        p = parameters

        def convolve(name: str, data: Wide, stride: int = 1, groups: int = 1) -> Wide:
            weight = p[f"{name}.weight"]
            padding = weight.shape[-1] // 2
            data = layers.conv2d(data, weight, stride, padding, groups)
            return layers.batch_norm(data, p, name)

        x = np.clip(convolve("stem", inputs[0].astype(np.float64), 2), 0, 6)
        for index, (inputs_, inner, outputs, stride) in enumerate(self.blocks):
            name = f"blocks.{index}"
            y = x
            if f"{name}.expand.weight" in p:
                y = np.clip(convolve(f"{name}.expand", y), 0, 6)
            y = np.clip(convolve(f"{name}.depthwise", y, stride, inner), 0, 6)
            y = convolve(f"{name}.project", y)
            x = x + y if stride == 1 and inputs_ == outputs else y
        x = np.clip(convolve("head", x), 0, 6)
        return [layers.dense(x.mean(axis=(2, 3)), p, "classifier")]


class Network(nn.Module):
    """A convolution, the blocks, a convolution, and the scores."""

    def __init__(self, size: MobileNetV2) -> None:
        last = 1280 // size.thinner
        self.stem = Convolution(3, 32 // size.thinner, 3, 2)
        self.blocks = nn.ModuleList([Block(*block) for block in size.blocks])
        self.head = Convolution(size.blocks[-1][2], last, 1)
        self.classifier = ImageClassifier(last, size.classes)

    def forward(self, image: nn.Tensor) -> nn.Tensor:
        """The scores `[batch, classes]`."""
        x = self.blocks(nn.relu6(self.stem(image)))
        return self.classifier(nn.relu6(self.head(x)))


class Block(nn.Module):
    """More channels, a convolution of each by itself, fewer channels; and the image."""

    def __init__(self, inputs: int, inner: int, outputs: int, stride: int) -> None:
        self.expand = None if inner == inputs else Convolution(inputs, inner, 1)
        self.depthwise = Convolution(inner, inner, 3, stride, inner)
        self.project = Convolution(inner, outputs, 1)
        self.has_shortcut = stride == 1 and inputs == outputs

    def forward(self, x: nn.Tensor) -> nn.Tensor:
        """The image `[n, outputs, h / stride, w / stride]`."""
        y = x if self.expand is None else nn.relu6(self.expand(x))
        y = self.project(nn.relu6(self.depthwise(y)))
        return x + y if self.has_shortcut else y


def build_module() -> IRModule:
    """What `xdsl-tvm compile --execute` compiles of this file: the model in full size."""
    return MobileNetV2().build()

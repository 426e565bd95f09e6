"""MobileNetV2: inverted residuals with depthwise convolutions (Sandler et al., 2018).

The topology of the paper's table 2, with random weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from models import layers
from models.network import Array, ImageModel, Parameters, Weights, Wide
from models.resnet18 import classifier, convolution
from xdsl_tvm import relax
from xdsl_tvm.relax import op

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
    def blocks(self) -> list[tuple[str, int, int, int, int]]:
        """Name, input, inner and output channels, and stride of the blocks."""
        result: list[tuple[str, int, int, int, int]] = []
        inputs = 32 // self.thinner
        for stage, (expansion, channels, count, first) in enumerate(self.stages):
            outputs = channels // self.thinner
            for block in range(count):
                stride = 1 if block else first
                name = f"stage{stage}.block{block}"
                result.append((name, inputs, inputs * expansion, outputs, stride))
                inputs = outputs
        return result

    def network(self, w: Weights) -> tuple[list[relax.Var], relax.Expr]:
        image = self.image_var()
        x = _relu6(convolution(w, "stem", image, 3, 32 // self.thinner, 3, 2))
        outputs = 32 // self.thinner
        for name, inputs, inner, outputs, stride in self.blocks:
            y = x
            if inner != inputs:
                y = _relu6(convolution(w, f"{name}.expand", y, inputs, inner, 1, 1))
            depthwise = f"{name}.depthwise"
            y = _relu6(convolution(w, depthwise, y, inner, inner, 3, stride, inner))
            y = convolution(w, f"{name}.project", y, inner, outputs, 1, 1)
            x = x + y if stride == 1 and inputs == outputs else y
        last = 1280 // self.thinner
        x = _relu6(convolution(w, "head", x, outputs, last, 1, 1))
        return [image], classifier(w, x, last, self.classes)

    def reference(self, parameters: Parameters, *inputs: Array) -> list[Wide]:
        p = parameters

        def convolve(name: str, data: Wide, stride: int = 1, groups: int = 1) -> Wide:
            weight = p[f"{name}.weight"]
            padding = weight.shape[-1] // 2
            data = layers.conv2d(data, weight, stride, padding, groups)
            return layers.batch_norm(data, p, name)

        x = np.clip(convolve("stem", inputs[0].astype(np.float64), 2), 0, 6)
        for name, inputs_, inner, outputs, stride in self.blocks:
            y = x
            if f"{name}.expand.weight" in p:
                y = np.clip(convolve(f"{name}.expand", y), 0, 6)
            y = np.clip(convolve(f"{name}.depthwise", y, stride, inner), 0, 6)
            y = convolve(f"{name}.project", y)
            x = x + y if stride == 1 and inputs_ == outputs else y
        x = np.clip(convolve("head", x), 0, 6)
        return [layers.dense(x.mean(axis=(2, 3)), p, "classifier")]


def _relu6(x: relax.Expr) -> relax.Expr:
    return op.clip(x, 0.0, 6.0)

"""The parts that networks share, as modules of `relax.frontend.nn`."""

from __future__ import annotations

from typing import cast

from models.network import Drawn
from xdsl_tvm import relax
from xdsl_tvm.relax.frontend import nn


class Dense(nn.Module):
    """`x` times a weight `[inputs, outputs]`, and a bias.

    `nn.Linear` has the transposed weight.
    """

    def __init__(self, inputs: int, outputs: int) -> None:
        self.weight = Drawn((inputs, outputs), "weight", inputs)
        self.bias = Drawn((outputs,), "bias")

    def forward(self, x: nn.Tensor) -> nn.Tensor:
        """`[…, inputs]` as `[…, outputs]`."""
        return nn.matmul(x, self.weight) + self.bias


class LayerNorm(nn.LayerNorm):
    """Normalisation of the last axis by its own statistics."""

    def __init__(self, width: int, epsilon: float) -> None:
        super().__init__(width, epsilon)
        self.weight = Drawn((width,), "scale")
        self.bias = Drawn((width,), "bias")


class Embedding(nn.Embedding):
    """Rows of a weight, by index; `fan_in` is that of the weight."""

    def __init__(self, count: int, width: int) -> None:
        super().__init__(count, width)
        self.weight = Drawn((count, width), "weight", width)


class Convolution(nn.Conv2D):
    """A convolution that keeps the resolution but for its stride, and a normalisation.

    The normalisation is by the statistics of training.
    """

    def __init__(
        self, inputs: int, outputs: int, size: int, stride: int = 1, groups: int = 1
    ) -> None:
        padding = size // 2
        super().__init__(
            inputs, outputs, size, stride, padding, groups=groups, bias=False
        )
        shape = (outputs, inputs // groups, size, size)
        self.weight = Drawn(shape, "weight", inputs // groups * size * size)
        self.gamma = Drawn((outputs,), "scale")
        self.beta = Drawn((outputs,), "bias")
        self.mean = Drawn((outputs,), "bias")
        self.var = Drawn((outputs,), "scale")

    def forward(self, x: nn.Tensor) -> nn.Tensor:
        """The image `[n, outputs, h / stride, w / stride]`."""
        parts = (self.gamma, self.beta, self.mean, self.var)
        normal = relax.op.nn.batch_norm(
            super().forward(x).expr,
            *(part.expr for part in parts),
            axis=1,
            training=False,
        )
        return tensor(normal[0], "batch_norm")


class ImageClassifier(Dense):
    """The mean over the image, and a dense layer."""

    def forward(self, x: nn.Tensor) -> nn.Tensor:
        """The scores `[n, outputs]` of `[n, inputs, h, w]`."""
        return super().forward(tensor(relax.op.mean(x.expr, axis=[2, 3]), "mean"))


def max_pool2d(x: nn.Tensor, size: int, stride: int, padding: int = 0) -> nn.Tensor:
    """The largest element of each window."""
    pooled = relax.op.nn.max_pool2d(
        x.expr, pool_size=size, strides=stride, padding=padding
    )
    return tensor(pooled, "max_pool2d")


def tensor(expr: relax.Expr, name: str) -> nn.Tensor:
    """The tensor of an operator that `nn` has no name for."""
    return cast("nn.Tensor", nn.wrap_nested(expr, name))

"""The encoder of BERT-base: attention over a whole text (Devlin et al., 2018).

Random weights. The input is the sum of the embeddings, and a mask that is 1 for tokens
and 0 for what fills up the text to the common length.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from models import layers
from models.modules import Dense, LayerNorm
from models.network import Array, Model, Parameters, Wide
from xdsl_tvm import IRModule
from xdsl_tvm.relax.frontend import nn

EPSILON = 1e-12
HIDDEN = -1e4
"""What is added to the score of a masked token."""


@dataclass(frozen=True)
class Bert(Model):
    """Encodes `[batch, length, width]`."""

    batch: int = 1
    length: int = 128
    width: int = 768
    heads: int = 12
    layers: int = 12

    @classmethod
    def small(cls) -> Self:
        return cls(batch=2, length=6, width=16, heads=2, layers=2)

    def network(self) -> nn.Module:
        return Encoder(self)

    def input_specs(self) -> dict[str, nn.spec.Tensor]:
        shape = (self.batch, self.length, self.width)
        return {
            "embedded": nn.spec.Tensor(shape, "float32"),
            "mask": nn.spec.Tensor(shape[:2], "float32"),
        }

    def inputs(self, seed: int = 0) -> list[Array]:
        rng = np.random.default_rng(seed)
        shape = (self.batch, self.length, self.width)
        # Each text ends somewhere in its second half.
        ends = rng.integers(self.length // 2, self.length + 1, (self.batch, 1))
        mask = (np.arange(self.length) < ends).astype(np.float32)
        return [rng.standard_normal(shape, np.float32), mask]

    def reference(self, parameters: Parameters, *inputs: Array) -> list[Wide]:
        p = parameters
        x, mask = (each.astype(np.float64) for each in inputs)
        bias = ((1 - mask) * HIDDEN)[:, None, None, :]
        for index in range(self.layers):
            name = f"layers.{index}"
            query, key, value = (
                layers.heads(layers.dense(x, p, f"{name}.{part}"), self.heads)
                for part in ("query", "key", "value")
            )
            found = layers.without_heads(layers.attention(query, key, value, bias))
            x = x + layers.dense(found, p, f"{name}.attended")
            x = layers.layer_norm(x, p, f"{name}.norm0", EPSILON)
            inner = layers.gelu(layers.dense(x, p, f"{name}.inner"))
            x = x + layers.dense(inner, p, f"{name}.outer")
            x = layers.layer_norm(x, p, f"{name}.norm1", EPSILON)
        return [x]


class Encoder(nn.Module):
    """The layers, one after the other."""

    def __init__(self, size: Bert) -> None:
        self.layers = nn.ModuleList(
            [Layer(size.width, size.heads) for _ in range(size.layers)]
        )

    def forward(self, embedded: nn.Tensor, mask: nn.Tensor) -> nn.Tensor:
        """The encoded text, of the shape of the embedded one."""
        batch, length = mask.shape
        bias = nn.reshape((1.0 - mask) * HIDDEN, (batch, 1, 1, length))
        for layer in self.layers:
            embedded = layer(embedded, bias)
        return embedded


class Layer(nn.Module):
    """Attention, and two dense layers for each token."""

    def __init__(self, width: int, heads: int) -> None:
        self.heads = heads
        self.query = Dense(width, width)
        self.key = Dense(width, width)
        self.value = Dense(width, width)
        self.attended = Dense(width, width)
        self.norm0 = LayerNorm(width, EPSILON)
        self.inner = Dense(width, 4 * width)
        self.outer = Dense(4 * width, width)
        self.norm1 = LayerNorm(width, EPSILON)

    def forward(self, x: nn.Tensor, bias: nn.Tensor) -> nn.Tensor:
        """The tokens, and what they attend to; `bias` is added to the scores."""
        batch, length, width = x.shape
        split = (batch, length, self.heads, -1)
        query, key, value = (
            nn.reshape(part(x), split) for part in (self.query, self.key, self.value)
        )
        found = nn.scaled_dot_product_attention(query, key, value, bias)
        x = self.norm0(x + self.attended(nn.reshape(found, (batch, length, width))))
        return self.norm1(x + self.outer(nn.gelu(self.inner(x))))


def build_module() -> IRModule:
    """What `xdsl-tvm compile --execute` compiles of this file: the model in full size."""
    return Bert().build()

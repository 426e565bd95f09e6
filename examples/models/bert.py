"""The encoder of BERT-base: attention over a whole text (Devlin et al., 2018).

Random weights. The input is the sum of the embeddings, and a mask that is 1 for tokens
and 0 for what fills up the text to the common length.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from models import layers
from models.network import Array, Model, Parameters, Weights, Wide
from xdsl_tvm import relax
from xdsl_tvm.relax import op

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

    def network(self, w: Weights) -> tuple[list[relax.Var], relax.Expr]:
        shape = (self.batch, self.length, self.width)
        x = relax.Var("embedded", relax.TensorStructInfo(shape, "float32"))
        mask = relax.Var("mask", relax.TensorStructInfo(shape[:2], "float32"))
        bias = op.reshape((1.0 - mask) * HIDDEN, (self.batch, 1, 1, self.length))
        result: relax.Expr = x
        for index in range(self.layers):
            result = self._layer(w, f"layer{index}", result, bias)
        return [x, mask], result

    def _layer(
        self, w: Weights, name: str, x: relax.Expr, bias: relax.Expr
    ) -> relax.Expr:
        width = self.width
        split = (self.batch, self.length, self.heads, width // self.heads)
        query, key, value = (
            op.reshape(dense(w, f"{name}.{part}", x, width, width), split)
            for part in ("query", "key", "value")
        )
        found = op.nn.attention(query, key, value, bias)
        found = op.reshape(found, (self.batch, self.length, width))
        x = x + dense(w, f"{name}.attended", found, width, width)
        x = layer_norm(w, f"{name}.norm0", x, width, EPSILON)
        inner = op.nn.gelu(dense(w, f"{name}.inner", x, width, 4 * width))
        x = x + dense(w, f"{name}.outer", inner, 4 * width, width)
        return layer_norm(w, f"{name}.norm1", x, width, EPSILON)

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
            name = f"layer{index}"
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


def dense(w: Weights, name: str, x: relax.Expr, inputs: int, outputs: int) -> relax.Expr:
    """A matrix product and a bias."""
    weight = w.weight(f"{name}.weight", (inputs, outputs), inputs)
    return op.matmul(x, weight) + w.bias(f"{name}.bias", outputs)


def layer_norm(
    w: Weights, name: str, x: relax.Expr, width: int, epsilon: float
) -> relax.Expr:
    """Normalisation of the last axis."""
    gamma, beta = w.scale(f"{name}.gamma", width), w.bias(f"{name}.beta", width)
    return op.nn.layer_norm(x, gamma, beta, axes=-1, epsilon=epsilon)

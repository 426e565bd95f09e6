"""One step of the decoder of GPT-2: the next token, given those before (2019).

Random weights. Keys and values of the tokens before are kept in a cache, whose length
`past` is a symbol: it grows by one in each step, and one compiled program serves all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from models import layers
from models.modules import Dense, Embedding, LayerNorm
from models.network import Array, Model, Parameters, Wide
from xdsl_tvm import IRModule
from xdsl_tvm.relax.frontend import nn

EPSILON = 1e-5


@dataclass(frozen=True)
class GPT2(Model):
    """Logits of the next token, and the caches with the present one added.

    Inputs are the token, its position, and per layer the keys and the values of all
    tokens before, `[1, heads, past, width / heads]`; results are the logits, and per
    layer the keys and the values.
    """

    vocabulary: int = 50257
    positions: int = 1024
    width: int = 768
    heads: int = 12
    layers: int = 12

    @classmethod
    def small(cls) -> Self:
        return cls(vocabulary=11, positions=16, width=16, heads=2, layers=2)

    def network(self) -> nn.Module:
        return Decoder(self)

    def input_specs(self) -> dict[str, nn.spec.Tensor]:
        index = nn.spec.Tensor((1,), "int64")
        shape = (1, self.heads, "past", self.width // self.heads)
        cache = {
            f"{part}{layer}": nn.spec.Tensor(shape, "float32")
            for layer in range(self.layers)
            for part in ("keys", "values")
        }
        return {"token": index, "position": index, **cache}

    def inputs(self, seed: int = 0, past: int | None = None) -> list[Array]:
        """A token after `past` others; half the possible positions by default."""
        rng = np.random.default_rng(seed)
        past = self.positions // 2 if past is None else past
        shape = (1, self.heads, past, self.width // self.heads)
        token: NDArray[np.int64] = rng.integers(0, self.vocabulary, 1)
        cache: list[Array] = [
            rng.standard_normal(shape, np.float32) for _ in range(2 * self.layers)
        ]
        return [token, np.array([past]), *cache]

    def reference(self, parameters: Parameters, *inputs: Array) -> list[Wide]:
        p = parameters
        token, position = (each.astype(np.int64) for each in inputs[:2])
        cache: list[Wide] = [each.astype(np.float64) for each in inputs[2:]]
        words = p["words.weight"].astype(np.float64)
        x = words[token] + p["places.weight"][position]
        results: list[Wide] = []
        for index in range(self.layers):
            name = f"layers.{index}"
            normal = layers.layer_norm(x, p, f"{name}.norm0")
            joint = layers.dense(normal, p, f"{name}.attention")
            query, key, value = (
                layers.heads(part[None], self.heads)
                for part in np.split(joint, 3, axis=1)
            )
            past_keys, past_values = cache[2 * index : 2 * index + 2]
            keys: Wide = np.concatenate([past_keys, key], axis=2)
            values: Wide = np.concatenate([past_values, value], axis=2)
            results += [keys, values]
            found = layers.without_heads(layers.attention(query, keys, values))[0]
            x = x + layers.dense(found, p, f"{name}.attended")
            normal = layers.layer_norm(x, p, f"{name}.norm1")
            inner = layers.gelu_tanh(layers.dense(normal, p, f"{name}.inner"))
            x = x + layers.dense(inner, p, f"{name}.outer")
        return [layers.layer_norm(x, p, "norm") @ words.T, *results]


class Decoder(nn.Module):
    """Embeddings, the layers, and the scores of the words."""

    def __init__(self, size: GPT2) -> None:
        # The sum over the embeddings gives the logits, so `width` is what is summed.
        self.words = Embedding(size.vocabulary, size.width)
        self.places = Embedding(size.positions, size.width)
        self.layers = nn.ModuleList(
            [Layer(size.width, size.heads) for _ in range(size.layers)]
        )
        self.norm = LayerNorm(size.width, EPSILON)

    def forward(
        self, token: nn.Tensor, position: nn.Tensor, **cache: nn.Tensor
    ) -> tuple[nn.Tensor, ...]:
        """The logits, and for each layer the keys and the values."""
        x = self.words(token) + self.places(position)
        kept: list[nn.Tensor] = []
        for index, layer in enumerate(self.layers):
            x, *both = layer(x, cache[f"keys{index}"], cache[f"values{index}"])
            kept += both
        # The state is transposed, and not the words, which are many.
        words = self.words.weight
        logits = nn.matmul(words, nn.permute_dims(self.norm(x)))
        return nn.reshape(logits, (1, words.shape[0])), *kept


class Layer(nn.Module):
    """Attention to the tokens before, and two dense layers."""

    def __init__(self, width: int, heads: int) -> None:
        self.heads = heads
        self.norm0 = LayerNorm(width, EPSILON)
        self.attention = Dense(width, 3 * width)
        self.attended = Dense(width, width)
        self.norm1 = LayerNorm(width, EPSILON)
        self.inner = Dense(width, 4 * width)
        self.outer = Dense(4 * width, width)

    def forward(
        self, x: nn.Tensor, keys: nn.Tensor, values: nn.Tensor
    ) -> tuple[nn.Tensor, nn.Tensor, nn.Tensor]:
        """The token `[1, width]`, and keys and values with its own."""
        each = keys.shape[-1]
        assert isinstance(each, int)
        query, key, value = (
            nn.reshape(part, (1, self.heads, 1, each))
            for part in nn.split(self.attention(self.norm0(x)), 3, axis=1)
        )
        keys = nn.concat([keys, key], 2)
        values = nn.concat([values, value], 2)
        scores = nn.matmul(query, nn.permute_dims(keys, (0, 1, 3, 2)))
        weights = nn.softmax(scores * (1 / math.sqrt(each)))
        found = nn.reshape(nn.matmul(weights, values), x.shape)
        x = x + self.attended(found)
        inner = nn.gelu(self.inner(self.norm1(x)), approximate="tanh")
        return x + self.outer(inner), keys, values


def build_module() -> IRModule:
    """What `xdsl-tvm compile --execute` compiles of this file: the model in full size."""
    return GPT2().build()

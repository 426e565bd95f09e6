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
from models.bert import dense, layer_norm
from models.network import Array, Model, Parameters, Weights, Wide
from xdsl_tvm import relax
from xdsl_tvm.relax import op

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

    def network(self, w: Weights) -> tuple[list[relax.Var], relax.Expr]:
        index = relax.TensorStructInfo((1,), "int64")
        token, position = relax.Var("token", index), relax.Var("position", index)
        shape = (1, self.heads, relax.sym("past"), self.width // self.heads)
        cache = [
            relax.Var(f"{part}{index}", relax.TensorStructInfo(shape, "float32"))
            for index in range(self.layers)
            for part in ("keys", "values")
        ]
        # The sum over the embeddings gives the logits, so `width` is what is summed.
        words = w.weight("words.weight", (self.vocabulary, self.width), self.width)
        places = w.weight("places.weight", (self.positions, self.width), self.width)
        x = op.take(words, token, axis=0) + op.take(places, position, axis=0)
        results: list[relax.Expr] = []
        for index, past in enumerate(zip(cache[::2], cache[1::2], strict=True)):
            x, *kept = self._layer(w, f"layer{index}", x, *past)
            results += kept
        x = layer_norm(w, "norm", x, self.width, EPSILON)
        # The state is transposed, and not the words, which are many.
        logits = op.reshape(op.matmul(words, op.permute_dims(x)), (1, self.vocabulary))
        return [token, position, *cache], relax.Tuple([logits, *results])

    def _layer(
        self, w: Weights, name: str, x: relax.Expr, keys: relax.Expr, values: relax.Expr
    ) -> tuple[relax.Expr, relax.Expr, relax.Expr]:
        width, each = self.width, self.width // self.heads
        normal = layer_norm(w, f"{name}.norm0", x, width, EPSILON)
        joint = dense(w, f"{name}.attention", normal, width, 3 * width)
        query, key, value = (
            op.reshape(part, (1, self.heads, 1, each))
            for part in op.split(joint, 3, axis=1)
        )
        keys = op.concat([keys, key], axis=2)
        values = op.concat([values, value], axis=2)
        scores = op.matmul(query, op.permute_dims(keys, (0, 1, 3, 2)))
        weights = op.nn.softmax(scores * (1 / math.sqrt(each)))
        found = op.reshape(op.matmul(weights, values), (1, width))
        x = x + dense(w, f"{name}.attended", found, width, width)
        normal = layer_norm(w, f"{name}.norm1", x, width, EPSILON)
        inner = op.nn.gelu_tanh(dense(w, f"{name}.inner", normal, width, 4 * width))
        return x + dense(w, f"{name}.outer", inner, 4 * width, width), keys, values

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
            name = f"layer{index}"
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

"""Texts that JAX 0.10 printed, interpreted and compiled, against numpy."""

import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xdsl_tvm

PROGRAMS = Path(__file__).parent / "programs"
Array = np.ndarray[Any, Any]


def _softmax(x: Array) -> Array:
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def _mlp(x: Array, w1: Array, b1: Array, w2: Array, b2: Array) -> list[Array]:
    return [_softmax(np.maximum(x @ w1 + b1, 0) @ w2 + b2)]


def _cnn(x: Array, w: Array) -> list[Array]:
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    y = np.zeros((1, 8, 8, 4), np.float32)
    for i in range(3):
        for j in range(3):
            y += padded[:, i : i + 8, j : j + 8] @ w[i, j]
    y = np.maximum(y, 0).reshape(1, 4, 2, 4, 2, 4).max((2, 4))
    return [y.mean((1, 2))]


def _layer_norm(x: Array, gamma: Array, beta: Array) -> list[Array]:
    centered = x - x.mean(-1, keepdims=True)
    return [centered / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * gamma + beta]


def _attention(q: Array, k: Array, v: Array) -> list[Array]:
    scores = np.einsum("bqhd,bkhd->bhqk", q, k) / 2
    scores = np.where(np.tril(np.ones((3, 3), bool)), scores, -1e9)
    return [np.einsum("bhqk,bkhd->bqhd", _softmax(scores), v)]


def _embedding(table: Array, indices: Array) -> list[Array]:
    return [table[np.clip(np.where(indices < 0, indices + 10, indices), 0, 9)]]


def _gelu(x: Array) -> list[Array]:
    tanh = 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    erf = np.vectorize(math.erf)(x / math.sqrt(2))
    return [tanh, 0.5 * x * (1 + erf)]


def _training_step(w: Array, b: Array, x: Array, y: Array) -> list[Array]:
    probabilities = _softmax(x @ w + b)
    hot = np.eye(3)[y]
    loss = -(np.log(probabilities) * hot).sum(-1).mean()
    change = (probabilities - hot) / len(x)
    return [w - 0.1 * x.T @ change, b - 0.1 * change.sum(0), loss]


_CASES: dict[str, tuple[Callable[..., list[Array]], list[tuple[int, ...]]]] = {
    "mlp": (_mlp, [(2, 4), (4, 8), (8,), (8, 3), (3,)]),
    "cnn": (_cnn, [(1, 8, 8, 3), (3, 3, 3, 4)]),
    "layer_norm": (_layer_norm, [(2, 4), (4,), (4,)]),
    "attention": (_attention, [(1, 3, 2, 4)] * 3),
    "embedding": (_embedding, [(10, 4), (2, 3)]),
    "gelu": (_gelu, [(2, 4)]),
    "training_step": (_training_step, [(4, 3), (3,), (2, 4), (2,)]),
}
_INDICES = {
    "embedding": np.array([[0, -1, 9], [3, 12, -20]], np.int32),
    "training_step": np.array([2, 0], np.int32),
}


_COMPILED = _CASES if "XDSL_TVM_FUZZ" in os.environ else ("mlp", "embedding")


@pytest.mark.parametrize(
    ("name", "road"),
    [
        *((name, xdsl_tvm.interpret) for name in _CASES),
        *((name, xdsl_tvm.compile) for name in _COMPILED),
    ],
)
def test_a_printed_program_computes_what_it_says(
    name: str, road: Callable[..., Any]
) -> None:
    reference, shapes = _CASES[name]
    rng = np.random.default_rng(len(name))
    inputs: list[Array] = [
        rng.standard_normal(shape).astype(np.float32) for shape in shapes
    ]
    if name in _INDICES:
        inputs[-1] = _INDICES[name]
    if road is xdsl_tvm.compile:
        pytest.importorskip("llvmlite")
    expected = reference(*inputs)
    found: Any = road(PROGRAMS / f"{name}.mlir")["main"](*inputs)
    results: list[Any] = [*found] if len(expected) > 1 else [found]
    assert len(results) == len(expected)
    for result, value in zip(results, expected, strict=True):
        np.testing.assert_allclose(np.asarray(result), value, rtol=1e-4, atol=1e-5)

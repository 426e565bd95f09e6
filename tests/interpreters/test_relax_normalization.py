"""Relax normalisations and attention against loops over single elements."""

import math
from typing import Any

import numpy as np
import pytest
from support.relax_programs import operator


def random(seed: int, *shape: int) -> Any:
    return np.random.default_rng(seed).uniform(0.5, 2, shape).astype(np.float32)


def tensor(*shape: int) -> str:
    return f"tensor<{''.join(f'{n}x' for n in shape)}f32>"


def close(found: Any, expected: Any) -> None:
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, 1e-6, 1e-6)


def test_log_softmax():
    data = np.array([[1000, 1000 + math.log(3)], [0, 0]], np.float32)
    run = operator("relax.nn.log_softmax %a axis 1", tensor(2, 2), result=tensor(2, 2))
    expected = [[math.log(0.25), math.log(0.75)], [math.log(0.5)] * 2]
    np.testing.assert_allclose(run(data), expected, 1e-4)


@pytest.mark.parametrize("flags", ["", " no_center", " no_scale"])
@pytest.mark.parametrize("inference", ["", " inference"])
def test_batch_norm(flags: str, inference: str):
    x = random(0, 2, 3, 4)
    gamma, beta, middle, spread = (random(seed, 3) for seed in range(1, 5))
    kinds = (tensor(2, 3, 4), *[tensor(3)] * 4)
    run = operator(
        "relax.nn.batch_norm %a, %b, %c, %d, %e axis 1 epsilon 1.0e-02 momentum 2.5e-01"
        + flags
        + inference,
        *kinds,
        result=f"!relax.tuple<{kinds[0]}, {kinds[1]}, {kinds[2]}>",
    )
    found, moved_mean, moved_var = run(x, gamma, beta, middle, spread)
    for c in range(3):
        values = x[:, c].astype(np.float64)
        center, width = float(middle[c]), float(spread[c])
        if not inference:
            center, width = values.mean(), values.var()
            close(moved_mean[c], 0.75 * middle[c] + 0.25 * center)
            close(moved_var[c], 0.75 * spread[c] + 0.25 * width)
        expected = (values - center) / math.sqrt(width + 0.01)
        expected = expected * (1 if "no_scale" in flags else gamma[c])
        close(found[:, c], expected + (0 if "no_center" in flags else beta[c]))
    if inference:
        np.testing.assert_array_equal(moved_mean, middle)
        np.testing.assert_array_equal(moved_var, spread)


def test_group_norm():
    x, gamma, beta = random(0, 2, 3, 4), random(1, 4), random(2, 4)
    run = operator(
        "relax.nn.group_norm %a, %b, %c groups 2 channel_axis 2 axes [1] epsilon 1.0e-02",
        *(tensor(2, 3, 4), tensor(4), tensor(4)),
        result=tensor(2, 3, 4),
    )
    expected = np.empty_like(x)
    for n in range(2):
        for first in (0, 2):
            part = x[n, :, first : first + 2].astype(np.float64)
            normal = (part - part.mean()) / math.sqrt(part.var() + 0.01)
            for c in range(2):
                scaled = normal[:, c] * gamma[first + c] + beta[first + c]
                expected[n, :, first + c] = scaled
    close(run(x, gamma, beta), expected)


def test_rms_norm():
    x, weight = random(0, 3, 4), random(1, 4)
    run = operator(
        "relax.nn.rms_norm %a, %b axes [-1] epsilon 1.0e-02",
        *(tensor(3, 4), tensor(4)),
        result=tensor(3, 4),
    )
    expected = np.zeros((3, 4))
    for i in range(3):
        size = math.sqrt(float((x[i].astype(np.float64) ** 2).sum()) / 4 + 0.01)
        expected[i] = [float(v) / size * w for v, w in zip(x[i], weight, strict=True)]
    close(run(x, weight), expected)


def attention(q: Any, k: Any, v: Any, scale: float, seen: Any, bias: Any = None) -> Any:
    """`seen(i)` are the keys that query `i` sees."""
    result = np.zeros((*q.shape[:3], v.shape[3]))
    for b, i, h in np.ndindex(q.shape[:3]):
        shared = h * k.shape[2] // q.shape[2]
        scores = {
            j: scale * float(np.dot(q[b, i, h].astype(float), k[b, j, shared]))
            + (0.0 if bias is None else float(bias[b, h, i, j]))
            for j in seen(i)
        }
        total = sum(math.exp(score) for score in scores.values())
        for j, score in scores.items():
            result[b, i, h] += math.exp(score) / total * v[b, j, shared].astype(float)
    return result


@pytest.mark.parametrize(
    ("options", "scale", "first", "last"),
    [
        ("", 0.5, None, None),
        (" scale 2.5e-01", 0.25, None, None),
        (' causal "TopLeft"', 0.5, None, 0),
        (' causal "BottomRight"', 0.5, None, 2),
        (' causal "BottomRight" window 2', 0.5, 1, 2),
    ],
)
def test_attention(options: str, scale: float, first: int | None, last: int | None):
    def seen(i: int) -> range:
        start = 0 if first is None else i + first
        return range(start, 5 if last is None else i + last + 1)

    q, k, v = random(0, 2, 3, 4, 4), random(1, 2, 5, 2, 4), random(2, 2, 5, 2, 3)
    kinds = (tensor(2, 3, 4, 4), tensor(2, 5, 2, 4), tensor(2, 5, 2, 3))
    run = operator(
        f"relax.nn.attention %a, %b, %c{options}", *kinds, result=tensor(2, 3, 4, 3)
    )
    close(run(q, k, v), attention(q, k, v, scale, seen))


def all_keys(i: int) -> range:
    return range(5)


def keys_of_its_sequence(i: int) -> range:
    return range(3) if i < 1 else range(3, 5)


def test_attention_bias():
    q, k, v = random(0, 1, 3, 2, 4), random(1, 1, 5, 2, 4), random(2, 1, 5, 2, 3)
    bias = random(3, 1, 2, 3, 5)
    kinds = (tensor(1, 3, 2, 4), tensor(1, 5, 2, 4), tensor(1, 5, 2, 3))
    run = operator(
        "relax.nn.attention_bias %a, %b, %c, %d",
        *(*kinds, tensor(1, 2, 3, 5)),
        result=tensor(1, 3, 2, 3),
    )
    expected = attention(q, k, v, 0.5, all_keys, bias)
    close(run(q, k, v, bias), expected)


def test_attention_of_several_sequences():
    q, k, v = random(0, 1, 4, 1, 4), random(1, 1, 5, 1, 4), random(2, 1, 5, 1, 3)
    kinds = (tensor(1, 4, 1, 4), tensor(1, 5, 1, 4), tensor(1, 5, 1, 3))
    lengths = ("tensor<3xi32>", "tensor<3xi32>", "tensor<i32>", "tensor<i32>")
    run = operator(
        "relax.nn.attention_var_len %a, %b, %c, %d, %e, %f, %g",
        *(*kinds, *lengths),
        result=tensor(1, 4, 1, 3),
    )
    starts = (np.array([0, 1, 4], np.int32), np.array([0, 3, 5], np.int32))
    found = run(q, k, v, *starts, np.array(3, np.int32), np.array(3, np.int32))
    expected = attention(q, k, v, 0.5, keys_of_its_sequence)
    close(found, expected)

"""The layers of `nn`, compared with numpy on small tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from models import layers
from support.nn_models import Array, data_of, fill, forwarded
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.relax.frontend import nn

RNG = np.random.default_rng(1)


def random(*shape: int) -> Array:
    return RNG.standard_normal(shape).astype(np.float32)


def linear(x: Array, p: dict[str, Array], name: str = "") -> Array:
    bias = p.get(f"{name}bias", np.float32(0))
    return x @ p[f"{name}weight"].T + bias


def close(got: Array, expected: Array) -> None:
    assert got.shape == expected.shape
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)


WITHOUT_PARAMETERS: list[tuple[nn.Module, Callable[[Any], Any]]] = [
    (nn.ReLU(), layers.relu),
    (nn.SiLU(), lambda x: x / (1 + np.exp(-x))),
    (nn.GELU(), layers.gelu),
    (nn.Identity(), lambda x: x),
    (nn.LayerNorm(4, elementwise_affine=False), lambda x: normal(x, -1)),
    (nn.GroupNorm(3, 3, affine=False), lambda x: normal(x, -1)),
]


@pytest.mark.parametrize(
    ("layer", "function"), WITHOUT_PARAMETERS, ids=lambda each: type(each).__name__
)
def test_layers_without_parameters(layer: nn.Module, function: Callable[[Any], Any]):
    x = random(2, 3, 4)
    close(forwarded(layer, x=x), function(x))


def normal(x: Array, axis: int | tuple[int, ...], epsilon: float = 1e-5) -> Array:
    deviation = np.sqrt(x.var(axis, keepdims=True) + epsilon)
    return (x - x.mean(axis, keepdims=True)) / deviation


@pytest.mark.parametrize("bias", [False, True])
def test_linear(bias: bool):
    x, layer = random(2, 3), nn.Linear(3, 5, bias)
    p = fill(layer)
    close(forwarded(layer, x=x), linear(x, p))


def test_dtypes_of_a_linear_layer():
    layer = nn.Linear(3, 5, dtype="float16", out_dtype="float32")
    assert (layer.weight.dtype, data_dtype(layer)) == ("float16", "float32")
    layer.to("float32")
    assert (layer.weight.dtype, data_dtype(layer)) == ("float32", "float32")
    layer.to("float16")
    p, x = fill(layer), random(2, 3).astype(np.float16)
    got = forwarded(layer, x=x)
    assert got.dtype == np.float32
    close(got, linear(x.astype(np.float32), p))


def data_dtype(layer: nn.Linear) -> str:
    assert layer.bias is not None
    return layer.bias.dtype


def test_several_linear_layers():
    x, layer = random(2, 3), nn.MultiLinear(3, [1, 4, 2])
    expected = linear(x, fill(layer))
    got = forwarded(layer, x=x)
    assert [each.shape for each in got] == [(2, 1), (2, 4), (2, 2)]
    close(np.concatenate(got, 1), expected)
    with pytest.raises(ValueError, match="out_features has no layer"):
        nn.MultiLinear(3, [])


def test_convolutions():
    x = random(2, 4, 5, 5)
    layer = nn.Conv2D(4, 6, 3, stride=2, padding=1, groups=2)
    p = fill(layer)
    expected = layers.conv2d(x.astype(float), p["weight"], 2, 1, 2)
    close(forwarded(layer, x=x), expected + p["bias"][:, None, None])
    signal = nn.Conv1D(4, 6, 3, dilation=2)
    p = fill(signal)
    taps = x[:, :, 0, ::2].astype(float)
    close(
        forwarded(signal, x=x[:, :, 0]),
        np.einsum("ncw,ocw->no", taps, p["weight"])[:, :, None] + p["bias"][:, None],
    )
    film = nn.Conv3D(4, 6, (1, 3, 3), bias=False)
    p = fill(film)
    expected = layers.conv2d(x.astype(float), p["weight"][:, :, 0])
    close(forwarded(film, x=x[:, :, None])[:, :, 0], expected)


def test_transposed_convolution():
    x, layer = random(1, 2, 3), nn.ConvTranspose1D(2, 4, 2, stride=2)
    p = fill(layer)
    blocks = np.einsum("ncw,cok->nowk", x, p["weight"])
    close(forwarded(layer, x=x), blocks.reshape(1, 4, 6) + p["bias"][:, None])


def test_normalisations():
    x = random(2, 4, 6)
    layer = nn.LayerNorm(6, eps=0.1)
    p = fill(layer)
    close(forwarded(layer, x=x), normal(x, -1, 0.1) * p["weight"] + p["bias"])
    rms = nn.RMSNorm(6, -1, 0.1)
    p = fill(rms)
    scaled = x / np.sqrt((x**2).mean(-1, keepdims=True) + 0.1)
    close(forwarded(rms, x=x), scaled * p["weight"] + p["bias"])
    assert set(fill(nn.RMSNorm(6, -1, bias=False))) == {"weight"}
    groups = nn.GroupNorm(2, 4)
    p = fill(groups)
    whole = normal(x.reshape(2, 2, 12), -1).reshape(x.shape)
    close(forwarded(groups, x=x), whole * p["weight"][:, None] + p["bias"][:, None])


def test_embedding():
    layer = nn.Embedding(5, 3)
    table = fill(layer)["weight"]
    for indices in (np.array([4, 0]), np.array([[1, 2], [3, 4]])):
        close(forwarded(layer, x=indices), table[indices])


def test_embedding_of_time_steps():
    steps = np.array([0, 3], np.int32)
    waves = forwarded(nn.Timesteps(4), x=steps)
    angles = steps[:, None] * np.array([1, 1e-4])
    close(waves, np.concatenate([np.sin(angles), np.cos(angles)], 1))
    layer = nn.TimestepEmbedding(4, 6, out_dim=3, post_act_fn="silu", cond_proj_dim=2)
    p, condition = fill(layer), random(2, 2)
    x = waves + linear(condition, p, "cond_proj.")
    for name in ("linear_1.", "linear_2."):
        x = linear(x, p, name)
        x = x / (1 + np.exp(-x))
    close(forwarded(layer, sample=waves, condition=condition), x)
    with pytest.raises(ValueError, match="an activation is 'silu', not 'relu'"):
        nn.TimestepEmbedding(4, 6, "relu")
    with pytest.raises(ValueError, match="a condition needs cond_proj_dim"):
        forwarded(nn.TimestepEmbedding(4, 6), sample=waves, condition=condition)


@pytest.mark.parametrize("scale_qk", [False, True])
def test_attention(scale_qk: bool):
    layer = nn.Attention(6, 4, heads=2, dim_head=3, norm_num_groups=2, scale_qk=scale_qk)
    p = fill(layer)
    x, other = random(2, 5, 6), random(2, 3, 4)
    groups = x.reshape(2, 5, 2, 3)
    normed = normal(groups, (1, 3)).reshape(x.shape)
    normed = normed * p["group_norm.weight"] + p["group_norm.bias"]
    query = layers.heads(linear(normed, p, "to_q."), 2) * (1 if scale_qk else 3**0.5)
    key, value = (layers.heads(linear(other, p, f"to_{each}."), 2) for each in "kv")
    attended = layers.without_heads(layers.attention(query, key, value))
    got = forwarded(layer, hidden_states=x, encoder_hidden_states=other)
    close(got, linear(attended, p, "to_out.0."))


def test_self_attention_with_a_mask():
    layer = nn.Attention(4, heads=1, dim_head=4, bias=True)
    p, x, mask = fill(layer), random(1, 3, 4), random(1, 1, 3, 3)
    query, key, value = (
        layers.heads(linear(x, p, f"to_{each}."), 1).astype(np.float64) for each in "qkv"
    )
    scores = mask.astype(np.float64)
    attended = layers.without_heads(layers.attention(query, key, value, scores))
    got = forwarded(layer, hidden_states=x, attention_mask=mask)
    close(got, linear(attended, p, "to_out.0."))


def test_modules_in_a_list():
    layer = nn.ModuleList([nn.Linear(3, 4), nn.ReLU()])
    layer.append(nn.ModuleList([nn.Linear(4, 2)]))
    p, x = fill(layer), random(2, 3)
    assert list(p) == ["0.weight", "0.bias", "2.0.weight", "2.0.bias"]
    hidden = layers.relu(linear(x, p, "0."))
    close(forwarded(layer, x=x), linear(hidden, p, "2.0."))
    layer[1] = nn.Identity()
    assert (len(layer), type(layer[1])) == (3, nn.Identity)
    close(forwarded(layer, x=x), linear(linear(x, p, "0."), p, "2.0."))


def test_default_dtype():
    assert nn.get_default_dtype() == "float32"
    nn.set_default_dtype("float16")
    try:
        assert {each.dtype for each in nn.Linear(2, 2).parameters()} == {"float16"}
    finally:
        nn.set_default_dtype("float32")
    with pytest.raises(VerifyException, match="float33"):
        nn.set_default_dtype("float33")
    assert data_of(filled()).dtype == np.float32


def filled() -> nn.Parameter:
    layer = nn.Linear(1, 1)
    fill(layer)
    return layer.weight

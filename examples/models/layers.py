"""Layers evaluated by numpy in double precision, to compare compiled networks with.

They are written from the definitions, and share no code with the compiler.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from models.network import Array, Parameters, Wide


def conv2d(
    data: Wide, weight: Array, stride: int = 1, padding: int = 0, groups: int = 1
) -> Wide:
    """Windows of `[n, c, h, w]` times `[o, c / groups, kh, kw]`."""
    n, _, height, width = data.shape
    outputs, inputs, kh, kw = weight.shape
    around = ((0, 0), (0, 0), (padding, padding), (padding, padding))
    windows = sliding_window_view(np.pad(data, around), (kh, kw), axis=(2, 3))
    windows = windows[:, :, ::stride, ::stride]
    height, width = windows.shape[2:4]
    grouped = windows.reshape(n, groups, inputs, height, width, kh * kw)
    kernels = weight.astype(np.float64).reshape(groups, -1, inputs, kh * kw)
    result = np.einsum("ngihwk,goik->ngohw", grouped, kernels, optimize=True)
    return result.reshape(n, outputs, height, width)


def batch_norm(data: Wide, p: Parameters, name: str, epsilon: float = 1e-5) -> Wide:
    """Normalisation of each channel by the statistics of training."""
    gamma, beta, mean, var = (
        p[f"{name}.{part}"].astype(np.float64)[:, None, None]
        for part in ("gamma", "beta", "mean", "var")
    )
    return (data - mean) / np.sqrt(var + epsilon) * gamma + beta


def max_pool2d(data: Wide, size: int, stride: int, padding: int) -> Wide:
    """The largest element of each window."""
    around = ((0, 0), (0, 0), (padding, padding), (padding, padding))
    padded = np.pad(data, around, constant_values=-np.inf)
    windows = sliding_window_view(padded, (size, size), axis=(2, 3))
    return windows[:, :, ::stride, ::stride].max(axis=(4, 5))


def layer_norm(data: Wide, p: Parameters, name: str, epsilon: float = 1e-5) -> Wide:
    """Normalisation of each row by its own statistics."""
    centred = data - data.mean(axis=-1, keepdims=True)
    normal = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + epsilon)
    return normal * p[f"{name}.weight"] + p[f"{name}.bias"]


def dense(data: Wide, p: Parameters, name: str) -> Wide:
    """A matrix product and a bias."""
    return data @ p[f"{name}.weight"].astype(np.float64) + p[f"{name}.bias"]


def relu(data: Wide) -> Wide:
    """The positive part."""
    return np.maximum(data, 0)


def gelu(data: Wide) -> Wide:
    """The Gaussian error linear unit."""
    erf = np.vectorize(math.erf, otypes=[np.float64])
    return data * 0.5 * (1 + erf(data / math.sqrt(2)))


def gelu_tanh(data: Wide) -> Wide:
    """The approximation of `gelu` by the hyperbolic tangent."""
    inner = math.sqrt(2 / math.pi) * (data + 0.044715 * data**3)
    return 0.5 * data * (1 + np.tanh(inner))


def softmax(data: Wide) -> Wide:
    """Probabilities along the last axis."""
    exponentials = np.exp(data - data.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def heads(data: Wide, count: int) -> Wide:
    """`[n, s, count * d]` as `[n, count, s, d]`."""
    n, length, width = data.shape
    return data.reshape(n, length, count, width // count).transpose(0, 2, 1, 3)


def without_heads(data: Wide) -> Wide:
    """The inverse of `heads`."""
    n, count, length, width = data.shape
    return data.transpose(0, 2, 1, 3).reshape(n, length, count * width)


def attention(
    query: Wide, key: Wide, value: Wide, bias: NDArray[np.float64] | float = 0.0
) -> Wide:
    """Scaled dot-product attention of `[n, heads, s, d]`."""
    scores = query @ key.transpose(0, 1, 3, 2) / math.sqrt(query.shape[-1])
    return softmax(scores + bias) @ value

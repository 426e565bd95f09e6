"""Trains the convolutional classifier of handwritten digits, and writes its weights.

    cd examples && python -m models.train_digits_cnn [--output digits_cnn.npz]

Adam on cross entropy with numpy only, on the training images of `examples/digits`, moved
and turned a little at random. The result is the same up to the last bits of the matrix
products of the machine; training takes about fifteen seconds.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from digits.adam import Adam, batches
from digits.data import load_digits, split
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from models.digits_cnn import WEIGHTS

CHANNELS = (16, 32)
EPOCHS = 60
BATCH = 64
RATE = 3e-3
DECAY = 1e-3

Array = NDArray[np.float32]


def windows(images: Array) -> Array:
    """The 3x3 windows of padded `[n, c, 8, 8]` images, `[n, 8, 8, c * 9]`."""
    padded = np.pad(images, ((0, 0), (0, 0), (1, 1), (1, 1)))
    found = sliding_window_view(padded, (3, 3), axis=(2, 3)).transpose(0, 2, 3, 1, 4, 5)
    return np.ascontiguousarray(found).reshape(*found.shape[:3], -1)


def from_windows(gradient: Array, channels: int) -> Array:
    """The sum of what all windows say of each pixel: the gradient of `windows`."""
    n, height, width, _ = gradient.shape
    split_up = gradient.reshape(n, height, width, channels, 3, 3)
    padded = np.zeros((n, channels, height + 2, width + 2), np.float32)
    for i in range(3):
        for j in range(3):
            part = split_up[..., i, j].transpose(0, 3, 1, 2)
            padded[:, :, i : i + height, j : j + width] += part
    return padded[:, :, 1:-1, 1:-1]


@dataclass
class Trace:
    """What the forward pass keeps for the backward pass."""

    windows1: Array
    hidden1: Array
    windows2: Array
    hidden2: Array
    pooled: Array
    dropped: Array
    probabilities: Array


def forward(weights: list[Array], images: Array, keep: Array | None = None) -> Trace:
    """The probabilities of `[n, 1, 8, 8]` images, and all on the way to them."""
    w1, b1, w2, b2, w3, b3 = weights
    windows1 = windows(images)
    hidden1 = np.maximum(windows1 @ w1.reshape(len(b1), -1).T + b1, 0)
    windows2 = windows(hidden1.transpose(0, 3, 1, 2))
    hidden2 = np.maximum(windows2 @ w2.reshape(len(b2), -1).T + b2, 0)
    blocks = hidden2.reshape(len(images), 4, 2, 4, 2, len(b2))
    pooled = blocks.max(axis=(2, 4)).transpose(0, 3, 1, 2).reshape(len(images), -1)
    dropped = pooled if keep is None else pooled * keep
    logits = dropped @ w3 + b3
    exponentials = np.exp(logits - logits.max(1, keepdims=True))
    probabilities = exponentials / exponentials.sum(1, keepdims=True)
    return Trace(windows1, hidden1, windows2, hidden2, pooled, dropped, probabilities)


def gradients(
    weights: list[Array], images: Array, labels: NDArray[np.int64], keep: Array
) -> list[Array]:
    """The gradient of the mean cross entropy by each weight."""
    w1, _, w2, b2, w3, _ = weights
    trace = forward(weights, images, keep)
    n = len(images)
    error = trace.probabilities.copy()
    error[np.arange(n), labels] -= 1
    error /= n
    pooled = ((error @ w3.T) * keep).reshape(n, len(b2), 4, 4).transpose(0, 2, 3, 1)
    blocks = trace.hidden2.reshape(n, 4, 2, 4, 2, len(b2))
    largest = blocks == blocks.max(axis=(2, 4), keepdims=True)
    spread = largest * pooled[:, :, None, :, None, :]
    back2 = (spread.reshape(n, 8, 8, -1) * (trace.hidden2 > 0)).astype(np.float32)
    flat2 = back2.reshape(-1, len(b2))
    windows2 = trace.windows2.reshape(len(flat2), -1)
    into1 = from_windows(back2 @ w2.reshape(len(b2), -1), len(w1)).transpose(0, 2, 3, 1)
    flat1 = (into1 * (trace.hidden1 > 0)).reshape(-1, len(w1))
    windows1 = trace.windows1.reshape(len(flat1), -1)
    return [
        (flat1.T @ windows1).reshape(w1.shape),
        flat1.sum(0),
        (flat2.T @ windows2).reshape(w2.shape),
        flat2.sum(0),
        trace.dropped.T @ error,
        error.sum(0),
    ]


def moved(images: Array, rng: np.random.Generator) -> Array:
    """The images, each turned and moved by up to 12 degrees and 0.7 pixels."""
    n = len(images)
    angle = rng.uniform(-0.21, 0.21, n)[:, None, None]
    scale = rng.uniform(0.92, 1.08, n)[:, None, None]
    rows, columns = np.mgrid[0:8, 0:8] - 3.5
    shift = rng.uniform(-0.7, 0.7, (2, n, 1, 1))
    y = scale * (np.cos(angle) * rows - np.sin(angle) * columns) + shift[0] + 4.5
    x = scale * (np.sin(angle) * rows + np.cos(angle) * columns) + shift[1] + 4.5
    padded = np.pad(images[:, 0], ((0, 0), (1, 2), (1, 2)))
    y, x = np.clip(y, 0, 9), np.clip(x, 0, 9)
    top, left = y.astype(int), x.astype(int)
    down, right = y - top, x - left
    each = np.arange(n)[:, None, None]
    result = (
        padded[each, top, left] * (1 - down) * (1 - right)
        + padded[each, top, left + 1] * (1 - down) * right
        + padded[each, top + 1, left] * down * (1 - right)
        + padded[each, top + 1, left + 1] * down * right
    )
    return result[:, None].astype(np.float32)


def train(images: Array, labels: NDArray[np.int64]) -> list[Array]:
    """The trained weights: two convolutions and a matrix, each with its bias."""
    rng = np.random.default_rng(0)
    first, second = CHANNELS
    shapes = [(first, 1, 3, 3), (second, first, 3, 3), (second * 16, 10)]
    weights: list[Array] = []
    for shape, fan_in in zip(shapes, (9, first * 9, second * 16), strict=True):
        outputs = shape[-1] if len(shape) == 2 else shape[0]
        scale = np.sqrt(2 / fan_in)
        weights.append((rng.standard_normal(shape) * scale).astype(np.float32))
        weights.append(np.zeros(outputs, np.float32))
    adam = Adam(weights, DECAY)
    for batch, rate in batches(len(images), BATCH, EPOCHS, RATE, rng):
        kept = rng.random((len(batch), second * 16)) < 0.75
        keep = kept.astype(np.float32) / np.float32(0.75)
        moves = moved(images[batch], rng)
        adam.step(gradients(weights, moves, labels[batch], keep), rate)
    return weights


def main() -> None:
    parser = argparse.ArgumentParser(description="Train the convolutional classifier")
    parser.add_argument("--output", type=Path, default=WEIGHTS)
    output: Path = parser.parse_args().output
    flat, labels = load_digits()
    images = flat.reshape(-1, 1, 8, 8)
    (x, x_test), (y, y_test) = split(images), split(labels)
    # Half precision is exact enough, and half as large.
    weights = [w.astype(np.float16) for w in train(x, y)]
    used = [w.astype(np.float32) for w in weights]
    for name, a, b in (("training", x, y), ("test", x_test, y_test)):
        accuracy = (forward(used, a).probabilities.argmax(1) == b).mean()
        print(f"accuracy on the {len(b)} {name} images: {accuracy:.2%}")
    names = ("conv1.weight", "conv1.bias", "conv2.weight", "conv2.bias")
    named = dict(zip((*names, "dense.weight", "dense.bias"), weights, strict=True))
    np.savez_compressed(output, **named)


if __name__ == "__main__":
    main()

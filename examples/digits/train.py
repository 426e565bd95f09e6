"""Trains the classifier of this folder and writes it as Relax text.

    python examples/digits/train.py [--output model.mlir]

A perceptron with one hidden layer, 64-96-10, trained by Adam on cross entropy with weight
decay. Everything is seeded, so the result is the same up to the last bits of the matrix
products of the machine.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from adam import Adam, batches
from data import FOLDER, load_digits, split
from numpy.typing import NDArray

HIDDEN = 96
EPOCHS = 60
BATCH = 64
RATE = 3e-3
DECAY = 1e-2

Array = NDArray[np.float32]

MODEL = """\
// Written by train.py: a classifier of 8x8 handwritten digits, for any number of images.
!images = tensor<?x64xf32, #relax.dims<[n, 64]>>
!hidden = tensor<?x{hidden}xf32, #relax.dims<[n, {hidden}]>>
!digits = tensor<?x10xf32, #relax.dims<[n, 10]>>
relax.func @main<n>(%images: !images) -> !digits attributes {{global_symbol = "main"}} {{
  %w1 = relax.constant dense<"{w1}"> : tensor<64x{hidden}xf32>
  %b1 = relax.constant dense<"{b1}"> : tensor<{hidden}xf32>
  %w2 = relax.constant dense<"{w2}"> : tensor<{hidden}x10xf32>
  %b2 = relax.constant dense<"{b2}"> : tensor<10xf32>
  %probabilities = relax.dataflow -> (!digits) {{
    %0 = relax.matmul %images, %w1 : (!images, tensor<64x{hidden}xf32>) -> !hidden
    %1 = relax.add %0, %b1 : (!hidden, tensor<{hidden}xf32>) -> !hidden
    %2 = relax.nn.relu %1 : (!hidden) -> !hidden
    %3 = relax.matmul %2, %w2 : (!hidden, tensor<{hidden}x10xf32>) -> !digits
    %4 = relax.add %3, %b2 : (!digits, tensor<10xf32>) -> !digits
    %5 = relax.nn.softmax %4 axis -1 : (!digits) -> !digits
    relax.output %5 : !digits
  }}
  relax.return %probabilities : !digits
}}
"""


def softmax(logits: Array) -> Array:
    """Row-wise softmax."""
    exponentials = np.exp(logits - logits.max(axis=1, keepdims=True))
    return exponentials / exponentials.sum(axis=1, keepdims=True)


def predict(weights: list[Array], images: Array) -> Array:
    """The probabilities of the ten digits, `[n, 10]`."""
    w1, b1, w2, b2 = weights
    return softmax(np.maximum(images @ w1 + b1, 0) @ w2 + b2)


def gradients(
    weights: list[Array], images: Array, labels: NDArray[np.int64]
) -> list[Array]:
    """The gradient of the mean cross entropy by each weight."""
    w1, b1, w2, _ = weights
    hidden = np.maximum(images @ w1 + b1, 0)
    error = predict(weights, images)
    error[np.arange(len(labels)), labels] -= 1
    error /= len(labels)
    back = np.where(hidden > 0, error @ w2.T, np.float32(0))
    return [images.T @ back, back.sum(0), hidden.T @ error, error.sum(0)]


def train(images: Array, labels: NDArray[np.int64]) -> list[Array]:
    """The trained weights: two matrices and two biases, as `w1, b1, w2, b2`."""
    rng = np.random.default_rng(0)
    shapes = [(64, HIDDEN), (HIDDEN,), (HIDDEN, 10), (10,)]
    weights: list[Array] = [
        (rng.standard_normal(s) * np.sqrt(2 / s[0]) * (len(s) == 2)).astype(np.float32)
        for s in shapes
    ]
    adam = Adam(weights, DECAY)
    for batch, rate in batches(len(images), BATCH, EPOCHS, RATE, rng):
        adam.step(gradients(weights, images[batch], labels[batch]), rate)
    return weights


def as_hex(array: Array) -> str:
    """The bytes of the elements, as MLIR's dense attributes take them."""
    return "0x" + array.astype("<f4").tobytes().hex().upper()


def main() -> None:
    parser = argparse.ArgumentParser(description="Train the classifier")
    parser.add_argument("--output", type=Path, default=FOLDER / "model.mlir")
    arguments = parser.parse_args()
    images, labels = load_digits()
    x, x_test = split(images)
    y, y_test = split(labels)
    weights = train(x, y)
    for name, a, b in (("training", x, y), ("test", x_test, y_test)):
        accuracy = (predict(weights, a).argmax(1) == b).mean()
        print(f"accuracy on the {len(b)} {name} images: {accuracy:.2%}")
    w1, b1, w2, b2 = map(as_hex, weights)
    text = MODEL.format(w1=w1, b1=b1, w2=w2, b2=b2, hidden=HIDDEN)
    arguments.output.write_text(text)


if __name__ == "__main__":
    main()

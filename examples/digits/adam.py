"""Adam with decoupled weight decay, which trains the classifiers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]


class Adam:
    """Moves weights against their gradients, in place."""

    def __init__(self, weights: list[Array], decay: float) -> None:
        self.weights = weights
        self.decay = decay
        self.steps = 0
        self._means = [np.zeros_like(w) for w in weights]
        self._squares = [np.zeros_like(w) for w in weights]

    def step(self, gradients: list[Array], rate: float) -> None:
        """One step at a learning rate."""
        self.steps += 1
        for i, gradient in enumerate(gradients):
            self._means[i] += np.float32(0.1) * (gradient - self._means[i])
            self._squares[i] += np.float32(0.001) * (gradient**2 - self._squares[i])
            mean = self._means[i] / (1 - 0.9**self.steps)
            square = self._squares[i] / (1 - 0.999**self.steps)
            update = mean / (np.sqrt(square) + 1e-8) + self.decay * self.weights[i]
            self.weights[i] -= (rate * update).astype(np.float32)


def batches(
    count: int, size: int, epochs: int, rate: float, rng: np.random.Generator
) -> Iterator[tuple[NDArray[np.int64], float]]:
    """Indices of the batches of all epochs, and the rate, which falls as a cosine."""
    for epoch in range(epochs):
        now = rate * (1 + np.cos(np.pi * epoch / epochs)) / 2
        order = rng.permutation(count)
        for start in range(0, count, size):
            yield order[start : start + size], now

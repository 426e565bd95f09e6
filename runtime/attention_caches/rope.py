"""Rotary position embeddings as tables, which kernels read."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def rotations(
    positions: int,
    features: int,
    scale: float,
    theta: float,
    scaling: tuple[float, float, float, float] | None = None,
) -> np.ndarray[Any, np.dtype[Any]]:
    """Cosines and sines of the angles of pairs, `[positions, 2, features / 2]`.

    Pair `i` is features `i` and `i + features / 2`. It is turned by
    `scale * position / theta ** (2 * i / features)`. `scaling` is that of Llama 3, which
    lengthens long waves: factor, low and high frequency factor, and the positions that
    the model was trained with (https://arxiv.org/abs/2407.21783, section 3.4).
    """
    pairs = np.arange(features // 2)
    frequencies = float(theta) ** (-2.0 * pairs / features)
    if scaling is not None:
        factor, low, high, trained = scaling
        waves = trained * frequencies / (2 * math.pi)
        smooth = np.clip((waves - low) / (high - low), 0, 1)
        frequencies = frequencies * ((1 - smooth) / factor + smooth)
    angles = np.outer(np.arange(positions) * scale, frequencies)
    return np.stack([np.cos(angles), np.sin(angles)], 1).astype(np.float32)

"""The handwritten digits, and their split into training and test images."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T", bound=np.generic)

FOLDER = Path(__file__).parent
TEST_EVERY = 5
"""Every fifth image is for testing; training never sees it."""


def load_digits() -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """All images, `[1797, 64]` scaled to `[0, 1]`, and their digits."""
    with gzip.open(FOLDER / "digits.csv.gz", "rt") as file:
        table = np.loadtxt(file, delimiter=",", dtype=np.int64)
    return (table[:, :64] / 16).astype(np.float32), table[:, 64]


def split(array: NDArray[T]) -> tuple[NDArray[T], NDArray[T]]:
    """The training and the test part of an array with one row per image."""
    is_test = np.arange(len(array)) % TEST_EVERY == 0
    return array[~is_test], array[is_test]

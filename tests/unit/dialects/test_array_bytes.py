"""Bytes of large arrays, and work on large data in threads."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from xdsl_tvm.dialects.array_bytes import array_bytes
from xdsl_tvm.dialects.in_threads import map_in_threads

_LARGE = np.arange(1 << 18, dtype=np.int32).reshape(512, 512)


@pytest.mark.parametrize(
    "array",
    [
        _LARGE,
        _LARGE.T,
        np.ascontiguousarray(_LARGE).view(">i4"),
        _LARGE.reshape(512, 32, 16).swapaxes(0, 1),
        np.broadcast_to(np.float32(3), (1 << 18,)),
        _LARGE[:2, ::3],
        np.zeros((0, 4), np.float32),
    ],
    ids=["plain", "transposed", "big endian", "panels", "repeated", "small", "empty"],
)
def test_bytes_are_those_of_numpy(array: np.ndarray) -> None:
    assert array_bytes(array) == array.tobytes()


def test_results_are_in_order_and_threads_have_ended() -> None:
    before = threading.active_count()
    assert map_in_threads(lambda item: item + 1, range(9), 1 << 30) == [*range(1, 10)]
    assert threading.active_count() == before


def test_small_data_are_left_to_this_thread() -> None:
    names = map_in_threads(lambda _: threading.current_thread(), range(3), 1 << 10)
    assert set(names) == {threading.current_thread()}


def test_what_the_function_raises_is_raised() -> None:
    def fail(item: int) -> int:
        raise ValueError(f"no {item}")

    with pytest.raises(ValueError, match="no 0"):
        map_in_threads(fail, range(3), 1 << 30)

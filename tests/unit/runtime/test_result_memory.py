"""Memory of large results is used again, once no array has it, and not before."""

from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from xdsl_tvm.runtime.result_memory import ResultMemory

F32 = np.dtype(np.float32)
LARGE = (1 << 9, 1 << 9)
"""1 MiB of f32."""


def test_arrays_are_as_asked_for():
    made = ResultMemory().empty((3, 1 << 18), np.dtype(np.int16))
    assert made.shape == (3, 1 << 18)
    assert made.dtype == np.int16
    assert made.flags.c_contiguous
    assert made.flags.writeable
    assert made.ctypes.data % 64 == 0
    small = ResultMemory().empty((3, 4), F32)
    assert small.shape == (3, 4)
    assert small.flags.owndata


def test_memory_is_used_again():
    results = ResultMemory()
    first = results.empty(LARGE, F32)
    address = first.ctypes.data
    del first
    # Another shape and dtype of nearly as many bytes.
    again = results.empty(((1 << 18) - 100,), np.dtype(np.int32))
    assert again.ctypes.data == address


def test_memory_that_a_view_has_is_not():
    results = ResultMemory()
    first = results.empty(LARGE, F32)
    view = first[3:, ::2].T
    address = first.ctypes.data
    del first
    second = results.empty(LARGE, F32)
    assert second.ctypes.data != address
    del view
    assert results.empty(LARGE, F32).ctypes.data == address


def test_results_that_grow_have_the_same_memory():
    results = ResultMemory()
    addresses = set[int]()
    for rows in range(512, 560):
        grown = results.empty((rows, 768), F32)
        addresses.add(grown.ctypes.data)
        del grown
    assert len(addresses) <= 3


def test_no_more_is_kept_than_allowed():
    results = ResultMemory(4 << 20)
    arrays = [results.empty((rows, 512), F32) for rows in range(512, 1024, 32)]
    arrays.append(results.empty((4 << 10, 512), F32))
    arrays.clear()
    gc.collect()
    before = results.kept
    assert 2 << 20 < before <= 4 << 20
    # A list releases its last element first: what was released last is there.
    last = results.empty((512, 512), F32)
    assert before - results.kept >= last.nbytes
    results.most_kept = 0
    assert results.kept == 0
    del last
    assert results.kept == 0
    assert results.empty(LARGE, F32).ctypes.data % 64 == 0
    assert results.kept == 0


@pytest.mark.parametrize("shape", [(-1, -(1 << 20)), (1 << 62,), (-(1 << 20),)])
def test_impossible_shapes_are_errors(shape: tuple[int, ...]):
    with pytest.raises((MemoryError, ValueError)):
        ResultMemory().empty(shape, F32)


def test_threads_never_have_the_same_memory():
    results = ResultMemory()

    def work(number: int) -> bool:
        is_own = True
        for _ in range(50):
            array = results.empty(LARGE, F32)
            array[::64, ::64] = number
            other = results.empty(LARGE, F32)
            other[::64, ::64] = -1
            is_own &= bool((array[::64, ::64] == number).all())
        return is_own

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(4)))

"""Flattened buffers of more than 2**32 elements were indexed in 32 bits.

The product of the extents and the indices overflowed, so that wrong memory was written.
"""

from __future__ import annotations

import mmap

import numpy as np
import pytest

import xdsl_tvm
from xdsl_tvm.tvmscript import parse

pytest.importorskip("llvmlite")


def test_far_elements_are_written():
    side = 65536
    # A few pages of the memory are ever touched.
    memory = mmap.mmap(-1, side * (side + 1))
    array = np.frombuffer(memory, np.int8).reshape(side, side + 1)
    step = side // 7
    module = parse(f"""
@T.prim_func
def f(A: T.Buffer(({side}, {side + 1}), "int8"), n: T.int32):
    for i in range(n):
        A[i * {step} % {side}, {side} - i * {step} % {side}] += T.int8(1)
""")
    for count, optimize in enumerate((True, False), start=1):
        xdsl_tvm.compile(module, optimize=optimize)["f"](array, 8)
        rows = [i * step % side for i in range(8)]
        assert array[rows, [side - row for row in rows]].tolist() == [count] * 8

"""Buffers of more elements than 32 bits can number, compiled."""

from __future__ import annotations

import numpy as np
import pytest

import xdsl_tvm
from xdsl_tvm.tvmscript import parse


@pytest.mark.parametrize("optimize", [True, False])
def test_indices_are_wide_enough(optimize: bool):
    """The array is mapped lazily: only the pages that are written exist."""
    rows, columns = 46341, 46342
    module = parse(
        f"""
        @T.prim_func
        def f(A: T.Buffer(({rows}, {columns}), "int8"), n: T.int32):
            for i in range(n):
                A[{rows - 1} - i * 7, {columns - 1} - i * 7] = T.int8(1)
        """
    )
    run = xdsl_tvm.compile(module, optimize=optimize)["f"]
    array = np.zeros((rows, columns), np.int8)
    run(array, 100)
    places = np.arange(100) * 7
    assert array[rows - 1 - places, columns - 1 - places].all()
    assert array[:, -700:][-700:].sum() == 100

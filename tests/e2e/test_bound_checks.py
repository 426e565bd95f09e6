"""`compile(…, bound_checks=True)`: what TIR leaves undefined is an error of the call."""

from __future__ import annotations

import numpy as np
import pytest

import xdsl_tvm
from xdsl_tvm.tvmscript import parse

MODULE = """
@I.ir_module
class Module:
    @T.prim_func
    def gather(a: T.handle, i: T.Buffer((3,), "int32"), o: T.Buffer((3,), "float32")):
        n = T.int32()
        A = T.match_buffer(a, (n,), "float32")
        for k in range(3):
            with T.block("o"):
                vk = T.axis.spatial(3, k)
                o[vk] = A[i[vk]]

    @T.prim_func
    def guarded(A: T.Buffer((4,), "int32"), B: T.Buffer((8,), "int32")):
        for k in range(8):
            B[k] = T.if_then_else(k < 4, A[k], 0)

    @T.prim_func
    def divide(A: T.Buffer((2,), "int32"), B: T.Buffer((2,), "int32")):
        for k in range(2):
            B[k] = A[k] // B[k]
"""


@pytest.fixture(scope="module")
def compiled():
    return xdsl_tvm.compile(parse(MODULE), bound_checks=True)


def test_right_calls(compiled: xdsl_tvm.Executable) -> None:
    out = np.zeros(3, "f4")
    compiled["gather"](np.arange(5, dtype="f4"), np.array([4, 0, 2], "i4"), out)
    assert out.tolist() == [4, 0, 2]
    ints = np.full(8, 9, "i4")
    compiled["guarded"](np.arange(4, dtype="i4"), ints)
    assert ints.tolist() == [0, 1, 2, 3, 0, 0, 0, 0]


@pytest.mark.parametrize("index", [5, -1, 2**31 - 1])
def test_index_out_of_bounds(compiled: xdsl_tvm.Executable, index: int) -> None:
    arguments = np.arange(5, dtype="f4"), np.array([0, index, 0], "i4"), np.zeros(3, "f4")
    message = f"@gather: index {index} of 'A' is out of bounds in dimension 0"
    with pytest.raises(RuntimeError, match=message):
        compiled["gather"](*arguments)


@pytest.mark.parametrize(("a", "b"), [(7, 0), (-(2**31), -1)])
def test_division_without_a_result(compiled: xdsl_tvm.Executable, a: int, b: int) -> None:
    with pytest.raises(RuntimeError, match=f"@divide: {a} divided by {b} has no result"):
        compiled["divide"](np.full(2, a, "i4"), np.full(2, b, "i4"))


def test_kernels_are_refused() -> None:
    with pytest.raises(ValueError, match="bound_checks is for the target llvm"):
        xdsl_tvm.compile(parse(MODULE), "cuda", bound_checks=True)

"""A loop over overlapping arguments was vectorized as if they were different memory.

The kind of the loop says that its iterations may go together, and so does a block with a
spatial axis: in each buffer for itself.
"""

import numpy as np
import pytest

import xdsl_tvm

MODULE = """
tir.func @shift(%a: !tir.handle, %b: !tir.handle) attributes {global_symbol = "shift"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<32xi32>
  %B = tir.match_buffer "B" %b : !tir.buffer<32xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c32 = tir.const 32 : i32
  tir.for %i = %c0 to %c32 vectorized {
    %x = tir.load %A[%i] : i32
    %y = tir.add %x, %c1 : i32
    tir.store %y, %B[%i] : i32
  }
}
"""


def test_arguments_that_overlap() -> None:
    pytest.importorskip("llvmlite", reason="native code needs llvmlite")
    whole = np.zeros(33, np.int32)
    xdsl_tvm.compile(MODULE)["shift"](whole[:-1], whole[1:])
    assert whole.tolist() == list(range(33))

"""RewriteDataflowReshape made views of tensors that functions called with them write.

The call has no effects, since what `relax.call_tir_inplace` writes must not be used any
more. The tensor that was copied for the call is used, and was overwritten by it.
"""

from __future__ import annotations

import numpy as np
import pytest

import xdsl_tvm
from xdsl_tvm.interpreters.relax import interpret
from xdsl_tvm.runtime.executable import load_module

PROGRAM = """
!s = tensor<4xf32>
!m = tensor<2x2xf32>
tir.func @increment(%a: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<2x2xf32>
  %c0 = tir.const 0 : i64
  %c2 = tir.const 2 : i64
  %one = tir.const 1.0 : f32
  tir.for %i = %c0 to %c2 {
    tir.for %j = %c0 to %c2 {
      %x = tir.load %A[%i, %j] : f32
      %y = tir.add %x, %one : f32
      tir.store %y, %A[%i, %j] : f32
    }
  }
}
relax.func @writes(%x: !m) -> !m {
  %0 = relax.call_tir_inplace @increment(%x) inplace [0] : (!m) -> !m
  relax.return %0 : !m
}
relax.func @main(%x: !s) -> !s attributes {global_symbol = "main"} {
  %r = relax.dataflow -> (!s) {
    %a = relax.add %x, %x : (!s, !s) -> !s
    %s = relax.shape [2, 2]
    %copy = relax.reshape %a, %s : (!s, !relax.shape<[2, 2]>) -> !m
    %0 = relax.call @writes(%copy) : (!m) -> !m
    %t = relax.shape [4]
    %1 = relax.reshape %0, %t : (!m, !relax.shape<[4]>) -> !s
    %2 = relax.multiply %a, %1 : (!s, !s) -> !s
    relax.output %2 : !s
  }
  relax.return %r : !s
}
"""


def test_what_was_copied_for_the_call_stays():
    pytest.importorskip("llvmlite")
    x = np.arange(4, dtype=np.float32)
    expected = 2 * x * (2 * x + 1)
    np.testing.assert_array_equal(interpret(load_module(PROGRAM))["main"](x), expected)
    np.testing.assert_array_equal(xdsl_tvm.compile(PROGRAM)["main"](x), expected)

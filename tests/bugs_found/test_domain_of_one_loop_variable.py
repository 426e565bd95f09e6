"""A domain of one number was put in the place of the variable of the block.

Where it was the variable of a loop, the block was not well-formed any more.
"""

from __future__ import annotations

import pytest
from support.ir import parse
from xdsl.context import Context

from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.tir import HoistIfThenElse, Simplify, VerifyWellFormed

PROGRAM = """
tir.func @f(%a: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<4xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c4 = tir.const 4 : i32
  tir.for %i = %c0 to %c4 {
    tir.block "B" (%v : S in [%i to %i + %c1] = %i) {
      %w = tir.add %v, %c0 : i32
      tir.store %c1, %A[%w] : i32
    }
  }
}"""


@pytest.mark.parametrize("one", [HoistIfThenElse(), Simplify()])
def test_a_block_keeps_its_variable(one: CompilerPass):
    module = parse(PROGRAM)
    VerifyWellFormed().apply(Context(), module)
    VerifyWellFormed().apply(Context(), one(module))

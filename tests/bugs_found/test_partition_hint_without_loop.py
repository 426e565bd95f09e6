"""Expanding a loop made a `tir.attr` of its partition hint, which does not verify."""

from __future__ import annotations

from support.ir import parse

from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.tir import UnrollLoop

PROGRAM = """
tir.func @f() {
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  tir.for %i = %c0 to %c1 annotations {
    pragma_loop_partition_hint = true, pragma_x = 1 : i32} {
    tir.evaluate
  }
}"""


def test_the_hint_goes_with_the_loop():
    result = UnrollLoop(auto_max_step=16)(parse(PROGRAM))
    result.verify()
    keys = [op.key.data for op in result.walk() if isinstance(op, tir.AttrOp)]
    assert keys == ["pragma_x"]
    assert not any(isinstance(op, tir.ForOp) for op in result.walk())

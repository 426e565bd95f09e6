"""What ReduceBranchingThroughOvercompute takes from a `PassContext`."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.infra import PassContext
from xdsl_tvm.passes.tir import ReduceBranchingThroughOvercompute
from xdsl_tvm.registry import new_context

SELF_STORE = """
tir.func @f(%a: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %c16 = tir.const 16 : i32
  tir.for %i = %c0 to %c16 {
    %p = tir.cmp gt %i, %c0 : i32
    tir.if %p {
      %x = tir.load %A[%c0] : i32
      %y = tir.add %x, %i : i32
      tir.store %y, %A[%c0] : i32
    }
  }
}
"""
KEY = "tir.ReduceBranchingThroughOvercompute"


def branches(module: ModuleOp) -> int:
    return sum(isinstance(op, tir.IfOp) for op in module.walk())


def test_the_dataflow_is_an_option_of_the_context() -> None:
    module = Parser(new_context(), SELF_STORE).parse_module()
    reduce = ReduceBranchingThroughOvercompute
    assert branches(reduce()(module)) == 1
    assert branches(reduce(use_dataflow_analysis=True)(module)) == 0
    with PassContext(config={KEY: {"use_dataflow_analysis": True}}):
        assert branches(reduce()(module)) == 0
        assert branches(reduce(use_dataflow_analysis=False)(module)) == 1

"""What RemoveNoOp takes from a `PassContext`, and how it grows."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.dialects import tir
from xdsl_tvm.passes import tir as tir_passes
from xdsl_tvm.passes.infra import PassContext
from xdsl_tvm.registry import new_context

TWO_WRITES = """
tir.func @f(%a: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<4xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  tir.store %c0, %A[%c0] : i32
  tir.store %c1, %A[%c0] : i32
}
"""
SELF_STORE = """
tir.func @f(%a: !tir.handle, %n: i32, %m: i32) {
  %A = tir.match_buffer %a : !tir.buffer<4xi32>
  %0 = tir.min %n, %m : i32
  %1 = tir.max %0, %m : i32
  %2 = tir.min %n, %1 : i32
  %3 = tir.max %2, %1 : i32
  %x = tir.load %A[%3] : i32
  tir.store %x, %A[%m] : i32
}
"""
DEPTH = 60


def parsed(text: str) -> ModuleOp:
    return Parser(new_context(), text).parse_module()


def stores(module: ModuleOp) -> int:
    return sum(isinstance(op, tir.StoreOp) for op in module.walk())


def test_the_dataflow_is_an_option_of_the_context() -> None:
    remove = tir_passes.RemoveNoOp
    assert stores(remove()(parsed(TWO_WRITES))) == 2
    assert stores(remove(use_dataflow_analysis=True)(parsed(TWO_WRITES))) == 1
    with PassContext(config={"tir.RemoveNoOp": {"use_dataflow_analysis": True}}):
        assert stores(remove()(parsed(TWO_WRITES))) == 1
        assert stores(remove(use_dataflow_analysis=False)(parsed(TWO_WRITES))) == 2


def test_the_limit_of_steps_is_an_option_of_the_context() -> None:
    assert stores(tir_passes.RemoveNoOp()(parsed(SELF_STORE))) == 0
    with (
        PassContext(config={"tir.RemoveNoOp": {"max_simplification_steps": 1}}),
        pytest.raises(PassFailedException, match="more than 1 rewrites"),
    ):
        tir_passes.RemoveNoOp()(parsed(SELF_STORE))


def test_branches_on_constants_are_taken_from_the_outside() -> None:
    """All levels are inlined, and each op is moved once."""
    body = "tir.store %c0, %A[%c0] : i32\n"
    for _ in range(DEPTH):
        body = f"tir.if %true {{\n{body}}} else {{\ntir.store %c1, %A[%c1] : i32\n}}\n"
    text = TWO_WRITES.replace("tir.store %c0, %A[%c0] : i32\n", body)
    text = text.replace("%c0 = tir", "%true = tir.const true\n%c0 = tir")
    module = tir_passes.RemoveNoOp()(parsed(text))
    assert stores(module) == 2
    assert not any(isinstance(op, tir.IfOp) for op in module.walk())

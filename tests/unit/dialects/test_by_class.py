"""What is kept of classes of operations, and what is not."""

from __future__ import annotations

import gc
from weakref import ref

import pytest
from xdsl.dialects.builtin import UnregisteredOp
from xdsl.parser import Parser

from xdsl_tvm.dialects.by_class import DerivedClasses
from xdsl_tvm.passes.infra.pipeline_runner import parse_passes
from xdsl_tvm.registry import all_passes, new_context

_TEXT = """
tir.func @f(%a: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<4xi32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  tir.for %i = %c0 to %c4 {
    %x = "foreign.op"(%i) : (i32) -> i32
    %y = tir.add %x, %x : i32
    tir.store %y, %A[%i] : i32
  }
}
"""


def test_derived_classes() -> None:
    known = DerivedClasses((int, str))
    assert [known[kind] for kind in (int, bool, bytes, bool)] == [True, True, False, True]
    assert known == {int: True, bool: True, bytes: False}


@pytest.mark.parametrize("passes", ["", "tir-simplify,tir-common-subexpr-elim-tir"])
def test_classes_that_a_parser_makes_end_with_their_module(passes: str) -> None:
    context = new_context()
    context.allow_unregistered = True
    module = Parser(context, _TEXT).parse_module()
    module.verify()
    for each in parse_passes(all_passes(), passes) if passes else ():
        each.apply(context, module)
    module.verify()
    (kind,) = {ref(type(op)) for op in module.walk() if isinstance(op, UnregisteredOp)}
    assert kind() is not None
    del module, context
    # Trees, which are kept weakly, hold others: they end in the second run.
    for _ in range(3):
        gc.collect()
    assert kind() is None

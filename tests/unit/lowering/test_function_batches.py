"""Modules of TIR functions cut into batches."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from xdsl_tvm.lowering import function_batches
from xdsl_tvm.lowering.function_batches import cut_into_batches
from xdsl_tvm.registry import new_context

PLAIN = """
tir.func @{name}(%x: f32) attributes {{global_symbol = "{name}"}} {{
  %y = tir.add %x, %x : f32
  {body}
}}
"""
CALL = "tir.call_func @{} (%y) : (f32) -> ()"
CHECK = '%p = tir.cmp lt %x, %y : f32\n  tir.assert %p, "positive"'
CONSTANT = (
    "%q = tir.allocate_const dense<[1.0, 2.0]> : tensor<2xf32> : !tir.ptr<f32>\n"
    "  tir.evaluate %q : !tir.ptr<f32>"
)


def parsed(**bodies: str) -> ModuleOp:
    text = "".join(PLAIN.format(name=name, body=body) for name, body in bodies.items())
    module = Parser(new_context(), text).parse_module()
    module.verify()
    return module


def test_functions_that_need_nothing_of_their_module_are_batches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(function_batches, "OPERATIONS", 4)
    module = parsed(
        a="",
        b="",
        checks=CHECK,
        c="",
        callee="",
        calls=CALL.format("callee"),
        reads=CONSTANT,
        d="",
        e="",
    )
    before = str(module)
    found = cut_into_batches(module)
    assert found is not None
    assert [(each.name, each.size) for each in found.alone] == [
        ("a to b", 4),
        ("c to d", 4),
        ("e", 2),
    ]
    assert found.rest is not None
    assert found.rest.name == "checks to reads"
    assert len(found.rest.operations) == 4
    text = found.alone[1].lower(new_context(), 16)
    assert "@c(" in text
    assert "@d(" in text
    assert "@a(" not in text
    assert str(module) == before


def test_one_batch_is_none() -> None:
    assert cut_into_batches(parsed(a="", b="", c="")) is None
    assert cut_into_batches(parsed(checks=CHECK)) is None

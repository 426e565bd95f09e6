"""`all_ops` gives what `walk` does."""

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.parser import Parser

from xdsl_tvm.analysis.all_ops import all_ops, ops_of
from xdsl_tvm.dialects.tir import ConstOp
from xdsl_tvm.registry import new_context

_SOURCES = {
    "empty": "builtin.module {}",
    "regions": """
"test.op"() ({
  "test.op"() : () -> ()
  "test.op"() ({
    "test.op"() ({}, {"test.op"() : () -> ()}) : () -> ()
  }, {
  ^a:
    "test.op"() : () -> ()
    "test.op"() [^b] : () -> ()
  ^b:
    "test.op"() ({^c: ^d: }) : () -> ()
    "test.op"() : () -> ()
  }) : () -> ()
  "test.op"() : () -> ()
}) : () -> ()
"test.op"() : () -> ()
""",
}


def _parser(text: str) -> Parser:
    context = new_context()
    context.allow_unregistered = True
    return Parser(context, text)


def _module(name: str) -> Operation:
    return _parser(_SOURCES[name]).parse_module()


@pytest.mark.parametrize("name", _SOURCES)
def test_of_some_classes(name: str) -> None:
    module = _module(name)
    assert ops_of(module, ModuleOp) == [module]
    assert ops_of(module, Operation) == all_ops(module)
    assert ops_of(module, ConstOp) == []


@pytest.mark.parametrize("name", _SOURCES)
def test_of_an_op(name: str) -> None:
    module = _module(name)
    for op in module.walk():
        assert all_ops(op) == list(op.walk())


@pytest.mark.parametrize("name", _SOURCES)
def test_of_a_region(name: str) -> None:
    for op in _module(name).walk():
        for region in op.regions:
            assert all_ops(region) == list(region.walk())


def test_of_ops_that_are_deep() -> None:
    depth = 2000
    outermost = ModuleOp([])
    block = outermost.body.block
    for _ in range(depth):
        inner = ModuleOp([])
        block.add_op(inner)
        block = inner.body.block
    assert len(all_ops(outermost)) == depth + 1

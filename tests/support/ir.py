"""Helpers of the tests that hold IR."""

from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from xdsl_tvm.registry import new_context


def parse(text: str) -> ModuleOp:
    """The verified module of `text`."""
    module = Parser(new_context(), text).parse_module()
    module.verify()
    return module

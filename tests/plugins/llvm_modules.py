"""Reading modules for the tests of code generation."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects import get_all_dialects
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from xdsl_tvm.registry import all_dialects


def read_module(text: str) -> tuple[Context, ModuleOp]:
    """A module in the syntax of MLIR, verified, and the context it was read in."""
    context = Context()
    for name, factory in {**get_all_dialects(), **all_dialects()}.items():
        context.register_dialect(name, factory)
    module = Parser(context, text).parse_module()
    module.verify()
    return context, module

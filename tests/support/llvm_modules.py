"""Reading modules for the tests of code generation."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from xdsl_tvm.registry import new_context


def read_module(text: str) -> tuple[Context, ModuleOp]:
    """A module in the syntax of MLIR, verified, and the context it was read in."""
    context = new_context()
    module = Parser(context, text).parse_module()
    module.verify()
    return context, module

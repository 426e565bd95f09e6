"""Helpers of the tests that hold IR."""

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.universe import Universe


def context() -> Context:
    """A context that knows every dialect of the environment."""
    ctx = Context()
    for name, dialect in Universe.get_multiverse().all_dialects.items():
        ctx.register_dialect(name, dialect)
    return ctx


def parse(text: str) -> ModuleOp:
    """The verified module of `text`."""
    module = Parser(context(), text).parse_module()
    module.verify()
    return module

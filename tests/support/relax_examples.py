"""The documented examples of the relax operations, as programs."""

from __future__ import annotations

import re
import textwrap

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.parser import Parser

from xdsl_tvm.dialects import relax
from xdsl_tvm.registry import new_context

_EXAMPLE = re.compile(r"```mlir\n(.*?)```", re.DOTALL)


def parse(text: str) -> ModuleOp:
    """The module of a text."""
    return Parser(new_context(), text).parse_module()


def example_of(op: type[Operation]) -> str:
    """The example in the documentation of an operation, with what it needs before it."""
    assert op.__doc__ is not None
    (example,) = _EXAMPLE.findall(op.__doc__)
    example = textwrap.dedent(example)
    assert op.name in example
    return example if op is relax.FuncOp else _with_operands(example)


def _with_operands(example: str) -> str:
    """The example after definitions of the values that it takes from outside.

    The parser knows their types once it has met all uses.
    """
    parser = Parser(new_context(), example)
    while parser.parse_optional_operation() is not None:
        pass
    missing = {
        name: next(iter(values.values())).type
        for name, values in parser.forward_ssa_references.items()
    }
    lines = [f'%{name} = "test.op"() : () -> {t}' for name, t in missing.items()]
    return "\n".join([*lines, example])

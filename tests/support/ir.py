"""Helpers of the tests that hold IR."""

from collections.abc import Iterator

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.parser import Parser

from xdsl_tvm.registry import new_context


def parse(text: str) -> ModuleOp:
    """The verified module of `text`."""
    module = Parser(new_context(), text).parse_module()
    module.verify()
    return module


def uses_outside(module: ModuleOp) -> Iterator[tuple[Operation, Operation]]:
    """Ops whose values are used by ops that are not in the module, and these ops.

    A pass that detaches an op without erasing it leaves such uses, by which values look
    as if they were needed.
    """
    ops = set(module.walk())
    for op in ops:
        arguments = (a for region in op.regions for b in region.blocks for a in b.args)
        for value in (*op.results, *arguments):
            for use in value.uses:
                if use.operation not in ops:
                    yield op, use.operation

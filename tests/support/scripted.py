"""Functions written as the body of a TVMScript function, for tests of passes."""

from __future__ import annotations

import textwrap

from xdsl.dialects.builtin import ModuleOp

from xdsl_tvm.dialects import tir
from xdsl_tvm.tvmscript import parse


def scripted(parameters: str, body: str) -> ModuleOp:
    """The module of one function `f` of these parameters, `T` being TVM's."""
    text = textwrap.indent(textwrap.dedent(body).strip("\n"), "    ")
    source = "from tvm.script import tir as T\n"
    module = parse(f"{source}@T.prim_func\ndef f({parameters}):\n{text}\n")
    module.verify()
    return module


def allocations(module: ModuleOp) -> list[tuple[str, str, object, str]]:
    """Name, element type, extents and parent op of each allocation, in their order."""
    found: list[tuple[str, str, object, str]] = []
    for op in module.walk():
        if isinstance(op, tir.AllocateOp):
            parent = op.parent_op()
            name = "" if op.var_name is None else op.var_name.data
            shape = tuple(e if isinstance(e, int) else "?" for e in op.shape)
            extents: object = shape[0] if len(shape) == 1 else shape
            kind = str(op.result.type.element_type)
            found.append((name, kind, extents, "" if parent is None else parent.name))
    return found

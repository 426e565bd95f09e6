"""The Relax functions of a module."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from xdsl_tvm.dialects import relax, tir
from xdsl_tvm.dialects.by_class import of_classes

_is_tir_function = of_classes(tir.FuncOp)
_is_relax_function = of_classes(relax.FuncOp)


def relax_functions(root: Operation) -> list[relax.FuncOp]:
    """The Relax functions in an op, also in modules in it, in the order of the text.

    It does not look into TIR functions, which are most of a legalized module.
    """
    found: list[relax.FuncOp] = []
    pending = [root]
    while pending:
        op = pending.pop()
        if not op.regions or _is_tir_function(op):
            continue
        if _is_relax_function(op):
            found.append(op)
        for region in reversed(op.regions):
            for block in reversed(region.blocks):
                pending += reversed(block.ops)
    return found


def has_relax_functions(module: ModuleOp) -> bool:
    """Whether a function of the module is a Relax function."""
    return any(map(_is_relax_function, module.body.ops))

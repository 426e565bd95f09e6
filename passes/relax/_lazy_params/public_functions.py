"""The functions that are called from outside only."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.dialects import relax
from xdsl_tvm.passes.relax.rewriting.signatures import references


def public_functions(module: ModuleOp, pass_name: str) -> list[relax.FuncOp]:
    """The public Relax functions of a module, whose signatures change.

    Raises PassFailedException, naming the pass, for one that the module itself uses.
    """
    used = references(module)
    found: list[relax.FuncOp] = []
    for func in module.ops:
        if not isinstance(func, relax.FuncOp) or not func.body.blocks:
            continue
        if "global_symbol" not in func.attributes:
            continue
        name = func.sym_name.data
        if users := used.get(name):
            raise PassFailedException(
                f"{pass_name}: @{name} is public and {users[0].name} uses it, which does "
                "not know its new parameter; call a private function there"
            )
        found.append(func)
    return found

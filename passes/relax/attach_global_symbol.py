"""Functions become visible from outside under their own names."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, StringAttr
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.dialects import relax, tir
from xdsl_tvm.dialects.tir.module import MODULE_ATTRS
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.infra.module_symbols import module_symbols
from xdsl_tvm.passes.infra.renamed_symbols import rename_symbols

PREFIX = "system_lib_prefix"


@dataclass(frozen=True)
class AttachGlobalSymbol(CompilerPass):
    """Summary: Makes every function with a body public, under its own name.

    TVM name: relax.AttachGlobalSymbol (v0.20)
    Input form: any
    Output form: the same, where every `relax.func` and `tir.func` with a body has the
        attribute `global_symbol`, its symbol name
    Options: none
    Rewrites: before

            tir.func @scale(...) { ... }

        after

            tir.func @scale(...) attributes {global_symbol = "scale"} { ... }

        If the module has the attribute `system_lib_prefix`, TIR functions, and the
        references to them, are renamed to begin with it. Time is linear in the size of
        the module.
    Leaves alone: declarations; functions of other dialects and of nested modules
    Errors: a TIR function whose name with the prefix is taken
    Attributes: read: `system_lib_prefix` of the module; created: `global_symbol`, an
        earlier one is replaced; removed: none
    Differs from TVM: none
    """

    name = "relax-attach-global-symbol"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if prefix := _prefix(op):
            self._add_prefix(op, prefix)
        for func in op.ops:
            if isinstance(func, relax.FuncOp | tir.FuncOp) and func.body.blocks:
                func.attributes["global_symbol"] = func.sym_name

    def _add_prefix(self, module: ModuleOp, prefix: str) -> None:
        symbols = module_symbols(module)
        renamed = {
            name: prefix + name
            for name, func in symbols.items()
            if isinstance(func, tir.FuncOp) and func.body.blocks
        }
        for name, new in renamed.items():
            if new in symbols and new not in renamed:
                raise PassFailedException(
                    f"{self.name}: tir.func @{name} cannot be called @{new}, which the "
                    f"module has already; rename one, or choose another {PREFIX}"
                )
        rename_symbols(module, renamed)


def _prefix(module: ModuleOp) -> str:
    attributes = module.attributes.get(MODULE_ATTRS)
    if not isinstance(attributes, DictionaryAttr):
        return ""
    prefix = attributes.data.get(PREFIX)
    return prefix.data if isinstance(prefix, StringAttr) else ""

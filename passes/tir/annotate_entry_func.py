"""The function that a module is entered by is marked."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import BoolAttr, ModuleOp, StringAttr
from xdsl.ir import Operation

from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.function_like import FunctionLike
from xdsl_tvm.dialects.tir.annotations import is_true
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.infra.module_symbols import module_symbols

_ENTRY = "tir.is_entry_func"


@dataclass(frozen=True)
class AnnotateEntryFunc(CompilerPass):
    """Summary: Marks the function that a module is entered by, where there is only one.

    TVM name: tir.AnnotateEntryFunc (v0.20)
    Input form: any
    Output form: the same
    Options: none
    Rewrites: the only function of a module, private or not; else the only function that
        is visible outside of it. Before

            tir.func @main() attributes {global_symbol = "main"}
            tir.func @helper()

        after

            tir.func @main() attributes {
                global_symbol = "main", tir.is_entry_func = true}
            tir.func @helper()

        Time is linear in the number of operations at the top of the module.
    Leaves alone: modules with several functions of which none, or more than one, is
        visible; functions of other dialects, which take part in the count; declarations,
        which do not; functions in modules inside of the module
    Errors: none
    Attributes: read: `global_symbol`, `tir.is_entry_func`; created: `tir.is_entry_func`;
        removed: none
    Differs from TVM: a function of a dialect that is not this package's is visible unless
        it is private by `sym_visibility`
    """

    name = "tir-annotate-entry-func"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = [one for one in module_symbols(op).values() if _is_function(one)]
        if len(functions) != 1:
            functions = [one for one in functions if _is_exposed(one)]
        if len(functions) != 1 or not isinstance(entry := functions[0], tir.FuncOp):
            return
        if not is_true(entry.attributes.get(_ENTRY)):
            entry.attributes[_ENTRY] = BoolAttr.from_bool(True)


def _is_function(op: Operation) -> bool:
    """Whether an op with a symbol is a function with a body."""
    return "function_type" in op.properties and any(one.blocks for one in op.regions)


def _is_exposed(function: Operation) -> bool:
    if function.has_trait(FunctionLike):
        return "global_symbol" in function.attributes
    return function.properties.get("sym_visibility") != StringAttr("private")

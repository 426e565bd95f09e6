"""Public functions are called in the module what they are called outside of it."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.dialects import relax, tir
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.infra.module_symbols import module_symbols
from xdsl_tvm.passes.infra.renamed_symbols import rename_symbols


@dataclass(frozen=True)
class NormalizeGlobalVar(CompilerPass):
    """Summary: Gives each public function the symbol name that its `global_symbol` says.

    TVM name: relax.NormalizeGlobalVar (v0.20)
    Input form: any
    Output form: the same, where the symbol name of every `relax.func` and `tir.func` with
        the attribute `global_symbol` is that attribute
    Options: none
    Rewrites: before

            relax.func @f(...) attributes {global_symbol = "main"} { ... }
            relax.func @main(...) { ... }

        after

            relax.func @main(...) attributes {global_symbol = "main"} { ... }
            relax.func @main_1(...) { ... }

        A private function whose name a public one takes gets the first number that makes
        it new. References follow. Time is linear in the size of the module.
    Leaves alone: names of other private functions, of operations of other dialects, and
        within nested modules
    Errors: two functions with one `global_symbol`; a `global_symbol` that is the name of
        an operation of another dialect
    Attributes: read: `global_symbol`; created: none; removed: none
    Differs from TVM: none
    """

    name = "relax-normalize-global-var"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        symbols = module_symbols(op)
        names: dict[str, str] = {}
        owners = {name: name for name, each in symbols.items() if not _is_function(each)}
        for name, each in symbols.items():
            if (public := _public_name(each)) is not None:
                self._check_free(public, name, owners)
                names[name], owners[public] = public, name
        numbers: dict[str, int] = {}
        taken = {*owners, *symbols}
        for name, each in symbols.items():
            if _is_function(each) and name not in names and name in owners:
                names[name] = _numbered(name, taken, numbers)
        rename_symbols(op, {old: new for old, new in names.items() if old != new})

    def _check_free(self, public: str, name: str, owners: dict[str, str]) -> None:
        if (owner := owners.get(public)) is not None:
            raise PassFailedException(
                f"{self.name}: @{name} and @{owner} would both be called @{public}; "
                "change the global_symbol of one"
            )


def _is_function(op: Operation) -> bool:
    return isinstance(op, relax.FuncOp | tir.FuncOp)


def _public_name(op: Operation) -> str | None:
    symbol = op.attributes.get("global_symbol") if _is_function(op) else None
    return symbol.data if isinstance(symbol, StringAttr) else None


def _numbered(base: str, taken: set[str], numbers: dict[str, int]) -> str:
    while True:
        number = numbers[base] = numbers.get(base, 0) + 1
        if (name := f"{base}_{number}") not in taken:
            taken.add(name)
            return name

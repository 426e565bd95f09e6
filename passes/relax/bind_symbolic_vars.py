"""Symbolic dimensions become numbers, or expressions of others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import InitVar, dataclass, field
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError, PassFailedException

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.attributes import parse_dim
from xdsl_tvm.dialects.relax.symbolic import Dim, DimLike
from xdsl_tvm.dialects.relax.types import PrimType, definable_symbols
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.relax.rewriting.signatures import (
    bind_symbols,
    find_function,
    verify_calls,
)


@dataclass(frozen=True)
class BindSymbolicVars(CompilerPass):
    """Summary: Replaces symbolic dimensions of functions by numbers, or by expressions of
        other symbols.

    TVM name: relax.BindSymbolicVars (v0.20)
    Input form: any
    Output form: the same, without the bound symbols
    Options: `binding_map`: in Python, values of symbols by name: numbers, names and
        dimensions (none); `bindings`: the same as texts, "n = 16" or "n = m * 2" (none);
        `func_name`: the one function to bind in, by its `global_symbol`, or by its symbol
        name if it is private; "" for all that have one of the symbols ("")
    Rewrites: with `n = 8`, before

            relax.func @main<n>(%x: tensor<?xf32, #relax.dims<[n * 2]>>, ...) -> ... {
              %s = relax.shape [n, n + 1]

        after

            relax.func @main(%x: tensor<16xf32>, ...) -> ... {
              %s = relax.shape [8, 9]

        in the types of parameters, of the result and of all values. All symbols are
        replaced at once. Time is linear in the size of the module.
    Leaves alone: symbols that a cast or a function literal defines; functions without the
        symbols
    Errors: a `func_name` that is no function; a symbol that the function, or every
        function, lacks; a symbol that is given twice; a value with a symbol that is not
        one of the function; a negative dimension; an operation or a call that can never
        hold then
    Attributes: read: none; created: none; removed: the symbol from `tir_var_upper_bound`
    Differs from TVM: symbols are named, since a name is one symbol in a function. Calls
        of the functions are checked again.
    """

    name = "relax-bind-symbolic-vars"
    opt_level: ClassVar[int] = 1

    binding_map: InitVar[Mapping[str, DimLike] | None] = None
    func_name: str = ""
    bindings: tuple[str, ...] = ()
    _values: Mapping[str, Dim] = field(
        init=False, repr=False, compare=False, default_factory=dict[str, Dim]
    )

    def __post_init__(self, binding_map: Mapping[str, DimLike] | None) -> None:
        values = {name: Dim.of(value) for name, value in (binding_map or {}).items()}
        for text in self.bindings:
            name, value = self._parsed(text)
            if name in values:
                raise PassFailedException(
                    f"{self.name}: the symbol '{name}' is given twice; give one value"
                )
            values[name] = value
        object.__setattr__(self, "_values", values)

    def _parsed(self, text: str) -> tuple[str, Dim]:
        name, _, value = text.partition("=")
        try:
            dim = parse_dim(Parser(Context(), value))
            return Dim.symbol(name.strip()).symbol_name or "", dim
        except (ParseError, ValueError):
            raise PassFailedException(
                f"{self.name}: '{text}' binds no symbol; write it as \"n = 16\""
            ) from None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not self._values:
            return
        functions = self._functions(op)
        for func in functions:
            bound = {n: d for n, d in self._values.items() if n in func.symbol_names}
            self._check(func, bound)
            bind_symbols(func, bound, self.name)
        verify_calls(op, self.name)

    def _functions(self, module: ModuleOp) -> list[relax.FuncOp]:
        if self.func_name:
            found = find_function(module, self.func_name)
            if found is None:
                raise PassFailedException(
                    f"{self.name}: the module has no function @{self.func_name}; name "
                    "one of its functions in func_name"
                )
            functions = [found]
        else:
            functions = [op for op in module.ops if isinstance(op, relax.FuncOp)]
        for name in self._values:
            if not any(name in func.symbol_names for func in functions):
                where = f"@{self.func_name}" if self.func_name else "no function"
                verb = "does not have" if self.func_name else "has"
                raise PassFailedException(
                    f"{self.name}: {where} {verb} the symbol '{name}'; bind symbols "
                    "that parameters define"
                )
        return functions

    def _check(self, func: relax.FuncOp, bound: Mapping[str, Dim]) -> None:
        left = set(func.symbol_names) - set(bound)
        extents = {
            name
            for type_ in func.function_type.inputs
            if not isinstance(type_, PrimType)
            for name in definable_symbols(type_)
        }
        for name, dim in bound.items():
            if name in extents and dim.value is not None and dim.value < 0:
                raise PassFailedException(
                    f"{self.name}: '{name}' is a dimension in @{func.sym_name.data} and "
                    f"cannot be {dim}; give a number that is not negative"
                )
            for symbol in dim.symbols():
                if symbol not in left:
                    raise PassFailedException(
                        f"{self.name}: '{name}' cannot be {dim} in "
                        f"@{func.sym_name.data}, which has no symbol '{symbol}' then; "
                        "use symbols that stay"
                    )

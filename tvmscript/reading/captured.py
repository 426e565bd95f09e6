"""What function literals use of the functions around them.

Values are visible in a literal, and symbolic dimensions are not: a literal has symbols of
its own for those of the function around, which a `match_cast` of each captured value
defines.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute

from xdsl_tvm.dialects.relax.algebra import erase_symbols
from xdsl_tvm.dialects.relax.functions import parameter_symbols
from xdsl_tvm.dialects.relax.symbolic import Dim
from xdsl_tvm.dialects.relax.types import (
    definable_symbols,
    substitute_symbols,
    used_symbols,
)
from xdsl_tvm.relax.expr import Var
from xdsl_tvm.tvmscript.nodes import expressions as ex
from xdsl_tvm.tvmscript.reading.scope import Scope


@dataclass(frozen=True)
class Captured:
    """The values of the function around that a literal names, and the symbols."""

    values: Mapping[str, Var]
    """The values with symbols in their types, by name."""
    dims: Mapping[str, ex.Var]
    """The symbols that names stand for."""
    renamed: Mapping[str, str]
    """The symbols of the literal for those of the function around."""

    @staticmethod
    def of(node: ast.FunctionDef, scope: Scope) -> Captured:
        """What a literal captures; `scope` is that of the function around."""
        used = [each.id for each in ast.walk(node) if isinstance(each, ast.Name)]
        own = {each.arg for each in (*node.args.posonlyargs, *node.args.args)}
        names = [
            name for name in dict.fromkeys(used) if name in scope and name not in own
        ]
        values: dict[str, Var] = {}
        dims: dict[str, ex.Var] = {}
        symbols: list[str] = []
        for name in names:
            match scope[name]:
                case Var() as value if found := used_symbols(value.struct_info):
                    values[name] = value
                    symbols += found
                case ex.Var() as dim if dim.type == i64:
                    dims[name] = dim
                    symbols.append(dim.name)
                case _:
                    pass
        taken = {*used, *symbols, *_texts(node)}
        renamed = {name: _free(name, taken) for name in dict.fromkeys(symbols)}
        return Captured(values, dims, renamed)

    def rename(self, scope: Scope) -> None:
        """Let names of symbols stand for those of the literal."""
        for name, dim in self.dims.items():
            scope.define(name, ex.Var(self.renamed[dim.name], i64))

    def casts(self, params: Sequence[Attribute]) -> dict[str, tuple[Var, Attribute]]:
        """The values in the literal with parameters of types: which, and of what type.

        What defines symbols comes first. A dimension of symbols that nothing defines is
        unknown in the literal.
        """
        known = set(parameter_symbols(params))
        renaming = {name: Dim.symbol(own) for name, own in self.renamed.items()}
        types = {
            name: substitute_symbols(value.struct_info, renaming)
            for name, value in self.values.items()
        }
        for type_ in types.values():
            known.update(definable_symbols(type_))
        ordered = sorted(types, key=lambda name: not definable_symbols(types[name]))
        return {
            name: (self.values[name], erase_symbols(types[name], known))
            for name in ordered
        }


def _texts(node: ast.AST) -> set[str]:
    """The texts of a function, which may be names of symbols."""
    constants = (each for each in ast.walk(node) if isinstance(each, ast.Constant))
    return {each.value for each in constants if isinstance(each.value, str)}


def _free(name: str, taken: set[str]) -> str:
    """A name that is not taken, which is taken then."""
    found = next(free for n in count(1) if (free := f"{name}_{n}") not in taken)
    taken.add(found)
    return found

"""The symbols of a module, and new names for functions that passes add."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.traits import SymbolOpInterface


def symbol_name(op: Operation) -> str | None:
    """The symbol that an operation defines, or None."""
    trait = op.get_trait(SymbolOpInterface)
    name = None if trait is None else trait.get_sym_attr_name(op)
    return None if name is None else name.data


def module_symbols(module: ModuleOp) -> dict[str, Operation]:
    """The operations at the module's top level that define symbols, in order."""
    return {name: op for op in module.ops if (name := symbol_name(op)) is not None}


class SymbolNames:
    """Names that no symbol of a module has yet, numbered as TVM numbers them."""

    def __init__(self, module: ModuleOp) -> None:
        self._taken = set(module_symbols(module))
        self._numbers: dict[str, int] = {}

    def unique(self, base: str) -> str:
        """`base`, or `base` with the least number that makes it new; taken from now."""
        number = self._numbers.get(base, 0)
        name = base if number == 0 else f"{base}{number}"
        while name in self._taken:
            number += 1
            name = f"{base}{number}"
        self._numbers[base] = number
        self._taken.add(name)
        return name

"""The symbols of a module, and new names for functions that passes add."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    FloatAttr,
    IntAttr,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
)
from xdsl.ir import Attribute, Operation, ParametrizedAttribute
from xdsl.traits import SymbolOpInterface

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.dialects.by_class import of_classes


def symbol_name(op: Operation) -> str | None:
    """The symbol that an operation defines, or None."""
    trait = op.get_trait(SymbolOpInterface)
    name = None if trait is None else trait.get_sym_attr_name(op)
    return None if name is None else name.data


def module_symbols(module: ModuleOp) -> dict[str, Operation]:
    """The operations at the module's top level that define symbols, in order."""
    return {name: op for op in module.ops if (name := symbol_name(op)) is not None}


def referenced_symbols(op: Operation) -> dict[str, None]:
    """The symbols that an operation and what it holds name, in order."""
    return dict.fromkeys(name for inner in all_ops(op) for name in named_symbols(inner))


def named_symbols(op: Operation) -> Iterator[str]:
    """The symbols that an operation itself names."""
    for attributes in (op.properties, op.attributes):
        for attribute in attributes.values():
            yield from _symbols_of(attribute)


def _symbols_of(attribute: Attribute) -> Iterator[str]:
    if _names_nothing(attribute):
        return
    match attribute:
        case SymbolRefAttr():
            yield attribute.root_reference.data
            return
        case ArrayAttr():
            inner: tuple[Attribute, ...] = tuple(attribute)
        case DictionaryAttr():
            inner = tuple(attribute.data.values())
        case ParametrizedAttribute():
            inner = attribute.parameters
        case _:
            return
    for each in inner:
        yield from _symbols_of(each)


_names_nothing = of_classes(
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    UnitAttr,
)
"""The attributes of most operations; they hold no names."""


class UniqueNames:
    """Names that are not taken yet, numbered as TVM numbers them."""

    def __init__(self, taken: Iterable[str] = (), separator: str = "") -> None:
        """`separator` is between a base and its number."""
        self._taken = set(taken)
        self._separator = separator
        self._numbers: dict[str, int] = {}

    def unique(self, base: str) -> str:
        """`base`, or `base` with the least number that makes it new; taken from now."""
        number = self._numbers.get(base, 0)
        name = base if number == 0 else f"{base}{self._separator}{number}"
        while name in self._taken:
            number += 1
            name = f"{base}{self._separator}{number}"
        self._numbers[base] = number
        self._taken.add(name)
        return name


class SymbolNames(UniqueNames):
    """Names that no symbol of a module has yet."""

    def __init__(self, module: ModuleOp) -> None:
        super().__init__(module_symbols(module))

"""New names for the symbols of a module, in all references to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
)
from xdsl.ir import Attribute, Operation, ParametrizedAttribute
from xdsl.traits import SymbolTable

from xdsl_tvm.passes.infra.module_symbols import module_symbols


def rename_symbols(module: ModuleOp, names: Mapping[str, str]) -> None:
    """Give symbols of the module the names that `names` has for theirs, all at once.

    References follow, wherever they are in attributes; those within operations that
    are symbol tables themselves are to other symbols and stay. Time is linear.
    """
    if not names:
        return
    for name, op in module_symbols(module).items():
        if name in names:
            where = op.properties if "sym_name" in op.properties else op.attributes
            where["sym_name"] = StringAttr(names[name])
    references = _References(names)
    references.rename(module)


@dataclass
class _References:
    names: Mapping[str, str]
    renamed: dict[Attribute, Attribute] = field(
        default_factory=dict[Attribute, Attribute]
    )

    def rename(self, op: Operation) -> None:
        for attributes in (op.properties, op.attributes):
            for name, attribute in attributes.items():
                attributes[name] = self._attribute(attribute)
        for region in op.regions:
            for block in region.blocks:
                for inner in block.ops:
                    if not inner.has_trait(SymbolTable, value_if_unregistered=False):
                        self.rename(inner)

    def _attribute(self, attribute: Attribute) -> Attribute:
        if (known := self.renamed.get(attribute)) is None:
            known = self.renamed[attribute] = self._rebuilt(attribute)
        return known

    def _rebuilt(self, attribute: Attribute) -> Attribute:
        match attribute:
            case StringAttr():
                return attribute
            case SymbolRefAttr():
                root = attribute.root_reference.data
                nested = attribute.nested_references
                return SymbolRefAttr(self.names.get(root, root), nested)
            case ArrayAttr():
                return ArrayAttr(self._attribute(each) for each in attribute)
            case DictionaryAttr():
                return DictionaryAttr(
                    {name: self._attribute(a) for name, a in attribute.data.items()}
                )
            case ParametrizedAttribute():
                old = attribute.parameters
                new = [self._attribute(each) for each in old]
                changed = any(a is not b for a, b in zip(old, new, strict=True))
                return type(attribute).new(new) if changed else attribute
            case _:
                return attribute

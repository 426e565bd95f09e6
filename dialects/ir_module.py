"""Modules made of functions by name, as TVM's `IRModule` is."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation
from xdsl.traits import SymbolOpInterface, SymbolTable


class IRModule(ModuleOp):
    """A `builtin.module` that is made of functions by name, and that finds them.

    What passes return is one, too, if they are given one.

        mod = IRModule({"main": function})
        print(mod["main"])

    Functions may be operations of any dialect that define a symbol. One that is in
    a module already is copied; its name becomes the given one. Raises TypeError for
    anything else.
    """

    def __init__(self, functions: Mapping[str, Operation] | None = None) -> None:
        super().__init__([_named(op, name) for name, op in (functions or {}).items()])

    def __getitem__(self, name: str) -> Operation:
        """The function of that name; KeyError if there is none."""
        if (found := SymbolTable.lookup_symbol(self, name)) is None:
            raise KeyError(name)
        return found


def _named(function: object, name: str) -> Operation:
    if not isinstance(function, Operation) or not function.has_trait(SymbolOpInterface):
        raise TypeError(
            f"IRModule: '{name}' must be a function, not {type(function).__name__}"
        )
    if function.parent is not None:
        function = function.clone()
    function.properties["sym_name"] = StringAttr(name)
    return function

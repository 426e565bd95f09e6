"""Functions of a module by reference, as TVM's `GlobalVar` is."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xdsl_tvm.dialects.relax import FuncType


class GlobalVar:
    """A function of a module, by its name.

    Two variables of one name are equal, so each of them finds the function in a module.
    """

    def __init__(self, name_hint: str, struct_info: FuncType | None = None) -> None:
        self.name_hint = name_hint
        self.struct_info = struct_info
        """The type of a Relax function, None for another one."""

    def __call__(self, *args: Any) -> Any:
        """The expression that calls a Relax function; see `relax.BlockBuilder`.

        Raises VerifyException for another function and for wrong arguments.
        """
        # Late: expressions are above dialects.
        calls = importlib.import_module("xdsl_tvm.relax.calls")
        return calls.call_function(self, args)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GlobalVar) and other.name_hint == self.name_hint

    def __hash__(self) -> int:
        return hash(self.name_hint)

    def __repr__(self) -> str:
        """As TVM prints it."""
        return f'I.GlobalVar("{self.name_hint}")'

"""Functions by name, whatever they are compiled for."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.runtime import _fork as _fork
from xdsl_tvm.runtime.packed_functions import PackedSignature
from xdsl_tvm.runtime.runtime_module import RuntimeModule
from xdsl_tvm.runtime.signature import Signature, signatures


class Executable(RuntimeModule):
    """Compiled functions, by name; `compile` returns one."""

    def __init__(self, module: ModuleOp) -> None:
        self._signatures = signatures(module)
        self._functions: dict[str, Callable[..., Any]] = {}

    @property
    def signatures(self) -> dict[str, Signature]:
        """The signatures of all functions that can be called."""
        return {n: s for n, s in self._signatures.items() if isinstance(s, Signature)}

    def __getitem__(self, name: str) -> Callable[..., Any]:
        """The function of this name, to call with numpy arrays and numbers.

        Raises KeyError if there is none, and PassFailedException if its parameters are
        none that Python can pass.
        """
        found = self._functions.get(name)
        if found is None:
            signature = self._signature(name)
            found = (
                self._bind(signature)
                if isinstance(signature, Signature)
                else self._bind_packed(signature)
            )
            self._functions[name] = found
        return found

    @property
    def packed_functions(self) -> list[str]:
        """The functions of the packed convention, by the names of the module."""
        found = self._signatures.values()
        names = (s.function for s in found if isinstance(s, PackedSignature))
        return list(dict.fromkeys(names))

    def __iter__(self) -> Iterator[str]:
        return iter(self._signatures)

    def __len__(self) -> int:
        return len(self._signatures)

    def __repr__(self) -> str:
        """The functions with their parameters and results, each in a line."""
        lines = [
            f"  {found}"
            if not isinstance(found, PassFailedException)
            else f"  @{name}: {found}"
            for name, found in self._signatures.items()
        ]
        return "\n".join([f"<{type(self).__name__}", *lines]) + ">"

    def _signature(self, name: str) -> Signature | PackedSignature:
        signature = self._signatures.get(name)
        if signature is None:
            known = ", ".join(f"'{n}'" for n in self._signatures) or "none"
            raise KeyError(
                f"no public function '{name}'; the module has {known}, and a function is "
                "public if it has the attribute global_symbol"
            )
        if isinstance(signature, PassFailedException):
            raise signature
        return signature

    @abstractmethod
    def _bind(self, signature: Signature) -> Callable[..., Any]:
        """The callable for a function."""

    def _bind_packed(self, signature: PackedSignature) -> Callable[..., Any]:
        """The callable for a function of the packed convention."""
        raise PassFailedException(
            f"{signature}: functions of the packed convention are code for the "
            "processor; compile the module for llvm"
        )

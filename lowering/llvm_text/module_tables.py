"""What the functions of one LLVM module share: types, symbols, intrinsics, metadata."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, IntegerType
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import DiagnosticException

from xdsl_tvm.dialects import tvm_llvm
from xdsl_tvm.lowering.llvm_text.types import TypeTable, quote


class ModuleTables:
    """The struct types, symbols, declared intrinsics and metadata of one LLVM module."""

    def __init__(self, sm: int = 0) -> None:
        self.sm = sm
        """The architecture, 80 for sm_80; 0 on a CPU."""
        self.types = TypeTable()
        self.symbols: dict[str, Operation] = {}
        self.declarations: dict[str, str] = {}
        """The declaration of each intrinsic."""
        self.metadata_lines: list[str] = []
        self._shared_metadata: dict[object, str] = {}

    def declare(self, name: str, signature: str) -> None:
        """Declares an intrinsic; `signature` is `result @name(arguments)`."""
        known = self.declarations.setdefault(name, f"declare {signature}")
        if known != f"declare {signature}":
            raise DiagnosticException(
                f"intrinsic '{name}' is called with two signatures: give each overload "
                "its own suffix"
            )

    def metadata(self, key: object, body: str) -> str:
        """A metadata node, one for equal keys."""
        node = self._shared_metadata.get(key)
        if node is None:
            node = self._shared_metadata[key] = self._new_metadata(body)
        return node

    def _new_metadata(self, body: str) -> str:
        node = f"!{len(self.metadata_lines)}"
        self.metadata_lines.append(f"{node} = {body.replace('!self', node)}")
        return node

    def loop_metadata(self, loop: tvm_llvm.LoopAttr) -> str:
        """A new loop identity with the hints of `loop`."""
        hints = [
            self.metadata(("hint", key, value), _hint(key, value))
            for key, value in loop.hints.data.items()
        ]
        return self._new_metadata(f"distinct !{{{', '.join(['!self', *hints])}}}")

    def scope_list(self, scopes: ArrayAttr[Attribute]) -> str:
        """The list node of alias scopes."""
        nodes = [
            self._scope(scope)
            for scope in scopes
            if isinstance(scope, tvm_llvm.AliasScopeAttr)
        ]
        return self.metadata(("scopes", scopes), f"!{{{', '.join(nodes)}}}")

    def _scope(self, scope: tvm_llvm.AliasScopeAttr) -> str:
        domain = self.metadata(
            ("domain", scope.domain),
            f'distinct !{{!self, !"{quote(scope.domain.data.encode())}"}}',
        )
        return self.metadata(
            ("scope", scope),
            f'distinct !{{!self, {domain}, !"{quote(scope.scope.data.encode())}"}}',
        )


def _hint(key: str, value: Attribute) -> str:
    name = f'!"llvm.loop.{key}"'
    if not isinstance(value, IntegerAttr):
        return f"!{{{name}}}"
    type = cast("IntegerType", value.type)
    if type.bitwidth == 1:
        return f"!{{{name}, i1 {'true' if value.value.data else 'false'}}}"
    return f"!{{{name}, i32 {value.value.data}}}"

"""Functions in the spelling of newer TVM, for exchange (docs/spec/tvmscript.md §12).

Bindings, allocations and declarations are members of the list that they are in, so no
`with` bounds them; what is allocated is a buffer.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.utils.exceptions import DiagnosticException

from xdsl_tvm.dialects import tir
from xdsl_tvm.tvmscript.nodes import expressions as ex
from xdsl_tvm.tvmscript.nodes import statements as st
from xdsl_tvm.tvmscript.printing.expressions import annotation, dtype_string, string
from xdsl_tvm.tvmscript.printing.functions import (
    FunctionPrinter,
    has_annotation,
    is_true,
)
from xdsl_tvm.tvmscript.reading.completion import blocks


class FlatFunctionPrinter(FunctionPrinter):
    """Writes one function for TVM 0.27."""

    VIEW: ClassVar[str] = "decl_buffer"

    def options(self, function: st.PrimFunc) -> str:
        found = [super().options(function)]
        if any(blocks(function.body)):
            found.append("s_tir=True")
        return ", ".join(filter(None, found))

    def attributes(self, attrs: dict[str, object]) -> str:
        # What is `tir.` elsewhere is `tirx.` there, and flags are those of Python.
        texts: dict[str, str] = {}
        for key, value in attrs.items():
            name = f"tirx.{key[4:]}" if key.startswith("tir.") else key
            is_flag = isinstance(value, bool)
            texts[name] = str(value) if is_flag else self._expressions.value(value)
        items = (f"{string(key)}: {text}" for key, text in sorted(texts.items()))
        return f"{{{', '.join(items)}}}"

    def layout_arguments(self, buffer: st.Buffer) -> list[str]:
        if buffer.axis_separators or buffer.kind is not tir.BufferKind.DEFAULT:
            raise DiagnosticException(
                f"buffer {buffer.name}: TVM 0.27 has neither axis separators nor kinds "
                "of buffers; print version 0.20"
            )
        return super().layout_arguments(buffer)

    def binding(self, stmt: st.Stmt) -> str:
        match stmt:
            case st.LetStmt():
                return self._let(stmt)
            case st.Allocate():
                call = self._allocated(stmt)
                name = self.named(stmt.var)
                self.known[stmt.var] = f"{name}.data"
                return f"{name} = {call}"
            case st.DeclBuffer():
                declared = st.DeclBuffer(stmt.buffer, stmt.data)
                return super().binding(declared)
            case st.AssertStmt() if not isinstance(stmt.message, ex.StringImm):
                raise DiagnosticException(
                    "tir.assert: TVM 0.27 takes strings as messages only; write one"
                )
            case st.AllocateConst():
                raise DiagnosticException(
                    "tir.allocate_const: TVM 0.27 has no form for it; pass the contents "
                    "as a parameter"
                )
            case _:
                return super().binding(stmt)

    def _let(self, stmt: st.LetStmt) -> str:
        dtype = stmt.var.type
        value, name = self.text(stmt.value), self.named(stmt.var)
        if isinstance(dtype, tir.HandleType) or not has_annotation(stmt.var):
            # What a builtin returns as a handle may be a typed pointer there.
            return f"{name}: T.let = {value}"
        kind = annotation(dtype)
        if isinstance(dtype, tir.PtrType) and stmt.value.type != dtype:
            value = f"T.reinterpret({kind}.ty, {value})"
        return f"{name}: T.let[{kind}] = {value}"

    def _allocated(self, stmt: st.Allocate) -> str:
        if stmt.condition is not None and not is_true(stmt.condition):
            raise DiagnosticException(
                "tir.allocate: TVM 0.27 has no condition for it; allocate in a tir.if"
            )
        pointer = stmt.var.type
        assert isinstance(pointer, tir.PtrType)
        found = [self.shape(stmt.extents), dtype_string(pointer.element_type)]
        found.append(f"scope={string(pointer.scope.data)}")
        if stmt.annotations:
            found.append(f"annotations={self.dictionary(dict(stmt.annotations))}")
        return f"T.alloc_buffer({', '.join(found)})"

    def allocated_buffer(self, buffer: st.Buffer) -> None:
        arguments = self.buffer_arguments(buffer)
        self.line(f"{self.name_buffer(buffer)} = T.alloc_buffer({arguments})")

    def store(self, stmt: st.BufferStore) -> None:
        if stmt.predicate is not None:
            raise DiagnosticException(
                "tir.store: TVM 0.27 has no stores with a predicate; use tir.if"
            )
        super().store(stmt)

    def prefetch(self, stmt: st.Prefetch) -> None:
        raise DiagnosticException("tir.prefetch: TVM 0.27 has no form for it; remove it")

    def scope(self, stmt: st.Scope, *, is_last: bool) -> None:
        self.statements(stmt.body)

    def attr(self, stmt: st.AttrStmt) -> str:
        if stmt.key == "realize_scope":
            raise DiagnosticException(
                "tir.buffer_realize: TVM 0.27 has no form for it; allocate the buffer"
            )
        return super().attr(stmt)

    def launch_thread(self, stmt: st.LaunchThread) -> tuple[str, str | None]:
        if stmt.virtual != (stmt.tag == "vthread"):
            raise DiagnosticException(
                f'tir.launch_thread: TVM 0.27 launches "{stmt.tag}" as '
                f"{'a thread of its own' if stmt.virtual else 'a virtual thread'}; use "
                "another tag"
            )
        return super().launch_thread(stmt)

    def new_var(self, var: ex.Var) -> str:
        return super().new_var(ex.Var(var.name, var.type))

"""Functions as the lines of a script (docs/spec/tvmscript.md §10.3, §10.4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import ClassVar, cast

from xdsl.dialects.builtin import f32, i1
from xdsl.utils.exceptions import DiagnosticException

from xdsl_tvm.dialects import tir
from xdsl_tvm.tvmscript.nodes import expressions as ex
from xdsl_tvm.tvmscript.nodes import statements as st
from xdsl_tvm.tvmscript.nodes.expressions import Expr, Var, operands
from xdsl_tvm.tvmscript.printing.expressions import (
    ExpressionText,
    Piece,
    Spelling,
    Style,
    annotation,
    dtype_string,
    end_of,
    has_constructor,
    number,
    string,
)
from xdsl_tvm.tvmscript.printing.lines import ScriptLines
from xdsl_tvm.tvmscript.printing.names import identifier
from xdsl_tvm.tvmscript.printing.usage import Anchor, Usage, usage_of
from xdsl_tvm.tvmscript.reading.completion import needs_root
from xdsl_tvm.tvmscript.reading.linear_form import is_same
from xdsl_tvm.tvmscript.ssa.statement_readers import is_axis_of

_AXES = {
    tir.IterKind.SPATIAL: "spatial",
    tir.IterKind.REDUCE: "reduce",
    tir.IterKind.SCAN: "scan",
    tir.IterKind.OPAQUE: "opaque",
}
_LOOPS = {
    tir.ForKind.SERIAL: "T.serial",
    tir.ForKind.PARALLEL: "T.parallel",
    tir.ForKind.VECTORIZED: "T.vectorized",
    tir.ForKind.UNROLLED: "T.unroll",
    tir.ForKind.THREAD_BINDING: "T.thread_binding",
}
_SYMBOL = "global_symbol"


class FunctionPrinter(ScriptLines):
    """Writes one function."""

    VIEW: ClassVar[str] = "Buffer"
    """What declares a buffer on a pointer that nothing else declares."""

    def __init__(self, style: Style, module: str = "Module") -> None:
        super().__init__(style.indent)
        self._version = style.version
        self._sugar = style.sugar
        self._names.reserve(module)
        self.known: dict[Var | st.Buffer, str] = {}
        self._usage = Usage()
        self._loops: dict[Var, st.For] = {}
        spelling = Spelling(self._name_of, self.named, style, module)
        self._expressions = ExpressionText(spelling)

    def dictionary(self, values: dict[str, object]) -> str:
        """Attributes as a dictionary."""
        return self._expressions.dictionary(values)

    # ---- lines and names ----

    def text(self, *pieces: Piece) -> str:
        """Expressions and text in a row."""
        return self._expressions.text(*pieces)

    def _name_of(self, item: Var | st.Buffer) -> str:
        name = self.known.get(item)
        if name is None:
            raise DiagnosticException(
                f"the {'variable' if isinstance(item, Var) else 'buffer'} {item.name} is "
                "used where nothing has defined it"
            )
        return name

    def named(self, item: Var | st.Buffer, hint: str | None = None) -> str:
        """Give a variable or a buffer a name, until the frame ends."""
        name = self._names.fresh(item.name if hint is None else hint)
        self.known[item] = name
        return name

    def name_buffer(self, buffer: st.Buffer) -> str:
        """Give a buffer a name, and its pointer if that has none."""
        name = self.named(buffer)
        self.known.setdefault(buffer.data, f"{name}.data")
        return name

    def _define_free(self, anchor: Anchor, *, but: Iterable[Var] = ()) -> None:
        """Define what the statement uses and nothing defines."""
        left_out = set(but)
        sizes: list[Var] = []
        for name in self._usage.free_before(anchor):
            if name in self.known or name in left_out:
                continue
            if isinstance(name, st.Buffer):
                self._define_buffer(name)
            elif name in self._usage.shared_threads:
                self.line(f"{self.named(name)} = {_env_thread(name)}")
            else:
                sizes.append(name)
        if isinstance(anchor, st.Buffer) and len(sizes) > 1:
            names = ", ".join(map(self.named, sizes))
            self.line(f"{names} = {', '.join(map(self.new_var, sizes))}")
            return
        for var in sizes:
            self.line(f"{self.named(var)} = {self.new_var(var)}")

    def _define_buffer(self, buffer: st.Buffer) -> None:
        is_view = buffer.data in self.known
        arguments = self.buffer_arguments(buffer, with_data=is_view)
        call = self.VIEW if is_view else "Buffer"
        self.line(f"{self.name_buffer(buffer)} = T.{call}({arguments})")

    def new_var(self, var: Var) -> str:
        """What makes a variable that nothing in the function defines."""
        if isinstance(var.type, tir.PtrType):
            return annotation(var.type)
        if not has_constructor(var.type):
            kind = "SizeVar" if var.size_var else "Var"
            return f'T.{kind}("", {dtype_string(var.type)})'
        return f"{annotation(var.type)}({'is_size_var=True' if var.size_var else ''})"

    # ---- functions ----

    def function(self, function: st.PrimFunc, name: str) -> None:
        """The function under the name that it has in its module."""
        self._usage = usage_of(function)
        options = self.options(function)
        self.line(f"@T.prim_func({options})" if options else "@T.prim_func")
        parameters, matched = self._parameters(function)
        result = ""
        if function.ret_type is not None:
            result = f" -> {annotation(function.ret_type)}"
        self.line(f"def {identifier(name)}({', '.join(parameters)}){result}:")
        start = len(self.lines)
        with self._frame():
            attrs = dict(function.attrs)
            if attrs.get(_SYMBOL) == identifier(name):
                del attrs[_SYMBOL]
            if attrs:
                self.line(f"T.func_attr({self.attributes(attrs)})")
            for param, buffer in matched:
                self._match_buffer(buffer, self.known[param])
            for buffer in function.alloc_buffers:
                self._alloc_buffer(buffer)
            self._function_body(function)
            if len(self.lines) == start:
                self.line("T.evaluate(0)")

    def attributes(self, attrs: dict[str, object]) -> str:
        """The attributes of the function as a dictionary."""
        return self.dictionary(attrs)

    def options(self, function: st.PrimFunc) -> str:
        """The arguments of the decorator."""
        return "private=True" if function.private else ""

    def _parameters(
        self, function: st.PrimFunc
    ) -> tuple[list[str], list[tuple[Var, st.Buffer]]]:
        """The parameters as written, and those whose buffers have statements."""
        written: list[str] = []
        pointers = Counter(buffer.data for buffer in function.buffer_map.values())
        shared = {pointer for pointer, count in pointers.items() if count > 1}
        inlined: set[Var] = set()
        for param in function.params:
            buffer = function.buffer_map.get(param)
            if buffer is not None and self._can_inline(param, buffer, shared):
                inlined.add(param)
                shape = self.shape(buffer.shape)
                name = self.name_buffer(buffer)
                written.append(f"{name}: T.Buffer({shape}, {dtype_string(buffer.type)})")
            else:
                written.append(f"{self.named(param)}: {_annotation(param)}")
        matched = [
            (param, buffer)
            for param, buffer in function.buffer_map.items()
            if param not in inlined
        ]
        return written, matched

    def _can_inline(self, param: Var, buffer: st.Buffer, shared: set[Var]) -> bool:
        return (
            self._sugar
            and not self._usage.counts.get(param)
            and buffer.data not in shared
            and not buffer.strides
            and not buffer.has_offset
            and buffer.scope() == "global"
            and buffer.data_alignment == 64
            and buffer.offset_factor == 1
            and buffer.kind is tir.BufferKind.DEFAULT
            and not buffer.axis_separators
            and all(ex.literal(extent) is not None for extent in buffer.shape)
            and _holds(buffer)
        )

    def _function_body(self, function: st.PrimFunc) -> None:
        root = _implicit_root(function) if self._sugar else None
        if root is None:
            self.statements(function.body)
            return
        self._define_free(root)
        self.line(f'# with T.{self._version.block}("root"):')
        self._define_free(root.iters)
        for buffer in root.alloc_buffers:
            self._alloc_buffer(buffer)
        self.statements(root.body)

    # ---- buffers ----

    def shape(self, shape: Sequence[Expr]) -> str:
        """Extents as a tuple."""
        texts = [self.text(extent) for extent in shape]
        return f"({texts[0]},)" if len(texts) == 1 else f"({', '.join(texts)})"

    def _is_new(self, value: Expr, buffer: st.Buffer) -> bool:
        """Whether a stride or an offset is a variable that only this field has, which
        declaring the buffer makes anew."""
        return (
            isinstance(value, Var)
            and value not in self.known
            and self._usage.counts.get(value) == 1
            and not value.size_var
            and value.type == (buffer.shape[0].type if buffer.shape else value.type)
            and bool(buffer.shape)
        )

    def _own_vars(self, buffer: st.Buffer) -> list[Var]:
        """The variables that the declaration of a buffer makes."""
        fields = (*buffer.strides, buffer.elem_offset)
        return [v for v in fields if isinstance(v, Var) and self._is_new(v, buffer)]

    def buffer_arguments(
        self, buffer: st.Buffer, *, data: str | None = None, with_data: bool = False
    ) -> str:
        """What a constructor of buffers takes."""
        found = [self.shape(buffer.shape)]
        if buffer.type != f32:
            found.append(dtype_string(buffer.type))
        if with_data and data is None:
            data = self._name_of(buffer.data)
        if data is not None:
            found.append(f"data={data}")
        found += self.layout_arguments(buffer)
        return ", ".join(found)

    def layout_arguments(self, buffer: st.Buffer) -> list[str]:
        """The keyword arguments of a constructor of buffers."""
        found: list[str] = []
        own = set(self._own_vars(buffer))
        if buffer.strides:
            strides = [
                string(s.name or "stride") if s in own else self.text(s)
                for s in cast("tuple[Var, ...]", buffer.strides)
            ]
            found.append(f"strides=[{', '.join(strides)}]")
        is_own_offset = buffer.elem_offset in own
        has_factor = buffer.offset_factor != 1
        if not is_own_offset and (buffer.has_offset or has_factor):
            found.append(f"elem_offset={self.text(buffer.elem_offset)}")
        if buffer.scope() != "global":
            found.append(f"scope={string(buffer.scope())}")
        if buffer.data_alignment != 64:
            found.append(f"align={buffer.data_alignment}")
        if is_own_offset or has_factor:
            found.append(f"offset_factor={buffer.offset_factor}")
        if buffer.kind is not tir.BufferKind.DEFAULT:
            found.append('buffer_type="auto"')
        if buffer.axis_separators:
            found.append(f"axis_separators={list(buffer.axis_separators)}")
        return found

    def _match_buffer(self, buffer: st.Buffer, source: str) -> None:
        self._define_free(buffer, but=self._own_vars(buffer))
        arguments = self.buffer_arguments(buffer)
        name = self.name_buffer(buffer)
        self.line(f"{name} = T.match_buffer({source}, {arguments})")

    def _alloc_buffer(self, buffer: st.Buffer) -> None:
        self._define_free(buffer)
        arguments = self.buffer_arguments(buffer)
        function = self._version.alloc_buffer
        self.line(f"{self.name_buffer(buffer)} = T.{function}({arguments})")

    # ---- bodies ----

    def _body(self, body: Sequence[st.Stmt]) -> None:
        """A body in a frame of its own."""
        with self._frame():
            start = len(self.lines)
            self.statements(body)
            if len(self.lines) == start:
                self.line("T.evaluate(0)")

    def statements(self, body: Sequence[st.Stmt]) -> None:
        """A list of statements at the current depth."""
        last = len(body) - 1
        skip = False
        for index, stmt in enumerate(body):
            if skip:
                skip = False
                continue
            following = body[index + 1] if index < last else None
            self._define_free(stmt)
            if isinstance(stmt, st.Allocate) and self._is_declared(stmt, following):
                skip = True
                assert isinstance(following, st.DeclBuffer)
                self.allocated_buffer(following.buffer)
            else:
                self._statement(stmt, is_last=index == last)

    def _statement(self, stmt: st.Stmt, *, is_last: bool) -> None:
        match stmt:
            case st.BufferStore():
                self.store(stmt)
            case st.Evaluate():
                self._evaluate(stmt.value)
            case st.Return():
                self._return(stmt.value)
            case st.Prefetch():
                self.prefetch(stmt)
            case st.For():
                self._for(stmt)
            case st.While():
                self.line(f"while {self.text(stmt.condition)}:")
                self._body(stmt.body)
            case st.If():
                self._if(stmt)
            case st.Block():
                self._block(stmt)
            case st.Scope():
                self.scope(stmt, is_last=is_last)
            case st.AttrStmt() | st.LaunchThread():
                self._nesting(stmt, is_last=is_last)
            case _:
                self.line(self.binding(stmt))

    def store(self, stmt: st.BufferStore) -> None:
        """One store."""
        value = self.text(stmt.value)
        name = self._name_of(stmt.buffer)
        if stmt.predicate is None:
            place = self.text(*self._expressions.indices(stmt.buffer, stmt.indices))
            self.line(f"{name}{place} = {value}")
            return
        indices = ", ".join(map(self.text, stmt.indices))
        mask = self.text(stmt.predicate)
        self.line(f"{name}.vstore([{indices}], {value}, predicate={mask})")

    def _evaluate(self, value: Expr) -> None:
        if isinstance(value, ex.Call) and value.name == "ret" and len(value.args) == 1:
            self._return(cast(Expr, value.args[0]))
        elif isinstance(value, ex.Call | ex.CallFunc):
            self.line(self.text(value))
        else:
            self.line(f"T.evaluate({self.text(value)})")

    def _return(self, value: Expr) -> None:
        text = self.text(value)
        self.line(f"return {text}" if self._sugar else f"T.evaluate(T.ret({text}))")

    def prefetch(self, stmt: st.Prefetch) -> None:
        """One prefetch."""
        ranges = ", ".join(
            f"T.Range({self.text(each.min)}, {self.text(end_of(each))})"
            for each in stmt.region.region
        )
        self.line(f"T.prefetch({self._name_of(stmt.region.buffer)}, [{ranges}])")

    def _if(self, stmt: st.If) -> None:
        self.line(f"if {self.text(stmt.condition)}:")
        self._body(stmt.body)
        if stmt.orelse is not None:
            self.line("else:")
            self._body(stmt.orelse)

    # ---- bindings ----

    def binding(self, stmt: st.Stmt) -> str:
        """A statement that holds for the rest of the body, in its concise form."""
        match stmt:
            case st.LetStmt():
                value = self.text(stmt.value)
                name = self.named(stmt.var)
                if has_annotation(stmt.var):
                    return f"{name}: {_annotation(stmt.var)} = {value}"
                return f"{name} = T.LetStmt({value})"
            case st.AssertStmt():
                condition, message = self.text(stmt.condition), self.text(stmt.message)
                if isinstance(stmt.message, ex.StringImm):
                    return f"assert {condition}, {message}"
                return f"T.Assert({condition}, {message})"
            case st.Allocate() | st.AllocateConst() | st.DeclBuffer():
                call, item = self._memory(stmt)
                return f"{self._named_item(item)} = {call}"
            case _:
                raise DiagnosticException(
                    f"{type(stmt).__name__}: has no spelling in TVMScript here"
                )

    def _named_item(self, item: Var | st.Buffer) -> str:
        return self.named(item) if isinstance(item, Var) else self.name_buffer(item)

    def _scoped(self, stmt: st.Stmt) -> str:
        """A statement that holds for a body of its own, as the head of a `with`."""
        match stmt:
            case st.LetStmt():
                value = self.text(stmt.value)
                if isinstance(stmt.var.type, tir.PtrType):
                    value = f"{value}, {_annotation(stmt.var)}"
                return f"with T.LetStmt({value}) as {self.named(stmt.var)}:"
            case st.AssertStmt():
                condition, message = self.text(stmt.condition), self.text(stmt.message)
                return f"with T.Assert({condition}, {message}):"
            case _:
                call, item = self._memory(stmt)
                return f"with {call} as {self._named_item(item)}:"

    def _memory(self, stmt: st.Stmt) -> tuple[str, Var | st.Buffer]:
        """The call that allocates or declares, and what it binds."""
        match stmt:
            case st.Allocate():
                return self._allocate(stmt), stmt.var
            case st.AllocateConst():
                return self._allocate_const(stmt), stmt.var
            case st.DeclBuffer():
                data = None if stmt.data is None else self.text(stmt.data)
                arguments = self.buffer_arguments(stmt.buffer, data=data, with_data=True)
                name = "Buffer" if stmt.implicit else "decl_buffer"
                return f"T.{name}({arguments})", stmt.buffer
            case _:
                raise DiagnosticException(
                    f"{type(stmt).__name__}: has no spelling in TVMScript here"
                )

    def _allocate(self, stmt: st.Allocate) -> str:
        pointer = stmt.var.type
        assert isinstance(pointer, tir.PtrType)
        extents = ", ".join(map(self.text, stmt.extents))
        found = [f"[{extents}]", dtype_string(pointer.element_type)]
        found.append(string(pointer.scope.data))
        if stmt.condition is not None and not is_true(stmt.condition):
            found.append(self.text(stmt.condition))
        if stmt.annotations:
            found.append(f"annotations={self.dictionary(dict(stmt.annotations))}")
        return f"T.allocate({', '.join(found)})"

    def _allocate_const(self, stmt: st.AllocateConst) -> str:
        pointer = stmt.var.type
        assert isinstance(pointer, tir.PtrType)
        elements = ", ".join(map(_element, stmt.data.reshape(-1).tolist()))
        found = [f"[{elements}]", dtype_string(pointer.element_type)]
        found.append(str(list(stmt.extents)))
        if stmt.annotations:
            found.append(f"annotations={self.dictionary(dict(stmt.annotations))}")
        return f"T.allocate_const({', '.join(found)})"

    def _is_declared(self, stmt: st.Allocate, following: st.Stmt | None) -> bool:
        """Whether the buffer after an allocation stands for both."""
        if not self._sugar or not isinstance(following, st.DeclBuffer):
            return False
        buffer, pointer = following.buffer, stmt.var.type
        return (
            buffer.data is stmt.var
            and following.data is None
            and not following.implicit
            and isinstance(pointer, tir.PtrType)
            and pointer.element_type == buffer.type
            and (stmt.condition is None or is_true(stmt.condition))
            and not stmt.annotations
            and len(stmt.extents) == len(buffer.shape)
            and all(map(is_same, stmt.extents, buffer.shape))
        )

    def allocated_buffer(self, buffer: st.Buffer) -> None:
        """A buffer with memory of its own."""
        arguments = self.buffer_arguments(buffer)
        self.line(f"{self.name_buffer(buffer)} = T.decl_buffer({arguments})")

    # ---- scopes ----

    def scope(self, stmt: st.Scope, *, is_last: bool) -> None:
        """Bindings that end before the body does: in a `with`. Statements before the
        first of them are outside."""
        if is_last:
            self.statements(stmt.body)
            return
        for index, each in enumerate(stmt.body):
            self._define_free(each)
            following = stmt.body[index + 1] if index + 1 < len(stmt.body) else None
            rest = stmt.body[index + 1 :]
            if isinstance(each, st.Allocate) and self._is_declared(each, following):
                assert isinstance(following, st.DeclBuffer)
                arguments = self.buffer_arguments(following.buffer)
                self._names.enter()
                name = self.name_buffer(following.buffer)
                self._with(f"with T.decl_buffer({arguments}) as {name}:", rest[1:])
                return
            if isinstance(each, _BINDINGS) and not _is_implicit(each):
                self._names.enter()
                self._with(self._scoped(each), rest)
                return
            self._statement(each, is_last=False)

    def _with(self, head: str, body: Sequence[st.Stmt]) -> None:
        """A `with` whose names were given in a frame that ends with it."""
        self.line(head)
        self._body(body)
        self._names.leave()

    def _nesting(self, stmt: st.AttrStmt | st.LaunchThread, *, is_last: bool) -> None:
        """A statement around others: concise where it is the last one."""
        self._names.enter()
        if isinstance(stmt, st.LaunchThread):
            head, name = self.launch_thread(stmt)
        else:
            head, name = self.attr(stmt), None
        body = stmt.body
        if _realized(stmt) is not None:
            body = body[1:]
        if is_last:
            self.line(head if name is None else f"{name} = {head}")
            start = len(self.lines)
            self.statements(body)
            if len(self.lines) == start:
                self.line("T.evaluate(0)")
        else:
            binder = "" if name is None else f" as {name}"
            self.line(f"with {head}{binder}:")
            self._body(body)
        self._names.leave()

    def attr(self, stmt: st.AttrStmt) -> str:
        """The head of an annotation around statements."""
        realize = _realized(stmt)
        if realize is not None:
            region = st.BufferRegion(realize.buffer, realize.bounds)
            found = [
                self.text(*self._expressions.region(region)),
                self.text(stmt.value),
            ]
            if realize.condition is not None and not is_true(realize.condition):
                found.append(f"condition={self.text(realize.condition)}")
            return f"T.realize({', '.join(found)})"
        # The parameters of a reducer's lambda are names inside of it only.
        self._names.enter()
        node = self._expressions.value(stmt.node)
        self._names.leave()
        return f"T.attr({node}, {string(stmt.key)}, {self.text(stmt.value)})"

    def launch_thread(self, stmt: st.LaunchThread) -> tuple[str, str | None]:
        """The head of the statement, and the name that it binds, if it does."""
        extent = self.text(stmt.extent)
        is_shared = stmt.var in self._usage.shared_threads
        is_plain = stmt.virtual == (stmt.tag == "vthread")
        if is_plain and not is_shared:
            return f"T.launch_thread({string(stmt.tag)}, {extent})", self.named(stmt.var)
        if not is_shared:
            self.line(f"{self.named(stmt.var)} = {_env_thread(stmt.var)}")
        name = self._name_of(stmt.var)
        if is_plain:
            return f"T.launch_thread({name}, {extent})", None
        key = "virtual_thread" if stmt.virtual else "thread_extent"
        return f'T.attr({name}, "{key}", {extent})', None

    # ---- loops ----

    def _for(self, stmt: st.For) -> None:
        loops = self._grid(stmt) if self._sugar else [stmt]
        if len(loops) > 1:
            extents = ", ".join(self.text(loop.extent) for loop in loops)
            iterator = f"T.grid({extents})"
        else:
            iterator = self._loop(stmt)
        self._names.enter()
        names = ", ".join(self.named(loop.var) for loop in loops)
        self._loops.update((loop.var, loop) for loop in loops)
        self.line(f"for {names} in {iterator}:")
        self._body(loops[-1].body)
        self._names.leave()

    def _loop(self, stmt: st.For) -> str:
        bounds = [self.text(stmt.extent)]
        if ex.literal(stmt.min) != 0:
            bounds = [self.text(stmt.min), self.text(end_of(_range_of(stmt)))]
        if stmt.thread_tag is not None:
            bounds.append(f"thread={string(stmt.thread_tag)}")
        if stmt.annotations:
            bounds.append(f"annotations={self.dictionary(dict(stmt.annotations))}")
        name = _LOOPS[stmt.kind]
        if stmt.kind is tir.ForKind.SERIAL and not stmt.annotations and self._sugar:
            name = "range"
        return f"{name}({', '.join(bounds)})"

    def _grid(self, stmt: st.For) -> list[st.For]:
        """Loops that are nested directly and can be one `T.grid`."""
        found = [stmt]
        if not _is_plain(stmt):
            return found
        variables = {stmt.var}
        while len(found[-1].body) == 1:
            inner = found[-1].body[0]
            if not isinstance(inner, st.For) or not _is_plain(inner):
                break
            if self._usage.free_before(inner) or _mentions(inner.extent, variables):
                break
            variables.add(inner.var)
            found.append(inner)
        return found

    # ---- blocks ----

    def _block(self, stmt: st.Block) -> None:
        axes = [self._axis_text(each) for each in stmt.iters]
        self.line(f"with T.{self._version.block}({string(stmt.name)}):")
        with self._frame():
            self._iterators(stmt.iters, axes)
            self._define_free(stmt.iters)
            if stmt.predicate is not None and not is_true(stmt.predicate):
                self.line(f"T.where({self.text(stmt.predicate)})")
            self.line(f"T.reads({self._regions(stmt.reads)})")
            self.line(f"T.writes({self._regions(stmt.writes)})")
            if stmt.annotations:
                self.line(
                    f"T.{self._version.block}_attr({self.dictionary(dict(stmt.annotations))})"
                )
            for buffer in stmt.alloc_buffers:
                self._alloc_buffer(buffer)
            for match_ in stmt.match_buffers:
                source = self.text(*self._expressions.region(match_.source))
                self._match_buffer(match_.buffer, source)
            if stmt.init is not None:
                self._define_free(stmt.init)
                self.line("with T.init():")
                self._body(stmt.init)
            start = len(self.lines)
            self.statements(stmt.body)
            if len(self.lines) == start:
                self.line("T.evaluate(0)")

    def _regions(self, regions: Sequence[st.BufferRegion] | None) -> str:
        texts = (self.text(*self._expressions.region(each)) for each in regions or ())
        return ", ".join(texts)

    def _axis_text(self, each: st.IterVar) -> str:
        domain = self.text(each.dom.extent)
        if ex.literal(each.dom.min) != 0:
            domain = f"({self.text(each.dom.min)}, {self.text(end_of(each.dom))})"
        return f"T.axis.{_AXES[each.kind]}({domain}, {self.text(each.binding)})"

    def _iterators(self, iters: Sequence[st.IterVar], axes: Sequence[str]) -> None:
        run: list[st.IterVar] = []
        for each, axis in zip(iters, axes, strict=True):
            if self._can_remap(each):
                run.append(each)
                continue
            self._remap(run)
            run = []
            self.line(f"{self.named(each.var)} = {axis}")
        self._remap(run)

    def _can_remap(self, each: st.IterVar) -> bool:
        binding = each.binding
        loop = self._loops.get(binding) if isinstance(binding, Var) else None
        return loop is not None and is_axis_of(each, loop) and self._is_remapped(each)

    def _is_remapped(self, each: st.IterVar) -> bool:
        # The domain of other dtypes than those of indices is kept by a remap only.
        return self._sugar or not tir.is_index_type(each.var.type)

    def _remap(self, run: Sequence[st.IterVar]) -> None:
        if len(run) == 1 and tir.is_index_type(run[0].var.type):
            self.line(f"{self.named(run[0].var)} = {self._axis_text(run[0])}")
        elif run:
            names = ", ".join(self.named(each.var) for each in run)
            kinds = "".join(each.kind.value for each in run)
            bindings = ", ".join(self.text(each.binding) for each in run)
            self.line(f'{names} = T.axis.remap("{kinds}", [{bindings}])')


_BINDINGS = (st.LetStmt, st.AssertStmt, st.Allocate, st.AllocateConst, st.DeclBuffer)


def _is_implicit(stmt: st.Stmt) -> bool:
    return isinstance(stmt, st.DeclBuffer) and stmt.implicit


def _realized(stmt: st.Stmt) -> st.BufferRealize | None:
    """The buffer that an attribute gives a storage scope."""
    if isinstance(stmt, st.AttrStmt) and stmt.key == "realize_scope" and stmt.body:
        first = stmt.body[0]
        if isinstance(first, st.BufferRealize) and first.buffer is stmt.node:
            return first
    return None


def has_annotation(var: Var) -> bool:
    """Whether a script can annotate a binding with the type of the variable."""
    return isinstance(var.type, tir.PtrType) or has_constructor(var.type)


def _annotation(var: Var) -> str:
    if has_annotation(var):
        return annotation(var.type)
    return f'T.Var("", {dtype_string(var.type)})'


def _env_thread(var: Var) -> str:
    name = var.thread_tag or ""
    dtype = tir.dtype_name(var.type)
    suffix = "" if dtype == "int32" else f', dtype="{dtype}"'
    return f"T.env_thread({string(name)}{suffix})"


def _element(value: object) -> str:
    if isinstance(value, float):
        if value != value or value in (float("inf"), float("-inf")):
            return f'float("{value}")'
        return number(value)
    return str(value)


def _holds(buffer: st.Buffer) -> bool:
    """Whether the pointer is the one that declaring the buffer makes."""
    pointer = buffer.data.type
    return isinstance(pointer, tir.PtrType) and pointer.element_type == buffer.type


def is_true(value: Expr) -> bool:
    return value.type == i1 and ex.literal(value) == 1


def _is_plain(loop: st.For) -> bool:
    return (
        loop.kind is tir.ForKind.SERIAL
        and not loop.annotations
        and ex.literal(loop.min) == 0
    )


def _mentions(root: Expr, variables: set[Var]) -> bool:
    stack = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, Var) and node in variables:
            return True
        stack += operands(node)
    return False


def _range_of(loop: st.For) -> st.Range:
    return st.Range(loop.min, loop.extent)


def _implicit_root(function: st.PrimFunc) -> st.Block | None:
    """The body, if it is the root block that reading the script makes by itself.

    docs/spec/tvmscript.md §9.
    """
    if len(function.body) != 1 or function.alloc_buffers:
        return None
    root = function.body[0]
    if not isinstance(root, st.Block) or not _is_bare(root):
        return None
    return root if root.alloc_buffers or needs_root(root.body) else None


def _is_bare(block: st.Block) -> bool:
    return not (
        block.iters
        or block.annotations
        or block.match_buffers
        or block.reads
        or block.writes
        or block.init is not None
        or (block.predicate is not None and not is_true(block.predicate))
    )

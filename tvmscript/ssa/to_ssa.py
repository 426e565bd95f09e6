"""Node trees of TVMScript as ops of the `tir` dialect (docs/spec/tvmscript.md §15).

The expressions of a statement become ops immediately before it, left to right and
operands first, in a block of their own where they are evaluated lazily. What scripts
leave unsaid is made explicit: symbolic extents are declared before the first match that
names them, and buffers that are used without a declaration in the innermost scope that
holds all uses. An expression object that is in several places of one statement is
computed once, unless it has an effect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias, TypeVar, cast

from xdsl.dialects.builtin import (
    DictionaryAttr,
    LocationAttr,
    StringAttr,
    UnitAttr,
)
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.ir_module import IRModule
from xdsl_tvm.dialects.name_hints import set_name_hint
from xdsl_tvm.dialects.tir.annotations import annotation_attr
from xdsl_tvm.dialects.tir.assembly import Mixed
from xdsl_tvm.dialects.tir.module import GLOBAL_INFOS, MODULE_ATTRS, VDEVICES
from xdsl_tvm.dialects.tir.threads import Identity
from xdsl_tvm.tvmscript.nodes import expressions as ex
from xdsl_tvm.tvmscript.nodes import statements as st
from xdsl_tvm.tvmscript.nodes.expressions import Expr, ScriptTypeError, Var, operands
from xdsl_tvm.tvmscript.nodes.operators import IndexMap
from xdsl_tvm.tvmscript.nodes.statements import Buffer, BufferRegion, Stmt
from xdsl_tvm.tvmscript.printing.index_maps import index_map_attr
from xdsl_tvm.tvmscript.printing.usage import usage_of
from xdsl_tvm.tvmscript.ssa.expression_ops import (
    ExpressionOps,
    acts,
    immediate,
    place_of,
)
from xdsl_tvm.tvmscript.ssa.node_facts import (
    DEFINITIONS,
    axis_name,
    buffer_type,
    buffers_of,
    contents_of,
    index_type_of,
    is_rolling,
    listed,
    may_wrap,
    realized_buffers,
)


class StatementError(ScriptTypeError):
    """A statement that cannot become an op; `line` and `column` say where it is."""

    def __init__(self, message: str, line: int | None, column: int | None) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


Locate: TypeAlias = Callable[[int | None, int | None], LocationAttr]
"""The location of operations of the statement at a line and a column."""


def module_to_ssa(module: st.IRModule, locate: Locate | None = None) -> IRModule:
    """The module of node trees that have been completed (docs/spec/tvmscript.md §9).

    Operations have the locations that `locate` tells for their statements. The result is
    not verified. Raises StatementError for what has no meaning, such as a variable that
    is used outside of its scope.
    """
    functions = [
        _Function(function, module.functions, locate).build()
        for function in module.functions.values()
    ]
    result = IRModule()
    result.body.block.add_ops(functions)
    result.attributes.update(_module_attributes(module))
    return result


def _module_attributes(module: st.IRModule) -> dict[str, Attribute]:
    """Attributes and global infos of a module where the dialects have them."""
    found: dict[str, Attribute] = {}
    if module.attrs:
        found[MODULE_ATTRS] = DictionaryAttr(_attributes(module.attrs))
    infos = dict(module.global_infos)
    if devices := infos.pop("vdevice", None):
        found[VDEVICES] = _annotation(devices)
    if infos:
        found[GLOBAL_INFOS] = _annotation(infos)
    return found


def function_to_ssa(function: st.PrimFunc) -> tir.FuncOp:
    """The op of one function; see `module_to_ssa`."""
    return _Function(function, {function.name: function}).build()


def _annotation(value: object) -> Attribute:
    """The attribute of an annotation; immediates keep their dtype."""
    try:
        return annotation_attr(_without_nodes(value))
    except ValueError as error:
        raise ScriptTypeError(str(error)) from None


def _without_nodes(value: object) -> object:
    match value:
        case ex.IntImm() | ex.FloatImm() | ex.StringImm():
            return immediate(value)
        case IndexMap():
            return index_map_attr(value)
        case Expr() | Buffer():
            raise ScriptTypeError(
                "an annotation must be a constant, not an expression or a buffer; write "
                "a number, a string, a list or a dictionary"
            )
        case dict():
            items = cast("dict[str, object]", value).items()
            return {key: _without_nodes(item) for key, item in items}
        case list() | tuple():
            return [_without_nodes(item) for item in cast("Sequence[object]", value)]
        case _:
            return value


def _attributes(values: Mapping[str, object]) -> dict[str, Attribute]:
    for key in values:
        # What a script gives is not checked by a type checker.
        if not isinstance(cast(object, key), str):
            raise ScriptTypeError(f"the name of an attribute must be a string, got {key}")
    return {key: _annotation(value) for key, value in values.items()}


def _dictionary(annotations: Mapping[str, object]) -> DictionaryAttr | None:
    return DictionaryAttr(_attributes(annotations)) if annotations else None


@dataclass(slots=True)
class _Body:
    """A list of statements that goes into a block."""

    stmts: Iterator[Stmt]
    last: Stmt | None
    block: Block
    start: Callable[[], None]
    """Runs once, before the first statement."""
    mark: int = -1
    """The length of the trail when it started; -1 until then."""


def _nothing() -> None:
    pass


class _Function(ExpressionOps):
    """Makes one function. Neither deep expressions nor deep statements recurse."""

    def __init__(
        self,
        function: st.PrimFunc,
        functions: Mapping[str, st.PrimFunc],
        locate: Locate | None = None,
    ) -> None:
        super().__init__(functions)
        self._locate_at = locate
        self.function = function
        self.usage = usage_of(function)
        self._realized = realized_buffers(function.body)
        self._bodies: list[_Body] = []
        self._envs: dict[Var, str] = {}

    def build(self) -> tir.FuncOp:
        function = self.function
        entry = Block(arg_types=[param.type for param in function.params])
        self.block = entry
        for param, arg in zip(function.params, entry.args, strict=True):
            self.values[param] = arg
            set_name_hint(arg, param.name)
        self._locate(function)
        _at(function, self._match_params)
        self._open(function.body, entry)
        self._run()
        return _at(function, lambda: self._func_op(entry))

    def _func_op(self, entry: Block) -> tir.FuncOp:
        function = self.function
        constants = list(self.constants.values())
        if entry.first_op is None:
            entry.add_ops(constants)
        else:
            entry.insert_ops_before(constants, entry.first_op)
        attributes = _attributes(function.attrs)
        if not function.private and "global_symbol" not in attributes:
            attributes["global_symbol"] = StringAttr(function.name)
        outputs = [] if function.ret_type is None else [function.ret_type]
        op = tir.FuncOp(
            function.name,
            ([param.type for param in function.params], outputs),
            Region(entry),
            attributes=attributes,
            param_names=[param.name for param in function.params],
        )
        self._locate(function)
        op.location = self.location
        return op

    def _match_params(self) -> None:
        if self.function.alloc_buffers:
            raise ScriptTypeError(
                f"function {self.function.name} allocates buffers outside of blocks, and "
                "has no root block that takes them; complete it first"
            )
        for param, buffer in self.function.buffer_map.items():
            self.start()
            self._bind_pointer(buffer)
            layout, extents = self._layout(buffer, binds=True)
            source = self.values[param]
            self._define(
                buffer, tir.MatchBufferOp(source, buffer_type(buffer), extents, **layout)
            )

    def _locate(self, place: _HasPosition) -> None:
        if self._locate_at is not None:
            self.location = self._locate_at(place.line, place.column)

    # ---- scopes ----

    def _open(
        self,
        stmts: Sequence[Stmt],
        block: Block,
        start: Callable[[], None] = _nothing,
    ) -> None:
        """Have a list made next; of several, the one opened last comes first."""
        last = stmts[-1] if stmts else None
        self._bodies.append(_Body(iter(stmts), last, block, start))

    def _run(self) -> None:
        while self._bodies:
            body = self._bodies[-1]
            self.block = body.block
            if body.mark < 0:
                body.mark = len(self.trail)
                body.start()
                if self._bodies[-1] is not body:
                    continue
            stmt = next(body.stmts, None)
            if stmt is None:
                self._bodies.pop()
                self.undo(body.mark)
            else:
                self._stmt(stmt)

    def _define(self, buffer: Buffer, op: tir.BufferDefinition) -> None:
        """Add the op that defines a buffer, whose data pointer it may bring along."""
        self.add(op)
        set_name_hint(op.buffer, buffer.name)
        self.buffers[buffer] = op.buffer
        self.trail.append(lambda: self.buffers.pop(buffer, None))
        if not isinstance(op, tir.DeclBufferOp):
            self.pointers[buffer.data] = op.buffer
            self.trail.append(lambda: self.pointers.pop(buffer.data, None))

    def _bind_pointer(self, buffer: Buffer) -> None:
        if buffer.data in self.pointers or buffer.data in self.values:
            raise ScriptTypeError(
                f"buffer {buffer.name} brings its own pointer, but {buffer.data.name} is "
                "one already; use T.decl_buffer for a view"
            )

    def _declare_free(self, anchor: Any) -> None:
        """Declare the buffers that nothing declares and that are first used here."""
        for name in self.usage.free_before(anchor):
            if not isinstance(name, Buffer) or name in self._realized:
                continue
            if name not in self.buffers:
                self.decl_buffer(st.DeclBuffer(name, implicit=True))

    # ---- statements ----

    def _stmt(self, stmt: Stmt) -> None:
        emit = _STATEMENTS[type(stmt)]
        self._locate(stmt)

        def work() -> None:
            self.start()
            self._declare_free(stmt)
            emit(self, stmt)

        _at(stmt, work)

    def let(self, stmt: st.LetStmt) -> None:
        value = self.value(stmt.value)
        is_pointer = isinstance(stmt.var.type, tir.PtrType)
        op = tir.LetOp(
            value,
            name=stmt.var.name or "x",
            result_type=stmt.var.type if is_pointer else value.type,
        )
        self.add(op)
        self.bind_result(stmt.var, op.result)

    def assert_(self, stmt: st.AssertStmt) -> None:
        condition = self.value(stmt.condition)
        message = stmt.message
        if isinstance(message, ex.StringImm):
            self.add(tir.AssertOp(condition, message.value))
        else:
            self.add(tir.AssertOp(condition, self.value(message)))

    def store(self, stmt: st.BufferStore) -> None:
        value = self.value(stmt.value)
        indices = [self.value(index) for index in stmt.indices]
        predicate = None if stmt.predicate is None else self.value(stmt.predicate)
        self.add(tir.StoreOp(value, self.buffer(stmt.buffer), indices, predicate))

    def evaluate(self, stmt: st.Evaluate) -> None:
        value = stmt.value
        if isinstance(value, ex.Call):
            if value.name == "ret" and not value.args:
                self.add(tir.RetOp())
                return
            if value.name == "tvm_thread_allreduce":
                self._allreduce(value)
                return
        result = self.emitted(value)
        if result is not None and not acts(value):
            self.add(tir.EvaluateOp(result))

    def return_(self, stmt: st.Return) -> None:
        self.add(tir.RetOp(self.value(stmt.value)))

    def allocate(self, stmt: st.Allocate) -> None:
        pointer = stmt.var.type
        assert isinstance(pointer, tir.PtrType)
        extents = [self._mixed(extent) for extent in stmt.extents]
        condition = None if stmt.condition is None else self.value(stmt.condition)
        op = tir.AllocateOp(
            pointer,
            extents,
            condition=condition,
            annotations=_dictionary(stmt.annotations),
            name=stmt.var.name or "p",
        )
        self.add(op)
        self.bind_result(stmt.var, op.result)

    def allocate_const(self, stmt: st.AllocateConst) -> None:
        pointer = stmt.var.type
        assert isinstance(pointer, tir.PtrType)
        op = tir.AllocateConstOp(
            pointer,
            contents_of(stmt, pointer.element_type),
            annotations=_dictionary(stmt.annotations),
            name=stmt.var.name or "c",
        )
        self.add(op)
        self.bind_result(stmt.var, op.result)

    def decl_buffer(self, stmt: st.DeclBuffer) -> None:
        buffer = stmt.buffer
        data = self.value(buffer.data if stmt.data is None else stmt.data)
        layout, extents = self._layout(buffer)
        op = tir.DeclBufferOp(data, buffer_type(buffer), extents, **layout)
        if stmt.implicit:
            op.properties["implicit"] = UnitAttr()
        self._define(buffer, op)
        if stmt.data is not None and stmt.data is not buffer.data:
            self.bind(buffer.data, data)

    def attr(self, stmt: st.AttrStmt) -> None:
        if self._is_moved_to_definition(stmt):
            return
        if stmt.key == "buffer_bind_scope":
            self._bind_scope(stmt)
            return
        node = self._attr_node(stmt.node)
        value = stmt.value
        item: SSAValue | Attribute = (
            immediate(value)
            if isinstance(value, ex.IntImm | ex.FloatImm | ex.StringImm)
            else self.value(value)
        )
        op = tir.AttrOp(stmt.key, node, item)
        self.add(op)
        self._open(stmt.body, op.body.block)

    def _attr_node(self, node: object) -> SSAValue | Attribute:
        match node:
            case ex.IntImm() | ex.FloatImm() | ex.StringImm():
                return immediate(node)
            case Expr():
                return self.value(node)
            case Buffer():
                return self.buffer(node)
            case ex.Reducer():
                return self._reducer(node)
            case _:
                return _annotation(node)

    def _is_moved_to_definition(self, stmt: st.AttrStmt) -> bool:
        """Whether the attribute wraps the definition of its node: then it is an
        annotation of the op that defines it (docs/spec/tvmscript.md §15.8)."""
        pending: list[st.AttrStmt] = []
        inner: Stmt = stmt
        while isinstance(inner, st.AttrStmt) and may_wrap(inner):
            pending.append(inner)
            inner = inner.body[0]
        if not pending or not isinstance(inner, DEFINITIONS):
            return False
        rest = pending[-1].body[1:]
        holds_on = isinstance(inner, st.Allocate | st.BufferRealize)
        if rest and not holds_on:
            return False
        if not all(self._names(each, inner) for each in pending):
            return False
        if isinstance(inner, st.BufferRealize):
            # An attribute of the buffer, which TVM's pass looks for inside.
            while len(rest) == 1 and is_rolling(first := rest[0], inner.buffer):
                assert isinstance(first, st.AttrStmt)
                pending.append(first)
                rest = first.body
        annotations = {each.key: listed(each.value) for each in pending}
        if isinstance(inner, st.For | st.Allocate):
            annotations = {**inner.annotations, **annotations}

        def define() -> None:
            self._annotated(inner, annotations)

        if holds_on and stmt is not self._bodies[-1].last:
            op = tir.ScopeOp()
            self.add(op)
            self._open(rest, op.body.block, self._starter(define))
        else:
            self._open(rest, self.block, self._starter(define))
        return True

    def _annotated(self, stmt: Stmt, annotations: dict[str, object]) -> None:
        """Make the definition with the annotations."""
        match stmt:
            case st.LaunchThread():
                self._launch(stmt, annotations)
            case st.BufferRealize():
                self._realize(stmt, annotations)
            case st.For():
                self.for_(replace(stmt, annotations=annotations))
            case st.Allocate():
                self.allocate(replace(stmt, annotations=annotations))
            case _:
                raise AssertionError(stmt)

    def _names(self, stmt: st.AttrStmt, definition: Stmt) -> bool:
        """Whether the node is what the statement defines, or means nothing yet."""
        node = stmt.node
        if isinstance(definition, st.BufferRealize):
            return node is definition.buffer
        if not isinstance(node, Var):
            return False
        if isinstance(definition, st.For | st.LaunchThread | st.Allocate) and (
            node is definition.var
        ):
            return True
        return node not in self.values and node not in self.pointers

    def realize(self, stmt: st.BufferRealize) -> None:
        self._realize(stmt, {})

    def _realize(self, stmt: st.BufferRealize, annotations: dict[str, object]) -> None:
        buffer = stmt.buffer
        if buffer in self.buffers:
            # Memory that exists: TVM's users of the node take its body alone.
            return
        self._bind_pointer(buffer)
        bounds = self._region(stmt.bounds)
        layout, extents = self._layout(buffer)
        dtype = buffer_type(buffer)
        scope = annotations.pop("realize_scope", None)
        if isinstance(scope, ex.StringImm) and scope.value:
            dtype = tir.BufferType(dtype.shape, dtype.element_type, scope.value)
        op = tir.BufferRealizeOp(
            bounds,
            dtype,
            extents,
            condition=None if stmt.condition is None else self.value(stmt.condition),
            annotations=_dictionary(annotations),
            **layout,
        )
        self._define(buffer, op)

    def prefetch(self, stmt: st.Prefetch) -> None:
        buffer = self.buffer(stmt.region.buffer)
        self.add(tir.PrefetchOp(buffer, self._region(stmt.region.region)))

    def _region(self, ranges: Sequence[st.Range]) -> tuple[tuple[SSAValue, Mixed], ...]:
        return tuple((self.value(each.min), self._mixed(each.extent)) for each in ranges)

    def _bind_scope(self, stmt: st.AttrStmt) -> None:
        """The view that `buffer_bind_scope` defines, as a match in a scope."""
        node, value = stmt.node, stmt.value
        buffers = buffers_of(node)
        if (
            len(buffers) != 2
            or not isinstance(value, ex.Call)
            or value.name != "tvm_tuple"
        ):
            raise ScriptTypeError(
                '"buffer_bind_scope" takes [view, source] and T.tvm_tuple(min, extent, …)'
            )
        bounds = [arg for arg in value.args if isinstance(arg, Expr)]
        ranges = tuple(map(st.Range, bounds[::2], bounds[1::2]))
        view, source = buffers
        region = BufferRegion(source, ranges)
        op = tir.ScopeOp()
        self.add(op)
        start = self._starter(lambda: self._match_region(view, region))
        self._open(stmt.body, op.body.block, start)

    def _starter(self, start: Callable[[], None]) -> Callable[[], None]:
        def begin() -> None:
            self.start()
            start()

        return begin

    def launch_thread(self, stmt: st.LaunchThread) -> None:
        self._launch(stmt, {})

    def _launch(self, stmt: st.LaunchThread, annotations: Mapping[str, object]) -> None:
        var = stmt.var
        op = tir.LaunchThreadOp(
            stmt.tag,
            self.value(stmt.extent),
            virtual=stmt.virtual,
            env=self._env(var) if var in self.usage.shared_threads else None,
            annotations=_dictionary(annotations),
        )
        self.add(op)
        set_name_hint(op.thread_var, var.name or axis_name(stmt.tag))
        self._open(stmt.body, op.body.block, lambda: self.bind(var, op.thread_var))

    def _env(self, var: Var) -> str:
        """A name for the variable of an axis that is opened more than once."""
        if var not in self._envs:
            name = base = var.name or axis_name(var.thread_tag or "")
            taken, count = set(self._envs.values()), 0
            while name in taken:
                count += 1
                name = f"{base}_{count}"
            self._envs[var] = name
        return self._envs[var]

    def for_(self, stmt: st.For) -> None:
        op = tir.ForOp(
            self.value(stmt.min),
            self.value(stmt.extent),
            kind=stmt.kind,
            thread_tag=stmt.thread_tag,
            annotations=_dictionary(stmt.annotations),
            name=stmt.var.name or "i",
        )
        self.add(op)
        set_name_hint(op.loop_var, stmt.var.name or "i")
        var = stmt.var
        self._open(stmt.body, op.body.block, lambda: self.bind(var, op.loop_var))

    def while_(self, stmt: st.While) -> None:
        op = tir.WhileOp()
        self.add(op)
        condition = op.condition.block
        condition.add_op(tir.YieldOp(*self.values_in(condition, [stmt.condition])))
        self._open(stmt.body, op.body.block)

    def if_(self, stmt: st.If) -> None:
        orelse = None if stmt.orelse is None else Region(Block())
        op = tir.IfOp(self.value(stmt.condition), None, orelse)
        self.add(op)
        if stmt.orelse is not None and op.else_region is not None:
            self._open(stmt.orelse, op.else_region.block)
        self._open(stmt.body, op.then_region.block)

    def scope(self, stmt: st.Scope) -> None:
        op = tir.ScopeOp()
        self.add(op)
        self._open(stmt.body, op.body.block)

    # ---- blocks ----

    def block_(self, stmt: st.Block) -> None:
        iters = [
            tir.IterVar(
                it.kind,
                self.value(it.dom.min),
                self.value(it.dom.extent),
                self.value(it.binding),
                it.var.name or "v",
            )
            for it in stmt.iters
        ]
        predicate = stmt.predicate
        if predicate is not None and ex.literal(predicate) == 1:
            predicate = None
        op = tir.BlockOp(
            stmt.name,
            iters,
            predicate=None if predicate is None else self.value(predicate),
            annotations=_dictionary(stmt.annotations),
        )
        self.add(op)
        self._open(stmt.body, op.body.block, lambda: self._prologue(stmt, op))

    def _prologue(self, stmt: st.Block, op: tir.BlockOp) -> None:
        for it, arg in zip(stmt.iters, op.iter_vars, strict=True):
            set_name_hint(arg, it.var.name or "v")
            self.bind(it.var, arg)
        _at(stmt, lambda: self._declarations(stmt))

    def _declarations(self, stmt: st.Block) -> None:
        for buffer in stmt.alloc_buffers:
            self.start()
            self._declare_free(buffer)
            self._bind_pointer(buffer)
            layout, extents = self._layout(buffer)
            self._define(
                buffer, tir.AllocBufferOp(buffer_type(buffer), extents, **layout)
            )
        for match in stmt.match_buffers:
            self.start()
            self._declare_free(match.buffer)
            self._match_region(match.buffer, match.source)
        self.start()
        self._declare_free(stmt.iters)
        if stmt.reads is not None:
            self.add(tir.ReadsOp(self._regions(stmt.reads)))
        if stmt.writes is not None:
            self.add(tir.WritesOp(self._regions(stmt.writes)))
        if stmt.init is not None:
            self._declare_free(stmt.init)
            init = tir.InitOp()
            self.add(init)
            self._open(stmt.init, init.body.block)

    def _match_region(self, buffer: Buffer, source: BufferRegion) -> None:
        self._bind_pointer(buffer)
        region = self._region(source.region)
        layout, extents = self._layout(buffer, binds=True)
        op = tir.MatchRegionOp(
            self.buffer(source.buffer),
            [low for low, _ in region],
            [extent for _, extent in region],
            buffer_type(buffer),
            extents,
            **layout,
        )
        self._define(buffer, op)

    def _regions(self, regions: Sequence[BufferRegion]) -> list[tir.BufferRegion]:
        return [
            tir.BufferRegion(
                self.buffer(region.buffer),
                tuple(self.value(each.min) for each in region.region),
                tuple(self._mixed(each.extent) for each in region.region),
            )
            for region in regions
        ]

    # ---- buffers ----

    def _layout(
        self, buffer: Buffer, *, binds: bool = False
    ) -> tuple[tir.BufferLayout, list[SSAValue]]:
        """The fields of a buffer as arguments of its op: layout, and dynamic extents.

        Where the op binds symbolic sizes, they are declared first.
        """
        if binds:
            self._declare_symbols(buffer)
        extents = [
            self.value(extent)
            for extent in buffer.shape
            if not isinstance(extent, ex.IntImm)
        ]
        layout: tir.BufferLayout = {
            "name": buffer.name or "buffer",
            "strides": [self._mixed(stride) for stride in buffer.strides],
            "elem_offset": self.value(buffer.elem_offset) if buffer.has_offset else None,
            "axis_separators": buffer.axis_separators,
            "index_type": index_type_of(buffer),
        }
        if buffer.data_alignment != 64:
            layout["data_alignment"] = buffer.data_alignment
        if buffer.offset_factor != 1:
            layout["offset_factor"] = buffer.offset_factor
        if buffer.kind is not tir.BufferKind.DEFAULT:
            layout["buffer_kind"] = buffer.kind
        return layout, extents

    def _declare_symbols(self, buffer: Buffer) -> None:
        stack: list[Expr] = [buffer.elem_offset, *reversed(buffer.strides)]
        stack += reversed(buffer.shape)
        while stack:
            expr = stack.pop()
            if isinstance(expr, Var) and expr not in self.values:
                op = tir.ShapeVarOp(expr.name or "n", expr.type, size_var=expr.size_var)
                self.add(op)
                self.bind_result(expr, op.result)
            stack += reversed(operands(expr))

    def _mixed(self, expr: Expr) -> Mixed:
        return expr.value if isinstance(expr, ex.IntImm) else self.value(expr)

    # ---- threads ----

    def _allreduce(self, call: ex.Call) -> None:
        """`T.tvm_thread_allreduce(n, sources, condition, destinations, threads)`."""
        args = operands(call)
        count = ex.literal(args[0])
        if not isinstance(count, int) or len(args) < 2 * count + 3 or count < 1:
            raise ScriptTypeError(
                "T.tvm_thread_allreduce takes the number of values, so many sources, a "
                "condition, as many destinations, and thread variables"
            )
        sources = [self.value(arg) for arg in args[1 : count + 1]]
        test = args[count + 1]
        condition = None if ex.literal(test) == 1 else self.value(test)
        places: list[tuple[SSAValue, list[SSAValue]]] = []
        for arg in args[count + 2 : 2 * count + 2]:
            load = place_of(arg.value if isinstance(arg, ex.Cast) else arg)
            indices = [self.value(index) for index in load.indices]
            places.append((self.buffer(load.buffer), indices))
        threads = [self.value(arg) for arg in args[2 * count + 2 :]]
        self.add(tir.ThreadAllreduceOp(sources, places, threads, condition))

    def _reducer(self, reducer: ex.Reducer) -> SSAValue:
        identity: list[Identity] = []
        for value in reducer.identity:
            if not isinstance(value, ex.IntImm | ex.FloatImm):
                raise ScriptTypeError(
                    "T.comm_reducer: the identity must be a constant, such as "
                    "T.float32(0)"
                )
            identity.append(cast(Identity, immediate(value)))
        op = tir.ReducerOp(identity)
        self.add(op)
        mark, block = len(self.trail), op.combiner.block
        variables = (*reducer.lhs, *reducer.rhs)
        for var, arg in zip(variables, block.args, strict=True):
            self.bind_result(var, arg)
        block.add_op(tir.YieldOp(*self.values_in(block, reducer.result)))
        self.undo(mark)
        return op.result


T = TypeVar("T")


class _HasPosition(Protocol):
    line: int | None
    column: int | None


def _at(place: _HasPosition, work: Callable[[], T]) -> T:
    """Do `work`; its errors say where the statement is."""
    try:
        return work()
    except StatementError:
        raise
    except (ScriptTypeError, VerifyException) as error:
        raise StatementError(str(error), place.line, place.column) from error


_STATEMENTS: Mapping[type[Stmt], Callable[[_Function, Any], None]] = {
    st.LetStmt: _Function.let,
    st.AssertStmt: _Function.assert_,
    st.BufferStore: _Function.store,
    st.Evaluate: _Function.evaluate,
    st.Return: _Function.return_,
    st.Allocate: _Function.allocate,
    st.AllocateConst: _Function.allocate_const,
    st.DeclBuffer: _Function.decl_buffer,
    st.AttrStmt: _Function.attr,
    st.BufferRealize: _Function.realize,
    st.Prefetch: _Function.prefetch,
    st.LaunchThread: _Function.launch_thread,
    st.For: _Function.for_,
    st.While: _Function.while_,
    st.If: _Function.if_,
    st.Scope: _Function.scope,
    st.Block: _Function.block_,
}

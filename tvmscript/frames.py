"""The frames of TIR: what a `with` of the builder opens and closes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from xdsl.ir import Attribute

from xdsl_tvm.dialects import tir
from xdsl_tvm.tvmscript.builder import (
    BuilderError,
    Frame,
    IRBuilder,
    T_co,
    let_statement,
)
from xdsl_tvm.tvmscript.nodes.expressions import (
    Expr,
    ExprLike,
    ScriptTypeError,
    StringImm,
    Var,
    convert,
    literal,
    raw_compare,
)
from xdsl_tvm.tvmscript.nodes.statements import (
    Allocate,
    AllocateConst,
    Annotations,
    AssertStmt,
    AttrStmt,
    Block,
    Buffer,
    BufferRealize,
    BufferRegion,
    DeclBuffer,
    For,
    If,
    IterVar,
    LaunchThread,
    MatchBufferRegion,
    PrimFunc,
    Range,
    Scope,
    Stmt,
    While,
)


class PrimFuncFrame(Frame[None]):
    """A function; see `T.prim_func`."""

    what = "T.prim_func"

    def __init__(
        self,
        name: str | None = None,
        *,
        private: bool = False,
        check_well_formed: bool = True,
    ) -> None:
        super().__init__()
        self.name = name
        self.private = private
        self.check_well_formed = check_well_formed
        self.params: list[Var] = []
        self.buffer_map: dict[Var, Buffer] = {}
        self.attrs: dict[str, object] = {}
        self.alloc_buffers: list[Buffer] = []
        self.ret_type: Attribute | None = None
        self.thread_extents: dict[Var, Expr] = {}
        """The extents of the thread axes that `T.env_thread` made, where launched."""
        self.symbolic_extents: dict[str, Var] = {}
        """The variables of extents that are given as strings."""
        self.function: PrimFunc | None = None
        """The function, once the frame is closed."""

    def opened(self, builder: IRBuilder) -> None:
        if builder.frames:
            raise BuilderError(f"{self.what} cannot be in {builder.frames[-1].what}")

    def closed(self, builder: IRBuilder, body: list[Stmt]) -> None:
        symbol = self.attrs.get("global_symbol")
        name = self.name or (symbol if isinstance(symbol, str) else "main")
        if name in builder.functions:
            raise BuilderError(f"the module has a function {name} already; name another")
        line, column = self.position or (None, None)
        self.function = builder.functions[name] = PrimFunc(
            name,
            self.params,
            self.buffer_map,
            body,
            self.ret_type,
            self.attrs,
            self.alloc_buffers,
            self.private,
            line,
            column,
            self.check_well_formed,
        )

    def add_param(self, name: str, value: Var | Buffer) -> None:
        """Add a parameter; a buffer gets the handle `<name>_handle`."""
        IRBuilder.current().name_value(name, value)
        if isinstance(value, Buffer):
            handle = Var(f"{name}_handle", tir.HandleType())
            self.params.append(handle)
            self.buffer_map[handle] = value
        else:
            self.params.append(value)

    def match(self, param: Var, buffer: Buffer) -> None:
        """Match a parameter with a buffer. Raises BuilderError if it is no parameter."""
        if not any(param is each for each in self.params):
            raise BuilderError(
                f"T.match_buffer: {param.name or 'the variable'} is no parameter of the "
                "function"
            )
        if param in self.buffer_map:
            raise BuilderError(f"T.match_buffer: {param.name} is matched twice")
        self.buffer_map[param] = buffer

    def add_attrs(self, attrs: Mapping[str, object]) -> None:
        """Add function attributes. Raises BuilderError for a key given before."""
        for key, value in attrs.items():
            if key in self.attrs:
                raise BuilderError(f"T.func_attr: the attribute {key} is given twice")
            if key == "global_symbol" and self.private:
                raise BuilderError("T.func_attr: a private function has no global_symbol")
            self.attrs[key] = value


class ForFrame(Frame[Var]):
    """One loop; binds its variable."""

    what = "a loop"

    def __init__(
        self,
        dom: Range,
        kind: tir.ForKind = tir.ForKind.SERIAL,
        *,
        thread_tag: str | None = None,
        annotations: Annotations | None = None,
    ) -> None:
        super().__init__()
        self.loop = For(
            Var("", dom.min.type),
            dom.min,
            dom.extent,
            [],
            kind,
            thread_tag,
            dict(annotations or {}),
        )
        self.loops = (self.loop,)

    def opened(self, builder: IRBuilder) -> Var:
        return self.loop.var

    def closed(self, builder: IRBuilder, body: list[Stmt]) -> None:
        self.loop.body = body
        builder.emit(self.loop)


class GridFrame(Frame[tuple[Var, ...]]):
    """Nested serial loops from 0; binds a tuple of their variables, also for one."""

    what = "T.grid"

    def __init__(self, extents: Sequence[Range]) -> None:
        super().__init__()
        self.loops = tuple(
            For(Var("", dom.min.type), dom.min, dom.extent, []) for dom in extents
        )

    def opened(self, builder: IRBuilder) -> tuple[Var, ...]:
        return tuple(loop.var for loop in self.loops)

    def closed(self, builder: IRBuilder, body: list[Stmt]) -> None:
        for loop in reversed(self.loops):
            loop.body = body
            if self.position is not None:
                loop.line, loop.column = self.position
            body = [loop]
        for stmt in body:
            builder.emit(stmt)


class WhileFrame(Frame[None]):
    """A loop with a condition."""

    what = "a while loop"

    def __init__(self, condition: ExprLike) -> None:
        super().__init__()
        self.condition = _condition("while", condition)

    def opened(self, builder: IRBuilder) -> None:
        if literal(self.condition) is not None:
            raise BuilderError("the condition of a while loop cannot be a constant")

    def closed(self, builder: IRBuilder, body: list[Stmt]) -> None:
        builder.emit(While(self.condition, body))


def _condition(what: str, value: ExprLike) -> Expr:
    condition = convert(value)
    is_number = tir.is_integer_type(condition.type) and not tir.is_bool(condition.type)
    if what == "if" and is_number:
        # As every user of TVM's node means it; the dialect's `if` takes bools.
        condition = raw_compare(tir.CmpPredicate.NE, condition, 0)
    if not tir.is_bool(condition.type) or tir.is_vector(condition.type):
        raise ScriptTypeError(
            f"the condition of {what} must be a scalar bool, got {condition.dtype}"
        )
    return condition


class IfFrame(Frame[None]):
    """A conditional statement, with `T.Then` and perhaps `T.Else` inside."""

    what = "T.If"

    def __init__(self, condition: ExprLike) -> None:
        super().__init__()
        self.condition = _condition("if", condition)
        self.then: list[Stmt] | None = None
        self.orelse: list[Stmt] | None = None

    def add(self, stmt: Stmt) -> None:
        raise BuilderError("statements in T.If are in T.Then or T.Else")

    def opened(self, builder: IRBuilder) -> None:
        pass

    def closed(self, builder: IRBuilder, body: list[Stmt]) -> None:
        if self.then is None:
            raise BuilderError("T.If has no T.Then")
        builder.emit(If(self.condition, self.then, self.orelse))


class ThenFrame(Frame[None]):
    """What runs if the condition holds."""

    what = "T.Then"

    def opened(self, builder: IRBuilder) -> None:
        if builder.enclosing(IfFrame, self.what).then is not None:
            raise BuilderError("T.If has two T.Then")

    def closed(self, builder: IRBuilder, body: list[Stmt]) -> None:
        builder.enclosing(IfFrame, self.what).then = body


class ElseFrame(Frame[None]):
    """What runs if it does not."""

    what = "T.Else"

    def opened(self, builder: IRBuilder) -> None:
        around = builder.enclosing(IfFrame, self.what)
        if around.then is None or around.orelse is not None:
            raise BuilderError("T.Else is once, after T.Then")

    def closed(self, builder: IRBuilder, body: list[Stmt]) -> None:
        builder.enclosing(IfFrame, self.what).orelse = body


class BlockFrame(Frame[None]):
    """A block; the functions of `T` that describe it fill the fields."""

    what = "T.block"

    def __init__(self, name: str = "") -> None:
        super().__init__()
        self.block = Block(name)
        self._has_annotations = False

    def opened(self, builder: IRBuilder) -> None:
        builder.innermost(PrimFuncFrame, self.what)

    def closed(self, builder: IRBuilder, body: list[Stmt]) -> None:
        self.block.body = body
        builder.emit(self.block)

    def add_iter(self, dom: Range, kind: tir.IterKind, binding: Expr) -> Var:
        """Add an iteration variable, and return its variable."""
        var = Var("", dom.min.type)
        if binding.type != var.type:
            raise ScriptTypeError(
                f"T.axis: a binding of type {binding.dtype} for a domain of type "
                f"{var.dtype}"
            )
        self.block.iters.append(IterVar(var, dom, kind, binding))
        return var

    def set_predicate(self, predicate: Expr) -> None:
        """The predicate, given once."""
        if self.block.predicate is not None:
            raise BuilderError("T.where is given twice")
        self.block.predicate = _condition("T.where", predicate)

    def set_reads(self, regions: Sequence[BufferRegion]) -> None:
        """The read regions, given once."""
        if self.block.reads is not None:
            raise BuilderError("T.reads is given twice")
        self.block.reads = list(regions)

    def set_writes(self, regions: Sequence[BufferRegion]) -> None:
        """The written regions, given once."""
        if self.block.writes is not None:
            raise BuilderError("T.writes is given twice")
        self.block.writes = list(regions)

    def set_annotations(self, annotations: Annotations) -> None:
        """The annotations, given once."""
        if self._has_annotations:
            raise BuilderError("T.block_attr is given twice")
        self._has_annotations = True
        self.block.annotations = dict(annotations)

    def add_match(self, buffer: Buffer, source: BufferRegion) -> None:
        """Add a buffer that views a region."""
        self.block.match_buffers.append(MatchBufferRegion(buffer, source))


class InitFrame(Frame[None]):
    """The init of a block."""

    what = "T.init"

    def opened(self, builder: IRBuilder) -> None:
        if builder.enclosing(BlockFrame, self.what).block.init is not None:
            raise BuilderError("T.init is given twice")

    def closed(self, builder: IRBuilder, body: list[Stmt]) -> None:
        builder.enclosing(BlockFrame, self.what).block.init = body


class NestingFrame(Frame[T_co]):
    """A frame whose statement holds the rest of the scope in its concise form."""

    @property
    def is_concise_capable(self) -> bool:
        return True


class AttrFrame(NestingFrame[None]):
    """An annotation around statements."""

    what = "T.attr"

    def __init__(self, node: object, key: str, value: Expr) -> None:
        super().__init__()
        self.node = node
        self.key = key
        self.value = value

    def opened(self, builder: IRBuilder) -> None:
        pass

    def closed(self, builder: IRBuilder, body: list[Stmt]) -> None:
        builder.emit(AttrStmt(self.node, self.key, self.value, body))


class LaunchThreadFrame(NestingFrame[Var]):
    """One thread axis; binds its variable."""

    what = "T.launch_thread"

    def __init__(
        self, var: Var, tag: str, extent: Expr, *, virtual: bool = False
    ) -> None:
        super().__init__()
        self.launch = LaunchThread(var, tag, extent, [], virtual)

    def opened(self, builder: IRBuilder) -> Var:
        launch = self.launch
        function = builder.innermost(PrimFuncFrame, self.what)
        known = function.thread_extents.setdefault(launch.var, launch.extent)
        numbers = literal(known), literal(launch.extent)
        if None not in numbers and numbers[0] != numbers[1]:
            raise BuilderError(
                f"T.launch_thread: the axis {launch.tag} has extent {numbers[0]} at its "
                f"first launch, {numbers[1]} here"
            )
        return launch.var

    def closed(self, builder: IRBuilder, body: list[Stmt]) -> None:
        self.launch.body = body
        builder.emit(self.launch)


class BindingFrame(Frame[T_co]):
    """A statement that holds for the rest of its list, without a body of its own.

    In its concise form it is just that statement. As a `with` it becomes a `Scope`,
    unless it ends where the enclosing list does.
    """

    what = "a binding"

    def __init__(self, stmt: Stmt, value: T_co) -> None:
        super().__init__()
        self.stmt = stmt
        self.value = value

    @property
    def is_concise_capable(self) -> bool:
        return True

    def _open(self, builder: IRBuilder, concise: bool) -> T_co:
        if concise:
            builder.emit(self.stmt)
            return self.value
        return super()._open(builder, concise)

    def opened(self, builder: IRBuilder) -> T_co:
        return self.value

    def closed(self, builder: IRBuilder, body: list[Stmt]) -> None:
        if self.position is not None:
            self.stmt.line, self.stmt.column = self.position
        builder.emit(Scope([self.stmt, *body]))


class LetFrame(BindingFrame[Var]):
    """`T.LetStmt`; binds the variable."""

    what = "T.LetStmt"

    def __init__(
        self, value: ExprLike, var: Var | None = None, dtype: Attribute | None = None
    ) -> None:
        stmt = let_statement("", value, var, dtype)
        super().__init__(stmt, stmt.var)


class AssertFrame(BindingFrame[None]):
    """`T.Assert`."""

    what = "T.Assert"

    def __init__(self, condition: ExprLike, message: ExprLike) -> None:
        test = _condition("assert", condition)
        super().__init__(AssertStmt(test, convert(message)), None)


class AllocateFrame(BindingFrame[Var]):
    """`T.allocate`; binds the pointer."""

    what = "T.allocate"

    def __init__(
        self,
        pointer: tir.PtrType,
        extents: Sequence[Expr],
        condition: Expr | None = None,
        annotations: Annotations | None = None,
    ) -> None:
        var = Var("", pointer)
        stmt = Allocate(var, tuple(extents), condition, dict(annotations or {}))
        super().__init__(stmt, var)


class AllocateConstFrame(BindingFrame[Var]):
    """`T.allocate_const`; binds the pointer. `data` is a numpy array."""

    what = "T.allocate_const"

    def __init__(
        self,
        pointer: tir.PtrType,
        extents: Sequence[int],
        data: Any,
        annotations: Annotations | None = None,
    ) -> None:
        var = Var("", pointer)
        stmt = AllocateConst(var, tuple(extents), data, dict(annotations or {}))
        super().__init__(stmt, var)


class DeclBufferFrame(BindingFrame[Buffer]):
    """`T.decl_buffer`; binds the buffer. `allocated` ones have memory of their own."""

    what = "T.decl_buffer"

    def __init__(self, buffer: Buffer, *, allocated: bool = False) -> None:
        super().__init__(DeclBuffer(buffer), buffer)
        self._allocate = Allocate(buffer.data, buffer.shape) if allocated else None

    def _open(self, builder: IRBuilder, concise: bool) -> Buffer:
        if concise and self._allocate is not None:
            builder.emit(self._allocate)
        return super()._open(builder, concise)

    def closed(self, builder: IRBuilder, body: list[Stmt]) -> None:
        if self._allocate is None:
            super().closed(builder, body)
        else:
            builder.emit(Scope([self._allocate, self.stmt, *body]))


class RealizeFrame(NestingFrame[None]):
    """`T.realize`: a buffer that exists over a box, in a storage scope."""

    what = "T.realize"

    def __init__(
        self, region: BufferRegion, scope: str, condition: Expr | None = None
    ) -> None:
        super().__init__()
        self.region = region
        self.scope = scope
        self.condition = condition

    def opened(self, builder: IRBuilder) -> None:
        pass

    def closed(self, builder: IRBuilder, body: list[Stmt]) -> None:
        buffer = self.region.buffer
        realize = BufferRealize(buffer, self.region.region, self.condition)
        value = StringImm(self.scope)
        builder.emit(AttrStmt(buffer, "realize_scope", value, [realize, *body]))

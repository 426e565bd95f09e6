"""Building TIR statement by statement: the builder and its frames.

A frame is a construct that holds statements: a function, a loop, a block. It is a context
manager; what it binds is the value of its `with`:

    with IRBuilder() as builder, T.prim_func():
        T.func_name("scale")
        A = T.arg("A", T.Buffer((16,), "float32"))
        with T.serial(16) as i:
            T.buffer_store(A, A[i] * 2.0, [i])
    module = builder.get()

Functions of `xdsl_tvm.tvmscript.tir` add to the innermost frame of the current builder.
A reader of scripts drives frames with `enter` and `exit`, and may leave one open for the
rest of the enclosing scope, TVM's concise form (spec tvmscript.md §1).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextvars import ContextVar, Token
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, cast

from xdsl.dialects.builtin import ModuleOp, NoneType
from xdsl.ir import Attribute

from xdsl_tvm.analysis.tir.well_formed import verify_well_formed
from xdsl_tvm.dialects import tir
from xdsl_tvm.tvmscript.nodes.expressions import (
    Expr,
    ExprLike,
    IntImm,
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
    Evaluate,
    For,
    If,
    IRModule,
    IterVar,
    LaunchThread,
    LetStmt,
    MatchBufferRegion,
    PrimFunc,
    Range,
    Scope,
    Stmt,
    While,
)
from xdsl_tvm.tvmscript.reading.completion import complete
from xdsl_tvm.tvmscript.ssa.to_ssa import module_to_ssa

if TYPE_CHECKING:
    from types import TracebackType

T_co = TypeVar("T_co", covariant=True)
ValueT = TypeVar("ValueT")


class BuilderError(ScriptTypeError):
    """A construct that has no meaning where it stands, or stands there twice."""


class IRBuilder:
    """Collects the functions that are built while it is entered.

    One builder is current at a time, per thread or asynchronous task; entering another
    one hides it. Outside of all frames only functions can be built.
    """

    def __init__(self) -> None:
        self.frames: list[Frame[object]] = []
        """The open frames, innermost last."""
        self.position: tuple[int, int] | None = None
        """Line and column in the script, given to the statements built next."""
        self.functions: dict[str, PrimFunc] = {}
        self.module_attrs: dict[str, object] = {}
        self.global_infos: dict[str, list[object]] = {}
        self._token: Token[IRBuilder | None] | None = None

    def __enter__(self) -> Self:
        if self._token is not None:
            raise BuilderError("this IRBuilder is entered already")
        self._token = _CURRENT.set(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._token is not None
        _CURRENT.reset(self._token)
        self._token = None
        if kind is None and self.frames:
            raise BuilderError(f"{self.frames[-1].what} is still open")

    @staticmethod
    def current() -> IRBuilder:
        """The builder that is entered. Raises BuilderError if none is."""
        builder = _CURRENT.get()
        if builder is None:
            raise BuilderError(
                "no IRBuilder is entered; build inside `with IRBuilder() as builder:`"
            )
        return builder

    @staticmethod
    def is_active() -> bool:
        """Whether a builder is entered."""
        return _CURRENT.get() is not None

    def emit(self, stmt: Stmt) -> None:
        """Add a statement to the innermost frame, with the position of the script."""
        if not self.frames:
            raise BuilderError(
                f"{type(stmt).__name__} outside of a function; open T.prim_func() first"
            )
        if stmt.line is None and self.position is not None:
            stmt.line, stmt.column = self.position
        self.frames[-1].add(stmt)

    def innermost(self, kind: type[FrameT], what: str) -> FrameT:
        """The innermost open frame of a kind; `what` needs it.

        Raises BuilderError if there is none.
        """
        for frame in reversed(self.frames):
            if isinstance(frame, kind):
                return frame
        raise BuilderError(f"{what} must stand in {kind.what}")

    def enclosing(self, kind: type[FrameT], what: str) -> FrameT:
        """The innermost frame, which must be of a kind since `what` belongs to it.

        Raises BuilderError if it is of another one.
        """
        if not self.frames or not isinstance(self.frames[-1], kind):
            raise BuilderError(f"{what} must stand directly in {kind.what}")
        return self.frames[-1]

    def find(self, kind: type[FrameT]) -> FrameT | None:
        """The innermost open frame of a kind, None if there is none."""
        found = (frame for frame in reversed(self.frames) if isinstance(frame, kind))
        return next(found, None)

    def loop_of(self, var: object) -> For | None:
        """The open loop that a variable is the variable of, None if none is."""
        for frame in reversed(self.frames):
            if isinstance(frame, ForFrame | GridFrame):
                for loop in frame.loops:
                    if loop.var is var:
                        return loop
        return None

    def let(
        self, name: str, value: ExprLike, var: Var | None = None, dtype: Any = None
    ) -> Var:
        """Bind a value to a variable for the rest of the scope, and return the variable.

        The variable is a new one of the value's dtype, or of `dtype` (for a typed pointer
        bound to a handle), unless `var` is given. Raises ScriptTypeError where the types
        do not fit.
        """
        stmt = _let_stmt(name, value, var, dtype)
        self.emit(stmt)
        return stmt.var

    def name_value(self, name: str, value: object) -> None:
        """Give what a frame or a constructor made the name it is assigned to.

        Variables and buffers take the name; a buffer hands it to its data pointer and its
        stride variables (spec tvmscript.md §7). Elements of lists and tuples are named
        `name_0` and so on. Other values have no names.
        """
        match value:
            case Var():
                value.name = name
            case Buffer():
                _name_buffer(name, value)
            case tuple() | list():
                for index, item in enumerate(cast("Sequence[object]", value)):
                    self.name_value(f"{name}_{index}", item)
            case _:
                pass

    def nodes(self) -> IRModule:
        """What was built, as nodes. Raises BuilderError while a frame is open."""
        if self.frames:
            raise BuilderError(f"{self.frames[-1].what} is still open")
        return IRModule(dict(self.functions), self.module_attrs, self.global_infos)

    def get(self) -> ModuleOp:
        """What was built as a verified module, completed as scripts are: with root blocks
        and the regions that blocks do not state (spec tvmscript.md §9).

        Raises ScriptTypeError for what has no meaning, such as an undefined variable, and
        VerifyException for what breaks a rule of the dialect or of spec tir-ir.md §14.
        """
        nodes = self.nodes()
        for function in nodes.functions.values():
            complete(function)
        module = module_to_ssa(nodes)
        module.verify()
        for op in module.body.block.ops:
            function = nodes.functions[cast(tir.FuncOp, op).sym_name.data]
            if function.check_well_formed:
                verify_well_formed(op)
        return module


_CURRENT: ContextVar[IRBuilder | None] = ContextVar("current_builder", default=None)


def named(name: str, value: ValueT) -> ValueT:
    """`value`, named as an assignment in a script would name it.

    Of a frame, what it binds is named when it opens:
    `with named("i", T.serial(16)) as i:`.
    """
    _name(name, value)
    return value


def _name(name: str, value: object) -> None:
    if isinstance(value, Frame):
        cast("Frame[object]", value).result_name = name
    else:
        IRBuilder.current().name_value(name, value)


def _name_buffer(name: str, buffer: Buffer) -> None:
    if buffer.data.name in ("", buffer.name):
        buffer.data.name = name
    for axis, stride in enumerate(buffer.strides):
        if isinstance(stride, Var) and stride.name in ("", f"{buffer.name}_s{axis}"):
            stride.name = f"{name}_s{axis}"
    buffer.name = name


def _let_stmt(name: str, value: ExprLike, var: Var | None, dtype: Any) -> LetStmt:
    bound = convert(value)
    if isinstance(bound.type, NoneType):
        raise ScriptTypeError(f"{name}: a call without a result cannot be bound")
    if var is None:
        var = Var(name, bound.type if dtype is None else dtype)
    elif name:
        var.name = name
    pointer = isinstance(var.type, tir.PtrType | tir.HandleType)
    if bound.type != var.type and not (pointer and tir.is_handle(bound.type)):
        raise ScriptTypeError(
            f"{name or var.name or 'a let'}: a value of type {bound.dtype} cannot be "
            f"bound to a variable of type {var.dtype}"
        )
    return LetStmt(var, bound)


# ---- frames ----


class Frame(ABC, Generic[T_co]):
    """A construct that holds the statements built while it is open.

    `enter` opens it and returns what it binds, `exit` closes it and adds the finished
    statement around it. A frame is used once.
    """

    what: str = "a frame"
    """What it is, for messages."""

    def __init__(self) -> None:
        self.body: list[Stmt] = []
        self.position: tuple[int, int] | None = None
        self.result_name: str | None = None
        self._builder: IRBuilder | None = None
        self._is_pushed = False

    @property
    def is_concise_capable(self) -> bool:
        """Whether a script may leave it open for the rest of the enclosing scope."""
        return False

    def add(self, stmt: Stmt) -> None:
        """Add a statement to the body."""
        self.body.append(stmt)

    def enter(self, *, concise: bool = False) -> T_co:
        """Open the frame.

        With `concise` the rest of the enclosing scope belongs to it; whoever opened it
        calls `exit` where that scope ends, last opened first. Raises BuilderError where
        the frame cannot stand.
        """
        builder = IRBuilder.current()
        if self._builder is not None:
            raise BuilderError(f"{self.what} is opened twice; make another one")
        if concise and not self.is_concise_capable:
            raise BuilderError(f"{self.what} needs a body; write `with ...:`")
        self._builder = builder
        self.position = builder.position
        value = self._open(builder, concise)
        if self.result_name is not None:
            builder.name_value(self.result_name, value)
        return value

    def _open(self, builder: IRBuilder, concise: bool) -> T_co:
        value = self.opened(builder)
        builder.frames.append(self)
        self._is_pushed = True
        return value

    def exit(self) -> None:
        """Close the frame, and add what it made to the frame around it."""
        builder = self._builder
        assert builder is not None
        if not self._is_pushed:
            return
        if builder.frames[-1] is not self:
            raise BuilderError(
                f"{self.what} cannot be closed before {builder.frames[-1].what} in it"
            )
        builder.frames.pop()
        position, builder.position = builder.position, self.position
        self.closed(builder, _flattened(self.body))
        builder.position = position

    def abandon(self) -> None:
        """Close the frame and all in it without adding anything, after an error."""
        builder = self._builder
        if builder is None or not self._is_pushed:
            return
        while any(frame is self for frame in builder.frames):
            builder.frames.pop()

    def __enter__(self) -> T_co:
        return self.enter()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.exit()
        else:
            self.abandon()

    @abstractmethod
    def opened(self, builder: IRBuilder) -> T_co:
        """What the frame binds; called before it is pushed."""

    @abstractmethod
    def closed(self, builder: IRBuilder, body: list[Stmt]) -> None:
        """Add what the frame made of its body; called after it is popped."""


FrameT = TypeVar("FrameT", bound="Frame[Any]")


def _flattened(stmts: list[Stmt]) -> list[Stmt]:
    """A finished list: without no-ops, and without a scope around its end.

    A scope that ends where the list does bounds nothing (spec tir-ir.md §6.8).
    """
    kept = [stmt for stmt in stmts if not is_no_op(stmt)]
    while kept and isinstance(kept[-1], Scope):
        tail = kept.pop()
        assert isinstance(tail, Scope)
        kept.extend(tail.body)
    return kept


def is_no_op(stmt: Stmt) -> bool:
    """Whether it is `Evaluate(0)`."""
    return (
        isinstance(stmt, Evaluate)
        and isinstance(stmt.value, IntImm)
        and stmt.value.value == 0
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
            raise BuilderError(f"{self.what} cannot stand in {builder.frames[-1].what}")

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

    @property
    def loops(self) -> tuple[For, ...]:
        """The loop, without its body until the frame is closed."""
        return (self.loop,)

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
        raise BuilderError("statements in T.If stand in T.Then or T.Else")

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
            raise BuilderError("T.Else stands once, behind T.Then")

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
        stmt = _let_stmt("", value, var, dtype)
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
        around: list[tuple[str, Expr]] = []
        while len(body) == 1 and _is_rolling(first := body[0], buffer):
            # An attribute of the buffer, which TVM's pass looks for inside.
            assert isinstance(first, AttrStmt)
            around.append((first.key, first.value))
            body = first.body
        value = StringImm(self.scope)
        stmt = AttrStmt(buffer, "realize_scope", value, [realize, *body])
        for key, setting in around:
            stmt = AttrStmt(buffer, key, setting, [stmt])
        builder.emit(stmt)


def _is_rolling(stmt: Stmt, buffer: Buffer) -> bool:
    match stmt:
        case AttrStmt(key="rolling_buffer_scope"):
            return stmt.node is buffer
        case _:
            return False

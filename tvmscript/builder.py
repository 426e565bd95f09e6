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
rest of the enclosing scope, TVM's concise form (docs/spec/tvmscript.md §1).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextvars import ContextVar, Token
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, cast

from xdsl.dialects.builtin import NoneType

from xdsl_tvm.analysis.tir.well_formed import verify_well_formed
from xdsl_tvm.dialects import ir_module, tir
from xdsl_tvm.tvmscript.nodes.expressions import (
    ExprLike,
    IntImm,
    ScriptTypeError,
    Var,
    convert,
)
from xdsl_tvm.tvmscript.nodes.statements import (
    Buffer,
    Evaluate,
    For,
    IRModule,
    LetStmt,
    PrimFunc,
    Scope,
    Stmt,
)
from xdsl_tvm.tvmscript.reading.completion import complete
from xdsl_tvm.tvmscript.ssa.to_ssa import module_to_ssa

if TYPE_CHECKING:
    from types import TracebackType

T_co = TypeVar("T_co", covariant=True)
ValueT = TypeVar("ValueT")


class BuilderError(ScriptTypeError):
    """A construct that has no meaning where it is, or is there twice."""


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
        raise BuilderError(f"{what} must be in {kind.what}")

    def enclosing(self, kind: type[FrameT], what: str) -> FrameT:
        """The innermost frame, which must be of a kind since `what` belongs to it.

        Raises BuilderError if it is of another one.
        """
        if not self.frames or not isinstance(self.frames[-1], kind):
            raise BuilderError(f"{what} must be directly in {kind.what}")
        return self.frames[-1]

    def find(self, kind: type[FrameT]) -> FrameT | None:
        """The innermost open frame of a kind, None if there is none."""
        found = (frame for frame in reversed(self.frames) if isinstance(frame, kind))
        return next(found, None)

    def loop_of(self, var: object) -> For | None:
        """The open loop that a variable is the variable of, None if none is."""
        for frame in reversed(self.frames):
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
        stmt = let_statement(name, value, var, dtype)
        self.emit(stmt)
        return stmt.var

    def name_value(self, name: str, value: object) -> None:
        """Give what a frame or a constructor made the name it is assigned to.

        Variables and buffers take the name; a buffer hands it to its data pointer and its
        stride variables (docs/spec/tvmscript.md §7). Elements of lists and tuples are
        named `name_0` and so on. Other values have no names.
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

    def get(self) -> ir_module.IRModule:
        """What was built as a verified module, completed as scripts are: with root blocks
        and the regions that blocks do not state (docs/spec/tvmscript.md §9).

        Raises ScriptTypeError for what has no meaning, such as an undefined variable, and
        VerifyException for what breaks a rule of the dialect or of docs/spec/tir-ir.md
        §14.
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


def let_statement(name: str, value: ExprLike, var: Var | None, dtype: Any) -> LetStmt:
    """A binding of a value to `var`, or to a new variable. Raises ScriptTypeError."""
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
        self.loops: tuple[For, ...] = ()
        """The loops that the frame makes, outermost first; bodies come at the end."""
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
        the frame cannot be.
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
        self.closed(builder, flattened(self.body))
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


def flattened(stmts: list[Stmt]) -> list[Stmt]:
    """A finished list: without no-ops, and without a scope around its end.

    A scope that ends where the list does bounds nothing (docs/spec/tir-ir.md §6.8).
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

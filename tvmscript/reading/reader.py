"""Reads TVMScript: Python's syntax trees drive the builder of TIR.

Functions and modules are parsed, never executed (docs/spec/tvmscript.md §1). `parse`
gives a module of ops, `parse_nodes` the node trees before that; the decorators of
`xdsl_tvm.tvmscript.tir` and `xdsl_tvm.tvmscript.ir` read live functions and classes.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, TypeVar

from xdsl_tvm.tvmscript.builder import Frame, IRBuilder
from xdsl_tvm.tvmscript.frames import (
    AssertFrame,
    ElseFrame,
    ForFrame,
    GridFrame,
    IfFrame,
    ThenFrame,
    WhileFrame,
)
from xdsl_tvm.tvmscript.nodes import expressions as ex
from xdsl_tvm.tvmscript.nodes.constructs import MetaVar, serial
from xdsl_tvm.tvmscript.nodes.operators import TAKES_NO_DTYPE, LetAnnotation
from xdsl_tvm.tvmscript.nodes.statements import (
    Buffer,
    Evaluate,
    Return,
    Stmt,
)
from xdsl_tvm.tvmscript.reading.evaluator import as_operand
from xdsl_tvm.tvmscript.reading.expression_reader import ExpressionReader
from xdsl_tvm.tvmscript.reading.macros import Macro
from xdsl_tvm.tvmscript.reading.rules import ModuleName, kind_of
from xdsl_tvm.tvmscript.reading.scope import Scope
from xdsl_tvm.tvmscript.reading.source import Source

R = TypeVar("R")

_UNSUPPORTED: Mapping[type[ast.stmt], str] = {
    ast.Try: "'try'; conditions are known when a program runs, use 'if' or 'assert'",
    ast.TryStar: "'try'; use 'if' or 'assert'",
    ast.Delete: "'del'; a name ends with its body",
    ast.Global: "'global'; names outside of the script are read without it",
    ast.Nonlocal: "'nonlocal'; names outside of the script are read without it",
    ast.ClassDef: "a nested class; put the function into a module of its own",
    ast.FunctionDef: "a nested function; define a T.macro outside, or use a lambda",
    ast.AsyncFunctionDef: "'async'",
    ast.AsyncFor: "'async'",
    ast.AsyncWith: "'async'",
    ast.Break: "'break'; write the condition into a 'while' or an 'if'",
    ast.Continue: "'continue'; put the rest of the body under an 'if'",
    ast.Raise: "'raise'; use 'assert'",
    ast.Import: "an import; names outside of the script are visible in it",
    ast.ImportFrom: "an import; names outside of the script are visible in it",
    ast.Match: "'match'; use 'if'",
}


class NotSupported(SyntaxError):
    """Python that scripts cannot hold."""


class BodyReader(ExpressionReader):
    """Reads the bodies of functions into the current builder.

    Errors are ScriptErrors at the innermost part of the script that they come from.
    """

    def __init__(self, source: Source, scope: Scope, builder: IRBuilder) -> None:
        self._builder = builder
        super().__init__(source, scope)
        self._concise: list[list[Frame[object]]] = [[]]
        self._depth_of_macros = 0
        self._handlers: dict[type[ast.stmt], Callable[[Any], None]] = {
            ast.Pass: lambda node: None,
            ast.Expr: self._expression,
            ast.Assign: self._assignment,
            ast.AnnAssign: self._annotated,
            ast.AugAssign: self._augmented,
            ast.For: self._for,
            ast.While: self._while,
            ast.If: self._if,
            ast.With: self._with,
            ast.Assert: self._assert,
            ast.Return: self._return,
        }

    # ---- bodies ----

    def read_body(self, body: Iterable[ast.stmt]) -> None:
        """The body of a function, whose frame the builder has open."""
        self._read_all(body)
        self._close_concise()

    def _read_all(self, body: Iterable[ast.stmt]) -> None:
        for stmt in body:
            self._read(stmt)

    def _read(self, node: ast.stmt) -> None:
        if not self._depth_of_macros:
            self._builder.position = (node.lineno, node.col_offset)
        with self.blaming(node):
            self.scope.rules.step()
            handler = self._handlers.get(type(node))
            if handler is None:
                what = _UNSUPPORTED.get(type(node), f"a {type(node).__name__} statement")
                raise NotSupported(f"a script cannot hold {what}")
            handler(node)

    @contextmanager
    def _inside(self, frame: Frame[Any]) -> Generator[Any]:
        """The body of a frame, with names of its own; binds what the frame binds."""
        value = frame.enter()
        self._concise.append([])
        with self.scope.body():
            yield value
            self._close_concise()
        self._concise.pop()
        frame.exit()

    def _close_concise(self) -> None:
        opened = self._concise[-1]
        while opened:
            opened.pop().exit()

    def _open_concise(self, frame: Frame[Any]) -> Any:
        """Opens a frame for the rest of the enclosing body."""
        value = frame.enter(concise=True)
        self._concise[-1].append(frame)
        return value

    # ---- calls and macros ----

    def _call(
        self, function: object, args: Sequence[object], named: Mapping[str, object]
    ) -> object:
        if isinstance(function, Macro):
            return self._splice(function, args, named)
        if "dtype" in named and function in TAKES_NO_DTYPE:
            named = {name: value for name, value in named.items() if name != "dtype"}
        if not callable(function):
            raise TypeError(f"a {type(function).__name__} cannot be called")
        return function(*args, **named)

    def _splice(
        self, macro: Macro, args: Sequence[object], named: Mapping[str, object]
    ) -> None:
        """Reads the body of a macro in the place of its call."""
        bound = macro.bind(args, named)
        evaluator = self._evaluator
        source, scope = evaluator.source, evaluator.scope
        if macro.hygienic:
            evaluator.scope = macro.scope()
            evaluator.scope.define("range", serial)
        evaluator.source = macro.source
        self._depth_of_macros += 1
        try:
            with self.scope.body():
                for name, value in bound.items():
                    self.scope.define(name, value)
                self._read_all(macro.node.body)
        finally:
            self._depth_of_macros -= 1
            evaluator.source, evaluator.scope = source, scope

    # ---- binding names ----

    def _assign(self, target: ast.expr, value: object, source: ast.expr) -> None:
        """Gives `target` the value of the expression `source`."""
        with self.blaming(target):
            match target:
                case ast.Name(id=name):
                    self._check_new(name, value)
                    self.scope.define(name, self._bound(name, value))
                case ast.Tuple(elts=targets) | ast.List(elts=targets):
                    self._unpack(targets, value, source)
                case ast.Subscript():
                    self._store(target, value, source)
                case _:
                    raise NotSupported(
                        f"a script cannot assign to '{ast.unparse(target)}'; assign to a "
                        "name or to an element of a buffer"
                    )

    def _check_new(self, name: str, value: object) -> None:
        """Raises Redefinition before the builder has seen the value."""
        if not isinstance(value, ex.Var | Buffer):
            self.scope.check_new(name, value)

    def _unpack(
        self, targets: Sequence[ast.expr], value: object, source: ast.expr
    ) -> None:
        if isinstance(value, ex.Expr | Buffer):
            raise TypeError("an IR value cannot be taken apart into several names")
        for target, part in self._parts(targets, value):
            self._assign(target, part, source)

    def _parts(
        self, targets: Sequence[ast.expr], value: object
    ) -> list[tuple[ast.expr, object]]:
        values = self.scope.rules.sequence(value)
        stars = [i for i, each in enumerate(targets) if isinstance(each, ast.Starred)]
        if not stars:
            if len(values) != len(targets):
                raise ValueError(f"{len(targets)} names for {len(values)} values")
            return list(zip(targets, values, strict=True))
        (star,) = stars
        after = len(targets) - star - 1
        if len(values) < star + after:
            raise ValueError(f"at least {star + after} values needed, got {len(values)}")
        end = len(values) - after
        starred = targets[star]
        assert isinstance(starred, ast.Starred)
        return [
            *zip(targets[:star], values[:star], strict=True),
            (starred.value, list(values[star:end])),
            *zip(targets[star + 1 :], values[end:], strict=True),
        ]

    def _bound(self, name: str, value: object) -> object:
        """What a name stands for that is given a value (docs/spec/tvmscript.md §4)."""
        given = as_any(value)
        match value:
            case MetaVar():
                return given.value
            case Frame():
                result = self._open_concise(as_frame(value))
                self._builder.name_value(name, result)
                return result
            case list() | tuple():
                for index, part in enumerate(given):
                    self._bound(f"{name}_{index}", part)
                return given
            case ex.GlobalVar() | ModuleName():
                return value
            case Buffer():
                self._builder.name_value(name, value)
                return value
            case ex.Var() if not self.scope.holds(value):
                self._builder.name_value(name, value)
                return value
            case ex.Expr() | bool() | int() | float() | str():
                return self._builder.let(name, value)
            case _:
                return self._bound_otherwise(name, value)

    def _bound_otherwise(self, name: str, value: object) -> object:
        if hasattr(value, "dtype") and hasattr(value, "item"):
            return self._builder.let(name, ex.convert(value))
        kind = "nothing" if value is None else f"a Python {kind_of(value)}"
        raise TypeError(
            f"'{name}' cannot be bound to {kind}; T.meta_var(...) names what is no "
            "value of the program"
        )

    def _bind_all(self, target: ast.expr, value: object) -> None:
        """Names what a loop or a `with` binds."""
        with self.blaming(target):
            match target:
                case ast.Name(id=name):
                    self._builder.name_value(name, value)
                    self.scope.define(name, value)
                case ast.Tuple(elts=targets) | ast.List(elts=targets):
                    if isinstance(value, ex.Expr | Buffer):
                        raise TypeError(f"{len(targets)} names for one value")
                    for part, each in self._parts(targets, value):
                        self._bind_all(part, each)
                case _:
                    raise NotSupported(
                        f"'{ast.unparse(target)}' is no name that can be bound here"
                    )

    # ---- statements ----

    def _expression(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            return
        value = self.evaluate(node.value)
        match value:
            case None:
                pass
            case Frame():
                self._open_concise(as_frame(value))
            case Stmt():
                self._builder.emit(value)
            case ex.Call(name="ret") if len(value.args) == 1:
                self._builder.emit(Return(ex.convert(value.args[0])))
            case ex.Expr() | bool() | int():
                self._builder.emit(Evaluate(ex.convert(value)))
            case _:
                raise TypeError(
                    f"a {type(value).__name__} is no statement; assign it to a name"
                )

    def _assignment(self, node: ast.Assign) -> None:
        if len(node.targets) > 1:
            raise NotSupported(
                "a script cannot assign to several targets at once; write one assignment "
                "for each"
            )
        value = self.operand(node.value)
        self._assign(node.targets[0], value, node.value)

    def _annotated(self, node: ast.AnnAssign) -> None:
        target = node.target
        if not isinstance(target, ast.Name):
            raise NotSupported("only a name can be annotated")
        if node.value is None:
            raise NotSupported(
                f"'{target.id}' needs a value; a variable without one is "
                f"'{target.id} = {ast.unparse(node.annotation)}()'"
            )
        value = self.operand(node.value)
        with self.blaming(node.annotation):
            var = _annotated_var(self.evaluate(node.annotation), value)
            if not isinstance(var, ex.Var):
                raise TypeError(
                    "the annotation of a let must be a dtype such as T.int32 or "
                    'T.handle("float32")'
                )
            if self.scope.holds(var):
                raise TypeError("the annotation is a variable that has a value already")
        with self.blaming(target):
            self.scope.check_new(target.id, var)
            with self.blaming(node.value):
                self._builder.let(target.id, ex.convert(value), var)
            self.scope.define(target.id, var)

    def _augmented(self, node: ast.AugAssign) -> None:
        target = node.target
        if not isinstance(target, ast.Subscript):
            old = self.evaluate(target)
            value = self._evaluator.binary(type(node.op), old, self.operand(node.value))
            self._assign(target, value, node.value)
            return
        with self.blaming(target):
            buffer, index = self._place(target)
            old = buffer.load(*index)
        value = self._evaluator.binary(type(node.op), old, self.operand(node.value))
        with self.blaming(node.value):
            self._builder.emit(buffer.store(as_any(value), index))

    def _store(self, target: ast.Subscript, value: object, source: ast.expr) -> None:
        buffer, index = self._place(target)
        with self.blaming(source):
            stored = ex.convert(as_operand(value))
            self._builder.emit(buffer.store(stored, index))

    def _place(self, target: ast.Subscript) -> tuple[Buffer, Sequence[ex.Expr]]:
        """The buffer and the indices of a store."""
        base = self.evaluate(target.value)
        if not isinstance(base, Buffer):
            raise TypeError(
                f"'{ast.unparse(target.value)}' is no buffer, nothing can be stored in it"
            )
        index = self._evaluator.index(target.slice, vectors=True)
        for part in as_indices(index):
            if isinstance(part, slice) and any(each is None for each in bounds(part)):
                raise NotSupported("a slice that is stored to needs both bounds")
        places = base.index_exprs(as_indices(index))
        ex.accessed_type(base, places)
        return base, places

    def _for(self, node: ast.For) -> None:
        if node.orelse:
            raise self.error(node.orelse[0], "a script cannot hold 'else' after 'for'")
        with self.blaming(node.iter):
            frame = self.evaluate(node.iter)
            if not isinstance(frame, ForFrame | GridFrame):
                raise TypeError(
                    "a loop runs over range, T.serial, T.parallel, T.vectorized, "
                    "T.unroll, T.thread_binding or T.grid"
                )
        with self._inside(frame) as value:
            is_single = isinstance(frame, GridFrame) and len(frame.loops) == 1
            if is_single and isinstance(node.target, ast.Name):
                (value,) = value
            self._bind_all(node.target, value)
            self._read_all(node.body)

    def _while(self, node: ast.While) -> None:
        if node.orelse:
            raise self.error(node.orelse[0], "a script cannot hold 'else' after 'while'")
        with self.blaming(node.test):
            frame = WhileFrame(ex.convert(self.evaluate(node.test)))
            value = ex.literal(frame.condition)
            if value is not None:
                raise TypeError("the condition of 'while' is a constant")
        with self._inside(frame):
            self._read_all(node.body)

    def _if(self, node: ast.If) -> None:
        with ExitStack() as open_branches:
            while True:
                with self.blaming(node.test):
                    condition = self._condition(node.test)
                if isinstance(condition, bool):
                    with self.scope.body():
                        self._read_all(node.body if condition else node.orelse)
                    return
                with self.blaming(node.test):
                    frame = IfFrame(condition)
                open_branches.enter_context(self._frame(frame))
                with self._inside(ThenFrame()):
                    self._read_all(node.body)
                if not node.orelse:
                    return
                open_branches.enter_context(self._inside(ElseFrame()))
                following = node.orelse[0]
                if len(node.orelse) > 1 or not isinstance(following, ast.If):
                    self._read_all(node.orelse)
                    return
                node = following
                if not self._depth_of_macros:
                    self._builder.position = (node.lineno, node.col_offset)

    @contextmanager
    def _frame(self, frame: Frame[None]) -> Generator[None]:
        frame.enter()
        yield
        frame.exit()

    def _condition(self, node: ast.expr) -> ex.Expr | bool:
        value = self.evaluate(node)
        if isinstance(value, ex.Expr | bool):
            return value
        raise TypeError(
            "the condition of 'if' must be a bool, of Python or of the program, not a "
            f"{type(value).__name__}"
        )

    def _with(self, node: ast.With) -> None:
        with ExitStack() as frames:
            for item in node.items:
                with self.blaming(item.context_expr):
                    frame = self.evaluate(item.context_expr)
                    if not isinstance(frame, Frame):
                        raise TypeError(
                            f"'{ast.unparse(item.context_expr)}' opens nothing; 'with' "
                            "takes T.block, T.attr, T.launch_thread and the like"
                        )
                    value = frames.enter_context(self._inside(as_frame(frame)))
                if item.optional_vars is not None:
                    self._bind_all(item.optional_vars, value)
            self._read_all(node.body)

    def _assert(self, node: ast.Assert) -> None:
        if node.msg is None:
            raise NotSupported('an assert needs a message: assert condition, "message"')
        condition = ex.convert(self.evaluate(node.test))
        message = ex.convert(self.evaluate(node.msg))
        with self.blaming(node.test):
            self._open_concise(AssertFrame(condition, message))

    def _return(self, node: ast.Return) -> None:
        if node.value is None:
            raise NotSupported("'return' needs a value")
        with self.blaming(node.value):
            value = ex.convert(self.evaluate(node.value))
        self._builder.emit(Return(value))


# ---- Python values whose types are not known ----


def as_any(value: object) -> Any:
    """The value, of which only Python knows what it can do."""
    return value


def as_frame(value: Any) -> Frame[Any]:
    """The frame."""
    return value


def as_indices(index: object) -> Sequence[object]:
    """What is in brackets, one by one."""
    given: Any = index
    return given if isinstance(index, tuple) else (index,)


def bounds(index: Any) -> tuple[object, object]:
    """The bounds of a slice, None for one that is not given."""
    return index.start, index.stop


def _annotated_var(annotation: object, value: object) -> object:
    """What the annotation of a let makes: the variable, if it is a good one."""
    if isinstance(annotation, LetAnnotation):
        return ex.Var("", annotation.type or ex.convert(value).type)
    return called(annotation)


def called(value: object) -> object:
    """An annotation's value: what a constructor such as `T.int32` makes."""
    return value() if callable(value) else value

"""Reads definitions: functions with their signatures, and modules.

What a definition is, its decorator says: `T.prim_func`, `I.ir_module` and so on are the
decorators of `xdsl_tvm.tvmscript.decorators`, which are told apart here by their classes.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType

from xdsl.dialects.builtin import NoneType
from xdsl.ir import Attribute

from xdsl_tvm.dialects import relax, tir
from xdsl_tvm.dialects.relax.attributes import VDeviceAttr
from xdsl_tvm.tvmscript.builder import IRBuilder
from xdsl_tvm.tvmscript.errors import ScriptError
from xdsl_tvm.tvmscript.frames import PrimFuncFrame
from xdsl_tvm.tvmscript.nodes import expressions as ex
from xdsl_tvm.tvmscript.nodes.constructs import serial
from xdsl_tvm.tvmscript.nodes.dtypes import Dtype
from xdsl_tvm.tvmscript.nodes.expressions import ScriptTypeError
from xdsl_tvm.tvmscript.nodes.statements import Buffer, IRModule, PrimFunc
from xdsl_tvm.tvmscript.reading.completion import CompletionError, complete
from xdsl_tvm.tvmscript.reading.macros import Macro, signature_of
from xdsl_tvm.tvmscript.reading.reader import BodyReader, called
from xdsl_tvm.tvmscript.reading.relax_body import RelaxMarker
from xdsl_tvm.tvmscript.reading.relax_reader import ReadRelaxFunction, RelaxFunctions
from xdsl_tvm.tvmscript.reading.relax_values import Extern
from xdsl_tvm.tvmscript.reading.rules import ModuleName, Rules
from xdsl_tvm.tvmscript.reading.scope import Scope
from xdsl_tvm.tvmscript.reading.source import Definition, Source
from xdsl_tvm.tvmscript.ssa.to_ssa import module_to_ssa

Annotations = Mapping[str, object]
"""What Python made of the annotations of a live function, by parameter."""

NO_ANNOTATIONS: Annotations = MappingProxyType({})


@dataclass(frozen=True)
class FunctionMarker:
    """Marks a TIR function."""

    private: bool = False
    check_well_formed: bool = True


@dataclass(frozen=True)
class ModuleMarker:
    """Marks a module."""

    check_well_formed: bool = True


@dataclass(frozen=True)
class MacroMarker:
    """Marks a macro."""

    hygienic: bool = True


Marker = FunctionMarker | ModuleMarker | MacroMarker | RelaxMarker


@dataclass
class ReadFunction:
    """A function that was read, and where."""

    nodes: PrimFunc
    source: Source
    node: ast.FunctionDef
    check_well_formed: bool


@dataclass
class ReadModule:
    """A module that was read: functions, and those that were built before."""

    functions: dict[str, ReadFunction] = field(default_factory=dict[str, ReadFunction])
    relax_functions: dict[str, ReadRelaxFunction] = field(
        default_factory=dict[str, ReadRelaxFunction]
    )
    captured: dict[str, tir.FuncOp | relax.FuncOp] = field(
        default_factory=dict[str, "tir.FuncOp | relax.FuncOp"]
    )
    attrs: dict[str, object] = field(default_factory=dict[str, object])
    global_infos: dict[str, list[object]] = field(default_factory=dict[str, list[object]])
    name: str = "Module"

    def nodes(self) -> IRModule:
        """The node tree of the TIR functions that were read."""
        functions = {name: each.nodes for name, each in self.functions.items()}
        return IRModule(functions, self.attrs, self.global_infos, self.name)


class DefinitionReader:
    """Reads the definitions of one source, whose names `names` are visible outside.

    `names` may grow while definitions are read; `rules` say what expressions may do.
    Raises ScriptError.
    """

    def __init__(
        self,
        source: Source,
        names: Mapping[str, object],
        translate: Callable[[object], object],
        rules: Rules,
    ) -> None:
        self.source = source
        self._names = names
        self._translate = translate
        self._rules = rules

    def scope(self) -> Scope:
        """The names around the definitions."""
        return Scope(self._names, self._translate, self._rules)

    def _reader(self, builder: IRBuilder, scope: Scope) -> BodyReader:
        return BodyReader(self.source, scope, builder)

    # ---- decorators ----

    def marker(self, node: Definition, scope: Scope) -> Marker | None:
        """What the last decorator says; None without a decorator.

        Raises ScriptError for one that marks nothing.
        """
        if not node.decorator_list:
            return None
        decorator = node.decorator_list[-1]
        reader = self._reader(IRBuilder(), scope)
        value = reader.evaluate(decorator)
        if isinstance(value, PrimFuncFrame):
            return FunctionMarker(value.private, value.check_well_formed)
        if isinstance(value, FunctionMarker | ModuleMarker | MacroMarker | RelaxMarker):
            return value
        raise self.source.error(
            decorator,
            f"'{ast.unparse(decorator)}' is no decorator of scripts; use T.prim_func, "
            "R.function, T.macro or I.ir_module",
        )

    # ---- macros ----

    def macro(self, node: ast.FunctionDef, hygienic: bool) -> Macro:
        """A macro; its default values are evaluated now."""
        reader = self._reader(IRBuilder(), self.scope())
        signature = signature_of(node.args, reader.evaluate)
        return Macro(self.source, node, hygienic, self.scope, signature)

    # ---- functions ----

    def function(
        self,
        node: ast.FunctionDef,
        marker: FunctionMarker,
        scope: Scope,
        annotations: Annotations = NO_ANNOTATIONS,
    ) -> ReadFunction:
        """A TIR function."""
        frame = PrimFuncFrame(node.name, private=marker.private)
        with IRBuilder() as builder:
            reader = self._reader(builder, scope)
            builder.position = (node.lineno, node.col_offset)
            with reader.blaming(node):
                frame.enter()
            with scope.body():
                scope.define("range", serial)
                with scope.body():
                    self._signature(node, reader, frame, annotations)
                    reader.read_body(node.body)
            with reader.blaming(node):
                frame.exit()
        function = frame.function
        assert function is not None
        self._complete(function, node)
        return ReadFunction(function, self.source, node, marker.check_well_formed)

    def _complete(self, function: PrimFunc, node: ast.FunctionDef) -> None:
        try:
            complete(function)
        except CompletionError as error:
            stmt = error.stmt
            if stmt.line is None or stmt.column is None:
                raise self.source.error(node, str(error)) from error
            span = self.source.span(stmt.line, stmt.column)
            raise ScriptError(span, str(error)) from error
        except RecursionError as error:
            raise self.source.error(node, "nested too deeply") from error

    def _signature(
        self,
        node: ast.FunctionDef,
        reader: BodyReader,
        frame: PrimFuncFrame,
        annotations: Annotations,
    ) -> None:
        self._check_parameters(node.args)
        for arg in (*node.args.posonlyargs, *node.args.args):
            value = self._parameter(arg, reader, annotations)
            with reader.blaming(arg):
                frame.add_param(arg.arg, value)
                reader.scope.define(arg.arg, value)
            if isinstance(value, ex.Var):
                frame.symbolic_extents.setdefault(arg.arg, value)
        for name, var in frame.symbolic_extents.items():
            if not reader.scope.holds(var):
                reader.scope.define(name, var)
        if node.returns is not None:
            frame.ret_type = self.return_type(node.returns, reader)

    def _check_parameters(self, args: ast.arguments) -> None:
        for arg in (args.vararg, args.kwarg, *args.kwonlyargs):
            if arg is not None:
                raise self.source.error(
                    arg,
                    f"'{arg.arg}': a script's function accepts positional parameters",
                )
        for default in args.defaults:
            raise self.source.error(
                default, "a parameter of a script's function has no default value"
            )

    def _parameter(
        self, arg: ast.arg, reader: BodyReader, annotations: Annotations
    ) -> ex.Var | Buffer:
        if arg.annotation is None:
            raise self.source.error(
                arg,
                f"parameter '{arg.arg}' needs an annotation, such as T.int32 or "
                'T.Buffer((16,), "float32")',
            )
        value = self._annotation(arg.annotation, reader, annotations.get(arg.arg))
        with reader.blaming(arg.annotation):
            value = called(value)
            if isinstance(value, ex.Var | Buffer):
                return value
            raise TypeError(
                f"the annotation of '{arg.arg}' must be a dtype, T.handle or T.Buffer"
            )

    def _annotation(self, node: ast.expr, reader: BodyReader, known: object) -> object:
        """The value of an annotation, what Python made of it where names are unknown."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return reader.evaluate(self._quoted(node, node.value))
        try:
            return reader.evaluate(node)
        except ScriptError:
            if known is None or isinstance(known, str):
                raise
            return known

    def _quoted(self, node: ast.Constant, text: str) -> ast.expr:
        """The expression in a string, in the place of the string."""
        try:
            expression = ast.parse(text, mode="eval").body
        except SyntaxError as error:
            message = f"the annotation is not valid Python: {error.msg}"
            raise self.source.error(node, message) from None
        except (MemoryError, RecursionError, ValueError):
            message = "the annotation is not valid Python, or nested too deeply"
            raise self.source.error(node, message) from None
        for part in ast.walk(expression):
            ast.copy_location(part, node)
        return expression

    def return_type(self, node: ast.expr, reader: BodyReader) -> Attribute | None:
        """What a return annotation says, None for nothing."""
        value = reader.evaluate(node)
        with reader.blaming(node):
            dtype = _return_type(value)
        return None if isinstance(dtype, NoneType) else dtype

    # ---- modules ----

    def module(
        self,
        node: ast.ClassDef,
        marker: ModuleMarker | None,
        scope: Scope,
        annotations: Mapping[str, Annotations],
    ) -> ReadModule:
        """A module: first its attributes and assignments, then its functions.

        Of a class without a marker, the functions need none either.
        """
        found = ReadModule(name=node.name)
        known: dict[str, ex.GlobalVar | Extern] = {}
        definitions = [stmt for stmt in node.body if isinstance(stmt, ast.FunctionDef)]
        with scope.body():
            scope.define(node.name, ModuleName(node.name, known))
            self._read_assignments(node, found, scope, known)
            devices = found.global_infos.get("vdevice", [])
            others = RelaxFunctions(
                self.source,
                devices=[each for each in devices if isinstance(each, VDeviceAttr)],
            )
            others.known = {
                name: each
                for name, each in found.captured.items()
                if isinstance(each, relax.FuncOp)
            }
            others.prim_funcs = {
                name: partial(_same, each)
                for name, each in found.captured.items()
                if isinstance(each, tir.FuncOp)
            }
            markers = [self._declare(each, marker, scope, known) for each in definitions]
            for each, kind in zip(definitions, markers, strict=True):
                given = annotations.get(each.name, NO_ANNOTATIONS)
                if isinstance(kind, RelaxMarker):
                    self.declare_relax(others, each, _checked(kind, marker), scope, given)
                    continue
                read = self.function(each, kind, scope, given)
                if marker is not None and not marker.check_well_formed:
                    read.check_well_formed = False
                found.functions[each.name] = read
                others.prim_funcs[each.name] = partial(_prim_func, read)
            found.relax_functions = self.read_relax(others)
        return found

    def declare_relax(
        self,
        functions: RelaxFunctions,
        node: ast.FunctionDef,
        marker: RelaxMarker,
        scope: Scope,
        annotations: Annotations = NO_ANNOTATIONS,
    ) -> None:
        """Read the signature of a Relax function."""
        self._check_parameters(node.args)
        with self._reader(IRBuilder(), scope).blaming(node):
            functions.declare(node, marker, scope, annotations)

    def read_relax(self, functions: RelaxFunctions) -> dict[str, ReadRelaxFunction]:
        """The Relax functions that were declared."""
        return {name: functions.read(name) for name in functions.names()}

    def _read_assignments(
        self,
        node: ast.ClassDef,
        found: ReadModule,
        scope: Scope,
        known: dict[str, ex.GlobalVar | Extern],
    ) -> None:
        with IRBuilder() as builder:
            reader = self._reader(builder, scope)
            for stmt in node.body:
                with reader.blaming(stmt):
                    self._read_member(stmt, reader, found, known)
            found.attrs = builder.module_attrs
            found.global_infos = builder.global_infos

    def _read_member(
        self,
        stmt: ast.stmt,
        reader: BodyReader,
        found: ReadModule,
        known: dict[str, ex.GlobalVar | Extern],
    ) -> None:
        match stmt:
            case ast.FunctionDef() | ast.Pass() | ast.Expr(value=ast.Constant()):
                pass
            case ast.Expr():
                if reader.evaluate(stmt.value) is not None:
                    raise TypeError("the expression does nothing in a module")
            case ast.Assign(targets=[ast.Name(id=name)]):
                value = reader.evaluate(stmt.value)
                if isinstance(value, tir.FuncOp | relax.FuncOp):
                    self._check_free(name, known)
                    found.captured[name] = value
                    known[name] = ex.GlobalVar(name, result_type(value))
                if isinstance(value, Extern):
                    self._check_free(name, known)
                    known[name] = value
                reader.scope.define(name, value, shadow=True)
            case _:
                raise SyntaxError(
                    "a module holds functions, I.module_attrs(...), "
                    "I.module_global_infos(...) and name = value"
                )

    def _check_free(self, name: str, known: Mapping[str, object]) -> None:
        if name in known:
            raise NameError(f"the module has a function '{name}' already")

    def _declare(
        self,
        node: ast.FunctionDef,
        around: ModuleMarker | None,
        scope: Scope,
        known: dict[str, ex.GlobalVar | Extern],
    ) -> FunctionMarker | RelaxMarker:
        marker = self.marker(node, scope)
        reader = self._reader(IRBuilder(), scope)
        match marker:
            case None if around is None:
                self._check_self(node)
                marker = FunctionMarker()
            case FunctionMarker() | RelaxMarker():
                pass
            case _:
                raise self.source.error(
                    node,
                    f"function '{node.name}' of a module needs @T.prim_func or "
                    "@R.function",
                )
        with reader.blaming(node):
            self._check_free(node.name, known)
        result = None
        if node.returns is not None and isinstance(marker, FunctionMarker):
            result = self.return_type(node.returns, reader)
        known[node.name] = ex.GlobalVar(node.name, result)
        return marker

    def _check_self(self, node: ast.FunctionDef) -> None:
        names = [arg.arg for arg in node.args.args]
        if names == ["self"]:
            raise self.source.error(
                node,
                f"'{node.name}' is a Python method, which cannot be read; call it and "
                "use what it returns",
            )

    def error(self, node: ast.AST, message: str) -> ScriptError:
        """An error at a node."""
        return self.source.error(node, message)


def _same(function: tir.FuncOp) -> tir.FuncOp:
    return function


def _prim_func(read: ReadFunction) -> tir.FuncOp | None:
    """The op of a function that was read; None for one whose fault is found later."""
    name = read.nodes.name
    try:
        module = module_to_ssa(IRModule({name: read.nodes}))
    except ScriptTypeError:
        return None
    (function,) = module.body.block.ops
    return function if isinstance(function, tir.FuncOp) else None


def _return_type(value: object) -> Attribute | None:
    if value is None:
        return None
    if isinstance(value, Dtype):
        return value.type
    var = called(value)
    if isinstance(var, ex.Var):
        return var.type
    raise TypeError("a function returns None or a dtype such as T.int32")


def _checked(marker: RelaxMarker, around: ModuleMarker | None) -> RelaxMarker:
    """The marker of a function in a module."""
    if around is None or around.check_well_formed:
        return marker
    return replace(marker, check_well_formed=False)


def result_type(function: tir.FuncOp | relax.FuncOp) -> Attribute | None:
    """What a function returns, None for nothing."""
    results: Sequence[Attribute] = function.function_type.outputs.data
    return results[0] if results else None

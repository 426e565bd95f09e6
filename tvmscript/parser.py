"""Reads whole scripts, given as text or as live definitions.

Text sees the names `T`, `R`, `I`, `tvm`, `tir`, `relax`, `ir` and those that the caller
adds; a live definition sees what its Python code sees (docs/spec/tvmscript.md §1, §2).
"""

from __future__ import annotations

import ast
import importlib
import sys
from collections import ChainMap
from collections.abc import Iterator, Mapping, MutableMapping
from functools import cache
from types import FrameType, FunctionType, MappingProxyType, ModuleType, SimpleNamespace

from xdsl.dialects.builtin import ModuleOp, i64
from xdsl.ir import Operation
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.analysis.tir.well_formed import violations
from xdsl_tvm.dialects import relax, tir
from xdsl_tvm.dialects.ir_module import IRModule
from xdsl_tvm.tvmscript.builder import IRBuilder
from xdsl_tvm.tvmscript.errors import ScriptError
from xdsl_tvm.tvmscript.frames import PrimFuncFrame
from xdsl_tvm.tvmscript.nodes import statements as st
from xdsl_tvm.tvmscript.nodes.expressions import ScriptTypeError, Var
from xdsl_tvm.tvmscript.reading.definitions import (
    Annotations,
    DefinitionReader,
    FunctionMarker,
    MacroMarker,
    ModuleMarker,
    ReadFunction,
    ReadModule,
)
from xdsl_tvm.tvmscript.reading.macros import Macro
from xdsl_tvm.tvmscript.reading.reader import BodyReader
from xdsl_tvm.tvmscript.reading.relax_body import RelaxMarker
from xdsl_tvm.tvmscript.reading.relax_reader import RelaxFunctions
from xdsl_tvm.tvmscript.reading.rules import LIVE, TextRules
from xdsl_tvm.tvmscript.reading.source import LiveDefinition, Source, find_definition
from xdsl_tvm.tvmscript.ssa.to_ssa import StatementError, module_to_ssa

_NO_NAMES: Mapping[str, object] = MappingProxyType({})


def parse(
    source: str | FunctionType | type,
    env: Mapping[str, object] | None = None,
    *,
    file: str = "<script>",
    locations: bool = False,
) -> IRModule:
    """The module of a script: text, a live function, or a live class.

    A text holds one class, which is the module, or functions, which are the functions of
    it. Undecorated ones are TIR functions, as are the members of an undecorated class.
    Imports are ignored, but for the names that they give to TVM's namespaces. `env` adds
    names to those of the text, or of the Python code around a live definition. `file`
    names the text in errors. With `locations`, operations of a text have the place of
    their statement as location.

    A text is read and never run: it sees the vocabularies, the names of `env`, and the
    functions of Python on numbers and lists that `TextRules` lists. Its work is bounded.
    A live definition sees what Python code in its place sees.

    Functions are completed and, unless they say `check_well_formed=False`, verified
    (docs/spec/tvmscript.md §9). Raises ScriptError, with the place, for what cannot be
    read, and OSError for a live definition whose source is not available.
    """
    if not isinstance(source, str):
        return module_op(_read_live(source, env or _NO_NAMES))
    return parse_text(source, env, file=file, locations=locations)[0]


def parse_text(
    source: str,
    env: Mapping[str, object] | None = None,
    *,
    file: str = "<script>",
    locations: bool = False,
) -> tuple[IRModule, bool]:
    """The module of a text, as `parse` has it, and whether all its functions were
    verified."""
    text = Source(source, file, locations)
    with text.blaming_nesting():
        read = _TextReader(text, env or _NO_NAMES).read()
        return module_op(read), _is_checked(read)


def _is_checked(module: ReadModule) -> bool:
    """Whether `module_op` verifies all that a module has."""
    if module.relax_functions or module.captured:
        return False
    return all(read.check_well_formed for read in module.functions.values())


def parse_nodes(
    source: str | FunctionType | type,
    env: Mapping[str, object] | None = None,
    *,
    file: str = "<script>",
) -> st.IRModule:
    """The node trees of a script, completed, but not verified; see `parse`.

    Relax functions, and those that a module takes over from Python, are not among them.
    """
    if not isinstance(source, str):
        return _read_live(source, env or _NO_NAMES).nodes()
    text = Source(source, file)
    with text.blaming_nesting():
        return _TextReader(text, env or _NO_NAMES).read().nodes()


def _read_live(source: FunctionType | type, env: Mapping[str, object]) -> ReadModule:
    if isinstance(source, FunctionType):
        return _LiveReader(source, env).function(None)
    return _LiveReader(source, env).module(None)


# ---- text ----


class _TextReader:
    """Reads the definitions at the top of a text."""

    def __init__(self, source: Source, env: Mapping[str, object]) -> None:
        self._source = source
        self._names: MutableMapping[str, object] = ChainMap(
            {}, dict(env), dict(default_names())
        )
        rules = TextRules(len(source.text), _namespaces(), _DECORATORS)
        self._reader = DefinitionReader(source, self._names, as_ours, rules)
        self._scope = self._reader.scope()
        self._module: ReadModule | None = None
        self._functions: dict[str, ReadFunction] = {}
        self._relax = RelaxFunctions(source)

    def read(self) -> ReadModule:
        """The one class of the text, or its functions."""
        for stmt in self._source.body:
            self._read(stmt)
        if self._module is not None:
            return self._module
        functions = self._reader.read_relax(self._relax)
        if not self._functions and not functions:
            raise self._source.error(
                ast.Pass(lineno=1, col_offset=0), "the text defines no function or class"
            )
        return ReadModule(self._functions, functions)

    def _read(self, stmt: ast.stmt) -> None:
        match stmt:
            case ast.Import() | ast.ImportFrom():
                self._names.update(_imported(stmt))
            case ast.Expr(value=ast.Constant()):
                pass
            case ast.Assign(targets=[ast.Name(id=name)]):
                reader = BodyReader(self._source, self._scope, IRBuilder())
                self._names[name] = reader.evaluate(stmt.value)
            case ast.FunctionDef():
                self._read_function(stmt)
            case ast.ClassDef():
                self._read_class(stmt)
            case _:
                raise self._source.error(
                    stmt,
                    "a script holds definitions, imports and name = value; its other "
                    "Python code would not be run",
                )

    def _read_function(self, node: ast.FunctionDef) -> None:
        match self._reader.marker(node, self._scope):
            case None:
                marker = FunctionMarker()
            case FunctionMarker() as marker:
                pass
            case MacroMarker(hygienic):
                self._names[node.name] = self._reader.macro(node, hygienic)
                return
            case RelaxMarker() as marker:
                self._check_alone(node, self._module is not None)
                self._check_name(node)
                self._reader.declare_relax(self._relax, node, marker, self._scope)
                return
            case ModuleMarker():
                raise self._source.error(node, "I.ir_module decorates a class")
        self._check_alone(node, self._module is not None)
        self._check_name(node)
        self._functions[node.name] = self._reader.function(node, marker, self._scope)

    def _check_name(self, node: ast.FunctionDef) -> None:
        if node.name in self._functions or node.name in self._relax:
            raise self._source.error(node, f"there are two functions '{node.name}'")

    def _read_class(self, node: ast.ClassDef) -> None:
        marker = self._reader.marker(node, self._scope)
        if marker is not None and not isinstance(marker, ModuleMarker):
            raise self._source.error(node, "a class needs @I.ir_module")
        functions = [*self._functions, *self._relax.names()]
        self._check_alone(node, self._module is not None or bool(functions))
        self._module = self._reader.module(node, marker, self._scope, {})

    def _check_alone(self, node: ast.stmt, is_second: bool) -> None:
        if not is_second:
            return
        classes = [n.name for n in self._source.body if isinstance(n, ast.ClassDef)]
        if len(classes) > 1:
            found = f"{', '.join(classes[:-1])} and {classes[-1]}"
            what = f"the text defines the modules {found}"
        else:
            what = f"the text defines the module {classes[0]} and functions outside of it"
        raise self._source.error(
            node,
            f"{what}, but a text is one module: one class, or functions only; take one "
            "by 'xdsl-tvm translate --name', or put each into a file of its own",
        )


def _imported(stmt: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, object]]:
    """The names that an import gives to TVM's namespaces."""
    names = default_names()
    if isinstance(stmt, ast.ImportFrom) and (stmt.module or "").endswith("script"):
        for alias in stmt.names:
            name = "tir" if alias.name == "tirx" else alias.name
            if name in ("tir", "ir", "relax"):
                yield alias.asname or alias.name, names[name]
    if isinstance(stmt, ast.Import):
        for alias in stmt.names:
            if alias.name == "tvm" and alias.asname is not None:
                yield alias.asname, names["tvm"]


@cache
def default_names() -> Mapping[str, object]:
    """The names that every text sees."""
    # The namespaces hold decorators, which read scripts; so they are loaded late.
    space = {
        name: importlib.import_module(f"xdsl_tvm.tvmscript.{name}")
        for name in ("tir", "ir", "relax")
    }
    script = SimpleNamespace(**space, ir_module=space["ir"].ir_module)
    tvm = SimpleNamespace(script=script, **space)
    return MappingProxyType(
        {
            **space,
            "T": space["tir"],
            "I": space["ir"],
            "R": space["relax"],
            "tvm": tvm,
            "TypeVar": _type_variable,
        }
    )


_DECORATORS = (FunctionMarker, MacroMarker, ModuleMarker, RelaxMarker, PrimFuncFrame)
"""What marks a definition."""


def _namespaces() -> list[ModuleType]:
    """The vocabularies, whose names texts see."""
    names = default_names()
    return [each for each in names.values() if isinstance(each, ModuleType)]


def _type_variable(name: str) -> Var:
    """A symbolic dimension, as the text of newer TVM declares it."""
    return Var(name, i64)


def as_ours(value: object) -> object:
    """TVM's own namespaces, where a file imported them, are ours."""
    if not isinstance(value, ModuleType):
        return value
    first, *rest = value.__name__.split(".")
    if first != "tvm":
        return value
    if not rest:
        return default_names()["tvm"]
    if rest[-1] in ("tir", "ir", "relax"):
        return default_names()[rest[-1]]
    return value


# ---- live definitions ----


def read_live_function(
    function: FunctionType, marker: FunctionMarker, frame: FrameType | None
) -> tir.FuncOp:
    """The op of a live function that is being decorated in `frame`."""
    op = _only_function(_LiveReader(function, _NO_NAMES, frame).function(marker))
    assert isinstance(op, tir.FuncOp)
    return op


def read_live_relax(
    function: FunctionType, marker: RelaxMarker, frame: FrameType | None
) -> relax.FuncOp:
    """The op of a live Relax function that is being decorated in `frame`."""
    op = _only_function(_LiveReader(function, _NO_NAMES, frame).function(marker))
    assert isinstance(op, relax.FuncOp)
    return op


def _only_function(module: ReadModule) -> Operation:
    (op,) = module_op(module).body.block.ops
    op.detach()
    return op


def read_live_module(
    definition: type, marker: ModuleMarker, frame: FrameType | None
) -> IRModule:
    """The module of a live class that is being decorated in `frame`."""
    return module_op(_LiveReader(definition, _NO_NAMES, frame).module(marker))


def read_live_macro(
    function: FunctionType, marker: MacroMarker, frame: FrameType | None
) -> Macro:
    """The macro of a live function that is being decorated in `frame`."""
    return _LiveReader(function, _NO_NAMES, frame).macro(marker)


def is_member_of_module(function: FunctionType) -> bool:
    """Whether a live function is in a class that is decorated as a module.

    Such a function is read with its module, not on its own. False also where the source
    is not available.
    """
    try:
        around = find_definition(function).around
    except (OSError, ScriptError):
        return False
    if not around or not isinstance(around[-1], ast.ClassDef):
        return False
    decorators = around[-1].decorator_list
    if not decorators:
        return False
    last = decorators[-1]
    name = last.func if isinstance(last, ast.Call) else last
    return ast.unparse(name).split(".")[-1] in ("ir_module", "rewriter")


class _LiveReader:
    """Reads a live function or class."""

    def __init__(
        self,
        definition: FunctionType | type,
        env: Mapping[str, object],
        frame: FrameType | None = None,
    ) -> None:
        self._definition = definition
        self._live: LiveDefinition = find_definition(definition, frame)
        names = ChainMap(dict(env), *_python_names(definition, frame))
        self._reader = DefinitionReader(self._live.source, names, as_ours, LIVE)

    def function(self, marker: FunctionMarker | RelaxMarker | None) -> ReadModule:
        """The function; without a marker, what its decorator says."""
        node, scope = self._live.node, self._reader.scope()
        assert isinstance(node, ast.FunctionDef)
        found = self._reader.marker(node, scope) if marker is None else marker
        known: Annotations = dict(self._definition.__annotations__)
        if isinstance(found, RelaxMarker):
            functions = RelaxFunctions(self._live.source)
            self._reader.declare_relax(functions, node, found, scope, known)
            return ReadModule(relax_functions=self._reader.read_relax(functions))
        if found is not None and not isinstance(found, FunctionMarker):
            raise self._reader.error(
                node, "the function needs @T.prim_func or @R.function"
            )
        read = self._reader.function(node, found or FunctionMarker(), scope, known)
        return ReadModule({read.nodes.name: read})

    def macro(self, marker: MacroMarker) -> Macro:
        """The macro."""
        assert isinstance(self._live.node, ast.FunctionDef)
        return self._reader.macro(self._live.node, marker.hygienic)

    def module(self, marker: ModuleMarker | None) -> ReadModule:
        """The module; without a marker, what its decorator says."""
        node, scope = self._live.node, self._reader.scope()
        assert isinstance(node, ast.ClassDef)
        found = self._reader.marker(node, scope) if marker is None else marker
        if found is not None and not isinstance(found, ModuleMarker):
            raise self._reader.error(node, "a class needs @I.ir_module")
        known: dict[str, Annotations] = {
            name: dict(member.__annotations__)
            for name, member in vars(self._definition).items()
            if isinstance(member, FunctionType)
        }
        return self._reader.module(node, found, scope, known)


def _python_names(
    definition: FunctionType | type, frame: FrameType | None
) -> Iterator[dict[str, object]]:
    """What Python code in a definition sees, inner names first.

    Locals of the function around are among it also where Python would not keep them for
    the definition, as for names in annotations only.
    """
    members: list[object] = (
        [definition]
        if isinstance(definition, FunctionType)
        else list(vars(definition).values())
    )
    functions = [each for each in members if isinstance(each, FunctionType)]
    for function in functions:
        yield dict(_cells(function))
    if frame is not None:
        yield dict(frame.f_locals)
    module = sys.modules.get(definition.__module__)
    if functions:
        yield functions[0].__globals__
    elif module is not None:
        yield vars(module)


def _cells(function: FunctionType) -> Iterator[tuple[str, object]]:
    """The variables of functions around that a function uses."""
    for name, cell in zip(
        function.__code__.co_freevars, function.__closure__ or (), strict=True
    ):
        try:
            yield name, cell.cell_contents
        except ValueError:
            # Assigned later, as the class that is being decorated.
            continue


# ---- ops ----


def module_op(module: ReadModule) -> IRModule:
    """The ops of a module, verified where its functions ask for it."""
    op = _emitted(module)
    op.body.block.add_ops(read.op for read in module.relax_functions.values())
    for captured in module.captured.items():
        _add_captured(op, *captured)
    for function in op.body.block.ops:
        if isinstance(function, tir.FuncOp):
            read = module.functions.get(function.sym_name.data)
            if read is not None and read.check_well_formed:
                _check(function, read)
    for read in module.relax_functions.values():
        if read.check_well_formed:
            read.check()
    return op


def _emitted(module: ReadModule) -> IRModule:
    # All functions of a module come from one source.
    read = next(
        iter((*module.functions.values(), *module.relax_functions.values())), None
    )
    locate = None if read is None or not read.source.locates else read.source.location
    try:
        return module_to_ssa(module.nodes(), locate)
    except ScriptTypeError as error:
        if read is None:
            raise
        if not isinstance(error, StatementError):
            raise read.source.error(read.node, str(error)) from error
        span = read.source.span(error.line or read.node.lineno, error.column or 0)
        raise ScriptError(span, str(error)) from error


def _add_captured(
    module: ModuleOp, name: str, function: tir.FuncOp | relax.FuncOp
) -> None:
    copied = function.clone()
    copied.sym_name = type(copied.sym_name)(name)
    module.body.block.add_op(copied)


def _check(function: tir.FuncOp, read: ReadFunction) -> None:
    try:
        function.verify()
    except VerifyException as error:
        raise read.source.error(read.node, str(error)) from error
    for violation in violations(function):
        message = f"function '{read.node.name}' is not well-formed: {violation.reason}"
        raise read.source.error(read.node, message)

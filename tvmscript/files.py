"""Files of scripts: read as text, or executed as Python.

A file as text never runs; it holds definitions, imports and assignments, no other Python.
A file with more in it, such as helper functions, has to be executed, which runs whatever
it says. It may import what is beside it, or beside the package that it is in; a file
without a module may have a function `build_module()` that returns one. While it runs,
`import tvm`, `from tvm import relax` and `from tvm.script import tir as T` find the
modules of this package, whether TVM is installed or not.
"""

from __future__ import annotations

import ast
import importlib.util
import sys
import traceback
from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import TypeVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import DiagnosticException

from xdsl_tvm.dialects import relax, tir
from xdsl_tvm.dialects.tir.storage_scope import did_you_mean
from xdsl_tvm.tvm_words import found_module, is_tvm
from xdsl_tvm.tvmscript.errors import ScriptError
from xdsl_tvm.tvmscript.parser import parse
from xdsl_tvm.tvmscript.reading.source import Definition, Source, first_line

T = TypeVar("T")

_numbers = count()
_BUILDER = "build_module"


def read_file(path: Path, name: str | None = None, *, execute: bool = False) -> ModuleOp:
    """The module of a file: all that it defines, or its definition called `name`.

    Without `execute` the file is read as text. With it, the file is run as Python: only
    for files that are trusted. Functions and the functions of classes become one module;
    where there are none, it is what the file's `build_module()` returns.

    Raises ScriptError for what cannot be read, DiagnosticException where there is no such
    definition, two functions have one name, or the Python of the file fails, and OSError
    for a file that cannot be opened.
    """
    if execute:
        found = _executed(path)
        chosen = found if name is None else {name: _known(path, name, found)}
    else:
        chosen = _read(path, name)
    if not chosen:
        raise DiagnosticException(
            f"{path}: the file defines no function or class with T.prim_func, R.function "
            "or I.ir_module" + (f", and no function {_BUILDER}()" if execute else "")
        )
    return _merged(path, chosen)


def _merged(path: Path, modules: Mapping[str, ModuleOp]) -> ModuleOp:
    """One module of the functions of several, which it takes."""
    if len(modules) == 1:
        return next(iter(modules.values()))
    merged = ModuleOp([])
    known: dict[str, str] = {}
    for name, module in modules.items():
        for op in list(module.body.block.ops):
            is_function = isinstance(op, tir.FuncOp | relax.FuncOp)
            symbol = op.sym_name.data if is_function else ""
            if symbol and known.setdefault(symbol, name) != name:
                raise DiagnosticException(
                    f"{path}: {known[symbol]} and {name} both have a function "
                    f"'{symbol}'; choose one of them by its name"
                )
            op.detach()
            merged.body.block.add_op(op)
        for key, value in module.attributes.items():
            if merged.attributes.setdefault(key, value) != value:
                raise DiagnosticException(
                    f"{path}: the modules of the file differ in their attribute '{key}'; "
                    "choose one of them by its name"
                )
    return merged


def _known(path: Path, name: str, found: Mapping[str, T]) -> T:
    """What is called `name`; an error that says what else there is."""
    if name in found:
        return found[name]
    known = ", ".join(found) or "none"
    raise DiagnosticException(
        f"{path}: there is no definition '{name}'{did_you_mean(name, list(found))}; the "
        f"file has {known}"
    )


# ---- text ----


def _read(path: Path, name: str | None) -> dict[str, ModuleOp]:
    """The definition `name` of a text, or all: classes one by one, functions together."""
    text = path.read_text(encoding="utf-8")
    if not text.strip():
        raise DiagnosticException(f"{path}: the file is empty; it should hold TVMScript")
    source = Source(text, str(path))
    programs = {
        node.name: node
        for node in source.body
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not _is_macro(node)
    }
    if name is not None:
        groups = [[_known(path, name, programs)]]
    else:
        groups = [[node] for node in programs.values() if isinstance(node, ast.ClassDef)]
        functions = [n for n in programs.values() if isinstance(n, ast.FunctionDef)]
        groups += [functions] if functions or not groups else []
    found: dict[str, ModuleOp] = {}
    for group in groups:
        hidden = [node for node in programs.values() if node not in group]
        label = group[0].name if group else ""
        found[label] = _parsed(source, hidden)
    return found


def _parsed(source: Source, hidden: Sequence[Definition]) -> ModuleOp:
    try:
        return parse(_without(source.text, hidden), file=source.name)
    except ScriptError as error:
        if not any(map(_is_python, source.body)):
            raise
        reason = "a file with Python beside its scripts is to be executed"
        raise ScriptError(error.span, f"{error.msg} ({reason})") from None


def has_python_beside(text: str) -> bool:
    """Whether a text has more than scripts at its top; not if Python cannot read it."""
    try:
        return any(map(_is_python, ast.parse(text).body))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def _is_python(node: ast.stmt) -> bool:
    """Whether a statement at the top of a file is no part of a script."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return not node.decorator_list
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return not is_text and not isinstance(node, ast.Import | ast.ImportFrom | ast.Assign)


def _is_macro(node: Definition) -> bool:
    marks = [
        each.func if isinstance(each, ast.Call) else each for each in node.decorator_list
    ]
    return any(
        isinstance(mark, ast.Attribute) and mark.attr in ("macro", "inline")
        for mark in marks
    )


def _without(text: str, hidden: Sequence[Definition]) -> str:
    """The text with definitions blanked out, so that places stay the same."""
    lines = text.splitlines(keepends=True)
    for node in hidden:
        for line in range(first_line(node) - 1, node.end_lineno or node.lineno):
            lines[line] = "\n"
    return "".join(lines)


# ---- execution ----


def _executed(path: Path) -> dict[str, ModuleOp]:
    """The definitions of a file that is run, or else what its builder returns."""
    found: dict[str, ModuleOp] = {}
    seen: set[object] = set()
    for name, value in _run(path).items():
        if isinstance(value, tir.FuncOp | relax.FuncOp | ModuleOp) and value not in seen:
            seen.add(value)
            is_module = isinstance(value, ModuleOp)
            found[name] = value if is_module else ModuleOp([value.clone()])
    return found


def _run(path: Path) -> dict[str, object]:
    """The variables of a file that is run, of those without a program with what its
    builder returns."""
    folder, package = _imports_of(path)
    name = f"{package}_xdsl_tvm_script_{next(_numbers)}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise DiagnosticException(f"{path}: a file that is executed ends in .py")
    module = importlib.util.module_from_spec(spec)
    with _tvm_is_ours(), _known_to_python(name, module, folder):
        try:
            spec.loader.exec_module(module)
            variables = dict(vars(module))
            builder = variables.get(_BUILDER)
            if callable(builder) and not any(map(_is_program, variables.values())):
                variables[_BUILDER] = _built(path, builder())
        except (ScriptError, DiagnosticException, OSError):
            raise
        except Exception as error:
            raise DiagnosticException(
                f"{path}:{_line_in(path, error)}: {type(error).__name__}: {error}"
            ) from error
    return variables


def _is_program(value: object) -> bool:
    return isinstance(value, tir.FuncOp | relax.FuncOp | ModuleOp)


def _built(path: Path, result: object) -> object:
    if _is_program(result):
        return result
    raise DiagnosticException(
        f"{path}: what {_BUILDER}() returns is no module, but of type "
        f"{type(result).__name__}; return a module"
    )


def _imports_of(path: Path) -> tuple[Path, str]:
    """Where a file's imports are found, and the start of its name: its package."""
    folder, names = path.absolute().parent, ""
    while (folder / "__init__.py").is_file():
        folder, names = folder.parent, f"{folder.name}.{names}"
    return folder, names


@contextmanager
def _known_to_python(name: str, module: ModuleType, folder: Path) -> Generator[None]:
    """Has a file be one of the modules while it runs, with imports from a folder.

    Python asks for the module of a class, as dataclasses do. Modules that are imported
    from the folder are removed: the next file may have another one of the same name.
    """
    is_searched = str(folder) in sys.path
    before = set(sys.modules)
    sys.modules[name] = module
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        if str(folder) in sys.path:
            sys.path.remove(str(folder))
        sys.modules.pop(name, None)
        if not is_searched:
            _remove_modules(folder, before)


def _remove_modules(folder: Path, kept: Collection[str]) -> None:
    """Removes the modules and packages in a folder, but for the names in `kept`."""
    beside = {
        name
        for name, module in sys.modules.items()
        if "." not in name and name not in kept and _is_in(folder, module)
    }
    for name in list(sys.modules):
        if name.partition(".")[0] in beside:
            del sys.modules[name]


def _is_in(folder: Path, module: ModuleType) -> bool:
    """Whether a module, or the folder of a package, is directly in a folder."""
    file: str | None = getattr(module, "__file__", None)
    found: Sequence[str] = getattr(module, "__path__", [file] if file else [])
    return any(Path(each).parent == folder for each in found)


def _line_in(path: Path, error: Exception) -> int:
    """The line of the file where an error of its Python comes from."""
    if isinstance(error, SyntaxError):
        return error.lineno or 1
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(path)]
    return (lines[-1] if lines else None) or 1


@contextmanager
def _tvm_is_ours() -> Generator[None]:
    """Makes imports of TVM find this package, and gives back what they found before."""
    before = {name: sys.modules[name] for name in list(sys.modules) if is_tvm(name)}
    for name in before:
        del sys.modules[name]
    finder = _OursAsTVM()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in [name for name in sys.modules if is_tvm(name)]:
            del sys.modules[name]
        sys.modules.update(before)


class _OursAsTVM(MetaPathFinder, Loader):
    """Finds `tvm.x` as `xdsl_tvm.x`, the very module, whatever `x` is."""

    def __init__(self) -> None:
        self._specs: dict[str, ModuleSpec | None] = {}
        """What says where our modules are from, by TVM's names."""

    def find_spec(
        self, fullname: str, path: object = None, target: object = None
    ) -> ModuleSpec | None:
        found = _ours(fullname) if is_tvm(fullname) else None
        if found is None:
            return None
        return spec_from_loader(fullname, self, is_package=hasattr(found, "__path__"))

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        found = _ours(spec.name)
        assert found is not None
        self._specs[spec.name] = found.__spec__
        return found

    def exec_module(self, module: ModuleType) -> None:
        # The import has put its own in the place.
        assert module.__spec__ is not None
        module.__spec__ = self._specs[module.__spec__.name]


def _ours(name: str) -> ModuleType | None:
    """Our module for one of TVM."""
    try:
        return found_module(name)
    except AttributeError:
        return None

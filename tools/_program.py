"""Programs of TVM run statement by statement, with imports of TVM being ours."""

from __future__ import annotations

import ast
import builtins
import sys
import traceback
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from xdsl_tvm.passes.infra.error_lines import UserError, error_line
from xdsl_tvm.passes.infra.module_text import reading
from xdsl_tvm.runtime.cuda_driver import NoGPUError
from xdsl_tvm.tools._tvm_imports import (
    Import,
    imported_names,
    our_import,
    with_our_imports,
)
from xdsl_tvm.tvm_words import Kind, MissingError, found_module, is_tvm

FAILED: Final = "failed"
_GPU: Final = "GPU"
_PACKAGES: Final = "packages not installed"
_NETWORK: Final = "network"
_PROGRAM: Final = "raised by the program"
_NETWORK_ERRORS: Final = {"ConnectionError", "HTTPError", "URLError", "gaierror"}
"""The names of classes of errors; packages that download define their own."""


@dataclass(frozen=True)
class Step:
    """A statement that was run."""

    line: int
    text: str
    """Its first line."""
    kind: str | None = None
    """None where it ran; what it needs that is not here; or `FAILED`."""
    error: str = ""
    cause: int | None = None
    """The line of the earlier statement whose failure it depends on."""


def counts(steps: Sequence[Step]) -> Counter[str]:
    """The number of statements that did not run, by class."""
    return Counter(step.kind for step in steps if step.kind is not None)


def run_program(path: Path) -> list[Step]:
    """Runs each statement of a program in turn, and goes on after one that fails.

    Branches at the top of the program are followed, and their statements are its own. A
    name that a failed statement was to bind has no value afterwards, unless the statement
    uses it: after `mod = P()(mod)` it is what it was before. So is a statement that
    fails for want of such a name one that depends on the other.

    Raises UserError for a file that cannot be read, or is not valid Python.
    """
    text, tree = read_program(path)
    module = ModuleType("__main__")
    module.__file__ = str(path)
    program = _Program(path, text.splitlines(), module)
    with _as_main(module, path), suppress(SystemExit):
        # `sys.exit` ends the program, and not this one.
        program.run(tree.body)
    return program.steps


def read_program(path: Path) -> tuple[str, ast.Module]:
    """The text of a program, and its tree. Raises UserError."""
    with reading(str(path)):
        try:
            text = path.read_text(encoding="utf-8")
            return text, ast.parse(text)
        except UnicodeDecodeError:
            raise
        except OSError as error:
            raise UserError(error_line(error)) from None
        except (SyntaxError, ValueError) as error:
            line = error.lineno if isinstance(error, SyntaxError) else 1
            raise UserError(f"{path}:{line}: not valid Python: {error}") from None


@contextmanager
def _as_main(module: ModuleType, path: Path) -> Generator[None]:
    """Makes a module the main one, as it is in a process that runs the file."""
    before = sys.modules["__main__"], sys.argv, sys.path
    sys.modules["__main__"] = module
    sys.argv = [str(path)]
    sys.path = [str(path.parent), *sys.path]
    try:
        yield
    finally:
        sys.modules["__main__"], sys.argv, sys.path = before


@dataclass
class _Program:
    path: Path
    lines: Sequence[str]
    module: ModuleType
    steps: list[Step] = field(default_factory=list[Step])
    lost: dict[str, Step] = field(default_factory=dict[str, Step])
    """Names without a value since a statement failed, with that statement."""
    unchanged: dict[str, Step] = field(default_factory=dict[str, Step])
    """Names that statements used that were run for their effect, and failed."""

    @property
    def _names(self) -> dict[str, Any]:
        return vars(self.module)

    def run(self, body: Sequence[ast.stmt]) -> None:
        for node in body:
            if isinstance(node, ast.If):
                self._branch(node)
            elif isinstance(node, ast.Import | ast.ImportFrom):
                self._import(node)
            elif not _is_text(node):
                self._statement(node)

    def _branch(self, node: ast.If) -> None:
        condition = compile(ast.Expression(node.test), str(self.path), "eval")
        try:
            taken = bool(eval(condition, self._names))
        except Exception as error:
            self._fail(node, error)
        else:
            self.run(node.body if taken else node.orelse)

    def _statement(self, node: ast.stmt) -> None:
        try:
            self._refuse_builtins(node)
            self._execute([with_our_imports(node)])
        except Exception as error:
            self._fail(node, error)
        else:
            self._ran(node)

    def _import(self, node: Import) -> None:
        """Imports name by name, so that those that are here are bound."""
        errors: list[tuple[Import, Exception]] = []
        for each, name in imported_names(node):
            try:
                self._execute(our_import(each))
            except Exception as error:
                errors.append((each, _reason(name, error)))
        if not errors:
            self._ran(node)
            return
        for each, error in errors:
            self._lose(each, self._failed(each, error))
        self.steps.append(self._failed(node, errors[0][1]))

    def _execute(self, body: list[ast.stmt]) -> None:
        exec(compile(ast.Module(body, []), str(self.path), "exec"), self._names)

    def _refuse_builtins(self, node: ast.stmt) -> None:
        """Raises NameError for a lost name, such as `exec`, that Python has, too."""
        for name in _used(node):
            if name in self.lost and hasattr(builtins, name):
                raise NameError(f"name '{name}' is not defined", name=name)

    def _ran(self, node: ast.stmt) -> None:
        for name in _bound(node):
            self.lost.pop(name, None)
            self.unchanged.pop(name, None)
        self.steps.append(self._step(node))

    def _fail(self, node: ast.stmt, error: Exception) -> None:
        step = self._failed(node, error)
        self._lose(node, step)
        self.steps.append(step)

    def _step(self, node: ast.stmt) -> Step:
        return Step(node.lineno, self.lines[node.lineno - 1].strip())

    def _failed(self, node: ast.stmt, error: Exception) -> Step:
        is_known = isinstance(error, MissingError)
        shown = str(error) if is_known else error_line(error)
        step = replace(self._step(node), error=shown)
        cause = self._cause(node, error)
        if cause is None:
            kind = self._kind(error)
            names = [name for name in _used(node) if name in self.unchanged]
            if kind != FAILED or not names:
                return replace(step, kind=kind)
            cause = self.unchanged[names[0]]
        first = cause.line if cause.cause is None else cause.cause
        return replace(step, kind=cause.kind, cause=first)

    def _cause(self, node: ast.stmt, error: Exception) -> Step | None:
        """The failed statement whose names an error is about."""
        for each in _chain(error):
            if isinstance(each, NameError) and each.name in self.lost:
                return self.lost[each.name]
        # Scripts are read, not run: their errors quote the names.
        used = [name for name in _used(node) if name in self.lost]
        quoted = [name for name in used if f"'{name}'" in str(error)]
        return self.lost[quoted[0]] if quoted else None

    def _kind(self, error: Exception) -> str:
        for each in _chain(error):
            names = {base.__name__ for base in type(each).__mro__}
            if isinstance(each, MissingError):
                return FAILED if each.kind == Kind.NAMES else each.kind
            if isinstance(each, NoGPUError):
                return _GPU
            if isinstance(each, ModuleNotFoundError) and _is_foreign(each.name or ""):
                return _PACKAGES
            if names & _NETWORK_ERRORS:
                return _NETWORK
        return _PROGRAM if self._raises(error) else FAILED

    def _raises(self, error: Exception) -> bool:
        """Whether a `raise` of the program has raised an error."""
        *_, last = traceback.extract_tb(error.__traceback__)
        if last.filename != str(self.path) or not last.lineno:
            return False
        return self.lines[last.lineno - 1].strip().startswith("raise ")

    def _lose(self, node: ast.stmt, step: Step) -> None:
        used = set(_used(node))
        names = [n for n in _bound(node) if n not in used or n not in self._names]
        if isinstance(node, ast.With):
            names += [n for n in map(_receiver, node.items) if n and self._is_value(n)]
        for name in names:
            self._names.pop(name, None)
            self.lost[name] = step
        if isinstance(node, ast.Expr):
            self.unchanged |= {name: step for name in used if self._is_value(name)}

    def _is_value(self, name: str) -> bool:
        return name in self._names and not isinstance(self._names[name], ModuleType)


def _is_foreign(name: str) -> bool:
    """Whether a module is neither TVM's nor ours."""
    return not is_tvm(name) and name.partition(".")[0] != "xdsl_tvm"


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _receiver(item: ast.withitem) -> str | None:
    """`bb` of `with bb.function(…):`, whose state is unknown once the body fails."""
    match item.context_expr:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name))):
            return name
        case _:
            return None


def _reason(name: str, error: Exception) -> Exception:
    """Why a name of TVM cannot be imported, which the error of an import does not say."""
    if is_tvm(name) and isinstance(error, ImportError):
        try:
            found_module(name)
        except AttributeError as reason:
            return reason
    return error


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """An error, and those that it was raised for."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _used(node: ast.AST) -> list[str]:
    """The names that a statement reads, in functions of it as well."""
    return [
        each.id
        for each in ast.walk(node)
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)
    ]


def _bound(node: ast.AST) -> list[str]:
    """The names that a statement binds in the module."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return [node.name]
        case ast.Import() | ast.ImportFrom():
            return [a.asname or a.name.partition(".")[0] for a in node.names]
        case ast.Name(id=name, ctx=ast.Store()):
            return [name]
        case ast.Lambda() | ast.ListComp() | ast.SetComp() | ast.DictComp():
            return []
        case ast.GeneratorExp():
            return []
        case _:
            return [n for child in ast.iter_child_nodes(node) for n in _bound(child)]

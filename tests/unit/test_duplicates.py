"""The package has no helper twice and no name that nothing uses."""

from __future__ import annotations

import ast
import gc
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TypeAlias, cast

ROOT = Path(__file__).parents[2]
PACKAGE = (
    "analysis",
    "dialects",
    "frontend",
    "interpreters",
    "lowering",
    "namespaces",
    "passes",
    "relax",
    "runtime",
    "targets",
    "tools",
    "tvmscript",
)
OTHERS = ("benchmarks", "docs", "examples", "src", "tests")
"""Folders whose code uses names of the package."""

LEAST_STATEMENTS = 3
"""Shorter bodies are alike by chance, such as constructors of operations."""
SIGNATURE_FIELDS = frozenset({"annotation", "returns", "ctx", "type_comment"})

ALLOWED_DUPLICATES: frozenset[str] = frozenset()
"""Functions that are written twice on purpose, as `file:name`, each with its reason."""
ALLOWED_UNUSED: frozenset[str] = frozenset()
"""Names that users of the package need and nothing in it uses, each with its reason."""

Form: TypeAlias = "tuple[Form, ...] | str | int"


def sources(folders: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The paths and texts of the files of folders; links are not followed."""
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if not any(each.is_symlink() for each in (path, *path.parents)):
                yield str(path.relative_to(ROOT)), path.read_text("utf-8")


def body_of(function: ast.FunctionDef) -> list[ast.stmt]:
    """The statements, without the docstring."""
    first = function.body[0]
    has_docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return function.body[has_docstring:]


def form_of(function: ast.FunctionDef) -> Form:
    """The parameters and the body, with numbers for the names that are bound in it."""
    bound = {node.arg for node in ast.walk(function) if isinstance(node, ast.arg)}
    bound |= {
        node.id
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    numbers: dict[str, int] = {}

    def form(node: object) -> Form:
        match node:
            case ast.Name(id=name) | ast.arg(arg=name):
                return numbers.setdefault(name, len(numbers)) if name in bound else name
            case ast.AnnAssign(target=target, value=value):
                return ("Assign", (form(target),), form(value))
            case ast.AST():
                fields = ast.iter_fields(node)
                parts = (
                    form(part) for key, part in fields if key not in SIGNATURE_FIELDS
                )
                return (type(node).__name__, *parts)
            case list():
                return tuple(map(form, cast("list[object]", node)))
            case _:
                return repr(node)

    return (form(function.args), *map(form, body_of(function)))


def statement_kinds(function: ast.FunctionDef) -> list[str]:
    """The kinds of the statements of a body, of nested ones too."""
    found: list[str] = []
    pending = body_of(function)
    while pending:
        stmt = pending.pop()
        kind = ast.Assign if isinstance(stmt, ast.AnnAssign) else type(stmt)
        found.append(kind.__name__)
        for key in ("body", "orelse", "finalbody"):
            pending += cast("list[ast.stmt]", getattr(stmt, key, []))
    return found


def duplicates(functions: Iterable[tuple[str, ast.FunctionDef]]) -> list[list[str]]:
    """The names of functions that have one body, long enough to be compared."""
    alike = defaultdict[tuple[str, ...], list[tuple[str, ast.FunctionDef]]](list)
    for name, function in functions:
        kinds = statement_kinds(function)
        if len(kinds) >= LEAST_STATEMENTS:
            alike[tuple(kinds)].append((name, function))
    by_form = defaultdict[Form, list[str]](list)
    for group in alike.values():
        if len(group) > 1:
            for name, function in group:
                by_form[form_of(function)].append(name)
    return [names for names in by_form.values() if len(names) > 1]


def nodes_of(module: ast.Module) -> Iterator[ast.AST]:
    """All nodes, in any order: `ast.walk` takes longer."""
    pending: list[ast.AST] = [module]
    while pending:
        node = pending.pop()
        yield node
        for key in node._fields:
            value = getattr(node, key)
            if isinstance(value, list):
                parts = cast("list[object]", value)
                pending += [part for part in parts if isinstance(part, ast.AST)]
            elif isinstance(value, ast.AST) and not isinstance(value, ast.expr_context):
                pending.append(value)


@dataclass
class Names:
    """What all files define and use. Their trees, half a gigabyte, are not kept."""

    functions: list[tuple[str, ast.FunctionDef]] = field(
        default_factory=list[tuple[str, ast.FunctionDef]]
    )
    """The functions and methods of the package, as `file:name`."""
    used: set[str] = field(default_factory=set[str])
    """Names that are read, imported under another name, or part of a short string."""
    defined: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """The paths of the package's files, and what they define."""

    def read(self, path: str, module: ast.Module, *, of_package: bool) -> None:
        """Add a file."""
        for node in nodes_of(module):
            match node:
                case ast.Name(id=name, ctx=ast.Load()) | ast.Attribute(attr=name):
                    self.used.add(name)
                case ast.alias(name=name, asname=str(other)) if name != other:
                    self.used.add(name)
                case ast.Constant(value=str(text)) if len(text) < 200:
                    self.used.update(re.findall(r"\w+", text))
                case ast.FunctionDef() if of_package:
                    name = f"{path}:{node.name}"
                    if name not in ALLOWED_DUPLICATES:
                        self.functions.append((name, node))
                case _:
                    pass
        if of_package:
            self.defined += ((path, name) for name in defined_names(module))


@cache
def _read() -> tuple[int, list[list[str]], list[str]]:
    """How many functions the package has, those written twice, and unused names."""
    names = Names()
    gc.disable()
    try:
        for path, text in sources(PACKAGE):
            names.read(path, ast.parse(text), of_package=True)
        # Of the others, those are read that hold a name of which no use is known yet.
        missing = {name for _, name in names.defined} - names.used
        for path, text in sources(OTHERS):
            if not missing.isdisjoint(re.findall(r"\w+", text)):
                names.read(path, ast.parse(text), of_package=False)
                missing -= names.used
        twice = duplicates(names.functions)
    finally:
        gc.enable()
    unused = [
        f"{path}:{name}"
        for path, name in names.defined
        if name not in names.used and f"{path}:{name}" not in ALLOWED_UNUSED
    ]
    return len(names.functions), twice, unused


def test_no_two_functions_have_one_body() -> None:
    count, twice, _ = _read()
    assert count > 5000, "the functions were not found"
    assert not twice, "move the body to one place that the others import"


def defined_names(module: ast.Module) -> Iterator[str]:
    """What a module defines; not what a decorator registers."""
    for node in module.body:
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                if not node.decorator_list:
                    yield name
            case ast.Assign(targets=targets):
                yield from (each.id for each in targets if isinstance(each, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name
            case _:
                pass


def test_every_name_of_a_module_is_used() -> None:
    unused = _read()[2]
    assert [name for name in unused if not name.endswith("__")] == [], "delete them"


def test_names_and_annotations_do_not_count() -> None:
    source = '''
def first(items: list[int]) -> int:
    """Sums up."""
    total: int = 0
    for item in items:
        total += item
    return total
def second(values):
    found = 0
    for value in values:
        found += value
    return found
def third(values):
    found = 0
    for value in values:
        found -= value
    return found
'''
    names = Names()
    names.read("a.py", ast.parse(source), of_package=True)
    assert duplicates(names.functions) == [["a.py:second", "a.py:first"]]

"""Every import keeps to the table of layers in `docs/architecture.md`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest
from support.paths import ROOT

PAGE = (ROOT / "docs" / "architecture.md").read_text()
PACKAGE = ROOT / "src" / "xdsl_tvm"
HOMES = {
    path.name: path.resolve().relative_to(ROOT).parts[0]
    for path in PACKAGE.iterdir()
    if path.is_symlink()
}
"""The folder that each link leads to; the namespaces of TVM are in one."""
FOLDERS = sorted(set(HOMES.values()))
FILES = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))


def rows(name: str) -> list[list[str]]:
    """The cells of a table of the page, without its head; names without backquotes."""
    table = PAGE.partition(f"<!-- {name}: begin -->")[2].partition("<!--")[0]
    lines = table.strip().splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def names(cell: str) -> set[str]:
    return set(re.findall(r"`([^`]+)`", cell))


LAYERS = {folder.strip("`"): names(cell) for folder, cell in rows("layers")}
EXCEPTIONS = {file.strip("`"): names(cell) for file, cell, _ in rows("exceptions")}


@cache
def _exists(module: str) -> bool:
    path = PACKAGE.joinpath(*module.split(".")[1:])
    return path.is_dir() or path.with_suffix(".py").exists()


def imported(tree: ast.AST) -> Iterator[str]:
    """Dotted names of modules of the package that a syntax tree names, imports or not."""
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module=str(module)) if module.startswith("xdsl_tvm"):
                yield module
                below = (f"{module}.{alias.name}" for alias in node.names)
                yield from (name for name in below if _exists(name))
            case ast.Import():
                yield from (a.name for a in node.names if a.name.startswith("xdsl_tvm"))
            case ast.Constant(value=str(text)):
                for found in re.findall(r"\bxdsl_tvm(?:\.\w+)+", text):
                    if text.strip() == found and _exists(found):
                        yield found
            case _:
                pass


@cache
def imports_of(path: Path) -> frozenset[str]:
    """What a file names. The tree is not kept: all of them are half a gigabyte."""
    return frozenset(imported(ast.parse(path.read_text())))


def crossings(path: Path, modules: Iterable[str]) -> set[str]:
    """The folders besides its own that a file imports from."""
    own = path.relative_to(ROOT).parts[0]
    parts = {module.split(".")[1] for module in modules if "." in module}
    return {HOMES[part] for part in parts if part in HOMES} - {own}


def test_every_folder_has_a_row():
    assert sorted(LAYERS) == FOLDERS


def test_layers_have_no_circle():
    """Without the exceptions, folders can be put in a row so that imports point back."""
    left = dict(LAYERS)
    while left:
        free = [folder for folder, needs in left.items() if not needs & set(left)]
        assert free, left
        for folder in free:
            del left[folder]


@pytest.mark.parametrize("folder", FOLDERS)
def test_imports_keep_to_the_layers(folder: str):
    wrong: list[str] = []
    for path in FILES:
        name = path.relative_to(ROOT).as_posix()
        if path.relative_to(ROOT).parts[0] != folder:
            continue
        found = crossings(path, imports_of(path))
        wrong += [
            f"{name} imports {other}"
            for other in sorted(found - LAYERS[folder] - EXCEPTIONS.get(name, set()))
        ]
    assert not wrong


def test_every_exception_is_needed():
    for name, others in EXCEPTIONS.items():
        path = ROOT / name
        found = crossings(path, imports_of(path))
        assert others <= found - LAYERS[path.relative_to(ROOT).parts[0]], name


def _owners(module: str) -> Iterator[str]:
    """The packages whose private parts a dotted name goes through."""
    parts = module.split(".")
    for index, part in enumerate(parts):
        if part.startswith("_") and not part.startswith("__"):
            yield ".".join(parts[:index])


def test_private_modules_are_imported_from_their_package_only():
    wrong: list[str] = []
    for path in FILES:
        name = path.relative_to(ROOT).as_posix()
        package = ".".join(("xdsl_tvm", *path.relative_to(ROOT).parent.parts))
        for module in sorted(imports_of(path)):
            for owner in _owners(module):
                if package != owner and not package.startswith(f"{owner}."):
                    wrong.append(f"{name} imports {module}")
    assert not wrong


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("from xdsl_tvm.tools import cli", "tools"),
        ("import xdsl_tvm.tools.cli", "tools"),
        ("from xdsl_tvm import tools", "tools"),
        ("def f():\n    from xdsl_tvm.tools.cli import main", "tools"),
        ("if TYPE_CHECKING:\n    import xdsl_tvm.tools.cli", "tools"),
        ("import_module('xdsl_tvm.tools.cli')", "tools"),
        ("HOME = 'xdsl_tvm.tools.cli'", "tools"),
    ],
)
def test_an_import_is_found_wherever_it_is(text: str, found: str):
    path = ROOT / "dialects" / "dominance.py"
    assert crossings(path, imported(ast.parse(text))) == {found}


def _module(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(("xdsl_tvm", *(parts[:-1] if parts[-1] == "__init__" else parts)))


@pytest.mark.parametrize("folder", ["lowering", "runtime", "targets"])
def test_modules_have_no_circle(folder: str):
    """Not even by imports within functions; the package looks names up in its modules."""
    paths = [path for path in FILES if _in(path, folder)]
    package = ROOT / folder / "__init__.py"
    files = {_module(path): path for path in paths if path != package}
    left = {name: imports_of(path) & set(files) - {name} for name, path in files.items()}
    while left:
        free = [name for name, needs in left.items() if not needs & set(left)]
        assert free, left
        for name in free:
            del left[name]


def _in(path: Path, folder: str) -> bool:
    return path.relative_to(ROOT).parts[0] == folder

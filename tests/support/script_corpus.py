"""The programs of tests/tvmscript/corpus: each function or class of a file is one.

A program is read as text: the imports and assignments of its file, then its definition.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from support import paths

CORPUS = paths.TESTS / "tvmscript" / "corpus"
LIVE = ("python_values",)
"""Files whose definitions see Python values, which text does not."""


@dataclass(frozen=True)
class Script:
    """One program."""

    topic: str
    name: str
    text: str
    unchecked: bool
    """Whether it opts out of the check that programs are well-formed."""

    @property
    def id(self) -> str:
        return f"{self.topic}.{self.name}"


def files() -> list[Path]:
    return sorted(CORPUS.glob("*.py"))


@cache
def scripts() -> list[Script]:
    """All programs that text can hold."""
    return [
        script for file in files() if file.stem not in LIVE for script in scripts_of(file)
    ]


def scripts_of(file: Path) -> Iterator[Script]:
    """The programs of a file, each with what is before them all."""
    text = file.read_text()
    lines = text.splitlines(keepends=True)
    preamble: list[str] = []
    for node in ast.parse(text).body:
        match node:
            case ast.FunctionDef() if _is_macro(node):
                preamble += lines[node.lineno - 2 : node.end_lineno]
            case ast.FunctionDef() | ast.ClassDef():
                first = min(each.lineno for each in node.decorator_list)
                body = "".join([*preamble, "\n", *lines[first - 1 : node.end_lineno]])
                unchecked = "check_well_formed=False" in body
                yield Script(file.stem, node.name, body, unchecked)
            case ast.Import() | ast.ImportFrom() | ast.Assign():
                preamble += lines[node.lineno - 1 : node.end_lineno]
            case _:
                pass


def _is_macro(node: ast.FunctionDef) -> bool:
    return any(
        ast.unparse(each) in ("T.macro", "T.inline", "R.macro")
        for each in node.decorator_list
    )

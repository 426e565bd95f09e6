"""What tells this compiler from an edited or a later one: its files."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

_ROOT = Path(__file__).parents[1]

_COMPILER = ("dialects", "analysis", "passes", "interpreters", "lowering", "runtime")
"""The folders whose code decides what a module is compiled to."""

_READERS = ("relax", "tvmscript")
"""The folders whose code reads scripts."""

_SUFFIXES = (".py", ".ll")
"""Code, and the LLVM IR that is added to modules."""


def compiler_files() -> list[Path]:
    """The files of this compiler, code and the LLVM IR that it adds, in order."""
    return [_ROOT / name for name, _ in _files()]


@cache
def compiler_fingerprint(*, and_readers: bool = False) -> str:
    """A digest of the names, sizes and times of change of the compiler's files.

    With `and_readers`, also of those that decide what module a text is.
    """
    digest = hashlib.sha256()
    for name, status in _files(_READERS if and_readers else ()):
        digest.update(f"{name} {status.st_size} {status.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def _files(others: Iterable[str] = ()) -> list[tuple[str, os.stat_result]]:
    """The files by their names in the package, in order, with those of other folders."""
    found = [
        (entry.name, entry.stat())
        for entry in os.scandir(_ROOT)
        if entry.name.endswith(".py")
    ]
    for folder in (*_COMPILER, *others):
        found += _files_of(folder)
    return sorted(found, key=lambda file: file[0])


def _files_of(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    # Many times faster than Path.rglob.
    for entry in os.scandir(_ROOT / folder):
        name = f"{folder}/{entry.name}"
        if entry.name.endswith(_SUFFIXES):
            yield name, entry.stat()
        elif entry.name != "__pycache__" and entry.is_dir():
            yield from _files_of(name)

"""Shared libraries, linked by a C compiler that the system or a Python package has."""

from __future__ import annotations

import errno
import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from xdsl.utils.exceptions import DiagnosticException

_SECONDS = 300
_MOST_SHOWN = 300


def c_compiler() -> list[str]:
    """The command of a C compiler: `$CC`, else `cc`, else that of the package ziglang.

    Raises DiagnosticException if there is none.
    """
    named = shlex.split(os.environ.get("CC", ""))
    if named:
        return named
    if shutil.which("cc"):
        return ["cc"]
    if importlib.util.find_spec("ziglang") is not None:
        return [sys.executable, "-m", "ziglang", "cc"]
    raise DiagnosticException(
        "a library is linked by a C compiler, and there is none: install one as 'cc', "
        "name one in $CC, or pip install ziglang"
    )


def link_library(
    path: Path, source: str, objects: Sequence[bytes], exports: Sequence[str]
) -> None:
    """Make a shared library of C source and objects, in which only `exports` are visible.

    The file appears whole, or not at all. Raises DiagnosticException where there is no
    compiler, or it fails, and OSError where the file cannot be written.
    """
    command = c_compiler()
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    with tempfile.TemporaryDirectory(prefix=".export-", dir=path.parent) as name:
        folder = Path(name)
        (folder / "exported.c").write_text(source, encoding="utf-8")
        files = ["exported.c"]
        for index, data in enumerate(objects):
            files.append(f"code{index}.o")
            (folder / files[-1]).write_bytes(data)
        _run(
            [*command, *_options(folder, exports), "-o", "library", *files, "-lpthread"],
            folder,
        )
        (folder / "library").replace(path)


def _options(folder: Path, exports: Sequence[str]) -> list[str]:
    options = ["-shared", "-fPIC", "-O2", "-std=gnu11", "-fvisibility=hidden"]
    if sys.platform == "darwin":
        listed = "".join(f"_{name}\n" for name in exports)
        (folder / "exports").write_text(listed, encoding="utf-8")
        # Functions of tvm-ffi are found in the process that loads the library.
        return [
            *options,
            "-undefined",
            "dynamic_lookup",
            "-exported_symbols_list=exports",
        ]
    # Symbols of the code stay inside: another library or the program may have a `main`.
    listed = "".join(f"    {name};\n" for name in exports)
    script = f"{{\n  global:\n{listed}  local: *;\n}};\n"
    (folder / "exports").write_text(script, encoding="utf-8")
    return [*options, "-Wl,--version-script=exports"]


def _run(command: Sequence[str], folder: Path) -> None:
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            check=False,
        )
    except OSError as error:
        raise DiagnosticException(
            f"cannot run the C compiler {command[0]}: {error.strerror}; name another in "
            "$CC, or pip install ziglang"
        ) from None
    except subprocess.TimeoutExpired:
        raise DiagnosticException(
            f"the C compiler {command[0]} did not end within {_SECONDS} s"
        ) from None
    if done.returncode:
        said = " ".join((done.stderr or done.stdout).split())
        raise DiagnosticException(
            f"the C compiler {command[0]} failed with status {done.returncode}: "
            f"{said[:_MOST_SHOWN]}"
        )

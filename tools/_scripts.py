"""Files of scripts that are executed, which only `--execute` asks for."""

from __future__ import annotations

from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from xdsl_tvm.passes.infra.error_lines import UserError

EXECUTE_HELP = (
    "run .py files as Python, with `tvm.script` being this package's; only for files "
    "that are trusted, with a module in a variable or as what a function build_module() "
    "returns; default: read them as text, which runs nothing"
)


def has_python(text: str) -> bool:
    """Whether the text of a file of scripts has other Python, which is not read."""
    # Late: most inputs are no scripts.
    from xdsl_tvm.tvmscript.files import has_python_beside

    return has_python_beside(text)


def executed_module(file: Path) -> ModuleOp:
    """The module of a file that is run as Python. Raises UserError for another file."""
    if file.suffix != ".py":
        raise UserError(f"{file}: --execute runs .py files")
    # Late: most inputs are no scripts.
    from xdsl_tvm.tvmscript.files import read_file

    return read_file(file, execute=True)

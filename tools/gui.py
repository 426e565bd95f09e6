"""`xdsl-tvm gui`: xDSL's interactive view of a file before and after passes.

A terminal window in which passes are chosen one by one, with the dialects and passes of
this package. A `.py` file is TVMScript, which is read and shown as MLIR text.
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Any

from xdsl.printer import Printer
from xdsl.universe import Universe

from xdsl_tvm.passes.infra.error_lines import UserError
from xdsl_tvm.passes.infra.module_text import ModuleText
from xdsl_tvm.passes.infra.pipeline_runner import parse_passes
from xdsl_tvm.tools.opt import refuse_arguments


def main(arguments: Sequence[str]) -> None:
    """Runs the command; errors are raised, for the caller to print."""
    parser = argparse.ArgumentParser("xdsl-tvm gui", description=__doc__)
    parser.error = refuse_arguments
    add = parser.add_argument
    add("file", metavar="FILE", type=Path, nargs="?", help=".mlir or .py")
    add("-p", "--passes", default="", help="passes to begin with, as for xdsl-tvm opt")
    add("--traceback", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    application(options.file, options.passes).run()


def application(file: Path | None, passes: str) -> Any:
    """xDSL's `InputApp`, which `run` shows.

    Raises UserError if textual is not installed, and what `ModuleText` and `parse_passes`
    raise.
    """
    universe = Universe.get_multiverse()
    pipeline = parse_passes(universe.all_passes, passes)
    text = None if file is None else _text(file)
    return _input_app()(
        tuple(universe.all_dialects.items()),
        tuple((name, load()) for name, load in sorted(universe.all_passes.items())),
        None if file is None else str(file),
        text,
        pipeline,
    )


def _input_app() -> Any:
    try:
        return importlib.import_module("xdsl.interactive.app").InputApp
    except ModuleNotFoundError as error:
        raise UserError(
            f'xdsl-tvm gui needs {error.name}: pip install "xdsl-tvm[gui]"'
        ) from None


def _text(file: Path) -> str:
    """The MLIR text of a file; of MLIR text as it is, errors included."""
    source = ModuleText.of_file(file)
    if not source.is_script:
        return source.text
    output = StringIO()
    Printer(output).print_op(source.parsed())
    return output.getvalue()

"""`xdsl-tvm translate`: TVMScript files to MLIR text and back.

A `.py` file becomes `.mlir` text, and the other way round; an ONNX model becomes either.
Python files are read, not run, unless --execute says so: helper functions and other
Python around the scripts need it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from io import StringIO
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer
from xdsl.utils.exceptions import DiagnosticException

from xdsl_tvm.passes.infra.error_lines import UserError, error_line
from xdsl_tvm.passes.infra.module_text import ModuleText, check_ending, reading
from xdsl_tvm.runtime.load import load_text
from xdsl_tvm.tools._compiling import FILE_HELP
from xdsl_tvm.tools._files import writing
from xdsl_tvm.tools._models import MODEL_ENDING, model_module
from xdsl_tvm.tools._scripts import EXECUTE_HELP
from xdsl_tvm.tools._standard_input import STANDARD_INPUT, standard_input
from xdsl_tvm.tools.opt import refuse_arguments
from xdsl_tvm.tvmscript.files import read_file
from xdsl_tvm.tvmscript.printer import VERSIONS, print_script

_OTHER = {".py": ".mlir", ".mlir": ".py", MODEL_ENDING: ".mlir", "": ".py"}
"""What files become by their ending; standard input has none."""
_WRITTEN = (".py", ".mlir")
_SEPARATOR = {".py": "# -----\n", ".mlir": "// -----\n"}


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("xdsl-tvm translate", description=__doc__)
    parser.error = refuse_arguments
    add = parser.add_argument
    add("files", type=Path, nargs="+", metavar="FILE", help=FILE_HELP)
    add(
        "-o",
        "--output",
        type=Path,
        metavar="PATH",
        help="a file, whose ending says what is written; or a directory, which gets one "
        "file for each input; default: standard output",
    )
    add("--name", help="the function or class to take from each .py file; default: all")
    add(
        "--execute",
        action="store_true",
        help=EXECUTE_HELP,
    )
    add("--version", choices=VERSIONS, default="0.20", help="of TVM, for .py output")
    add("--no-sugar", action="store_true", help="write .py output without short forms")
    add("--traceback", action="store_true", help=argparse.SUPPRESS)
    return parser


def main(arguments: Sequence[str]) -> None:
    """Runs the command; errors are raised, for the caller to print.

    Nothing is written unless all files can be translated.
    """
    options = argument_parser().parse_args(arguments)
    files: list[Path] = options.files
    output: Path | None = options.output
    for file in files:
        if file.suffix != MODEL_ENDING and file != STANDARD_INPUT:
            check_ending(file)
    if output is None:
        texts = [_translated(file, _OTHER[file.suffix], options) for file in files]
        endings = [_OTHER[file.suffix] for file in files]
        _write_all(texts, endings)
        return
    targets = _targets(files, output)
    found = {
        target: _translated(file, target.suffix, options)
        for file, target in targets.items()
    }
    for target, text in found.items():
        with writing(target):
            if target.parent == output:
                output.mkdir(exist_ok=True)
            target.write_text(text, encoding="utf-8")


def _targets(files: Sequence[Path], output: Path) -> dict[Path, Path]:
    """Which file each one is translated to."""
    if output.suffix in _WRITTEN and not output.is_dir():
        if len(files) > 1:
            raise UserError(f"{output}: several files are translated into a directory")
        return {files[0]: output}
    if STANDARD_INPUT in files:
        raise UserError(f"{output}: standard input has no name; give that of a file")
    targets = {file: output / f"{file.stem}{_OTHER[file.suffix]}" for file in files}
    if len(set(targets.values())) < len(files):
        raise UserError(f"{output}: two files would be translated into one")
    return targets


def _write_all(texts: Sequence[str], endings: Sequence[str]) -> None:
    for index, (text, ending) in enumerate(zip(texts, endings, strict=True)):
        if index:
            sys.stdout.write(_SEPARATOR[ending])
        sys.stdout.write(text)


def _translated(file: Path, ending: str, options: argparse.Namespace) -> str:
    """The text of a file in the other language."""
    with reading(str(file)):
        return _translated_text(file, ending, options)


def _translated_text(file: Path, ending: str, options: argparse.Namespace) -> str:
    text: ModuleText | None = None
    if file.suffix == ".py":
        module = read_file(file, options.name, execute=options.execute)
    elif file.suffix == MODEL_ENDING and options.name is None:
        module = model_module(file)
    elif options.name is not None:
        raise UserError(f"{file}: --name chooses from .py files")
    else:
        is_file = file != STANDARD_INPUT
        text = ModuleText.of_file(file) if is_file else standard_input()
        module = load_text(text)
    if ending == ".mlir":
        return _printed(module)

    def script(module: ModuleOp) -> str:
        return print_script(module, version=options.version, sugar=not options.no_sugar)

    try:
        return script(module)
    except DiagnosticException as error:
        placed = None if text is None else text.placed_error(error, script)
        raise placed or UserError(f"{file}: {error_line(error)}") from error


def _printed(module: ModuleOp) -> str:
    output = StringIO()
    Printer(output).print_op(module)
    return f"{output.getvalue()}\n"

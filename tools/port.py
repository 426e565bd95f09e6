"""`xdsl-tvm port`: run Python programs of TVM statement by statement.

Imports of TVM find this package, statement after statement is run, and those that do not
run are listed, with the reason and the earlier statement that they depend on. What needs
parts of TVM that this package does not have is counted by what it needs, apart from what
fails. Programs are run: only those that are trusted.
"""

from __future__ import annotations

import argparse
import contextlib
import os
from collections.abc import Sequence
from pathlib import Path

from xdsl_tvm.passes.infra.error_lines import UserError
from xdsl_tvm.tools._files import writing
from xdsl_tvm.tools._process import working_on
from xdsl_tvm.tools._program import FAILED, Step, counts, read_program, run_program
from xdsl_tvm.tools._tvm_imports import rewritten
from xdsl_tvm.tools.opt import refuse_arguments


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("xdsl-tvm port", description=__doc__)
    parser.error = refuse_arguments
    add = parser.add_argument
    add("files", type=Path, nargs="+", metavar="FILE", help="a .py file")
    add(
        "-o",
        "--output",
        type=Path,
        metavar="PATH",
        help="write the program with its imports changed, and do not run it; one FILE",
    )
    add("--show-output", action="store_true", help="of the programs, on standard output")
    add("--table", action="store_true", help="write a row of a table for each file")
    add("--traceback", action="store_true", help=argparse.SUPPRESS)
    return parser


def main(arguments: Sequence[str]) -> None:
    """Runs the command; errors are raised, for the caller to print.

    Raises UserError if a statement fails.
    """
    options = argument_parser().parse_args(arguments)
    if options.output is not None:
        _write(options.files, options.output)
        return
    failed = 0
    for file in options.files:
        working_on(f"{file}: a statement was run", "--show-output shows how far it came")
        with _output(shown=options.show_output):
            steps = run_program(file)
        print(_row(file, steps) if options.table else _report(file, steps))
        failed += counts(steps)[FAILED]
    if failed:
        raise UserError(f"{failed} statement{'s' * (failed > 1)} failed")


def _write(files: Sequence[Path], output: Path) -> None:
    if len(files) > 1:
        raise UserError("--output takes one program")
    text = rewritten(*read_program(files[0]))
    with writing(output):
        output.write_text(text, encoding="utf-8")


@contextlib.contextmanager
def _output(*, shown: bool):
    if shown:
        yield
        return
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        yield


def _report(file: Path, steps: Sequence[Step]) -> str:
    lines = [f"{file}: {len(steps)} statements, {_summary(steps)}"]
    for step in steps:
        if step.kind is not None:
            after = "" if step.cause is None else f", as line {step.cause} did not run"
            lines.append(f"  {step.line}: {step.text}")
            lines.append(f"    {step.kind}{after}: {step.error}")
    return "\n".join(lines)


def _summary(steps: Sequence[Step]) -> str:
    by_kind = counts(steps)
    run = f"{len(steps) - by_kind.total()} run"
    return ", ".join([run, *(f"{kind} {n}" for kind, n in by_kind.items())])


def _row(file: Path, steps: Sequence[Step]) -> str:
    by_kind = counts(steps)
    others = ", ".join(f"{kind} {n}" for kind, n in by_kind.items())
    return f"| {file.stem} | {len(steps)} | {len(steps) - by_kind.total()} | {others} |"

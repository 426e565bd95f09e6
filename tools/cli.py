"""The command `xdsl-tvm`: `opt`, `passes`, `translate`, `gui`, `compile`, `run`, `port`
and `estimate`."""

from __future__ import annotations

import importlib
import importlib.metadata
import sys
from collections.abc import Sequence

from xdsl.utils.exceptions import ArgSpecParseError

from xdsl_tvm.passes.infra.error_lines import UserError, error_text, traceback_hint
from xdsl_tvm.tools._process import (
    INTERRUPTED,
    flush_output,
    give_up_output,
    say,
    supervised,
)

COMMANDS = {
    "opt": "run passes on a file, as xdsl-opt, with dumps, timings and reproducers",
    "passes": "list this package's passes, their options and TVM's names for them",
    "translate": "turn TVMScript files into MLIR text, and the other way round",
    "gui": "open xDSL's interactive view of a file before and after passes",
    "compile": "compile a file into a library, an object file or LLVM IR",
    "run": "compile a file and call a function of it on .npy or random inputs",
    "port": "run a Python program of TVM by statements, and say which do not run",
    "estimate": "bound the speed of GPU kernels from their machine code, without a GPU",
}


_SUPERVISED = (["run"], ["compile"], ["port"])
"""Commands that code may end: they work in a process of their own."""


def usage() -> str:
    lines = [f"  {name:10}{text}" for name, text in COMMANDS.items()]
    first = "usage: xdsl-tvm COMMAND …  (--help after a command; --version)"
    return "\n".join([first, *lines])


def version_line() -> str:
    """The versions of this package and of xDSL."""
    own, xdsl = map(importlib.metadata.version, ("xdsl-tvm", "xdsl"))
    return f"xdsl-tvm {own} (xDSL {xdsl})"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; returns its exit status and never lets an error escape.

    With `--traceback` among the arguments errors are raised instead.
    """
    if arguments is None:
        return _main_of_process(sys.argv[1:])
    arguments = list(arguments)
    try:
        if not arguments or arguments[0] in ("-h", "--help"):
            print(usage())
            flush_output()
            return 0 if arguments else 1
        if arguments[0] in ("-V", "--version"):
            print(version_line())
            flush_output()
            return 0
        _refuse_nul(arguments)
        _run_command(arguments)
        flush_output()
    except BrokenPipeError as error:
        # Whoever reads has seen enough, as in `xdsl-tvm opt … | head`.
        give_up_output(error)
        return 1
    except KeyboardInterrupt:
        say("error: interrupted")
        return INTERRUPTED
    except (Exception, ArgSpecParseError) as error:
        if "--traceback" in arguments:
            raise
        shown = give_up_output(error) if isinstance(error, OSError) else None
        say(error_text(shown or error) + traceback_hint(error))
        return 1
    return 0


def _main_of_process(arguments: list[str]) -> int:
    """The command of a process of its own."""
    if arguments[:1] in _SUPERVISED and "--traceback" not in arguments:
        return supervised(lambda: main(arguments))
    return main(arguments)


def _refuse_nul(arguments: Sequence[str]) -> None:
    for argument in arguments:
        if "\0" in argument:
            raise UserError(f"{argument!r}: no file and no name holds a NUL character")


def _run_command(arguments: list[str]) -> None:
    name = arguments[0]
    if name not in COMMANDS:
        raise UserError(f"unknown command '{name}' (known: {', '.join(COMMANDS)})")
    module = {"passes": "list_passes"}.get(name, name)
    importlib.import_module(f"xdsl_tvm.tools.{module}").main(arguments[1:])


if __name__ == "__main__":
    sys.exit(main())

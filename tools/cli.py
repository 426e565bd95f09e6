"""The command `xdsl-tvm`: `opt`, `passes`, `translate` and `run`."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence

from xdsl.utils.exceptions import ArgSpecParseError

from xdsl_tvm.passes.error_lines import UserError, error_line

COMMANDS = {
    "opt": "run passes on a file, as xdsl-opt, with dumps, timings and reproducers",
    "passes": "list this package's passes, their options and TVM's names for them",
    "translate": "turn TVMScript files into MLIR text, and the other way round",
    "run": "compile a file and call a function of it on .npy or random inputs",
}


def usage() -> str:
    lines = [f"  {name:10}{text}" for name, text in COMMANDS.items()]
    return "\n".join(["usage: xdsl-tvm COMMAND …  (--help after a command)", *lines])


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; returns its exit status and never lets an error escape.

    With `--traceback` among the arguments errors are raised instead.
    """
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    if not arguments or arguments[0] in ("-h", "--help"):
        print(usage())
        return 0 if arguments else 1
    try:
        _run_command(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        return 1
    except (Exception, ArgSpecParseError) as error:
        if "--traceback" in arguments:
            raise
        print(_report(error), file=sys.stderr)
        return 1
    return 0


def _report(error: BaseException) -> str:
    """An error in one line; of a script, with the place in its text below."""
    # Late: most commands read no scripts.
    from xdsl_tvm.tvmscript.errors import ScriptError

    return str(error) if isinstance(error, ScriptError) else f"error: {error_line(error)}"


def _run_command(arguments: list[str]) -> None:
    name = arguments[0]
    if name not in COMMANDS:
        raise UserError(f"unknown command '{name}' (known: {', '.join(COMMANDS)})")
    module = {"passes": "list_passes"}.get(name, name)
    importlib.import_module(f"xdsl_tvm.tools.{module}").main(arguments[1:])


if __name__ == "__main__":
    sys.exit(main())

"""`xdsl-tvm compile`: compile a file for this processor, for other programs.

The ending of the output says what it is: `.so` or `.dylib` is a library whose functions
`tvm_ffi.load_module` loads, `.o` an object file for a linker, `.ll` LLVM IR.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from xdsl_tvm.passes.infra.error_lines import UserError
from xdsl_tvm.passes.infra.module_text import reading
from xdsl_tvm.runtime.executable import NativeExecutable
from xdsl_tvm.tools._compiling import compiled, input_module
from xdsl_tvm.tools._files import writing
from xdsl_tvm.tools._process import working_on
from xdsl_tvm.tools._scripts import EXECUTE_HELP
from xdsl_tvm.tools.opt import refuse_arguments

Writer = Callable[[NativeExecutable, Path], None]


def _ir(executable: NativeExecutable, path: Path) -> None:
    path.write_text(executable.llvm_ir, encoding="utf-8")


WRITERS: Mapping[str, Writer] = {
    ".so": NativeExecutable.export_library,
    ".dylib": NativeExecutable.export_library,
    ".o": NativeExecutable.object_file,
    ".ll": _ir,
}


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("xdsl-tvm compile", description=__doc__)
    parser.error = refuse_arguments
    add = parser.add_argument
    add("file", type=Path)
    add("-o", "--output", metavar="FILE", type=Path, required=True)
    add("--opt-level", type=int, choices=range(4), default=2, help="LLVM's")
    add(
        "--bound-checks",
        action="store_true",
        help="make an access out of bounds an error; without schedules",
    )
    add(
        "--progress",
        action=argparse.BooleanOptionalAction,
        help="show a bar; default: on a terminal, and not in CI",
    )
    add("--execute", action="store_true", help=EXECUTE_HELP)
    add("--traceback", action="store_true", help=argparse.SUPPRESS)
    return parser


def main(arguments: Sequence[str]) -> None:
    """Runs the command; errors are raised, for the caller to print."""
    options = argument_parser().parse_args(arguments)
    output: Path = options.output
    writer = WRITERS.get(output.suffix)
    if writer is None:
        raise UserError(
            f"{output}: its ending says what to make; use one of {', '.join(WRITERS)}"
        )
    with reading(str(options.file)):
        module, text = input_module(
            options.file, execute=options.execute, locations=False
        )
        working_on(f"{options.file}: its compilation was")
        executable = compiled(
            module,
            text,
            options.progress,
            opt_level=options.opt_level,
            bound_checks=options.bound_checks,
        )
    assert isinstance(executable, NativeExecutable)
    with writing(output):
        writer(executable, output)
    working_on("")
    print(f"wrote {output}")
    for signature in dict.fromkeys(map(str, executable.signatures.values())):
        print(f"  {signature}")

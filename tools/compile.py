"""`xdsl-tvm compile`: compile a file for this processor, for other programs.

The ending of the output says what it is: `.so` or `.dylib` is a library whose functions
`tvm_ffi.load_module` loads, `.o` an object file for a linker, `.ll` LLVM IR. For the
target cuda it is a folder, which gets PTX, the object file of host code and a manifest.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from xdsl_tvm.passes.infra.error_lines import UserError
from xdsl_tvm.passes.infra.module_text import reading
from xdsl_tvm.runtime.cuda import GpuCode, public_functions
from xdsl_tvm.runtime.executable import TARGETS, NativeExecutable, Progress, Settings
from xdsl_tvm.runtime.llvm_jit import NVPTX_ARCHS
from xdsl_tvm.runtime.native import no_progress
from xdsl_tvm.tools._compiling import FILE_HELP, compiled, input_module, with_progress
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


_FILES = (*WRITERS, ".ptx", ".cubin")
"""Endings of names that are no folder's."""


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("xdsl-tvm compile", description=__doc__)
    parser.error = refuse_arguments
    add = parser.add_argument
    add("file", type=Path, metavar="FILE", help=FILE_HELP)
    add("-o", "--output", metavar="PATH", type=Path, required=True)
    add("--target", choices=TARGETS, default="llvm", help="default: %(default)s")
    add(
        "--arch",
        metavar="SM",
        choices=NVPTX_ARCHS,
        default="sm_80",
        help="the oldest GPU that the kernels run on; default: %(default)s",
    )
    add("--opt-level", type=int, choices=range(4), default=2, help="LLVM's")
    add(
        "--bound-checks",
        action="store_true",
        help="make an access out of bounds an error; without schedules",
    )
    add(
        "--fuse-multiply-add",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="products and sums of floats in kernels may round once; for cuda",
    )
    add(
        "--allow-tf32",
        action="store_true",
        help="products of f32 by tensor cores, with 10 bits of the fraction; for cuda",
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
    if options.target == "cuda":
        _for_gpu(options, output)
        return
    if not options.fuse_multiply_add:
        raise UserError(
            "--no-fuse-multiply-add is for the target cuda; for llvm, schedule with "
            "tir-default-cpu-schedule{fuse_multiply_add=false} first"
        )
    if options.allow_tf32:
        raise UserError("--allow-tf32 is for the target cuda; leave it out")
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


def _for_gpu(options: argparse.Namespace, output: Path) -> None:
    if options.bound_checks:
        raise UserError("--bound-checks is for the target llvm")
    if output.suffix in _FILES:
        raise UserError(
            f"{output}: for the target cuda the output is a folder, which gets PTX and "
            "host code; give a name without this ending"
        )
    with reading(str(options.file)):
        module, text = input_module(
            options.file, execute=options.execute, locations=False
        )
        working_on(f"{options.file}: its compilation was")

        def run(module: ModuleOp, progress: Progress | None) -> GpuCode:
            settings = Settings(
                options.opt_level,
                progress=progress or no_progress,
                fuse_multiply_add=options.fuse_multiply_add,
                allow_tf32=options.allow_tf32,
            )
            return GpuCode(module, options.arch, settings)

        code = with_progress(run, module, text, options.progress)
    with writing(output):
        code.write(output)
    working_on("")
    print(f"wrote {output}: kernels.ptx, host.o, manifest.json")
    for signature in public_functions(module):
        print(f"  {signature}")

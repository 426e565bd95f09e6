"""`xdsl-tvm run`: compile or interpret a file and call one of its functions on arrays.

A library that `xdsl-tvm compile` has made is loaded instead.

Inputs fill the parameters in order. Parameters without one are zero if the function
writes them, and random otherwise. Of a compiled Relax module it says which kernels took
the longest, and how much memory its plan takes. With `--interpret --bank-conflicts` it
counts the steps that accesses of shared memory take. With `--interpret --target cuda`
the kernels are lowered as for a GPU and interpreted at the level of LLVM.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from xdsl_tvm.analysis.relax.functions import has_relax_functions
from xdsl_tvm.interpreters.errors import SimulationError
from xdsl_tvm.interpreters.relax import InterpretedRelax
from xdsl_tvm.passes.infra import PassContext
from xdsl_tvm.passes.infra.error_lines import UserError, error_line
from xdsl_tvm.passes.infra.module_text import ModuleText, reading
from xdsl_tvm.passes.infra.pipeline_runner import check_name
from xdsl_tvm.runtime.available_memory import require_memory
from xdsl_tvm.runtime.executable import TARGETS, Executable, NativeExecutable
from xdsl_tvm.runtime.interpreted import interpret
from xdsl_tvm.runtime.kernel_interpreter import InterpretedKernels
from xdsl_tvm.runtime.loop_times import LoopTimes, table
from xdsl_tvm.runtime.packed_functions import PackedSignature
from xdsl_tvm.runtime.sample_inputs import (
    bound_symbols,
    named_outputs,
    output_names,
    sample_arguments,
)
from xdsl_tvm.runtime.signature import Signature, signatures
from xdsl_tvm.runtime.threads import set_num_threads
from xdsl_tvm.tools._call_report import call_line
from xdsl_tvm.tools._compiling import FILE_HELP, compiled, input_module
from xdsl_tvm.tools._files import file_names, writing
from xdsl_tvm.tools._process import working_on
from xdsl_tvm.tools._scripts import EXECUTE_HELP
from xdsl_tvm.tools._seeds import seed
from xdsl_tvm.tools.opt import refuse_arguments

LIBRARIES = (".so", ".dylib")
"""The endings of files that are loaded, not compiled."""


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("xdsl-tvm run", description=__doc__)
    parser.error = refuse_arguments
    add = parser.add_argument
    add("file", type=Path, metavar="FILE", help=f"{FILE_HELP}; or a library")
    add("--function", metavar="NAME", help="default: main, or the only one")
    add("--target", choices=TARGETS, default="llvm")
    add(
        "--interpret",
        action="store_true",
        help="interpret, simulate GPU threads and look for faults; no compiler; with "
        "--target cuda: interpret the kernels as they are lowered",
    )
    add(
        "--bank-conflicts",
        action="store_true",
        help="with --interpret: count the bank conflicts of shared memory; slower",
    )
    add(
        "--profile-loops",
        metavar="TRACE.json",
        nargs="?",
        const="",
        help="time functions and loops; also write a trace for chrome://tracing",
    )
    add("--input", metavar="NPY", nargs="+", action="extend", default=[], type=Path)
    add("--symbol", metavar="N=4", action="append", default=[], type=_symbol)
    add("--threads", metavar="N", type=int, help="that parallel loops use")
    add("--random-seed", metavar="N", type=seed, default=0)
    add("--output-dir", metavar="DIR", type=Path, help="save outputs as .npy here")
    add("--print", action="store_true", help="print the outputs' values")
    add("--repeat", metavar="N", type=_count, default=1, help="call it so often")
    add(
        "--progress",
        action=argparse.BooleanOptionalAction,
        help="show a bar while compiling; default: on a terminal, and not in CI",
    )
    add("--execute", action="store_true", help=EXECUTE_HELP)
    add("--traceback", action="store_true", help=argparse.SUPPRESS)
    return parser


def _symbol(text: str) -> tuple[str, int]:
    name, _, value = text.partition("=")
    if not (name and value.isdecimal()):
        raise argparse.ArgumentTypeError(f"'{text}' is not of the form n=4")
    return name, int(value)


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"'{text}' is no number larger than 0")
    return int(text)


def main(arguments: Sequence[str]) -> None:
    """Runs the command; errors are raised, for the caller to print."""
    options = argument_parser().parse_args(arguments)
    try:
        with reading(str(options.file)):
            outputs, report = _call(options)
    except UserError:
        raise
    except (TypeError, ValueError, RuntimeError, MemoryError) as error:
        raise UserError(str(error) or error_line(error)) from error
    working_on("")
    for name, value in outputs.items():
        shown = name if name.isprintable() else repr(name)
        print(f"{shown}: {value.dtype}{list(value.shape)}")
        if options.print:
            print(value)
    for line in report:
        print(line)
    if options.output_dir is not None:
        for name, value in zip(_files(outputs), outputs.values(), strict=True):
            path = options.output_dir / name
            with writing(path):
                np.save(path, value)


def _files(outputs: Iterable[str]) -> list[str]:
    return file_names(list(outputs), ".npy")


def _call(options: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """The outputs by name, and what there is to say of a Relax module, or of banks."""
    if options.bank_conflicts and not options.interpret:
        raise UserError(
            "--bank-conflicts: compiled code does not count them; add --interpret"
        )
    if options.profile_loops is not None and options.interpret:
        raise UserError(
            "--profile-loops: interpreted code is not timed; leave out --interpret"
        )
    if options.file.suffix in LIBRARIES:
        return _call_library(options), []
    module, text = input_module(
        options.file, execute=options.execute, locations=options.interpret
    )
    working_on(f"{options.file}: its compilation was")
    executable: Executable | None = None
    interpreted: InterpretedRelax | None = None
    if options.interpret and options.target == "cuda":
        executable = InterpretedKernels(module, count_accesses=options.bank_conflicts)
    elif not options.interpret:
        executable = _compiled(options, module, text)
    if executable is None:
        interpreted = interpret(module, count_bank_conflicts=options.bank_conflicts)
        function, signature = _interpreted(options, module, interpreted)
    else:
        name = _function_name(list(executable), options.function)
        function, signature = executable[name], executable.signatures[name]
    values = _arguments(options, signature)
    how = "the interpreted function" if options.interpret else "function"
    advice = (
        "" if options.interpret else "; run it with --interpret, which looks for faults"
    )
    working_on(f"{how} @{signature.function} was", advice)
    recorder = None
    if options.profile_loops is not None and isinstance(executable, NativeExecutable):
        recorder = executable.loop_recorder
    if recorder is not None:
        recorder.start()
    try:
        result = _called(options, function, signature, values)
    except SimulationError as error:
        raise _placed(error, text) from error
    report: list[str] = []
    if isinstance(executable, NativeExecutable) and has_relax_functions(module):
        report = _report(executable, module, signature, values)
    if interpreted is not None and options.bank_conflicts:
        report = interpreted.tir.bank_conflicts().lines()
    if isinstance(executable, InterpretedKernels) and options.bank_conflicts:
        report = executable.kernels.counts.lines()
    if recorder is not None:
        report += _recorded(recorder.stop(), str(options.profile_loops))
    return named_outputs(signature, values, result), report


def _call_library(options: argparse.Namespace) -> dict[str, Any]:
    """The outputs of a function of a library that `xdsl-tvm compile` has made."""
    for flag in ("interpret", "bank_conflicts", "execute", "profile_loops"):
        if getattr(options, flag) not in (None, False):
            name = flag.replace("_", "-")
            raise UserError(f"--{name}: {options.file} is machine code; leave it out")
    # Late: most files are programs.
    from xdsl_tvm.runtime.exported_library.loaded import LoadedLibrary

    working_on(f"{options.file}: loading it was")
    library = LoadedLibrary(options.file)
    name = _function_name(list(library), options.function)
    signature = library.signatures[name]
    if signature is None:
        raise UserError(
            f"@{name}: it is not known which arguments it takes, since its code checks "
            "them; call it by tvm_ffi.load_module"
        )
    values = _arguments(options, signature)
    working_on(f"function @{name} was")
    result = _called(options, library[name], signature, values)
    return named_outputs(signature, values, result)


def _arguments(options: argparse.Namespace, signature: Signature) -> list[Any]:
    """The arguments, given or made up; the folder of the outputs is made before."""
    if options.output_dir is not None:
        # Before the function runs, which may take long.
        _files(output_names(signature))
        with writing(options.output_dir):
            options.output_dir.mkdir(exist_ok=True)
    given = [_array(path) for path in options.input]
    symbols: Mapping[str, int] = dict(options.symbol)
    return sample_arguments(signature, given, symbols, options.random_seed)


def _called(
    options: argparse.Namespace,
    function: Callable[..., Any],
    signature: Signature,
    values: Sequence[Any],
) -> Any:
    """The result of the last call; what the calls took is printed."""
    try:
        result, seconds = _timed(function, values)
    except (TypeError, ValueError) as error:
        raise UserError(f"{error}{_origin(options.input, signature, error)}") from error
    times = [seconds]
    for _ in range(options.repeat - 1):
        result, seconds = _timed(function, values)
        times.append(seconds)
    print(call_line(signature, values, options.input, times))
    return result


def _recorded(times: LoopTimes, trace: str) -> list[str]:
    """The table of times; the trace is written to its file."""
    if trace:
        path = Path(trace)
        with writing(path):
            path.write_text(json.dumps(times.trace()))
    return table(times)


def _placed(error: SimulationError, text: ModuleText | None) -> Exception:
    """A fault of an interpreted program, at its operation if that has a place."""
    if text is None or error.op is None:
        return error
    message = error_line(error).removesuffix(f" {error.op.location}")
    return text.error_at(error.op, message) or error


def _timed(function: Callable[..., Any], values: Sequence[Any]) -> tuple[Any, float]:
    """The result of a call, and the seconds it took."""
    start = time.perf_counter()
    result = function(*values)
    return result, time.perf_counter() - start


def _origin(files: Sequence[Path], signature: Signature, error: Exception) -> str:
    """Which file the argument comes from that an error names."""
    for file, param in zip(files, signature.params, strict=False):
        if f"argument '{param.name}'" in str(error):
            return f"; it is read from {file}"
    return ""


def _array(path: Path) -> Any:
    """The array of a `.npy` file; UserError, which names the file, for any other."""
    array_of = f"{path}: no array of numbers, as numpy.save writes it"
    try:
        # Mapped first: a short file may promise an array of any size.
        loaded: Any = np.load(path, mmap_mode="r")
    except OSError:
        raise
    except Exception:
        # What numpy says is that it could be loaded unsafely, or what its parser said.
        raise UserError(array_of) from None
    if isinstance(loaded, np.lib.npyio.NpzFile):
        arrays = ", ".join(loaded.files) or "no arrays"
        raise UserError(
            f"{path}: an .npz file of {arrays}; save one array with numpy.save"
        )
    dtype: np.dtype[Any] = loaded.dtype
    # Narrow floats that numpy does not know are saved as bytes, of kind V.
    if dtype.kind not in "biufV" or dtype.names:
        raise UserError(f"{array_of}; it holds {dtype}")
    require_memory(loaded.nbytes, f"{path} holds {dtype}{list(loaded.shape)}")
    return np.array(loaded)


def _report(
    executable: NativeExecutable,
    module: ModuleOp,
    signature: Signature,
    values: Sequence[Any],
) -> list[str]:
    # Late: only Relax modules have times and memory to report.
    from xdsl_tvm.tools._relax_report import kernel_lines, memory_lines, planned_memory

    symbols = bound_symbols(signature, values)
    name = signature.function
    return [
        *kernel_lines(executable.kernel_times()),
        *memory_lines(planned_memory(module), name, symbols),
    ]


def _compiled(
    options: argparse.Namespace, module: ModuleOp, text: ModuleText | None
) -> Executable:
    if options.threads is not None:
        set_num_threads(options.threads)
    with PassContext(config={} if options.profile_loops is None else _MARKS):
        return compiled(
            module,
            text,
            options.progress,
            target=options.target,
            profile=options.target == "llvm",
        )


_MARKS = {
    "tir.instrument_lwp": True,
    "tir.instr_siblings": False,
    "tir.lwp_max_depth": 2,
}
"""What marks functions, and their loops down to the third."""


def _interpreted(
    options: argparse.Namespace, module: ModuleOp, functions: InterpretedRelax
) -> tuple[Callable[..., Any], Signature]:
    known = {n: s for n, s in signatures(module).items() if n in functions}
    if not known:
        raise UserError("the file has no public tir.func or relax.func to interpret")
    name = _function_name(list(known), options.function)
    signature = known[name]
    if isinstance(signature, PackedSignature):
        raise UserError(
            f"{signature}: it is not known which arguments a function of the packed "
            "convention takes; run the module before tir-make-packed-api"
        )
    if not isinstance(signature, Signature):
        raise signature
    return functions[name], signature


def _function_name(names: list[str], name: str | None) -> str:
    if not names:
        raise UserError("the file has no public tir.func or relax.func to call")
    if name is None:
        if len(names) != 1 and "main" not in names:
            known = _shown_names(names)
            raise UserError(f"say which --function to call; the file has {known}")
        name = "main" if "main" in names else names[0]
    check_name("function", name, names, f"the file has {_shown_names(names)}")
    return name


def _shown_names(names: Sequence[str], most: int = 10) -> str:
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} others" if rest > 0 else "")

"""`xdsl-tvm run`: compile or interpret a file and call one of its functions on arrays.

Inputs fill the parameters in order. Parameters without one are zero if the function
writes them, and random otherwise.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from xdsl_tvm.interpreters.relax import interpret
from xdsl_tvm.passes.error_lines import UserError
from xdsl_tvm.passes.pipeline_runner import check_name
from xdsl_tvm.runtime.executable import TARGETS, compile, load_module
from xdsl_tvm.runtime.sample_inputs import named_outputs, sample_arguments
from xdsl_tvm.runtime.signature import Signature, signatures
from xdsl_tvm.runtime.threads import set_num_threads
from xdsl_tvm.tools.opt import refuse_arguments


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("xdsl-tvm run", description=__doc__)
    parser.error = refuse_arguments
    add = parser.add_argument
    add("file", type=Path)
    add("--function", metavar="NAME", help="default: main, or the only one")
    add("--target", choices=TARGETS, default="llvm")
    add(
        "--interpret",
        action="store_true",
        help="interpret, simulate GPU threads and look for faults; no compiler",
    )
    add("--input", metavar="NPY", nargs="+", action="extend", default=[], type=Path)
    add("--symbol", metavar="N=4", action="append", default=[], type=_symbol)
    add("--threads", metavar="N", type=int, help="that parallel loops use")
    add("--random-seed", metavar="N", type=int, default=0)
    add("--output-dir", metavar="DIR", type=Path, help="save outputs as .npy here")
    add("--print", action="store_true", help="print the outputs' values")
    add("--traceback", action="store_true", help=argparse.SUPPRESS)
    return parser


def _symbol(text: str) -> tuple[str, int]:
    name, _, value = text.partition("=")
    if not (name and value.isdecimal()):
        raise argparse.ArgumentTypeError(f"'{text}' is not of the form n=4")
    return name, int(value)


def main(arguments: Sequence[str]) -> None:
    """Runs the command; errors are raised, for the caller to print."""
    options = argument_parser().parse_args(arguments)
    try:
        outputs = _call(options)
    except (TypeError, ValueError, RuntimeError) as error:
        raise UserError(str(error)) from error
    for name, value in outputs.items():
        print(f"{name}: {value.dtype}{list(value.shape)}")
        if options.print:
            print(value)
    if options.output_dir is not None:
        options.output_dir.mkdir(parents=True, exist_ok=True)
        for name, value in outputs.items():
            np.save(options.output_dir / f"{name}.npy", value)


def _call(options: argparse.Namespace) -> dict[str, Any]:
    function, signature = (_interpreted if options.interpret else _compiled)(options)
    given = [np.load(path) for path in options.input]
    symbols: Mapping[str, int] = dict(options.symbol)
    values = sample_arguments(signature, given, symbols, options.random_seed)
    return named_outputs(signature, values, function(*values))


def _compiled(options: argparse.Namespace) -> tuple[Callable[..., Any], Signature]:
    if options.threads is not None:
        set_num_threads(options.threads)
    executable = compile(options.file, options.target)
    function = executable[_function_name(list(executable), options.function)]
    return function, executable.signatures[function.__name__]


def _interpreted(options: argparse.Namespace) -> tuple[Callable[..., Any], Signature]:
    module = load_module(options.file)
    functions = interpret(module)
    known = {n: s for n, s in signatures(module).items() if n in functions}
    if not known:
        raise UserError("the file has no public tir.func or relax.func to interpret")
    name = _function_name(list(known), options.function)
    signature = known[name]
    if not isinstance(signature, Signature):
        raise signature
    return functions[name], signature


def _function_name(names: list[str], name: str | None) -> str:
    if name is None:
        if len(names) != 1 and "main" not in names:
            known = ", ".join(names) or "none"
            raise UserError(f"say which --function to call; the file has {known}")
        name = "main" if "main" in names else names[0]
    check_name("function", name, names)
    return name

"""Builds a model, runs it, and compares the results with numpy's.

    cd examples && python -m models resnet18 --compile

Exits with 1 if a result differs by more than 1e-4 of the largest. With --target the model
is compiled for other programs, as xdsl-tvm compile does it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from models import MODELS
from xdsl_tvm import interpret

TOLERANCE = 1e-4


def compiled(module: ModuleOp) -> Callable[..., Any]:
    """The function `main` of a module as machine code."""
    import xdsl_tvm

    return xdsl_tvm.compile(module)["main"]


def interpreted(module: ModuleOp) -> Callable[..., Any]:
    """The function `main` of a module, run by the interpreter."""
    return interpret(module)["main"]


def difference(found: Any, expected: Sequence[Any]) -> float:
    """The largest difference of results, as a part of the largest element."""
    results = cast("Sequence[Any]", found if isinstance(found, tuple | list) else [found])
    return max(
        float(np.abs(result - right).max() / np.abs(right).max())
        for result, right in zip(results, expected, strict=True)
    )


def compiled_to(name: str, module: ModuleOp, options: Sequence[str]) -> int:
    """Compile the text of a module by the command, as it is for any other file."""
    from xdsl_tvm.tools import cli

    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, f"{name}.mlir")
        program.write_text(f"{module!s}\n", encoding="utf-8")
        return cli.main(["compile", str(program), *options])


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m models", description=__doc__)
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("--full", action="store_true", help="in the size of the paper")
    parser.add_argument("--compile", action="store_true", help="run machine code")
    parser.add_argument(
        "-o", "--output", type=Path, help="write the program, or its code, and stop"
    )
    parser.add_argument("--target", choices=("llvm", "cuda"), help="compile to --output")
    parser.add_argument("--arch", metavar="SM", help="the oldest GPU; for cuda")
    arguments = parser.parse_args()
    if (arguments.target or arguments.arch) and arguments.output is None:
        parser.error("--target and --arch are for --output")
    if arguments.arch and arguments.target != "cuda":
        parser.error("--arch is for --target cuda")
    kind = MODELS[arguments.model]
    model = kind() if arguments.full else kind.small()
    module = model.build()
    if arguments.target is not None:
        options = ["--target", arguments.target, "-o", str(arguments.output)]
        options += ["--arch", arguments.arch] if arguments.arch else []
        return compiled_to(arguments.model, module, options)
    if arguments.output is not None:
        arguments.output.write_text(f"{module!s}\n", encoding="utf-8")
        return 0
    parameters, inputs = model.parameters(), model.inputs()
    start = time.perf_counter()
    run = compiled(module) if arguments.compile else interpreted(module)
    prepared = time.perf_counter()
    found = run(*inputs, *parameters.values())
    end = time.perf_counter()
    error = difference(found, model.reference(parameters, *inputs))
    count = sum(values.size for values in parameters.values())
    for name, value in (
        ("model", model),
        ("parameters", f"{count:,}"),
        ("prepared in", f"{prepared - start:.3f} s"),
        ("run in", f"{(end - prepared) * 1e3:.1f} ms"),
        ("difference", f"{error:.1e} of the largest element, against numpy"),
    ):
        print(f"{name:<13}{value}")
    if not error < TOLERANCE:
        print(f"error: the difference is {TOLERANCE} or more", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

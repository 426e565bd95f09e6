"""How fast whole networks compile and run, against TVM and onnxruntime.

    python benchmarks/models.py                          all, on all cores
    python benchmarks/models.py --only resnet18 --threads 1
    python benchmarks/models.py --write                  and into docs/performance.md

The networks are those of `examples/models` in their full size, with random weights. Our
code, TVM's by its default pipeline for the CPU, and an onnxruntime session take turns, as
far as `tvm`, `onnx` and `onnxruntime` can be imported; the best time of each counts. Each
has a process of its own, bound to as many cores as threads are asked for: in one process,
the threads of one runtime take the cores from another. All results are compared with
numpy's, in double precision, first.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from _model_peers import Array, Call, ONNXProgram, TVMProgram, main_of
from _page import write_section
from _race import race, turn
from _worker import Worker

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

from models import MODELS, Model
from models.__main__ import difference

from xdsl_tvm import IRModule, compile
from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.tir.types import bytes_of_lane
from xdsl_tvm.lowering.pipelines import relax_optimization, run_pipeline
from xdsl_tvm.registry import new_context

TOLERANCE = 1e-3
PEERS = ("TVM", "onnxruntime")


@dataclass
class Program:
    """One compiler's code: seconds to make it, and the shortest time of a run."""

    compiled_in: float
    run_in: float
    error: float
    """The largest difference from numpy, as a part of the largest element."""


@dataclass
class Result:
    """A model, and its programs by the name of the compiler."""

    model: str
    programs: dict[str, Program]
    planned: int
    """Bytes of memory that our program takes for all tensors but its arguments."""
    unplanned: int
    """The same, were each tensor to have its own."""


# ---- memory ----


def memory(module: IRModule, inputs: Sequence[Array]) -> tuple[int, int]:
    """Bytes of the storages that are planned, and of all tensors in them."""
    owned = module.clone()
    run_pipeline(new_context(), owned, relax_optimization())
    func = main_of(module)
    symbols: dict[str, int] = {}
    for arg, array in zip(func.args, inputs, strict=False):
        info = relax.TensorInfo.of(arg.type)
        for dim, extent in zip((info and info.shape) or (), array.shape, strict=True):
            if dim.symbol_name is not None:
                symbols[dim.symbol_name] = extent
    planned = unplanned = 0
    for op in owned.walk():
        if isinstance(op, relax.AllocStorageOp):
            planned += op.size.data.evaluate(symbols)
        elif isinstance(op, relax.AllocTensorFromStorageOp):
            unplanned += _bytes(op.result.type, symbols)
    return planned, unplanned


def _bytes(type_: Any, symbols: Mapping[str, int]) -> int:
    info = relax.TensorInfo.of(type_)
    assert info is not None
    assert info.shape is not None
    assert info.dtype is not None
    extents = [dim.evaluate(symbols) for dim in info.shape]
    return prod(extents) * bytes_of_lane(info.dtype)


# ---- measuring ----


def compiled(
    compiler: str,
    model: Model,
    module: IRModule,
    inputs: Sequence[Array],
    threads: int,
) -> tuple[float, Call]:
    """Seconds to compile, and the call.

    Raises ModuleNotFoundError where the compiler is not installed.
    """
    parameters = model.parameters()
    arrays = [np.ascontiguousarray(a) for a in (*inputs, *parameters.values())]
    makers: dict[str, Callable[[], Call]] = {
        "ours": lambda: _ours(module, inputs, list(parameters.values())),
        "TVM": lambda: TVMProgram(module).compile(arrays),
        "onnxruntime": lambda: ONNXProgram(module, parameters, len(inputs)).compile(
            inputs, threads
        ),
    }
    start = time.perf_counter()
    call = makers[compiler]()
    return time.perf_counter() - start, call


def _ours(module: IRModule, inputs: Sequence[Array], parameters: Sequence[Array]) -> Call:
    # They follow the inputs.
    params: dict[str | int, Array] = dict(enumerate(parameters, len(inputs)))
    main = compile(module, params=params)["main"]
    arrays = [np.ascontiguousarray(array) for array in inputs]
    return lambda: main(*arrays)


def work(compiler: str, model: Model, threads: int) -> None:
    """Measure in this process, which answers each line with the best time of a turn.

    First it says how long compiling took and what else there is to know, or that there
    is no such compiler.
    """
    module, inputs = model.build(), model.inputs()
    try:
        seconds, call = compiled(compiler, model, module, inputs, threads)
    except ModuleNotFoundError as error:
        print(f"without {compiler}: {error}", file=sys.stderr)
        _say(None)
        return
    expected = model.reference(model.parameters(), *inputs)
    error = difference(_arrays(call()), expected)
    if not error < TOLERANCE:
        raise SystemExit(f"{compiler}: wrong by {error} of the largest element")
    _say((seconds, error, memory(module, inputs) if compiler == "ours" else (0, 0)))
    for _ in sys.stdin:
        _say(turn(call))


def _say(value: object) -> None:
    print(json.dumps(value), flush=True)


def _arrays(value: Any) -> list[Array]:
    """The arrays of a result: one, or several in whatever the runtime has for that."""
    if isinstance(value, np.ndarray):
        return [value]
    if hasattr(value, "numpy"):
        return [value.numpy()]
    return [array for each in value for array in _arrays(each)]


# ---- reporting ----


def run(name: str, options: argparse.Namespace) -> Result:
    """One model by all compilers, in turns."""
    arguments = ["--worker", name, "--threads", str(options.threads)]
    arguments += ["--small"] * options.small
    programs = dict[str, Program]()
    sizes = 0, 0
    with ExitStack() as stack:
        workers = dict[str, Worker]()
        for compiler in ("ours", *PEERS):
            worker = stack.enter_context(
                Worker(__file__, [*arguments, "--compiler", compiler], options.threads)
            )
            # One after the other, so that each compiles alone.
            found = json.loads(worker.read())
            if found is not None:
                workers[compiler] = worker
                compiled_in, error, planned = found
                programs[compiler] = Program(compiled_in, float("inf"), error)
                sizes = planned if compiler == "ours" else sizes
        turns = [partial(_turn, worker) for worker in workers.values()]
        for compiler, run_in in zip(workers, race(turns, options.seconds), strict=True):
            programs[compiler].run_in = run_in
    return Result(name, programs, *sizes)


def _turn(worker: Worker) -> float:
    return float(json.loads(worker.ask("")))


def table(results: Sequence[Result], threads: int) -> list[str]:
    """Lines of Markdown."""
    lines = [
        f"On {threads} core{'s' * (threads > 1)}:",
        "",
        "| model | time | TVM | onnxruntime | compiled in | TVM | onnxruntime | memory |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for each in results:
        ours = each.programs["ours"]
        cells = [each.model, f"{1e3 * ours.run_in:.2f} ms"]
        cells += [_ratio(each, peer, lambda p: p.run_in) for peer in PEERS]
        cells.append(f"{ours.compiled_in:.1f} s")
        cells += [_ratio(each, peer, lambda p: p.compiled_in) for peer in PEERS]
        part = each.planned / each.unplanned if each.unplanned else 1
        cells.append(f"{each.planned / 2**20:.2f} MiB, {part:.0%}")
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _ratio(result: Result, peer: str, key: Callable[[Program], float]) -> str:
    found = result.programs.get(peer)
    if found is None:
        return ""
    ratio = key(found) / key(result.programs["ours"])
    return f"{ratio:.0f}x" if ratio >= 10 else f"{ratio:.2g}x"


_LEGEND = """
The networks of `examples/models` in their full size, f32, one image or one text; the step
of GPT-2 has 512 tokens before it. *TVM* (its default pipeline, without tuning) and
*onnxruntime* say how many times as long they take, in turns, each in a process of its
own. The weights are constants of our code and for onnxruntime, which rearrange them when
the model is compiled or loaded, and arguments of TVM's code. *memory* is what one call
allocates for results and everything between, as planned, and how much that is of all
tensors together.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    cores = len(os.sched_getaffinity(0))
    parser.add_argument("--only", nargs="+", default=list(MODELS), choices=MODELS)
    parser.add_argument("--threads", type=int, default=cores)
    parser.add_argument("--seconds", type=float, default=5.0, help="for each model")
    parser.add_argument("--small", action="store_true", help="in a size for tests")
    parser.add_argument("--write", action="store_true", help="write docs/performance.md")
    parser.add_argument("--worker", choices=MODELS, help=argparse.SUPPRESS)
    parser.add_argument("--compiler", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker is not None:
        kind = MODELS[options.worker]
        model = kind.small() if options.small else kind()
        work(options.compiler, model, options.threads)
        return
    results: list[Result] = []
    for name in options.only:
        results.append(run(name, options))
        print("\n".join(table(results[-1:], options.threads)[-1:]), flush=True)
    lines = table(results, options.threads)
    print("\n".join(lines))
    if options.write:
        write_section("models.py", "Models", [_LEGEND.strip(), "", *lines])


if __name__ == "__main__":
    main()

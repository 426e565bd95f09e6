"""How fast whole networks compile and run, against TVM and onnxruntime.

    python benchmarks/models.py                          all, on all cores
    python benchmarks/models.py --only resnet18 --threads 1
    python benchmarks/models.py --write                  and into docs/performance.md

The networks are those of `examples/models` in their full size, with random weights. For
each there is a process of its own, bound to as many cores as threads are asked for. In
it, our code, TVM's by its default pipeline for the CPU, and an onnxruntime session take
turns, as far as `tvm`, `onnx` and `onnxruntime` can be imported; the best time of each
counts. All results are compared with numpy's, in double precision, first.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from _model_peers import Array, Call, ONNXProgram, TVMProgram, main_of
from _page import write_section
from _worker import run_worker
from cpu_kernels import race

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

from models import MODELS, Model
from models.__main__ import difference

from xdsl_tvm import IRModule, compile
from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.tir.types import bytes_of_lane
from xdsl_tvm.lowering.pipelines import relax_optimization, run_pipeline
from xdsl_tvm.registry import new_context

TOLERANCE = 1e-3


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


def programs(
    model: Model, module: IRModule, inputs: Sequence[Array], threads: int
) -> dict[str, tuple[float, Call]]:
    """Seconds to compile, and the call, by compiler, of those that are installed."""
    parameters = model.parameters()
    arrays = [np.ascontiguousarray(a) for a in (*inputs, *parameters.values())]
    makers: dict[str, Callable[[], Call]] = {
        "ours": lambda: _ours(module, arrays),
        "TVM": lambda: TVMProgram(module).compile(arrays),
        "onnxruntime": lambda: ONNXProgram(module, parameters, len(inputs)).compile(
            inputs, threads
        ),
    }
    result: dict[str, tuple[float, Call]] = {}
    for name, make in makers.items():
        start = time.perf_counter()
        try:
            call = make()
        except ModuleNotFoundError as error:
            print(f"without {name}: {error}", file=sys.stderr)
            continue
        result[name] = (time.perf_counter() - start, call)
    return result


def _ours(module: IRModule, arrays: Sequence[Array]) -> Call:
    main = compile(module)["main"]
    return lambda: main(*arrays)


def measure(name: str, model: Model, seconds: float, threads: int) -> Result:
    """One model by all compilers, in turns."""
    module, inputs = model.build(), model.inputs()
    made = programs(model, module, inputs, threads)
    expected = model.reference(model.parameters(), *inputs)
    errors = {
        key: difference(_arrays(call()), expected) for key, (_, call) in made.items()
    }
    for key, error in errors.items():
        if not error < TOLERANCE:
            raise SystemExit(f"{name} by {key}: wrong by {error} of the largest element")
    times = race([call for _, call in made.values()], seconds)
    best = dict(zip(made, times, strict=True))
    planned, unplanned = memory(module, inputs)
    found = {
        key: Program(compiled_in, best[key], errors[key])
        for key, (compiled_in, _) in made.items()
    }
    return Result(name, found, planned, unplanned)


def _arrays(value: Any) -> list[Array]:
    """The arrays of a result: one, or several in whatever the runtime has for that."""
    if isinstance(value, np.ndarray):
        return [value]
    if hasattr(value, "numpy"):
        return [value.numpy()]
    return [array for each in value for array in _arrays(each)]


# ---- reporting ----


def run(name: str, options: argparse.Namespace) -> Result:
    """One model, measured in a process of its own."""
    threads: int = options.threads
    arguments = ["--worker", name, "--threads", str(threads)]
    arguments += ["--seconds", str(options.seconds), *(["--small"] * options.small)]
    line: dict[str, Any] = json.loads(run_worker(__file__, arguments, threads)[-1])
    found = {key: Program(**each) for key, each in line.pop("programs").items()}
    return Result(programs=found, **line)


def table(results: Sequence[Result], threads: int) -> list[str]:
    """Lines of Markdown."""
    peers = ("TVM", "onnxruntime")
    lines = [
        f"On {threads} core{'s' * (threads > 1)}:",
        "",
        "| model | time | TVM | onnxruntime | compiled in | TVM | onnxruntime | memory |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for each in results:
        ours = each.programs["ours"]
        cells = [each.model, f"{1e3 * ours.run_in:.2f} ms"]
        cells += [_ratio(each, peer, lambda p: p.run_in) for peer in peers]
        cells.append(f"{ours.compiled_in:.1f} s")
        cells += [_ratio(each, peer, lambda p: p.compiled_in) for peer in peers]
        part = each.planned / each.unplanned if each.unplanned else 1
        cells.append(f"{each.planned / 2**20:.2f} MiB, {part:.0%}")
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _ratio(result: Result, peer: str, key: Callable[[Program], float]) -> str:
    found = result.programs.get(peer)
    if found is None:
        return ""
    return f"{key(found) / key(result.programs['ours']):.2g}x"


_LEGEND = """
The networks of `examples/models` in their full size, f32, one image or one text; the step
of GPT-2 has 512 tokens before it. *TVM* (its default pipeline, without tuning) and
*onnxruntime* say how many times as long they take, in turns in one process. The weights
are arguments of our code and of TVM's, and constants for onnxruntime, which packs them
when it is loaded. *memory* is what one call allocates for results and everything between,
as planned, and how much that is of all tensors together.
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
    options = parser.parse_args()
    if options.worker is not None:
        kind = MODELS[options.worker]
        model = kind.small() if options.small else kind()
        result = measure(options.worker, model, options.seconds, options.threads)
        print(json.dumps(asdict(result)))
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

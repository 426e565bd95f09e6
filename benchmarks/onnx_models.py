"""How fast the light models of the package onnx run, beside onnxruntime.

    python benchmarks/onnx_models.py                        all, on all cores
    python benchmarks/onnx_models.py --only resnet50 --threads 1
    python benchmarks/onnx_models.py --write                and into docs/performance.md

The nine networks have random weights in place of their constant ones, as constants of our
code and as initializers for onnxruntime. Both take turns, each in a process of its own
that is bound to as many cores as threads are asked for; the best time of each counts. The
results are compared with each other first.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
import time
from contextlib import ExitStack
from functools import partial
from typing import Any

import numpy as np
from _page import write_section
from _race import race, turn
from _worker import Worker

TOLERANCE = 1e-3
MODELS = (
    "bvlc_alexnet",
    "densenet121",
    "inception_v1",
    "inception_v2",
    "resnet50",
    "shufflenet",
    "squeezenet",
    "vgg19",
    "zfnet512",
)


def _model(name: str) -> tuple[Any, np.ndarray[Any, Any]]:
    """The model with random weights, and an image."""
    from xdsl_tvm.tools.onnx_suites import suite, with_random_weights

    (case,) = suite("light", f"^light_{name}$")
    assert case.model is not None
    model = with_random_weights(case.model)
    dims = model.graph.input[0].type.tensor_type.shape.dim
    shape = [dim.dim_value for dim in dims]
    return model, np.random.default_rng(6).standard_normal(shape).astype(np.float32)


def work(compiler: str, name: str, threads: int) -> None:
    """Measure in this process, which answers each line with the best time of a turn.

    First it says how long compiling took, and the largest elements of the result with
    their places.
    """
    model, image = _model(name)
    start = time.perf_counter()
    if compiler == "ours":
        from xdsl_tvm import compile
        from xdsl_tvm.frontend.onnx import from_onnx

        start = time.perf_counter()
        main: Any = compile(from_onnx(model))["main"]

        def call() -> object:
            return main(image)
    else:
        onnxruntime: Any = importlib.import_module("onnxruntime")
        start = time.perf_counter()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        session = onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        feed = {model.graph.input[0].name: image}

        def call() -> object:
            return session.run(None, feed)

    seconds = time.perf_counter() - start
    found: Any = call()
    # A session returns a list.
    result: Any = found[0] if compiler == "onnxruntime" else found
    _say([seconds, result.ravel().tolist()])
    for _ in sys.stdin:
        _say(turn(call))


def _say(value: object) -> None:
    print(json.dumps(value), flush=True)


def run(name: str, options: argparse.Namespace) -> str:
    """One model by both, as a line of the table."""
    arguments = ["--worker", name, "--threads", str(options.threads)]
    compiled: list[float] = []
    results: list[np.ndarray[Any, Any]] = []
    workers: list[Worker] = []
    with ExitStack() as stack:
        for compiler in ("ours", "onnxruntime"):
            program = [*arguments, "--compiler", compiler]
            worker = stack.enter_context(Worker(__file__, program, options.threads))
            # One after the other, so that each compiles alone.
            seconds, result = json.loads(worker.read())
            compiled.append(seconds)
            results.append(np.array(result))
            workers.append(worker)
        difference = np.abs(results[0] - results[1]).max() / np.abs(results[1]).max()
        if not difference < TOLERANCE:
            raise SystemExit(f"{name}: wrong by {difference} of the largest element")
        turns = [partial(_turn, worker) for worker in workers]
        ours, theirs = race(turns, options.seconds)
    return (
        f"| {name} | {1e3 * ours:.1f} ms | {theirs / ours:.2f}x | {compiled[0]:.1f} s "
        f"| {compiled[1]:.1f} s |"
    )


def _turn(worker: Worker) -> float:
    return float(json.loads(worker.ask("")))


_LEGEND = """
The light models of the package onnx, f32, one image, with random weights. *onnxruntime*
says how many times as long it takes, in turns, each in a process of its own.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    cores = len(os.sched_getaffinity(0))
    parser.add_argument("--only", nargs="+", default=list(MODELS), choices=MODELS)
    parser.add_argument("--threads", type=int, default=cores)
    parser.add_argument("--seconds", type=float, default=3.0, help="for each model")
    parser.add_argument("--write", action="store_true", help="write docs/performance.md")
    parser.add_argument("--worker", choices=MODELS, help=argparse.SUPPRESS)
    parser.add_argument("--compiler", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker is not None:
        work(options.compiler, options.worker, options.threads)
        return
    lines = [
        f"On {options.threads} core{'s' * (options.threads > 1)}:",
        "",
        "| model | time | onnxruntime | compiled in | session made in |",
        "|---|---|---|---|---|",
    ]
    print("\n".join(lines))
    for name in options.only:
        lines.append(run(name, options))
        print(lines[-1], flush=True)
    if options.write:
        title = "Models of the package onnx, beside onnxruntime"
        write_section("onnx_models.py", title, [*lines, *_LEGEND.splitlines()])


if __name__ == "__main__":
    main()

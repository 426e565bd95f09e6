"""How fast compiled kernels run, against numpy, TVM and the machine's limits.

    python benchmarks/cpu_kernels.py                     one core, then all cores
    python benchmarks/cpu_kernels.py --threads 1 --only matmul softmax
    python benchmarks/cpu_kernels.py --write             and into docs/performance.md
    python benchmarks/cpu_kernels.py --convolutions      those of the networks of images
    python benchmarks/cpu_kernels.py --products          matrix products, of all dtypes
    python benchmarks/cpu_kernels.py --narrow            convolutions of bytes and f16

Every kernel is written without a schedule (`_cpu_kernel_sources.py`) and compiled, which
schedules it. For each number of threads there is a process of
its own, bound to as many cores. In it, the kernel, numpy's way to compute the same, and
TVM's default build for the CPU, if `tvm` can be imported, take turns; the best time of
each counts. Results are compared with numpy's first. A kernel bound by memory is also
compared with a copy, the faster of numpy's and of a compiled one, or with a read if it
writes next to nothing, and a kernel bound by arithmetic with multiply-adds in registers.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import _cpu_kernel_sources as sources
import numpy as np
from _page import write_section
from _race import race, turn
from _tvm import tvm_module
from _worker import run_worker

HEADER = "from xdsl_tvm.tvmscript import tir as T\n"
ROWS, COLUMNS = 4096, 4096
"""64 MiB of f32."""
_PARTS = 16
"""Parts of them that threads read."""
Array = np.ndarray[Any, np.dtype[np.float32]]
Call = Callable[[], object]


@dataclass
class Kernel:
    """A kernel, how numpy computes it, and what it costs at least."""

    name: str
    source: str
    shapes: Sequence[tuple[int, ...]]
    """Of the arguments; the last is the result."""
    reference: Callable[..., object]
    """Writes the result like the kernel, or returns it."""
    flops: int = 0
    bytes: int = 0
    reads_only: bool = False
    """Whether what it writes is next to nothing."""


@dataclass
class Result:
    """Seconds, the best of all rounds."""

    name: str
    ours: float
    numpy: float
    tvm: float | None
    compile: float
    limit: float
    """What the machine's limit gives for the same work."""
    work: int
    """Bytes or operations."""
    is_bound_by_memory: bool


def aligned(shape: Sequence[int], random: np.random.Generator) -> Array:
    """An array that starts at a cache line, with values around 0."""
    size = int(np.prod(shape))
    memory = np.empty(size + 32, np.float32)
    offset = -memory.ctypes.data % 64 // 4
    array = memory[offset : offset + size].reshape(shape)
    array[...] = random.standard_normal(shape)
    return array


# ---- the kernels ----


def kernels() -> list[Kernel]:
    """All of them."""
    shape, size = (ROWS, COLUMNS), 4 * ROWS * COLUMNS
    rows = (4096, 1024)
    row_bytes = 8 * rows[0] * rows[1]
    total = "A[vi, vj] + B[vi, vj]"
    relu = "T.max(A[vi, vj] * B[vi, vj] + C[vi, vj], T.float32(0))"
    chain = sources.map_kernel("chain", "ABC", relu, *shape)
    transpose = sources.map_kernel("transpose", "A", "A[vj, vi]", *shape)
    images = [(1, 64, 56, 56), (64, 64, 3, 3), (1, 64, 56, 56)]
    found = [
        Kernel(
            "add",
            sources.map_kernel("add", "AB", total, *shape),
            [shape] * 3,
            _add,
            bytes=3 * size,
        ),
        Kernel("relu(a * b + c)", chain, [shape] * 4, _chain, bytes=4 * size),
        Kernel("transpose", transpose, [shape] * 2, _transpose, bytes=2 * size),
    ]
    for axis, reference in ((0, _sum_columns), (1, _sum_rows)):
        source = sources.sum_kernel(axis, *shape)
        name = f"sum over axis {axis}"
        shapes = [shape, (ROWS,)]
        found.append(Kernel(name, source, shapes, reference, bytes=size, reads_only=True))
    source = sources.softmax(*rows)
    found.append(Kernel("softmax", source, [rows] * 2, _softmax, bytes=row_bytes))
    source = sources.layer_norm(*rows)
    shapes = [rows, rows[1:], rows[1:], rows]
    found.append(Kernel("layer norm", source, shapes, _layer_norm, bytes=row_bytes))
    for n in (512, 1024):
        source = sources.matmul(n)
        found.append(Kernel(f"matmul {n}", source, [(n, n)] * 3, _matmul, flops=2 * n**3))
    flops = 2 * 64 * 56 * 56 * 64 * 9
    found.append(Kernel("conv2d", sources.CONV2D, images, _conv2d, flops=flops))
    return found


def _add(a: Array, b: Array, z: Array) -> None:
    np.add(a, b, out=z)


def _transpose(a: Array, z: Array) -> None:
    np.copyto(z, a.T)


def _sum_columns(a: Array, z: Array) -> None:
    np.sum(a, 0, out=z)


def _sum_rows(a: Array, z: Array) -> None:
    np.sum(a, 1, out=z)


def _matmul(a: Array, b: Array, z: Array) -> None:
    np.matmul(a, b, out=z)


def _chain(a: Array, b: Array, c: Array, z: Array) -> None:
    np.multiply(a, b, out=z)
    np.add(z, c, out=z)
    np.maximum(z, 0, out=z)


def _softmax(a: Array, z: Array) -> None:
    np.subtract(a, a.max(1, keepdims=True), out=z)
    np.exp(z, out=z)
    np.divide(z, z.sum(1, keepdims=True), out=z)


def _layer_norm(a: Array, g: Array, b: Array, z: Array) -> None:
    np.subtract(a, a.mean(1, keepdims=True), out=z)
    variance = np.einsum("ij,ij->i", z, z)[:, None] / a.shape[1]
    np.divide(z, np.sqrt(variance + np.float32(1e-5)), out=z)
    np.multiply(z, g, out=z)
    np.add(z, b, out=z)


def _conv2d(a: Array, b: Array, z: Array) -> None:
    padded = np.pad(a[0], ((0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (1, 2))
    columns = windows.transpose(0, 3, 4, 1, 2).reshape(576, 3136)
    np.matmul(b.reshape(64, 576), columns, out=z.reshape(64, 3136))


# ---- compiling ----


def compiled(source: str) -> Callable[..., object]:
    """The function of a script, as a call on arrays."""
    from xdsl_tvm.runtime.executable import compile
    from xdsl_tvm.tvmscript.parser import parse

    executable = compile(parse(HEADER + source))
    (name,) = executable
    return executable[name]


def compiled_by_tvm(source: str, arrays: Sequence[Array]) -> Call | None:
    """The function as TVM builds it by default, None where there is no TVM."""
    from xdsl_tvm.tvmscript.parser import parse

    try:
        tvm: Any = importlib.import_module("tvm")
    except ImportError:
        return None
    module = tvm_module(parse(HEADER + source))
    (name,) = (variable.name_hint for variable in module.get_global_vars())
    call = tvm.compile(module, target="llvm")[name]
    tensors = [tvm.runtime.from_dlpack(array) for array in arrays]
    return lambda: call(*tensors)


# ---- measuring ----


@dataclass
class Limits:
    """What the machine can do: calls that do nothing but move or compute."""

    copies: list[Call]
    copied: int
    """Bytes read and written by a copy."""
    read: Call
    read_bytes: int
    chains: Call
    operations: int


def limits(threads: int) -> Limits:
    """A copy of 64 MiB, a read of as many, and multiply-adds in vectors that stay in
    registers."""
    random = np.random.default_rng(1)
    a, z = (aligned((ROWS, COLUMNS), random) for _ in range(2))
    copy = compiled(sources.map_kernel("copy", "A", "A[vi, vj]", ROWS, COLUMNS))
    read, parts = compiled(sources.read(_PARTS, ROWS * COLUMNS // _PARTS)), (_PARTS, 64)
    rows, found = a.reshape(_PARTS, -1), aligned(parts, random)
    chains, steps = 12, 1_000_000
    source = sources.fma_peak(threads, chains, steps)
    sums, peak = aligned((threads, 16), random), compiled(source)
    return Limits(
        [lambda: copy(a, z), lambda: np.copyto(z, a)],
        2 * a.nbytes,
        lambda: read(rows, found),
        a.nbytes,
        lambda: peak(sums),
        32 * threads * chains * steps,
    )


def measure(kernel: Kernel, seconds: float, machine: Limits) -> Result:
    """One kernel, in turns with its peers and with the limit that holds for it."""
    random = np.random.default_rng(1)
    arrays = [aligned(shape, random) for shape in kernel.shapes]
    start = time.perf_counter()
    ours = compiled(kernel.source)
    compile_time = time.perf_counter() - start
    theirs = compiled_by_tvm(kernel.source, arrays)
    kernel.reference(*arrays)
    expected = arrays[-1].copy()
    calls: list[Call] = [lambda: ours(*arrays)]
    if theirs is not None:
        calls.append(theirs)
    for call in calls:
        arrays[-1][...] = np.nan
        call()
        scale = np.abs(expected).max()
        error = np.abs(arrays[-1] - expected).max() / scale
        if not error < 1e-4:
            raise SystemExit(f"{kernel.name}: wrong by {error} of the largest value")
    work = kernel.bytes or kernel.flops
    others, whole = [machine.chains], machine.operations
    if kernel.reads_only:
        others, whole = [machine.read], machine.read_bytes
    elif kernel.bytes:
        others, whole = machine.copies, machine.copied
    part = work / whole
    racers = [*calls, lambda: kernel.reference(*arrays), *others]
    times = race([partial(turn, call) for call in racers], seconds)
    numpy = len(calls)
    return Result(
        kernel.name,
        times[0],
        times[numpy],
        times[1] if theirs is not None else None,
        compile_time,
        part * min(times[numpy + 1 :]),
        work,
        bool(kernel.bytes),
    )


def work(threads: int, only: Sequence[str], seconds: float) -> None:
    """Measure in this process, and print the results as JSON, one a line."""
    machine = limits(threads)
    for kernel in kernels():
        if not only or any(kernel.name.startswith(name) for name in only):
            result = measure(kernel, seconds, machine)
            print(json.dumps(asdict(result)), flush=True)


def work_on_convolutions(threads: int, only: Sequence[str], seconds: float) -> None:
    """The same for the convolutions of `_convolutions.py`, each as a row of the table."""
    # Late: it imports the models.
    import _convolutions

    _convolutions.keep_memory()

    machine = limits(threads)
    for shape, where in _convolutions.shapes().items():
        if not only or any(shape.name.startswith(name) for name in only):
            result = _convolutions.measure(
                shape, seconds, machine.chains, machine.operations
            )
            print(_convolutions.line(shape, where, result), flush=True)


def work_on_products(threads: int, only: Sequence[str], seconds: float) -> None:
    """The same for the products of `_products.py`."""
    import _products

    machine = limits(threads)
    for product in _products.PRODUCTS:
        if not only or any(product.name.startswith(name) for name in only):
            chains = machine.chains, machine.operations
            result = _products.measure(product, seconds, chains)
            print(_products.line(product, result), flush=True)


def work_on_narrow(threads: int, only: Sequence[str], seconds: float) -> None:
    """The same for the convolutions of `_narrow.py`."""
    import _narrow

    machine = limits(threads)
    for network in _narrow.NETWORKS:
        if not only or any(network.name.startswith(name) for name in only):
            result = _narrow.measure(network, seconds, machine.chains, machine.operations)
            print(_narrow.line(network, result), flush=True)


# ---- reporting ----


def run(threads: int, only: Sequence[str], seconds: float) -> list[str]:
    """The table for a number of threads, measured in a process of its own."""
    arguments = ["--worker", str(threads), "--seconds", str(seconds)]
    arguments += ["--only", *only] if only else []
    lines = map(json.loads, run_worker(__file__, arguments, threads))
    return table(threads, [Result(**line) for line in lines])


def run_rows(
    kind: str, threads: int, only: Sequence[str], seconds: float
) -> tuple[list[str], str]:
    """The table of the convolutions or products, and what it shows."""
    module: Any = importlib.import_module(f"_{kind}")
    arguments = ["--worker", str(threads), "--seconds", str(seconds), f"--{kind}"]
    arguments += ["--only", *only] if only else []
    rows = run_worker(__file__, arguments, threads)
    return [_title(threads), "", *module.HEADER, *rows, ""], module.LEGEND.strip()


def _title(threads: int) -> str:
    return "On one core:" if threads == 1 else f"On {threads} cores:"


def table(threads: int, results: Sequence[Result]) -> list[str]:
    """Lines of Markdown."""
    lines = [
        _title(threads),
        "",
        "| kernel | time | rate | limit | of the limit | numpy | TVM | compiled in |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for each in results:
        tvm = "" if each.tvm is None else f"{each.tvm / each.ours:.1f}x"
        lines.append(
            f"| {each.name} | {1e3 * each.ours:.2f} ms "
            f"| {rate(each, each.ours)} | {rate(each, each.limit)} "
            f"| {100 * each.limit / each.ours:.0f} % | {each.numpy / each.ours:.2f}x "
            f"| {tvm} | {1e3 * each.compile:.0f} ms |"
        )
    return [*lines, ""]


def rate(result: Result, seconds: float) -> str:
    """The work of a kernel per second."""
    unit = "GB/s" if result.is_bound_by_memory else "GFLOP/s"
    return f"{result.work / seconds / 1e9:.0f} {unit}"


_LEGEND = """
f32 arrays of 64 MiB; rows of softmax and layer norm: 4096 of 1024; conv2d: 64 channels of
56 by 56, 3 by 3, to 64. Each kernel is written in TIR without a schedule. *numpy* and
*TVM* (its default build for the CPU) say how many times as long they take; numpy computes
in place where it can, on one thread but for products. The *limit* is what the machine
gives for the same bytes in a copy, in a read for sums, or for the same operations in
registers, measured in turns with the kernel: what is above 100 % is noise, and a copy
that reads and writes in equal parts is no exact bound for others. Memory-bound rates
count each array once.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    cores = len(os.sched_getaffinity(0))
    default = sorted({1, cores})
    parser.add_argument("--threads", type=int, nargs="+", default=default)
    parser.add_argument("--only", nargs="+", default=[], help="beginnings of names")
    parser.add_argument("--seconds", type=float, default=3.0, help="for each kernel")
    parser.add_argument("--write", action="store_true", help="write docs/performance.md")
    parser.add_argument("--worker", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--convolutions", action="store_true", help="of the networks")
    parser.add_argument("--products", action="store_true", help="of all dtypes")
    parser.add_argument("--narrow", action="store_true", help="convolutions of bytes")
    options = parser.parse_args()
    kinds = [kind for kind in _KINDS if getattr(options, kind)]
    if options.worker is not None:
        working = _KINDS[kinds[0]][1] if kinds else work
        working(options.worker, options.only, options.seconds)
        return
    lines: list[str] = []
    legend = _LEGEND.strip()
    for threads in options.threads:
        if kinds:
            part, legend = run_rows(kinds[0], threads, options.only, options.seconds)
        else:
            part = run(threads, options.only, options.seconds)
        print("\n".join(part), flush=True)
        lines += part
    if options.write and kinds:
        title = _KINDS[kinds[0]][0]
        name = f"cpu_kernels.py {kinds[0]}"
        write_section(name, title, [legend, "", *lines])
    elif options.write:
        write_section("cpu_kernels.py", "CPU kernels", [legend, "", *lines])


_Work = Callable[[int, Sequence[str], float], None]
_KINDS: dict[str, tuple[str, _Work]] = {
    "convolutions": ("Convolutions", work_on_convolutions),
    "products": ("Products", work_on_products),
    "narrow": ("Convolutions of narrow dtypes", work_on_narrow),
}
"""Tables of their own: the title, and what measures them."""


if __name__ == "__main__":
    main()

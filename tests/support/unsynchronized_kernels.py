"""Kernels that have no barriers until ThreadSync, and what they compute.

As they are written their threads race, or do so after a pass that makes statements of
blocks; so what they compute is given by numpy.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from support.async_pipelines import kernel as pipelined_copies
from support.ir import parse as parse_ir
from support.sync_kernels import random_sync_kernel
from support.warp_exchanges import NUMPY, Exchange
from xdsl_tvm.tvmscript import parse

Array: TypeAlias = np.ndarray[Any, Any]


@dataclass
class Unsynchronized:
    """A kernel, the arrays it is called with, and what they hold in the end."""

    module: ModuleOp
    arrays: tuple[Array, ...]
    expected: tuple[Array, ...]
    tolerance: float = 0.0


def softmax(seed: int) -> Unsynchronized:
    """Threads that reduce rows twice, and use the results."""
    rng = random.Random(f"softmax {seed}")
    rows, threads = rng.choice((1, 2, 3)), rng.choice((4, 8, 31, 32, 40, 64, 96))
    steps = rng.choice((1, 1, 2, 3))
    columns = threads * steps
    scope = rng.choice(("shared", "shared", "shared.dyn", "local"))
    shape = f"({rows}, {columns})"

    def block(kind: str, init: str, statement: str) -> str:
        lines = [
            f"for k1 in T.thread_binding({threads}, thread='threadIdx.x'):",
            f"    for k0 in range({steps}):",
            "        with T.block():",
            f"            vi = T.axis.spatial({rows}, i)",
            f"            vk = T.axis.{kind}({columns}, k0 * {threads} + k1)",
        ]
        if init:
            lines += ["            with T.init():", f"                {init}"]
        lines.append(f"            {statement}")
        return "".join(f"        {line}\n" for line in lines)

    script = (
        "@T.prim_func\n"
        f"def f(A: T.Buffer({shape}, 'float32'), B: T.Buffer({shape}, 'float32')):\n"
        f"    for i in T.thread_binding({rows}, thread='blockIdx.x'):\n"
        f"        M = T.alloc_buffer(({rows},), scope='{scope}')\n"
        f"        N = T.alloc_buffer(({rows},), scope='{scope}')\n"
        + block(
            "reduce", "M[vi] = T.min_value('float32')", "M[vi] = T.max(M[vi], A[vi, vk])"
        )
        + block(
            "reduce", "N[vi] = T.float32(0)", "N[vi] = N[vi] + T.exp(A[vi, vk] - M[vi])"
        )
        + block("spatial", "", "B[vi, vk] = T.exp(A[vi, vk] - M[vi]) / N[vi]")
    )
    a = np.random.default_rng(seed).normal(size=(rows, columns)).astype(np.float32)
    e = np.exp(a - a.max(axis=1, keepdims=True))
    result = e / e.sum(axis=1, keepdims=True)
    arrays = a, np.zeros_like(a)
    return Unsynchronized(parse_module(script), arrays, (a, result), 1e-5)


def parse_module(script: str) -> ModuleOp:
    module = parse(script)
    assert isinstance(module, ModuleOp)
    return module


def exchanges(seed: int) -> Unsynchronized:
    """Threads that exchange elements of shared memory in loops and under conditions."""
    rng = random.Random(f"exchanges {seed}")
    kernel = random_sync_kernel(seed, rng.choice(("shared", "shared.dyn")))
    a = np.random.default_rng(seed).random(kernel.total).astype(np.float32)
    arrays = a, np.zeros_like(a)
    return Unsynchronized(parse_module(kernel.script), arrays, (a, kernel.expected(a)))


def copies(seed: int) -> Unsynchronized:
    """Threads that copy rows into shared memory some iterations ahead."""
    rng = random.Random(f"copies {seed}")
    dtype, lanes = rng.choice(
        (("float32", 1), ("float32", 4), ("float16", 2), ("float16", 8), ("int8", 16))
    )
    padded = rng.random() < 0.4
    iterations, threads = rng.choice((3, 4, 7, 10)), rng.choice((4, 8, 32))
    module = pipelined_copies(
        dtype,
        lanes,
        rng.choice((1, 2, 3)),
        padded=padded,
        order=rng.choice(((0, 1, 2), (0, 2, 1), (1, 2, 0))),
        iterations=iterations,
        threads=threads,
        scope=rng.choice(("shared", "shared.dyn")),
    )
    rows, width = iterations - 2 if padded else iterations, threads * lanes
    generator = np.random.default_rng(seed)
    a, b = (generator.integers(-50, 50, rows * width).astype(dtype) for _ in range(2))
    margin = np.zeros(width if padded else 0, dtype)
    total = np.concatenate((margin, a + b, margin))
    return Unsynchronized(module, (a, b, np.zeros_like(total)), (a, b, total))


def warps(seed: int) -> Unsynchronized:
    """Lanes that exchange elements of memory of their warp, with a barrier."""
    rng = random.Random(f"warps {seed}")
    exchange = Exchange.random(rng)
    while exchange.groups > 1 or not exchange.inside:
        # The simulator shares such memory among 32 threads until it is lowered.
        exchange = Exchange.random(rng)
    given = np.arange(exchange.size * exchange.groups, dtype=NUMPY[exchange.dtype])
    expected = exchange.expected(given)
    module = parse_ir(exchange.text())
    return Unsynchronized(module, (np.zeros_like(expected), given), (expected, given))

"""Passes and compiled code on loops that do not run, and on numbers at their limits.

Random programs have extents from 1 on and numbers that do not wrap around. These are
written by hand: extents of 0 and below, symbolic ones of 0 and 1, loops at both ends of
the range of their variable, and indices of 8 bits that wrap. The ordinary run takes every
eighth pass, with `XDSL_TVM_FUZZ` all take part.
"""

from __future__ import annotations

import importlib.util
import os
from copy import deepcopy
from functools import cache
from itertools import product as pairs_of
from typing import Any

import numpy as np
import pytest
from support.gpu_schedules import until_barriers
from support.rewriting_passes import rewriting_passes
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

import xdsl_tvm
from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.semantics import SemanticsChecker
from xdsl_tvm.passes.infra.pipeline_runner import parse_passes
from xdsl_tvm.passes.tir.gpu_schedule import GPUSchedule
from xdsl_tvm.registry import all_passes
from xdsl_tvm.tvmscript import parse

MANY = "XDSL_TVM_FUZZ" in os.environ
EVERY = 1 if MANY else 8

EMPTY = """
@T.prim_func
def f(a: T.handle, b: T.handle, c: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n, 4), "float32")
    C = T.match_buffer(c, (n, n), "float32")
    S = T.alloc_buffer((n,), "float32")
    for i in range(n):
        S[i] = A[i] * T.float32(2)
    for i in range(n - 1):
        for j in range(4):
            if T.likely(i < n - 2):
                B[i, j] = S[i + 1] + A[n - 1 - i]
            else:
                B[i, j] = S[n // 2]
    for i, j0, j1 in T.grid((n + 2) // 3, (n + 3) // 4, 4):
        with T.block("sum"):
            vi = T.axis.spatial(n, i)
            vj = T.axis.reduce(n, j0 * 4 + j1)
            T.where(j0 * 4 + j1 < n and i < n)
            with T.init():
                A[vi] = T.float32(0)
            A[vi] = A[vi] + C[vj, vi]
"""

BACKWARDS = """
@T.prim_func
def f(A: T.Buffer((16,), "int32"), n: T.int32, m: T.int32):
    for i in range(n, m):
        for j in range(n - m):
            A[j] = A[j] + i
        for j in T.unroll(0, 2):
            A[T.max(i, 0) + j] += 3
    for k in range(m - n):
        if k == 0:
            A[15] = 5
        A[14] += k
    for i in range(4):
        for j in range(3):
            if n > 2 and i == 0:
                A[13] += j
            if T.likely(i * 3 + j < m) and T.likely(i * 3 + j >= n):
                A[i * 3 + j] += 1
"""

LIMITS = """
@T.prim_func
def f(A: T.Buffer((64,), "int32"), n: T.{dtype}):
    for i in range(T.{dtype}({top} - 9), T.{dtype}({top} - 1)):
        if i == T.{dtype}({top} - 9):
            A[0] = 7
        A[T.Cast("int32", i - T.{dtype}({top} - 9))] += T.Cast("int32", i // T.{dtype}(3))
    for i in range(T.{dtype}(-{top}), T.{dtype}(-{top} + 6)):
        if T.likely(i < T.{dtype}(-{top} + 3)):
            A[T.Cast("int32", i + T.{dtype}({top} - 1)) + 21] += T.Cast(
                "int32", T.floormod(i, T.{dtype}(7))
            )
    for i in range(T.{dtype}({top} - 9), T.{dtype}({top} - 9) + n):
        A[T.Cast("int32", i - T.{dtype}({top} - 9)) + 32] += 1
"""

WRAPPED = """
@T.prim_func
def f(A: T.Buffer((256,), "int32"), B: T.Buffer((256,), "int32"), n: T.uint8):
    for i in range(T.uint8(200)):
        if i - T.uint8(3) < T.uint8(100):
            B[T.Cast("int32", i + T.uint8(100))] = A[T.Cast("int32", i - T.uint8(1))] + (
                T.Cast("int32", (i + T.uint8(100)) // T.uint8(2))
            )
        if T.likely(i * T.uint8(2) < T.uint8(44) + n):
            B[T.Cast("int32", i)] += 1
    for i in range(T.int8(100)):
        for j in range(T.int8(2)):
            A[T.Cast("int32", i * T.int8(2) + j) + 128] = T.Cast("int32", i + T.int8(99))
    for i in T.vectorized(T.uint8(16)):
        B[T.Cast("int32", i * T.uint8(17))] += T.Cast("int32", i * T.uint8(40))
"""

_NUMBERS = np.random.default_rng(0)


def _floats(*shape: int) -> np.ndarray[Any, Any]:
    return _NUMBERS.integers(-8, 9, shape).astype(np.float32)


def _integers(size: int) -> np.ndarray[Any, Any]:
    return _NUMBERS.integers(-9, 10, size).astype(np.int32)


PROGRAMS: dict[str, tuple[str, list[tuple[Any, ...]]]] = {
    "empty": (EMPTY, [(_floats(n), _floats(n, 4), _floats(n, n)) for n in (0, 1, 2, 5)]),
    "backwards": (
        BACKWARDS,
        [(_integers(16), n, m) for n, m in ((-3, 4), (4, -3), (0, 0), (5, 6))],
    ),
    "wrapped": (WRAPPED, [(_integers(256), _integers(256), n) for n in (0, 3, 255)]),
    **{
        f"limits of {dtype}": (
            LIMITS.format(dtype=dtype, top=top),
            [(_integers(64), n) for n in (0, 1, 8)],
        )
        for dtype, top in (("int8", 2**7), ("int32", 2**31), ("int64", 2**63))
    },
}


@cache
def checked(name: str) -> tuple[ModuleOp, SemanticsChecker]:
    """A program, and what it computes."""
    text, cases = PROGRAMS[name]
    module = parse(text)
    return module, SemanticsChecker(module, {"f": cases}, tolerance=0.0)


@pytest.mark.parametrize("name", PROGRAMS)
def test_passes(name: str) -> None:
    module, checker = checked(name)
    accepted = 0
    needs_options = {"tir-bind-target", "tir-narrow-data-type"}
    passes = [each for each in rewriting_passes() if each not in needs_options]
    passes += [f"tir-narrow-data-type{{target_bits={bits}}}" for bits in (8, 32)]
    for text in passes[list(PROGRAMS).index(name) % EVERY :: EVERY]:
        try:
            checker.fresh().check_passes(module, parse_passes(all_passes(), text))
        except PassFailedException:
            continue
        accepted += 1
    assert accepted > 3


@pytest.mark.skipif(importlib.util.find_spec("llvmlite") is None, reason="needs llvmlite")
@pytest.mark.parametrize("name", PROGRAMS)
def test_compiled_code(name: str) -> None:
    module, _ = checked(name)
    interpreted = xdsl_tvm.interpret(module)["f"]
    for optimize in (False, True) if MANY else (True,):
        compiled = xdsl_tvm.compile(module, optimize=optimize)["f"]
        for case in PROGRAMS[name][1]:
            expected, found = _copies(case), _copies(case)
            interpreted(*expected)
            compiled(*found)
            for old, new in zip(expected, found, strict=True):
                np.testing.assert_array_equal(new, old)


def _copies(case: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(map(deepcopy, case))


# ---- kernels of a GPU ----

KERNELS = """
@T.prim_func
def f(pA: T.handle, pB: T.handle, pC: T.handle, pR: T.handle, n: T.int32, m: T.int32,
      k: T.int32):
    A = T.match_buffer(pA, (40, 40), "float32")
    B = T.match_buffer(pB, (40, 40), "float32")
    C = T.match_buffer(pC, (40, 40), "float32")
    R = T.match_buffer(pR, (40,), "float32")
{body}
"""
BODIES = {
    "map": """
    for i, j in T.grid(n, m):
        with T.block("C"):
            vi = T.axis.spatial(n, i)
            vj = T.axis.spatial(m, j)
            C[vi, vj] = A[vi, vj] + B[vi, vj]
""",
    "transpose": """
    for i, j in T.grid(n, m):
        with T.block("C"):
            vi = T.axis.spatial(n, i)
            vj = T.axis.spatial(m, j)
            C[vj, vi] = A[vi, vj]
""",
    "sums of rows and a map": """
    for i, j in T.grid(n, m):
        with T.block("R"):
            vi = T.axis.spatial(n, i)
            vj = T.axis.reduce(m, j)
            with T.init():
                R[vi] = T.float32(0)
            R[vi] = R[vi] + A[vi, vj]
    for i, j in T.grid(n, m):
        with T.block("C"):
            vi = T.axis.spatial(n, i)
            vj = T.axis.spatial(m, j)
            C[vi, vj] = A[vi, vj] - R[vi]
""",
    "sums of columns": """
    for i, b, j in T.grid(n, k, m):
        with T.block("R"):
            vi = T.axis.spatial(n, i)
            vb = T.axis.reduce(k, b)
            vj = T.axis.reduce(m, j)
            with T.init():
                R[vi] = T.float32(0)
            R[vi] = R[vi] + A[vj, vi] * B[vb, vi]
""",
    "product": """
    for i, j, t in T.grid(n, m, k):
        with T.block("C"):
            vi = T.axis.spatial(n, i)
            vj = T.axis.spatial(m, j)
            vk = T.axis.reduce(k, t)
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
""",
}
SMALL = GPUSchedule("cuda", threads=16, warp_row=8, tile=8, tile_terms=4)
NEGATIVE = (
    list(pairs_of((-33, -1, 0, 5, 37), repeat=3))
    if MANY
    else [(-33, -40, 4), (4, -33, -40), (-33, 4, -40), (-1, -3, -2), (5, 9, 3)]
)


@pytest.mark.parametrize("name", BODIES)
def test_kernels(name: str) -> None:
    """Extents that may be negative are those of loops that do not run: no two of them are
    a number of threads."""
    module = parse(KERNELS.format(body=BODIES[name]))
    arrays = _floats(40, 40), _floats(40, 40), _floats(40, 40), _floats(40)
    cases = [(*arrays, *extents) for extents in NEGATIVE]
    scheduled = SMALL(deepcopy(module))
    assert any(
        isinstance(op, tir.ForOp) and op.thread_tag is not None for op in scheduled.walk()
    )
    checker = SemanticsChecker(module, {"f": cases}, tolerance=0.0)
    checker.check_passes(module, [until_barriers(SMALL)])

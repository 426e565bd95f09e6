"""Functions of arrays for the GPU schedule, run and compared with numpy."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product as pairs_of
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from support.gpu_schedules import MANY, kernel_passes
from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.semantics import check_semantics
from xdsl_tvm.interpreters.tir import interpret
from xdsl_tvm.passes.infra import Sequential
from xdsl_tvm.passes.tir.gpu_schedule import GPUSchedule
from xdsl_tvm.registry import new_context
from xdsl_tvm.tvmscript import parse

Array = np.ndarray[Any, Any]
SMALL = GPUSchedule("cuda", threads=64, warp_row=64, tile=16, tile_terms=4)


def script(parameters: Sequence[str], body: str) -> str:
    """A function of buffers named with their shape and dtype: `A 4xn float32`."""
    names = [each.split() for each in parameters]
    extents = [extent for _, shape, _ in names for extent in shape.split("x")]
    symbols = sorted({extent for extent in extents if extent.isalpha()})
    lines = [f"{symbol} = T.int32()" for symbol in symbols]
    for name, shape, dtype in names:
        dims = ", ".join(shape.split("x"))
        lines.append(f'{name} = T.match_buffer(p{name}, ({dims},), "{dtype}")')
    head = ", ".join(f"p{name}: T.handle" for name, _, _ in names)
    lines.insert(0, 'T.func_attr({"global_symbol": "main", "tir.noalias": True})')
    start = "\n    ".join(lines)
    return f"@T.prim_func\ndef main({head}):\n    {start}\n{body}"


def kernels(module: ModuleOp) -> int:
    """How many kernels a scheduled module has."""
    return sum(
        isinstance(op, tir.ForOp)
        and op.thread_tag is not None
        and op.thread_tag.data == "blockIdx.x"
        for op in module.walk()
    )


def scheduled(text: str, schedule: GPUSchedule = SMALL) -> ModuleOp:
    result = schedule(parse(text))
    result.verify()
    return result


def check(
    text: str,
    inputs: Sequence[Array],
    expected: Sequence[Array],
    tolerance: float,
    count: int = 1,
    schedule: GPUSchedule = SMALL,
) -> None:
    """Fail unless so many kernels compute what is expected, after all passes, too."""
    module = scheduled(text, schedule)
    assert kernels(module) == count
    first, others = kernel_passes(schedule)
    # The schedule, the first of them, has been applied.
    Sequential(first.passes[1:]).apply(new_context(), module)
    results = [np.zeros_like(array) for array in expected]
    interpret(module)["main"](*(array.copy() for array in inputs), *results)
    for found, wanted in zip(results, expected, strict=True):
        np.testing.assert_allclose(
            found.astype("f8"), wanted.astype("f8"), tolerance, tolerance
        )
    if not MANY:
        return
    arrays = [*inputs, *(np.zeros_like(array) for array in expected)]
    report = check_semantics(module, others, {"main": [arrays]}, tolerance=tolerance)
    assert report.checked


# ---- inputs ----

DTYPES = {"float32": 1e-5, "float16": 4e-3, "bfloat16": 4e-2, "int32": 0.0, "int8": 0.0}


def numpy_type(dtype: str) -> np.dtype[Any]:
    if dtype == "bfloat16":
        return np.dtype(pytest.importorskip("ml_dtypes").bfloat16)
    return np.dtype(dtype)


def numbers(dtype: str, *shape: int) -> Array:
    rng = np.random.default_rng(sum(shape))
    if "int" in dtype:
        return rng.integers(-4, 5, shape).astype(dtype)
    return rng.uniform(-1, 1, shape).astype(numpy_type(dtype))


def shape_of(rows: object, columns: object) -> str:
    return f"{rows}x{columns}"


SIZES = {"full": (8, 64), "ragged": (5, 37), "short": (3, 3), "symbolic": (6, 70)}


def named(size: str) -> tuple[object, object, int, int]:
    """What a script calls two extents, and what they are."""
    rows, columns = SIZES[size]
    if size == "symbolic":
        return "m", "n", rows, columns
    return rows, columns, rows, columns


def cases() -> Sequence[tuple[str, str]]:
    """Some dtypes and sizes; in a long run, all."""
    if MANY:
        return list(pairs_of(DTYPES, SIZES))
    return [
        ("float32", "full"),
        ("float32", "symbolic"),
        ("float16", "short"),
        ("bfloat16", "ragged"),
        ("int8", "ragged"),
    ]

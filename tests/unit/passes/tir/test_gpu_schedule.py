"""Kernels of the GPU schedule compute what numpy does, without races, by few threads."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import product as pairs_of
from typing import Any

import numpy as np
import pytest
from support.gpu_schedules import MANY, kernel_passes, until_barriers
from support.ir import parse as parse_ir
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.relax import interpret as interpret_relax
from xdsl_tvm.interpreters.semantics import check_semantics
from xdsl_tvm.interpreters.tir import interpret
from xdsl_tvm.lowering.pipelines import gpu_pipeline, run_pipeline
from xdsl_tvm.passes.infra import PassContext, Sequential
from xdsl_tvm.passes.tir.default_gpu_schedule import DefaultGPUSchedule
from xdsl_tvm.passes.tir.gpu_schedule import GPUSchedule
from xdsl_tvm.passes.tir.verify_thread_sync import VerifyThreadSync
from xdsl_tvm.registry import new_context
from xdsl_tvm.tvmscript import parse, print_script

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


# ---- maps ----


@pytest.mark.parametrize(("dtype", "size"), cases())
def test_map(dtype: str, size: str) -> None:
    m, n, rows, columns = named(size)
    text = script(
        [f"A {m}x{n} {dtype}", f"B {n} {dtype}", f"C {m}x{n} {dtype}"],
        f"""
    for i, j in T.grid({m}, {n}):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] + B[vj]
""",
    )
    a, b = numbers(dtype, rows, columns), numbers(dtype, columns)
    check(text, [a, b], [a + b], DTYPES[dtype])


@pytest.mark.parametrize(("dtype", "size"), cases())
def test_map_in_the_order_of_memory(dtype: str, size: str) -> None:
    m, n, rows, columns = named(size)
    text = script(
        [f"A {m}x{n} {dtype}", f"C {m}x{n} {dtype}"],
        f"""
    for i, j in T.grid({m}, {n}):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] + A[vi, vj]
""",
    )
    a = numbers(dtype, rows, columns)
    check(text, [a], [a + a], DTYPES[dtype])


def test_accesses_of_a_map_are_as_wide_as_possible() -> None:
    for dtype, lanes in (("float32", 4), ("float16", 8), ("int8", 16)):
        text = script(
            [f"A 4x64 {dtype}", f"B 64 {dtype}", f"C 4x64 {dtype}"],
            """
    for i, j in T.grid(4, 64):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] + B[vj]
""",
        )
        loops = [
            tir.constant_value(op.extent)
            for op in scheduled(text).walk()
            if isinstance(op, tir.ForOp) and op.kind.data is tir.ForKind.VECTORIZED
        ]
        assert loops == [lanes]


def test_what_is_left_over_is_after_whole_blocks() -> None:
    """64 threads have 4 elements each, and the first of another block one more."""
    text = script(
        ["A 257 float32", "C 257 float32"],
        """
    for i in range(257):
        with T.block("C"):
            vi = T.axis.spatial(257, i)
            C[vi] = A[vi] + A[vi]
""",
    )
    a = numbers("float32", 257)
    check(text, [a], [a + a], 0.0)


# ---- rows ----


def softmax(m: object, n: object, dtype: str, *, kept: bool = False) -> str:
    """With `kept`, results of rows have a second dimension, of one element."""
    shape, of_row = (f"({m}, 1)", "[vi, 0]") if kept else (f"({m},)", "[vi]")
    loop, row, kinds = f"i, k in T.grid({m}, {n})", "[vi]", ("vi, vk", "SR", "i, k")
    if kept:
        loop, row = f"i, z, k in T.grid({m}, 1, {n})", "[vi, vz]"
        kinds = "vi, vz, vk", "SSR", "i, z, k"
    reduced = f'{kinds[0]} = T.axis.remap("{kinds[1]}", [{kinds[2]}])'
    return script(
        [f"A {m}x{n} {dtype}", f"C {m}x{n} {dtype}"],
        f"""
    high = T.alloc_buffer({shape}, "{dtype}")
    e = T.alloc_buffer(({m}, {n}), "{dtype}")
    total = T.alloc_buffer({shape}, "{dtype}")
    for {loop}:
        with T.block("high"):
            {reduced}
            with T.init():
                high{row} = T.min_value("{dtype}")
            high{row} = T.max(high{row}, A[vi, vk])
    for i, k in T.grid({m}, {n}):
        with T.block("e"):
            vi, vk = T.axis.remap("SS", [i, k])
            e[vi, vk] = T.exp(A[vi, vk] - high{of_row})
    for {loop}:
        with T.block("total"):
            {reduced}
            with T.init():
                total{row} = T.Cast("{dtype}", 0)
            total{row} = total{row} + e[vi, vk]
    for i, k in T.grid({m}, {n}):
        with T.block("C"):
            vi, vk = T.axis.remap("SS", [i, k])
            C[vi, vk] = e[vi, vk] / total{of_row}
""",
    )


@pytest.mark.parametrize(
    ("dtype", "size"), [each for each in cases() if "int" not in each[0]]
)
def test_softmax_is_one_kernel(dtype: str, size: str) -> None:
    m, n, rows, columns = named(size)
    a = numbers(dtype, rows, columns)
    e = np.exp(a.astype("f8"))
    result = (e / e.sum(axis=1, keepdims=True)).astype(a.dtype)
    check(softmax(m, n, dtype), [a], [result], DTYPES[dtype])


def test_dimensions_of_one_element_are_no_rows() -> None:
    """Reductions that keep the dimension, as Relax has them, share rows with maps."""
    a = numbers("float32", 5, 24)
    e = np.exp(a.astype("f8"))
    result = (e / e.sum(axis=1, keepdims=True)).astype("f4")
    text = softmax(5, 24, "float32", kept=True)
    check(text, [a], [result], DTYPES["float32"])


def test_elements_of_rows_stay_with_their_threads() -> None:
    found = [
        op.type.shape.data[0].data
        for op in scheduled(softmax(4, 300, "float32")).walk()
        if isinstance(op, tir.AllocBufferOp) and op.type.scope.data == "local"
        if op.buffer.name_hint == "e"
    ]
    assert found == [8]


def test_elements_of_long_rows_are_computed_again() -> None:
    """They are in no memory; those that need what is overwritten are."""
    few = GPUSchedule("cuda", threads=64, row_in_registers=299)
    text = softmax(4, 300, "float32")
    made = str(scheduled(text, few))
    assert ('"e"' in made, "4x300xf32>" in made.partition("tir.for")[2]) == (True, False)
    assert made.count('"exp"') == 2
    a = numbers("float32", 4, 300)
    e = np.exp(a.astype("f8"))
    exact = (e / e.sum(axis=1, keepdims=True)).astype("f4")
    check(text, [a], [exact], DTYPES["float32"], 1, few)
    text = text.replace("C[vi, vk] = e", "A[vi, vk] = 0.0\n            C[vi, vk] = e")
    assert '"e" : !tir.buffer<4x300xf32>' in str(scheduled(text, few))


@pytest.mark.parametrize(
    ("columns", "in_registers"), [(300, 299), *([(300, 8192), ("n", 8192)] * MANY)]
)
def test_results_that_nests_hand_on_are_stored_once(
    columns: int | str, in_registers: int
) -> None:
    """The exponentials are in the place of the results, as Relax has them."""
    schedule = GPUSchedule("cuda", threads=64, row_in_registers=in_registers)
    text = softmax(4, columns, "float32").replace("e[vi", "C[vi")
    text = "\n".join(line for line in text.splitlines() if "    e = T" not in line)
    assert text.count("C[vi, vk] =") == 2
    made = scheduled(text, schedule)
    stores = [op for op in made.walk() if isinstance(op, tir.StoreOp)]
    kept = [isinstance(op.buffer.owner, tir.MatchBufferOp) for op in stores]
    assert sum(kept) == 1
    a = numbers("float32", 4, 300)
    e = np.exp(a.astype("f8"))
    exact = (e / e.sum(axis=1, keepdims=True)).astype("f4")
    check(text, [a], [exact], DTYPES["float32"], 1, schedule)
    # What was there before is not lost where the first nest needs it.
    text = text.replace("C[vi, vk] = T.exp(", "C[vi, vk] = T.exp(C[vi, vk] + ")
    made = scheduled(text, schedule)
    stores = [op for op in made.walk() if isinstance(op, tir.StoreOp)]
    assert sum(isinstance(op.buffer.owner, tir.MatchBufferOp) for op in stores) == 2


def layer_norm(m: object, n: object) -> str:
    f = "float32"
    return script(
        [f"A {m}x{n} {f}", f"G {n} {f}", f"C {m}x{n} {f}", f"mean {m} {f}"],
        f"""
    total = T.alloc_buffer(({m},))
    square = T.alloc_buffer(({m},))
    for i, k in T.grid({m}, {n}):
        with T.block("total"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                total[vi] = T.float32(0)
            total[vi] = total[vi] + A[vi, vk]
    for i in range({m}):
        with T.block("mean"):
            vi = T.axis.spatial({m}, i)
            mean[vi] = total[vi] / T.Cast("float32", {n})
    for i, k in T.grid({m}, {n}):
        with T.block("square"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                square[vi] = T.float32(0)
            square[vi] = square[vi] + (A[vi, vk] - mean[vi]) * (A[vi, vk] - mean[vi])
    for i, k in T.grid({m}, {n}):
        with T.block("C"):
            vi, vk = T.axis.remap("SS", [i, k])
            C[vi, vk] = (A[vi, vk] - mean[vi]) * G[vk] / T.sqrt(square[vi] + T.float32(1))
""",
    )


@pytest.mark.parametrize("size", SIZES if MANY else ["ragged", "symbolic"])
def test_layer_norm_is_one_kernel(size: str) -> None:
    m, n, rows, columns = named(size)
    a, g = numbers("float32", rows, columns), numbers("float32", columns)
    mean = a.mean(axis=1)
    off = a - mean[:, None]
    result = off * g / np.sqrt((off**2).sum(axis=1, keepdims=True) + 1)
    check(layer_norm(m, n), [a, g], [result, mean], 1e-4)


def reduction(indices: str, m: object, n: object, dtype: str, init: bool) -> str:
    """The sum over rows, or over columns."""
    result = n if indices == "vk, vi" else m
    terms = m if indices == "vk, vi" else n
    start = f"""
            with T.init():
                C[vi] = T.Cast("{dtype}", 0)"""
    return script(
        [f"A {m}x{n} {dtype}", f"C {result} {dtype}"],
        f"""
    for i, k in T.grid({result}, {terms}):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k]){start if init else ""}
            C[vi] = C[vi] + A[{indices}]
""",
    )


@pytest.mark.parametrize(("dtype", "size"), cases())
@pytest.mark.parametrize("axis", [0, 1])
def test_sum(axis: int, dtype: str, size: str) -> None:
    m, n, rows, columns = named(size)
    a = numbers(dtype, rows, columns)
    wide = a.astype("f8" if "float" in dtype else "i8")
    text = reduction("vi, vk" if axis else "vk, vi", m, n, dtype, axis == 0)
    check(text, [a], [wide.sum(axis=axis).astype(a.dtype)], DTYPES[dtype])


# ---- transposes ----


TRANSPOSES = [("float32", "full"), ("float32", "symbolic"), ("int8", "ragged")]


@pytest.mark.parametrize(("dtype", "size"), cases() if MANY else TRANSPOSES)
def test_transpose(dtype: str, size: str) -> None:
    m, n, rows, columns = named(size)
    text = script(
        [f"A {m}x{n} {dtype}", f"C {n}x{m} {dtype}"],
        f"""
    for i, j in T.grid({n}, {m}):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vj, vi]
""",
    )
    a = numbers(dtype, rows, columns)
    check(text, [a], [a.T.copy()], 0.0)
    # Squares of 16 bytes a side fit 8 by 64 elements, but not those of 8 bits.
    by_squares = size == "full" and dtype != "int8"
    assert ('"shared"' in str(scheduled(text))) is not by_squares


@pytest.mark.parametrize(
    ("dtype", "shape"),
    [
        ("float16", (2, 24, 40)),
        *([("float32", (3, 12, 20)), ("int8", (1, 48, 80))] * MANY),
    ],
)
def test_transposes_by_squares(dtype: str, shape: Sequence[int]) -> None:
    """Neither 3 nor 5 squares are a multiple of the threads of a block."""
    outer, rows, columns = shape
    text = script(
        [f"A {outer}x{rows}x{columns} {dtype}", f"C {columns}x{outer}x{rows} {dtype}"],
        f"""
    for i, j, k in T.grid({columns}, {outer}, {rows}):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSS", [i, j, k])
            C[vi, vj, vk] = A[vj, vk, vi]
""",
    )
    a = numbers(dtype, *shape)
    check(text, [a], [a.transpose(2, 0, 1).copy()], 0.0)
    assert '"shared"' not in str(scheduled(text))


_SIZES = {"m": 19, "n": 35}


def moved_at_once(module: ModuleOp) -> set[int]:
    """How many elements vectors of loads and of stores to memory have."""
    loops = [op for op in module.walk() if isinstance(op, tir.ForOp)]
    return {
        int(tir.constant_value(op.extent) or 0)
        for op in loops
        if op.kind.data == tir.ForKind.VECTORIZED
    }


@pytest.mark.parametrize(
    ("dtype", "shape", "widths"),
    [
        ("float16", ("m", 24), {8}),
        ("float32", (21, 28), {4}),
        *(
            [
                ("float32", (36, "n"), {4}),
                ("float16", (34, 44), {2, 4}),
                ("int8", (37, 48), {16}),
                ("float16", ("m", "n"), set[int]()),
            ]
            * MANY
        ),
    ],
)
def test_ragged_transposes(
    dtype: str, shape: Sequence[int | str], widths: set[int]
) -> None:
    """Each side goes by the widest piece that divides its extent."""
    m, n = shape
    text = script(
        [f"A {m}x{n} {dtype}", f"C {n}x{m} {dtype}"],
        f"""
    for i, j in T.grid({n}, {m}):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vj, vi]
""",
    )
    a = numbers(dtype, *(_SIZES.get(str(each)) or int(each) for each in shape))
    check(text, [a], [a.T.copy()], 0.0)
    module = scheduled(text)
    assert moved_at_once(module) == widths
    module = parse(text)
    until_barriers(SMALL).apply(new_context(), module)
    VerifyThreadSync()(module)


def test_squares_of_two_symbolic_axes() -> None:
    """Tiles have axes of blocks of their own here, too: blocks are proved to be apart."""
    text = script(
        ["A nx12xkx40 float32", "C nx40xkx12 float32"],
        """
    for i, j, h, l in T.grid(n, 40, k, 12):
        with T.block("C"):
            vi, vj, vk, vl = T.axis.remap("SSSS", [i, j, h, l])
            C[vi, vj, vk, vl] = A[vi, vl, vk, vj]
""",
    )
    module = parse(text)
    until_barriers(SMALL).apply(new_context(), module)
    VerifyThreadSync()(module)
    a = numbers("float32", 2, 12, 3, 40)
    check(text, [a], [a.transpose(0, 3, 2, 1).copy()], 0.0)
    assert '"shared"' not in str(scheduled(text))


@pytest.mark.parametrize(
    "axes",
    ["3210", *(["021", "210", "120", "201", "1032", "0321", "3012"] if MANY else [])],
)
def test_transposes_of_symbolic_extents(axes: str) -> None:
    """Tiles have axes of blocks of their own; threads are proved to be apart."""
    count = len(axes)
    names = ["abcd"[int(axis)] for axis in axes]
    loops, values = "ijkl"[:count], [f"v{name}" for name in "ijkl"[:count]]
    at = ", ".join(values[axes.index(axis)] for axis in "0123"[:count])
    text = script(
        [f"A {'x'.join('abcd'[:count])} float32", f"C {'x'.join(names)} float32"],
        f"""
    for {", ".join(loops)} in T.grid({", ".join(names)}):
        with T.block("C"):
            {", ".join(values)} = T.axis.remap("{"S" * count}", [{", ".join(loops)}])
            C[{", ".join(values)}] = A[{at}]
""",
    )
    shape = (2, 3, 37) if count == 3 else (2, 3, 2, 37 if MANY else 18)
    a = numbers("float32", *shape)
    check(text, [a], [a.transpose([int(axis) for axis in axes]).copy()], 0.0)
    assert "blockIdx.z" in str(scheduled(text))
    module = parse(text)
    until_barriers(SMALL).apply(new_context(), module)
    VerifyThreadSync()(module)


@pytest.mark.parametrize("channels", [32, *([33, 40] * MANY)])
def test_blocks_of_small_images_are_apart(channels: int) -> None:
    """That a thread is outside of an image is said of a remainder of its number."""
    text = script(
        [f"A nx4x4x{channels} float16", f"C nx{channels}x4x4 float16"],
        f"""
    for i, j, h, l in T.grid(n, {channels}, 4, 4):
        with T.block("C"):
            vi, vj, vk, vl = T.axis.remap("SSSS", [i, j, h, l])
            C[vi, vj, vk, vl] = A[vi, vk, vl, vj]
""",
    )
    module = parse(text)
    until_barriers(SMALL).apply(new_context(), module)
    VerifyThreadSync()(module)


# ---- products ----


def product(
    m: object, n: object, k: object, dtype: str, *, turned: bool, after: bool
) -> str:
    """A product, of B as [N, K] where it is turned, and a map on it."""
    acc = "int32" if dtype == "int8" else dtype
    b, at = (f"{n}x{k}", "vj, vk") if turned else (f"{k}x{n}", "vk, vj")
    text = script(
        [f"A {m}x{k} {dtype}", f"B {b} {dtype}", f"D {n} {acc}", f"C {m}x{n} {acc}"],
        f"""
    for i, j, t in T.grid({m}, {n}, {k}):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, t])
            with T.init():
                C[vi, vj] = T.Cast("{acc}", 0)
            C[vi, vj] = C[vi, vj] + T.Cast("{acc}", A[vi, vk]) * T.Cast("{acc}", B[{at}])
""",
    )
    if not after:
        return text
    return (
        text
        + f"""
    for i, j in T.grid({m}, {n}):
        with T.block("E"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.max(C[vi, vj] + D[vj], T.Cast("{acc}", 0))
"""
    )


PRODUCTS = (
    ("float32", (17, 9, 5), True),
    ("float32", ("m", "n", "k"), False),
    ("int8", (17, 20, 9), False),
)
MORE_PRODUCTS = (
    ("float32", (16, 32, 8), False),
    *pairs_of(DTYPES, ((17, 20, 9), (40, 9, 4), (1, 20, 40)), (False, True)),
    ("float32", ("m", "n", "k"), True),
)


@pytest.mark.parametrize(
    ("dtype", "sizes", "turned"), [*PRODUCTS, *(MORE_PRODUCTS if MANY else ())]
)
def test_product(dtype: str, sizes: tuple[Any, Any, Any], turned: bool) -> None:
    m, n, k = (18, 11, 7) if "m" in sizes else sizes
    a, b = numbers(dtype, m, k), numbers(dtype, *((n, k) if turned else (k, n)))
    acc = "int32" if dtype == "int8" else dtype
    d = numbers(acc, n)
    exact = a.astype("f8") @ (b.T if turned else b).astype("f8") + d.astype("f8")
    result = np.maximum(exact, 0).astype(numpy_type(acc))
    is_tile = min(m, n) > 8
    # Without terms, a map works on what was there.
    is_fused = "m" not in sizes
    text = product(*sizes, dtype, turned=turned, after=True)
    check(text, [a, b, d], [result], 2 * DTYPES[dtype], 1 if is_fused else 2)
    assert ("a_tile" in str(scheduled(text))) == is_tile


@pytest.mark.parametrize("by_terms", [True, False])
def test_few_rows_and_a_matrix(by_terms: bool) -> None:
    """The matrix is accessed as it is in memory, by several elements at once."""
    f = "float32"
    shape, at = ("70x24", "vk, vj") if by_terms else ("24x70", "vj, vk")
    text = script(
        [f"A 2x70 {f}", f"B {shape} {f}", f"C 2x24 {f}"],
        f"""
    for i, j, t in T.grid(2, 24, 70):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, t])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[{at}]
""",
    )
    a, b = numbers(f, 2, 70), numbers(f, *map(int, shape.split("x")))
    check(text, [a, b], [a @ (b if by_terms else b.T)], 1e-4)
    vectors = [
        tir.constant_value(op.extent)
        for op in scheduled(text).walk()
        if isinstance(op, tir.ForOp) and op.kind.data is tir.ForKind.VECTORIZED
    ]
    # The matrix, then a vector; by terms, the sums for shared memory as well.
    assert vectors == ([4, 4, 4] if by_terms else [2, 2])


SKINNY = replace(SMALL, splits=2)
SKINNY_PRODUCTS = (
    ("float32", (1, 12, 128), True, SKINNY, 2),
    ("float32", (1, 16, 128), False, SKINNY, 2),
    ("float16", (5, 21, 72), True, GPUSchedule("cuda", threads=64), 1),
    ("bfloat16", (3, 24, 50), False, SMALL, 1),
    ("float32", (3, 20, "k"), True, SMALL, 2),
    ("float32", (3, "n", 20), False, SMALL, 1),
)
MORE_SKINNY = tuple(
    (dtype, (m, n, k), turned, schedule, 1 + (schedule is SKINNY and k % 64 == 0))
    for dtype in DTYPES
    for m, n, k in ((1, 40, 64), (2, 21, 200), (8, 30, 33), (7, 72, 48))
    for turned in (False, True)
    for schedule in (SMALL, SKINNY, GPUSchedule("cuda -arch=sm_80", threads=128))
)


@pytest.mark.parametrize(
    ("dtype", "sizes", "turned", "schedule", "count"),
    [*SKINNY_PRODUCTS, *(MORE_SKINNY if MANY else ())],
)
def test_skinny_products(
    dtype: str,
    sizes: tuple[Any, Any, Any],
    turned: bool,
    schedule: GPUSchedule,
    count: int,
) -> None:
    """All vectors read the matrix together; split terms are added by a second kernel."""
    m, n, k = (given if isinstance(given, int) else 37 for given in sizes)
    a, b = numbers(dtype, m, k), numbers(dtype, *((n, k) if turned else (k, n)))
    acc = "int32" if dtype == "int8" else dtype
    d = numbers(acc, n)
    exact = a.astype("f8") @ (b.T if turned else b).astype("f8") + d.astype("f8")
    result = np.maximum(exact, 0).astype(numpy_type(acc))
    text = product(*sizes, dtype, turned=turned, after=True)
    made = scheduled(text, schedule)
    if schedule is SKINNY:
        count = kernels(made)
        assert ("C_partial" in str(made)) == (count == 2)
    check(text, [a, b, d], [result], 2 * DTYPES[dtype], count, schedule)


def test_a_matrix_with_vectors_is_split_if_it_is_large() -> None:
    """3072 x 768 of f32 have 48 blocks of 256 threads; a smaller one is not split."""
    partial: list[bool] = []
    for columns in (3072, 768):
        text = product(1, 768, columns, "float32", turned=False, after=False)
        partial.append("C_partial" in str(scheduled(text, GPUSchedule("cuda"))))
    assert partial == [True, False]


@pytest.mark.parametrize("dtype", ["float32", "float16"] if MANY else ["float16"])
def test_products_with_few_tiles_are_split(dtype: str) -> None:
    """The sums of three blocks; a map is done on their sum."""
    stages = 2 if dtype == "float16" else 1
    schedule = replace(UNITS if stages == 2 else SMALL, splits=3, stages=stages)
    text = product(16, 20, 192, dtype, turned=True, after=True)
    a, b, d = numbers(dtype, 16, 192), numbers(dtype, 20, 192), numbers(dtype, 20)
    exact = a.astype("f8") @ b.T.astype("f8") + d.astype("f8")
    result = np.maximum(exact, 0).astype(dtype)
    check(text, [a, b, d], [result], 2 * DTYPES[dtype], 2, schedule)


def test_symbolic_reductions_of_columns() -> None:
    """No index of a block is a quotient by a symbol, which would not be proved."""
    text = script(
        ["A nx4x16 float32", "C nx16 float32"],
        """
    for b, c, k in T.grid(n, 16, 4):
        with T.block("C"):
            vb, vc, vk = T.axis.remap("SSR", [b, c, k])
            with T.init():
                C[vb, vc] = T.float32(0)
            C[vb, vc] = T.max(C[vb, vc], A[vb, vk, vc])
""",
    )
    schedule = replace(SMALL, threads=4, vector_bytes=8)
    a = np.abs(numbers("float32", 3, 4, 16))
    check(text, [a], [a.max(axis=1)], 0.0, 1, schedule)
    assert "// n" not in print_script(scheduled(text, schedule))


PADDED = """
    P = T.alloc_buffer((4, 7, 8))
    for c, y, x in T.grid(4, 7, 8):
        with T.block("P"):
            vc, vy, vx = T.axis.remap("SSS", [c, y, x])
            P[vc, vy, vx] = T.if_then_else(
                1 <= vy and vy < 6 and 1 <= vx and vx < 7, A[vc, vy - 1, vx - 1], 0.0)
    for o, y, x, c, h, w in T.grid(9, 5, 6, 4, 3, 3):
        with T.block("C"):
            vo, vy, vx, vc, vh, vw = T.axis.remap("SSSRRR", [o, y, x, c, h, w])
            with T.init():
                C[vo, vy, vx] = 0.0
            C[vo, vy, vx] = C[vo, vy, vx] + P[vc, vy + vh, vx + vw] * B[vo, vc, vh, vw]
"""
READ_AGAIN = """
    for c, y, x in T.grid(4, 7, 8):
        with T.block("D"):
            vc, vy, vx = T.axis.remap("SSS", [c, y, x])
            D[vc, vy, vx] = P[vc, vy, vx]
"""


@pytest.mark.parametrize("stages", [1, 3] if MANY else [3])
def test_padding_of_images(stages: int) -> None:
    """The copies of windows write the zeros, where nobody else reads the padded image."""
    buffers = ["A 4x5x6 float32", "B 9x4x3x3 float32", "C 9x5x6 float32"]
    text = script(buffers, PADDED)
    a, b = numbers("float32", 4, 5, 6), numbers("float32", 9, 4, 3, 3)
    padded = np.pad(a, ((0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(1, 2))
    schedule = replace(SMALL, stages=stages)
    expected = np.einsum("cyxhw,ochw->oyx", windows, b)
    check(text, [a, b], [expected], 1e-5, 1, schedule)
    assert '"P"' not in str(scheduled(text, schedule))
    text = script([*buffers, "D 4x7x8 float32"], PADDED + READ_AGAIN)
    assert '"P"' in str(scheduled(text, schedule))


IMAGE = (2, 7, 12)
"""Channels, rows and columns."""


def windows(dtype: str, *, last: bool, kind: str) -> str:
    """Windows of 3 by 3 of a padded image, with channels first or last, and a map."""
    (c, h, w), zero = IMAGE, f"T.{dtype}(0)"

    def places(y: str, x: str) -> str:
        return f"{y}, {x}, vc" if last else f"vc, {y}, {x}"

    def shape(rows: int, columns: int) -> str:
        return f"{rows}x{columns}x{c}" if last else f"{c}x{rows}x{columns}"

    padded = shape(h + 2, w + 2).replace("x", ", ")
    text = script(
        [
            f"A {shape(h, w)} {dtype}",
            f"B {shape(3, 3)} {dtype}",
            f"D {c} {dtype}",
            f"C {shape(h, w)} {dtype}",
        ],
        f"""
    P = T.alloc_buffer(({padded}), "{dtype}")
    for c, y, x in T.grid({c}, {h + 2}, {w + 2}):
        with T.block("P"):
            vc, vy, vx = T.axis.remap("SSS", [c, y, x])
            P[{places("vy", "vx")}] = T.if_then_else(
                1 <= vy and vy < {h + 1} and 1 <= vx and vx < {w + 1},
                A[{places("vy - 1", "vx - 1")}], {zero})
    for c, y, x, p, q in T.grid({c}, {h}, {w}, 3, 3):
        with T.block("C"):
            vc, vy, vx, vp, vq = T.axis.remap("SSSRR", [c, y, x, p, q])
            with T.init():
                C[{places("vy", "vx")}] = {zero}
            C[{places("vy", "vx")}] = C[{places("vy", "vx")}] + (
                P[{places("vy + vp", "vx + vq")}] * B[{places("vp", "vq")}])
    for c, y, x in T.grid({c}, {h}, {w}):
        with T.block("E"):
            vc, vy, vx = T.axis.remap("SSS", [c, y, x])
            C[{places("vy", "vx")}] = T.max(C[{places("vy", "vx")}] + D[vc], {zero})
""",
    )
    if last:
        text = text.replace("for c, y, x in", "for y, x, c in")
        text = text.replace("for c, y, x, p, q in", "for y, x, c, p, q in")
        text = text.replace(
            f"T.grid({c}, {h + 2}, {w + 2})", f"T.grid({h + 2}, {w + 2}, {c})"
        )
        text = text.replace(f"T.grid({c}, {h}, {w}", f"T.grid({h}, {w}, {c}")
        text = text.replace("vc, vy, vx = T", "vy, vx, vc = T")
        text = text.replace("vc, vy, vx, vp, vq = T", "vy, vx, vc, vp, vq = T")
        text = text.replace("[c, y, x", "[y, x, c")
    if kind == "greatest":
        text = text[: text.rindex("    for c, y, x in")]
        text = text.replace(f"), {zero})", f"), T.{dtype}(-9))").replace(
            f"], {zero})", f"], T.{dtype}(-9))"
        )
        text = text.replace(f"] = {zero}", f"] = T.{dtype}(-5)")
        text = text.replace("C[vc, vy, vx] + (", "T.max(C[vc, vy, vx], ")
        text = text.replace(" * B[vc, vp, vq]", "")
    return text


@pytest.mark.parametrize(
    ("dtype", "last", "kind"),
    [
        ("float32", False, "depthwise"),
        ("float32", False, "greatest"),
        *(
            [
                ("float32", True, "depthwise"),
                ("float16", True, "depthwise"),
                ("float16", False, "depthwise"),
                ("float16", False, "greatest"),
            ]
            if MANY
            else []
        ),
    ],
)
def test_windows(dtype: str, last: bool, kind: str) -> None:
    """A thread has all terms of a result, with a number around the image: one kernel."""
    a, b, d = numbers(dtype, *IMAGE), numbers(dtype, IMAGE[0], 3, 3), numbers(dtype, 2)
    if kind == "greatest":
        a = (a - 7).astype(dtype)
    fill = -9 if kind == "greatest" else 0
    padded = np.pad(a.astype("f8"), ((0, 0), (1, 1), (1, 1)), constant_values=fill)
    found = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(1, 2))
    if kind == "greatest":
        exact = np.maximum(found.max(axis=(3, 4)), -5)
    else:
        sums = np.einsum("cyxhw,chw->cyx", found, b.astype("f8"))
        exact = np.maximum(sums + d.astype("f8")[:, None, None], 0)
    arrays = [a, b, d, exact.astype(dtype)]
    if last:
        arrays = [np.moveaxis(x, 0, -1).copy() if x.ndim == 3 else x for x in arrays]
    text = windows(dtype, last=last, kind=kind)
    check(text, arrays[:3], arrays[3:], 4 * DTYPES[dtype])
    made = str(scheduled(text))
    assert "thread_allreduce" not in made
    assert '"P"' not in made


POOLS = (
    ("max_pool2d", "float32", "NCHW", "(1, 3, 6, 7)", 1),
    ("avg_pool2d", "float16", "NHWC", "(2, 6, 7, 8)", 1),
)
MORE_POOLS = (
    ("avg_pool2d", "float16", "NCHW", "(1, 3, 6, 7)", 0),
    ("avg_pool2d", "float32", "NHWC", "(1, 6, 7, 4)", 1),
    ("max_pool2d", "float16", "NHWC", "(2, 6, 7, 8)", 1),
    ("max_pool2d", "int8", "NCHW", "(1, 3, 6, 7)", 1),
)


@pytest.mark.parametrize(
    ("op", "dtype", "layout", "shape", "padding"),
    [*POOLS, *(MORE_POOLS if MANY else ())],
)
def test_pooling(
    op: str,
    dtype: str,
    layout: str,
    shape: str,
    padding: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One kernel, without shuffles, also of images by themselves and of narrow sums."""
    monkeypatch.setattr("xdsl_tvm.passes.tir._gpu_schedule.windows._LEAST_RESULTS", 0)
    call = f"R.nn.{op}(x, (3, 3), (2, 2), ({padding}, {padding}), layout='{layout}')"
    text = f"""
@R.function
def main(x: R.Tensor({shape}, "{dtype}")):
    with R.dataflow():
        y = {call}
        R.output(y)
    return y
"""
    module = parse(text)
    x = numbers(dtype, *ast.literal_eval(shape)) - np.asarray(3, dtype)
    expected = interpret_relax(module)["main"](x)
    road = gpu_pipeline("cuda -arch=sm_90", relax=True)
    run_pipeline(new_context(), module, road.partition(",tir-join-launches")[0])
    assert kernels(module) == 1
    assert "thread_allreduce" not in str(module)
    found = interpret_relax(module)["main"](x)
    np.testing.assert_allclose(found, expected, 2e-3, 1e-3)


def test_convolution() -> None:
    f = "float32"
    text = script(
        [f"A 2x9x10x3 {f}", f"B 3x3x3x9 {f}", f"C 2x7x8x9 {f}"],
        """
    for b, y, x, o, p, q, c in T.grid(2, 7, 8, 9, 3, 3, 3):
        with T.block("C"):
            vb, vy, vx, vo, vp, vq, vc = T.axis.remap("SSSSRRR", [b, y, x, o, p, q, c])
            with T.init():
                C[vb, vy, vx, vo] = T.float32(0)
            C[vb, vy, vx, vo] = (
                C[vb, vy, vx, vo] + A[vb, vy + vp, vx + vq, vc] * B[vp, vq, vc, vo]
            )
""",
    )
    a, b = numbers(f, 2, 9, 10, 3), numbers(f, 3, 3, 3, 9)
    windows = np.lib.stride_tricks.sliding_window_view(a, (3, 3), axis=(1, 2))
    check(text, [a, b], [np.einsum("byxchw,hwco->byxo", windows, b)], 1e-5)


# ---- products on tensor cores ----

UNITS = GPUSchedule("cuda -arch=sm_80", tensor_core_tile=32)
WITH_TF32 = replace(UNITS, allow_tf32=True)
ON_UNITS = (
    ("float16", (16, 24, 72), True, True),
    ("bfloat16", (17, 19, 21), True, False),
    ("float32", (16, 24, 40), False, True),
    ("int8", (16, 16, 72), True, True),
)
MORE_ON_UNITS = (
    ("float16", ("m", "n", "k"), False, False),
    ("float16", (40, 24, 72), True, True),
    ("bfloat16", (24, 40, 72), False, True),
    ("float16", (17, 19, 21), True, False),
    ("int8", (24, 16, 136), True, True),
    ("float32", ("m", "n", "k"), False, False),
    ("float32", (40, 24, 72), True, True),
    ("float32", (17, 19, 21), True, False),
    ("int8", ("m", "n", "k"), True, False),
    ("int8", (40, 37, 200), True, True),
    ("int8", (17, 19, 70), True, False),
    ("float16", (40, 24, 104), True, True),
    ("bfloat16", (33, 40, 72), False, True),
    ("bfloat16", (64, 34, 34), True, False),
    ("float16", (16, 16, 32), True, True),
    ("float16", (64, 48, 128), False, True),
    ("float16", ("m", 64, 64), True, True),
) + tuple(
    (dtype, (m, n, k), turned, copied)
    for dtype in ("float16", "bfloat16")
    for m, n, k in ((8, 64, 8), (70, 12, 96), (64, 64, 20), (35, 70, 200))
    for turned in (False, True)
    for copied in (False, True)
)


def tf32(numbers: Array) -> Array:
    """What tensor cores look at: of f32, all but the low 13 bits."""
    if numbers.dtype != np.float32:
        return numbers
    bits = np.ascontiguousarray(numbers).view(np.uint32)
    return (bits & np.uint32(0xFFFFE000)).view(np.float32)


@pytest.mark.parametrize(
    ("dtype", "sizes", "turned", "copied"),
    [*ON_UNITS, *(MORE_ON_UNITS if MANY else ())],
)
def test_product_on_units(
    dtype: str, sizes: tuple[Any, Any, Any], turned: bool, copied: bool
) -> None:
    """With copies that are waited for, and with asynchronous ones."""
    # A symbolic product needs no second tile of columns and terms to be cut.
    extents = {"m": 20, "n": 37 if MANY else 18, "k": 37 if MANY else 18}
    m, n, k = (each if isinstance(each, int) else extents[each] for each in sizes)
    a, b = numbers(dtype, m, k), numbers(dtype, *((n, k) if turned else (k, n)))
    acc = numpy_type("int32" if dtype == "int8" else dtype)
    d = numbers(acc.name, n)
    left, right = tf32(a).astype("f8"), tf32(b.T if turned else b).astype("f8")
    result = np.maximum(left @ right + d.astype("f8"), 0).astype(acc)
    text = product(*sizes, dtype, turned=turned, after=True)
    with PassContext(config={"tir.use_async_copy": copied}):
        made = str(scheduled(text, WITH_TF32))
        assert '"ptx_mma"' in made
        assert '"ptx_ldmatrix"' in made
        depth = 64 // a.itemsize
        assert ("software_pipeline_stage" in made) == (copied and k > depth)
        count = 2 if sizes[2] == "k" else 1
        check(text, [a, b, d], [result], 2 * DTYPES[dtype], count, WITH_TF32)


def test_stages_are_an_option_or_follow_from_the_context() -> None:
    text = product(32, 32, 128, "float16", turned=False, after=False)
    ahead: list[int | None] = []
    for stages, copied in ((None, False), (None, True), (3, False), (1, True)):
        with PassContext(config={"tir.use_async_copy": copied}):
            made = str(scheduled(text, replace(UNITS, stages=stages)))
        found = re.search(r"software_pipeline_stage = \[0 : i32, 0 : i32, (\d)", made)
        ahead.append(None if found is None else int(found[1]))
    assert ahead == [None, 3, 2, None]


def test_tiles_of_few_terms_have_no_asynchronous_copies() -> None:
    """The product of such a tile is no loop, which a pipeline could order."""
    text = product(16, 32, 64, "float32", turned=False, after=False)
    for terms, ahead in ((4, False), (8, True)):
        schedule = replace(SMALL, tile_terms=terms, stages=2)
        assert ("software_pipeline_stage" in str(scheduled(text, schedule))) == ahead


def test_products_of_sums_have_no_asynchronous_copies() -> None:
    """What is multiplied is computed as its tile is written."""
    text = product(32, 32, 64, "float16", turned=False, after=False).replace(
        "A[vi, vk])", "A[vi, vk] + A[vi, vk])"
    )
    a, b = numbers("float16", 32, 64), numbers("float16", 64, 32)
    d = numbers("float16", 32)
    exact = ((a + a).astype("f8") @ b.astype("f8")).astype("float16")
    with PassContext(config={"tir.use_async_copy": True}):
        assert "software_pipeline_stage" not in str(scheduled(text, UNITS))
        check(text, [a, b, d], [exact], 2 * DTYPES["float16"], 1, UNITS)


@pytest.mark.parametrize("turned_a", [False, True] if MANY else [True])
def test_batches_on_units(turned_a: bool) -> None:
    """A may be in memory by terms as well."""
    shape, at = ("2x64x32", "vb, vk, vi") if turned_a else ("2x32x64", "vb, vi, vk")
    text = script(
        [f"A {shape} float16", "B 2x64x32 float16", "C 2x32x32 float32"],
        f"""
    for b, i, j, t in T.grid(2, 32, 32, 64):
        with T.block("C"):
            vb, vi, vj, vk = T.axis.remap("SSSR", [b, i, j, t])
            with T.init():
                C[vb, vi, vj] = T.float32(0)
            C[vb, vi, vj] = C[vb, vi, vj] + T.Cast("float32", A[{at}]) * T.Cast(
                "float32", B[vb, vk, vj])
""",
    )
    a = numbers("float16", *map(int, shape.split("x")))
    b = numbers("float16", 2, 64, 32)
    exact = (a.swapaxes(1, 2) if turned_a else a).astype("f4") @ b.astype("f4")
    with PassContext(config={"tir.use_async_copy": True}):
        check(text, [a, b], [exact], 1e-4, 1, UNITS)


@pytest.mark.parametrize(
    ("schedule", "dtype"),
    [
        (replace(UNITS, target="cuda -arch=sm_75"), "float16"),
        (replace(UNITS, target="cuda"), "float16"),
        (replace(UNITS, target="rocm"), "float16"),
        (replace(UNITS, tensor_cores=False), "float16"),
        (replace(UNITS, threads=64), "float16"),
        (UNITS, "float32"),
    ],
)
def test_products_without_units(schedule: GPUSchedule, dtype: str) -> None:
    text = product(32, 32, 64, dtype, turned=False, after=False)
    made = str(scheduled(text, schedule))
    assert '"ptx_mma"' not in made
    assert '"shared' in made


def test_results_are_stored_in_pairs() -> None:
    """What lanes have of a row is next to each other."""
    found: list[object] = []
    for columns in (34, 35):
        text = product(32, columns, 64, "float16", turned=True, after=True)
        loops = [op for op in scheduled(text, UNITS).walk() if isinstance(op, tir.ForOp)]
        vectors = [op for op in loops if op.kind.data is tir.ForKind.VECTORIZED]
        found.append(tir.constant_value(vectors[-1].extent))
    assert found == [2, 8]


# ---- what is left alone ----

OPAQUE = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block():
            B[i] = A[i]
"""
BOUND = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in T.thread_binding(8, thread="threadIdx.x"):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi]
"""
CARRIED = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(7):
        with T.block("B"):
            vi = T.axis.opaque(7, i)
            B[vi + 1] = B[vi] + A[vi]
"""


@pytest.mark.parametrize("text", [OPAQUE, BOUND, CARRIED])
def test_what_is_left_alone(text: str) -> None:
    assert scheduled(text).is_structurally_equivalent(parse(text))


def test_functions_for_other_devices_are_left_alone() -> None:
    text = OPAQUE.replace("with T.block():", 'with T.block("B"):').replace(
        "B[i] = A[i]", "vi = T.axis.spatial(8, i)\n            B[vi] = A[vi]"
    )
    for target in (None, "llvm"):
        assert not kernels(scheduled(text, GPUSchedule(target)))
    assert kernels(scheduled(text, GPUSchedule("metal"))) == 1


def test_the_default_schedule_takes_the_rest() -> None:
    """Blocks that the schedule writes have names of their own, or none."""
    text = """
@T.prim_func
def main(A: T.Buffer((37, 5), "float32"), B: T.Buffer((37, 5), "float32"),
         C: T.Buffer((8,), "float32")):
    for i, j in T.grid(37, 5):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + A[vi, vj]
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            T.where(i < 5)
            C[vi] = T.float32(1)
"""
    module = scheduled(text)
    assert kernels(module) == 1
    assert kernels(DefaultGPUSchedule("cuda")(module)) == 2
    check_semantics(parse(text), [SMALL, DefaultGPUSchedule("cuda")])


# ---- errors ----


SIZED = ["threads", "vector_bytes", "tile", "tile_terms", "tensor_core_tile"]


@pytest.mark.parametrize("option", ["stages", "splits"])
def test_counts_are_positive(option: str) -> None:
    with pytest.raises(PassFailedException, match=f"{option} must be at least 1, got 0"):
        replace(GPUSchedule("cuda"), **{option: 0})(parse_ir("builtin.module {}"))


@pytest.mark.parametrize("option", SIZED)
def test_sizes_are_powers_of_two(option: str) -> None:
    for value in (0, 3):
        schedule = replace(GPUSchedule("cuda"), **{option: value})
        with pytest.raises(PassFailedException, match=f"{option} must be a power of two"):
            schedule(parse_ir("builtin.module {}"))


def test_a_target_that_does_not_parse() -> None:
    with pytest.raises(PassFailedException, match="tir-gpu-schedule: unknown target"):
        GPUSchedule("tpu")(parse_ir("builtin.module {}"))

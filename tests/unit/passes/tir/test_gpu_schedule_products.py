"""Products of threads and of tensor cores by the GPU schedule compute what numpy does."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import product as pairs_of
from typing import Any

import numpy as np
import pytest
from support.gpu_schedule_checks import (
    DTYPES,
    SMALL,
    Array,
    check,
    kernels,
    numbers,
    numpy_type,
    scheduled,
    script,
)
from support.gpu_schedules import MANY

from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.infra import PassContext
from xdsl_tvm.passes.tir.gpu_schedule import GPUSchedule
from xdsl_tvm.tvmscript import print_script

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


@pytest.mark.parametrize(("turned", "least"), [(False, ["6", None]), (True, [None] * 2)])
def test_least_blocks_are_of_the_kernel_that_spills(
    turned: bool, least: list[str | None]
) -> None:
    """Not of the kernel that adds split sums, and of no product that needs it less."""
    text = product(4096, 4096, 4096, "int8", turned=turned, after=False)
    schedule = GPUSchedule("cuda -arch=sm_90", tensor_core_tile=64, splits=2)
    lines = str(scheduled(text, schedule)).splitlines()
    grids = [line for line in lines if 'thread_binding "blockIdx.x"' in line]
    found = [re.search(r"pragma_min_blocks = (\d+) : i32", line) for line in grids]
    assert [each and each[1] for each in found] == least


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

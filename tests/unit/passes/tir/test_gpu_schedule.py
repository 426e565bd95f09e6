"""Kernels of the GPU schedule compute what numpy does, without races, by few threads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from support.gpu_schedule_checks import (
    DTYPES,
    SIZES,
    SMALL,
    cases,
    check,
    kernels,
    named,
    numbers,
    scheduled,
    script,
)
from support.gpu_schedules import MANY, until_barriers
from support.ir import parse as parse_ir
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.semantics import check_semantics
from xdsl_tvm.passes.tir.default_gpu_schedule import DefaultGPUSchedule
from xdsl_tvm.passes.tir.gpu_schedule import GPUSchedule
from xdsl_tvm.passes.tir.verify_thread_sync import VerifyThreadSync
from xdsl_tvm.registry import new_context
from xdsl_tvm.tvmscript import parse

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

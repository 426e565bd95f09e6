"""Sums of products of bytes by instructions for dot products of four terms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import DiagnosticException, PassFailedException

from xdsl_tvm import compile, interpret
from xdsl_tvm.dialects.tir.processor_instructions import FEATURES, byte_dot
from xdsl_tvm.interpreters.semantics import check_semantics
from xdsl_tvm.lowering.pipelines import llvm_pipeline, run_pipeline
from xdsl_tvm.passes.tir._cpu_schedule import contraction_sizes
from xdsl_tvm.passes.tir.default_cpu_schedule import DefaultCPUSchedule
from xdsl_tvm.registry import new_context
from xdsl_tvm.relax import BlockBuilder, Tensor, Var, op
from xdsl_tvm.runtime import llvm_jit
from xdsl_tvm.tvmscript.parser import parse

Array = NDArray[Any]
DOT = "llvm.x86.avx512.vpdpbusd.128"
SCHEDULE = DefaultCPUSchedule(
    vector_bytes=16,
    parallel_grain=30,
    cache_bytes=768,
    first_cache_bytes=1024,
    second_cache_bytes=512,
    features="avx512vl avx512vnni",
)
HEAD = "from xdsl_tvm.tvmscript import tir as T\n\n@T.prim_func\ndef main"


def _rounded(shape: str, narrow: str) -> tuple[str, str]:
    """Where sums are, and what is made of them, if there is a type for it."""
    if not narrow:
        return f'T.match_buffer(z, ({shape}), "int32")', ""
    names = "nijc"[-len(shape.split(",")) :]
    values = ", ".join(f"v{name}" for name in names)
    return (
        f'T.alloc_buffer(({shape}), "int32")',
        f"""
    D = T.match_buffer(z, ({shape}), "{narrow}")
    for {", ".join(names)} in T.grid({shape}):
        with T.block("D"):
            {values} = T.axis.remap("{"S" * len(names)}", [{", ".join(names)}])
            D[{values}] = T.Cast(
                "{narrow}",
                T.nearbyint(T.Cast("float32", C[{values}]) * T.float32(0.01)),
            )
""",
    )


def _product(
    rows: int, columns: int, terms: int, a: str, b: str, narrow: str = ""
) -> ModuleOp:
    """`C[i, j] = sum(A[i, k] * B[k, j])` in int32, and what is made of it."""
    sums, after = _rounded(f"{rows}, {columns}", narrow)
    return parse(f"""{HEAD}(x: T.handle, y: T.handle, z: T.handle):
    T.func_attr({{"global_symbol": "main", "tir.noalias": True}})
    A = T.match_buffer(x, ({rows}, {terms}), "{a}")
    B = T.match_buffer(y, ({terms}, {columns}), "{b}")
    C = {sums}
    for i, j, k in T.grid({rows}, {columns}, {terms}):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] = C[vi, vj] + (
                T.Cast("int32", A[vi, vk]) * T.Cast("int32", B[vk, vj])
            )
{after}""")


def _panels(rows: int, columns: int, terms: int) -> ModuleOp:
    """The same with a `B` in panels of two vectors, of four lanes each."""
    shape = (-(-columns // 8), -(-terms // 4), 32)
    return parse(f"""{HEAD}(x: T.handle, y: T.handle, z: T.handle):
    T.func_attr({{"global_symbol": "main", "tir.noalias": True}})
    A = T.match_buffer(x, ({rows}, {terms}), "int8")
    B = T.match_buffer(y, {shape}, "int8")
    C = T.match_buffer(z, ({rows}, {columns}), "int32")
    for i, j, k in T.grid({rows}, {columns}, {terms}):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] = C[vi, vj] + T.Cast("int32", A[vi, vk]) * T.Cast(
                "int32", B[vj // 8, vk // 4, vj % 8 * 4 + vk % 4]
            )
""")


def _convolution(channels: int, a: str, b: str, step: int = 1) -> ModuleOp:
    """A window of 2 by 3 over an image with channels last."""
    height, width = 3, 4
    rows, columns = 2 + (height - 1) * step, 3 + (width - 1) * step
    return parse(f"""{HEAD}(x: T.handle, y: T.handle, z: T.handle):
    T.func_attr({{"global_symbol": "main", "tir.noalias": True}})
    A = T.match_buffer(x, (1, {rows}, {columns}, {channels}), "{a}")
    B = T.match_buffer(y, (2, 3, {channels}, 8), "{b}")
    C = T.match_buffer(z, (1, {height}, {width}, 8), "int32")
    for n, i, j, o, u, v, k in T.grid(1, {height}, {width}, 8, 2, 3, {channels}):
        with T.block("C"):
            vn, vi, vj, vo, vu, vv, vk = T.axis.remap("SSSSRRR", [n, i, j, o, u, v, k])
            with T.init():
                C[vn, vi, vj, vo] = 0
            C[vn, vi, vj, vo] = C[vn, vi, vj, vo] + T.Cast(
                "int32", A[vn, vi * {step} + vu, vj * {step} + vv, vk]
            ) * T.Cast("int32", B[vu, vv, vk, vo])
""")


def test_the_next_panel_is_fetched_by_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a matrix, and of panels that are copied for several parts."""
    module = _product(32, 80, 32, "uint8", "int8")
    schedule = DefaultCPUSchedule(
        vector_bytes=16, parallel_grain=30, features=SCHEDULE.features
    )
    schedules = schedule, replace(schedule, second_cache_bytes=512)
    before = [str(schedule(module)).count("prefetch") for schedule in schedules]
    for name in ("_LARGE", "_LARGE_COLUMNS", "_LEAST_ROWS"):
        monkeypatch.setattr(contraction_sizes, name, 16)
    monkeypatch.setattr(contraction_sizes, "_LEAST_STEPS", 1)
    for schedule, count in zip(schedules, before, strict=True):
        assert str(schedule(module)).count("prefetch") > count
        check_semantics(module, (schedule,))


@pytest.mark.parametrize(
    ("rows", "columns", "terms", "a", "b"),
    [
        (12, 16, 32, "uint8", "int8"),
        (13, 21, 45, "int8", "uint8"),
        (10, 8, 9, "int8", "int8"),
        (13, 9, 18, "uint8", "uint8"),
    ],
)
def test_products(rows: int, columns: int, terms: int, a: str, b: str) -> None:
    """All signs; whole tiles and quads, edges and a last quad that is not full; parts."""
    module = _product(rows, columns, terms, a, b)
    assert DOT in str(SCHEDULE(module))
    check_semantics(module, (SCHEDULE,))


@pytest.mark.parametrize(("columns", "terms"), [(16, 12), (21, 130)])
def test_what_is_made_of_sums_is_made_in_tiles(columns: int, terms: int) -> None:
    """The sums are in memory between parts of the terms only; edges."""
    module = _product(13, columns, terms, "int8", "int8", "int8")
    text = str(SCHEDULE(module))
    assert ("%C[" in text) == (terms > 12)
    check_semantics(module, (SCHEDULE,))


@pytest.mark.parametrize(
    ("rows", "columns", "terms", "a", "b"),
    [
        (1, 32, 11, "uint8", "int8"),
        (3, 16, 16, "int8", "uint8"),
        (8, 48, 9, "int8", "int8"),
        (2, 32, 6, "uint8", "uint8"),
        (2, 16, 128, "int8", "int8"),
    ],
)
def test_few_rows_interleave_the_matrix_in_registers(
    rows: int, columns: int, terms: int, a: str, b: str
) -> None:
    """All signs; whole pairs of quads, one more, and a last quad that is not full; parts
    of the terms for threads."""
    module = _product(rows, columns, terms, a, b)
    text = str(SCHEDULE(module))
    assert DOT in text
    assert '"columns"' not in text
    check_semantics(module, (SCHEDULE,))


@pytest.mark.parametrize("rows", [1, 5])
def test_panels_of_quads_are_read_where_they_are(rows: int) -> None:
    """One row, too."""
    module = _panels(rows, 13, 10)
    text = str(SCHEDULE(module))
    assert DOT in text
    assert '"columns"' not in text
    check_semantics(module, (SCHEDULE,))


@pytest.mark.parametrize(
    ("channels", "a", "b", "step"), [(8, "uint8", "int8", 1), (4, "int8", "int8", 2)]
)
def test_windows_are_read_where_they_are(
    channels: int, a: str, b: str, step: int
) -> None:
    module = _convolution(channels, a, b, step)
    text = str(SCHEDULE(module))
    assert DOT in text
    assert '"rows"' not in text
    check_semantics(module, (SCHEDULE,))


def test_what_has_no_quads_is_left_to_others() -> None:
    """Three channels; a processor without the instruction; wider integers."""
    assert DOT not in str(SCHEDULE(_convolution(3, "uint8", "int8")))
    without = DefaultCPUSchedule(vector_bytes=16, features="avx512vnni")
    assert DOT not in str(without(_product(12, 16, 32, "int8", "int8")))
    assert DOT not in str(SCHEDULE(_product(12, 16, 32, "int16", "int8")))


def test_the_sizes_of_instructions() -> None:
    assert byte_dot(16, ["avx512vnni"]) is not None
    assert byte_dot(8, ["avx512vnni"]) is None
    assert byte_dot(8, ["avxvnni"]) is not None
    assert byte_dot(2, FEATURES) is None


def _called(types: tuple[str, str]) -> ModuleOp:
    """A program that names the instruction, as schedules of TVM do."""
    a, b = types
    return parse(f"""{HEAD}(x: T.handle, y: T.handle, z: T.handle):
    T.func_attr({{"global_symbol": "main", "tir.noalias": True}})
    A = T.match_buffer(x, (4,), "{a}")
    B = T.match_buffer(y, (4,), "{b}")
    C = T.match_buffer(z, (4,), "int32")
    C[0:4] = T.call_llvm_pure_intrin("int32x4", "{DOT}", C[0:4], A[0:4], B[0:4])
""")


def test_words_of_four_bytes() -> None:
    """The lowest byte is the first; sums are modulo 2^32."""
    random = np.random.default_rng(3)
    a, b = (random.integers(-(1 << 31), 1 << 31, 4).astype(np.int32) for _ in range(2))
    start = np.array([0, -(1 << 31), (1 << 31) - 1, 7], np.int32)
    products = a.view(np.uint8).astype(np.int64) * b.view(np.int8)
    expected = (start + products.reshape(4, 4).sum(1)).astype(np.int32)
    module = _called(("int32", "int32"))
    calls: list[Callable[..., object]] = [interpret(module)["main"]]
    if "avxvnni" in _host_features() or "avx512vl" in _host_features():
        calls.append(compile(module)["main"])
    for call in calls:
        found = start.copy()
        call(a, b, found)
        np.testing.assert_array_equal(found, expected)


def _host_features() -> list[str]:
    try:
        return llvm_jit.host_features().split()
    except DiagnosticException:
        return []


def test_other_operands_are_refused() -> None:
    module = _called(("int16", "int32"))
    message = f'"{DOT}" takes vector<4xi32>, vector<16xui8> and vector<16xi8>'
    with pytest.raises(PassFailedException, match=message):
        run_pipeline(new_context(), module, llvm_pipeline())


def test_a_processor_without_it_is_refused() -> None:
    """Before LLVM sees the program, which would end the process."""
    with pytest.raises(PassFailedException, match="needs a processor with avxvnni or"):
        run_pipeline(new_context(), _called(("int32", "int32")), llvm_pipeline())


def _results(module: ModuleOp, target: str | None, *arrays: Array) -> Array:
    result = np.zeros((5, 40), np.int32)
    compile(module, target)["main"](*arrays, result)
    return result


def test_sums_are_exact_with_and_without_instructions() -> None:
    """The largest products, as machine code for parts of this machine's processor."""
    pytest.importorskip("llvmlite")
    module = _product(5, 40, 23, "int8", "int8")
    random = np.random.default_rng(2)
    x: Array = random.integers(-128, -120, (5, 23)).astype(np.int8)
    y: Array = random.integers(-128, -120, (23, 40)).astype(np.int8)
    expected = x.astype(np.int32) @ y.astype(np.int32)
    has = llvm_jit.host_features().split()
    without = ",".join(f"-{name}" for name in has)
    targets = [None, f"llvm -mattr={without}"] if has else [None]
    for target in targets:
        np.testing.assert_array_equal(_results(module, target, x, y), expected)


def test_features_of_a_target() -> None:
    pytest.importorskip("llvmlite")
    module = _product(4, 8, 8, "int8", "int8")
    with pytest.raises(ValueError, match="mattr names '-sse9'; name features"):
        compile(module, "llvm -mattr=-sse9")
    with pytest.raises(ValueError, match="takes no attributes but mattr; leave out mcpu"):
        compile(module, "llvm -mcpu=skylake")
    for name in llvm_jit.host_features().split():
        assert name not in llvm_jit.host_features(f"-{name}").split()
    if llvm_jit.host_vector_bytes() == 64:
        assert llvm_jit.host_vector_bytes("-avx512f") == 32
        assert "avx512vnni" not in llvm_jit.host_features("-avx512f")


def _depthwise(channels: int, a: str, b: str, step: int, narrow: str) -> ModuleOp:
    """A window of 2 by 3 for each channel of an image with channels last."""
    height, width = 3, 6
    rows, columns = 2 + (height - 1) * step, 3 + (width - 1) * step
    shape = f"1, {height}, {width}, {channels}"
    sums, after = _rounded(shape, narrow)
    return parse(f"""{HEAD}(x: T.handle, y: T.handle, z: T.handle):
    T.func_attr({{"global_symbol": "main", "tir.noalias": True}})
    A = T.match_buffer(x, (1, {rows}, {columns}, {channels}), "{a}")
    B = T.match_buffer(y, (2, 3, 1, {channels}), "{b}")
    C = {sums}
    for n, i, j, c, u, v in T.grid({shape}, 2, 3):
        with T.block("C"):
            vn, vi, vj, vc, vu, vv = T.axis.remap("SSSSRR", [n, i, j, c, u, v])
            with T.init():
                C[vn, vi, vj, vc] = 0
            C[vn, vi, vj, vc] = C[vn, vi, vj, vc] + T.Cast(
                "int32", A[vn, vi * {step} + vu, vj * {step} + vv, vc]
            ) * T.Cast("int32", B[vu, vv, 0, vc])
{after}""")


@pytest.mark.parametrize(
    ("channels", "a", "b", "step", "narrow"),
    [
        (8, "uint8", "int8", 1, "uint8"),
        (4, "int8", "uint8", 2, ""),
        (8, "int8", "int8", 1, "int8"),
        (4, "uint8", "uint8", 1, ""),
    ],
)
def test_depthwise(channels: int, a: str, b: str, step: int, narrow: str) -> None:
    """All signs; steps of columns and single ones; sums and what is made of them."""
    module = _depthwise(channels, a, b, step, narrow)
    text = str(SCHEDULE(module))
    assert DOT in text
    check_semantics(module, (SCHEDULE,))


def _blocks(outputs: int, step: int) -> ModuleOp:
    """A window of 2 by 3 over images whose blocks of four channels are groups."""
    height, width = 2, 5
    rows, columns = 2 + (height - 1) * step, 3 + (width - 1) * step
    shape = f"2, 3, {height}, {width}, {outputs}"
    return parse(f"""{HEAD}(x: T.handle, y: T.handle, z: T.handle):
    T.func_attr({{"global_symbol": "main", "tir.noalias": True}})
    A = T.match_buffer(x, (2, 3, {rows}, {columns}, 4), "uint8")
    B = T.match_buffer(y, (3, 1, 2, 3, 4, {outputs}), "int8")
    C = T.match_buffer(z, ({shape}), "int32")
    for n, g, i, j, o, b, u, v, k in T.grid({shape}, 1, 2, 3, 4):
        with T.block("C"):
            vn, vg, vi, vj, vo, vb, vu, vv, vk = T.axis.remap(
                "SSSSSRRRR", [n, g, i, j, o, b, u, v, k]
            )
            with T.init():
                C[vn, vg, vi, vj, vo] = 0
            C[vn, vg, vi, vj, vo] = C[vn, vg, vi, vj, vo] + T.Cast(
                "int32", A[vn, vg + vb, vi * {step} + vu, vj * {step} + vv, vk]
            ) * T.Cast("int32", B[vg, vb, vu, vv, vk, vo])
""")


@pytest.mark.parametrize(("outputs", "step"), [(4, 2), (12, 1)])
def test_groups_in_blocks(outputs: int, step: int) -> None:
    """One vector of outputs, and more of them than a tile has."""
    module = _blocks(outputs, step)
    assert DOT in str(SCHEDULE(module))
    check_semantics(module, (SCHEDULE,))


def test_groups_of_a_network() -> None:
    """Groups of two vectors, and joined ones that are padded."""
    pytest.importorskip("llvmlite")
    random = np.random.default_rng(3)
    x: Array = random.integers(0, 256, (2, 64, 7, 9)).astype(np.uint8)
    cases = [(4, 128, 1, 1), (16, 64, 3, 2)]
    weights: list[Array] = [
        random.integers(-128, 128, (outputs, 64 // groups, size, size)).astype(np.int8)
        for groups, outputs, size, _ in cases
    ]
    data = Var("x", Tensor(x.shape, "uint8"))
    given = [
        Var(f"w{number}", Tensor(weight.shape, "int8"))
        for number, weight in enumerate(weights)
    ]
    builder = BlockBuilder()
    with builder.function("main", [data, *given]):
        with builder.dataflow():
            results = [
                builder.emit(
                    op.nn.conv2d(
                        data,
                        weight,
                        strides=step,
                        padding=size // 2,
                        groups=groups,
                        out_dtype="int32",
                    )
                )
                for weight, (groups, _, size, step) in zip(given, cases, strict=True)
            ]
            output = builder.emit_output(results)
        builder.emit_func_output(output)
    params: dict[str | int, Array] = dict(enumerate(weights, 1))
    found = compile(builder.get(), params=params)["main"](x)
    for y, weight, (groups, _, size, step) in zip(found, weights, cases, strict=True):
        np.testing.assert_array_equal(y, _in_groups(x, weight, groups, size, step))


def _in_groups(x: Array, weight: Array, groups: int, size: int, step: int) -> Array:
    """A convolution by numpy, padded so that windows are around their element."""
    edge = size // 2
    padded = np.pad(x, ((0, 0), (0, 0), (edge, edge), (edge, edge))).astype(np.int32)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (size, size), (2, 3))
    windows = windows[:, :, ::step, ::step]
    parts = zip(np.split(windows, groups, 1), np.split(weight, groups), strict=True)
    sums = [
        np.einsum("nihwuv,oiuv->nohw", part, own.astype(np.int32)) for part, own in parts
    ]
    return np.concatenate(sums, 1)

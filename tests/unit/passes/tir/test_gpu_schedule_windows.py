"""Windows of pooling and convolutions by the GPU schedule compute what numpy does."""

from __future__ import annotations

import ast

import numpy as np
import pytest
from support.gpu_schedule_checks import (
    DTYPES,
    check,
    kernels,
    numbers,
    scheduled,
    script,
)
from support.gpu_schedules import MANY

from xdsl_tvm.interpreters.relax import interpret as interpret_relax
from xdsl_tvm.lowering.pipelines import gpu_pipeline, run_pipeline
from xdsl_tvm.registry import new_context
from xdsl_tvm.tvmscript import parse

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

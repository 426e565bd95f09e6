"""Legalization of narrow floats: conversions of all values, targets, whole models."""

from __future__ import annotations

from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
import pytest
from support.effort import calls
from support.ir import parse
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from xdsl_tvm.dialects.tir.target import Target
from xdsl_tvm.interpreters.tir import interpret
from xdsl_tvm.passes.tir import (
    BF16ComputeLegalize,
    BF16StorageLegalize,
    FP8ComputeLegalize,
    FP8StorageLegalize,
)
from xdsl_tvm.registry import new_context

Array: TypeAlias = "np.ndarray[Any, Any]"

NUMPY: dict[str, Any] = {
    "bf16": ml_dtypes.bfloat16,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E5M2": ml_dtypes.float8_e5m2,
    "f16": np.float16,
    "f32": np.float32,
}
PAIRS = (
    ("bf16", "f32"),
    ("f8E4M3FN", "f32"),
    ("f8E5M2", "f32"),
    ("f8E4M3FN", "f16"),
    ("f8E5M2", "f16"),
)


def legalized(text: str, wide: str = "f32") -> ModuleOp:
    """A module after the compute passes."""
    module = parse(text)
    for one in (
        BF16ComputeLegalize(),
        FP8ComputeLegalize("float16" if wide == "f16" else "float32"),
    ):
        one.apply(new_context(), module)
    module.verify()
    return module


def every_value(dtype: str) -> Array:
    """All values of a dtype of 8 or 16 bits."""
    bits = np.dtype(f"u{np.dtype(NUMPY[dtype]).itemsize}")
    return np.arange(1 << (8 * bits.itemsize)).astype(bits).view(NUMPY[dtype])


def converted(values: Array, source: str, target: str, wide: str) -> Array:
    """Numbers that a legalized cast makes of others."""
    count = len(values)
    module = legalized(
        f"""
        tir.func @f(%a: !tir.handle, %b: !tir.handle)
            attributes {{target = #tir.target<"llvm">}} {{
          %A = tir.match_buffer %a : !tir.buffer<{count}x{source}>
          %B = tir.match_buffer %b : !tir.buffer<{count}x{target}>
          %c0 = tir.const 0 : i32
          %n = tir.const {count} : i32
          tir.for %i = %c0 to %n {{
            %x = tir.load %A[%i] : {source}
            %y = tir.cast %x : {source} to {target}
            tir.store %y, %B[%i] : {target}
          }}
        }}""",
        wide,
    )
    text = str(module)
    assert f"{source} to {target}" not in text
    found = np.zeros(count, NUMPY[target])
    interpret(module)["f"](values, found)
    return found


def assert_same(found: Array, expected: Array) -> None:
    """Equal bits, zeros included; a NaN may have another payload."""
    bits = np.dtype(f"u{expected.dtype.itemsize}")
    nan = np.isnan(expected.astype(np.float32))
    np.testing.assert_array_equal(np.isnan(found.astype(np.float32)), nan)
    np.testing.assert_array_equal(found.view(bits)[~nan], expected.view(bits)[~nan])


@pytest.mark.parametrize(("narrow", "wide"), PAIRS)
def test_all_values_are_widened_exactly(narrow: str, wide: str) -> None:
    values = every_value(narrow)
    expected = values.astype(np.float32).astype(NUMPY[wide])
    assert_same(converted(values, narrow, wide, wide), expected)


@pytest.mark.parametrize("narrow", ["f8E4M3FN", "f8E5M2"])
def test_all_halfs_are_rounded(narrow: str) -> None:
    values = every_value("f16")
    with np.errstate(all="ignore"):
        expected: Array = values.astype(np.float32).astype(NUMPY[narrow])
    assert_same(converted(values, "f16", narrow, "f16"), expected)


@pytest.mark.parametrize("narrow", ["bf16", "f8E4M3FN", "f8E5M2"])
def test_floats_around_all_ties_are_rounded(narrow: str) -> None:
    rng = np.random.default_rng(0)
    with np.errstate(all="ignore"):
        every = every_value(narrow).astype(np.float64)
    exact: Array = np.unique(every[np.isfinite(every)])
    # Beyond the largest value is the one that the next exponent would have.
    step = exact[-1] - exact[-2]
    exact = np.concatenate([[exact[0] - step], exact, [exact[-1] + step]])
    ties = ((exact[1:] + exact[:-1]) / 2).astype(np.float32)
    if narrow == "bf16":
        ties = ties[rng.integers(len(ties), size=4000)]
    infinity = np.float32(np.inf)
    values = np.concatenate(
        [
            ties,
            np.nextafter(ties, infinity),
            np.nextafter(ties, -infinity),
            np.array([0.0, -0.0, np.inf, -np.inf, 1e-45, -1e-45, 3e38], np.float32),
            # NaNs, whose payload must neither become infinity nor change the sign.
            np.array([0x7F800001, 0x7FFFFFFF, 0xFFFFFFFF], np.uint32).view(np.float32),
            rng.integers(0, 1 << 32, 500).astype(np.uint32).view(np.float32),
        ]
    )
    with np.errstate(all="ignore"):
        expected = values.astype(NUMPY[narrow])
    found = converted(values, "f32", narrow, "f32")
    assert_same(found, expected)
    signs = np.signbit(values) == np.signbit(found.astype(np.float32))
    assert np.all(signs)


@pytest.mark.parametrize(
    ("target", "bf16", "fp8"),
    [
        ("cuda -arch=sm_75", False, False),
        ("cuda -arch=sm_80", True, False),
        ("cuda -arch=sm_86", True, False),
        ("cuda -arch=sm_89", True, True),
        ("cuda -arch=sm_90a", True, True),
        ("cuda -arch=sm_120", True, True),
        ("llvm -mcpu=sapphirerapids", False, False),
        ("c", False, False),
    ],
)
def test_targets_with_narrow_floats(target: str, bf16: bool, fp8: bool) -> None:
    # CASE: BF16ComputeLegalize.2
    # CASE: FP8ComputeLegalize.2
    # CASE: BF16StorageLegalize.3
    # CASE: FP8StorageLegalize.2
    for dtype, native in (("bf16", bf16), ("f8E5M2", fp8)):
        text = f"""
        tir.func @f(%p: !tir.ptr<{dtype}>)
            attributes {{target = {Target.parse(target)}}} {{
          %A = tir.decl_buffer %p : !tir.buffer<4x{dtype}>
          %c0 = tir.const 0 : i32
          %x = tir.load %A[%c0] : {dtype}
          %y = tir.add %x, %x : {dtype}
          tir.store %y, %A[%c0] : {dtype}
        }}"""
        module = legalized(text)
        assert (f"tir.add %x, %x : {dtype}" in str(module)) is native
        for one in (FP8StorageLegalize(), BF16StorageLegalize()):
            one.apply(new_context(), module)
        module.verify()
        assert (f"!tir.ptr<{dtype}>" in str(module)) is native


def test_constants_of_all_kinds() -> None:
    text = """
    tir.func @f(%a: !tir.handle) attributes {target = #tir.target<"llvm">} {
      %A = tir.match_buffer %a : !tir.buffer<4xf32>
      %c0 = tir.const 0 : i32
      %c1 = tir.const 1 : i32
      %c2 = tir.const 2 : i32
      %inf = tir.const 0x7C : f8E5M2
      %nan = tir.const 0x7F : f8E4M3FN
      %tiny = tir.const 0x01 : f8E5M2
      %x = tir.cast %inf : f8E5M2 to f32
      tir.store %x, %A[%c0] : f32
      %y = tir.cast %nan : f8E4M3FN to f32
      tir.store %y, %A[%c1] : f32
      %z = tir.cast %tiny : f8E5M2 to f32
      tir.store %z, %A[%c2] : f32
    }"""
    module = legalized(text)
    assert "f8E" not in str(module)
    found = np.zeros(4, np.float32)
    interpret(module)["f"](found)
    np.testing.assert_array_equal(found, np.array([np.inf, np.nan, 2.0**-16, 0]))


def test_reductions_over_threads_in_the_simulator() -> None:
    # CASE: BF16ComputeLegalize.3
    text = """
    tir.func @f(%a: !tir.handle, %b: !tir.handle)
        attributes {target = #tir.target<"cuda", arch = "sm_75">} {
      %A = tir.match_buffer %a : !tir.buffer<32xbf16>
      %B = tir.match_buffer %b : !tir.buffer<32xbf16>
      %c0 = tir.const 0 : i32
      %c32 = tir.const 32 : i32
      %mask = tir.const 4294967295 : ui32
      %r = tir.reducer (%l : bf16, %m : bf16) identity [0.0 : bf16] {
        %s = tir.add %l, %m : bf16
        tir.yield %s : bf16
      }
      tir.launch_thread %t = "threadIdx.x" to %c32 {
        %q = tir.allocate [1] : !tir.ptr<bf16, "local">
        %R = tir.decl_buffer %q : !tir.buffer<1xbf16, "local">
        %x = tir.load %A[%t] : bf16
        %w = tir.call "tvm_warp_shuffle"(%mask, %x, %c0, %c32, %c32)
            : (ui32, bf16, i32, i32, i32) -> bf16
        tir.attr "reduce_scope" (%r) = 0 : i32 {
          tir.thread_allreduce [%x] into [%R[%c0]] over [%t]
        }
        %y = tir.load %R[%c0] : bf16
        %z = tir.sub %y, %w : bf16
        tir.store %z, %B[%t] : bf16
      }
    }"""
    module = legalized(text)
    assert "(ui32, f32, i32, i32, i32) -> f32" in str(module)
    values = np.random.default_rng(1).integers(-64, 64, 32).astype(np.float32) / 8
    found = np.zeros(32, ml_dtypes.bfloat16)
    interpret(module)["f"](values.astype(ml_dtypes.bfloat16), found)
    # Sums of these numbers are exact in f32, and rounded once.
    expected = np.full(32, values.sum() - values[0]).astype(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(found, expected)


def test_values_defined_in_a_cycle() -> None:
    text = """
        tir.func @f(%p: i1) attributes {target = #tir.target<"llvm">} {
          "foreign.graph"() ({
            %a = tir.cast %b : f32 to bf16
            %b = tir.cast %a : bf16 to f32
            %c = tir.add %c, %a : bf16
            "foreign.use"(%c) : (bf16) -> ()
          }) : () -> ()
        }"""
    context = new_context(allow_unregistered=True)
    module = Parser(context, text).parse_module()
    BF16ComputeLegalize().apply(context, module)
    assert "tir.add %c, %b : f32" in str(module)


def test_time_is_linear() -> None:
    def effort(count: int) -> int:
        body = "\n".join(
            f"""%x{n} = tir.load %A[%c0] : bf16
            %y{n} = tir.add %x{n}, %k : bf16
            %z{n} = tir.cast %y{n} : bf16 to f32
            %w{n} = tir.cast %z{n} : f32 to bf16
            tir.store %w{n}, %A[%c0] : bf16"""
            for n in range(count)
        )
        module = parse(
            f"""tir.func @f(%p: !tir.ptr<bf16>)
                attributes {{target = #tir.target<"llvm">}} {{
              %A = tir.decl_buffer %p : !tir.buffer<4xbf16>
              %c0 = tir.const 0 : i32
              %k = tir.const 1.5 : bf16
              {body}
            }}"""
        )

        def run() -> None:
            BF16ComputeLegalize().apply(new_context(), module)
            BF16StorageLegalize().apply(new_context(), module)

        return calls(run)

    assert effort(100) < 11 * effort(10)

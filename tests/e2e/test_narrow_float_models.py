"""Models and functions on bfloat16 and float8, compiled for the CPU."""

from __future__ import annotations

from typing import Any, TypeAlias, cast

import ml_dtypes
import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="machine code needs llvmlite")

import xdsl_tvm

Array: TypeAlias = "np.ndarray[Any, Any]"

DTYPES: dict[str, Any] = {
    "bfloat16": ml_dtypes.bfloat16,
    "float8_e4m3fn": ml_dtypes.float8_e4m3fn,
    "float8_e5m2": ml_dtypes.float8_e5m2,
}
MLIR = dict(zip(DTYPES, ("bf16", "f8E4M3FN", "f8E5M2"), strict=True))

MODEL = """
@I.ir_module
class Module:
    @R.function
    def main(
        x: R.Tensor((4, 8), "float32"),
        w: R.Tensor((8, 6), "DTYPE"),
        b: R.Tensor((6,), "DTYPE"),
    ) -> R.Tensor((4, 6), "float32"):
        with R.dataflow():
            h = R.astype(x, dtype="DTYPE")
            m = R.matmul(h, w)
            a = R.add(m, b)
            r = R.nn.relu(a)
            o = R.astype(r, dtype="float32")
            R.output(o)
        return o
"""


@pytest.mark.parametrize("optimize", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_layer_of_a_network(dtype: str, optimize: bool) -> None:
    kind = DTYPES[dtype]
    rng = np.random.default_rng(0)
    x = rng.normal(size=(4, 8)).astype(np.float32)
    w = rng.normal(size=(8, 6)).astype(kind)
    b = rng.normal(size=6).astype(kind)
    main = xdsl_tvm.compile(MODEL.replace("DTYPE", dtype), optimize=optimize)["main"]
    found = np.asarray(main(x, w, b))
    products = x.astype(kind).astype(np.float32) @ w.astype(np.float32)
    if optimize and dtype == "bfloat16":
        # `relax-widen-sums`: a product is summed in f32, and rounded once.
        products = products.astype(kind).astype(np.float32)
    expected = np.maximum(products + b.astype(np.float32), 0)
    if optimize:
        # One kernel computes the rest in f32: only what casts convert is rounded.
        expected = expected.astype(kind).astype(np.float32)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    else:
        # Every operator stores what it computes, the product each partial sum.
        eps = float(cast(Any, ml_dtypes).finfo(kind).eps)
        partial = np.abs(x.astype(kind).astype(np.float32)) @ np.abs(w.astype(np.float32))
        assert np.all(np.abs(found - expected) <= 5 * eps * (partial + 1))


def cast_function(source: str, target: str, count: int) -> Any:
    text = f"""
    tir.func @f(%a: !tir.handle, %b: !tir.handle) attributes {{global_symbol = "f"}} {{
      %A = tir.match_buffer %a : !tir.buffer<{count}x{source}>
      %B = tir.match_buffer %b : !tir.buffer<{count}x{target}>
      %c0 = tir.const 0 : i32
      %n = tir.const {count} : i32
      tir.for %i = %c0 to %n {{
        %x = tir.load %A[%i] : {source}
        %y = tir.cast %x : {source} to {target}
        tir.store %y, %B[%i] : {target}
      }}
    }}"""
    return xdsl_tvm.compile(text)["f"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_all_values_and_ties_are_converted(dtype: str) -> None:
    kind: Any = np.dtype(DTYPES[dtype])
    size: int = kind.itemsize
    bits: Any = np.dtype(f"u{size}")
    every: Array = np.arange(1 << (8 * size)).astype(bits).view(kind)
    with np.errstate(all="ignore"):
        wide: Array = every.astype(np.float32)
        exact: Array = np.unique(wide[np.isfinite(wide)].astype(np.float64))
        exact = np.append(exact, 2 * exact[-1] - exact[-2])
        ties: Array = ((exact[1:] + exact[:-1]) / 2).astype(np.float32)
        inputs: Array = np.concatenate(
            [wide, ties, np.nextafter(ties, np.float32(9e9)), np.nextafter(ties, -ties)]
        )
        rounded: Array = inputs.astype(kind)
    found = np.zeros(len(every), np.float32)
    cast_function(MLIR[dtype], "f32", len(every))(every, found)
    np.testing.assert_array_equal(found, wide)
    narrow: Array = np.zeros(len(inputs), kind)
    cast_function("f32", MLIR[dtype], len(inputs))(inputs, narrow)
    same = narrow.view(bits) == rounded.view(bits)
    with np.errstate(all="ignore"):
        nan = np.isnan(inputs) & np.isnan(narrow.astype(np.float32))
    assert np.all(same | nan)


@pytest.mark.parametrize("dtype", DTYPES)
def test_scalar_parameters_and_results(dtype: str) -> None:
    text = """
    tir.func @f(%x: T, %y: T) -> T attributes {global_symbol = "f"} {
      %z = tir.add %x, %y : T
      tir.ret %z : T
    }""".replace("T", MLIR[dtype])
    f = xdsl_tvm.compile(text)["f"]
    for x, y in ((1.5, -0.25), (-3.0, 1.0), (2.0, 0.125)):
        assert f(x, y) == float(DTYPES[dtype](x + y))


def test_float4_is_refused_by_name() -> None:
    text = """
    tir.func @f(%x: f4E2M1FN) -> i1 attributes {global_symbol = "f"} {
      %z = tir.cmp lt %x, %x : f4E2M1FN
      tir.ret %z : i1
    }"""
    with pytest.raises(Exception, match="f4E2M1FN"):
        xdsl_tvm.compile(text)

"""The conversions to the llvm dialect, executed: compiled code against numpy."""

from __future__ import annotations

import ctypes
import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from support import paths

Array = npt.NDArray[Any]
Jit = Callable[..., Callable[..., Any]]

_P, _I64, _I32, _F32 = ctypes.c_void_p, ctypes.c_int64, ctypes.c_int32, ctypes.c_float


# ---------------------------------------------------------------------- control flow


def test_loop_carries_values_and_respects_bounds(jit: Jit) -> None:
    text = """
func.func @f(%lo : index, %hi : index, %step : index) -> index {
  %c1 = arith.constant 1 : index
  %a, %b = scf.for %i = %lo to %hi step %step iter_args(%s = %lo, %p = %c1)
      -> (index, index) {
    %s2 = arith.addi %s, %i : index
    %p2 = arith.muli %p, %s2 : index
    scf.yield %p2, %s2 : index, index
  }
  %r = arith.subi %a, %b : index
  func.return %r : index
}
"""
    run = jit(text, "f", _I64, _I64, _I64, _I64)
    for low, high, step in [(0, 5, 1), (3, 20, 4), (5, 5, 1), (7, 2, 3), (-9, 4, 2)]:
        a, b = low, 1
        for i in range(low, high, step):
            s2 = a + i
            a, b = b * s2, s2
        expected = (a - b + 2**63) % 2**64 - 2**63
        assert run(low, high, step) == expected


def test_nested_conditions(jit: Jit) -> None:
    text = """
func.func @f(%x : i32, %y : i32) -> i32 {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c7 = arith.constant 7 : i32
  %p = arith.cmpi slt, %x, %c0 : i32
  %q = arith.cmpi slt, %y, %c0 : i32
  %r = scf.if %p -> (i32) {
    %s = scf.if %q -> (i32) {
      %t = arith.muli %x, %y : i32
      scf.yield %t : i32
    } else {
      scf.yield %c7 : i32
    }
    %u = arith.addi %s, %c1 : i32
    scf.yield %u : i32
  } else {
    %v = arith.subi %x, %y : i32
    scf.yield %v : i32
  }
  func.return %r : i32
}
"""
    run = jit(text, "f", _I32, _I32, _I32)
    for x, y in [(-2, -3), (-2, 3), (2, -3), (2, 3), (0, 0)]:
        expected = (x * y if y < 0 else 7) + 1 if x < 0 else x - y
        assert run(x, y) == expected


def test_while_counts_collatz_steps(jit: Jit) -> None:
    text = """
func.func @f(%n : i64) -> i64 {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c2 = arith.constant 2 : i64
  %c3 = arith.constant 3 : i64
  %r:2 = scf.while (%x = %n, %k = %c0) : (i64, i64) -> (i64, i64) {
    %go = arith.cmpi ne, %x, %c1 : i64
    scf.condition(%go) %x, %k : i64, i64
  } do {
  ^bb0(%x : i64, %k : i64):
    %m = arith.remsi %x, %c2 : i64
    %even = arith.cmpi eq, %m, %c0 : i64
    %next = scf.if %even -> (i64) {
      %h = arith.divsi %x, %c2 : i64
      scf.yield %h : i64
    } else {
      %t = arith.muli %x, %c3 : i64
      %u = arith.addi %t, %c1 : i64
      scf.yield %u : i64
    }
    %k1 = arith.addi %k, %c1 : i64
    scf.yield %next, %k1 : i64, i64
  }
  func.return %r#1 : i64
}
"""
    run = jit(text, "f", _I64, _I64)

    def steps(n: int) -> int:
        count = 0
        while n != 1:
            n, count = (n // 2 if n % 2 == 0 else 3 * n + 1), count + 1
        return count

    assert [run(n) for n in range(1, 40)] == [steps(n) for n in range(1, 40)]


def test_parallel_reduces_in_order(jit: Jit) -> None:
    text = """
func.func @f(%n : index, %m : index, %x : memref<?x8xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %r = "scf.parallel"(%c0, %c0, %n, %m, %c1, %c1, %zero)
      <{operandSegmentSizes = array<i32: 2, 2, 2, 1>}> ({
  ^bb0(%i : index, %j : index):
    %v = memref.load %x[%i, %j] : memref<?x8xf32>
    "scf.reduce"(%v) ({
    ^bb1(%l : f32, %e : f32):
      %s = arith.addf %l, %e : f32
      scf.reduce.return %s : f32
    }) : (f32) -> ()
  }) : (index, index, index, index, index, index, f32) -> f32
  func.return %r : f32
}
"""
    run = jit(text, "f", _F32, _I64, _I64, _P)
    x = np.random.default_rng(0).normal(size=(6, 8)).astype(np.float32)
    total = np.float32(0)
    for value in x[:5, :7].ravel():
        total = np.float32(total + value)
    assert run(5, 7, x.ctypes.data) == total


def test_index_switch_and_execute_region(jit: Jit) -> None:
    text = """
func.func @f(%k : index) -> i32 {
  %r = scf.index_switch %k -> i32
  case 2 {
    %a = arith.constant 20 : i32
    scf.yield %a : i32
  }
  case -5 {
    %b = scf.execute_region -> (i32) {
      %c = arith.constant 50 : i32
      cf.br ^end(%c : i32)
    ^end(%d : i32):
      scf.yield %d : i32
    }
    scf.yield %b : i32
  }
  default {
    %e = arith.constant 99 : i32
    scf.yield %e : i32
  }
  func.return %r : i32
}
"""
    run = jit(text, "f", _I32, _I64)
    assert [run(2), run(-5), run(0), run(3)] == [20, 50, 99, 99]


# -------------------------------------------------------------------------- integers

_INTEGER_KERNEL = """
func.func @f(%x : memref<?xi{w}>, %y : memref<?xi{w}>, %z : memref<?xi{w}>, %n : index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {{
    %a = memref.load %x[%i] : memref<?xi{w}>
    %b = memref.load %y[%i] : memref<?xi{w}>
    {operation}
    memref.store %r, %z[%i] : memref<?xi{w}>
  }}
  func.return
}}
"""


def _binary(jit: Jit, width: int, operation: str, x: Array, y: Array) -> Array:
    text = _INTEGER_KERNEL.format(w=width, operation=operation)
    z = np.empty_like(x)
    run = jit(text, "f", None, _P, _P, _P, _I64)
    run(x.ctypes.data, y.ctypes.data, z.ctypes.data, x.size)
    return z


def _signed(width: int, avoid_zero: bool) -> tuple[Array, Array]:
    type = np.dtype(f"int{width}")
    info = np.iinfo(type)
    rng = np.random.default_rng(width)
    x = rng.integers(info.min, info.max, 4000, dtype=type, endpoint=True)
    y = rng.integers(info.min, info.max, 4000, dtype=type, endpoint=True)
    y[::2] = rng.integers(-9, 10, 2000)
    x[:100], y[100:200] = info.min, info.max
    if avoid_zero:
        y[y == 0] = 3
        y[(x == info.min) & (y == -1)] = 1
    return x, y


def _wrap(values: list[int], width: int) -> list[int]:
    half = 1 << (width - 1)
    return [(v + half) % (1 << width) - half for v in values]


def _truncate(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


_INTEGER_OPERATIONS: dict[str, tuple[Callable[[int, int, int], int], bool]] = {
    "addi": (lambda a, b, w: a + b, False),
    "subi": (lambda a, b, w: a - b, False),
    "muli": (lambda a, b, w: a * b, False),
    "divsi": (lambda a, b, w: _truncate(a, b), True),
    "remsi": (lambda a, b, w: a - b * _truncate(a, b), True),
    "floordivsi": (lambda a, b, w: a // b, True),
    "ceildivsi": (lambda a, b, w: -(-a // b), True),
    "divui": (lambda a, b, w: (a % 2**w) // (b % 2**w), True),
    "remui": (lambda a, b, w: (a % 2**w) % (b % 2**w), True),
    "ceildivui": (lambda a, b, w: -(-(a % 2**w) // (b % 2**w)), True),
    "minsi": (lambda a, b, w: min(a, b), False),
    "maxsi": (lambda a, b, w: max(a, b), False),
    "minui": (lambda a, b, w: min(a % 2**w, b % 2**w), False),
    "maxui": (lambda a, b, w: max(a % 2**w, b % 2**w), False),
    "andi": (lambda a, b, w: a & b, False),
    "ori": (lambda a, b, w: a | b, False),
    "xori": (lambda a, b, w: a ^ b, False),
}


@pytest.mark.parametrize("width", [8, 32, 64])
@pytest.mark.parametrize("name", _INTEGER_OPERATIONS)
def test_integer_operation(jit: Jit, name: str, width: int) -> None:
    reference, avoid_zero = _INTEGER_OPERATIONS[name]
    x, y = _signed(width, avoid_zero)
    z = _binary(jit, width, f"%r = arith.{name} %a, %b : i{width}", x, y)
    pairs = zip(x.tolist(), y.tolist(), strict=True)
    assert z.tolist() == _wrap([reference(a, b, width) for a, b in pairs], width)


_SHIFTS: dict[str, Callable[[int, int], int]] = {
    "shli": lambda a, b: a << b,
    "shrsi": lambda a, b: a >> b,
    "shrui": lambda a, b: (a % 2**32) >> b,
}

_PRODUCTS: list[tuple[str, int, Callable[[int, int], int]]] = [
    ("mulsi_extended", 0, lambda a, b: a * b),
    ("mulsi_extended", 1, lambda a, b: (a * b) >> 32),
    ("mului_extended", 1, lambda a, b: ((a % 2**32) * (b % 2**32)) >> 32),
]


@pytest.mark.parametrize("name", _SHIFTS)
def test_shift(jit: Jit, name: str) -> None:
    x, y = _signed(32, False)
    y = y % 32
    z = _binary(jit, 32, f"%r = arith.{name} %a, %b : i32", x, y)
    reference = _SHIFTS[name]
    pairs = zip(x.tolist(), y.tolist(), strict=True)
    assert z.tolist() == _wrap([reference(a, b) for a, b in pairs], 32)


@pytest.mark.parametrize(("name", "index", "reference"), _PRODUCTS)
def test_extended_product(
    jit: Jit, name: str, index: int, reference: Callable[[int, int], int]
) -> None:
    x, y = _signed(32, False)
    operation = f"%p, %q = arith.{name} %a, %b : i32\n%z0 = arith.constant 0 : i32\n"
    operation += f"%r = arith.ori {'%p' if index == 0 else '%q'}, %z0 : i32"
    z = _binary(jit, 32, operation, x, y)
    pairs = zip(x.tolist(), y.tolist(), strict=True)
    assert z.tolist() == _wrap([reference(a, b) for a, b in pairs], 32)


def test_carry(jit: Jit) -> None:
    x, y = _signed(32, False)
    operation = "%s, %c = arith.addui_extended %a, %b : i32, i1\n"
    z = _binary(jit, 32, operation + "%r = arith.extui %c : i1 to i32", x, y)
    unsigned = x.astype(np.uint32).astype(np.uint64) + y.astype(np.uint32)
    assert z.tolist() == (unsigned >> np.uint64(32)).tolist()


_CMPI = {
    "eq": np.equal,
    "ne": np.not_equal,
    "slt": np.less,
    "sle": np.less_equal,
    "sgt": np.greater,
    "sge": np.greater_equal,
}


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("name", _CMPI)
def test_integer_comparison(jit: Jit, name: str, signed: bool) -> None:
    x, y = _signed(32, False)
    y[::5] = x[::5]
    predicate = name if signed or name in ("eq", "ne") else name.replace("s", "u", 1)
    operation = f"%c = arith.cmpi {predicate}, %a, %b : i32\n"
    z = _binary(jit, 32, operation + "%r = arith.extui %c : i1 to i32", x, y)
    left, right = (x, y) if signed else (x.astype(np.uint32), y.astype(np.uint32))
    np.testing.assert_array_equal(z, _CMPI[name](left, right))


# ---------------------------------------------------------------------------- floats

_FLOAT_KERNEL = """
func.func @f(%x : memref<?x{t}>, %y : memref<?x{t}>, %z : memref<?x{r}>, %n : index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {{
    %a = memref.load %x[%i] : memref<?x{t}>
    %b = memref.load %y[%i] : memref<?x{t}>
    {operation}
    memref.store %r, %z[%i] : memref<?x{r}>
  }}
  func.return
}}
"""


def _float_binary(
    jit: Jit, operation: str, x: Array, y: Array, result: str, dtype: Any, type: str
) -> Array:
    text = _FLOAT_KERNEL.format(t=type, r=result, operation=operation)
    z = np.empty(x.size, dtype=dtype)
    run = jit(text, "f", None, _P, _P, _P, _I64)
    run(x.ctypes.data, y.ctypes.data, z.ctypes.data, x.size)
    return z


def _float_pairs(dtype: Any) -> tuple[Array, Array]:
    special = np.array(
        [0.0, -0.0, 1.0, -1.0, 2.5, np.inf, -np.inf, np.nan, 1e-40, 3e38], dtype=dtype
    )
    left, right = (grid.ravel() for grid in np.meshgrid(special, special))
    rng = np.random.default_rng(1)
    return (
        np.concatenate([left, rng.normal(size=500).astype(dtype)]),
        np.concatenate([right, rng.normal(size=500).astype(dtype)]),
    )


def _bits(x: Array) -> Array:
    """The bits, with all NaN made one."""
    return np.where(np.isnan(x), np.nan, x).astype(x.dtype).view(f"u{x.itemsize}")


def _maximum(a: float, b: float) -> float:
    if math.isnan(a) or math.isnan(b):
        return math.nan
    if a == b == 0:
        return 0.0 if math.copysign(1, a) > 0 or math.copysign(1, b) > 0 else -0.0
    return max(a, b)


def _minimum(a: float, b: float) -> float:
    return -_maximum(-a, -b)


@pytest.mark.parametrize("type", ["f32", "f64"])
@pytest.mark.parametrize("name", ["maximumf", "minimumf"])
def test_nan_wins_and_zeros_are_ordered(jit: Jit, name: str, type: str) -> None:
    dtype = np.float32 if type == "f32" else np.float64
    x, y = _float_pairs(dtype)
    z = _float_binary(jit, f"%r = arith.{name} %a, %b : {type}", x, y, type, dtype, type)
    reference = _maximum if name == "maximumf" else _minimum
    pairs = zip(x.tolist(), y.tolist(), strict=True)
    expected = np.array([reference(a, b) for a, b in pairs], dtype=dtype)
    np.testing.assert_array_equal(_bits(z), _bits(expected))


@pytest.mark.parametrize(
    ("name", "reference"), [("maxnumf", np.fmax), ("minnumf", np.fmin)]
)
def test_nan_loses(jit: Jit, name: str, reference: Any) -> None:
    x, y = _float_pairs(np.float32)
    z = _float_binary(
        jit, f"%r = arith.{name} %a, %b : f32", x, y, "f32", np.float32, "f32"
    )
    np.testing.assert_array_equal(z, reference(x, y))


_CMPF: dict[str, Callable[[Array, Array, Array], Array]] = {
    "false": lambda a, b, u: np.zeros_like(u),
    "oeq": lambda a, b, u: (a == b) & ~u,
    "ogt": lambda a, b, u: (a > b) & ~u,
    "oge": lambda a, b, u: (a >= b) & ~u,
    "olt": lambda a, b, u: (a < b) & ~u,
    "ole": lambda a, b, u: (a <= b) & ~u,
    "one": lambda a, b, u: (a != b) & ~u,
    "ord": lambda a, b, u: ~u,
    "ueq": lambda a, b, u: (a == b) | u,
    "ugt": lambda a, b, u: (a > b) | u,
    "uge": lambda a, b, u: (a >= b) | u,
    "ult": lambda a, b, u: (a < b) | u,
    "ule": lambda a, b, u: (a <= b) | u,
    "une": lambda a, b, u: (a != b) | u,
    "uno": lambda a, b, u: u,
    "true": lambda a, b, u: np.ones_like(u),
}


@pytest.mark.parametrize("predicate", _CMPF)
def test_float_comparison(jit: Jit, predicate: str) -> None:
    x, y = _float_pairs(np.float32)
    operation = f"%r = arith.cmpf {predicate}, %a, %b : f32"
    z = _float_binary(jit, operation, x, y, "i1", np.uint8, "f32")
    expected = _CMPF[predicate](x, y, np.isnan(x) | np.isnan(y))
    np.testing.assert_array_equal(z, expected.astype(np.uint8))


@pytest.mark.parametrize(
    ("type", "dtype", "target", "result"),
    [
        ("f32", np.float32, "i32", np.int32),
        ("f64", np.float64, "i64", np.int64),
        ("f32", np.float32, "i8", np.int8),
    ],
)
def test_float_to_integer_and_back(
    jit: Jit, type: str, dtype: Any, target: str, result: Any
) -> None:
    x = np.random.default_rng(2).uniform(-120, 120, 500).astype(dtype)
    operation = f"%r = arith.fptosi %a : {type} to {target}"
    z = _float_binary(jit, operation, x, x, target, result, type)
    np.testing.assert_array_equal(z, np.trunc(x).astype(result))
    operation = f"%k = arith.fptosi %a : {type} to {target}\n"
    operation += f"%r = arith.sitofp %k : {target} to {type}"
    back = _float_binary(jit, operation, x, x, type, dtype, type)
    np.testing.assert_array_equal(back, np.trunc(x))


def test_unsigned_conversions(jit: Jit) -> None:
    x = np.array([0.0, 1.5, 3e9, 4294967040.0], dtype=np.float32)
    operation = "%r = arith.fptoui %a : f32 to i32"
    z = _float_binary(jit, operation, x, x, "i32", np.uint32, "f32")
    np.testing.assert_array_equal(z, x.astype(np.uint32))
    operation = "%k = arith.fptoui %a : f32 to i32\n%r = arith.uitofp %k : i32 to f64"
    back = _float_binary(jit, operation, x, x, "f64", np.float64, "f32")
    np.testing.assert_array_equal(back, np.trunc(x))


# ------------------------------------------------------------------------------ bf16


def _to_bf16(x: npt.NDArray[np.float64]) -> npt.NDArray[np.uint16]:
    """f64 rounded once to bf16, to nearest even, by exact arithmetic."""
    result: list[int] = []
    for value in x.tolist():
        if math.isnan(value):
            result.append(0x7FC0)
            continue
        sign = 0x8000 if math.copysign(1.0, value) < 0 else 0
        size = abs(value)
        if math.isinf(size):
            result.append(sign | 0x7F80)
            continue
        exponent = max(math.frexp(size)[1] - 8, -133) if size else -133
        steps = round(math.ldexp(size, -exponent))  # to even
        number = math.ldexp(steps, exponent)
        finite = number < 2.0**128
        bits = int(np.float32(number).view(np.uint32)) >> 16 if finite else 0x7F80
        result.append(sign | bits)
    return np.array(result, dtype=np.uint16)


def _from_bf16(x: npt.NDArray[np.uint16]) -> npt.NDArray[np.float32]:
    return (x.astype(np.uint32) << 16).view(np.float32)


def _halfway_cases() -> npt.NDArray[np.float64]:
    rng = np.random.default_rng(7)
    bits = rng.integers(0, 2**16, 4000, dtype=np.uint32) << 16
    tails = rng.choice([0, 0x7FFF, 0x8000, 0x8001, 0xFFFF], 4000).astype(np.uint32)
    near = (bits | tails).view(np.float32).astype(np.float64)
    with np.errstate(all="ignore"):
        nudged = near * (1 + rng.choice([-1, 0, 1], 4000) * 2.0**-50)
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 3.4e38, 3.39e38, 1e-40, 1e300, -1e300]
    return np.concatenate([near, nudged, special, [1e-46, 2.0**-134, 1.5 * 2.0**-134]])


@pytest.mark.parametrize("type", ["f32", "f64"])
def test_truncation_to_bf16_rounds_once(jit: Jit, type: str) -> None:
    with np.errstate(all="ignore"):
        x = _halfway_cases().astype(np.float32 if type == "f32" else np.float64)
    operation = f"%r = arith.truncf %a : {type} to bf16"
    z = _float_binary(jit, operation, x, x, "bf16", np.uint16, type)
    expected = _to_bf16(x.astype(np.float64))
    nan = np.isnan(x)
    np.testing.assert_array_equal(z[~nan], expected[~nan])
    assert np.isnan(_from_bf16(z[nan])).all()


def test_truncation_from_f64_to_f16_rounds_once(jit: Jit) -> None:
    rng = np.random.default_rng(9)
    halves = rng.integers(0, 2**16, 4000, dtype=np.uint16).view(np.float16)
    with np.errstate(all="ignore"):
        midpoint = halves.astype(np.float64) * (1 + 2.0**-11)
        x = midpoint * (1 + rng.choice([-1, 0, 1], 4000) * 2.0**-45)
        expected = x.astype(np.float16)
    operation = "%r = arith.truncf %a : f64 to f16"
    z = _float_binary(jit, operation, x, x, "f16", np.float16, "f64")
    np.testing.assert_array_equal(z, expected)


@pytest.mark.parametrize("name", ["addf", "subf", "mulf", "divf"])
def test_bf16_arithmetic_rounds_once(jit: Jit, name: str) -> None:
    rng = np.random.default_rng(11)
    x, y = (rng.integers(0, 2**16, 3000, dtype=np.uint16) for _ in range(2))
    operation = f"%r = arith.{name} %a, %b : bf16"
    z = _float_binary(jit, operation, x, y, "bf16", np.uint16, "bf16")
    a, b = _from_bf16(x), _from_bf16(y)
    with np.errstate(all="ignore"):
        wide = {
            "addf": np.add,
            "subf": np.subtract,
            "mulf": np.multiply,
            "divf": np.divide,
        }[name](a, b)
    expected = _to_bf16(wide.astype(np.float64))
    nan = np.isnan(wide)
    np.testing.assert_array_equal(z[~nan], expected[~nan])
    assert np.isnan(_from_bf16(z[nan])).all()


# ---------------------------------------------------------------------------- memory


def test_matmul(jit: Jit) -> None:
    text = """
func.func @f(%a : memref<?x16xf32> {llvm.noalias}, %b : memref<16x8xf32> {llvm.noalias},
             %c : memref<?x8xf32> {llvm.noalias}, %m : index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %m step %c1 {
    scf.for %j = %c0 to %c8 step %c1 {
      %s = scf.for %k = %c0 to %c16 step %c1 iter_args(%acc = %zero) -> (f32) {
        %x = memref.load %a[%i, %k] : memref<?x16xf32>
        %y = memref.load %b[%k, %j] : memref<16x8xf32>
        %p = arith.mulf %x, %y : f32
        %t = arith.addf %acc, %p fastmath<reassoc,contract> : f32
        scf.yield %t : f32
      }
      memref.store %s, %c[%i, %j] : memref<?x8xf32>
    }
  }
  func.return
}
"""
    rng = np.random.default_rng(0)
    a = rng.normal(size=(5, 16)).astype(np.float32)
    b = rng.normal(size=(16, 8)).astype(np.float32)
    c = np.empty((5, 8), np.float32)
    run = jit(text, "f", None, _P, _P, _P, _I64)
    run(a.ctypes.data, b.ctypes.data, c.ctypes.data, 5)
    np.testing.assert_allclose(c, a @ b, rtol=1e-5, atol=1e-5)


_ANY_ORDER = (
    "tvm-convert-arith-to-llvm",
    "tvm-convert-cf-to-llvm",
    "tvm-convert-memref-to-llvm",
    "tvm-convert-func-to-llvm",
)

_GATHER = """
func.func @f(%m : memref<?x4xf32>, %at : memref<?xindex>, %n : index) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0.0 : f32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero) -> (f32) {
    %k = memref.load %at[%i] : memref<?xindex>
    %row = arith.floordivsi %k, %c4 : index
    %col = arith.remsi %k, %c4 : index
    %v = memref.load %m[%row, %col] : memref<?x4xf32>
    %t = arith.addf %s, %v : f32
    scf.yield %t : f32
  }
  func.return %r : f32
}
"""


@pytest.mark.parametrize("stock", ["", "cse", "canonicalize"])
@pytest.mark.parametrize("order", list(itertools.permutations(_ANY_ORDER)))
def test_conversions_meet_in_any_order(
    lower: Callable[..., Any], order: tuple[str, ...], stock: str
) -> None:
    between = (stock,) if stock else ()
    passes = ["tvm-convert-scf-to-cf"]
    for name in order:
        passes += [*between, name]
    module = lower(_GATHER, tuple(passes))
    left = {op.name for op in module.walk()} - {"builtin.module"}
    assert all(name.startswith(("llvm.", "tvm_llvm.")) for name in left), left


def test_gathered_sum(jit: Jit) -> None:
    run = jit(_GATHER, "f", _F32, _P, _P, _I64)
    m = np.arange(12, dtype=np.float32).reshape(3, 4)
    at = np.array([11, 0, 5, 5, 2], dtype=np.int64)
    assert run(m.ctypes.data, at.ctypes.data, 5) == m.ravel()[at].sum()


def test_scratch_globals_views_and_copies(jit: Jit) -> None:
    text = """
"memref.global"() <{sym_name = "table", sym_visibility = "private", constant,
  type = memref<2x3xi32>, initial_value = dense<[[1, 2, 3], [4, 5, 6]]>
    : tensor<2x3xi32>}> : () -> ()
"memref.global"() <{sym_name = "flags", sym_visibility = "private", constant,
  type = memref<3xi1>, initial_value = dense<[true, false, true]> : tensor<3xi1>}>
  : () -> ()
func.func @f(%out : memref<2x3xi32>, %n : index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %k = arith.constant 1 : i32
  %heap = memref.alloc(%n) : memref<?x3xi32>
  %stack = memref.alloca() : memref<2x3xi32>
  %t = memref.get_global @table : memref<2x3xi32>
  %flags = memref.get_global @flags : memref<3xi1>
  "memref.copy"(%t, %stack) : (memref<2x3xi32>, memref<2x3xi32>) -> ()
  scf.for %j = %c0 to %c3 step %c1 {
    %flag = memref.load %flags[%j] : memref<3xi1>
    %bonus = arith.extui %flag : i1 to i32
    %row = memref.subview %stack[%c1, 0] [1, 3] [1, 1]
      : memref<2x3xi32> to memref<3xi32, strided<[1], offset: ?>>
    %v = memref.load %row[%j] : memref<3xi32, strided<[1], offset: ?>>
    %w = arith.addi %v, %bonus : i32
    memref.store %w, %heap[%c0, %j] : memref<?x3xi32>
    %old = "memref.atomic_rmw"(%k, %stack, %c0, %j) <{kind = 1 : i64}>
      : (i32, memref<2x3xi32>, index, index) -> i32
    %x = memref.load %heap[%c0, %j] : memref<?x3xi32>
    memref.store %x, %out[%c0, %j] : memref<2x3xi32>
    %y = memref.load %stack[%c0, %j] : memref<2x3xi32>
    %z = arith.muli %y, %old : i32
    memref.store %z, %out[%c1, %j] : memref<2x3xi32>
  }
  memref.dealloc %heap : memref<?x3xi32>
  func.return
}
"""
    out = np.zeros((2, 3), np.int32)
    jit(text, "f", None, _P, _I64)(out.ctypes.data, 2)
    assert out.tolist() == [[5, 5, 7], [2, 6, 12]]


def test_a_function_calls_another(jit: Jit) -> None:
    text = """
func.func private @square(%x : f32) -> f32 {
  %y = arith.mulf %x, %x : f32
  func.return %y : f32
}
func.func @f(%x : f32) -> f32 {
  %y = func.call @square(%x) : (f32) -> f32
  %z = func.call @square(%y) : (f32) -> f32
  func.return %z : f32
}
"""
    assert jit(text, "f", _F32, _F32)(3.0) == 81.0


def test_a_failed_assertion_says_why_and_aborts() -> None:
    pytest.importorskip("llvmlite")
    import subprocess
    import sys

    source = """
import ctypes
from support.lowering import lower_module
from xdsl_tvm.runtime.llvm_jit import load
from xdsl_tvm.lowering.llvm_text.emitter import emit_llvm_ir
module = lower_module('''
func.func @f(%x : i32) {
  %c7 = arith.constant 7 : i32
  %ok = arith.cmpi eq, %x, %c7 : i32
  cf.assert %ok, "seven, please"
  func.return
}
''')
run = load(emit_llvm_ir(module), ["f"]).function("f", None, ctypes.c_int)
run(7)
run(8)
"""
    done = subprocess.run(
        [sys.executable, "-c", source],
        capture_output=True,
        cwd=paths.TESTS,
        check=False,
        timeout=120,
    )
    assert done.returncode != 0
    assert done.stderr == b"seven, please\n"


def test_deeply_nested_loops_need_no_recursion() -> None:
    from xdsl.context import Context
    from xdsl.dialects import arith, func, scf
    from xdsl.dialects.builtin import IndexType, ModuleOp
    from xdsl.ir import Block, Region

    from xdsl_tvm.lowering.to_llvm.convert_scf_to_cf import ConvertSCFToCF

    index = IndexType()
    one = arith.ConstantOp.from_int_and_width(1, index)
    inner: list[Any] = [scf.YieldOp()]
    for _ in range(400):
        body = Block(inner, arg_types=[index])
        inner = [scf.ForOp(one, one, one, [], Region(body)), scf.YieldOp()]
    entry = Block([one, inner[0], func.ReturnOp()])
    inner[1].erase()
    module = ModuleOp([func.FuncOp("f", ([], []), Region(entry))])
    ConvertSCFToCF().apply(Context(), module)
    function = module.body.block.first_op
    assert isinstance(function, func.FuncOp)
    assert len(function.body.blocks) == 1 + 3 * 400

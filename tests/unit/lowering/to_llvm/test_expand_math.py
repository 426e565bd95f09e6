"""Every expanded function against a reference of higher precision, on wide ranges.

Errors are in units in the last place of the result (ulp). `pytest -s` prints them.
"""

from __future__ import annotations

import ctypes
import math
import os
import warnings
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

Array = npt.NDArray[Any]
MANY = "XDSL_TVM_FUZZ" in os.environ
SHARE = 1 if MANY else 5
"""Of how many numbers one takes part."""
Jit = Callable[..., Callable[..., Any]]

_KERNEL = """
func.func @f({arguments}, %y : memref<?x{type}> {{llvm.noalias}}, %n : index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {{
    {loads}
    %r = {operation}
    memref.store %r, %y[%i] : memref<?x{type}>
  }}
  func.return
}}
"""


def _kernel(name: str, type: str, count: int) -> str:
    names = [f"%x{k}" for k in range(count)]
    return _KERNEL.format(
        type=type,
        arguments=", ".join(f"{n} : memref<?x{type}> {{llvm.noalias}}" for n in names),
        loads="\n".join(
            f"%v{k} = memref.load {n}[%i] : memref<?x{type}>" for k, n in enumerate(names)
        ),
        operation=f"math.{name} "
        + ", ".join(f"%v{k}" for k in range(count))
        + f" : {type}",
    )


def _run(jit: Jit, name: str, type: str, *inputs: Array) -> Array:
    pointers = [ctypes.c_void_p] * (len(inputs) + 1)
    function = jit(_kernel(name, type, len(inputs)), "f", None, *pointers, ctypes.c_int64)
    output = np.empty_like(inputs[0])
    function(*(x.ctypes.data for x in inputs), output.ctypes.data, output.size)
    return output


def _ulp_errors(actual: Array, expected: npt.NDArray[np.longdouble]) -> Array:
    """Errors in ulp where both are finite; infinite where one is not and they differ."""
    type = actual.dtype.type
    with np.errstate(all="ignore"):
        return _errors_of(actual, expected, type)


def _errors_of(
    actual: Array, expected: npt.NDArray[np.longdouble], type: type[Any]
) -> Array:
    rounded = expected.astype(type)
    finite = np.isfinite(actual) & np.isfinite(rounded)
    same = (actual == rounded) | (np.isnan(actual) & np.isnan(rounded))
    spacing = np.spacing(np.abs(np.where(finite, rounded, 1)))
    difference = np.abs(actual.astype(np.longdouble) - expected)
    errors = np.where(finite, difference / spacing.astype(np.longdouble), 0)
    # The last finite number before overflow may go either way.
    largest = np.finfo(type).max
    edge = np.isinf(rounded) & (np.abs(actual) == largest)
    edge |= np.isinf(actual) & (np.abs(expected) >= largest * (1 - 2.0**-20))
    return np.where(finite | same | edge, errors, np.inf).astype(np.float64)


def _wide(type: type[Any], count: int, seed: int) -> Array:
    """Numbers of both signs over the whole range of exponents, and the special ones."""
    rng = np.random.default_rng(seed)
    info = np.finfo(type)
    exponents = rng.uniform(info.minexp - 20, info.maxexp, count)
    with np.errstate(over="ignore", under="ignore"):
        numbers = np.ldexp(rng.uniform(0.5, 1.0, count), exponents.astype(int))
        numbers *= rng.choice([-1.0, 1.0], count)
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, -0.5, 2.0]
    special += [info.max, info.min, info.tiny, info.smallest_subnormal, 1 + info.eps]
    special += [1 - info.epsneg, -info.smallest_subnormal, math.pi / 2, math.e]
    return np.concatenate([numbers, special]).astype(type)


def _inputs(type: type[Any], low: float, high: float) -> Array:
    rng = np.random.default_rng(17)
    dense = rng.uniform(low, high, 40_000)
    near = rng.uniform(-1, 1, 20_000) * rng.choice([1.0, 1e-3, 2.0, 8.0], 20_000)
    around_one = 1 + rng.uniform(-1, 1, 10_000) * rng.choice([0.5, 1e-2, 1e-5], 10_000)
    parts = [dense.astype(type), near.astype(type), around_one.astype(type)]
    wide = _wide(type, 20_000 // SHARE, 3)
    return np.concatenate([*(part[::SHARE] for part in parts), wide])


def _erf(x: Array) -> Any:
    return np.array([math.erf(float(v)) for v in x], dtype=np.longdouble)


def _round(x: Any) -> Any:
    return np.copysign(np.floor(np.abs(x) + np.longdouble(0.5)), x)


_UNARY: dict[str, tuple[Callable[[Any], Any], tuple[float, float], float, float]] = {
    # name: reference, range, bound in ulp for f32 and for f64
    "exp": (np.exp, (-110, 90), 1.0, 1.0),
    "exp2": (np.exp2, (-150, 130), 1.0, 1.0),
    "expm1": (np.expm1, (-20, 90), 2.0, 2.0),
    "log": (np.log, (0, 100), 1.0, 1.0),
    "log2": (np.log2, (0, 100), 1.0, 1.0),
    "log10": (np.log10, (0, 100), 1.0, 1.0),
    "log1p": (np.log1p, (-1, 100), 2.0, 2.0),
    "tanh": (np.tanh, (-10, 10), 3.0, 3.0),
    "sinh": (np.sinh, (-90, 90), 3.0, 3.0),
    "cosh": (np.cosh, (-90, 90), 3.0, 3.0),
    "erf": (_erf, (-6, 6), 2.0, 2.0),
    "sin": (np.sin, (-1000, 1000), 1.0, 1.0),
    "cos": (np.cos, (-1000, 1000), 1.0, 1.0),
    "tan": (np.tan, (-1000, 1000), 1.0, 4.0),
    "asin": (np.arcsin, (-1, 1), 1.0, 3.0),
    "acos": (np.arccos, (-1, 1), 1.0, 3.0),
    "atan": (np.arctan, (-50, 50), 1.0, 2.0),
    "rsqrt": (lambda x: 1 / np.sqrt(x), (0, 100), 1.5, 1.5),
    "round": (_round, (-1000, 1000), 0.0, 0.0),
}


def _check(
    label: str, actual: Array, expected: Any, bound: float, *inputs: Array
) -> None:
    errors = _ulp_errors(actual, np.asarray(expected, dtype=np.longdouble))
    worst = int(np.argmax(errors))
    at = ", ".join(repr(x[worst]) for x in inputs)
    print(f"{label}: {errors[worst]:.3f} ulp at {at}")
    assert errors[worst] <= bound, (
        f"{label}({at}) = {actual[worst]!r}, expected {expected[worst]!r}"
    )


@pytest.mark.parametrize("type", ["f32", "f64"])
@pytest.mark.parametrize("name", _UNARY)
def test_unary_function_stays_within_its_bound(jit: Jit, name: str, type: str) -> None:
    reference, (low, high), single_bound, double_bound = _UNARY[name]
    dtype = np.float32 if type == "f32" else np.float64
    # The exponential functions of f64 reach eight times as far as those of f32.
    reach = 8 if type == "f64" and low < -50 and low > -1000 else 1
    x = _inputs(dtype, reach * low, reach * high)
    if name in ("sin", "cos", "tan") and type == "f64":
        x = np.where(np.abs(x) > 2.0**45, np.nan, x)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = reference(x.astype(np.longdouble))
    actual = _run(jit, name, type, x)
    bound = single_bound if type == "f32" else double_bound
    _check(f"{name} {type}", actual, expected, bound, x)


@pytest.mark.parametrize("name", ["exp", "expm1", "tanh", "sin", "tan", "erf", "atan"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_odd_functions_keep_the_sign_of_zero(
    jit: Jit, name: str, dtype: type[Any]
) -> None:
    type = "f32" if dtype is np.float32 else "f64"
    y = _run(jit, name, type, np.array([0.0, -0.0], dtype=dtype))
    expected = [1.0, 1.0] if name == "exp" else [0.0, -0.0]
    assert y.tolist() == expected
    assert np.signbit(y).tolist() == [False, name != "exp"]


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_large_f64_angles_give_nan_rather_than_noise(jit: Jit, name: str) -> None:
    x = np.array([2.0**45 + 1, -1e30, 1e300, np.inf])
    assert np.isnan(_run(jit, name, "f64", x)).all()


def test_f64_angles_near_multiples_of_a_quarter_turn(jit: Jit) -> None:
    turns = np.arange(-600_000, 600_000, 7 * SHARE) * (np.pi / 2)
    far = np.floor(np.geomspace(1, 2.0**44, 50_000)) * (np.pi / 2)
    x = np.concatenate([turns, far])
    for name, reference in (("sin", np.sin), ("cos", np.cos)):
        expected = reference(x.astype(np.longdouble))
        # Near zeros of sin and cos, the reference itself has few bits left.
        clear = np.abs(expected) > 1e-3
        actual = _run(jit, name, "f64", x)
        _check(f"{name} far", actual[clear], expected[clear], 1.0, x[clear])


def test_sines_next_to_their_zeros(jit: Jit) -> None:
    x = np.array([math.pi, 355.0, 21256724014507.082, 1e13])
    exact = [
        1.2246467991473532e-16,
        -3.014435335948845e-05,
        -0.0024853771047860006,
        -0.2888852948175251,
    ]
    assert _run(jit, "sin", "f64", x).tolist() == pytest.approx(exact, rel=3e-16)


def _pairs(type: type[Any]) -> tuple[Array, Array]:
    rng = np.random.default_rng(5)
    x = np.exp(rng.uniform(-3, 3, 60_000)) * rng.choice([1, 1, 1, -1], 60_000)
    y = rng.uniform(-60, 60, 60_000)
    y[::3] = np.round(y[::3])
    near_one = 1 + rng.uniform(-1e-4, 1e-4, 20_000)
    far = rng.uniform(-1e5, 1e5, 20_000)
    special = np.array(
        [0.0, -0.0, 1.0, -1.0, 2.0, 3.0, -3.0, 0.5, -0.5, 1e30, -1e30]
        + [np.inf, -np.inf, np.nan, np.finfo(type).smallest_subnormal]
    )
    left, right = (grid.ravel() for grid in np.meshgrid(special, special))
    wide_x, wide_y = _wide(type, 5_000, 8), _wide(type, 5_000, 9)
    few = slice(None, None, SHARE)
    return (
        np.concatenate([x[few], near_one[few], left, wide_x[few]]).astype(type),
        np.concatenate([y[few], far[few], right, wide_y[few]]).astype(type),
    )


@pytest.mark.parametrize(
    ("name", "dtype", "bound"),
    [
        ("powf", np.float32, 1.0),
        ("powf", np.float64, 1.5),
        ("atan2", np.float32, 1.0),
        ("atan2", np.float64, 2.5),
    ],
)
def test_binary_function_stays_within_its_bound(
    jit: Jit, name: str, dtype: type[Any], bound: float
) -> None:
    x, y = _pairs(dtype)
    reference = np.power if name == "powf" else np.arctan2
    with np.errstate(all="ignore"):
        expected = reference(x.astype(np.longdouble), y.astype(np.longdouble))
    type = "f32" if dtype is np.float32 else "f64"
    _check(f"{name} {type}", _run(jit, name, type, x, y), expected, bound, x, y)


def _fpowi_text(type: str) -> str:
    return f"""
func.func @f(%x : {type}, %n : i32) -> {type} {{
  %r = math.fpowi %x, %n : {type}, i32
  func.return %r : {type}
}}
"""


def test_fpowi(jit: Jit) -> None:
    power = jit(_fpowi_text("f64"), "f", ctypes.c_double, ctypes.c_double, ctypes.c_int)
    for x, n in [(1.5, 7), (-1.5, 3), (-2.0, -3), (0.0, -2), (3.0, 0), (-1.0, 2**31 - 1)]:
        expected = math.inf if x == 0 and n < 0 else x**n
        assert power(x, n) == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize("name", ["exp", "tanh", "sin", "log", "sqrt"])
def test_f16_is_computed_in_f32(jit: Jit, name: str) -> None:
    x = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(x.astype(np.float64))
    _check(f"{name} f16", _run(jit, name, "f16", x), expected, 0.51, x)


@pytest.mark.parametrize(
    ("name", "type"),
    [
        *(("exp", "f32"), ("tanh", "f32"), ("erf", "f32")),
        *(("log1p", "f64"), ("sin", "f64"), ("atan", "f64")),
        *(product(("log1p", "sin", "atan"), ["f32"]) if MANY else ()),
        *(product(("exp", "tanh", "erf"), ["f64"]) if MANY else ()),
    ],
)
def test_vectors_agree_with_scalars(jit: Jit, name: str, type: str) -> None:
    dtype = np.float32 if type == "f32" else np.float64
    vector = f"vector<8x{type}>"
    text = f"""
func.func @f(%x : memref<?x{vector}>, %y : memref<?x{vector}>, %n : index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {{
    %v = memref.load %x[%i] : memref<?x{vector}>
    %r = math.{name} %v : {vector}
    memref.store %r, %y[%i] : memref<?x{vector}>
  }}
  func.return
}}
"""
    x = _inputs(dtype, -10, 10)
    x = x[: x.size // 8 * 8].copy()
    y = np.empty_like(x)
    function = jit(text, "f", None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
    function(x.ctypes.data, y.ctypes.data, x.size // 8)
    np.testing.assert_array_equal(y, _run(jit, name, type, x))

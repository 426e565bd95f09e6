"""Scalars of every dtype family, casts and builtins, compared with exact arithmetic."""

import importlib
import math
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.parser import Parser
from xdsl.utils.exceptions import InterpretationError

from xdsl_tvm.dialects.tir import TIR
from xdsl_tvm.interpreters.data import numbers as _numbers
from xdsl_tvm.interpreters.tir import interpret


def function(inputs: str, output: str, body: str) -> Any:
    """The function of parameters `%a, %b, …` of the given types that returns `%r`."""
    types = inputs.split()
    params = ", ".join(f"%{name}: {t}" for name, t in zip("abcdefg", types, strict=False))
    context = Context()
    context.load_dialect(Builtin)
    context.load_dialect(TIR)
    text = f"tir.func @f({params}) -> {output} {{\n{body}\ntir.ret %r : {output}\n}}"
    module = Parser(context, text).parse_module()
    module.verify()
    return interpret(module)["f"]


def binary(op: str, dtype: str) -> Any:
    return function(f"{dtype} {dtype}", dtype, f"%r = tir.{op} %a, %b : {dtype}")


def builtin(name: str, dtypes: str, output: str) -> Any:
    inputs = dtypes.split()
    args = ", ".join(f"%{c}" for c, _ in zip("abcdefg", inputs, strict=False))
    call = f'%r = tir.call "{name}"({args}) : ({", ".join(inputs)}) -> {output}'
    return function(dtypes, output, call)


@pytest.mark.parametrize(
    ("dtype", "low", "high"),
    [
        ("i4", -8, 7),
        ("i7", -64, 63),
        ("i8", -128, 127),
        ("i32", -(2**31), 2**31 - 1),
        ("i64", -(2**63), 2**63 - 1),
        ("ui5", 0, 31),
        ("ui8", 0, 255),
        ("ui64", 0, 2**64 - 1),
    ],
)
def test_integers_wrap_around(dtype: str, low: int, high: int) -> None:
    add, sub, mul = (binary(op, dtype) for op in ("add", "sub", "mul"))
    one = 1
    assert add(high, one) == low
    assert sub(low, one) == high
    assert mul(high, high) == (high * high - low) % (high - low + 1) + low


def test_divisions_round_as_they_say() -> None:
    div, mod, floordiv, floormod = (
        binary(op, "i8") for op in ("div", "mod", "floordiv", "floormod")
    )
    for a in (-128, -7, -6, 0, 5, 127):
        for b in (-128, -3, -1, 2, 7):
            quotient = int(Fraction(a, b))
            wrapped = (quotient + 128) % 256 - 128
            assert div(a, b) == wrapped
            assert mod(a, b) == a - quotient * b
            assert floordiv(a, b) == (math.floor(Fraction(a, b)) + 128) % 256 - 128
            assert floormod(a, b) == a - math.floor(Fraction(a, b)) * b


def test_float_divisions() -> None:
    assert binary("div", "f32")(1, 0) == math.inf
    assert math.isnan(binary("div", "f16")(0, 0))
    assert binary("mod", "f32")(-7.5, 2) == -1.5
    assert binary("floordiv", "f32")(-7.5, 2) == -4
    assert binary("floormod", "f32")(-7.5, 2) == 0.5


EXACT: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": lambda x, y: x / y,
}


@pytest.mark.parametrize("op", EXACT)
@pytest.mark.parametrize(
    ("dtype", "numpy"),
    [
        ("f16", np.float16),
        ("f32", np.float32),
        ("f64", np.float64),
        ("bf16", ml_dtypes.bfloat16),
        ("f8E4M3FN", ml_dtypes.float8_e4m3fn),
        ("f8E5M2", ml_dtypes.float8_e5m2),
    ],
)
def test_floats_round_after_every_operation(op: str, dtype: str, numpy: Any) -> None:
    run = binary(op, dtype)
    exact: Callable[[Fraction, Fraction], Fraction] = EXACT[op]
    rng = np.random.default_rng(1)
    for x, y in rng.uniform(0.5, 2, (20, 2)):
        a, b = numpy(x), numpy(y)
        found = run(a, b)
        assert type(found) is numpy
        wanted = exact(Fraction(float(a)), Fraction(float(b)))
        step = max(abs(float(np.nextafter(found, numpy(4))) - float(found)), 1e-300)
        assert abs(Fraction(float(found)) - wanted) <= Fraction(step) / 2


def test_min_and_max_are_nan_where_an_operand_is() -> None:
    low, high = binary("min", "f32"), binary("max", "f32")
    for run in (low, high):
        assert math.isnan(run(1, math.nan))
        assert math.isnan(run(math.nan, 1))
    assert (low(2, 1), high(2, 1)) == (1, 2)
    assert binary("min", "i8")(-3, 2) == -3


def test_comparisons_with_nan_are_false() -> None:
    for predicate in ("eq", "lt", "le", "gt", "ge"):
        run = function("f32 f32", "i1", f"%r = tir.cmp {predicate} %a, %b : f32")
        assert run(math.nan, 1) is False
    assert function("ui8 ui8", "i1", "%r = tir.cmp lt %a, %b : ui8")(200, 100) is False


def test_bool_logic_and_arithmetic() -> None:
    for a in (False, True):
        for b in (False, True):
            assert binary("and", "i1")(a, b) is (a and b)
            assert binary("or", "i1")(a, b) is (a or b)
            assert binary("add", "i1")(a, b) is (a != b)
            assert binary("max", "i1")(a, b) is (a or b)
            assert builtin("bitwise_xor", "i1 i1", "i1")(a, b) is (a != b)
    assert function("i1", "i1", "%r = tir.not %a : i1")(True) is False


@pytest.mark.parametrize(
    ("source", "target", "value", "expected"),
    [
        ("i8", "i32", -1, -1),
        ("ui8", "i32", 255, 255),
        ("i32", "ui8", -1, 255),
        ("i32", "i4", 9, -7),
        ("i32", "i1", 2, True),
        ("i1", "i32", True, 1),
        ("i1", "f16", True, 1.0),
        ("f32", "i8", -3.9, -3),
        ("f32", "i8", 1e9, 127),
        ("f32", "i32", math.nan, 0),
        ("f32", "i1", 0.25, True),
        ("f64", "f32", 0.1, float(np.float32(0.1))),
        ("f32", "f16", 1e6, math.inf),
        ("i64", "f32", 2**24 + 1, 2.0**24),
        ("i64", "f32", 2**60 + 2**36 + 1, 2.0**60 + 2.0**37),
        ("ui64", "f64", 2**64 - 1, 2.0**64),
    ],
)
def test_casts(source: str, target: str, value: Any, expected: Any) -> None:
    run = function(source, target, f"%r = tir.cast %a : {source} to {target}")
    found = run(value)
    assert found == expected
    assert isinstance(found, bool) == (target == "i1")


def test_f64_rounds_to_bf16_once() -> None:
    # Just above the middle of two bf16 values: rounding to f32 first loses the excess.
    value = 1 + 2.0**-8 + 2.0**-40
    run = function("f64", "bf16", "%r = tir.cast %a : f64 to bf16")
    assert float(run(value)) == 1 + 2.0**-7
    assert float(run(1 + 2.0**-8)) == 1.0


def test_constants_round_to_their_dtype() -> None:
    assert function("", "f16", "%r = tir.const 0.1 : f16")() == np.float16(0.1)
    assert float(function("", "bf16", "%r = tir.const 0.1 : bf16")()) == 0.10009765625


def test_narrow_floats_without_their_package(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ImportError(name)

    _numbers.number.cache_clear()
    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(InterpretationError, match="pip install ml_dtypes"):
        binary("add", "bf16")(1, 2)
    monkeypatch.undo()
    assert float(binary("add", "bf16")(1, 2)) == 3


MATH: dict[str, Callable[[float], float]] = {
    "exp": math.exp,
    "exp2": lambda x: 2.0**x,
    "exp10": lambda x: 10.0**x,
    "log": math.log,
    "log2": math.log2,
    "log10": math.log10,
    "log1p": math.log1p,
    "sqrt": math.sqrt,
    "rsqrt": lambda x: 1 / math.sqrt(x),
    "sigmoid": lambda x: 1 / (1 + math.exp(-x)),
    "tanh": math.tanh,
    "erf": math.erf,
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "sinh": math.sinh,
    "cosh": math.cosh,
    "asin": math.asin,
    "acos": math.acos,
    "atan": math.atan,
    "asinh": math.asinh,
    "atanh": math.atanh,
    "floor": math.floor,
    "ceil": math.ceil,
    "trunc": math.trunc,
    "fabs": abs,
}


@pytest.mark.parametrize("name", MATH)
def test_math_functions(name: str) -> None:
    run = builtin(name, "f32", "f32")
    for x in (0.125, 0.5, 0.75):
        found = run(x)
        assert type(found) is np.float32
        assert found == pytest.approx(MATH[name](x), rel=1e-7)


def test_math_functions_outside_of_their_domain() -> None:
    assert builtin("exp", "f32", "f32")(1000) == math.inf
    assert builtin("log", "f32", "f32")(0) == -math.inf
    assert math.isnan(builtin("sqrt", "f64", "f64")(-1))


def test_binary_math_functions() -> None:
    assert builtin("pow", "f32 f32", "f32")(2, 0.5) == np.float32(2**0.5)
    assert builtin("fmod", "f32 f32", "f32")(-7.5, 2) == -1.5
    assert builtin("atan2", "f64 f64", "f64")(1, -1) == math.atan2(1, -1)
    assert builtin("hypot", "f32 f32", "f32")(3, 4) == 5
    assert builtin("copysign", "f32 f32", "f32")(3, -0.0) == -3
    assert builtin("ldexp", "f32 i32", "f32")(3, 4) == 48
    assert builtin("nextafter", "f32 f32", "f32")(1, 2) == 1 + np.float32(2**-23)


def test_roundings_of_ties() -> None:
    assert [builtin("round", "f32", "f32")(x) for x in (-2.5, 0.5, 2.5)] == [-3, 1, 3]
    assert [builtin("nearbyint", "f32", "f32")(x) for x in (0.5, 1.5)] == [0, 2]
    assert builtin("floor", "i32", "i32")(-3) == -3


def test_fma_rounds_once() -> None:
    a = 1 + np.float32(2**-12)
    b = 1 - np.float32(2**-12)
    assert builtin("fma", "f32 f32 f32", "f32")(a, b, -1) == -(2.0**-24)
    assert builtin("fma", "i8 i8 i8", "i8")(100, 2, 1) == -55


def test_bits() -> None:
    assert builtin("popcount", "i8", "i8")(-1) == 8
    assert builtin("clz", "i16", "i32")(1) == 15
    assert builtin("clz", "i8", "i32")(-1) == 0
    assert builtin("shift_left", "i8 i8", "i8")(3, 7) == -128
    assert builtin("shift_right", "i8 i8", "i8")(-128, 3) == -16
    assert builtin("shift_right", "ui8 ui8", "ui8")(128, 3) == 16
    assert builtin("shift_left", "i8 i8", "i8")(1, 9) == 0
    assert builtin("bitwise_and", "i8 i8", "i8")(-2, 7) == 6
    assert builtin("bitwise_or", "ui8 ui8", "ui8")(8, 7) == 15
    assert builtin("bitwise_not", "ui8", "ui8")(1) == 254
    assert builtin("bitwise_not", "i8", "i8")(1) == -2
    low_and_high = """%low = tir.const 1 : ui32
    %high = tir.const 2147483648 : ui32
    %r = tir.call "large_uint_imm"(%low, %high) : (ui32, ui32) -> ui64"""
    assert function("", "ui64", low_and_high)() == 2**63 + 1


def test_reinterpret_keeps_the_bits() -> None:
    assert builtin("reinterpret", "f32", "i32")(1.0) == 0x3F800000
    assert builtin("reinterpret", "i32", "f32")(0x3F800000) == 1.0
    assert builtin("reinterpret", "i8", "ui8")(-1) == 255
    found = builtin("reinterpret", "i32", "vector<4xui8>")(0x04030201)
    assert found.tolist() == [1, 2, 3, 4]


def test_quantized_multiplication() -> None:
    run = builtin("q_multiply_shift", "i32 i32 i32 i32", "i32")
    for x in (-1000, -3, 5, 12345):
        exact = Fraction(x * 1_500_000_000, 1 << 31) * 4
        assert run(x, 1_500_000_000, 31, 2) == math.floor(exact + Fraction(1, 2))
    per_axis = builtin("q_multiply_shift_per_axis", "i32 i32 i32 i32 i32 i1 i1", "i32")
    exact = Fraction(7 * 8 * 1_500_000_000, 1 << 33)
    assert per_axis(7, 1_500_000_000, 3, 2, 31, True, True) == math.floor(
        exact + Fraction(1, 2)
    )


def test_hints_and_tests() -> None:
    assert builtin("likely", "i1", "i1")(True) is True
    assert builtin("isnan", "f32", "i1")(math.nan) is True
    assert (
        builtin("dp4a", "vector<4xi8> vector<4xi8> i32", "i32")(
            [1, 2, 3, 4], [5, 6, 7, -8], 100
        )
        == 5 + 12 + 21 - 32 + 100
    )


def test_vectors_work_lane_by_lane() -> None:
    vector = "vector<4xi8>"
    found = binary("add", vector)([1, 127, -1, 0], [1, 1, -127, 0])
    assert found.tolist() == [2, -128, -128, 0]
    low = builtin("vectorlow", vector, "vector<2xi8>")([1, 2, 3, 4])
    high = builtin("vectorhigh", vector, "vector<2xi8>")([1, 2, 3, 4])
    both = builtin("vectorcombine", "vector<2xi8> vector<2xi8>", vector)(high, low)
    assert both.tolist() == [3, 4, 1, 2]
    halved = builtin("exp2", "vector<2xf32>", "vector<2xf32>")([1, -1])
    assert halved.tolist() == [2, 0.5]


def _reference(op: str, a: int, b: int) -> int:
    """The operation on i8 operands, wrapped; the divisor is never zero."""
    results = {
        "add": a + b,
        "sub": a - b,
        "mul": a * b,
        "min": min(a, b),
        "max": max(a, b),
        "floordiv": math.floor(Fraction(a, b)) if b else 0,
        "floormod": a - b * math.floor(Fraction(a, b)) if b else 0,
        "div": int(Fraction(a, b)) if b else 0,
        "mod": a - b * int(Fraction(a, b)) if b else 0,
    }
    return (results[op] + 128) % 256 - 128


@pytest.mark.parametrize("seed", range(60))
def test_needless_wraps_are_really_needless(seed: int) -> None:
    """Random i8 arithmetic of a loop variable and constants of known intervals."""
    rng = np.random.default_rng(seed)
    low, extent = int(rng.integers(-60, 20)), int(rng.integers(20, 90))
    constants = [low, extent, *(int(x) for x in rng.integers(-128, 128, 3) if x)]
    lines = [f"%k{i} = tir.const {c} : i8" for i, c in enumerate(constants)]
    steps: list[tuple[str, int, int]] = []
    values = len(constants) + 1
    names = [f"%k{i}" for i in range(len(constants))] + ["%i"]
    body: list[str] = []
    for step in range(10):
        op = str(rng.choice(["add", "sub", "mul", "min", "max", "floordiv", "floormod"]))
        op = str(rng.choice([op, "div", "mod"])) if step % 3 == 2 else op
        lhs = int(rng.integers(values))
        # Only the constants that cannot be zero divide.
        divides = op in ("floordiv", "floormod", "div", "mod")
        rhs = int(rng.integers(1, len(constants)) if divides else rng.integers(values))
        body.append(f"%r{step} = tir.{op} {names[lhs]}, {names[rhs]} : i8")
        names.append(f"%r{step}")
        steps.append((op, lhs, rhs))
        values += 1
    steps_text = [
        f"%p{step} = tir.const {step} : i32\ntir.store %r{step}, %A[%p{step}] : i8"
        for step in range(10)
    ]
    take = ["%c = tir.cmp eq %i, %b : i8\ntir.if %c {", *steps_text, "}"]
    match = 'tir.match_buffer "A" %a : !tir.buffer<10xi8>'
    head = (f"%A = {match}", *lines, "tir.for %i = %k0 to %k0 + %k1 {")
    text = "\n".join((*head, *body, *take, "}"))
    run = function("!tir.handle i8", "i8", f"{text}\n%r = tir.const 0 : i8")
    for index in range(low, low + extent):
        known = [*constants, index]
        for op, lhs, rhs in steps:
            known.append(_reference(op, known[lhs], known[rhs]))
        found = np.zeros(10, np.int8)
        run(found, index)
        assert found.tolist() == known[len(constants) + 1 :]

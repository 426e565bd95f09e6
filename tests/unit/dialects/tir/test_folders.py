"""What `canonicalize` folds is what the interpreter computes, bit for bit."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest
from support.ir import parse
from xdsl.builder import ImplicitBuilder
from xdsl.dialects.builtin import ModuleOp, f32, i32
from xdsl.ir import Attribute
from xdsl.transforms.canonicalize import CanonicalizePass

from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.relax.dense import numpy_dtype
from xdsl_tvm.dialects.tir.folders import TIRConstants, is_injective_cast, keeps_number
from xdsl_tvm.dialects.tir.folding import fits
from xdsl_tvm.dialects.tir.types import is_float, parse_dtype
from xdsl_tvm.interpreters.tir import interpret
from xdsl_tvm.registry import new_context

INF, NAN = math.inf, math.nan
NUMBERS: dict[str, tuple[float, ...]] = {
    "bool": (0, 1),
    "int8": (0, 1, -1, 3, 127, -128),
    "uint8": (0, 1, 3, 255),
    "int32": (0, 1, -1, 2**31 - 1, -(2**31)),
    "int64": (0, 1, -1, 2**53 + 1, -(2**63)),
    "float16": (0.0, -0.0, 1.0, INF, NAN),
    "bfloat16": (0.0, -0.0, 1.0, INF, NAN),
    "float32": (0.0, -0.0, 1.0, -2.5, 0.1, 16777216.0, 3e38, INF, NAN),
    "float64": (0.0, -0.0, 1.0, -2.5, 0.1, 1e300, -INF, NAN),
}
"""Values of literals and of the variable by dtype, with those of the identities."""
DIVISIONS = ("div", "mod", "floordiv", "floormod")
CALLS = ("shift_left", "shift_right", "bitwise_and", "bitwise_or", "bitwise_xor")
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")


class Source:
    """The text of a function of one scalar that stores the values of expressions."""

    def __init__(self, dtype: Attribute) -> None:
        self.dtype = dtype
        self.lines: list[str] = []
        self.stores: dict[Attribute, list[str]] = {}

    def value(self, text: str) -> str:
        name = f"%v{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        return name

    def literal(self, number: float, dtype: Attribute) -> str:
        return self.value(f"tir.const {tir.ConstOp.of(number, dtype).value}")

    def keep(self, value: str, dtype: Attribute) -> None:
        self.stores.setdefault(dtype, []).append(value)

    def module(self) -> ModuleOp:
        parameters = "".join(f", %p{n}: !tir.handle" for n in range(len(self.stores)))
        stores: list[str] = []
        buffers: list[str] = []
        for number, (dtype, values) in enumerate(self.stores.items()):
            buffers.append(
                f"%B{number} = tir.match_buffer %p{number} :"
                f" !tir.buffer<{len(values)}x{dtype}>"
            )
            for index, value in enumerate(values):
                stores.append(f"%i{number}_{index} = tir.const {index} : i32")
                stores.append(
                    f"tir.store {value}, %B{number}[%i{number}_{index}] : {dtype}"
                )
        body = "\n".join((*buffers, *self.lines, *stores))
        return parse(f"tir.func @f(%x: {self.dtype}{parameters}) {{\n{body}\n}}")

    def run(self, module: ModuleOp, x: float) -> list[np.ndarray[Any, Any]]:
        outputs = [
            np.zeros(len(values), numpy_dtype(dtype))
            for dtype, values in self.stores.items()
        ]
        interpret(module)["f"](x, *outputs)
        return outputs

    def check(self, numbers: tuple[float, ...]) -> int:
        """Compare before and after for each argument; how many values have folded."""
        before = self.module()
        after = before.clone()
        CanonicalizePass().apply(new_context(), after)
        after.verify()
        for x in (numbers[1], numbers[-2], numbers[-1]):
            for one, other in zip(self.run(before, x), self.run(after, x), strict=True):
                is_nan = one != one
                np.testing.assert_array_equal(other != other, is_nan)
                one[is_nan] = other[is_nan] = 0
                assert one.tobytes() == other.tobytes(), (x, one, other)
        return sum(
            not isinstance(op.value.owner, tir.BinaryOp | tir.CmpOp | tir.CallOp)
            for op in after.walk()
            if isinstance(op, tir.StoreOp)
        )


def operators(dtype: Attribute) -> Iterator[tuple[str, str]]:
    """Names of operators on a dtype, and the text before the operands."""
    if dtype == parse_dtype("bool"):
        yield from (("and", "tir.and"), ("or", "tir.or"))
    else:
        names = ["add", "sub", "mul", *DIVISIONS, "min", "max"]
        yield from (
            (name, f"tir.{name}")
            for name in names
            if not (is_float(dtype) and name in ("mod", "floormod"))
        )
        if not is_float(dtype):
            yield from ((name, f'tir.call "{name}"') for name in CALLS)
    yield from ((name, f"tir.cmp {name}") for name in COMPARISONS)


def text_of(start: str, lhs: str, rhs: str, dtype: Attribute) -> str:
    if start.startswith("tir.call"):
        return f"{start}({lhs}, {rhs}) : ({dtype}, {dtype}) -> {dtype}"
    return f"{start} {lhs}, {rhs} : {dtype}"


@pytest.mark.parametrize("name", NUMBERS)
def test_operators_of_literals(name: str) -> None:
    dtype = parse_dtype(name)
    numbers = NUMBERS[name]
    source = Source(dtype)
    bool_ = parse_dtype("bool")
    for op, start in operators(dtype):
        result = bool_ if op in COMPARISONS else dtype
        integers = not is_float(dtype)
        divides = op in DIVISIONS and integers
        if op in ("min", "max"):
            # Of zeros with different signs, either one may be the result.
            literals = [number for number in numbers if number != 0]
        else:
            literals = list(numbers)
        for number in literals:
            literal = source.literal(number, dtype)
            if not divides and not (op.startswith("shift") and not integers):
                source.keep(source.value(text_of(start, literal, "%x", dtype)), result)
            if (divides and number in (0, -1)) or (
                op.startswith("shift") and number not in (0, 1, 3)
            ):
                continue
            source.keep(source.value(text_of(start, "%x", literal, dtype)), result)
        if not divides:
            source.keep(source.value(text_of(start, "%x", "%x", dtype)), result)
        for left, right in product(numbers[-3:], numbers[:3]):
            if divides and (right == 0 or (right == -1 and left == min(numbers))):
                continue
            lhs, rhs = source.literal(left, dtype), source.literal(right, dtype)
            source.keep(source.value(text_of(start, lhs, rhs, dtype)), result)
    assert source.check(numbers) > 20


@pytest.mark.parametrize("name", NUMBERS)
def test_casts(name: str) -> None:
    """Of literals to all dtypes, and of the variable to all dtypes, back and on."""
    dtype = parse_dtype(name)
    source = Source(dtype)
    kinds = [parse_dtype(other) for other in NUMBERS]
    for target in kinds:
        for number in NUMBERS[name]:
            literal = source.literal(number, dtype)
            cast = source.value(f"tir.cast {literal} : {dtype} to {target}")
            source.keep(cast, target)
        middle = source.value(f"tir.cast %x : {dtype} to {target}")
        for last in (dtype, i32, f32):
            cast = source.value(f"tir.cast {middle} : {target} to {last}")
            source.keep(cast, last)
    assert source.check(NUMBERS[name]) > 20


def test_casts_that_keep_numbers() -> None:
    def both(source: str, target: str) -> tuple[bool, bool]:
        kinds = parse_dtype(source), parse_dtype(target)
        return is_injective_cast(*kinds), keeps_number(*kinds)

    assert both("int8", "int16") == (True, True)
    assert both("int8", "uint8") == (True, False)
    assert both("uint8", "int16") == (True, True)
    assert both("uint8", "int8") == (True, False)
    assert both("bool", "int8") == (True, True)
    assert both("int8", "bool") == (False, False)
    assert both("int32", "float64") == (False, False)
    assert both("float16", "float32") == (True, True)
    assert both("float16", "bfloat16") == (False, False)
    assert both("float32x4", "float64x4") == (True, True)


def test_numbers_that_integer_types_hold() -> None:
    for name in ("int8", "int8x4"):
        dtype = parse_dtype(name)
        assert fits(-128, dtype)
        assert not fits(128, dtype)
    assert fits(255, parse_dtype("uint8x4"))
    assert not fits(-1, parse_dtype("uint8"))


def test_constants_are_made_of_scalars_of_their_type() -> None:
    make = TIRConstants().materialize_constant
    value = tir.ConstOp.of(2, i32).value
    made = make(value, i32)
    assert isinstance(made, tir.ConstOp)
    assert made.literal == 2
    assert make(value, f32) is None
    assert make(value, parse_dtype("int32x4")) is None
    with ImplicitBuilder(ModuleOp([]).body.block):
        assert made.fold() == (value,)

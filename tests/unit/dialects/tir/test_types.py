"""Types of the tir dialect and the dtype helpers."""

import math
import re
from typing import cast

import numpy as np
import pytest
from support.ir import parse
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    IntegerType,
    Signedness,
    VectorType,
    f16,
    f32,
    f80,
    i1,
    i32,
)
from xdsl.utils.exceptions import ParseError, VerifyException

from xdsl_tvm.dialects import tir

DTYPES = [
    "bool",
    "int8",
    "int32",
    "int64",
    "uint8",
    "uint64",
    "float16",
    "float32",
    "float64",
    "bfloat16",
    "float8_e4m3fn",
    "float8_e5m2",
    "float4_e2m1fn",
    "handle",
    "int8x4",
    "uint1x4",
    "uint1xvscalex4",
    "float32xvscalex4",
    "bfloat16x2",
    "custom[posites2]16",
    "custom[posites2]16x4",
    "custom[int]8xvscalex2",
]


@pytest.mark.parametrize("name", DTYPES)
def test_dtype_names_round_trip(name: str):
    assert tir.dtype_name(tir.parse_dtype(name)) == name


@pytest.mark.parametrize(
    ("name", "long"),
    [
        ("int", "int32"),
        ("uint", "uint32"),
        ("float", "float32"),
        ("bfloat", "bfloat16"),
        ("uint1", "bool"),
        ("intx4", "int32x4"),
        ("float32x1", "float32"),
    ],
)
def test_width_defaults(name: str, long: str):
    assert tir.parse_dtype(name) == tir.parse_dtype(long)


@pytest.mark.parametrize(
    "name",
    [
        "int32x",
        "float12",
        "string",
        "xvscale4",
        "i32",
        "float8",
        "bfloat32",
        "int65",
        "uint0",
        "int1",
        "custom[a]",
        "custom[a]65",
        "custom[]8",
    ],
)
def test_unknown_dtype_is_an_error(name: str):
    with pytest.raises(ValueError, match=re.escape(f"unknown dtype '{name}'")):
        tir.parse_dtype(name)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("boolx4", "bool has no lanes; write it as in 'uint1x4'"),
        ("handlex2", "handle has no lanes"),
        ("int8x0", "at least one lane"),
        ("int8xvscalex1", "a factor of at least 2"),
    ],
)
def test_lanes_that_no_dtype_has(name: str, message: str):
    with pytest.raises(ValueError, match=f"unknown dtype '{name}'.*{message}"):
        tir.parse_dtype(name)


def test_void_is_the_none_type():
    assert tir.dtype_name(tir.parse_dtype("")) == "void"


def test_bool_is_unsigned_and_plain_integers_are_signed():
    assert tir.is_uint(i1)
    assert not tir.is_int(i1)
    assert tir.is_int(i32)
    assert not tir.is_integer(IntegerType(32, Signedness.SIGNED))


def test_lanes():
    scalable = tir.parse_dtype("float32xvscalex4")
    assert tir.is_scalable(scalable)
    assert tir.lanes_of(scalable) == 4
    assert tir.element_of(scalable) == f32
    assert tir.like_lanes(i1, scalable) == tir.parse_dtype("uint1xvscalex4")
    assert tir.with_lanes(f32, 1) == f32
    assert tir.like_lanes(scalable, i32) == f32


@pytest.mark.parametrize(
    ("name", "lane", "whole"),
    [
        ("bool", 1, 1),
        ("int4", 1, 1),
        ("uint12", 2, 2),
        ("float32x4", 4, 16),
        ("uint1x8", 1, 8),
        ("float4_e2m1fn", 1, 1),
        ("float4_e2m1fnx8", 1, 4),
        ("float8_e5m2", 1, 1),
        ("bfloat16", 2, 2),
        ("handle", 8, 8),
        ("custom[p]12", 2, 2),
    ],
)
def test_sizes(name: str, lane: int, whole: int):
    dtype = tir.parse_dtype(name)
    assert (tir.bytes_of_lane(dtype), tir.bytes_of(dtype)) == (lane, whole)


def test_sizes_that_do_not_exist():
    with pytest.raises(ValueError, match="is not known before it runs"):
        tir.bytes_of(tir.parse_dtype("int8xvscalex4"))
    with pytest.raises(ValueError, match="type none has no width"):
        tir.bytes_of_lane(tir.parse_dtype("void"))


def test_kinds_of_dtypes():
    def kinds(name: str) -> list[str]:
        dtype = tir.parse_dtype(name)
        tests = (
            tir.is_float,
            tir.is_bfloat16,
            tir.is_float8,
            tir.is_float4,
            tir.is_custom,
            tir.is_index_type,
        )
        return [test.__name__ for test in tests if test(dtype)]

    assert kinds("bfloat16x2") == ["is_float", "is_bfloat16"]
    assert kinds("float8_e4m3fn") == kinds("float8_e5m2x4") == ["is_float", "is_float8"]
    assert kinds("float4_e2m1fn") == ["is_float", "is_float4"]
    assert kinds("custom[p]8x4") == ["is_custom"]
    assert kinds("int64") == ["is_index_type"]
    assert kinds("int16") == kinds("uint32") == kinds("int32x2") == []


def test_types_that_tvm_lacks_are_no_dtypes():
    assert not tir.is_integer(IntegerType(65))
    assert not tir.is_float(f80)
    with pytest.raises(VerifyException, match="integer of at most 64 bits"):
        tir.BufferType([4], IntegerType(128))


def test_a_vector_of_one_lane_is_no_dtype():
    with pytest.raises(VerifyException, match="rank-1 vector of 2 to 65535 lanes"):
        tir.BufferType([4], VectorType(f32, [1]))


def test_custom_types():
    custom = tir.CustomType("posites2", 16)
    assert str(custom) == '!tir.custom<"posites2", 16>'
    with pytest.raises(VerifyException, match=r"tir\.custom: the name must consist of"):
        tir.CustomType("a b", 16)
    with pytest.raises(VerifyException, match=r"tir\.custom: the width must be within"):
        tir.CustomType("a", 0)


def test_buffer_type():
    buffer = tir.BufferType([4, DYNAMIC_INDEX], f32, "shared")
    assert str(buffer) == '!tir.buffer<4x?xf32, "shared">'
    assert buffer.get_shape() == (4, DYNAMIC_INDEX)
    assert buffer.pointer_type == tir.PtrType(f32, "shared")
    with pytest.raises(VerifyException, match="extent must not be negative, got -4"):
        tir.BufferType([-4], f32)


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (1.5, "int32"),
        (300, "uint8"),
        (-1, "uint8"),
        (128, "int8"),
        (-129, "int8"),
        (2, "bool"),
        (1 << 64, "uint64"),
        (1e39, "float32"),
        (65505.0, "float16"),
        (-449.0, "float8_e4m3fn"),
        (57345.0, "float8_e5m2"),
        (6.5, "float4_e2m1fn"),
        (3.4e38, "bfloat16"),
    ],
)
def test_a_constant_must_fit_its_type(value: float, dtype: str):
    with pytest.raises(ValueError, match=f"is no constant of|out of range of {dtype}"):
        tir.ConstOp.of(value, tir.parse_dtype(dtype))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("255 : i8", "255 is out of range of int8"),
        ("2 : i1", "the number is out of range of its type"),
        ("-1 : ui8", "the number is out of range of its type"),
        ("5000000000 : i32", "the number is out of range of its type"),
        ("65510.0 : f16", "65510.0 is out of range of float16"),
        ("4.5e2 : f8E4M3FN", "450.0 is out of range of float8_e4m3fn"),
        ("1.0e39 : f32", "is out of range of (its type|float32)"),
    ],
)
def test_a_constant_in_text_must_fit_its_type(text: str, message: str):
    with pytest.raises(ParseError, match=message):
        parse(f"tir.func @f() {{\n  %x = tir.const {text}\n}}")


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, 65504.0, 448.0])
def test_infinities_and_largest_values_are_constants(value: float):
    constant = tir.ConstOp.of(value, f16)
    assert str(constant.literal) == str(value)
    text = f"tir.func @f() {{\n  %x = tir.const {constant.value}\n}}"
    assert str(parse(str(parse(text)))) == str(parse(text))


def test_constants_of_custom_dtypes():
    module = parse("""
    tir.func @f(%x: !tir.custom<"p", 8>) {
      %c = tir.const #tir.custom_value<1.5 : f64, !tir.custom<"p", 8>>
      %y = tir.add %x, %c : !tir.custom<"p", 8>
      %z = tir.cast %y : !tir.custom<"p", 8> to f32
      %v = tir.broadcast %y : vector<4x!tir.custom<"p", 8>>
    }""")
    assert str(parse(str(module))) == str(module)
    (constant,) = [op for op in module.walk() if isinstance(op, tir.ConstOp)]
    assert constant.literal == 1.5
    again = tir.ConstOp.of(1.5, tir.CustomType("p", 8))
    assert again.is_structurally_equivalent(constant)


def test_constant_values():
    assert tir.ConstOp.of(True, i1).literal == 1
    assert tir.ConstOp.of(-3, i32).literal == -3
    assert tir.constant_value(tir.ConstOp.of(2.5, f32).result) == 2.5
    assert tir.is_constant(tir.ConstOp.of(0, i32).result, 0)


def test_extents_of_other_classes_are_integers() -> None:
    # 9001 is in no other test: the first type of a shape is kept for all equal ones.
    shape: list[object] = [np.int64(9001), True]
    for extents in (shape, [9001, 1]):
        found = tir.BufferType(cast("list[int]", extents), f32)
        assert str(found) == "!tir.buffer<9001x1xf32>"
        assert {type(extent) for extent in found.get_shape()} == {int}
    with pytest.raises(TypeError):
        tir.BufferType([cast("int", 9001.5)], f32)

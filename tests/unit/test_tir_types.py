"""Types of the tir dialect and the dtype helpers."""

import pytest
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerType, Signedness, f32, i1, i32
from xdsl.utils.exceptions import VerifyException

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
]


@pytest.mark.parametrize("name", DTYPES)
def test_dtype_names_round_trip(name: str):
    assert tir.dtype_name(tir.parse_dtype(name)) == name


@pytest.mark.parametrize(
    ("name", "long"), [("int", "int32"), ("uint", "uint32"), ("float", "float32")]
)
def test_width_defaults(name: str, long: str):
    assert tir.parse_dtype(name) == tir.parse_dtype(long)


@pytest.mark.parametrize("name", ["int32x", "float12", "string", "xvscale4", "i32"])
def test_unknown_dtype_is_an_error(name: str):
    with pytest.raises(ValueError, match=f"unknown dtype '{name}'"):
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


def test_buffer_type():
    buffer = tir.BufferType([4, DYNAMIC_INDEX], f32, "shared")
    assert str(buffer) == '!tir.buffer<4x?xf32, "shared">'
    assert buffer.get_shape() == (4, DYNAMIC_INDEX)
    assert buffer.pointer_type == tir.PtrType(f32, "shared")
    with pytest.raises(VerifyException, match="extent must not be negative, got -4"):
        tir.BufferType([-4], f32)


@pytest.mark.parametrize(
    ("value", "dtype"), [(1.5, i32), (300, tir.parse_dtype("uint8"))]
)
def test_a_constant_must_fit_its_type(value: float, dtype: IntegerType):
    with pytest.raises((ValueError, VerifyException)):
        tir.ConstOp.of(value, dtype)


def test_constant_values():
    assert tir.ConstOp.of(True, i1).literal == 1
    assert tir.ConstOp.of(-3, i32).literal == -3
    assert tir.constant_value(tir.ConstOp.of(2.5, f32).result) == 2.5
    assert tir.is_constant(tir.ConstOp.of(0, i32).result, 0)

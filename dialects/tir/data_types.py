"""Numbers of the packed convention: of data types, as in DLPack, and of arguments.

docs/spec/tir-passes-d-abi-and-pipelines.md III.1, for TVM 0.20: the codes of 8-bit floats
are its own.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, NamedTuple

from xdsl.dialects.builtin import Signedness, i1
from xdsl.ir import Attribute

from xdsl_tvm.dialects.tir.types import (
    bits_of_lane,
    dtype_name,
    element_of,
    is_bfloat16,
    is_float,
    is_handle,
    is_integer_type,
    is_scalable,
    lanes_of,
)


class TypeCode(IntEnum):
    """What a packed argument or result is."""

    INT = 0
    FLOAT = 2
    HANDLE = 3
    NULL = 4
    DLTENSOR = 7
    STRING = 11
    NDARRAY = 13
    BOOL = 15


class DataTypeCode(IntEnum):
    """What a lane holds."""

    INT = 0
    UINT = 1
    FLOAT = 2
    HANDLE = 3
    BFLOAT = 4
    FLOAT8_E4M3FN = 6
    FLOAT8_E5M2 = 7
    FLOAT4_E2M1FN = 8


_NARROW_FLOATS: Final = {
    "float8_e4m3fn": DataTypeCode.FLOAT8_E4M3FN,
    "float8_e5m2": DataTypeCode.FLOAT8_E5M2,
    "float4_e2m1fn": DataTypeCode.FLOAT4_E2M1FN,
}


class DataType(NamedTuple):
    """DLPack's `DLDataType`."""

    code: int
    bits: int
    lanes: int


def data_type(dtype: Attribute) -> DataType:
    """The data type of an element or a value.

    Raises ValueError for one that DLPack has no number for: a scalable vector, a custom
    dtype, or an 8-bit float that TVM 0.20 does not have.
    """
    if is_scalable(dtype):
        raise ValueError(f"{dtype} has no fixed number of lanes")
    lanes = lanes_of(dtype)
    if is_handle(dtype):
        return DataType(DataTypeCode.HANDLE, 64, lanes)
    element = element_of(dtype)
    if is_integer_type(element):
        is_unsigned = element.signedness.data is Signedness.UNSIGNED
        code = DataTypeCode.UINT if element == i1 or is_unsigned else DataTypeCode.INT
    elif is_bfloat16(element):
        code = DataTypeCode.BFLOAT
    else:
        code = _float_code(element)
    return DataType(code, bits_of_lane(dtype), lanes)


def _float_code(element: Attribute) -> DataTypeCode:
    name = dtype_name(element)
    narrow = _NARROW_FLOATS.get(name)
    if narrow is not None:
        return narrow
    if not is_float(element) or name.startswith("float8"):
        raise ValueError(f"{name} has no type code in DLPack")
    return DataTypeCode.FLOAT

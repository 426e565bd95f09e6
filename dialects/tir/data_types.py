"""Numbers of the packed conventions: of data types, as in DLPack, and of arguments.

docs/spec/tir-passes-d-abi-and-pipelines.md III.1, for TVM 0.20, whose codes of 8-bit
floats are its own; and those of `tvm-ffi`, which are DLPack's (dlpack.h, version 1).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, IntEnum
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


class Abi(Enum):
    """A convention of calls with values that say their types."""

    PACKED = "packed"
    """That of TVM 0.20: slots, and an array of type codes."""
    FFI = "ffi"
    """That of `tvm-ffi`: slots that say their types, and DLPack's types of elements."""


class TypeIndex(IntEnum):
    """What an argument or a result of `tvm-ffi` is (tvm/ffi/c_api.h)."""

    NONE = 0
    INT = 1
    BOOL = 2
    FLOAT = 3
    POINTER = 4
    DLTENSOR = 7
    STRING = 8
    TENSOR = 70


TYPE_INDICES: Final[Mapping[TypeCode, TypeIndex]] = {
    TypeCode.INT: TypeIndex.INT,
    TypeCode.FLOAT: TypeIndex.FLOAT,
    TypeCode.BOOL: TypeIndex.BOOL,
    TypeCode.NULL: TypeIndex.NONE,
    TypeCode.HANDLE: TypeIndex.POINTER,
    TypeCode.DLTENSOR: TypeIndex.DLTENSOR,
    TypeCode.STRING: TypeIndex.STRING,
}
"""What values with the type codes of one convention are in the other one."""


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


class DLPackCode(IntEnum):
    """What a lane holds, where DLPack's numbers are not those of `DataTypeCode`."""

    BOOL = 6
    FLOAT8_E3M4 = 7
    FLOAT8_E4M3 = 8
    FLOAT8_E4M3B11FNUZ = 9
    FLOAT8_E4M3FN = 10
    FLOAT8_E4M3FNUZ = 11
    FLOAT8_E5M2 = 12
    FLOAT8_E5M2FNUZ = 13
    FLOAT8_E8M0FNU = 14
    FLOAT6_E2M3FN = 15
    FLOAT6_E3M2FN = 16
    FLOAT4_E2M1FN = 17


_NARROW_FLOATS: Final[Mapping[str, int]] = {
    "float8_e4m3fn": DataTypeCode.FLOAT8_E4M3FN,
    "float8_e5m2": DataTypeCode.FLOAT8_E5M2,
    "float4_e2m1fn": DataTypeCode.FLOAT4_E2M1FN,
}
_DLPACK_FLOATS: Final[Mapping[str, int]] = {
    code.name.lower(): code for code in DLPackCode if code is not DLPackCode.BOOL
}


class DataType(NamedTuple):
    """DLPack's `DLDataType`."""

    code: int
    bits: int
    lanes: int


def data_type(dtype: Attribute, abi: Abi = Abi.PACKED) -> DataType:
    """The data type of an element or a value.

    Raises ValueError for one that the convention has no number for: a scalable vector, a
    custom dtype, or, in that of TVM 0.20, a narrow float that it does not have.
    """
    if is_scalable(dtype):
        raise ValueError(f"{dtype} has no fixed number of lanes")
    lanes = lanes_of(dtype)
    if is_handle(dtype):
        return DataType(DataTypeCode.HANDLE, 64, lanes)
    element = element_of(dtype)
    if element == i1 and abi is Abi.FFI:
        return DataType(DLPackCode.BOOL, 8, lanes)
    if is_integer_type(element):
        is_unsigned = element.signedness.data is Signedness.UNSIGNED
        code = DataTypeCode.UINT if element == i1 or is_unsigned else DataTypeCode.INT
    elif is_bfloat16(element):
        code = DataTypeCode.BFLOAT
    else:
        code = _float_code(element, abi)
    return DataType(code, bits_of_lane(dtype), lanes)


def _float_code(element: Attribute, abi: Abi) -> int:
    name = dtype_name(element)
    narrow = _NARROW_FLOATS if abi is Abi.PACKED else _DLPACK_FLOATS
    if name in narrow:
        return narrow[name]
    if not is_float(element) or bits_of_lane(element) < 16:
        raise ValueError(f"{name} has no type code in DLPack")
    return DataTypeCode.FLOAT

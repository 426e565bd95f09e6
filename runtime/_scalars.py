"""The C types of arguments and results, and scalars that C has no type for."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.dialects.dtypes import numpy_float
from xdsl_tvm.runtime.signature import (
    ArraySpec,
    ObjectSpec,
    ScalarSpec,
    ShapeSpec,
    Signature,
)

_CTYPES: dict[str, Any] = {
    "bool": ctypes.c_bool,
    "int8": ctypes.c_int8,
    "int16": ctypes.c_int16,
    "int32": ctypes.c_int32,
    "int64": ctypes.c_int64,
    "uint8": ctypes.c_uint8,
    "uint16": ctypes.c_uint16,
    "uint32": ctypes.c_uint32,
    "uint64": ctypes.c_uint64,
    "float32": ctypes.c_float,
    "float64": ctypes.c_double,
}


class SmallFloat(NamedTuple):
    """How a float type that C lacks is passed: as a C type with the same bits in it."""

    ctype: Any
    encode: Callable[[Any], Any]
    """The number for ctypes, of a numpy scalar."""
    decode: Callable[[Any], float]
    """The value of a result."""


def _half_in_double(value: Any) -> float:
    return struct.unpack("<d", struct.pack("<exxxxxx", value))[0]


def _double_to_half(value: float) -> float:
    return struct.unpack("<exxxxxx", struct.pack("<d", value))[0]


def _bits(value: Any) -> int:
    return int.from_bytes(value.tobytes(), "little")


def _bits_to_bfloat(bits: int) -> float:
    return struct.unpack("<f", struct.pack("<I", bits << 16))[0]


def _byte_to_float(name: str) -> Callable[[Any], float]:
    return lambda bits: float(np.uint8(bits).view(numpy_float(name)))


# A half is in the low bits of a floating-point register. As a double these bits are moved
# only; as a float they would be converted, and flushed to zero where that is the mode.
SMALL_FLOATS: dict[str, SmallFloat] = {
    "float16": SmallFloat(ctypes.c_double, _half_in_double, _double_to_half),
    "bfloat16": SmallFloat(ctypes.c_uint16, _bits, _bits_to_bfloat),
    **{
        name: SmallFloat(ctypes.c_uint8, _bits, _byte_to_float(name))
        for name in ("float8_e4m3fn", "float8_e5m2")
    },
}


def _scalar_ctype(signature: Signature, dtype: np.dtype[Any]) -> Any:
    """The C type of a scalar; PassFailedException where C has none."""
    if dtype.name in SMALL_FLOATS:
        return SMALL_FLOATS[dtype.name].ctype
    found = _CTYPES.get(dtype.name)
    if found is None:
        raise PassFailedException(
            f"@{signature.function} cannot be called from Python: scalars of type "
            f"{dtype.name} cannot be passed; pass an array of one element"
        )
    return found


def argument_types(signature: Signature) -> list[Any]:
    types: list[Any] = []
    for param in signature.params:
        match param:
            case ArraySpec():
                types.append(ctypes.c_void_p)
            case ScalarSpec():
                types.append(_scalar_ctype(signature, param.dtype))
            case ShapeSpec():
                types += [ctypes.c_int64] * len(param.shape)
            case ObjectSpec():
                types.append(ctypes.c_int64)
    types += [ctypes.c_void_p] * len(signature.results)
    return types + [ctypes.c_int64] * len(signature.symbols)


def result_type(signature: Signature) -> Any:
    dtype = signature.scalar_result
    return None if dtype is None else _scalar_ctype(signature, dtype)

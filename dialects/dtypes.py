"""Facts of the dtypes that TVM builds in: kinds, names, widths, limits, promotion, numpy.

The types are builtin ones: `iN` is TVM's `intN`, `uiN` its `uintN`, `i1` its `bool`, and
a rank-1 vector is a dtype of several lanes. Handles and user-defined dtypes are types of
the dialect `tir` (`dialects/tir/types.py`), as are the names of all dtypes together.
"""

from __future__ import annotations

import importlib
import math
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, TypeGuard, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    BFloat16Type,
    BoolAttr,
    FixedBitwidthType,
    Float4E2M1FNType,
    Float8E4M3FNType,
    Float8E5M2Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerType,
    Signedness,
    VectorType,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute

from xdsl_tvm.dialects.by_identity import by_identity

if TYPE_CHECKING:
    import numpy as np

MAX_INTEGER_WIDTH = 64
MAX_LANES = 2**16 - 1
"""The most lanes of a vector, and the largest factor of `vscale`: TVM's dtypes count them
in 16 bits."""


@dataclass(frozen=True)
class FloatFormat:
    """A float dtype: TVM's name, bits of the significand, and the largest finite value.

    `rank` orders kinds of floats in promotion, before the width; that of IEEE 754 is the
    highest.
    """

    name: str
    digits: int
    largest: float
    rank: int = 4

    @property
    def in_numpy(self) -> bool:
        """Whether numpy has the dtype itself, as it has those of IEEE 754."""
        return self.rank == 4


FLOATS: dict[type[Attribute], FloatFormat] = {
    Float16Type: FloatFormat("float16", 11, 65504.0),
    Float32Type: FloatFormat("float32", 24, float.fromhex("0x1.fffffep127")),
    Float64Type: FloatFormat("float64", 53, float.fromhex("0x1.fffffffffffffp1023")),
    BFloat16Type: FloatFormat("bfloat16", 8, float.fromhex("0x1.fep127"), 3),
    Float8E4M3FNType: FloatFormat("float8_e4m3fn", 4, 448.0, 2),
    Float8E5M2Type: FloatFormat("float8_e5m2", 3, 57344.0, 2),
    Float4E2M1FNType: FloatFormat("float4_e2m1fn", 2, 6.0, 1),
}
"""The float dtypes, by type."""
FLOATS_BY_NAME = {one.name: kind for kind, one in FLOATS.items()}
FLOAT_KINDS = tuple(FLOATS)


# ---- kinds (docs/spec/tir-ir.md §1) ----


@cache
def _is_kind(found: type[Attribute], *kinds: type[Attribute]) -> bool:
    """`issubclass`, which takes long for classes of attributes, kept by class."""
    return issubclass(found, kinds)


def is_vector(dtype: Attribute) -> TypeGuard[VectorType[Attribute]]:
    """Whether `dtype` is a vector, fixed or scalable."""
    return _is_kind(type(dtype), VectorType)


def is_integer_type(dtype: Attribute) -> TypeGuard[IntegerType[int, Signedness]]:
    """Whether `dtype` is a scalar integer that TIR has.

    Those are `iN` and `uiN` of at most 64 bits; `siN` is none.
    """
    if not _is_kind(type(dtype), IntegerType):
        return False
    integer = cast("IntegerType[int, Signedness]", dtype)
    return (
        integer.signedness.data is not Signedness.SIGNED
        and 0 < integer.width.data <= MAX_INTEGER_WIDTH
    )


def element_of(dtype: Attribute) -> Attribute:
    """The element type of a vector, any other type unchanged."""
    return dtype.element_type if is_vector(dtype) else dtype


def lanes_of(dtype: Attribute) -> int:
    """The number of lanes; of a scalable vector, the factor of `vscale`."""
    return dtype.get_shape()[0] if is_vector(dtype) else 1


def is_scalable(dtype: Attribute) -> bool:
    """Whether `dtype` is a vector of `k * vscale` lanes."""
    return is_vector(dtype) and any(map(bool, dtype.scalable_dims))


@by_identity
def is_bool(dtype: Attribute) -> bool:
    """TVM's `is_bool`: `i1`, or a vector of it."""
    return element_of(dtype) == i1


@by_identity
def is_uint(dtype: Attribute) -> bool:
    """Unsigned integer of any lanes. `bool` is unsigned, as in TVM."""
    element = element_of(dtype)
    return is_integer_type(element) and (
        element.signedness.data is Signedness.UNSIGNED or element == i1
    )


@by_identity
def is_int(dtype: Attribute) -> bool:
    """Signed integer of any lanes, not `bool`."""
    return is_integer(dtype) and not is_uint(dtype)


@by_identity
def is_integer(dtype: Attribute) -> bool:
    """Integer of either signedness, `bool` included."""
    return is_integer_type(element_of(dtype))


@by_identity
def is_float(dtype: Attribute) -> bool:
    """Any float kind that TVM has, of any lanes, narrow ones included.

    TVM's own predicate of this name is true of float16, float32 and float64 only.
    """
    return isinstance(element_of(dtype), FLOAT_KINDS)


def is_ieee_float(dtype: Attribute) -> bool:
    """Scalar `float16`, `float32` or `float64`: what TVM's own `is_float` is true of."""
    found = FLOATS.get(type(dtype))
    return found is not None and found.in_numpy


def is_bfloat16(dtype: Attribute) -> bool:
    """`bfloat16` of any lanes."""
    return isinstance(element_of(dtype), BFloat16Type)


def is_float8(dtype: Attribute) -> bool:
    """`float8_e4m3fn` or `float8_e5m2` of any lanes."""
    return isinstance(element_of(dtype), Float8E4M3FNType | Float8E5M2Type)


def is_float4(dtype: Attribute) -> bool:
    """`float4_e2m1fn` of any lanes."""
    return isinstance(element_of(dtype), Float4E2M1FNType)


@by_identity
def is_index_type(dtype: Attribute) -> bool:
    """Scalar `int32` or `int64`, what indices are computed in.

    docs/spec/tir-ir.md §1.
    """
    return dtype in (i32, i64)


def index_type_for(dtype: Attribute) -> IntegerType:
    """The index type for the numbers of an integer dtype, in which their products do not
    wrap around as they do in narrow and in unsigned ones.
    """
    return i32 if dtype == i32 or integer_range(dtype)[1] < 1 << 31 else i64


@cache
def _vector(element: Attribute, lanes: int, scalable: bool) -> VectorType[Attribute]:
    if not scalable:
        return VectorType(element, [lanes])
    return VectorType(element, [lanes], ArrayAttr([BoolAttr.from_bool(True)]))


def with_lanes(dtype: Attribute, lanes: int, *, scalable: bool = False) -> Attribute:
    """`dtype`'s element with another number of lanes; 1 lane, not scalable: a scalar."""
    element = element_of(dtype)
    if lanes == 1 and not scalable:
        return element
    return _vector(element, lanes, scalable)


def like_lanes(element: Attribute, shaped: Attribute) -> Attribute:
    """`element` with the lanes of `shaped`."""
    if not is_vector(shaped):
        return element_of(element)
    return with_lanes(element, lanes_of(shaped), scalable=is_scalable(shaped))


# ---- limits ----


@by_identity
def integer_range(dtype: Attribute) -> tuple[int, int]:
    """The least and the greatest value of an integer type, or of lanes of it.

    Raises ValueError for any other type.
    """
    element = element_of(dtype)
    if not is_integer_type(element):
        raise ValueError(f"{dtype} is no integer type")
    width = element.width.data
    if is_uint(element):
        return 0, (1 << width) - 1
    return -1 << (width - 1), (1 << (width - 1)) - 1


def largest_finite(dtype: Attribute) -> float:
    """The largest finite value of a scalar float dtype; infinity for any other type."""
    found = FLOATS.get(type(dtype))
    return math.inf if found is None else found.largest


def finite_range(dtype: Attribute) -> tuple[float, float]:
    """The least and the greatest finite value of a scalar integer or float dtype.

    Raises ValueError for any other type.
    """
    if type(dtype) in FLOATS:
        largest = largest_finite(dtype)
        return -largest, largest
    return integer_range(dtype)


# ---- promotion ----


def promoted(lhs: Attribute, rhs: Attribute) -> Attribute:
    """The scalar dtype that operands of two scalar dtypes are computed in.

    Floats come before integers; among floats those of IEEE 754 before `bfloat16`, 8-bit
    and 4-bit ones; then the wider one, and of integers of one width the unsigned one. Of
    two 8-bit floats it is the left one (docs/spec/tir-ir.md §5.1). Raises ValueError for
    any other type.
    """
    return rhs if _rank(rhs) > _rank(lhs) else lhs


def _rank(dtype: Attribute) -> tuple[int, int, bool]:
    found = FLOATS.get(type(dtype))
    if found is not None:
        return found.rank, cast(FixedBitwidthType, dtype).bitwidth, False
    if is_integer_type(dtype):
        return 0, dtype.width.data, is_uint(dtype)
    raise ValueError(f"type {dtype} has no arithmetic")


# ---- numpy ----


def numpy_float(name: str) -> np.dtype[Any]:
    """numpy's dtype of a float dtype, by TVM's name.

    Raises ValueError if it is one of ml_dtypes and the package is missing.
    """
    import numpy as np

    if FLOATS[FLOATS_BY_NAME[name]].in_numpy:
        return np.dtype(name)
    try:
        package = importlib.import_module("ml_dtypes")
    except ImportError:
        raise ValueError(f"{name} arrays need ml_dtypes: pip install ml_dtypes") from None
    return np.dtype(getattr(package, name))


def integer_storage(dtype: Attribute) -> np.dtype[Any]:
    """numpy's dtype that holds the values of a scalar integer dtype.

    `i1` is bool; one of another width than 8, 16, 32 or 64 is stored in the next wider
    one. Raises ValueError for any other type.
    """
    import numpy as np

    if not is_integer_type(dtype):
        raise ValueError(f"{dtype} is no integer type")
    if dtype == i1:
        return np.dtype(np.bool_)
    width = max(8, 1 << (dtype.width.data - 1).bit_length())
    return np.dtype(f"{'uint' if is_uint(dtype) else 'int'}{width}")


@cache
def numpy_dtype(dtype: Attribute, *, sub_byte: bool = False) -> np.dtype[Any]:
    """numpy's dtype for a scalar dtype; `i1` is bool, `index` is int64.

    Narrow floats are those of ml_dtypes; with `sub_byte` so are types of less than a
    byte, whose elements fill a byte there. Raises ValueError for other types, and where
    ml_dtypes is missing.
    """
    import numpy as np

    if isinstance(dtype, IndexType):
        return np.dtype(np.int64)
    found = FLOATS.get(type(dtype))
    if found is not None and (sub_byte or not is_float4(dtype)):
        return numpy_float(found.name)
    if is_integer_type(dtype):
        width = dtype.width.data
        if width in (1, 8, 16, 32, 64):
            return integer_storage(dtype)
        if sub_byte and width in (2, 4):
            name = f"{'uint' if is_uint(dtype) else 'int'}{width}"
            return np.dtype(getattr(importlib.import_module("ml_dtypes"), name))
    raise ValueError(f"numpy has no dtype for {dtype}")

"""Constants from numpy arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from xdsl.dialects.builtin import (
    BytesAttr,
    DenseIntOrFPElementsAttr,
    IntegerType,
    TensorType,
    i1,
)
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects import dtypes
from xdsl_tvm.dialects.array_bytes import array_bytes
from xdsl_tvm.dialects.tir.types import dtype_name, parse_dtype

if TYPE_CHECKING:
    import numpy as np


_BYTES = {"int2": "int8", "int4": "int8"}
"""Integers that ml_dtypes holds in a part of a byte."""


def dense_of(
    array: np.ndarray[Any, Any], place: memoryview | None = None
) -> DenseIntOrFPElementsAttr:
    """The elements of an array as a `dense<…>` of its shape and dtype.

    Dtypes are those that numpy and ml_dtypes name as TVM does. With a `place` of as many
    bytes as the array has, the elements are written there, except for bool. Raises
    VerifyException for other dtypes.
    """
    try:
        element = parse_dtype(array.dtype.name)
    except ValueError as error:
        raise VerifyException(f"relax.constant: {error}") from None
    type_ = cast("TensorType[IntegerType]", TensorType(element, array.shape))
    if element == i1:
        values = [int(value) for value in array.ravel()]
        return DenseIntOrFPElementsAttr.from_list(type_, values)
    if array.dtype.name in _BYTES:
        # Its bytes lack the sign, which those of an attribute have.
        array = array.astype(_BYTES[array.dtype.name])
    contents = array.astype(array.dtype.newbyteorder("<"), order="C", copy=False)
    return DenseIntOrFPElementsAttr(type_, BytesAttr(array_bytes(contents, place)))


def numpy_dtype(dtype: Attribute) -> np.dtype[Any]:
    """The dtype of arrays that hold elements of a type.

    Raises VerifyException for a type that numpy and ml_dtypes have no dtype for.
    """
    try:
        return dtypes.numpy_dtype(dtype, sub_byte=True)
    except ValueError:
        raise VerifyException(
            f"relax.constant: there are no arrays of {dtype_name(dtype)}; install "
            "ml_dtypes for bfloat16 and small floats"
        ) from None

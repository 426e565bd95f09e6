"""The types that LLVM has."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    Float80Type,
    Float128Type,
    VectorType,
    i1,
)
from xdsl.dialects.llvm import is_compatible_type
from xdsl.ir import Attribute

__all__ = ["LLVM_FLOATS"]

LLVM_FLOATS: tuple[type[Attribute], ...] = (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    Float80Type,
    Float128Type,
)
"""The float types that LLVM has."""


def is_llvm_type(type: Attribute) -> bool:
    """Like xDSL's `is_compatible_type`, and scalable vectors too."""
    if isinstance(type, VectorType):
        vector = cast("VectorType[Attribute]", type)
        return vector.get_num_dims() == 1 and is_compatible_type(vector.element_type)
    return is_compatible_type(type)


def same_shape(left: Attribute, right: Attribute) -> bool:
    """Whether both are scalars, or vectors of one shape."""
    if isinstance(left, VectorType) != isinstance(right, VectorType):
        return False
    if not isinstance(left, VectorType) or not isinstance(right, VectorType):
        return True
    return left.shape == right.shape and left.scalable_dims == right.scalable_dims


def i1_like(type: Attribute) -> Attribute:
    """`i1`, or the vector of `i1` that is shaped like a vector type."""
    if isinstance(type, VectorType):
        vector = cast("VectorType[Attribute]", type)
        return VectorType(i1, vector.shape, vector.scalable_dims)
    return i1

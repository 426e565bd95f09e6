"""What is known of a value, in TVM's words.

A struct info is the type of the value in the `relax` dialect, so a type may be given
wherever a struct info is asked for. Dimensions are integers, names of symbols, and
expressions of `sym`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, TypeAlias, runtime_checkable

from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.relax import (
    OBJECT,
    Dim,
    FuncType,
    ObjectType,
    PrimType,
    ShapeType,
    TensorInfo,
    TupleType,
    VDeviceAttr,
)
from xdsl_tvm.dialects.relax.operators import expect_dtype
from xdsl_tvm.dialects.relax.signatures import dtype_of
from xdsl_tvm.dialects.relax.symbolic import DimLike

DtypeLike: TypeAlias = "str | Attribute"
"""A dtype by TVM's name or by its type."""
ShapeLike: TypeAlias = "Iterable[DimLike | None]"
"""Dimensions; None is one that is not known next to others, which TVM has not."""


@runtime_checkable
class TypeAnnotation(Protocol):
    """What stands for a type of Relax, such as `R.Tensor((4,), "float32")`."""

    def relax_type(self) -> Attribute:
        """The type. Raises DiagnosticException where only a module tells it."""
        ...


def struct_info_of(given: object) -> Attribute:
    """The type that is given, or that an annotation stands for.

    Raises VerifyException for anything else.
    """
    if isinstance(given, Attribute):
        return given
    if isinstance(given, TypeAnnotation):
        return given.relax_type()
    raise VerifyException(
        f"a {type(given).__name__} annotates nothing in Relax; use a struct info, such "
        'as relax.TensorStructInfo((4,), "float32"), or its annotation, as in '
        'R.Tensor((4,), "float32")'
    )


def sym(name: str) -> Dim:
    """A symbolic dimension, TVM's `tir.Var(name, "int64")`: one of that name is the same.

    Raises VerifyException for what cannot be a name.
    """
    return _dim(name)


def _dim(value: DimLike) -> Dim:
    try:
        return Dim.of(value)
    except ValueError as error:
        raise VerifyException(str(error)) from None


def _dims(shape: ShapeLike) -> list[Dim | None]:
    dims = [None if extent is None else _dim(extent) for extent in shape]
    for dim in dims:
        if dim is not None and dim.value is not None and dim.value < 0:
            raise VerifyException(
                f"a dimension cannot be {dim}; give one that is not known a name"
            )
    return dims


def TensorStructInfo(
    shape: ShapeLike | None = None,
    dtype: DtypeLike | None = "float32",
    vdevice: VDeviceAttr | None = None,
    ndim: int = -1,
) -> Attribute:
    """A tensor; without `shape` only its rank, or nothing for -1, is known.

    `dtype` is unknown for None and `"void"`. Raises VerifyException for an unknown dtype
    and where `shape` and `ndim` differ.
    """
    element = None if dtype is None else dtype_of(dtype)
    if element is not None:
        element = expect_dtype("a tensor", element)
    if shape is None and ndim < 0 and vdevice is not None:
        raise VerifyException("a tensor on a vdevice needs its rank")
    if shape is None:
        dims = None if ndim < 0 else [None] * ndim
        return TensorInfo.shaped(dims, element, vdevice).type
    known = _dims(shape)
    if ndim not in (-1, len(known)):
        raise VerifyException(
            f"a tensor of shape [{', '.join(map(str, known))}] has not ndim {ndim}"
        )
    return TensorInfo.shaped(known, element, vdevice).type


def ShapeStructInfo(values: ShapeLike | None = None, ndim: int = -1) -> ShapeType:
    """A shape; without `values` only its length, or nothing for -1, is known."""
    if values is None:
        return ShapeType.of(None if ndim < 0 else [None] * ndim)
    return ShapeType.of(_dims(values))


def PrimStructInfo(dtype: DtypeLike = "int64", value: DimLike | None = None) -> PrimType:
    """A scalar that is not a tensor, its value known or not."""
    element = dtype_of(dtype)
    if element is None:
        raise VerifyException("a scalar needs a dtype that is not void")
    return PrimType.of(element, None if value is None else _dim(value))


def TupleStructInfo(fields: Sequence[Attribute]) -> TupleType:
    """Several values in one."""
    return TupleType.of(fields)


def FuncStructInfo(
    params: Sequence[Attribute] | None, ret: Attribute, purity: bool = True
) -> FuncType:
    """A function as a value; `params` is None for an opaque one."""
    return FuncType.of(params, ret, purity)


def ObjectStructInfo() -> ObjectType:
    """Any value."""
    return OBJECT

"""The types of the `tir` dialect, and TVM's dtype predicates over builtin types.

Scalars and vectors are builtin types (spec `tvmscript.md` §15, D2): `iN` is TVM's
signed `intN`, `uiN` its `uintN`, `i1` its `bool`, and a vector dtype is a rank-1 builtin
vector, `vector<[4]xf32>` when it is scalable.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import TypeAlias, TypeGuard, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    ArrayAttr,
    BFloat16Type,
    BoolAttr,
    ContainerType,
    Float4E2M1FNType,
    Float8E4M3FNType,
    Float8E5M2Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IntAttr,
    IntegerType,
    NoneType,
    ShapedType,
    Signedness,
    StringAttr,
    VectorType,
    i1,
)
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.tir.storage_scope import StorageScope

ScalarType: TypeAlias = IntegerType | AnyFloat
"""Element types of buffers and vectors."""

DEFAULT_SCOPE = "global"

_FLOATS: dict[str, type[Attribute]] = {
    "float16": Float16Type,
    "float32": Float32Type,
    "float64": Float64Type,
    "bfloat16": BFloat16Type,
    "float8_e4m3fn": Float8E4M3FNType,
    "float8_e5m2": Float8E5M2Type,
    "float4_e2m1fn": Float4E2M1FNType,
}
_FLOAT_NAMES = {kind: name for name, kind in _FLOATS.items()}
_DTYPE = re.compile(
    r"(?P<element>bool|handle|bfloat16|float8_e4m3fn|float8_e5m2|float4_e2m1fn"
    r"|(?P<code>int|uint|float)(?P<bits>\d+)?)"
    r"(?:x(?P<scalable>vscalex)?(?P<lanes>\d+))?\Z"
)


@irdl_attr_definition
class HandleType(ParametrizedAttribute, TypeAttribute):
    """An opaque pointer: TVM's `handle`, also the type of string immediates."""

    name = "tir.handle"


@irdl_attr_definition
class PtrType(ParametrizedAttribute, TypeAttribute):
    """A pointer to elements in a storage scope: TVM's `PointerType`.

    `!tir.ptr<f32, "shared">`; the scope is left out when it is `global`, and the element
    type is `none` for a pointer to void. The element type may be a vector.
    """

    name = "tir.ptr"

    element_type: Attribute
    scope: StringAttr

    def __init__(
        self, element_type: Attribute, scope: str | StringAttr = DEFAULT_SCOPE
    ) -> None:
        super().__init__(element_type, _scope_attr(scope))

    @property
    def storage_scope(self) -> StorageScope:
        """The scope, as rank and tag."""
        return StorageScope.parse(self.scope.data)

    def verify(self) -> None:
        if not self.scope.data:
            raise VerifyException(
                'tir.ptr scope must not be empty, leave it out for "global"'
            )
        _verify_scope(self, self.scope)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            return (parser.parse_type(), _parse_scope(parser))

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_attribute(self.element_type)
            _print_scope(printer, self.scope)


@irdl_attr_definition
class BufferType(ParametrizedAttribute, TypeAttribute, ShapedType, ContainerType):
    """A buffer: rank, static extents, element type and storage scope.

    `!tir.buffer<?x16xf32, "shared">`: `?` stands for an extent that is an operand of the
    op which defines the buffer, as are strides and offset (design §4). `!tir.buffer<f32>`
    has rank 0. The element type may be a rank-1 vector.
    """

    name = "tir.buffer"

    shape: ArrayAttr[IntAttr]
    element_type: Attribute
    scope: StringAttr

    def __init__(
        self,
        shape: Sequence[int] | ArrayAttr[IntAttr],
        element_type: Attribute,
        scope: str | StringAttr = DEFAULT_SCOPE,
    ) -> None:
        if not isinstance(shape, ArrayAttr):
            shape = ArrayAttr(IntAttr(extent) for extent in shape)
        super().__init__(shape, element_type, _scope_attr(scope))

    def get_num_dims(self) -> int:
        return len(self.shape)

    def get_shape(self) -> tuple[int, ...]:
        """The extents, `DYNAMIC_INDEX` for those that are operands."""
        return tuple(extent.data for extent in self.shape)

    def get_element_type(self) -> Attribute:
        return self.element_type

    @property
    def storage_scope(self) -> StorageScope:
        """The scope, as rank and tag."""
        return StorageScope.parse(self.scope.data)

    @property
    def pointer_type(self) -> PtrType:
        """The type of the buffer's data pointer."""
        return PtrType(self.element_type, self.scope)

    def verify(self) -> None:
        for extent in self.shape:
            if extent.data < 0 and extent.data != DYNAMIC_INDEX:
                raise VerifyException(
                    f"tir.buffer extent must not be negative, got {extent.data}"
                )
        if not is_storable(self.element_type):
            raise VerifyException(
                "tir.buffer element type must be an integer, a float, a handle, a "
                f"pointer or a rank-1 vector, got {self.element_type}"
            )
        if not self.scope.data:
            raise VerifyException(
                'tir.buffer scope must not be empty, leave it out for "global"'
            )
        _verify_scope(self, self.scope)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            shape, element_type = parser.parse_ranked_shape()
            scope = _parse_scope(parser)
        return (ArrayAttr(IntAttr(extent) for extent in shape), element_type, scope)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            for extent in self.get_shape():
                printer.print_string("?x" if extent == DYNAMIC_INDEX else f"{extent}x")
            printer.print_attribute(self.element_type)
            _print_scope(printer, self.scope)


def _scope_attr(scope: str | StringAttr) -> StringAttr:
    return StringAttr(scope) if isinstance(scope, str) else scope


def _verify_scope(owner: Attribute, scope: StringAttr) -> None:
    try:
        StorageScope.parse(scope.data)
    except ValueError as error:
        raise VerifyException(f"{owner.name}: {error}") from None


def _parse_scope(parser: AttrParser) -> StringAttr:
    if parser.parse_optional_punctuation(",") is None:
        return StringAttr(DEFAULT_SCOPE)
    return StringAttr(parser.parse_str_literal("storage scope"))


def _print_scope(printer: Printer, scope: StringAttr) -> None:
    if scope.data != DEFAULT_SCOPE:
        printer.print_string(", ")
        printer.print_string_literal(scope.data)


# ---- dtype predicates and conversions (spec tir-ir.md §1) ----


def is_vector(dtype: Attribute) -> TypeGuard[VectorType[Attribute]]:
    """Whether `dtype` is a vector, fixed or scalable."""
    return isinstance(dtype, VectorType)


def is_integer_type(dtype: Attribute) -> TypeGuard[IntegerType[int, Signedness]]:
    """Whether `dtype` is a scalar integer that TIR has: `iN` or `uiN`, not `siN`."""
    if not isinstance(dtype, IntegerType):
        return False
    integer = cast("IntegerType[int, Signedness]", dtype)
    return integer.signedness.data is not Signedness.SIGNED


def element_of(dtype: Attribute) -> Attribute:
    """The element type of a vector, any other type unchanged."""
    return dtype.element_type if is_vector(dtype) else dtype


def lanes_of(dtype: Attribute) -> int:
    """The number of lanes; of a scalable vector, the factor of `vscale`."""
    return dtype.get_shape()[0] if is_vector(dtype) else 1


def is_scalable(dtype: Attribute) -> bool:
    """Whether `dtype` is a vector of `k * vscale` lanes."""
    return is_vector(dtype) and any(map(bool, dtype.scalable_dims))


def is_bool(dtype: Attribute) -> bool:
    """TVM's `is_bool`: `i1`, or a vector of it."""
    return element_of(dtype) == i1


def is_uint(dtype: Attribute) -> bool:
    """Unsigned integer of any lanes. `bool` is unsigned, as in TVM."""
    element = element_of(dtype)
    return is_integer_type(element) and (
        element.signedness.data is Signedness.UNSIGNED or element == i1
    )


def is_int(dtype: Attribute) -> bool:
    """Signed integer of any lanes, not `bool`."""
    return is_integer(dtype) and not is_uint(dtype)


def is_integer(dtype: Attribute) -> bool:
    """Integer of either signedness, `bool` included."""
    return is_integer_type(element_of(dtype))


def is_float(dtype: Attribute) -> bool:
    """Any float kind, narrow ones included."""
    return isinstance(element_of(dtype), AnyFloat)


def is_handle(dtype: Attribute) -> bool:
    """An opaque or a typed pointer."""
    return isinstance(dtype, HandleType | PtrType)


def is_scalar(dtype: Attribute) -> bool:
    """A single integer, bool or float."""
    return is_integer_type(dtype) or isinstance(dtype, AnyFloat)


def is_storable(dtype: Attribute) -> bool:
    """Whether a buffer can hold elements of `dtype`."""
    if is_vector(dtype):
        return dtype.get_num_dims() == 1 and is_scalar(dtype.element_type)
    return is_scalar(dtype) or is_handle(dtype)


def is_expression_type(dtype: Attribute) -> bool:
    """Whether a TIR expression can have type `dtype`."""
    return is_storable(dtype)


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


def dtype_name(dtype: Attribute) -> str:
    """TVM's spelling: `i32` is `int32`, `vector<[4]xui8>` is `uint8xvscalex4`.

    Raises ValueError for a type that has none.
    """
    element = element_of(dtype)
    if is_integer_type(element):
        base = f"{'uint' if is_uint(element) else 'int'}{element.width.data}"
        if element == i1 and not is_vector(dtype):
            base = "bool"
    elif type(element) in _FLOAT_NAMES:
        base = _FLOAT_NAMES[type(element)]
    elif is_handle(element):
        base = "handle"
    elif isinstance(element, NoneType):
        base = "void"
    else:
        raise ValueError(f"type {dtype} has no TVM dtype name")
    if not is_vector(dtype):
        return base
    return f"{base}x{'vscalex' if is_scalable(dtype) else ''}{dtype.get_shape()[0]}"


def parse_dtype(name: str) -> Attribute:
    """The type of a TVM dtype string; `float32x4` is `vector<4xf32>`.

    `void` and the empty string are `none`. Raises ValueError for an unknown name.
    """
    if name in ("", "void"):
        return NoneType()
    match = _DTYPE.match(name)
    if match is None:
        raise ValueError(f"unknown dtype '{name}', write it as in 'float32' or 'int8x4'")
    element = _parse_element(match["element"], match["code"], match["bits"])
    if match["lanes"] is None:
        return element
    return with_lanes(
        element, int(match["lanes"]), scalable=match["scalable"] is not None
    )


def _parse_element(name: str, code: str | None, bits: str | None) -> Attribute:
    if name == "bool":
        return i1
    if name == "handle":
        return HandleType()
    if name in _FLOATS:
        return _FLOATS[name]()
    if code == "float":
        if bits is None:
            return Float32Type()
        raise ValueError(f"unknown dtype '{name}', floats have 16, 32 or 64 bits")
    width = int(bits) if bits is not None else 32
    if code == "uint":
        return i1 if width == 1 else IntegerType(width, Signedness.UNSIGNED)
    return IntegerType(width)

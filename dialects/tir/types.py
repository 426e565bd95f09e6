"""The types of the `tir` dialect, and what is asked of all of TVM's dtypes.

Scalars and vectors are builtin types (docs/spec/tvmscript.md §15, D2): `iN` is TVM's
signed `intN`, `uiN` its `uintN`, `i1` its `bool`, and a vector dtype is a rank-1 builtin
vector, `vector<[4]xf32>` when it is scalable. Dtypes that users register are
`!tir.custom`. Two of TVM's dtypes have no type here, as no program has them: `int1`,
which holds 0 and 1 as `bool` does, and `float8` without a format.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import index
from typing import cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    ContainerType,
    FixedBitwidthType,
    Float64Type,
    FloatAttr,
    IntAttr,
    IntegerType,
    NoneType,
    ShapedType,
    Signedness,
    StringAttr,
    f64,
    i1,
)
from xdsl.ir import (
    Attribute,
    ParametrizedAttribute,
    TypeAttribute,
    TypedAttribute,
)
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.by_identity import by_identity
from xdsl_tvm.dialects.dtypes import (
    FLOAT_KINDS,
    FLOATS,
    FLOATS_BY_NAME,
    MAX_INTEGER_WIDTH,
    integer_range,
    largest_finite,
)
from xdsl_tvm.dialects.dtypes import MAX_LANES as MAX_LANES
from xdsl_tvm.dialects.dtypes import element_of as element_of
from xdsl_tvm.dialects.dtypes import index_type_for as index_type_for
from xdsl_tvm.dialects.dtypes import is_bfloat16 as is_bfloat16
from xdsl_tvm.dialects.dtypes import is_bool as is_bool
from xdsl_tvm.dialects.dtypes import is_float as is_float
from xdsl_tvm.dialects.dtypes import is_float4 as is_float4
from xdsl_tvm.dialects.dtypes import is_float8 as is_float8
from xdsl_tvm.dialects.dtypes import is_index_type as is_index_type
from xdsl_tvm.dialects.dtypes import is_int as is_int
from xdsl_tvm.dialects.dtypes import is_integer as is_integer
from xdsl_tvm.dialects.dtypes import is_integer_type as is_integer_type
from xdsl_tvm.dialects.dtypes import is_scalable as is_scalable
from xdsl_tvm.dialects.dtypes import is_uint as is_uint
from xdsl_tvm.dialects.dtypes import is_vector as is_vector
from xdsl_tvm.dialects.dtypes import lanes_of as lanes_of
from xdsl_tvm.dialects.dtypes import like_lanes as like_lanes
from xdsl_tvm.dialects.dtypes import with_lanes as with_lanes
from xdsl_tvm.dialects.tir.storage_scope import StorageScope

POINTER_BYTES = 8

DEFAULT_SCOPE = "global"

_DTYPE = re.compile(
    r"(?P<element>bool|handle|float8_e4m3fn|float8_e5m2|float4_e2m1fn"
    r"|(?P<code>int|uint|float|bfloat|custom\[(?P<custom>\w+)\])(?P<bits>\d+)?)"
    r"(?:x(?P<scalable>vscalex)?(?P<lanes>\d+))?\Z"
)
_DEFAULT_BITS = {"int": 32, "uint": 32, "float": 32, "bfloat": 16}
_CUSTOM_NAME = re.compile(r"\w+\Z")


@irdl_attr_definition
class HandleType(ParametrizedAttribute, TypeAttribute):
    """An opaque pointer: TVM's `handle`, also the type of string immediates."""

    name = "tir.handle"


@irdl_attr_definition
class ReducerType(ParametrizedAttribute, TypeAttribute):
    """The type of a `tir.reducer`, which only a `tir.attr` uses; no TIR dtype."""

    name = "tir.reducer"


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
class CustomType(ParametrizedAttribute, TypeAttribute):
    """A dtype that a user registered, by name and width: TVM's `custom[name]bits`.

    `!tir.custom<"posites2", 16>`. Values can be converted, loaded, stored and computed
    with; what that means is up to LowerCustomDatatypes.
    """

    name = "tir.custom"

    type_name: StringAttr
    bits: IntAttr

    def __init__(self, type_name: str | StringAttr, bits: int | IntAttr) -> None:
        super().__init__(
            _scope_attr(type_name), IntAttr(bits) if isinstance(bits, int) else bits
        )

    def verify(self) -> None:
        if _CUSTOM_NAME.match(self.type_name.data) is None:
            raise VerifyException(
                "tir.custom: the name must consist of letters, digits and underscores, "
                f'got "{self.type_name.data}"'
            )
        if not 1 <= self.bits.data <= MAX_INTEGER_WIDTH:
            raise VerifyException(
                f"tir.custom: the width must be within 1 and {MAX_INTEGER_WIDTH} bits, "
                f"got {self.bits.data}"
            )

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            type_name = parser.parse_str_literal("name of the dtype")
            parser.parse_punctuation(",")
            bits = parser.parse_integer(allow_boolean=False, allow_negative=False)
        return (StringAttr(type_name), IntAttr(bits))

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string_literal(self.type_name.data)
            printer.print_string(f", {self.bits.data}")


@irdl_attr_definition
class CustomValueAttr(TypedAttribute):
    """A constant of a custom dtype, a `FloatImm`: the number it stands for.

    `#tir.custom_value<1.500000e+00 : f64, !tir.custom<"posites2", 16>>`.
    """

    name = "tir.custom_value"

    value: FloatAttr[Float64Type]
    type: CustomType

    def __init__(self, value: float, type: CustomType) -> None:
        super().__init__(FloatAttr(value, f64), type)

    def get_type(self) -> Attribute:
        return self.type

    def print_without_type(self, printer: Printer) -> None:
        printer.print_attribute(self.value)


@irdl_attr_definition
class BufferType(ParametrizedAttribute, TypeAttribute, ShapedType, ContainerType):
    """A buffer: rank, static extents, element type and storage scope.

    `!tir.buffer<?x16xf32, "shared">`: `?` stands for an extent that is an operand of the
    op which defines the buffer, as are strides and offset. `!tir.buffer<f32>`
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
            shape = _shape_attr(tuple(shape))
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
                "tir.buffer element type must be an integer of at most 64 bits, a float "
                "that TVM has, a custom dtype, a handle, a pointer or a rank-1 vector of "
                f"2 to {MAX_LANES} lanes, got {self.element_type}"
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


@lru_cache(maxsize=1024)
def _shape_attr(shape: tuple[int, ...]) -> ArrayAttr[IntAttr]:
    # Equal numbers of other classes, such as those of numpy, find what is made here.
    return ArrayAttr(IntAttr(int(index(extent))) for extent in shape)


@lru_cache(maxsize=4096)
def buffer_of(
    shape: tuple[int, ...], element_type: Attribute, scope: str | StringAttr
) -> BufferType:
    """The one `BufferType` with these parts, for those that passes make.

    What is kept by the identity of types is found for it again.
    """
    return BufferType(shape, element_type, scope)


def _scope_attr(scope: str | StringAttr) -> StringAttr:
    return string_attr(scope) if isinstance(scope, str) else scope


@lru_cache(maxsize=1024)
def string_attr(text: str) -> StringAttr:
    """The attribute of a text, such as a name or a scope, of which programs have few."""
    return StringAttr(text)


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


# ---- predicates and names of all dtypes (docs/spec/tir-ir.md §1) ----


def is_custom(dtype: Attribute) -> bool:
    """A dtype that a user registered, of any lanes."""
    return isinstance(element_of(dtype), CustomType)


@by_identity
def is_handle(dtype: Attribute) -> bool:
    """An opaque or a typed pointer."""
    return isinstance(dtype, HandleType | PtrType)


@by_identity
def is_scalar(dtype: Attribute) -> bool:
    """A single integer, bool, float or value of a custom dtype."""
    return is_integer_type(dtype) or isinstance(dtype, (*FLOAT_KINDS, CustomType))


def is_storable(dtype: Attribute) -> bool:
    """Whether a buffer can hold elements of `dtype`."""
    if is_vector(dtype):
        one_dim = dtype.get_num_dims() == 1 and is_scalar(dtype.element_type)
        # A vector of one lane would be a second type of scalars.
        return one_dim and 1 < dtype.get_shape()[0] <= MAX_LANES
    return is_scalar(dtype) or is_handle(dtype)


def is_expression_type(dtype: Attribute) -> bool:
    """Whether a TIR expression can have type `dtype`."""
    return is_storable(dtype)


def bits_of_lane(dtype: Attribute) -> int:
    """The width of one lane in bits; a pointer has 64.

    Raises ValueError for a type that no element of a buffer has.
    """
    element = element_of(dtype)
    if is_handle(element):
        return 8 * POINTER_BYTES
    if not is_scalar(element):
        raise ValueError(f"type {dtype} has no width, use a TIR dtype")
    if isinstance(element, CustomType):
        return element.bits.data
    return cast(FixedBitwidthType, element).bitwidth


def bytes_of_lane(dtype: Attribute) -> int:
    """The size of one lane in bytes, bits rounded up: a bool and a float4 have one.

    Raises ValueError for a type that no element of a buffer has.
    """
    return (bits_of_lane(dtype) + 7) // 8


def bytes_of(dtype: Attribute) -> int:
    """The size of a value in bytes; lanes of float4 are packed, two in a byte.

    Raises ValueError for a scalable vector, and for a type that no element has.
    """
    if is_scalable(dtype):
        raise ValueError(f"the size of {dtype} is not known before it runs")
    if is_float4(dtype):
        return (lanes_of(dtype) * bits_of_lane(dtype) + 7) // 8
    return lanes_of(dtype) * bytes_of_lane(dtype)


def require_in_range(value: float, dtype: Attribute) -> None:
    """Raise ValueError unless the number can be a constant of a scalar dtype.

    An integer must be representable, where `bool` has 0 and 1; a finite float must not be
    beyond the largest finite value of the dtype, and may be between representable ones
    (docs/spec/tir-ir.md §3.1). A custom dtype takes every number.
    """
    if is_integer_type(dtype):
        _require_integer(value, dtype)
        return
    largest = largest_finite(dtype)
    if math.isfinite(value) and abs(value) > largest:
        raise ValueError(
            f"{value} is out of range of {dtype_name(dtype)}, whose largest finite value "
            f"is {largest}; use a wider dtype"
        )


def _require_integer(value: float, dtype: IntegerType[int, Signedness]) -> None:
    if int(value) != value:
        raise ValueError(f"{value} is no constant of dtype {dtype_name(dtype)}")
    low, high = integer_range(dtype)
    if not low <= value <= high:
        raise ValueError(
            f"{int(value)} is out of range of {dtype_name(dtype)}, which holds {low} to "
            f"{high}; use a wider dtype"
        )


def dtype_name(dtype: Attribute) -> str:
    """TVM's spelling: `i32` is `int32`, `vector<[4]xui8>` is `uint8xvscalex4`.

    Raises ValueError for a type that has none.
    """
    element = element_of(dtype)
    if is_integer_type(element):
        base = f"{'uint' if is_uint(element) else 'int'}{element.width.data}"
        if element == i1 and not is_vector(dtype):
            base = "bool"
    elif type(element) in FLOATS:
        base = FLOATS[type(element)].name
    elif isinstance(element, CustomType):
        base = f"custom[{element.type_name.data}]{element.bits.data}"
    elif is_handle(element):
        base = "handle"
    elif isinstance(element, NoneType):
        base = "void"
    else:
        raise ValueError(f"type {dtype} has no TVM dtype name")
    if not is_vector(dtype):
        return base
    return f"{base}x{'vscalex' if is_scalable(dtype) else ''}{dtype.get_shape()[0]}"


@lru_cache(maxsize=1024)
def parse_dtype(name: str) -> Attribute:
    """The type of a TVM dtype string; `float32x4` is `vector<4xf32>`.

    `void` and the empty string are `none`. `int`, `uint` and `float` have 32 bits,
    `bfloat` 16 (docs/spec/tir-ir.md §1). Raises ValueError for an unknown name.
    """
    if name in ("", "void"):
        return NoneType()
    match = _DTYPE.match(name)
    if match is None:
        raise ValueError(f"unknown dtype '{name}', write it as in 'float32' or 'int8x4'")
    element = _parse_element(match)
    if match["lanes"] is None:
        return element
    if match["element"] in ("bool", "handle"):
        hint = "; write it as in 'uint1x4'" if match["element"] == "bool" else ""
        raise ValueError(f"unknown dtype '{name}', {match[1]} has no lanes{hint}")
    lanes, scalable = int(match["lanes"]), match["scalable"] is not None
    if lanes < (2 if scalable else 1):
        raise ValueError(
            f"unknown dtype '{name}', a vector has at least one lane, and a scalable one "
            "a factor of at least 2"
        )
    if lanes > MAX_LANES:
        raise ValueError(
            f"unknown dtype '{name}', a vector has at most {MAX_LANES} lanes"
        )
    return with_lanes(element, lanes, scalable=scalable)


def _parse_element(match: re.Match[str]) -> Attribute:
    name, code = match["element"], match["code"]
    if code is None:
        return _NAMED[name]()
    bits = int(match["bits"] or _DEFAULT_BITS.get(code, 0))
    if match["custom"] is not None:
        if not 1 <= bits <= MAX_INTEGER_WIDTH:
            raise ValueError(
                f"unknown dtype '{name}', a custom dtype has a width within 1 and "
                f"{MAX_INTEGER_WIDTH} bits, as in 'custom[posites2]16'"
            )
        return CustomType(match["custom"], bits)
    if code in ("float", "bfloat"):
        kind = FLOATS_BY_NAME.get(f"{code}{bits}")
        if kind is None:
            raise ValueError(
                f"unknown dtype '{name}', floats have 16, 32 or 64 bits and bfloats 16"
            )
        return kind()
    if code == "int" and bits == 1:
        raise ValueError(f"unknown dtype '{name}', use 'bool'")
    if not 1 <= bits <= MAX_INTEGER_WIDTH:
        raise ValueError(
            f"unknown dtype '{name}', integers have at most {MAX_INTEGER_WIDTH} bits"
        )
    if code == "uint":
        return i1 if bits == 1 else IntegerType(bits, Signedness.UNSIGNED)
    return IntegerType(bits)


_NAMED: dict[str, Callable[[], Attribute]] = {
    "bool": lambda: i1,
    "handle": HandleType,
    **FLOATS_BY_NAME,
}

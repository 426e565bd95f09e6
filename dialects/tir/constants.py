"""Literals: constants, strings, and the numbers that values are known to be."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import cast

from xdsl.dialects.builtin import (
    AnyFloat,
    BoolAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    StringAttr,
    f32,
    i1,
)
from xdsl.interfaces import HasFolderInterface
from xdsl.ir import Attribute, SSAValue, TypedAttribute
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    ConstantLike,
    Pure,
)
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.by_class import of_classes
from xdsl_tvm.dialects.by_identity import by_identity
from xdsl_tvm.dialects.tir import assembly
from xdsl_tvm.dialects.tir.types import (
    CustomType,
    CustomValueAttr,
    HandleType,
    is_float,
    is_integer_type,
    is_scalar,
    require_in_range,
)

_is_custom = of_classes(CustomValueAttr)


def constant_attr(value: float | bool, dtype: Attribute) -> TypedAttribute:
    """The number as an attribute of the scalar type `dtype`.

    Raises ValueError when `dtype` is no scalar.
    """
    if is_integer_type(dtype):
        if dtype == i1:
            return BoolAttr.from_bool(bool(value))
        return integer_attr(int(value), dtype)
    if isinstance(dtype, AnyFloat) and is_float(dtype):
        return FloatAttr(float(value), dtype)
    if isinstance(dtype, CustomType):
        return CustomValueAttr(float(value), dtype)
    raise ValueError(f"tir.const: type {dtype} is no scalar")


@lru_cache(maxsize=4096)
def integer_attr(
    value: int, dtype: IntegerType | IndexType
) -> IntegerAttr[IntegerType | IndexType]:
    """The attribute of a number, which programs have few of, made once."""
    return IntegerAttr(value, dtype)


@by_identity
def _number_of(value: Attribute) -> int | float:
    """The number that the attribute of a constant holds."""
    if _is_custom(value):
        return value.value.value.data
    number = cast("IntegerAttr[IntegerType] | FloatAttr[AnyFloat]", value)
    if number.type == i1:
        return 1 if number.value.data else 0
    return number.value.data


@irdl_op_definition
class ConstOp(IRDLOperation, HasFolderInterface):
    """A scalar constant: `IntImm` or `FloatImm`.

    A vector constant is a `tir.broadcast` of one. An unsigned constant is in range of its
    type, up to 2^64 - 1 (TVM's `large_uint_imm`). A float is rounded to its dtype, where
    TVM keeps it as written; finite ones are in range of it. Constants of custom dtypes
    are `#tir.custom_value` attributes.

    ```mlir
    // @f() = 255
    tir.func @f() -> ui8 {
      %0 = tir.const true
      %1 = tir.const 2.5 : f16
      %2 = tir.const 255 : ui8
      tir.ret %2 : ui8
    }
    ```
    """

    name = "tir.const"

    value = prop_def(TypedAttribute)
    result = result_def()

    traits = traits_def(Pure(), ConstantLike())

    def __init__(self, value: TypedAttribute) -> None:
        super().__init__(properties={"value": value}, result_types=[value.get_type()])

    @staticmethod
    def of(value: float | bool, dtype: Attribute) -> ConstOp:
        """The constant `value` of the scalar type `dtype`.

        Raises ValueError when `dtype` is no scalar, or `value` is out of its range
        (`require_in_range`).
        """
        require_in_range(value, dtype)
        # Constants are the most frequent ops: they are made the cheap way.
        return ConstOp.create(
            properties={"value": constant_attr(value, dtype)}, result_types=[dtype]
        )

    @property
    def literal(self) -> int | float:
        """The constant as a Python number; a bool as 0 or 1."""
        return _number_of(self.properties["value"])

    def fold(self) -> tuple[Attribute]:
        return (self.value,)

    @classmethod
    def parse(cls, parser: Parser) -> ConstOp:
        position = parser.pos
        try:
            value = parser.parse_attribute()
        except (OverflowError, VerifyException):
            parser.raise_error(
                "tir.const: the number is out of range of its type; use a wider one"
            )
        if not isinstance(value, IntegerAttr | FloatAttr | CustomValueAttr):
            parser.raise_error(f"expected an integer or a float, got {value}", position)
        text = parser.lexer.input.content[position : parser.pos]
        _require_written_in_range(parser, text, cast(TypedAttribute, value))
        op = cls(cast(TypedAttribute, value))
        assembly.parse_attributes_into(parser, op)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.value)
        assembly.print_attributes(printer, self, ("value",))

    def verify_(self) -> None:
        value = self.value
        dtype = value.get_type()
        if not is_scalar(dtype) or not isinstance(value, _CONSTANTS):
            raise VerifyException(
                "tir.const: the value must be an integer or a float of scalar type, got "
                f"a value of type {dtype}"
            )
        if dtype != self.result.type:
            raise VerifyException(
                f"tir.const: a value of type {dtype} for a result of type "
                f"{self.result.type}"
            )


_CONSTANTS = (IntegerAttr, FloatAttr, CustomValueAttr)
_LARGEST_F32 = float.fromhex("0x1.fffffep127")
_NUMBER = re.compile(r"\s*([+-]?\d+(?:\.\d*(?:[eE][+-]?\d+)?)?)\s*:")


def _require_written_in_range(parser: Parser, text: str, value: TypedAttribute) -> None:
    """Refuse a number as written that the attribute could hold only as another one.

    The attribute wraps integers around and rounds floats, so it cannot tell. A number in
    hexadecimal digits gives the bits.
    """
    number = _NUMBER.match(text)
    if number is None:
        return
    digits = number[1]
    written = float(digits) if "." in digits else int(digits)
    is_f32 = value.get_type() == f32
    if is_f32 and digits.lstrip("+-") == f"{_LARGEST_F32:.9g}":
        # xDSL prints nine digits of an f32; of the largest one, they are beyond it.
        return
    try:
        require_in_range(written, value.get_type())
    except ValueError as error:
        parser.raise_error(f"tir.const: {error}")


def constant_value(value: SSAValue) -> int | float | None:
    """The number a `tir.const` gives to `value`, None for any other value."""
    owner = value.owner
    return owner.literal if isinstance(owner, ConstOp) else None


def is_constant(value: SSAValue, number: float) -> bool:
    """Whether `value` is the constant `number`."""
    return constant_value(value) == number


@irdl_op_definition
class StringOp(IRDLOperation):
    """A string immediate, `StringImm`: an operand of calls, as a name or a message.

    ```mlir
    // @reverse([1, 2, 3, 4]) -> [4, 3, 2, 1]
    tir.func @reverse(%a: !tir.handle) {
      %A = tir.match_buffer %a : !tir.buffer<4xi32>
      %scope = tir.string "shared"
      %c3 = tir.const 3 : i32
      %c4 = tir.const 4 : i32
      tir.launch_thread %t = "threadIdx.x" to %c4 {
        %x = tir.load %A[%t] : i32
        tir.call "tvm_storage_sync"(%scope) : (!tir.handle) -> ()
        %u = tir.sub %c3, %t : i32
        tir.store %x, %A[%u] : i32
      }
    }
    ```
    """

    name = "tir.string"

    value = prop_def(StringAttr)
    result = result_def(HandleType)

    assembly_format = "$value attr-dict"

    traits = traits_def(Pure())

    def __init__(self, value: str | StringAttr) -> None:
        if isinstance(value, str):
            value = StringAttr(value)
        super().__init__(properties={"value": value}, result_types=[HandleType()])

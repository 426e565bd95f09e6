"""Expression ops: one op per TIR node, polymorphic over dtypes (spec tir-ir.md §3, §4).

Which machine operation an op stands for follows from its type, and is chosen once, in
the lowering: `iN` is signed, `uiN` unsigned, `i1` bool. Vectors are element-wise. No op
broadcasts: scalars meet vectors through `tir.broadcast` only.
"""

from __future__ import annotations

import re
from abc import ABC
from collections.abc import Sequence
from typing import ClassVar, cast

from xdsl.dialects.builtin import (
    AnyFloat,
    BoolAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    f32,
    i1,
)
from xdsl.ir import Attribute, Operation, Region, SSAValue, TypedAttribute
from xdsl.irdl import (
    AnyAttr,
    AttrSizedOperandSegments,
    IRDLOperation,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    Commutative,
    ConstantLike,
    IsTerminator,
    NoMemoryEffect,
    Pure,
    RecursiveMemoryEffect,
)
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.tir import assembly
from xdsl_tvm.dialects.tir.attributes import CmpPredicate, CmpPredicateAttr
from xdsl_tvm.dialects.tir.types import (
    MAX_LANES,
    CustomType,
    CustomValueAttr,
    HandleType,
    element_of,
    is_bool,
    is_custom,
    is_expression_type,
    is_float,
    is_handle,
    is_integer,
    is_integer_type,
    is_scalable,
    is_scalar,
    lanes_of,
    like_lanes,
    require_in_range,
    with_lanes,
)


def require_expression(op: Operation, dtype: Attribute) -> None:
    """Raise VerifyException unless `dtype` is the type of a TIR expression."""
    if not is_expression_type(dtype):
        raise VerifyException(
            f"{op.name}: {dtype} is no TIR dtype; use an integer, a float, a handle, a "
            f"pointer or a rank-1 vector of 2 to {MAX_LANES} lanes"
        )


def _require_numeric(op: Operation, dtype: Attribute) -> None:
    if not (is_integer(dtype) or is_float(dtype) or is_custom(dtype)):
        raise VerifyException(
            f"{op.name}: operands must be integers or floats, got {dtype}"
        )


def _constant(value: float | bool, dtype: Attribute) -> TypedAttribute:
    if is_integer_type(dtype):
        if dtype == i1:
            return BoolAttr.from_bool(bool(value))
        return IntegerAttr(int(value), dtype)
    if isinstance(dtype, AnyFloat) and is_float(dtype):
        return FloatAttr(float(value), dtype)
    if isinstance(dtype, CustomType):
        return CustomValueAttr(float(value), dtype)
    raise ValueError(f"tir.const: type {dtype} is no scalar")


@irdl_op_definition
class ConstOp(IRDLOperation):
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
            properties={"value": _constant(value, dtype)}, result_types=[dtype]
        )

    @property
    def literal(self) -> int | float:
        """The constant as a Python number; a bool as 0 or 1."""
        if isinstance(self.value, CustomValueAttr):
            return self.value.value.value.data
        value = cast("IntegerAttr[IntegerType] | FloatAttr[AnyFloat]", self.value)
        if value.type == i1:
            return 1 if value.value.data else 0
        return value.value.data

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


class BinaryOp(IRDLOperation, ABC):
    """Two operands and a result of one dtype, a number unless the op says otherwise."""

    T: ClassVar = VarConstraint("T", AnyAttr())

    lhs = operand_def(T)
    rhs = operand_def(T)
    result = result_def(T)

    assembly_format = "$lhs `,` $rhs attr-dict `:` type($result)"

    def __init__(self, lhs: SSAValue | Operation, rhs: SSAValue | Operation) -> None:
        lhs = SSAValue.get(lhs)
        super().__init__(operands=[lhs, rhs], result_types=[lhs.type])

    def verify_(self) -> None:
        _require_numeric(self, self.result.type)


@irdl_op_definition
class AddOp(BinaryOp):
    """Sum, `Add`. Signed overflow at 32 bits and above is undefined, else it wraps.

    ```mlir
    // @f(2, 3) = 5
    // @f(127, 1) = -128
    tir.func @f(%x: i8, %y: i8) -> i8 {
      %z = tir.add %x, %y : i8
      tir.ret %z : i8
    }
    ```
    """

    name = "tir.add"
    traits = traits_def(Pure(), Commutative())


@irdl_op_definition
class SubOp(BinaryOp):
    """Difference, `Sub`, with the overflow rule of `tir.add`.

    ```mlir
    // @f(2.0, 3.5) = -1.5
    tir.func @f(%x: f32, %y: f32) -> f32 {
      %z = tir.sub %x, %y : f32
      tir.ret %z : f32
    }
    ```
    """

    name = "tir.sub"
    traits = traits_def(Pure())


@irdl_op_definition
class MulOp(BinaryOp):
    """Product, `Mul`, with the overflow rule of `tir.add`.

    ```mlir
    // @f([1.0, 2.0], [3.0, 4.0]) = [3.0, 8.0]
    tir.func @f(%x: vector<2xf32>, %y: vector<2xf32>) -> vector<2xf32> {
      %z = tir.mul %x, %y : vector<2xf32>
      tir.ret %z : vector<2xf32>
    }
    ```
    """

    name = "tir.mul"
    traits = traits_def(Pure(), Commutative())


@irdl_op_definition
class DivOp(BinaryOp):
    """Quotient, `Div`: IEEE for floats, rounded toward zero for integers.

    Integer division by zero is undefined, and so is that of the least number by -1: code
    for processors ends the process. The op is never speculated. `-7.0 / 0.0` and the like
    are as in IEEE 754.
    `xdsl_tvm.compile(module, bound_checks=True)` makes both an error of the call.

    ```mlir
    // @f(-7, 2) = -3
    // @f(1, 0) fails: an integer is divided by zero
    tir.func @f(%x: i32, %y: i32) -> i32 {
      %z = tir.div %x, %y : i32
      tir.ret %z : i32
    }
    ```
    """

    name = "tir.div"
    traits = traits_def(NoMemoryEffect())


@irdl_op_definition
class ModOp(BinaryOp):
    """Remainder of `tir.div`, `Mod`: it has the sign of the dividend.

    As with `tir.div`, integer division by zero is undefined.

    ```mlir
    // @f(-7, 2) = -1
    tir.func @f(%x: i32, %y: i32) -> i32 {
      %z = tir.mod %x, %y : i32
      tir.ret %z : i32
    }
    ```
    """

    name = "tir.mod"
    traits = traits_def(NoMemoryEffect())


@irdl_op_definition
class FloorDivOp(BinaryOp):
    """Quotient rounded toward negative infinity, `FloorDiv`.

    As with `tir.div`, integer division by zero is undefined.

    ```mlir
    // @f(-7, 2) = -4
    tir.func @f(%x: i32, %y: i32) -> i32 {
      %z = tir.floordiv %x, %y : i32
      tir.ret %z : i32
    }
    ```
    """

    name = "tir.floordiv"
    traits = traits_def(NoMemoryEffect())


@irdl_op_definition
class FloorModOp(BinaryOp):
    """Remainder of `tir.floordiv`, `FloorMod`: it has the sign of the divisor.

    As with `tir.div`, integer division by zero is undefined.

    ```mlir
    // @f(-7, 2) = 1
    tir.func @f(%x: i32, %y: i32) -> i32 {
      %z = tir.floormod %x, %y : i32
      tir.ret %z : i32
    }
    ```
    """

    name = "tir.floormod"
    traits = traits_def(NoMemoryEffect())


@irdl_op_definition
class MinOp(BinaryOp):
    """The lesser operand, `Min`. Of floats: NaN where either operand is NaN.

    Which of two zeros with different signs is the result is not specified.

    ```mlir
    // @f(2.0, 3.0) = 2.0
    // @f(NaN, 3.0) = NaN
    // @f(2.0, NaN) = NaN
    tir.func @f(%x: f32, %y: f32) -> f32 {
      %z = tir.min %x, %y : f32
      tir.ret %z : f32
    }
    ```
    """

    name = "tir.min"
    traits = traits_def(Pure())


@irdl_op_definition
class MaxOp(BinaryOp):
    """The greater operand, `Max`. Of floats: NaN where either operand is NaN.

    Which of two zeros with different signs is the result is not specified.

    ```mlir
    // @f(2.0, 3.0) = 3.0
    // @f(NaN, 3.0) = NaN
    // @f(2.0, NaN) = NaN
    tir.func @f(%x: f32, %y: f32) -> f32 {
      %z = tir.max %x, %y : f32
      tir.ret %z : f32
    }
    ```
    """

    name = "tir.max"
    traits = traits_def(Pure())


class LogicalOp(BinaryOp, ABC):
    """A binary op on `i1` or vectors of it."""

    def verify_(self) -> None:
        if not is_bool(self.result.type):
            raise VerifyException(
                f"{self.name}: operands must be i1, got {self.result.type}"
            )


@irdl_op_definition
class AndOp(LogicalOp):
    """Conjunction, `And`. Both operands are evaluated, so neither guards the other.

    ```mlir
    // @f(true, false) = false
    tir.func @f(%x: i1, %y: i1) -> i1 {
      %z = tir.and %x, %y : i1
      tir.ret %z : i1
    }
    ```
    """

    name = "tir.and"
    traits = traits_def(Pure(), Commutative())


@irdl_op_definition
class OrOp(LogicalOp):
    """Disjunction, `Or`. Both operands are evaluated, so neither guards the other.

    ```mlir
    // @f(true, false) = true
    tir.func @f(%x: i1, %y: i1) -> i1 {
      %z = tir.or %x, %y : i1
      tir.ret %z : i1
    }
    ```
    """

    name = "tir.or"
    traits = traits_def(Pure(), Commutative())


@irdl_op_definition
class NotOp(IRDLOperation):
    """Negation of a bool, `Not`, lane by lane.

    ```mlir
    // @f(true) = false
    tir.func @f(%x: i1) -> i1 {
      %z = tir.not %x : i1
      tir.ret %z : i1
    }
    ```
    """

    T: ClassVar = VarConstraint("T", AnyAttr())

    name = "tir.not"

    value = operand_def(T)
    result = result_def(T)

    assembly_format = "$value attr-dict `:` type($result)"

    traits = traits_def(Pure())

    def __init__(self, value: SSAValue | Operation) -> None:
        value = SSAValue.get(value)
        super().__init__(operands=[value], result_types=[value.type])

    def verify_(self) -> None:
        if not is_bool(self.result.type):
            raise VerifyException(
                f"tir.not: the operand must be i1, got {self.result.type}"
            )


@irdl_op_definition
class CmpOp(IRDLOperation):
    """Comparison: `EQ`, `NE`, `LT`, `LE`, `GT`, `GE` by the predicate.

    The result is `i1` with the lanes of the operands. Floats compare ordered: with a NaN
    all predicates but `ne` are false, and `ne` is unspecified.

    ```mlir
    // @f(-1, 1) = true
    tir.func @f(%x: i32, %y: i32) -> i1 {
      %p = tir.cmp lt %x, %y : i32
      tir.ret %p : i1
    }
    ```
    """

    name = "tir.cmp"

    predicate = prop_def(CmpPredicateAttr)
    lhs = operand_def()
    rhs = operand_def()
    result = result_def()

    traits = traits_def(Pure())

    def __init__(
        self,
        predicate: CmpPredicate | CmpPredicateAttr,
        lhs: SSAValue | Operation,
        rhs: SSAValue | Operation,
    ) -> None:
        if isinstance(predicate, CmpPredicate):
            predicate = CmpPredicateAttr(predicate)
        lhs = SSAValue.get(lhs)
        super().__init__(
            operands=[lhs, rhs],
            properties={"predicate": predicate},
            result_types=[like_lanes(i1, lhs.type)],
        )

    @classmethod
    def parse(cls, parser: Parser) -> CmpOp:
        predicate = parser.parse_str_enum(CmpPredicate)
        operands = (
            parser.parse_unresolved_operand(),
            parser.parse_punctuation(","),
            parser.parse_unresolved_operand(),
        )
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        dtype = parser.parse_type()
        op = cls(
            predicate,
            parser.resolve_operand(operands[0], dtype),
            parser.resolve_operand(operands[2], dtype),
        )
        op.attributes.update(attributes)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.predicate.data.value} ")
        printer.print_operand(self.lhs)
        printer.print_string(", ")
        printer.print_operand(self.rhs)
        assembly.print_attributes(printer, self, {"predicate"})
        printer.print_string(" : ")
        printer.print_attribute(self.lhs.type)

    def verify_(self) -> None:
        dtype = self.lhs.type
        if dtype != self.rhs.type:
            raise VerifyException(
                f"tir.cmp: operands must have one type, got {dtype} and {self.rhs.type}"
            )
        if not is_handle(dtype):
            _require_numeric(self, dtype)
        if self.result.type != (expected := like_lanes(i1, dtype)):
            raise VerifyException(
                f"tir.cmp: the result must be {expected}, got {self.result.type}"
            )


@irdl_op_definition
class SelectOp(IRDLOperation):
    """Choice between two evaluated values, `Select`; lane-wise with a vector condition.

    The condition is an `i1`, a scalar or of the lanes of the values. Both values are
    always evaluated: it guards no load and no division.

    ```mlir
    // @f(true, 1.0, 2.0) = 1.0
    tir.func @f(%p: i1, %x: f32, %y: f32) -> f32 {
      %z = tir.select %p, %x, %y : i1, f32
      tir.ret %z : f32
    }
    ```
    """

    T: ClassVar = VarConstraint("T", AnyAttr())

    name = "tir.select"

    condition = operand_def()
    true_value = operand_def(T)
    false_value = operand_def(T)
    result = result_def(T)

    assembly_format = (
        "$condition `,` $true_value `,` $false_value attr-dict `:` "
        "type($condition) `,` type($result)"
    )

    traits = traits_def(Pure())

    def __init__(
        self,
        condition: SSAValue | Operation,
        true_value: SSAValue | Operation,
        false_value: SSAValue | Operation,
    ) -> None:
        true_value = SSAValue.get(true_value)
        super().__init__(
            operands=[condition, true_value, false_value],
            result_types=[true_value.type],
        )

    def verify_(self) -> None:
        dtype = self.result.type
        require_expression(self, dtype)
        if self.condition.type not in (i1, like_lanes(i1, dtype)):
            raise VerifyException(
                "tir.select: the condition must be i1, scalar or with the lanes of the "
                f"values, got {self.condition.type} for values of type {dtype}"
            )


@irdl_op_definition
class YieldOp(IRDLOperation):
    """Ends a region that has a value; that of a `tir.reducer` may have several.

    Those regions are operands in TVM, which has no node for it. Several values are
    written `tir.yield %0, %1 : f32, i32`.

    ```mlir
    // @f(true, 6, 2) = 3
    // @f(false, 6, 0) = 0
    tir.func @f(%p: i1, %x: i32, %y: i32) -> i32 {
      %z = tir.if_then_else %p -> i32 {
        %q = tir.div %x, %y : i32
        tir.yield %q : i32
      } else {
        tir.yield %y : i32
      }
      tir.ret %z : i32
    }
    ```
    """

    name = "tir.yield"

    values = var_operand_def()

    assembly_format = "$values attr-dict `:` type($values)"

    traits = traits_def(Pure(), IsTerminator())

    def __init__(self, *values: SSAValue | Operation) -> None:
        super().__init__(operands=[values])

    @property
    def value(self) -> SSAValue:
        """The value, where the region has just one."""
        (value,) = self.values
        return value


@irdl_op_definition
class IfThenElseOp(IRDLOperation):
    """Lazy choice, the call `if_then_else`: only the taken branch is evaluated.

    It is the only guard inside expressions; the condition is a scalar.

    ```mlir
    // @get([1, 2], 1, 7) = 2
    // @get([1, 2], 5, 7) = 7
    tir.func @get(%a: !tir.handle, %i: i32, %other: i32) -> i32 {
      %A = tir.match_buffer %a : !tir.buffer<2xi32>
      %c2 = tir.const 2 : i32
      %p = tir.cmp lt %i, %c2 : i32
      %y = tir.if_then_else %p -> i32 {
        %x = tir.load %A[%i] : i32
        tir.yield %x : i32
      } else {
        tir.yield %other : i32
      }
      tir.ret %y : i32
    }
    ```
    """

    name = "tir.if_then_else"

    condition = operand_def(i1)
    result = result_def()
    true_region = region_def("single_block")
    false_region = region_def("single_block")

    traits = traits_def(RecursiveMemoryEffect())

    def __init__(
        self,
        condition: SSAValue | Operation,
        result_type: Attribute,
        true_region: Region | None = None,
        false_region: Region | None = None,
    ) -> None:
        super().__init__(
            operands=[condition],
            result_types=[result_type],
            regions=[
                assembly.region_of(true_region, ()),
                assembly.region_of(false_region, ()),
            ],
        )

    @classmethod
    def parse(cls, parser: Parser) -> IfThenElseOp:
        condition = assembly.parse_value(parser)
        parser.parse_punctuation("->")
        result_type = parser.parse_type()
        true_region = assembly.parse_body(parser)
        parser.parse_keyword("else")
        op = cls(condition, result_type, true_region, assembly.parse_body(parser))
        assembly.parse_attributes_into(parser, op)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.condition)
        printer.print_string(" -> ")
        printer.print_attribute(self.result.type)
        assembly.print_body(printer, self.true_region)
        printer.print_string(" else")
        assembly.print_body(printer, self.false_region)
        assembly.print_attributes(printer, self)

    def verify_(self) -> None:
        require_expression(self, self.result.type)
        for label, region in (
            ("true", self.true_region),
            ("false", self.false_region),
        ):
            last = region.block.last_op
            if not isinstance(last, YieldOp):
                raise VerifyException(
                    f"tir.if_then_else: the {label} region must end in tir.yield"
                )
            yielded = [value.type for value in last.values]
            if yielded != [self.result.type]:
                raise VerifyException(
                    f"tir.if_then_else: the {label} region yields "
                    f"{', '.join(map(str, yielded))}, the result is {self.result.type}"
                )


@irdl_op_definition
class CastOp(IRDLOperation):
    """Conversion to another dtype of the same lanes, `Cast`.

    Integers extend by the signedness of the source and truncate; float to integer
    truncates toward zero, to the nearest integer of the dtype where it is out of range,
    and NaN to 0; anything to `i1` is `!= 0`.
    Handles are converted by the call `reinterpret` only.

    ```mlir
    // @f(-2.75) = -2
    tir.func @f(%x: f32) -> i32 {
      %y = tir.cast %x : f32 to i32
      tir.ret %y : i32
    }
    ```
    """

    name = "tir.cast"

    value = operand_def()
    result = result_def()

    assembly_format = "$value attr-dict `:` type($value) `to` type($result)"

    traits = traits_def(Pure())

    def __init__(self, value: SSAValue | Operation, result_type: Attribute) -> None:
        super().__init__(operands=[value], result_types=[result_type])

    def verify_(self) -> None:
        source, target = self.value.type, self.result.type
        _require_numeric(self, source)
        _require_numeric(self, target)
        if like_lanes(target, source) != target:
            raise VerifyException(
                f"tir.cast: {source} and {target} must have the same lanes"
            )


@irdl_op_definition
class RampOp(IRDLOperation):
    """The vector `base + lane * stride`, `Ramp`; the result type tells the lanes.

    The operands are scalars of one type.

    ```mlir
    // @f(5, 2) = [5, 7, 9, 11]
    tir.func @f(%base: i32, %stride: i32) -> vector<4xi32> {
      %v = tir.ramp %base, %stride : vector<4xi32>
      tir.ret %v : vector<4xi32>
    }
    ```
    """

    name = "tir.ramp"

    base = operand_def()
    stride = operand_def()
    result = result_def()

    traits = traits_def(Pure())

    def __init__(
        self,
        base: SSAValue | Operation,
        stride: SSAValue | Operation,
        result_type: Attribute,
    ) -> None:
        super().__init__(operands=[base, stride], result_types=[result_type])

    @classmethod
    def parse(cls, parser: Parser) -> RampOp:
        base = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        stride = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        result_type = parser.parse_type()
        element = element_of(result_type)
        op = cls(
            parser.resolve_operand(base, element),
            parser.resolve_operand(stride, element),
            result_type,
        )
        op.attributes.update(attributes)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.base)
        printer.print_string(", ")
        printer.print_operand(self.stride)
        assembly.print_attributes(printer, self)
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)

    def verify_(self) -> None:
        _verify_vector_of(self, self.base.type, self.result.type)
        if self.stride.type != self.base.type:
            raise VerifyException(
                f"tir.ramp: base and stride must have one type, got {self.base.type} and "
                f"{self.stride.type}"
            )


@irdl_op_definition
class BroadcastOp(IRDLOperation):
    """A vector of equal lanes, `Broadcast`; the result type tells the lanes.

    The operand is a scalar.

    ```mlir
    // @f(1.5) = [1.5, 1.5, 1.5, 1.5]
    tir.func @f(%x: f32) -> vector<4xf32> {
      %v = tir.broadcast %x : vector<4xf32>
      tir.ret %v : vector<4xf32>
    }
    ```
    """

    name = "tir.broadcast"

    value = operand_def()
    result = result_def()

    traits = traits_def(Pure())

    def __init__(self, value: SSAValue | Operation, result_type: Attribute) -> None:
        super().__init__(operands=[value], result_types=[result_type])

    @classmethod
    def parse(cls, parser: Parser) -> BroadcastOp:
        value = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        result_type = parser.parse_type()
        op = cls(parser.resolve_operand(value, element_of(result_type)), result_type)
        op.attributes.update(attributes)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.value)
        assembly.print_attributes(printer, self)
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)

    def verify_(self) -> None:
        _verify_vector_of(self, self.value.type, self.result.type)


def _verify_vector_of(op: Operation, element: Attribute, vector: Attribute) -> None:
    require_expression(op, vector)
    if not is_scalar(element):
        raise VerifyException(f"{op.name}: operands must be scalars, got {element}")
    if lanes_of(vector) == 1 and not is_scalable(vector):
        raise VerifyException(
            f"{op.name}: the result must be a vector of 2 lanes or more, got {vector}"
        )
    if element_of(vector) != element:
        raise VerifyException(
            f"{op.name}: operands of type {element} for a result of type {vector}"
        )


@irdl_op_definition
class ShuffleOp(IRDLOperation):
    """Lanes picked from the concatenation of vectors, `Shuffle`.

    Result lane `i` is the lane of the concatenation that index `i` names, counted from
    0. One index gives a scalar. The vectors have one element type and a fixed number of
    lanes, the indices are integers.

    ```mlir
    // @f([1, 2], [3, 4]) = [4, 1]
    tir.func @f(%v: vector<2xi32>, %w: vector<2xi32>) -> vector<2xi32> {
      %c0 = tir.const 0 : i32
      %c3 = tir.const 3 : i32
      %z = tir.shuffle [%v, %w] [%c3, %c0] : vector<2xi32>
      tir.ret %z : vector<2xi32>
    }
    ```
    """

    name = "tir.shuffle"

    vectors = var_operand_def()
    indices = var_operand_def()
    result = result_def()

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(Pure())

    def __init__(
        self,
        vectors: Sequence[SSAValue | Operation],
        indices: Sequence[SSAValue | Operation],
        result_type: Attribute,
    ) -> None:
        super().__init__(operands=[vectors, indices], result_types=[result_type])

    @classmethod
    def parse(cls, parser: Parser) -> ShuffleOp:
        vectors = assembly.parse_operands(parser)
        indices = assembly.parse_operands(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        op = cls(vectors, indices, parser.parse_type())
        op.attributes.update(attributes)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        assembly.print_operands(printer, self.vectors)
        printer.print_string(" ")
        assembly.print_operands(printer, self.indices)
        assembly.print_attributes(printer, self)
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)

    def verify_(self) -> None:
        if not self.vectors or not self.indices:
            raise VerifyException("tir.shuffle: needs a vector and an index at least")
        element = element_of(self.vectors[0].type)
        for vector in self.vectors:
            if element_of(vector.type) != element or is_scalable(vector.type):
                raise VerifyException(
                    "tir.shuffle: vectors must have fixed lanes of one element type, "
                    f"got {vector.type} beside {element}"
                )
        if not all(is_integer(index.type) for index in self.indices):
            raise VerifyException("tir.shuffle: indices must be integers")
        expected = with_lanes(element, len(self.indices))
        if self.result.type != expected:
            raise VerifyException(
                f"tir.shuffle: the result must be {expected}, got {self.result.type}"
            )

"""Element-wise operations of `stablehlo`, constants and counting."""

from __future__ import annotations

import re
from abc import ABC
from typing import ClassVar, Self, cast

from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FunctionType,
    IntegerAttr,
    TensorType,
    i1,
    i32,
)
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.float_literals import DenseAttr, with_hexadecimal_floats
from xdsl_tvm.dialects.stablehlo.assembly import (
    I64Number,
    SameTypesOp,
    element_of,
    expect_element,
    expect_shape,
    from_attributes,
    parse_typed,
    parse_values,
    print_attributes,
    print_function_type,
    shape_of,
)
from xdsl_tvm.dialects.stablehlo.attributes import (
    ComparisonDirection,
    ComparisonDirectionAttr,
    ComparisonType,
    ComparisonTypeAttr,
)


class UnaryOp(SameTypesOp, ABC):
    """Base of operations on one tensor, whose result has its shape."""

    operand = operand_def(TensorType)
    result = result_def(TensorType)
    result_accuracy = opt_prop_def()

    traits = traits_def(Pure())

    KEEPS_DTYPE: ClassVar[bool] = True
    """Whether the elements of the result have the dtype of the operand."""

    def verify_(self) -> None:
        expect_shape(self, shape_of(self.operand))
        if self.KEEPS_DTYPE:
            expect_element(self, self.result, element_of(self.operand))


class BinaryOp(SameTypesOp, ABC):
    """Base of operations on two tensors of one type, which is that of the result."""

    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    result = result_def(TensorType)

    traits = traits_def(Pure())

    def verify_(self) -> None:
        expect_shape(self, shape_of(self.lhs))
        expect_shape(self, shape_of(self.rhs))
        for value in (self.rhs, self.result):
            expect_element(self, value, element_of(self.lhs))


@irdl_op_definition
class AbsOp(UnaryOp):
    """The absolute value."""

    name = "stablehlo.abs"


@irdl_op_definition
class CbrtOp(UnaryOp):
    """The cube root."""

    name = "stablehlo.cbrt"


@irdl_op_definition
class CeilOp(UnaryOp):
    """The least integer that is not below the element."""

    name = "stablehlo.ceil"


@irdl_op_definition
class ConvertOp(UnaryOp):
    """The element in another dtype."""

    name = "stablehlo.convert"
    KEEPS_DTYPE: ClassVar[bool] = False


@irdl_op_definition
class CosineOp(UnaryOp):
    """The cosine."""

    name = "stablehlo.cosine"


@irdl_op_definition
class ExponentialOp(UnaryOp):
    """`e ** x`."""

    name = "stablehlo.exponential"


@irdl_op_definition
class ExponentialMinusOneOp(UnaryOp):
    """`e ** x - 1`."""

    name = "stablehlo.exponential_minus_one"


@irdl_op_definition
class FloorOp(UnaryOp):
    """The greatest integer that is not above the element."""

    name = "stablehlo.floor"


@irdl_op_definition
class IsFiniteOp(UnaryOp):
    """Whether the element is neither infinite nor NaN."""

    name = "stablehlo.is_finite"
    KEEPS_DTYPE: ClassVar[bool] = False

    def verify_(self) -> None:
        super().verify_()
        expect_element(self, self.result, i1)


@irdl_op_definition
class LogOp(UnaryOp):
    """The natural logarithm."""

    name = "stablehlo.log"


@irdl_op_definition
class LogPlusOneOp(UnaryOp):
    """`log(1 + x)`."""

    name = "stablehlo.log_plus_one"


@irdl_op_definition
class LogisticOp(UnaryOp):
    """`1 / (1 + e ** -x)`."""

    name = "stablehlo.logistic"


@irdl_op_definition
class NegateOp(UnaryOp):
    """`-x`; integers wrap around."""

    name = "stablehlo.negate"


@irdl_op_definition
class NotOp(UnaryOp):
    """Not, of bools, or of all bits of integers."""

    name = "stablehlo.not"


@irdl_op_definition
class RoundNearestAfzOp(UnaryOp):
    """The nearest integer; halves are rounded away from zero."""

    name = "stablehlo.round_nearest_afz"


@irdl_op_definition
class RoundNearestEvenOp(UnaryOp):
    """The nearest integer; halves are rounded to the even one."""

    name = "stablehlo.round_nearest_even"


@irdl_op_definition
class RsqrtOp(UnaryOp):
    """`1 / sqrt(x)`."""

    name = "stablehlo.rsqrt"


@irdl_op_definition
class SignOp(UnaryOp):
    """-1, 0 or 1 by the sign; NaN stays."""

    name = "stablehlo.sign"


@irdl_op_definition
class SineOp(UnaryOp):
    """The sine."""

    name = "stablehlo.sine"


@irdl_op_definition
class SqrtOp(UnaryOp):
    """The square root."""

    name = "stablehlo.sqrt"


@irdl_op_definition
class TanOp(UnaryOp):
    """The tangent."""

    name = "stablehlo.tan"


@irdl_op_definition
class TanhOp(UnaryOp):
    """The hyperbolic tangent."""

    name = "stablehlo.tanh"


@irdl_op_definition
class AddOp(BinaryOp):
    """`a + b`; of bools, or."""

    name = "stablehlo.add"


@irdl_op_definition
class AndOp(BinaryOp):
    """And, of bools, or of all bits of integers."""

    name = "stablehlo.and"


@irdl_op_definition
class Atan2Op(BinaryOp):
    """The angle of the point `(b, a)`."""

    name = "stablehlo.atan2"


@irdl_op_definition
class DivideOp(BinaryOp):
    """`a / b`; of integers, rounded towards zero."""

    name = "stablehlo.divide"


@irdl_op_definition
class MaximumOp(BinaryOp):
    """The greater one; NaN where one is NaN; of bools, or."""

    name = "stablehlo.maximum"


@irdl_op_definition
class MinimumOp(BinaryOp):
    """The lesser one; NaN where one is NaN; of bools, and."""

    name = "stablehlo.minimum"


@irdl_op_definition
class MultiplyOp(BinaryOp):
    """`a * b`; of bools, and."""

    name = "stablehlo.multiply"


@irdl_op_definition
class OrOp(BinaryOp):
    """Or, of bools, or of all bits of integers."""

    name = "stablehlo.or"


@irdl_op_definition
class PowerOp(BinaryOp):
    """`a ** b`."""

    name = "stablehlo.power"


@irdl_op_definition
class RemainderOp(BinaryOp):
    """What is left of `a / b` rounded towards zero; it has the sign of `a`."""

    name = "stablehlo.remainder"


@irdl_op_definition
class ShiftLeftOp(BinaryOp):
    """`a << b`; 0 where `b` is not below the width."""

    name = "stablehlo.shift_left"


@irdl_op_definition
class ShiftRightArithmeticOp(BinaryOp):
    """`a >> b`, filled with the sign."""

    name = "stablehlo.shift_right_arithmetic"


@irdl_op_definition
class ShiftRightLogicalOp(BinaryOp):
    """`a >> b`, filled with zeros."""

    name = "stablehlo.shift_right_logical"


@irdl_op_definition
class SubtractOp(BinaryOp):
    """`a - b`."""

    name = "stablehlo.subtract"


@irdl_op_definition
class XorOp(BinaryOp):
    """Exclusive or, of bools, or of all bits of integers."""

    name = "stablehlo.xor"


@irdl_op_definition
class BitcastConvertOp(IRDLOperation):
    """The bits of the elements as another dtype.

    A wider element is made of those along the last dimension, the first with the lowest
    bits.
    """

    name = "stablehlo.bitcast_convert"

    operand = operand_def(TensorType)
    result = result_def(TensorType)

    traits = traits_def(Pure())

    assembly_format = "$operand attr-dict `:` functional-type(operands, results)"


@irdl_op_definition
class CompareOp(IRDLOperation):
    """Whether two elements are in a relation.

    A comparison with NaN fails, but for `NE`. `TOTALORDER` is `-NaN < -0 < +0 < NaN`.
    """

    name = "stablehlo.compare"

    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    result = result_def(TensorType)
    comparison_direction = prop_def(ComparisonDirectionAttr)
    compare_type = opt_prop_def(ComparisonTypeAttr)

    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        direction = parser.parse_str_enum(ComparisonDirection)
        parser.parse_punctuation(",")
        lhs = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        rhs = parser.parse_unresolved_operand()
        kind: ComparisonTypeAttr | None = None
        if parser.parse_optional_punctuation(","):
            kind = ComparisonTypeAttr(parser.parse_str_enum(ComparisonType))
        attributes = parser.parse_optional_attr_dict()
        return parse_typed(
            cls,
            parser,
            [lhs, rhs],
            attributes,
            comparison_direction=ComparisonDirectionAttr(direction),
            compare_type=kind,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.comparison_direction.data.value}, ")
        printer.print_list(self.operands, printer.print_ssa_value)
        if self.compare_type is not None:
            printer.print_string(f", {self.compare_type.data.value}")
        print_attributes(printer, self, ("comparison_direction", "compare_type"))
        printer.print_string(" : ")
        print_function_type(printer, self)

    def verify_(self) -> None:
        expect_shape(self, shape_of(self.lhs))
        expect_shape(self, shape_of(self.rhs))
        expect_element(self, self.rhs, element_of(self.lhs))
        expect_element(self, self.result, i1)


@irdl_op_definition
class SelectOp(IRDLOperation):
    """The element of `on_true` where `pred` holds, else that of `on_false`."""

    name = "stablehlo.select"

    pred = operand_def(TensorType)
    on_true = operand_def(TensorType)
    on_false = operand_def(TensorType)
    result = result_def(TensorType)

    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        operands = parse_values(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        start = parser.pos
        type_ = parser.parse_type()
        if isinstance(type_, FunctionType):
            inputs, results = type_.inputs.data, type_.outputs.data
        else:
            parser.parse_punctuation(",")
            other = parser.parse_type()
            inputs, results = (type_, other, other), (other,)
        values = parser.resolve_operands(operands, inputs, start)
        return from_attributes(cls, values, results, attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_ssa_value)
        print_attributes(printer, self)
        printer.print_string(" : ")
        if self.on_true.type == self.on_false.type == self.result.type:
            types = (self.pred.type, self.result.type)
            printer.print_list(types, printer.print_attribute)
        else:
            print_function_type(printer, self)

    def verify_(self) -> None:
        expect_element(self, self.pred, i1)
        if shape_of(self.pred):
            expect_shape(self, shape_of(self.pred))
        for value in (self.on_true, self.on_false):
            expect_shape(self, shape_of(value))
            expect_element(self, value, element_of(self.result))


@irdl_op_definition
class ClampOp(SameTypesOp):
    """The element, or the nearer limit where it is beyond; scalars are for all."""

    name = "stablehlo.clamp"

    min = operand_def(TensorType)
    operand = operand_def(TensorType)
    max = operand_def(TensorType)
    result = result_def(TensorType)

    traits = traits_def(Pure())

    def verify_(self) -> None:
        expect_shape(self, shape_of(self.operand))
        for value in (self.min, self.max):
            if shape_of(value):
                expect_shape(self, shape_of(value))
        for value in self.operands:
            expect_element(self, value, element_of(self.result))


_FORMAT = re.compile(r"e(\d{1,3})m(\d{1,3})")


@irdl_op_definition
class ReducePrecisionOp(IRDLOperation):
    """The element rounded to fewer bits of exponent and mantissa, in the same dtype."""

    name = "stablehlo.reduce_precision"

    operand = operand_def(TensorType)
    result = result_def(TensorType)
    exponent_bits = prop_def(IntegerAttr)
    mantissa_bits = prop_def(IntegerAttr)

    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        operand = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        parser.parse_keyword("format")
        parser.parse_punctuation("=")
        start = parser.pos
        found = _FORMAT.fullmatch(parser.parse_identifier())
        if found is None:
            parser.raise_error(f"{cls.name}: a format such as e8m7 expected", start)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type_ = parser.parse_type()
        value = parser.resolve_operand(operand, type_)
        exponent, mantissa = (IntegerAttr(int(each), i32) for each in found.groups())
        return from_attributes(
            cls,
            [value],
            [type_],
            attributes,
            exponent_bits=exponent,
            mantissa_bits=mantissa,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.operand)
        exponent, mantissa = self.exponent_bits.value.data, self.mantissa_bits.value.data
        printer.print_string(f", format = e{exponent}m{mantissa}")
        print_attributes(printer, self, ("exponent_bits", "mantissa_bits"))
        printer.print_string(" : ")
        printer.print_attribute(self.operand.type)

    def verify_(self) -> None:
        if self.operand.type != self.result.type:
            raise VerifyException(f"{self.name}: the result must have the operand's type")


@irdl_op_definition
class ConstantOp(IRDLOperation):
    """A tensor of the program: `stablehlo.constant dense<1.0> : tensor<4xf32>`."""

    name = "stablehlo.constant"

    output = result_def(TensorType)
    value = prop_def(DenseIntOrFPElementsAttr)

    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        attributes = parser.parse_optional_attr_dict()
        start = parser.pos
        value = parser.parse_attribute()
        if not isinstance(value, DenseIntOrFPElementsAttr):
            parser.raise_error(
                f"{cls.name}: the value must be dense<…>, not {value.name}",
                start,
                parser.pos,
            )
        text = parser.lexer.input.slice(start, parser.pos)
        value = with_hexadecimal_floats(cast(DenseAttr, value), text or "")
        return from_attributes(cls, [], [value.type], attributes, value=value)

    def print(self, printer: Printer) -> None:
        printer.print_op_attributes(
            {
                name: attr
                for name, attr in {**self.properties, **self.attributes}.items()
                if name != "value"
            }
        )
        printer.print_string(" ")
        printer.print_attribute(self.value)

    def verify_(self) -> None:
        if self.value.type != self.output.type:
            raise VerifyException(
                f"{self.name}: the result must be {self.value.type}, not "
                f"{self.output.type}"
            )


@irdl_op_definition
class IotaOp(IRDLOperation):
    """The numbers 0, 1, 2 … along a dimension."""

    name = "stablehlo.iota"

    output = result_def(TensorType)
    iota_dimension = prop_def(IntegerAttr)

    traits = traits_def(Pure())

    custom_directives = (I64Number,)
    assembly_format = (
        "`dim` `=` custom<I64Number>($iota_dimension) attr-dict `:` type($output)"
    )

    def verify_(self) -> None:
        rank, dim = len(shape_of(self.output)), self.iota_dimension.value.data
        if not 0 <= dim < rank:
            raise VerifyException(
                f"{self.name}: dim must be from 0 to {rank - 1}, not {dim}"
            )

"""`chlo`: operations that JAX prints where `stablehlo` has none."""

from __future__ import annotations

from abc import ABC
from typing import Self

from xdsl.dialects.builtin import IntegerAttr, TensorType, i1, i32, i64
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.stablehlo.assembly import (
    element_of,
    expect_element,
    expect_shape,
    print_attributes,
    shape_of,
    tensor_of,
)


class ChloUnaryOp(IRDLOperation, ABC):
    """Base of operations on one tensor, whose result has its type."""

    operand = operand_def(TensorType)
    result = result_def(TensorType)

    traits = traits_def(Pure())

    assembly_format = "$operand attr-dict `:` type($operand) `->` type($result)"

    def verify_(self) -> None:
        expect_shape(self, shape_of(self.operand))
        expect_element(self, self.result, element_of(self.operand))


class ChloTestOp(IRDLOperation, ABC):
    """Base of tests of the elements of one tensor."""

    operand = operand_def(TensorType)
    result = result_def(TensorType)

    traits = traits_def(Pure())

    assembly_format = "$operand attr-dict `:` type($operand) `->` type($result)"

    def verify_(self) -> None:
        expect_shape(self, shape_of(self.operand))
        expect_element(self, self.result, i1)


@irdl_op_definition
class AcosOp(ChloUnaryOp):
    """The arc cosine."""

    name = "chlo.acos"


@irdl_op_definition
class AcoshOp(ChloUnaryOp):
    """The inverse hyperbolic cosine."""

    name = "chlo.acosh"


@irdl_op_definition
class AsinOp(ChloUnaryOp):
    """The arc sine."""

    name = "chlo.asin"


@irdl_op_definition
class AsinhOp(ChloUnaryOp):
    """The inverse hyperbolic sine."""

    name = "chlo.asinh"


@irdl_op_definition
class AtanOp(ChloUnaryOp):
    """The arc tangent."""

    name = "chlo.atan"


@irdl_op_definition
class AtanhOp(ChloUnaryOp):
    """The inverse hyperbolic tangent."""

    name = "chlo.atanh"


@irdl_op_definition
class CoshOp(ChloUnaryOp):
    """The hyperbolic cosine."""

    name = "chlo.cosh"


@irdl_op_definition
class SinhOp(ChloUnaryOp):
    """The hyperbolic sine."""

    name = "chlo.sinh"


@irdl_op_definition
class ErfInvOp(ChloUnaryOp):
    """What the error function is the operand of."""

    name = "chlo.erf_inv"


@irdl_op_definition
class ErfOp(ChloUnaryOp):
    """The error function."""

    name = "chlo.erf"


@irdl_op_definition
class ErfcOp(ChloUnaryOp):
    """`1 - erf(x)`."""

    name = "chlo.erfc"


@irdl_op_definition
class SquareOp(ChloUnaryOp):
    """`x * x`."""

    name = "chlo.square"


@irdl_op_definition
class TanOp(ChloUnaryOp):
    """The tangent."""

    name = "chlo.tan"


@irdl_op_definition
class IsInfOp(ChloTestOp):
    """Whether the element is infinite."""

    name = "chlo.is_inf"


@irdl_op_definition
class IsPosInfOp(ChloTestOp):
    """Whether the element is positive infinity."""

    name = "chlo.is_pos_inf"


@irdl_op_definition
class IsNegInfOp(ChloTestOp):
    """Whether the element is negative infinity."""

    name = "chlo.is_neg_inf"


@irdl_op_definition
class TopKOp(IRDLOperation):
    """The `k` greatest elements along the last dimension, and their positions."""

    name = "chlo.top_k"

    operand = operand_def(TensorType)
    values = result_def(TensorType)
    indices = result_def(TensorType)
    k = prop_def(IntegerAttr)

    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        parser.parse_punctuation("(")
        operand = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        parser.parse_keyword("k")
        parser.parse_punctuation("=")
        k = parser.parse_integer()
        parser.parse_punctuation(")")
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        value = parser.resolve_operand(operand, parser.parse_type())
        parser.parse_punctuation("->")
        results = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, parser.parse_type
        )
        return cls.create(
            operands=[value],
            result_types=results,
            properties={"k": IntegerAttr(k, i64)},
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        with printer.in_parens():
            printer.print_ssa_value(self.operand)
            printer.print_string(f", k = {self.k.value.data}")
        print_attributes(printer, self, ("k",))
        printer.print_string(" : ")
        printer.print_attribute(self.operand.type)
        printer.print_string(" -> ")
        with printer.in_parens():
            printer.print_list(self.result_types, printer.print_attribute)

    def verify_(self) -> None:
        shape, k = shape_of(self.operand), self.k.value.data
        if not shape or k < 0 or -1 < shape[-1] < k:
            raise VerifyException(f"{self.name}: k = {k} of {tensor_of(self.operand)}")
        for index in range(2):
            expect_shape(self, [*shape[:-1], k], index)
        expect_element(self, self.values, element_of(self.operand))
        expect_element(self, self.indices, i32)

"""Comparisons of integers, pointers and floats."""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

from xdsl.dialects.builtin import I64, IntegerAttr, IntegerType, i64
from xdsl.dialects.llvm import (
    FastMathAttr,
    FCmpPredicateFlag,
    ICmpPredicateFlag,
    LLVMPointerType,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    VarConstraint,
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

from xdsl_tvm.dialects.dtypes import element_of
from xdsl_tvm.dialects.tvm_llvm.types import LLVM_FLOATS, i1_like

__all__ = ["FCmpOp", "ICmpOp"]


class _CompareOperation(IRDLOperation, ABC):
    """`"<predicate>" %lhs, %rhs : type`, giving `i1` or a vector of `i1`."""

    T: ClassVar = VarConstraint("T", AnyAttr())

    lhs = operand_def(T)
    rhs = operand_def(T)
    res = result_def()
    predicate = prop_def(IntegerAttr[I64])

    FLAGS: ClassVar[tuple[str, ...]]

    def verify_(self) -> None:
        if self.res.type != i1_like(self.lhs.type):
            raise VerifyException(
                f"comparing {self.lhs.type} gives {i1_like(self.lhs.type)}, "
                f"not {self.res.type}"
            )
        if not 0 <= self.predicate.value.data < len(self.FLAGS):
            raise VerifyException(f"no predicate number {self.predicate.value.data}")
        if not self.accepts(element_of(self.lhs.type)):
            raise VerifyException(f"cannot compare values of type {self.lhs.type}")

    @staticmethod
    def accepts(type: Attribute) -> bool:
        """Whether values of the scalar type `type` can be compared."""
        raise NotImplementedError

    @property
    def predicate_name(self) -> str:
        """The predicate as LLVM spells it."""
        return self.FLAGS[self.predicate.value.data].lstrip("_")

    @classmethod
    def parse(cls, parser: Parser) -> Operation:
        predicate = parser.parse_str_literal()
        if predicate not in cls.FLAGS:
            parser.raise_error(f"unknown predicate '{predicate}'")
        lhs = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        rhs = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type = parser.parse_type()
        properties: dict[str, Attribute] = {
            "predicate": IntegerAttr(cls.FLAGS.index(predicate), i64)
        }
        if "fastmathFlags" in attributes:
            properties["fastmathFlags"] = attributes.pop("fastmathFlags")
        return cls.create(
            operands=parser.resolve_operands([lhs, rhs], [type, type], parser.pos),
            result_types=[i1_like(type)],
            properties=properties,
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(f' "{self.FLAGS[self.predicate.value.data]}" ')
        printer.print_operand(self.lhs)
        printer.print_string(", ")
        printer.print_operand(self.rhs)
        attributes = dict(self.attributes)
        flags = self.properties.get("fastmathFlags")
        if isinstance(flags, FastMathAttr) and flags.data:
            attributes["fastmathFlags"] = flags
        printer.print_op_attributes(attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.lhs.type)


@irdl_op_definition
class ICmpOp(_CompareOperation):
    """Compares integers or pointers, or vectors of them."""

    name = "tvm_llvm.icmp"
    FLAGS: ClassVar = tuple(str(flag) for flag in ICmpPredicateFlag)

    traits = traits_def(Pure())

    def __init__(
        self, predicate: str, lhs: SSAValue | Operation, rhs: SSAValue | Operation
    ):
        lhs = SSAValue.get(lhs)
        super().__init__(
            operands=[lhs, rhs],
            result_types=[i1_like(lhs.type)],
            properties={"predicate": IntegerAttr(self.FLAGS.index(predicate), i64)},
        )

    @staticmethod
    def accepts(type: Attribute) -> bool:
        return isinstance(type, IntegerType | LLVMPointerType)


@irdl_op_definition
class FCmpOp(_CompareOperation):
    """Compares floats or vectors of floats; `o…` are false and `u…` true on NaN."""

    name = "tvm_llvm.fcmp"
    FLAGS: ClassVar = tuple(str(flag) for flag in FCmpPredicateFlag)

    fastmathFlags = prop_def(FastMathAttr, default_value=FastMathAttr(None))

    traits = traits_def(Pure())

    def __init__(
        self,
        predicate: str,
        lhs: SSAValue | Operation,
        rhs: SSAValue | Operation,
        fastmath: FastMathAttr | None = None,
    ):
        lhs = SSAValue.get(lhs)
        super().__init__(
            operands=[lhs, rhs],
            result_types=[i1_like(lhs.type)],
            properties={
                "predicate": IntegerAttr(self.FLAGS.index(predicate), i64),
                "fastmathFlags": fastmath or FastMathAttr(None),
            },
        )

    @staticmethod
    def accepts(type: Attribute) -> bool:
        return isinstance(type, LLVM_FLOATS)

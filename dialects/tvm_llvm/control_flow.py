"""Branches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import (
    DenseArrayBase,
    IntegerType,
    SignlessIntegerConstraint,
    i32,
    i64,
)
from xdsl.ir import Block, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    prop_def,
    successor_def,
    traits_def,
    var_operand_def,
    var_successor_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, NoMemoryEffect
from xdsl.utils.exceptions import VerifyException

__all__ = ["SwitchOp"]


@irdl_op_definition
class SwitchOp(IRDLOperation):
    """Jumps to the block of the case that equals `value`, else to the default.

    `tvm_llvm.switch %v : i32, ^bb0(%a : i32) [ 1: ^bb1, 5: ^bb2(%b : f32) ]`.
    `case_values` holds the cases in order; all must differ and fit the type of `value`.
    """

    name = "tvm_llvm.switch"

    value = operand_def(SignlessIntegerConstraint)
    default_operands = var_operand_def()
    case_operands = var_operand_def()
    case_values = prop_def(DenseArrayBase.constr(i64))
    case_operand_segments = prop_def(DenseArrayBase.constr(i32))
    default_destination = successor_def()
    case_destinations = var_successor_def()

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    traits = traits_def(IsTerminator(), NoMemoryEffect())

    def __init__(
        self,
        value: SSAValue | Operation,
        default_destination: Block,
        default_operands: Sequence[SSAValue | Operation] = (),
        case_values: Sequence[int] = (),
        case_destinations: Sequence[Block] = (),
        case_operands: Sequence[Sequence[SSAValue | Operation]] = (),
    ):
        if not case_operands:
            case_operands = [()] * len(case_values)
        super().__init__(
            operands=[
                value,
                default_operands,
                [operand for operands in case_operands for operand in operands],
            ],
            properties={
                "case_values": DenseArrayBase.from_list(i64, case_values),
                "case_operand_segments": DenseArrayBase.from_list(
                    i32, [len(operands) for operands in case_operands]
                ),
            },
            successors=[default_destination, case_destinations],
        )

    @property
    def cases(self) -> list[tuple[int, Block, Sequence[SSAValue]]]:
        """Each case's value, block and block arguments."""
        found: list[tuple[int, Block, Sequence[SSAValue]]] = []
        start = 0
        for value, block, size in zip(
            self.case_values.get_values(),
            self.case_destinations,
            self.case_operand_segments.get_values(),
            strict=True,
        ):
            operands = self.case_operands[start : start + int(size)]
            found.append((int(value), block, operands))
            start += int(size)
        return found

    def verify_(self) -> None:
        values = self.case_values.get_values()
        sizes = self.case_operand_segments.get_values()
        if not len(values) == len(sizes) == len(self.case_destinations):
            raise VerifyException(
                f"{len(values)} case values, {len(sizes)} operand segments and "
                f"{len(self.case_destinations)} case blocks do not agree"
            )
        if sum(sizes) != len(self.case_operands):
            raise VerifyException("case_operand_segments do not add up")
        type = cast(IntegerType, self.value.type)
        low, high = -(1 << (type.bitwidth - 1)), 1 << type.bitwidth
        for value in values:
            if not low <= value < high:
                raise VerifyException(f"case {value} does not fit {type}")
        if len({value % high for value in values}) != len(values):
            raise VerifyException("two cases have the same value")

    @classmethod
    def parse(cls, parser: Parser) -> SwitchOp:
        unresolved = parser.parse_unresolved_operand()
        parser.parse_punctuation(":")
        value = parser.resolve_operand(unresolved, parser.parse_type())
        parser.parse_punctuation(",")
        default, default_operands = _parse_destination(parser)

        def parse_case() -> tuple[int, Block, Sequence[SSAValue]]:
            case = parser.parse_integer()
            parser.parse_punctuation(":")
            return (case, *_parse_destination(parser))

        cases = parser.parse_comma_separated_list(Parser.Delimiter.SQUARE, parse_case)
        attributes = parser.parse_optional_attr_dict()
        op = cls(
            value,
            default,
            default_operands,
            [case[0] for case in cases],
            [case[1] for case in cases],
            [case[2] for case in cases],
        )
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.value)
        printer.print_string(" : ")
        printer.print_attribute(self.value.type)
        printer.print_string(", ")
        _print_destination(printer, self.default_destination, self.default_operands)
        printer.print_string(" [")
        for number, (value, block, operands) in enumerate(self.cases):
            printer.print_string(", " if number else "")
            printer.print_string(f"{value}: ")
            _print_destination(printer, block, operands)
        printer.print_string("]")
        printer.print_op_attributes(self.attributes)


def _parse_destination(parser: Parser) -> tuple[Block, Sequence[SSAValue]]:
    block = parser.parse_successor()
    if parser.parse_optional_punctuation("(") is None:
        return block, ()
    operands: list[UnresolvedOperand] = parser.parse_comma_separated_list(
        Parser.Delimiter.NONE, parser.parse_unresolved_operand
    )
    parser.parse_punctuation(":")
    types = parser.parse_comma_separated_list(Parser.Delimiter.NONE, parser.parse_type)
    parser.parse_punctuation(")")
    return block, parser.resolve_operands(operands, types, parser.pos)


def _print_destination(
    printer: Printer, block: Block, operands: Sequence[SSAValue]
) -> None:
    printer.print_block_name(block)
    if operands:
        with printer.in_parens():
            printer.print_list(operands, printer.print_operand)
            printer.print_string(" : ")
            printer.print_list(
                [operand.type for operand in operands], printer.print_attribute
            )

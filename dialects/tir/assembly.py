"""Parsing and printing shared by the ops of the dialect.

The statement ops have hand-written assembly: their operands are in scope where they are
used, since all regions have one block, so types need no repeating, and several of them
mix constants and values in one list, which the declarative format cannot say.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import TypeAlias

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    DictionaryAttr,
    IntegerType,
    StringAttr,
    i64,
)
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.parser import Parser
from xdsl.printer import Printer

Mixed: TypeAlias = int | SSAValue
"""A constant known in the attribute, or a value."""

SEGMENTS = ("operandSegmentSizes", "resultSegmentSizes")

_RESULTS = re.compile(r"%[\w$.-]+\s*(:\s*\d+\s*)?[,=]")


def parse_optional_value(parser: Parser) -> SSAValue | None:
    """A value that is defined above, or nothing where no `%` follows.

    Regions of the dialect have one block, so a value is defined before it is used and
    brings its type along.
    """
    operand = parser.parse_optional_unresolved_operand()
    if operand is None:
        return None
    values = parser.ssa_values.get(operand.operand_name, ())
    if operand.index >= len(values):
        parser.raise_error(
            f"{operand.span.text} is not defined above this use", operand.span
        )
    return values[operand.index]


def at_next_op(parser: Parser) -> bool:
    """Whether a `%` that follows names a result of the next op, not an operand of this.

    An op that may end without an operand asks it, since `tir.evaluate` can be followed
    by both `%x : i32` and `%x = tir.const 0 : i32`.
    """
    return _RESULTS.match(parser.lexer.input.content, parser.pos) is not None


def parse_value(parser: Parser) -> SSAValue:
    """A value that is defined above."""
    return parser.expect(lambda: parse_optional_value(parser), "expected a value")


def split_mixed(
    values: Sequence[Mixed],
) -> tuple[DenseArrayBase[IntegerType], list[SSAValue]]:
    """The constants, `DYNAMIC_INDEX` where a value is, and the values."""
    static = tuple(v if isinstance(v, int) else DYNAMIC_INDEX for v in values)
    return _constants(static), [v for v in values if not isinstance(v, int)]


@lru_cache(maxsize=1024)
def _constants(values: tuple[int, ...]) -> DenseArrayBase[IntegerType]:
    return DenseArrayBase.from_list(i64, values)


def join_mixed(static: Sequence[int], dynamic: Sequence[SSAValue]) -> tuple[Mixed, ...]:
    """The inverse of `split_mixed`."""
    values = iter(dynamic)
    return tuple(next(values) if s == DYNAMIC_INDEX else s for s in static)


def parse_mixed(parser: Parser) -> Mixed:
    """An integer literal or an operand."""
    literal = parser.parse_optional_integer(allow_boolean=False)
    return parse_value(parser) if literal is None else literal


def print_mixed(printer: Printer, value: Mixed) -> None:
    """Print what `parse_mixed` reads."""
    if isinstance(value, int):
        printer.print_int(value)
    else:
        printer.print_operand(value)


def parse_operands(parser: Parser) -> list[SSAValue]:
    """`[%a, %b]`, possibly empty."""
    return parser.parse_comma_separated_list(
        parser.Delimiter.SQUARE, lambda: parse_value(parser)
    )


def print_operands(printer: Printer, values: Sequence[SSAValue]) -> None:
    """Print what `parse_operands` reads."""
    with printer.in_square_brackets():
        printer.print_list(values, printer.print_operand)


def parse_optional_predicate(parser: Parser) -> SSAValue | None:
    """`if %p`, or nothing."""
    if parser.parse_optional_keyword("if") is None:
        return None
    return parse_value(parser)


def print_optional_predicate(printer: Printer, predicate: SSAValue | None) -> None:
    """Print what `parse_optional_predicate` reads."""
    if predicate is not None:
        printer.print_string(" if ")
        printer.print_operand(predicate)


def parse_optional_name(parser: Parser) -> StringAttr | None:
    """A string literal, or nothing."""
    name = parser.parse_optional_str_literal()
    return None if name is None else StringAttr(name)


def print_optional_name(printer: Printer, name: StringAttr | None) -> None:
    """Print what `parse_optional_name` reads, after a space."""
    if name is not None:
        printer.print_string(" ")
        printer.print_string_literal(name.data)


def parse_optional_dictionary(parser: Parser, keyword: str) -> DictionaryAttr | None:
    """`keyword {...}`, or nothing."""
    if parser.parse_optional_keyword(keyword) is None:
        return None
    return DictionaryAttr(parser.parse_optional_dictionary_attr_dict())


def print_optional_dictionary(
    printer: Printer, keyword: str, dictionary: DictionaryAttr | None
) -> None:
    """Print what `parse_optional_dictionary` reads, after a space."""
    if dictionary is not None:
        printer.print_string(f" {keyword} ")
        printer.print_attr_dict(dictionary.data)


def parse_attributes_into(parser: Parser, op: IRDLOperation) -> None:
    """Read an optional `{...}`: known names become properties, others attributes."""
    known = op.get_irdl_definition().properties
    for key, value in parser.parse_optional_dictionary_attr_dict().items():
        if key in known:
            op.properties[key] = value
        else:
            op.attributes[key] = value


def print_attributes(
    printer: Printer, op: IRDLOperation, shown: Collection[str] = ()
) -> None:
    """Print the properties not in `shown` and all attributes as one `{...}`."""
    rest: dict[str, Attribute] = {
        key: value
        for key, value in op.properties.items()
        if key not in shown and key not in SEGMENTS
    }
    rest |= op.attributes
    if rest:
        printer.print_string(" ")
        printer.print_attr_dict(rest)


def parse_body(parser: Parser, args: Sequence[Parser.Argument] = ()) -> Region:
    """A region of one block, also where the braces are empty."""
    region = parser.parse_region(args)
    if not region.blocks:
        region.add_block(Block())
    return region


def print_body(
    printer: Printer, region: Region, *, print_block_terminators: bool = True
) -> None:
    """Print what `parse_body` reads, after a space."""
    printer.print_string(" ")
    printer.print_region(
        region,
        print_entry_block_args=False,
        print_empty_block=False,
        print_block_terminators=print_block_terminators,
    )


def region_of(ops_or_region: Region | None, arg_types: Sequence[Attribute]) -> Region:
    """The given region, or a new one of one empty block with these arguments."""
    if ops_or_region is not None:
        return ops_or_region
    return Region(Block(arg_types=arg_types))

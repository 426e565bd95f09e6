"""Half-open ranges in the assembly: `%lo to %hi`.

TIR holds a range as minimum and extent. It prints as `%lo to %lo + %extent`, or, where
the minimum is the constant zero, as `%lo to %extent`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, IntegerType
from xdsl.ir import Operation, SSAValue
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.dtypes import integer_range
from xdsl_tvm.dialects.tir.assembly import (
    Mixed,
    join_mixed,
    parse_mixed,
    parse_value,
    print_mixed,
)
from xdsl_tvm.dialects.tir.constants import is_constant
from xdsl_tvm.dialects.tir.types import BufferType, is_integer_type


def _parse_end(parser: Parser, minimum: SSAValue) -> Mixed:
    """Read what follows `to`, and return the extent."""
    position = parser.pos
    end = parse_mixed(parser)
    if parser.parse_optional_punctuation("+") is None:
        if not is_constant(minimum, 0):
            parser.raise_error(
                "a range that does not start at the constant 0 is written "
                "`%lo to %lo + %extent`",
                position,
            )
        return end
    if end is not minimum:
        parser.raise_error(
            "a range is written `%lo to %lo + %extent`: the value before the `+` must be "
            "the one before the `to`",
            position,
        )
    return parse_mixed(parser)


def parse_range(parser: Parser) -> tuple[SSAValue, SSAValue]:
    """Read a half-open range of two values: its minimum and its extent."""
    minimum = parse_value(parser)
    parser.parse_keyword("to")
    position = parser.pos
    extent = _parse_end(parser, minimum)
    if isinstance(extent, int):
        parser.raise_error("expected an operand as extent, got a literal", position)
    return minimum, extent


def print_range(printer: Printer, minimum: SSAValue, extent: Mixed) -> None:
    """Print what `parse_range` reads."""
    printer.print_operand(minimum)
    printer.print_string(" to ")
    if not is_constant(minimum, 0):
        printer.print_operand(minimum)
        printer.print_string(" + ")
    print_mixed(printer, extent)


Region: TypeAlias = tuple[tuple[SSAValue, Mixed], ...]
"""A box of a buffer: minimum and extent of each dimension, in elements."""


def parse_region_dims(parser: Parser) -> tuple[list[SSAValue], list[Mixed]]:
    """Read `[%i, %j to %j + 16]`: the minima and the extents; a point has extent 1."""
    minima: list[SSAValue] = []
    extents: list[Mixed] = []

    def parse_dim() -> None:
        minima.append(parse_value(parser))
        if parser.parse_optional_keyword("to") is None:
            extents.append(1)
        else:
            extents.append(_parse_end(parser, minima[-1]))

    parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parse_dim)
    return minima, extents


def print_region_dims(
    printer: Printer, minima: Sequence[SSAValue], extents: Sequence[Mixed]
) -> None:
    """Print what `parse_region_dims` reads."""

    def print_dim(dim: tuple[SSAValue, Mixed]) -> None:
        if dim[1] == 1 and isinstance(dim[1], int):
            printer.print_operand(dim[0])
        else:
            print_range(printer, *dim)

    with printer.in_square_brackets():
        printer.print_list(list(zip(minima, extents, strict=True)), print_dim)


def join_region(
    mins: Sequence[SSAValue],
    static_extents: DenseArrayBase[IntegerType],
    extents: Sequence[SSAValue],
) -> Region:
    """The region of an op that holds constant extents apart from the others."""
    sizes = join_mixed(static_extents.get_values(), extents)
    return tuple(zip(mins, sizes, strict=True))


def print_region(printer: Printer, region: Region) -> None:
    """Print what `parse_region_dims` reads."""
    print_region_dims(printer, [m for m, _ in region], [e for _, e in region])


def verify_region(
    op: Operation,
    buffer: BufferType,
    mins: Sequence[SSAValue],
    static_extents: DenseArrayBase[IntegerType],
    extents: Sequence[SSAValue],
) -> None:
    """Raise VerifyException unless the parts make a region of the buffer's rank."""
    static = static_extents.get_values()
    if not buffer.get_num_dims() == len(mins) == len(static):
        raise VerifyException(
            f"{op.name}: the region must have the rank of {buffer}, got {len(mins)} "
            "dimensions"
        )
    if static.count(DYNAMIC_INDEX) != len(extents):
        raise VerifyException(
            f"{op.name}: every dynamic extent of the region needs one operand"
        )
    verify_extents(op, mins, static)


def verify_extents(
    op: Operation, mins: Sequence[SSAValue], static: Sequence[int]
) -> None:
    """Raise VerifyException unless static extents are values of the minima's types."""
    for low, extent in zip(mins, static, strict=True):
        dtype = low.type
        if extent == DYNAMIC_INDEX or not is_integer_type(dtype):
            continue
        least, greatest = integer_range(dtype)
        if not least <= extent <= greatest:
            raise VerifyException(
                f"{op.name}: the extent {extent} of a region is no value of {dtype}, the "
                "type of its minimum; use a wider type"
            )

"""What accesses of memory share: orderings, scopes, alignment and hints."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import I64, IntegerAttr, IntegerType, StringAttr, UnitAttr, i64
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Attribute
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.tvm_llvm.types import LLVM_FLOATS

__all__ = ["ORDERINGS", "ORDERING_NAMES"]

ORDERINGS: dict[str, int] = {
    "not_atomic": 0,
    "unordered": 1,
    "monotonic": 2,
    "acquire": 4,
    "release": 5,
    "acq_rel": 6,
    "seq_cst": 7,
}
"""Atomic orderings and the integers that properties hold (MLIR's numbering)."""

ORDERING_NAMES: dict[int, str] = {value: name for name, value in ORDERINGS.items()}


def verify_alignment(alignment: IntegerAttr | None) -> None:
    """Raises VerifyException for an alignment that is no power of two."""
    if alignment is None:
        return
    value = alignment.value.data
    if value < 1 or value & (value - 1):
        raise VerifyException(f"alignment must be a power of two, got {value}")


def verify_atomic_type(type: Attribute) -> None:
    """Raises VerifyException for a type that no atomic access has."""
    if isinstance(type, IntegerType):
        if type.bitwidth < 8 or type.bitwidth & (type.bitwidth - 1):
            raise VerifyException(
                f"an atomic access needs a power-of-two width of 8 or more, got {type}"
            )
    elif not isinstance(type, (LLVMPointerType, *LLVM_FLOATS)):
        raise VerifyException(f"no atomic access of type {type}")


def access_properties(
    alignment: int | None, ordering: str, syncscope: str | None
) -> dict[str, Attribute]:
    """The properties of an access, by name; what is None has none."""
    properties: dict[str, Attribute] = {"ordering": IntegerAttr(ORDERINGS[ordering], i64)}
    if alignment is not None:
        properties["alignment"] = IntegerAttr(alignment, i64)
    if syncscope is not None:
        properties["syncscope"] = StringAttr(syncscope)
    return properties


def set_units(properties: dict[str, Attribute], **units: bool) -> None:
    """Adds a unit for every name that is true."""
    properties.update({name: UnitAttr() for name, value in units.items() if value})


def parse_syncscope(parser: Parser) -> StringAttr | None:
    """Parses `syncscope("…")` where it follows."""
    if parser.parse_optional_keyword("syncscope") is None:
        return None
    with parser.in_parens():
        return StringAttr(parser.parse_str_literal())


def print_syncscope(printer: Printer, scope: StringAttr | None) -> None:
    """Prints ` syncscope("…")`, or nothing for None."""
    if scope is not None:
        printer.print_string(" syncscope(")
        printer.print_string_literal(scope.data)
        printer.print_string(")")


def parse_ordering(parser: Parser) -> IntegerAttr[I64]:
    """Parses the name of an ordering. Raises ParseError for any other name."""
    keyword = parser.parse_identifier(context_msg=" for the atomic ordering")
    if keyword not in ORDERINGS:
        parser.raise_error(f"unknown atomic ordering '{keyword}'")
    return IntegerAttr(ORDERINGS[keyword], i64)


def split_hints(
    attributes: dict[str, Attribute],
    properties: dict[str, Attribute],
    names: Sequence[str],
) -> None:
    """Moves the attributes called `names` to `properties`."""
    for name in names:
        if name in attributes:
            properties[name] = attributes.pop(name)

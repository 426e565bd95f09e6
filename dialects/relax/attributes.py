"""Attributes of the dialect: symbolic dimensions and where a tensor lives."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from xdsl.dialects.builtin import IntAttr, NoneAttr, StringAttr
from xdsl.ir import Attribute, Data, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from xdsl_tvm.dialects.relax.symbolic import (
    RESERVED,
    Dim,
    DimLike,
    maximum,
    minimum,
)
from xdsl_tvm.dialects.tir.target import Target

__all__ = [
    "DimAttr",
    "DimsAttr",
    "PlacedAttr",
    "SymbolsAttr",
    "VDeviceAttr",
]

Dims: TypeAlias = tuple[Dim | None, ...]
"""Dimensions of a shape; None is a dimension that nothing is known about."""


def parse_dim(parser: AttrParser, negate_first: bool = False) -> Dim:
    """Parse an expression over symbols, with the usual precedences.

    Operators are `+`, `-`, `*`, `floordiv`, `floormod` and the functions `min(a, b)` and
    `max(a, b)`. `negate_first` says that a leading minus was consumed already.
    """
    result = _parse_product(parser, negate_first)
    while True:
        if parser.parse_optional_punctuation("+") is not None:
            result += _parse_product(parser)
        elif parser.parse_optional_punctuation("-") is not None:
            result -= _parse_product(parser)
        else:
            return result


def _parse_product(parser: AttrParser, negate_first: bool = False) -> Dim:
    result = _parse_factor(parser)
    if negate_first:
        result = -result
    while True:
        if parser.parse_optional_punctuation("*") is not None:
            result *= _parse_factor(parser)
        elif parser.parse_optional_keyword("floordiv") is not None:
            result //= _parse_factor(parser)
        elif parser.parse_optional_keyword("floormod") is not None:
            result %= _parse_factor(parser)
        else:
            return result


def _parse_factor(parser: AttrParser) -> Dim:
    if parser.parse_optional_punctuation("-") is not None:
        return -_parse_factor(parser)
    if parser.parse_optional_punctuation("(") is not None:
        inner = parse_dim(parser)
        parser.parse_punctuation(")")
        return inner
    number = parser.parse_optional_integer(allow_boolean=False, allow_negative=False)
    if number is not None:
        return Dim.constant(number)
    for keyword, combine in (("min", minimum), ("max", maximum)):
        if parser.parse_optional_keyword(keyword) is not None:
            parser.parse_punctuation("(")
            lhs = parse_dim(parser)
            parser.parse_punctuation(",")
            rhs = parse_dim(parser)
            parser.parse_punctuation(")")
            return combine(lhs, rhs)
    return Dim.symbol(parse_symbol(parser))


def parse_symbol(parser: AttrParser) -> str:
    """Parse the name of a symbolic dimension."""
    start = parser.pos
    name = parser.parse_identifier(context_msg=" for a symbolic dimension")
    if name in RESERVED or not name.isidentifier():
        parser.raise_error(f"'{name}' cannot name a symbolic dimension", start)
    return name


def parse_dims(parser: AttrParser) -> Dims:
    """Parse `[n, 64, ?]`."""
    return parser.expect(
        lambda: parse_optional_dims(parser), "expected dimensions, [n, 4]"
    )


def parse_optional_dims(parser: AttrParser) -> Dims | None:
    """Parse `[n, 64, ?]`, None where no bracket follows."""

    def element() -> Dim | None:
        if parser.parse_optional_punctuation("?") is not None:
            return None
        return parse_dim(parser)

    # An unknown dimension is None, so the elements are wrapped for the list parser.
    dims = parser.parse_optional_comma_separated_list(
        parser.Delimiter.SQUARE, lambda: (element(),)
    )
    return None if dims is None else tuple(dim for (dim,) in dims)


def print_dims(printer: Printer, dims: Sequence[Dim | None]) -> None:
    """Print `[n, 64, ?]`."""
    with printer.in_square_brackets():
        printer.print_list(
            dims, lambda dim: printer.print_string("?" if dim is None else str(dim))
        )


@irdl_attr_definition
class DimAttr(Data[Dim]):
    """One symbolic dimension, `#relax.dim<n * 2 + 1>`."""

    name = "relax.dim"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Dim:
        with parser.in_angle_brackets():
            return parse_dim(parser)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(str(self.data))


@irdl_attr_definition
class DimsAttr(Data[Dims]):
    """The dimensions of a shape, `#relax.dims<[n, 64, ?]>`.

    As the encoding of a builtin tensor type it names what the type can only write as `?`.
    """

    name = "relax.dims"

    @staticmethod
    def of(dims: Iterable[DimLike | None]) -> DimsAttr:
        """The attribute for dimensions given as `Dim`, int, or name of a symbol."""
        return DimsAttr(tuple(None if d is None else Dim.of(d) for d in dims))

    @property
    def known(self) -> tuple[Dim, ...] | None:
        """The dimensions, None where one of them is unknown."""
        dims = tuple(dim for dim in self.data if dim is not None)
        return dims if len(dims) == len(self.data) else None

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Dims:
        with parser.in_angle_brackets():
            return parse_dims(parser)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            print_dims(printer, self.data)


@irdl_attr_definition
class SymbolsAttr(Data[tuple[str, ...]]):
    """Names of symbolic dimensions that an operation defines, `#relax.symbols<n, m>`."""

    name = "relax.symbols"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[str, ...]:
        return tuple(
            parser.parse_comma_separated_list(
                parser.Delimiter.ANGLE, lambda: parse_symbol(parser)
            )
        )

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_list(self.data, printer.print_string)


@irdl_attr_definition
class VDeviceAttr(ParametrizedAttribute):
    """A virtual device: target (none for any), index, memory scope. TVM's `VDevice`.

    Printed `#relax.vdevice<"cuda", 0, "global">`, or `#relax.vdevice<any, 0, "global">`;
    a target with attributes as `#tir.target<…>`. All that `Target.parse` takes is read.
    """

    name = "relax.vdevice"

    target: Target | NoneAttr
    index: IntAttr
    memory_scope: StringAttr

    @staticmethod
    def of(
        target: str | Target | None, index: int = 0, memory_scope: str = "global"
    ) -> VDeviceAttr:
        """The device with the given target, index and memory scope.

        Raises ValueError for an unknown target.
        """
        return VDeviceAttr(
            NoneAttr() if target is None else Target.parse(target),
            IntAttr(index),
            StringAttr(memory_scope),
        )

    @property
    def target_name(self) -> str | None:
        """The kind of the target, None for any."""
        return self.target.kind.name if isinstance(self.target, Target) else None

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            target = NoneAttr()
            if parser.parse_optional_keyword("any") is None:
                target = _parse_target(parser)
            parser.parse_punctuation(",")
            index = parser.parse_integer(allow_boolean=False, allow_negative=False)
            parser.parse_punctuation(",")
            return target, IntAttr(index), StringAttr(parser.parse_str_literal())

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            if not isinstance(self.target, Target):
                printer.print_string("any")
            elif self.target == Target(self.target.kind.name):
                printer.print_string_literal(self.target.kind.name)
            else:
                printer.print_attribute(self.target)
            printer.print_string(f", {self.index.data}, ")
            printer.print_string_literal(self.memory_scope.data)


def _parse_target(parser: AttrParser) -> Target:
    position = parser.pos
    text = parser.parse_optional_str_literal()
    found = parser.parse_attribute() if text is None else text
    if not isinstance(found, str | Target):
        parser.raise_error("expected a #tir.target, a string or `any`", position)
    try:
        return Target.parse(found)
    except ValueError as error:
        parser.raise_error(str(error), position)


@irdl_attr_definition
class PlacedAttr(ParametrizedAttribute):
    """Encoding of a tensor on a virtual device.

    Printed `#relax.placed<[n, 4], #relax.vdevice<"cuda", 0, "global">>`.
    """

    name = "relax.placed"

    dims: DimsAttr
    vdevice: VDeviceAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            dims = DimsAttr(parse_dims(parser))
            parser.parse_punctuation(",")
            start = parser.pos
            vdevice = parser.parse_attribute()
            if not isinstance(vdevice, VDeviceAttr):
                parser.raise_error("expected a #relax.vdevice attribute", start)
            return dims, vdevice

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            print_dims(printer, self.dims.data)
            printer.print_string(", ")
            printer.print_attribute(self.vdevice)


def symbols_of(dims: Iterable[Dim | None]) -> Iterable[str]:
    """Names of the symbols in the dimensions, in order, with repetitions."""
    for dim in dims:
        if dim is not None:
            yield from dim.symbols()

"""Attributes of `stablehlo`: enumerations and the numbers of dimensions.

Source: the StableHLO specification and the texts that JAX prints.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping, Sequence
from typing import ClassVar, Self

from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Data, SpacedOpaqueSyntaxAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

__all__ = [
    "ComparisonDirection",
    "ComparisonDirectionAttr",
    "ComparisonType",
    "ComparisonTypeAttr",
    "ConvAttr",
    "DotAttr",
    "GatherAttr",
    "Precision",
    "PrecisionAttr",
    "RngAlgorithm",
    "RngAlgorithmAttr",
    "ScatterAttr",
]


class Precision(StrEnum):
    """How exactly a contraction is computed; Relax computes in the dtype itself."""

    DEFAULT = "DEFAULT"
    HIGH = "HIGH"
    HIGHEST = "HIGHEST"


class ComparisonDirection(StrEnum):
    """The relation of a comparison."""

    EQ = "EQ"
    NE = "NE"
    GE = "GE"
    GT = "GT"
    LE = "LE"
    LT = "LT"


class ComparisonType(StrEnum):
    """What the elements of a comparison are taken for."""

    NOTYPE = "NOTYPE"
    FLOAT = "FLOAT"
    TOTALORDER = "TOTALORDER"
    SIGNED = "SIGNED"
    UNSIGNED = "UNSIGNED"


class RngAlgorithm(StrEnum):
    """A generator of random bits; the default one is PHILOX, as XLA's is on a CPU."""

    DEFAULT = "DEFAULT"
    PHILOX = "PHILOX"
    THREE_FRY = "THREE_FRY"


@irdl_attr_definition
class PrecisionAttr(EnumAttribute[Precision], SpacedOpaqueSyntaxAttribute):
    """`#stablehlo<precision HIGHEST>`."""

    name = "stablehlo.precision"


@irdl_attr_definition
class ComparisonDirectionAttr(
    EnumAttribute[ComparisonDirection], SpacedOpaqueSyntaxAttribute
):
    """`#stablehlo<comparison_direction LT>`."""

    name = "stablehlo.comparison_direction"


@irdl_attr_definition
class RngAlgorithmAttr(EnumAttribute[RngAlgorithm], SpacedOpaqueSyntaxAttribute):
    """`#stablehlo<rng_algorithm PHILOX>`."""

    name = "stablehlo.rng_algorithm"


@irdl_attr_definition
class ComparisonTypeAttr(EnumAttribute[ComparisonType], SpacedOpaqueSyntaxAttribute):
    """`#stablehlo<comparison_type SIGNED>`."""

    name = "stablehlo.comparison_type"


Ints = tuple[int, ...]


class DimensionNumbers(Data[tuple[tuple[str, Ints], ...]], ABC):
    """Named lists of dimensions, and one that is a number.

    Fields are printed in the order of `LISTS`, empty ones not at all; `INDEX` is last
    and its number is printed unless it is 0.
    """

    LISTS: ClassVar[tuple[str, ...]]
    INDEX: ClassVar[str | None] = None

    @classmethod
    def of(cls, lists: Mapping[str, Sequence[int]], index: int = 0) -> Self:
        """The attribute with those lists; others are empty."""
        fields = [(name, tuple(lists.get(name, ()))) for name in cls.LISTS]
        if cls.INDEX is not None:
            fields.append((cls.INDEX, (index,)))
        return cls(tuple(fields))

    def dims(self, name: str) -> Ints:
        """The list of a name."""
        return dict(self.data)[name]

    @property
    def index(self) -> int:
        """The number of `INDEX`."""
        assert self.INDEX is not None
        return self.dims(self.INDEX)[0]

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[tuple[str, Ints], ...]:
        found: dict[str, Ints] = {}

        def field() -> None:
            name = parser.parse_identifier()
            if name not in (*cls.LISTS, cls.INDEX) or name in found:
                known = ", ".join(each for each in (*cls.LISTS, cls.INDEX) if each)
                parser.raise_error(f"{cls.name}: '{name}' is not one of {known}, once")
            parser.parse_punctuation("=")
            if name == cls.INDEX:
                found[name] = (parser.parse_integer(),)
            else:
                found[name] = parse_ints(parser)

        parser.parse_comma_separated_list(parser.Delimiter.ANGLE, field)
        fields = [(name, found.get(name, ())) for name in cls.LISTS]
        if cls.INDEX is not None:
            fields.append((cls.INDEX, found.get(cls.INDEX, (0,))))
        return tuple(fields)

    def print_parameter(self, printer: Printer) -> None:
        shown = [
            f"{name} = {list(dims) if name != self.INDEX else dims[0]}"
            for name, dims in self.data
            if (dims != (0,) if name == self.INDEX else dims)
        ]
        with printer.in_angle_brackets():
            printer.print_string(", ".join(shown))


def parse_ints(parser: AttrParser) -> Ints:
    """`[0, 1]`."""
    return tuple(
        parser.parse_comma_separated_list(
            parser.Delimiter.SQUARE, lambda: parser.parse_integer()
        )
    )


@irdl_attr_definition
class DotAttr(DimensionNumbers):
    """The dimensions of `dot_general` that are batches and that are summed over."""

    name = "stablehlo.dot"
    LISTS: ClassVar[tuple[str, ...]] = (
        "lhs_batching_dimensions",
        "rhs_batching_dimensions",
        "lhs_contracting_dimensions",
        "rhs_contracting_dimensions",
    )


@irdl_attr_definition
class GatherAttr(DimensionNumbers):
    """Which dimensions of `gather` are of the indices, and which of the slices."""

    name = "stablehlo.gather"
    LISTS: ClassVar[tuple[str, ...]] = (
        "offset_dims",
        "collapsed_slice_dims",
        "operand_batching_dims",
        "start_indices_batching_dims",
        "start_index_map",
    )
    INDEX: ClassVar[str | None] = "index_vector_dim"


@irdl_attr_definition
class ScatterAttr(DimensionNumbers):
    """Which dimensions of `scatter` are of the indices, and which of the updates."""

    name = "stablehlo.scatter"
    LISTS: ClassVar[tuple[str, ...]] = (
        "update_window_dims",
        "inserted_window_dims",
        "input_batching_dims",
        "scatter_indices_batching_dims",
        "scatter_dims_to_operand_dims",
    )
    INDEX: ClassVar[str | None] = "index_vector_dim"


Layout = tuple[str | int, ...]
"""The dimensions in order: a letter, or the number of a spatial dimension."""


@irdl_attr_definition
class ConvAttr(Data[tuple[Layout, Layout, Layout]]):
    """The layouts of a convolution: `#stablehlo.conv<[b, f, 0]x[o, i, 0]->[b, f, 0]>`.

    The letters are batch and feature of input and result, and output and input feature
    of the kernel.
    """

    name = "stablehlo.conv"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[Layout, Layout, Layout]:
        with parser.in_angle_brackets():
            return parse_conv_layouts(parser)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(str(self))

    def __str__(self) -> str:
        lhs, rhs, result = (", ".join(map(str, each)) for each in self.data)
        return f"[{lhs}]x[{rhs}]->[{result}]"

    def verify(self) -> None:
        rank = len(self.data[0])
        letters = (("b", "f"), ("i", "o"), ("b", "f"))
        for layout, pair in zip(self.data, letters, strict=True):
            if set(layout) != {*pair, *range(rank - 2)} or len(layout) != rank:
                raise VerifyException(
                    f"{self.name}: a layout must hold {pair[0]}, {pair[1]} and the "
                    f"numbers of {rank - 2} spatial dimensions, not {list(layout)}"
                )


def parse_conv_layouts(parser: AttrParser) -> tuple[Layout, Layout, Layout]:
    """`[b, 0, f]x[0, i, o]->[b, 0, f]`."""
    lhs = _parse_layout(parser)
    # The lexer reads `x` and what follows as one word only where letters follow.
    parser.parse_characters("x", " between layouts")
    rhs = _parse_layout(parser)
    parser.parse_punctuation("->")
    return lhs, rhs, _parse_layout(parser)


def _parse_layout(parser: AttrParser) -> Layout:
    def dimension() -> str | int:
        if (number := parser.parse_optional_integer()) is not None:
            return number
        return parser.parse_identifier()

    return tuple(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, dimension))

"""Contractions of `stablehlo`: products summed over dimensions, and convolutions."""

from __future__ import annotations

from typing import Any, Self, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    TensorType,
    i1,
    i64,
)
from xdsl.ir import Attribute
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
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

from xdsl_tvm.dialects.stablehlo.assembly import (
    DotDimensions,
    OptionalPrecision,
    expect_dims,
    expect_length,
    expect_shape,
    fits,
    ints_of,
    parse_typed,
    print_attributes,
    print_function_type,
    shape_of,
)
from xdsl_tvm.dialects.stablehlo.attributes import (
    ConvAttr,
    DotAttr,
    parse_conv_layouts,
    parse_ints,
)


@irdl_op_definition
class DotGeneralOp(IRDLOperation):
    """Products summed over the contracting dimensions, one for each batch.

    The result has the batching dimensions, then the other ones of `lhs` and `rhs`.
    """

    name = "stablehlo.dot_general"

    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    result = result_def(TensorType)
    dot_dimension_numbers = prop_def(DotAttr)
    precision_config = opt_prop_def(ArrayAttr)
    algorithm = opt_prop_def()

    traits = traits_def(Pure())

    irdl_options = (ParsePropInAttrDict(),)
    custom_directives = (DotDimensions, OptionalPrecision)
    assembly_format = (
        "$lhs `,` $rhs `,` custom<DotDimensions>($dot_dimension_numbers)"
        " custom<OptionalPrecision>($precision_config) attr-dict `:`"
        " functional-type(operands, results)"
    )

    def verify_(self) -> None:
        lhs, rhs = shape_of(self.lhs), shape_of(self.rhs)
        batches, sums = self.pairs("batching"), self.pairs("contracting")
        for side, shape in enumerate((lhs, rhs)):
            dims = [pair[side] for pair in (*batches, *sums)]
            expect_dims(self, "batching and contracting dims", dims, len(shape))
        for left, right in (*batches, *sums):
            if not fits([lhs[left]], [rhs[right]]):
                raise VerifyException(
                    f"{self.name}: an extent of {lhs[left]} is not one of {rhs[right]}"
                )
        expected = [lhs[left] for left, _ in batches]
        for side, shape in enumerate((lhs, rhs)):
            taken = {pair[side] for pair in (*batches, *sums)}
            expected += [d for index, d in enumerate(shape) if index not in taken]
        expect_shape(self, expected)

    def pairs(self, kind: str) -> list[tuple[int, int]]:
        """The dimensions of both sides that belong together, batching or contracting."""
        numbers = self.dot_dimension_numbers
        lhs, rhs = (numbers.dims(f"{side}_{kind}_dimensions") for side in ("lhs", "rhs"))
        if len(lhs) != len(rhs):
            raise VerifyException(
                f"{self.name}: {len(lhs)} {kind} dimensions cannot be paired with "
                f"{len(rhs)}"
            )
        return list(zip(lhs, rhs, strict=True))


@irdl_op_definition
class ConvolutionOp(IRDLOperation):
    """The sums of products of a kernel with windows of a tensor."""

    name = "stablehlo.convolution"

    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    result = result_def(TensorType)
    dimension_numbers = prop_def(ConvAttr)
    feature_group_count = prop_def(IntegerAttr)
    batch_group_count = prop_def(IntegerAttr)
    window_strides = opt_prop_def(DenseArrayBase)
    padding = opt_prop_def(DenseIntOrFPElementsAttr)
    lhs_dilation = opt_prop_def(DenseArrayBase)
    rhs_dilation = opt_prop_def(DenseArrayBase)
    window_reversal = opt_prop_def(DenseArrayBase)
    precision_config = opt_prop_def(ArrayAttr)

    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        operands = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, parser.parse_unresolved_operand
        )
        parser.parse_keyword("dim_numbers")
        parser.parse_punctuation("=")
        numbers = ConvAttr(parse_conv_layouts(parser))
        parser.parse_punctuation(",")
        parser.parse_keyword("window")
        parser.parse_punctuation("=")
        window: dict[str, Attribute] = {}

        def entry() -> None:
            word = parser.parse_identifier()
            if word not in _WINDOW:
                parser.raise_error(
                    f"{cls.name}: '{word}' is not one of {', '.join(_WINDOW)}"
                )
            parser.parse_punctuation("=")
            window[_WINDOW[word]] = _parse_window(parser, word)

        parser.parse_comma_separated_list(parser.Delimiter.BRACES, entry)
        attributes = parser.parse_optional_attr_dict()
        return parse_typed(
            cls, parser, operands, attributes, dimension_numbers=numbers, **window
        )

    def print(self, printer: Printer) -> None:
        with printer.in_parens():
            printer.print_list(self.operands, printer.print_ssa_value)
        printer.print_string(f" dim_numbers = {self.dimension_numbers}, window = ")
        parts: list[str] = []
        for word, name in _WINDOW.items():
            attr = self.properties.get(name)
            if isinstance(attr, DenseIntOrFPElementsAttr):
                parts.append(f"{word} = {[list(pair) for pair in self.paddings]}")
            elif attr is not None:
                values = list(ints_of(attr))
                shown = str([bool(v) for v in values] if word == "reverse" else values)
                parts.append(f"{word} = {shown.lower()}")
        printer.print_string(f"{{{', '.join(parts)}}}")
        print_attributes(printer, self, ("dimension_numbers", *_WINDOW.values()))
        printer.print_string(" : ")
        print_function_type(printer, self)

    @property
    def spatial_rank(self) -> int:
        """The number of spatial dimensions."""
        return len(self.dimension_numbers.data[0]) - 2

    @property
    def paddings(self) -> list[tuple[int, int]]:
        """Elements before and after, along each spatial dimension."""
        return paddings_of(self.padding, self.spatial_rank, self.name)

    def window(self, name: str, default: int = 1) -> tuple[int, ...]:
        """A property of the window, along each spatial dimension."""
        attr = self.properties.get(name)
        return (default,) * self.spatial_rank if attr is None else ints_of(attr)

    def verify_(self) -> None:
        rank = self.spatial_rank
        for value in (*self.operands, self.result):
            expect_length(self, "a shape", shape_of(value), rank + 2)
        for name in ("window_strides", "lhs_dilation", "rhs_dilation"):
            values = self.window(name)
            expect_length(self, name, values, rank)
            if any(each < 1 for each in values):
                raise VerifyException(f"{self.name}: {name} must be positive")
        expect_length(self, "window_reversal", self.window("window_reversal", 0), rank)
        expect_length(self, "padding", self.paddings, rank)
        for name in ("feature_group_count", "batch_group_count"):
            if cast("IntegerAttr[Any]", self.properties[name]).value.data < 1:
                raise VerifyException(f"{self.name}: {name} must be positive")


_WINDOW = {
    "stride": "window_strides",
    "pad": "padding",
    "lhs_dilate": "lhs_dilation",
    "rhs_dilate": "rhs_dilation",
    "reverse": "window_reversal",
}


def _parse_window(parser: Parser, word: str) -> Attribute:
    if word == "reverse":

        def flag() -> int:
            return int(parser.parse_boolean())

        flags = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, flag)
        return DenseArrayBase.from_list(i1, flags)
    if word != "pad":
        return DenseArrayBase.from_list(i64, parse_ints(parser))
    start = parser.pos
    pairs = parser.parse_comma_separated_list(
        parser.Delimiter.SQUARE, lambda: parse_ints(parser)
    )
    if any(len(pair) != 2 for pair in pairs):
        parser.raise_error("pad must hold pairs", start)
    type_ = TensorType(i64, [len(pairs), 2])
    return DenseIntOrFPElementsAttr.from_list(type_, [n for pair in pairs for n in pair])


def paddings_of(
    attr: DenseIntOrFPElementsAttr | None, rank: int, name: str
) -> list[tuple[int, int]]:
    """The pairs of a padding; zeros without one. Raises VerifyException for others."""
    if attr is None:
        return [(0, 0)] * rank
    if attr.get_shape() != (rank, 2) or attr.get_element_type() != i64:
        raise VerifyException(f"{name}: padding must be tensor<{rank}x2xi64>")
    values = [int(value) for value in cast("tuple[int, ...]", attr.get_values())]
    return list(zip(values[::2], values[1::2], strict=True))

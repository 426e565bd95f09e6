"""Pieces of the assembly that JAX prints, which several operations share."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import Any, ClassVar, Self, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DenseArrayBase,
    FunctionType,
    IntegerAttr,
    TensorType,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.irdl.declarative_assembly_format import (
    AttributeVariable,
    CustomDirective,
    ParsingState,
    PrintingState,
    irdl_custom_directive,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.stablehlo.attributes import (
    DotAttr,
    Precision,
    PrecisionAttr,
    parse_ints,
)

AnyTensor = TensorType[Attribute]


@irdl_custom_directive
class I64Array(CustomDirective):
    """`[0, 1]`, an array of `i64`."""

    values: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        self.values.set(state, DenseArrayBase.from_list(i64, parse_ints(parser)))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        state.print_whitespace(printer)
        printer.print_string(str(list(ints_of(self.values.get(op)))))


@irdl_custom_directive
class I64Number(CustomDirective):
    """`0`, an `i64`."""

    value: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        self.value.set(state, IntegerAttr(parser.parse_integer(), i64))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        attr = self.value.get(op)
        assert isinstance(attr, IntegerAttr)
        state.print_whitespace(printer)
        printer.print_string(str(attr.value.data))


@irdl_custom_directive
class DotDimensions(CustomDirective):
    """`batching_dims = [0] x [0], contracting_dims = [2] x [1]`."""

    numbers: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        lists: dict[str, tuple[int, ...]] = {}
        while True:
            word = parser.parse_optional_keyword("batching_dims")
            kind = "batching" if word else "contracting"
            if not word:
                parser.parse_keyword("contracting_dims")
            parser.parse_punctuation("=")
            lists[f"lhs_{kind}_dimensions"] = parse_ints(parser)
            parser.parse_keyword("x")
            lists[f"rhs_{kind}_dimensions"] = parse_ints(parser)
            if kind == "contracting":
                break
            if not parser.parse_optional_punctuation(","):
                break
        self.numbers.set(state, DotAttr.of(lists))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        attr = self.numbers.get(op)
        assert isinstance(attr, DotAttr)
        state.print_whitespace(printer)
        parts: list[str] = []
        for kind in ("batching", "contracting"):
            lhs, rhs = (
                list(attr.dims(f"{side}_{kind}_dimensions")) for side in ("lhs", "rhs")
            )
            if lhs or rhs or kind == "contracting":
                parts.append(f"{kind}_dims = {lhs} x {rhs}")
        printer.print_string(", ".join(parts))


@irdl_custom_directive
class OptionalPrecision(CustomDirective):
    """`, precision = [DEFAULT, HIGHEST]`, or nothing."""

    config: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        if not parser.parse_optional_punctuation(","):
            return
        if not parser.parse_optional_keyword("precision"):
            parser.raise_error(
                "stablehlo.dot_general: only a precision is accepted here, since Relax "
                "has no algorithms of contractions; remove it"
            )
        parser.parse_punctuation("=")

        def one() -> PrecisionAttr:
            return PrecisionAttr(parser.parse_str_enum(Precision))

        words = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, one)
        self.config.set(state, ArrayAttr(words))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        attr = self.config.get(op)
        if isinstance(attr, ArrayAttr):
            entries = cast("ArrayAttr[PrecisionAttr]", attr)
            words = ", ".join(each.data.value for each in entries)
            printer.print_string(f", precision = [{words}]")
            state.last_was_punctuation = False
            state.should_emit_space = True


def ints_of(attr: Attribute | None) -> tuple[int, ...]:
    """The integers of an array of `i64`. Raises VerifyException for other attributes."""
    if not isinstance(attr, DenseArrayBase):
        raise VerifyException(f"an array of i64 must be given, not {attr}")
    values = cast("DenseArrayBase[Any]", attr).get_values()
    return tuple(int(value) for value in values)


class SameTypesOp(IRDLOperation, ABC):
    """Base of operations printed with one type where all types are equal.

    `%r = stablehlo.add %a, %b : tensor<2xf32>`, and with different types
    `%r = stablehlo.convert %a : (tensor<2xi32>) -> tensor<2xf32>`.
    """

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        operands = parse_values(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        start = parser.pos
        type_ = parser.parse_type()
        if isinstance(type_, FunctionType):
            inputs, outputs = type_.inputs.data, type_.outputs.data
        elif parser.parse_optional_punctuation("->"):
            inputs, outputs = [type_] * len(operands), [parser.parse_type()]
        else:
            inputs, outputs = [type_] * len(operands), [type_]
        if len(inputs) != len(operands):
            parser.raise_error(f"{cls.name}: {len(operands)} types expected", start)
        values = parser.resolve_operands(operands, inputs, start)
        return from_attributes(cls, values, outputs, attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_ssa_value)
        print_attributes(printer, self)
        printer.print_string(" : ")
        types = [*self.operand_types, *self.result_types]
        if len(set(types)) == 1:
            printer.print_attribute(types[0])
        else:
            print_function_type(printer, self)


class ValuesThenOp(IRDLOperation, ABC):
    """Base of operations printed as `%a, %b, word = …`, with one property.

    The property is a list of `i64`, or a number where `IS_NUMBER` is set.
    """

    WORD: ClassVar[str]
    PROPERTY: ClassVar[str]
    IS_NUMBER: ClassVar[bool] = False

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        operands = [parser.parse_unresolved_operand()]
        while True:
            parser.parse_punctuation(",")
            operand = parser.parse_optional_unresolved_operand()
            if operand is None:
                break
            operands.append(operand)
        parser.parse_keyword(cls.WORD)
        parser.parse_punctuation("=")
        value: Attribute
        if cls.IS_NUMBER:
            value = IntegerAttr(parser.parse_integer(), i64)
        else:
            value = DenseArrayBase.from_list(i64, parse_ints(parser))
        attributes = parser.parse_optional_attr_dict()
        return parse_typed(cls, parser, operands, attributes, **{cls.PROPERTY: value})

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_ssa_value)
        value = self.properties[self.PROPERTY]
        shown = (
            cast("IntegerAttr[Any]", value).value.data
            if self.IS_NUMBER
            else list(ints_of(value))
        )
        printer.print_string(f", {self.WORD} = {shown}")
        print_attributes(printer, self, (self.PROPERTY,))
        printer.print_string(" : ")
        print_function_type(printer, self)


def parse_values(parser: Parser) -> list[UnresolvedOperand]:
    """`%a, %b`, perhaps none."""
    return (
        parser.parse_optional_undelimited_comma_separated_list(
            parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
        )
        or []
    )


def from_attributes(
    kind: type[Any],
    operands: Sequence[SSAValue],
    results: Sequence[Attribute],
    attributes: dict[str, Attribute],
    **properties: Attribute | None,
) -> Any:
    """An operation; attributes of the names of its properties are properties."""
    known = kind.get_irdl_definition().properties
    given = {name: attr for name, attr in properties.items() if attr is not None}
    given |= {name: attr for name, attr in attributes.items() if name in known}
    others = {name: attr for name, attr in attributes.items() if name not in known}
    return kind.create(
        operands=operands, result_types=results, properties=given, attributes=others
    )


def print_attributes(
    printer: Printer, op: Operation, without: Sequence[str] = ()
) -> None:
    """Properties and attributes, but those printed elsewhere, as one dictionary."""
    shown = {**op.properties, **op.attributes}
    printer.print_op_attributes(
        {name: attr for name, attr in shown.items() if name not in without}
    )


def print_function_type(printer: Printer, op: Operation) -> None:
    """`(tensor<2xf32>) -> tensor<2xf32>`."""
    printer.print_attribute(FunctionType.from_lists(op.operand_types, op.result_types))


def tensor_of(value: SSAValue | Attribute) -> AnyTensor:
    """The type of a tensor. Raises VerifyException for another one."""
    type_ = value.type if isinstance(value, SSAValue) else value
    if not isinstance(type_, TensorType):
        raise VerifyException(f"a tensor of known rank must be given, not {type_}")
    return cast(AnyTensor, type_)


def shape_of(value: SSAValue | Attribute) -> tuple[int, ...]:
    """The shape of a tensor; -1 is a dimension that is not known."""
    shape = tensor_of(value).get_shape()
    return tuple(-1 if extent == DYNAMIC_INDEX else extent for extent in shape)


def element_of(value: SSAValue | Attribute) -> Attribute:
    """The element type of a tensor."""
    return tensor_of(value).element_type


def fits(found: Sequence[int], expected: Sequence[int]) -> bool:
    """Whether shapes can be equal."""
    return len(found) == len(expected) and all(
        a == b or -1 in (a, b) for a, b in zip(found, expected, strict=True)
    )


def expect_shape(op: Operation, expected: Sequence[int], result: int = 0) -> None:
    """Raises VerifyException where a result cannot have a shape."""
    found = shape_of(op.results[result])
    if not fits(found, expected):
        raise VerifyException(
            f"{op.name}: the result must have the shape {list(expected)}, not "
            f"{list(found)}"
        )


def expect_element(op: Operation, value: SSAValue, expected: Attribute) -> None:
    """Raises VerifyException where a tensor has another element type."""
    found = element_of(value)
    if found != expected:
        raise VerifyException(f"{op.name}: elements must be {expected}, not {found}")


def expect_dims(op: Operation, what: str, dims: Sequence[int], rank: int) -> None:
    """Raises VerifyException for dimensions that are out of range or occur twice."""
    if len(set(dims)) != len(dims) or any(not 0 <= dim < rank for dim in dims):
        raise VerifyException(
            f"{op.name}: {what} must be different dimensions from 0 to {rank - 1}, not "
            f"{list(dims)}"
        )


def expect_length(op: Operation, what: str, values: Sequence[object], count: int) -> None:
    """Raises VerifyException for a list of another length."""
    if len(values) != count:
        raise VerifyException(
            f"{op.name}: {what} must have {count} elements, not {len(values)}"
        )


def expect_scalar(op: Operation, value: SSAValue) -> None:
    """Raises VerifyException for a tensor that is no scalar."""
    if shape_of(value):
        raise VerifyException(
            f"{op.name}: an operand must be a tensor of rank 0, not {value.type}"
        )


def expect_body(op: Operation, region: int, elements: Sequence[Attribute]) -> None:
    """Raises VerifyException for a region whose parameters are not those scalars."""
    block = op.regions[region].blocks.first
    found = [] if block is None else [arg.type for arg in block.args]
    expected = [TensorType(each, []) for each in elements]
    if found != expected:
        shown = ", ".join(map(str, expected))
        raise VerifyException(f"{op.name}: the parameters of its body must be {shown}")


def parse_typed(
    kind: type[Any],
    parser: Parser,
    operands: Sequence[UnresolvedOperand],
    attributes: dict[str, Attribute],
    **properties: Attribute | None,
) -> Any:
    """The rest of an operation, ` : (tensor<2xf32>) -> tensor<2xf32>`."""
    parser.parse_punctuation(":")
    start = parser.pos
    type_ = parser.parse_type()
    if not isinstance(type_, FunctionType) or len(type_.inputs) != len(operands):
        parser.raise_error(
            f"{kind.name}: a function type with {len(operands)} inputs expected", start
        )
    values = parser.resolve_operands(operands, type_.inputs.data, start)
    return from_attributes(kind, values, type_.outputs.data, attributes, **properties)

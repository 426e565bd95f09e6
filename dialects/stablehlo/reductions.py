"""Reductions of `stablehlo`: over dimensions, over windows, and sorting."""

from __future__ import annotations

from typing import Self

from xdsl.dialects.builtin import (
    BoolAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FunctionType,
    IntegerAttr,
    TensorType,
    i64,
)
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    SameVariadicOperandSize,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.stablehlo import elementwise
from xdsl_tvm.dialects.stablehlo.assembly import (
    element_of,
    expect_body,
    expect_dims,
    expect_element,
    expect_length,
    expect_scalar,
    expect_shape,
    fits,
    ints_of,
    print_attributes,
    print_function_type,
    shape_of,
)
from xdsl_tvm.dialects.stablehlo.contraction import paddings_of
from xdsl_tvm.dialects.stablehlo.control import ReturnOp

_COMBINERS: dict[str, type[elementwise.BinaryOp]] = {
    kind.name: kind
    for kind in vars(elementwise).values()
    if isinstance(kind, type)
    and issubclass(kind, elementwise.BinaryOp)
    and "name" in vars(kind)
}


def combiner(body: Region) -> type[elementwise.BinaryOp] | None:
    """The binary operation that a body is, of its first and second parameter."""
    block = body.blocks.first
    if block is None or len(block.args) != 2 or len(ops := list(block.ops)) != 2:
        return None
    op, end = ops
    kind = _COMBINERS.get(op.name)
    if kind is None or not isinstance(op, kind) or op.attributes:
        return None
    if tuple(op.operands) != tuple(block.args) or op.properties:
        return None
    return kind if tuple(end.operands) == (op.result,) else None


def _verify_inits(op: ReduceOp | ReduceWindowOp) -> None:
    if not op.inputs:
        raise VerifyException(f"{op.name}: it needs a tensor")
    expect_length(op, "the results", op.results, len(op.inputs))
    shape = shape_of(op.inputs[0])
    for value, init in zip(op.inputs, op.init_values, strict=True):
        expect_scalar(op, init)
        if shape_of(value) != shape:
            raise VerifyException(f"{op.name}: its tensors must have one shape")
    elements = [element_of(init) for init in op.init_values]
    expect_body(op, 0, [*elements, *elements])


@irdl_op_definition
class ReduceOp(IRDLOperation):
    """The elements along dimensions made one by a body, beginning with a scalar.

    `stablehlo.reduce(%x init: %i) applies stablehlo.add across dimensions = [1] : …`
    """

    name = "stablehlo.reduce"

    inputs = var_operand_def(TensorType)
    init_values = var_operand_def(TensorType)
    res = var_result_def(TensorType)
    dimensions = prop_def(DenseArrayBase)
    body = region_def("single_block")

    irdl_options = (SameVariadicOperandSize(),)
    traits = traits_def(RecursiveMemoryEffect())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        inputs: list[UnresolvedOperand] = []
        inits: list[UnresolvedOperand] = []

        def pair() -> None:
            parser.parse_punctuation("(")
            inputs.append(parser.parse_unresolved_operand())
            parser.parse_keyword("init")
            parser.parse_punctuation(":")
            inits.append(parser.parse_unresolved_operand())
            parser.parse_punctuation(")")

        pair()
        while parser.parse_optional_punctuation(","):
            pair()
        kind: type[elementwise.BinaryOp] | None = None
        if parser.parse_optional_keyword("applies"):
            start = parser.pos
            word = parser.parse_identifier()
            if word not in _COMBINERS:
                parser.raise_error(f"{cls.name}: '{word}' is no binary operation", start)
            kind = _COMBINERS[word]
        parser.parse_keyword("across")
        parser.parse_keyword("dimensions")
        parser.parse_punctuation("=")
        dims = parser.parse_comma_separated_list(
            parser.Delimiter.SQUARE, parser.parse_integer
        )
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        start = parser.pos
        type_ = parser.parse_type()
        count = len(inputs)
        if not isinstance(type_, FunctionType) or len(type_.inputs) != 2 * count:
            parser.raise_error(
                f"{cls.name}: {2 * count} types of operands expected", start
            )
        values = parser.resolve_operands([*inputs, *inits], type_.inputs.data, start)
        body = (
            _parse_reducer(parser, count) if kind is None else _body_of(kind, values[-1])
        )
        return cls.create(
            operands=values,
            result_types=type_.outputs.data,
            properties={"dimensions": DenseArrayBase.from_list(i64, dims)},
            attributes=attributes,
            regions=[body],
        )

    def print(self, printer: Printer) -> None:
        pairs = list(zip(self.inputs, self.init_values, strict=True))

        def pair(each: tuple[SSAValue, SSAValue]) -> None:
            with printer.in_parens():
                printer.print_ssa_value(each[0])
                printer.print_string(" init: ")
                printer.print_ssa_value(each[1])

        printer.print_list(pairs, pair)
        kind = combiner(self.body) if len(pairs) == 1 else None
        if kind is not None:
            printer.print_string(f" applies {kind.name}")
        dims = list(ints_of(self.dimensions))
        printer.print_string(f" across dimensions = {dims}")
        print_attributes(printer, self, ("dimensions",))
        printer.print_string(" : ")
        print_function_type(printer, self)
        if kind is None:
            printer.print_string(" reducer")
            args = self.body.block.args
            count = len(pairs)
            for left, right in zip(args[:count], args[count:], strict=True):
                with printer.in_parens():
                    printer.print_block_argument(left)
                    printer.print_string(", ")
                    printer.print_block_argument(right)
                printer.print_string(" ")
            printer.print_region(self.body, print_entry_block_args=False)

    def verify_(self) -> None:
        _verify_inits(self)
        shape, dims = shape_of(self.inputs[0]), ints_of(self.dimensions)
        expect_dims(self, "dimensions", dims, len(shape))
        left = [extent for dim, extent in enumerate(shape) if dim not in dims]
        for index in range(len(self.results)):
            expect_shape(self, left, index)


def _parse_reducer(parser: Parser, count: int) -> Region:
    """`reducer(%a: tensor<f32>, %b: tensor<f32>) (%i: …, %j: …) { … }`."""
    parser.parse_keyword("reducer")
    first: list[Parser.Argument] = []
    second: list[Parser.Argument] = []
    for _ in range(count):
        parser.parse_punctuation("(")
        first.append(parser.parse_argument())
        parser.parse_punctuation(",")
        second.append(parser.parse_argument())
        parser.parse_punctuation(")")
    return parser.parse_region([*first, *second])


def _body_of(kind: type[elementwise.BinaryOp], init: SSAValue) -> Region:
    """A body that is one binary operation on scalars of the type of `init`."""
    block = Block(arg_types=[init.type, init.type])
    op = kind.create(operands=block.args, result_types=[init.type])
    block.add_ops([op, ReturnOp.create(operands=[op.results[0]])])
    return Region(block)


@irdl_op_definition
class ReduceWindowOp(IRDLOperation):
    """The elements of each window made one by a body, beginning with a scalar.

    The padding has the scalar as its elements.
    """

    name = "stablehlo.reduce_window"

    inputs = var_operand_def(TensorType)
    init_values = var_operand_def(TensorType)
    res = var_result_def(TensorType)
    window_dimensions = prop_def(DenseArrayBase)
    window_strides = opt_prop_def(DenseArrayBase)
    base_dilations = opt_prop_def(DenseArrayBase)
    window_dilations = opt_prop_def(DenseArrayBase)
    padding = opt_prop_def(DenseIntOrFPElementsAttr)
    body = region_def("single_block")

    irdl_options = (SameVariadicOperandSize(),)
    traits = traits_def(RecursiveMemoryEffect())

    @property
    def paddings(self) -> list[tuple[int, int]]:
        """Elements before and after, along each dimension."""
        return paddings_of(self.padding, len(ints_of(self.window_dimensions)), self.name)

    def window(self, name: str) -> tuple[int, ...]:
        """A property of the window, along each dimension."""
        attr = self.properties.get(name)
        count = len(ints_of(self.window_dimensions))
        return (1,) * count if attr is None else ints_of(attr)

    def verify_(self) -> None:
        _verify_inits(self)
        shape = shape_of(self.inputs[0])
        for name in _WINDOW:
            values = self.window(name)
            expect_length(self, name, values, len(shape))
            if any(value < 1 for value in values):
                raise VerifyException(f"{self.name}: {name} must be positive")
        lists = [self.window(name) for name in _WINDOW]
        expected: list[int] = []
        for extent, pair, size, stride, base, dilation in zip(
            shape, self.paddings, *lists, strict=True
        ):
            padded = max((extent - 1) * base + 1, 0) + sum(pair)
            reach = (size - 1) * dilation + 1
            known = max((padded - reach) // stride + 1, 0)
            expected.append(-1 if extent < 0 else known)
        for index in range(len(self.results)):
            expect_shape(self, expected, index)


_WINDOW = ("window_dimensions", "window_strides", "base_dilations", "window_dilations")


@irdl_op_definition
class SelectAndScatterOp(IRDLOperation):
    """Elements of `source` added where a window of the operand has its selected one."""

    name = "stablehlo.select_and_scatter"

    operand = operand_def(TensorType)
    source = operand_def(TensorType)
    init_value = operand_def(TensorType)
    result = result_def(TensorType)
    window_dimensions = opt_prop_def(DenseArrayBase)
    window_strides = opt_prop_def(DenseArrayBase)
    padding = opt_prop_def(DenseIntOrFPElementsAttr)
    select = region_def("single_block")
    scatter = region_def("single_block")

    traits = traits_def(RecursiveMemoryEffect())

    @property
    def paddings(self) -> list[tuple[int, int]]:
        """Elements before and after, along each dimension."""
        return paddings_of(self.padding, len(shape_of(self.operand)), self.name)

    def window(self, name: str) -> tuple[int, ...]:
        """A property of the window, along each dimension."""
        attr = self.properties.get(name)
        return (1,) * len(shape_of(self.operand)) if attr is None else ints_of(attr)

    def verify_(self) -> None:
        shape = shape_of(self.operand)
        expected: list[int] = []
        for name in ("window_dimensions", "window_strides"):
            expect_length(self, name, self.window(name), len(shape))
            if any(value < 1 for value in self.window(name)):
                raise VerifyException(f"{self.name}: {name} must be positive")
        lists = [self.window(name) for name in ("window_dimensions", "window_strides")]
        for extent, pair, size, stride in zip(shape, self.paddings, *lists, strict=True):
            known = max((extent + sum(pair) - size) // stride + 1, 0)
            expected.append(-1 if extent < 0 else known)
        if not fits(shape_of(self.source), expected):
            raise VerifyException(
                f"{self.name}: the source must have the shape {expected}, not "
                f"{list(shape_of(self.source))}"
            )
        expect_scalar(self, self.init_value)
        expect_shape(self, shape)
        element = element_of(self.operand)
        for value in (self.source, self.init_value, self.result):
            expect_element(self, value, element)
        for index in range(2):
            expect_body(self, index, [element, element])


@irdl_op_definition
class SortOp(IRDLOperation):
    """Tensors in the order, along a dimension, that a comparison of elements tells."""

    name = "stablehlo.sort"

    inputs = var_operand_def(TensorType)
    res = var_result_def(TensorType)
    dimension = opt_prop_def(IntegerAttr)
    is_stable = opt_prop_def(BoolAttr)
    comparator = region_def("single_block")

    traits = traits_def(RecursiveMemoryEffect())

    @property
    def axis(self) -> int:
        """The dimension, the last one by default, from 0 up."""
        dim = -1 if self.dimension is None else self.dimension.value.data
        return dim + len(shape_of(self.inputs[0])) if dim < 0 else dim

    def verify_(self) -> None:
        if not self.inputs:
            raise VerifyException(f"{self.name}: it needs a tensor")
        expect_length(self, "the results", self.results, len(self.inputs))
        shape = shape_of(self.inputs[0])
        expect_dims(self, "dimension", [self.axis], len(shape))
        elements: list[Attribute] = []
        for index, value in enumerate(self.inputs):
            if shape_of(value) != shape or self.results[index].type != value.type:
                raise VerifyException(f"{self.name}: its tensors must have one shape")
            elements += [element_of(value)] * 2
        expect_body(self, 0, elements)

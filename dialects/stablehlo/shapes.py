"""Operations of `stablehlo` that move elements."""

from __future__ import annotations

import math
from typing import ClassVar, Self

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, TensorType, i64
from xdsl.irdl import (
    BaseAttr,
    IRDLOperation,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.stablehlo.assembly import (
    I64Array,
    ValuesThenOp,
    element_of,
    expect_dims,
    expect_element,
    expect_length,
    expect_scalar,
    expect_shape,
    fits,
    ints_of,
    parse_typed,
    print_attributes,
    print_function_type,
    shape_of,
)


@irdl_op_definition
class BroadcastInDimOp(IRDLOperation):
    """The elements repeated: dimension i of the operand is `dims[i]` of the result."""

    name = "stablehlo.broadcast_in_dim"

    operand = operand_def(TensorType)
    result = result_def(TensorType)
    broadcast_dimensions = prop_def(DenseArrayBase)

    traits = traits_def(Pure())

    custom_directives = (I64Array,)
    assembly_format = (
        "$operand `,` `dims` `=` custom<I64Array>($broadcast_dimensions) attr-dict `:`"
        " functional-type(operands, results)"
    )

    def verify_(self) -> None:
        shape, wide = shape_of(self.operand), shape_of(self.result)
        dims = ints_of(self.broadcast_dimensions)
        expect_length(self, "dims", dims, len(shape))
        expect_dims(self, "dims", dims, len(wide))
        expect_element(self, self.result, element_of(self.operand))
        for extent, dim in zip(shape, dims, strict=True):
            if extent != 1 and not fits([extent], [wide[dim]]):
                raise VerifyException(
                    f"{self.name}: an extent of {extent} cannot become {wide[dim]}"
                )


@irdl_op_definition
class ReshapeOp(IRDLOperation):
    """The elements in another shape, in the same order."""

    name = "stablehlo.reshape"

    operand = operand_def(TensorType)
    result = result_def(TensorType)

    traits = traits_def(Pure())

    assembly_format = "$operand attr-dict `:` functional-type(operands, results)"

    def verify_(self) -> None:
        expect_element(self, self.result, element_of(self.operand))
        before, after = shape_of(self.operand), shape_of(self.result)
        if -1 not in (*before, *after) and math.prod(before) != math.prod(after):
            raise VerifyException(
                f"{self.name}: {math.prod(before)} elements cannot become "
                f"{math.prod(after)}"
            )


@irdl_op_definition
class TransposeOp(IRDLOperation):
    """The tensor with its dimensions in another order."""

    name = "stablehlo.transpose"

    operand = operand_def(TensorType)
    result = result_def(TensorType)
    permutation = prop_def(DenseArrayBase)

    traits = traits_def(Pure())

    custom_directives = (I64Array,)
    assembly_format = (
        "$operand `,` `dims` `=` custom<I64Array>($permutation) attr-dict `:`"
        " functional-type(operands, results)"
    )

    def verify_(self) -> None:
        shape, dims = shape_of(self.operand), ints_of(self.permutation)
        expect_length(self, "dims", dims, len(shape))
        expect_dims(self, "dims", dims, len(shape))
        expect_shape(self, [shape[dim] for dim in dims])
        expect_element(self, self.result, element_of(self.operand))


@irdl_op_definition
class ReverseOp(IRDLOperation):
    """The tensor with the order of elements turned around along dimensions."""

    name = "stablehlo.reverse"

    T: ClassVar = VarConstraint("T", BaseAttr(TensorType))

    operand = operand_def(T)
    result = result_def(T)
    dimensions = prop_def(DenseArrayBase)

    traits = traits_def(Pure())

    custom_directives = (I64Array,)
    assembly_format = (
        "$operand `,` `dims` `=` custom<I64Array>($dimensions) attr-dict `:`"
        " type($result)"
    )

    def verify_(self) -> None:
        expect_dims(self, "dims", ints_of(self.dimensions), len(shape_of(self.operand)))


@irdl_op_definition
class SliceOp(IRDLOperation):
    """Every `stride`-th element from `start` to before `limit`, along each dimension."""

    name = "stablehlo.slice"

    operand = operand_def(TensorType)
    result = result_def(TensorType)
    start_indices = prop_def(DenseArrayBase)
    limit_indices = prop_def(DenseArrayBase)
    strides = prop_def(DenseArrayBase)

    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        operand = parser.parse_unresolved_operand()

        def one() -> tuple[int, int, int]:
            start = parser.parse_integer()
            parser.parse_punctuation(":")
            limit = parser.parse_integer()
            has_stride = parser.parse_optional_punctuation(":") is not None
            return start, limit, parser.parse_integer() if has_stride else 1

        found = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, one)
        attributes = parser.parse_optional_attr_dict()
        starts, limits, strides = (
            DenseArrayBase.from_list(i64, [each[index] for each in found])
            for index in range(3)
        )
        return parse_typed(
            cls,
            parser,
            [operand],
            attributes,
            start_indices=starts,
            limit_indices=limits,
            strides=strides,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.operand)
        parts = [
            f"{start}:{limit}" + (f":{stride}" if stride != 1 else "")
            for start, limit, stride in self.bounds
        ]
        printer.print_string(f" [{', '.join(parts)}]")
        names = ("start_indices", "limit_indices", "strides")
        print_attributes(printer, self, names)
        printer.print_string(" : ")
        print_function_type(printer, self)

    @property
    def bounds(self) -> list[tuple[int, int, int]]:
        """Start, limit and stride along each dimension."""
        attrs = (self.start_indices, self.limit_indices, self.strides)
        starts, limits, strides = (ints_of(attr) for attr in attrs)
        return list(zip(starts, limits, strides, strict=True))

    def verify_(self) -> None:
        shape = shape_of(self.operand)
        for attr in (self.start_indices, self.limit_indices, self.strides):
            expect_length(self, "start, limit and stride", ints_of(attr), len(shape))
        expected: list[int] = []
        for extent, (start, limit, stride) in zip(shape, self.bounds, strict=True):
            if stride < 1 or not 0 <= start <= limit or -1 < extent < limit:
                raise VerifyException(
                    f"{self.name}: {start}:{limit}:{stride} is no slice of {extent} "
                    "elements"
                )
            expected.append(-(-(limit - start) // stride))
        expect_shape(self, expected)
        expect_element(self, self.result, element_of(self.operand))


def _verify_starts(op: DynamicSliceOp | DynamicUpdateSliceOp) -> None:
    expect_length(op, "the indices", op.start_indices, len(shape_of(op.operand)))
    for value in op.start_indices:
        expect_scalar(op, value)


@irdl_op_definition
class DynamicSliceOp(ValuesThenOp):
    """A slice of fixed sizes; its start is moved so far that it is within the tensor."""

    name = "stablehlo.dynamic_slice"

    operand = operand_def(TensorType)
    start_indices = var_operand_def(TensorType)
    result = result_def(TensorType)
    slice_sizes = prop_def(DenseArrayBase)

    traits = traits_def(Pure())

    WORD: ClassVar[str] = "sizes"
    PROPERTY: ClassVar[str] = "slice_sizes"

    def verify_(self) -> None:
        _verify_starts(self)
        sizes, shape = ints_of(self.slice_sizes), shape_of(self.operand)
        expect_length(self, "sizes", sizes, len(shape))
        for size, extent in zip(sizes, shape, strict=True):
            if size < 0 or -1 < extent < size:
                raise VerifyException(
                    f"{self.name}: {size} elements cannot be taken of {extent}"
                )
        expect_shape(self, sizes)
        expect_element(self, self.result, element_of(self.operand))


@irdl_op_definition
class DynamicUpdateSliceOp(IRDLOperation):
    """The tensor with a slice replaced; its start is moved as in a dynamic slice."""

    name = "stablehlo.dynamic_update_slice"

    operand = operand_def(TensorType)
    update = operand_def(TensorType)
    start_indices = var_operand_def(TensorType)
    result = result_def(TensorType)

    traits = traits_def(Pure())

    assembly_format = (
        "$operand `,` $update `,` $start_indices attr-dict `:`"
        " functional-type(operands, results)"
    )

    def verify_(self) -> None:
        _verify_starts(self)
        shape, sizes = shape_of(self.operand), shape_of(self.update)
        expect_length(self, "the shape of the update", sizes, len(shape))
        for size, extent in zip(sizes, shape, strict=True):
            if -1 < extent < size:
                raise VerifyException(
                    f"{self.name}: {size} elements cannot replace {extent}"
                )
        expect_shape(self, shape)
        for value in (self.update, self.result):
            expect_element(self, value, element_of(self.operand))


@irdl_op_definition
class PadOp(IRDLOperation):
    """The tensor with a scalar before, after and between its elements.

    A negative number of elements before or after cuts that many off.
    """

    name = "stablehlo.pad"

    operand = operand_def(TensorType)
    padding_value = operand_def(TensorType)
    result = result_def(TensorType)
    edge_padding_low = prop_def(DenseArrayBase)
    edge_padding_high = prop_def(DenseArrayBase)
    interior_padding = prop_def(DenseArrayBase)

    traits = traits_def(Pure())

    custom_directives = (I64Array,)
    assembly_format = (
        "$operand `,` $padding_value `,` `low` `=` custom<I64Array>($edge_padding_low)"
        " `,` `high` `=` custom<I64Array>($edge_padding_high)"
        " `,` `interior` `=` custom<I64Array>($interior_padding)"
        " attr-dict `:` functional-type(operands, results)"
    )

    def verify_(self) -> None:
        expect_scalar(self, self.padding_value)
        shape = shape_of(self.operand)
        attrs = (self.edge_padding_low, self.edge_padding_high, self.interior_padding)
        lists = [ints_of(attr) for attr in attrs]
        for each in lists:
            expect_length(self, "low, high and interior", each, len(shape))
        if any(each < 0 for each in lists[2]):
            raise VerifyException(f"{self.name}: interior must not be negative")
        expected: list[int] = []
        for extent, low, high, inner in zip(shape, *lists, strict=True):
            if extent < 0:
                expected.append(-1)
                continue
            found = extent + max(extent - 1, 0) * inner + low + high
            if found < 0:
                raise VerifyException(f"{self.name}: more is cut off than there is")
            expected.append(found)
        expect_shape(self, expected)
        for value in (self.padding_value, self.result):
            expect_element(self, value, element_of(self.operand))


@irdl_op_definition
class ConcatenateOp(ValuesThenOp):
    """Tensors after each other along a dimension."""

    name = "stablehlo.concatenate"

    inputs = var_operand_def(TensorType)
    result = result_def(TensorType)
    dimension = prop_def(IntegerAttr)

    traits = traits_def(Pure())

    WORD: ClassVar[str] = "dim"
    PROPERTY: ClassVar[str] = "dimension"
    IS_NUMBER: ClassVar[bool] = True

    def verify_(self) -> None:
        if not self.inputs:
            raise VerifyException(f"{self.name}: it needs a tensor")
        shapes, dim = [shape_of(each) for each in self.inputs], self.dimension.value.data
        expect_dims(self, "dim", [dim], len(shapes[0]))
        expected = list(shapes[0])
        for shape in shapes[1:]:
            if len(shape) != len(expected) or not fits(
                [*shape[:dim], *shape[dim + 1 :]],
                [*expected[:dim], *expected[dim + 1 :]],
            ):
                raise VerifyException(
                    f"{self.name}: {list(shape)} does not fit {list(shapes[0])} along "
                    f"dim {dim}"
                )
            expected[dim] = (
                -1 if -1 in (expected[dim], shape[dim]) else (expected[dim] + shape[dim])
            )
        expect_shape(self, expected)
        for value in self.inputs:
            expect_element(self, value, element_of(self.result))

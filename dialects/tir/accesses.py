"""Accesses of buffers: loads, stores and addresses of elements.

docs/spec/tir-ir.md §7.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, Pure
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.quick_operation import initialize, segments, value_of
from xdsl_tvm.dialects.tir import assembly
from xdsl_tvm.dialects.tir.buffers import buffer_definition
from xdsl_tvm.dialects.tir.types import (
    BufferType,
    PtrType,
    element_of,
    is_handle,
    is_integer,
    is_scalable,
    is_scalar,
    lanes_of,
    like_lanes,
    with_lanes,
)


@irdl_op_definition
class DataOp(IRDLOperation):
    """The data pointer of a buffer, `Buffer.data`.

    It has element type and scope of the buffer, and does not include the offset.

    ```mlir
    // @f([1, 2, 3, 4]) = 3
    tir.func @f(%a: !tir.handle) -> i32 {
      %A = tir.match_buffer %a : !tir.buffer<4xi32>
      %p = tir.data %A : !tir.ptr<i32>
      %M = tir.decl_buffer %p : !tir.buffer<2x2xi32>
      %c0 = tir.const 0 : i32
      %c1 = tir.const 1 : i32
      %x = tir.load %M[%c1, %c0] : i32
      tir.ret %x : i32
    }
    ```
    """

    name = "tir.data"

    buffer = operand_def(BufferType)
    result = result_def(PtrType)

    traits = traits_def(Pure())

    def __init__(self, buffer: SSAValue | Operation) -> None:
        buffer = value_of(buffer)
        assert isinstance(buffer.type, BufferType)
        super().__init__(operands=[buffer], result_types=[buffer.type.pointer_type])

    @classmethod
    def parse(cls, parser: Parser) -> DataOp:
        buffer = parse_buffer(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        op = cls.create(
            operands=[buffer], result_types=[parser.parse_type()], attributes=attributes
        )
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.buffer)
        assembly.print_attributes(printer, self)
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)

    def verify_(self) -> None:
        expected = cast(BufferType, self.buffer.type).pointer_type
        if self.result.type != expected:
            raise VerifyException(
                f"tir.data: the result must be {expected}, got {self.result.type}"
            )


def parse_buffer(parser: Parser) -> SSAValue:
    """A value of buffer type that is defined above."""
    position = parser.pos
    buffer = assembly.parse_value(parser)
    if not isinstance(buffer.type, BufferType):
        parser.raise_error(f"expected a !tir.buffer, got {buffer.type}", position)
    return buffer


def accessed_type(
    op: Operation, buffer: BufferType, indices: Sequence[SSAValue]
) -> Attribute:
    """The dtype of `buffer[indices]`, element lanes times index lanes.

    docs/spec/tir-ir.md §3.5.

    Raises VerifyException when the indices do not fit the buffer.
    """
    if len(indices) != buffer.get_num_dims():
        raise VerifyException(
            f"{op.name}: {buffer} has rank {buffer.get_num_dims()}, but {len(indices)} "
            "indices are given"
        )
    for position, index in enumerate(indices):
        if not is_integer(index.type):
            raise VerifyException(
                f"{op.name}: index {position} must be an integer, got {index.type}"
            )
        if position < len(indices) - 1 and not is_scalar(index.type):
            raise VerifyException(
                f"{op.name}: only the last index may be a vector, index {position} is "
                f"{index.type}"
            )
    element = buffer.element_type
    if not indices or is_handle(element):
        return element
    last = indices[-1].type
    if is_scalable(last) and is_scalable(element):
        raise VerifyException(
            f"{op.name}: index and element must not both be scalable vectors"
        )
    return with_lanes(
        element_of(element),
        lanes_of(element) * lanes_of(last),
        scalable=is_scalable(last) or is_scalable(element),
    )


def _verify_access(
    op: Operation,
    buffer: SSAValue,
    indices: Sequence[SSAValue],
    dtype: Attribute,
    predicate: SSAValue | None,
) -> None:
    buffer_definition(buffer)
    expected = accessed_type(op, cast(BufferType, buffer.type), indices)
    if dtype != expected:
        raise VerifyException(
            f"{op.name}: {buffer.type} at these indices has type {expected}, not {dtype}"
        )
    if predicate is not None and predicate.type != like_lanes(i1, expected):
        raise VerifyException(
            f"{op.name}: the predicate must be {like_lanes(i1, expected)}, got "
            f"{predicate.type}"
        )


@irdl_op_definition
class LoadOp(IRDLOperation):
    """An element, or a vector of elements, of a buffer, `BufferLoad`.

    A load reads memory where it is. There is an integer index for each dimension.
    They count elements and must be in bounds; the last may be a vector, which multiplies
    the lanes of the result. With a predicate, an `i1` of as many lanes as the result,
    only the lanes for which it holds are read, and the others are unspecified.

    ```mlir
    // @f([[1, 2], [3, 4]], [true, false]) = [3, _]
    tir.func @f(%a: !tir.handle, %p: vector<2xi1>) -> vector<2xi32> {
      %A = tir.match_buffer %a : !tir.buffer<2x2xi32>
      %c0 = tir.const 0 : i32
      %c1 = tir.const 1 : i32
      %v = tir.ramp %c0, %c1 : vector<2xi32>
      %x = tir.load %A[%c1, %v] if %p : vector<2xi32>
      tir.ret %x : vector<2xi32>
    }
    ```
    """

    name = "tir.load"

    buffer = operand_def(BufferType)
    indices = var_operand_def()
    predicate = opt_operand_def()
    result = result_def()

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(MemoryReadEffect())

    def __init__(
        self,
        buffer: SSAValue | Operation,
        indices: Sequence[SSAValue | Operation],
        predicate: SSAValue | Operation | None = None,
        result_type: Attribute | None = None,
    ) -> None:
        buffer = value_of(buffer)
        values = [value_of(index) for index in indices]
        if result_type is None:
            assert isinstance(buffer.type, BufferType)
            result_type = accessed_type(self, buffer.type, values)
        # Accesses are frequent: they are made without the search for groups of operands.
        mask = () if predicate is None else (value_of(predicate),)
        initialize(
            self,
            operands=[buffer, *values, *mask],
            result_types=[result_type],
            properties={"operandSegmentSizes": segments(1, len(values), len(mask))},
        )

    @classmethod
    def parse(cls, parser: Parser) -> LoadOp:
        buffer = parse_buffer(parser)
        indices = assembly.parse_operands(parser)
        predicate = assembly.parse_optional_predicate(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        op = cls(buffer, indices, predicate, parser.parse_type())
        op.attributes.update(attributes)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        print_access(printer, self.buffer, self.indices, self.predicate)
        assembly.print_attributes(printer, self)
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)

    def verify_(self) -> None:
        _verify_access(self, self.buffer, self.indices, self.result.type, self.predicate)


def print_access(
    printer: Printer,
    buffer: SSAValue,
    indices: Sequence[SSAValue],
    predicate: SSAValue | None = None,
) -> None:
    """Print `%A[%i, %j] if %p`."""
    printer.print_operand(buffer)
    assembly.print_operands(printer, indices)
    assembly.print_optional_predicate(printer, predicate)


@irdl_op_definition
class StoreOp(IRDLOperation):
    """Writes an element, or a vector of elements, of a buffer, `BufferStore`.

    The rules of `tir.load` hold; lanes for which the predicate does not hold are left as
    they are. The value is never converted.

    ```mlir
    // @f([[1, 2], [3, 4]], 9) -> [[1, 2], [9, 4]]
    tir.func @f(%a: !tir.handle, %x: i32) {
      %A = tir.match_buffer %a : !tir.buffer<2x2xi32>
      %c0 = tir.const 0 : i32
      %c1 = tir.const 1 : i32
      tir.store %x, %A[%c1, %c0] : i32
    }
    ```
    """

    name = "tir.store"

    value = operand_def()
    buffer = operand_def(BufferType)
    indices = var_operand_def()
    predicate = opt_operand_def()

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(MemoryWriteEffect())

    def __init__(
        self,
        value: SSAValue | Operation,
        buffer: SSAValue | Operation,
        indices: Sequence[SSAValue | Operation],
        predicate: SSAValue | Operation | None = None,
    ) -> None:
        # As in `tir.load`.
        mask = () if predicate is None else (value_of(predicate),)
        values = [value_of(each) for each in (value, buffer, *indices)]
        initialize(
            self,
            operands=[*values, *mask],
            properties={
                "operandSegmentSizes": segments(1, 1, len(values) - 2, len(mask))
            },
        )

    @classmethod
    def parse(cls, parser: Parser) -> StoreOp:
        value = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        buffer = parse_buffer(parser)
        indices = assembly.parse_operands(parser)
        predicate = assembly.parse_optional_predicate(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        op = cls(
            parser.resolve_operand(value, parser.parse_type()),
            buffer,
            indices,
            predicate,
        )
        op.attributes.update(attributes)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.value)
        printer.print_string(", ")
        print_access(printer, self.buffer, self.indices, self.predicate)
        assembly.print_attributes(printer, self)
        printer.print_string(" : ")
        printer.print_attribute(self.value.type)

    def verify_(self) -> None:
        _verify_access(self, self.buffer, self.indices, self.value.type, self.predicate)


@irdl_op_definition
class AddressOfOp(IRDLOperation):
    """The address of an element, the call `address_of`; nothing is read.

    The indices are those of a `tir.load`.

    ```mlir
    // @f([1, 2, 3, 4]) = 3
    tir.func @f(%a: !tir.handle) -> i32 {
      %A = tir.match_buffer %a : !tir.buffer<4xi32>
      %c0 = tir.const 0 : i32
      %c2 = tir.const 2 : i32
      %p = tir.address_of %A[%c2] : !tir.ptr<i32>
      %T = tir.decl_buffer %p : !tir.buffer<2xi32>
      %x = tir.load %T[%c0] : i32
      tir.ret %x : i32
    }
    ```
    """

    name = "tir.address_of"

    buffer = operand_def(BufferType)
    indices = var_operand_def()
    result = result_def(PtrType)

    traits = traits_def(Pure())

    def __init__(
        self,
        buffer: SSAValue | Operation,
        indices: Sequence[SSAValue | Operation],
    ) -> None:
        buffer = value_of(buffer)
        assert isinstance(buffer.type, BufferType)
        super().__init__(
            operands=[buffer, indices], result_types=[buffer.type.pointer_type]
        )

    @classmethod
    def parse(cls, parser: Parser) -> AddressOfOp:
        buffer = parse_buffer(parser)
        indices = assembly.parse_operands(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        return cls.create(
            operands=[buffer, *indices],
            result_types=[parser.parse_type()],
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        print_access(printer, self.buffer, self.indices)
        assembly.print_attributes(printer, self)
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)

    def verify_(self) -> None:
        buffer_definition(self.buffer)
        buffer = cast(BufferType, self.buffer.type)
        accessed_type(self, buffer, self.indices)
        if self.result.type != buffer.pointer_type:
            raise VerifyException(
                f"tir.address_of: the result must be {buffer.pointer_type}, got "
                f"{self.result.type}"
            )

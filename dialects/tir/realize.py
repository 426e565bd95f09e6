"""What is left of tensor expressions: realized buffers and prefetches.

docs/spec/tir-ir.md §6.14.

They are read, verified, compared and printed; no pass of v0.20 lowers them. The nodes
`ProducerLoad`, `ProducerStore`, `ProducerRealize` and `Reduce` cannot be in a function
that passes take, and have no ops.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack, cast

from xdsl.dialects.builtin import DenseArrayBase, DictionaryAttr, IntegerType, i1, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer

from xdsl_tvm.dialects.tir import assembly
from xdsl_tvm.dialects.tir._ranges import (
    Region,
    join_region,
    parse_region_dims,
    print_region,
    verify_region,
)
from xdsl_tvm.dialects.tir.accesses import parse_buffer
from xdsl_tvm.dialects.tir.annotations import REALIZE_ANNOTATIONS, verify_dictionary
from xdsl_tvm.dialects.tir.buffers import (
    BufferDefinition,
    BufferLayout,
    buffer_definition,
)
from xdsl_tvm.dialects.tir.effects import MarkerEffect
from xdsl_tvm.dialects.tir.types import BufferType


@irdl_op_definition
class BufferRealizeOp(BufferDefinition):
    """A buffer that exists over some bounds for the rest of its block, `BufferRealize`.

    Accesses must be in the bounds, one half-open range per dimension, printed as in
    `tir.match_region`. It exists only if the condition holds. The scope is that of the
    type. Annotations hold TVM's attributes around the node, such as
    `rolling_buffer_scope`. A legacy of tensor expressions: no pass creates it, and the
    interpreter does not run it.

    ```mlir
    // @f(3) is not run: a realized buffer is a legacy of tensor expressions
    tir.func @f(%x: i32) -> i32 {
      %c4 = tir.const 4 : i32
      %R = tir.buffer_realize "R" bounds [%c4 to %c4 + 2] : !tir.buffer<8xi32, "local">
      tir.store %x, %R[%c4] : i32
      %y = tir.load %R[%c4] : i32
      tir.ret %y : i32
    }
    ```
    """

    name = "tir.buffer_realize"

    bound_mins = var_operand_def(IntegerType)
    bound_extents = var_operand_def(IntegerType)
    condition = opt_operand_def(i1)
    static_extents = prop_def(DenseArrayBase.constr(i64))
    annotations = opt_prop_def(DictionaryAttr)

    traits = traits_def(MarkerEffect())

    def __init__(
        self,
        bounds: Region,
        buffer_type: BufferType,
        extents: Sequence[SSAValue | Operation] = (),
        *,
        condition: SSAValue | Operation | None = None,
        annotations: DictionaryAttr | None = None,
        **layout: Unpack[BufferLayout],
    ) -> None:
        static, dynamic = assembly.split_mixed([extent for _, extent in bounds])
        super().__init__(
            operands=[
                [low for low, _ in bounds],
                dynamic,
                condition,
                *self.layout_operands(extents, layout),
            ],
            properties=self.layout_properties(layout)
            | {"static_extents": static, "annotations": annotations},
            result_types=[buffer_type],
        )

    @property
    def bounds(self) -> Region:
        """Minimum and extent of each dimension."""
        return join_region(self.bound_mins, self.static_extents, self.bound_extents)

    @classmethod
    def parse_source(cls, parser: Parser) -> tuple[list[Any], dict[str, Attribute]]:
        parser.parse_keyword("bounds")
        minima, extents = parse_region_dims(parser)
        static, dynamic = assembly.split_mixed(extents)
        condition = assembly.parse_optional_predicate(parser)
        properties: dict[str, Attribute] = {"static_extents": static}
        annotations = assembly.parse_optional_dictionary(parser, "annotations")
        if annotations is not None:
            properties["annotations"] = annotations
        return [minima, dynamic, condition], properties

    def print_source(self, printer: Printer) -> None:
        printer.print_string(" bounds ")
        print_region(printer, self.bounds)
        assembly.print_optional_predicate(printer, self.condition)
        assembly.print_optional_dictionary(printer, "annotations", self.annotations)

    def hidden_properties(self) -> tuple[str, ...]:
        return (*super().hidden_properties(), "static_extents", "annotations")

    def verify_(self) -> None:
        super().verify_()
        verify_region(
            self, self.type, self.bound_mins, self.static_extents, self.bound_extents
        )
        verify_dictionary(self, REALIZE_ANNOTATIONS, self.annotations)


@irdl_op_definition
class PrefetchOp(IRDLOperation):
    """Asks for a region of a buffer to be brought near, `Prefetch`; a hint only.

    ```mlir
    // @f([1, 2, 3, 4]) -> [1, 2, 3, 4]
    tir.func @f(%a: !tir.handle) {
      %A = tir.match_buffer %a : !tir.buffer<4xi32>
      %c2 = tir.const 2 : i32
      tir.prefetch %A[%c2 to %c2 + 2]
    }
    ```
    """

    name = "tir.prefetch"

    buffer = operand_def(BufferType)
    mins = var_operand_def(IntegerType)
    extents = var_operand_def(IntegerType)
    static_extents = prop_def(DenseArrayBase.constr(i64))

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(MarkerEffect())

    def __init__(self, buffer: SSAValue | Operation, region: Region) -> None:
        static, dynamic = assembly.split_mixed([extent for _, extent in region])
        super().__init__(
            operands=[buffer, [low for low, _ in region], dynamic],
            properties={"static_extents": static},
        )

    @property
    def region(self) -> Region:
        """Minimum and extent of each dimension."""
        return join_region(self.mins, self.static_extents, self.extents)

    @classmethod
    def parse(cls, parser: Parser) -> PrefetchOp:
        buffer = parse_buffer(parser)
        minima, extents = parse_region_dims(parser)
        op = cls(buffer, tuple(zip(minima, extents, strict=True)))
        assembly.parse_attributes_into(parser, op)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.buffer)
        print_region(printer, self.region)
        assembly.print_attributes(printer, self, ("static_extents",))

    def verify_(self) -> None:
        buffer_definition(self.buffer)
        buffer = cast(BufferType, self.buffer.type)
        verify_region(self, buffer, self.mins, self.static_extents, self.extents)

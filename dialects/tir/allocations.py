"""Allocated memory: the ops that produce data pointers (docs/spec/tir-ir.md §7)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    i1,
    i64,
)
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.quick_operation import QuickOperation
from xdsl_tvm.dialects.tir import assembly
from xdsl_tvm.dialects.tir.annotations import ALLOCATE_ANNOTATIONS, verify_dictionary
from xdsl_tvm.dialects.tir.assembly import Mixed
from xdsl_tvm.dialects.tir.effects import MarkerEffect
from xdsl_tvm.dialects.tir.types import (
    PtrType,
)


@irdl_op_definition
class AllocateOp(QuickOperation):
    """Memory for the rest of the enclosing block, `Allocate`.

    It has room for the product of the extents, in elements of the pointer's type, and
    starts undefined; a `tir.decl_buffer` gives it a shape. It is allocated only if the
    condition holds.

    ```mlir
    // @f(3) = 3
    tir.func @f(%x: i32) -> i32 {
      %c1 = tir.const 1 : i32
      %p = tir.allocate [2, 4] : !tir.ptr<i32, "local">
      %D = tir.decl_buffer %p : !tir.buffer<2x4xi32, "local">
      tir.store %x, %D[%c1, %c1] : i32
      %y = tir.load %D[%c1, %c1] : i32
      tir.ret %y : i32
    }
    ```
    """

    name = "tir.allocate"

    extents = var_operand_def(IntegerType)
    condition = opt_operand_def(i1)
    static_extents = prop_def(DenseArrayBase.constr(i64))
    annotations = opt_prop_def(DictionaryAttr)
    var_name = opt_prop_def(StringAttr, prop_name="name")
    result = result_def(PtrType)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(MarkerEffect())

    def __init__(
        self,
        pointer_type: PtrType,
        extents: Sequence[Mixed],
        *,
        condition: SSAValue | Operation | None = None,
        annotations: DictionaryAttr | None = None,
        name: str | StringAttr | None = None,
    ) -> None:
        static, dynamic = assembly.split_mixed(extents)
        super().__init__(
            operands=[dynamic, condition],
            properties={
                "static_extents": static,
                "annotations": annotations,
                "name": StringAttr(name) if isinstance(name, str) else name,
            },
            result_types=[pointer_type],
        )

    @property
    def shape(self) -> tuple[Mixed, ...]:
        """The extents in elements."""
        return assembly.join_mixed(self.static_extents.get_values(), self.extents)

    @classmethod
    def parse(cls, parser: Parser) -> AllocateOp:
        name = assembly.parse_optional_name(parser)
        extents = parser.parse_comma_separated_list(
            parser.Delimiter.SQUARE, lambda: assembly.parse_mixed(parser)
        )
        condition = assembly.parse_optional_predicate(parser)
        annotations = assembly.parse_optional_dictionary(parser, "annotations")
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        op = cls(
            cast(PtrType, parser.parse_type()),
            extents,
            condition=condition,
            annotations=annotations,
            name=name,
        )
        op.attributes.update(attributes)
        return op

    def print(self, printer: Printer) -> None:
        assembly.print_optional_name(printer, self.var_name)
        printer.print_string(" [")
        printer.print_list(self.shape, lambda e: assembly.print_mixed(printer, e))
        printer.print_string("]")
        assembly.print_optional_predicate(printer, self.condition)
        assembly.print_optional_dictionary(printer, "annotations", self.annotations)
        assembly.print_attributes(
            printer, self, ("name", "static_extents", "annotations")
        )
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)

    def verify_(self) -> None:
        static = self.static_extents.get_values()
        if static.count(DYNAMIC_INDEX) != len(self.extents):
            raise VerifyException(
                f"tir.allocate: {static.count(DYNAMIC_INDEX)} extents are dynamic, but "
                f"{len(self.extents)} are given"
            )
        for extent in static:
            if extent < 0 and extent != DYNAMIC_INDEX:
                raise VerifyException(f"tir.allocate: negative extent {extent}")
        verify_dictionary(self, ALLOCATE_ANNOTATIONS, self.annotations)


@irdl_op_definition
class AllocateConstOp(IRDLOperation):
    """Read-only memory with given contents, `AllocateConst`.

    The contents are row-major elements of the attribute, of the pointer's element type,
    and its shape is the shape of the memory. Or they are an integer, an index into the
    module attribute `constants`.

    ```mlir
    // @weight(1) = 2.5
    tir.func @weight(%i: i32) -> f32 {
      %p = tir.allocate_const dense<[1.5, 2.5]> : tensor<2xf32> : !tir.ptr<f32>
      %W = tir.decl_buffer %p : !tir.buffer<2xf32>
      %w = tir.load %W[%i] : f32
      tir.ret %w : f32
    }
    ```
    """

    name = "tir.allocate_const"

    data = prop_def()
    annotations = opt_prop_def(DictionaryAttr)
    var_name = opt_prop_def(StringAttr, prop_name="name")
    result = result_def(PtrType)

    traits = traits_def(MarkerEffect())

    def __init__(
        self,
        pointer_type: PtrType,
        data: DenseIntOrFPElementsAttr | IntegerAttr,
        *,
        annotations: DictionaryAttr | None = None,
        name: str | StringAttr | None = None,
    ) -> None:
        super().__init__(
            properties={
                "data": data,
                "annotations": annotations,
                "name": StringAttr(name) if isinstance(name, str) else name,
            },
            result_types=[pointer_type],
        )

    @classmethod
    def parse(cls, parser: Parser) -> AllocateConstOp:
        name = assembly.parse_optional_name(parser)
        data = cast(DenseIntOrFPElementsAttr | IntegerAttr, parser.parse_attribute())
        annotations = assembly.parse_optional_dictionary(parser, "annotations")
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        op = cls(
            cast(PtrType, parser.parse_type()),
            data,
            annotations=annotations,
            name=name,
        )
        op.attributes.update(attributes)
        return op

    def print(self, printer: Printer) -> None:
        assembly.print_optional_name(printer, self.var_name)
        printer.print_string(" ")
        printer.print_attribute(self.data)
        assembly.print_optional_dictionary(printer, "annotations", self.annotations)
        assembly.print_attributes(printer, self, ("name", "data", "annotations"))
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)

    def verify_(self) -> None:
        verify_dictionary(self, ALLOCATE_ANNOTATIONS, self.annotations)
        if isinstance(self.data, IntegerAttr):
            return
        if not isinstance(self.data, DenseIntOrFPElementsAttr):
            raise VerifyException(
                "tir.allocate_const: the contents must be a dense attribute, or an index "
                f"into the module's constants, got {self.data}"
            )
        contents = cast("DenseIntOrFPElementsAttr", self.data)
        element = contents.get_element_type()
        if element != self.result.type.element_type:
            raise VerifyException(
                f"tir.allocate_const: contents of type {element} for a pointer of type "
                f"{self.result.type}"
            )

"""Choices, conversions, and the values of regions (docs/spec/tir-ir.md §3, §4)."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import (
    i1,
)
from xdsl.interfaces import (
    HasCanonicalizationPatternsInterface,
    HasFolderInterface,
)
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.pattern_rewriter import RewritePattern
from xdsl.printer import Printer
from xdsl.traits import (
    IsTerminator,
    Pure,
    RecursiveMemoryEffect,
)
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.tir import assembly
from xdsl_tvm.dialects.tir.dtype_checks import require_expression, require_numeric
from xdsl_tvm.dialects.tir.folders import FoldedValue, fold_cast_value
from xdsl_tvm.dialects.tir.types import (
    is_bool,
    like_lanes,
)
from xdsl_tvm.dialects.tir.vectors import literal_of


@irdl_op_definition
class SelectOp(IRDLOperation, HasFolderInterface, HasCanonicalizationPatternsInterface):
    """Choice between two evaluated values, `Select`; lane-wise with a vector condition.

    The condition is an `i1`, a scalar or of the lanes of the values. Both values are
    always evaluated: it guards no load and no division.

    ```mlir
    // @f(true, 1.0, 2.0) = 1.0
    tir.func @f(%p: i1, %x: f32, %y: f32) -> f32 {
      %z = tir.select %p, %x, %y : i1, f32
      tir.ret %z : f32
    }
    ```
    """

    T: ClassVar = VarConstraint("T", AnyAttr())

    name = "tir.select"

    condition = operand_def()
    true_value = operand_def(T)
    false_value = operand_def(T)
    result = result_def(T)

    assembly_format = (
        "$condition `,` $true_value `,` $false_value attr-dict `:` "
        "type($condition) `,` type($result)"
    )

    traits = traits_def(Pure())

    def __init__(
        self,
        condition: SSAValue | Operation,
        true_value: SSAValue | Operation,
        false_value: SSAValue | Operation,
    ) -> None:
        true_value = SSAValue.get(true_value)
        super().__init__(
            operands=[condition, true_value, false_value],
            result_types=[true_value.type],
        )

    def fold(self) -> FoldedValue:
        chosen = literal_of(self.condition)
        if chosen is not None:
            return (self.true_value if chosen else self.false_value,)
        if self.true_value is self.false_value:
            return (self.true_value,)
        if is_bool(self.result.type) and self.condition.type == self.result.type:
            values = literal_of(self.true_value), literal_of(self.false_value)
            return (self.condition,) if values == (1, 0) else None
        return None

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        # The patterns are of these classes.
        from xdsl_tvm.dialects.tir.canonicalization import SelectByNegation

        return (SelectByNegation(),)

    def verify_(self) -> None:
        dtype = self.result.type
        require_expression(self, dtype)
        if self.condition.type not in (i1, like_lanes(i1, dtype)):
            raise VerifyException(
                "tir.select: the condition must be i1, scalar or with the lanes of the "
                f"values, got {self.condition.type} for values of type {dtype}"
            )


@irdl_op_definition
class YieldOp(IRDLOperation):
    """Ends a region that has a value; that of a `tir.reducer` may have several.

    Those regions are operands in TVM, which has no node for it. Several values are
    written `tir.yield %0, %1 : f32, i32`.

    ```mlir
    // @f(true, 6, 2) = 3
    // @f(false, 6, 0) = 0
    tir.func @f(%p: i1, %x: i32, %y: i32) -> i32 {
      %z = tir.if_then_else %p -> i32 {
        %q = tir.div %x, %y : i32
        tir.yield %q : i32
      } else {
        tir.yield %y : i32
      }
      tir.ret %z : i32
    }
    ```
    """

    name = "tir.yield"

    values = var_operand_def()

    assembly_format = "$values attr-dict `:` type($values)"

    traits = traits_def(Pure(), IsTerminator())

    def __init__(self, *values: SSAValue | Operation) -> None:
        super().__init__(operands=[values])

    @property
    def value(self) -> SSAValue:
        """The value, where the region has just one."""
        (value,) = self.values
        return value


@irdl_op_definition
class IfThenElseOp(IRDLOperation, HasCanonicalizationPatternsInterface):
    """Lazy choice, the call `if_then_else`: only the taken branch is evaluated.

    It is the only guard inside expressions; the condition is a scalar.

    ```mlir
    // @get([1, 2], 1, 7) = 2
    // @get([1, 2], 5, 7) = 7
    tir.func @get(%a: !tir.handle, %i: i32, %other: i32) -> i32 {
      %A = tir.match_buffer %a : !tir.buffer<2xi32>
      %c2 = tir.const 2 : i32
      %p = tir.cmp lt %i, %c2 : i32
      %y = tir.if_then_else %p -> i32 {
        %x = tir.load %A[%i] : i32
        tir.yield %x : i32
      } else {
        tir.yield %other : i32
      }
      tir.ret %y : i32
    }
    ```
    """

    name = "tir.if_then_else"

    condition = operand_def(i1)
    result = result_def()
    true_region = region_def("single_block")
    false_region = region_def("single_block")

    traits = traits_def(RecursiveMemoryEffect())

    def __init__(
        self,
        condition: SSAValue | Operation,
        result_type: Attribute,
        true_region: Region | None = None,
        false_region: Region | None = None,
    ) -> None:
        super().__init__(
            operands=[condition],
            result_types=[result_type],
            regions=[
                assembly.region_of(true_region, ()),
                assembly.region_of(false_region, ()),
            ],
        )

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        # The patterns are of these classes.
        from xdsl_tvm.dialects.tir.canonicalization import ChooseBranch

        return (ChooseBranch(),)

    @classmethod
    def parse(cls, parser: Parser) -> IfThenElseOp:
        condition = assembly.parse_value(parser)
        parser.parse_punctuation("->")
        result_type = parser.parse_type()
        true_region = assembly.parse_body(parser)
        parser.parse_keyword("else")
        op = cls(condition, result_type, true_region, assembly.parse_body(parser))
        assembly.parse_attributes_into(parser, op)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.condition)
        printer.print_string(" -> ")
        printer.print_attribute(self.result.type)
        assembly.print_body(printer, self.true_region)
        printer.print_string(" else")
        assembly.print_body(printer, self.false_region)
        assembly.print_attributes(printer, self)

    def verify_(self) -> None:
        require_expression(self, self.result.type)
        for label, region in (
            ("true", self.true_region),
            ("false", self.false_region),
        ):
            last = region.block.last_op
            if not isinstance(last, YieldOp):
                raise VerifyException(
                    f"tir.if_then_else: the {label} region must end in tir.yield"
                )
            yielded = [value.type for value in last.values]
            if yielded != [self.result.type]:
                raise VerifyException(
                    f"tir.if_then_else: the {label} region yields "
                    f"{', '.join(map(str, yielded))}, the result is {self.result.type}"
                )


@irdl_op_definition
class CastOp(IRDLOperation, HasFolderInterface, HasCanonicalizationPatternsInterface):
    """Conversion to another dtype of the same lanes, `Cast`.

    Integers extend by the signedness of the source and truncate; float to integer
    truncates toward zero, to the nearest integer of the dtype where it is out of range,
    and NaN to 0; anything to `i1` is `!= 0`.
    Handles are converted by the call `reinterpret` only.

    ```mlir
    // @f(-2.75) = -2
    tir.func @f(%x: f32) -> i32 {
      %y = tir.cast %x : f32 to i32
      tir.ret %y : i32
    }
    ```
    """

    name = "tir.cast"

    value = operand_def()
    result = result_def()

    assembly_format = "$value attr-dict `:` type($value) `to` type($result)"

    traits = traits_def(Pure())

    def __init__(self, value: SSAValue | Operation, result_type: Attribute) -> None:
        super().__init__(operands=[value], result_types=[result_type])

    def fold(self) -> FoldedValue:
        return fold_cast_value(self.value, self.result.type)

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        # The patterns are of these classes.
        from xdsl_tvm.dialects.tir.canonicalization import MergeCasts

        return (MergeCasts(),)

    def verify_(self) -> None:
        source, target = self.value.type, self.result.type
        require_numeric(self, source)
        require_numeric(self, target)
        if like_lanes(target, source) != target:
            raise VerifyException(
                f"tir.cast: {source} and {target} must have the same lanes"
            )

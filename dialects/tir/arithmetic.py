"""Arithmetic, comparisons and logic on values of one dtype (docs/spec/tir-ir.md §3, §4).

Which machine operation an op stands for follows from its type, and is chosen once, in
the lowering: `iN` is signed, `uiN` unsigned, `i1` bool. Vectors are element-wise. No op
broadcasts: scalars meet vectors through `tir.broadcast` only.
"""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

from xdsl.dialects.builtin import (
    i1,
)
from xdsl.interfaces import HasFolderInterface
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    Commutative,
    NoMemoryEffect,
    Pure,
)
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.tir import assembly
from xdsl_tvm.dialects.tir.attributes import CmpPredicate, CmpPredicateAttr
from xdsl_tvm.dialects.tir.dtype_checks import require_numeric
from xdsl_tvm.dialects.tir.folders import (
    FoldedValue,
    fold_values,
    folded_literal,
)
from xdsl_tvm.dialects.tir.folding import fold_not
from xdsl_tvm.dialects.tir.types import (
    is_bool,
    is_handle,
    like_lanes,
)
from xdsl_tvm.dialects.tir.vectors import literal_of


class BinaryOp(IRDLOperation, HasFolderInterface, ABC):
    """Two operands and a result of one dtype, a number unless the op says otherwise."""

    T: ClassVar = VarConstraint("T", AnyAttr())

    lhs = operand_def(T)
    rhs = operand_def(T)
    result = result_def(T)

    assembly_format = "$lhs `,` $rhs attr-dict `:` type($result)"

    def __init__(self, lhs: SSAValue | Operation, rhs: SSAValue | Operation) -> None:
        lhs = SSAValue.get(lhs)
        super().__init__(operands=[lhs, rhs], result_types=[lhs.type])

    def fold(self) -> FoldedValue:
        name = self.name.removeprefix("tir.")
        return fold_values(name, self.lhs, self.rhs, self.result.type)

    def verify_(self) -> None:
        require_numeric(self, self.result.type)


@irdl_op_definition
class AddOp(BinaryOp):
    """Sum, `Add`. Signed overflow at 32 bits and above is undefined, else it wraps.

    ```mlir
    // @f(2, 3) = 5
    // @f(127, 1) = -128
    tir.func @f(%x: i8, %y: i8) -> i8 {
      %z = tir.add %x, %y : i8
      tir.ret %z : i8
    }
    ```
    """

    name = "tir.add"
    traits = traits_def(Pure(), Commutative())


@irdl_op_definition
class SubOp(BinaryOp):
    """Difference, `Sub`, with the overflow rule of `tir.add`.

    ```mlir
    // @f(2.0, 3.5) = -1.5
    tir.func @f(%x: f32, %y: f32) -> f32 {
      %z = tir.sub %x, %y : f32
      tir.ret %z : f32
    }
    ```
    """

    name = "tir.sub"
    traits = traits_def(Pure())


@irdl_op_definition
class MulOp(BinaryOp):
    """Product, `Mul`, with the overflow rule of `tir.add`.

    ```mlir
    // @f([1.0, 2.0], [3.0, 4.0]) = [3.0, 8.0]
    tir.func @f(%x: vector<2xf32>, %y: vector<2xf32>) -> vector<2xf32> {
      %z = tir.mul %x, %y : vector<2xf32>
      tir.ret %z : vector<2xf32>
    }
    ```
    """

    name = "tir.mul"
    traits = traits_def(Pure(), Commutative())


@irdl_op_definition
class DivOp(BinaryOp):
    """Quotient, `Div`: IEEE for floats, rounded toward zero for integers.

    Integer division by zero is undefined, and so is that of the least number by -1: code
    for processors ends the process. The op is never speculated. `-7.0 / 0.0` and the like
    are as in IEEE 754.
    `xdsl_tvm.compile(module, bound_checks=True)` makes both an error of the call.

    ```mlir
    // @f(-7, 2) = -3
    // @f(1, 0) fails: an integer is divided by zero
    tir.func @f(%x: i32, %y: i32) -> i32 {
      %z = tir.div %x, %y : i32
      tir.ret %z : i32
    }
    ```
    """

    name = "tir.div"
    traits = traits_def(NoMemoryEffect())


@irdl_op_definition
class ModOp(BinaryOp):
    """Remainder of `tir.div`, `Mod`: it has the sign of the dividend.

    As with `tir.div`, integer division by zero is undefined.

    ```mlir
    // @f(-7, 2) = -1
    tir.func @f(%x: i32, %y: i32) -> i32 {
      %z = tir.mod %x, %y : i32
      tir.ret %z : i32
    }
    ```
    """

    name = "tir.mod"
    traits = traits_def(NoMemoryEffect())


@irdl_op_definition
class FloorDivOp(BinaryOp):
    """Quotient rounded toward negative infinity, `FloorDiv`.

    As with `tir.div`, integer division by zero is undefined.

    ```mlir
    // @f(-7, 2) = -4
    tir.func @f(%x: i32, %y: i32) -> i32 {
      %z = tir.floordiv %x, %y : i32
      tir.ret %z : i32
    }
    ```
    """

    name = "tir.floordiv"
    traits = traits_def(NoMemoryEffect())


@irdl_op_definition
class FloorModOp(BinaryOp):
    """Remainder of `tir.floordiv`, `FloorMod`: it has the sign of the divisor.

    As with `tir.div`, integer division by zero is undefined.

    ```mlir
    // @f(-7, 2) = 1
    tir.func @f(%x: i32, %y: i32) -> i32 {
      %z = tir.floormod %x, %y : i32
      tir.ret %z : i32
    }
    ```
    """

    name = "tir.floormod"
    traits = traits_def(NoMemoryEffect())


@irdl_op_definition
class MinOp(BinaryOp):
    """The lesser operand, `Min`. Of floats: NaN where either operand is NaN.

    Which of two zeros with different signs is the result is not specified.

    ```mlir
    // @f(2.0, 3.0) = 2.0
    // @f(NaN, 3.0) = NaN
    // @f(2.0, NaN) = NaN
    tir.func @f(%x: f32, %y: f32) -> f32 {
      %z = tir.min %x, %y : f32
      tir.ret %z : f32
    }
    ```
    """

    name = "tir.min"
    traits = traits_def(Pure())


@irdl_op_definition
class MaxOp(BinaryOp):
    """The greater operand, `Max`. Of floats: NaN where either operand is NaN.

    Which of two zeros with different signs is the result is not specified.

    ```mlir
    // @f(2.0, 3.0) = 3.0
    // @f(NaN, 3.0) = NaN
    // @f(2.0, NaN) = NaN
    tir.func @f(%x: f32, %y: f32) -> f32 {
      %z = tir.max %x, %y : f32
      tir.ret %z : f32
    }
    ```
    """

    name = "tir.max"
    traits = traits_def(Pure())


class LogicalOp(BinaryOp, ABC):
    """A binary op on `i1` or vectors of it."""

    def verify_(self) -> None:
        if not is_bool(self.result.type):
            raise VerifyException(
                f"{self.name}: operands must be i1, got {self.result.type}"
            )


@irdl_op_definition
class AndOp(LogicalOp):
    """Conjunction, `And`. Both operands are evaluated, so neither guards the other.

    ```mlir
    // @f(true, false) = false
    tir.func @f(%x: i1, %y: i1) -> i1 {
      %z = tir.and %x, %y : i1
      tir.ret %z : i1
    }
    ```
    """

    name = "tir.and"
    traits = traits_def(Pure(), Commutative())


@irdl_op_definition
class OrOp(LogicalOp):
    """Disjunction, `Or`. Both operands are evaluated, so neither guards the other.

    ```mlir
    // @f(true, false) = true
    tir.func @f(%x: i1, %y: i1) -> i1 {
      %z = tir.or %x, %y : i1
      tir.ret %z : i1
    }
    ```
    """

    name = "tir.or"
    traits = traits_def(Pure(), Commutative())


@irdl_op_definition
class NotOp(IRDLOperation, HasFolderInterface):
    """Negation of a bool, `Not`, lane by lane.

    ```mlir
    // @f(true) = false
    tir.func @f(%x: i1) -> i1 {
      %z = tir.not %x : i1
      tir.ret %z : i1
    }
    ```
    """

    T: ClassVar = VarConstraint("T", AnyAttr())

    name = "tir.not"

    value = operand_def(T)
    result = result_def(T)

    assembly_format = "$value attr-dict `:` type($result)"

    traits = traits_def(Pure())

    def __init__(self, value: SSAValue | Operation) -> None:
        value = SSAValue.get(value)
        super().__init__(operands=[value], result_types=[value.type])

    def fold(self) -> FoldedValue:
        inner = self.value.owner
        if isinstance(inner, NotOp):
            return (inner.value,)
        return folded_literal(fold_not(literal_of(self.value)), self.result.type)

    def verify_(self) -> None:
        if not is_bool(self.result.type):
            raise VerifyException(
                f"tir.not: the operand must be i1, got {self.result.type}"
            )


@irdl_op_definition
class CmpOp(IRDLOperation, HasFolderInterface):
    """Comparison: `EQ`, `NE`, `LT`, `LE`, `GT`, `GE` by the predicate.

    The result is `i1` with the lanes of the operands. Floats compare ordered: with a NaN
    all predicates but `ne` are false, and `ne` is unspecified.

    ```mlir
    // @f(-1, 1) = true
    tir.func @f(%x: i32, %y: i32) -> i1 {
      %p = tir.cmp lt %x, %y : i32
      tir.ret %p : i1
    }
    ```
    """

    name = "tir.cmp"

    predicate = prop_def(CmpPredicateAttr)
    lhs = operand_def()
    rhs = operand_def()
    result = result_def()

    traits = traits_def(Pure())

    def __init__(
        self,
        predicate: CmpPredicate | CmpPredicateAttr,
        lhs: SSAValue | Operation,
        rhs: SSAValue | Operation,
    ) -> None:
        if isinstance(predicate, CmpPredicate):
            predicate = CmpPredicateAttr(predicate)
        lhs = SSAValue.get(lhs)
        super().__init__(
            operands=[lhs, rhs],
            properties={"predicate": predicate},
            result_types=[like_lanes(i1, lhs.type)],
        )

    def fold(self) -> FoldedValue:
        name = str(self.predicate.data)
        return fold_values(name, self.lhs, self.rhs, self.result.type)

    @classmethod
    def parse(cls, parser: Parser) -> CmpOp:
        predicate = parser.parse_str_enum(CmpPredicate)
        operands = (
            parser.parse_unresolved_operand(),
            parser.parse_punctuation(","),
            parser.parse_unresolved_operand(),
        )
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        dtype = parser.parse_type()
        op = cls(
            predicate,
            parser.resolve_operand(operands[0], dtype),
            parser.resolve_operand(operands[2], dtype),
        )
        op.attributes.update(attributes)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.predicate.data.value} ")
        printer.print_operand(self.lhs)
        printer.print_string(", ")
        printer.print_operand(self.rhs)
        assembly.print_attributes(printer, self, {"predicate"})
        printer.print_string(" : ")
        printer.print_attribute(self.lhs.type)

    def verify_(self) -> None:
        dtype = self.lhs.type
        if dtype != self.rhs.type:
            raise VerifyException(
                f"tir.cmp: operands must have one type, got {dtype} and {self.rhs.type}"
            )
        if not is_handle(dtype):
            require_numeric(self, dtype)
        if self.result.type != (expected := like_lanes(i1, dtype)):
            raise VerifyException(
                f"tir.cmp: the result must be {expected}, got {self.result.type}"
            )

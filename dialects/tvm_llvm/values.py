"""Poison and freezing, elements of vectors, choices."""

from __future__ import annotations

from typing import ClassVar, cast

from xdsl.dialects.builtin import SignlessIntegerConstraint, VectorType, f32, i1
from xdsl.dialects.llvm import FastMathAttr, LLVMStructType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AnyAttr,
    BaseAttr,
    IRDLOperation,
    ParsePropInAttrDict,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.dtypes import element_of
from xdsl_tvm.dialects.tvm_llvm.effects import ReadWriteEffect
from xdsl_tvm.dialects.tvm_llvm.types import i1_like, is_llvm_type

__all__ = ["ExtractElementOp", "FreezeOp", "PoisonOp", "RegisterFenceOp", "SelectOp"]


@irdl_op_definition
class FreezeOp(IRDLOperation):
    """The operand, or an arbitrary fixed value where the operand is poison or undef."""

    T: ClassVar = VarConstraint("T", AnyAttr())

    name = "tvm_llvm.freeze"

    val = operand_def(T)
    res = result_def(T)

    traits = traits_def(Pure())

    assembly_format = "$val attr-dict `:` type($val)"

    def __init__(self, val: SSAValue | Operation):
        val = SSAValue.get(val)
        super().__init__(operands=[val], result_types=[val.type])


@irdl_op_definition
class RegisterFenceOp(IRDLOperation):
    """The operand, which uses of the result do not see before this place.

    `%b = tvm_llvm.register_fence %a : !llvm.struct<(f32, f32)>`. It stays where it is
    among operations with effects, and holds uses after what another one waits for:
    registers that a product of a warpgroup writes.
    """

    T: ClassVar = VarConstraint("T", BaseAttr(LLVMStructType))

    name = "tvm_llvm.register_fence"

    val = operand_def(T)
    res = result_def(T)

    traits = traits_def(ReadWriteEffect())

    assembly_format = "$val attr-dict `:` type($val)"

    def __init__(self, val: SSAValue | Operation):
        val = SSAValue.get(val)
        super().__init__(operands=[val], result_types=[val.type])

    @property
    def count(self) -> int:
        """How many values there are."""
        assert isinstance(self.val.type, LLVMStructType)
        return len(self.val.type.types)

    def verify_(self) -> None:
        if list(cast(LLVMStructType, self.val.type).types) != [f32] * self.count:
            raise VerifyException(f"expected a struct of f32, got {self.val.type}")


@irdl_op_definition
class PoisonOp(IRDLOperation):
    """A value whose every use is undefined behaviour or poison."""

    name = "tvm_llvm.mlir.poison"

    res = result_def()

    traits = traits_def(Pure())

    assembly_format = "attr-dict `:` type($res)"

    def __init__(self, type: Attribute):
        super().__init__(result_types=[type])

    def verify_(self) -> None:
        if not is_llvm_type(self.res.type):
            raise VerifyException(f"{self.res.type} is not an LLVM type")


@irdl_op_definition
class ExtractElementOp(IRDLOperation):
    """One element of a 1-D vector; poison if the position is out of range."""

    T: ClassVar = VarConstraint("T", AnyAttr())

    name = "tvm_llvm.extractelement"

    vector = operand_def(VectorType.constr(T))
    position = operand_def(SignlessIntegerConstraint)
    res = result_def(T)

    traits = traits_def(Pure())

    assembly_format = (
        "$vector `[` $position `:` type($position) `]` attr-dict `:` type($vector)"
    )

    def __init__(self, vector: SSAValue | Operation, position: SSAValue | Operation):
        vector = SSAValue.get(vector)
        super().__init__(
            operands=[vector, position], result_types=[element_of(vector.type)]
        )

    def verify_(self) -> None:
        vector = cast("VectorType[Attribute]", self.vector.type)
        if vector.get_num_dims() != 1:
            raise VerifyException(f"expected a 1-D vector, got {vector}")


@irdl_op_definition
class SelectOp(IRDLOperation):
    """Chooses per element; a scalar condition chooses whole values."""

    T: ClassVar = VarConstraint("T", AnyAttr())

    name = "tvm_llvm.select"

    condition = operand_def()
    true_value = operand_def(T)
    false_value = operand_def(T)
    res = result_def(T)

    fastmathFlags = prop_def(FastMathAttr, default_value=FastMathAttr(None))

    traits = traits_def(Pure())

    irdl_options = (ParsePropInAttrDict(),)

    assembly_format = (
        "$condition `,` $true_value `,` $false_value attr-dict"
        " `:` type($condition) `,` type($res)"
    )

    def __init__(
        self,
        condition: SSAValue | Operation,
        true_value: SSAValue | Operation,
        false_value: SSAValue | Operation,
        fastmath: FastMathAttr | None = None,
    ):
        true_value = SSAValue.get(true_value)
        super().__init__(
            operands=[condition, true_value, false_value],
            result_types=[true_value.type],
            properties={"fastmathFlags": fastmath or FastMathAttr(None)},
        )

    def verify_(self) -> None:
        condition = self.condition.type
        if condition != i1 and condition != i1_like(self.res.type):
            raise VerifyException(
                f"a condition of type {condition} cannot choose {self.res.type}"
            )

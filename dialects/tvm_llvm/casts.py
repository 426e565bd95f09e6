"""Conversions of values."""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

from xdsl.dialects.builtin import IntegerType
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.dtypes import element_of
from xdsl_tvm.dialects.tvm_llvm.types import LLVM_FLOATS, same_shape

__all__ = ["AddrSpaceCastOp", "FPToSIOp", "FPToUIOp", "UIToFPOp"]


class _CastOperation(IRDLOperation, ABC):
    """A conversion between scalars, or between vectors of one shape."""

    arg = operand_def()
    res = result_def()

    traits = traits_def(Pure())

    assembly_format = "$arg attr-dict `:` type($arg) `to` type($res)"

    FROM_KIND: ClassVar[type[Attribute] | tuple[type[Attribute], ...]]
    TO_KIND: ClassVar[type[Attribute] | tuple[type[Attribute], ...]]

    def __init__(self, arg: SSAValue | Operation, res_type: Attribute):
        super().__init__(operands=[arg], result_types=[res_type])

    def verify_(self) -> None:
        source, target = self.arg.type, self.res.type
        fits = isinstance(element_of(source), self.FROM_KIND) and isinstance(
            element_of(target), self.TO_KIND
        )
        if not fits or not same_shape(source, target):
            raise VerifyException(f"cannot convert {source} to {target}")


@irdl_op_definition
class FPToSIOp(_CastOperation):
    """Float to signed integer, rounding towards zero.

    A value outside the integer's range, NaN included, gives poison; use the intrinsic
    `llvm.fptosi.sat` where such values occur.
    """

    name = "tvm_llvm.fptosi"
    FROM_KIND: ClassVar = LLVM_FLOATS
    TO_KIND: ClassVar = IntegerType


@irdl_op_definition
class FPToUIOp(_CastOperation):
    """Float to unsigned integer, rounding towards zero; poison outside the range."""

    name = "tvm_llvm.fptoui"
    FROM_KIND: ClassVar = LLVM_FLOATS
    TO_KIND: ClassVar = IntegerType


@irdl_op_definition
class UIToFPOp(_CastOperation):
    """Unsigned integer to float, rounding to nearest even."""

    name = "tvm_llvm.uitofp"
    FROM_KIND: ClassVar = IntegerType
    TO_KIND: ClassVar = LLVM_FLOATS


@irdl_op_definition
class AddrSpaceCastOp(_CastOperation):
    """A pointer to the same location in another address space."""

    name = "tvm_llvm.addrspacecast"
    FROM_KIND: ClassVar = LLVMPointerType
    TO_KIND: ClassVar = LLVMPointerType

    def verify_(self) -> None:
        super().verify_()
        if self.arg.type == self.res.type:
            raise VerifyException(f"address space is unchanged: {self.arg.type}")

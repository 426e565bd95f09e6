"""Addresses of elements, for operations on pointers among operations on memrefs."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IndexType, IntAttr, IntegerAttr, MemRefType
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

__all__ = ["ElementAddressOp"]


@irdl_op_definition
class ElementAddressOp(IRDLOperation):
    """The address of an element of a memref, in the memref's address space.

    `%p = tvm_llvm.element_address %m[%i, %j] : memref<4x8xf16, 3> -> !llvm.ptr<3>`.
    One index for each dimension. Nothing is read or written; an operation that accesses
    memory through the address is what orders it.
    """

    name = "tvm_llvm.element_address"

    memref = operand_def(MemRefType)
    indices = var_operand_def(IndexType())
    res = result_def(LLVMPointerType)

    traits = traits_def(Pure())

    assembly_format = (
        "$memref `[` $indices `]` attr-dict `:` type($memref) `->` type($res)"
    )

    def __init__(
        self,
        memref: SSAValue | Operation,
        indices: Sequence[SSAValue | Operation],
        result: LLVMPointerType,
    ):
        super().__init__(operands=[memref, indices], result_types=[result])

    def verify_(self) -> None:
        type_ = self.memref.type
        assert isinstance(type_, MemRefType)
        rank = type_.get_num_dims()
        if len(self.indices) != rank:
            raise VerifyException(f"expected {rank} indices, got {len(self.indices)}")
        space = type_.memory_space
        number = space.value.data if isinstance(space, IntegerAttr) else 0
        pointer = self.res.type
        assert isinstance(pointer, LLVMPointerType)
        own = pointer.addr_space
        held = own.data if isinstance(own, IntAttr) else 0
        if held != number:
            raise VerifyException(
                f"expected a pointer of address space {number}, got {pointer}"
            )

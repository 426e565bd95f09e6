"""Addresses of elements, for operations on pointers among operations on memrefs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, cast

from xdsl.dialects.builtin import (
    DenseArrayBase,
    IndexType,
    IntAttr,
    IntegerAttr,
    IntegerType,
    MemRefType,
    i64,
)
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.tvm_llvm.effects import ReadWriteEffect

__all__ = ["ElementAddressOp", "TensorMapOp"]


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


_MOST_DIMENSIONS: Final = 5
_SWIZZLES: Final = (0, 128)


@irdl_op_definition
class TensorMapOp(IRDLOperation):
    """The address of 128 bytes that tell a GPU of a tensor and of a box of it.

    `%p = tvm_llvm.tensor_map %m, extents[%i, %j], strides[%s] {box = array<i64: 64, 64>,
    swizzle = 128 : i64, element = f16} : memref<?xf16, 1>`. Extents and strides are in
    elements, the outermost first, and strides those of all dimensions but the innermost,
    which is contiguous. Host code has it, for arguments of launches; the memory is that
    of this operation, which writes it again when it is executed again.
    """

    name = "tvm_llvm.tensor_map"

    memory = operand_def(MemRefType)
    extents = var_operand_def(i64)
    strides = var_operand_def(i64)
    box = prop_def(DenseArrayBase)
    swizzle = prop_def(IntegerAttr)
    element = prop_def(Attribute)
    res = result_def(LLVMPointerType)

    irdl_options = (ParsePropInAttrDict(), AttrSizedOperandSegments(as_property=True))

    traits = traits_def(ReadWriteEffect())

    assembly_format = (
        "$memory `,` `extents` `[` $extents `]` `,` `strides` `[` $strides `]` attr-dict "
        "`:` type($memory) `->` type($res)"
    )

    def __init__(
        self,
        memory: SSAValue | Operation,
        extents: Sequence[SSAValue | Operation],
        strides: Sequence[SSAValue | Operation],
        box: Sequence[int],
        swizzle: int,
        element: Attribute,
    ):
        super().__init__(
            operands=[memory, extents, strides],
            result_types=[LLVMPointerType()],
            properties={
                "box": DenseArrayBase.from_list(i64, box),
                "swizzle": IntegerAttr(swizzle, i64),
                "element": element,
            },
        )

    @property
    def box_extents(self) -> tuple[int, ...]:
        """The elements of the box in each dimension, the outermost first."""
        box = cast("DenseArrayBase[IntegerType]", self.box)
        return tuple(map(int, box.get_values()))

    def verify_(self) -> None:
        rank = len(self.extents)
        if not 1 <= rank <= _MOST_DIMENSIONS:
            raise VerifyException(
                f"a tensor has 1 to {_MOST_DIMENSIONS} dimensions, not {rank}"
            )
        if len(self.strides) != rank - 1 or len(self.box_extents) != rank:
            raise VerifyException(
                f"a tensor of {rank} dimensions has {rank - 1} strides and a box of "
                f"{rank}, not {len(self.strides)} and {len(self.box_extents)}"
            )
        if self.swizzle.value.data not in _SWIZZLES:
            raise VerifyException(
                f"the swizzle is of 0 or 128 bytes, not {self.swizzle.value.data}"
            )

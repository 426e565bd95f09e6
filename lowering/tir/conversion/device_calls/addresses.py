"""Operands of builtins of PTX: strings, constants and addresses in memory."""

from __future__ import annotations

from xdsl.dialects.builtin import i32
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import SSAValue

from xdsl_tvm.dialects import nvvm, tir, tvm_llvm
from xdsl_tvm.lowering.tir.conversion.body import BodyConverter
from xdsl_tvm.lowering.tir.conversion.emitter import INDEX
from xdsl_tvm.lowering.tir.conversion.expressions import convert
from xdsl_tvm.lowering.tir.conversion.types import signless
from xdsl_tvm.lowering.tir.conversion.views import address_space, memref_type


def text_operand(cv: BodyConverter, op: tir.CallOp, position: int) -> str:
    """The text of an operand. Raises PassFailedException where it is no string."""
    owner = op.args[position].owner
    if not isinstance(owner, tir.StringOp):
        raise cv.fail(
            f'operand {position} of "{op.callee.data}" must be a string; use a tir.string'
        )
    return owner.value.data


def constant_operand(cv: BodyConverter, op: tir.CallOp, position: int) -> int:
    """An operand that is an integer constant. Raises PassFailedException for others."""
    value = tir.constant_value(op.args[position])
    if value is None:
        raise cv.fail(
            f'operand {position} of "{op.callee.data}" must be a constant; use a '
            "tir.const"
        )
    return int(value)


def word_operand(cv: BodyConverter, op: tir.CallOp, position: int) -> SSAValue:
    """An operand that is an integer, as 32 bits."""
    operand = op.args[position]
    return convert(cv, cv.value(operand), operand.type, i32)


def element_width(cv: BodyConverter, op: tir.CallOp, position: int) -> int:
    """Bytes of an element of the pointer at an operand."""
    type_ = op.args[position].type
    if not isinstance(type_, tir.PtrType):
        raise cv.fail(
            f'operand {position} of "{op.callee.data}" must be a pointer to elements, '
            f"not {type_}"
        )
    lanes = tir.lanes_of(type_.element_type)
    return cv.bytes_of(signless(tir.element_of(type_.element_type))) * lanes


def require_space(
    cv: BodyConverter, op: tir.CallOp, position: int, space: int, scope: str
) -> None:
    """Raises PassFailedException if a pointer is in another memory space."""
    found = address_space(cv.memory(op.args[position]).memref)
    if found != space:
        raise cv.fail(
            f'operand {position} of "{op.callee.data}" must point to {scope} memory'
        )


def address_at(
    cv: BodyConverter,
    op: tir.CallOp,
    position: int,
    offset: SSAValue | None,
    ahead: int = 0,
    moved: SSAValue | None = None,
) -> SSAValue:
    """The address `offset` elements after the pointer at an operand, and `ahead` more.

    Elements are those that the pointer points to. `moved`, an index, is added, too.
    """
    width = element_width(cv, op, position)
    memory = cv.memory(op.args[position])
    type_ = memref_type(memory.memref)
    held = cv.bytes_of(type_.element_type)
    if width % held:
        raise cv.fail(
            f'operand {position} of "{op.callee.data}" points to elements of {width} '
            f"bytes in memory of elements of {held}; allocate bytes"
        )
    factor = cv.number(width // held, INDEX)
    total = memory.offset
    if offset is not None:
        total = cv.add_index(total, cv.mul_index(cv.index(offset), factor))
    if moved is not None:
        total = cv.add_index(total, cv.mul_index(moved, factor))
    total = cv.add_index(total, cv.number(ahead * (width // held), INDEX))
    space = address_space(memory.memref)
    pointer: LLVMPointerType = nvvm.pointer(space)
    # Memory is contiguous, so that the last index may exceed its extent.
    leading = [cv.number(0, INDEX)] * (type_.get_num_dims() - 1)
    made = tvm_llvm.ElementAddressOp(memory.memref, [*leading, total], pointer)
    return cv.emit(made).res

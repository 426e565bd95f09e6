"""How a `tir.func` is called once it is lowered.

Every parameter becomes one argument: a scalar as it is, a handle with a buffer and a
typed pointer as a memref, any other handle, and a pointer to void, as a bare pointer. One
`i64` argument per symbol follows, in the order in which the buffers first bind them.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX, NoneType
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.traits import SymbolTable

from xdsl_tvm.dialects import tir
from xdsl_tvm.lowering.tir.conversion.types import compact_strides, memref_of, signless


def bound_symbols(func: tir.FuncOp) -> list[SSAValue]:
    """The `tir.shape_var`s that the buffers of parameters bind, in order of binding.

    A buffer binds those among its extents, strides and element offset, in this order,
    that are there bare.
    """
    found: dict[SSAValue, None] = {}
    if func.is_declaration:
        return []
    for op in func.body.block.ops:
        if isinstance(op, tir.MatchBufferOp):
            for value in (*op.shape, *op.layout_strides, op.elem_offset):
                if isinstance(value, SSAValue) and isinstance(
                    value.owner, tir.ShapeVarOp
                ):
                    found[value] = None
    return list(found)


def may_be_written(buffer: SSAValue) -> bool:
    """Whether anything but loads may happen to the memory of a buffer.

    Views of it are followed, and the parameters of functions that it is passed to.
    """
    pending, seen = [buffer], {buffer}
    while pending:
        for use in pending.pop().uses:
            op = use.operation
            if isinstance(op, tir.LoadOp | tir.ReadsOp):
                continue
            names = _names_of(op, use.index)
            if names is None:
                return True
            pending += [name for name in names if name not in seen]
            seen.update(names)
    return False


def _names_of(op: Operation, operand: int) -> Sequence[SSAValue] | None:
    """What names the memory of an operand of an op; None if the op may write to it."""
    if isinstance(op, tir.DataOp | tir.DeclBufferOp | tir.LetOp):
        return op.results
    if not isinstance(op, tir.CallFuncOp):
        return None
    callee = SymbolTable.lookup_symbol(op, op.callee)
    if not isinstance(callee, tir.FuncOp) or callee.is_declaration:
        return None
    return callee.args[operand : operand + 1]


def is_direct(buffer: tir.BufferDefinition) -> bool:
    """Whether a memref of the buffer's own shape holds its elements as they lie.

    So for buffers that are compact, start at the data pointer, and have static extents
    but for the first. All others are flat memrefs, accessed at linear indices.
    """
    compact = compact_strides(_static_shape(buffer))
    return (
        compact is not None
        and buffer.elem_offset is None
        and not tir.is_vector(buffer.type.element_type)
        and buffer.layout_strides in ((), compact)
    )


def buffer_shape(buffer: tir.BufferDefinition) -> tuple[int, ...]:
    """The shape of the memref of a buffer: its own, or one dynamic extent."""
    return _static_shape(buffer) if is_direct(buffer) else (DYNAMIC_INDEX,)


def _static_shape(buffer: tir.BufferDefinition) -> tuple[int, ...]:
    return tuple(
        DYNAMIC_INDEX if isinstance(extent, SSAValue) else extent
        for extent in buffer.shape
    )


def argument_types(func: tir.FuncOp, space: int) -> list[Attribute]:
    """The types of the parameters of the lowered function, without the symbols.

    Memrefs are in address space `space`.
    """
    buffers = func.buffer_map
    parameters: Sequence[BlockArgument | Attribute] = (
        func.function_type.inputs.data if func.is_declaration else func.args
    )
    types: list[Attribute] = []
    for parameter in parameters:
        if isinstance(parameter, BlockArgument):
            types.append(_parameter_type(parameter.type, buffers.get(parameter), space))
        else:
            types.append(_parameter_type(parameter, None, space))
    return types


def _parameter_type(
    dtype: Attribute, buffer: tir.MatchBufferOp | None, space: int
) -> Attribute:
    if buffer is not None:
        element = signless(tir.element_of(buffer.type.element_type))
        return memref_of(buffer_shape(buffer), element, space)
    if isinstance(dtype, tir.PtrType) and isinstance(dtype.element_type, NoneType):
        return _pointer()
    if isinstance(dtype, tir.PtrType):
        element = signless(tir.element_of(dtype.element_type))
        return memref_of((DYNAMIC_INDEX,), element, space)
    if isinstance(dtype, tir.HandleType):
        return _pointer()
    return signless(dtype)


def _pointer() -> Attribute:
    # Late: who only asks how a function is called needs the dialect for few functions.
    from xdsl.dialects.llvm import LLVMPointerType

    return LLVMPointerType()

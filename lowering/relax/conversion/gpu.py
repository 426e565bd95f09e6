"""Lowered Relax functions whose tensors are in the memory of a GPU."""

from __future__ import annotations

from typing import cast

from xdsl.dialects import func, gpu, memref
from xdsl.dialects.builtin import DenseArrayBase, FunctionType, MemRefType, i32
from xdsl.ir import Attribute, Operation
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.lowering.tir.conversion.types import GLOBAL_SPACE, AnyMemRef, memref_of

_HOST_ONLY = (memref.LoadOp, memref.StoreOp, memref.AllocaOp)


def place_on_gpu(function: func.FuncOp) -> None:
    """Let all memory of a function be that of the GPU.

    Raises PassFailedException for what reads or writes elements.
    """
    ops = all_ops(function)
    for op in ops:
        if isinstance(op, _HOST_ONLY):
            raise PassFailedException(
                f"cannot lower @{function.sym_name.data} for the GPU: '{op.name}' of the "
                "host needs an element of a tensor, which is on the GPU; branches on "
                "tensors, shapes in tensors and numbers as results are for the target "
                "llvm"
            )
    for op in ops:
        for region in op.regions:
            for block in region.blocks:
                for argument in block.args:
                    Rewriter.replace_value_with_new_type(argument, _placed(argument.type))
        for result in op.results:
            Rewriter.replace_value_with_new_type(result, _placed(result.type))
        if op is not function:
            _convert(op)
    type_ = function.function_type
    function.properties["function_type"] = FunctionType.from_lists(
        [_placed(each) for each in type_.inputs],
        [_placed(each) for each in type_.outputs],
    )


def _placed(dtype: Attribute) -> Attribute:
    if not isinstance(dtype, MemRefType):
        return dtype
    found = cast(AnyMemRef, dtype)
    return memref_of(found.get_shape(), found.element_type, GLOBAL_SPACE)


def _convert(op: Operation) -> None:
    match op:
        case memref.AllocOp():
            sizes = list(op.dynamic_sizes)
            segments = DenseArrayBase.from_list(i32, [0, len(sizes), 0])
            new = gpu.AllocOp.create(
                operands=sizes,
                result_types=[op.memref.type],
                properties={"operandSegmentSizes": segments},
            )
            new.result.name_hint = op.memref.name_hint
            Rewriter.replace_op(op, new)
        case memref.DeallocOp():
            Rewriter.replace_op(op, gpu.DeallocOp(op.memref), [])
        case memref.CopyOp():
            Rewriter.replace_op(op, gpu.MemcpyOp(op.source, op.destination), [])
        case _:
            return

"""Functions and calls, to the llvm dialect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects import func, llvm
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    MemRefType,
    ModuleOp,
    StringAttr,
    TensorType,
)
from xdsl.ir import Attribute, Operation

from xdsl_tvm.analysis.all_ops import ops_of
from xdsl_tvm.dialects.quick_accessors import stored_operands
from xdsl_tvm.dialects.quick_operation import create
from xdsl_tvm.lowering.to_llvm._conversion import (
    Conversion,
    convert_type,
    fail,
    is_convertible,
)
from xdsl_tvm.lowering.to_llvm._symbols import new_call, new_function
from xdsl_tvm.passes.infra import CompilerPass


@dataclass(frozen=True)
class ConvertFuncToLLVM(CompilerPass):
    """Summary: Turns functions, calls and returns into llvm ones with bare pointers.

    TVM name: none (ours)
    Input form: any verified IR whose functions return at most one scalar
    Output form: no func operation
    Options: none
    Rewrites:
            func.func @f(%a : memref<?x4xf32> {llvm.noalias}, %n : index) -> f32
          →
            llvm.func @f(%a : !llvm.ptr {llvm.noalias}, %n : i64) -> f32
            func.call @f(%a, %n)  →  llvm.call @f(%a, %n)
        A memref is one pointer, to its element at index zero; sizes are not passed. A
        `private` function with a body gets internal linkage, one without a body is
        declared.
    Leaves alone: foreign operations; func.constant and func.call_indirect
    Errors: more than one result, a memref result, types without an LLVM form
    Attributes: read: none; created: none; removed: none. Attributes of functions,
        arguments and results are kept
    Differs from TVM: TVM passes packed arguments (MakePackedAPI), which is another pass
    """

    name = "tvm-convert-func-to-llvm"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        conversion = Conversion()
        for inner in ops_of(op, func.CallOp, func.FuncOp, func.ReturnOp):
            if isinstance(inner, func.FuncOp):
                _lower_function(conversion, inner)
            elif isinstance(inner, func.ReturnOp):
                conversion.start(inner)
                operands = conversion.operands(inner.operands)
                _swap(conversion, inner, create(llvm.ReturnOp, operands=operands))
            else:
                conversion.start(inner)
                _lower_call(conversion, inner)
        conversion.finish()


def _swap(conversion: Conversion, op: Operation, new: Operation) -> None:
    new.attributes.update(op.attributes)
    conversion.insert_op(new)
    conversion.replace(op, new.results)


def convert_signature(op: Operation, type: FunctionType) -> llvm.LLVMFunctionType:
    """The LLVM signature with bare pointers; raises PassFailedException if none."""
    for value in (*type.inputs, *type.outputs):
        if not is_convertible(value) and not isinstance(value, MemRefType):
            advice = "; bufferize it first" if isinstance(value, TensorType) else ""
            raise fail(
                op, f"an argument or result of type {value} has no LLVM form{advice}"
            )
    outputs = type.outputs.data
    if len(outputs) > 1:
        raise fail(
            op,
            f"it has {len(outputs)} results; return at most one scalar and pass the "
            "rest as memrefs to write to",
        )
    if outputs and isinstance(outputs[0], MemRefType):
        raise fail(op, "it returns a memref; pass a memref to write to instead")
    return llvm.LLVMFunctionType(
        [convert_type(value) for value in type.inputs],
        convert_type(outputs[0]) if outputs else None,
    )


def convert_function(
    conversion: Conversion,
    op: Operation,
    name: StringAttr,
    type: FunctionType,
    linkage: str,
) -> llvm.FuncOp:
    """Replaces the function `op` by an llvm.func with its body; gives the new one."""
    (region,) = op.regions
    properties: dict[str, Attribute] = {}
    for key in ("arg_attrs", "res_attrs"):
        attributes = op.properties.get(key, op.attributes.get(key))
        if not isinstance(attributes, ArrayAttr):
            continue
        items = cast("ArrayAttr[DictionaryAttr]", attributes).data
        if any(item.data for item in items):
            properties[key] = attributes
    new = new_function(
        name,
        convert_signature(op, type),
        linkage,
        op.detach_region(region),
        properties,
    )
    new.location = op.location
    entry = new.body.first_block
    if entry is not None:
        conversion.convert_block_args(entry)
    block = op.parent_block()
    assert block is not None
    block.insert_op_before(new, op)
    op.detach()
    op.erase()
    return new


def _lower_function(conversion: Conversion, op: func.FuncOp) -> None:
    private = op.sym_visibility is not None and op.sym_visibility.data == "private"
    linkage = "internal" if private and op.body.blocks else "external"
    attributes = dict(op.attributes)
    new = convert_function(conversion, op, op.sym_name, op.function_type, linkage)
    new.attributes.update(attributes)


def _lower_call(conversion: Conversion, op: func.CallOp) -> None:
    results: Sequence[Attribute] = [convert_type(type) for type in op.result_types]
    if len(results) > 1:
        raise fail(op, f"it has {len(results)} results; return at most one scalar")
    call = new_call(
        op.callee,
        conversion.operands(stored_operands(op)),
        results[0] if results else None,
    )
    _swap(conversion, op, call)

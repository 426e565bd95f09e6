"""External functions get memory to work in from their callers."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import (
    IntegerAttr,
    IntegerType,
    ModuleOp,
    Signedness,
    TensorType,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.dialects import relax
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.relax.rewriting.call_sites import update_signature
from xdsl_tvm.passes.relax.rewriting.insertion import function_around
from xdsl_tvm.passes.relax.rewriting.signatures import only_calls, references

SIZE = "WorkspaceSize"
"""Attribute of a function: the bytes that it works in."""
_BYTE = IntegerType(8, Signedness.UNSIGNED)


@dataclass(frozen=True)
class AllocateWorkspace(CompilerPass):
    """Summary: Allocates memory for the functions that need some to work in, one for all
        of them, and passes it to them.

    TVM name: relax.AllocateWorkspace (v0.20)
    Input form: any
    Output form: the same, without `WorkspaceSize`
    Options: none
    Rewrites: before

            relax.func @main(%x: !t) -> !t {
              %y = relax.call @external(%x) : (!t) -> !t
              ...
            relax.func @external(%x: !t) -> !t
                attributes {Codegen = "lib", WorkspaceSize = 64} {

        after

            relax.func @main(%x: !t) -> !t {
              %workspace_main = relax.builtin.alloc_tensor on 0 scope "global"
                : tensor<64xui8>
              %y = relax.call @external(%x, %workspace_main) : ...
              ...
            relax.func @external(%x: !t, %workspace: tensor<64xui8>) -> !t
                attributes {Codegen = "lib"} {

        The memory has the greatest size of the module, and each function that calls
        allocates it once, at its start. A function that needs memory and calls another
        one passes its own. So does it to its function literals with `WorkspaceSize`.
        Time is linear in the size of the module.
    Leaves alone: modules in which no function has `WorkspaceSize`
    Errors: a size that is no integer greater than 0; such a function that the module uses
        without calling it; a literal that is used otherwise
    Attributes: read: `WorkspaceSize`; created: none; removed: `WorkspaceSize`
    Differs from TVM: the memory is allocated at the start of the function, where TVM does
        so in the first dataflow block, and other blocks cannot see it
    """

    name = "relax-allocate-workspace"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = [
            func
            for func in op.ops
            if isinstance(func, relax.FuncOp) and SIZE in func.attributes
        ]
        if not functions:
            return
        used = references(op)
        calls = {
            func: only_calls(func, used.get(func.sym_name.data, ()), self.name)
            for func in functions
        }
        type_ = TensorType(_BYTE, [max(map(self._size, functions))])
        own: dict[relax.FuncOp, SSAValue] = {}
        for func in functions:
            own[func] = self._add_parameter(func, type_)
        for func in functions:
            for call in calls[func]:
                caller = function_around(call)
                if caller not in own:
                    own[caller] = _allocate(caller, type_)
                call.operands = [*call.operands, own[caller]]

    def _size(self, op: Operation) -> int:
        size = op.attributes[SIZE]
        if isinstance(size, IntegerAttr) and size.value.data > 0:
            return size.value.data
        name = op.get_attr_or_prop("sym_name") or "of a literal"
        raise PassFailedException(
            f"{self.name}: {SIZE} of {op.name} {name} is {size}; give the number of "
            "bytes, greater than 0"
        )

    def _add_parameter(self, func: relax.FuncOp, type_: Attribute) -> SSAValue:
        block = func.body.block
        workspace = block.insert_arg(type_, len(block.args))
        workspace.name_hint = "workspace"
        del func.attributes[SIZE]
        for literal in [op for op in func.walk() if isinstance(op, relax.LambdaOp)]:
            if SIZE in literal.attributes:
                self._add_to_literal(literal, workspace)
        update_signature(func)
        return workspace

    def _add_to_literal(self, literal: relax.LambdaOp, workspace: SSAValue) -> None:
        self._size(literal)
        calls = [use.operation for use in literal.result.uses]
        for call in calls:
            if not isinstance(call, relax.CallIndirectOp) or call.callee is not (
                literal.result
            ):
                raise PassFailedException(
                    f"{self.name}: {call.name} uses a function literal with {SIZE} "
                    "without calling it; call it"
                )
            call.operands = [*call.operands, workspace]
        block = literal.body.block
        inner = block.insert_arg(workspace.type, len(block.args))
        inner.name_hint = "workspace"
        del literal.attributes[SIZE]
        old = literal.type
        params = [*(old.param_types or ()), workspace.type]
        type_ = relax.FuncType.of(params, old.ret, old.is_pure)
        Rewriter.replace_value_with_new_type(literal.result, type_)


def _allocate(func: relax.FuncOp, type_: Attribute) -> SSAValue:
    """The memory that a function allocates for those that it calls."""
    alloc = relax.AllocTensorOp(type_)
    alloc.result.name_hint = "workspace_main"
    alloc.location = func.location
    Rewriter.insert_op(alloc, InsertPoint.at_start(func.body.block))
    return alloc.result

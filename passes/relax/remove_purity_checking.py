"""From here on, functions count as pure because they say so."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import BoolAttr, ModuleOp
from xdsl.ir import Operation
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.relax.functions import relax_functions
from xdsl_tvm.dialects import relax
from xdsl_tvm.passes.infra import CompilerPass


@dataclass(frozen=True)
class RemovePurityChecking(CompilerPass):
    """Summary: Lets pure functions hold calls with effects, and turns the calls that only
        promise to have none into plain ones.

    TVM name: relax.RemovePurityChecking (v0.20)
    Input form: no dataflow blocks (`relax-to-non-dataflow`)
    Output form: no `relax.call_pure_packed`, `relax.call_inplace_packed` and
        `relax.invoke_pure_closure`; every pure function has `relax.force_pure`
    Options: none
    Rewrites: before

            relax.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
              %y = relax.call_pure_packed "f"(%x) : (tensor<4xf32>) -> tensor<4xf32>

        after

            relax.func @main(%x: tensor<4xf32>) -> tensor<4xf32>
                attributes {relax.force_pure = true} {
              %y = relax.call_packed "f"(%x) : (tensor<4xf32>) -> tensor<4xf32>

        Calls in place lose the list of what they write, calls of closures become
        `relax.invoke_closure`. Function literals are functions, too. Time is linear in
        the size of the module.
    Leaves alone: impure functions but for the calls in them; `relax.call_tir`,
        `relax.call_tir_inplace` and `relax.call_dps_packed`; functions of other dialects
    Errors: a dataflow block, which holds no operation with effects
    Attributes: read: none; created: `relax.force_pure` on pure functions; removed: none
    Differs from TVM: none
    """

    name = "relax-remove-purity-checking"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in relax_functions(op):
            for each in list(func.walk()):
                self._rewrite(each, func)

    def _rewrite(self, op: Operation, func: relax.FuncOp) -> None:
        match op:
            case relax.FuncOp() | relax.LambdaOp():
                if op.is_pure:
                    op.attributes[relax.FORCE_PURE] = BoolAttr.from_bool(True)
                return
            case relax.DataflowOp():
                raise PassFailedException(
                    f"{self.name}: {op.name} in @{func.sym_name.data} holds no impure "
                    "call; run relax-to-non-dataflow first"
                )
            case relax.CallPurePackedOp() | relax.CallInplacePackedOp():
                assert op.result is not None, "verified"
                call = relax.CallPackedOp(op.callee.data, op.arguments, op.result.type)
            case relax.InvokePureClosureOp():
                call = relax.InvokeClosureOp(op.closure, op.arguments, op.result.type)
            case _:
                return
        call.attributes.update(op.attributes)
        call.location = op.location
        Rewriter.replace_op(op, call)

"""Dataflow blocks become plain bindings."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.rewriter import InsertPoint, Rewriter

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.by_class import of_classes
from xdsl_tvm.passes.infra import CompilerPass

_is_dataflow = of_classes(relax.DataflowOp)


@dataclass(frozen=True)
class ToNonDataflow(CompilerPass):
    """Summary: Turns dataflow blocks into plain bindings of the block around them, where
        calls with side effects are allowed.

    TVM name: relax.ToNonDataflow (v0.20)
    Input form: any
    Output form: the same without `relax.dataflow`
    Options: none
    Rewrites: before

            %r = relax.dataflow -> (tensor<4xf32>) {
              %y = relax.nn.relu %x : (tensor<4xf32>) -> tensor<4xf32>
              relax.output %y : tensor<4xf32>
            }

        after

            %y = relax.nn.relu %x : (tensor<4xf32>) -> tensor<4xf32>

        Uses of the block's results become uses of the values that `relax.output` names.
        Time is linear in the size of the module.
    Leaves alone: the bindings themselves and their order; functions without dataflow
        blocks
    Errors: none
    Attributes: read: none; created: none; removed: those of the dataflow operation
    Differs from TVM: dataflow blocks in operations of other dialects are inlined as well
    """

    name = "relax-to-non-dataflow"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for dataflow in filter(_is_dataflow, all_ops(op)):
            inline_dataflow(dataflow)


def inline_dataflow(dataflow: relax.DataflowOp) -> None:
    """Put what a dataflow block holds in its place."""
    output = dataflow.output_op
    values = tuple(output.values)
    for value, result in zip(values, dataflow.outputs, strict=True):
        if value.name_hint is None:
            value.name_hint = result.name_hint
    Rewriter.erase_op(output)
    Rewriter.inline_block(dataflow.body.block, InsertPoint.before(dataflow))
    Rewriter.replace_op(dataflow, (), values)

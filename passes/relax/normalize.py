"""Dataflow blocks are as few as they can be, and none is empty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.rewriter import Rewriter
from xdsl.traits import IsolatedFromAbove

from xdsl_tvm.analysis.relax.functions import relax_functions
from xdsl_tvm.dialects import relax
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.relax.rewriting.dataflow import holds_dataflow, wrap_in_dataflow


@dataclass(frozen=True)
class Normalize(CompilerPass):
    """Summary: Merges dataflow blocks that stand side by side or in each other, and
        removes empty ones.

    TVM name: relax.Normalize (v0.20)
    Input form: any
    Output form: TVM's normal form: no dataflow block holds another one, none follows
        another one, none is empty
    Options: none
    Rewrites: before

            %a = relax.dataflow -> (!t) {
              %b = relax.nn.relu %x : (!t) -> !t
              relax.output %b : !t
            }
            %c = relax.dataflow -> (!t) {
              %d = relax.exp %a : (!t) -> !t
              relax.output %d : !t
            }

        after

            %c = relax.dataflow -> (!t) {
              %b = relax.nn.relu %x : (!t) -> !t
              %d = relax.exp %b : (!t) -> !t
              relax.output %d : !t
            }

        Constants between two blocks, which TVM writes where they are used, move before
         them. What an empty block gives is replaced by what it was given. Time is
        linear in the size of the module, for nesting of bounded depth.
    Leaves alone: the bindings themselves and their order; a single block with bindings;
        functions of other dialects
    Errors: none
    Attributes: read: none; created: none; removed: those of blocks that are merged
    Differs from TVM: all else that TVM normalizes is the form of this dialect already:
        operands are values, so nothing is nested in them; bodies and branches are blocks;
        one operation is one binding; types are declared, checked, and use only symbols
        that are visible. Outputs that nothing uses are dropped where blocks are merged.
    """

    name = "relax-normalize"
    opt_level: ClassVar[int] = 1

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in relax_functions(op):
            if func.body.blocks:
                _normalize(func.body.block)


def _normalize(block: Block) -> None:
    run: list[relax.DataflowOp] = []
    between: list[relax.ConstantOp] = []
    for op in list(block.ops):
        if isinstance(op, relax.DataflowOp):
            _normalize_inner(op)
            if not _dissolve(op):
                _move_before(between, run)
                between = []
                run.append(op)
        elif isinstance(op, relax.ConstantOp) and run:
            between.append(op)
        else:
            _merge(run)
            run, between = [], []
            if not op.has_trait(IsolatedFromAbove):
                _normalize_inner(op)
    _merge(run)


def _normalize_inner(op: Operation) -> None:
    for region in op.regions:
        for block in region.blocks:
            _normalize(block)


def _dissolve(dataflow: relax.DataflowOp) -> bool:
    """Remove a dataflow block without bindings; whether it was one."""
    output = dataflow.output_op
    if dataflow.body.block.first_op is not output:
        return False
    Rewriter.replace_op(dataflow, (), tuple(output.values))
    return True


def _move_before(constants: list[relax.ConstantOp], run: list[relax.DataflowOp]) -> None:
    for constant in constants:
        constant.detach()
        assert run[0].parent is not None
        run[0].parent.insert_op_before(constant, run[0])


def _merge(run: list[relax.DataflowOp]) -> None:
    if len(run) > 1 or any(map(holds_dataflow, run)):
        wrap_in_dataflow(run)

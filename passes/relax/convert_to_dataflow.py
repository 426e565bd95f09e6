"""Runs of pure bindings become dataflow blocks."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.traits import IsolatedFromAbove

from xdsl_tvm.analysis.relax.functions import relax_functions
from xdsl_tvm.dialects import relax
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.relax.canonicalize_bindings import CanonicalizeBindings
from xdsl_tvm.passes.relax.rewriting.bindings import LEAVES, may_stand_in_dataflow
from xdsl_tvm.passes.relax.rewriting.dataflow import holds_dataflow, wrap_in_dataflow


@dataclass(frozen=True)
class ConvertToDataflow(CompilerPass):
    """Summary: Puts runs of bindings without side effects into dataflow blocks.

    TVM name: relax.ConvertToDataflow (v0.20)
    Input form: any
    Output form: the same, where no two dataflow blocks stand side by side
    Options: `min_size`: the least number of bindings that make a block (2)
    Rewrites: before

            %a = relax.nn.relu %x : (!t) -> !t
            %b = relax.add %a, %x : (!t, !t) -> !t
            relax.print "{}"(%b) : (!t) -> ()

        after

            %b = relax.dataflow -> (!t) {
              %a = relax.nn.relu %x : (!t) -> !t
              %c = relax.add %a, %x : (!t, !t) -> !t
              relax.output %c : !t
            }
            relax.print "{}"(%b) : (!t) -> ()

        A run is as long as it can be: it ends at conditionals and calls with effects. A
        dataflow block in it is taken in whole, with blocks in it, and lets the run become
        a block however short it is. Constants, shapes and scalars are no bindings and do
        not count. The tuples that only the result is made of, right before the end,
        stay there. Branches and function literals are treated alike. Outputs are the
        values that are used after the run. `relax-canonicalize-bindings` runs at the
        end. Time is linear in the size of the module, for nesting of bounded depth.
    Leaves alone: runs that are too short; operations of other dialects with effects or
        regions, at which runs end; functions of other dialects
    Errors: those of `relax-canonicalize-bindings`
    Attributes: read: none; created: none; removed: those of dataflow blocks in a run
    Differs from TVM: a tuple that has a name and is returned under it is like one that is
        written as the result; TVM counts the first as a binding.
    """

    name = "relax-convert-to-dataflow"

    min_size: int = 2

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in relax_functions(op):
            if func.body.blocks:
                self._convert(func.body.block)
        CanonicalizeBindings().apply(ctx, op)

    def _convert(self, block: Block) -> None:
        run: list[Operation] = []
        result = _result(block)
        for op in list(block.ops):
            if op.regions and not isinstance(op, relax.DataflowOp):
                self._convert_inner(op)
            if op not in result and may_stand_in_dataflow(op):
                run.append(op)
                continue
            self._close(run)
            run = []
        self._close(run)

    def _convert_inner(self, op: Operation) -> None:
        if op.has_trait(IsolatedFromAbove):
            return
        for region in op.regions:
            for block in region.blocks:
                self._convert(block)

    def _close(self, run: list[Operation]) -> None:
        """Make a dataflow block of a run that is long enough."""
        is_block = [isinstance(op, relax.DataflowOp) for op in run]
        if len(run) == 1 and is_block[0] and not holds_dataflow(run[0]):
            return
        bindings = sum(not isinstance(op, LEAVES) for op in run)
        if any(is_block) or (bindings and bindings >= self.min_size):
            wrap_in_dataflow(run)


def _result(block: Block) -> set[Operation]:
    """The end of a block: what it gives, where that is a tuple that is made for it.

    TVM writes such tuples, and the leaves in them, as the body of the function.
    """
    if block.last_op is None:
        return set()
    found: set[Operation] = {block.last_op}
    op = block.last_op.prev_op
    while op is not None and isinstance(op, (relax.TupleOp, *LEAVES)):
        if not op.result.uses or any(
            use.operation not in found for use in op.result.uses
        ):
            break
        found.add(op)
        op = op.prev_op
    return found

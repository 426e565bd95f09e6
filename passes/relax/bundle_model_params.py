"""The weights of a function become one parameter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument, Operation
from xdsl.rewriter import InsertPoint, Rewriter

from xdsl_tvm.dialects import relax
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.relax.rewriting.call_sites import update_signature
from xdsl_tvm.passes.relax.rewriting.signatures import (
    input_count,
    only_calls,
    references,
)
from xdsl_tvm.passes.relax.rewriting.weights import reading_place


@dataclass(frozen=True)
class BundleModelParams(CompilerPass):
    """Summary: Makes one tuple of the weights that a function takes as parameters.

    TVM name: relax.BundleModelParams (v0.20)
    Input form: any
    Output form: the same; functions with `num_input` have one parameter more than that
    Options: `param_tuple_name`: the name of the parameter in the text ("model_params")
    Rewrites: before

            relax.func @main(%x: !x, %w: !w, %b: !b) -> !x attributes {num_input = 1} {
              %y = relax.matmul %x, %w : ...
              %z = relax.add %y, %b : ...

        after

            relax.func @main(%x: !x, %model_params: !relax.tuple<!w, !b>) -> !x
                attributes {num_input = 1} {
              %w = relax.get_item %model_params[0] : ...
              %y = relax.matmul %x, %w : ...
              %b = relax.get_item %model_params[1] : ...
              %z = relax.add %y, %b : ...

        A weight is read before each operation that uses it, by the literal for uses in a
        function literal. Calls in the module make the tuple. Time is linear in the size
        of the module.
    Leaves alone: functions without `num_input`
    Errors: a `num_input` that is no number of parameters; such a function that the
        module uses without calling it
    Attributes: read: `num_input`; created: none; removed: none
    Differs from TVM: an operation that uses a weight twice reads it once; calls in the
        module are changed, too
    """

    name = "relax-bundle-model-params"

    param_tuple_name: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        counts = {
            func: count
            for func in op.ops
            if isinstance(func, relax.FuncOp)
            and func.body.blocks
            and (count := input_count(func, self.name)) is not None
        }
        if not counts:
            return
        users = references(op)
        for func, count in counts.items():
            calls = only_calls(func, users.get(func.sym_name.data, ()), self.name)
            for call in calls:
                _bundle_arguments(call, count)
            self._bundle(func, func.args[count:])

    def _bundle(self, func: relax.FuncOp, weights: Sequence[BlockArgument]) -> None:
        block = func.body.block
        type_ = relax.TupleType.of(weight.type for weight in weights)
        bundle = block.insert_arg(type_, len(block.args))
        bundle.name_hint = self.param_tuple_name or "model_params"
        for index, weight in enumerate(weights):
            places: dict[Operation, relax.GetItemOp] = {}
            for use in list(weight.uses):
                place = reading_place(use.operation)
                if place not in places:
                    item = relax.GetItemOp(bundle, index)
                    item.result.name_hint = weight.name_hint
                    item.location = place.location
                    Rewriter.insert_op(item, InsertPoint.before(place))
                    places[place] = item
                use.operation.operands[use.index] = places[place].result
            block.erase_arg(weight)
        update_signature(func)


def _bundle_arguments(call: relax.CallOp, count: int) -> None:
    bundle = relax.TupleOp(call.arguments[count:])
    bundle.location = call.location
    Rewriter.insert_op(bundle, InsertPoint.before(call))
    call.operands = [*call.arguments[:count], bundle.result]

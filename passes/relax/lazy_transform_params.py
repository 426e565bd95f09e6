"""Weights are transformed one after the other, and each is given up when it is used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.relax.memory_sharing import Writers, values_with_written_memory
from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.located_builder import LocatedBuilder
from xdsl_tvm.dialects.relax.algebra import erase_symbols
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.relax._lazy_params.fetched_weights import (
    fetch_weights,
    parameter_symbols_of,
)
from xdsl_tvm.passes.relax._lazy_params.stored_results import store_results
from xdsl_tvm.passes.relax.kill_after_last_use import end_lives
from xdsl_tvm.passes.relax.rewriting.call_sites import update_signature
from xdsl_tvm.passes.relax.rewriting.signatures import input_count, references
from xdsl_tvm.passes.relax.rewriting.weights import reading_place
from xdsl_tvm.passes.relax.to_non_dataflow import inline_dataflow

_SUFFIX = "transform_params"


@dataclass(frozen=True)
class LazyTransformParams(CompilerPass):
    """Summary: Lets functions that transform weights read and write them one by one, by
        functions of the runtime.

    TVM name: relax.LazyTransformParams (v0.20)
    Input form: any; meant for after `relax-lift-transform-params`
    Output form: the same; functions whose names end in `transform_params` are impure and
        take no weights
    Options: `fget_item`: the function that gives a weight (get_item); `fset_item`: the
        function that takes a result, "" to return them (set_item);
        `extra_get_item_params`, `extra_set_item_params`: integers that are passed to
        them first (none)
    Rewrites: before

            relax.func @main_transform_params(%params: !relax.tuple<!w>)
                -> !relax.tuple<!t> {
              %w = relax.get_item %params[0] : ...
              %t = relax.permute_dims %w : (!w) -> !t
              %r = relax.tuple(%t) : !t
              relax.return %r : !relax.tuple<!t>

        after

            relax.func impure @main_transform_params() -> !relax.tuple<> {
              %i = relax.prim_value 0 : i64
              %o = relax.call_packed "get_item"(%i) : ... -> !relax.object
              %w = relax.match_cast %o : !relax.object -> !w
              relax.vm.kill_object %o : !relax.object
              %t = relax.permute_dims %w : (!w) -> !t
              relax.memory.kill_tensor %w : !w
              %j = relax.prim_value 0 : i64
              relax.call_packed "set_item"(%j, %t) : ...
              relax.memory.kill_tensor %t : !t
              %r = relax.tuple()
              relax.return %r : !relax.tuple<>

        Weights are the parameters from `num_input` on, all without it: the fields of a
        tuple, or the parameter itself, numbered through. Dataflow blocks become plain
        bindings. A weight is fetched once, before it is first needed, or at the start if
        it defines a symbol that the function uses. Values end their lives after their
        last use as in `relax-kill-after-last-use`. Time is linear in the size of the
        module, times the depth of blocks.
    Leaves alone: functions of other names
    Errors: a `num_input` that is no number of parameters; a parameter that stays and uses
        a symbol which only weights define; such a function that the module itself uses
    Attributes: read: `num_input`; created: none; removed: `relax.force_pure`
    Differs from TVM: further parameters are integers only; the result is an empty tuple
        where TVM returns one of placeholders. The life of a name that shares memory
        ends by itself.
    """

    name = "relax-lazy-transform-params"

    fget_item: str = "get_item"
    fset_item: str = "set_item"
    extra_get_item_params: tuple[int, ...] = ()
    extra_set_item_params: tuple[int, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        used, writers = references(op), Writers(op)
        for func in op.ops:
            if not isinstance(func, relax.FuncOp) or not func.body.blocks:
                continue
            if func.sym_name.data.endswith(_SUFFIX):
                if users := used.get(func.sym_name.data):
                    raise PassFailedException(
                        f"{self.name}: {users[0].name} uses @{func.sym_name.data}, which "
                        "would take no weights; call it from outside only"
                    )
                self._rewrite(func, values_with_written_memory(func, writers))

    def _rewrite(self, func: relax.FuncOp, written: set[SSAValue]) -> None:
        for dataflow in [op for op in func.walk() if isinstance(op, relax.DataflowOp)]:
            inline_dataflow(dataflow)
        count = input_count(func, self.name) or 0
        parameters = func.args[count:]
        visible = parameter_symbols_of(func, func.args[:count], self.name)
        weights = [field for arg in parameters for field in _fields(arg)]
        fetch_weights(func, weights, visible, self._fetch)
        for weight in weights:
            if isinstance(weight.owner, relax.GetItemOp):
                Rewriter.erase_op(weight.owner)
        for parameter in parameters:
            func.body.block.erase_arg(parameter)
        func.impure = UnitAttr()
        func.attributes.pop(relax.FORCE_PURE, None)
        update_signature(func, erase_symbols(func.output_type, visible))
        if self.fset_item:
            store_results(func, self._store, written)
        end_lives(func)

    def _fetch(self, builder: LocatedBuilder, index: int) -> SSAValue:
        numbers = [
            builder.insert(relax.PrimValueOp(number))
            for number in (*self.extra_get_item_params, index)
        ]
        return builder.insert(relax.CallPackedOp(self.fget_item, numbers, relax.OBJECT))

    def _store(self, index: int, value: SSAValue) -> list[Operation]:
        numbers = [
            relax.PrimValueOp(number) for number in (*self.extra_set_item_params, index)
        ]
        return [*numbers, relax.CallPackedOp(self.fset_item, [*numbers, value])]


def _fields(parameter: BlockArgument) -> Sequence[SSAValue]:
    """The fields of a tuple, each one value; another parameter itself."""
    type_ = parameter.type
    if not isinstance(type_, relax.TupleType):
        return [parameter]
    count = len(type_.fields.data)
    uses = list(parameter.uses)
    items = [relax.GetItemOp(parameter, index) for index in range(count)]
    for use in uses:
        user = use.operation
        if isinstance(user, relax.GetItemOp):
            item = items[user.index.value.data]
            item.result.name_hint = item.result.name_hint or user.result.name_hint
            user.result.replace_all_uses_with(item.result)
            Rewriter.erase_op(user)
        else:
            whole = relax.TupleOp(items)
            place = reading_place(user)
            whole.location = place.location
            Rewriter.insert_op(whole, InsertPoint.before(place))
            user.operands[use.index] = whole.result
    Rewriter.insert_op(items, InsertPoint.at_start(parameter.block))
    return [item.result for item in items]

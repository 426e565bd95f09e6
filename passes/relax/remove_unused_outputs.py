"""Fields of results that no call reads go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from xdsl_tvm.dialects import relax
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.relax.canonicalize_bindings import CanonicalizeBindings
from xdsl_tvm.passes.relax.dead_code_elimination import DeadCodeElimination
from xdsl_tvm.passes.relax.rewriting.call_sites import (
    PrivateFunction,
    private_functions,
    update_signature,
)


@dataclass(frozen=True)
class RemoveUnusedOutputs(CompilerPass):
    """Summary: Removes fields from the tuples that private functions return, if no call
        reads them.

    TVM name: relax.RemoveUnusedOutputs (v0.20)
    Input form: any
    Output form: private functions that only calls reach return what some call reads
    Options: none
    Rewrites: before

            relax.func @main(%x: !t) -> !t attributes {global_symbol = "main"} {
              %p = relax.call @f(%x) : (!t) -> !relax.tuple<!t, !t>
              %r = relax.get_item %p[1] : !relax.tuple<!t, !t> -> !t
              relax.return %r : !t
            }
            relax.func @f(%x: !t) -> !relax.tuple<!t, !t> {
              %a = relax.exp %x : (!t) -> !t
              %p = relax.tuple(%a, %x) : !t, !t
              relax.return %p : !relax.tuple<!t, !t>
            }

        after

            relax.func @main(%x: !t) -> !t attributes {global_symbol = "main"} {
              %r = relax.call @f(%x) : (!t) -> !t
              relax.return %r : !t
            }
            relax.func @f(%x: !t) -> !t {
              relax.return %x : !t
            }

        What several calls read stays; a single field that is left is returned without a
        tuple. What is not needed then goes with `relax-canonicalize-bindings` and
        `relax-dead-code-elimination`, which run over the module if a function was
        changed. Time is linear in the size of the module.
    Leaves alone: public functions; functions that are used as values or that an attribute
        names; functions that nothing calls; results that a call passes on as a whole;
        fields of tuples in tuples
    Errors: those of the passes that run at its end
    Attributes: read: `global_symbol`; created: none; removed: none
    Differs from TVM: where no field is read, TVM returns an empty tuple, and so does
        this. Fields of a call's result are replaced one by one, without a tuple that
        holds a scalar NaN for what is gone. A call with effects stays also if nothing
        reads what it gives; TVM 0.27 removes it.
    """

    name = "relax-remove-unused-outputs"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        changed = False
        for private in private_functions(op):
            kept = _read_fields(private)
            if kept is not None:
                changed = True
                for call in private.calls:
                    _rewrite_call(call, kept)
                _rewrite_function(private.func, kept)
        if changed:
            CanonicalizeBindings().apply(ctx, op)
            DeadCodeElimination().apply(ctx, op)


def _read_fields(private: PrivateFunction) -> list[int] | None:
    """The fields of the result that some call reads; None if those are all."""
    type_ = private.func.output_type
    if not isinstance(type_, relax.TupleType):
        return None
    if not isinstance(private.func.return_op.value.type, relax.TupleType):
        return None
    read = set[int]()
    for call in private.calls:
        if call.result is None or not isinstance(call.result.type, relax.TupleType):
            return None
        for use in call.result.uses:
            if not isinstance(use.operation, relax.GetItemOp):
                return None
            read.add(use.operation.index.value.data)
    return None if len(read) == len(type_.fields) else sorted(read)


def _rewrite_call(call: relax.CallOp, kept: Sequence[int]) -> None:
    assert call.result is not None
    assert isinstance(call.result.type, relax.TupleType)
    fields = call.result.type.fields.data
    types = [fields[index] for index in kept]
    new = relax.CallOp(
        call.callee,
        call.arguments,
        types[0] if len(types) == 1 else relax.TupleType.of(types),
        impure=not call.is_pure,
    )
    new.attributes, new.location = call.attributes, call.location
    Rewriter.insert_op(new, InsertPoint.before(call))
    assert new.result is not None
    for use in list(call.result.uses):
        item = use.operation
        assert isinstance(item, relax.GetItemOp), "checked before"
        position = kept.index(item.index.value.data)
        value: SSAValue | Operation = new.result
        if len(types) > 1:
            value = relax.GetItemOp(value, position)
            value.location = item.location
            Rewriter.insert_op(value, InsertPoint.before(item))
        Rewriter.replace_op(item, [], [SSAValue.get(value)])
    new.result.name_hint = call.result.name_hint
    Rewriter.erase_op(call)


def _rewrite_function(func: relax.FuncOp, kept: Sequence[int]) -> None:
    result = func.return_op
    items = [relax.GetItemOp(result.value, index) for index in kept]
    ops: list[Operation] = [*items]
    if len(items) != 1:
        ops.append(relax.TupleOp(items))
    for op in ops:
        op.location = result.location
    Rewriter.insert_op(ops, InsertPoint.before(result))
    result.operands[0] = ops[-1].results[0]
    assert isinstance(func.output_type, relax.TupleType)
    types = [func.output_type.fields.data[index] for index in kept]
    output = types[0] if len(types) == 1 else relax.TupleType.of(types)
    update_signature(func, output)

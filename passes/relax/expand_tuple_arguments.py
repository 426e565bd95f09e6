"""Parameters that are tuples become parameters for their fields."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.name_hints import set_name_hint
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.relax.canonicalize_bindings import CanonicalizeBindings
from xdsl_tvm.passes.relax.dead_code_elimination import DeadCodeElimination
from xdsl_tvm.passes.relax.rewriting.call_sites import private_functions, update_signature
from xdsl_tvm.passes.relax.rewriting.symbols import hide_symbols


@dataclass(frozen=True)
class ExpandTupleArguments(CompilerPass):
    """Summary: Gives private functions a parameter for each field of a tuple, in place of
        the tuple.

    TVM name: relax.ExpandTupleArguments (v0.20)
    Input form: any
    Output form: private functions that only calls reach take no tuples
    Options: none
    Rewrites: before

            relax.func @main(%x: !t) -> !t attributes {global_symbol = "main"} {
              %p = relax.tuple(%x, %x) : !t, !t
              %r = relax.call @f(%p) : (!relax.tuple<!t, !t>) -> !t
              relax.return %r : !t
            }
            relax.func @f(%p: !relax.tuple<!t, !t>) -> !t {
              %a = relax.get_item %p[1] : !relax.tuple<!t, !t> -> !t
              relax.return %a : !t
            }

        after

            relax.func @main(%x: !t) -> !t attributes {global_symbol = "main"} {
              %r = relax.call @f(%x, %x) : (!t, !t) -> !t
              relax.return %r : !t
            }
            relax.func @f(%p_0: !t, %p_1: !t) -> !t {
              relax.return %p_1 : !t
            }

        Tuples in tuples as well. What packs and unpacks the fields goes with
        `relax-canonicalize-bindings` and `relax-dead-code-elimination`, which run over
        the module if a function was changed. Time is linear in the size of the module.
    Leaves alone: public functions; functions that are used as values or that an attribute
        names; functions that nothing calls, or that a function literal calls with a
        tuple from outside whose type uses symbols; modules with nothing to do
    Errors: those of the passes that run at its end
    Attributes: read: `global_symbol`; created: none; removed: none
    Differs from TVM: a private function that is also used as a value stays as it is;
        TVM changes it, and the value is then of a function that is not there.
    """

    name = "relax-expand-tuple-arguments"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        changed = False
        for private in private_functions(op):
            tuples = [_is_tuple(arg) for arg in private.func.args]
            if not any(tuples) or any(map(_hides_fields, private.calls)):
                continue
            changed = True
            for call in private.calls:
                _expand_call(call, tuples)
            _expand_function(private.func)
        if changed:
            CanonicalizeBindings().apply(ctx, op)
            DeadCodeElimination().apply(ctx, op)


def _is_tuple(value: SSAValue) -> bool:
    return isinstance(value.type, relax.TupleType)


def _hides_fields(call: relax.CallOp) -> bool:
    """Whether fields of an argument have types that cannot be written at the call."""
    return hide_symbols(filter(_is_tuple, call.arguments), call)


def _expand_call(call: relax.CallOp, tuples: list[bool]) -> None:
    arguments: list[SSAValue] = []
    for value, is_tuple in zip(call.arguments, tuples, strict=True):
        if is_tuple:
            fields, ops = _fields(value)
            for op in ops:
                op.location = call.location
            Rewriter.insert_op(ops, InsertPoint.before(call))
            arguments += fields
        else:
            arguments.append(value)
    call.operands = arguments


def _fields(value: SSAValue) -> tuple[list[SSAValue], list[Operation]]:
    """The fields of a tuple, those of tuples in it in their place, and ops for them."""
    type_ = value.type
    if not isinstance(type_, relax.TupleType):
        return [value], []
    fields: list[SSAValue] = []
    ops: list[Operation] = []
    for index in range(len(type_.fields)):
        item = relax.GetItemOp(value, index)
        inner_fields, inner_ops = _fields(item.result)
        fields += inner_fields
        ops += [item, *inner_ops]
    return fields, ops


def _expand_function(func: relax.FuncOp) -> None:
    place = InsertPoint.at_start(func.body.block)
    for arg in func.args:
        if _is_tuple(arg):
            value = _rebuild(arg, arg.type, arg.name_hint, place)
            arg.replace_all_uses_with(value)
            func.body.block.erase_arg(arg)
    update_signature(func)


def _rebuild(
    arg: BlockArgument, type_: Attribute, hint: str | None, place: InsertPoint
) -> SSAValue:
    """Add parameters for what `type_` holds before `arg`; the value made of them."""
    if not isinstance(type_, relax.TupleType):
        parameter = arg.block.insert_arg(type_, arg.index)
        set_name_hint(parameter, hint)
        return parameter
    new = relax.TupleOp(
        [
            _rebuild(arg, field, None if hint is None else f"{hint}_{number}", place)
            for number, field in enumerate(type_.fields.data)
        ]
    )
    function = arg.block.parent_op()
    assert function is not None
    new.location = function.location
    Rewriter.insert_op(new, place)
    return new.result

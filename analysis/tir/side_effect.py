"""The side effect of an expression: TVM's `SideEffect` (docs/spec/tir-ir.md §4.1).

It bounds what it changes to evaluate the expression once more, elsewhere or not at all:

* `PURE` expressions may be duplicated, moved and dropped freely;
* those of `READ_STATE` may be dropped, and moved where no write to their memory is
  between;
* all others, `UPDATE_STATE`, stay as they are.

Whether a statement is without effect, so that passes may erase it or a branch of it, is
decided by `does_nothing` alone.
"""

from __future__ import annotations

from xdsl.ir import Operation, Region, SSAValue
from xdsl.traits import MemoryEffect, MemoryEffectKind, RecursiveMemoryEffect

from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.by_class import of_classes
from xdsl_tvm.dialects.tir import CallEffect


def side_effect(item: SSAValue | Operation) -> CallEffect:
    """The largest effect in the expression of a value, or of an op on its operands.

    `PURE`, `READ_STATE` or `UPDATE_STATE`: the kinds above, which only call for care,
    count as the last. A load reads; a call has the effect that the table of builtins
    gives to it, a function of the module and an unknown builtin update; an op of another
    dialect has the effects that it declares, and updates if it declares none. Both
    branches of a choice count. The expression ends at variables: arguments of blocks,
    buffers, allocations, and what a `tir.let` of a statement binds.

    Linear in the ops of the value, however often they are used. Differs from TVM:
    predicates of loads count, as they are evaluated.
    """
    first = item.owner if isinstance(item, SSAValue) else item
    if not isinstance(first, Operation):
        return CallEffect.PURE
    found = CallEffect.PURE
    seen: set[Operation] = {first}
    stack = [first]
    while stack:
        op = stack.pop()
        # Asked for a statement, one means what it does; after a value, its variable.
        if op is not item and _is_variable(op):
            continue
        found = max(found, own_effect(op))
        if found >= CallEffect.UPDATE_STATE:
            return CallEffect.UPDATE_STATE
        for part in _parts(op):
            if part not in seen:
                seen.add(part)
                stack.append(part)
    return found


def _parts(op: Operation) -> list[Operation]:
    """The ops whose values an op uses, and those it holds."""
    parts = [value.owner for value in op.operands if isinstance(value.owner, Operation)]
    for region in op.regions:
        for block in region.blocks:
            parts += block.ops
    return parts


def _is_variable(op: Operation) -> bool:
    """Whether the results of an op are variables, whatever they have been computed of."""
    match op:
        case tir.LetOp():
            return op.kind.data is tir.LetKind.STMT
        case tir.ShapeVarOp() | tir.AllocateOp() | tir.AllocateConstOp():
            return True
        case _:
            return isinstance(op, tir.BufferDefinition)


def own_effect(op: Operation) -> CallEffect:
    """The effect of an op without that of its operands and regions."""
    name = tir.builtin_name(op)
    if name is not None:
        known = tir.INTRINSICS.get(name)
        return CallEffect.UPDATE_STATE if known is None else known.effect
    kinds: set[MemoryEffectKind] = set()
    traits = op.get_traits_of_type(MemoryEffect)
    for trait in traits:
        # What is inside of an op is looked at by itself, once.
        effects = (
            trait.get_effects(op) if type(trait) is not RecursiveMemoryEffect else ()
        )
        if effects is None:
            return CallEffect.UPDATE_STATE
        kinds |= {effect.kind for effect in effects}
    if not traits or kinds - {MemoryEffectKind.ALLOC, MemoryEffectKind.READ}:
        return CallEffect.UPDATE_STATE
    is_read = MemoryEffectKind.READ in kinds
    return CallEffect.READ_STATE if is_read else CallEffect.PURE


_EFFECTIVE_KEYS = (
    "async_commit_queue_scope",
    "async_wait_inflight_count",
    "async_wait_queue_scope",
    "pragma_import_",
)
"""Beginnings of the keys of attributes that have an effect with nothing in them."""
_CONTROL_FLOW = (
    tir.ForOp,
    tir.IfOp,
    tir.IfThenElseOp,
    tir.LaunchThreadOp,
    tir.ScopeOp,
    tir.YieldOp,
)


def is_assume(op: Operation) -> bool:
    """Whether it is a call of `assume`."""
    return _is_call(op) and op.callee.data == "assume"


def does_nothing(item: Operation | Region) -> bool:
    """Whether a statement, or all of a region, may be erased where no result is used.

    Evaluations, computations, loads, bindings, allocations and declarations do nothing,
    nor do branches, loops that end, scopes and attributes if all in them does nothing. An
    assumption is information, an assertion may fail, a prefetch is a hint, and a
    `tir.while` may not end: they are kept, as are blocks, calls that update state, and
    attributes that wait for, commit or import something. Linear in what the item holds.
    """
    return all(map(op_does_nothing, item.walk()))


def op_does_nothing(op: Operation) -> bool:
    """Whether an op does nothing, without what its regions hold; see `does_nothing`."""
    if _acts_alone(op):
        return False
    if _is_control_flow(op):
        return True
    if _is_attribute(op):
        return not op.key.data.startswith(_EFFECTIVE_KEYS)
    return (
        not op.regions
        and not is_assume(op)
        and (own_effect(op) <= CallEffect.READ_STATE or _is_operand(op))
    )


_acts_alone = of_classes(tir.AssertOp, tir.PrefetchOp)
_is_control_flow = of_classes(tir.EvaluateOp, *_CONTROL_FLOW)
_is_attribute = of_classes(tir.AttrOp)
_is_call = of_classes(tir.CallOp)


def _is_operand(op: Operation) -> bool:
    """Whether it is a call that means something only as operand of another op."""
    name = tir.builtin_name(op)
    known = None if name is None else tir.INTRINSICS.get(name)
    return known is not None and known.effect in (
        CallEffect.SPECIAL_CALL_ARG,
        CallEffect.EMBED_INFO,
    )

"""Results that a function hands out as soon as it has them."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import TypeAlias

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from xdsl_tvm.dialects import relax
from xdsl_tvm.passes.relax.rewriting.bindings import LEAVES
from xdsl_tvm.passes.relax.rewriting.call_sites import update_signature

Store: TypeAlias = Callable[[int, SSAValue], list[Operation]]
"""What hands out the result of a number."""


def store_results(
    func: relax.FuncOp, store: Store, written: AbstractSet[SSAValue]
) -> None:
    """Hand out the fields of a function's result, or the result, where they are made.

    Parameters are handed out at the start; constants, and `written` values, whose memory
    something writes after they were made, at the end. The function returns nothing then,
    and has effects.
    """
    last = func.return_op
    after: dict[Operation | Block, Operation] = {}
    results = _results(last.value, last)
    for index, value in enumerate(results):
        ops = store(index, value)
        owner = value.owner
        is_last = isinstance(owner, LEAVES) or value in written
        if is_last:
            place = InsertPoint.before(last)
        elif owner in after:
            place = InsertPoint.after(after[owner])
        elif isinstance(owner, Block):
            place = InsertPoint.at_start(owner)
        else:
            place = InsertPoint.after(owner)
        source = last if isinstance(owner, Block) else owner
        for op in ops:
            op.location = source.location
        Rewriter.insert_op(ops, place)
        if not is_last:
            after[owner] = ops[-1]
    returned = last.value.owner
    nothing = relax.TupleOp([])
    nothing.location = last.location
    Rewriter.insert_op(nothing, InsertPoint.before(last))
    last.operands[0] = nothing.result
    if isinstance(returned, relax.TupleOp) and returned.result.first_use is None:
        Rewriter.erase_op(returned)
    func.impure = UnitAttr()
    func.attributes.pop(relax.FORCE_PURE, None)
    update_signature(func, relax.VOID)


def _results(value: SSAValue, last: Operation) -> list[SSAValue]:
    """The fields of a tuple, or the value itself."""
    type_, owner = value.type, value.owner
    if not isinstance(type_, relax.TupleType):
        return [value]
    if isinstance(owner, relax.TupleOp):
        return list(owner.operands)
    items = [relax.GetItemOp(value, index) for index in range(len(type_.fields.data))]
    for item in items:
        item.location = last.location
    if isinstance(owner, Block):
        Rewriter.insert_op(items, InsertPoint.at_start(owner))
    else:
        Rewriter.insert_op(items, InsertPoint.after(owner))
    return [item.result for item in items]

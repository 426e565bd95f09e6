"""Dataflow blocks: their outputs, and what is visible behind them."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.rewriter import Rewriter

from xdsl_tvm.dialects import relax


def keep_outputs(dataflow: relax.DataflowOp, kept: Sequence[int]) -> relax.DataflowOp:
    """Drop all outputs of a dataflow block but the given ones, which are in order.

    What is dropped must not be used. Returns the operation that is there now.
    """
    if len(kept) == len(dataflow.outputs):
        return dataflow
    output = dataflow.output_op
    output.operands = [output.values[index] for index in kept]
    new = relax.DataflowOp.create(
        result_types=[dataflow.outputs[index].type for index in kept],
        attributes=dataflow.attributes,
        regions=[dataflow.detach_region(dataflow.body)],
        location=dataflow.location,
    )
    results: list[SSAValue | None] = [None] * len(dataflow.outputs)
    for index, result in zip(kept, new.results, strict=True):
        result.name_hint = dataflow.outputs[index].name_hint
        results[index] = result
    Rewriter.replace_op(dataflow, new, results)
    return new


def retype_outputs(dataflow: relax.DataflowOp) -> dict[SSAValue, SSAValue]:
    """Give the results of a dataflow block the types of its outputs.

    Returns the results that were replaced, each with the new one.
    """
    return {
        result: Rewriter.replace_value_with_new_type(result, value.type)
        for value, result in zip(dataflow.output_op.values, dataflow.outputs, strict=True)
        if result.type != value.type
    }


def inner_value(value: SSAValue) -> SSAValue:
    """The value in a dataflow block that is visible behind it as `value`."""
    while isinstance(value, OpResult) and isinstance(value.op, relax.DataflowOp):
        value = value.op.output_op.values[value.index]
    return value


def defining_block(value: SSAValue) -> Block | None:
    """The block that a value is made in, or is an argument of."""
    owner = value.owner
    return owner if isinstance(owner, Block) else owner.parent


def is_within(op: Operation, block: Block) -> bool:
    """Whether an operation stands in a block, or in one that the block holds."""
    parent = op.parent
    while parent is not None:
        if parent is block:
            return True
        around = parent.parent_op()
        parent = None if around is None else around.parent
    return False

"""Dataflow blocks: their outputs, and what is visible after them."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, Operation, OpResult, Region, SSAValue
from xdsl.rewriter import Rewriter

from xdsl_tvm.analysis.derivation import chain
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
    """The value in a dataflow block that is visible after it as `value`."""
    *_, found = chain(value, _output_of)
    return found


def _output_of(value: SSAValue) -> SSAValue | None:
    if isinstance(value, OpResult) and isinstance(value.op, relax.DataflowOp):
        return value.op.output_op.values[value.index]
    return None


def defining_block(value: SSAValue) -> Block | None:
    """The block that a value is made in, or is an argument of."""
    owner = value.owner
    return owner if isinstance(owner, Block) else owner.parent


def is_within(op: Operation, block: Block) -> bool:
    """Whether an operation is in a block, or in one that the block holds."""
    parent = op.parent
    while parent is not None:
        if parent is block:
            return True
        around = parent.parent_op()
        parent = None if around is None else around.parent
    return False


def wrap_in_dataflow(run: Sequence[Operation]) -> relax.DataflowOp:
    """Put operations of one block, in order, into a dataflow block at the last of them.

    Dataflow blocks among them are taken in with what they hold. The outputs are the
    values that are used outside.
    """
    parent = run[0].parent
    following = run[-1].next_op
    assert parent is not None
    assert following is not None, "a block ends with a terminator"
    body = Block()
    for op in run:
        op.detach()
        _move(op, body)
    values = [
        result
        for op in body.ops
        for result in op.results
        if any(not is_within(use.operation, body) for use in result.uses)
    ]
    body.add_op(relax.OutputOp(*values))
    dataflow = relax.DataflowOp([value.type for value in values], Region(body))
    dataflow.location = run[0].location
    parent.insert_op_before(dataflow, following)
    for value, result in zip(values, dataflow.outputs, strict=True):
        result.name_hint = value.name_hint
        value.replace_uses_with_if(result, lambda use: not is_within(use.operation, body))
    return dataflow


def holds_dataflow(op: Operation) -> bool:
    """Whether an operation with a region holds a dataflow block itself."""
    return any(isinstance(each, relax.DataflowOp) for each in op.regions[0].block.ops)


def _move(op: Operation, body: Block) -> None:
    """Move a detached operation, or what a dataflow block holds, to the end of `body`."""
    if not isinstance(op, relax.DataflowOp):
        body.add_op(op)
        return
    output = op.output_op
    for inner in list(op.body.block.ops):
        inner.detach()
        if inner is not output:
            _move(inner, body)
    # Values of blocks inside may have been replaced.
    values = tuple(output.values)
    for value, result in zip(values, op.outputs, strict=True):
        result.replace_all_uses_with(value)
    output.erase()
    op.erase()

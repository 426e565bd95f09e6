"""Structured control flow to branches between blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects import arith, cf, gpu, scf
from xdsl.dialects.builtin import (
    DenseArrayBase,
    DenseIntElementsAttr,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    VectorType,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from xdsl_tvm.dialects.quick_operation import create, segments
from xdsl_tvm.dialects.tvm_llvm import LoopAttr
from xdsl_tvm.lowering.integer_constants import integer_constant
from xdsl_tvm.lowering.to_llvm._conversion import fail
from xdsl_tvm.passes.infra import CompilerPass

LOOP_KEY = LoopAttr.name
"""Attribute of a loop that moves to the branch that closes the loop."""

_SLT = IntegerAttr(2, i64)
_MAY_OVERFLOW = arith.IntegerOverflowAttr("none")
_NO_OVERFLOW = arith.IntegerOverflowAttr([arith.IntegerOverflowFlag.NSW])


@dataclass(frozen=True)
class ConvertSCFToCF(CompilerPass):
    """Summary: Turns structured loops and conditionals into branches between blocks.

    TVM name: none (ours)
    Input form: any verified IR; scf operations are in a region that may hold several
        blocks (a function's, or that of an operation which allows branches)
    Output form: no scf operation outside regions that must have a single block
    Options: none
    Rewrites: the operations after a loop or conditional move to a new block, whose
        arguments stand for the results
            %r = scf.for %i = %lb to %ub step %s iter_args(%a = %x) -> (f32) {
              scf.yield %y : f32
            }
          →
            cf.br ^head(%lb, %x : index, f32)
          ^head(%i : index, %a : f32):
            %c = arith.cmpi slt, %i, %ub : index
            cf.cond_br %c, ^body, ^end
          ^body:
            %n = arith.addi %i, %s : index
            cf.br ^head(%n, %y : index, f32)
          ^end:
        A loop of constant bounds that runs at least once, and whose variable does not
        overflow, is tested at its end; not in kernels of gpu.func, which take fewer
        instructions where LLVM rotates their loops
            %c0 = arith.constant 0 : index
            %r = scf.for %i = %c0 to %c8 step %c1 iter_args(%a = %x) -> (f32) {
              scf.yield %y : f32
            }
          →
            cf.br ^body(%c0, %x : index, f32)
          ^body(%i : index, %a : f32):
            %n = arith.addi %i, %c1 overflow<nsw> : index
            %c = arith.cmpi slt, %n, %c8 : index
            cf.cond_br %c, ^body(%n, %y : index, f32), ^end
          ^end:
        scf.if, scf.while, scf.index_switch and scf.execute_region likewise;
        scf.parallel becomes a sequential nest in which the innermost loop combines the
        reductions, in iteration order
    Leaves alone: foreign operations; scf operations in the single block of a foreign
        region-holding operation
    Errors: an scf operation whose body does not end in its own terminator
    Attributes: read: `tvm_llvm.loop` of scf.for, scf.while and scf.parallel; created:
        the same attribute on the branch that closes the (innermost) loop; removed: none
    Differs from TVM: TVM generates LLVM code from loops directly
    """

    name = "tvm-convert-scf-to-cf"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        worklist: list[Region] = list(op.regions)
        while worklist:
            region = worklist.pop()
            if _is_graph_like(region):
                for block in region.blocks:
                    for inner in block.ops:
                        worklist.extend(inner.regions)
            else:
                _Flattener(region, worklist).run()


def _is_graph_like(region: Region) -> bool:
    """Whether the region holds symbols or ends without a branching terminator.

    Only regions of function-like operations can take more blocks; a region whose owner
    demands one block is walked through, not flattened.
    """
    owner = region.parent_op()
    return owner is None or not _takes_blocks(owner)


def _takes_blocks(owner: Operation) -> bool:
    # xDSL has no trait for this: function-like operations are known by their
    # signature, and scf.execute_region is the one scf operation with a CFG.
    return (
        "function_type" in owner.properties
        or "function_type" in owner.attributes
        or isinstance(owner, scf.ExecuteRegionOp)
    )


def _is_on_gpu(region: Region) -> bool:
    owner = region.parent_op()
    while owner is not None and not isinstance(owner, gpu.ModuleOp | gpu.FuncOp):
        owner = owner.parent_op()
    return owner is not None


class _Flattener:
    """Flattens the scf operations of one region, in one sweep over each block.

    An operation moves at most once: the operations after a structured one are taken
    off their block together and dealt to the blocks that follow.
    """

    def __init__(self, region: Region, outer: list[Region]):
        self.region = region
        self.outer = outer
        self.pending: list[Block] = list(reversed(region.blocks))
        self.is_on_gpu = _is_on_gpu(region)

    def run(self) -> None:
        while self.pending:
            self._flatten_block(self.pending.pop())

    def _flatten_block(self, block: Block) -> None:
        first = None
        for op in block.ops:
            if type(op) in _HANDLERS:
                first = op
                break
            self.outer.extend(op.regions)
        if first is None:
            return
        rest: list[Operation] = []
        op: Operation | None = first
        while op is not None:
            following = op.next_op
            op.detach()
            rest.append(op)
            op = following
        for op in rest:
            handler = _HANDLERS.get(type(op))
            if handler is None:
                block.add_op(op)
                self.outer.extend(op.regions)
            else:
                block = handler(self, op, block)
                op.erase()

    # -- helpers of the handlers

    def new_block(self, after: Block, types: Sequence[Attribute] = ()) -> Block:
        block = Block(arg_types=types)
        self.region.insert_block_after(block, after)
        return block

    def adopt(self, region: Region, after: Block) -> list[Block]:
        """Moves the blocks of `region` after `after`, to be flattened recursively."""
        blocks = list(region.blocks)
        for block in blocks:
            region.detach_block(block)
        self.region.insert_block_after(blocks, after)
        self.pending.extend(reversed(blocks))
        return blocks

    def continue_with(self, op: Operation, after: Block) -> Block:
        """The block that follows `op`; its arguments replace the results of `op`."""
        block = self.new_block(after, op.result_types)
        for result, arg in zip(op.results, block.args, strict=True):
            arg.name_hint = result.name_hint
            arg.location = op.location
            result.replace_all_uses_with(arg)
        return block


def _branch(source: Operation, target: Block, args: Sequence[SSAValue]) -> cf.BranchOp:
    return create(
        cf.BranchOp, operands=args, successors=[target], location=source.location
    )


def _cond_branch(
    source: Operation,
    condition: SSAValue,
    then: tuple[Block, Sequence[SSAValue]],
    otherwise: tuple[Block, Sequence[SSAValue]],
) -> cf.ConditionalBranchOp:
    return create(
        cf.ConditionalBranchOp,
        operands=[condition, *then[1], *otherwise[1]],
        successors=[then[0], otherwise[0]],
        properties={"operandSegmentSizes": segments(1, len(then[1]), len(otherwise[1]))},
        location=source.location,
    )


def _take_terminator(op: Operation, block: Block, kind: type[Operation]) -> Operation:
    """Detaches the terminator of `block`, which still uses its operands."""
    last = block.last_op
    if not isinstance(last, kind):
        raise fail(op, f"its body must end in '{kind.name}'")
    last.detach()
    return last


def _take_operands(terminator: Operation) -> list[SSAValue]:
    """The operands of a detached terminator, which gives up its uses of them."""
    operands = list(terminator.operands)
    terminator.drop_all_references()
    return operands


def _less(source: Operation, lhs: SSAValue, rhs: SSAValue) -> Operation:
    return create(
        arith.CmpiOp,
        operands=[lhs, rhs],
        result_types=[i1],
        properties={"predicate": _SLT},
        location=source.location,
    )


def _add(
    source: Operation,
    lhs: SSAValue,
    rhs: SSAValue,
    flags: arith.IntegerOverflowAttr,
) -> Operation:
    return create(
        arith.AddiOp,
        operands=[lhs, rhs],
        result_types=[lhs.type],
        properties={"overflowFlags": flags},
        location=source.location,
    )


def _keep_hints(source: Operation, latch: Operation) -> None:
    hints = source.attributes.get(LOOP_KEY)
    if hints is not None:
        latch.attributes[LOOP_KEY] = hints


def _replace_args(body: Block, values: Sequence[SSAValue], named: bool = True) -> None:
    """Replaces the arguments of `body` by `values` and drops them."""
    for value, old in zip(values, body.args, strict=True):
        if named:
            value.name_hint = old.name_hint
        old.replace_all_uses_with(value)
    for old in reversed(body.args):
        body.erase_arg(old)


def _runs(lower: SSAValue, upper: SSAValue, step: SSAValue) -> bool:
    """Whether a loop is known to run, and its variable not to overflow."""
    first, end, by = map(integer_constant, (lower, upper, step))
    if first is None or end is None or by is None:
        return False
    width = 64
    if isinstance(lower.type, IntegerType):
        width = cast("IntegerType", lower.type).bitwidth
    return first < end and by > 0 and end - 1 + by < 1 << (width - 1)


def _lower_for(sweep: _Flattener, op: Operation, block: Block) -> Block:
    lower, upper, step, *init = op.operands
    if not sweep.is_on_gpu and _runs(lower, upper, step):
        return _lower_for_that_runs(sweep, op, block)
    body = op.regions[0].block
    terminator = _take_terminator(op, body, scf.YieldOp)
    head = sweep.new_block(block, [lower.type, *(value.type for value in init)])
    _replace_args(body, head.args)
    sweep.adopt(op.regions[0], head)
    end = sweep.new_block(body)
    for result, arg in zip(op.results, head.args[1:], strict=True):
        result.replace_all_uses_with(arg)

    block.add_op(_branch(op, head, [lower, *init]))
    test = _less(op, head.args[0], upper)
    head.add_op(test)
    head.add_op(_cond_branch(op, test.results[0], (body, ()), (end, ())))
    following = _add(op, head.args[0], step, _MAY_OVERFLOW)
    body.add_op(following)
    carried = _take_operands(terminator)
    latch = _branch(terminator, head, [following.results[0], *carried])
    _keep_hints(op, latch)
    body.add_op(latch)
    return end


def _lower_for_that_runs(sweep: _Flattener, op: Operation, block: Block) -> Block:
    """A loop that is tested at its end, after which it has run."""
    lower, upper, step, *init = op.operands
    body = op.regions[0].block
    terminator = _take_terminator(op, body, scf.YieldOp)
    sweep.adopt(op.regions[0], block)
    end = sweep.new_block(body)
    carried = _take_operands(terminator)
    for result, value in zip(op.results, carried, strict=True):
        result.replace_all_uses_with(value)
    block.add_op(_branch(op, body, [lower, *init]))
    following = _add(op, body.args[0], step, _NO_OVERFLOW)
    body.add_op(following)
    test = _less(op, following.results[0], upper)
    body.add_op(test)
    again = (body, [following.results[0], *carried])
    latch = _cond_branch(terminator, test.results[0], again, (end, ()))
    _keep_hints(op, latch)
    body.add_op(latch)
    return end


def _lower_if(sweep: _Flattener, op: Operation, block: Block) -> Block:
    end = sweep.continue_with(op, block)
    then_region, else_region = op.regions
    otherwise = end
    if else_region.first_block is not None:
        otherwise = _inline_branch(sweep, op, else_region, block, end)
    then = _inline_branch(sweep, op, then_region, block, end)
    block.add_op(_cond_branch(op, op.operands[0], (then, ()), (otherwise, ())))
    return end


def _inline_branch(
    sweep: _Flattener, op: Operation, region: Region, after: Block, end: Block
) -> Block:
    """Puts the blocks of `region` after `after`; each yield branches to `end`."""
    blocks = list(region.blocks)
    for block in blocks:
        if len(blocks) > 1 and not isinstance(block.last_op, scf.YieldOp):
            continue
        terminator = _take_terminator(op, block, scf.YieldOp)
        block.add_op(_branch(terminator, end, _take_operands(terminator)))
    sweep.adopt(region, after)
    return blocks[0]


def _lower_execute_region(sweep: _Flattener, op: Operation, block: Block) -> Block:
    end = sweep.continue_with(op, block)
    entry = _inline_branch(sweep, op, op.regions[0], block, end)
    block.add_op(_branch(op, entry, ()))
    return end


def _lower_while(sweep: _Flattener, op: Operation, block: Block) -> Block:
    before_region, after_region = op.regions
    before, after = before_region.block, after_region.block
    condition = _take_terminator(op, before, scf.ConditionOp)
    terminator = _take_terminator(op, after, scf.YieldOp)
    end = sweep.continue_with(op, block)
    sweep.adopt(after_region, block)
    sweep.adopt(before_region, block)
    test, *passed = _take_operands(condition)
    before.add_op(_cond_branch(condition, test, (after, passed), (end, passed)))
    latch = _branch(terminator, before, _take_operands(terminator))
    _keep_hints(op, latch)
    after.add_op(latch)
    block.add_op(_branch(op, before, op.operands))
    return end


def _lower_index_switch(sweep: _Flattener, op: Operation, block: Block) -> Block:
    assert isinstance(op, scf.IndexSwitchOp)
    end = sweep.continue_with(op, block)
    targets = [
        _inline_branch(sweep, op, region, block, end) for region in reversed(op.regions)
    ]
    targets.reverse()
    cases = [int(case) for case in op.cases.get_values()]
    if not cases:
        block.add_op(_branch(op, targets[0], ()))
        return end
    # cf.switch takes integers; index is 64 bits wide from here on down.
    flag = create(
        arith.IndexCastOp,
        operands=[op.operands[0]],
        result_types=[i64],
        location=op.location,
    )
    block.add_op(flag)
    block.add_op(
        create(
            cf.SwitchOp,
            operands=[flag.results[0]],
            successors=targets,
            properties={
                "case_operand_segments": DenseArrayBase.from_list(i32, [0] * len(cases)),
                "operandSegmentSizes": segments(1, 0, 0),
                "case_values": DenseIntElementsAttr.from_list(
                    VectorType(i64, [len(cases)]), cases
                ),
            },
            location=op.location,
        )
    )
    return end


def _lower_parallel(sweep: _Flattener, op: Operation, block: Block) -> Block:
    """A nest of sequential loops; the reductions are carried through all of them."""
    assert isinstance(op, scf.ParallelOp)
    body = op.body.block
    terminator = _take_terminator(op, body, scf.ReduceOp)
    carried = [value.type for value in op.initVals]
    current, values = block, list(op.initVals)
    heads: list[Block] = []
    for lower, upper in zip(op.lowerBound, op.upperBound, strict=True):
        head = sweep.new_block(current, [lower.type, *carried])
        current.add_op(_branch(op, head, [lower, *values]))
        head.add_op(_less(op, head.args[0], upper))
        heads.append(head)
        current, values = sweep.new_block(head), list(head.args[1:])
    _replace_args(body, [head.args[0] for head in heads])
    sweep.adopt(op.regions[0], current)
    current.add_op(_branch(op, body, ()))
    inner = _combine(sweep, op, terminator, body, values)
    end, results = _close_nest(sweep, op, heads, inner)
    for result, value in zip(op.results, results, strict=True):
        result.replace_all_uses_with(value)
    return end


def _combine(
    sweep: _Flattener,
    op: Operation,
    terminator: Operation,
    body: Block,
    values: Sequence[SSAValue],
) -> tuple[Block, list[SSAValue]]:
    """Puts the reductions after the loop body; gives where it ends and with what."""
    current = body
    results: list[SSAValue] = []
    end = sweep.new_block(body, [value.type for value in values])
    for value, contribution, region in zip(
        values, list(terminator.operands), terminator.regions, strict=True
    ):
        reduction = region.block
        last = _take_terminator(op, reduction, scf.ReduceReturnOp)
        _replace_args(reduction, (value, contribution), named=False)
        results.extend(_take_operands(last))
        sweep.adopt(region, current)
        current.add_op(_branch(terminator, reduction, ()))
        current = reduction
    terminator.drop_all_references()
    current.add_op(_branch(terminator, end, results))
    return end, list(end.args)


def _close_nest(
    sweep: _Flattener,
    op: scf.ParallelOp,
    heads: Sequence[Block],
    inner: tuple[Block, list[SSAValue]],
) -> tuple[Block, list[SSAValue]]:
    """Adds the latch and the exit of every loop, from the innermost outwards."""
    current: Block = inner[0]
    values: list[SSAValue] = inner[1]
    for head, step in zip(reversed(heads), reversed(op.step), strict=True):
        following = _add(op, head.args[0], step, _MAY_OVERFLOW)
        current.add_op(following)
        latch = _branch(op, head, [following.results[0], *values])
        if head is heads[-1]:
            _keep_hints(op, latch)
        current.add_op(latch)
        end = sweep.new_block(current)
        first, test = head.next_block, head.last_op
        assert first is not None
        assert test is not None
        head.add_op(_cond_branch(op, test.results[0], (first, ()), (end, ())))
        current, values = end, list(head.args[1:])
    return current, values


_HANDLERS: dict[type[Operation], Callable[[_Flattener, Any, Block], Block]] = {
    scf.ForOp: _lower_for,
    scf.IfOp: _lower_if,
    scf.WhileOp: _lower_while,
    scf.IndexSwitchOp: _lower_index_switch,
    scf.ExecuteRegionOp: _lower_execute_region,
    scf.ParallelOp: _lower_parallel,
}

"""Selects that would evaluate what may fail become lazy choices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, i1
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.pattern_rewriter import (
    PatternRewriter,
    RewritePattern,
    op_type_rewrite_pattern,
)
from xdsl.traits import MemoryEffectKind, get_effects

from xdsl_tvm.analysis.all_ops import ops_of
from xdsl_tvm.analysis.tir.memory_order import Facts
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.infra.patterns import rewrite_each
from xdsl_tvm.passes.tir.rewriting.statements import can_speculate


@dataclass(frozen=True)
class RewriteUnsafeSelect(CompilerPass):
    """Summary: Turns selects whose values read memory or may fail into choices that
        evaluate only the value that is taken.

    TVM name: tir.RewriteUnsafeSelect (v0.20)
    Input form: any
    Output form: the same
    Options: none
    Rewrites: before

            %x = tir.load %A[%i] : f32
            %y = tir.select %p, %x, %zero : i1, f32

        after

            %y = tir.if_then_else %p -> f32 {
              %x = tir.load %A[%i] : f32
              tir.yield %x : f32
            } else {
              tir.yield %zero : f32
            }

        A value is unsafe if a load, a read of state, or a division by what may be zero
        is in its expression; the operands of a lazy choice and of a select inside of it
        do not count, their conditions do. What only one side needs moves into its branch,
        as far as no write to the memory that is read is on the way. Inner selects are
        rewritten first. Time is linear in the size of the module. As a pattern:
        `RewriteUnsafeSelectPattern`.
    Leaves alone: selects with a vector condition, and those of safe values. A read that
        something else needs too, or that a write keeps in its place, stays in front; a
        select with no other unsafe value stays a select.
    Errors: none
    Attributes: read: none; created: none; removed: none
    Differs from TVM: integer divisions by what is not a positive constant are unsafe, so
        that a select on `y != 0` guards a division by `y`. A ramp is unsafe if its base
        or its stride is; TVM asks for both. A call that changes state is an op of its own
        that always runs: it stays, where TVM makes it depend on the condition.
    """

    name = "tir-rewrite-unsafe-select"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in op.body.block.ops:
            selects = ops_of(func, tir.SelectOp)
            if selects:
                rewrite_each(RewriteUnsafeSelectPattern(Facts([func])), selects)


class RewriteUnsafeSelectPattern(RewritePattern):
    """Turns a `tir.select` of unsafe values into a `tir.if_then_else`.

    `facts` are those of the function; without them they are found for each select, in
    time linear in the size of its function, since other rewrites change them.
    """

    def __init__(self, facts: Facts | None = None) -> None:
        self._facts = facts

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: tir.SelectOp, rewriter: PatternRewriter, /) -> None:
        if op.condition.type == i1:
            _rewrite(op, self._facts or Facts([_outermost(op)]), rewriter)


def _outermost(op: Operation) -> Operation:
    """The op of the module that holds `op`."""
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, ModuleOp):
        op, parent = parent, parent.parent_op()
    return op


def _rewrite(select: tir.SelectOp, facts: Facts, rewriter: PatternRewriter) -> None:
    sides = [
        _movable(value, select, facts)
        for value in (select.true_value, select.false_value)
    ]
    if not any(_is_unsafe(op) for side in sides for op in side):
        return
    choice = tir.IfThenElseOp(select.condition, select.result.type)
    choice.location = select.location
    choice.result.name_hint = select.result.name_hint
    values = (select.true_value, select.false_value)
    facts.take_place(choice, select, [op for side in sides for op in side])
    rewriter.replace(select, choice)
    for region, side, value in zip(choice.regions, sides, values, strict=True):
        _fill(region, side, value)


def _fill(region: Region, ops: list[Operation], value: SSAValue) -> None:
    block = region.block
    for op in ops:
        op.detach()
        block.add_op(op)
    block.add_op(tir.YieldOp(value))


def _movable(value: SSAValue, select: tir.SelectOp, facts: Facts) -> list[Operation]:
    """The ops before `select` that only `value` needs and that may be moved to it,
    in their order."""
    block = select.parent
    found: dict[Operation, None] = {}
    pending = [value.owner]
    users: dict[Operation, int] = {}
    # Each op is taken once all its uses are found to be inside; the select is the first.
    uses_of_value = sum(1 for operand in select.operands if operand is value)
    while pending:
        op = pending.pop()
        if isinstance(op, Block) or op.parent is not block or op in found:
            continue
        users[op] = users.get(op, 0) + 1
        if _has_more_uses(op, users[op]) or (not found and uses_of_value != 1):
            continue
        if not _can_move(op, select, facts):
            continue
        found[op] = None
        pending += [operand.owner for operand in _all_operands(op)]
    return sorted(found, key=lambda op: facts.ops[op].start)


def _has_more_uses(op: Operation, count: int) -> bool:
    uses = chain.from_iterable(result.uses for result in op.results)
    return next(islice(uses, count, None), None) is not None


def _all_operands(op: Operation) -> Iterator[SSAValue]:
    """The values from outside that an op and what it holds use."""
    yield from op.operands
    for inner in op.walk():
        if inner is not op:
            yield from inner.operands


def _can_move(op: Operation, select: tir.SelectOp, facts: Facts) -> bool:
    if isinstance(op, tir.LetOp):
        return op.kind.data is tir.LetKind.EXPR
    effects = get_effects(op)
    if effects is None or not {e.kind for e in effects} <= {MemoryEffectKind.READ}:
        return False
    return not effects or not facts.is_written_between(op, select)


def _is_unsafe(op: Operation) -> bool:
    """Whether evaluating an op by itself may fail."""
    if isinstance(op, tir.IfThenElseOp | tir.LetOp):
        return False
    effects = get_effects(op)
    if effects is None or any(e.kind is MemoryEffectKind.READ for e in effects):
        return True
    return not can_speculate(op)

"""The code of a software pipeline: a block with a prologue, a body and an epilogue.

A loop over `[m, m + N)` whose last stage is `S` takes the steps `[m, m + N + S)`, and a
statement of stage `s` is at iteration `t - s` in step `t`, where there is one. The first
`S` steps are the prologue, the last `S` the epilogue.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, i32
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.analyzer import Analyzer, Range
from xdsl_tvm.analysis.arith.expr import Expr, Value, emit, substitute, view
from xdsl_tvm.analysis.arith.facts import negated
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir import ForKind
from xdsl_tvm.passes.tir._software_pipeline.schedule import (
    ASYNC,
    ORDER,
    STAGE,
    AsyncPlan,
    Schedule,
    Wait,
)
from xdsl_tvm.passes.tir._software_pipeline.statements import (
    block_like,
    declare_regions,
    prepend,
    values_used,
)
from xdsl_tvm.passes.tir.rewriting.statements import erase_if_unused, taken_ops

_NO_NODE = IntegerAttr(0, i32)
_REGIONS = (tir.ReadsOp, tir.WritesOp)


@dataclass(frozen=True)
class _Steps:
    """A range of steps: `count` of them, the first is `first` after the loop's start."""

    first: Expr
    count: Expr
    kind: ForKind
    guarded: bool = False
    """Whether the steps of the prologue may be among them, and are to be left out."""


class PipelineEmitter:
    """Makes the code of one pipeline, out of statements that the loop keeps."""

    def __init__(
        self,
        loop: tir.ForOp,
        statements: Sequence[tir.BlockOp],
        schedule: Schedule,
        plan: AsyncPlan,
        versions: Mapping[SSAValue, int],
        analyzer: Analyzer,
    ) -> None:
        self._loop = loop
        self._statements = statements
        self._schedule = schedule
        self._plan = plan
        self._versions = versions
        self._analyzer = analyzer
        self._min, self._extent = view(loop.min), view(loop.extent)
        self._dtype = loop.loop_var.type
        self._used = [set(values_used(each)) for each in statements]
        self._greatest: dict[Expr, Expr] = {}
        """The last value of the variable of the loop that is being written."""

    def pipeline(self, allocations: Sequence[tir.AllocBufferOp]) -> tir.BlockOp:
        """The block that takes the place of the loop, with the loop's buffers."""
        last = self._schedule.last_stage
        parts = [
            self._part(_Steps(self._const(0), self._const(last), ForKind.UNROLLED)),
            self._part(self._steady()),
            self._part(self._epilogue(), drained=True),
        ]
        body = Block()
        for alloc in allocations:
            alloc.detach()
        body.add_ops([*allocations, *parts])
        return self._declared(body)

    # ---- steps ----

    def _steady(self) -> _Steps:
        last = self._const(self._schedule.last_stage)
        count = self._analyzer.simplify(smart.sub(self._extent, last))
        return _Steps(last, count, self._loop.kind.data)

    def _epilogue(self) -> _Steps:
        last = self._schedule.last_stage
        number = smart.literal(self._extent)
        stages = self._const(last)
        if number is not None and number < last:
            return _Steps(stages, self._extent, ForKind.UNROLLED)
        # With one stage, a loop that never runs has no step that could come twice.
        guarded = last > 1 and not self._holds(smart.ge(self._extent, last))
        return _Steps(self._extent, stages, ForKind.UNROLLED, guarded)

    def _part(self, steps: _Steps, *, drained: bool = False) -> tir.BlockOp:
        """The block of a range of steps; the last one waits for what is left."""
        drains = [self._drain(queue) for queue in self._plan.left] if drained else []
        if self._holds(smart.le(steps.count, 0)):
            return self._declared(Block([*drains, tir.EvaluateOp()]))
        around = Block()
        if self._holds(smart.eq(steps.count, 1)):
            step = self._plus(self._min, steps.first)
            blocks = self._step(around, step, steps)
            if len(blocks) == 1 and blocks[0].predicate is None and not drains:
                blocks[0].detach()
                return blocks[0]
        else:
            blocks = self._loop_over(around, steps)
        if not blocks:
            around = Block([tir.EvaluateOp()])
        around.add_ops(drains)
        return self._declared(around)

    def _loop_over(self, around: Block, steps: _Steps) -> list[tir.BlockOp]:
        builder = Builder(InsertPoint.at_end(around))
        old = self._loop
        loop = tir.ForOp(
            old.min,
            emit(steps.count, builder, self._at_hand()),
            kind=steps.kind,
            annotations=self._annotations(),
            name=old.loop_name,
        )
        loop.attributes |= old.attributes
        loop.location = old.location
        loop.loop_var.name_hint = old.loop_var.name_hint
        builder.insert(loop)
        variable = Value(loop.loop_var)
        end = self._plus(self._min, steps.count)
        facts = smart.gt(steps.count, 0), smart.lt(variable, end)
        with self._analyzer.assumed(facts):
            self._analyzer.bind(loop.loop_var, Range(self._min, steps.count))
            self._greatest = {variable: smart.sub(end, 1)}
            step = self._plus(variable, steps.first)
            return self._step(loop.body.block, step, steps)

    def _annotations(self) -> DictionaryAttr | None:
        known = self._loop.annotations
        assert known is not None, "a pipeline is annotated"
        rest = {k: v for k, v in known.data.items() if k not in (STAGE, ORDER, ASYNC)}
        return DictionaryAttr(rest) if rest else None

    def _drain(self, queue: int) -> Operation:
        rest = tir.AttrOp(
            "async_wait_inflight_count",
            _NO_NODE,
            IntegerAttr(0, i32),
            Region(Block([tir.EvaluateOp()])),
        )
        return _scope("async_wait_queue_scope", queue, Block([rest]))

    # ---- one step ----

    def _step(self, holder: Block, step: Expr, steps: _Steps) -> list[tir.BlockOp]:
        """Add the statements of a step to a block, those that may run in it."""
        found: list[tir.BlockOp] = []
        builder = Builder(InsertPoint.at_end(holder))
        known = self._at_hand()
        for unit in self._plan.units:
            stage = self._schedule.stages[unit[0]]
            iteration = self._plus(step, self._const(-stage))
            condition = self._condition(iteration, step, steps)
            if smart.literal(condition) == 0:
                continue
            block = self._unit(unit, iteration, condition)
            if smart.literal(condition) is None:
                block = block_like(
                    block,
                    block.detach_region(block.body),
                    emit(condition, builder, known),
                )
            builder.insert(block)
            found.append(block)
        return found

    def _condition(self, iteration: Expr, step: Expr, steps: _Steps) -> Expr:
        """Whether a step has an iteration."""
        end = smart.add(self._min, self._extent)
        parts = [smart.ge(iteration, self._min), smart.lt(iteration, end)]
        if steps.guarded:
            first = smart.add(self._min, self._schedule.last_stage)
            parts.append(smart.ge(step, first))
        total: Expr | None = None
        for part in parts:
            if self._holds(part):
                continue
            if self._holds(negated(part)):
                return smart.const(0, part.dtype)
            part = self._analyzer.simplify(part)
            total = part if total is None else smart.conjunction(total, part)
        return smart.const(1, parts[0].dtype) if total is None else total

    def _unit(self, unit: Sequence[int], iteration: Expr, condition: Expr) -> tir.BlockOp:
        """The statements of a unit at an iteration, in a block.

        What they wait for is found out where the condition holds that they run. Their
        indices are those for any iteration: a lowered block has its condition around it,
        and simplification uses it there.
        """
        number = unit[0]
        is_async = self._schedule.is_async(number)
        if not is_async and number not in self._plan.waits:
            return self._copy(number, iteration)
        body = Block()
        builder = Builder(InsertPoint.at_end(body))
        pieces: list[Operation] = []
        for each in unit:
            inside = _spliced(self._copy(each, iteration))
            if is_async:
                inside = Block([_scope("async_scope", 1, inside)])
            with self._analyzer.constraint(condition):
                for wait in self._plan.waits.get(each, ()):
                    inside = self._waiting(wait, each, iteration, inside, builder)
            pieces += taken_ops(inside)
        if is_async:
            stage = self._schedule.stages[number]
            builder.insert(_scope("async_commit_queue_scope", stage, Block(pieces)))
        else:
            body.add_ops(pieces)
        name = self._statements[number].block_name.data if len(unit) == 1 else ""
        if any(_keeps_block(self._statements[each]) for each in unit):
            name = ""
        return self._declared(body, name)

    def _copy(self, number: int, iteration: Expr) -> tir.BlockOp:
        """A statement at an iteration."""
        statement = self._statements[number]
        first = Block()
        builder = Builder(InsertPoint.at_end(first))
        known = self._at_hand()
        values: dict[SSAValue, SSAValue] = {}
        if self._loop.loop_var in self._used[number]:
            values[self._loop.loop_var] = emit(iteration, builder, known)
        offset = smart.sub(iteration, self._min)
        for version, count in self._versions.items():
            if version in self._used[number]:
                tree = self._analyzer.simplify(smart.floormod(offset, count))
                values[version] = emit(tree, builder, known)
        inside = Region()
        statement.body.clone_into(inside, value_mapper=values)
        prepend(inside.block, taken_ops(first))
        return block_like(statement, inside)

    def _waiting(
        self, wait: Wait, number: int, iteration: Expr, body: Block, builder: Builder
    ) -> Block:
        """The ops of a block, after a wait, if there may be anything to wait for."""
        if self._holds(smart.lt(iteration, smart.add(self._min, wait.distance))):
            return body
        tree = self._in_flight(wait, number, iteration)
        bound = self._analyzer.const_int_bound(tree)
        count = (
            IntegerAttr(int(bound.min), i32)
            if bound.min == bound.max
            else emit(tree, builder, self._at_hand())
        )
        rest = tir.AttrOp("async_wait_inflight_count", _NO_NODE, count, Region(body))
        return Block([_scope("async_wait_queue_scope", wait.queue, Block([rest]))])

    def _in_flight(self, wait: Wait, number: int, iteration: Expr) -> Expr:
        """How many groups a queue was given after the one that is waited for.

        The iteration that made it is followed by others, each with all of its groups. In
        this step the last of them may run, and has committed those before the wait.
        """
        groups = self._plan.groups[wait.queue]
        ahead = self._schedule.stages[number] + wait.distance - wait.queue
        if ahead == 0:
            return self._const(wait.before - wait.group - 1)
        end = smart.add(self._min, self._extent)
        runs = smart.le(iteration, smart.add(end, wait.distance - 1 - ahead))
        before, behind = self._const(wait.before), groups - 1 - wait.group
        whole: Expr = self._const(ahead - 1)
        # It holds for all steps of a loop if it does for the last one.
        last = substitute(runs, self._greatest)
        if not self._holds(runs) and not self._holds(last):
            rest = smart.add(smart.sub(end, iteration), wait.distance - 1)
            is_last = self._holds(negated(runs))
            whole = rest if is_last else smart.minimum(rest, whole)
            before = smart.select(runs, before, self._const(0))
            before = self._const(0) if is_last else before
        total = smart.add(smart.mul(whole, groups), smart.add(before, behind))
        return self._analyzer.simplify(total)

    # ---- helpers ----

    def _const(self, number: int) -> Expr:
        return smart.const(number, self._dtype)

    def _plus(self, tree: Expr, other: Expr) -> Expr:
        return self._analyzer.simplify(smart.add(tree, other))

    def _holds(self, condition: Expr) -> bool:
        return self._analyzer.can_prove(condition)

    def _at_hand(self) -> dict[Expr, SSAValue]:
        return {self._min: self._loop.min, self._extent: self._loop.extent}

    def _declared(self, body: Block, name: str = "") -> tir.BlockOp:
        block = tir.BlockOp(name, body=Region(body))
        block.location = self._loop.location
        declare_regions(block)
        return block


def _scope(key: str, number: int, body: Block) -> tir.AttrOp:
    return tir.AttrOp(key, _NO_NODE, IntegerAttr(number, i32), Region(body))


def _keeps_block(block: tir.BlockOp) -> bool:
    """Whether a statement stays a block where it could be its ops."""
    allocates = any(isinstance(op, tir.AllocBufferOp) for op in block.body.block.ops)
    return allocates or block.annotations is not None or bool(block.attributes)


def _spliced(block: tir.BlockOp) -> Block:
    """What is in a block, which goes if nothing needs it."""
    if _keeps_block(block):
        return Block([block])
    body = block.body.block
    for op in [op for op in body.ops if isinstance(op, _REGIONS)]:
        operands = tuple(op.operands)
        Rewriter.erase_op(op)
        erase_if_unused(operands)
    return Block(taken_ops(body))

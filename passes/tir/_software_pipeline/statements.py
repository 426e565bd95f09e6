"""The statements of a loop to pipeline: blocks that need nothing of each other.

TVM's loop holds a sequence, and the values that a statement uses are trees in it. Here
they are ops around it, which other statements may share; each statement gets copies of
those that it needs. A load among them moves with that; `SunkRead` says past what.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NoReturn

from xdsl.builder import Builder
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.analysis.arith.expr import Expr
from xdsl_tvm.analysis.tir.access_regions import get_block_read_write_region
from xdsl_tvm.analysis.tir.side_effect import own_effect
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir import CallEffect
from xdsl_tvm.passes.tir.rewriting.statements import describe

_REFUSED: dict[type[Operation], str] = {
    tir.InitOp: "must be gone here; run tir-lower-init-block first",
    tir.MatchRegionOp: "must be gone here; run tir-lower-match-buffer first",
    tir.RetOp: "leaves a pipelined loop; let the loop run to its end",
}
_REFUSED_AROUND: dict[type[Operation], str] = {
    tir.AllocateOp: "is no buffer of a block; run this pass before "
    "tir-lower-opaque-block",
    tir.BufferRealizeOp: "is no buffer of a block; use tir.alloc_buffer",
    tir.ShapeVarOp: "is defined in a pipelined loop; define it in front",
}


@dataclass(frozen=True)
class SunkRead:
    """A read that has moved down to a statement, past those from `first` up to it."""

    op: Operation
    first: int
    statement: int


@dataclass(frozen=True)
class PipelineBody:
    """The body of a loop, taken apart."""

    statements: Sequence[tir.BlockOp]
    allocations: Sequence[tir.AllocBufferOp]
    reads: Sequence[SunkRead]


def take_apart(loop: tir.ForOp) -> PipelineBody:
    """Make the body of a loop the buffers that it allocates, and blocks, its statements.

    The loop computes the same as before, if nothing writes what a sunk read reads between
    its two places. Raises PassFailedException for what is not of the input form.
    """
    for op in loop.body.walk():
        _check(op)
    found = _Collection(loop)
    found.collect()
    return found.take_apart()


def _check(op: Operation) -> None:
    reason = _REFUSED.get(type(op))
    if reason is not None:
        raise PassFailedException(f"{describe(op)} {reason}")
    if isinstance(op, tir.BlockOp) and not op.is_opaque:
        raise PassFailedException(
            f"{describe(op)} has iteration variables; run tir-convert-blocks-to-opaque "
            "first"
        )
    if is_builtin_with(op, CallEffect.CONTROL_JUMP):
        raise PassFailedException(
            f"{describe(op)} leaves a pipelined loop; let the loop run to its end"
        )


class _StatementGroup:
    """Ops with effects that make one statement, in order."""

    def __init__(self, op: Operation) -> None:
        self.ops = [op]


class _Collection:
    """What there is in the body of a loop."""

    def __init__(self, loop: tir.ForOp) -> None:
        self._loop = loop
        self._groups: list[_StatementGroup] = []
        self._allocations: list[tir.AllocBufferOp] = []
        self._entered: set[Block] = set()
        self._order: dict[Operation, int] = {}
        """The number of each op around the statements, and of the statements."""
        self._made_by: dict[SSAValue, _StatementGroup] = {}
        """Which statement makes a value by an op with an effect."""
        self._predicate: SSAValue | None = None

    # ---- collecting ----

    def collect(self) -> None:
        statements = self._enter(self._loop.body.block)
        if len(statements) == 1 and isinstance(body := statements[0], tir.BlockOp):
            self._predicate = _predicate(body)
            statements = self._enter(body.body.block)
        if len(statements) < 2:
            raise PassFailedException(
                f"{describe(self._loop)}: the body of a pipeline must be a sequence of "
                f"statements, and has {len(statements)}; take the annotations away"
            )
        for op in statements:
            for inner in self._flattened(op):
                self._add(inner)
        self._order = {op: n for n, op in enumerate(self._in_order(self._loop))}

    def _in_order(self, around: tir.ForOp | tir.BlockOp) -> Iterator[Operation]:
        for op in around.body.block.ops:
            yield op
            if isinstance(op, tir.BlockOp) and op.body.block in self._entered:
                yield from self._in_order(op)

    def _enter(self, block: Block) -> list[Operation]:
        """The statements of a block, whose other ops become definitions around them."""
        self._entered.add(block)
        found: list[Operation] = []
        for op in block.ops:
            self._order[op] = len(self._order)
            if (reason := _REFUSED_AROUND.get(type(op))) is not None:
                raise PassFailedException(f"{describe(op)} {reason}")
            if isinstance(op, tir.AllocBufferOp):
                self._allocations.append(op)
            elif _is_statement(op):
                found.append(op)
        return found

    def _flattened(self, op: Operation) -> list[Operation]:
        """A statement, or those of a block that is a sequence."""
        if isinstance(op, tir.BlockOp) and _predicate(op) is None:
            inside = op.body.block
            if sum(map(_is_statement, inside.ops)) > 1:
                return self._enter(inside)
        return [op]

    def _add(self, op: Operation) -> None:
        """Add a statement; what uses the result of an effect belongs to that."""
        makers = self._makers(op)
        if not makers:
            self._groups.append(_StatementGroup(op))
        elif makers == {self._groups[-1]}:
            self._groups[-1].ops.append(op)
        else:
            _refuse_crossing(op)
        for result in op.results:
            self._made_by[result] = self._groups[-1]

    def _makers(self, op: Operation) -> set[_StatementGroup]:
        """The statements that have an effect whose result an op needs."""
        used = [value for each in self._needed((op,)) for value in values_used(each)]
        used += values_used(op)
        return {self._made_by[value] for value in used if value in self._made_by}

    def _needed(self, ops: Iterable[Operation]) -> list[Operation]:
        """What ops need of the definitions around them, in order."""
        found: set[Operation] = set()
        pending = [value for op in ops for value in values_used(op)]
        while pending:
            value = pending.pop()
            owner = value.owner
            if (
                isinstance(owner, Operation)
                and owner in self._order
                and owner not in found
                and value not in self._made_by
                and not isinstance(owner, tir.AllocBufferOp)
            ):
                found.add(owner)
                pending += values_used(owner)
        return sorted(found, key=self._order.__getitem__)

    # ---- taking apart ----

    def take_apart(self) -> PipelineBody:
        self._hoist_sizes()
        positions = self._positions()
        guards = self._guards()
        statements: list[tir.BlockOp] = []
        reads: list[SunkRead] = []
        for number, group in enumerate(self._groups):
            needed = self._needed(group.ops)
            reads += [
                SunkRead(op, positions[op], number)
                for op in dict.fromkeys((*guards, *needed))
                if reads_memory(op)
            ]
            statements.append(self._guarded(self._block(group, needed), guards))
        self._replace_body(statements)
        for statement in statements:
            if not any(isinstance(op, _REGIONS) for op in statement.body.block.ops):
                declare_regions(statement)
        return PipelineBody(statements, self._allocations, reads)

    def _hoist_sizes(self) -> None:
        """Compute before the loop what the allocations need."""
        needed = self._needed(self._allocations)
        for op in (*needed, *self._allocations):
            if reads_memory(op) or self._loop.loop_var in op.operands:
                raise PassFailedException(
                    f"{describe(op)}: the size of a buffer that a pipelined loop "
                    "allocates may differ between its iterations; allocate the most "
                    "that one needs"
                )
        values: dict[SSAValue, SSAValue] = {}
        for op in needed:
            Builder(InsertPoint.before(self._loop)).insert(op.clone(values))
        for alloc in self._allocations:
            alloc.operands = [values.get(value, value) for value in alloc.operands]

    def _positions(self) -> dict[Operation, int]:
        """For each op, how many statements start before it."""
        starts = {group.ops[0] for group in self._groups}
        found: dict[Operation, int] = {}
        passed = 0
        for op in self._order:
            found[op] = passed
            passed += op in starts
        return found

    def _guards(self) -> list[Operation]:
        """What computes the predicate of the body, in order."""
        if self._predicate is None:
            return []
        owner = self._predicate.owner
        if isinstance(owner, Operation) and owner in self._order:
            return [*self._needed((owner,)), owner]
        return []

    def _block(self, group: _StatementGroup, needed: Sequence[Operation]) -> tir.BlockOp:
        """A block with copies of the ops of a statement and of what they need."""
        values: dict[SSAValue, SSAValue] = {}
        first = group.ops[0]
        if (
            len(group.ops) == 1
            and isinstance(first, tir.BlockOp)
            and _predicate(first) is None
        ):
            copies = [op.clone(values) for op in needed]
            inside = Region()
            first.body.clone_into(inside, value_mapper=values)
            prepend(inside.block, copies)
            return block_like(first, inside)
        ops = sorted((*needed, *group.ops), key=self._order.__getitem__)
        block = tir.BlockOp(body=Region(Block([op.clone(values) for op in ops])))
        block.location = first.location
        return block

    def _guarded(self, block: tir.BlockOp, guards: Sequence[Operation]) -> tir.BlockOp:
        """The block under the predicate of the body, in a block without one."""
        if self._predicate is None:
            return block
        values: dict[SSAValue, SSAValue] = {}
        copies = [op.clone(values) for op in guards]
        predicate = values.get(self._predicate, self._predicate)
        inner = block_like(block, block.detach_region(block.body), predicate)
        outer = tir.BlockOp(body=Region(Block([*copies, inner])))
        outer.location = block.location
        return outer

    def _replace_body(self, statements: Sequence[tir.BlockOp]) -> None:
        body = self._loop.body.block
        for alloc in self._allocations:
            alloc.detach()
        for op in reversed(list(body.ops)):
            op.detach()
            op.erase(safe_erase=False)
        body.add_ops([*self._allocations, *statements])


_REGIONS = (tir.ReadsOp, tir.WritesOp)


def _is_statement(op: Operation) -> bool:
    return not isinstance(op, (*_REGIONS, tir.AllocBufferOp)) and not is_definition(op)


def is_definition(op: Operation) -> bool:
    """Whether an op is an expression: it gives a value, and changes nothing."""
    return bool(op.results) and all(
        effect_of(inner) <= CallEffect.READ_STATE for inner in all_ops(op)
    )


def effect_of(op: Operation) -> CallEffect:
    """The effect of an op without its operands and regions; pointers are pure."""
    return CallEffect.PURE if isinstance(op, tir.AccessPtrOp) else own_effect(op)


def is_builtin_with(op: Operation, effect: CallEffect) -> bool:
    """Whether an op calls a builtin that has just this effect."""
    name = tir.builtin_name(op)
    known = None if name is None else tir.INTRINSICS.get(name)
    return known is not None and known.effect is effect


def reads_memory(op: Operation) -> bool:
    """Whether the value of an expression depends on when it is computed."""
    return any(effect_of(inner) is CallEffect.READ_STATE for inner in all_ops(op))


def values_used(op: Operation) -> list[SSAValue]:
    """The operands of an op and of those inside of it."""
    return [value for inner in all_ops(op) for value in inner.operands]


def declare_regions(block: tir.BlockOp) -> None:
    """Let a block say what it reads and writes, in terms of what is around it."""
    found = get_block_read_write_region(block)
    builder = Builder(InsertPoint.at_start(block.body.block))
    known: dict[Expr, SSAValue] = {}
    reads = [region.emit(builder, known) for region in found.reads]
    writes = [region.emit(builder, known) for region in found.writes]
    builder.insert(tir.ReadsOp(reads))
    builder.insert(tir.WritesOp(writes))


def _predicate(block: tir.BlockOp) -> SSAValue | None:
    """The predicate of a block, None where it is true."""
    predicate = block.predicate
    return None if predicate is None or tir.is_constant(predicate, 1) else predicate


def block_like(
    block: tir.BlockOp, body: Region, predicate: SSAValue | None = None
) -> tir.BlockOp:
    """An opaque block of the same name, with another body and predicate."""
    new = tir.BlockOp(
        block.block_name, body=body, predicate=predicate, annotations=block.annotations
    )
    new.attributes |= block.attributes
    new.location = block.location
    return new


def prepend(body: Block, ops: Sequence[Operation]) -> None:
    if body.first_op is None:
        body.add_ops(ops)
    else:
        body.insert_ops_before(ops, body.first_op)


def _refuse_crossing(op: Operation) -> NoReturn:
    raise PassFailedException(
        f"{describe(op)} uses a value that another statement of the pipeline gets from "
        "an op with an effect; pass it on in a buffer"
    )

"""What in the body of a virtual thread depends on its index.

The statements that do must run for every index. `Dependence` finds them, and gathers
those that can only run together: a `tir.let`, an allocation with all that follows, and a
read whose memory is written before it is used with what is between, as a `tir.let` of an
expression that reads. All else is shared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.ir import Block, Operation, SSAValue

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.analysis.derivation import origin
from xdsl_tvm.analysis.tir.memory_order import Facts, Kind, memory_of
from xdsl_tvm.dialects import tir

_DEFINITIONS = (
    tir.AllocateConstOp,
    tir.AllocateOp,
    tir.DeclBufferOp,
    tir.LetOp,
    tir.ReducerOp,
    tir.ShapeVarOp,
)
"""Statements that stay where they are, unless what they use depends on the index."""
_SPLIT = (tir.ForOp, tir.IfOp, tir.AttrOp, tir.ScopeOp, tir.LaunchThreadOp)
"""Ops around statements that need not run for an index as a whole."""
_COPROCESSOR = ("coproc_scope", "coproc_uop_scope")


@dataclass
class Unit:
    """Statements of a block that run for one index after the other, as a whole."""

    ops: list[Operation]
    last: Operation
    """The op of which they may be."""


def is_memory(value: SSAValue) -> bool:
    """Whether a pointer or buffer is all of what a `tir.allocate` makes."""
    memory = origin(value, (tir.DeclBufferOp, tir.DataOp, tir.LetOp))
    return isinstance(memory.owner, tir.AllocateOp)


def written_memory(op: Operation) -> Iterator[SSAValue]:
    """The pointers and buffers through which an op may write, apart from its regions."""
    match op:
        case tir.StoreOp():
            yield op.buffer
        case tir.LoadOp() | tir.AttrOp():
            pass
        case _ if isinstance(op, _DEFINITIONS):
            pass
        case _:
            for operand in op.operands:
                owner = operand.owner
                if isinstance(owner, tir.AccessPtrOp):
                    if owner.mode.data is not tir.AccessMode.READ:
                        yield owner.data
                elif isinstance(operand.type, tir.BufferType | tir.PtrType):
                    yield operand


class Dependence:
    """The values, the memory and the statements of a launch that depend on its index.

    With `exclusive`, all memory and all statements do. Linear in the body of the launch,
    for each time that statements which run together make more of them depend on it.
    """

    def __init__(self, launch: tir.LaunchThreadOp, *, exclusive: bool) -> None:
        self.launch = launch
        self.facts = Facts([launch])
        self.values: set[SSAValue] = set()
        self.memory: dict[tir.AllocateOp, None] = {}
        self.copied: set[Operation] = set()
        """The statements that run for every index, with all that they hold."""
        self.units: dict[Block, list[Unit]] = {}
        """What runs for every index, in the blocks that are shared."""
        self._pending: list[SSAValue] = []
        self._reading: dict[SSAValue, bool] = {}
        """Whether values are computed from what is read in the launch."""
        self._exclusive = exclusive
        self._solve()

    # ---- what depends on the index ----

    def _solve(self) -> None:
        self._add(self.launch.thread_var)
        if self._exclusive:
            self._add_all()
        while True:
            self._propagate()
            known = len(self.copied)
            self.units = {block: self._units(block) for block in self._shared_blocks()}
            if not self._pending and len(self.copied) == known:
                return

    def _add(self, value: SSAValue) -> None:
        if value not in self.values:
            self.values.add(value)
            self._pending.append(value)

    def _add_all(self) -> None:
        for op in self.launch.body.walk():
            if isinstance(op, tir.AllocateOp):
                self._touch(op.result)
            elif isinstance(op, tir.AttrOp):
                if op.key.data in _COPROCESSOR:
                    self._copy(op)
            elif not op.regions and self._is_statement(op):
                self._copy(op)

    def _propagate(self) -> None:
        while self._pending:
            value = self._pending.pop()
            for use in tuple(value.uses):
                self._reach(use.operation, value)

    def _reach(self, op: Operation, value: SSAValue) -> None:
        """Note that an op uses a value that depends on the index."""
        parent = op.parent_op()
        if isinstance(op, tir.YieldOp) and parent is not None:
            for result in parent.results:
                self._add(result)
        elif isinstance(op, tir.AttrOp) and value is op.node and is_memory(value):
            pass
        elif self._is_statement(op):
            self._copy(op)
        else:
            for result in op.results:
                self._add(result)

    def _is_statement(self, op: Operation) -> bool:
        return (
            not isinstance(op, (*_DEFINITIONS, tir.YieldOp))
            and self.facts.ops[op].kind is Kind.STATEMENT
        )

    def _copy(self, top: Operation) -> None:
        """Note that an op runs for every index, with all that it holds."""
        for result in top.results:
            self._add(result)
        pending = [top]
        while pending:
            op = pending.pop()
            if op in self.copied:
                continue
            self.copied.add(op)
            if not op.regions and self.facts.ops[op].kind is not Kind.STATEMENT:
                continue
            for value in written_memory(op):
                self._touch(value)
            for region in op.regions:
                for block in region.blocks:
                    pending += block.ops

    def _touch(self, value: SSAValue) -> None:
        """Note that memory is written for every index."""
        memory = memory_of(value)
        owner = memory.owner if isinstance(memory, SSAValue) else None
        if isinstance(owner, tir.AllocateOp) and owner in self.facts.ops:
            self.memory[owner] = None
            self._add(owner.result)

    # ---- what runs together ----

    def _shared_blocks(self) -> Iterator[Block]:
        pending = [self.launch.body.block]
        while pending:
            block = pending.pop()
            yield block
            for op in block.ops:
                if isinstance(op, _SPLIT) and op not in self.copied:
                    pending += [b for region in op.regions for b in region.blocks]

    def _units(self, block: Block) -> list[Unit]:
        ops = list(block.ops)
        ends: list[int] | None = None
        units: list[Unit] = []
        end = -1
        for index, op in enumerate(ops):
            inside = index <= end
            opens = self._opens(op)
            if not (opens or (inside and self._is_member(op)) or self._is_whole(op)):
                continue
            if op.results and ends is None:
                ends = self._last_uses(ops)
            if not inside:
                units.append(Unit([], op))
                end = index
            if isinstance(op, tir.AllocateOp) or _is_let_statement(op):
                end = len(ops) - 1
            elif op.results and ends is not None:
                end = max(end, ends[index])
            units[-1].ops.append(op)
            units[-1].last = ops[end]
            self._copy(op)
        return units

    def _opens(self, op: Operation) -> bool:
        """Whether uses of its results have to run together with an op."""
        if isinstance(op, tir.LetOp):
            return (
                op.value in self.values
                and not is_memory(op.value)
                and (_is_let_statement(op) or self._reads(op.value))
            )
        if isinstance(op, tir.AllocateOp):
            return any(operand in self.values for operand in op.operands)
        return self._is_fixed(op) and any(result in self.values for result in op.results)

    def _reads(self, value: SSAValue) -> bool:
        """Whether a value is computed from what is read in the launch."""
        known, pending = self._reading, [value]
        while pending:
            current = pending[-1]
            owner = current.owner
            if current in known:
                pending.pop()
            elif isinstance(owner, Block) or owner not in self.facts.ops:
                known[current] = False
            elif self.facts.ops[owner].kind is Kind.READ:
                known[current] = True
            elif missing := [each for each in owner.operands if each not in known]:
                pending += missing
            else:
                known[current] = any(known[operand] for operand in owner.operands)
        return known[value]

    def _is_fixed(self, op: Operation) -> bool:
        """Whether an op must stay where it is among the writes around it."""
        fact = self.facts.ops[op]
        return self._is_statement(op) or (fact.kind is Kind.READ and fact.bound)

    def _is_member(self, op: Operation) -> bool:
        """Whether an op between statements that run together is one of them."""
        return self._is_statement(op) or self.facts.ops[op].kind is Kind.READ

    def _is_whole(self, op: Operation) -> bool:
        """Whether an op runs for every index, if only since it cannot be taken apart."""
        if op in self.copied:
            return True
        if not op.regions or isinstance(op, _SPLIT) or not self._is_statement(op):
            return False
        return any(
            inner in self.copied or any(value in self.values for value in inner.operands)
            for inner in all_ops(op)
        )

    def _last_uses(self, ops: Sequence[Operation]) -> list[int]:
        """For each op of a block, where in it its results are used last, also by way of
        expressions."""
        indices = {op: index for index, op in enumerate(ops)}
        last = list(range(len(ops)))
        for index in reversed(range(len(ops))):
            for result in ops[index].results:
                for use in result.uses:
                    user = use.operation
                    while user not in indices:
                        parent = user.parent_op()
                        assert parent is not None
                        user = parent
                    found = indices[user]
                    if not self._is_statement(user):
                        found = last[found]
                    last[index] = max(last[index], found)
        return last


def _is_let_statement(op: Operation) -> bool:
    return isinstance(op, tir.LetOp) and op.kind.data is tir.LetKind.STMT

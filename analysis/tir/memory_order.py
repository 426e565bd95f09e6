"""Where the ops of a program stand, and which reads of memory may be where they are used.

A read belongs to the point where it is. `Facts` numbers ops in the order of the text,
knows what each reads and writes, and says for a read whether a write that may reach the
same memory is between it and a use. Memory is told apart by what defines it: two
allocations are never the same, parameters are where `tir.noalias` says so.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, auto
from typing import TypeAlias

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, UnitAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import IsTerminator, MemoryEffectKind, RecursiveMemoryEffect, get_effects

from xdsl_tvm.analysis.derivation import origin
from xdsl_tvm.dialects import tir


class Kind(Enum):
    """What an op is in the tree form."""

    EXPRESSION = auto()
    """Part of the trees of its uses."""
    READ = auto()
    """Likewise, unless a write is between it and a use."""
    STATEMENT = auto()
    SYMBOL = auto()
    """A symbolic size: a variable, defined where it is first met."""


_PARAMETERS = "parameters"
"""Stands for all memory of parameters that may alias."""
Memory: TypeAlias = SSAValue | str | None
"""What defines a piece of memory; None where that is unknown."""

_ONCE = (
    tir.IfOp,
    tir.IfThenElseOp,
    tir.BlockOp,
    tir.InitOp,
    tir.ScopeOp,
    tir.AttrOp,
    tir.ReducerOp,
    tir.FuncOp,
    ModuleOp,
)
"""Ops that run each of their regions at most once, or are no more than a definition."""


def memory_of(value: SSAValue, *, distinct_parameters: bool = False) -> Memory:
    """The memory of a buffer or a pointer.

    With `distinct_parameters`, that after one parameter is another than that after the
    next, also where the function does not promise so. Raises VerifyException for a
    definition that is derived from itself.
    """
    value = origin(value)
    owner = value.owner
    if isinstance(owner, tir.MatchBufferOp):
        value = owner.param
        owner = value.owner
    match owner:
        case (
            tir.AllocBufferOp()
            | tir.AllocateOp()
            | tir.AllocateConstOp()
            | tir.BufferRealizeOp()
        ):
            return value
        case Block():
            func = owner.parent_op()
            if not isinstance(func, tir.FuncOp):
                return None
            flag = func.attributes.get("tir.noalias")
            if distinct_parameters or isinstance(flag, UnitAttr):
                return value
            set_ = isinstance(flag, IntegerAttr) and flag.value.data != 0
            return value if set_ else _PARAMETERS
        case _:
            return None


@dataclass(slots=True)
class _Fact:
    """What is known of an op."""

    start: int
    """Its number in the order of the text."""
    kind: Kind = Kind.STATEMENT
    bound: bool = False
    """A read that is a statement."""
    last: int = -1
    """Where its value is used last; -1 if nowhere."""


_Use: TypeAlias = tuple[Operation, "Operation | None"]
_ANYWHERE: frozenset[Memory] = frozenset((None,))


class Facts:
    """Where the ops of a program stand, what they are, and which reads need binding."""

    def __init__(self, top: Iterable[Operation]) -> None:
        self.ops: dict[Operation, _Fact] = {}
        self.blocks: dict[Block, int] = {}
        """The number of loops around each block."""
        self.ends: dict[Operation, int] = {}
        self._reads: dict[Operation, frozenset[Memory]] = {}
        self._writes: dict[Memory, list[int]] = {}
        self._all_writes: list[int] = []
        self._uses: dict[Operation, list[_Use]] = {}
        self._postorder: list[Operation] = []
        self._loops: list[Operation] = []
        self._visit(top)
        self._bind()

    def _visit(self, top: Iterable[Operation]) -> None:
        stack: list[tuple[Operation | Block, bool]] = [(op, False) for op in top]
        stack.reverse()
        while stack:
            item, done = stack.pop()
            if isinstance(item, Block):
                self.blocks[item] = len(self._loops)
                stack += [(op, False) for op in reversed(list(item.ops))]
            elif done:
                self._leave(item)
            else:
                self._enter(item)
                stack.append((item, True))
                for region in reversed(item.regions):
                    stack += [(block, False) for block in reversed(region.blocks)]

    def _enter(self, op: Operation) -> None:
        self.ops[op] = _Fact(len(self.ops))
        for operand in op.operands:
            owner = operand.owner
            if not isinstance(owner, Operation) or owner not in self.ops:
                continue
            block = owner.parent
            depth = 0 if block is None else self.blocks.get(block, 0)
            loop = self._loops[depth] if depth < len(self._loops) else None
            self._uses.setdefault(owner, []).append((op, loop))
        if op.regions and not isinstance(op, _ONCE):
            self._loops.append(op)

    def _leave(self, op: Operation) -> None:
        if self._loops and self._loops[-1] is op:
            self._loops.pop()
        self.ends[op] = len(self.ops) - 1
        self._postorder.append(op)
        self._classify(op, self.ops[op])

    def _classify(self, op: Operation, fact: _Fact) -> None:
        if isinstance(op, tir.IfThenElseOp):
            self._classify_choice(op, fact)
        elif isinstance(op, tir.ReducerOp):
            fact.kind = Kind.EXPRESSION
        elif isinstance(op, tir.ShapeVarOp):
            fact.kind = Kind.SYMBOL
        elif op.regions:
            if not op.has_trait(RecursiveMemoryEffect) and not isinstance(op, _ONCE):
                self._write(None, fact.start)
        elif isinstance(op, tir.LoadOp):
            fact.kind = Kind.READ
            self._reads[op] = frozenset((memory_of(op.buffer),))
        elif isinstance(op, tir.StoreOp):
            self._write(memory_of(op.buffer), fact.start)
        else:
            self._classify_by_effects(op, fact)

    def _classify_by_effects(self, op: Operation, fact: _Fact) -> None:
        effects = get_effects(op)
        kinds = None if effects is None else {effect.kind for effect in effects}
        is_value = bool(op.results) and not op.has_trait(IsTerminator)
        if kinds is None or MemoryEffectKind.WRITE in kinds:
            self._write(None, fact.start)
        elif is_value and not kinds:
            fact.kind = Kind.EXPRESSION
        elif is_value and kinds == {MemoryEffectKind.READ}:
            fact.kind = Kind.READ
            self._reads[op] = _ANYWHERE

    def _classify_choice(self, op: tir.IfThenElseOp, fact: _Fact) -> None:
        reads: set[Memory] = set()
        for region in op.regions:
            for item in region.block.ops:
                kind = self.ops[item].kind
                if kind is Kind.STATEMENT and not isinstance(
                    item, tir.LetOp | tir.YieldOp
                ):
                    return
                reads |= self._reads.get(item, frozenset())
        fact.kind = Kind.READ if reads else Kind.EXPRESSION
        if reads:
            self._reads[op] = frozenset(reads)

    def _write(self, memory: Memory, position: int) -> None:
        self._writes.setdefault(memory, []).append(position)
        self._all_writes.append(position)

    def _last_write(self, memories: Iterable[Memory], before: int) -> int:
        """The last write before a position that may reach the memory; -1 for none."""
        found = -1
        lists = [
            self._all_writes if m is None else self._writes.get(m, []) for m in memories
        ]
        for positions in (*lists, self._writes.get(None, [])):
            index = bisect_right(positions, before - 1)
            if index:
                found = max(found, positions[index - 1])
        return found

    def _bind(self) -> None:
        """Find the reads that must be bound, users first."""
        self._all_writes.sort()
        for positions in self._writes.values():
            positions.sort()
        for op in reversed(self._postorder):
            fact = self.ops[op]
            if fact.kind is Kind.STATEMENT:
                fact.last = self._time_of_statement(op, fact)
                continue
            for user, loop in self._uses.get(op, ()):
                last = self.ops[user].last
                if last >= 0 and loop is not None:
                    last = max(last, self.ends[loop] + 1)
                fact.last = max(fact.last, last)
            if fact.kind is Kind.READ and fact.last >= 0:
                write = self._last_write(self._reads[op], fact.last)
                if write > fact.start:
                    fact.bound, fact.last = True, fact.start

    def _time_of_statement(self, op: Operation, fact: _Fact) -> int:
        parent = op.parent_op()
        if isinstance(parent, tir.IfThenElseOp | tir.ReducerOp):
            outer = self.ops.get(parent)
            if outer is not None and outer.kind is not Kind.STATEMENT:
                return outer.last
        return fact.start

    def is_written_between(self, read: Operation, position: Operation) -> bool:
        """Whether a write between two ops may reach the memory that the first reads.

        Both are in one block, or the second is in a block that no loop between them
        repeats.
        """
        write = self._last_write(self._reads.get(read, ()), self.ops[position].start)
        return write > self.ops[read].start

    def take_place(
        self, new: Operation, old: Operation, holds: Iterable[Operation]
    ) -> None:
        """Note that `new` is where `old` was, and holds the reads among `holds`."""
        self.ops[new] = self.ops[old]
        reads = frozenset[Memory]().union(*(self._reads.get(op, ()) for op in holds))
        if reads:
            self._reads[new] = reads

    def is_choice(self, op: Operation) -> bool:
        """Whether it is a `tir.if_then_else` that is an expression."""
        if not isinstance(op, tir.IfThenElseOp):
            return False
        return op in self.ops and self.ops[op].kind is not Kind.STATEMENT

    def state(self, op: Operation) -> int:
        """The state of the memory that a read sees, as a number in its program."""
        memories = self._reads[op]
        state = self._last_write(memories, self.ops[op].start)
        parent = op.parent_op()
        while parent is not None and parent in self.ops:
            if not isinstance(parent, _ONCE):
                end = self.ends[parent] + 1
                start = self.ops[parent].start
                if self._last_write(memories, end) > start:
                    state = max(state, start)
            parent = parent.parent_op()
        return state

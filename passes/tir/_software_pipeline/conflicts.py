"""Which statements of a loop touch the same memory, and how many iterations apart.

Two instances of statements conflict if they may touch one place and one of them writes
it. A place is a box of a buffer, in terms of the loop variable; the threads of a block
count as running each statement together, so that boxes of memory they share are those of
any two threads. Memory of different parameters is taken to be different.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.ir import Attribute, Block, Operation, SSAValue

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.analyzer import Analyzer, Range
from xdsl_tvm.analysis.arith.expr import Expr, Value, leaf_values, substitute, view
from xdsl_tvm.analysis.arith.facts import negated
from xdsl_tvm.analysis.derivation import origin
from xdsl_tvm.analysis.tir.access_regions import (
    get_block_access_region,
    get_block_read_write_region,
)
from xdsl_tvm.analysis.tir.memory_order import Memory, memory_of
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir import CallEffect, ThreadAxis
from xdsl_tvm.passes.tir._software_pipeline.statements import effect_of

_THROUGH_POINTERS = frozenset(
    (
        "tvm_load_matrix_sync",
        "tvm_store_matrix_sync",
        "tvm_fill_fragment",
        "tvm_mma_sync",
        "tvm_bmma_sync",
        "ptx_mma",
        "ptx_mma_sp",
        "ptx_ldmatrix",
        "mma_store",
        "mma_fill",
        "tvm_warp_shuffle",
        "tvm_warp_shuffle_up",
        "tvm_warp_shuffle_down",
    )
)
"""Builtins that touch no memory but what their operands point to."""
_IN_ORDER = ("volatile_scope", "reduce_scope")
"""Attributes of statements that nothing may pass; so are all that start `async_`."""
_REGIONS = (tir.ReadsOp, tir.WritesOp)
_SEEN_BY_REGIONS = (tir.LoadOp, tir.StoreOp, tir.PrefetchOp)


Box: TypeAlias = tuple[Range, ...] | None
"""The start and the extent in each dimension of a buffer; None for anywhere in it."""


@dataclass(frozen=True, eq=False)
class Touch:
    """What a statement does to a buffer."""

    statement: int
    buffer: SSAValue
    box: Box
    writes: bool


class Touches:
    """What the statements of a loop touch."""

    def __init__(self, statements: Sequence[tir.BlockOp]) -> None:
        self.by_memory: dict[Memory, list[Touch]] = {}
        self.opaque: set[int] = set()
        """Statements that may touch anything, or that must stay in their order."""
        for number, block in enumerate(statements):
            if any(_is_opaque(op) or _is_nameless(op, block) for op in all_ops(block)):
                self.opaque.add(number)
            for touch in _touches(number, block):
                self._add(touch)

    def _add(self, touch: Touch) -> None:
        memory = memory_of(touch.buffer, distinct_parameters=True)
        if memory is None:
            self.opaque.add(touch.statement)
        else:
            self.by_memory.setdefault(memory, []).append(touch)

    def writes(self, statement: int, read: Operation) -> bool:
        """Whether a statement may write what an expression reads."""
        if statement in self.opaque:
            return True
        memories = set(_read_memories(read))
        return any(
            touch.statement == statement and touch.writes
            for memory, touches in self.by_memory.items()
            if memory in memories or None in memories
            for touch in touches
        )


def _read_memories(read: Operation) -> Iterator[Memory]:
    for op in read.walk():
        if isinstance(op, tir.LoadOp):
            yield memory_of(op.buffer, distinct_parameters=True)
        elif effect_of(op) is CallEffect.READ_STATE:
            yield None


def _touches(number: int, block: tir.BlockOp) -> Iterator[Touch]:
    found = get_block_access_region(block, as_declared=False)
    opaque = {each.buffer for each in found.opaque}
    for regions, writes in ((found.reads, False), (found.writes, True)):
        for each in regions:
            box = None if each.buffer in opaque else each.region
            yield Touch(number, each.buffer, box, writes)
    if opaque:
        # Nobody but the blocks can say what is done through a pointer.
        reads, writes_ = _declared(block)
        for buffer in opaque:
            unknown = buffer not in reads and buffer not in writes_
            for boxes, writes in ((reads, False), (writes_, True)):
                if unknown:
                    yield Touch(number, buffer, None, writes)
                for box in boxes.get(buffer, ()):
                    yield Touch(number, buffer, box, writes)


_Declared: TypeAlias = dict[SSAValue, list[Box]]


def _declared(block: tir.BlockOp) -> tuple[_Declared, _Declared]:
    """What a block says it reads and writes; else what those in it say."""
    reads: _Declared = {}
    writes: _Declared = {}
    regions = [op for op in block.body.block.ops if isinstance(op, _REGIONS)]
    for op in regions:
        found = reads if isinstance(op, tir.ReadsOp) else writes
        for each in op.buffer_regions:
            found.setdefault(each.buffer, []).append(_box_of(each, block))
    if not regions:
        inside = get_block_read_write_region(block)
        for kind, found in ((inside.reads, reads), (inside.writes, writes)):
            for each in kind:
                found.setdefault(each.buffer, []).append(each.region)
    return reads, writes


def _box_of(region: tir.BufferRegion, block: tir.BlockOp) -> Box:
    """A declared region in terms of what is around the block; None if it is not."""
    box: list[Range] = []
    for low, size in zip(region.mins, region.extents, strict=True):
        start = view(low)
        extent = smart.const(size, low.type) if isinstance(size, int) else view(size)
        for leaf in leaf_values(start, extent):
            owner = leaf.owner
            op = owner if isinstance(owner, Operation) else owner.parent_op()
            if op is not None and block.is_ancestor(op):
                return None
        box.append(Range(start, extent))
    return tuple(box)


def _is_opaque(op: Operation) -> bool:
    """Whether what an op does to memory cannot be said, or has to stay in its order."""
    if isinstance(op, _SEEN_BY_REGIONS):
        return False
    if isinstance(op, tir.AssertOp):
        return True
    if isinstance(op, tir.AttrOp):
        key = op.key.data
        return key in _IN_ORDER or key.startswith("async_")
    if isinstance(op, tir.CallOp) and op.callee.data in _THROUGH_POINTERS:
        return not all(_is_into_buffer(arg) for arg in op.args if tir.is_handle(arg.type))
    return effect_of(op) >= CallEffect.READ_STATE


def _is_nameless(op: Operation, block: tir.BlockOp) -> bool:
    """Whether an op makes a buffer of memory that is no buffer's outside of the block."""
    if not isinstance(op, tir.DeclBufferOp) or _is_into_buffer(op.data):
        return False
    memory = memory_of(op.data)
    owner = memory.owner if isinstance(memory, SSAValue) else None
    return not (isinstance(owner, Operation) and block.is_ancestor(owner))


def _is_into_buffer(pointer: SSAValue) -> bool:
    """Whether a pointer is into a buffer, so that regions hold what is done to it.

    A string is as good as one.
    """
    owner = origin(pointer, (tir.AccessPtrOp, tir.LetOp)).owner
    return isinstance(owner, tir.DataOp | tir.AddressOfOp | tir.StringOp)


# ---- facts ----


@contextmanager
def facts_around(op: Operation) -> Generator[Analyzer]:
    """An analyzer that knows what the loops and conditions around an op say."""
    analyzer = Analyzer()
    around: list[tuple[Operation, Operation]] = []
    inner, outer = op, op.parent_op()
    while outer is not None and not isinstance(outer, tir.FuncOp):
        around.append((outer, inner))
        inner, outer = outer, outer.parent_op()
    with ExitStack() as scopes:
        for outer, inner in reversed(around):
            _enter(outer, inner, analyzer, scopes)
        yield analyzer


def _enter(
    outer: Operation, inner: Operation, analyzer: Analyzer, scopes: ExitStack
) -> None:
    match outer:
        case tir.ForOp():
            start, extent = view(outer.min), view(outer.extent)
            scopes.enter_context(analyzer.assumed((smart.gt(extent, 0),)))
            analyzer.bind(outer.loop_var, Range(start, extent))
        case tir.LaunchThreadOp():
            extent = view(outer.extent)
            zero = smart.const(0, extent.dtype)
            analyzer.bind(outer.thread_var, Range(zero, extent))
        case tir.BlockOp() if outer.predicate is not None:
            scopes.enter_context(analyzer.constraint(view(outer.predicate)))
        case tir.IfOp():
            condition = view(outer.condition)
            if inner.parent_region() is not outer.then_region:
                condition = negated(condition)
            scopes.enter_context(analyzer.constraint(condition))
        case _:
            pass


# ---- conflicts ----


@dataclass(frozen=True)
class Conflict:
    """Two statements that touch a memory, which one of them writes.

    A buffer of None stands for what cannot be told, and is always a conflict.
    """

    first: Touch | None
    second: Touch | None

    @property
    def buffer(self) -> SSAValue | None:
        """The buffer that both touch."""
        return None if self.first is None else self.first.buffer


ANYTHING = Conflict(None, None)


class Conflicts:
    """Answers whether instances of statements conflict.

    `analyzer` knows what holds around the loop. For memory that the loop allocates, an
    iteration has its own.
    """

    def __init__(
        self,
        loop: tir.ForOp,
        statements: Sequence[tir.BlockOp],
        allocations: Sequence[tir.AllocBufferOp],
        touches: Touches,
        analyzer: Analyzer,
    ) -> None:
        self._loop = loop
        self._analyzer = analyzer
        self._variable = Value(loop.loop_var)
        self._min, self._extent = view(loop.min), view(loop.extent)
        self._threads = _Threads(loop)
        self.own: frozenset[Memory] = frozenset(each.buffer for each in allocations)
        self.between: dict[tuple[int, int], list[Conflict]] = {}
        """What two statements, in either order, share of memory around the loop."""
        self.within: dict[Memory, dict[tuple[int, int], list[Conflict]]] = {}
        """The same of each buffer that the loop allocates."""
        self._known: dict[tuple[Touch, Touch, int | None], bool] = {}
        self._collect(touches, len(statements))

    def _collect(self, touches: Touches, count: int) -> None:
        for memory, found in touches.by_memory.items():
            pairs = self.between
            if memory in self.own:
                pairs = self.within[memory] = {}
            for first in found:
                for second in found:
                    if first.writes or second.writes:
                        key = first.statement, second.statement
                        pairs.setdefault(key, []).append(Conflict(first, second))
        for one in touches.opaque:
            for other in range(count):
                for key in ((one, other), (other, one)):
                    self.between.setdefault(key, []).append(ANYTHING)

    def at(self, conflict: Conflict, distance: int | None) -> bool:
        """Whether the second statement, `distance` iterations later, meets the first.

        None stands for any number of iterations greater than 0.
        """
        first, second = conflict.first, conflict.second
        if first is None or second is None:
            return True
        if first.box is None or second.box is None or first.buffer is not second.buffer:
            return True
        key = first, second, distance
        if key not in self._known:
            self._known[key] = not self._are_apart(first, second, distance)
        return self._known[key]

    def _are_apart(self, first: Touch, second: Touch, distance: int | None) -> bool:
        later = self._later(distance)
        renamed: dict[Expr, Expr] = {self._variable: later}
        end = smart.add(self._min, self._extent)
        facts = [smart.lt(later, end)]
        domain = Range(self._min, self._extent)
        with self._analyzer.assumed((smart.gt(self._extent, 0),)):
            self._analyzer.bind(self._loop.loop_var, domain)
            if distance is None:
                self._analyzer.bind(_value_of(later), domain)
                facts.append(smart.gt(later, self._variable))
            if _is_shared(first.buffer):
                renamed = (
                    self._threads.renamed(second.box or (), self._analyzer) | renamed
                )
            with self._analyzer.assumed(facts):
                return any(
                    self._never_meet(a, _substituted(b, renamed))
                    for a, b in zip(first.box or (), second.box or (), strict=True)
                )

    def _later(self, distance: int | None) -> Expr:
        if distance is None:
            return fresh_leaf(self._loop.loop_var.type)
        return smart.add(self._variable, distance)

    def _never_meet(self, one: Range, other: Range) -> bool:
        if one.min.dtype != other.min.dtype:
            return False
        return any(
            self._analyzer.can_prove(smart.le(smart.add(low.min, low.extent), high.min))
            for low, high in ((one, other), (other, one))
        )


def _substituted(found: Range, renamed: dict[Expr, Expr]) -> Range:
    return Range(substitute(found.min, renamed), substitute(found.extent, renamed))


def fresh_leaf(dtype: Attribute) -> Expr:
    """A leaf of which nothing is known."""
    return Value(tir.ShapeVarOp("other", dtype).result)


def _value_of(leaf: Expr) -> SSAValue:
    assert isinstance(leaf, Value)
    return leaf.value


def _is_shared(buffer: SSAValue) -> bool:
    return tir.buffer_definition(buffer).type.storage_scope.is_shared_by_threads


class _Threads:
    """The threads that run a loop together, and what differs between two of them."""

    def __init__(self, loop: tir.ForOp) -> None:
        self._domains: dict[SSAValue, Range] = {}
        self._outermost: Operation | None = None
        parent = loop.parent_op()
        while parent is not None:
            match parent:
                case tir.LaunchThreadOp() if not parent.axis.is_block:
                    zero = smart.const(0, parent.extent.type)
                    domain = Range(zero, view(parent.extent))
                    self._add(parent, parent.thread_var, domain)
                case tir.ForOp(thread_axis=ThreadAxis() as axis) if not axis.is_block:
                    domain = Range(view(parent.min), view(parent.extent))
                    self._add(parent, parent.loop_var, domain)
                case _:
                    pass
            parent = parent.parent_op()

    def _add(self, op: Operation, variable: SSAValue, domain: Range) -> None:
        self._outermost = op
        self._domains[variable] = domain

    def renamed(self, box: Sequence[Range], analyzer: Analyzer) -> dict[Expr, Expr]:
        """For what a box is in terms of, where it may differ in another thread, that."""
        if self._outermost is None:
            return {}
        found: dict[Expr, Expr] = {}
        for side in box:
            for leaf in leaf_values(side.min, side.extent):
                if Value(leaf) in found or self._is_common(leaf):
                    continue
                found[Value(leaf)] = other = fresh_leaf(leaf.type)
                domain = self._domains.get(leaf)
                if domain is not None:
                    analyzer.bind(_value_of(other), domain)
        return found

    def _is_common(self, leaf: SSAValue) -> bool:
        """Whether a value is the same in all threads: not made in them, or a loop's."""
        if leaf in self._domains:
            return False
        owner = leaf.owner
        outermost = self._outermost
        assert outermost is not None
        if isinstance(owner, Block):
            return True
        return not outermost.is_ancestor(owner)

"""Rings of stages in shared memory, which tensor copies fill and products read.

No barrier of the block orders the accesses of such memory: counting barriers do, two for
each of S stages. In the loop of the one thread that copies,

    ptx_wait_barrier(empty + s % S, (s // S + 1) % 2)
    ptx_arrive_barrier_expect_tx(full + s % S, bytes)
    ptx_cp_async_bulk_tensor(stage s % S, …, full + s % S, …)

and in that of the warps that multiply, of which a lane each arrives,

    ptx_wait_barrier(full + s % S, s // S % 2)
    ptx_wgmma_mma_async(…, stage s % S, …)
    ptx_wgmma_commit_group()
    ptx_wgmma_wait_group(g)
    ptx_arrive_barrier(empty + (s - g) % S)

Either loop may be in another one, of tiles one after the other; `s` is then the number
of the step among those of all tiles. A stage is full when all its bytes are there, and
empty when all warps have waited for the products that read it, so that no copy meets a
product, whatever the threads' speed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, Final

import numpy as np
from xdsl.ir import Attribute, Operation, SSAValue

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import And, Expr, Value, leaf_values
from xdsl_tvm.analysis.tir.builtin_offsets import position_of
from xdsl_tvm.analysis.tir.memory_order import memory_of
from xdsl_tvm.analysis.tir.scoped_facts import FactsWalker
from xdsl_tvm.analysis.tir.thread_points import evaluate
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.nvvm.formats import warpgroup_columns
from xdsl_tvm.dialects.tir.storage_scope import StorageRank, StorageScope
from xdsl_tvm.dialects.tir.types import bytes_of

COPY: Final = "ptx_cp_async_bulk_tensor"
PRODUCT: Final = "ptx_wgmma_mma_async"
_CREATE: Final = "create_barriers"
_INIT: Final = "ptx_init_barrier_thread_count"
_WAIT: Final = "ptx_wait_barrier"
_ARRIVE: Final = "ptx_arrive_barrier"
_EXPECT: Final = "ptx_arrive_barrier_expect_tx"
_FENCE: Final = "ptx_fence_proxy_async"
_COMMIT: Final = "ptx_wgmma_commit_group"
_WAIT_PRODUCTS: Final = "ptx_wgmma_wait_group"
_SYNC: Final = "tvm_storage_sync"
_NAMES: Final = (
    *(COPY, PRODUCT, _CREATE, _INIT, _WAIT, _ARRIVE, _EXPECT, _FENCE, _COMMIT),
    *(_WAIT_PRODUCTS, _SYNC, "ptx_cp_async_barrier", "ptx_cp_async_bulk"),
)
_WARP: Final = 32
_ROWS_BYTES: Final = 64 * 128
"""64 lines of 64 terms."""
_TERMS_BYTES: Final = 16 * 128
"""16 terms of 64 columns."""
_MOST_THREADS: Final = 1024


def ordered_memory(launch: tir.LaunchThreadOp) -> frozenset[SSAValue]:
    """The memory of a kernel whose accesses counting barriers order.

    All of the kernel's counting barriers have to be those of one ring. Time is linear in
    the size of the kernel, besides that of the proofs about its copies and products.
    """
    ops = all_ops(launch)
    if not any(_name(op) == COPY for op in ops):
        return frozenset()
    ring = _Ring(launch, ops)
    return frozenset(ring.memories) if ring.holds() else frozenset()


def _conjuncts(condition: Expr) -> Iterator[Expr]:
    if isinstance(condition, And):
        for operand in condition.operands:
            yield from _conjuncts(operand)
    else:
        yield condition


def _loop_around(loop: tir.ForOp) -> tir.ForOp | None:
    """The loop that a loop is in, without conditions between the two."""
    parent = loop.parent_op()
    while isinstance(parent, tir.ScopeOp | tir.AttrOp):
        parent = parent.parent_op()
    return parent if isinstance(parent, tir.ForOp) else None


def _name(op: Operation) -> str:
    return op.callee.data if isinstance(op, tir.CallOp) else ""


@dataclass(eq=False)
class _Seen:
    """A call, and what is known of it where it is."""

    op: tir.CallOp
    number: int
    """Its place in the order of the text."""
    parents: tuple[Operation, ...]
    """The ops around it in the kernel, the outermost first."""
    threads: Any
    """Which threads of the block may call it, as an array of truths; None if unknown."""


@dataclass(eq=False)
class _Ring:
    """What is read of the calls of a kernel."""

    launch: tir.LaunchThreadOp
    ops: Sequence[Operation]
    """The ops of the kernel, in the order of the text."""
    memories: set[SSAValue] = field(default_factory=set[SSAValue])
    stages: int = 0
    _calls: dict[str, list[_Seen]] = field(default_factory=dict[str, "list[_Seen]"])
    _number: int = 0
    _fails: bool = False
    """Whether some call is not as it has to be."""
    _firsts: dict[tir.CallOp, int] = field(default_factory=dict[tir.CallOp, int])
    """The first of the barriers that a call is about."""
    _copied: list[tuple[SSAValue, int, float]] = field(
        default_factory=list[tuple[SSAValue, int, float]]
    )
    """The bytes of a stage that copies write."""
    _full: int = -1
    _empty: int = -1
    _producer: tir.ForOp | None = None
    _consumer: tir.ForOp | None = None

    # ---- the walk ----

    def holds(self) -> bool:
        """Whether the kernel is a ring."""
        self._analyzer = Analyzer()
        self._walker = FactsWalker(self._analyzer, self._visit)
        self._columns = self._threads()
        if self._columns is None:
            return False
        creates = [op for op in self.ops if _name(op) == _CREATE]
        count = tir.constant_value(creates[0].operands[0]) if len(creates) == 1 else None
        if count is None or count < 2 or count % 2:
            return False
        self.stages = int(count) // 2
        self._find_loops()
        if self._producer is None or self._consumer is None:
            return False
        self._walker.walk(self.launch)
        return not self._fails and self._is_complete() and self._is_private()

    def _threads(self) -> dict[SSAValue, Any] | None:
        """The index of each thread on each axis of the block."""
        extents: dict[str, int] = {}
        for op in self.ops:
            if isinstance(op, tir.LaunchThreadOp) and op.tag.data in tir.THREAD_TAGS:
                extent = tir.constant_value(op.extent)
                if extent is None or op.virtual is not None:
                    return None
                if extents.setdefault(op.tag.data, int(extent)) != extent:
                    return None
        sizes = [extents.get(tag, 1) for tag in tir.THREAD_TAGS]
        total = int(np.prod(sizes))
        if not 0 < total <= _MOST_THREADS:
            return None
        linear = np.arange(total)
        index: dict[str, Any] = {}
        for tag, size in zip(tir.THREAD_TAGS, sizes, strict=True):
            index[tag], linear = linear % size, linear // size
        return {
            op.thread_var: index[op.tag.data]
            for op in self.ops
            if isinstance(op, tir.LaunchThreadOp) and op.tag.data in tir.THREAD_TAGS
        }

    def _find_loops(self) -> None:
        """The loops around copies and around products, in which waits are."""
        for op in self.ops:
            if _name(op) != _WAIT:
                continue
            loop = op.parent_op()
            if not isinstance(loop, tir.ForOp):
                continue
            names = {_name(inner) for inner in loop.walk()}
            if COPY in names and PRODUCT not in names:
                self._producer = loop
            elif PRODUCT in names and COPY not in names:
                self._consumer = loop

    def _visit(self, op: Operation) -> None:
        name = _name(op)
        if name not in _NAMES:
            return
        assert isinstance(op, tir.CallOp)
        self._number += 1
        parents = tuple(self._parents(op))
        seen = _Seen(op, self._number, parents, self._callers(op, parents))
        self._calls.setdefault(name, []).append(seen)
        checks = {
            COPY: self._copy,
            PRODUCT: self._product,
            _WAIT: self._wait,
            _ARRIVE: self._arrive,
            _EXPECT: self._expect,
        }
        check = checks.get(name)
        if check is not None and not check(seen):
            self._fails = True

    def _parents(self, op: Operation) -> Iterator[Operation]:
        found: list[Operation] = []
        parent = op.parent_op()
        while parent is not None and parent is not self.launch:
            found.append(parent)
            parent = parent.parent_op()
        return reversed(found)

    def _callers(self, op: Operation, parents: Sequence[Operation]) -> Any:
        """The threads that may get to an op; None where conditions are no use."""
        assert self._columns is not None
        count = len(next(iter(self._columns.values()), np.zeros(1)))
        found = np.ones(count, np.bool_)
        inner = op
        for parent in reversed(parents):
            if isinstance(parent, tir.IfOp):
                is_then = inner.parent_region() is parent.then_region
                tree = self._walker.tree(parent.condition)
                for part in _conjuncts(tree) if is_then else (tree,):
                    if not any(leaf in self._columns for leaf in leaf_values(part)):
                        # It may hold for some of the time, for all threads.
                        continue
                    holds = self._holders(part)
                    if holds is None:
                        return None
                    found &= holds if is_then else ~holds
            inner = parent
        return found

    def _holders(self, condition: Expr) -> Any:
        """The threads for which a condition holds; None where that is unknown."""
        assert self._columns is not None
        count = len(next(iter(self._columns.values()), np.zeros(1)))
        if not all(leaf in self._columns for leaf in leaf_values(condition)):
            return None
        value = evaluate(condition, self._columns)
        return None if value is None else np.broadcast_to(value, (count,)) != 0

    # ---- stages ----

    def _tree(self, op: tir.CallOp, name: str) -> Expr:
        return self._walker.tree(op.args[position_of(op, name)])

    def _step(self, loop: tir.ForOp | None, dtype: Attribute) -> Expr | None:
        """The number of an iteration of a loop, from 0, that may be in another one."""
        if loop is None or tir.constant_value(loop.min) != 0:
            return None
        step = smart.cast(dtype, Value(loop.loop_var))
        around = _loop_around(loop)
        if around is None:
            return step
        extent = tir.constant_value(loop.extent)
        if extent is None or tir.constant_value(around.min) != 0:
            return None
        before = smart.cast(dtype, Value(around.loop_var))
        return smart.add(smart.mul(before, smart.const(int(extent), dtype)), step)

    def _stage(self, step: Expr, ahead: int = 0) -> Expr:
        """The stage of a step, or of one `ahead` of it."""
        total = smart.add(step, smart.const(ahead, step.dtype))
        return smart.floormod(total, smart.const(self.stages, step.dtype))

    def _first_barrier(self, op: tir.CallOp, loop: tir.ForOp | None, ahead: int) -> int:
        """0 or the number of stages, if a barrier is that plus the stage; else -1."""
        tree = self._tree(op, "barrier_id")
        step = self._step(loop, tree.dtype)
        if step is None:
            return -1
        for first in (0, self.stages):
            wanted = smart.add(self._stage(step, ahead), smart.const(first, tree.dtype))
            if self._analyzer.can_prove_equal(tree, wanted):
                self._firsts[op] = first
                return first
        return -1

    def _loop_of(self, seen: _Seen) -> tir.ForOp | None:
        loops = (self._producer, self._consumer)
        return next((each for each in loops if each in seen.parents), None)

    def _wait(self, seen: _Seen) -> bool:
        op = seen.op
        loop = op.parent_op()
        if loop is not self._producer and loop is not self._consumer:
            return False
        assert isinstance(loop, tir.ForOp)
        first = self._first_barrier(op, loop, 0)
        is_producer = loop is self._producer
        if first < 0 or len(op.args) < position_of(op, "barrier_id") + 2:
            return False
        tree = self._tree(op, "parity")
        step = self._step(loop, tree.dtype)
        if step is None:
            return False
        turn = smart.floordiv(step, smart.const(self.stages, step.dtype))
        turn = smart.add(turn, smart.const(int(is_producer), step.dtype))
        wanted = smart.floormod(turn, smart.const(2, step.dtype))
        if is_producer:
            self._empty = first
        else:
            self._full = first
        return self._analyzer.can_prove_equal(tree, wanted)

    def _expect(self, seen: _Seen) -> bool:
        is_here = seen.op.parent_op() is self._producer
        return is_here and self._first_barrier(seen.op, self._producer, 0) >= 0

    def _arrive(self, seen: _Seen) -> bool:
        """After the wait that leaves g groups of products, of g steps before."""
        if self._loop_of(seen) is not self._consumer or self._consumer is None:
            return False
        waits = self._calls.get(_WAIT_PRODUCTS, [])
        if len(waits) != 1 or waits[0].op.parent_op() is not self._consumer:
            return False
        left = tir.constant_value(waits[0].op.args[0])
        if left is None:
            return False
        # In a condition of the loop's variable the difference is not negative.
        return self._first_barrier(seen.op, self._consumer, -int(left)) >= 0

    def _within_stage(
        self, op: tir.CallOp, pointer: str, offset: str, size: int, align: int
    ) -> bool:
        """Whether `size` bytes after an aligned pointer are of the stage of the step."""
        loop = self._producer if _name(op) == COPY else self._consumer
        given = op.args[position_of(op, pointer)]
        memory = memory_of(given, distinct_parameters=True)
        if not isinstance(memory, SSAValue) or not isinstance(memory.type, tir.PtrType):
            return False
        if not isinstance(memory.owner, tir.AllocateOp):
            return False
        if StorageScope.parse(memory.type.scope.data).rank is not StorageRank.SHARED:
            return False
        if not isinstance(given.type, tir.PtrType) or memory.owner.extents:
            return False
        total = prod(int(each) for each in memory.owner.static_extents.get_values())
        total *= bytes_of(memory.type.element_type)
        width = bytes_of(given.type.element_type)
        stage, rest = divmod(total, self.stages * width)
        if rest:
            return False
        self.memories.add(memory)
        tree = self._tree(op, offset)
        step = self._step(loop, tree.dtype)
        if step is None:
            return False
        start = smart.mul(self._stage(step), smart.const(stage, tree.dtype))
        within = self._analyzer.simplify(smart.sub(tree, start))
        bound = self._analyzer.const_int_bound(within)
        first, last = max(bound.min, -1) * width, bound.max * width
        if _name(op) == COPY:
            self._copied.append((memory, int(first), last + size))
        return first >= 0 and last // align * align + size <= stage * width

    def _copy(self, seen: _Seen) -> bool:
        op = seen.op
        if op.parent_op() is not self._producer:
            return False
        size = tir.constant_value(op.args[position_of(op, "bytes")])
        if size is None or self._first_barrier(op, self._producer, 0) < 0:
            return False
        return self._within_stage(op, "shared_ptr", "shared_offset", int(size), 1)

    def _are_apart(self) -> bool:
        """Whether no two copies of a stage write one element."""
        held = sorted(self._copied, key=lambda each: each[1:])
        return all(
            one[0] is not other[0] or one[2] <= other[1] or other[2] <= one[1]
            for number, one in enumerate(held)
            for other in held[number + 1 :]
        )

    def _product(self, seen: _Seen) -> bool:
        op = seen.op
        if self._consumer not in seen.parents:
            return False
        inner = seen.parents[seen.parents.index(self._consumer) + 1 :]
        if not all(isinstance(each, tir.ForOp | tir.ScopeOp) for each in inner):
            return False
        shape, layout = (op.args[at].owner for at in (0, 2))
        if not isinstance(shape, tir.StringOp) or not isinstance(layout, tir.StringOp):
            return False
        try:
            columns = warpgroup_columns(shape.value.data)
        except ValueError:
            return False
        size = columns * 128
        if layout.value.data == "row":
            size = (-(-columns // 64) - 1) * _ROWS_BYTES + _TERMS_BYTES
        return self._within_stage(
            op, "a", "a_offset", _ROWS_BYTES, 128
        ) and self._within_stage(op, "b", "b_offset", size, 128)

    # ---- the whole ----

    def _is_complete(self) -> bool:
        calls = self._calls
        if any(calls.get(name) for name in ("ptx_cp_async_barrier", "ptx_cp_async_bulk")):
            return False
        if {self._full, self._empty} != {0, self.stages}:
            return False
        waits, arrivals, expects = (
            calls.get(name, []) for name in (_WAIT, _ARRIVE, _EXPECT)
        )
        commits, waited = calls.get(_COMMIT, []), calls.get(_WAIT_PRODUCTS, [])
        if [len(each) for each in (waits, arrivals, expects, commits)] != [2, 1, 1, 1]:
            return False
        in_order = (
            self._is_in_order(self._producer, [_WAIT, _EXPECT, COPY])
            and self._is_in_order(
                self._consumer, [_WAIT, PRODUCT, _COMMIT, _WAIT_PRODUCTS, _ARRIVE]
            )
            and commits[0].op.parent_op() is self._consumer
            and waited[0].op.parent_op() is self._consumer
        )
        in_order = in_order and self._are_apart()
        return in_order and self._counts_fit(expects[0], arrivals[0]) and self._begins()

    def _is_in_order(self, loop: tir.ForOp | None, names: Sequence[str]) -> bool:
        """Whether the calls of a loop with these names follow each other."""
        last = 0
        for name in names:
            numbers = [
                seen.number for seen in self._calls[name] if self._loop_of(seen) is loop
            ]
            if not numbers or min(numbers) < last:
                return False
            last = max(numbers)
        return True

    def _counts_fit(self, expect: _Seen, arrive: _Seen) -> bool:
        """Whether one thread expects the bytes of all copies, and every warp arrives."""
        copies = self._calls[COPY]
        total = sum(
            int(tir.constant_value(seen.op.args[position_of(seen.op, "bytes")]) or 0)
            for seen in copies
        )
        expected = tir.constant_value(expect.op.args[position_of(expect.op, "bytes")])
        barriers = {self._firsts[seen.op] for seen in (expect, *copies)}
        if expected != total or barriers != {self._full}:
            return False
        if self._firsts[arrive.op] != self._empty:
            return False
        one, arriving = expect.threads, arrive.threads
        groups = self._calls[_COMMIT][0].threads
        if one is None or groups is None or arriving is None or int(one.sum()) != 1:
            return False
        if len(groups) % _WARP or (arriving & ~groups).any():
            return False
        by_warp = groups.reshape(-1, _WARP)
        if not (by_warp.all(axis=1) == by_warp.any(axis=1)).all():
            return False
        warps = by_warp.all(axis=1)
        per_warp = arriving.reshape(-1, _WARP).sum(axis=1)
        if not (per_warp[warps] == 1).all():
            return False
        return self._initial_counts() == {
            **{self._full + stage: 1 for stage in range(self.stages)},
            **{self._empty + stage: int(warps.sum()) for stage in range(self.stages)},
        }

    def _initial_counts(self) -> dict[int, int]:
        """The arrivals that barriers count; empty where that is unknown."""
        found: dict[int, int] = {}
        for seen in self._calls.get(_INIT, []):
            loops = [each for each in seen.parents if isinstance(each, tir.ForOp)]
            columns: dict[SSAValue, Any] = {}
            if len(loops) > 1 or seen.threads is None or int(seen.threads.sum()) != 1:
                return {}
            for loop in loops:
                first, extent = (tir.constant_value(x) for x in (loop.min, loop.extent))
                if first is None or extent is None or extent > 2 * self.stages:
                    return {}
                columns[loop.loop_var] = np.arange(int(first), int(first) + int(extent))
            size = len(next(iter(columns.values()), np.zeros(1)))
            values = [evaluate(self._walker.tree(each), columns) for each in seen.op.args]
            if any(value is None for value in values):
                return {}
            barriers, counts = (np.broadcast_to(value, (size,)) for value in values)
            for barrier, count in zip(barriers.tolist(), counts.tolist(), strict=True):
                if barrier in found:
                    return {}
                found[barrier] = count
        return found

    def _begins(self) -> bool:
        """Whether barriers are initialized, and copies see them, before all meet."""
        syncs = [
            seen.number
            for seen in self._calls.get(_SYNC, [])
            if not any(
                isinstance(each, tir.IfOp | tir.ForOp | tir.WhileOp)
                for each in seen.parents
            )
            and isinstance(seen.op.args[0].owner, tir.StringOp)
            and seen.op.args[0].owner.value.data in ("shared", "shared.dyn")
        ]
        inits = self._calls[_INIT]
        fences = [
            seen
            for seen in self._calls.get(_FENCE, [])
            if seen.threads is not None and (seen.threads == inits[0].threads).all()
        ]
        last, first = max(seen.number for seen in inits), self._calls[_WAIT][0].number
        return any(
            last < fence.number < sync < first for fence in fences for sync in syncs
        )

    def _is_private(self) -> bool:
        """Whether nothing else accesses the memory, and the loops run once."""
        for loop in (self._producer, self._consumer):
            # A loop of one tile after the other counts the steps of all.
            around = None if loop is None else _loop_around(loop) or loop
            parent = None if around is None else around.parent_op()
            while parent is not None and parent is not self.launch:
                if isinstance(parent, tir.ForOp | tir.WhileOp):
                    return False
                parent = parent.parent_op()
        return all(self._is_used_by_ring(memory) for memory in self.memories)

    def _is_used_by_ring(self, memory: SSAValue) -> bool:
        pending, seen = [memory], {memory}
        while pending:
            for use in pending.pop().uses:
                op = use.operation
                if isinstance(op, tir.DataOp | tir.DeclBufferOp | tir.LetOp):
                    pending += [each for each in op.results if each not in seen]
                    seen.update(op.results)
                elif isinstance(op, tir.AttrOp):
                    continue
                elif _name(op) not in (COPY, PRODUCT):
                    return False
        return True

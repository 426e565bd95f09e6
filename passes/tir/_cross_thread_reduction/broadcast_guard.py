"""Blocks that use what threads have reduced, and are not among these threads yet."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from xdsl.builder import Builder
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.arith.expr import Expr, emit, view
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.tir._cross_thread_reduction.update import buffers_touched
from xdsl_tvm.passes.tir._loops.thread_axes import axes_around, is_private
from xdsl_tvm.passes.tir.rewriting.statements import (
    describe,
    is_computed_inside,
    renewed_block,
)


@dataclass(frozen=True)
class ThreadRange:
    """The threads of an axis that take part in a reduction."""

    tag: str
    min: Expr
    extent: Expr


@dataclass(frozen=True)
class Reduced:
    """A buffer that threads have reduced into."""

    buffer: SSAValue
    threads: tuple[ThreadRange, ...]
    axes: frozenset[str]
    """All axes that are bound where it was done, those of the threads among them."""
    kernel: Operation
    """The kernel it was done in; nothing is known of the buffer outside of it."""
    position: int
    """Where, in the order of the text."""


class BroadcastGuard:
    """Puts users of what was reduced in a function among the threads that have it."""

    def __init__(self, order: dict[Operation, int], lowered: set[Operation]) -> None:
        self._order = order
        self._lowered = lowered
        """Blocks that come from a reduction over threads."""

    def guard(self, reduced: Iterable[Reduced]) -> None:
        """Wrap the blocks that use any of the buffers."""
        pending = list(reduced)
        pending.reverse()
        while pending:
            one = pending.pop()
            for user in self._users(one):
                pending += self._guard_user(one, user)

    def _users(self, reduced: Reduced) -> list[Operation]:
        """The ops that read the buffer, in the order of the text."""
        users = {
            use.operation: self._order.get(use.operation, -1)
            for use in reduced.buffer.uses
            if not isinstance(use.operation, tir.StoreOp | tir.ReadsOp | tir.WritesOp)
            and not isinstance(use.operation, tir.ThreadAllreduceOp)
        }
        return sorted(users, key=lambda op: users[op])

    def _guard_user(self, reduced: Reduced, user: Operation) -> list[Reduced]:
        """Wrap the block around a user; what else only these threads have then."""
        private = is_private(reduced.buffer)
        if not reduced.kernel.is_ancestor(user):
            if private:
                raise PassFailedException(
                    f"{describe(user)}: it reads outside of a kernel what the threads of "
                    "the kernel have reduced in their own memory; reduce into memory "
                    "that outlives the kernel"
                )
            return []
        if not private and self._order.get(user, -1) < reduced.position:
            return []
        bound = set(axes_around(user))
        if private and not reduced.axes.issuperset(bound):
            other = ", ".join(sorted(bound - reduced.axes))
            raise PassFailedException(
                f"{describe(user)}: threads of {other} read what others have reduced in "
                "their own memory; bind the same axes around the reduction, or reduce "
                "into shared memory"
            )
        missing = tuple(each for each in reduced.threads if each.tag not in bound)
        return self._add_threads(reduced, user, missing) if missing else []

    def _add_threads(
        self, reduced: Reduced, user: Operation, missing: tuple[ThreadRange, ...]
    ) -> list[Reduced]:
        private = is_private(reduced.buffer)
        block = _block_of(user, reduced.kernel)
        if block is None:
            if private:
                raise PassFailedException(
                    f"{describe(user)}: it reads what threads have reduced in their own "
                    "memory, and is in no block; put it in a block"
                )
            return []
        if block in self._lowered:
            return []
        own, shared = _written(block)
        if own and not private:
            return []
        if own and shared:
            raise PassFailedException(
                f"{describe(block)}: it writes memory of the threads and memory that "
                "they share, from what they have reduced in their own; make two blocks "
                "of it"
            )
        _wrap(block, missing, reduced, guarded=not own)
        position = self._order.get(block, reduced.position)
        return [replace(reduced, buffer=each, position=position) for each in own]


def _block_of(user: Operation, kernel: Operation) -> tir.BlockOp | None:
    """The innermost block around an op that is in the kernel."""
    op: Operation | None = user
    while op is not None and op is not kernel:
        if isinstance(op, tir.BlockOp):
            return op
        op = op.parent_op()
    return None


def _written(block: tir.BlockOp) -> tuple[list[SSAValue], list[SSAValue]]:
    """The buffers from outside that a block writes: those of threads, and shared ones."""
    found: dict[SSAValue, None] = {}
    for op in block.walk():
        if isinstance(op, tir.StoreOp | tir.ThreadAllreduceOp):
            found |= dict.fromkeys(
                buffer
                for buffer in buffers_touched(op)
                if not block.is_ancestor(tir.buffer_definition(buffer))
            )
    own = [buffer for buffer in found if is_private(buffer)]
    return own, [buffer for buffer in found if not is_private(buffer)]


def _wrap(
    block: tir.BlockOp,
    threads: tuple[ThreadRange, ...],
    reduced: Reduced,
    *,
    guarded: bool,
) -> None:
    """Put loops over threads around a block; guarded, only the first of them runs it."""
    for each in threads:
        if is_computed_inside(each.min, reduced.kernel) or is_computed_inside(
            each.extent, reduced.kernel
        ):
            raise PassFailedException(
                f"{describe(block)}: it uses what threads have reduced whose range is "
                "computed in the kernel; compute it before the kernel"
            )
    parent = block.parent
    assert parent is not None
    builder = Builder(InsertPoint.before(block))
    inner = parent
    tests: list[tuple[SSAValue, SSAValue]] = []
    for each in threads:
        low = emit(each.min, builder)
        loop = tir.ForOp(
            low,
            emit(each.extent, builder),
            Region(Block(arg_types=[low.type])),
            kind=tir.ForKind.THREAD_BINDING,
            thread_tag=each.tag,
        )
        loop.location = block.location
        loop.loop_var.name_hint = each.tag.replace("threadIdx.", "t")
        builder.insert(loop)
        inner = loop.body.block
        builder = Builder(InsertPoint.at_end(inner))
        tests.append((loop.loop_var, low))
    if guarded:
        predicate = _predicate(block, tests, builder)
        block = renewed_block(block, block.block_name.data, block.iters, predicate)
    block.detach()
    inner.add_op(block)


def _predicate(
    block: tir.BlockOp, tests: list[tuple[SSAValue, SSAValue]], builder: Builder
) -> SSAValue | None:
    """When a block runs that only the first of the threads runs."""
    total: SSAValue | None = None
    for variable, low in tests:
        test = builder.insert(tir.CmpOp(tir.CmpPredicate.EQ, variable, low)).result
        total = test if total is None else builder.insert(tir.AndOp(total, test)).result
    if block.predicate is not None:
        assert total is not None
        total = builder.insert(tir.AndOp(total, block.predicate)).result
    return total


def ranges_of(loops: Iterable[tir.ForOp]) -> tuple[ThreadRange, ...]:
    """The threads of loops that are bound to axes."""
    return tuple(
        ThreadRange(loop.thread_tag.data, view(loop.min), view(loop.extent))
        for loop in loops
        if loop.thread_tag is not None
    )

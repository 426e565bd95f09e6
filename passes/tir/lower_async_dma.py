"""Contiguous copies of asynchronous queues become transfers of a DMA engine."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.all_ops import all_ops, ops_of
from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import Expr, emit, view
from xdsl_tvm.analysis.tir.memcpy import Memcpy, identify_memcpy
from xdsl_tvm.analysis.tir.memory_order import memory_of
from xdsl_tvm.analysis.tir.scoped_facts import FactsWalker
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.annotations import integer_of
from xdsl_tvm.passes.infra import CompilerPass, PassContext
from xdsl_tvm.passes.tir.rewriting.statements import (
    describe,
    erase_if_unused,
    replace_by_body,
)

_COMMIT: Final = "async_commit_queue_scope"
_WAIT: Final = "async_wait_queue_scope"
_INFLIGHT: Final = "async_wait_inflight_count"
_BYPASS: Final = "tir.experimental_dma_bypass_cache"


@dataclass(frozen=True)
class LowerAsyncDMA(CompilerPass):
    """Summary: Turns copies that are committed to a queue into DMA transfers.

    TVM name: tir.LowerAsyncDMA (v0.20)
    Input form: flat code, no vector loops
    Output form: the same
    Options: none; the `PassContext` key `tir.experimental_dma_bypass_cache` is an operand
        of the transfers
    Rewrites: before

            tir.attr "async_commit_queue_scope" (%c0) = 0 : i32 {
              tir.for %i = %c0 to %c128 {
                %x = tir.load %A[%i] : i8
                tir.store %x, %V[%i] : i8
              }
            }
            tir.attr "async_wait_queue_scope" (%c0) = 0 : i32 {
              tir.attr "async_wait_inflight_count" (%c0) = 0 : i32 {
                // use(%V)
              }
            }

        after

            tir.attr "async_commit_queue_scope" (%c0) = 0 : i32 {
              %v = tir.address_of %V[%c0] : !tir.ptr<i8>
              %a = tir.address_of %A[%c0] : !tir.ptr<i8>
              tir.call "dma_copy"(%queue, %v, %a, %c128, %bypass)
            }
            tir.call "dma_wait"(%queue, %inflight)
            // use(%V)

        A loop in a commit scope is rewritten if it copies a contiguous piece of one
        memory to another (`analysis/tir/memcpy.py`), and its buffers have one dimension;
        of nested loops the outermost that does. A scope that holds two transfers or more,
        one in a `tir.attr`, or one that may not run, gets `dma_start_group` before it and
        `dma_end_group` after it. Waits for a queue with transfers become `dma_wait`.
        Copies in a commit scope may be in flight until the wait, in an `async_scope` or
        not. Time is linear in the size of the function, for each level of nested loops.
    Leaves alone: commit scopes and `async_scope` themselves; other loops, which stay
        synchronous; loops in a launch of threads; those in a commit scope that holds
        another one, or a wait; waits for a queue without transfers, and such without a
        count
    Errors: a commit scope whose queue is not an integer constant
    Attributes: read: `async_commit_queue_scope`; created: none; removed:
        `async_wait_queue_scope` and `async_wait_inflight_count` of queues with transfers
    Differs from TVM: A queue is in use if anything in the function is transferred in it,
        before or after a wait. A scope without transfers in such a queue commits an empty
        group, so that waits count what they did. Source and destination are different
        memory, and loops in threads stay, as no GPU has such transfers. Sizes count the
        lanes of elements, and are 0 for loops that do not run.
    """

    name = "tir-lower-async-dma"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        bypass = bool(PassContext.current().config.get(_BYPASS, False))
        for func in [each for each in op.walk() if isinstance(each, tir.FuncOp)]:
            scopes = {
                op: _Scope(op)
                for op in all_ops(func)
                if isinstance(op, tir.AttrOp) and op.key.data == _COMMIT
            }
            if scopes:
                _lower(func, scopes, bypass=bypass)


@dataclass(eq=False)
class _Scope:
    """A commit scope, and what is known of its transfers."""

    op: tir.AttrOp
    transfers: int = 0
    grouped: bool = False
    """Whether a transfer is such that the scope needs a group."""
    closed: bool = False
    """Whether no group may be around it."""
    queue: int = field(init=False)

    def __post_init__(self) -> None:
        self.queue = _queue_of(self.op)


def _queue_of(op: tir.AttrOp) -> int:
    queue = _constant(op)
    if queue is None:
        raise PassFailedException(
            f"{describe(op)}: the queue of {op.key.data} is not an integer constant; use "
            "one, as groups are counted for each queue"
        )
    return queue


def _constant(op: tir.AttrOp) -> int | None:
    """The value of an attribute if it is an integer constant."""
    value = (
        integer_of(op.value_attr) if op.value is None else tir.constant_value(op.value)
    )
    return value if isinstance(value, int) else None


def _lower(func: tir.FuncOp, scopes: dict[tir.AttrOp, _Scope], *, bypass: bool) -> None:
    waits = [op for op in ops_of(func, tir.AttrOp) if op.key.data == _WAIT]
    for op in (*scopes, *waits):
        around = _scope_around(op, scopes)
        if around is not None:
            around.closed = True
    analyzer = Analyzer()

    def visit(op: Operation) -> None:
        if not isinstance(op, tir.ForOp):
            return
        scope = _scope_around(op, scopes)
        if scope is None or scope.closed:
            return
        found = identify_memcpy(op, analyzer)
        if isinstance(found, Memcpy) and _is_transfer(op, found, analyzer):
            scope.transfers += 1
            scope.grouped |= scope.transfers > 1 or _needs_group(op, scope.op)
            _replace(op, found, scope.queue, analyzer, bypass=bypass)

    # Threads, and all in them, have no transfers.
    FactsWalker(analyzer, visit).walk(func)
    used = {scope.queue for scope in scopes.values() if scope.transfers}
    for scope in scopes.values():
        if scope.queue in used:
            _commit(scope)
    for op in waits:
        if _constant(op) in used:
            _wait(op)


def _scope_around(op: Operation, scopes: dict[tir.AttrOp, _Scope]) -> _Scope | None:
    """The innermost commit scope around an op; None in a launch of threads."""
    found: _Scope | None = None
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, tir.FuncOp):
        if isinstance(parent, tir.LaunchThreadOp) and parent.virtual is None:
            return None
        if found is None and isinstance(parent, tir.AttrOp):
            found = scopes.get(parent)
        parent = parent.parent_op()
    return found


# ---- transfers ----


def _is_transfer(loop: tir.ForOp, copy: Memcpy, analyzer: Analyzer) -> bool:
    """Whether a copy is one of a DMA engine: of one dimension, between two memories.

    Its size is known too: two loops that do not run could have a positive product.
    """
    loops = ops_of(loop, tir.ForOp)
    if len(loops) > 1 and not all(
        analyzer.can_prove_greater_equal(view(op.extent), 0) for op in loops
    ):
        return False
    if len(copy.source) != 1 or len(copy.destination) != 1:
        return False
    dtype = copy.load.result.type
    if tir.is_scalable(dtype) or tir.is_float4(dtype):
        return False
    source = memory_of(copy.load.buffer, distinct_parameters=True)
    target = memory_of(copy.store.buffer, distinct_parameters=True)
    return source is not None and target is not None and source is not target


def _needs_group(op: Operation, scope: tir.AttrOp) -> bool:
    """Whether a transfer is in a `tir.attr` of its scope, or may not run in it."""
    parent = op.parent_op()
    while parent is not None and parent is not scope:
        match parent:
            case tir.ScopeOp():
                pass
            case tir.ForOp():
                count = tir.constant_value(parent.extent)
                if count is None or count < 1:
                    return True
            case _:
                return True
        parent = parent.parent_op()
    return False


def _replace(
    loop: tir.ForOp, copy: Memcpy, queue: int, analyzer: Analyzer, *, bypass: bool
) -> None:
    builder = Builder(InsertPoint.before(loop))
    first = loop.prev_op
    known: dict[Expr, SSAValue] = {}
    addresses = [
        builder.insert(tir.AddressOfOp(buffer, [emit(ranges[0].min, builder, known)]))
        for buffer, ranges in (
            (copy.store.buffer, copy.destination),
            (copy.load.buffer, copy.source),
        )
    ]
    count = copy.iterations
    if not analyzer.can_prove_greater_equal(count, 0):
        count = smart.maximum(count, 0)
    size = smart.mul(count, tir.bytes_of(_element(copy.store.buffer)))
    operands: list[SSAValue] = [_number(queue, builder)]
    operands += [address.result for address in addresses]
    operands += [emit(size, builder, known), _number(int(bypass), builder)]
    builder.insert(tir.CallOp("dma_copy", operands, i32))
    _locate(first, loop)
    unused = _defined_outside(loop)
    Rewriter.erase_op(loop)
    erase_if_unused(unused)


def _element(buffer: SSAValue) -> Attribute:
    return tir.buffer_definition(buffer).type.element_type


def _number(value: int, builder: Builder) -> SSAValue:
    return builder.insert(tir.ConstOp(IntegerAttr(value, i32))).result


def _locate(first: Operation | None, op: Operation) -> None:
    """Give the ops between two the location of the second."""
    added = op.prev_op
    while added is not None and added is not first:
        added.location = op.location
        added = added.prev_op


def _defined_outside(loop: tir.ForOp) -> list[SSAValue]:
    """The values that a loop uses, without buffers."""
    return [
        value
        for op in all_ops(loop)
        for value in op.operands
        if not isinstance(value.type, tir.BufferType)
        and not loop.is_ancestor(value.owner)
    ]


# ---- groups ----


def _commit(scope: _Scope) -> None:
    """Make one group, or at least one, of what a scope commits."""
    op = scope.op
    if scope.transfers and not scope.grouped:
        return
    if scope.transfers:
        _call("dma_start_group", scope, Builder(InsertPoint.before(op)))
    after = Builder(InsertPoint.after(op))
    if not scope.transfers:
        _call("dma_start_group", scope, after)
    _call("dma_end_group", scope, after)


def _call(name: str, scope: _Scope, builder: Builder) -> None:
    queue = builder.insert(tir.ConstOp(IntegerAttr(scope.queue, i32)))
    call = builder.insert(tir.CallOp(name, [queue], i32))
    queue.location = call.location = scope.op.location


def _wait(op: tir.AttrOp) -> None:
    """Put `dma_wait` before what waits; an attribute without a count stays."""
    inner = [
        each
        for each in op.body.block.ops
        if isinstance(each, tir.AttrOp) and each.key.data == _INFLIGHT
    ]
    if not inner:
        return
    for each in inner:
        first = each.prev_op
        builder = Builder(InsertPoint.before(each))
        count = each.value
        if count is None:
            count = _number(integer_of(each.value_attr) or 0, builder)
        queue = _number(_constant(op) or 0, builder)
        builder.insert(tir.CallOp("dma_wait", [queue, count], i32))
        _locate(first, each)
    for each in (*inner, op):
        operands = tuple(each.operands)
        replace_by_body(each, each.body.block)
        erase_if_unused(operands)

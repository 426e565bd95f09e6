"""Regions that slide over a buffer: kept in a ring, each element computed once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeGuard, cast

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import (
    Const,
    Expr,
    FloorDiv,
    Mul,
    Value,
    emit,
    leaf_values,
    view,
)
from xdsl_tvm.analysis.tir.memory_order import Facts, Kind
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.annotations import is_true
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.tir.rewriting.memory_views import take_after
from xdsl_tvm.passes.tir.rewriting.statements import describe, erase_if_unused

_ROLLING = "rolling_buffer_scope"
_IN_ORDER = (tir.ForKind.SERIAL, tir.ForKind.UNROLLED)


@dataclass(frozen=True)
class InjectRollingBuffer(CompilerPass):
    """Summary: Keeps a realized buffer over the iterations of the loop that moves its
        bounds, as a ring in one dimension, and skips what is in it already.

    TVM name: tir.InjectRollingBuffer (v0.20)
    Input form: no blocks; the buffers of marked `tir.buffer_realize` are accessed by
        loads and stores within the bounds, and an iteration stores all elements within
        them, the same as any other iteration whose bounds hold an element
    Output form: the same, without marked `tir.buffer_realize`
    Options: none
    Rewrites: before

            tir.for %o = %c0 to %c2 {
              %m = tir.mul %o, %c4 : i32
              %T = tir.buffer_realize bounds [%m to %m + 6]
                annotations {"rolling_buffer_scope" = true} : !tir.buffer<10xf32>
              tir.for %r = %c0 to %c6 {
                %k = tir.add %m, %r : i32
                %x = tir.load %A[%k] : f32
                tir.store %x, %T[%k] : f32
              }
              // uses of %T[%m] to %T[%m + 5]
            }

        after

            %T = tir.buffer_realize bounds [%c0 to %c0 + 6] : !tir.buffer<10xf32>
            tir.for %o = %c0 to %c2 {
              tir.for %r = %c0 to %c6 {
                // %p: %o < 1 or %r >= 2
                tir.if %p {
                  %k = tir.add %m, %r : i32
                  %x = tir.load %A[%k] : f32
                  %q = tir.floormod %k, %c6 : i32
                  tir.store %x, %T[%q] : f32
                }
              }
              // uses of %T, with indices modulo 6
            }

        A minimum moves with a loop if it is its variable, a multiple, or such a one
        divided by `tir.floordiv`; it advances by the factor over the divisor, rounded up.
        The dimension that moves with the outermost of these loops becomes the ring; the
        others get all of the buffer. A store is under a condition for each dimension
        that moves by less than its extent, with the expressions and loads that only it
        needs. If statements follow the loop, it is in a `tir.scope` with the
        buffer. Time is linear in the size of the function and in that of the
        ops around and on each marked buffer.
    Leaves alone: buffers that are not marked, or marked `false`
    Errors: of a marked buffer: an extent of the bounds that is no constant; a minimum
        that is neither constant nor moves with a loop around it; no minimum that moves;
        two that move with one loop; a loop among those that does not run in order, or
        another op than these loops, `tir.scope` and `tir.attr` between them and the
        buffer; an extent, a condition or a bound of an inner loop that the outermost loop
        computes; a use by anything but loads and stores, or one with a predicate
    Attributes: read and removed: `rolling_buffer_scope`; created: none; moved with the
        buffer: all others
    Differs from TVM: loops may start anywhere. A store is compared with the minimum of
        the bounds, so that the index need not contain the loop's variable. Minimums that
        move with one loop in two dimensions, where elements would be skipped that no
        iteration has computed, are refused; so are conditions and loops that would let
        an iteration find another ring than the last one has left.
    """

    name = "tir-inject-rolling-buffer"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in op.body.block.ops:
            found = [inner for inner in all_ops(func) if _is_marked(inner)]
            if found:
                facts = Facts([func])
                for realize in found:
                    _roll(realize, facts)


def _is_marked(op: Operation) -> TypeGuard[tir.BufferRealizeOp]:
    if not isinstance(op, tir.BufferRealizeOp) or op.annotations is None:
        return False
    return is_true(op.annotations.data.get(_ROLLING))


@dataclass(frozen=True)
class _Axis:
    """A dimension of the bounds, and how it moves."""

    low: SSAValue
    extent: int
    loop: tir.ForOp | None = None
    step: int = 0
    """How far it moves at most from one iteration to the next."""

    @property
    def overlap(self) -> int:
        """How many places an iteration has in common with the last one."""
        return self.extent - self.step if self.loop is not None else 0


def _roll(realize: tir.BufferRealizeOp, facts: Facts) -> None:
    around = _loops_around(realize)
    axes = [_axis(realize, bound, around) for bound in realize.bounds]
    moving = [axis.loop for axis in axes if axis.loop is not None]
    if not moving:
        raise _refused(
            realize,
            "has bounds that no loop around it moves; let a minimum depend on one",
        )
    if len(set(moving)) < len(moving):
        raise _refused(
            realize, "has two bounds that one loop moves; use a loop for each of them"
        )
    outermost = max(moving, key=around.__getitem__)
    _check_path(realize, outermost, moving)
    _check_uses(realize)
    ring = next(n for n, axis in enumerate(axes) if axis.loop is outermost)
    for use in tuple(realize.buffer.uses):
        access = cast("tir.LoadOp | tir.StoreOp", use.operation)
        indices = [view(index) for index in access.indices]
        _wrap_index(access, ring, axes[ring].extent)
        if isinstance(access, tir.StoreOp):
            _guard(access, indices, axes, facts)
    _hoist(realize, outermost, axes, ring)


def _refused(op: Operation, problem: str) -> PassFailedException:
    return PassFailedException(f"{describe(op)}: a rolling buffer {problem}")


# ---- how the bounds move ----


def _loops_around(op: Operation) -> dict[tir.ForOp, int]:
    """The loops around an op, numbered from the innermost."""
    found: dict[tir.ForOp, int] = {}
    parent = op.parent_op()
    while parent is not None:
        if isinstance(parent, tir.ForOp):
            found[parent] = len(found)
        parent = parent.parent_op()
    return found


def _axis(
    realize: tir.BufferRealizeOp,
    bound: tuple[SSAValue, int | SSAValue],
    around: dict[tir.ForOp, int],
) -> _Axis:
    low, extent = bound
    number = extent if isinstance(extent, int) else tir.constant_value(extent)
    if not isinstance(number, int):
        raise _refused(
            realize, "needs bounds with extents that are constants; simplify first"
        )
    tree = view(low)
    divisor = 1
    match tree:
        case FloorDiv(inner, Const(value=int() as by)) if by > 0:
            tree, divisor = inner, by
        case _:
            pass
    factor = 1
    match tree:
        case Mul(inner, Const(value=int() as by)) | Mul(Const(value=int() as by), inner):
            tree, factor = inner, by
        case _:
            pass
    if isinstance(tree, Const):
        return _Axis(low, number)
    loop = _loop_of(tree)
    if loop is None or loop not in around or factor <= 0:
        raise _refused(
            realize,
            "needs bounds that start at a constant, or at the variable of a loop, times "
            "and divided by constants; rewrite the minimum",
        )
    return _Axis(low, number, loop, -(-factor // divisor))


def _loop_of(tree: Expr) -> tir.ForOp | None:
    """The loop whose variable a tree is."""
    if not isinstance(tree, Value) or not isinstance(tree.value.owner, Block):
        return None
    loop = tree.value.owner.parent_op()
    return loop if isinstance(loop, tir.ForOp) else None


def _check_path(
    realize: tir.BufferRealizeOp, outermost: tir.ForOp, moving: Sequence[tir.ForOp]
) -> None:
    """Check that the iterations of a loop find what those before have left."""
    op = realize.parent_op()
    while op is not None:
        if isinstance(op, tir.ForOp) and op in moving:
            if op.kind.data not in _IN_ORDER:
                raise _refused(
                    realize,
                    f"goes by a {op.kind.data.value} loop, whose iterations have no "
                    "order; make it serial",
                )
        elif not isinstance(op, tir.ScopeOp | tir.AttrOp):
            raise _refused(
                realize,
                "must be directly in the loops that move its bounds, and is in "
                f"{op.name} there; move it out",
            )
        if op is outermost:
            break
        if any(_varies(value, outermost) for value in op.operands):
            raise _refused(
                realize,
                f"goes by loops of which the outermost computes the bounds of {op.name}; "
                "make them the same in each iteration",
            )
        op = op.parent_op()
    kept = [*realize.extents, *realize.strides]
    kept += [v for v in (realize.elem_offset, realize.condition) if v is not None]
    if any(_varies(value, outermost) for value in kept):
        raise _refused(
            realize, "has extents or a condition that its loop computes; move them out"
        )


def _varies(value: SSAValue, outer: Operation) -> bool:
    """Whether a value is made of something that an op computes in it."""
    for leaf in leaf_values(view(value)):
        owner = leaf.owner
        op = owner.parent_op() if isinstance(owner, Block) else owner
        if op is not None and outer.is_ancestor(op):
            return True
    return False


def _check_uses(realize: tir.BufferRealizeOp) -> None:
    for use in realize.buffer.uses:
        op = use.operation
        if not isinstance(op, tir.LoadOp | tir.StoreOp):
            raise PassFailedException(
                f"{describe(op)} uses a rolling buffer, and neither loads from it nor "
                "stores to it; use an element"
            )
        if op.predicate is not None:
            raise PassFailedException(
                f"{describe(op)} accesses a rolling buffer under a predicate; put it in "
                "a tir.if"
            )


# ---- the rewrite ----


def _wrap_index(access: tir.LoadOp | tir.StoreOp, axis: int, extent: int) -> None:
    position = axis + (2 if isinstance(access, tir.StoreOp) else 1)
    index = access.operands[position]
    tree = view(index)
    builder = Builder(InsertPoint.before(access))
    wrapped = smart.floormod(tree, extent)
    access.operands[position] = emit(wrapped, builder, {tree: index})
    erase_if_unused((index,))


def _guard(
    store: tir.StoreOp, indices: Sequence[Expr], axes: Sequence[_Axis], facts: Facts
) -> None:
    """Put a store under the condition that no iteration before has done it."""
    conditions = [
        _is_new(index, axis)
        for index, axis in zip(indices, axes, strict=True)
        if axis.loop is not None and axis.overlap > 0
    ]
    if not conditions:
        return
    # First, so that what they use stays before them.
    builder = Builder(InsertPoint.before(store))
    values = [emit(condition, builder) for condition in conditions]
    body = Block()
    anchor = tir.EvaluateOp()
    Rewriter.insert_op(anchor, InsertPoint.before(store))
    for op in _only_for(store, facts):
        op.detach()
        body.add_op(op)
    for value in values:
        guard = tir.IfOp(value, Region(body))
        guard.location = store.location
        body = Block([guard])
    outermost = body.first_op
    assert outermost is not None
    outermost.detach()
    Rewriter.replace_op(anchor, outermost)


def _is_new(index: Expr, axis: _Axis) -> Expr:
    assert axis.loop is not None
    start = view(axis.loop.min)
    first = smart.lt(view(axis.loop.loop_var), smart.add(start, 1))
    place = Analyzer().simplify(smart.sub(index, view(axis.low)))
    return smart.call(
        "likely",
        [smart.disjunction(first, smart.ge(place, axis.overlap))],
        first.dtype,
    )


def _only_for(store: tir.StoreOp, facts: Facts) -> list[Operation]:
    """A store after the ops of its block that nothing else needs, in their order."""
    needed: set[Operation] = {store}
    inside: set[Operation] = {store}
    pending: list[Operation] = [store]
    while pending:
        for operand in _operands(pending.pop()):
            op = operand.owner
            if isinstance(op, Block) or op.parent is not store.parent or op in needed:
                continue
            users = {use.operation for result in op.results for use in result.uses}
            if users <= inside and _can_move(op, store, facts):
                needed.add(op)
                inside.update(op.walk())
                pending.append(op)
    return _in_order(store, needed)


def _operands(op: Operation) -> list[SSAValue]:
    return [operand for inner in all_ops(op) for operand in inner.operands]


def _in_order(last: Operation, ops: set[Operation]) -> list[Operation]:
    """Ops that the last of them needs, each after those that it needs itself."""
    found: dict[Operation, None] = {}
    pending = [(last, False)]
    while pending:
        op, done = pending.pop()
        if done:
            found[op] = None
        elif op not in found:
            pending.append((op, True))
            owners = [operand.owner for operand in _operands(op)]
            pending += [
                (owner, False)
                for owner in reversed(owners)
                if isinstance(owner, Operation) and owner in ops
            ]
    return list(found)


def _can_move(op: Operation, store: Operation, facts: Facts) -> bool:
    """Whether an op may be directly before a store that follows it."""
    fact = facts.ops.get(op)
    if fact is None or fact.kind is Kind.EXPRESSION:
        return True
    return fact.kind is Kind.READ and not facts.is_written_between(op, store)


def _hoist(
    realize: tir.BufferRealizeOp, loop: tir.ForOp, axes: Sequence[_Axis], ring: int
) -> None:
    """Put the buffer before a loop, as large as it is but for the ring."""
    if loop.next_op is not None:
        scope = tir.ScopeOp(Region(Block()))
        scope.location = loop.location
        Rewriter.insert_op(scope, InsertPoint.before(loop))
        loop.detach()
        scope.body.block.add_op(loop)
    builder = Builder(InsertPoint.before(loop))
    known: dict[Expr, SSAValue] = {}

    def here(value: SSAValue) -> SSAValue:
        if isinstance(value.owner, Block) or not loop.is_ancestor(value.owner):
            return value
        return emit(view(value), builder, known)

    zeros = [emit(smart.const(0, axis.low.type), builder, known) for axis in axes]
    extents = [e if isinstance(e, int) else here(e) for e in realize.shape]
    extents[ring] = axes[ring].extent
    annotations = dict(realize.annotations.data) if realize.annotations else {}
    annotations.pop(_ROLLING)
    new = tir.BufferRealizeOp(
        tuple(zip(zeros, extents, strict=True)),
        realize.type,
        [here(extent) for extent in realize.extents],
        condition=None if realize.condition is None else here(realize.condition),
        annotations=DictionaryAttr(annotations) if annotations else None,
        strides=[s if isinstance(s, int) else here(s) for s in realize.layout_strides],
        elem_offset=None if realize.elem_offset is None else here(realize.elem_offset),
    )
    take_after(new, realize, "annotations")
    builder.insert(new)
    operands = tuple(realize.operands)
    Rewriter.replace_op(realize, [], [new.buffer])
    erase_if_unused(operands)

"""Marked memory gets two halves, of which one is filled an iteration ahead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, ModuleOp, i32
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import MemoryEffectKind, RecursiveMemoryEffect, get_effects
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.all_ops import ops_of
from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Expr, emit, view
from xdsl_tvm.analysis.tir.flat_index import times, wide_extent, widened_for
from xdsl_tvm.analysis.tir.memory_order import Memory, memory_of
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.infra.pass_config import InjectDoubleBufferConfig
from xdsl_tvm.passes.tir.rewriting.memory_views import (
    is_plain_view,
    memory_after,
    take_after,
    views_of,
)
from xdsl_tvm.passes.tir.rewriting.statements import (
    describe,
    enclose_in_pragmas,
    erase_if_unused,
    insert_body_before,
    replace_by_body,
)

_SCOPE = "double_buffer_scope"
_WRITE = "double_buffer_write"
_IN_ORDER = (tir.ForKind.SERIAL, tir.ForKind.UNROLLED)
_COPIED = (tir.LetOp, tir.DeclBufferOp, tir.DataOp)
_TOUCHES = {MemoryEffectKind.READ, MemoryEffectKind.WRITE}


@dataclass(frozen=True)
class InjectDoubleBuffer(InjectDoubleBufferConfig, CompilerPass):
    """Summary: Doubles marked memory, and fills one half of it while the other is read.

    TVM name: tir.InjectDoubleBuffer (v0.20)
    Input form: loops and buffers, marked memory and the buffers on it of one dimension
    Output form: the same, without `double_buffer_scope`
    Options: that of the `PassContext` key `tir.InjectDoubleBuffer`, which gives its value
        where it is unset
        `split_loop` (1): how many iterations an iteration of the new loop has; the last
        ones get a copy of their own after it. 0 keeps the loop
    Rewrites: before

            tir.for %i = %c0 to %c16 {
              %p = tir.allocate [4] : !tir.ptr<f32, "shared">
              %B = tir.decl_buffer %p : !tir.buffer<4xf32, "shared">
              tir.attr "double_buffer_scope" (%p) = 1 : i32 {
                // fill(%B, %i)
              }
              // use(%B, %i)
            }

        after, with `split_loop=0`

            %p = tir.allocate [8] : !tir.ptr<f32, "shared">
            %B = tir.decl_buffer %p : !tir.buffer<8xf32, "shared">
            // fill(%B, 0)
            tir.for %i = %c0 to %c16 {
              %next = tir.add %i, %c1 : i32
              %more = tir.cmp lt %next, %c16 : i32
              tir.if %more {
                tir.attr "double_buffer_write" (%p) = 1 : i32 {
                  // fill(%B, %next)
                }
              }
              // use(%B, %i)
            }

        Where the loop is at iteration `k`, index `x` becomes `k % 2 * extent + x`. With
        `split_loop = f`, an iteration of the new loop has `f` of the old ones, and there
        are `(n - 1) / f` of them; each of the `f` copies after it is under a condition,
        and `double_buffer_write` is gone there. A loop that may have no iteration is put
        under a condition with all that is made of it. The values that the producer needs
        are computed anew for the next iteration. Time is linear in the size of the
        result, for each loop around a marked scope.
    Leaves alone: a function all of whose marked memory is used by its address
    Errors: a marked scope that is in no loop, or in one that does not run in order; that
        is under a condition, or in a launch or a `tir.attr` that is no pragma, inside of
        its loop; memory that is marked twice, or that the loop does not allocate; memory
        and buffers that are not plain and of one dimension; a load before the scope, a
        store outside of it; a producer that needs what cannot be computed an iteration
        ahead, or shares memory with the rest of the loop, one of them writing it; a
        `split_loop` that is negative, or odd and not 1; with `split_loop`, a loop that
        does not start at 0
    Attributes: read and removed: `double_buffer_scope`; created: `double_buffer_write`;
        removed: the annotations of loops that are split. Pragmas become `tir.attr`.
    Differs from TVM: memory whose address is used anywhere is not doubled, where TVM sees
        only uses after the scope; a scope that is dropped for it is so without a
        warning. The producer must be independent of the rest of the loop, which TVM takes
        for granted; memory of different parameters counts as different. A loop that may
        have no iteration is guarded, and one that does not start at 0 counts its halves
        from its start. A loop of kind parallel, vectorized or thread_binding is refused,
        and so is a scope that the first iteration may skip. Indices are `i64` where the
        doubled memory has more elements than 32 bits count.
    """

    name = "tir-inject-double-buffer"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        factor = self.resolved_options(InjectDoubleBufferConfig).split_loop
        for func in op.body.block.ops:
            marked = [(scope, _memory_behind(scope)) for scope in _scopes(func)]
            eligible = [_Mark(s, m) for s, m in marked if not _has_address_taken(m)]
            if not eligible:
                continue
            _check_factor(factor, eligible[0].scope)
            _check_once(eligible)
            loops = _by_loop(eligible)
            for scope, memory in marked:
                if _has_address_taken(memory):
                    _strip(scope)
            for loop, marks in loops:
                _double(loop, marks, factor)


# ---- what is marked ----


@dataclass(eq=False)
class _Mark:
    """A marked scope, the producer, and the memory it fills."""

    scope: tir.AttrOp
    memory: tir.AllocateOp
    buffers: list[tir.DeclBufferOp] = field(default_factory=list[tir.DeclBufferOp])

    @property
    def accesses(self) -> Iterator[tir.LoadOp | tir.StoreOp]:
        """All loads and stores of the memory."""
        for buffer in self.buffers:
            for use in buffer.buffer.uses:
                if isinstance(use.operation, tir.LoadOp | tir.StoreOp):
                    yield use.operation


def _scopes(func: Operation) -> list[tir.AttrOp]:
    return [op for op in ops_of(func, tir.AttrOp) if op.key.data == _SCOPE]


def _memory_behind(op: tir.AttrOp) -> tir.AllocateOp:
    assert op.node is not None
    memory = memory_of(op.node)
    if isinstance(memory, SSAValue) and isinstance(memory.owner, tir.AllocateOp):
        return memory.owner
    raise PassFailedException(
        f"{describe(op)}: what {_SCOPE} marks is not made by a tir.allocate; run "
        "tir-lower-opaque-block first, or mark memory of the function"
    )


def _has_address_taken(memory: tir.AllocateOp) -> bool:
    """Whether there are uses besides loads, stores, views and attributes."""
    pointers: list[SSAValue] = [memory.result]
    for buffer in views_of(memory):
        for use in buffer.buffer.uses:
            match use.operation:
                case tir.DataOp() as data:
                    pointers.append(data.results[0])
                case tir.LoadOp() | tir.StoreOp():
                    pass
                case _:
                    return True
    return any(
        not isinstance(use.operation, tir.DeclBufferOp | tir.DataOp | tir.AttrOp)
        for pointer in pointers
        for use in pointer.uses
    )


def _check_factor(factor: int, op: Operation) -> None:
    if factor < 0 or (factor % 2 == 1 and factor != 1):
        raise PassFailedException(
            f"{describe(op)}: a loop cannot be split by {factor} for two halves; set "
            "split_loop to 0, 1 or an even number"
        )


def _check_once(marks: Sequence[_Mark]) -> None:
    seen = set[tir.AllocateOp]()
    for mark in marks:
        if mark.memory in seen:
            raise PassFailedException(
                f"{describe(mark.scope)}: the memory is marked twice; keep one "
                f"{_SCOPE} around all that fills it"
            )
        seen.add(mark.memory)


def _strip(scope: tir.AttrOp) -> None:
    node = tuple(scope.operands)
    replace_by_body(scope, scope.body.block)
    erase_if_unused(node)


def _by_loop(marks: Sequence[_Mark]) -> list[tuple[tir.ForOp, list[_Mark]]]:
    """The marks by the loop around them, inner loops first."""
    found: dict[tir.ForOp, list[_Mark]] = {}
    for mark in marks:
        found.setdefault(_loop_around(mark), []).append(mark)
    return sorted(found.items(), key=lambda item: -_depth(item[0]))


def _depth(op: Operation) -> int:
    depth, parent = 0, op.parent_op()
    while parent is not None:
        depth, parent = depth + 1, parent.parent_op()
    return depth


def _loop_around(mark: _Mark) -> tir.ForOp:
    op = mark.scope.parent_op()
    while isinstance(op, tir.ScopeOp) or (
        isinstance(op, tir.AttrOp) and op.key.data.startswith("pragma_")
    ):
        op = op.parent_op()
    if isinstance(op, tir.ForOp) and op.kind.data in _IN_ORDER:
        return op
    around = "nothing" if op is None else op.name
    if isinstance(op, tir.ForOp):
        around = f"a {op.kind.data.value} loop"
    raise PassFailedException(
        f"{describe(mark.scope)}: {_SCOPE} must be directly in a serial loop, and is in "
        f"{around}; move it there"
    )


# ---- what is refused ----


def _check(mark: _Mark, loop: tir.ForOp) -> None:
    """Raise PassFailedException if the memory cannot be filled an iteration ahead."""
    _check_memory(mark, loop)
    seen_scope = False
    for op in loop.body.walk():
        seen_scope |= op is mark.scope
        if isinstance(op, tir.LoadOp) and not seen_scope and _is_of(mark, op.buffer):
            raise PassFailedException(
                f"{describe(op)} reads double-buffered memory before the {_SCOPE} that "
                "fills it; move it after"
            )
    for access in mark.accesses:
        if isinstance(access, tir.StoreOp) and not _is_in(access, mark.scope):
            raise PassFailedException(
                f"{describe(access)} writes double-buffered memory outside of its "
                f"{_SCOPE}; move it there"
            )


def _is_of(mark: _Mark, buffer: SSAValue) -> bool:
    return buffer.owner in mark.buffers


def _is_in(op: Operation, outer: Operation) -> bool:
    return outer.is_ancestor(op)


def _check_memory(mark: _Mark, loop: tir.ForOp) -> None:
    memory = mark.memory
    problem = None
    if not _is_in(memory, loop):
        problem = "must be allocated in the loop around its scope; move the tir.allocate"
    elif len(memory.shape) != 1:
        problem = (
            f"has {len(memory.shape)} dimensions, where one is needed; run "
            "tir-flatten-buffer first"
        )
    elif any(_is_inside(value, loop) for value in memory.operands):
        problem = "has an extent or condition that its loop computes; move it in front"
    elif not all(is_plain_view(buffer, memory) for buffer in mark.buffers):
        problem = (
            "has a buffer of other dimensions, elements, strides or offset; declare it "
            "as it is allocated"
        )
    if problem is not None:
        raise PassFailedException(f"{describe(memory)}: double-buffered memory {problem}")


def _is_inside(value: SSAValue, loop: tir.ForOp) -> bool:
    owner = value.owner
    parent = owner.parent_op() if isinstance(owner, Block) else owner
    return parent is not None and _is_in(parent, loop)


@dataclass
class _Touched:
    """The memory that ops read and write; None stands for some that is not known."""

    reads: set[Memory] = field(default_factory=set[Memory])
    writes: set[Memory] = field(default_factory=set[Memory])

    def add(self, op: Operation, ignored: Memory) -> None:
        match op:
            case tir.LoadOp():
                self._add(self.reads, op.buffer, ignored)
            case tir.StoreOp():
                self._add(self.writes, op.buffer, ignored)
            case _ if op.has_trait(RecursiveMemoryEffect):
                pass
            case _:
                effects = get_effects(op)
                if (
                    isinstance(op, tir.RetOp)
                    or effects is None
                    or any(effect.kind in _TOUCHES for effect in effects)
                ):
                    self.writes.add(None)

    @staticmethod
    def _add(found: set[Memory], buffer: SSAValue, ignored: Memory) -> None:
        memory = memory_of(buffer, distinct_parameters=True)
        if memory is not ignored:
            found.add(memory)

    def collides_with(self, other: _Touched) -> bool:
        """Whether one writes what the other reads or writes."""
        return _meet(self.writes, other.reads | other.writes) or _meet(
            self.reads, other.writes
        )


def _meet(first: set[Memory], second: set[Memory]) -> bool:
    if not first or not second:
        return False
    return None in first or None in second or not first.isdisjoint(second)


def _check_independent(mark: _Mark, needed: Sequence[Operation], loop: tir.ForOp) -> None:
    """Raise PassFailedException if the order of producer and rest of loop matters."""
    ignored = mark.memory.result
    producer, rest = _Touched(), _Touched()
    inside = set(mark.scope.body.walk())
    for op in chain(inside, *(op.walk() for op in needed)):
        producer.add(op, ignored)
    for op in loop.body.walk():
        if op not in inside:
            rest.add(op, ignored)
    if producer.collides_with(rest):
        raise PassFailedException(
            f"{describe(mark.scope)}: what fills the buffer and the rest of the loop "
            "share memory that one of them writes, so it cannot run an iteration ahead; "
            "separate their memory"
        )


def _needed(mark: _Mark, loop: tir.ForOp) -> list[Operation]:
    """The ops of the loop that the producer needs a value of, in their order."""
    pending = [
        value
        for op in mark.scope.body.block.ops
        for value in _outer_values(op)
        if isinstance(value.owner, Block) or not _is_in(value.owner, mark.scope)
    ]
    found: dict[Operation, None] = {}
    while pending:
        owner = pending.pop().owner
        if (
            isinstance(owner, Block)
            or owner in found
            or not _is_in(owner, loop)
            or owner is mark.memory
            or owner in mark.buffers
        ):
            continue
        if not _can_copy(owner):
            raise PassFailedException(
                f"{describe(owner)} cannot be computed an iteration ahead, and the "
                f"{_SCOPE} needs it; move it into the scope or out of the loop"
            )
        found[owner] = None
        pending += _outer_values(owner)
    return [op for op in loop.body.walk() if op in found]


def _outer_values(op: Operation) -> Iterator[SSAValue]:
    """The values from outside that an op and what it holds use."""
    for inner in op.walk():
        for value in inner.operands:
            if isinstance(value.owner, Block) or not op.is_ancestor(value.owner):
                yield value


def _can_copy(op: Operation) -> bool:
    if isinstance(op, _COPIED):
        return True
    effects = get_effects(op)
    return effects is not None and all(
        effect.kind is MemoryEffectKind.READ for effect in effects
    )


# ---- the rewrite ----


def _double(loop: tir.ForOp, marks: Sequence[_Mark], factor: int) -> None:
    start = tir.constant_value(loop.min)
    if factor and start != 0:
        raise PassFailedException(
            f"{describe(loop)} must start at 0 to be split for double buffering; shift "
            "it, or set split_loop to 0"
        )
    for mark in marks:
        # Inner loops may have copied views.
        mark.buffers = list(views_of(mark.memory))
        _check(mark, loop)
        _check_independent(mark, _needed(mark, loop), loop)
    enclose_in_pragmas(loop)
    _bound(loop)
    for mark in marks:
        _shift_accesses(mark, loop)
        _hoist_memory(mark, loop)
        needed = _needed(mark, loop)
        _fill_first(mark, needed, loop)
        _fill_next(mark, needed, loop)
    if factor:
        _split(loop, factor)


def _bound(loop: tir.ForOp) -> None:
    """Put a loop where it has an iteration, and what is allocated for it ends with it."""
    count = tir.constant_value(loop.extent)
    around: Operation
    body = Block()
    if count is None or count <= 0:
        extent = view(loop.extent)
        zero = smart.const(0, loop.extent.type)
        builder = Builder(InsertPoint.before(loop))
        known = {extent: loop.extent}
        around = tir.IfOp(emit(smart.lt(zero, extent), builder, known), Region(body))
    elif loop.next_op is not None:
        around = tir.ScopeOp(Region(body))
    else:
        return
    around.location = loop.location
    Rewriter.insert_op(around, InsertPoint.before(loop))
    loop.detach()
    body.add_op(loop)


def _shift_accesses(mark: _Mark, loop: tir.ForOp) -> None:
    """Let accesses at iteration `k` go to half `k % 2`."""
    (size,) = mark.memory.shape
    doubled = 2 * size if isinstance(size, int) else size
    half = smart.floormod(_minus(view(loop.loop_var), loop.min), 2)
    start = times(widened_for(half, doubled), size, view)
    for access in tuple(mark.accesses):
        (index,) = access.indices
        tree = view(index)
        shifted = smart.add(start, tree)
        builder = Builder(InsertPoint.before(access))
        access.operands[_index_position(access)] = emit(shifted, builder, {tree: index})
        erase_if_unused((index,))


def _index_position(access: tir.LoadOp | tir.StoreOp) -> int:
    """Which operand of an access with one index is the index."""
    return 2 if isinstance(access, tir.StoreOp) else 1


def _minus(tree: Expr, start: SSAValue) -> Expr:
    return smart.sub(tree, view(start))


def _hoist_memory(mark: _Mark, loop: tir.ForOp) -> None:
    """Put the memory, twice as large, and its buffers before the loop."""
    old = mark.memory
    builder = Builder(InsertPoint.before(loop))
    (size,) = old.shape
    extent = (
        2 * size
        if isinstance(size, int)
        else emit(smart.mul(wide_extent(size), 2), builder, {view(size): size})
    )
    memory = builder.insert(memory_after(old, [extent]))
    mark.buffers = [_declared(buffer, memory, extent, builder) for buffer in mark.buffers]
    Rewriter.replace_op(old, [], [memory.result])
    mark.memory = memory


def _declared(
    old: tir.DeclBufferOp,
    memory: tir.AllocateOp,
    extent: int | SSAValue,
    builder: Builder,
) -> tir.DeclBufferOp:
    """A buffer like `old` on the doubled memory, in the place of it."""
    shape = [extent if isinstance(extent, int) else DYNAMIC_INDEX]
    kind = tir.BufferType(shape, old.type.element_type, old.type.scope)
    buffer = tir.DeclBufferOp(
        memory,
        kind,
        [] if isinstance(extent, int) else [extent],
        strides=old.layout_strides,
        elem_offset=old.elem_offset,
    )
    take_after(buffer, old)
    builder.insert(buffer)
    data = old.data
    Rewriter.replace_op(old, [], [buffer.buffer])
    if data is not memory.result:
        erase_if_unused((data,))
    return buffer


def _producer(
    mark: _Mark, needed: Sequence[Operation], loop: tir.ForOp, index: SSAValue
) -> Block:
    """A copy of what fills the memory, with what it needs, for one iteration."""
    values: dict[SSAValue, SSAValue] = {loop.loop_var: index}
    block = Block([op.clone(values) for op in needed])
    for op in mark.scope.body.block.ops:
        block.add_op(op.clone(values))
    return block


def _fill_first(mark: _Mark, needed: Sequence[Operation], loop: tir.ForOp) -> None:
    insert_body_before(loop, _producer(mark, needed, loop, loop.min), followed=True)


def _fill_next(mark: _Mark, needed: Sequence[Operation], loop: tir.ForOp) -> None:
    builder = Builder(InsertPoint.before(mark.scope))
    following = smart.add(view(loop.loop_var), 1)
    end = smart.add(view(loop.min), view(loop.extent))
    known = {view(loop.min): loop.min, view(loop.extent): loop.extent}
    index = emit(following, builder, known)
    more = emit(smart.lt(following, end), builder, known)
    write = tir.AttrOp(
        _WRITE,
        mark.memory.result,
        IntegerAttr(1, i32),
        Region(_producer(mark, needed, loop, index)),
    )
    guard = tir.IfOp(more, Region(Block([write])))
    write.location = guard.location = mark.scope.location
    operands = tuple(mark.scope.operands)
    Rewriter.replace_op(mark.scope, guard)
    erase_if_unused((*operands, *(op.results[0] for op in needed if op.results)))


def _split(loop: tir.ForOp, factor: int) -> None:
    """Let an iteration of a new loop do `factor` of those of `loop`, the rest after."""
    extent = view(loop.extent)
    known = {extent: loop.extent}
    builder = Builder(InsertPoint.before(loop))
    count = smart.truncdiv(smart.sub(extent, 1), factor)
    outer = tir.ForOp(
        loop.min,
        emit(count, builder, known),
        kind=loop.kind.data,
        name=None if loop.loop_name is None else f"{loop.loop_name.data}.outer",
    )
    outer.attributes |= loop.attributes
    outer.location = loop.location
    builder.insert(outer)
    for number in range(factor):
        index = smart.add(smart.mul(view(outer.loop_var), factor), number)
        last = tir.EvaluateOp()
        outer.body.block.add_op(last)
        insert_body_before(last, _iteration(loop, index), followed=number < factor - 1)
        Rewriter.erase_op(last)
    for number in range(factor):
        index = smart.add(smart.mul(count, factor), number)
        condition = emit(smart.lt(index, extent), builder, known)
        body = _iteration(loop, index)
        _drop_writes(body)
        tail = tir.IfOp(condition, Region(body))
        tail.location = loop.location
        builder.insert(tail)
    Rewriter.erase_op(loop)


def _iteration(loop: tir.ForOp, index: Expr) -> Block:
    """A copy of the body of a loop, for one value of its variable."""
    region = loop.body.clone()
    body = region.block
    (variable,) = body.args
    if variable.first_use is not None:
        value = emit(index, Builder(InsertPoint.at_start(body)))
        variable.replace_all_uses_with(value)
    body.erase_arg(variable)
    region.detach_block(body)
    return body


def _drop_writes(body: Block) -> None:
    found = [op for op in body.walk() if isinstance(op, tir.AttrOp)]
    for op in found:
        if op.key.data == _WRITE:
            replace_by_body(op, op.body.block)

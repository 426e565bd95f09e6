"""Allocations are hoisted, and share memory where their live ranges are disjoint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.all_ops import ops_of
from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import Expr, emit, view
from xdsl_tvm.analysis.tir.flat_index import groups
from xdsl_tvm.analysis.tir.storage_events import StorageEvents
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.infra import CompilerPass, PassContext
from xdsl_tvm.passes.tir._pointer_types.retyping import retype_pointers
from xdsl_tvm.passes.tir._pointer_types.settings import PointerTypeSettings
from xdsl_tvm.passes.tir._storage.placement import Placement
from xdsl_tvm.passes.tir._storage.plan import StorageEntry, StoragePlan, is_flat
from xdsl_tvm.passes.tir._storage.relocation import (
    Arena,
    alignment_of,
    bytes_of_memory,
    constant_bytes,
)
from xdsl_tvm.passes.tir.rewriting.device_memories import memory_infos_around
from xdsl_tvm.passes.tir.rewriting.memory_views import views_of
from xdsl_tvm.passes.tir.rewriting.statements import describe, erase_if_unused

_SETTINGS = PointerTypeSettings(
    rewrite_params=False,
    rewrite_buffer_map=False,
    rewrite_allocate_const=False,
    scalar_read_to_shuffle=False,
    allow_untyped_pointers=True,
)
_EXACT = ("vulkan", "webgpu")
_UNIT_BYTES = 4
"""The alignment of merged memory that nothing is known of."""


@dataclass(frozen=True)
class StorageRewrite(CompilerPass):
    """Summary: Hoists allocations to the start of the function, kernel or parallel loop
        that they are in, lets those with disjoint live ranges share memory, and removes
        those that are not accessed.

    TVM name: tir.StorageRewrite (v0.20)
    Input form: no blocks; flat buffers; no vectorized loops
    Output form: the same; `tir.allocate` only at the start of a function, of the
        outermost `tir.launch_thread` and of a parallel loop, except for those below
    Options: none. The configuration `tir.merge_static_smem` switches off all sharing but
        that in place
    Rewrites: before

            %p = tir.allocate "P" [16] : !tir.ptr<f32>
            %P = tir.decl_buffer "P" %p : !tir.buffer<16xf32>
            tir.for %i = %c0 to %c16 {
              %x = tir.load %A[%i] : f32
              tir.store %x, %P[%i] : f32
            }
            tir.for %i = %c0 to %c16 {
              %q = tir.allocate "Q" [16] : !tir.ptr<f32>
              …
            }
            %r = tir.allocate "R" [16] : !tir.ptr<f32>
            %R = tir.decl_buffer "R" %r : !tir.buffer<16xf32>
            tir.for %i = %c0 to %c16 {
              %x = tir.load %P[%i] : f32
              tir.store %x, %R[%i] : f32
            }

        after

            %p = tir.allocate "P" [16] : !tir.ptr<f32>
            %P = tir.decl_buffer "P" %p : !tir.buffer<16xf32>
            %q = tir.allocate "Q" [16] : !tir.ptr<f32>
            …
            %R = tir.decl_buffer "P" %p : !tir.buffer<16xf32>

        Memory is live from the first to the last statement of its nesting level that
        touches it. A statement that reads an element of `P` last where it writes the same
        element of `R` lets `R` be where `P` is; other memory that has ended is reused
        where it is of the same scope, and up to 16 times larger or smaller; if it is
        smaller, of the same element type. Threads that share memory reuse it as soon as
        each of them is done with it, and tir-thread-sync inserts the barriers that this
        needs. Allocations of a special tag, any but `.dyn`,
        `.workspace` and `.vtcm`, become one. Extents are computed anew where an
        allocation goes. Memory that is accessed by vectors of one width only gets them as
        elements (see tir-pointer-value-type-rewrite). Time is linear in the number of
        ops, times the depth of control flow.
    Leaves alone: allocations whose extents cannot be computed at the start, and those in
        ops of other dialects; `tir.alloc_buffer`; memory up to 32 bits, of handles, or
        of rank `warp` and beyond without a tag is hoisted and shared in place only
    Errors: a vectorized loop; threads in a parallel loop, virtual threads in threads; a
        buffer of other physical dimensions than its memory; special tagged memory of
        symbolic size, or more than the `MemoryInfo` of its tag allows
    Attributes: read: `tir.memory_info` of modules; `target` (the kinds `vulkan` and
        `webgpu` reuse memory for the same element type only); created: none;
        removed: none
    Differs from TVM: in place also needs each element to be written once, which is read
        off the indices: TVM takes `A[0] = B[0] + 1; A[0] = B[0] + 2`, and threads that
        write one element. Asynchronous copies keep their memory live until a wait that is
        certain to run; pointers are followed through bindings and calls, and memory whose
        pointer is stored somewhere is not shared. Memory of a nested parallel loop stays
        in it. Buffers on merged memory of a tag have the extents of what they reach.
        Memory of several dimensions is shared between equal shapes only, and not merged.
        Only a `tir.decl_buffer` of the allocation moves along with it. Annotations of
        allocations that nothing shares are kept, and those whose extents are bound by
        `tir.let` of the entry are placed after it.
    """

    name = "tir-storage-rewrite"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        reuse = not PassContext.current().get_config("tir.merge_static_smem", bool)
        for func in ops_of(op, tir.FuncOp):
            _rewrite(func, reuse=reuse)
            retype_pointers(func, _SETTINGS)


def _rewrite(func: tir.FuncOp, *, reuse: bool) -> None:
    """Place the allocations of a function, and let them share memory."""
    allocations = ops_of(func, tir.AllocateOp)
    if allocations:
        _check_loops(func)
        for memory in allocations:
            _drop_unused_views(memory)
        placement = Placement(func)
        events = StorageEvents(func, placement.can_move)
        for memory in events.lifetimes:
            _check_dimensions(memory)
        target = func.attributes.get("target")
        exact = isinstance(target, tir.Target) and target.kind.name in _EXACT
        plan = StoragePlan(events, placement.attach_of, reuse=reuse, exact=exact)
        _materialise(plan.entries, placement)
        for memory in events.untouched:
            if memory.result.first_use is None:
                _erase(memory)


def _check_loops(func: tir.FuncOp) -> None:
    for op in ops_of(func, tir.ForOp):
        if op.kind.data is tir.ForKind.VECTORIZED:
            raise PassFailedException(
                f"{describe(op)}: a vectorized loop must be gone where memory is "
                "planned; run tir-vectorize-loop first"
            )


def _drop_unused_views(memory: tir.AllocateOp) -> None:
    for buffer in reversed(list(views_of(memory))):
        if buffer.buffer.first_use is None:
            source = buffer.data
            Rewriter.erase_op(buffer)
            erase_if_unused((source,))


def _check_dimensions(memory: tir.AllocateOp) -> None:
    """Raise PassFailedException if a buffer has other dimensions than its memory."""
    for use in memory.result.uses:
        buffer = use.operation
        if isinstance(buffer, tir.DeclBufferOp) and memory.shape:
            dimensions = len(groups(buffer))
            if dimensions != len(memory.shape):
                raise PassFailedException(
                    f"{describe(buffer)} has {dimensions} physical dimensions, and the "
                    f"tir.allocate it is on {len(memory.shape)}; run tir-flatten-buffer "
                    "first"
                )


def _erase(op: Operation) -> None:
    operands = tuple(op.operands)
    Rewriter.erase_op(op)
    erase_if_unused(operands)


# ---- placing ----


def _materialise(entries: Sequence[StorageEntry], placement: Placement) -> None:
    """Put the planned memory in its places."""
    merged: dict[tuple[Operation, object], list[StorageEntry]] = {}
    roots: list[StorageEntry] = []
    for entry in entries:
        if entry.is_special and entry.bits == 0:
            raise PassFailedException(
                f"{describe(entry.sharers[0])}: special tagged memory, here "
                f"{entry.scope}, must be of constant size; give it constant extents"
            )
        if entry.is_special and is_flat(entry.sharers[0]):
            group = merged.setdefault((entry.attach, entry.scope), [])
            group.append(entry)
            if len(group) > 1:
                continue
        roots.append(entry)
    for entry in roots:
        group = merged.get((entry.attach, entry.scope), [entry])
        if len(group) > 1 and group[0] is entry:
            _place_merged(group, placement)
        else:
            _place(entry, placement)
    placement.finish()


def _place(entry: StorageEntry, placement: Placement) -> None:
    """Allocate an entry: as the first of its sharers, or large enough for all."""
    first, *others = entry.sharers
    if all(_is_same(memory, first) for memory in others):
        if others:
            first.properties.pop("annotations", None)
        _move(first, placement, entry.attach)
        memory = first
        size = constant_bytes(memory)
        others_first: list[tir.AllocateOp] = []
    else:
        memory = _largest(entry, placement)
        size = constant_bytes(memory)
        others_first = [first]
    if entry.is_special:
        _check_bound(entry, 8 * size)
    arena = Arena(memory, size or bytes_of_memory(memory))
    for sharer in (*others_first, *others):
        arena.take(sharer.result, 0)
        _erase(sharer)


def _is_same(memory: tir.AllocateOp, other: tir.AllocateOp) -> bool:
    """Whether allocations have the same elements, as many of them, and one condition."""
    return (
        memory.result.type == other.result.type
        and memory.condition is other.condition
        and _trees(memory) == _trees(other)
    )


def _trees(memory: tir.AllocateOp) -> list[int | Expr]:
    return [each if isinstance(each, int) else view(each) for each in memory.shape]


def _move(memory: tir.AllocateOp, placement: Placement, attach: Operation) -> None:
    """Move an allocation, and the buffer that is declared directly after it."""
    mark = placement.mark(attach)
    buffer = memory.next_op
    old = tuple(memory.operands)
    for at, operand in enumerate(old):
        memory.operands[at] = placement.value(operand, attach)
    memory.detach()
    Rewriter.insert_op(memory, InsertPoint.before(mark))
    erase_if_unused(old)
    if (
        isinstance(buffer, tir.DeclBufferOp)
        and buffer.data is memory.result
        and placement.can_move_buffer(buffer, attach)
    ):
        old = tuple(buffer.operands[1:])
        for at, operand in enumerate(old, 1):
            buffer.operands[at] = placement.value(operand, attach)
        buffer.detach()
        Rewriter.insert_op(buffer, InsertPoint.before(mark))
        erase_if_unused(old)


def _largest(entry: StorageEntry, placement: Placement) -> tir.AllocateOp:
    """New memory that each of the sharers fits in."""
    first = entry.sharers[0]
    kind = max(
        (memory.result.type.element_type for memory in entry.sharers), key=tir.lanes_of
    )
    width = tir.bytes_of(kind)
    sizes = [constant_bytes(memory) for memory in entry.sharers]
    mark = placement.mark(entry.attach)
    extent: int | SSAValue
    if all(sizes):
        extent = -(-max(sizes) // width)
    else:
        analyzer = Analyzer()
        total: Expr | None = None
        for memory in entry.sharers:
            values = {v: placement.value(v, entry.attach) for v in memory.extents}
            for at, operand in enumerate(memory.operands):
                memory.operands[at] = values.get(operand, operand)
            tree = bytes_of_memory(memory)
            total = tree if total is None else smart.maximum(total, tree)
        assert total is not None, "an entry has sharers"
        tree = smart.floordiv(total, width)
        if not analyzer.can_prove_equal(
            smart.floormod(total, width), smart.const(0, total.dtype)
        ):
            tree = smart.add(tree, 1)
        extent = emit(analyzer.simplify(tree), Builder(InsertPoint.before(mark)))
    memory = tir.AllocateOp(
        tir.PtrType(kind, first.result.type.scope), [extent], name=first.var_name
    )
    _insert(memory, first, mark)
    return memory


def _insert(memory: tir.AllocateOp, first: tir.AllocateOp, mark: Operation) -> None:
    memory.location = first.location
    memory.result.name_hint = first.result.name_hint
    Rewriter.insert_op(memory, InsertPoint.before(mark))


def _place_merged(group: Sequence[StorageEntry], placement: Placement) -> None:
    """Allocate all memory of a special tag at once."""
    first = group[0].sharers[0]
    scope = first.result.type.scope.data
    info = memory_infos_around(first).get(scope)
    unit = _UNIT_BYTES if info is None else max(1, info.max_simd_bits // 8)
    total = 0
    starts: list[int] = []
    for entry in group:
        align = unit
        for memory in entry.sharers:
            align = alignment_of(memory, align)
        total = -(-total // align) * align
        starts.append(total)
        total += entry.bits // 8
    total = -(-total // unit) * unit
    _check_bound(group[0], 8 * total)
    lane = group[0].element
    extent = -(-total // tir.bytes_of(lane))
    memory = tir.AllocateOp(
        tir.PtrType(lane, first.result.type.scope), [extent], name=first.var_name
    )
    _insert(memory, first, placement.mark(group[0].attach))
    arena = Arena(memory, total)
    for entry, start in zip(group, starts, strict=True):
        for sharer in entry.sharers:
            arena.take(sharer.result, start)
            _erase(sharer)


def _check_bound(entry: StorageEntry, bits: int) -> None:
    scope = str(entry.scope)
    info = memory_infos_around(entry.sharers[0]).get(scope)
    if info is not None and bits > info.max_num_bits:
        raise PassFailedException(
            f"{describe(entry.sharers[0])}: Allocation exceed bound of memory tag "
            f"{scope} ({bits} bits of {info.max_num_bits}); allocate less at a time"
        )

"""Allocated buffers shrink to the part of them that is accessed."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.all_ops import ops_of
from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.analyzer import Analyzer, Range
from xdsl_tvm.analysis.arith.expr import (
    Const,
    Expr,
    emit,
    postorder,
    substitute,
    values_at_hand,
    view,
)
from xdsl_tvm.analysis.tir.flat_index import as_tree, has_padding
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.annotations import integer_of, list_items
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.tir._compact_buffers.regions import RegionCollector, Scope
from xdsl_tvm.passes.tir._compact_buffers.uses import ALLOCATIONS, Candidate, candidate
from xdsl_tvm.passes.tir._storage_align import (
    DIM_ALIGN,
    Alignments,
    allocation_shape,
    collect_alignments,
    entry,
)
from xdsl_tvm.passes.tir.rewriting.memory_views import (
    memory_after,
    replace_regions,
    take_after,
)
from xdsl_tvm.passes.tir.rewriting.statements import describe, erase_if_unused

Mixed = int | SSAValue


@dataclass(frozen=True)
class CompactBufferAllocation(CompilerPass):
    """Summary: Shrinks buffers that are allocated to the part of them that is accessed.

    TVM name: tir.CompactBufferAllocation (v0.20)
    Input form: opaque blocks without `tir.init`, or none
    Output form: the same
    Options: `is_strict` (true): a buffer does not grow in any dimension; without it, a
        dimension becomes what is accessed of it, beyond the extent that it had, too
    Rewrites: before

            tir.for %i = %c0 to %c16 parallel {
              tir.block {
                %B = tir.alloc_buffer "B" : !tir.buffer<16x20xf32>
                tir.for %j = %c0 to %c12 {
                  tir.store %x, %B[%i, %j] : f32
                }
                // read(%B, %i)
              }
            }

        after

            tir.for %i = %c0 to %c16 parallel {
              tir.block {
                %0 = tir.const 0 : i32
                %B = tir.alloc_buffer "B" : !tir.buffer<1x12xf32>
                tir.for %j = %c0 to %c12 {
                  tir.store %x, %B[%0, %j] : f32
                }
                // read(%B, %0)
              }
            }

        The part is a box around all accesses, in terms of what is known where the buffer
        is allocated: the variables of loops in its scope are relaxed, and around it those
        of thread axes that share its memory (`blockIdx` for global memory, `threadIdx`
        and virtual threads for global and shared memory, `threadIdx.x` for that of a
        warp), with the loops whose bounds depend on them. Conditions narrow their ranges.
        Where the box starts is subtracted from the indices of accesses, of declared
        regions and of the regions of views. A load in the scope is known if it is certain
        to be executed there, and nothing it may read is written before. An extent that
        was a constant stays one: what varies with a loop or a parameter becomes the
        largest number it may be. Extents are never negative. A call with a pointer
        accesses what the nearest block around declares of the buffer, all if none does.
        Strides are those that `buffer_dim_align` asks for, from the last dimension on;
        without it those of the buffer, but for compact ones, which are left out. All
        this goes for `tir.alloc_buffer`, and for a `tir.allocate` with one
        `tir.decl_buffer` of its element type. Time is linear in the number of ops, times
        the number of loops around an access, but for the proofs.
    Leaves alone: parameters; memory with several buffers on it; buffers that are never
        accessed, or that are used by ops of which it is not known what they do to them;
        dimensions whose accesses have no bounds, or whose indices are of a type other
        than `i32` and `i64`. Where a pointer into a buffer is passed to a call, or a view
        states strides or an offset of its own, no element moves: only rows after the
        last one that is accessed go.
    Errors: a block with iteration variables: run tir-convert-blocks-to-opaque first; a
        `tir.init`: run tir-lower-init-block first; `buffer_dim_align`,
        `explicit_read_region` or `explicit_write_region` with a number that is none of a
        region; strides asked for a `tir.allocate` that do not divide each other
    Attributes: read: `buffer_dim_align` of blocks and of `tir.allocate`;
        `explicit_read_region` and `explicit_write_region` of blocks, whose regions stand
        for the loads and the stores in them; created: none; removed: none
    Differs from TVM: what accesses say is put together by what is known at the
        allocation, where TVM takes for granted that the loops of the last access have
        iterations. A buffer that nothing accesses, or that two buffers are declared on,
        is left alone, where TVM has an internal error. Indices of stores are looked at,
        since loads are ops. Calls that get a pointer may count on the layout, so no
        element moves then; nor do the offsets of views stop to be multiples of their
        `offset_factor`. Explicit regions count for stores, too, and up to the end of
        their block. Padding by strides is kept. A constant extent does not become
        dynamic. In a function with barriers, shared memory is not reused from iteration
        to iteration of a loop around its allocation: the barriers do not wait for that.
        Where a warp spans several rows of threads, its memory is not that of one row.
        Declared regions are cut down to the new buffer where they are constant.
    """

    name = "tir-compact-buffer-allocation"

    is_strict: bool = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in op.body.block.ops:
            found: list[Candidate] = []
            alignments: Alignments = {}
            for inner in ops_of(func, tir.InitOp, tir.BlockOp, *ALLOCATIONS):
                _check(inner)
                if isinstance(inner, tir.BlockOp):
                    collect_alignments(inner, alignments)
                each = candidate(inner)
                if each is not None:
                    found.append(each)
            if found:
                collector = RegionCollector(func, found, is_strict=self.is_strict)
                _Compaction(collector, alignments, is_strict=self.is_strict).run()


def _check(op: Operation) -> None:
    """Raise PassFailedException if `op` is not of the input form."""
    if isinstance(op, tir.BlockOp) and not op.is_opaque:
        raise PassFailedException(
            f"{describe(op)} has iteration variables; run "
            "tir-convert-blocks-to-opaque first"
        )
    if isinstance(op, tir.InitOp):
        raise PassFailedException(
            f"{describe(op)} must be gone here; run tir-lower-init-block first"
        )


@dataclass(frozen=True)
class _Dim:
    """A dimension of a new buffer: what of the old one it starts at, and its extent."""

    low: Expr
    extent: Expr
    size: Mixed
    """The extent of the old buffer."""
    is_whole: bool
    """Whether it is the dimension of the old buffer as it was."""


class _Compaction:
    """Compacts the allocations of one function."""

    def __init__(
        self, collector: RegionCollector, alignments: Alignments, *, is_strict: bool
    ) -> None:
        self._collector = collector
        self._alignments = alignments
        self._is_strict = is_strict
        self._analyzer = Analyzer()
        self._dropped: list[SSAValue] = []

    def run(self) -> None:
        for scope in self._collector.run():
            if scope.region is not None:
                self._compact(scope, scope.region)
        erase_if_unused((*self._dropped, *self._collector.added))

    # ---- what becomes of a buffer ----

    def _compact(self, scope: Scope, region: Sequence[Range | None]) -> None:
        found = scope.candidate
        old = found.buffer
        if found.is_exposed:
            region = _without_moves(old, region)
        dims = self._dims(old, region)
        strides = self._strides(found, dims)
        kept = tuple(as_tree(each, old) for each in old.layout_strides)
        if all(dim.is_whole for dim in dims) and strides == kept:
            return
        if not all(self._suits(each, dims, strides) for each in found.views):
            return
        new = self._new_buffer(found, dims, strides)
        users = list(dict.fromkeys(use.operation for use in old.buffer.uses))
        old.buffer.replace_all_uses_with(new.buffer)
        lets = self._collector.lets
        shift = _Shift(new, dims, self._analyzer, lets, scope.loads)
        for op in users:
            shift.shift(op)
        self._dropped += (*shift.dropped, *old.operands)
        Rewriter.erase_op(old)
        if found.memory is not None:
            self._dropped += found.memory.operands
            Rewriter.erase_op(found.memory)

    def _dims(
        self, old: tir.BufferDefinition, region: Sequence[Range | None]
    ) -> list[_Dim]:
        zero = smart.const(0, old.extent_type)
        return [
            _Dim(zero, as_tree(size, old), size, is_whole=True)
            if kept is None
            else _Dim(kept.min, kept.extent, size, is_whole=False)
            for kept, size in zip(region, old.shape, strict=True)
        ]

    def _strides(self, found: Candidate, dims: Sequence[_Dim]) -> tuple[Expr, ...]:
        """The strides of the new buffer; none for compact ones."""
        old = found.buffer
        kept = tuple(as_tree(each, old) for each in old.layout_strides)
        aligned = self._aligned_dims(found)
        if found.is_exposed:
            return kept
        if aligned:
            return _strides_of([dim.extent for dim in dims], aligned)
        if not has_padding(old, self._analyzer):
            return ()
        is_whole = all(dim.is_whole for dim in dims)
        return kept if is_whole or self._is_strict else ()

    def _aligned_dims(self, found: Candidate) -> dict[int, tuple[int, int]]:
        """Factor and offset of the strides that `buffer_dim_align` asks for."""
        if found.memory is None:
            asked: Sequence[Attribute] = self._alignments.get(found.buffer.buffer, ())
        else:
            asked = entry(found.memory.annotations, DIM_ALIGN)
        fields = [[integer_of(n) or 0 for n in list_items(each) or ()] for each in asked]
        return {dim: (factor, offset) for _, dim, factor, offset in fields if factor}

    def _suits(
        self, match: tir.MatchRegionOp, dims: Sequence[_Dim], strides: Sequence[Expr]
    ) -> bool:
        """Whether the offset that a view would have is of the kind that it asks for."""
        if match.offset_factor is None or match.offset_factor.value.data == 1:
            return True
        extents = [dim.extent for dim in dims]
        flat: Expr = _ZERO
        starts = [
            smart.sub(view(low), dim.low)
            for low, dim in zip(match.region_mins, dims, strict=True)
        ]
        for start, step in zip(starts, strides or _strides_of(extents, {}), strict=True):
            flat = smart.add(flat, smart.mul(start, step))
        rest = smart.floormod(flat, match.offset_factor.value.data)
        return self._analyzer.can_prove_equal(rest, smart.const(0, rest.dtype))

    def _new_buffer(
        self, found: Candidate, dims: Sequence[_Dim], strides: Sequence[Expr]
    ) -> tir.BufferDefinition:
        old = found.buffer
        anchor: Operation = found.memory or old
        builder = Builder(InsertPoint.before(anchor))
        parts: dict[SSAValue, Expr] = {}
        for extent in old.extents:
            view(extent, parts)
        values = values_at_hand(parts)
        shape = [
            size if dim.is_whole else _mixed(dim.extent, builder, values)
            for dim, size in zip(dims, old.shape, strict=True)
        ]
        buffer_type = tir.BufferType(
            [each if isinstance(each, int) else DYNAMIC_INDEX for each in shape],
            old.type.element_type,
            old.type.scope,
        )
        extents = [each for each in shape if not isinstance(each, int)]
        layout = tir.BufferLayout(
            strides=[_mixed(stride, builder, values) for stride in strides],
            elem_offset=old.elem_offset,
        )
        if found.memory is None:
            new: tir.BufferDefinition = tir.AllocBufferOp(buffer_type, extents, **layout)
            builder.insert(new)
        else:
            new = tir.DeclBufferOp(found.memory.result, buffer_type, extents, **layout)
            Rewriter.insert_op(new, InsertPoint.before(old))
            new.operands[0] = _reallocated(found.memory, new, builder)
        take_after(new, old, *_OF_SHAPE)
        return new


# ---- what becomes of uses ----


class _Shift:
    """Moves what uses a new buffer to its indices."""

    def __init__(
        self,
        new: tir.BufferDefinition,
        dims: Sequence[_Dim],
        analyzer: Analyzer,
        lets: dict[SSAValue, Expr],
        loads: Mapping[Expr, Expr],
    ) -> None:
        self._new = new
        self._dims = dims
        self._analyzer = analyzer
        self._lets = lets
        self._loads = loads
        self._numbers: dict[Expr, SSAValue] = {}
        """Constants before the buffer."""
        self.dropped: list[SSAValue] = []
        """What was used where nothing uses it now."""

    def shift(self, op: Operation) -> None:
        """Let an op that uses the buffer do so by indices of it."""
        match op:
            case tir.LoadOp() | tir.MatchRegionOp() | tir.PrefetchOp():
                self._shift_operands(op, 1)
            case tir.StoreOp():
                self._shift_operands(op, 2)
            case tir.ThreadAllreduceOp():
                first = len(op.operands) - len(op.threads) - len(op.indices)
                for place in op.places:
                    if place.buffer is self._new.buffer:
                        self._shift_operands(op, first)
                    first += len(place.indices)
            case tir.ReadsOp() | tir.WritesOp():
                self._shift_regions(op)
            case _:
                pass

    def _shift_operands(self, op: Operation, first: int) -> None:
        """Subtract where dimensions start from the operands from `first` on."""
        builder = Builder(InsertPoint.before(op))
        for position, dim in enumerate(self._dims, first):
            old = op.operands[position]
            new = self._difference(old, dim.low, builder)
            if new is not old:
                op.operands[position] = new
                self.dropped.append(old)

    def _difference(self, index: SSAValue, low: Expr, builder: Builder) -> SSAValue:
        if smart.literal(low) == 0:
            return index
        parts: dict[SSAValue, Expr] = {}
        tree = substitute(view(index, ChainMap(parts, self._lets)), self._loads)
        shifted = self._analyzer.simplify(smart.sub(tree, low))
        known = values_at_hand(parts)
        for node in postorder(shifted):
            if isinstance(node, Const) and node not in known:
                known[node] = self._constant(node)
        return emit(shifted, builder, known)

    def _constant(self, number: Expr) -> SSAValue:
        return emit(number, Builder(InsertPoint.before(self._new)), self._numbers)

    def _shift_regions(self, op: tir.ReadsOp | tir.WritesOp) -> None:
        builder = Builder(InsertPoint.before(op))
        regions = [
            self._region(region, builder) if region.buffer is self._new.buffer else region
            for region in op.buffer_regions
        ]
        self.dropped += replace_regions(op, regions)

    def _region(self, region: tir.BufferRegion, builder: Builder) -> tir.BufferRegion:
        sides = [
            self._side(low, extent, dim, builder)
            for low, extent, dim in zip(
                region.mins, region.extents, self._dims, strict=True
            )
        ]
        mins = tuple(low for low, _ in sides)
        return tir.BufferRegion(region.buffer, mins, tuple(size for _, size in sides))

    def _side(
        self, low: SSAValue, size: Mixed, dim: _Dim, builder: Builder
    ) -> tuple[SSAValue, Mixed]:
        """A side in the new buffer, of which no more is declared than there is."""
        if dim.is_whole:
            return low, size
        if tir.is_constant(low, 0) and size == dim.size:
            zero = self._constant(smart.const(0, low.type))
            return zero, _mixed(dim.extent, builder, {})
        start = self._difference(low, dim.low, builder)
        number, most = tir.constant_value(start), smart.literal(dim.extent)
        if isinstance(number, int) and isinstance(size, int) and isinstance(most, int):
            first, end = max(number, 0), min(number + size, most)
            if first < end:
                if first != number:
                    start = self._constant(smart.const(first, start.type))
                return start, end - first
        return start, size


_ZERO = smart.const(0, i32)
_OF_SHAPE = ("static_strides", "operandSegmentSizes")


def _mixed(tree: Expr, builder: Builder, known: dict[Expr, SSAValue]) -> Mixed:
    """A tree as a constant, or as a value."""
    number = smart.literal(tree)
    return int(number) if number is not None else emit(tree, builder, known)


def _without_moves(
    old: tir.BufferDefinition, region: Sequence[Range | None]
) -> list[Range | None]:
    """As much of a region as leaves every element where it is in memory."""
    if not region:
        return []
    first = region[0]
    moves = first is not None and smart.literal(first.min) != 0
    if moves or old.axis_separators is not None:
        first = None
    return [first, *[None] * (len(region) - 1)]


def _strides_of(
    extents: Sequence[Expr], aligned: Mapping[int, tuple[int, int]]
) -> tuple[Expr, ...]:
    """Row-major strides; those that are aligned are `offset` modulo `factor`."""
    strides: list[Expr] = []
    step: Expr = smart.const(1, extents[0].dtype) if extents else _ZERO
    for dim in reversed(range(len(extents))):
        if dim in aligned:
            factor, offset = aligned[dim]
            missing = smart.sub(factor + offset, smart.floormod(step, factor))
            step = smart.add(step, smart.floormod(missing, factor))
        strides.append(step)
        step = smart.mul(step, extents[dim])
    return tuple(reversed(strides))


def _reallocated(
    memory: tir.AllocateOp, buffer: tir.DeclBufferOp, builder: Builder
) -> SSAValue:
    """Put memory for a buffer in the place of other memory."""
    new = builder.insert(memory_after(memory, allocation_shape(buffer, memory)))
    memory.result.replace_all_uses_with(new.result)
    return new.result

"""Buffers of many dimensions: accessed as the memory they are in."""

from __future__ import annotations

import math
from collections.abc import Iterable, MutableMapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import reduce

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    ModuleOp,
    UnitAttr,
    i1,
    i8,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import is_side_effect_free
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import (
    Div,
    Expr,
    FloorDiv,
    FloorMod,
    Mod,
    emit,
    postorder,
)
from xdsl_tvm.analysis.arith.iter_map import iter_map_simplify
from xdsl_tvm.analysis.tir.flat_index import (
    Mixed,
    as_tree,
    fitting_type,
    flat_indices,
    flat_type,
    groups,
    reaches_beyond_32_bits,
)
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.by_class import of_classes
from xdsl_tvm.dialects.tir.types import buffer_of, index_type_for
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.tir.rewriting.expressions import ExpressionRewriter
from xdsl_tvm.passes.tir.rewriting.statements import describe, erase_if_unused


@dataclass(frozen=True)
class FlattenBuffer(CompilerPass):
    """Summary: Gives all buffers the dimensions of the memory they are in, one or one
        more than there are axis separators, and stores bools as `i8`.

    TVM name: tir.FlattenBuffer (v0.20)
    Input form: no `tir.match_region`
    Output form: no access of a buffer with more dimensions than its memory, with
        strides, an offset or elements of type `i1`
    Options: none
    Rewrites: before

            %A = tir.match_buffer "A" %a : !tir.buffer<16x16xf32>
            %p = tir.allocate "B" [4, 17] : !tir.ptr<f32>
            %B = tir.decl_buffer "B" %p strides [17, 1] : !tir.buffer<4x16xf32>
            tir.for %i = %c0 to %c4 {
              tir.for %j = %c0 to %c16 {
                %x = tir.load %A[%i, %j] : f32
                tir.store %x, %B[%i, %j] : f32
              }
            }

        after

            %A = tir.match_buffer "A" %a : !tir.buffer<16x16xf32>
            %q = tir.data %A : !tir.ptr<f32>
            %A_1 = tir.decl_buffer "A" %q {implicit} : !tir.buffer<256xf32>
            %p = tir.allocate "B" [68] : !tir.ptr<f32>
            %B = tir.decl_buffer "B" %p {implicit} : !tir.buffer<68xf32>
            tir.for %i = %c0 to %c4 {
              tir.for %j = %c0 to %c16 {
                %0 = tir.mul %i, %c16 : i32
                %1 = tir.add %0, %j : i32
                %x = tir.load %A_1[%1] : f32
                %2 = tir.mul %i, %c17 : i32
                %3 = tir.add %2, %j : i32
                tir.store %x, %B[%3] : f32
              }
            }

        Each group of axes between separators becomes one dimension. Indices are
        simplified by the loops, launches, conditions and lets around, as maps of
        iterators. A declared region becomes the smallest one with its first and its last
        element. All `tir.decl_buffer` become `implicit`: as in TVM, no statement declares
        a buffer. Memory whose static extents reach beyond 2**31 - 1 elements is indexed
        in 64 bits. Time is linear in the number of ops, but for the proofs.
    Leaves alone: accesses of buffers that are flat already; parameters and realized
        buffers, which are accessed through flat buffers on their pointers; allocations of
        one dimension; the pointers of buffers
    Errors: a `tir.match_region`: run tir-lower-match-buffer first; an offset with axis
        separators; an allocation whose `tir.decl_buffer` has axis separators, but not its
        shape; a use of a buffer by an op that neither accesses it nor takes its pointer:
        give it a buffer that is flat
    Attributes: read: none; created: none; removed: none
    Differs from TVM: the flat buffer has no offset, since the indices contain it, so that
        running the pass twice does no harm. Strides that do not decrease give an extent
        that holds all elements. Indices of less than 32 bits are widened first. Bools
        whose pointer is used keep their allocation, and are accessed through a buffer of
        `i8` on it. No branch is folded. TVM multiplies in the dtype of the indices, so
        that those of large buffers overflow; dynamic extents of 32 bits are taken to
        describe memory that 32 bits can index, as in TVM.
    """

    name = "tir-flatten-buffer"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in op.body.block.ops:
            if any(_is_subject(inner) for inner in all_ops(func)):
                _Flattening(func).flatten()


def _is_subject(op: Operation) -> bool:
    """Whether the pass has something to do with an op."""
    if isinstance(op, tir.MatchRegionOp):
        raise PassFailedException(
            f"{describe(op)} must be gone here; run tir-lower-match-buffer first"
        )
    if isinstance(op, tir.AllocateOp):
        return len(op.shape) > 1
    if isinstance(op, tir.DeclBufferOp) and op.implicit is None:
        return True
    return isinstance(op, tir.BufferDefinition) and not _is_flat(op)


def _is_flat(buffer: tir.BufferDefinition) -> bool:
    offset = buffer.elem_offset
    return (
        all(len(group) == 1 for group in groups(buffer))
        and not buffer.layout_strides
        and (offset is None or tir.is_constant(offset, 0))
        and not (
            tir.is_bool(buffer.type.element_type)
            and any(isinstance(use.operation, _OF_VALUES) for use in buffer.buffer.uses)
        )
    )


class _Flattening(ExpressionRewriter):
    """Flattens the buffers of one function."""

    def __init__(self, func: Operation) -> None:
        super().__init__(func, Analyzer())
        self._flat: dict[SSAValue, SSAValue] = {}
        """A buffer -> the flat one that is accessed in its place."""
        self._data: dict[SSAValue, SSAValue] = {}
        """A buffer -> the flat one whose pointer and addresses are taken."""
        self._old: list[tir.BufferDefinition] = []
        self._allocated: set[tir.AllocateOp] = set()
        self._conditions: list[Expr] = []
        self._entry = _last_parameter(func)

    def flatten(self) -> None:
        """Do it all."""
        self.run()
        for op in reversed(self._old):
            use = op.buffer.first_use
            if use is not None:
                raise PassFailedException(
                    f"{describe(use.operation)} uses a buffer that is not flat, and "
                    "neither accesses it nor takes its pointer; give it a flat buffer"
                )
            operands = tuple(op.operands)
            Rewriter.erase_op(op)
            erase_if_unused(operands)

    def rewritten(self, tree: Expr) -> Expr:
        return tree

    def _assume(self, condition: Expr, scopes: ExitStack) -> None:
        super()._assume(condition, scopes)
        self._conditions.append(condition)
        scopes.callback(self._conditions.pop)

    def statement(self, op: Operation) -> None:
        """Flatten what an op defines or accesses."""
        if not _is_flattened(op):
            return
        match op:
            case tir.AllocateOp():
                self._allocation(op)
            case tir.BufferDefinition():
                self._nonnegative(op.extents)
                if not _is_flat(op):
                    self._definition(op)
                elif isinstance(op, tir.DeclBufferOp):
                    op.properties["implicit"] = UnitAttr()
            case tir.ReadsOp() | tir.WritesOp():
                if any(buffer in self._flat for buffer in op.buffers):
                    regions = [self._region(each, op) for each in op.buffer_regions]
                    self._replace(op, [type(op)(regions)])
            case tir.ThreadAllreduceOp():
                if any(buffer in self._flat for buffer in op.buffers):
                    self._replace(op, [self._reduction(op)])
            case tir.LoadOp() | tir.StoreOp() | tir.AddressOfOp() | tir.DataOp():
                if op.buffer in self._flat:
                    self._access(op)

    # ---- definitions ----

    def _nonnegative(self, extents: Iterable[SSAValue]) -> None:
        for extent in extents:
            self.analyzer.mark_global_nonneg(self.tree(extent))

    def _allocation(self, op: tir.AllocateOp) -> None:
        """One dimension for memory, or those of the buffer that has its shape."""
        uses = [use.operation for use in op.result.uses]
        declared = [user for user in uses if isinstance(user, tir.DeclBufferOp)]
        element = op.result.type.element_type
        bools = element == i1 and bool(uses) and len(declared) == len(uses)
        if op in self._allocated or (len(op.shape) < 2 and not bools):
            return
        like: tir.DeclBufferOp | None = None
        for each in declared:
            if self._has_shape(each, op):
                like = like or each
            elif each.axis_separators is not None:
                raise PassFailedException(
                    f"{describe(each)} has axis separators, but not the shape of its "
                    "tir.allocate; give both one shape"
                )
        parts = [range(len(op.shape))] if like is None else groups(like)
        dtype = fitting_type(
            max(op.static_extents.get_values(), default=1),
            index_type_for(op.extents[0].type) if op.extents else i32,
        )
        sizes = [[self._as_tree(op.shape[k], dtype) for k in part] for part in parts]
        extents = [_product(each, dtype) for each in sizes]
        new = tir.AllocateOp(
            tir.PtrType(i8, op.result.type.scope) if bools else op.result.type,
            self._mixed(extents, Builder(InsertPoint.before(op))),
            condition=op.condition,
            annotations=op.annotations,
            name=op.var_name,
        )
        self._allocated.add(new)
        self._replace(op, [new])

    def _has_shape(self, buffer: tir.DeclBufferOp, memory: tir.AllocateOp) -> bool:
        """Whether a buffer is what its memory was allocated for."""
        pointer = memory.result.type
        if buffer.layout_strides or buffer.type.element_type != pointer.element_type:
            return False
        if len(buffer.shape) != len(memory.shape):
            return False
        dtype = buffer.extent_type
        return all(
            self._as_tree(a, dtype) is self._as_tree(b, dtype)
            for a, b in zip(buffer.shape, memory.shape, strict=True)
        )

    def _definition(self, op: tir.BufferDefinition) -> None:
        """Make the flat buffers that stand for a buffer."""
        if isinstance(op, tir.AllocBufferOp):
            self._alloc_buffer(op)
        else:
            self._view(op)

    def _alloc_buffer(self, op: tir.AllocBufferOp) -> None:
        bools = tir.is_bool(op.type.element_type)
        exposed = any(
            isinstance(use.operation, tir.DataOp | tir.AddressOfOp)
            for use in op.buffer.uses
        )
        builder = Builder(InsertPoint.before(op))
        element = i8 if bools and not exposed else op.type.element_type
        extents = self._mixed(self._extents(op), builder)
        new = builder.insert(tir.AllocBufferOp(*_flat_type(op, element, extents)))
        self._take_over(op, new)
        self._data[op.buffer] = self._flat[op.buffer] = new.buffer
        if bools and exposed:
            data = builder.insert(tir.DataOp(new.buffer))
            flat = _flat_type(op, i8, extents)
            self._flat[op.buffer] = self._declared(op, data.result, flat, builder)
        self._old.append(op)

    def _view(self, op: tir.BufferDefinition) -> None:
        """A flat buffer on the memory of a parameter, or at a pointer."""
        anchor: Operation = op
        if isinstance(op, tir.DeclBufferOp):
            data = op.data
            self._old.append(op)
        else:
            users = (use.operation for use in op.buffer.uses)
            if not any(
                isinstance(user, (*_OF_VALUES, tir.AddressOfOp)) for user in users
            ):
                return
            anchor = self._entry.get(op, op)
            pointer = tir.DataOp(op.buffer)
            Rewriter.insert_op(pointer, InsertPoint.after(anchor))
            anchor, data = pointer, pointer.result
        # Not what is available: the place may be after that of the walk.
        builder = Builder(InsertPoint.after(anchor))
        extents = self._mixed(self._extents(op), builder, {})
        element = op.type.element_type
        bools = tir.is_bool(element)
        users = (use.operation for use in op.buffer.uses)
        if bools and any(isinstance(user, tir.AddressOfOp) for user in users):
            flat = _flat_type(op, element, extents)
            self._data[op.buffer] = self._declared(op, data, flat, builder)
        flat = _flat_type(op, i8 if bools else element, extents)
        self._flat[op.buffer] = self._declared(op, data, flat, builder)
        self._data.setdefault(op.buffer, self._flat[op.buffer])

    def _declared(
        self,
        op: tir.BufferDefinition,
        data: SSAValue,
        flat: tuple[tir.BufferType, Sequence[SSAValue]],
        builder: Builder,
    ) -> SSAValue:
        new = builder.insert(tir.DeclBufferOp(data, *flat))
        self._take_over(op, new)
        new.properties["implicit"] = UnitAttr()
        return new.buffer

    def _take_over(self, op: tir.BufferDefinition, new: tir.BufferDefinition) -> None:
        """Give a flat buffer what it has in common with the old one."""
        for key in _KEPT:
            if key in op.properties:
                new.properties[key] = op.properties[key]
        if op.index_type is not None and reaches_beyond_32_bits(op):
            new.properties["index_type"] = i64
        rank = new.type.get_num_dims()
        if rank > 1:
            separators = list(range(1, rank))
            new.properties["axis_separators"] = DenseArrayBase.from_list(i64, separators)
        if isinstance(op, tir.DeclBufferOp | tir.AllocBufferOp):
            new.attributes |= op.attributes
        new.location = op.location
        new.buffer.name_hint = op.buffer.name_hint

    def _extents(self, op: tir.BufferDefinition) -> list[Expr]:
        """The extents of the flat buffer."""
        parts = groups(op)
        extents = [self._extent(op, part) for part in parts]
        if op.elem_offset is not None and not tir.is_constant(op.elem_offset, 0):
            if len(parts) > 1:
                raise PassFailedException(
                    f"{describe(op)} has both an offset and axis separators; use one"
                )
            extents = [smart.add(extents[0], self.tree(op.elem_offset))]
        return [self.analyzer.simplify(extent) for extent in extents]

    def _extent(self, op: tir.BufferDefinition, part: range) -> Expr:
        strides = op.layout_strides
        sizes = [as_tree(op.shape[axis], op, self.tree) for axis in part]
        dtype = flat_type(op)
        if not strides or not sizes:
            return _product(sizes, dtype)
        sizes = [smart.cast(dtype, size) for size in sizes]
        steps = [smart.cast(dtype, as_tree(strides[k], op, self.tree)) for k in part]
        outermost = smart.mul(sizes[0], steps[0])
        last = [
            smart.mul(smart.sub(size, 1), step)
            for size, step in zip(sizes, steps, strict=True)
        ]
        span = smart.add(reduce(smart.add, last), 1)
        if len(groups(op)) > 1 or self.analyzer.can_prove(smart.ge(outermost, span)):
            return outermost
        return smart.maximum(outermost, span)

    # ---- accesses ----

    def _access(
        self, op: tir.LoadOp | tir.StoreOp | tir.AddressOfOp | tir.DataOp
    ) -> None:
        old = op.buffer
        if isinstance(op, tir.DataOp):
            if isinstance(old.owner, tir.AllocBufferOp | tir.DeclBufferOp):
                self._replace(op, [tir.DataOp(self._data[old])])
            return
        indices = self._indices(old, op.indices, op)
        match op:
            case tir.AddressOfOp():
                self._replace(op, [tir.AddressOfOp(self._data[old], indices)])
            case tir.StoreOp():
                new = tir.StoreOp(op.value, self._flat[old], indices, op.predicate)
                if tir.is_bool(op.value.type):
                    stored = tir.CastOp(op.value, tir.like_lanes(i8, op.value.type))
                    new.operands[0] = stored.result
                    self._replace(op, [stored, new])
                else:
                    self._replace(op, [new])
            case tir.LoadOp():
                load = tir.LoadOp(self._flat[old], indices, op.predicate)
                dtype = op.result.type
                bools = tir.is_bool(dtype)
                self._replace(op, [load, tir.CastOp(load, dtype)] if bools else [load])

    def _indices(
        self, buffer: SSAValue, indices: Sequence[SSAValue], op: Operation
    ) -> list[SSAValue]:
        """The indices of an access as those of the flat buffer, before `op`."""
        trees = self._flattened(buffer, [self.tree(index) for index in indices])
        builder = Builder(InsertPoint.before(op))
        return [emit(tree, builder, self._at_hand) for tree in trees]

    def _flattened(self, buffer: SSAValue, indices: Sequence[Expr]) -> list[Expr]:
        definition = tir.buffer_definition(buffer)
        flat = flat_indices(definition, indices, self.tree)
        offset = definition.elem_offset
        if offset is not None and not tir.is_constant(offset, 0):
            flat = [smart.add(flat[0], self.tree(offset))]
        return [self._simplified(index) for index in flat]

    def _simplified(self, index: Expr) -> Expr:
        nodes = list(postorder(index))
        # Maps of iterators tell more only where parts of one are put together again.
        if any(isinstance(node, _SPLITS) for node in nodes) and tir.is_scalar(
            index.dtype
        ):
            index = self._joined(index, nodes)
        return self.analyzer.simplify(index)

    def _joined(self, index: Expr, nodes: list[Expr]) -> Expr:
        """The index as a map of the variables whose ranges are known."""
        ranges = ((node, self.analyzer.range_of(node)) for node in nodes)
        inputs = {node: found for node, found in ranges if found is not None}
        relevant = [
            condition
            for condition in self._conditions
            if not inputs.keys().isdisjoint(postorder(condition))
        ]
        predicate = reduce(smart.conjunction, relevant) if relevant else None
        (index,) = iter_map_simplify([index], inputs, predicate, analyzer=self.analyzer)
        return index

    def _region(self, region: tir.BufferRegion, op: Operation) -> tir.BufferRegion:
        old = region.buffer
        if old not in self._flat:
            return region
        low = [self.tree(value) for value in region.mins]
        high = [
            smart.sub(smart.add(start, self._as_tree(extent, start.dtype)), 1)
            for start, extent in zip(low, region.extents, strict=True)
        ]
        builder = Builder(InsertPoint.before(op))
        mins = self._flattened(old, low)
        ends = self._flattened(old, high)
        extents = [
            self.analyzer.simplify(smart.add(smart.sub(end, start), 1))
            for start, end in zip(mins, ends, strict=True)
        ]
        return tir.BufferRegion(
            self._flat[old],
            tuple(emit(start, builder, self._at_hand) for start in mins),
            tuple(self._mixed(extents, builder)),
        )

    def _reduction(self, op: tir.ThreadAllreduceOp) -> tir.ThreadAllreduceOp:
        places = [
            (self._flat[place.buffer], self._indices(place.buffer, place.indices, op))
            if place.buffer in self._flat
            else place
            for place in op.places
        ]
        return tir.ThreadAllreduceOp(op.sources, places, op.threads, op.condition)

    # ---- ops ----

    def _as_tree(self, extent: Mixed, dtype: Attribute) -> Expr:
        if isinstance(extent, int):
            return smart.const(extent, dtype)
        return self.tree(extent)

    def _mixed(
        self,
        extents: Iterable[Expr],
        builder: Builder,
        known: MutableMapping[Expr, SSAValue] | None = None,
    ) -> list[Mixed]:
        """Extents as constants, or as values."""
        at_hand = self._at_hand if known is None else known
        numbers = ((smart.literal(extent), extent) for extent in extents)
        return [
            int(number) if number is not None else emit(extent, builder, at_hand)
            for number, extent in numbers
        ]

    def _replace(self, op: Operation, new: list[Operation]) -> None:
        """Put ops in the place of one, the last for its result."""
        for each in new:
            each.location = op.location
        new[-1].attributes |= op.attributes
        for old, result in zip(op.results, new[-1].results, strict=True):
            result.name_hint = old.name_hint
        self.dropped += op.operands
        Rewriter.replace_op(op, new)


_SPLITS = (Div, FloorDiv, FloorMod, Mod)
_OF_VALUES = (
    tir.LoadOp,
    tir.ReadsOp,
    tir.StoreOp,
    tir.ThreadAllreduceOp,
    tir.WritesOp,
)
"""What reads or writes the elements of a buffer, or says so."""
_is_flattened = of_classes(
    *_OF_VALUES, tir.AddressOfOp, tir.AllocateOp, tir.BufferDefinition, tir.DataOp
)


def _last_parameter(func: Operation) -> dict[Operation, Operation]:
    """For the parameters at the start of a function, the last of them.

    All symbols of their shapes are bound after it.
    """
    matches: list[Operation] = []
    for op in func.regions[0].block.ops if func.regions else ():
        if isinstance(op, tir.MatchBufferOp):
            matches.append(op)
        elif not isinstance(op, tir.ShapeVarOp) and not is_side_effect_free(op):
            break
    return dict.fromkeys(matches, matches[-1]) if matches else {}


def _product(sizes: Sequence[Expr], dtype: Attribute) -> Expr:
    """The product of extents, in 64 bits where the static ones need that."""
    static = math.prod(int(n) for size in sizes if (n := smart.literal(size)) is not None)
    wide = fitting_type(static, dtype)
    return reduce(smart.mul, (smart.cast(wide, s) for s in sizes), smart.const(1, wide))


def _flat_type(
    op: tir.BufferDefinition, element: Attribute, extents: Sequence[Mixed]
) -> tuple[tir.BufferType, list[SSAValue]]:
    """The type of a flat buffer, and its dynamic extents."""
    static = [each if isinstance(each, int) else DYNAMIC_INDEX for each in extents]
    dynamic = [each for each in extents if not isinstance(each, int)]
    return buffer_of(tuple(static), element, op.type.scope), dynamic


_KEPT = ("name", "data_alignment", "offset_factor", "buffer_kind", "index_type")

"""Blocks that compute elements of a buffer for one other block become part of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from xdsl_tvm.analysis.all_ops import all_ops, ops_of
from xdsl_tvm.analysis.arith.expr import Const, Expr, Value, substitute, view
from xdsl_tvm.analysis.arith.linear_equation import mentions
from xdsl_tvm.analysis.tir.access_regions import get_block_read_write_region
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.annotations import is_true
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.tir._loops.loop_nest import Access, Axis, Nest, find_nest
from xdsl_tvm.passes.tir._schedule.maps import is_lazy, is_map, narrow_axes
from xdsl_tvm.passes.tir._schedule.unscheduled import is_unscheduled
from xdsl_tvm.passes.tir.rewriting.statements import may_write


@dataclass(frozen=True)
class InlineBlocks(CompilerPass):
    """Summary: Computes elements of a buffer where they are used, and lets results be
        worked on where they are stored, so that fused operators are one loop nest.

    TVM name: none (ours; schedules do so with compute_inline and reverse_compute_inline)
    Input form: blocks; functions of serial loops without annotations
    Output form: blocks
    Options: none
    Rewrites: perfect nests of loops from 0 around one block that stores one element, of
        which each iteration variable is one of the loop variables. Before

            %T = tir.alloc_buffer "T" : !tir.buffer<4x8xf32>
            // for i, j: T[i, j] = A[i, j] + B[j]
            // for i, j: C[i, j] = max(T[i, j], 0)

        after

            // for i, j: C[i, j] = max(A[i, j] + B[j], 0)

        A map that fills an allocated buffer goes into the one nest that reads it, if no
        element is computed more often than before (a mere copy may be), if nothing
        between writes what it reads, and if what is read stays next to each other along
        the innermost loop, or, where that loop of a map has four iterations or fewer,
        along the one around it. Then, where a map is the last to read an allocated
        buffer, at the element that it stores to, and the buffer that it stores to is of
        the same type and used for nothing else, the first buffer is that second one: the
        sums of a matrix product, and the bias after it, are then in one place. Time is
        linear in the size of the function and the number of uses of its buffers.
    Leaves alone: functions with a schedule, as tir-default-cpu-schedule takes them, for
        any target;
        buffers of parameters; buffers with several readers; maps with lazy choices before
        nests without; transpositions and other maps that jump in memory; nests that
        write a parameter while others are read, in functions without `tir.noalias`
    Errors: none
    Attributes: read: `tir.is_scheduled` and `tir.noalias` of functions;
        created: none; removed: none
    Differs from TVM: TVM has schedule primitives for this, which are told where to apply
    """

    name = "tir-inline-blocks"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in ops_of(op, tir.FuncOp):
            if is_unscheduled(function):
                noalias = is_true(function.attributes.get("tir.noalias"))
                for block in list(_statement_blocks(function)):
                    _Statements(block, noalias).inline_all()


def _statement_blocks(function: tir.FuncOp) -> Iterator[Block]:
    """The lists of statements that may allocate buffers."""
    for op in all_ops(function):
        if isinstance(op, tir.FuncOp) or (isinstance(op, tir.BlockOp) and op.is_opaque):
            for region in op.regions:
                yield from region.blocks


@dataclass
class _Statements:
    """The statements of a block, which buffers they use, and which of them are nests."""

    block: Block
    noalias: bool
    nests: dict[Operation, Nest] = field(default_factory=dict[Operation, Nest])
    order: dict[Operation, int] = field(default_factory=dict[Operation, int])

    def __post_init__(self) -> None:
        ops = list(self.block.ops)
        for number, op in enumerate(ops):
            self.order[op] = number
            self._find(op)
        # Up to each statement: how many do what is not known, how many write parameters.
        self._unknown = list(accumulate(self._is_unknown(op) for op in ops))
        self._writers = list(accumulate(self._writes_parameter(op) for op in ops))

    def _is_unknown(self, op: Operation) -> bool:
        if op in self.nests or isinstance(op, _HARMLESS):
            return False
        return bool(op.regions) or may_write(op)

    def _writes_parameter(self, op: Operation) -> bool:
        nest = self.nests.get(op)
        return nest is not None and any(map(_is_parameter, nest.written))

    def _find(self, op: Operation) -> None:
        nest = find_nest(op) if isinstance(op, tir.ForOp) else None
        if nest is not None:
            self.nests[op] = nest

    def inline_all(self) -> None:
        """Inline what can be, each nest after those that read from it."""
        if len(self.nests) < 2:
            return
        for op in reversed(list(self.nests)):
            self._inline(self.nests[op])
        for op in list(self.nests):
            self._store_in_place(self.nests[op])

    # ---- what uses a buffer ----

    def _users(self, buffer: SSAValue) -> list[Operation] | None:
        """The statements that use a buffer, in order; None if others do."""
        found = set[Operation]()
        for use in buffer.uses:
            op = self.block.find_ancestor_op_in_block(use.operation)
            if op is None or op not in self.order:
                return None
            found.add(op)
        return sorted(found, key=lambda op: self.order[op])

    def _may_write_between(self, nest: Nest, last: Operation) -> bool:
        """Whether what a nest reads may be written after it, up to and in `last`."""
        start, end = self.order[nest.outermost], self.order[last]
        if self._unknown[end] != self._unknown[start]:
            return True
        read = {access.buffer for access in nest.accesses if not access.writes}
        for buffer in read:
            for use in buffer.uses:
                op = self.block.find_ancestor_op_in_block(use.operation)
                other = None if op is None else self.nests.get(op)
                if other is None or not start < self.order[other.outermost] <= end:
                    continue
                if buffer in other.written:
                    return True
        if self.noalias or not any(map(_is_parameter, read)):
            return False
        return self._writers[end] != self._writers[start]

    # ---- into the reader ----

    def _inline(self, nest: Nest) -> None:
        stored = _stored(nest)
        if stored is None or not isinstance(stored.buffer.owner, tir.AllocBufferOp):
            return
        users = self._users(stored.buffer)
        if users is None or len(users) != 2 or users[0] is not nest.outermost:
            return
        reader = self.nests.get(users[1])
        if reader is None or stored.buffer in reader.written:
            return
        if not _is_worth_inlining(nest, stored, reader):
            return
        if self._may_write_between(nest, reader.outermost):
            return
        _Inlining(nest, stored, reader).write()
        del self.nests[nest.outermost]
        Rewriter.erase_op(nest.outermost)
        Rewriter.erase_op(stored.buffer.owner)
        self._find(reader.outermost)

    # ---- in place of the result ----

    def _store_in_place(self, nest: Nest) -> None:
        stored = _stored(nest)
        if stored is None or not self._is_only_used_by(stored.buffer, nest):
            return
        for buffer in dict.fromkeys(access.buffer for access in nest.accesses):
            if self._is_replaceable(buffer, nest, stored):
                alloc = buffer.owner
                buffer.replace_all_uses_with(stored.buffer)
                assert isinstance(alloc, Operation)
                Rewriter.erase_op(alloc)
                return

    def _is_only_used_by(self, buffer: SSAValue, nest: Nest) -> bool:
        """Whether nothing but the nest uses a buffer that is there from the start."""
        if _is_parameter(buffer) and not self.noalias:
            return False
        return all(
            isinstance(use.operation, tir.StoreOp | tir.WritesOp)
            and nest.outermost.is_ancestor(use.operation)
            for use in buffer.uses
        )

    def _is_replaceable(self, buffer: SSAValue, nest: Nest, stored: Access) -> bool:
        """Whether the buffer may be the one that the nest stores to."""
        if buffer is stored.buffer or not isinstance(buffer.owner, tir.AllocBufferOp):
            return False
        if not _are_alike(buffer.owner, stored.buffer.owner):
            return False
        loads = [access for access in nest.accesses if access.buffer is buffer]
        if any(place_of(nest, access) != place_of(nest, stored) for access in loads):
            return False
        users = self._users(buffer)
        if users is None or users[-1] is not nest.outermost:
            return False
        if any(op not in self.nests for op in users):
            return False
        owner = stored.buffer.owner
        position = self.order.get(owner) if isinstance(owner, Operation) else None
        return position is None or position < self.order[users[0]]


_DECLARATIONS = (tir.ReadsOp, tir.WritesOp)
_HARMLESS = (*_DECLARATIONS, tir.AllocBufferOp, tir.MatchBufferOp, tir.ShapeVarOp)


def _is_parameter(buffer: SSAValue) -> bool:
    return isinstance(buffer.owner, tir.MatchBufferOp)


def _are_alike(first: tir.AllocBufferOp, second: Operation | Block) -> bool:
    if not isinstance(second, tir.MatchBufferOp | tir.AllocBufferOp):
        return False
    return (
        first.type == second.type
        and first.shape == second.shape
        and not first.layout_strides
        and not second.layout_strides
        and first.axis_separators is None
        and second.axis_separators is None
    )


def _stored(nest: Nest) -> Access | None:
    """The store of a map that writes each element of a buffer once; None if it is none.

    Its indices are the variables of all axes, dimensions of extent 1 aside.
    """
    if not is_map(nest):
        return None
    stores = [access for access in nest.accesses if access.writes]
    if len(stores) != 1 or not _is_straight(nest, stores[0]):
        return None
    (stored,) = stores
    if any(a.buffer is stored.buffer and not a.writes for a in nest.accesses):
        return None
    axes: dict[Expr, Axis] = {
        Value(axis.variable): axis for axis in nest.axes if axis.size != 1
    }
    ones = {Value(axis.variable) for axis in nest.axes if axis.size == 1}
    ones |= {Value(variable) for variable in nest.fixed}
    shape = tir.buffer_definition(stored.buffer).shape
    for index, extent in zip(stored.indices, shape, strict=True):
        axis = axes.pop(index, None)
        if axis is None:
            if extent != 1 or not (index in ones or _is_zero(index)):
                return None
        elif not _is_extent(extent, axis):
            return None
    return None if axes else stored


def place_of(nest: Nest, access: Access) -> tuple[Expr, ...]:
    """The indices of an access, with 0 for variables that are always 0."""
    zeros: dict[Expr, Expr] = {
        Value(axis.variable): Const(0, axis.variable.type)
        for axis in nest.axes
        if axis.size == 1
    }
    zeros |= {Value(variable): value for variable, value in nest.fixed.items()}
    return tuple(substitute(index, zeros) for index in access.indices)


def _is_straight(nest: Nest, stored: Access) -> bool:
    """Whether the store is a statement of the block itself."""
    return stored.op.parent_op() is nest.block


def _is_zero(index: Expr) -> bool:
    return isinstance(index, Const) and index.value == 0


def _is_extent(extent: int | SSAValue, axis: Axis) -> bool:
    if isinstance(extent, int):
        return axis.size == extent
    return view(extent) is axis.extent


def _is_worth_inlining(nest: Nest, stored: Access, reader: Nest) -> bool:
    """Whether the reader does no more work than both nests did, and no slower."""
    value = stored.op.operands[0]
    is_copy = isinstance(value.owner, tir.LoadOp)
    loads = [access for access in reader.accesses if access.buffer is stored.buffer]
    places = {place_of(reader, access) for access in loads}
    wide = [Value(axis.variable) for axis in reader.axes if axis.size != 1]
    is_repeated = len(places) > 1 or any(
        not any(mentions(index, variable) for index in place)
        for place in places
        for variable in wide
    )
    if is_repeated and not is_copy:
        return False
    narrow = narrow_axes(reader)
    if narrow is not None and is_map(reader) and not is_repeated:
        # Its last axis is no vector anyway.
        return all(access.step(narrow[0]) in (0, 1) for access in loads)
    if is_lazy(nest) and not is_lazy(reader):
        return False
    inner = _axis_of_last(nest, stored)
    sources = [access for access in nest.accesses if not access.writes]
    if inner is not None and not _are_neighbours(sources, inner):
        return False
    if not is_map(reader):
        return True
    innermost = next((a for a in reversed(reader.axes) if a.size != 1), None)
    return innermost is None or _are_neighbours(loads, innermost)


def _axis_of_last(nest: Nest, stored: Access) -> Axis | None:
    """The axis along which stored elements are neighbours."""
    by_variable: dict[Expr, Axis] = {Value(axis.variable): axis for axis in nest.axes}
    axes = [by_variable[index] for index in stored.indices if index in by_variable]
    return next((axis for axis in reversed(axes) if axis.size != 1), None)


def _are_neighbours(accesses: Iterable[Access], axis: Axis) -> bool:
    return all(access.step(axis) in (0, 1) for access in accesses)


@dataclass
class _Inlining:
    """Puts the expression that a nest stores in the place of the loads of it."""

    nest: Nest
    stored: Access
    reader: Nest
    _known: dict[tuple[Block | None, tuple[Expr, ...]], SSAValue] = field(
        default_factory=dict[tuple["Block | None", tuple[Expr, ...]], SSAValue]
    )

    def write(self) -> None:
        """Replace the loads, and declare again what the block accesses."""
        for access in self.reader.accesses:
            if access.buffer is self.stored.buffer:
                assert isinstance(access.op, tir.LoadOp)
                self._replace(access.op, place_of(self.reader, access))
        declare_regions(self.reader.block)

    def _replace(self, load: tir.LoadOp, place: tuple[Expr, ...]) -> None:
        key = (load.parent, place)
        if key not in self._known:
            self._known[key] = self._computed(load)
        Rewriter.replace_op(load, (), [self._known[key]])

    def _computed(self, load: tir.LoadOp) -> SSAValue:
        """The stored expression at the place of a load, computed before it."""
        copies = dict[SSAValue, SSAValue]()
        builder = Builder(InsertPoint.before(load))
        for index, given in zip(self.stored.indices, load.indices, strict=True):
            if isinstance(index, Value):
                value: SSAValue = given
                if value.type != index.dtype:
                    value = builder.insert(tir.CastOp(value, index.dtype)).result
                copies[index.value] = value
        for variable in self.nest.block.iter_vars:
            if variable not in copies:
                zero = builder.insert(tir.ConstOp.of(0, variable.type))
                copies[variable] = zero.result
        for op in self.nest.block.body.block.ops:
            if op.results:
                builder.insert(op.clone(copies))
        value = self.stored.op.operands[0]
        return copies.get(value, value)


def declare_regions(block: tir.BlockOp) -> None:
    """Say anew what a block reads and writes, where it says so."""
    declared = [op for op in block.body.block.ops if isinstance(op, _DECLARATIONS)]
    if not declared:
        return
    found = get_block_read_write_region(block)
    for op in declared:
        Rewriter.erase_op(op)
    first = block.body.block.first_op
    place = InsertPoint.before(first) if first else InsertPoint.at_end(block.body.block)
    builder = Builder(place)
    reads: Sequence[tir.BufferRegion] = [each.emit(builder) for each in found.reads]
    writes: Sequence[tir.BufferRegion] = [each.emit(builder) for each in found.writes]
    builder.insert(tir.ReadsOp(reads))
    builder.insert(tir.WritesOp(writes))

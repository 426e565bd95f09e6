"""Buffers of a pipelined loop with a place for several iterations each.

The first dimension of such a buffer is the version. Iteration `i` of a loop from `m` has
version `(i - m) % n`; what accesses the buffer by its pointer goes that many times the
size of the old buffer further.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from xdsl.builder import Builder
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    IntegerAttr,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import Expr, Value, emit, view
from xdsl_tvm.analysis.tir.builtin_offsets import (
    FRAGMENTS,
    OFFSETS,
    offset_positions,
)
from xdsl_tvm.analysis.tir.flat_index import (
    as_tree,
    flat_type,
    reaches_beyond_32_bits,
    row_major_strides,
)
from xdsl_tvm.analysis.tir.memory_order import Memory, memory_of
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir import StorageRank
from xdsl_tvm.dialects.tir.annotations import integer_of, list_items
from xdsl_tvm.passes.tir.rewriting.memory_views import take_after
from xdsl_tvm.passes.tir.rewriting.statements import describe, erase_if_unused

_ALIGN = "buffer_dim_align"
_SHAPED = ("tvm_load_matrix_sync", "tvm_store_matrix_sync", "tvm_fill_fragment")
"""Builtins that say how large a fragment is."""
_MMA = (
    StorageRank.MMA_MATRIX_A,
    StorageRank.MMA_MATRIX_B,
    StorageRank.MMA_MATRIX_C,
)
_WARP = 32
"""Threads that have the elements of a matrix of `mma` among them."""


class VersionedBuffers:
    """Gives buffers of a loop versions; the ops of the loop are edited in place."""

    def __init__(self, loop: tir.ForOp, last_stage: int, analyzer: Analyzer) -> None:
        self.numbers: dict[SSAValue, int] = {}
        """The values that hold the version of an iteration, and the number of them."""
        self._loop = loop
        self._exact = last_stage == 1
        self._analyzer = analyzer
        self._version_of: dict[int, SSAValue] = {}
        self._fragments: dict[Memory, int] | None = None

    def enlarge(self, alloc: tir.AllocBufferOp, count: int) -> tir.AllocBufferOp:
        """A buffer with `count` versions in the place of one.

        Raises PassFailedException for one that cannot have any.
        """
        self._check(alloc)
        new = self._allocated(alloc, count)
        version = self._version(count)
        rewrite = _Rewrite(self, alloc, new, version, count, exact=self._exact)
        for op in list(dict.fromkeys(use.operation for use in alloc.buffer.uses)):
            rewrite.use(op)
        Rewriter.erase_op(alloc)
        return new

    def _version(self, count: int) -> SSAValue:
        """The version of an iteration, computed at the start of the loop."""
        if count not in self._version_of:
            body = self._loop.body.block
            start = view(self._loop.min)
            tree = smart.sub(Value(self._loop.loop_var), start)
            known = {start: self._loop.min}
            builder = Builder(InsertPoint.at_start(body))
            version = emit(smart.floormod(tree, count), builder, known)
            self._version_of[count] = version
            self.numbers[version] = count
        return self._version_of[count]

    def _check(self, alloc: tir.AllocBufferOp) -> None:
        if alloc.elem_offset is not None and not tir.is_constant(alloc.elem_offset, 0):
            raise PassFailedException(
                f"{describe(alloc)} has an element offset, so it cannot have several "
                "versions; remove the offset"
            )
        steps = [as_tree(step, alloc, view) for step in alloc.layout_strides]
        sizes = [as_tree(size, alloc, view) for size in alloc.shape]
        for (outer, inner), size in zip(pairwise(steps), sizes[1:], strict=False):
            if not self._analyzer.can_prove(smart.ge(outer, smart.mul(inner, size))):
                raise PassFailedException(
                    f"{describe(alloc)}: the strides do not show where it ends, so it "
                    "cannot have several versions; let the outermost be the largest"
                )

    def _allocated(self, alloc: tir.AllocBufferOp, count: int) -> tir.AllocBufferOp:
        kind = alloc.type
        strides = alloc.layout_strides
        if strides:
            step, size = (as_tree(e, alloc, view) for e in (strides[0], alloc.shape[0]))
            total = smart.mul(smart.cast(flat_type(alloc), step), size)
            number = smart.literal(total)
            builder = Builder(InsertPoint.before(self._loop))
            step = emit(total, builder) if number is None else int(number)
            strides = (step, *strides)
        new = tir.AllocBufferOp(
            tir.BufferType([count, *kind.get_shape()], kind.element_type, kind.scope),
            alloc.extents,
            strides=strides,
            elem_offset=alloc.elem_offset,
        )
        take_after(new, alloc)
        if alloc.axis_separators is not None:
            moved = [1 + axis for axis in alloc.axis_separators.get_values()]
            new.properties["axis_separators"] = DenseArrayBase.from_list(i64, moved)
        Rewriter.insert_op(new, InsertPoint.before(alloc))
        return new

    def fragment_size(self, pointer: SSAValue) -> int | None:
        """How many elements a fragment has, as builtins in the function say."""
        if self._fragments is None:
            self._fragments = _fragment_sizes(self._loop)
        return self._fragments.get(memory_of(pointer))


def _fragment_sizes(loop: tir.ForOp) -> dict[Memory, int]:
    func: Operation = loop
    while (parent := func.parent_op()) is not None and not isinstance(func, tir.FuncOp):
        func = parent
    found: dict[Memory, int] = {}
    for op in func.walk():
        if isinstance(op, tir.CallOp) and op.callee.data in _SHAPED:
            pointer = op.arg("frag")
            sizes = [tir.constant_value(op.arg(name)) for name in ("m", "n", "k")]
            if isinstance(pointer.type, tir.PtrType):
                m, n, k = (0 if size is None else int(size) for size in sizes)
                by_scope = {
                    StorageRank.WMMA_MATRIX_A: m * k,
                    StorageRank.WMMA_MATRIX_B: n * k,
                    StorageRank.WMMA_ACCUMULATOR: m * n,
                }
                size = by_scope.get(pointer.type.storage_scope.rank)
                if size:
                    found[memory_of(pointer)] = size
    return found


class _Rewrite:
    """Lets the uses of one buffer use the versioned one."""

    def __init__(
        self,
        owner: VersionedBuffers,
        old: tir.AllocBufferOp,
        new: tir.AllocBufferOp,
        version: SSAValue,
        count: int,
        *,
        exact: bool,
    ) -> None:
        self._owner = owner
        self._old = old
        self._new = new
        self._version = version
        self._count = count
        self._exact = exact

    def use(self, op: Operation) -> None:
        """Rewrite an op that has the buffer as an operand."""
        buffer, version = self._new.buffer, self._version
        new: Operation
        match op:
            case tir.LoadOp():
                indices = (version, *op.indices)
                new = tir.LoadOp(buffer, indices, op.predicate, op.result.type)
            case tir.StoreOp():
                new = tir.StoreOp(op.value, buffer, (version, *op.indices), op.predicate)
            case tir.AddressOfOp():
                new = tir.AddressOfOp(buffer, (version, *op.indices))
            case tir.ReadsOp() | tir.WritesOp():
                new = type(op)([self._region(each, op) for each in op.buffer_regions])
                self._move_alignments(op)
            case tir.PrefetchOp():
                new = tir.PrefetchOp(buffer, ((version, 1), *op.region))
            case tir.DataOp():
                self._use_pointer(op)
                return
            case _:
                raise PassFailedException(
                    f"{describe(op)} uses a buffer that the pipeline needs "
                    f"{self._count} versions of, which is not possible there; allocate "
                    "the buffer before the loop"
                )
        _replace(op, new)

    def _region(
        self, region: tir.BufferRegion, op: tir.ReadsOp | tir.WritesOp
    ) -> tir.BufferRegion:
        if region.buffer is not self._old.buffer:
            return region
        start, size = self._version, 1
        if not self._exact:
            zero = tir.ConstOp.of(0, self._version.type)
            Rewriter.insert_op(zero, InsertPoint.before(op))
            start, size = zero.result, self._count
        return tir.BufferRegion(
            self._new.buffer, (start, *region.mins), (size, *region.extents)
        )

    def _move_alignments(self, op: tir.ReadsOp | tir.WritesOp) -> None:
        """Let alignments of a block mean the same dimensions as before."""
        block = op.parent_op()
        if not (isinstance(op, tir.WritesOp) and isinstance(block, tir.BlockOp)):
            return
        known = {} if block.annotations is None else dict(block.annotations.data)
        items = list_items(known[_ALIGN]) if _ALIGN in known else None
        if items is None:
            return
        buffers = tuple(op.buffers)
        moved = [self._moved(item, buffers) for item in items]
        block.annotations = DictionaryAttr({**known, _ALIGN: ArrayAttr(moved)})

    def _moved(self, alignment: Attribute, buffers: Sequence[SSAValue]) -> Attribute:
        fields = list_items(alignment)
        assert fields is not None, "the verifier has seen to it"
        which, axis = integer_of(fields[0]), integer_of(fields[1])
        if which is None or axis is None or which not in range(len(buffers)):
            return alignment
        if buffers[which] is not self._old.buffer:
            return alignment
        return ArrayAttr([fields[0], IntegerAttr(axis + 1, i32), *fields[2:]])

    # ---- pointers ----

    def _use_pointer(self, data: tir.DataOp) -> None:
        new = tir.DataOp(self._new.buffer)
        new.location = data.location
        Rewriter.insert_op(new, InsertPoint.before(data))
        for use in list(data.result.uses):
            self._move(use.operation, use.index, new.result)
        Rewriter.erase_op(data)
        erase_if_unused((new.result,))

    def _move(self, op: Operation, position: int, pointer: SSAValue) -> None:
        """Let one use of the old pointer point to the version of the iteration."""
        builder = Builder(InsertPoint.before(op))
        if isinstance(op, tir.AttrOp):
            op.operands[position] = pointer
        elif isinstance(op, tir.AccessPtrOp) and self._counts_elements(op):
            offset = self._shifted(op.offset, self._size(), builder)
            op.operands[position] = pointer
            op.operands[1] = offset
        elif isinstance(op, tir.CallOp) and self._move_offset(op, position, builder):
            op.operands[position] = pointer
        else:
            op.operands[position] = self._address(op, builder)

    def _counts_elements(self, op: tir.AccessPtrOp) -> bool:
        return op.element_type == self._old.type.element_type and self._is_flat

    @property
    def _is_flat(self) -> bool:
        return self._old.axis_separators is None

    def _move_offset(self, op: tir.CallOp, position: int, builder: Builder) -> bool:
        """Add to the offset at a pointer, if the builtin has one."""
        for table, size in ((FRAGMENTS, self._in_fragments), (OFFSETS, self._in_own)):
            at = offset_positions(op, table).get(position)
            if at is not None and self._is_flat:
                op.operands[at] = self._shifted(op.operands[at], size(op), builder)
                return True
        return False

    def _in_fragments(self, op: tir.CallOp) -> Expr:
        size = self._owner.fragment_size(self._old.buffer)
        if size is None:
            raise PassFailedException(
                f"{describe(op)}: no builtin says how large the fragments of its buffer "
                "are, which the pipeline needs several versions of; load or fill them "
                "in this function"
            )
        return smart.floordiv(self._size(), size)

    def _in_own(self, op: tir.CallOp) -> Expr:
        """The size as the offsets of `mma` count it: in the elements of one thread."""
        size = self._size()
        if self._old.type.storage_scope.rank not in _MMA:
            return size
        number = smart.literal(size)
        if number is None or number % _WARP:
            raise PassFailedException(
                f"{describe(op)}: a matrix of {size} elements cannot be divided among "
                f"the {_WARP} threads of a warp; make its size a multiple of it"
            )
        return smart.floordiv(size, _WARP)

    def _size(self) -> Expr:
        """How far one version is from the next, in elements."""
        steps = list(row_major_strides(self._new, view))
        return steps[-1]

    def _shifted(self, offset: SSAValue, size: Expr, builder: Builder) -> SSAValue:
        tree = view(offset)
        moved = smart.add(tree, smart.mul(Value(self._version), size))
        known = {tree: offset, Value(self._version): self._version}
        dtype = i64 if reaches_beyond_32_bits(self._new) else offset.type
        return emit(smart.cast(dtype, moved), builder, known)

    def _address(self, op: Operation, builder: Builder) -> SSAValue:
        if self._old.type.storage_scope.rank > StorageRank.LOCAL:
            raise PassFailedException(
                f"{describe(op)} uses a matrix that the pipeline needs {self._count} "
                "versions of, by a pointer without a number; allocate it before the "
                "loop"
            )
        zero = builder.insert(tir.ConstOp.of(0, self._version.type)).result
        rest = [zero] * self._old.type.get_num_dims()
        return builder.insert(
            tir.AddressOfOp(self._new.buffer, (self._version, *rest))
        ).result


def _replace(op: Operation, new: Operation) -> None:
    new.attributes |= op.attributes
    new.location = op.location
    for old_result, result in zip(op.results, new.results, strict=True):
        result.name_hint = old_result.name_hint
    Rewriter.replace_op(op, new)

"""Buffers and pointers of one allocation, moved to a part of another one."""

from __future__ import annotations

import math
from collections.abc import Iterator, MutableMapping

from xdsl.builder import Builder
from xdsl.dialects.builtin import DYNAMIC_INDEX, UnitAttr, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Expr, Ramp, Value, emit, view
from xdsl_tvm.analysis.tir.flat_index import fitting_type, wide_extent, widened_for
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.tir.rewriting.memory_views import take_after, views_of
from xdsl_tvm.passes.tir.rewriting.statements import describe, erase_if_unused

Size = int | Expr
"""A number of bytes: a constant, or a tree of values that dominate the memory."""


class Arena:
    """An allocation that holds what was in other ones, each from some byte on."""

    def __init__(
        self,
        memory: tir.AllocateOp,
        size: Size,
        known: MutableMapping[Expr, SSAValue] | None = None,
    ) -> None:
        self.memory = memory
        self._size = size
        self._last: Operation = memory
        """What new ops are inserted after."""
        self._known: MutableMapping[Expr, SSAValue] = {} if known is None else known
        self._pointers: dict[tuple[Attribute, Size], SSAValue] = {}
        self._offsets: dict[tuple[Size, int], SSAValue] = {}

    def take(self, pointer: SSAValue, start: Size) -> None:
        """Let all that names the memory of `pointer` name byte `start` of this one on.

        `start` is a multiple of the sizes of all elements that are accessed. Raises
        PassFailedException for a use of a buffer that cannot be moved.
        """
        for use in tuple(pointer.uses):
            op = use.operation
            match op:
                case tir.DeclBufferOp() if use.index == 0:
                    self._move_buffer(op, start)
                case tir.AccessPtrOp():
                    self._move_region(op, start)
                case tir.AttrOp() if op.node is pointer and use.index == 0:
                    op.operands[0] = self.memory.result
                case tir.CallOp() if _is_copy_to(op, use.index):
                    self._move_copy(op, pointer, start)
                case _:
                    op.operands[use.index] = self._pointer(pointer, start)

    def _move_buffer(self, buffer: tir.DeclBufferOp, start: Size) -> None:
        name = self.memory.var_name
        if name is not None and buffer.buffer_name is not None:
            buffer.properties["name"] = name
        if start == 0:
            buffer.operands[0] = self.memory.result
            if not self._precedes(buffer):
                self._put(buffer)
            return
        shift = self._elements(start, buffer.type.element_type)
        for use in tuple(buffer.buffer.uses):
            self._move_access(use.operation, use.index, buffer, shift, start)
        if buffer.buffer.first_use is None:
            Rewriter.erase_op(buffer)
            return
        grown = self._grown(buffer, shift)
        if self._precedes(buffer):
            Rewriter.replace_op(buffer, grown)
        else:
            self._put(grown)
            buffer.buffer.replace_all_uses_with(grown.buffer)
            Rewriter.erase_op(buffer)

    def _precedes(self, op: Operation) -> bool:
        """Whether an op is in the block of the memory, which is at its start."""
        block = self.memory.parent
        current: Operation | None = op
        while current is not None and current.parent is not block:
            current = current.parent_op()
        return current is not None

    def _put(self, op: Operation) -> None:
        """Insert an op after the memory and what has been inserted there."""
        if op.parent is not None:
            op.detach()
        Rewriter.insert_op(op, InsertPoint.after(self._last))
        self._last = op

    def _grown(self, buffer: tir.DeclBufferOp, shift: Size) -> tir.DeclBufferOp:
        """The buffer with as many more elements as are before its own."""
        (extent,) = buffer.shape
        size: int | SSAValue
        if isinstance(extent, int) and isinstance(shift, int):
            size = extent + shift
        else:
            tree = wide_extent(extent) if isinstance(extent, SSAValue) else None
            dtype = i32 if tree is None else tree.dtype
            own = smart.const(extent, dtype) if isinstance(extent, int) else tree
            assert own is not None
            total = smart.add(own, self._like(shift, own.dtype))
            if self._precedes(buffer):
                # The extent may be known only where the buffer is declared.
                size = emit(total, Builder(InsertPoint.before(buffer)))
            else:
                size = self._emit(total)
        grown = tir.DeclBufferOp(
            self.memory,
            tir.BufferType(
                [size if isinstance(size, int) else DYNAMIC_INDEX],
                buffer.type.element_type,
                buffer.type.scope,
            ),
            [] if isinstance(size, int) else [size],
            strides=buffer.layout_strides,
            elem_offset=buffer.elem_offset,
        )
        take_after(grown, buffer, "index_type")
        return grown

    def _move_access(
        self,
        op: Operation,
        position: int,
        buffer: tir.DeclBufferOp,
        shift: Size,
        start: Size,
    ) -> None:
        match op:
            case tir.LoadOp() | tir.StoreOp() | tir.AddressOfOp() if len(op.indices) == 1:
                at = 2 if isinstance(op, tir.StoreOp) else 1
                self._shift(op, at, shift)
            case tir.ThreadAllreduceOp():
                conditions = 0 if op.condition is None else 1
                number = position - len(op.sources) - conditions
                before = sum(len(place.indices) for place in op.places[:number])
                first = 2 * len(op.sources) + conditions
                self._shift(op, first + before, shift)
            case tir.DataOp():
                self.take(op.result, start)
                erase_if_unused(op.results)
            case _:
                raise PassFailedException(
                    f"{describe(op)} uses a buffer of {len(buffer.shape)} dimensions "
                    "whose memory is merged with others; run tir-flatten-buffer first, "
                    "and access it by tir.load and tir.store"
                )

    def _shift(self, op: Operation, at: int, shift: Size) -> None:
        """Add to an index."""
        index = op.operands[at]
        tree = view(index)
        wide = widened_for(tree, shift if isinstance(shift, int) else 0)
        amount = self._like(shift, tir.element_of(wide.dtype))
        if isinstance(wide, Ramp):
            moved = smart.rebuild(
                wide, (smart.add(wide.base, amount), *wide.operands[1:])
            )
        else:
            moved = smart.add(wide, amount)
        builder = Builder(InsertPoint.before(op))
        op.operands[at] = emit(moved, builder, {tree: index})
        erase_if_unused((index,))

    def _move_region(self, op: tir.AccessPtrOp, start: Size) -> None:
        op.operands[0] = self.memory.result
        if start != 0:
            self._shift(op, 1, self._elements(start, op.element_type))

    def _move_copy(self, op: tir.CallOp, pointer: SSAValue, start: Size) -> None:
        """The destination of `ptx_cp_async`, whose offset counts elements."""
        assert isinstance(pointer.type, tir.PtrType)
        old, new = pointer.type.element_type, self.memory.result.type.element_type
        elements = self._elements(start, old)
        index = view(op.args[1])
        moved = smart.add(self._like(elements, index.dtype), index)
        factor = tir.bytes_of(old) // tir.bytes_of(new)
        moved = smart.mul(moved, factor)
        op.operands[0] = self.memory.result
        op.operands[1] = emit(
            moved, Builder(InsertPoint.before(op)), {index: op.operands[1]}
        )

    # ---- numbers ----

    def _elements(self, start: Size, element: Attribute) -> Size:
        """A number of bytes in elements."""
        width = tir.bytes_of(element)
        if isinstance(start, int):
            return start // width
        if width == 1:
            return start
        key = start, width
        value = self._offsets.get(key)
        if value is None:
            value = self._offsets[key] = self._emit(smart.floordiv(start, width))
        return Value(value)

    def _like(self, size: Size, dtype: Attribute) -> Expr:
        if isinstance(size, int):
            return smart.const(size, dtype)
        return size if size.dtype == dtype else smart.cast(dtype, size)

    def _emit(self, tree: Expr) -> SSAValue:
        """A value after the memory that holds a tree."""
        following = self._last.next_op
        value = emit(tree, Builder(InsertPoint.after(self._last)), self._known)
        block = self.memory.parent
        assert block is not None, "the memory is in a block"
        last = block.last_op if following is None else following.prev_op
        self._last = last or self._last
        return value

    def _pointer(self, like: SSAValue, start: Size) -> SSAValue:
        """A pointer of the type of another to a byte of the memory."""
        kind = like.type
        assert isinstance(kind, tir.PtrType)
        if start == 0 and kind == self.memory.result.type:
            return self.memory.result
        key = kind.element_type, start
        found = self._pointers.get(key)
        if found is None:
            found = self._pointers[key] = self._make_pointer(kind, start)
        return found

    def _make_pointer(self, kind: tir.PtrType, start: Size) -> SSAValue:
        width = tir.bytes_of(kind.element_type)
        extent: int | SSAValue
        if isinstance(self._size, int):
            extent = self._size // width
        else:
            extent = self._emit(smart.floordiv(self._size, width))
        buffer = tir.DeclBufferOp(
            self.memory,
            tir.BufferType(
                [extent if isinstance(extent, int) else DYNAMIC_INDEX],
                kind.element_type,
                kind.scope,
            ),
            [] if isinstance(extent, int) else [extent],
            name=self.memory.var_name,
        )
        buffer.properties["implicit"] = UnitAttr()
        self._put(buffer)
        if start == 0:
            pointer: Operation = tir.DataOp(buffer)
        else:
            shift = self._elements(start, kind.element_type)
            dtype = fitting_type(shift, i32) if isinstance(shift, int) else shift.dtype
            pointer = tir.AddressOfOp(buffer, [self._emit(self._like(shift, dtype))])
        self._put(pointer)
        return pointer.results[0]


def _is_copy_to(op: tir.CallOp, position: int) -> bool:
    return op.callee.data == "ptx_cp_async" and position == 0


def element_sizes(memory: tir.AllocateOp) -> Iterator[int]:
    """The sizes in bytes of the elements that memory is allocated and accessed in."""
    yield tir.bytes_of(memory.result.type.element_type)
    for buffer in views_of(memory):
        yield tir.bytes_of(buffer.type.element_type)
    for use in memory.result.uses:
        if isinstance(use.operation, tir.AccessPtrOp):
            yield tir.bytes_of(use.operation.element_type)


def alignment_of(memory: tir.AllocateOp, least: int) -> int:
    """The least multiple of `least` bytes that all elements of the memory divide."""
    return math.lcm(least, *element_sizes(memory))


def constant_bytes(memory: tir.AllocateOp) -> int:
    """The bytes of memory, 0 where an extent is not a constant."""
    size = tir.bytes_of(memory.result.type.element_type)
    for extent in memory.shape:
        number = extent if isinstance(extent, int) else tir.constant_value(extent)
        if not isinstance(number, int) or number < 0:
            return 0
        size *= number
    return size


def bytes_of_memory(memory: tir.AllocateOp) -> Expr:
    """The size of memory in bytes as a tree of its extents."""
    width = tir.bytes_of(memory.result.type.element_type)
    total: Expr | None = None
    for extent in memory.shape:
        if isinstance(extent, int):
            tree = smart.const(extent, fitting_type(extent, i32))
        else:
            tree = wide_extent(extent)
        total = tree if total is None else smart.mul(total, tree)
    return smart.mul(smart.const(1, i32) if total is None else total, width)

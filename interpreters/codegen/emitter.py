"""The translation of one `tir.func`: where its buffers are in the generated code.

Handlers of ops (`memory_ops.py` and others) write the code with an `Emitter`.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, cast

from xdsl.ir import Attribute, Operation, SSAValue

from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.attributes import BufferKind
from xdsl_tvm.dialects.tir.types import (
    bits_of_lane,
    bytes_of_lane,
    element_of,
    is_float4,
    is_vector,
)
from xdsl_tvm.interpreters.codegen import thread_code as _thread_code
from xdsl_tvm.interpreters.codegen.code_writer import CodeWriter, Mode
from xdsl_tvm.interpreters.codegen.pointer_code import is_private, is_watched
from xdsl_tvm.interpreters.data.memory import Parameter
from xdsl_tvm.interpreters.data.numbers import Number, memory_number, number
from xdsl_tvm.interpreters.errors import (
    unsupported,
)


@dataclass
class BufferCode:
    """How the code reaches the elements of a buffer; texts are Python atoms."""

    cells: str
    """Prefix of the names of values, marks and the mark of written elements."""
    element: Number
    lanes: int
    pointer: str
    offset: str
    """Elements from the pointer to the first cell."""
    base: str
    """Elements from the first cell to the first element."""
    extents: list[str]
    strides: list[str]
    marks: str
    """Whether memory is tracked: `never`, `always` or `maybe`."""
    broadcasts: bool = False
    grouped: bool = False
    """Whether memory has several dimensions."""
    declared: Sequence[str] = ()
    """The strides as the layout gives them, where `strides` are physical ones."""
    watched: bool = False
    """Whether threads that use it together are watched for races."""
    bank_bits: int | None = None
    """In shared memory, whose banks may be counted: the bits of a scalar."""


class BufferCodes(dict[SSAValue, BufferCode]):
    """The code of the buffers that are known; an error names what defines others."""

    def __missing__(self, buffer: SSAValue) -> BufferCode:
        owner = buffer.owner
        assert isinstance(owner, Operation), "no buffer is an argument of a block"
        raise unsupported(
            owner, "it defines a buffer of unknown memory", "use tir.alloc_buffer"
        )


@dataclass
class Emitter(CodeWriter):
    """The state of one translation."""

    buffers: MutableMapping[SSAValue, BufferCode] = field(default_factory=BufferCodes)

    # ---- buffers bound by the caller ----

    def bind_arrays(self) -> None:
        for op in self.func.body.block.ops:
            if not isinstance(op, tir.MatchBufferOp):
                continue
            self.op = op
            parameter = self.constant(self._parameter(op), "P")
            name = self.bound[op] = self.fresh("m")
            self.line(f"{name} = {parameter}.bind({self[op.param]})")
            self.line(f"{name}_p = {parameter}")
            for axis, extent in enumerate(op.shape):
                self._bind_variable(op, extent, f"{name}.shape[{axis}]")
            for axis, stride in enumerate(op.layout_strides):
                self._bind_variable(op, stride, self._found_stride(op, axis))
            if op.elem_offset is not None:
                self._bind_variable(op, op.elem_offset, "0")

    def _bind_variable(self, op: object, value: int | SSAValue, text: str) -> None:
        if (
            isinstance(value, SSAValue)
            and isinstance(value.owner, tir.ShapeVarOp)
            and value not in self.names
        ):
            self.define(value, text)
            self.defined_by[value] = (op, text)
            self.ranges[value] = (0, number(value.type).high)

    def _found_stride(self, op: tir.MatchBufferOp, axis: int) -> str:
        name = self.bound[op]
        if broadcasts(op):
            return f"(0 if {name}.shape[{axis}] == 1 else {name}.strides[{axis}])"
        return f"{name}.strides[{axis}]"

    def _parameter(self, op: tir.MatchBufferOp) -> Parameter:
        func = self.func
        index = func.args.index(cast(Any, op.param))
        if func.param_names is not None:
            name = func.param_names.data[index].data
        elif op.buffer_name is not None:
            name = op.buffer_name.data
        else:
            name = op.param.name_hint or str(index)
        return Parameter(
            func.sym_name.data,
            name,
            memory_number(element_of(op.type.element_type)),
            self.lanes(op.type.element_type),
            op.type.get_shape(),
            bool(op.layout_strides),
        )

    def match(self, op: tir.MatchBufferOp) -> None:
        """Check the symbolic part of a layout, and reach into the array."""
        name = self.bound[op]
        for axis, extent in enumerate(op.shape):
            if isinstance(extent, SSAValue):
                found = f"{name}.shape[{axis}]"
                self._expect(op, f"extent {axis} to be", extent, found)
        for axis, stride in enumerate(() if op.axis_separators else op.layout_strides):
            found = self._found_stride(op, axis)
            if isinstance(stride, int):
                with self.nest(f"if {name}.shape[{axis}] > 1:"):
                    self._expect(op, f"stride {axis} to be", stride, found)
            else:
                self._expect(op, f"stride {axis} to be", stride, found)
        if op.elem_offset is not None:
            self._expect(op, "an element offset of", op.elem_offset, "0")
        self.line(f"{name}_a = {name}.pointer")
        marks = "maybe" if self.device else "never"
        code = self.buffer(op, f"{name}_a", "0", marks)
        if op.axis_separators and op.layout_strides:
            self._expect_physical(op, code.strides)
        if broadcasts(op) and not op.layout_strides:
            code.strides = [
                self.atom(self._found_stride(op, axis)) for axis in range(len(op.shape))
            ]

    def _expect_physical(self, op: tir.MatchBufferOp, strides: Sequence[str]) -> None:
        """Check the strides of an array that stands for memory of several dimensions."""
        if any(isinstance(s.owner, tir.ShapeVarOp) for s in op.strides):
            raise unsupported(
                op,
                "a stride within a group of axes is not known from an array",
                "give the strides, or leave them out for compact ones",
            )
        for axis, stride in enumerate(strides):
            with self.nest(f"if {self.bound[op]}.shape[{axis}] > 1:"):
                found = self._found_stride(op, axis)
                self.line(
                    f"{self.bound[op]}_p.expect('stride {axis} to be', {stride}, {found})"
                )

    def _expect(
        self, op: tir.MatchBufferOp, what: str, wanted: int | SSAValue, found: str
    ) -> None:
        if isinstance(wanted, SSAValue) and self.defined_by.get(wanted) == (op, found):
            return
        self.line(f"{self.bound[op]}_p.expect({what!r}, {self.mixed(wanted)}, {found})")

    def atom(self, text: str) -> str:
        name = self.fresh("s")
        self.line(f"{name} = {text}")
        return name

    # ---- buffers ----

    def buffer(
        self, op: tir.BufferDefinition, pointer: str, offset: str, marks: str
    ) -> BufferCode:
        """Take the elements at a pointer as the buffer that `op` defines."""
        if op.axis_separators and op.elem_offset is not None and offset != "0":
            raise unsupported(
                op,
                "memory of several dimensions has no element offset",
                "leave out the axis separators, or the offset",
            )
        element = memory_number(element_of(op.type.element_type))
        lanes = self.lanes(op.type.element_type)
        skip = offset if lanes == 1 else f"{offset} * {lanes}"
        cells = self.reach(pointer, skip, element)
        scope = op.type.scope.data
        watched = self.has_threads and is_watched(scope)
        watched |= self.mode is not Mode.THREAD and self.settings.copies
        if watched:
            self.line(
                f"{cells}s = grid.view({pointer}, {skip}, {element.size}, "
                f"{scope.startswith('global')})"
            )
        extents = [self.mixed(extent) for extent in op.shape]
        code = BufferCode(
            cells,
            element,
            lanes,
            pointer,
            offset,
            "0",
            extents,
            self.strides(op),
            marks,
            broadcasts(op),
            bool(op.axis_separators),
            [self.mixed(stride) for stride in op.layout_strides],
            watched,
            _packed_bits(op.type.element_type) if scope.startswith("shared") else None,
        )
        self.buffers[op.buffer] = code
        return code

    def reach(self, pointer: str, skip: str, element: Number) -> str:
        """The prefix of the names of the cells at a pointer."""
        cells = self.fresh("b")
        self.line(
            f"{cells}, {cells}m, {cells}w = "
            f"cells({pointer}, {skip}, {self.kind(element)})"
        )
        return cells

    def strides(self, op: tir.BufferDefinition) -> list[str]:
        """The strides of a buffer in elements, as atoms."""
        if op.layout_strides:
            for stride in op.strides:
                self.line(f"check_stride({self[stride]})")
            if any(isinstance(s, int) and s < 0 for s in op.layout_strides):
                raise unsupported(op, "a stride is negative", "reverse the indices")
            declared = [self.mixed(stride) for stride in op.layout_strides]
            return self._physical(op, declared) if op.axis_separators else declared
        strides: list[str] = []
        step = "1"
        for extent in reversed(op.shape):
            strides.append(step)
            step = self._product(step, self.mixed(extent))
        return strides[::-1]

    def _physical(self, op: tir.BufferDefinition, declared: Sequence[str]) -> list[str]:
        """Strides in memory of a buffer whose strides are those within its groups.

        Each group of axes is a physical dimension, which spans the extent of its first
        axis times the stride; the dimensions are in row-major order (docs/spec/tir-ir.md
        §7.2).
        """
        assert op.axis_separators is not None
        bounds = (0, *op.axis_separators.get_values(), len(declared))
        strides = list(declared)
        span = "1"
        for first, end in reversed(list(pairwise(bounds))):
            for axis in range(first, end):
                strides[axis] = self._product(span, declared[axis])
            if first < end:
                extent = self._product(self.mixed(op.shape[first]), declared[first])
                span = self._product(span, extent)
        return strides

    def _product(self, a: str, b: str) -> str:
        if a.isdigit() and b.isdigit():
            return str(int(a) * int(b))
        if a == "1":
            return b
        return self.atom(f"{a} * {b}")

    def size(self, extents: Sequence[str]) -> str:
        """The product of extents; negative ones count as none."""
        total = "1"
        for extent in extents:
            if not extent.isdigit():
                extent = self.atom(f"max(0, {extent})")
            total = self._product(total, extent)
        return total

    def allocate(self, op: tir.AllocBufferOp) -> None:
        """Memory for a buffer: from its first element to its last."""
        for value in (*op.extents, *op.strides):
            if isinstance(value.owner, tir.ShapeVarOp) and value not in self.names:
                raise unsupported(
                    op, "an extent or a stride is not bound", "give it a value"
                )
        offset = "0"
        if op.elem_offset is not None:
            self._bind_variable(op, op.elem_offset, "0")
            offset = self[op.elem_offset]
        extents = [self.mixed(extent) for extent in op.shape]
        if op.layout_strides:
            spans = "".join(
                f" + ({extent} - 1) * {stride}"
                for extent, stride in zip(extents, self.strides(op), strict=True)
            )
            size = self.atom(f"0 if {self.size(extents)} == 0 else 1{spans}")
        else:
            size = self.size(extents)
        element = memory_number(element_of(op.type.element_type))
        lanes = self.lanes(op.type.element_type)
        arguments = f"{size} + {offset}, {self.kind(element)}, {lanes}"
        scope = op.type.scope.data
        pointer = self.atom(self.allocation(op, scope, arguments))
        self.allocated(pointer, scope)
        self.buffer(op, pointer, offset, "always")

    def allocation(self, op: Operation, scope: str, arguments: str) -> str:
        """The text of an allocation."""
        return _thread_code.allocation(self, op, scope, arguments)

    def allocated(self, pointer: str, scope: str) -> None:
        """Note local memory that is allocated before the threads of a kernel."""
        if self.mode is not Mode.THREAD and is_private(scope):
            self.block_local.add(pointer)

    def match_region(self, op: tir.MatchRegionOp) -> None:
        """A view of a region: the strides of the source after the region's start."""
        source = self.buffers[op.source]
        surplus = len(source.extents) - len(op.shape)
        mins = [self[low] for low, _ in op.region]
        for axis, (low, extent) in enumerate(op.region):
            inside = self._within(low, extent, source.extents[axis])
            if not inside and not source.broadcasts:
                self.check_region(low, extent, source.extents[axis], axis)
            if axis < surplus:
                self._check("extent", 1, self.mixed(extent))
        base = self.atom(self.flat(source, mins))
        for wanted, (_, extent) in zip(op.shape, op.region[surplus:], strict=True):
            self._match("extent", op, wanted, self.mixed(extent))
        strides = source.strides[surplus:]
        declared = source.declared[surplus:]
        found = declared or strides
        for wanted, stride in zip(op.layout_strides, found, strict=False):
            self._match("stride", op, wanted, stride)
        if op.elem_offset is not None:
            offset = "0" if source.grouped else f"({source.offset} + {base})"
            self._match("offset", op, op.elem_offset, offset)
        self.buffers[op.buffer] = BufferCode(
            source.cells,
            source.element,
            source.lanes,
            source.pointer,
            source.offset,
            base,
            [self.mixed(extent) for extent in op.shape],
            strides,
            source.marks,
            source.broadcasts,
            source.grouped,
            declared,
            source.watched,
        )

    def check_region(
        self, low: SSAValue, extent: int | SSAValue, bound: str, axis: int
    ) -> None:
        """Check that a region is within its buffer."""
        self.line(f"check_region({self[low]}, {self.mixed(extent)}, {bound}, {axis})")

    def _within(self, low: SSAValue, extent: int | SSAValue, bound: str) -> bool:
        first, last = self.interval(low)
        last += self.literal_interval(extent)[1]
        return bound.isdigit() and first >= 0 and last <= int(bound)

    def _match(
        self, what: str, op: tir.MatchRegionOp, wanted: int | SSAValue, found: str
    ) -> None:
        self._bind_variable(op, wanted, found)
        if isinstance(wanted, SSAValue):
            if self.defined_by.get(wanted) == (op, found):
                return
            self._check(what, self[wanted], found)
        else:
            self._check(what, wanted, found)

    def _check(self, what: str, expected: int | str, found: str) -> None:
        if str(expected) != found:
            self.line(f"check_match({what!r}, {expected}, {found})")

    def flat(self, code: BufferCode, indices: Sequence[str]) -> str:
        """The place of an element after the first cell, as an expression."""
        terms = [] if code.base == "0" else [code.base]
        for index, stride in zip(indices, code.strides, strict=True):
            if index != "0" and stride != "0":
                terms.append(index if stride == "1" else f"{index} * {stride}")
        return " + ".join(terms) or "0"

    def is_watched(self, code: BufferCode) -> bool:
        """Whether accesses of a buffer are noted here."""
        watching = self.mode is not Mode.HOST or self.settings.copies
        return code.watched and watching and not self.unwatched

    def site(self) -> int:
        """The number of the op being translated in the grid's notes."""
        assert self.op is not None
        return self.settings.grid.site(self.op)

    def note(self, code: BufferCode, verb: str, arguments: str) -> None:
        """Note an access of memory that threads share."""
        if self.is_watched(code):
            self.line(f"{code.cells}s.{verb}({arguments}, {self.site()})")

    def note_banks(
        self, code: BufferCode, places: str, predicate: str = "None", *, writes: bool
    ) -> None:
        """Note which banks of shared memory an access touches, if that is counted."""
        if code.bank_bits is None or self.mode is not Mode.THREAD or self.unwatched:
            return
        assert self.op is not None
        site = self.settings.grid.bank_site(self.op, writes=writes)
        if site is not None:
            self.line(
                f"grid.note_banks({code.cells}s, {code.bank_bits}, {places}, "
                f"{predicate}, ({self._iteration()}), {site})"
            )

    def _iteration(self) -> str:
        """The iterations of the loops around the op, which differ in a thread only."""
        found = ""
        around = None if self.op is None else self.op.parent_op()
        while around is not None and around is not self.func:
            if isinstance(around, tir.ForOp) and (
                around.thread_tag is None
                or around.thread_tag.data in tir.VIRTUAL_THREAD_TAGS
            ):
                found += f"{self[around.body.block.args[0]]} - {self[around.min]}, "
            around = around.parent_op()
        return found

    def check_access(self, code: BufferCode, indices: Sequence[SSAValue]) -> None:
        """Check scalar indices, unless their intervals show that they are in bounds."""
        if code.broadcasts:
            return
        tests = [
            f"0 <= {self[index]} < {extent}"
            for index, extent in self.doubts(code, indices)
        ]
        if tests:
            values = "".join(f"{self[index]}, " for index in indices)
            extents = "".join(f"{e}, " for e in code.extents[: len(indices)])
            with self.nest(f"if not ({' and '.join(tests)}):"):
                self.line(f"check_indices(({values}), ({extents}))")

    def doubts(
        self, code: BufferCode, indices: Sequence[SSAValue]
    ) -> Iterator[tuple[SSAValue, str]]:
        """The indices that may be out of bounds, each with its extent."""
        for index, extent in zip(indices, code.extents, strict=False):
            low, high = self.interval(index)
            if low >= 0 and self.below.get(index) == extent:
                continue
            if low < 0 or not extent.isdigit() or high >= int(extent):
                yield index, extent

    def put(self, code: BufferCode, indices: Sequence[SSAValue], text: str) -> str:
        """Write a scalar, and return its place."""
        cells = code.cells
        self.check_access(code, indices)
        place = self.atom(self.flat(code, [self[index] for index in indices]))
        self.line(f"{cells}[{place}] = {text}")
        if code.marks == "maybe":
            with self.nest(f"if {cells}m is not None:"):
                self.line(f"{cells}m[{place}] = {cells}w")
        elif code.marks == "always":
            self.line(f"{cells}m[{place}] = {cells}w")
        return place

    def places(
        self, code: BufferCode, indices: Sequence[SSAValue], predicate: str
    ) -> str:
        """The scalars that an access of vectors touches, as a Python list."""
        vector = bool(indices) and is_vector(indices[-1].type)
        self.check_access(code, indices[:-1] if vector else indices)
        texts = [self[index] for index in indices]
        if vector:
            last = texts[-1]
            if not code.broadcasts:
                self.line(
                    f"check_lanes({last}, {code.extents[-1]}, {predicate}, {code.lanes})"
                )
            texts[-1] = "x"
            spots = self.atom(f"[{self.flat(code, texts)} for x in {last}]")
        else:
            spots = self.atom(f"[{self.flat(code, texts)}]")
        if code.lanes == 1:
            return spots
        return self.atom(
            f"[x * {code.lanes} + y for x in {spots} for y in range({code.lanes})]"
        )


def _packed_bits(element_type: Attribute) -> int:
    """The bits from one scalar of a buffer to the next."""
    packed = is_float4(element_type)
    return bits_of_lane(element_type) if packed else 8 * bytes_of_lane(element_type)


def broadcasts(op: tir.BufferDefinition) -> bool:
    kind = op.buffer_kind
    return kind is not None and kind.data is BufferKind.AUTO_BROADCAST

"""The state of the translation of one launch for threads in lockstep."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from xdsl.ir import Operation, SSAValue

from xdsl_tvm.analysis.derivation import derivation
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.types import element_of, is_handle, is_vector
from xdsl_tvm.interpreters.codegen.code_writer import Handler, Lane
from xdsl_tvm.interpreters.codegen.emitter import BufferCode, Emitter
from xdsl_tvm.interpreters.codegen.pointer_code import is_private
from xdsl_tvm.interpreters.codegen.thread_code import (
    BLOCK_TAGS,
    THREAD_TAGS,
    AxisOp,
    axis_tag,
)
from xdsl_tvm.interpreters.data.numbers import Number, number

_BLOCK_TAGS = tuple(reversed(BLOCK_TAGS))
ALL = "None"
"""The mask of all threads."""
_VIEW_OPS = (tir.DataOp, tir.DeclBufferOp, tir.LetOp, tir.MatchRegionOp)


class NotLockstepError(Exception):
    """The threads of a launch have to run one after the other."""


def begins_team(op: Operation) -> bool:
    """Whether an op begins the threads of a block."""
    tag = axis_tag(op)
    return tag is not None and not (isinstance(op, tir.ForOp) and tag in BLOCK_TAGS)


@dataclass
class LockstepEmitter(Emitter):
    """The translation of one launch for threads that run together."""

    root: Operation | None = None
    varying: set[SSAValue] = field(default_factory=set[SSAValue])
    """Values that may differ between threads."""
    mask: str = ALL
    extents: dict[str, str] = field(default_factory=dict[str, str])
    in_team: bool = False
    written: dict[str, None] = field(default_factory=dict[str, None])
    """Pointers from outside of the launch that are stored to,"""
    outer: dict[str, None] = field(default_factory=dict[str, None])
    """and all of them."""
    reached: set[SSAValue] = field(default_factory=set[SSAValue])
    """Buffers from outside."""

    @staticmethod
    def inside(
        e: Emitter,
        handlers: Mapping[type[Operation], Handler],
        root: Operation,
        extents: dict[str, str],
        repeated: set[str],
    ) -> LockstepEmitter:
        """The emitter of a launch that sees the variables of the code around it."""
        return LockstepEmitter(
            e.func,
            e.settings,
            handlers,
            names=ChainMap({}, e.names),
            ranges=ChainMap({}, e.ranges),
            buffers=ChainMap({}, e.buffers),
            below=ChainMap({}, e.below),
            defined_by=ChainMap({}, e.defined_by),
            namespace=e.namespace,
            repeated=repeated,
            indent=e.indent,
            count=e.count,
            root=root,
            extents=extents,
        )

    def kernel(self, root: AxisOp) -> None:
        """The code that the threads run."""
        for tags, kind in ((_BLOCK_TAGS, "block"), (THREAD_TAGS, "thread")):
            for axis, tag in enumerate(tags):
                if tag in self.extents:
                    name = self.atom(f"V.{kind}_index({axis})")
                    self.axes[tag] = (name, self.extents[tag])
        self._windows(root)
        self.statement(root)

    def _windows(self, root: Operation) -> None:
        """Reach the buffers from outside, and see which memory is written."""
        for op in root.walk():
            if isinstance(op, tir.StoreOp):
                pointer = self._outer_pointer(op.buffer)
                if pointer is not None:
                    self.written[pointer] = None
            for operand in op.operands:
                if isinstance(operand.type, tir.BufferType):
                    self._outer_buffer(operand)
                elif is_handle(operand.type) and self._is_outer(operand):
                    pointer = self.names.get(operand)
                    if pointer is not None:
                        self.outer[pointer] = None

    def _is_outer(self, value: SSAValue) -> bool:
        owner = value.owner
        inside = owner.parent_op() if not isinstance(owner, Operation) else owner
        assert self.root is not None
        return inside is None or not self.root.is_ancestor(inside)

    def _outer_pointer(self, buffer: SSAValue) -> str | None:
        """The pointer from outside after a buffer, None if the memory is from inside."""
        for value in derivation(buffer, _VIEW_OPS):
            if isinstance(value.type, tir.BufferType):
                if self._is_outer(value):
                    return self.buffers[value].pointer
            elif not isinstance(value.owner, tir.DataOp | tir.LetOp):
                return self[value] if self._is_outer(value) else None
        return None

    def _outer_buffer(self, buffer: SSAValue) -> None:
        if buffer in self.reached or not self._is_outer(buffer):
            return
        self.reached.add(buffer)
        code = self.buffers[buffer]
        assert isinstance(buffer.type, tir.BufferType)
        if code.broadcasts or not buffer.type.scope.data.startswith("global"):
            raise NotLockstepError
        self.outer[code.pointer] = None
        skip = code.offset if code.lanes == 1 else f"{code.offset} * {code.lanes}"
        cells = self.reach(code.pointer, skip, code.element)
        code = replace(code, cells=cells)
        if code.base == "0":
            self._fit(code)
        self.buffers[buffer] = code

    def _fit(self, code: BufferCode) -> None:
        extents = "".join(f"{extent}, " for extent in code.extents)
        strides = "".join(f"{stride}, " for stride in code.strides)
        if code.lanes == 1:
            self.line(f"{code.cells}.fit(({extents}), ({strides}))")

    # ---- what differs from the translation for one thread ----

    def statement(self, op: Operation) -> None:
        """Translate an op. Raises NotLockstepError for one that has no lockstep form."""
        self.op = op
        handler = self.handlers.get(type(op))
        if handler is None:
            raise NotLockstepError
        handler(self, op)

    def differs(self, values: Iterable[SSAValue]) -> bool:
        """Whether one of some values may differ between threads."""
        return not self.varying.isdisjoint(values)

    def require_same(self, values: Iterable[SSAValue]) -> None:
        """Give up if one of some values may differ between threads."""
        if self.differs(values):
            raise NotLockstepError

    def rename(self, value: SSAValue, same: SSAValue) -> None:
        """Let a value have the variable of another one."""
        super().rename(value, same)
        if same in self.varying:
            self.varying.add(value)

    def map_lanes(
        self, result: SSAValue, operands: Sequence[SSAValue], lane: Lane
    ) -> None:
        """Compute a value, thread by thread if it differs between them."""
        if not self.differs(operands):
            super().map_lanes(result, operands, lane)
            return
        kind = self.kind(number(element_of(result.type)))
        params = [f"y{i}" for i in range(len(operands))]
        header = ", ".join(params)

        def each(texts: Sequence[str]) -> str:
            body = lane(params)
            return f"V.each({kind}, lambda {header}: {body}, {', '.join(texts)})"

        self.map_arrays(result, operands, each)

    def map_arrays(
        self, result: SSAValue, operands: Sequence[SSAValue], lane: Lane
    ) -> None:
        """Compute a value for all threads at once."""
        self.varying.add(result)
        super().map_lanes(result, operands, lane)

    def wrapped_array(self, dtype: Number, text: str) -> str:
        """The integers `text` modulo 2^bits; arrays of 64 bits wrap by themselves."""
        return f"v_signed64({text})" if dtype.bits == 64 else self.wrapped(dtype, text)

    def allocation(self, op: Operation, scope: str, arguments: str) -> str:
        """The text of an allocation, for each block or for each thread."""
        if is_private(scope):
            return f"V.local({arguments})"
        if not scope.startswith("shared"):
            raise NotLockstepError
        site = self.settings.grid.site(op) if self.in_team else None
        return f"V.shared({site}, {arguments})"

    def allocated(self, pointer: str, scope: str) -> None:
        """Local memory has a column for each thread wherever it is allocated."""

    def reach(self, pointer: str, skip: str, element: Number) -> str:
        """The name of the elements at a pointer."""
        cells = self.fresh("w")
        self.line(f"{cells} = V.window({pointer}, {skip}, {self.kind(element)})")
        return cells

    def buffer(
        self, op: tir.BufferDefinition, pointer: str, offset: str, marks: str
    ) -> BufferCode:
        """Take the elements at a pointer as a buffer."""
        self.require_same(op.operands)
        code = super().buffer(op, pointer, offset, marks)
        if code.broadcasts:
            raise NotLockstepError
        self._fit(code)
        return code

    def match_region(self, op: tir.MatchRegionOp) -> None:
        """A view of a region, which may begin elsewhere for each thread."""
        mins = [low for low, _ in op.region]
        if self.differs(mins):
            self.require_same(v for v in op.operands if v not in mins)
            if op.elem_offset is not None:
                raise NotLockstepError
        super().match_region(op)

    def check_region(
        self, low: SSAValue, extent: int | SSAValue, bound: str, axis: int
    ) -> None:
        """Check that a region is within its buffer."""
        if self.differs([low]):
            wanted = self.mixed(extent)
            self.line(f"v_check_region({self[low]}, {wanted}, {bound}, {self.mask})")
        else:
            super().check_region(low, extent, bound, axis)

    def check_iteration(self, it: tir.IterVar) -> None:
        """Check that an iteration variable of a block is in its domain."""
        self.require_same([it.min, it.extent])
        if not self.differs([it.binding]):
            super().check_iteration(it)
            return
        self.line(
            f"v_check_range({self[it.binding]}, {self[it.min]}, {self[it.extent]}, "
            f"{self.mask})"
        )

    def check_access(self, code: BufferCode, indices: Sequence[SSAValue]) -> None:
        """Check scalar indices that may be out of bounds."""
        for index, extent in self.doubts(code, indices):
            self.line(f"v_check_index({self[index]}, {extent}, {self.mask})")

    def places(
        self, code: BufferCode, indices: Sequence[SSAValue], predicate: str
    ) -> str:
        """The scalars that an access of vectors touches, as a list of places."""
        vector = bool(indices) and is_vector(indices[-1].type)
        if predicate != "None":
            raise NotLockstepError
        self.check_access(code, indices[:-1] if vector else indices)
        texts = [self[index] for index in indices]
        spots = f"[{self.flat(code, texts)}]"
        if vector:
            last = texts[-1]
            with self.nest(f"for x in {last}:"):
                self.line(f"v_check_index(x, {code.extents[-1]}, {self.mask})")
            texts[-1] = "x"
            spots = f"[{self.flat(code, texts)} for x in {last}]"
        if code.lanes == 1:
            return self.atom(spots)
        return self.atom(
            f"[x * {code.lanes} + y for x in {spots} for y in range({code.lanes})]"
        )

    # ---- masks ----

    @contextmanager
    def when(self, condition: str, differs: bool, but: bool = False) -> Generator[None]:
        """Statements for the threads for which a condition holds, or does not."""
        if not differs:
            with self.nest("else:" if but else f"if {condition}:"):
                yield
            return
        outer = self.mask
        verb = "but" if but else "both"
        self.mask = self.atom(f"V.{verb}({outer}, {condition})")
        with self.nest(f"if {self.mask}.any():"):
            yield
        self.mask = outer

"""Translates one `tir.func` to the source of a Python function.

Every op becomes a line or two, whose op is remembered by line number: an exception is
traced back to its op without any cost while the program runs. The intervals of integers
are followed as far as constants and loop bounds give them, so that most wrap-arounds
and bounds checks of index arithmetic are seen to be needless.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, MutableMapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, ModuleOp, UnitAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue

from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.attributes import BufferKind, CmpPredicate
from xdsl_tvm.dialects.tir.types import (
    element_of,
    is_handle,
    is_integer,
    is_scalable,
    is_vector,
    lanes_of,
)
from xdsl_tvm.interpreters.codegen import async_code as _async_code
from xdsl_tvm.interpreters.codegen import builtins as _builtins
from xdsl_tvm.interpreters.codegen import thread_code as _thread_code
from xdsl_tvm.interpreters.codegen.pointer_code import is_private, is_watched
from xdsl_tvm.interpreters.data import memory as _memory
from xdsl_tvm.interpreters.data import numbers as _numbers
from xdsl_tvm.interpreters.data.memory import Parameter, Tensor
from xdsl_tvm.interpreters.data.numbers import Number, number
from xdsl_tvm.interpreters.data.values import dense_contents, reinterpreted
from xdsl_tvm.interpreters.errors import (
    ArgumentError,
    AssertionFailedError,
    OutOfBoundsError,
    unsupported,
)
from xdsl_tvm.interpreters.gpu.simulator import Grid

Interval = tuple[int, int]
Lane = Callable[[Sequence[str]], str]

_MAX_NESTED_LOOPS = 16
"""CPython allows 20 nested loops; deeper ones get functions of their own."""

COMPARISONS = {
    CmpPredicate.EQ: "==",
    CmpPredicate.NE: "!=",
    CmpPredicate.LT: "<",
    CmpPredicate.LE: "<=",
    CmpPredicate.GT: ">",
    CmpPredicate.GE: ">=",
}
_EXTERN_CALLS = frozenset(
    ("call_extern", "call_pure_extern", "tvm_call_packed", "tvm_call_cpacked")
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


@dataclass
class Program:
    """The Python source of a function, with the op behind each line."""

    source: str
    ops: list[Operation | None]
    names: dict[str, Any]


@dataclass
class Settings:
    """What the code calls, and the parameters of the interpreter that it depends on."""

    module: ModuleOp
    vscale: int
    tick: Callable[[], None]
    call_func: Callable[..., Any]
    call_device: Callable[..., Any]
    call_extern: Callable[..., Any]
    call_foreign: Callable[..., Any]
    grid: Grid
    together: Callable[[Emitter, Operation], str | None] | None = None
    """Writes the code that runs a launch with its threads together, and returns the
    condition that it did; None if it cannot."""

    @cached_property
    def copies(self) -> bool:
        """Whether code outside of threads may have copies in flight."""
        return any(_async_code.begins_copies(op) for op in self.module.walk())


def _raise_assertion(message: object) -> None:
    raise AssertionFailedError(f"assertion failed: {message}")


def _check_axis(tag: str, outer: int, inner: int) -> None:
    if outer != inner:
        raise ArgumentError(
            f"thread axis {tag} is opened with extent {inner} inside of extent {outer}"
        )


def _check_iteration(value: int, low: int, extent: int) -> None:
    if not low <= value < low + extent:
        raise OutOfBoundsError(
            f"an iteration variable is {value}, its domain is [{low}, {low + extent})"
        )


def _check_match(what: str, expected: int, found: int) -> None:
    if expected != found:
        raise OutOfBoundsError(f"the view expects {what} {expected}, got {found}")


def _check_stride(stride: int) -> None:
    if stride < 0:
        raise OutOfBoundsError(f"a buffer has the negative stride {stride}")


def _pick_lanes(lanes: Sequence[Any], indices: Sequence[int]) -> list[Any]:
    for index in indices:
        if not 0 <= index < len(lanes):
            raise OutOfBoundsError(f"lane {index} of {len(lanes)} is taken")
    return [lanes[index] for index in indices]


def _make_array(
    pointer: _memory.Pointer, shape: Any, strides: Any, element: Number, offset: int
) -> np.ndarray[Any, Any]:
    """The array a packed function gets for a DLTensor built on the stack."""
    first = pointer.at(offset, element.size)
    flat = first.array(element.storage)
    if isinstance(strides, tuple):
        size = element.size
        steps = tuple(step * size for step in cast("tuple[int, ...]", strides))
        return Tensor.at(first, np.lib.stride_tricks.as_strided(flat, shape, steps))
    count = int(np.prod(shape, dtype=np.int64))
    return Tensor.at(first, flat[:count].reshape(shape))


def _atomic_add(pointer: _memory.Pointer, element: Number, value: Any) -> Any:
    """Add to the element a pointer names, and return what was there."""
    cells, marks, mark = _memory.cells(pointer, 0, element)
    old = cells[0]
    if marks is not None and marks[0] != mark:
        _memory.raise_uninitialized(0)
    total = old + value
    cells[0] = total if element.is_float else element.wrap(total)
    return old


_RUNTIME: dict[str, Any] = {
    "GO_ON": object(),
    "ArgumentError": ArgumentError,
    "allocate": _memory.allocate,
    "atomic_add": _atomic_add,
    "cells": _memory.cells,
    "check_axis": _check_axis,
    "check_indices": _memory.check_indices,
    "check_iteration": _check_iteration,
    "check_lanes": _memory.check_lanes,
    "check_match": _check_match,
    "check_region": _memory.check_region,
    "check_stride": _check_stride,
    "fma": _numbers.fused_multiply_add,
    "fmod": _builtins.FLOAT_FUNCTIONS["fmod"],
    "floor": _builtins.FLOAT_FUNCTIONS["floor"],
    "load_lanes": _memory.load_lanes,
    "make_array": _make_array,
    "pick_lanes": _pick_lanes,
    "format_message": tir.format_message,
    "raise_assertion": _raise_assertion,
    "raise_uninitialized": _memory.raise_uninitialized,
    "reinterpreted": reinterpreted,
    "store_lanes": _memory.store_lanes,
    "tdiv": _numbers.truncated_quotient,
    "tmod": _numbers.truncated_remainder,
    **_builtins.NAMES,
}


@dataclass
class Emitter:
    """The state of one translation."""

    func: tir.FuncOp
    settings: Settings
    lines: list[str] = field(default_factory=list[str])
    ops: list[Operation | None] = field(default_factory=list[Operation | None])
    names: MutableMapping[SSAValue, str] = field(default_factory=dict[SSAValue, str])
    ranges: MutableMapping[SSAValue, Interval] = field(
        default_factory=dict[SSAValue, Interval]
    )
    buffers: MutableMapping[SSAValue, BufferCode] = field(
        default_factory=dict[SSAValue, BufferCode]
    )
    bound: dict[Operation, str] = field(default_factory=dict[Operation, str])
    axes: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    namespace: dict[str, Any] = field(default_factory=dict[str, Any])
    has_threads: bool = False
    device: bool = False
    """Whether threads call the function."""
    launch: bool = False
    """Whether the code being written is part of a kernel,"""
    threads: bool = False
    """and of its threads, which are generators."""
    unwatched: bool = False
    deferred: bool = False
    """Whether stores are asynchronous here."""
    together: bool = False
    """Whether the blocks of the kernel being written meet each other."""
    block_local: set[str] = field(default_factory=set[str])
    """Pointers to local memory of which each thread has its own."""
    repeated: set[str] = field(default_factory=set[str])
    """Thread axes that several loops of the kernel bind."""
    indent: int = 1
    loops: int = 0
    count: int = 0
    op: Operation | None = None
    below: MutableMapping[SSAValue, str] = field(default_factory=dict[SSAValue, str])
    """A text that a value, known not to be negative, is smaller than."""
    defined_by: MutableMapping[SSAValue, object] = field(
        default_factory=dict[SSAValue, object]
    )

    def translate(self) -> Program:
        """The program of the function. Raises InterpretationError for what it lacks."""
        self.namespace.update(_RUNTIME)
        self.namespace["tick"] = self.settings.tick
        self.namespace["call_func"] = self.settings.call_func
        self.namespace["call_device"] = self.settings.call_device
        self.namespace["call_extern"] = self.settings.call_extern
        self.namespace["call_foreign"] = self.settings.call_foreign
        self.namespace["grid"] = self.settings.grid
        self.has_threads = self.device or _thread_code.has_threads(self.func)
        self.launch = self.threads = self.device
        parameters: list[str] = []
        for arg in self.func.args:
            parameters.append(self.name_value(arg))
        self.lines.append(f"def run({', '.join(parameters)}):")
        self.ops.append(None)
        self._bind_arrays()
        if self.device and _thread_code.has_threads(self.func):
            _thread_code.device_axes(self)
        self.block(self.func.body.block)
        self.line("return None")
        if self.device:
            self.line("yield")
        return Program("\n".join(self.lines) + "\n", self.ops, self.namespace)

    # ---- text ----

    def line(self, text: str) -> None:
        """Append a line that belongs to the op being translated."""
        self.lines.append(" " * self.indent + text)
        self.ops.append(self.op)

    def fresh(self, prefix: str = "t") -> str:
        """A name not used before."""
        self.count += 1
        return f"{prefix}{self.count}"

    def constant(self, value: Any, prefix: str = "k") -> str:
        """The name of a Python object in the code."""
        name = self.fresh(prefix)
        self.namespace[name] = value
        return name

    def kind(self, dtype: Number) -> str:
        """The name of a dtype in the code."""
        name = f"N_{dtype.name}"
        self.namespace[name] = dtype
        return name

    def name_value(self, value: SSAValue) -> str:
        """Give a value a variable."""
        name = self.names[value] = self.fresh("v")
        return name

    def rename(self, value: SSAValue, same: SSAValue) -> None:
        """Let a value have the variable of another one."""
        self.names[value] = self[same]

    def check_iteration(self, it: tir.IterVar) -> None:
        """Check that an iteration variable of a block lies in its domain."""
        self.line(
            f"check_iteration({self[it.binding]}, {self[it.min]}, {self[it.extent]})"
        )

    def define(self, value: SSAValue, expression: str) -> None:
        """Compute a value."""
        self.line(f"{self.name_value(value)} = {expression}")

    @contextmanager
    def nest(self, header: str) -> Generator[None]:
        """An indented suite below `header`."""
        self.line(header)
        self.indent += 1
        start = len(self.lines)
        yield
        if len(self.lines) == start:
            self.line("pass")
        self.indent -= 1

    @contextmanager
    def loop(self, header: str) -> Generator[None]:
        """A loop, in a function of its own where Python nests no deeper."""
        outer = self.loops
        if outer < _MAX_NESTED_LOOPS:
            self.loops += 1
            with self.nest(header):
                yield
            self.loops = outer
            return
        name = self.fresh("nested")
        self.loops = 1
        with self.nest(f"def {name}():"):
            with self.nest(header):
                yield
            self.line("return GO_ON")
            if self.threads:
                self.line("yield")
        self.loops = outer
        self.line(f"{name}_result = {'yield from ' if self.threads else ''}{name}()")
        with self.nest(f"if {name}_result is not GO_ON:"):
            self.line(f"return {name}_result")

    def block(self, block: Block) -> None:
        """Translate the ops of a block."""
        outer = self.op
        for op in block.ops:
            self.statement(op)
        self.op = outer

    def statement(self, op: Operation) -> None:
        """Translate an op."""
        self.op = op
        HANDLERS.get(type(op), _foreign)(self, op)

    # ---- values ----

    def __getitem__(self, value: SSAValue) -> str:
        name = self.names.get(value)
        if name is not None:
            return name
        owner = value.owner
        assert isinstance(owner, Operation)
        if isinstance(owner, tir.ShapeVarOp):
            raise unsupported(
                owner,
                "no buffer binds the variable before it is used",
                "match a buffer that has it as an extent, stride or offset",
            )
        raise unsupported(owner, "its value is not an expression", "do not use it here")

    def mixed(self, value: int | SSAValue) -> str:
        """An extent or a stride as a Python atom."""
        return str(value) if isinstance(value, int) else self[value]

    def lanes(self, dtype: Attribute) -> int:
        """The lanes of a dtype, `vscale` taken into account."""
        return lanes_of(dtype) * (self.settings.vscale if is_scalable(dtype) else 1)

    def interval(self, value: SSAValue) -> Interval:
        """Bounds of an integer, both inclusive."""
        known = self.ranges.get(value)
        if known is not None:
            return known
        dtype = number(element_of(value.type))
        return dtype.low, dtype.high

    def literal_interval(self, text: int | SSAValue) -> Interval:
        """Bounds of an extent."""
        return (text, text) if isinstance(text, int) else self.interval(text)

    def map_lanes(
        self, result: SSAValue, operands: Sequence[SSAValue], lane: Lane
    ) -> None:
        """Compute a value from values, lane by lane if it is a vector."""
        texts = [self[operand] for operand in operands]
        if not is_vector(result.type):
            self.define(result, lane(texts))
            return
        ours = [f"x{i}" for i in range(len(texts))]
        vectors = [
            text if is_vector(operand.type) else f"[{text}] * {self.lanes(result.type)}"
            for text, operand in zip(texts, operands, strict=True)
        ]
        self.define(
            result,
            f"[{lane(ours)} for {', '.join(ours)}, in zip({', '.join(vectors)})]",
        )

    def wrapped(self, dtype: Number, text: str) -> str:
        """The integer `text` modulo 2^bits."""
        if dtype.is_bool:
            return f"bool(({text}) & 1)"
        if dtype.low == 0:
            return f"({text}) & {dtype.high}"
        return f"(({text}) + {-dtype.low} & {dtype.high - dtype.low}) - {-dtype.low}"

    # ---- buffers bound by the caller ----

    def _bind_arrays(self) -> None:
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
        if _broadcasts(op):
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
            number(element_of(op.type.element_type)),
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
        if _broadcasts(op) and not op.layout_strides:
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
        """Take the elements behind a pointer as the buffer that `op` defines."""
        if op.axis_separators and op.elem_offset is not None and offset != "0":
            raise unsupported(
                op,
                "memory of several dimensions has no element offset",
                "leave out the axis separators, or the offset",
            )
        element = number(element_of(op.type.element_type))
        lanes = self.lanes(op.type.element_type)
        skip = offset if lanes == 1 else f"{offset} * {lanes}"
        cells = self.reach(pointer, skip, element)
        scope = op.type.scope.data
        watched = self.has_threads and is_watched(scope)
        watched |= not self.threads and self.settings.copies
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
            _broadcasts(op),
            bool(op.axis_separators),
            [self.mixed(stride) for stride in op.layout_strides],
            watched,
        )
        self.buffers[op.buffer] = code
        return code

    def reach(self, pointer: str, skip: str, element: Number) -> str:
        """The prefix of the names of the cells behind a pointer."""
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
        axis times the stride; the dimensions lie in row-major order (tir-ir.md §7.2).
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
        element = number(element_of(op.type.element_type))
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
        """Note local memory that is allocated in front of the threads of a kernel."""
        if not self.threads and is_private(scope):
            self.block_local.add(pointer)

    def match_region(self, op: tir.MatchRegionOp) -> None:
        """A view of a region: the strides of the source behind the region's start."""
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
        """Check that a region lies within its buffer."""
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
        """The place of an element behind the first cell, as an expression."""
        terms = [] if code.base == "0" else [code.base]
        for index, stride in zip(indices, code.strides, strict=True):
            if index != "0" and stride != "0":
                terms.append(index if stride == "1" else f"{index} * {stride}")
        return " + ".join(terms) or "0"

    def is_watched(self, code: BufferCode) -> bool:
        """Whether accesses of a buffer are noted here."""
        watching = self.launch or self.settings.copies
        return code.watched and watching and not self.unwatched

    def site(self) -> int:
        """The number of the op being translated in the grid's notes."""
        assert self.op is not None
        return self.settings.grid.site(self.op)

    def note(self, code: BufferCode, verb: str, arguments: str) -> None:
        """Note an access of memory that threads share."""
        if self.is_watched(code):
            self.line(f"{code.cells}s.{verb}({arguments}, {self.site()})")

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


def _broadcasts(op: tir.BufferDefinition) -> bool:
    kind = op.buffer_kind
    return kind is not None and kind.data is BufferKind.AUTO_BROADCAST


# ---- buffers ----


def _load(e: Emitter, op: Operation) -> None:
    assert isinstance(op, tir.LoadOp)
    code = e.buffers[op.buffer]
    cells = code.cells
    scalar = not is_vector(op.result.type)
    if scalar and op.predicate is None:
        e.check_access(code, op.indices)
        place = e.atom(e.flat(code, [e[index] for index in op.indices]))
        e.define(op.result, _stored_value(code.element, f"{cells}[{place}]"))
        if code.marks != "never":
            guard = "" if code.marks == "always" else f"{cells}m is not None and "
            with e.nest(f"if {guard}{cells}m[{place}] != {cells}w:"):
                if e.is_watched(code) and e.threads:
                    e.line(f"grid.uninitialized({place}, {e.site()})")
                else:
                    e.line(f"raise_uninitialized({place})")
        e.note(code, _async_code.access_verb(e, op), place)
        return
    predicate = "None" if op.predicate is None else e[op.predicate]
    if scalar and op.predicate is not None:
        predicate = f"[{predicate}]"
    places = e.places(code, op.indices, predicate)
    zero = e.constant(code.element.zero())
    verb = _async_code.access_verb(e, op)
    e.note(code, "lanes", f"{verb!r}, {places}, {predicate}")
    marks = f"{cells}m"
    if e.is_watched(code) and e.threads:
        marks = f"grid.marks({cells}m, {cells}w, {places}, {predicate}, {e.site()})"
    e.define(
        op.result,
        f"load_lanes({cells}, {marks}, {cells}w, {places}, {predicate}, {zero})"
        + ("[0]" if scalar else ""),
    )


def _stored_value(element: Number, text: str) -> str:
    """An integer as wide as its storage is as stored, a narrower one may need a wrap."""
    if element.is_float or element.is_bool or element.bits == element.size * 8:
        return text
    if element.low == 0:
        return f"{text} & {element.high}"
    return f"({text} + {-element.low} & {element.high - element.low}) - {-element.low}"


def _store(e: Emitter, op: Operation) -> None:
    assert isinstance(op, tir.StoreOp)
    code = e.buffers[op.buffer]
    cells = code.cells
    scalar = not is_vector(op.value.type)
    if scalar and op.predicate is None:
        place = e.put(code, op.indices, e[op.value])
        e.note(code, _async_code.access_verb(e, op), place)
        return
    predicate = "None" if op.predicate is None else e[op.predicate]
    if scalar and op.predicate is not None:
        predicate = f"[{predicate}]"
    places = e.places(code, op.indices, predicate)
    e.line(
        f"store_lanes({cells}, {cells}m, {cells}w, {places}, {predicate}, {e[op.value]})"
    )
    verb = _async_code.access_verb(e, op)
    e.note(code, "lanes", f"{verb!r}, {places}, {predicate}")


def _match_buffer(e: Emitter, op: Operation) -> None:
    assert isinstance(op, tir.MatchBufferOp)
    e.match(op)


def _match_region(e: Emitter, op: Operation) -> None:
    assert isinstance(op, tir.MatchRegionOp)
    e.match_region(op)


def _alloc_buffer(e: Emitter, op: Operation) -> None:
    assert isinstance(op, tir.AllocBufferOp)
    e.allocate(op)


def _decl_buffer(e: Emitter, op: Operation) -> None:
    assert isinstance(op, tir.DeclBufferOp)
    offset = "0" if op.elem_offset is None else e[op.elem_offset]
    e.buffer(op, e[op.data], offset, "maybe")


def _allocate(e: Emitter, op: Operation) -> None:
    assert isinstance(op, tir.AllocateOp)
    element = op.result.type.element_type
    dtype = number(element_of(element))
    size = e.size([e.mixed(extent) for extent in op.shape])
    arguments = f"{size}, {e.kind(dtype)}, {e.lanes(element)}"
    memory = e.allocation(op, op.result.type.scope.data, arguments)
    if op.condition is not None:
        memory += f" if {e[op.condition]} else None"
    e.define(op.result, memory)
    e.allocated(e[op.result], op.result.type.scope.data)


def _allocate_const(e: Emitter, op: Operation) -> None:
    assert isinstance(op, tir.AllocateConstOp)
    data = op.data
    if isinstance(data, IntegerAttr):
        table = e.settings.module.attributes.get("constants")
        index = cast("IntegerAttr[Any]", data).value.data
        if not isinstance(table, ArrayAttr) or not 0 <= index < len(
            cast("ArrayAttr[Attribute]", table)
        ):
            raise unsupported(
                op,
                f"the module has no constant {index}",
                "add the module attribute `constants`",
            )
        data = cast("ArrayAttr[Attribute]", table).data[index]
    dtype = number(element_of(op.result.type.element_type))
    e.names[op.result] = e.constant(dense_contents(data, dtype))


def _data(e: Emitter, op: Operation) -> None:
    assert isinstance(op, tir.DataOp)
    e.define(op.result, e.buffers[op.buffer].pointer)


def _address_of(e: Emitter, op: Operation) -> None:
    assert isinstance(op, tir.AddressOfOp)
    code = e.buffers[op.buffer]
    indices = [
        f"{e[index]}[0]" if is_vector(index.type) else e[index] for index in op.indices
    ]
    place = e.flat(code, indices)
    size = code.element.size * code.lanes
    e.define(op.result, f"{code.pointer}.at({code.offset} + {place}, {size})")


# ---- statements ----


def _for(e: Emitter, op: Operation) -> None:
    assert isinstance(op, tir.ForOp)
    tag = None if op.thread_tag is None else op.thread_tag.data
    if tag in tir.VIRTUAL_THREAD_TAGS:
        tag = None
    _iterate(e, op, op.min, op.extent, tag)


def _iterate(
    e: Emitter,
    op: tir.ForOp | tir.LaunchThreadOp,
    low: SSAValue | None,
    extent: SSAValue,
    tag: str | None,
) -> None:
    """Run the body for every index; virtual threads of an axis one after the other."""
    if tag is not None and tag == _thread_code.axis_tag(op):
        _thread_code.thread_axis(e, op, low, extent, tag)
        return
    variable = op.body.block.args[0]
    start = "0" if low is None else e[low]
    count = e[extent]
    if tag is not None and tag in e.axes:
        outer, size = e.axes[tag]
        e.line(f"check_axis({tag!r}, {size}, {count})")
        e.names[variable] = outer
        e.block(op.body.block)
        return
    first = (0, 0) if low is None else e.interval(low)
    e.ranges[variable] = (first[0], first[1] + max(0, e.interval(extent)[1] - 1))
    if start == "0":
        e.below[variable] = count
    name = e.name_value(variable)
    end = count if start == "0" else f"{start} + {count}"
    if tag is not None:
        e.axes[tag] = (name, count)
    header = f"for {name} in range({'' if start == '0' else start + ', '}{end}):"
    with e.loop(header):
        e.block(op.body.block)
    if tag is not None:
        del e.axes[tag]


def _launch_thread(e: Emitter, op: Operation) -> None:
    assert isinstance(op, tir.LaunchThreadOp)
    virtual = op.virtual is not None or op.tag.data in tir.VIRTUAL_THREAD_TAGS
    tag = op.tag.data
    if virtual:
        tag = None if op.env is None else f"{tag} {op.env.data}"
    _iterate(e, op, None, op.extent, tag)


def _while(e: Emitter, op: Operation) -> None:
    assert isinstance(op, tir.WhileOp)
    with e.loop("while True:"):
        e.block(op.condition.block)
        last = op.condition.block.last_op
        assert isinstance(last, tir.YieldOp)
        with e.nest(f"if not {e[last.value]}:"):
            e.line("break")
        e.line("tick()")
        e.block(op.body.block)


def _if(e: Emitter, op: Operation) -> None:
    assert isinstance(op, tir.IfOp)
    with e.nest(f"if {e[op.condition]}:"):
        e.block(op.then_region.block)
    if op.else_region is not None:
        with e.nest("else:"):
            e.block(op.else_region.block)


def _attr(e: Emitter, op: Operation) -> None:
    assert isinstance(op, tir.AttrOp)
    _async_code.attribute(e, op)


def _transparent(e: Emitter, op: Operation) -> None:
    e.block(op.regions[0].block)


def _nothing(e: Emitter, op: Operation) -> None:
    """For ops that only declare, and values that are bound where they are used."""


def _block(e: Emitter, op: Operation) -> None:
    assert isinstance(op, tir.BlockOp)
    if op.predicate is None:
        block_body(e, op)
        return
    with e.nest(f"if {e[op.predicate]}:"):
        block_body(e, op)


def block_body(e: Emitter, op: tir.BlockOp) -> None:
    """The statements of a block, whose predicate holds."""
    for variable, it in zip(op.iter_vars, op.iters, strict=True):
        e.rename(variable, it.binding)
        value, low = e.interval(it.binding), e.interval(it.min)
        extent = e.interval(it.extent)
        if low == (0, 0) and e[it.extent] == e.below.get(it.binding):
            e.below[variable] = e[it.extent]
        elif value[0] < low[1] or value[1] >= low[0] + extent[0]:
            if low == (0, 0):
                e.below[variable] = e[it.extent]
            e.check_iteration(it)
        end = max(low[0], low[1] + extent[1] - 1)
        e.ranges[variable] = (max(value[0], low[0]), min(value[1], end))
    outer = e.unwatched
    if e.launch and _thread_code.reduces_across_threads(op):
        e.unwatched = True
    e.block(op.body.block)
    e.unwatched = outer


def _init(e: Emitter, op: Operation) -> None:
    block = op.parent_op()
    assert isinstance(op, tir.InitOp)
    assert isinstance(block, tir.BlockOp)
    tests = [
        f"{e[variable]} == {e[it.min]}"
        for variable, it in zip(block.iter_vars, block.iters, strict=True)
        if it.kind is tir.IterKind.REDUCE
    ]
    with e.nest(f"if {' and '.join(tests) or 'True'}:"):
        e.block(op.body.block)


def _let(e: Emitter, op: Operation) -> None:
    assert isinstance(op, tir.LetOp)
    e.rename(op.result, op.value)
    if op.value in e.ranges:
        e.ranges[op.result] = e.ranges[op.value]
    if op.value in e.below:
        e.below[op.result] = e.below[op.value]


def _assert(e: Emitter, op: Operation) -> None:
    assert isinstance(op, tir.AssertOp)
    message = (
        repr(op.message.data)
        if op.message is not None
        else e[cast(SSAValue, op.message_value)]
    )
    with e.nest(f"if not {e[op.condition]}:"):
        e.line(f"raise_assertion({message})")


def _ret(e: Emitter, op: Operation) -> None:
    assert isinstance(op, tir.RetOp)
    if (e.threads and op.value is not None and not e.device) or (
        e.together and not e.threads
    ):
        raise unsupported(op, "a thread returns no value", "return behind the kernel")
    e.line("return None" if op.value is None else f"return {e[op.value]}")


# ---- expressions ----


def _const(e: Emitter, op: Operation) -> None:
    assert isinstance(op, tir.ConstOp)
    dtype = number(op.result.type)
    value = dtype.convert(op.literal)
    if dtype.is_float:
        e.names[op.result] = e.constant(value)
        return
    e.names[op.result] = repr(value) if value >= 0 else f"({value})"
    if not dtype.is_bool:
        e.ranges[op.result] = (value, value)


def _string(e: Emitter, op: Operation) -> None:
    assert isinstance(op, tir.StringOp)
    e.names[op.result] = e.constant(op.value.data)


def _binary(e: Emitter, op: Operation) -> None:
    assert isinstance(op, tir.BinaryOp)
    dtype = number(element_of(op.result.type))
    template = (FLOAT_BINARY if dtype.is_float else INTEGER_BINARY)[type(op)]
    if dtype.is_float:
        kind = e.kind(dtype)
        e.map_lanes(op.result, op.operands, lambda t: template.format(*t, kind=kind))
        return
    if dtype.is_bool:
        plain = template.format("int({0})", "int({1})")
        e.map_lanes(op.result, op.operands, lambda t: e.wrapped(dtype, plain.format(*t)))
        return
    bounds = result_interval(e, op)
    fits = bounds is not None and dtype.low <= bounds[0] and bounds[1] <= dtype.high
    if fits and bounds is not None and not is_vector(op.result.type):
        e.ranges[op.result] = bounds

    def lane(texts: Sequence[str]) -> str:
        text = template.format(*texts)
        return text if fits else e.wrapped(dtype, text)

    e.map_lanes(op.result, op.operands, lane)


INTEGER_BINARY: dict[type[Operation], str] = {
    tir.AddOp: "{0} + {1}",
    tir.SubOp: "{0} - {1}",
    tir.MulOp: "{0} * {1}",
    tir.DivOp: "tdiv({0}, {1})",
    tir.ModOp: "tmod({0}, {1})",
    tir.FloorDivOp: "{0} // {1}",
    tir.FloorModOp: "{0} % {1}",
    tir.MinOp: "{0} if {0} < {1} else {1}",
    tir.MaxOp: "{0} if {0} > {1} else {1}",
}
FLOAT_BINARY: dict[type[Operation], str] = {
    tir.AddOp: "{0} + {1}",
    tir.SubOp: "{0} - {1}",
    tir.MulOp: "{0} * {1}",
    tir.DivOp: "{0} / {1}",
    tir.ModOp: "{kind}.convert(fmod(float({0}), float({1})))",
    tir.FloorDivOp: "{kind}.convert(floor(float({0} / {1})))",
    tir.FloorModOp: "{0} - {kind}.convert(floor(float({0} / {1}))) * {1}",
    tir.MinOp: "{1} if {1} < {0} or {1} != {1} else {0}",
    tir.MaxOp: "{1} if {1} > {0} or {1} != {1} else {0}",
}


def result_interval(e: Emitter, op: tir.BinaryOp) -> Interval | None:
    """Bounds of an integer operation, before it wraps; None where they are unknown."""
    (a, b), (c, d) = e.interval(op.lhs), e.interval(op.rhs)
    rule = _INTERVALS.get(type(op))
    return None if rule is None else rule(a, b, c, d)


def _mul_interval(a: int, b: int, c: int, d: int) -> Interval:
    corners = (a * c, a * d, b * c, b * d)
    return min(corners), max(corners)


def _floordiv_interval(a: int, b: int, c: int, d: int) -> Interval | None:
    if c <= 0:
        return None
    corners = (a // c, a // d, b // c, b // d)
    return min(corners), max(corners)


def _floormod_interval(a: int, b: int, c: int, d: int) -> Interval | None:
    return (0, min(d - 1, b) if a >= 0 else d - 1) if c > 0 else None


def _div_interval(a: int, b: int, c: int, d: int) -> Interval | None:
    return (0, b) if a >= 0 and c >= 0 else None


def _mod_interval(a: int, b: int, c: int, d: int) -> Interval | None:
    largest = max(abs(c), abs(d)) - 1
    return (0 if a >= 0 else -largest, largest) if largest >= 0 else None


_INTERVALS: dict[type[Operation], Callable[[int, int, int, int], Interval | None]] = {
    tir.AddOp: lambda a, b, c, d: (a + c, b + d),
    tir.SubOp: lambda a, b, c, d: (a - d, b - c),
    tir.MulOp: _mul_interval,
    tir.FloorDivOp: _floordiv_interval,
    tir.FloorModOp: _floormod_interval,
    tir.DivOp: _div_interval,
    tir.ModOp: _mod_interval,
    tir.MinOp: lambda a, b, c, d: (min(a, c), min(b, d)),
    tir.MaxOp: lambda a, b, c, d: (max(a, c), max(b, d)),
}


def _logical(e: Emitter, op: Operation) -> None:
    word = "and" if isinstance(op, tir.AndOp) else "or"
    e.map_lanes(op.results[0], op.operands, lambda t: f"{t[0]} {word} {t[1]}")


def _not(e: Emitter, op: Operation) -> None:
    e.map_lanes(op.results[0], op.operands, lambda t: f"not {t[0]}")


def _cmp(e: Emitter, op: Operation) -> None:
    assert isinstance(op, tir.CmpOp)
    sign = COMPARISONS[op.predicate.data]
    if is_handle(op.lhs.type) and sign not in ("==", "!="):
        raise unsupported(op, "pointers have no order here", "compare them for equality")
    e.map_lanes(op.result, op.operands, lambda t: f"{t[0]} {sign} {t[1]}")


def _select(e: Emitter, op: Operation) -> None:
    assert isinstance(op, tir.SelectOp)
    condition, yes, no = (e[operand] for operand in op.operands)
    if is_vector(op.result.type) and not is_vector(op.condition.type):
        e.define(op.result, f"{yes} if {condition} else {no}")
        return
    e.map_lanes(op.result, op.operands, lambda t: f"{t[1]} if {t[0]} else {t[2]}")
    if is_integer(op.result.type) and not is_vector(op.result.type):
        a, b = e.interval(op.true_value), e.interval(op.false_value)
        e.ranges[op.result] = (min(a[0], b[0]), max(a[1], b[1]))


def _if_then_else(e: Emitter, op: Operation) -> None:
    assert isinstance(op, tir.IfThenElseOp)
    result = e.name_value(op.result)
    for header, region in (
        (f"if {e[op.condition]}:", op.true_region),
        ("else:", op.false_region),
    ):
        with e.nest(header):
            e.block(region.block)
            last = region.block.last_op
            assert isinstance(last, tir.YieldOp)
            e.line(f"{result} = {e[last.value]}")


def _cast(e: Emitter, op: Operation) -> None:
    assert isinstance(op, tir.CastOp)
    source = number(element_of(op.value.type))
    target = number(element_of(op.result.type))
    kind = e.kind(target)
    scalar = not is_vector(op.result.type)
    if target.is_bool:
        e.map_lanes(op.result, op.operands, lambda t: f"bool({t[0]} != 0)")
        return
    if source.is_float or target.is_float:
        e.map_lanes(op.result, op.operands, lambda t: f"{kind}.convert({t[0]})")
        return
    low, high = e.interval(op.value) if scalar else (source.low, source.high)
    text = "int({0})" if source.is_bool else "{0}"
    if target.low <= low and high <= target.high:
        e.map_lanes(op.result, op.operands, lambda t: text.format(*t))
        if scalar:
            e.ranges[op.result] = (low, high)
        return
    e.map_lanes(op.result, op.operands, lambda t: e.wrapped(target, text.format(*t)))


def _ramp(e: Emitter, op: Operation) -> None:
    assert isinstance(op, tir.RampOp)
    dtype = number(op.base.type)
    lanes = e.lanes(op.result.type)
    base, stride = e[op.base], e[op.stride]
    if dtype.is_float:
        kind = e.kind(dtype)
        e.define(
            op.result,
            f"[{base} + {kind}.convert(x) * {stride} for x in range({lanes})]",
        )
        return
    text = e.wrapped(dtype, f"{base} + x * {stride}")
    e.define(op.result, f"[{text} for x in range({lanes})]")


def _broadcast(e: Emitter, op: Operation) -> None:
    assert isinstance(op, tir.BroadcastOp)
    e.define(op.result, f"[{e[op.value]}] * {e.lanes(op.result.type)}")


def _shuffle(e: Emitter, op: Operation) -> None:
    assert isinstance(op, tir.ShuffleOp)
    lanes = " + ".join(e[v] if is_vector(v.type) else f"[{e[v]}]" for v in op.vectors)
    picked = f"pick_lanes({lanes}, [{', '.join(e[i] for i in op.indices)}])"
    e.define(op.result, picked if is_vector(op.result.type) else f"{picked}[0]")


# ---- calls ----


def _call_func(e: Emitter, op: Operation) -> None:
    assert isinstance(op, tir.CallFuncOp)
    site = e.constant(op)
    arguments = "".join(f", {e[arg]}" for arg in op.args)
    call = "yield from call_device" if e.threads else "call_func"
    text = f"{call}({site}{arguments})"
    if op.result is None:
        e.line(text)
    else:
        e.define(op.result, text)


def _call(e: Emitter, op: Operation) -> None:
    assert isinstance(op, tir.CallOp)
    name = op.callee.data
    if _thread_code.meeting_call(e, op):
        return
    if name in _builtins.NO_OPERATION:
        if op.result is not None:
            e.names[op.result] = "0"
        return
    if name in _EXTERN_CALLS:
        _call_extern(e, op)
        return
    special = _SPECIAL.get(name)
    if special is not None:
        special(e, op)
        return
    _call_template(e, op)


def _call_template(e: Emitter, op: tir.CallOp) -> None:
    name = op.callee.data
    result = op.result
    template = _builtins.TEMPLATES.get(name)
    if result is not None and not is_handle(result.type):
        dtype = number(element_of(result.type))
        if template is None:
            template = _builtins.float_template(name, e.kind(dtype), dtype)
            e.namespace[f"F_{name}"] = _builtins.FLOAT_FUNCTIONS.get(name)
        if template is not None:
            lane = template
            e.map_lanes(result, op.args, lambda t: lane(dtype, t))
            return
    if name == "assume":
        e.line(f"assume({e[op.args[0]]})")
        return
    raise unsupported(
        op,
        f"the interpreter has no meaning for the builtin {name}",
        "interpret the program before the pass that introduces it",
    )


def _call_extern(e: Emitter, op: tir.CallOp) -> None:
    arguments = list(op.args)
    if (message := tir.assert_message(op)) is not None:
        text, numbers = message
        values = ", ".join(f"int({e[value]})" for value in numbers)
        e.define(op.results[0], f"format_message({text!r}, [{values}])")
        return
    name = arguments[0].owner if arguments else None
    if not isinstance(name, tir.StringOp):
        raise unsupported(op, "the callee is not a string", "name it by a tir.string")
    if op.callee.data == "tvm_call_cpacked":
        arguments = arguments[:-1]
    values = "".join(f", {e[value]}" for value in arguments[1:])
    text = f"call_extern({e.constant(op)}, {name.value.data!r}{values})"
    if op.result is None:
        e.line(text)
    else:
        e.define(op.result, text)


Call = Callable[[Emitter, tir.CallOp], None]


def _shift(name: str) -> Call:
    def emit(e: Emitter, op: tir.CallOp) -> None:
        assert op.result is not None
        kind = e.kind(number(element_of(op.result.type)))
        e.map_lanes(op.result, op.args, lambda t: f"{name}({kind}, {t[0]}, {t[1]})")

    return emit


def _popcount(e: Emitter, op: tir.CallOp) -> None:
    assert op.result is not None
    mask = number(element_of(op.args[0].type))
    bits = mask.high - mask.low
    e.map_lanes(op.result, op.args, lambda t: f"({t[0]} & {bits}).bit_count()")


def _clz(e: Emitter, op: tir.CallOp) -> None:
    assert op.result is not None
    dtype = number(element_of(op.args[0].type))
    bits = dtype.high - dtype.low
    e.map_lanes(
        op.result, op.args, lambda t: f"{dtype.bits} - ({t[0]} & {bits}).bit_length()"
    )


def _fma(e: Emitter, op: tir.CallOp) -> None:
    assert op.result is not None
    dtype = number(element_of(op.result.type))
    if not dtype.is_float:
        e.map_lanes(
            op.result, op.args, lambda t: e.wrapped(dtype, f"{t[0]} * {t[1]} + {t[2]}")
        )
        return
    storage = e.constant(dtype.storage)
    e.map_lanes(op.result, op.args, lambda t: f"fma({storage}, {', '.join(t)})")


def _nextafter(e: Emitter, op: tir.CallOp) -> None:
    assert op.result is not None
    function = e.constant(np.nextafter)
    e.map_lanes(op.result, op.args, lambda t: f"{function}({t[0]}, {t[1]})")


def _reinterpret(e: Emitter, op: tir.CallOp) -> None:
    assert op.result is not None
    value = op.args[0]
    if is_handle(op.result.type):
        if is_handle(value.type):
            e.names[op.result] = e[value]
            return
        if tir.is_constant(value, 0):
            e.names[op.result] = "None"
            return
    if is_handle(op.result.type) or is_handle(value.type):
        raise unsupported(
            op, "only zero becomes a pointer", "pass pointers as parameters"
        )
    source = e.kind(number(element_of(value.type)))
    target = e.kind(number(element_of(op.result.type)))
    lanes = e.lanes(op.result.type)
    lanewise = e[value] if is_vector(value.type) else f"[{e[value]}]"
    text = f"reinterpreted({lanewise}, {source}, {target}, {lanes})"
    e.define(op.result, text if is_vector(op.result.type) else f"{text}[0]")


def _dp4a(e: Emitter, op: tir.CallOp) -> None:
    assert op.result is not None
    a, b = e[op.args[0]], e[op.args[1]]
    start = f" + {e[op.args[2]]}" if len(op.args) > 2 else ""
    total = f"sum(x * y for x, y in zip({a}, {b})){start}"
    e.define(op.result, e.wrapped(number(op.result.type), total))


def _isnullptr(e: Emitter, op: tir.CallOp) -> None:
    assert op.result is not None
    e.define(op.result, f"{e[op.args[0]]} is None")


def _undef(e: Emitter, op: tir.CallOp) -> None:
    assert op.result is not None
    e.names[op.result] = e.constant(number(op.result.type).zero())


def _vscale(e: Emitter, op: tir.CallOp) -> None:
    assert op.result is not None
    e.names[op.result] = str(e.settings.vscale)
    e.ranges[op.result] = (e.settings.vscale, e.settings.vscale)


def _lane_mask(e: Emitter, op: tir.CallOp) -> None:
    assert op.result is not None
    base, limit = e[op.args[0]], e[op.args[1]]
    lanes = e.lanes(op.result.type)
    e.define(op.result, f"[{base} + x < {limit} for x in range({lanes})]")


def _half(low: bool) -> Call:
    def emit(e: Emitter, op: tir.CallOp) -> None:
        assert op.result is not None
        half = e.lanes(op.args[0].type) // 2
        part = f"[:{half}]" if low else f"[{half}:]"
        text = f"{e[op.args[-1]]}{part}"
        e.define(op.result, text if is_vector(op.result.type) else f"{text}[0]")

    return emit


def _vectorcombine(e: Emitter, op: tir.CallOp) -> None:
    assert op.result is not None
    texts = [e[v] if is_vector(v.type) else f"[{e[v]}]" for v in op.args]
    e.define(op.result, " + ".join(texts))


def _stack_shape(e: Emitter, op: tir.CallOp) -> None:
    assert op.result is not None
    e.define(op.result, f"({''.join(f'{e[arg]}, ' for arg in op.args)})")


def _stack_array(e: Emitter, op: tir.CallOp) -> None:
    assert op.result is not None
    data, shape, strides, _, example, offset = op.args
    kind = e.kind(number(element_of(example.type)))
    e.define(
        op.result,
        f"make_array({e[data]}, {e[shape]}, {e[strides]}, {kind}, {e[offset]})",
    )


def _tuple(e: Emitter, op: tir.CallOp) -> None:
    if op.result is not None:
        _stack_shape(e, op)


def _atomic(e: Emitter, op: tir.CallOp) -> None:
    assert op.result is not None
    dtype = number(op.result.type)
    kind = e.kind(dtype)
    if e.launch:
        site = e.settings.grid.site(op, op.args[0])
        e.line(f"grid.atomic({e[op.args[0]]}, {dtype.size}, {site})")
    e.define(op.result, f"atomic_add({e[op.args[0]]}, {kind}, {e[op.args[1]]})")


def _context_id(e: Emitter, op: tir.CallOp) -> None:
    """The index of the innermost virtual thread with workspaces of its own, else 0."""
    if op.result is None:
        return
    parent = op.parent_op()
    while parent is not None:
        match parent:
            case tir.LaunchThreadOp(virtual=UnitAttr()) if parent.tag.data == "cthread":
                e.rename(op.result, parent.thread_var)
                return
            case _:
                pass
        parent = parent.parent_op()
    e.names[op.result] = "0"


_SPECIAL: dict[str, Call] = {
    "tvm_context_id": _context_id,
    "shift_left": _shift("shift_left"),
    "shift_right": _shift("shift_right"),
    "popcount": _popcount,
    "clz": _clz,
    "fma": _fma,
    "nextafter": _nextafter,
    "reinterpret": _reinterpret,
    "dp4a": _dp4a,
    "isnullptr": _isnullptr,
    "undef": _undef,
    "vscale": _vscale,
    "get_active_lane_mask": _lane_mask,
    "vectorlow": _half(low=True),
    "vectorhigh": _half(low=False),
    "vectorcombine": _vectorcombine,
    "tvm_stack_make_shape": _stack_shape,
    "tvm_stack_make_array": _stack_array,
    "tvm_tuple": _tuple,
    "atomic_add": _atomic,
}


def _access_ptr(e: Emitter, op: Operation) -> None:
    assert isinstance(op, tir.AccessPtrOp)
    element = op.element_type
    size = number(element_of(element)).size * e.lanes(element)
    e.define(op.result, f"{e[op.data]}.at({e[op.offset]}, {size})")


def _thread_allreduce(e: Emitter, op: Operation) -> None:
    assert isinstance(op, tir.ThreadAllreduceOp)
    _thread_code.allreduce(e, op)


def _foreign(e: Emitter, op: Operation) -> None:
    """An op of another dialect: run by the implementations the user registered."""
    if op.regions or op.successors:
        raise unsupported(
            op,
            "an op of another dialect with regions cannot run inside of a tir.func",
            "lower it first",
        )
    arguments = "".join(f", {e[value]}" for value in op.operands)
    results = [e.name_value(result) for result in op.results]
    text = f"call_foreign({e.constant(op)}{arguments})"
    if results:
        text = f"{', '.join(results)}, = {text}"
    e.line(text)


def _buffer_realize(e: Emitter, op: Operation) -> None:
    raise unsupported(
        op,
        "a realized buffer is a legacy of tensor expressions and is not run",
        "allocate it with tir.alloc_buffer",
    )


Handler = Callable[[Emitter, Operation], None]

HANDLERS: dict[type[Operation], Handler] = {
    tir.AddressOfOp: _address_of,
    tir.AllocBufferOp: _alloc_buffer,
    tir.AllocateConstOp: _allocate_const,
    tir.AllocateOp: _allocate,
    tir.BufferRealizeOp: _buffer_realize,
    tir.DataOp: _data,
    tir.DeclBufferOp: _decl_buffer,
    tir.LoadOp: _load,
    tir.MatchBufferOp: _match_buffer,
    tir.MatchRegionOp: _match_region,
    tir.PrefetchOp: _nothing,
    tir.ShapeVarOp: _nothing,
    tir.StoreOp: _store,
    tir.BlockOp: _block,
    tir.InitOp: _init,
    tir.ReadsOp: _nothing,
    tir.WritesOp: _nothing,
    tir.AssertOp: _assert,
    tir.AttrOp: _attr,
    tir.EvaluateOp: _nothing,
    tir.ForOp: _for,
    tir.IfOp: _if,
    tir.LaunchThreadOp: _launch_thread,
    tir.LetOp: _let,
    tir.RetOp: _ret,
    tir.ScopeOp: _transparent,
    tir.WhileOp: _while,
    tir.AndOp: _logical,
    tir.BroadcastOp: _broadcast,
    tir.CastOp: _cast,
    tir.CmpOp: _cmp,
    tir.ConstOp: _const,
    tir.IfThenElseOp: _if_then_else,
    tir.NotOp: _not,
    tir.OrOp: _logical,
    tir.RampOp: _ramp,
    tir.SelectOp: _select,
    tir.ShuffleOp: _shuffle,
    tir.StringOp: _string,
    tir.YieldOp: _nothing,
    tir.AccessPtrOp: _access_ptr,
    tir.CallFuncOp: _call_func,
    tir.CallOp: _call,
    tir.ReducerOp: _nothing,
    tir.ThreadAllreduceOp: _thread_allreduce,
    **dict.fromkeys(INTEGER_BINARY, _binary),
}

"""The code of ops that access, allocate and view memory."""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr
from xdsl.ir import Attribute, Operation

from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.annotations import USE_DYNAMIC_SHARED
from xdsl_tvm.dialects.tir.module import CONSTANTS, module_attributes
from xdsl_tvm.dialects.tir.types import (
    element_of,
    is_vector,
)
from xdsl_tvm.interpreters.codegen import async_code as _async_code
from xdsl_tvm.interpreters.codegen.code_writer import Handler, Mode
from xdsl_tvm.interpreters.codegen.emitter import Emitter
from xdsl_tvm.interpreters.codegen.thread_code import is_launched
from xdsl_tvm.interpreters.data.numbers import Number, number
from xdsl_tvm.interpreters.data.values import dense_contents
from xdsl_tvm.interpreters.errors import (
    unsupported,
)


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
                if e.is_watched(code) and e.mode is Mode.THREAD:
                    e.line(f"grid.uninitialized({place}, {e.site()})")
                else:
                    e.line(f"raise_uninitialized({place})")
        e.note(code, _async_code.access_verb(e, op), place)
        e.note_banks(code, f"({place},)", writes=False)
        return
    predicate = "None" if op.predicate is None else e[op.predicate]
    if scalar and op.predicate is not None:
        predicate = f"[{predicate}]"
    places = e.places(code, op.indices, predicate)
    zero = e.constant(code.element.zero())
    verb = _async_code.access_verb(e, op)
    e.note(code, "lanes", f"{verb!r}, {places}, {predicate}")
    e.note_banks(code, places, predicate, writes=False)
    marks = f"{cells}m"
    if e.is_watched(code) and e.mode is Mode.THREAD:
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
        e.note_banks(code, f"({place},)", writes=True)
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
    e.note_banks(code, places, predicate, writes=True)


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
    scope = op.result.type.scope.data
    if scope == "shared.dyn" and is_launched(e.func):
        size = f"{size} * {e.lanes(element)} * {dtype.size}"
        e.line(f"grid.expect_launched({USE_DYNAMIC_SHARED!r}, {size})")
    memory = e.allocation(op, scope, arguments)
    if op.condition is not None:
        memory += f" if {e[op.condition]} else None"
    e.define(op.result, memory)
    e.allocated(e[op.result], op.result.type.scope.data)


def _allocate_const(e: Emitter, op: Operation) -> None:
    assert isinstance(op, tir.AllocateConstOp)
    data = op.data
    if isinstance(data, IntegerAttr):
        table = module_attributes(e.settings.module).get(CONSTANTS)
        index = cast("IntegerAttr[Any]", data).value.data
        if not isinstance(table, ArrayAttr) or not 0 <= index < len(
            cast("ArrayAttr[Attribute]", table)
        ):
            raise unsupported(
                op,
                f"the module has no constant {index}",
                "add it to `constants` in the module's tir.module_attrs",
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


def _access_ptr(e: Emitter, op: Operation) -> None:
    assert isinstance(op, tir.AccessPtrOp)
    element = op.element_type
    size = number(element_of(element)).size * e.lanes(element)
    e.define(op.result, f"{e[op.data]}.at({e[op.offset]}, {size})")


def _buffer_realize(e: Emitter, op: Operation) -> None:
    raise unsupported(
        op,
        "a realized buffer is a legacy of tensor expressions and is not run",
        "allocate it with tir.alloc_buffer",
    )


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
    tir.StoreOp: _store,
    tir.AccessPtrOp: _access_ptr,
}

"""The code of calls: functions, builtins, and ops of other dialects."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Operation, SSAValue

from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.processor_instructions import (
    ByteDot,
    called_byte_dot,
    operands_of_dot,
)
from xdsl_tvm.dialects.tir.target_functions import target_function
from xdsl_tvm.dialects.tir.types import (
    element_of,
    is_handle,
    is_vector,
)
from xdsl_tvm.interpreters.codegen import builtins as _builtins
from xdsl_tvm.interpreters.codegen import thread_code as _thread_code
from xdsl_tvm.interpreters.codegen.code_writer import Handler, Mode
from xdsl_tvm.interpreters.codegen.emitter import Emitter
from xdsl_tvm.interpreters.codegen.packed_ops import PACKED_CALLS
from xdsl_tvm.interpreters.data.numbers import number
from xdsl_tvm.interpreters.data.values import byte_dots
from xdsl_tvm.interpreters.errors import (
    unsupported,
)

_EXTERN_CALLS = frozenset(
    ("call_extern", "call_pure_extern", "tvm_call_packed", "tvm_call_cpacked")
)


def _call_func(e: Emitter, op: Operation) -> None:
    assert isinstance(op, tir.CallFuncOp)
    site = e.constant(op)
    arguments = "".join(f", {e[arg]}" for arg in op.args)
    call = "yield from call_device" if e.mode is Mode.THREAD else "call_func"
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
    if (dot := called_byte_dot(op)) is not None:
        _byte_dot(e, op, dot)
        return
    name, args = target_function(op, e.settings.is_given)
    if name in _builtins.NO_OPERATION:
        if op.result is not None:
            e.names[op.result] = "0"
        return
    if name in _EXTERN_CALLS:
        _call_extern(e, op)
        return
    special = _SPECIAL.get(name) or PACKED_CALLS.get(name)
    if special is not None:
        special(e, op)
        return
    pure = _OF_OPERANDS.get(name)
    if pure is not None and op.result is not None:
        pure(e, op.result, args)
        return
    _call_template(e, op, name, args)


def _byte_dot(e: Emitter, op: tir.CallOp, dot: ByteDot) -> None:
    operands = operands_of_dot(op)
    result = op.result
    problem = dot.problem([value.type for value in (*operands, *op.results)])
    if result is None or problem is not None:
        raise unsupported(op, problem or "there is no result", "pass vectors of these")
    function = e.constant(byte_dots)
    e.define(result, f"{function}({', '.join(e[value] for value in operands)})")


def _call_template(
    e: Emitter, op: tir.CallOp, name: str, args: Sequence[SSAValue]
) -> None:
    result = op.result
    template = _builtins.TEMPLATES.get(name)
    if result is not None and not is_handle(result.type):
        dtype = number(element_of(result.type))
        if template is None:
            template = _builtins.float_template(name, e.kind(dtype), dtype)
            e.namespace[f"F_{name}"] = _builtins.FLOAT_FUNCTIONS.get(name)
        if template is not None:
            lane = template
            e.map_lanes(result, args, lambda t: lane(dtype, t))
            return
    if name == "assume":
        e.line(f"assume({e[args[0]]})")
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
    if e.mode is Mode.THREAD and e.settings.is_exposed(name.value.data):
        text = f"yield from call_device({e.constant(op)}{values})"
    else:
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


OfOperands = Callable[[Emitter, SSAValue, Sequence[SSAValue]], None]


def _popcount(e: Emitter, result: SSAValue, args: Sequence[SSAValue]) -> None:
    mask = number(element_of(args[0].type))
    bits = mask.high - mask.low
    e.map_lanes(result, args, lambda t: f"({t[0]} & {bits}).bit_count()")


def _clz(e: Emitter, result: SSAValue, args: Sequence[SSAValue]) -> None:
    dtype = number(element_of(args[0].type))
    bits = dtype.high - dtype.low
    e.map_lanes(result, args, lambda t: f"{dtype.bits} - ({t[0]} & {bits}).bit_length()")


def _find_msb(e: Emitter, result: SSAValue, args: Sequence[SSAValue]) -> None:
    """The number of the highest bit that is set, -1 for 0."""
    dtype = number(element_of(args[0].type))
    bits = dtype.high - dtype.low
    e.map_lanes(result, args, lambda t: f"({t[0]} & {bits}).bit_length() - 1")


def _fma(e: Emitter, result: SSAValue, args: Sequence[SSAValue]) -> None:
    dtype = number(element_of(result.type))
    if not dtype.is_float:
        e.map_lanes(result, args, lambda t: e.wrapped(dtype, f"{t[0]} * {t[1]} + {t[2]}"))
        return
    storage = e.constant(dtype.storage)
    e.map_lanes(result, args, lambda t: f"fma({storage}, {', '.join(t)})")


def _nextafter(e: Emitter, result: SSAValue, args: Sequence[SSAValue]) -> None:
    function = e.constant(np.nextafter)
    e.map_lanes(result, args, lambda t: f"{function}({t[0]}, {t[1]})")


_OF_OPERANDS: dict[str, OfOperands] = {
    "popcount": _popcount,
    "clz": _clz,
    "find_msb": _find_msb,
    "fma": _fma,
    "nextafter": _nextafter,
}


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
    """An array; one of handles stands for the pointer, whose elements are not known."""
    assert op.result is not None
    data, shape, strides, _, example, offset = op.args
    if is_handle(example.type):
        e.names[op.result] = e[data]
        return
    kind = e.kind(number(element_of(example.type)))
    e.define(
        op.result,
        f"make_array({e[data]}, {e[shape]}, {e[strides]}, {kind}, {e[offset]})",
    )


def _nd_mem_alloc(e: Emitter, op: tir.CallOp) -> None:
    """Memory for the product of extents, which are a tuple in the code."""
    assert op.result is not None
    pointer = op.result.type
    if not isinstance(pointer, tir.PtrType):
        raise unsupported(op, "it is not known what the memory holds", "give a tir.ptr")
    dtype = number(element_of(pointer.element_type))
    arguments = f"prod({e[op.args[2]]}), {e.kind(dtype)}, {e.lanes(pointer.element_type)}"
    scope = pointer.scope.data
    e.define(op.result, e.allocation(op, scope, arguments))
    e.allocated(e[op.result], scope)


def _tuple(e: Emitter, op: tir.CallOp) -> None:
    if op.result is not None:
        _stack_shape(e, op)


def _atomic(e: Emitter, op: tir.CallOp) -> None:
    assert op.result is not None
    dtype = number(op.result.type)
    kind = e.kind(dtype)
    if e.mode is not Mode.HOST:
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


def _thread_context(e: Emitter, op: tir.CallOp) -> None:
    if op.result is not None:
        e.rename(op.result, op.args[0])


_SPECIAL: dict[str, Call] = {
    "tvm_thread_context": _thread_context,
    "tvm_context_id": _context_id,
    "shift_left": _shift("shift_left"),
    "shift_right": _shift("shift_right"),
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
    "nd_mem_alloc_with_scope": _nd_mem_alloc,
    "tvm_tuple": _tuple,
    "atomic_add": _atomic,
}


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


HANDLERS: dict[type[Operation], Handler] = {
    tir.CallFuncOp: _call_func,
    tir.CallOp: _call,
    tir.ThreadAllreduceOp: _thread_allreduce,
    Operation: _foreign,
}

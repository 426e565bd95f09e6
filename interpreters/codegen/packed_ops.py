"""The code of what packed functions are made of: slots, arrays, lowered calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from xdsl.ir import Attribute

from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.types import is_handle
from xdsl_tvm.interpreters.codegen.emitter import Emitter
from xdsl_tvm.interpreters.codegen.pointer_code import string_operand
from xdsl_tvm.interpreters.data.numbers import number
from xdsl_tvm.interpreters.errors import unsupported


def _element(e: Emitter, dtype: Attribute) -> str:
    """The dtype of a number, or None for a handle, as code."""
    return "None" if is_handle(dtype) else e.kind(number(dtype))


def _struct_get(e: Emitter, op: tir.CallOp) -> None:
    assert op.result is not None
    base, index, field = (e[arg] for arg in op.args)
    element = _element(e, op.result.type)
    e.define(op.result, f"struct_get({base}, {index}, {field}, {element})")


def _struct_set(e: Emitter, op: tir.CallOp) -> None:
    base, index, field, value = (e[arg] for arg in op.args)
    element = _element(e, op.args[3].type)
    _define(e, op, f"struct_set({base}, {index}, {field}, {value}, {element})")


def _define(e: Emitter, op: tir.CallOp, text: str) -> None:
    if op.result is None:
        e.line(text)
    else:
        e.define(op.result, text)


_STACKS: Final[Mapping[str, str]] = {
    "shape": "allocate({0}, {1}, 1)",
    "arg_tcode": "type_codes({0})",
    "arg_value": "packed_values({0})",
    "array": "tensors_on_stack({0})",
}


def _stack_alloca(e: Emitter, op: tir.CallOp) -> None:
    assert op.result is not None
    kind = string_operand(op, 0)
    if kind not in _STACKS:
        raise unsupported(
            op, f"there is no stack of {kind}", f"use one of {', '.join(_STACKS)}"
        )
    integers = e.kind(number(tir.parse_dtype("int64")))
    e.define(op.result, _STACKS[kind].format(e[op.args[1]], integers))


def _packed_lowered(e: Emitter, op: tir.CallOp) -> None:
    """A call of what a name says, with arguments and result in slots."""
    name = string_operand(op, 0)
    values, codes, begin, end = (e[arg] for arg in op.args[1:5])
    resource = e[op.args[5]] if op.callee.data == "tvm_call_cpacked_lowered" else "None"
    site = e.constant(op)
    call = f"call_packed({site}, {name!r}, {values}, {codes}, {begin}, {end}, {resource})"
    result = op.result
    if result is None:
        e.line(call)
        return
    e.line(call)
    if op.callee.data == "tvm_call_trace_packed_lowered":
        given = e[op.args[5]]
        otherwise = f"({given} if is_null_result({codes}, {end}) else "
    else:
        otherwise = ""
    element = _element(e, result.type)
    text = f"packed_result({values}, {codes}, {end}, {element})"
    e.define(result, f"{otherwise}{text}{')' if otherwise else ''}")


def _alloc_workspace(e: Emitter, op: tir.CallOp) -> None:
    assert op.result is not None
    e.define(op.result, f"alloc_workspace({e[op.args[2]]})")


def _free_workspace(e: Emitter, op: tir.CallOp) -> None:
    _define(e, op, f"free_workspace({e[op.args[2]]})")


def _throw_last_error(e: Emitter, op: tir.CallOp) -> None:
    _define(e, op, "throw_last_error()")


PACKED_CALLS: Final[Mapping[str, Callable[[Emitter, tir.CallOp], None]]] = {
    "tvm_struct_get": _struct_get,
    "tvm_struct_set": _struct_set,
    "tvm_stack_alloca": _stack_alloca,
    "tvm_call_packed_lowered": _packed_lowered,
    "tvm_call_cpacked_lowered": _packed_lowered,
    "tvm_call_trace_packed_lowered": _packed_lowered,
    "TVMBackendAllocWorkspace": _alloc_workspace,
    "TVMBackendFreeWorkspace": _free_workspace,
    "tvm_throw_last_error": _throw_last_error,
}

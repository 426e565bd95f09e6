"""Translates one `tir.func` to the source of a Python function.

Every op becomes a line or two, whose op is remembered by line number: an exception is
traced back to its op without any cost while the program runs. The intervals of integers
are followed as far as constants and loop bounds give them, so that most wrap-arounds
and bounds checks of index arithmetic are seen to be redundant.
"""

from __future__ import annotations

from collections.abc import (
    Mapping,
)

from xdsl.ir import Operation

from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.codegen import (
    call_ops,
    expression_ops,
    memory_ops,
    statement_ops,
)
from xdsl_tvm.interpreters.codegen import thread_code as _thread_code
from xdsl_tvm.interpreters.codegen.called_functions import CALLED_FUNCTIONS
from xdsl_tvm.interpreters.codegen.code_writer import Handler, Mode, Program, Settings
from xdsl_tvm.interpreters.codegen.emitter import Emitter

HANDLERS: Mapping[type[Operation], Handler] = {
    **call_ops.HANDLERS,
    **expression_ops.HANDLERS,
    **memory_ops.HANDLERS,
    **statement_ops.HANDLERS,
}


def translate(func: tir.FuncOp, settings: Settings, *, device: bool = False) -> Program:
    """The program of a function; of one that threads call, if `device`.

    Raises InterpretationError for what the interpreter lacks.
    """
    mode = Mode.THREAD if device else Mode.HOST
    e = Emitter(func, settings, HANDLERS, device=device, mode=mode)
    e.has_threads = device or _thread_code.has_threads(func)
    e.namespace.update(CALLED_FUNCTIONS)
    e.namespace["tick"] = settings.tick
    e.namespace["call_func"] = settings.call_func
    e.namespace["call_device"] = settings.call_device
    e.namespace["call_extern"] = settings.call_extern
    e.namespace["call_foreign"] = settings.call_foreign
    e.namespace.update(settings.packed)
    e.namespace["grid"] = settings.grid
    parameters = [e.name_value(arg) for arg in func.args]
    e.lines.append(f"def run({', '.join(parameters)}):")
    e.ops.append(None)
    e.bind_arrays()
    if device and _thread_code.has_threads(func):
        _thread_code.device_axes(e)
    e.block(func.body.block)
    e.line("return None")
    if device:
        e.line("yield")
    return Program("\n".join(e.lines) + "\n", e.ops, e.namespace)

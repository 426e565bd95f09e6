"""The objects of a module of many TIR functions, compiled by several processes.

Processes are those of `unit_objects`, under the same conditions, and the objects are the
same, byte for byte, for any number of them.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from xdsl_tvm.lowering.function_batches import cut_into_batches
from xdsl_tvm.lowering.pipelines import refuse_foreign
from xdsl_tvm.lowering.progress import Progress
from xdsl_tvm.lowering.runtime_symbols import FAILED_ASSERT
from xdsl_tvm.passes.infra import PassContext
from xdsl_tvm.runtime import llvm_jit
from xdsl_tvm.runtime.compiled_objects import CompiledObjects
from xdsl_tvm.runtime.constant_memory import ReservedMemory
from xdsl_tvm.runtime.unit_objects import Goal, compiled_parts


def compile_batches(
    module: ModuleOp,
    *,
    opt_level: int,
    progress: Progress,
    reserved: ReservedMemory,
    mattr: str = "",
) -> CompiledObjects | None:
    """The objects of a module of TIR functions, which is left as it is.

    None if the module is compiled as a whole: it is small, instruments watch the passes,
    its loops are profiled, or functions have assertions that their passes made. Arguments
    and errors are those of `compile_units`.
    """
    context = PassContext.current()
    if context.instruments or context.get_config("tir.instrument_lwp", bool):
        return None
    batches = cut_into_batches(module)
    if batches is None:
        return None
    refuse_foreign(module)
    reserved.stop()
    goal = Goal.of(opt_level, mattr)
    found, last = compiled_parts(batches.alone, batches.rest, goal, reserved, progress)
    if any(llvm_jit.mentions(data, FAILED_ASSERT) for data in found):
        return None
    return CompiledObjects([*found, *last.objects], last.data, last.memory)

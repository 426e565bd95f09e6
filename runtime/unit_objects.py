"""The objects of the units that a module is cut into, compiled by several processes.

`$XDSL_TVM_COMPILE_PROCESSES` is the number of processes, by default that of the
processors that may be used; 1 compiles in this process. Others are copies of this one,
and there are none where that is not safe (`_workers.can_fork`), where threads of compiled
code or of Python run, and where there is little to do. The objects are the same, byte for
byte, for any number.

Kernels are kept in the object cache one by one, by their content: a module of which one
layer has changed, and another model with the same layers, compile what is new.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from functools import partial
from typing import NamedTuple, Protocol

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import DiagnosticException

from xdsl_tvm.dialects.in_threads import available_processors
from xdsl_tvm.lowering.compile_units import Unit, lower_to_units
from xdsl_tvm.lowering.llvm_text.datum import Datum
from xdsl_tvm.lowering.pipelines import (
    llvm_pipeline,
    pipeline_steps,
    relax_optimization,
)
from xdsl_tvm.lowering.progress import Progress
from xdsl_tvm.lowering.runtime_symbols import FAILED_ASSERT
from xdsl_tvm.passes.infra import PassContext
from xdsl_tvm.registry import new_context
from xdsl_tvm.runtime import llvm_jit, threads
from xdsl_tvm.runtime._workers import Ended, can_fork, run_jobs
from xdsl_tvm.runtime.compiled_objects import CompiledObjects
from xdsl_tvm.runtime.compiler_files import compiler_fingerprint
from xdsl_tvm.runtime.constant_memory import ConstantMemory, ReservedMemory
from xdsl_tvm.runtime.module_fingerprint import module_fingerprint
from xdsl_tvm.runtime.object_cache import ObjectCache

PROCESSES_VARIABLE = "XDSL_TVM_COMPILE_PROCESSES"
"""The environment variable that sets how many processes compile."""

MAX_PROCESSES = 256

_WORTH_A_PROCESS = 40
"""Operations that take about as long to compile as a process and its page faults."""


def import_passes(winograd_tile: int) -> None:
    """Imports the passes that `compile_units` runs, where it copies this process."""
    vector_bytes = llvm_jit.host_vector_bytes()
    pipeline_steps(relax_optimization(vector_bytes, winograd_tile))
    pipeline_steps(llvm_pipeline(vector_bytes=vector_bytes))


def compile_units(
    module: ModuleOp,
    exports: Collection[str],
    *,
    opt_level: int,
    winograd_tile: int,
    profile: bool,
    progress: Progress,
    reserved: ReservedMemory,
    mattr: str = "",
) -> CompiledObjects | None:
    """The objects of a module of Relax functions; it is lowered in place.

    None if the module is compiled as a whole: it has fewer than two units, instruments
    watch the passes, its loops are profiled, or a kernel has assertions that its passes
    made. Its constants are copied to `reserved`, whose thread is ended. `progress` is
    told of the passes for Relax, and then of each unit, in the order of the module.
    `mattr` is that of `llvm_jit.machine_without`.
    Raises what the passes raise, for the first unit that fails, and DiagnosticException
    if LLVM ends a process.
    """
    context = PassContext.current()
    if context.instruments or context.get_config("tir.instrument_lwp", bool):
        return None
    goal = Goal.of(opt_level, mattr)
    units = lower_to_units(
        new_context(),
        module,
        exports,
        lambda unit: module_fingerprint(unit)[:32],
        vector_bytes=goal.vector_bytes,
        features=goal.features,
        winograd_tile=winograd_tile,
        profile=profile,
        progress=progress,
    )
    reserved.stop()
    if len(units) < 2:
        return None
    *kernels, callers = units
    cache = ObjectCache.default()
    keys = [None if cache.folder is None else _key(unit, goal) for unit in kernels]
    objects = [None if key is None else cache.get(key) for key in keys]
    missing = [number for number, data in enumerate(objects) if data is None]
    new, last = compiled_parts(
        [kernels[number] for number in missing], callers, goal, reserved, progress
    )
    for number, data in zip(missing, new, strict=True):
        objects[number] = data
        key = keys[number]
        if key is not None:
            cache.put(key, data)
    found = [data for data in objects if data is not None]
    if any(llvm_jit.mentions(data, FAILED_ASSERT) for data in found):
        return None
    return CompiledObjects([*found, *last.objects], last.data, last.memory)


class Goal(NamedTuple):
    """What units are compiled for."""

    opt_level: int
    vector_bytes: int
    features: str
    mattr: str

    @staticmethod
    def of(opt_level: int, mattr: str) -> Goal:
        vector_bytes = llvm_jit.host_vector_bytes(mattr)
        return Goal(opt_level, vector_bytes, llvm_jit.host_features(mattr), mattr)

    def object(self, text: str) -> bytes:
        """The object file of an LLVM module."""
        return llvm_jit.compile_object(text, self.opt_level, mattr=self.mattr)


def _key(kernel: Unit, goal: Goal) -> str:
    """Where the object of a kernel is kept."""
    return llvm_jit.host_cache_key(
        "kernel",
        module_fingerprint(kernel.module),
        compiler_fingerprint(),
        PassContext.current().fingerprint(),
        f"{goal.opt_level} {goal.mattr}",
    )


class Part(Protocol):
    """A part of a module that becomes an object file: a `Unit` or the like."""

    @property
    def name(self) -> str: ...

    @property
    def size(self) -> int: ...

    @property
    def effort(self) -> int: ...

    def lower(
        self,
        ctx: Context,
        vector_bytes: int,
        data: list[Datum] | None = None,
        *,
        features: str = "",
    ) -> str: ...


def compiled_parts(
    parts: Sequence[Part],
    last: Part | None,
    goal: Goal,
    reserved: ReservedMemory,
    progress: Progress,
) -> tuple[list[bytes], CompiledObjects]:
    """The objects of parts that any process compiles, and those of `last`.

    This process compiles the last: its constants stay where they are.
    """
    jobs = [partial(_object, part, goal) for part in parts]
    order = sorted(range(len(parts)), key=lambda number: -parts[number].effort)
    every = [*parts] if last is None else [*parts, last]
    processes = _processes(sum(part.size for part in every))
    if processes > 1:
        # Imported and prepared here, they are so in all processes.
        pipeline_steps(
            llvm_pipeline(vector_bytes=goal.vector_bytes, features=goal.features)
        )
    found: list[CompiledObjects | Exception] = []

    def compile_last() -> None:
        try:
            found.append(_last_objects(last, goal, reserved))
        except Exception as error:
            # The error of another part comes before it.
            found.append(error)

    outcomes = run_jobs(jobs, order, processes, compile_last)
    objects: list[bytes] = []
    for number, (part, outcome) in enumerate(zip(parts, outcomes, strict=True)):
        progress(f"machine code of {part.name}", number, len(every))
        if isinstance(outcome, Ended):
            raise DiagnosticException(
                f"LLVM cannot compile {part.name}: its process {outcome.reason}; compile "
                "with opt_level=0, or change the function"
            )
        if isinstance(outcome, Exception):
            raise outcome
        objects.append(outcome)
    if last is not None:
        progress(f"machine code of {last.name}", len(parts), len(every))
    if isinstance(found[0], Exception):
        raise found[0]
    return objects, found[0]


def _object(part: Part, goal: Goal) -> bytes:
    text = part.lower(new_context(), goal.vector_bytes, features=goal.features)
    return goal.object(text)


def _last_objects(
    last: Part | None, goal: Goal, reserved: ReservedMemory
) -> CompiledObjects:
    if last is None:
        return CompiledObjects([])
    data: list[Datum] | None = [] if llvm_jit.holds_data() else None
    text = last.lower(new_context(), goal.vector_bytes, data, features=goal.features)
    object_file = goal.object(text)
    # Constants are copied now, while other processes compile.
    memory = ConstantMemory(data, reserved) if data else None
    return CompiledObjects([object_file], data or (), memory)


def compile_processes() -> int:
    """How many processes compile a large module.

    Raises ValueError if the environment sets no number from 1 to 256.
    """
    text = os.environ.get(PROCESSES_VARIABLE)
    if text is None:
        return min(available_processors(), MAX_PROCESSES)
    try:
        count = int(text)
    except ValueError:
        count = 0
    if not 1 <= count <= MAX_PROCESSES:
        raise ValueError(
            f"{PROCESSES_VARIABLE} is '{text}'; set it to a number from 1 to "
            f"{MAX_PROCESSES}"
        )
    return count


def _processes(size: int) -> int:
    count = compile_processes()
    if size < 2 * _WORTH_A_PROCESS or threads.is_running() or not can_fork():
        return 1
    return min(count, size // _WORTH_A_PROCESS)

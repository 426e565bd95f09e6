"""Modules compiled for this machine's processor."""

from __future__ import annotations

import ctypes
import functools
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.relax.functions import has_relax_functions
from xdsl_tvm.dialects.copies import copy_of
from xdsl_tvm.lowering.llvm_text.datum import Datum
from xdsl_tvm.lowering.llvm_text.thread_pool import LAUNCH, host_system, with_thread_pool
from xdsl_tvm.lowering.progress import Progress
from xdsl_tvm.lowering.relax.conversion.packed_call import CALL_PACKED
from xdsl_tvm.lowering.runtime_symbols import (
    CALL_WITH_SLOTS,
    COUNT,
    EVENTS,
    FAILED_ASSERT,
    KERNEL_NAMES,
    KERNEL_TIMES,
    LIMIT,
    NAMES,
    failed_number,
    reporting_name,
)
from xdsl_tvm.passes.infra import PassContext
from xdsl_tvm.registry import new_context
from xdsl_tvm.runtime import llvm_jit, threads
from xdsl_tvm.runtime._failed_assert import FailedAssert
from xdsl_tvm.runtime._overlap import OverlapCheck, allow_overlap
from xdsl_tvm.runtime._scalars import argument_types, result_type
from xdsl_tvm.runtime.call import CompiledFunction, Entry
from xdsl_tvm.runtime.compiled_objects import CompiledObjects
from xdsl_tvm.runtime.compiler_files import compiler_fingerprint
from xdsl_tvm.runtime.constant_memory import ReservedMemory
from xdsl_tvm.runtime.executable_base import Executable
from xdsl_tvm.runtime.loop_times import LoopRecorder
from xdsl_tvm.runtime.module_fingerprint import fingerprint_of
from xdsl_tvm.runtime.object_cache import ObjectCache
from xdsl_tvm.runtime.packed_calls import Externs, PackedCalls, check_externs
from xdsl_tvm.runtime.packed_functions import (
    ENTRY_TYPES,
    PackedFunction,
    PackedSignature,
)
from xdsl_tvm.runtime.signature import Signature, module_symbols

_POINTER = ctypes.c_void_p


def no_progress(name: str, number: int, count: int) -> None:
    """Tells nobody of the steps of a compilation."""


@dataclass(frozen=True)
class Settings:
    """How a module is compiled; see `compile`."""

    opt_level: int = 2
    optimize: bool = True
    profile: bool = False
    bound_checks: bool = False
    progress: Progress = no_progress
    fuse_multiply_add: bool = True
    """For a GPU."""
    winograd_tile: int = 2
    """For the processor."""
    mattr: str = ""
    """What code is not to use of the processor, as of `llvm_jit.machine_without`."""
    allow_tf32: bool = False
    """For a GPU."""


class KernelTime(NamedTuple):
    """How often a kernel was called, and for how long in all."""

    name: str
    calls: int
    seconds: float


class NativeExecutable(Executable):
    """Functions compiled for this machine's processor."""

    def __init__(
        self,
        module: ModuleOp,
        settings: Settings,
        externs: Externs | None = None,
        reserved: ReservedMemory | None = None,
    ) -> None:
        """Compile a module; its large constants are copied to `reserved`, if given."""
        super().__init__(module)
        check_externs(module, externs or {})
        _check_names(module)
        self._module = module
        self._unlowered = module
        self._overlapping: NativeExecutable | None = None
        self._passes = PassContext.current().without_instruments()
        if self.packed_functions:
            # They are lowered already, as far as passes for TIR go.
            settings = replace(settings, optimize=False)
        self._settings = settings
        self._externs = externs
        self._is_profiled = settings.profile and has_relax_functions(module)
        reserved = reserved or ReservedMemory()
        self.machine_code = compiled = self._cached_or_compiled(reserved)
        """The objects, and the constants that they declare."""
        self._objects = compiled.objects
        mentioned = llvm_jit.mentioned(self._objects)
        exports = dict.fromkeys(s.function for s in self.signatures.values())
        exports.update(dict.fromkeys(self.packed_functions))
        self._reporting = {name for name in exports if mentioned(reporting_name(name))}
        """The functions that can fail."""
        exports.update(dict.fromkeys(map(reporting_name, self._reporting)))
        # As many as messages have: with no gaps, from the first on.
        numbers = list(
            itertools.takewhile(mentioned, map(failed_number, itertools.count()))
        )
        if self._is_profiled:
            exports.update({KERNEL_NAMES: None, KERNEL_TIMES: None})
        has_marks = mentioned(EVENTS)
        if has_marks:
            exports.update(dict.fromkeys((EVENTS, LIMIT, COUNT, NAMES)))
        calls = [n for n in (CALL_PACKED, CALL_WITH_SLOTS) if mentioned(n)]
        packed_calls = PackedCalls(externs or {}, self.__getitem__) if calls else None
        symbols: dict[str, int] = {}
        for data in self._objects:
            symbols.update(threads.launch_symbols(data))
        if packed_calls is not None:
            known = {
                CALL_PACKED: packed_calls.address,
                CALL_WITH_SLOTS: packed_calls.slots_address,
            }
            symbols.update((name, known[name]) for name in calls)
        self._code = llvm_jit.load_objects(
            self._objects,
            exports,
            symbols=symbols,
            constants=compiled.constants(reserved),
        )
        address = self._code.address
        self.loop_recorder = LoopRecorder(address) if has_marks else None
        """Records times of functions and loops, where InstrumentProfileIntrinsics has
        marked some, as `tir.instrument_lwp` in a `PassContext` asks for."""
        self.failure_numbers = len(numbers)
        """How many numbers a message of a failure has at most."""
        self._failure = FailedAssert(self.failure_numbers, packed_calls)
        self.is_plain = not (
            calls or has_marks or self._is_profiled or self.packed_functions
        )
        """Whether the code needs nothing of the runtime but threads and messages."""

    def reports(self, function: str) -> bool:
        """Whether a function can fail, so that it has a slot for the message."""
        return function in self._reporting

    def _cached_or_compiled(self, reserved: ReservedMemory) -> CompiledObjects:
        cache = ObjectCache.default()
        if cache.folder is None or PassContext.current().instruments:
            # Nobody asks for the digest of the module; or instruments see the passes,
            # which they may leave out.
            return self._compiled(reserved)
        settings = self._settings
        found = fingerprint_of(self._module)
        key = llvm_jit.host_cache_key(
            "module",
            found.digest,
            compiler_fingerprint(),
            PassContext.current().fingerprint(),
            f"{settings.opt_level} {settings.optimize} {settings.profile} "
            f"{settings.bound_checks} {settings.winograd_tile} {settings.mattr}",
        )
        entry = cache.get(key)
        if entry is not None:
            cached = CompiledObjects.of_entry(entry, found.constants)
            if cached is not None:
                return cached
        compiled = self._compiled(reserved)
        cache.put(key, compiled.entry(found.digests))
        return compiled

    def _compiled(self, reserved: ReservedMemory) -> CompiledObjects:
        settings = self._settings
        if settings.optimize and has_relax_functions(self._module):
            # Late: a module that is found in the cache needs none of it.
            from xdsl_tvm.runtime.unit_objects import compile_units

            compiled = compile_units(
                copy_of(self._module),
                {signature.function for signature in self.signatures.values()},
                opt_level=settings.opt_level,
                winograd_tile=settings.winograd_tile,
                profile=settings.profile,
                progress=settings.progress,
                reserved=reserved,
                mattr=settings.mattr,
            )
            if compiled is not None:
                return compiled
        elif settings.optimize:
            # Late: as above.
            from xdsl_tvm.runtime.batch_objects import compile_batches

            compiled = compile_batches(
                self._module,
                opt_level=settings.opt_level,
                progress=settings.progress,
                reserved=reserved,
                mattr=settings.mattr,
            )
            if compiled is not None:
                return compiled
        text, data = self._text_and_data()
        settings.progress("machine code", 1, 1)
        found = llvm_jit.compile_object(text, settings.opt_level, mattr=settings.mattr)
        return CompiledObjects([found], data)

    @cached_property
    def llvm_ir(self) -> str:
        """The LLVM IR of the module, before LLVM's own passes."""
        # Late: a module that is found in the cache needs it not.
        from xdsl_tvm.lowering.llvm_ir import llvm_ir

        return llvm_ir(new_context(), self._lowered)

    def _text_and_data(self) -> tuple[str, list[Datum]]:
        """The LLVM IR with large constants only declared, and these, where objects of
        constants can be made."""
        from xdsl_tvm.lowering.llvm_ir import llvm_ir

        if not llvm_jit.holds_data():
            return self.llvm_ir, []
        data: list[Datum] = []
        return llvm_ir(new_context(), self._lowered, data=data), data

    @cached_property
    def _lowered(self) -> ModuleOp:
        """The module, lowered in place."""
        # Late: a module that is found in the cache needs it not.
        from xdsl_tvm.lowering.pipelines import lower_to_llvm

        context = new_context()
        settings = self._settings
        if any(_may_overlap(signature) for signature in self.signatures.values()):
            self._unlowered = copy_of(self._module)
        mattr = settings.mattr
        vectors = llvm_jit.host_vector_bytes(mattr) if settings.optimize else None
        with self._passes.applied():
            lower_to_llvm(
                context,
                self._module,
                vector_bytes=vectors,
                winograd_tile=settings.winograd_tile,
                profile=settings.profile,
                bound_checks=settings.bound_checks,
                progress=settings.progress,
                features=llvm_jit.host_features(mattr),
            )
        return self._module

    def get_source(self, fmt: str = "") -> str:
        """The LLVM IR, TVM's format `ll`. Raises ValueError for another format."""
        if fmt not in ("", "ll"):
            raise ValueError(f"there is no source of the format '{fmt}'; use ll")
        return self.llvm_ir

    def object_file(self, path: str | Path) -> None:
        """Write the object file, for a linker, to `path`.

        With parallel loops comes the thread pool, which programs have once, however many
        such files they are linked from. Calls of functions by name need a definition of
        `tvm_call_packed` (`lowering/relax/conversion/packed.py`) from whoever links them.
        """
        text = with_thread_pool(self.llvm_ir, host_system())
        settings = self._settings
        data = llvm_jit.compile_object(
            text, settings.opt_level, linked=True, mattr=settings.mattr
        )
        Path(path).write_bytes(data)

    def export_library(self, path: str | Path) -> None:
        """Link the functions into a library that `tvm_ffi.load_module` loads.

        A function `f` is the symbol `__tvm_ffi_f`, and takes what Python functions take
        here: arrays of any library that knows DLPack, on memory of the CPU, which are not
        copied, numbers, shapes and tuples. Relax functions return new arrays. Arrays that
        a function writes must not overlap others. The code is for processors like this
        one's. It is linked by `$CC`, or `cc`, or the compiler of the package ziglang. A
        file that ends in .tar is an archive with the library, for `load_module`.

        Raises PassFailedException for a function that cannot be exported, such as one
        with numbers that C has no type for, DiagnosticException where there is no C
        compiler or it fails, and OSError where the file cannot be written.
        """
        # Late: whoever exports nothing needs none of it.
        from xdsl_tvm.runtime.exported_library import export_library

        text, data = self._text_and_data()
        text = with_thread_pool(text, host_system())
        functions = {name: self._signature(name) for name in self}
        settings = self._settings
        export_library(path, functions, text, data, settings.opt_level, settings.mattr)

    def __getitem__(self, name: str) -> CompiledFunction | PackedFunction:
        found = super().__getitem__(name)
        assert isinstance(found, CompiledFunction | PackedFunction)
        return found

    @cached_property
    def _kernel_tables(self) -> tuple[list[str], Any]:
        """The names of the kernels, and the array of their calls and nanoseconds."""
        text = ctypes.string_at(self._code.address(KERNEL_NAMES)).decode()
        names = text.split("\n") if text else []
        table = ctypes.c_int64 * (2 * len(names))
        return names, table.from_address(self._code.address(KERNEL_TIMES))

    def kernel_times(self) -> list[KernelTime]:
        """The time in each kernel since the last `reset_kernel_times`, longest first.

        Raises RuntimeError if the module was not compiled with `profile`.
        """
        if not self._is_profiled:
            raise RuntimeError("no times are taken; compile with profile=True")
        names, table = self._kernel_tables
        times = [
            KernelTime(name, table[2 * i], table[2 * i + 1] * 1e-9)
            for i, name in enumerate(names)
        ]
        return sorted(times, key=lambda time: -time.seconds)

    def reset_kernel_times(self) -> None:
        """Forget all times so far."""
        if self._is_profiled:
            ctypes.memset(
                self._kernel_tables[1], 0, ctypes.sizeof(self._kernel_tables[1])
            )

    def _bind(self, signature: Signature) -> CompiledFunction:
        return CompiledFunction(
            signature,
            self._entry(signature),
            functools.partial(self._overlapping_entry, signature),
        )

    def _bind_packed(self, signature: PackedSignature) -> PackedFunction:
        types = ENTRY_TYPES[signature.abi]
        entry = self._native(signature.function, ctypes.c_int32, types)
        address = self._code.address(signature.function)
        return PackedFunction(signature, entry, address)

    def _entry(self, signature: Signature) -> Entry:
        return self._native(
            signature.function, result_type(signature), argument_types(signature)
        )

    def _native(self, name: str, result: Any, types: Sequence[Any]) -> Entry:
        """The function in machine code, whose failed assertions are exceptions."""
        if name not in self._reporting:
            return self._code.function(name, result, *types)
        native = self._code.function(reporting_name(name), result, *types, _POINTER)
        return functools.partial(self._failure.guard, native)

    @property
    def overlapping(self) -> NativeExecutable:
        """The module compiled such that arguments may overlap, made when first needed.

        It has neither schedules nor parallel loops.
        """
        if self._overlapping is None:
            module = self._unlowered.clone()
            allow_overlap(module)
            settings = replace(self._settings, optimize=False, profile=False)
            with self._passes.applied():
                self._overlapping = NativeExecutable(module, settings, self._externs)
        return self._overlapping

    def _overlapping_entry(self, signature: Signature) -> Entry:
        return self.overlapping._entry(signature)


_RUNTIME_SYMBOLS = (FAILED_ASSERT, CALL_PACKED, KERNEL_NAMES, KERNEL_TIMES, LAUNCH)


def _check_names(module: ModuleOp) -> None:
    """Check that a module defines nothing that compiled code has or calls by itself.

    Raises PassFailedException, of one line, for the first that is.
    """
    for name, op in module_symbols(module).items():
        if not any(region.blocks for region in op.regions):
            continue
        if name in _RUNTIME_SYMBOLS or name in llvm_jit.IMPLICIT_CALLS:
            where = "the runtime" if name in _RUNTIME_SYMBOLS else "the C library"
            raise PassFailedException(
                f"{op.name} @{name}: compiled code calls the function of {where} that "
                "has this name; rename it"
            )


def _may_overlap(signature: Signature) -> bool:
    """Whether a call whose arguments overlap runs code of its own."""
    return not signature.noalias and OverlapCheck(signature).needed

"""LLVM IR text to machine code: objects, assembly, PTX, and functions to call.

The text must come from the emitter, for a module that `tvm-verify-llvm-legal` accepts:
LLVM ends the process on code that it cannot select, and nothing here can prevent it.

Needs llvmlite (`pip install "xdsl-tvm[cpu]"`), which is imported on first use. Every
function may be called from any thread.
"""

from __future__ import annotations

import ctypes
import importlib
import itertools
import os
import re
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from typing import Any

from xdsl.utils.exceptions import DiagnosticException

from xdsl_tvm.lowering.llvm_text.datum import Datum
from xdsl_tvm.lowering.llvm_text.nvptx_versions import ARCHS, ptx_version
from xdsl_tvm.lowering.llvm_text.vectorized_loops import is_vectorized
from xdsl_tvm.runtime import _elf
from xdsl_tvm.runtime.constant_memory import ConstantMemory
from xdsl_tvm.runtime.object_cache import ObjectCache, cache_key

NVPTX_ARCHS: tuple[str, ...] = tuple(ARCHS)
"""The GPU architectures that `ptx` accepts."""

X86_CPUS: frozenset[str] = frozenset(
    {
        "alderlake",
        "broadwell",
        "cascadelake",
        "cooperlake",
        "core2",
        "core-avx2",
        "emeraldrapids",
        "graniterapids",
        "haswell",
        "icelake-client",
        "icelake-server",
        "ivybridge",
        "k8",
        "nehalem",
        "sandybridge",
        "sapphirerapids",
        "sierraforest",
        "skylake",
        "skylake-avx512",
        "tigerlake",
        "westmere",
        "x86-64",
        "x86-64-v2",
        "x86-64-v3",
        "x86-64-v4",
        "znver1",
        "znver2",
        "znver3",
        "znver4",
        "znver5",
    }
)
"""The x86-64 processors that `assembly` accepts besides this machine's own.

LLVM ends the process when it is given a 32-bit one.
"""

_MEMORY_CALLS = "bcmp memcmp memcpy memmove memset"
_MATH_CALLS = (
    "ceil copysign fabs floor fma fmax fmaximum fmin fminimum fmod nearbyint rint "
    "round roundeven sqrt trunc"
)

IMPLICIT_CALLS: frozenset[str] = frozenset(
    {
        *_MEMORY_CALLS.split(),
        *_MATH_CALLS.split(),
        *(f"{name}f" for name in _MATH_CALLS.split()),
    }
)
"""Those that LLVM calls where a program does not: for a loop that sets memory, say."""

LIBRARY_FUNCTIONS: frozenset[str] = frozenset(
    {
        "abort",
        "aligned_alloc",
        "calloc",
        "clock_gettime",
        "pthread_self",
        "free",
        "malloc",
        "posix_memalign",
        "realloc",
        "write",
        *IMPLICIT_CALLS,
    }
)
"""Functions of the C library that compiled code may call."""

_LINKER_SYMBOLS = frozenset({"_GLOBAL_OFFSET_TABLE_"})

_GPU_FUNCTIONS = frozenset({"__assertfail", "free", "malloc", "vprintf"})

_LOCK = threading.RLock()
_NAMES = itertools.count()
_HELD_AT_FORK: list[Any] = []


def _enter_fork() -> None:
    """Waits until no other thread is inside of LLVM.

    LLVM's own locks and tables are copied as they are: a child that found them in the
    middle of a change could not compile.
    """
    _LOCK.acquire()
    _HELD_AT_FORK.append(lock := _llvmlite_lock())
    if lock is not None:
        lock.__enter__()


def _leave_fork() -> None:
    if (lock := _HELD_AT_FORK.pop()) is not None:
        lock.__exit__(None, None, None)
    _LOCK.release()


def _llvmlite_lock() -> Any:
    """The lock that llvmlite holds in each of its calls, such as those that free code."""
    ffi: Any = sys.modules.get("llvmlite.binding.ffi")
    return None if ffi is None else getattr(ffi.lib, "_lock", None)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_enter_fork,
        after_in_parent=_leave_fork,
        after_in_child=_leave_fork,
    )


@dataclass(frozen=True)
class Machine:
    """What code is compiled for: LLVM's names of the target and its processor."""

    triple: str
    cpu: str
    features: str = ""


@cache
def _binding() -> Any:
    """llvmlite's binding, ready for this machine.

    Raises DiagnosticException if llvmlite is not installed.
    """
    try:
        binding = importlib.import_module("llvmlite.binding")
    except ImportError:
        raise DiagnosticException(
            'native code needs llvmlite: pip install "xdsl-tvm[cpu]"'
        ) from None
    with _LOCK:
        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
        binding.initialize_native_asmparser()
    return binding


@cache
def _all_targets() -> None:
    """Makes all targets ready; addresses of shared memory of GPUs have 32 bits.

    The latter is a switch of LLVM for the process, which it reads with each machine.
    """
    binding = _binding()
    binding.set_option("", "-nvptx-short-ptr")
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()


@cache
def host_machine() -> Machine:
    """This machine, with all the features of its processor."""
    binding = _binding()
    with _LOCK:
        return Machine(
            binding.get_process_triple(),
            binding.get_host_cpu_name(),
            binding.get_host_cpu_features().flatten(),
        )


@cache
def _target_machine(machine: Machine, opt_level: int, jit: bool) -> Any:
    """LLVM's target machine, which is kept: its tables take a millisecond to make.

    To be used with `_LOCK` held.
    """
    binding = _binding()
    try:
        target = binding.Target.from_triple(machine.triple)
    except RuntimeError as error:
        raise DiagnosticException(
            f"LLVM has no target '{machine.triple}': {error}"
        ) from None
    return target.create_target_machine(
        cpu=machine.cpu,
        features=machine.features,
        opt=opt_level,
        reloc="default" if jit else "pic",
        codemodel="jitdefault" if jit else "default",
        jit=jit,
    )


def _optimized(text: str, target_machine: Any, opt_level: int) -> Any:
    """The module after LLVM's pipeline of that level, vectorizers included."""
    module = _parsed(text, target_machine)
    builder = _pass_builder(target_machine, opt_level)
    builder.getModulePassManager().run(module, builder)
    return module


def _optimized_for_cpu(text: str, target_machine: Any, opt_level: int) -> Any:
    """The same, or without what gains nothing where the text has its vectors.

    Each function is simplified, and its loops are unrolled. What is left out inlines,
    vectorizes and cleans up after that.
    """
    if opt_level < 2 or not is_vectorized(text):
        return _optimized(text, target_machine, opt_level)
    module = _parsed(text, target_machine)
    builder = _pass_builder(target_machine, opt_level)
    passes = builder.getFunctionPassManager()
    passes.add_loop_unroll_pass()
    for function in module.functions:
        if not function.is_declaration:
            passes.run(function, builder)
    return module


def _parsed(text: str, target_machine: Any) -> Any:
    """The module, verified. Raises DiagnosticException where LLVM rejects it."""
    binding = _binding()
    try:
        module = binding.parse_assembly(text)
        module.triple = target_machine.triple
        module.data_layout = str(target_machine.target_data)
        module.verify()
    except RuntimeError as error:
        reason = " ".join(str(error).split())
        raise DiagnosticException(f"LLVM rejects the module: {reason}") from None
    return module


def _pass_builder(target_machine: Any, opt_level: int) -> Any:
    binding = _binding()
    options = binding.create_pipeline_tuning_options(speed_level=opt_level)
    options.slp_vectorization = opt_level > 1
    options.loop_vectorization = opt_level > 1
    return binding.create_pass_builder(target_machine, options)


def object_file(
    text: str, *, opt_level: int = 2, cache: ObjectCache | None = None
) -> bytes:
    """The object file of an LLVM module, compiled for this machine.

    The result is kept in `cache`, by default the one that the environment names. Raises
    DiagnosticException if LLVM rejects the text or llvmlite is missing.
    """
    if cache is None:
        cache = ObjectCache.default()
    key = host_cache_key("object", text, str(opt_level))
    return cache.get_or_make(key, lambda: compile_object(text, opt_level))


def compile_object(
    text: str, opt_level: int, *, linked: bool = False, mattr: str = ""
) -> bytes:
    """The object file of an LLVM module, compiled in any case; see `object_file`.

    `linked`: for a linker, as position-independent code, instead of for this process.
    `mattr` is that of `machine_without`.
    """
    machine = machine_without(mattr)
    with _LOCK:
        target_machine = _target_machine(machine, opt_level, jit=not linked)
        module = _optimized_for_cpu(text, target_machine, opt_level)
        return target_machine.emit_object(module)


def holds_data() -> bool:
    """Whether constants may be apart from the LLVM module that declares them here."""
    return _elf.can_hold_data(host_machine().triple)


def linked_objects(
    text: str, data: Sequence[Datum], opt_level: int, mattr: str = ""
) -> list[bytes]:
    """The object file of an LLVM module, and that of the constants that it declares.

    They are for a linker. Without constants there is one file. There may be some where
    `holds_data`.
    """
    objects = [compile_object(text, opt_level, linked=True, mattr=mattr)]
    if data:
        objects.append(_elf.data_object(data, host_machine().triple))
    return objects


_VECTOR_BYTES = (("avx512f", 64), ("avx", 32))
"""Features of processors, the widest vectors first, and the bytes of a vector."""


def host_vector_bytes(mattr: str = "") -> int:
    """The width of this machine's vectors, in bytes; 16 is what every one has.

    `mattr` is that of `machine_without`.
    """
    features = _flags(machine_without(mattr))
    return next((size for name, size in _VECTOR_BYTES if features.get(name)), 16)


def host_features(mattr: str = "") -> str:
    """The features of this machine that schedules ask for, with spaces between.

    `mattr` is that of `machine_without`.
    """
    # Late: a module that is found in the cache needs no dialect.
    from xdsl_tvm.dialects.tir.processor_instructions import FEATURES

    flags = _flags(machine_without(mattr))
    return " ".join(sorted(name for name in FEATURES if flags.get(name)))


@cache
def machine_without(mattr: str) -> Machine:
    """This machine, with the features that `mattr` takes away: `-avx512vnni,-avxvnni`.

    Raises ValueError for a feature that this machine does not know, and for one that it
    is to have and lacks.
    """
    machine = host_machine()
    if not mattr:
        return machine
    flags = dict(_flags(machine))
    for flag in mattr.split(","):
        sign, name = flag[:1], flag[1:]
        if sign not in ("+", "-") or name not in flags:
            raise ValueError(
                f"mattr names '{flag}'; name features of this machine's processor, such "
                "as -avx512vnni"
            )
        if sign == "+" and not flags[name]:
            raise ValueError(
                f"mattr asks for '{flag}', which this machine's processor lacks; compile "
                "for it with the target asm"
            )
        flags[name] = sign == "+"
    for name, needed in _IMPLIED.items():
        flags[name] = flags.get(name, False) and flags.get(needed, False)
    features = ",".join(f"{'+' if has else '-'}{name}" for name, has in flags.items())
    return Machine(machine.triple, machine.cpu, features)


@cache
def _flags(machine: Machine) -> Mapping[str, bool]:
    """What a machine has, and what it lacks."""
    return {flag[1:]: flag[0] == "+" for flag in machine.features.split(",") if flag}


_IMPLIED = {
    "avx2": "avx",
    "avx512f": "avx2",
    "avxvnni": "avx2",
    "avx512vl": "avx512f",
    "avx512vnni": "avx512f",
}
"""Features that schedules ask for, each of which needs the other, in their order."""


def host_cache_key(*parts: str) -> str:
    """The key of what `parts` and this machine and its LLVM determine."""
    machine = host_machine()
    return cache_key(*parts, machine.triple, machine.cpu, machine.features, *_versions())


@cache
def _versions() -> tuple[str, str]:
    return metadata.version("llvmlite"), metadata.version("xdsl-tvm")


def assembly(
    text: str,
    *,
    triple: str = "",
    cpu: str = "",
    features: str = "",
    opt_level: int = 2,
) -> str:
    """The assembly of an LLVM module.

    For this machine unless `triple` names another: x86-64 and AArch64 are supported.
    `cpu` defaults to this machine's processor, or to the least of another triple.
    Raises DiagnosticException for other targets and for text that LLVM rejects.
    """
    machine = _machine(triple, cpu, features)
    with _LOCK:
        if machine.triple != host_machine().triple:
            _all_targets()
        target_machine = _target_machine(machine, opt_level, jit=False)
        module = _optimized_for_cpu(text, target_machine, opt_level)
        return target_machine.emit_assembly(module)


def _machine(triple: str, cpu: str, features: str) -> Machine:
    host = host_machine()
    if not triple and not cpu:
        return Machine(host.triple, host.cpu, features or host.features)
    triple = triple or host.triple
    family = triple.partition("-")[0]
    if family not in ("x86_64", "aarch64", "arm64"):
        raise DiagnosticException(
            f"no code generation for '{triple}': x86_64 and aarch64 are supported"
        )
    if family == "x86_64":
        cpu = cpu or "x86-64"
        if cpu not in X86_CPUS and cpu != host.cpu:
            raise DiagnosticException(
                f"unknown x86-64 processor '{cpu}': try 'x86-64-v3' or 'skylake-avx512'"
            )
    return Machine(triple, cpu or "generic", features)


class LocalMemoryWarning(UserWarning):
    """An array of each thread is in memory, not in registers."""


def ptx(text: str, arch: str = "sm_80", *, opt_level: int = 3) -> str:
    """The PTX of an LLVM module of kernels.

    The PTX version is the lowest that `arch` and the intrinsics of the module allow, so
    old drivers take it. Raises DiagnosticException for an unknown `arch`, for an
    intrinsic that it does not have, for text that LLVM rejects and for a call of a
    function that GPUs do not have. Arrays of threads that do not become registers are
    a `LocalMemoryWarning`.
    """
    if arch not in NVPTX_ARCHS:
        raise DiagnosticException(
            f"unknown GPU architecture '{arch}': use one of {', '.join(NVPTX_ARCHS)}"
        )
    version = ptx_version(text, arch)
    features = f"+ptx{version}" if version > ARCHS[arch] else ""
    machine = Machine("nvptx64-nvidia-cuda", arch, features)
    with _LOCK:
        _all_targets()
        target_machine = _target_machine(machine, opt_level, jit=False)
        module = _optimized(text, target_machine, opt_level)
        arrays = _local_arrays(module)
        code = target_machine.emit_assembly(module)
    for kernel, array in arrays:
        warnings.warn(
            f"the kernel '{kernel}' keeps the array {array} in local memory, which is "
            "slow: index it with constants and with counters of loops that are unrolled "
            "('T.unroll'), or make it smaller",
            LocalMemoryWarning,
            stacklevel=2,
        )
    for name in _EXTERN_FUNCTION.findall(code):
        if name not in _GPU_FUNCTIONS:
            raise DiagnosticException(
                f"the kernels call '{name}', which GPUs do not have: expand or define it"
            )
    return code


def _local_arrays(module: Any) -> list[tuple[str, str]]:
    """The kernels and the arrays of theirs that optimization has left in memory."""
    return [
        (function.name, f"'{instruction.name.partition('.')[0]}'")
        for function in module.functions
        if not function.is_declaration
        for instruction in next(iter(function.blocks)).instructions
        if instruction.opcode == "alloca"
    ]


_EXTERN_FUNCTION = re.compile(
    r"^\.extern \.func\s+(?:\([^)]*\)\s*)?([\w$.]+)", re.MULTILINE
)


# ---------------------------------------------------------------- code in memory


class NativeCode:
    """A loaded object; its functions stay valid as long as this object lives.

    `code.address("f")` is the address of an exported function. `constants` is the memory
    that the code reads.
    """

    def __init__(self, tracker: Any, constants: ConstantMemory | None = None) -> None:
        self._tracker = tracker
        self._constants = constants

    def address(self, name: str) -> int:
        """The address of an exported function or global.

        Raises KeyError if `name` was not among the exports.
        """
        return self._tracker[name]

    def function(self, name: str, result: Any, *arguments: Any) -> Any:
        """An exported function as a ctypes function with these ctypes types.

        The function keeps the code alive.
        """
        function = ctypes.CFUNCTYPE(result, *arguments)(self.address(name))
        _keep_alive(function, self)
        return function


def _keep_alive(function: Any, code: NativeCode) -> None:
    function.xdsl_tvm_code = code


@cache
def _engine() -> Any:
    return _binding().create_lljit_compiler(
        _target_machine(host_machine(), 2, jit=True), suppress_errors=True
    )


def load(
    text: str,
    exports: Iterable[str],
    *,
    symbols: Mapping[str, int] | None = None,
    opt_level: int = 2,
    cache: ObjectCache | None = None,
) -> NativeCode:
    """Compiles an LLVM module, or finds it in the cache, and loads it.

    `exports` names the functions whose addresses will be asked for; `symbols` gives the
    addresses of functions that the module declares, besides `LIBRARY_FUNCTIONS`. Raises
    DiagnosticException if an export is missing or a called function is in neither.
    """
    return load_object(
        object_file(text, opt_level=opt_level, cache=cache), exports, symbols=symbols
    )


def load_object(
    data: bytes,
    exports: Iterable[str],
    *,
    symbols: Mapping[str, int] | None = None,
) -> NativeCode:
    """Loads an object file that `object_file` made; arguments as of `load`."""
    return load_objects([data], exports, symbols=symbols)


def load_objects(
    objects: Sequence[bytes],
    exports: Iterable[str],
    *,
    symbols: Mapping[str, int] | None = None,
    constants: ConstantMemory | None = None,
) -> NativeCode:
    """Loads object files that may call each other; arguments as of `load`.

    `constants` are those that they declare.
    """
    exports = list(exports)
    symbols = {**(symbols or {}), **(constants.addresses if constants else {})}
    _check_symbols(objects, exports, symbols)
    builder = _binding().JITLibraryBuilder()
    for data in objects:
        builder.add_object_img(data)
    builder.add_current_process()
    for name, address in symbols.items():
        builder.import_symbol(name, address)
    for name in exports:
        builder.export_symbol(name)
    with _LOCK:
        try:
            tracker = builder.link(_engine(), f"xdsl_tvm_{next(_NAMES)}")
        except RuntimeError as error:
            reason = " ".join(str(error).split())
            raise DiagnosticException(f"cannot load the code: {reason}") from None
    return NativeCode(tracker, constants)


def mentions(data: bytes, name: str) -> bool:
    """Whether an object file that `object_file` made defines or uses a global symbol."""
    return mentioned([data])(name)


def mentioned(objects: Iterable[bytes]) -> Callable[[str], bool]:
    """Whether one of the object files defines or uses a global symbol, by its name."""
    names: set[str] = set()
    others: list[bytes] = []
    for data in objects:
        if _elf.is_elf(data):
            names.update(symbol.name for symbol in _elf.symbols(data))
        else:
            others.append(data)

    def is_mentioned(name: str) -> bool:
        # A table of strings, in which C's names may begin with an underscore.
        text = name.encode() + b"\0"
        return name in names or any(
            b"\0" + text in data or b"\0_" + text in data for data in others
        )

    return is_mentioned


def needs(data: bytes, name: str) -> bool:
    """Whether an object file that `object_file` made uses a symbol and defines none."""
    if _elf.is_elf(data):
        found = [symbol for symbol in _elf.symbols(data) if symbol.name == name]
        return bool(found) and not any(symbol.defined for symbol in found)
    return name.encode() in data


def _check_symbols(
    objects: Sequence[bytes], exports: Iterable[str], symbols: Mapping[str, int]
) -> None:
    if not all(map(_elf.is_elf, objects)):
        # Other formats are left to the loader, which reports what it cannot find.
        return
    found = [symbol for data in objects for symbol in _elf.symbols(data)]
    defined = {symbol.name for symbol in found if symbol.defined}
    missing = {
        symbol.name
        for symbol in found
        if symbol.name not in defined and not _is_known(symbol.name, symbols)
    }
    if missing:
        raise DiagnosticException(
            f"the code calls {', '.join(map(repr, sorted(missing)))}, which nobody "
            "defines: run tvm-expand-math, or pass the address in 'symbols'"
        )
    if any(symbol.thread_local for symbol in found):
        raise DiagnosticException("thread_local globals cannot be loaded: pass pointers")
    for name in exports:
        if name not in defined:
            raise DiagnosticException(f"the module does not define '@{name}'")


def _is_known(name: str, symbols: Mapping[str, int]) -> bool:
    if name in symbols or name in _LINKER_SYMBOLS:
        return True
    return name in LIBRARY_FUNCTIONS and hasattr(ctypes.CDLL(None), name)

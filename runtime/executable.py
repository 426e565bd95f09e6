"""Modules as callables on numpy arrays.

`compile` takes a module of Relax and TIR functions, lowers it and gives an `Executable`;
`executable["name"](…)` calls a function. A TIR function writes to arrays it is given; a
Relax function makes new arrays.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import os
import struct
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias
from weakref import WeakSet

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.dialects.tir.target import Target
from xdsl_tvm.lowering.llvm_text.thread_pool import LAUNCH, host_system, with_thread_pool
from xdsl_tvm.lowering.pipelines import has_relax_functions
from xdsl_tvm.lowering.relax.conversion.packed_call import CALL_PACKED
from xdsl_tvm.lowering.relax.conversion.profile import KERNEL_NAMES, KERNEL_TIMES
from xdsl_tvm.lowering.to_llvm.lower_assert import (
    FAILED_ASSERT,
    OUT_OF_MEMORY,
    failed_number,
)
from xdsl_tvm.registry import new_context
from xdsl_tvm.runtime import _fork as _fork
from xdsl_tvm.runtime._arguments import Arguments, Bound
from xdsl_tvm.runtime._module_source import Source as Source
from xdsl_tvm.runtime._module_source import load_module as load_module
from xdsl_tvm.runtime._module_source import load_text as load_text
from xdsl_tvm.runtime._overlap import OverlapCheck, allow_overlap
from xdsl_tvm.runtime.object_cache import ObjectCache
from xdsl_tvm.runtime.packed_calls import Externs, PackedCalls, check_externs
from xdsl_tvm.runtime.signature import (
    ArraySpec,
    ScalarSpec,
    ShapeSpec,
    Signature,
    Spec,
    module_symbols,
    signatures,
)

TARGETS = ("llvm", "cuda")


class Executable(ABC, Mapping[str, Callable[..., Any]]):
    """Compiled functions, by name; made by `compile`."""

    def __init__(self, module: ModuleOp) -> None:
        self._signatures = signatures(module)
        self._functions: dict[str, Callable[..., Any]] = {}

    @property
    def signatures(self) -> dict[str, Signature]:
        """The signatures of all functions that can be called."""
        return {n: s for n, s in self._signatures.items() if isinstance(s, Signature)}

    def __getitem__(self, name: str) -> Callable[..., Any]:
        """The function of this name, to call with numpy arrays and numbers.

        Raises KeyError if there is none, and PassFailedException if its parameters are
        none that Python can pass.
        """
        found = self._functions.get(name)
        if found is None:
            found = self._functions[name] = self._bind(self._signature(name))
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._signatures)

    def __len__(self) -> int:
        return len(self._signatures)

    def __repr__(self) -> str:
        """The functions with their parameters and results, each in a line."""
        lines = [
            f"  {found}" if isinstance(found, Signature) else f"  @{name}: {found}"
            for name, found in self._signatures.items()
        ]
        return "\n".join([f"<{type(self).__name__}", *lines]) + ">"

    def _signature(self, name: str) -> Signature:
        signature = self._signatures.get(name)
        if signature is None:
            known = ", ".join(f"'{n}'" for n in self._signatures) or "none"
            raise KeyError(
                f"no public function '{name}'; the module has {known}, and a function is "
                "public if it has the attribute global_symbol"
            )
        if isinstance(signature, PassFailedException):
            raise signature
        return signature

    @abstractmethod
    def _bind(self, signature: Signature) -> Callable[..., Any]:
        """The callable for a function."""


Progress: TypeAlias = Callable[[str, int, int], None]
"""Told of each step of a compilation: its name, its number from 0, how many there are."""


def _silent(name: str, number: int, count: int) -> None:
    pass


@dataclass(frozen=True)
class Settings:
    """How a module is compiled; see `compile`."""

    opt_level: int = 2
    optimize: bool = True
    profile: bool = False
    bound_checks: bool = False
    progress: Progress = _silent


class NativeExecutable(Executable):
    """Functions compiled for this machine's processor."""

    def __init__(
        self, module: ModuleOp, settings: Settings, externs: Externs | None = None
    ) -> None:
        from xdsl_tvm.passes.infra import PassContext
        from xdsl_tvm.runtime import llvm_jit
        from xdsl_tvm.runtime.module_fingerprint import (
            compiler_fingerprint,
            module_fingerprint,
        )

        super().__init__(module)
        check_externs(module, externs or {})
        _check_names(module)
        self._module = module
        self._unlowered = module
        self._overlapping: NativeExecutable | None = None
        self._settings = settings
        self._externs = externs
        self._is_profiled = settings.profile and has_relax_functions(module)
        key = llvm_jit.host_cache_key(
            "module",
            module_fingerprint(module),
            compiler_fingerprint(),
            repr(sorted(PassContext.current().config.items())),
            f"{settings.opt_level} {settings.optimize} {settings.profile} "
            f"{settings.bound_checks}",
        )
        self._object = ObjectCache.default().get_or_make(key, self._compiled)
        exports = dict.fromkeys(s.function for s in self.signatures.values())
        can_fail = llvm_jit.mentions(self._object, FAILED_ASSERT)
        # As many as messages have: with no gaps, from the first on.
        numbers = list(
            itertools.takewhile(
                functools.partial(llvm_jit.mentions, self._object),
                map(failed_number, itertools.count()),
            )
        )
        if can_fail:
            exports.update(dict.fromkeys([FAILED_ASSERT, *numbers]))
        if self._is_profiled:
            exports.update({KERNEL_NAMES: None, KERNEL_TIMES: None})
        calls_python = llvm_jit.mentions(self._object, CALL_PACKED)
        packed = PackedCalls(externs or {}) if calls_python else None
        symbols = {} if packed is None else {CALL_PACKED: packed.address}
        self._code = llvm_jit.load_object(self._object, exports, symbols=symbols)
        address = self._code.address
        self._failure = (
            FailedAssert(address(FAILED_ASSERT), [address(n) for n in numbers], packed)
            if can_fail
            else None
        )

    def _compiled(self) -> bytes:
        from xdsl_tvm.runtime import llvm_jit

        text = self.llvm_ir
        self._settings.progress("machine code", 1, 1)
        return llvm_jit.compile_object(text, self._settings.opt_level)

    @cached_property
    def llvm_ir(self) -> str:
        """The LLVM IR of the module, before LLVM's own passes."""
        from xdsl_tvm.lowering.llvm_ir import llvm_ir
        from xdsl_tvm.lowering.pipelines import lower_to_llvm
        from xdsl_tvm.runtime.llvm_jit import host_vector_bytes

        context = new_context()
        settings = self._settings
        if any(_may_overlap(signature) for signature in self.signatures.values()):
            self._unlowered = self._module.clone()
        vectors = host_vector_bytes() if settings.optimize else None
        lower_to_llvm(
            context,
            self._module,
            vector_bytes=vectors,
            profile=settings.profile,
            bound_checks=settings.bound_checks,
            progress=settings.progress,
        )
        return llvm_ir(context, self._module)

    def object_file(self, path: str | Path) -> None:
        """Write the object file, for a linker, to `path`.

        With parallel loops comes the thread pool, which programs have once, however many
        such files they are linked from. Calls of functions by name need a definition of
        `tvm_call_packed` (`lowering/relax/conversion/packed.py`) from whoever links them.
        """
        from xdsl_tvm.runtime import llvm_jit

        text = with_thread_pool(self.llvm_ir, host_system())
        data = llvm_jit.compile_object(text, self._settings.opt_level, linked=True)
        Path(path).write_bytes(data)

    def __getitem__(self, name: str) -> CompiledFunction:
        found = super().__getitem__(name)
        assert isinstance(found, CompiledFunction)
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

    def _entry(self, signature: Signature) -> Entry:
        native = self._code.function(
            signature.function,
            _result_type(signature),
            *_argument_types(signature),
        )
        if self._failure is None:
            return native
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
            self._overlapping = NativeExecutable(module, settings, self._externs)
        return self._overlapping

    def _overlapping_entry(self, signature: Signature) -> Entry:
        return self.overlapping._entry(signature)


_RUNTIME_SYMBOLS = (FAILED_ASSERT, CALL_PACKED, KERNEL_NAMES, KERNEL_TIMES, LAUNCH)


def _check_names(module: ModuleOp) -> None:
    """Check that a module defines nothing that compiled code has or calls by itself.

    Raises PassFailedException, of one line, for the first that is.
    """
    from xdsl_tvm.runtime.llvm_jit import IMPLICIT_CALLS

    for name, op in module_symbols(module).items():
        if not any(region.blocks for region in op.regions):
            continue
        if name in _RUNTIME_SYMBOLS or name in IMPLICIT_CALLS:
            where = "the runtime" if name in _RUNTIME_SYMBOLS else "the C library"
            raise PassFailedException(
                f"{op.name} @{name}: compiled code calls the function of {where} that "
                "has this name; rename it"
            )


def _may_overlap(signature: Signature) -> bool:
    """Whether a call whose arguments overlap runs code of its own."""
    return not signature.noalias and OverlapCheck(signature).needed


Entry: TypeAlias = Callable[..., Any]
"""A function in machine code, called with addresses and numbers."""


class KernelTime(NamedTuple):
    """How often a kernel was called, and for how long in all."""

    name: str
    calls: int
    seconds: float


class CompiledFunction:
    """A compiled function, to call with numpy arrays, numbers and tuples."""

    def __init__(
        self,
        signature: Signature,
        entry: Entry,
        overlapping_entry: Callable[[], Entry],
        bound: Bound | None = None,
    ) -> None:
        self.signature = signature
        self.__name__ = self.__qualname__ = signature.function
        self._arguments = Arguments(signature)
        self._entry = entry
        self._overlapping_entry = overlapping_entry
        self._overlap = OverlapCheck(signature)
        self._bound = Bound({}, {}) if bound is None else bound
        scalar = signature.scalar_result
        form = None if scalar is None else _SMALL_FLOATS.get(scalar.name)
        self._decode = None if form is None else form.decode
        # What to pass for bound parameters is known once and for all.
        self._encoders = [
            _constant(encoder(self._bound.params[position]))
            if position in self._bound.params
            else encoder
            for position, encoder in enumerate(map(_encoder, signature.params))
        ]

    def __repr__(self) -> str:
        return f"<compiled {self.signature}>"

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Run the function, with its parameters in order or by name.

        Arrays may share elements, even if the function writes them, unless it promises
        `tir.noalias`: the result is that of the loops as they are written. The first such
        call compiles the module again, without schedules and without parallel loops.

        Raises TypeError or ValueError for arguments that do not fit, MemoryError where
        memory cannot be allocated, RuntimeError if an assertion fails, and what a Python
        function raises that the code calls.
        """
        if named:
            args = tuple(self._arguments.ordered(args, named, self._bound))
        prepared = self._arguments(args, self._bound)
        values: list[Any] = []
        for encode, value in zip(self._encoders, prepared.params, strict=True):
            values += encode(value)
        entry = self._entry
        if self._overlap.needed and (names := self._overlap(prepared.params, values)):
            if self.signature.noalias:
                other_way = ", or compile the function without tir.noalias"
                raise self._overlap.error(names, other_way)
            entry = self._overlapping_entry()
        values += map(_address, prepared.results)
        values += prepared.symbols
        result = entry(*values)
        if self.signature.result is None:
            return result if self._decode is None else self._decode(result)
        return self._arguments.tree(prepared.results)

    def bind(self, *trailing: Any, **named: Any) -> CompiledFunction:
        """The function with its last parameters, and those named, given once.

        Bound arrays are checked now, not at every call, and are used as they are then.

        >>> main = compile(model)["main"].bind(*weights)
        >>> y = main(x)

        Raises TypeError or ValueError for a value that does not fit its parameter.
        """
        signature = self.signature
        if signature.tuples is not None:
            raise TypeError(
                f"@{signature.function}: parameters of a function that takes tuples "
                "cannot be bound"
            )
        values = {**self._positions(trailing), **self._named(named)}
        bound = self._arguments.bind(values)
        params = {**self._bound.params, **bound.params}
        symbols = {**self._bound.symbols, **bound.symbols}
        return CompiledFunction(
            signature, self._entry, self._overlapping_entry, Bound(params, symbols)
        )

    def _positions(self, trailing: Sequence[Any]) -> dict[int, Any]:
        count = len(self.signature.params)
        free = [p for p in range(count) if p not in self._bound.params]
        if len(trailing) > len(free):
            raise TypeError(
                f"@{self.signature.function} has {len(free)} parameters to bind, got "
                f"{len(trailing)}"
            )
        return dict(zip(free[len(free) - len(trailing) :], trailing, strict=True))

    def _named(self, named: Mapping[str, Any]) -> dict[int, Any]:
        names = [spec.name for spec in self.signature.params]
        for name in named:
            if name not in names:
                raise TypeError(
                    f"@{self.signature.function} has no parameter '{name}'; it has "
                    f"{', '.join(names)}"
                )
        return {names.index(name): value for name, value in named.items()}


Encoder: TypeAlias = "Callable[[Any], Sequence[Any]]"
"""What is passed for a checked argument."""


def _encoder(spec: Spec) -> Encoder:
    if isinstance(spec, ArraySpec):
        return lambda value: (_address(value),)
    if isinstance(spec, ScalarSpec) and spec.dtype.name in _SMALL_FLOATS:
        encode, dtype = _SMALL_FLOATS[spec.dtype.name].encode, spec.dtype
        return lambda value: (encode(dtype.type(value)),)
    return (
        (lambda value: value) if isinstance(spec, ShapeSpec) else lambda value: (value,)
    )


def _constant(values: Sequence[Any]) -> Encoder:
    return lambda value: values


class FailedAssert:
    """The place where compiled code says that an assertion failed.

    There is one per module, so calls of functions of modules with assertions wait for
    each other. A function that the code calls may call it again, on the same thread.
    """

    def __init__(
        self, address: int, numbers: Sequence[int], packed: PackedCalls | None
    ) -> None:
        self._message = ctypes.c_int64.from_address(address)
        self._numbers = [ctypes.c_int64.from_address(each) for each in numbers]
        self._packed = packed
        self._lock = threading.RLock()
        _FAILED_ASSERTS.add(self)

    def forget_threads(self) -> None:
        """Called in the child of a fork: threads of the parent may hold the lock."""
        self._lock = threading.RLock()

    def guard(self, function: Any, *arguments: Any) -> Any:
        """The function's result.

        Raises what a Python function raised that the code has called, MemoryError if
        memory could not be allocated, and RuntimeError for another failed assertion.
        """
        with self._lock:
            self._message.value = 0
            result = function(*arguments)
            address = self._message.value
            # Python may have been called from a call that goes on.
            self._message.value = 0
        if address:
            raise self._error(ctypes.string_at(address).decode(errors="replace"))
        return result

    def _with_numbers(self, text: str) -> str:
        for place, number in enumerate(self._numbers):
            text = text.replace(f"{{{failed_number(place)}}}", str(number.value))
        return text

    def _error(self, text: str) -> BaseException:
        raised = None if self._packed is None else self._packed.take_error()
        if raised is not None:
            return raised
        if text.startswith(OUT_OF_MEMORY):
            return MemoryError(text)
        return RuntimeError(f"assertion failed: {self._with_numbers(text)}")


_FAILED_ASSERTS: WeakSet[FailedAssert] = WeakSet()


def _forget_threads() -> None:
    for failed in list(_FAILED_ASSERTS):
        failed.forget_threads()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)


def _address(array: Any) -> int:
    return array.__array_interface__["data"][0]


_CTYPES: dict[str, Any] = {
    "bool": ctypes.c_bool,
    "int8": ctypes.c_int8,
    "int16": ctypes.c_int16,
    "int32": ctypes.c_int32,
    "int64": ctypes.c_int64,
    "uint8": ctypes.c_uint8,
    "uint16": ctypes.c_uint16,
    "uint32": ctypes.c_uint32,
    "uint64": ctypes.c_uint64,
    "float32": ctypes.c_float,
    "float64": ctypes.c_double,
}


class SmallFloat(NamedTuple):
    """How a float type that C lacks is passed: as a C type with the same bits in it."""

    ctype: Any
    encode: Callable[[Any], Any]
    """The number for ctypes, of a numpy scalar."""
    decode: Callable[[Any], float]
    """The value of a result."""


def _half_in_double(value: Any) -> float:
    return struct.unpack("<d", struct.pack("<exxxxxx", value))[0]


def _double_to_half(value: float) -> float:
    return struct.unpack("<exxxxxx", struct.pack("<d", value))[0]


def _bfloat_bits(value: Any) -> int:
    return int.from_bytes(value.tobytes(), "little")


def _bits_to_bfloat(bits: int) -> float:
    return struct.unpack("<f", struct.pack("<I", bits << 16))[0]


# A half is in the low bits of a floating-point register. As a double these bits are moved
# only; as a float they would be converted, and flushed to zero where that is the mode.
_SMALL_FLOATS: dict[str, SmallFloat] = {
    "float16": SmallFloat(ctypes.c_double, _half_in_double, _double_to_half),
    "bfloat16": SmallFloat(ctypes.c_uint16, _bfloat_bits, _bits_to_bfloat),
}


def scalar_ctype(signature: Signature, dtype: np.dtype[Any]) -> Any:
    """The C type of a scalar; PassFailedException where C has none."""
    if dtype.name in _SMALL_FLOATS:
        return _SMALL_FLOATS[dtype.name].ctype
    found = _CTYPES.get(dtype.name)
    if found is None:
        raise PassFailedException(
            f"@{signature.function} cannot be called from Python: scalars of type "
            f"{dtype.name} cannot be passed; pass an array of one element"
        )
    return found


def _argument_types(signature: Signature) -> list[Any]:
    types: list[Any] = []
    for param in signature.params:
        match param:
            case ArraySpec():
                types.append(ctypes.c_void_p)
            case ScalarSpec():
                types.append(scalar_ctype(signature, param.dtype))
            case ShapeSpec():
                types += [ctypes.c_int64] * len(param.shape)
    types += [ctypes.c_void_p] * len(signature.results)
    return types + [ctypes.c_int64] * len(signature.symbols)


def _result_type(signature: Signature) -> Any:
    dtype = signature.scalar_result
    return None if dtype is None else scalar_ctype(signature, dtype)


def compile(
    module: Source,
    target: str | Target = "llvm",
    *,
    opt_level: int = 2,
    optimize: bool = True,
    arch: str | None = None,
    profile: bool = False,
    bound_checks: bool = False,
    progress: Progress | None = None,
    externs: Externs | None = None,
) -> Executable:
    """Compile a module for this machine.

    `target` is `llvm`, for the processor, or `cuda`, for the first GPU, in a form that
    `Target.parse` reads. `opt_level` is LLVM's, 0 to 3. With `optimize`, Relax functions
    take `relax-default-pipeline`, and TIR functions for the processor are scheduled by
    `tir-default-cpu-schedule`, unless they have a schedule, and take
    `tir-default-pipeline`; without, they are compiled as they are written. `arch` is the
    GPU architecture, such as `sm_80`, by default that of the target, or else of the GPU.
    The module is left as it is. Arrays that a function writes may overlap others, unless
    it has `tir.noalias`; such calls run code without a schedule, see `CompiledFunction`.

    With `bound_checks`, code is compiled as it is written, and every access and integer
    division of TIR functions is asserted: where an index is out of bounds, or a division
    has no result, the call raises RuntimeError, instead of having undefined behavior. It
    is for the processor only.

    With `profile`, calls of TIR functions from Relax functions are timed, and
    `kernel_times` of the executable gives the times. `progress` is told of each step; a
    module that is found in the cache takes none. `externs` are the Python functions that
    Relax functions call by name, as `relax.call_packed` does: they get arrays on memory
    that they must not keep, numbers and tuples.

    >>> executable = compile(Path("vector_add.mlir"))
    >>> executable["vector_add"](a, b, c)

    `module` may be a function, such as one that `T.prim_func` or `R.function` decorates,
    a file or the text of one, too; see `Source`.

    Raises TypeError for any other object, ValueError for text that is no module, an
    unknown target or one with attributes that this machine's processor would not heed,
    PassFailedException where something has no lowering, DiagnosticException if an extra
    is not installed, and RuntimeError if there is no GPU. A call of a compiled function
    raises RuntimeError if an assertion in it fails.
    """
    kind, target_arch = _kind_and_arch(Target.parse(target))
    arch = arch or target_arch
    loaded = load_module(module)
    if kind == "cuda":
        from xdsl_tvm.runtime.cuda import CudaExecutable

        if bound_checks:
            raise ValueError(
                "bound_checks is for the target llvm; run kernels with xdsl_tvm.interpret"
            )
        return CudaExecutable(loaded, arch)
    # The executable keeps the module and lowers it in place where it has to.
    owned = loaded.clone() if loaded is module else loaded
    settings = Settings(
        opt_level,
        optimize and not bound_checks,
        profile,
        bound_checks,
        progress or _silent,
    )
    return NativeExecutable(owned, settings, externs)


def _kind_and_arch(target: Target) -> tuple[str, str | None]:
    kind = target.kind.name
    if kind not in TARGETS:
        raise ValueError(f"unknown target '{kind}'; use one of {', '.join(TARGETS)}")
    if kind == "llvm" and target.attrs.data:
        raise ValueError(
            "the target llvm is this machine's processor, and takes no attributes; leave "
            f"out {', '.join(target.attrs.data)}"
        )
    arch = target.attr("arch") if kind == "cuda" else None
    return kind, arch if isinstance(arch, str) else None

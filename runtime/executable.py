"""Modules as callables on numpy arrays.

`compile` takes a module of Relax and TIR functions, lowers it and gives an `Executable`;
`executable["name"](…)` calls a function. A TIR function writes to arrays it is given; a
Relax function makes new arrays.
"""

from __future__ import annotations

import ctypes
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError, PassFailedException, VerifyException

from xdsl_tvm.dialects.tir.target import Target
from xdsl_tvm.lowering.tvm.lower_assert import FAILED_ASSERT
from xdsl_tvm.registry import new_context
from xdsl_tvm.runtime._arguments import Arguments
from xdsl_tvm.runtime.object_cache import ObjectCache
from xdsl_tvm.runtime.signature import ArraySpec, Signature, signatures
from xdsl_tvm.targets._thread_pool import host_system, with_thread_pool

Source: TypeAlias = ModuleOp | str | Path
"""A module; its text; or a file, as a Path or a name that ends in .mlir, or in .py, which
is a script in TVMScript that is read and not run."""

TARGETS = ("llvm", "cuda")


def load_module(source: Source, context: Context | None = None) -> ModuleOp:
    """The module that `source` is or holds, verified.

    Raises ValueError, of one line, for text that is no module, FileNotFoundError for a
    file that does not exist, and VerifyException for a module that is not valid.
    """
    if isinstance(source, ModuleOp):
        source.verify()
        return source
    name = "<text>"
    if isinstance(source, Path) or _is_file_name(source):
        name = str(source)
        text = Path(source).read_text(encoding="utf-8")
    else:
        text = source
    try:
        module = _parsed(text, name, context)
    except ParseError as error:
        line, message = _location(error)
        raise ValueError(f"{name}:{line}: {message}") from None
    try:
        module.verify()
    except VerifyException as error:
        reason = str(error).strip().splitlines() or ["invalid"]
        raise ValueError(f"{name}: {reason[-1]}") from None
    return module


def _parsed(text: str, name: str, context: Context | None) -> ModuleOp:
    if name.endswith(".py"):
        # Late: most modules are no scripts.
        from xdsl_tvm.tvmscript.parser import parse

        return parse(text, file=name)
    return Parser(context or new_context(), text, name).parse_module()


def _is_file_name(source: str) -> bool:
    return source.endswith((".mlir", ".py")) and "\n" not in source


def _location(error: ParseError) -> tuple[int, str]:
    span = error.span
    content = span.input.content
    before = content if isinstance(content, str) else content.decode(errors="replace")
    line = len(before[: span.start].split("\n"))
    return line, error.msg.strip().splitlines()[0]


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


class NativeExecutable(Executable):
    """Functions compiled for this machine's processor."""

    def __init__(self, module: ModuleOp, opt_level: int, optimize: bool) -> None:
        from xdsl_tvm.passes.infra import PassContext
        from xdsl_tvm.runtime import llvm_jit
        from xdsl_tvm.runtime.module_fingerprint import (
            compiler_fingerprint,
            module_fingerprint,
        )

        super().__init__(module)
        self._module = module
        self._optimize = optimize
        self._opt_level = opt_level
        key = llvm_jit.host_cache_key(
            "module",
            module_fingerprint(module),
            compiler_fingerprint(),
            repr(sorted(PassContext.current().config.items())),
            f"{opt_level} {optimize}",
        )
        self._object = ObjectCache.default().get_or_make(
            key, lambda: llvm_jit.compile_object(self.llvm_ir, opt_level)
        )
        exports = dict.fromkeys(s.function for s in self.signatures.values())
        # An object names a symbol that it defines, whatever its format.
        can_fail = FAILED_ASSERT.encode() in self._object
        if can_fail:
            exports[FAILED_ASSERT] = None
        self._code = llvm_jit.load_object(self._object, exports)
        self._failure = (
            FailedAssert(self._code.address(FAILED_ASSERT)) if can_fail else None
        )

    @cached_property
    def llvm_ir(self) -> str:
        """The LLVM IR of the module, before LLVM's own passes."""
        from xdsl_tvm.lowering.pipelines import lower_to_llvm
        from xdsl_tvm.runtime.llvm_jit import host_vector_bytes
        from xdsl_tvm.targets._llvm_input import host_functions
        from xdsl_tvm.targets._llvm_text import emit_llvm_ir

        context = new_context()
        vectors = host_vector_bytes() if self._optimize else None
        lower_to_llvm(context, self._module, vector_bytes=vectors)
        return emit_llvm_ir(host_functions(context, self._module))

    def object_file(self, path: str | Path) -> None:
        """Write the object file, for a linker, to `path`.

        With parallel loops comes the thread pool, which programs have once, however many
        such files they are linked from.
        """
        from xdsl_tvm.runtime import llvm_jit

        text = with_thread_pool(self.llvm_ir, host_system())
        data = llvm_jit.compile_object(text, self._opt_level, linked=True)
        Path(path).write_bytes(data)

    def _bind(self, signature: Signature) -> Callable[..., Any]:
        arguments = Arguments(signature)
        native = self._code.function(
            signature.function,
            _result_type(signature),
            *_argument_types(signature),
        )
        is_array = [isinstance(param, ArraySpec) for param in signature.params]
        makes_result = signature.result is not None
        failure = self._failure

        def call(*args: Any) -> Any:
            prepared = arguments(args)
            values = [
                _address(value) if array else value
                for value, array in zip(prepared.params, is_array, strict=True)
            ]
            values += map(_address, prepared.results)
            if failure is None:
                result = native(*values, *prepared.symbols)
            else:
                result = failure.guard(native, *values, *prepared.symbols)
            return arguments.tree(prepared.results) if makes_result else result

        call.__name__ = call.__qualname__ = signature.function
        return call


class FailedAssert:
    """The place where compiled code says that an assertion failed.

    There is one per module, so calls of functions of modules with assertions wait for
    each other.
    """

    def __init__(self, address: int) -> None:
        self._message = ctypes.c_int64.from_address(address)
        self._lock = threading.Lock()

    def guard(self, function: Any, *arguments: Any) -> Any:
        """The function's result; RuntimeError with the message if an assertion fails."""
        with self._lock:
            self._message.value = 0
            result = function(*arguments)
            address = self._message.value
        if address:
            text = ctypes.string_at(address).decode(errors="replace")
            raise RuntimeError(f"assertion failed: {text}")
        return result


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


def scalar_ctype(signature: Signature, dtype: np.dtype[Any]) -> Any:
    """The C type of a scalar; PassFailedException where C has none."""
    found = _CTYPES.get(dtype.name)
    if found is None:
        raise PassFailedException(
            f"@{signature.function} cannot be called from Python: scalars of type "
            f"{dtype.name} cannot be passed; pass an array of one element"
        )
    return found


def _argument_types(signature: Signature) -> list[Any]:
    types = [
        ctypes.c_void_p
        if isinstance(param, ArraySpec)
        else scalar_ctype(signature, param.dtype)
        for param in signature.params
    ]
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
) -> Executable:
    """Compile a module for this machine.

    `target` is `llvm`, for the processor, or `cuda`, for the first GPU, in a form that
    `Target.parse` reads. `opt_level` is LLVM's, 0 to 3. With `optimize`, TIR functions
    for the processor are scheduled by `tir-default-cpu-schedule`, unless they have a
    schedule, and take `tir-default-pipeline`; without, they are compiled as they are
    written. `arch` is the GPU architecture, such as `sm_80`, by default that of the
    target, or else of the GPU. The module is left as it is.

    >>> executable = compile(Path("vector_add.mlir"))
    >>> executable["vector_add"](a, b, c)

    Raises ValueError for text that is no module, an unknown target or one with attributes
    that this machine's processor would not heed,
    PassFailedException where something has no lowering, DiagnosticException if an extra
    is not installed, and RuntimeError if there is no GPU. A call of a compiled function
    raises RuntimeError if an assertion in it fails.
    """
    kind, target_arch = _kind_and_arch(Target.parse(target))
    arch = arch or target_arch
    loaded = load_module(module)
    if kind == "cuda":
        from xdsl_tvm.runtime.cuda import CudaExecutable

        return CudaExecutable(loaded, arch)
    # The executable keeps the module and lowers it in place where it has to.
    owned = loaded.clone() if loaded is module else loaded
    return NativeExecutable(owned, opt_level, optimize)


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

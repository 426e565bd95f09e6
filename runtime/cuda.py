"""Modules compiled for the first NVIDIA GPU, called with arrays on it or of numpy.

Host code is machine code, which computes sizes, allocates and launches kernels on one
stream by the driver. Arrays of numpy are copied to the GPU, and back where they are
written; arrays on the GPU are passed as they are.
"""

from __future__ import annotations

import ctypes
import json
import re
import threading
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.lowering.llvm_text.nvptx_versions import sm_of
from xdsl_tvm.lowering.relax.conversion.packed_call import CALL_PACKED
from xdsl_tvm.lowering.runtime_symbols import DRIVER_FUNCTIONS, reporting_name
from xdsl_tvm.lowering.to_llvm.convert_gpu_launch_to_driver import (
    STREAM,
    Manifest,
    constant_address,
    kernel_handle,
    manifest_of,
)
from xdsl_tvm.passes.infra import PassContext
from xdsl_tvm.registry import new_context
from xdsl_tvm.runtime import llvm_jit
from xdsl_tvm.runtime._arguments import Array, Arrays, Prepared
from xdsl_tvm.runtime._failed_assert import FailedAssert
from xdsl_tvm.runtime._given_results import Given
from xdsl_tvm.runtime._overlap import OverlapCheck, share_elements
from xdsl_tvm.runtime._scalars import argument_types, result_type
from xdsl_tvm.runtime.call import CompiledFunction, Entry
from xdsl_tvm.runtime.compiler_files import compiler_fingerprint
from xdsl_tvm.runtime.cuda_driver import Driver, default_driver
from xdsl_tvm.runtime.cuda_graphs import CallGraphs
from xdsl_tvm.runtime.device import Device, cuda
from xdsl_tvm.runtime.device_array import DeviceArray, Stream, device_array
from xdsl_tvm.runtime.executable_base import Executable
from xdsl_tvm.runtime.llvm_jit import NVPTX_ARCHS, ptx
from xdsl_tvm.runtime.module_fingerprint import module_fingerprint
from xdsl_tvm.runtime.native import Settings
from xdsl_tvm.runtime.object_cache import ObjectCache
from xdsl_tvm.runtime.packed_calls import (
    Externs,
    PackedCalls,
    Tensors,
    check_externs,
    checked,
)
from xdsl_tvm.runtime.signature import (
    NO_PUBLIC_FUNCTION,
    ArraySpec,
    Signature,
    signatures,
)


def gpu_arch(capability: tuple[int, int]) -> str:
    """The architecture that has most of what a GPU can do, of those PTX is made for.

    For compute capability 9.0 it is `sm_90a`, whose kernels use warpgroups. What NVIDIA's
    PTX ISA says of such targets is that no other GPU runs their code, and PTX made for
    the GPU of this process need not run on others. PTX 8.0, which they take, is known to
    every driver that is not refused. Raises RuntimeError for a GPU that is too old.
    """
    number = capability[0] * 10 + capability[1]
    if number == sm_of(_WITH_WARPGROUPS):
        return _WITH_WARPGROUPS
    numbers = [
        int(a[3:]) for a in NVPTX_ARCHS if a[3:].isdigit() and int(a[3:]) <= number
    ]
    if not numbers:
        raise RuntimeError(f"a GPU of compute capability {number / 10} is not supported")
    return f"sm_{max(numbers)}"


_WITH_WARPGROUPS = "sm_90a"


def runs_on(arch: str) -> dict[str, str]:
    """The GPUs that run PTX of an architecture, for manifests.

    The least compute capability, and which newer ones: `all` for `sm_90`, `none` for
    `sm_90a`, and `family`, those of the same major number, for `sm_100f`.
    """
    major, minor = divmod(sm_of(arch), 10)
    newer = {"a": "none", "f": "family"}.get(arch[-1], "all")
    return {"compute_capability": f"{major}.{minor}", "newer": newer}


def check_arch(arch: str, capability: tuple[int, int]) -> None:
    """Check that a GPU can run code for an architecture. Raises ValueError.

    `sm_90` runs on that GPU and newer ones, `sm_90a` on no other one.
    """
    if re.fullmatch(r"sm_\d+[af]?", arch) is None:
        return
    number, here = sm_of(arch), capability[0] * 10 + capability[1]
    newer = runs_on(arch)["newer"]
    fits = number == here if newer == "none" else number <= here
    if newer == "family":
        fits &= number // 10 == capability[0]
    if not fits:
        raise ValueError(
            f"code for {arch} does not run on this GPU, which is sm_{here}; leave out "
            f"arch, or use {gpu_arch(capability)}"
        )


class GpuModules(NamedTuple):
    """A module lowered for GPUs, in the llvm and nvvm dialects."""

    host: ModuleOp
    """The functions that launch kernels."""
    kernels: ModuleOp
    """The GPU modules."""


def lowered_modules(module: ModuleOp, arch: str, settings: Settings) -> GpuModules:
    """Lower a copy of a module. Raises PassFailedException as `lower_to_driver_calls`,
    and where no function is public."""
    # Late: a module that is found in the cache does not need it.
    from xdsl_tvm.lowering.pipelines import lower_to_driver_calls

    graphs = any(op.name == "relax.func" for op in module.ops)
    if graphs and not signatures(module):
        # The pipeline removes private functions, and would find no kernel then.
        raise PassFailedException(NO_PUBLIC_FUNCTION)
    host = module.clone()
    kernels = lower_to_driver_calls(
        new_context(),
        host,
        arch,
        settings.progress,
        fuse_multiply_add=settings.fuse_multiply_add,
        allow_tf32=settings.allow_tf32,
    )
    return GpuModules(host, kernels)


class GpuCode:
    """A module compiled for GPUs of an architecture: PTX, and host code for this machine.

    Nothing of it needs a GPU or its driver. Both are kept in the object cache.
    """

    def __init__(
        self,
        module: ModuleOp,
        arch: str,
        settings: Settings,
        modules: Callable[[], GpuModules] | None = None,
    ) -> None:
        """`modules` is called for the lowered modules if they are needed."""
        self.arch = arch
        self._module = module
        self._settings = settings
        self._passes = PassContext.current().without_instruments()
        self._modules = modules or partial(lowered_modules, module, arch, settings)
        # Instruments are shown the passes, which they may leave out.
        is_watched = bool(PassContext.current().instruments)
        cache = ObjectCache(None) if is_watched else ObjectCache.default()
        self.ptx: str = cache.get_or_make(self._key("ptx"), self._ptx).decode()
        """The code of all kernels."""
        self.host_object: bytes = cache.get_or_make(self._key("host"), self._host)
        """The machine code of the functions that launch them."""
        self.manifest: Manifest = json.loads(
            cache.get_or_make(self._key("manifest"), self._manifest)
        )
        """The kernels and constants that host code has to be told of."""

    def _key(self, kind: str) -> str:
        return llvm_jit.host_cache_key(
            "cuda",
            kind,
            module_fingerprint(self._module),
            compiler_fingerprint(),
            PassContext.current().fingerprint(),
            f"{self._settings.opt_level} {self.arch} {self._settings.fuse_multiply_add}",
            str(self._settings.allow_tf32),
        )

    @cached_property
    def _lowered(self) -> tuple[str, str, bytes]:
        """The LLVM IR of host code and of kernels, and the text of the manifest."""
        # Late: a module that is found in the cache does not need it.
        from xdsl_tvm.lowering.llvm_ir import llvm_ir

        context = new_context()
        with self._passes.applied():
            found = self._modules()
            return (
                llvm_ir(context, found.host),
                llvm_ir(context, found.kernels, "nvptx", self.arch),
                manifest_of(found.host),
            )

    @property
    def llvm_ir(self) -> tuple[str, str]:
        """The LLVM IR of host code and of kernels, before LLVM's own passes."""
        return self._lowered[0], self._lowered[1]

    def _ptx(self) -> bytes:
        return ptx(self._lowered[1], self.arch).encode()

    def _host(self) -> bytes:
        self._settings.progress("machine code", 1, 1)
        return llvm_jit.compile_object(self._lowered[0], self._settings.opt_level)

    def _manifest(self) -> bytes:
        return self._lowered[2]

    def write(self, folder: Path) -> None:
        """Write `kernels.ptx`, `host.o`, an object for a linker, and `manifest.json`.

        Raises OSError where the folder or a file cannot be written.
        """
        folder.mkdir(parents=True, exist_ok=True)
        level = self._settings.opt_level
        host = llvm_jit.compile_object(self._lowered[0], level, linked=True)
        found = {
            "arch": self.arch,
            "runs_on": runs_on(self.arch),
            "functions": [str(each) for each in public_functions(self._module)],
            **self.manifest,
        }
        (folder / "kernels.ptx").write_text(self.ptx, encoding="utf-8")
        (folder / "host.o").write_bytes(host)
        text = json.dumps(found, indent=2)
        (folder / "manifest.json").write_text(f"{text}\n", encoding="utf-8")


def public_functions(module: ModuleOp) -> list[Signature]:
    """The signatures of the functions of a module that can be called."""
    found = signatures(module).values()
    return list(dict.fromkeys(each for each in found if isinstance(each, Signature)))


class CudaExecutable(Executable):
    """Functions whose kernels run on the first GPU.

    Relax functions return `DeviceArray`s, which are made while the caller goes on. An
    error of a kernel is raised by the call, copy or `synchronize` that comes after it.
    """

    def __init__(
        self,
        module: ModuleOp,
        arch: str | None = None,
        driver: Driver | None = None,
        settings: Settings | None = None,
        *,
        graphs: bool = False,
        externs: Externs | None = None,
    ) -> None:
        check_externs(module, externs or {})
        super().__init__(module)
        self._driver: Driver = default_driver() if driver is None else driver
        capability = self._driver.compute_capability()
        if arch is not None:
            check_arch(arch, capability)
        self.arch: str = arch or gpu_arch(capability)
        self._gpu_code = self._compiled(module, settings or Settings())
        self.ptx: str = self._gpu_code.ptx
        """The code of all kernels."""
        self.stream = Stream.new(self._driver)
        """The stream of all calls."""
        self._arrays = _DeviceArrays(self.stream)
        self._packed = PackedCalls(
            externs or {}, self.__getitem__, _TensorsOnGpu(self.stream)
        )
        self._code = self._loaded(self._gpu_code.host_object)
        self._fill_in()
        self._failure = FailedAssert(1, self._packed, self._driver.error_name)
        self._lock = threading.RLock()
        """Held for the time of a call: all use one stream."""
        self._graphs = CallGraphs(self.stream, self._use_stream) if graphs else None

    def _compiled(self, module: ModuleOp, settings: Settings) -> GpuCode:
        return GpuCode(module, self.arch, settings)

    def _loaded(self, data: bytes) -> llvm_jit.NativeCode:
        functions = dict.fromkeys(s.function for s in self.signatures.values())
        exports = {**functions, STREAM: None}
        self._reporting = {
            name for name in functions if llvm_jit.mentions(data, reporting_name(name))
        }
        exports |= dict.fromkeys(map(reporting_name, self._reporting))
        addresses = self._driver.functions()
        symbols = {name: addresses[name] for name in DRIVER_FUNCTIONS}
        if llvm_jit.mentions(data, CALL_PACKED):
            symbols[CALL_PACKED] = self._packed.address
        manifest = self._gpu_code.manifest
        self._kernels = {each["name"]: each["dynamic"] for each in manifest["kernels"]}
        self._constants = {each["name"]: each["bytes"] for each in manifest["constants"]}
        exports |= dict.fromkeys(map(kernel_handle, self._kernels))
        exports |= dict.fromkeys(map(constant_address, self._constants))
        exports |= dict.fromkeys(self._constants)
        return llvm_jit.load_object(data, exports, symbols=symbols)

    def _fill_in(self) -> None:
        """Load the kernels, upload the constants, and tell host code of them."""
        driver, stream = self._driver, self.stream
        self._loaded_module = _LoadedModule(stream, self.ptx)
        self._use_stream(stream.handle)
        for name, is_dynamic in self._kernels.items():
            handle = driver.kernel(self._loaded_module.handle, name)
            if is_dynamic:
                driver.allow_shared_memory(handle)
            self._write(kernel_handle(name), handle)
        self._uploaded: list[DeviceArray] = []
        for name, size in self._constants.items():
            array = DeviceArray.empty(stream, (size,), np.dtype(np.uint8))
            source = self._code.address(name)
            stream.copy_to_device(array.address, source, size)
            self._uploaded.append(array)
            self._write(constant_address(name), array.address)

    def _use_stream(self, handle: int) -> None:
        self._write(STREAM, handle)

    def _write(self, name: str, value: int) -> None:
        ctypes.c_uint64.from_address(self._code.address(name)).value = value

    @property
    def device(self) -> Device:
        return cuda()

    def get_source(self, fmt: str = "") -> str:
        """The PTX of all kernels. Raises ValueError for another format than `ptx`."""
        if fmt not in ("", "ptx"):
            raise ValueError(f"there is no source of the format '{fmt}'; use ptx")
        return self.ptx

    def array(self, array: Array) -> DeviceArray:
        """A copy of a numpy array on the GPU, for an argument of several calls."""
        self._driver.activate()
        return DeviceArray.of(self.stream, array)

    def synchronize(self) -> None:
        """Wait for all calls, and raise RuntimeError for an error of a kernel."""
        self._driver.activate()
        self._driver.synchronize(self.stream.handle)

    def _bind(self, signature: Signature) -> Callable[..., Any]:
        types = argument_types(signature)
        can_fail = signature.function in self._reporting
        name = reporting_name(signature.function) if can_fail else signature.function
        types += [ctypes.c_void_p] if can_fail else []
        native = self._code.function(name, result_type(signature), *types)

        def guarded(*values: Any) -> Any:
            with self._lock:
                if can_fail:
                    return self._failure.guard(native, *values)
                return native(*values)

        graphs, name = self._graphs, signature.function
        run = guarded
        if graphs is not None:
            reads = name in self._gpu_code.manifest["host_access"]
            run = graphs.alone(guarded) if reads else graphs.function(name, guarded)

        def entry(*values: Any) -> Any:
            self._driver.activate()
            return run(*values)

        def overlapping() -> Entry:
            raise AssertionError("overlapping arguments are refused")

        return CudaFunction(signature, entry, overlapping, arrays=self._arrays)


class _TensorsOnGpu(Tensors):
    """Tensors of host code in the memory of the GPU, for the time of a call."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    def at(
        self,
        address: int,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        *,
        writable: bool,
    ) -> Any:
        return DeviceArray(self._stream, address, shape, dtype, None, writeable=writable)

    def shown(self, value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(self.shown, cast("tuple[Any, ...]", value)))
        return value.numpy() if isinstance(value, DeviceArray) else value

    def put(
        self,
        value: Any,
        address: int,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        what: str,
    ) -> None:
        found = device_array(self._stream, value)
        array = np.asarray(value) if found is None else found.numpy()
        array = np.ascontiguousarray(checked(array, shape, dtype, what))
        if array.nbytes:
            self._stream.copy_to_device(address, array.ctypes.data, array.nbytes)


class _LoadedModule:
    """The kernels, unloaded when nothing uses them."""

    def __init__(self, stream: Stream, text: str) -> None:
        self.handle = stream.driver.load(text)
        weakref.finalize(self, _unload, stream, self.handle)


def _unload(stream: Stream, handle: int) -> None:
    # The driver may be gone at the end of the process.
    with suppress(RuntimeError):
        stream.driver.activate()
        stream.driver.synchronize(stream.handle)
    # Also after a kernel that has failed.
    with suppress(RuntimeError):
        stream.driver.unload(handle)


class CudaFunction(CompiledFunction):
    """A compiled function, to call with arrays on the GPU or of numpy, and numbers."""

    def _given(self, out: Any) -> Given:
        raise TypeError(
            f"@{self.signature.function}: out is for functions of the processor; results "
            "of the GPU are new arrays"
        )

    @cached_property
    def _pairs(self) -> OverlapCheck:
        return OverlapCheck(self.signature, _share_elements)

    def _chosen(self, prepared: Prepared, values: Sequence[Any]) -> Entry:
        names = self._pairs.find(prepared.params) if self._pairs.needed else None
        if names is not None:
            raise self._pairs.error(names)
        return self._entry

    def _run(self, entry: Entry, values: list[Any], prepared: Prepared) -> Any:
        result = super()._run(entry, values, prepared)
        for spec, value in zip(self.signature.params, prepared.params, strict=True):
            if isinstance(spec, ArraySpec) and spec.written:
                _copy_back(value)
        return result


def _copy_back(array: Any) -> None:
    """Copy what was written to the array of numpy that was passed."""
    assert isinstance(array, DeviceArray)
    if array.origin is not None:
        array.copy_to(array.origin.ctypes.data)


def _share_elements(a: Any, b: Any) -> bool:
    assert isinstance(a, DeviceArray)
    assert isinstance(b, DeviceArray)
    if a.origin is not None and b.origin is not None:
        # Each is copied to the GPU by itself: what they share is not shared there.
        return share_elements(a.origin, b.origin)
    return a.address < b.address + b.span and b.address < a.address + a.span


class _DeviceArrays(Arrays):
    """Arrays on the GPU, and those of numpy, which are copied there."""

    kind = "an array on the GPU or of numpy"

    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    def take(self, argument: Any) -> Any:
        self._stream.driver.activate()
        return device_array(self._stream, argument)

    def place(self, array: Any) -> Any:
        if isinstance(array, DeviceArray):
            return array
        self._stream.driver.activate()
        found = DeviceArray.of(self._stream, array)
        found.origin = array
        return found

    def empty(self, shape: Sequence[int], dtype: np.dtype[Any]) -> Any:
        self._stream.driver.activate()
        return DeviceArray.empty(self._stream, tuple(shape), dtype)

    def address(self, array: Any) -> int:
        return array.address

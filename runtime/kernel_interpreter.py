"""Modules compiled for a GPU and run without one: the kernels are interpreted.

Host code is the machine code that would run with a GPU. The driver that it calls is one
of this module, whose memory is that of the process, and whose launches run the kernels at
the last level before LLVM IR (`interpreters/llvm_kernels`).
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects import gpu, llvm
from xdsl.dialects.builtin import ModuleOp

from xdsl_tvm.interpreters.data.memory import Memory, Pointer
from xdsl_tvm.interpreters.errors import ArgumentError
from xdsl_tvm.interpreters.llvm_kernels.launches import LLVMKernels
from xdsl_tvm.interpreters.llvm_kernels.layouts import scalar
from xdsl_tvm.interpreters.llvm_kernels.tensor_maps import TensorMap
from xdsl_tvm.lowering.llvm_text.emitter import top_level
from xdsl_tvm.runtime.cuda import CudaExecutable, GpuCode, lowered_modules
from xdsl_tvm.runtime.cuda_driver import DEVICE
from xdsl_tvm.runtime.native import Settings
from xdsl_tvm.runtime.packed_calls import Externs
from xdsl_tvm.runtime.signature import Signature

_SUCCESS, _INVALID_VALUE, _OUT_OF_MEMORY, _LAUNCH_FAILED = 0, 1, 2, 719
_TENSOR_BYTES = {0: 1, 1: 2, 3: 4, 5: 8, 6: 2, 7: 4, 8: 8, 9: 2}
"""The bytes of elements of tensors, by the numbers of the driver for their types."""
_SWIZZLES = {0: 0, 3: 128}
_TENSOR_ALIGNMENT = 16
_NAMES = {
    _INVALID_VALUE: "CUDA_ERROR_INVALID_VALUE",
    _OUT_OF_MEMORY: "CUDA_ERROR_OUT_OF_MEMORY",
    _LAUNCH_FAILED: "CUDA_ERROR_LAUNCH_FAILED",
}
_ALIGNMENT = 256
_U32, _U64 = ctypes.c_uint32, ctypes.c_uint64
_Status: TypeAlias = int


class InterpretedKernels(CudaExecutable):
    """Functions compiled for a GPU of `arch`, whose kernels are interpreted.

    They are called as those that `compile(module, target="cuda")` returns. A fault of a
    kernel raises SimulationError, with the operation. `kernels` has the counts of
    accesses if `count_accesses` is set. Raises PassFailedException where something has no
    lowering for a GPU.
    """

    def __init__(
        self,
        module: ModuleOp,
        arch: str = "sm_80",
        *,
        count_accesses: bool = False,
        externs: Externs | None = None,
    ) -> None:
        settings = Settings()
        self._modules = lowered_modules(module, arch, settings)
        found = top_level([self._modules.kernels])
        modules = [op for op in found if isinstance(op, gpu.ModuleOp)]
        code = [op for each in modules for op in each.body.block.ops]
        self.kernels = LLVMKernels(code, count_accesses=count_accesses)
        """What is interpreted."""
        self._interpreter = _InterpretingDriver(self.kernels)
        super().__init__(module, arch, self._interpreter, settings, externs=externs)

    def _compiled(self, module: ModuleOp, settings: Settings) -> GpuCode:
        modules = self._modules
        return GpuCode(module, self.arch, settings, lambda: modules)

    def _bind(self, signature: Signature) -> Callable[..., Any]:
        function = super()._bind(signature)

        def call(*args: Any, **named: Any) -> Any:
            try:
                return function(*args, **named)
            except RuntimeError:
                fault, self._interpreter.fault = self._interpreter.fault, None
                if fault is None:
                    raise
                raise fault from None

        call.__name__ = call.__qualname__ = signature.function
        return call


@dataclass(eq=False)
class _Allocation:
    """Memory of the process that stands for memory of a GPU."""

    address: int
    memory: Memory
    owner: Any
    """What keeps the memory."""

    @property
    def size(self) -> int:
        return len(self.memory.bytes)


@dataclass(eq=False)
class _InterpretingDriver:
    """A driver (`cuda_driver.Driver`) that launches kernels in an interpreter."""

    kernels: LLVMKernels
    fault: Exception | None = None
    """What the last launch has raised."""
    _allocations: dict[int, _Allocation] = field(default_factory=dict[int, _Allocation])
    _names: list[str] = field(default_factory=list[str])
    _maps: list[TensorMap] = field(default_factory=list[TensorMap])
    _numbers: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    def __post_init__(self) -> None:
        prototype = ctypes.CFUNCTYPE
        self._callbacks: dict[str, Any] = {
            "cuLaunchKernel": prototype(_U32, _U64, *(_U32,) * 7, *(_U64,) * 3)(
                self._launch
            ),
            "cuMemAllocAsync": prototype(_U32, _U64, _U64, _U64)(self._allocate),
            "cuMemFreeAsync": prototype(_U32, _U64, _U64)(self._free),
            "cuMemcpyDtoDAsync_v2": prototype(_U32, _U64, _U64, _U64, _U64)(self._copy),
            "cuMemcpyDtoHAsync_v2": prototype(_U32, _U64, _U64, _U64, _U64)(self._read),
            "cuMemcpyHtoDAsync_v2": prototype(_U32, _U64, _U64, _U64, _U64)(self._write),
            "cuStreamSynchronize": prototype(_U32, _U64)(self._wait),
            "cuTensorMapEncodeTiled": prototype(
                _U32, _U64, _U32, _U32, *(_U64,) * 5, *(_U32,) * 4
            )(self._encode),
        }

    # ---- called by machine code ----

    def _launch(self, kernel: int, *rest: int) -> _Status:
        gx, gy, gz, bx, by, bz, shared, _, arguments, _ = rest
        name = self._names[kernel - 1]
        try:
            values = self._arguments(name, arguments)
            self.kernels.launch(name, (gx, gy, gz), (bx, by, bz), values, shared)
        except Exception as error:
            # Machine code is between here and who called it.
            self.fault = error
            return _LAUNCH_FAILED
        return _SUCCESS

    def _encode(
        self, map: int, dtype: int, rank: int, address: int, extents: int, *rest: int
    ) -> _Status:
        """Remember a tensor map by a number in its first bytes."""
        strides, box, _, _, swizzle, _, _ = rest
        try:
            array = self._tensor(
                address,
                _TENSOR_BYTES[dtype],
                list((_U64 * rank).from_address(extents))[::-1],
                list((_U64 * (rank - 1)).from_address(strides))[::-1],
            )
            sizes = tuple((_U32 * rank).from_address(box))[::-1]
            made = TensorMap(array, sizes, _SWIZZLES[swizzle])
        except (ArgumentError, KeyError, RuntimeError, ValueError) as error:
            self.fault = error
            return _INVALID_VALUE
        self._maps.append(made)
        _U64.from_address(map).value = len(self._maps)
        return _SUCCESS

    def _tensor(
        self, address: int, size: int, extents: list[int], strides: list[int]
    ) -> np.ndarray[Any, Any]:
        if address % _TENSOR_ALIGNMENT:
            raise ValueError(f"a tensor map of address {address:#x}")
        held = self._holding(address)
        return np.ndarray(
            extents,
            np.dtype(f"u{size}"),
            held.memory.bytes,
            address - held.address,
            [*strides, size],
        )

    def _arguments(self, name: str, place: int) -> list[Any]:
        found: list[Any] = []
        maps = self.kernels.tensor_maps(name)
        for position, type in enumerate(self.kernels.parameters(name)):
            address = _U64.from_address(place + 8 * position).value
            if maps[position]:
                found.append(self._maps[_U64.from_address(address).value - 1])
                continue
            if isinstance(type, llvm.LLVMPointerType):
                found.append(self._pointer(_U64.from_address(address).value))
                continue
            dtype = scalar(type)
            held = ctypes.string_at(address, dtype.size)
            value = np.frombuffer(held, dtype.storage)[0]
            found.append(value if dtype.is_float else value.item())
        return found

    def _pointer(self, address: int) -> Pointer | None:
        if not address:
            return None
        held = self._holding(address)
        return Pointer.to(held.memory, None, address - held.address)

    def _holding(self, address: int) -> _Allocation:
        for held in self._allocations.values():
            if held.address <= address < held.address + max(held.size, 1):
                return held
        raise RuntimeError(f"address {address:#x} is in no memory of the GPU")

    def _allocate(self, place: int, size: int, stream: int) -> _Status:
        try:
            owner = (ctypes.c_uint8 * (size + _ALIGNMENT))()
        except MemoryError:
            return _OUT_OF_MEMORY
        start = -ctypes.addressof(owner) % _ALIGNMENT
        data = memoryview(owner).cast("B")[start : start + size]
        memory = Memory(data, memoryview(bytearray(size)))
        address = ctypes.addressof(owner) + start
        self._allocations[address] = _Allocation(address, memory, owner)
        _U64.from_address(place).value = address
        return _SUCCESS

    def _free(self, address: int, stream: int) -> _Status:
        del self._allocations[address]
        return _SUCCESS

    def _copy(self, target: int, source: int, size: int, stream: int) -> _Status:
        if size:
            to, origin = self._holding(target), self._holding(source)
            first, start = target - to.address, source - origin.address
            to.memory.bytes[first : first + size] = origin.memory.bytes[
                start : start + size
            ]
            if to.memory.mask is not None and origin.memory.mask is not None:
                to.memory.mask[first : first + size] = origin.memory.mask[
                    start : start + size
                ]
        return _SUCCESS

    def _read(self, target: int, source: int, size: int, stream: int) -> _Status:
        self.copy_to_host(target, source, size, stream)
        return _SUCCESS

    def _write(self, target: int, source: int, size: int, stream: int) -> _Status:
        self.copy_to_device(target, source, size, stream)
        return _SUCCESS

    def _wait(self, stream: int) -> _Status:
        return _SUCCESS

    # ---- called by the runtime ----

    def functions(self) -> Mapping[str, int]:
        found = self._callbacks.items()
        return {name: ctypes.cast(f, ctypes.c_void_p).value or 0 for name, f in found}

    def activate(self) -> None:
        """There is one context."""

    def compute_capability(self) -> tuple[int, int]:
        return 9, 0

    def load(self, ptx: str) -> int:
        return next(self._numbers)

    def unload(self, module: int) -> None:
        """What is interpreted stays."""

    def kernel(self, module: int, name: str) -> int:
        self._names.append(name)
        return len(self._names)

    def allow_shared_memory(self, kernel: int) -> None:
        """There is no limit."""

    def new_stream(self, *, ordered: bool = True) -> int:
        return next(self._numbers)

    def free_stream(self, stream: int) -> None:
        """All work is done when it is asked for."""

    def order(self, earlier: int, later: int) -> None:
        """All work is in the order in which it is asked for."""

    def allocate(self, size: int, stream: int) -> int:
        place = _U64()
        if self._allocate(ctypes.addressof(place), max(size, 1), stream) != _SUCCESS:
            raise MemoryError(f"out of memory: {size} bytes for the GPU")
        return place.value

    def free(self, address: int, stream: int) -> None:
        self._free(address, stream)

    def copy_to_device(self, address: int, source: int, size: int, stream: int) -> None:
        if size:
            held = self._holding(address)
            first = address - held.address
            held.memory.bytes[first : first + size] = ctypes.string_at(source, size)
            if held.memory.mask is not None:
                held.memory.mask[first : first + size] = b"\1" * size

    def copy_to_host(self, target: int, address: int, size: int, stream: int) -> None:
        if size:
            held = self._holding(address)
            first = address - held.address
            data = bytes(held.memory.bytes[first : first + size])
            ctypes.memmove(target, data, size)

    def synchronize(self, stream: int) -> None:
        """All work is done when it is asked for."""

    def allocate_host(self, size: int) -> int:
        raise MemoryError("memory of the host is not pinned for interpreted kernels")

    def free_host(self, address: int) -> None:
        """There is none."""

    def new_event(self) -> int:
        return next(self._numbers)

    def free_event(self, event: int) -> None:
        """Events have nothing."""

    def record(self, event: int, stream: int) -> None:
        """All work is done when it is asked for."""

    def wait(self, event: int) -> None:
        """All work is done when it is asked for."""

    def enqueue_to_device(
        self, address: int, source: int, size: int, stream: int
    ) -> None:
        self.copy_to_device(address, source, size, stream)

    def enqueue_to_host(self, target: int, address: int, size: int, stream: int) -> None:
        self.copy_to_host(target, address, size, stream)

    def device_of(self, address: int) -> int | None:
        return DEVICE

    def begin_capture(self, stream: int) -> None:
        raise RuntimeError("interpreted kernels are not captured")

    def end_capture(self, stream: int) -> int:
        raise RuntimeError("interpreted kernels are not captured")

    def launch_graph(self, graph: int, stream: int) -> None:
        raise RuntimeError("interpreted kernels are not captured")

    def free_graph(self, graph: int) -> None:
        """There are none."""

    def error_name(self, status: int) -> str:
        return _NAMES.get(status, str(status))

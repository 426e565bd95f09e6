"""A driver without a GPU: its memory is that of the process, and it takes notes.

Launches run the kernels in the simulator, where `kernels` has them: the functions of TIR
that the passes have split from the host.
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp, bf16, f16, f32
from xdsl.rewriter import Rewriter

from xdsl_tvm.analysis.relax.functions import has_relax_functions
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.dtypes import numpy_dtype
from xdsl_tvm.interpreters.data.memory import Pointer, memory_of
from xdsl_tvm.interpreters.gpu.warpgroups import TiledTensor
from xdsl_tvm.interpreters.tir import interpret
from xdsl_tvm.lowering.pipelines import gpu_pipeline, run_pipeline
from xdsl_tvm.lowering.tir.convert_to_gpu import split_launches
from xdsl_tvm.registry import new_context
from xdsl_tvm.runtime.cuda import gpu_arch
from xdsl_tvm.runtime.module_fingerprint import module_fingerprint

_INVALID_VALUE, _OUT_OF_MEMORY, _LAUNCH_FAILED = 1, 2, 719
_CAPTURE_UNSUPPORTED = 900
_NAMES = {
    _INVALID_VALUE: "CUDA_ERROR_INVALID_VALUE",
    _OUT_OF_MEMORY: "CUDA_ERROR_OUT_OF_MEMORY",
    _LAUNCH_FAILED: "CUDA_ERROR_LAUNCH_FAILED",
    _CAPTURE_UNSUPPORTED: "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
}
_POINTER, _I32, _I64 = ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint64

Dim3 = tuple[int, int, int]
Step = Callable[[], None]
"""What a graph does at a place, whenever it is launched."""


@dataclass
class Launch:
    """What a launch was told."""

    kernel: str
    grid: Dim3
    block: Dim3
    shared: int
    stream: int
    arguments: int
    """The address of the addresses of the arguments."""


@dataclass
class Graph:
    """A captured sequence of work, and memory that belongs to it."""

    steps: list[Step] = field(default_factory=list[Step])
    memory: dict[int, Any] = field(default_factory=dict[int, Any])
    released: set[int] = field(default_factory=set[int])


@dataclass
class NotingDriver:
    """Hands out memory of the process, and remembers what it is told."""

    kernels: Mapping[str, Callable[[int], None]] = field(
        default_factory=dict[str, "Callable[[int], None]"]
    )
    """What runs for a launch, given the address of the addresses of the arguments."""
    capability: tuple[int, int] = (9, 0)
    capacity: int = 1 << 30
    """Bytes that may be allocated at a time."""
    fails: str = ""
    """The function of the driver that reports an error."""
    parameters: Mapping[str, int] = field(default_factory=dict[str, int])
    """How many parameters kernels have, for launches that are captured."""
    captures: bool = True
    """Whether launches can be captured."""
    pinned_capacity: int = 1 << 30
    """Bytes of memory of the host that may be pinned at a time."""
    shared_memory: int = 227 << 10
    """Bytes of shared memory that a launch may ask for."""
    devices: Mapping[int, int] = field(default_factory=dict[int, int])
    """The GPUs that addresses are on, where it is not the first."""

    def __post_init__(self) -> None:
        self.memory: dict[int, Any] = {}
        self.launches: list[Launch] = []
        self.calls: list[tuple[Any, ...]] = []
        """Names of functions, and their sizes, but for launches and releases."""
        self.maps: list[tuple[Any, ...]] = []
        """Dtype, address, extents, strides, box and swizzle of tensor maps, as the driver
        counts: the innermost dimension first."""
        self.modules: set[int] = set()
        self.streams: set[int] = set()
        self.names: list[str] = []
        self.graphs: dict[int, Graph] = {}
        """Those that are not released."""
        self._captured: dict[int, Graph] = {}
        """By the stream that is captured."""
        self.pinned: dict[int, Any] = {}
        """Memory of the host by its address."""
        self.events: dict[int, int] = {}
        """How many steps were enqueued when an event was recorded."""
        self._pending: list[Step] = []
        """Copies from and to memory of the host: they wait as long as they may."""
        self._done = 0
        self._numbers = itertools.count(1)
        self._callbacks: dict[str, Any] = {
            "cuLaunchKernel": ctypes.CFUNCTYPE(
                ctypes.c_int32, _I64, *(_I32,) * 7, _I64, _POINTER, _I64
            )(self._launch),
            "cuMemAllocAsync": ctypes.CFUNCTYPE(ctypes.c_int32, _POINTER, _I64, _I64)(
                self._allocate
            ),
            "cuMemFreeAsync": ctypes.CFUNCTYPE(ctypes.c_int32, _I64, _I64)(self._free),
            "cuMemcpyDtoDAsync_v2": ctypes.CFUNCTYPE(
                ctypes.c_int32, _I64, _I64, _I64, _I64
            )(self._copy),
            "cuMemcpyDtoHAsync_v2": ctypes.CFUNCTYPE(
                ctypes.c_int32, _I64, _I64, _I64, _I64
            )(self._read),
            "cuMemcpyHtoDAsync_v2": ctypes.CFUNCTYPE(
                ctypes.c_int32, _I64, _I64, _I64, _I64
            )(self._write),
            "cuStreamSynchronize": ctypes.CFUNCTYPE(ctypes.c_int32, _I64)(self._wait),
            "cuTensorMapEncodeTiled": ctypes.CFUNCTYPE(
                ctypes.c_int32, _I64, _I32, _I32, *(_I64,) * 5, *(_I32,) * 4
            )(self._encode),
        }

    # ---- called by machine code ----

    def _launch(self, kernel: int, *rest: int) -> int:
        self.finish()
        if self.fails == "cuLaunchKernel":
            return _LAUNCH_FAILED
        gx, gy, gz, bx, by, bz, shared, stream, arguments, extra = rest
        if shared > self.shared_memory:
            return _INVALID_VALUE
        assert extra == 0
        assert stream in self.streams
        name = self.names[kernel - 1]
        sizes = (gx, gy, gz), (bx, by, bz)
        graph = self._captured.get(stream)
        if graph is None:
            self._run(Launch(name, *sizes, shared, stream, arguments))
            return 0
        if not self.captures:
            return _CAPTURE_UNSUPPORTED
        copied = _Copied(arguments, self.parameters.get(name, 0))
        launch = Launch(name, *sizes, shared, stream, copied.address)
        graph.steps.append(lambda: self._run_copied(launch, copied))
        return 0

    def _run_copied(self, launch: Launch, copied: _Copied) -> None:
        assert launch.arguments == copied.address
        self._run(launch)

    def _run(self, launch: Launch) -> None:
        self.launches.append(launch)
        if launch.kernel in self.kernels:
            self.kernels[launch.kernel](launch.arguments)

    def _allocate(self, place: int, size: int, stream: int) -> int:
        assert stream in self.streams
        assert size > 0
        held = sum(ctypes.sizeof(each) for each in self.memory.values())
        if held + size > self.capacity:
            return _OUT_OF_MEMORY
        # As the pool of a GPU: aligned, and what is there is nothing to rely on.
        memory = (ctypes.c_uint8 * (size + 256))(*b"\xff" * min(size + 256, 4096))
        address = -(-ctypes.addressof(memory) // 256) * 256
        self.memory[address] = memory
        ctypes.c_uint64.from_address(place).value = address
        if stream in self._captured:
            graph = self._captured[stream]
            graph.memory[address] = memory
            graph.steps.append(lambda: _spoil(memory))
            return 0
        self.calls.append(("allocate", size))
        return 0

    def _free(self, address: int, stream: int) -> int:
        self.finish()
        assert stream in self.streams
        if stream in self._captured:
            graph = self._captured[stream]
            assert address in graph.memory.keys() - graph.released
            graph.released.add(address)
            return 0
        del self.memory[address]
        return 0

    def _copy(self, target: int, source: int, size: int, stream: int) -> int:
        self.finish()
        assert stream in self.streams
        if self.fails == "cuMemcpyDtoDAsync":
            return _INVALID_VALUE
        self.require(target, size)
        self.require(source, size)

        def copy() -> None:
            ctypes.memmove(target, source, size)
            self.calls.append(("copy", size))

        if stream in self._captured:
            self._captured[stream].steps.append(copy)
        else:
            copy()
        return 0

    def _read(self, target: int, source: int, size: int, stream: int) -> int:
        assert stream in self.streams
        assert stream not in self._captured, "what is read is not there yet"
        if self.fails == "cuMemcpyDtoHAsync":
            return _INVALID_VALUE
        self.calls.append(("read", size))
        self.enqueue_to_host(target, source, size, stream)
        return 0

    def _write(self, target: int, source: int, size: int, stream: int) -> int:
        assert stream in self.streams
        assert stream not in self._captured, "what is written is gone then"
        if self.fails == "cuMemcpyHtoDAsync":
            return _INVALID_VALUE
        self.require(target, size)
        self.calls.append(("write", size))
        self._pending.append(lambda: _move(target, source, size))
        return 0

    def _wait(self, stream: int) -> int:
        assert stream in self.streams
        if self.fails == "cuStreamSynchronize":
            return _LAUNCH_FAILED
        self.calls.append(("wait",))
        self.finish()
        return 0

    def _encode(self, map: int, dtype: int, rank: int, address: int, *rest: int) -> int:
        if self.fails == "cuTensorMapEncodeTiled":
            return _INVALID_VALUE
        extents, strides, box, steps, interleave, swizzle, promotion, fill = rest
        assert (map % 64, address % 16, interleave, promotion, fill) == (0, 0, 0, 2, 0)
        assert list((_I32 * rank).from_address(steps)) == [1] * rank
        made = (
            dtype,
            address,
            tuple((_I64 * rank).from_address(extents)),
            tuple((_I64 * (rank - 1)).from_address(strides)),
            tuple((_I32 * rank).from_address(box)),
            swizzle,
        )
        self.maps.append(made)
        ctypes.memset(map, 0xEE, 128)
        _I64.from_address(map).value = len(self.maps)
        return 0

    def unfinished(self) -> int:
        """How many copies have been asked for, and not done yet."""
        return len(self._pending)

    def finish(self, count: int | None = None) -> None:
        """Do what has been enqueued, of all streams: so many steps of it, or all."""
        count = len(self._pending) if count is None else count
        steps, self._pending = self._pending[:count], self._pending[count:]
        self._done += len(steps)
        for step in steps:
            step()

    def require(self, address: int, size: int) -> None:
        """Check that bytes are in memory that has been allocated."""
        assert size == 0 or any(
            start <= address and address + size <= start + ctypes.sizeof(held) - 256
            for start, held in self.memory.items()
        ), f"{size} bytes at {address:#x} are in no memory"

    # ---- called by the runtime ----

    def _fail(self, name: str) -> None:
        if self.fails == name:
            raise RuntimeError(f"{name} failed: CUDA_ERROR_INVALID_VALUE")

    def functions(self) -> Mapping[str, int]:
        found = {n: ctypes.cast(f, _POINTER).value for n, f in self._callbacks.items()}
        return {name: address or 0 for name, address in found.items()}

    def activate(self) -> None:
        pass

    def compute_capability(self) -> tuple[int, int]:
        return self.capability

    def load(self, ptx: str) -> int:
        assert f".target sm_{self.capability[0]}{self.capability[1]}" in ptx
        self._fail("cuModuleLoadDataEx")
        self.modules.add(number := next(self._numbers))
        return number

    def unload(self, module: int) -> None:
        self.modules.remove(module)

    def kernel(self, module: int, name: str) -> int:
        assert module in self.modules
        self._fail("cuModuleGetFunction")
        self.names.append(name)
        return len(self.names)

    def allow_shared_memory(self, kernel: int) -> None:
        self.calls.append(("allow_shared_memory", self.names[kernel - 1]))

    def new_stream(self, *, ordered: bool = True) -> int:
        self.streams.add(number := next(self._numbers))
        return number

    def free_stream(self, stream: int) -> None:
        self.streams.remove(stream)

    def order(self, earlier: int, later: int) -> None:
        self.calls.append(("order", earlier, later))

    def allocate(self, size: int, stream: int) -> int:
        place = ctypes.c_uint64()
        if self._allocate(ctypes.addressof(place), max(size, 1), stream):
            raise MemoryError("out of memory: cuMemAllocAsync on the GPU")
        return place.value

    def free(self, address: int, stream: int) -> None:
        self._free(address, stream)

    def copy_to_device(self, address: int, source: int, size: int, stream: int) -> None:
        self.finish()
        assert stream in self.streams
        self.require(address, size)
        ctypes.memmove(address, source, size)
        self.calls.append(("in", size))

    def copy_to_host(self, target: int, address: int, size: int, stream: int) -> None:
        self.finish()
        assert stream in self.streams
        self.require(address, size)
        ctypes.memmove(target, address, size)
        self.calls.append(("out", size))
        self.synchronize(stream)

    def synchronize(self, stream: int) -> None:
        if self.fails == "cuStreamSynchronize":
            raise RuntimeError("cuStreamSynchronize failed: CUDA_ERROR_LAUNCH_FAILED")
        self.finish()

    def allocate_host(self, size: int) -> int:
        if self.pinned_capacity < size + sum(map(ctypes.sizeof, self.pinned.values())):
            raise MemoryError("out of memory: cuMemHostAlloc")
        memory = (ctypes.c_uint8 * size)()
        self.pinned[address := ctypes.addressof(memory)] = memory
        self.calls.append(("pin", size))
        return address

    def free_host(self, address: int) -> None:
        del self.pinned[address]

    def new_event(self) -> int:
        self._fail("cuEventCreate")
        self.events[number := next(self._numbers)] = 0
        return number

    def free_event(self, event: int) -> None:
        del self.events[event]

    def record(self, event: int, stream: int) -> None:
        assert stream in self.streams
        self._fail("cuEventRecord")
        self.events[event] = self._done + len(self._pending)

    def wait(self, event: int) -> None:
        self._fail("cuEventSynchronize")
        self.finish(max(self.events[event] - self._done, 0))

    def enqueue_to_device(
        self, address: int, source: int, size: int, stream: int
    ) -> None:
        assert stream in self.streams
        self._fail("cuMemcpyHtoDAsync")
        self.require(address, size)
        self.calls.append(("in", size))
        self._pending.append(lambda: _move(address, source, size))

    def enqueue_to_host(self, target: int, address: int, size: int, stream: int) -> None:
        assert stream in self.streams
        self._fail("cuMemcpyDtoHAsync")
        self.require(address, size)
        if target in self.pinned:
            self.calls.append(("out", size))
        self._pending.append(lambda: _move(target, address, size))

    def device_of(self, address: int) -> int | None:
        if address in self.devices:
            return self.devices[address]
        held = self.memory.items()
        is_known = any(at <= address < at + ctypes.sizeof(each) for at, each in held)
        return 0 if is_known else None

    def begin_capture(self, stream: int) -> None:
        assert stream in self.streams
        assert stream not in self._captured
        self._captured[stream] = Graph()
        self.calls.append(("begin capture",))

    def end_capture(self, stream: int) -> int:
        graph = self._captured.pop(stream)
        if self.fails in ("cuStreamEndCapture", "cuGraphInstantiate"):
            for address in graph.memory:
                del self.memory[address]
            raise RuntimeError(f"{self.fails} failed: CUDA_ERROR_INVALID_VALUE")
        assert graph.released == set(graph.memory), "a graph releases what it allocates"
        self.graphs[number := next(self._numbers)] = graph
        self.calls.append(("end capture",))
        return number

    def launch_graph(self, graph: int, stream: int) -> None:
        self.finish()
        assert stream in self.streams
        if self.fails == "cuGraphLaunch":
            raise RuntimeError("cuGraphLaunch failed: CUDA_ERROR_LAUNCH_FAILED")
        self.calls.append(("launch graph",))
        for step in self.graphs[graph].steps:
            step()

    def free_graph(self, graph: int) -> None:
        for address in self.graphs.pop(graph).memory:
            del self.memory[address]

    def error_name(self, status: int) -> str:
        return _NAMES[status]


class _Copied:
    """Arguments of a launch, 8 bytes each, as a graph keeps them."""

    def __init__(self, arguments: int, count: int) -> None:
        self._values = (ctypes.c_uint64 * max(count, 1))()
        self._places = (ctypes.c_uint64 * max(count, 1))()
        for position in range(count):
            place = ctypes.c_uint64.from_address(arguments + 8 * position).value
            self._values[position] = ctypes.c_uint64.from_address(place).value
            self._places[position] = ctypes.addressof(self._values) + 8 * position
        self.address = ctypes.addressof(self._places)


def _move(target: int, source: int, size: int) -> None:
    ctypes.memmove(target, source, size)


def _spoil(memory: Any) -> None:
    ctypes.memset(memory, 0xFF, ctypes.sizeof(memory))


def simulated_driver(
    module: ModuleOp, capability: tuple[int, int] = (9, 0)
) -> NotingDriver:
    """A driver whose launches run the kernels of a module in the simulator."""
    key = module_fingerprint(module), capability
    split = _SPLIT.get(key)
    if split is None:
        split = _SPLIT[key] = _split(module, capability)
    return _with_kernels(split, capability)


_SPLIT: dict[tuple[str, tuple[int, int]], ModuleOp] = {}
"""The kernels of modules, which several tests run."""


def _split(module: ModuleOp, capability: tuple[int, int]) -> ModuleOp:
    """The TIR functions of a module that are kernels, and those that they call."""
    split = module.clone()
    target = f"cuda -arch={gpu_arch(capability)}"
    text = gpu_pipeline(target, relax=has_relax_functions(module))
    run_pipeline(new_context(), split, text.partition(",tir-lower-warp-memory")[0])
    split_launches(new_context(), split)
    for op in list(split.body.ops):
        if not isinstance(op, tir.FuncOp):
            Rewriter.erase_op(op, safe_erase=False)
    return split


def _with_kernels(split: ModuleOp, capability: tuple[int, int]) -> NotingDriver:
    kernels: dict[str, Callable[[int], None]] = {}
    parameters: dict[str, int] = {}
    driver = NotingDriver(kernels, capability, parameters=parameters)
    functions = interpret(split)
    for op in split.body.ops:
        if isinstance(op, tir.FuncOp) and "tir.is_global_func" in op.attributes:
            name = op.sym_name.data
            kernels[name] = _run(driver, op, functions, name)
            parameters[name] = len(op.function_type.inputs)
    return driver


def _run(
    driver: NotingDriver, kernel: tir.FuncOp, functions: Mapping[str, Any], name: str
) -> Callable[[int], None]:
    types = list(kernel.function_type.inputs)

    def run(arguments: int) -> None:
        values: list[Any] = []
        for position, dtype in enumerate(types):
            place = ctypes.c_uint64.from_address(arguments + 8 * position).value
            if tir.is_handle(dtype) and not isinstance(dtype, tir.PtrType):
                number = ctypes.c_uint64.from_address(place).value
                values.append(_tiled(driver, *driver.maps[number - 1]))
            elif isinstance(dtype, tir.PtrType):
                address = ctypes.c_uint64.from_address(place).value
                values.append(_memory(driver, address, dtype))
            else:
                size = numpy_dtype(dtype).itemsize
                held = ctypes.string_at(place, size)
                values.append(np.frombuffer(held, numpy_dtype(dtype))[0].item())
        functions[name](*values)

    return run


def _tiled(
    driver: NotingDriver,
    dtype: int,
    address: int,
    extents: tuple[int, ...],
    strides: tuple[int, ...],
    box: tuple[int, ...],
    swizzle: int,
) -> TiledTensor:
    element = {6: f16, 7: f32, 9: bf16}[dtype]
    pointer = memory_of(_memory(driver, address, tir.PtrType(element)))
    assert isinstance(pointer, Pointer)
    size = numpy_dtype(element).itemsize
    strides = tuple(each // size for each in strides[::-1])
    numbers = (*extents[::-1], *strides, *box[::-1])
    return TiledTensor.encode(pointer, size, {0: 0, 3: 128}[swizzle], *numbers)


def _memory(driver: NotingDriver, address: int, dtype: tir.PtrType) -> Any:
    """What is from an address to the end of its memory."""
    element = numpy_dtype(dtype.element_type)
    for start, held in driver.memory.items():
        end = start + ctypes.sizeof(held) - 256
        if start <= address < end:
            count = (end - address) // element.itemsize
            data: Any = (ctypes.c_uint8 * (count * element.itemsize)).from_address(
                address
            )
            return np.frombuffer(data, element)
    raise AssertionError(f"{address:#x} is in no memory")

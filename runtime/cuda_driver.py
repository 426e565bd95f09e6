"""The CUDA driver: the first GPU of the machine, its memory, streams and kernels.

Through NVIDIA's own bindings (`cuda.bindings`, extra `cuda`), which are imported on first
use. Compiled host code calls the driver by the addresses of its functions.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from functools import cache
from typing import Any, Protocol

from xdsl.utils.exceptions import DiagnosticException

from xdsl_tvm.lowering.runtime_symbols import DRIVER_FUNCTIONS

_OLDEST_DRIVER = 12000
"""The version of CUDA whose driver knows PTX 8.0, as the driver counts."""
DEVICE = 0
"""The number of the GPU that code runs on."""
_LOG_BYTES = 4096
_PORTABLE = 1
"""CU_MEMHOSTALLOC_PORTABLE."""


class Driver(Protocol):
    """What running compiled code asks of a driver; handles and addresses are numbers.

    Methods raise RuntimeError, of one line, for an error that the driver reports, and
    MemoryError where memory cannot be allocated.
    """

    def functions(self) -> Mapping[str, int]:
        """The addresses of `DRIVER_FUNCTIONS`, by name."""
        ...

    def activate(self) -> None:
        """Make the context that of the calling thread."""
        ...

    def compute_capability(self) -> tuple[int, int]:
        """Major and minor version of the GPU's architecture."""
        ...

    def load(self, ptx: str) -> int:
        """Compile PTX for the GPU; the handle of the module."""
        ...

    def unload(self, module: int) -> None:
        """Unload a module."""
        ...

    def kernel(self, module: int, name: str) -> int:
        """The handle of a kernel of a module."""
        ...

    def allow_shared_memory(self, kernel: int) -> None:
        """Let launches of a kernel give it all dynamic shared memory that there is."""
        ...

    def new_stream(self, *, ordered: bool = True) -> int:
        """A stream, which waits for the default stream, as that waits for it, if it is
        `ordered` with it."""
        ...

    def free_stream(self, stream: int) -> None:
        """Release a stream when its work is done."""
        ...

    def order(self, earlier: int, later: int) -> None:
        """Let the work of a stream begin when that of another one, so far, is done."""
        ...

    def allocate(self, size: int, stream: int) -> int:
        """The address of `size` bytes, one at least, for the work of a stream."""
        ...

    def free(self, address: int, stream: int) -> None:
        """Release memory when the work of the stream so far is done."""
        ...

    def copy_to_device(self, address: int, source: int, size: int, stream: int) -> None:
        """Copy `size` bytes from the host address `source`, which may change then."""
        ...

    def copy_to_host(self, target: int, address: int, size: int, stream: int) -> None:
        """Copy `size` bytes to the host address `target`, and wait for it."""
        ...

    def synchronize(self, stream: int) -> None:
        """Wait for all work of a stream, and report its errors."""
        ...

    def allocate_host(self, size: int) -> int:
        """The address of `size` bytes of the host that are pinned."""
        ...

    def free_host(self, address: int) -> None:
        """Release pinned memory that no copy uses."""
        ...

    def enqueue_to_device(
        self, address: int, source: int, size: int, stream: int
    ) -> None:
        """Enqueue a copy of `size` bytes from pinned memory, which is read later."""
        ...

    def enqueue_to_host(self, target: int, address: int, size: int, stream: int) -> None:
        """Enqueue a copy of `size` bytes to pinned memory, which is written later."""
        ...

    def new_event(self) -> int:
        """An event, which stands for no work at first."""
        ...

    def free_event(self, event: int) -> None:
        """Release an event."""
        ...

    def record(self, event: int, stream: int) -> None:
        """Let an event stand for the work of a stream so far."""
        ...

    def wait(self, event: int) -> None:
        """Wait for the work that an event stands for, and report its errors."""
        ...

    def device_of(self, address: int) -> int | None:
        """The number of the GPU that memory belongs to; None for memory of no GPU."""
        ...

    def begin_capture(self, stream: int) -> None:
        """Let what this thread enqueues on a stream become part of a graph."""
        ...

    def end_capture(self, stream: int) -> int:
        """The handle of the graph, ready to be launched."""
        ...

    def launch_graph(self, graph: int, stream: int) -> None:
        """Enqueue the work of a graph."""
        ...

    def free_graph(self, graph: int) -> None:
        """Release a graph, whose launches are done."""
        ...

    def error_name(self, status: int) -> str:
        """The name of an error that a function of the driver has returned."""
        ...


class NoGPUError(DiagnosticException, RuntimeError):
    """The machine has no GPU, or lacks what calls it."""


class CudaDriver:
    """The first GPU of the machine, in its primary context."""

    def __init__(self) -> None:
        self._driver = _bindings()
        try:
            self._call("cuInit", 0)
        except RuntimeError as error:
            raise NoGPUError(
                f"the target cuda needs an NVIDIA driver and a GPU: {error}"
            ) from None
        version = self._call("cuDriverGetVersion")
        if version < _OLDEST_DRIVER:
            raise RuntimeError(
                f"the NVIDIA driver is for CUDA {version // 1000}."
                f"{version % 1000 // 10}; "
                f"install one for CUDA {_OLDEST_DRIVER // 1000} or later"
            )
        self._device = self._call("cuDeviceGet", DEVICE)
        self._context = self._call("cuDevicePrimaryCtxRetain", self._device)

    def _call(self, name: str, *arguments: Any) -> Any:
        """What a function of the driver returns besides its status."""
        try:
            status, *values = getattr(self._driver, name)(*arguments)
        except RuntimeError as error:
            # The library, or the function in it, is missing.
            raise RuntimeError(f"{name}: {_one_line(str(error))}") from None
        if int(status) != 0:
            text = self.error_name(int(status))
            if text == "CUDA_ERROR_OUT_OF_MEMORY":
                raise MemoryError(f"out of memory: {name} on the GPU")
            raise RuntimeError(f"{name} failed: {text}")
        return values[0] if len(values) == 1 else tuple(values)

    def error_name(self, status: int) -> str:
        """The driver's name of a status, or its number."""
        try:
            result = self._driver.CUresult(status)
        except ValueError:
            # The driver is newer than the bindings.
            return str(status)
        found, text = self._driver.cuGetErrorName(result)
        return str(status) if int(found) != 0 else text.decode()

    def functions(self) -> Mapping[str, int]:
        """The addresses, as the driver itself gives them."""
        default = self._driver.CUdriverProcAddress_flags.CU_GET_PROC_ADDRESS_DEFAULT
        return {
            name: int(
                self._call(
                    "cuGetProcAddress",
                    name.removesuffix("_v2").encode(),
                    _OLDEST_DRIVER,
                    default,
                )[0]
            )
            for name in DRIVER_FUNCTIONS
        }

    def activate(self) -> None:
        """Make the primary context that of the calling thread."""
        self._call("cuCtxSetCurrent", self._context)

    def _attribute(self, name: str) -> int:
        attribute = getattr(
            self._driver.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}"
        )
        return int(self._call("cuDeviceGetAttribute", attribute, self._device))

    def compute_capability(self) -> tuple[int, int]:
        """That of the GPU."""
        return (
            self._attribute("COMPUTE_CAPABILITY_MAJOR"),
            self._attribute("COMPUTE_CAPABILITY_MINOR"),
        )

    def load(self, ptx: str) -> int:
        """Compile PTX; what the compiler says is in the error."""
        self.activate()
        # The bindings take the address of bytes, and no number, for a buffer.
        log = bytearray(_LOG_BYTES)
        option = self._driver.CUjit_option
        options = [
            option.CU_JIT_ERROR_LOG_BUFFER,
            option.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
        ]
        values = [log, _LOG_BYTES]
        code = ptx.encode() + b"\0"
        try:
            found = self._call("cuModuleLoadDataEx", code, 2, options, values)
        except RuntimeError as error:
            text = log.partition(b"\0")[0].decode(errors="replace")
            details = _one_line(text)
            raise RuntimeError(f"{error} {details}".rstrip()) from None
        return int(found)

    def unload(self, module: int) -> None:
        """Unload a module."""
        self._call("cuModuleUnload", module)

    def kernel(self, module: int, name: str) -> int:
        """The handle of a kernel."""
        return int(self._call("cuModuleGetFunction", module, name.encode()))

    def allow_shared_memory(self, kernel: int) -> None:
        """Opt in to what is above 48 KiB, less what the kernel has statically."""
        attribute = self._driver.CUfunction_attribute
        static = self._call(
            "cuFuncGetAttribute",
            attribute.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
            kernel,
        )
        most = self._attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN") - int(static)
        dynamic = attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        self._call("cuFuncSetAttribute", kernel, dynamic, most)

    def new_stream(self, *, ordered: bool = True) -> int:
        """A stream that is ordered with the default stream, or is not."""
        flags = self._driver.CUstream_flags
        flag = flags.CU_STREAM_DEFAULT if ordered else flags.CU_STREAM_NON_BLOCKING
        return int(self._call("cuStreamCreate", int(flag)))

    def free_stream(self, stream: int) -> None:
        """Release a stream."""
        self._call("cuStreamDestroy", stream)

    def order(self, earlier: int, later: int) -> None:
        """By an event, which nobody waits for on the host."""
        event = self.new_event()
        try:
            self.record(event, earlier)
            self._call("cuStreamWaitEvent", later, event, 0)
        finally:
            self.free_event(event)

    def allocate(self, size: int, stream: int) -> int:
        """Memory of the device's pool."""
        return int(self._call("cuMemAllocAsync", max(size, 1), stream))

    def free(self, address: int, stream: int) -> None:
        """Give memory back to the pool."""
        self._call("cuMemFreeAsync", address, stream)

    def copy_to_device(self, address: int, source: int, size: int, stream: int) -> None:
        """A copy from pageable memory, which is read before this returns."""
        if size:
            self._call("cuMemcpyHtoDAsync", address, source, size, stream)

    def copy_to_host(self, target: int, address: int, size: int, stream: int) -> None:
        """A copy to pageable memory."""
        if size:
            self._call("cuMemcpyDtoHAsync", target, address, size, stream)
        self.synchronize(stream)

    def synchronize(self, stream: int) -> None:
        """Wait for a stream."""
        self._call("cuStreamSynchronize", stream)

    def allocate_host(self, size: int) -> int:
        """Memory that is pinned for all contexts."""
        return int(self._call("cuMemHostAlloc", size, _PORTABLE))

    def free_host(self, address: int) -> None:
        """Release pinned memory."""
        self._call("cuMemFreeHost", address)

    def enqueue_to_device(
        self, address: int, source: int, size: int, stream: int
    ) -> None:
        """The driver does not wait where memory is pinned."""
        self._call("cuMemcpyHtoDAsync", address, source, size, stream)

    def enqueue_to_host(self, target: int, address: int, size: int, stream: int) -> None:
        """The driver does not wait where memory is pinned."""
        self._call("cuMemcpyDtoHAsync", target, address, size, stream)

    def new_event(self) -> int:
        """An event without times."""
        no_timing = self._driver.CUevent_flags.CU_EVENT_DISABLE_TIMING
        return int(self._call("cuEventCreate", int(no_timing)))

    def free_event(self, event: int) -> None:
        """Release an event."""
        self._call("cuEventDestroy", event)

    def record(self, event: int, stream: int) -> None:
        """Record an event."""
        self._call("cuEventRecord", event, stream)

    def wait(self, event: int) -> None:
        """Wait for an event."""
        self._call("cuEventSynchronize", event)

    def device_of(self, address: int) -> int | None:
        """What the driver knows of an address."""
        attribute = self._driver.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
        try:
            return int(self._call("cuPointerGetAttribute", attribute, address))
        except RuntimeError:
            return None

    def begin_capture(self, stream: int) -> None:
        """Other threads may go on to use the driver."""
        mode = self._driver.CUstreamCaptureMode
        self._call(
            "cuStreamBeginCapture", stream, mode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
        )

    def end_capture(self, stream: int) -> int:
        """The graph as the driver executes it; its description is released."""
        graph = self._call("cuStreamEndCapture", stream)
        try:
            return int(self._call("cuGraphInstantiate", graph, 0))
        finally:
            self._call("cuGraphDestroy", graph)

    def launch_graph(self, graph: int, stream: int) -> None:
        """Enqueue a graph."""
        self._call("cuGraphLaunch", graph, stream)

    def free_graph(self, graph: int) -> None:
        """Release a graph."""
        self._call("cuGraphExecDestroy", graph)


def _bindings() -> Any:
    try:
        return importlib.import_module("cuda.bindings.driver")
    except ImportError:
        raise NoGPUError(
            'the target cuda needs NVIDIA\'s bindings: pip install "xdsl-tvm[cuda]"'
        ) from None


def _one_line(text: str) -> str:
    return " ".join(text.split())


@cache
def default_driver() -> CudaDriver:
    """The driver, loaded once."""
    return CudaDriver()

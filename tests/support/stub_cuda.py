"""A library `libcuda.so.1` without a GPU: NVIDIA's bindings call it, and it takes notes.

    python -m pytest -p support.stub_cuda tests/e2e/test_cuda_device.py

What the bindings make of arguments and results is then what it is with a GPU. Behind the
library is a `NotingDriver`, and kernels run in the simulator. It is for a process of its
own, as the bindings look for the library once. Needs a C compiler.
"""

from __future__ import annotations

import ctypes
import importlib
import shutil
import subprocess
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from support.gpu_driver import NotingDriver, simulated_driver
from xdsl_tvm.runtime.cuda import GpuCode

SOURCE = """
#include <string.h>
static struct { char name[64]; void *function; } known[128];
static int count;
void stub_define(const char *name, void *function) {
  int at = 0;
  while (at < count && strcmp(known[at].name, name)) ++at;
  strncpy(known[at].name, name, 63);
  known[at].function = function;
  count += at == count;
}
int cuGetProcAddress_v2(const char *name, void **function, int version,
                        unsigned long long flags, int *status) {
  *function = strcmp(name, "cuGetProcAddress") ? 0 : (void *)cuGetProcAddress_v2;
  for (int at = 0; at < count; ++at)
    if (!strcmp(known[at].name, name)) *function = known[at].function;
  if (status) *status = *function ? 0 : 1;
  return *function ? 0 : 500;
}
"""
_SUCCESS, _INVALID, _NO_MEMORY, _UNKNOWN = 0, 1, 2, 999
_NAMES = {_INVALID: b"CUDA_ERROR_INVALID_VALUE", _NO_MEMORY: b"CUDA_ERROR_OUT_OF_MEMORY"}
_ATTRIBUTES = {75: "major", 76: "minor", 97: "shared"}
"""CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and so on."""
_LOG_BUFFER = 5
"""CU_JIT_ERROR_LOG_BUFFER."""
_DYNAMIC_SHARED = 8
"""CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES."""
_WITHOUT_TIMES = 2
"""CU_EVENT_DISABLE_TIMING."""
_CONTEXT = 1 << 40
_I32, _I64, _POINTER = ctypes.c_int32, ctypes.c_uint64, ctypes.c_void_p


def _nothing(value: int) -> None:
    """Succeed."""


class StubLibrary:
    """The functions of the driver, as C calls them."""

    def __init__(self, driver: NotingDriver, *, version: int = 13000) -> None:
        self.driver = driver
        self.version = version
        self.refusal = ""
        """What the compiler of PTX says, where it refuses."""
        self.context = 0
        """The context of the thread."""
        self.shared: dict[int, int] = {}
        """What kernels may have of dynamic shared memory."""
        self._held: list[Any] = []
        folder = Path(tempfile.mkdtemp())
        source, library = folder / "stub.c", folder / "libcuda.so.1"
        source.write_text(SOURCE)
        flags = ["-shared", "-fPIC", "-Wl,-soname,libcuda.so.1"]
        subprocess.run(["cc", *flags, source, "-o", library], check=True)
        # A library of this name is found where one is loaded already.
        self._library = ctypes.CDLL(str(library), ctypes.RTLD_GLOBAL)
        shutil.rmtree(folder)
        for name, address in driver.functions().items():
            self._define_address(name.removesuffix("_v2"), address)
        self._define_all()

    def _define_address(self, name: str, address: int) -> None:
        self._library["stub_define"](name.encode(), _POINTER(address))

    def _define(
        self, name: str, function: Callable[..., int | None], *types: Any
    ) -> None:
        """A function whose errors are those of the driver."""

        def guarded(*arguments: Any) -> int:
            try:
                return function(*arguments) or _SUCCESS
            except MemoryError:
                return _NO_MEMORY
            except RuntimeError:
                return _INVALID
            except Exception:
                traceback.print_exc()
                return _UNKNOWN

        held = ctypes.CFUNCTYPE(_I32, *types)(guarded)
        self._held.append(held)
        self._define_address(name, ctypes.cast(held, _POINTER).value or 0)

    def _define_all(self) -> None:
        driver, define = self.driver, self._define

        def puts(function: Callable[..., int], kind: Any = _I64) -> Callable[..., int]:
            """Store a result at the first argument."""

            def call(place: int, *arguments: Any) -> int:
                kind.from_address(place).value = function(*arguments)
                return _SUCCESS

            return call

        number, p = _I64, _POINTER
        define("cuInit", _nothing, _I32)
        define("cuDriverGetVersion", puts(self._version, _I32), p)
        define("cuGetErrorName", self._name, _I32, p)
        define("cuDeviceGet", puts(int, _I32), p, _I32)
        define("cuDeviceGetAttribute", puts(self._attribute, _I32), p, _I32, _I32)
        define("cuDevicePrimaryCtxRetain", puts(self._retain), p, _I32)
        define("cuCtxSetCurrent", self._set_context, number)
        define("cuModuleLoadDataEx", self._load, p, p, _I32, p, p)
        define("cuModuleUnload", driver.unload, number)
        define("cuModuleGetFunction", puts(self._kernel), p, number, ctypes.c_char_p)
        define("cuFuncGetAttribute", puts(self._static_bytes, _I32), p, _I32, number)
        define("cuFuncSetAttribute", self._allow, number, _I32, _I32)
        define("cuStreamCreate", puts(self._new_stream), p, _I32)
        define("cuStreamDestroy", driver.free_stream, number)
        define("cuStreamWaitEvent", self._stream_waits, number, number, _I32)
        define("cuMemcpyHtoDAsync", self._to_device, *(number,) * 4)
        define("cuMemHostAlloc", puts(self._pin), p, number, _I32)
        define("cuMemFreeHost", driver.free_host, number)
        define("cuEventCreate", puts(self._new_event), p, _I32)
        define("cuEventDestroy", driver.free_event, number)
        define("cuEventRecord", driver.record, number, number)
        define("cuEventSynchronize", driver.wait, number)
        define("cuPointerGetAttribute", self._device_of, p, _I32, number)
        define("cuStreamBeginCapture", self._begin, number, _I32)
        define("cuStreamEndCapture", self._end, number, p)
        define("cuGraphInstantiateWithFlags", puts(self._same), p, number, number)
        define("cuGraphDestroy", _nothing, number)
        define("cuGraphLaunch", driver.launch_graph, number, number)
        define("cuGraphExecDestroy", driver.free_graph, number)

    def _version(self) -> int:
        return self.version

    def _retain(self, device: int) -> int:
        return _CONTEXT

    def _static_bytes(self, which: int, kernel: int) -> int:
        return 0

    def _new_stream(self, flags: int) -> int:
        return self.driver.new_stream(ordered=not flags)

    def _new_event(self, flags: int) -> int:
        assert flags == _WITHOUT_TIMES
        return self.driver.new_event()

    def _same(self, graph: int, flags: int) -> int:
        return graph

    def _name(self, status: int, place: int) -> int:
        found = _NAMES.get(status)
        if found is None:
            return _INVALID
        self._held.append(text := ctypes.c_char_p(found))
        _I64.from_address(place).value = ctypes.cast(text, _POINTER).value or 0
        return _SUCCESS

    def _attribute(self, which: int, device: int) -> int:
        major, minor = self.driver.capability
        values = {"major": major, "minor": minor, "shared": self.driver.shared_memory}
        return values[_ATTRIBUTES[which]]

    def _set_context(self, context: int) -> None:
        self.context = context

    def _load(self, place: int, code: int, count: int, names: int, values: int) -> int:
        text = ctypes.string_at(code).decode()
        options = dict(
            zip(
                (_I32 * count).from_address(names),
                (_I64 * count).from_address(values),
                strict=True,
            )
        )
        if self.refusal:
            refusal = self.refusal.encode() + b"\0"
            ctypes.memmove(options[_LOG_BUFFER], refusal, len(refusal))
            return 218
        assert self.context == _CONTEXT
        _I64.from_address(place).value = self.driver.load(text)
        return _SUCCESS

    def _kernel(self, module: int, name: bytes) -> int:
        return self.driver.kernel(module, name.decode())

    def _allow(self, kernel: int, which: int, value: int) -> None:
        assert which == _DYNAMIC_SHARED
        self.shared[kernel] = value
        self.driver.allow_shared_memory(kernel)

    def _stream_waits(self, stream: int, event: int, flags: int) -> None:
        assert event in self.driver.events
        assert flags == 0

    def _pin(self, size: int, flags: int) -> int:
        assert flags == 1
        return self.driver.allocate_host(size)

    def _device_of(self, place: int, which: int, address: int) -> int:
        found = self.driver.device_of(address)
        if found is None:
            return _INVALID
        _I32.from_address(place).value = found
        return _SUCCESS

    def _end(self, stream: int, place: int) -> None:
        _I64.from_address(place).value = self.driver.end_capture(stream)

    def _to_device(self, address: int, source: int, size: int, stream: int) -> None:
        """The driver reads pageable memory before it returns, pinned memory later."""
        held = self.driver.pinned.items()
        is_pinned = any(at <= source < at + ctypes.sizeof(each) for at, each in held)
        copy = self.driver.enqueue_to_device if is_pinned else self.driver.copy_to_device
        copy(address, source, size, stream)

    def _begin(self, stream: int, mode: int) -> None:
        assert mode == 1
        self.driver.begin_capture(stream)


_INSTALLED: list[StubLibrary] = []


def install() -> StubLibrary:
    """Load the library, and have kernels of what is compiled run in the simulator."""
    kernels: dict[str, Callable[[int], None]] = {}
    parameters: dict[str, int] = {}
    driver = NotingDriver(kernels, parameters=parameters)

    class SimulatedCode(GpuCode):
        """Code whose kernels the driver knows."""

        def __init__(self, module: ModuleOp, *arguments: Any) -> None:
            found = simulated_driver(module)
            found.memory, found.maps = driver.memory, driver.maps
            kernels.update(found.kernels)
            parameters.update(found.parameters)
            super().__init__(module, *arguments)

    vars(importlib.import_module(GpuCode.__module__))["GpuCode"] = SimulatedCode
    # The bindings call it as long as the process lives.
    _INSTALLED.append(StubLibrary(driver))
    return _INSTALLED[0]


def pytest_configure() -> None:
    """As a plugin of pytest: before any test asks for the driver."""
    install()

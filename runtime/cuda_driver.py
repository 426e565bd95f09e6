"""A small binding of the CUDA driver, through ctypes: no package, no CUDA toolkit.

Only what running kernels on numpy arrays needs. The library is loaded on first use.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
from functools import cache
from typing import Any, TypeAlias

Dim3: TypeAlias = tuple[int, int, int]
"""Extents on x, y and z."""

_LIBRARY = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
_COMPUTE_CAPABILITY = (75, 76)
_ERROR_LOG_BUFFER = 5
_ERROR_LOG_SIZE = 6
_LOG_BYTES = 4096

_SIGNATURES: dict[str, tuple[Any, ...]] = {
    "cuInit": (ctypes.c_uint,),
    "cuDeviceGet": (ctypes.c_void_p, ctypes.c_int),
    "cuDeviceGetAttribute": (ctypes.c_void_p, ctypes.c_int, ctypes.c_int),
    "cuDevicePrimaryCtxRetain": (ctypes.c_void_p, ctypes.c_int),
    "cuCtxSetCurrent": (ctypes.c_void_p,),
    "cuCtxSynchronize": (),
    "cuModuleLoadDataEx": (
        ctypes.c_void_p,
        ctypes.c_char_p,
        ctypes.c_uint,
        ctypes.c_void_p,
        ctypes.c_void_p,
    ),
    "cuModuleGetFunction": (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p),
    "cuModuleUnload": (ctypes.c_void_p,),
    "cuMemAlloc_v2": (ctypes.c_void_p, ctypes.c_size_t),
    "cuMemFree_v2": (ctypes.c_uint64,),
    "cuMemcpyHtoD_v2": (ctypes.c_uint64, ctypes.c_void_p, ctypes.c_size_t),
    "cuMemcpyDtoH_v2": (ctypes.c_void_p, ctypes.c_uint64, ctypes.c_size_t),
    "cuLaunchKernel": (
        ctypes.c_void_p,
        *(ctypes.c_uint,) * 7,
        ctypes.c_void_p,
        ctypes.c_void_p,
        ctypes.c_void_p,
    ),
    "cuGetErrorName": (ctypes.c_int, ctypes.c_void_p),
}


class CudaDriver:
    """The first GPU of the machine, in its primary context.

    Every method raises RuntimeError, of one line, if the driver reports an error.
    """

    def __init__(self) -> None:
        try:
            self._library = ctypes.CDLL(_LIBRARY)
        except OSError:
            raise RuntimeError(
                f"the target cuda needs an NVIDIA driver; {_LIBRARY} is not there"
            ) from None
        for name, arguments in _SIGNATURES.items():
            function = getattr(self._library, name)
            function.argtypes = arguments
            function.restype = ctypes.c_int
        self._call("cuInit", 0)
        device = ctypes.c_int()
        self._call("cuDeviceGet", ctypes.byref(device), 0)
        self._device = device.value
        context = ctypes.c_void_p()
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(context), self._device)
        self._context = context

    def _call(self, name: str, *arguments: Any, log: Any = None) -> None:
        status = getattr(self._library, name)(*arguments)
        if status != 0:
            text = ctypes.c_char_p()
            self._library.cuGetErrorName(status, ctypes.byref(text))
            error = text.value.decode() if text.value is not None else str(status)
            details = " ".join(log.value.decode(errors="replace").split()) if log else ""
            raise RuntimeError(f"{name} failed: {error} {details}".rstrip())

    def activate(self) -> None:
        """Make the context that of the calling thread."""
        self._call("cuCtxSetCurrent", self._context)

    def compute_capability(self) -> tuple[int, int]:
        """Major and minor version of the GPU's architecture."""
        found: list[int] = []
        for attribute in _COMPUTE_CAPABILITY:
            value = ctypes.c_int()
            self._call(
                "cuDeviceGetAttribute", ctypes.byref(value), attribute, self._device
            )
            found.append(value.value)
        return found[0], found[1]

    def load(self, ptx: str) -> int:
        """Compile PTX for the GPU; the handle of the module."""
        self.activate()
        log = ctypes.create_string_buffer(_LOG_BYTES)
        options = (ctypes.c_int * 2)(_ERROR_LOG_BUFFER, _ERROR_LOG_SIZE)
        values = (ctypes.c_void_p * 2)(ctypes.addressof(log), _LOG_BYTES)
        module = ctypes.c_void_p()
        self._call(
            "cuModuleLoadDataEx",
            ctypes.byref(module),
            ptx.encode(),
            2,
            options,
            values,
            log=log,
        )
        return _handle(module)

    def unload(self, module: int) -> None:
        """Unload a module."""
        self._call("cuModuleUnload", module)

    def kernel(self, module: int, name: str) -> int:
        """The handle of a kernel of a module."""
        function = ctypes.c_void_p()
        self._call("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
        return _handle(function)

    def allocate(self, size: int) -> int:
        """The address of `size` bytes of device memory, one at least."""
        pointer = ctypes.c_uint64()
        self._call("cuMemAlloc_v2", ctypes.byref(pointer), max(size, 1))
        return pointer.value

    def free(self, pointer: int) -> None:
        """Free device memory."""
        self._call("cuMemFree_v2", pointer)

    def copy_to_device(self, pointer: int, source: int, size: int) -> None:
        """Copy `size` bytes from the host address `source`."""
        if size:
            self._call("cuMemcpyHtoD_v2", pointer, source, size)

    def copy_to_host(self, target: int, pointer: int, size: int) -> None:
        """Copy `size` bytes to the host address `target`."""
        if size:
            self._call("cuMemcpyDtoH_v2", target, pointer, size)

    def launch(
        self, kernel: int, grid: Dim3, block: Dim3, arguments: Sequence[Any]
    ) -> None:
        """Launch a kernel with ctypes values as arguments."""
        pointers = (ctypes.c_void_p * max(len(arguments), 1))(
            *(ctypes.addressof(argument) for argument in arguments)
        )
        self._call("cuLaunchKernel", kernel, *grid, *block, 0, None, pointers, None)

    def synchronize(self) -> None:
        """Wait for all kernels, and report their errors."""
        self._call("cuCtxSynchronize")


def _handle(value: ctypes.c_void_p) -> int:
    assert value.value is not None
    return value.value


@cache
def default_driver() -> CudaDriver:
    """The driver, loaded once."""
    return CudaDriver()

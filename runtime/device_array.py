"""Arrays on the GPU, which other libraries see by DLPack and the CUDA array interface."""

from __future__ import annotations

import ctypes
import math
import weakref
from contextlib import suppress
from typing import Any, NamedTuple, cast

import numpy as np
from xdsl.utils.exceptions import InterpretationError

from xdsl_tvm.dialects.tir.data_types import Abi
from xdsl_tvm.interpreters.data.packed import dtype_of
from xdsl_tvm.lowering.runtime_symbols import KERNEL_ALIGNMENT
from xdsl_tvm.runtime._staging import Staging
from xdsl_tvm.runtime.cuda_driver import DEVICE, Driver
from xdsl_tvm.runtime.packed_functions import DLTensor

Array = np.ndarray[Any, np.dtype[Any]]
CUDA = 2
"""DLPack's number of the GPU's memory."""
CUDA_MANAGED = 13


class Flags(NamedTuple):
    """What is asked of the flags of a numpy array."""

    num: int
    """C-contiguous, aligned for kernels and writeable, as bits of numpy's C API."""

    @property
    def c_contiguous(self) -> bool:
        return bool(self.num & 0x1)

    @property
    def aligned(self) -> bool:
        return bool(self.num & 0x100)

    @property
    def writeable(self) -> bool:
        return bool(self.num & 0x400)


class Stream:
    """A stream of a driver, released when nothing uses it, with its pinned memory."""

    def __init__(self, driver: Driver, handle: int) -> None:
        self.driver = driver
        self.handle = handle
        self._staging = Staging(driver, handle)

    @staticmethod
    def new(driver: Driver) -> Stream:
        """A new stream."""
        driver.activate()
        return Stream(driver, driver.new_stream())

    def copy_to_device(self, address: int, source: int, size: int) -> None:
        """Copy `size` bytes from the host address `source`, which may change then."""
        self._staging.copy_to_device(address, source, size)

    def copy_to_host(self, target: int, address: int, size: int) -> None:
        """Copy `size` bytes to the host address `target`, and wait for it."""
        self._staging.copy_to_host(target, address, size)

    def __del__(self) -> None:
        # The driver may be gone at the end of the process.
        with suppress(RuntimeError):
            self.driver.activate()
        self._staging.release()
        with suppress(RuntimeError):
            self.driver.free_stream(self.handle)


class _Memory:
    """Memory that a stream uses, released when its work so far is done."""

    def __init__(self, stream: Stream, size: int) -> None:
        self.address = stream.driver.allocate(size, stream.handle)
        # The call holds the stream, which may be garbage together with the memory.
        weakref.finalize(self, _release, stream, self.address)


def _release(stream: Stream, address: int) -> None:
    with suppress(RuntimeError):
        # An error of a kernel is reported by the next call.
        stream.driver.activate()
        stream.driver.free(address, stream.handle)


class DeviceArray:
    """An array in the memory of the GPU.

    `numpy()` is a copy on the host, and so is what `numpy.asarray` makes of it. It is
    passed to other functions of a model as it is, and to other libraries by
    `__cuda_array_interface__` and `__dlpack__`.
    """

    def __init__(
        self,
        stream: Stream,
        address: int,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        owner: object,
        strides: tuple[int, ...] | None = None,
        *,
        writeable: bool = True,
    ) -> None:
        self.shape = shape
        self.dtype = dtype
        self.stream = stream
        """The stream whose work makes the elements."""
        self.address = address
        self._owner = owner
        self.origin: Array | None = None
        """The array of numpy that stands for this one in a call."""
        compact = _compact_strides(shape, dtype.itemsize)
        self.strides = compact if strides is None else strides
        """In bytes."""
        dense = self.strides == compact or self.size == 0
        unit = max(dtype.itemsize, KERNEL_ALIGNMENT)
        aligned = address % unit == 0 or self.size == 0
        self.flags = Flags(dense * 0x1 | aligned * 0x100 | writeable * 0x400)

    @staticmethod
    def empty(
        stream: Stream, shape: tuple[int, ...], dtype: np.dtype[Any]
    ) -> DeviceArray:
        """A new array. Raises MemoryError where the GPU has no room for it."""
        memory = _Memory(stream, math.prod(shape) * dtype.itemsize)
        return DeviceArray(stream, memory.address, shape, dtype, memory)

    @staticmethod
    def of(stream: Stream, array: Array) -> DeviceArray:
        """A copy of a numpy array, with its strides."""
        size = span_of(array)
        memory = _Memory(stream, size)
        stream.copy_to_device(memory.address, array.ctypes.data, size)
        return DeviceArray(
            stream, memory.address, array.shape, array.dtype, memory, array.strides
        )

    @property
    def span(self) -> int:
        """The bytes from the first element to the end of the last."""
        return span_of(self)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        """The bytes of an element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """The bytes of all elements."""
        return self.size * self.itemsize

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("an array of rank 0 has no length")
        return self.shape[0]

    def __repr__(self) -> str:
        shape = ", ".join(map(str, self.shape))
        return f"<DeviceArray {self.dtype.name}[{shape}] on the GPU>"

    # ---- to the host ----

    def numpy(self) -> Array:
        """A copy on the host. Waits for the work that makes the elements, and raises
        RuntimeError for an error of a kernel."""
        span = span_of(self)
        held = np.empty(max(span, 1), np.uint8)
        self.stream.driver.activate()
        self.copy_to(held.ctypes.data)
        found: Array = np.ndarray(self.shape, self.dtype, held, strides=self.strides)
        return found

    def item(self) -> Any:
        """The one element, as a number. Waits as `numpy` does."""
        return self.numpy().item()

    def tolist(self) -> Any:
        """The elements as nested lists of numbers. Waits as `numpy` does."""
        return self.numpy().tolist()

    def copy_to(self, target: int) -> None:
        """Copy the bytes from the first element to the end of the last, and wait."""
        self.stream.copy_to_host(target, self.address, span_of(self))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if copy is False:
            raise ValueError("an array on the GPU is copied to the host")
        found = self.numpy()
        return found if dtype is None else found.astype(dtype)

    # ---- to other libraries ----

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        if self.dtype.kind == "V":
            raise AttributeError(f"the CUDA array interface has no {self.dtype.name}")
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.address, not self.flags.writeable),
            "strides": None if self.flags.c_contiguous else self.strides,
            "stream": self.stream.handle,
            "version": 3,
        }

    def __dlpack_device__(self) -> tuple[int, int]:
        return CUDA, DEVICE

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        if dl_device not in (None, self.__dlpack_device__()) or copy:
            raise BufferError("the array is shared as it is; use numpy() for a copy")
        if stream is not None and stream != -1:
            driver = self.stream.driver
            driver.activate()
            driver.order(self.stream.handle, stream)
        return _capsule(self)


def span_of(array: Any) -> int:
    """Bytes from the first element to the end of the last."""
    if array.size == 0:
        return 0
    steps = zip(array.shape, array.strides, strict=True)
    return int(sum((extent - 1) * step for extent, step in steps) + array.itemsize)


def device_array(stream: Stream, value: Any) -> DeviceArray | None:
    """An array of another library on the GPU, ordered before what the stream does next.

    None for what is no array there. Raises ValueError for one that it cannot be.
    """
    if isinstance(value, DeviceArray):
        if value.stream is not stream:
            stream.driver.order(value.stream.handle, stream.handle)
        return value
    interface = getattr(value, "__cuda_array_interface__", None)
    if isinstance(interface, dict):
        return _of_interface(stream, value, cast("dict[str, Any]", interface))
    device = getattr(value, "__dlpack_device__", None)
    if device is None:
        return None
    kind, number = device()
    if int(kind) not in (CUDA, CUDA_MANAGED):
        return None
    _expect_device(int(number))
    return _of_capsule(stream, value.__dlpack__(stream=stream.handle))


def _expect_device(number: int | None) -> None:
    """Raise ValueError for a GPU that code does not run on, or memory of none."""
    if number is None:
        raise ValueError(
            "the array's address is no memory of a GPU; pass the array as one of numpy"
        )
    if number != DEVICE:
        raise ValueError(
            f"the array is on GPU {number}, and the code runs on GPU {DEVICE}; copy it "
            "there"
        )


def _of_interface(stream: Stream, value: Any, found: dict[str, Any]) -> DeviceArray:
    if found.get("mask") is not None:
        raise ValueError("the array has a mask; pass one without")
    address, read_only = found["data"]
    producer = found.get("stream")
    if producer is not None:
        stream.driver.order(int(producer), stream.handle)
    if address and 0 not in found["shape"]:
        _expect_device(stream.driver.device_of(int(address)))
    strides = found.get("strides")
    return DeviceArray(
        stream,
        int(address or 0),
        tuple(map(int, found["shape"])),
        np.dtype(found["typestr"]),
        value,
        None if strides is None else tuple(map(int, strides)),
        writeable=not read_only,
    )


def _compact_strides(shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    strides: list[int] = []
    for extent in reversed(shape):
        strides.append(size)
        size *= extent
    return tuple(reversed(strides))


# ---- DLPack's capsules ----


class _ManagedTensor(ctypes.Structure):
    """DLPack's DLManagedTensor."""

    _fields_ = (
        ("tensor", DLTensor),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    )


_DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_NAME, _USED_NAME = b"dltensor", b"used_dltensor"
_SHARED: dict[int, tuple[object, ...]] = {}
"""What tensors given away need, by their address, until their user is done."""
_API = ctypes.pythonapi
_API.PyCapsule_New.restype = ctypes.py_object
_API.PyCapsule_New.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
_API.PyCapsule_IsValid.restype = ctypes.c_int
_API.PyCapsule_IsValid.argtypes = (ctypes.py_object, ctypes.c_char_p)
_API.PyCapsule_GetPointer.restype = ctypes.c_void_p
_API.PyCapsule_GetPointer.argtypes = (ctypes.py_object, ctypes.c_char_p)
_API.PyCapsule_SetName.argtypes = (ctypes.py_object, ctypes.c_char_p)


@_DELETER
def _forget(address: int) -> None:
    _SHARED.pop(address, None)


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def _end_of_capsule(capsule: int) -> None:
    """Called for a capsule that nobody holds; the tensor lives on if it was used."""
    held = ctypes.cast(capsule, ctypes.py_object)
    if _API.PyCapsule_IsValid(held, _NAME):
        _forget(_API.PyCapsule_GetPointer(held, _NAME))


def _capsule(array: DeviceArray) -> Any:
    tensor = DLTensor.described(
        array.address, array.shape, array.strides, array.dtype, (CUDA, DEVICE), Abi.FFI
    )
    managed = _ManagedTensor(tensor, None, ctypes.cast(_forget, ctypes.c_void_p).value)
    address = ctypes.addressof(managed)
    _SHARED[address] = (managed, tensor, array)
    return _API.PyCapsule_New(
        address, _NAME, ctypes.cast(_end_of_capsule, ctypes.c_void_p)
    )


class _Owner:
    """Releases what another library has given."""

    def __init__(self, managed: _ManagedTensor) -> None:
        self._managed = managed

    def __del__(self) -> None:
        if self._managed.deleter:
            _DELETER(self._managed.deleter)(ctypes.addressof(self._managed))


def _of_capsule(stream: Stream, capsule: Any) -> DeviceArray:
    if not _API.PyCapsule_IsValid(capsule, _NAME):
        raise ValueError("the array gives no DLPack tensor that nobody has used yet")
    pointer = _API.PyCapsule_GetPointer(capsule, _NAME)
    managed = _ManagedTensor.from_address(pointer)
    _API.PyCapsule_SetName(capsule, _USED_NAME)
    owner = _Owner(managed)
    tensor: DLTensor = managed.tensor
    if tensor.lanes != 1:
        raise ValueError("the array has vectors as elements; pass one of numbers")
    try:
        dtype = dtype_of(tensor.code, tensor.bits, Abi.FFI)
    except InterpretationError as error:
        raise ValueError(str(error)) from None
    shape = tuple(tensor.shape[axis] for axis in range(tensor.ndim))
    strides = (
        tuple(tensor.strides[axis] * dtype.itemsize for axis in range(tensor.ndim))
        if tensor.strides
        else None
    )
    address = int(tensor.data or 0) + int(tensor.byte_offset)
    return DeviceArray(stream, address, shape, dtype, owner, strides)

"""Arrays in TVM's words: `nd.array(data, device)`.

An `NDArray` is an array of numpy, or one on the GPU, together with its device. Compiled
functions take it as they take the array in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from xdsl_tvm.analysis.shared_arrays import shared_array
from xdsl_tvm.dialects.dtypes import numpy_dtype
from xdsl_tvm.dialects.tir.types import parse_dtype
from xdsl_tvm.runtime.cuda_driver import default_driver
from xdsl_tvm.runtime.device import Device, cpu, cuda
from xdsl_tvm.runtime.device_array import DeviceArray, Stream, device_array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

_STREAMS: list[Stream] = []


def _stream() -> Stream:
    """The stream of arrays that no compiled function has made."""
    if not _STREAMS:
        _STREAMS.append(Stream.new(default_driver()))
    _STREAMS[0].driver.activate()
    return _STREAMS[0]


class NDArray:
    """An array on a device. It has no arithmetic: programs compute, and numpy does."""

    def __init__(self, data: Array | DeviceArray) -> None:
        self.data = data
        """The array of numpy, or that on the GPU."""

    @property
    def device(self) -> Device:
        """Where the elements are."""
        return cpu() if isinstance(self.data, np.ndarray) else cuda()

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents."""
        return self.data.shape

    @property
    def dtype(self) -> str:
        """TVM's name of the dtype."""
        return self.data.dtype.name

    def numpy(self) -> Array:
        """A copy of the elements. Raises RuntimeError for an error of a kernel."""
        data = self.data
        return data.copy() if isinstance(data, np.ndarray) else data.numpy()

    def copyto(self, target: NDArray | Device, mem_scope: str | None = None) -> NDArray:
        """Copy the elements to an array of the same dtype and shape, or to a new one.

        Raises ValueError for an array that differs, and TypeError for what is neither an
        NDArray nor a device.
        """
        if isinstance(target, Device):
            return array(self, target, mem_scope)
        if not isinstance(cast(object, target), NDArray):
            raise TypeError(
                "copyto needs an NDArray or a device, such as cpu(), not a "
                f"{type(target).__name__}"
            )
        return target.copyfrom(self)

    def copyfrom(self, source_array: NDArray | ArrayLike) -> NDArray:
        """Take the elements of an array of the same dtype and shape.

        Raises ValueError for one that differs, and for an array that is read-only.
        """
        given = _host_array(source_array)
        if given.dtype != self.data.dtype or given.shape != self.shape:
            raise ValueError(
                f"the array is {self.dtype}{list(self.shape)} and cannot take "
                f"{given.dtype.name}{list(given.shape)}; convert it"
            )
        if isinstance(self.data, np.ndarray):
            self.data[...] = given
        else:
            _to_gpu(self.data, given)
        return self

    def __setitem__(self, where: slice, value: NDArray | ArrayLike) -> None:
        """`x[:] = y` takes all elements of an array. Raises ValueError for a part."""
        if not isinstance(cast(object, where), slice) or where != slice(None):
            raise ValueError("a part of an NDArray cannot be set; write x[:] = y")
        self.copyfrom(value)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        found = np.asarray(self.data, dtype)
        return found.copy() if copy else found

    def __dlpack__(self, **options: Any) -> Any:
        return self.data.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device.device_type, self.device.device_id

    def to_dlpack(self) -> Any:
        """A capsule of DLPack, for one other library."""
        return self.__dlpack__()

    def __repr__(self) -> str:
        return f"<NDArray shape={self.shape}, {self.device}>\n{self.numpy()!r}"

    def __str__(self) -> str:
        return str(self.numpy())


def _host_array(source: object) -> Array:
    """The elements as an array of numpy, which may be that of the source."""
    if isinstance(source, NDArray):
        data = source.data
        return data if isinstance(data, np.ndarray) else data.numpy()
    return np.asarray(source)


def _to_gpu(target: DeviceArray, source: Array) -> None:
    if not target.flags.c_contiguous:
        raise ValueError("an array on the GPU that has gaps cannot take elements")
    held, stream = np.ascontiguousarray(source), target.stream
    stream.driver.activate()
    stream.copy_to_device(target.address, held.ctypes.data, held.nbytes)


def array(
    arr: NDArray | ArrayLike, device: Device | None = None, mem_scope: str | None = None
) -> NDArray:
    """A new array with copies of the elements; on the processor without `device`.

    Raises ValueError for a memory scope other than `global`, and RuntimeError where there
    is no GPU.
    """
    _check_scope(mem_scope)
    found = np.array(_host_array(arr), order="C", copy=True)
    if device is None or device.is_cpu:
        return NDArray(found)
    return NDArray(DeviceArray.of(_stream(), found))


def empty(
    shape: Sequence[int] | int,
    dtype: str = "float32",
    device: Device | None = None,
    mem_scope: str | None = None,
) -> NDArray:
    """A new array of any elements. Raises ValueError for an unknown dtype."""
    _check_scope(mem_scope)
    extents = (shape,) if isinstance(shape, int) else tuple(map(int, shape))
    name = dtype if isinstance(cast(object, dtype), str) else np.dtype(dtype).name
    element = numpy_dtype(parse_dtype(name))
    if device is None or device.is_cpu:
        return NDArray(np.empty(extents, element))
    return NDArray(DeviceArray.empty(_stream(), extents, element))


def _check_scope(mem_scope: str | None) -> None:
    if mem_scope not in (None, "", "global"):
        raise ValueError(
            f"arrays are in the memory scope global, not in '{mem_scope}'; leave it out"
        )


def from_dlpack(dltensor: Any) -> NDArray:
    """The array of another library, on the same memory.

    Raises TypeError for what does not know DLPack, such as a capsule, which its library
    has to be asked for by this function, and BufferError or ValueError for an array that
    cannot be shared.
    """
    if not hasattr(dltensor, "__dlpack_device__"):
        raise TypeError(
            f"from_dlpack needs an array that has __dlpack__, not a "
            f"{type(dltensor).__name__}; pass the array itself"
        )
    if isinstance(dltensor, NDArray):
        return NDArray(dltensor.data)
    kind, _ = dltensor.__dlpack_device__()
    if int(kind) == cpu().device_type:
        return NDArray(cast("Array", shared_array(dltensor)))
    found = device_array(_stream(), dltensor)
    if found is None:
        raise ValueError(f"the array is on a device of the kind {int(kind)}; copy it")
    return NDArray(found)


def host_value(value: Any) -> Any:
    """A value with the arrays in the place of the `NDArray`s in it."""
    if isinstance(value, NDArray):
        return value.data
    if isinstance(value, tuple | list):
        fields = cast("Sequence[Any]", value)
        return tuple(map(host_value, fields))
    return value


def tvm_value(value: Any) -> Any:
    """A value with `NDArray`s in the place of the arrays in it."""
    if isinstance(value, np.ndarray | DeviceArray):
        return NDArray(cast("Array | DeviceArray", value))
    if isinstance(value, tuple | list):
        fields = cast("Sequence[Any]", value)
        return tuple(map(tvm_value, fields))
    return value

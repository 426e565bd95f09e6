"""Arrays by name in TVM's files of parameters.

A file is little-endian: a magic number and a reserved one, the names, and the arrays.
Text has a length of 64 bits before it. An array is a magic number and a reserved one,
DLPack's device, number of dimensions, dtype and extents, the number of bytes, and these
(TVM's `SaveDLTensor`).
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Mapping
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import numpy as np

from xdsl_tvm.dialects.dtypes import numpy_dtype
from xdsl_tvm.dialects.tir.data_types import DataType, data_type
from xdsl_tvm.dialects.tir.types import parse_dtype
from xdsl_tvm.runtime.ndarray import NDArray, array

_LIST: Final = 0xF7E58D4F05049CB7
_ARRAY: Final = 0xDD5E40F096B4A13F
_MOST_DIMENSIONS: Final = 64
_DTYPES: Final = (
    "bool",
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    *("float16", "float32", "float64", "bfloat16", "float8_e4m3fn", "float8_e5m2"),
)


@cache
def _codes() -> Mapping[DataType, np.dtype[Any]]:
    """numpy's dtypes by DLPack's."""
    types = [parse_dtype(name) for name in _DTYPES]
    return {data_type(type_): numpy_dtype(type_) for type_ in types}


def save_param_dict(params: Mapping[str, Any]) -> bytes:
    """The bytes of a file of arrays, which are `NDArray`s or what numpy takes.

    Raises ValueError for a dtype that has no code.
    """
    codes = {dtype: code for code, dtype in _codes().items()}
    out = BytesIO()
    out.write(struct.pack("<QQQ", _LIST, 0, len(params)))
    for name in params:
        text = name.encode()
        out.write(struct.pack("<Q", len(text)) + text)
    out.write(struct.pack("<Q", len(params)))
    for name, value in params.items():
        elements = np.asarray(value.numpy() if isinstance(value, NDArray) else value)
        code = codes.get(elements.dtype)
        if code is None:
            raise ValueError(f"'{name}': {elements.dtype} has no code in such files")
        shape = elements.shape
        out.write(struct.pack("<QQiii", _ARRAY, 0, 1, 0, len(shape)))
        out.write(struct.pack("<BBH", code.code, code.bits, code.lanes))
        out.write(struct.pack(f"<{len(shape)}qq", *shape, elements.nbytes))
        out.write(np.ascontiguousarray(elements).tobytes())
    return out.getvalue()


def load_param_dict(param_bytes: bytes | bytearray) -> dict[str, NDArray]:
    """The arrays of a file, by name. Raises ValueError for what is no such file."""
    reader = _Reader(param_bytes)
    if reader.number() != _LIST:
        raise ValueError("these are no parameters of TVM: another number comes first")
    reader.number()
    names = [reader.bytes(reader.number()).decode() for _ in range(reader.number())]
    if reader.number() != len(names):
        raise ValueError("the numbers of names and of arrays differ")
    return dict(zip(names, reader.arrays(len(names)), strict=True))


def save_param_dict_to_file(params: Mapping[str, Any], path: str | Path) -> None:
    """Write arrays to a file. Raises what `save_param_dict` raises, and OSError."""
    Path(path).write_bytes(save_param_dict(params))


def load_param_dict_from_file(path: str | Path) -> dict[str, NDArray]:
    """The arrays of a file. Raises what `load_param_dict` raises, and OSError."""
    return load_param_dict(Path(path).read_bytes())


class _Reader:
    """Reads from bytes; raises ValueError where they end."""

    def __init__(self, data: bytes | bytearray) -> None:
        self._data, self._at = memoryview(data), 0

    def bytes(self, count: int) -> bytes:
        end = self._at + count
        if not 0 <= count <= len(self._data) - self._at:
            raise ValueError(f"the parameters end at byte {len(self._data)} of {end}")
        found, self._at = bytes(self._data[self._at : end]), end
        return found

    def numbers(self, form: str) -> tuple[int, ...]:
        form = f"<{form}"
        return struct.unpack(form, self.bytes(struct.calcsize(form)))

    def number(self) -> int:
        return self.numbers("Q")[0]

    def arrays(self, count: int) -> Iterator[NDArray]:
        for _ in range(count):
            magic, _, _, _, rank = self.numbers("QQiii")
            if magic != _ARRAY or not 0 <= rank <= _MOST_DIMENSIONS:
                raise ValueError("an array is expected, and another number comes")
            dtype = _codes().get(DataType(*self.numbers("BBH")))
            if dtype is None:
                raise ValueError("an array has a dtype that is not known")
            *shape, size = self.numbers(f"{rank}qq")
            if min(shape, default=0) < 0 or size != math.prod(shape) * dtype.itemsize:
                raise ValueError(f"an array of {shape} cannot have {size} bytes")
            yield array(np.frombuffer(self.bytes(size), dtype).reshape(shape))

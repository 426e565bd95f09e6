"""Results that a function has made, because only the call finds their extents."""

from __future__ import annotations

import ctypes
import math
import weakref
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from xdsl_tvm.runtime.signature import ArraySpec

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"


def taken_over(spec: ArraySpec, cells: Array) -> Array:
    """The array whose address and extents a function has written to cells.

    Its memory, which compiled code has allocated, is released with the array.
    """
    address, *shape = cells.tolist()
    size = math.prod(shape) * spec.dtype.itemsize
    if not size:
        _free()(address)
        return np.empty(shape, spec.dtype)
    memory = (ctypes.c_char * size).from_address(address)
    weakref.finalize(memory, _free(), address).atexit = False
    return np.frombuffer(memoryview(memory), spec.dtype).reshape(shape)


@cache
def _free() -> Any:
    """The C library's `free`, which matches the `aligned_alloc` of compiled code."""
    function = ctypes.CDLL(None).free
    function.argtypes, function.restype = [ctypes.c_void_p], None
    return function

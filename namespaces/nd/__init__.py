"""TVM's `tvm.nd`: arrays on devices.

x = nd.array(numpy_array, cpu())
y = nd.empty((4,), "float32")
"""

from typing import NoReturn

from xdsl_tvm.runtime.device import cpu, cuda, device
from xdsl_tvm.runtime.ndarray import NDArray, array, empty, from_dlpack
from xdsl_tvm.tvm_words import missing

__all__ = ["NDArray", "array", "cpu", "cuda", "device", "empty", "from_dlpack"]


def __getattr__(name: str) -> NoReturn:
    raise missing("nd", name)

"""Modules compiled for the first NVIDIA GPU, called with numpy arrays.

Each call copies the arrays to the GPU, runs the host part of the function, which launches
the kernels, and copies back what is written.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from xdsl.dialects import func
from xdsl.dialects.builtin import (
    Float32Type,
    Float64Type,
    IndexType,
    MemRefType,
    ModuleOp,
)
from xdsl.ir import Attribute
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.registry import new_context
from xdsl_tvm.runtime._arguments import Arguments
from xdsl_tvm.runtime._host_code import run_host_function, unsigned, width_of
from xdsl_tvm.runtime._overlap import OverlapCheck
from xdsl_tvm.runtime.cuda_driver import Dim3, default_driver
from xdsl_tvm.runtime.executable_base import Executable
from xdsl_tvm.runtime.llvm_jit import NVPTX_ARCHS, ptx
from xdsl_tvm.runtime.signature import ArraySpec, Signature


class Driver(Protocol):
    """What is used of `CudaDriver`."""

    def activate(self) -> None: ...

    def compute_capability(self) -> tuple[int, int]: ...

    def load(self, ptx: str) -> int: ...

    def kernel(self, module: int, name: str) -> int: ...

    def allocate(self, size: int) -> int: ...

    def free(self, pointer: int) -> None: ...

    def copy_to_device(self, pointer: int, source: int, size: int) -> None: ...

    def copy_to_host(self, target: int, pointer: int, size: int) -> None: ...

    def launch(
        self, kernel: int, grid: Dim3, block: Dim3, arguments: Sequence[Any]
    ) -> None: ...

    def synchronize(self) -> None: ...


def gpu_arch(capability: tuple[int, int]) -> str:
    """The newest architecture PTX can be made for that a GPU can run.

    Raises RuntimeError for a GPU that is too old.
    """
    number = capability[0] * 10 + capability[1]
    numbers = [
        int(a[3:]) for a in NVPTX_ARCHS if a[3:].isdigit() and int(a[3:]) <= number
    ]
    if not numbers:
        raise RuntimeError(f"a GPU of compute capability {number / 10} is not supported")
    return f"sm_{max(numbers)}"


class CudaExecutable(Executable):
    """Functions whose kernels run on the first GPU.

    `ptx` is the code of all kernels. A function without a thread axis cannot be called.
    """

    def __init__(
        self, module: ModuleOp, arch: str | None = None, driver: Driver | None = None
    ) -> None:
        from xdsl_tvm.lowering.llvm_ir import llvm_ir
        from xdsl_tvm.lowering.pipelines import lower_to_gpu

        super().__init__(module)
        self._driver = default_driver() if driver is None else driver
        self.arch: str = arch or gpu_arch(self._driver.compute_capability())
        context = new_context()
        lowered = module.clone()
        lower_to_gpu(context, lowered)
        self._host = {
            op.sym_name.data: op for op in lowered.body.ops if isinstance(op, func.FuncOp)
        }
        self.ptx: str = ptx(llvm_ir(context, lowered, "nvptx", self.arch), self.arch)
        self._module = self._driver.load(self.ptx)
        self._kernels: dict[str, int] = {}

    # -- the device that host code sees

    def allocate(self, size: int) -> int:
        """Device memory."""
        return self._driver.allocate(size)

    def free(self, pointer: int) -> None:
        """Frees device memory."""
        self._driver.free(pointer)

    def launch_kernel(
        self,
        name: str,
        grid: Dim3,
        block: Dim3,
        arguments: Sequence[tuple[Attribute, Any]],
    ) -> None:
        """Launches a kernel of this module."""
        kernel = self._kernels.get(name)
        if kernel is None:
            kernel = self._kernels[name] = self._driver.kernel(self._module, name)
        values = [_argument(dtype, value) for dtype, value in arguments]
        self._driver.launch(kernel, grid, block, values)

    # -- calls

    def _bind(self, signature: Signature) -> Callable[..., Any]:
        host = self._host.get(signature.function)
        if host is None:
            raise PassFailedException(
                f"@{signature.function} has no thread axis; bind loops to threads, or "
                "compile it for the target llvm"
            )
        arguments = Arguments(signature)
        overlap = OverlapCheck(signature)

        def call(*args: Any, **named: Any) -> Any:
            prepared = arguments(arguments.ordered(args, named) if named else args)
            # Every array is copied to the GPU by itself, so what they share is not there.
            if names := overlap.find(prepared.params):
                raise overlap.error(names)
            return self._run(host, signature, prepared.params, prepared.symbols)

        call.__name__ = call.__qualname__ = signature.function
        return call

    def _run(
        self,
        host: func.FuncOp,
        signature: Signature,
        params: Sequence[Any],
        symbols: Sequence[int],
    ) -> Any:
        driver = self._driver
        driver.activate()
        specs = signature.params
        allocated: list[int] = []
        values: list[Any] = []
        try:
            for spec, value in zip(specs, params, strict=True):
                if isinstance(spec, ArraySpec):
                    pointer = driver.allocate(_span(value))
                    allocated.append(pointer)
                    driver.copy_to_device(pointer, value.ctypes.data, _span(value))
                    values.append(pointer)
                else:
                    values.append(value)
            result = run_host_function(host, [*values, *symbols], self)
            driver.synchronize()
            for spec, value, pointer in zip(specs, params, values, strict=True):
                if isinstance(spec, ArraySpec) and spec.written:
                    driver.copy_to_host(value.ctypes.data, pointer, _span(value))
        finally:
            for pointer in allocated:
                driver.free(pointer)
        return result


def _span(array: Any) -> int:
    """Bytes from the first element to the end of the last."""
    if array.size == 0:
        return 0
    steps = zip(array.shape, array.strides, strict=True)
    return int(sum((extent - 1) * step for extent, step in steps) + array.itemsize)


_INTEGERS = {
    1: ctypes.c_uint8,
    8: ctypes.c_uint8,
    16: ctypes.c_uint16,
    32: ctypes.c_uint32,
    64: ctypes.c_uint64,
}


def _argument(dtype: Attribute, value: Any) -> Any:
    if isinstance(dtype, MemRefType):
        return ctypes.c_uint64(value)
    if isinstance(dtype, Float32Type):
        return ctypes.c_float(value)
    if isinstance(dtype, Float64Type):
        return ctypes.c_double(value)
    if isinstance(dtype, IndexType) or str(dtype).startswith("i"):
        return _INTEGERS[width_of(dtype)](unsigned(int(value), dtype))
    raise PassFailedException(
        f"a kernel cannot take a scalar of type {dtype}; pass an array of one element"
    )

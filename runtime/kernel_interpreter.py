"""Modules lowered for a GPU and run without one: host parts, and kernels interpreted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects import func, gpu
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import Attribute
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.interpreters.data.memory import Memory, Pointer, memory_of
from xdsl_tvm.interpreters.llvm_kernels.launches import Dim3, LLVMKernels
from xdsl_tvm.lowering.llvm_text.emitter import top_level
from xdsl_tvm.lowering.pipelines import lower_to_nvvm
from xdsl_tvm.registry import new_context
from xdsl_tvm.runtime._arguments import Arguments
from xdsl_tvm.runtime._host_code import run_host_function
from xdsl_tvm.runtime.executable_base import Executable
from xdsl_tvm.runtime.signature import Signature


class InterpretedKernels(Executable):
    """Functions whose kernels, lowered to the dialects below LLVM IR, are interpreted.

    It is what `compile(module, target="cuda")` returns, without a GPU: the functions
    that have thread axes, to be called with numpy arrays, which the kernels write.
    `kernels` holds what is interpreted (`interpreters/llvm_kernels`), with the counts of
    accesses if `count_accesses` is set. A call raises SimulationError for a fault of a
    kernel. Raises PassFailedException where something has no lowering for `arch`.
    """

    def __init__(
        self, module: ModuleOp, arch: str = "sm_80", *, count_accesses: bool = False
    ) -> None:
        super().__init__(module)
        lowered = module.clone()
        lower_to_nvvm(new_context(), lowered, arch)
        self.lowered = lowered
        """The module as its kernels are interpreted."""
        modules = [op for op in top_level([lowered]) if isinstance(op, gpu.ModuleOp)]
        code = [op for each in modules for op in each.body.block.ops]
        self.kernels = LLVMKernels(code, count_accesses=count_accesses)
        self._host = {
            op.sym_name.data: op for op in lowered.ops if isinstance(op, func.FuncOp)
        }

    def _bind(self, signature: Signature) -> Callable[..., Any]:
        host = self._host.get(signature.function)
        if host is None:
            raise PassFailedException(
                f"@{signature.function} launches no kernel; bind its loops to threads"
            )
        arguments = Arguments(signature)

        def run(*args: Any, **named: Any) -> Any:
            prepared = arguments(arguments.ordered(args, named))
            device = _Memory(self.kernels)
            values = [device.number_of(value) for value in prepared.params]
            return run_host_function(host, [*values, *prepared.symbols], device)

        run.__name__ = run.__qualname__ = signature.function
        return run


class _Memory:
    """The memory that host code sees, as numbers, and the launches of kernels."""

    def __init__(self, kernels: LLVMKernels) -> None:
        self._kernels = kernels
        self._pointers: dict[int, Pointer] = {}

    def number_of(self, value: Any) -> Any:
        """The number of an array; another value as it is."""
        if not isinstance(value, np.ndarray):
            return value
        return self._add(memory_of(cast("np.ndarray[Any, Any]", value)))

    def _add(self, pointer: Pointer) -> int:
        address = len(self._pointers) + 1
        self._pointers[address] = pointer
        return address

    def allocate(self, size: int) -> int:
        """Memory that nobody has written yet."""
        return self._add(Pointer.to(Memory.allocate(size), None))

    def free(self, pointer: int) -> None:
        """Memory is not used any more."""
        del self._pointers[pointer]

    def launch_kernel(
        self,
        name: str,
        grid: Dim3,
        block: Dim3,
        arguments: Sequence[tuple[Attribute, Any]],
    ) -> None:
        """Interprets a kernel."""
        values = [
            self._pointers[value] if isinstance(type, MemRefType) else value
            for type, value in arguments
        ]
        self._kernels.launch(name, grid, block, values)

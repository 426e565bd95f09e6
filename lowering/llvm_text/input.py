"""What the targets emit: the functions and globals of a lowered copy of a module."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.context import Context
from xdsl.dialects import gpu, llvm
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.utils.exceptions import DiagnosticException

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.lowering.llvm_text.emitter import top_level
from xdsl_tvm.lowering.llvm_text.ops import EMITTABLE


def _is_lowered(operations: Iterable[Operation]) -> bool:
    """Whether nothing but emittable operations lies at or below `operations`."""
    return all(
        inner.__class__ in EMITTABLE or isinstance(inner, ModuleOp | gpu.ModuleOp)
        for op in operations
        for inner in all_ops(op)
    )


def host_functions(ctx: Context, module: ModuleOp, kind: str = "cpu") -> list[Operation]:
    """The functions and globals of the host, lowered to the llvm dialect.

    The module itself is left alone. Raises DiagnosticException if `kind` is not `cpu`
    or if the module holds GPU kernels, which the `ptx` target emits.
    """
    if kind != "cpu":
        raise DiagnosticException(f"triple-kind must be 'cpu' or 'nvptx', got '{kind}'")
    if not _is_lowered(top_level([module])):
        from xdsl_tvm.lowering.pipelines import lower_to_llvm

        module = module.clone()
        lower_to_llvm(ctx, module)
    functions = list(top_level([module]))
    for op in functions:
        if isinstance(op, gpu.ModuleOp):
            raise DiagnosticException(
                "the module holds GPU kernels: emit them with '-t ptx' or with "
                "'-t llvm-ir{triple-kind=nvptx}'"
            )
    return functions


def device_functions(ctx: Context, module: ModuleOp, arch: str) -> list[Operation]:
    """The functions and globals of all GPU modules, lowered to the llvm dialect.

    A module without `gpu.module` whose functions are already in the llvm dialect counts
    as one GPU module if it has a kernel. Raises DiagnosticException if there is no
    kernel at all.
    """
    functions = _kernels_in(module)
    if functions is None or not _is_lowered(functions):
        from xdsl_tvm.lowering.pipelines import lower_to_nvvm

        module = module.clone()
        lower_to_nvvm(ctx, module, arch)
        functions = _kernels_in(module)
    if functions is None:
        from xdsl_tvm.lowering.pipelines import NO_KERNEL

        raise DiagnosticException(NO_KERNEL)
    return functions


def _kernels_in(module: ModuleOp) -> list[Operation] | None:
    operations = list(top_level([module]))
    modules = [op for op in operations if isinstance(op, gpu.ModuleOp)]
    if modules:
        return [op for module in modules for op in module.body.block.ops]
    if any(
        isinstance(op, llvm.FuncOp) and "nvvm.kernel" in op.attributes
        for op in operations
    ):
        return operations
    return None

"""The LLVM IR of a module: of its host functions, or of its GPU kernels.

Whoever emits code asks here. A module that is lowered already is written as it is; of any
other a copy is lowered first.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.context import Context
from xdsl.dialects import arith, gpu, llvm
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Operation
from xdsl.utils.exceptions import DiagnosticException

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.lowering.llvm_text.datum import Datum
from xdsl_tvm.lowering.llvm_text.emitter import emit_llvm_ir, top_level
from xdsl_tvm.lowering.llvm_text.ops import EMITTABLE
from xdsl_tvm.lowering.llvm_text.thread_pool import System, with_thread_pool
from xdsl_tvm.lowering.pipelines import NO_KERNEL, lower_to_llvm, lower_to_nvvm
from xdsl_tvm.lowering.to_llvm.verify_llvm_legal import check_llvm_legal, rules_for


def llvm_ir(
    ctx: Context,
    module: ModuleOp,
    kind: str = "cpu",
    arch: str = "sm_80",
    *,
    system: System | None = None,
    check: bool = False,
    fuse_multiply_add: bool = True,
    data: list[Datum] | None = None,
) -> str:
    """LLVM IR text of the functions that `lowered_functions` returns.

    With `system`, host code with parallel loops contains the thread pool for that system;
    without it, the launch of such loops is declared only. With `check`, code that would
    end the process inside LLVM raises PassFailedException. `fuse_multiply_add` is that of
    `lower_to_nvvm`. With `data`, large constants are appended to it, and declared only in
    the text. Raises DiagnosticException for what has no LLVM form.
    """
    functions = lowered_functions(
        ctx, module, kind, arch, fuse_multiply_add=fuse_multiply_add
    )
    rules = rules_for(kind, arch)
    if check:
        check_llvm_legal(functions, rules)
    text = emit_llvm_ir(functions, sm=rules.sm, data=data)
    if system is None or kind != "cpu":
        return text
    return with_thread_pool(text, system)


def lowered_functions(
    ctx: Context,
    module: ModuleOp,
    kind: str = "cpu",
    arch: str = "sm_80",
    *,
    fuse_multiply_add: bool = True,
) -> list[Operation]:
    """The functions and globals of the host (`cpu`) or of the GPU (`nvptx`).

    They are in the dialects that LLVM IR is written from: the module's own where it is
    lowered already, else those of a lowered copy; the module itself is left alone. For
    the GPU they are the contents of all GPU modules. A module without `gpu.module` whose
    functions are in the llvm dialect counts as one GPU module if it has a kernel.

    Raises DiagnosticException for another kind, for GPU kernels in a module for the host,
    and if there is no kernel for the GPU; and what the passes raise.
    """
    module = lowered(ctx, module, kind, arch, fuse_multiply_add=fuse_multiply_add)
    functions = _functions_of(module, kind)
    if functions is None:
        raise DiagnosticException(NO_KERNEL)
    if kind == "cpu" and any(isinstance(op, gpu.ModuleOp) for op in functions):
        raise DiagnosticException(
            "the module holds GPU kernels: emit them with '-t ptx' or with "
            "'-t llvm-ir{triple-kind=nvptx}'"
        )
    return functions


def lowered(
    ctx: Context,
    module: ModuleOp,
    kind: str = "cpu",
    arch: str = "sm_80",
    *,
    fuse_multiply_add: bool = True,
) -> ModuleOp:
    """The module of these functions: the given one, or a lowered copy of it.

    Raises DiagnosticException for another kind, and what the passes raise.
    """
    if kind not in ("cpu", "nvptx"):
        raise DiagnosticException(f"triple-kind must be 'cpu' or 'nvptx', got '{kind}'")
    functions = _functions_of(module, kind)
    if functions is not None and _is_lowered(functions):
        return module
    module = module.clone()
    if kind == "cpu":
        lower_to_llvm(ctx, module)
    else:
        lower_to_nvvm(ctx, module, arch, fuse_multiply_add=fuse_multiply_add)
    return module


def launched_bytes(module: ModuleOp) -> dict[str, int]:
    """Bytes of dynamic shared memory by kernel: the most of launches with a constant."""
    found: dict[str, int] = {}
    for op in all_ops(module):
        if not isinstance(op, gpu.LaunchFuncOp) or op.dynamicSharedMemorySize is None:
            continue
        size = op.dynamicSharedMemorySize.owner
        if isinstance(size, arith.ConstantOp) and isinstance(size.value, IntegerAttr):
            name = op.kernel.string_value().rpartition(".")[2]
            found[name] = max(found.get(name, 0), size.value.value.data)
    return found


def _functions_of(module: ModuleOp, kind: str) -> list[Operation] | None:
    """What of a module is compiled for the host or the GPU; None without a kernel."""
    operations = list(top_level([module]))
    if kind == "cpu":
        return operations
    modules = [op for op in operations if isinstance(op, gpu.ModuleOp)]
    if modules:
        return [op for module in modules for op in module.body.block.ops]
    if any(
        isinstance(op, llvm.FuncOp) and "nvvm.kernel" in op.attributes
        for op in operations
    ):
        return operations
    return None


def _is_lowered(operations: Iterable[Operation]) -> bool:
    """Whether the operations and all nested in them are emittable."""
    classes = {kind for op in operations for kind in set(map(type, all_ops(op)))}
    return all(issubclass(kind, ModuleOp | gpu.ModuleOp) for kind in classes - EMITTABLE)

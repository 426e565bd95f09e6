"""The roads to machine code, as lists of passes.

Each road is a function that lowers a module in place, and a text that `-p` takes:

>>> print(llvm_pipeline())
tir-lower-init-block,tir-convert-blocks-to-opaque,tir-lower-opaque-block,…

Every pass of a road leaves alone what is lowered already, so a module may stand at any
level, or at several. Passes over Relax functions take part where a module has some.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.context import Context
from xdsl.dialects import gpu
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region
from xdsl.utils.arg_spec import parse_pipeline
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.registry import all_passes

RELAX_TO_TIR = (
    "relax-legalize-ops",
    "relax-to-non-dataflow",
    "relax-call-tir-rewrite",
)
"""Relax graphs to calls of TIR functions, on memory that is allocated."""

RELAX_TO_MEMREF = ("relax-convert-to-memref",)
"""Relax functions to functions on memrefs."""

TIR_BLOCKS_TO_LOOPS = (
    "tir-lower-init-block",
    "tir-convert-blocks-to-opaque",
    "tir-lower-opaque-block",
)
"""Blocks to loops and buffers, and nothing else."""

FLAT_TO_LLVM = (
    "tvm-convert-cf-to-llvm",
    "tvm-convert-vector-to-llvm",
    "tvm-convert-arith-to-llvm",
    "tvm-convert-math-to-llvm",
    "tvm-convert-memref-to-llvm",
    "tvm-convert-func-to-llvm",
)
"""func, cf, memref, vector, arith and math to the llvm dialect."""

TO_LLVM = ("tvm-convert-scf-to-cf", "tvm-lower-assert", *FLAT_TO_LLVM)
"""The same, and structured control flow before them."""


def tir_optimization(vector_bytes: int = 64) -> tuple[str, ...]:
    """Blocks to flat vector code, with vectors of so many bytes.

    A schedule for functions that have none, and the default pipeline.
    """
    return (
        f"tir-default-cpu-schedule{{vector_bytes={vector_bytes}}}",
        'tir-default-pipeline{target="llvm"}',
    )


def llvm_pipeline(*, relax: bool = False, vector_bytes: int | None = None) -> str:
    """The road to the llvm dialect for the CPU, as pipeline text.

    With `vector_bytes`, TIR functions take the passes of `tir_optimization` on the way;
    else they are lowered as they are written.
    """
    optimization = None if vector_bytes is None else tir_optimization(vector_bytes)
    return ",".join(
        (
            *(RELAX_TO_TIR if relax else ()),
            *(optimization or TIR_BLOCKS_TO_LOOPS),
            *(RELAX_TO_MEMREF if relax else ()),
            "tir-convert-to-memref",
            "tvm-expand-math",
            "tvm-convert-scf-parallel-to-threads",
            *TO_LLVM,
            "tvm-verify-llvm-legal",
        )
    )


def gpu_pipeline() -> str:
    """The road to host functions that launch kernels of GPU modules, as text."""
    return ",".join((*TIR_BLOCKS_TO_LOOPS, "tir-convert-to-gpu"))


def kernel_pipeline(arch: str = "sm_80") -> str:
    """The road from the contents of GPU modules to NVVM, as text."""
    return ",".join(
        (
            "tvm-expand-math",
            "tvm-convert-scf-to-cf",
            "tvm-convert-gpu-to-nvvm",
            *FLAT_TO_LLVM,
            f'tvm-verify-llvm-legal{{triple-kind="nvptx" arch="{arch}"}}',
        )
    )


def run_pipeline(ctx: Context, module: ModuleOp, passes: str | Sequence[str]) -> None:
    """Run passes of this package on `module`, in place.

    `passes` is a pipeline text, or several. Raises PassFailedException for a pass that
    this package does not have, and what the passes raise.
    """
    text = passes if isinstance(passes, str) else ",".join(passes)
    known = all_passes()
    for spec in parse_pipeline(text):
        pass_class = known.get(spec.name)
        if pass_class is None:
            raise PassFailedException(f"there is no pass named '{spec.name}'")
        pass_class().from_pass_spec(spec).apply(ctx, module)


def has_relax_functions(module: ModuleOp) -> bool:
    """Whether a function of the module is a Relax function."""
    return any(op.name == "relax.func" for op in module.body.ops)


def lower_to_llvm(
    ctx: Context, module: ModuleOp, *, vector_bytes: int | None = None
) -> None:
    """Lower a module of Relax, TIR, or func and memref to the llvm dialect, in place.

    With `vector_bytes`, TIR functions take the passes of `tir_optimization` on the way.
    Raises PassFailedException where something has no lowering for the CPU.
    """
    relax = has_relax_functions(module)
    run_pipeline(ctx, module, llvm_pipeline(relax=relax, vector_bytes=vector_bytes))


def lower_to_gpu(ctx: Context, module: ModuleOp) -> None:
    """Lower the thread-bound TIR functions of a module, in place.

    Each becomes a `func.func` that launches kernels of a `gpu.module`. Raises
    PassFailedException where something has no lowering for the GPU.
    """
    run_pipeline(ctx, module, gpu_pipeline())


def lower_to_nvvm(ctx: Context, module: ModuleOp, arch: str = "sm_80") -> None:
    """Lower the thread-bound TIR functions and the GPU modules of a module, in place.

    The contents of GPU modules end in the llvm and nvvm dialects; the host functions
    stay as they launch kernels. Raises PassFailedException where something has no
    lowering for a GPU of `arch`.
    """
    lower_to_gpu(ctx, module)
    kernels = [op for op in module.body.ops if isinstance(op, gpu.ModuleOp)]
    if not kernels:
        return
    # The conversions lower all that they find, so the host code is kept out of sight.
    successors: list[Operation | None] = []
    inner = ModuleOp(Region(Block()))
    for kernel in reversed(kernels):
        successors.append(kernel.next_op)
        kernel.detach()
        inner.body.block.add_op(kernel)
    try:
        run_pipeline(ctx, inner, kernel_pipeline(arch))
    finally:
        _put_back(module, list(inner.body.ops), successors)


def _put_back(
    module: ModuleOp, kernels: Sequence[Operation], successors: Sequence[Operation | None]
) -> None:
    for kernel, successor in zip(kernels, successors, strict=True):
        kernel.detach()
        if successor is None:
            module.body.block.add_op(kernel)
        else:
            module.body.block.insert_op_before(kernel, successor)

"""Thread-bound functions down to NVVM kernels, as one pass."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import gpu, llvm
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.lowering.pipelines import NO_KERNEL, lower_to_nvvm
from xdsl_tvm.passes.infra import CompilerPass


@dataclass(frozen=True)
class LowerToNVVM(CompilerPass):
    """Summary: Lowers TIR functions with thread axes to kernels in the llvm dialect.

    TVM name: none (ours)
    Input form: TIR functions whose loops are bound to threads, or gpu.module
    Output form: llvm, tvm_llvm and nvvm in each gpu.module, as tvm-verify-llvm-legal
        demands; host functions that launch the kernels with gpu.launch_func
    Options: `arch`: the oldest GPU the code runs on (sm_80)
        `fuse_multiply_add`: whether a product and a sum of floats may round once (true)
    Rewrites: the passes of gpu_pipeline and kernel_pipeline of
        xdsl_tvm.lowering.pipelines, in order; the latter on the GPU modules only
            tir.func @f(…)  →  func.func @f(…), gpu.module { llvm.func @f_kernel(…) }
    Leaves alone: host functions; TIR functions without thread axes, but for their blocks
    Errors: those of the passes; a module without a kernel
    Attributes: read: those of the passes; created: those of the passes; removed: TVM's
        function attributes
    Differs from TVM: TVM builds host and device modules apart. What nvcc does of its own
        accord there, fused multiply-adds, is an option here
    """

    name = "tvm-lower-to-nvvm"

    arch: str = "sm_80"
    fuse_multiply_add: bool = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        lower_to_nvvm(ctx, op, self.arch, fuse_multiply_add=self.fuse_multiply_add)
        if not any(isinstance(each, gpu.ModuleOp | llvm.FuncOp) for each in op.body.ops):
            raise PassFailedException(NO_KERNEL)

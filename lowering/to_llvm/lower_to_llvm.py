"""Everything down to the llvm dialect for the CPU, as one pass."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from xdsl_tvm.lowering.pipelines import llvm_pipeline, lower_to_llvm, passes_of
from xdsl_tvm.passes.infra import CompositePass


@dataclass(frozen=True)
class LowerToLLVM(CompositePass):
    """Summary: Lowers Relax, TIR, and functions on memrefs to the llvm dialect.

    TVM name: none (ours)
    Input form: any mixture of Relax functions, TIR functions without thread axes, and
        func, scf, memref, arith and math
    Output form: llvm and tvm_llvm, as tvm-verify-llvm-legal demands
    Options: none
    Rewrites: the passes of xdsl_tvm.lowering.pipelines.llvm_pipeline, in order
            tir.func @f(…)  →  llvm.func @f(…)
    Leaves alone: what is in the llvm dialect already
    Errors: those of the passes; an operation of a dialect that other passes lower:
        affine, linalg, memref_stream, stencil, tensor, varith
    Attributes: read: those of the passes; created: those of the passes; removed: TVM's
        function attributes
    Differs from TVM: TVM's default pipeline ends in packed functions (MakePackedAPI)
    """

    name = "tvm-lower-to-llvm"

    def passes(self) -> tuple[ModulePass, ...]:
        return passes_of(llvm_pipeline(relax=True))

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        lower_to_llvm(ctx, op)

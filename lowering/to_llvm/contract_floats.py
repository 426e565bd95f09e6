"""Products and sums of floats that may become one instruction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from xdsl.context import Context
from xdsl.dialects import arith, gpu
from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.utils import FastMathFlag

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.passes.infra import CompilerPass

_CONTRACTED: Final = (arith.AddfOp, arith.MulfOp, arith.SubfOp)
_FLAG: Final = FastMathFlag.ALLOW_CONTRACT


@dataclass(frozen=True)
class ContractFloats(CompilerPass):
    """Summary: Allows a product and a sum of floats in kernels to round once.

    TVM name: none (ours)
    Input form: any; GPU modules are looked at
    Output form: the same
    Options: none
    Rewrites:
            %p = arith.mulf %a, %b : f32
            %s = arith.addf %p, %c : f32
          →
            %p = arith.mulf %a, %b fastmath<contract> : f32
            %s = arith.addf %p, %c fastmath<contract> : f32
        LLVM makes fused multiply-adds of them, whose results differ from those of two
        roundings by the rounding of the product. No other freedom is given: sums stay in
        their order. The road to PTX runs it before tvm-expand-math, whose expansions
        need each rounding that they have.
    Leaves alone: everything outside of GPU modules; other operations
    Errors: none
    Attributes: read: none; created: none; removed: none
    Differs from TVM: TVM writes CUDA C, in which nvcc contracts by default
    """

    name = "tvm-contract-floats"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for module in list(op.walk()):
            if isinstance(module, gpu.ModuleOp):
                for inner in all_ops(module):
                    if isinstance(inner, _CONTRACTED):
                        flags = {*inner.fastmath.data, _FLAG}
                        inner.fastmath = FastMathFlagsAttr(flags)

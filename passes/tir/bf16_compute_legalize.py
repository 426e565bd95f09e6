"""bfloat16 arithmetic in float32, for targets that lack it."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32

from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.tir._legalize_floats.compute import compute_in
from xdsl_tvm.passes.tir._legalize_floats.kinds import BFLOAT16, functions_to_legalize


@dataclass(frozen=True)
class BF16ComputeLegalize(CompilerPass):
    """Summary: x"""

    name = "tir-bf16-compute-legalize"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func, ops in functions_to_legalize(op, BFLOAT16, self.name):
            compute_in(func, ops, BFLOAT16, f32)

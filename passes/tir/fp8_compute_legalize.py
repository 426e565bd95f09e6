"""float8 arithmetic in a wider float, for targets that lack it."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f16, f32
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.tir._legalize_floats.compute import compute_in
from xdsl_tvm.passes.tir._legalize_floats.kinds import FLOAT8, functions_to_legalize

_WIDE = {"float16": f16, "float32": f32}


@dataclass(frozen=True)
class FP8ComputeLegalize(CompilerPass):
    """Summary: x"""

    name = "tir-fp8-compute-legalize"

    promote_dtype_str: str = "float32"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        wide = _WIDE.get(self.promote_dtype_str)
        if wide is None:
            raise PassFailedException(
                f"{self.name}: promote_dtype_str is '{self.promote_dtype_str}', which is "
                "no dtype to compute in; use float16 or float32"
            )
        for func, ops in functions_to_legalize(op, FLOAT8, self.name):
            compute_in(func, ops, FLOAT8, wide)

"""float8 values as unsigned integers of their size, for targets that lack them."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.tir._legalize_floats.kinds import FLOAT8, functions_to_legalize
from xdsl_tvm.passes.tir._legalize_floats.storage import store_as_integers


@dataclass(frozen=True)
class FP8StorageLegalize(CompilerPass):
    """Summary: x"""

    name = "tir-fp8-storage-legalize"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = list(functions_to_legalize(op, FLOAT8, self.name))
        store_as_integers(op, functions, FLOAT8)

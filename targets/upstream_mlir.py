"""`-t upstream-mlir`: text that `mlir-opt` and `mlir-translate` read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.target import Target

from xdsl_tvm.lowering.mlir_text.upstream import print_upstream_mlir


@dataclass(frozen=True)
class UpstreamMLIRTarget(Target):
    """The module in the spelling of upstream MLIR, which MLIR's tools read.

    The module is written at the level it has (func, scf, memref, vector, gpu, cf, llvm),
    without lowering it: `tvm_llvm.x` as `llvm.x`, hints of loops as
    `#llvm.loop_annotation`, alias scopes as `#llvm.alias_scope`, kernels with
    `gpu.kernel`. Attributes of the dialects `tir` and `relax`, which say nothing at these
    levels, are left out. With `generic=true` all operations are in generic form.

    The target is not called `mlir`, the name of xDSL's target that writes operations in
    xDSL's spelling.

    Raises DiagnosticException for operations of `tir` and `relax`.
    """

    name = "upstream-mlir"

    generic: bool = False

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        print_upstream_mlir(module, output, generic=self.generic)

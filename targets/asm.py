"""`-t asm`: assembly of the host."""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.target import Target

from xdsl_tvm.targets._llvm_input import host_functions
from xdsl_tvm.targets._llvm_text import emit_llvm_ir


@dataclass(frozen=True)
class AsmTarget(Target):
    """Assembly of the host functions, compiled at -O2 by LLVM.

    For this machine's processor unless `triple` and `cpu` name another one, x86-64 or
    AArch64: `-t 'asm{triple="aarch64-linux-gnu" cpu="neoverse-v1"}'`. Needs llvmlite.

    Raises DiagnosticException for what LLVM cannot compile and for unknown targets.
    """

    name = "asm"

    cpu: str = ""
    triple: str = ""

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        from xdsl_tvm.lowering.tvm.verify_llvm_legal import check_llvm_legal, rules_for
        from xdsl_tvm.runtime.llvm_jit import assembly

        functions = host_functions(ctx, module)
        check_llvm_legal(functions, rules_for("cpu"))
        output.write(assembly(emit_llvm_ir(functions), triple=self.triple, cpu=self.cpu))

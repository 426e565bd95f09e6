"""`-t asm`: assembly of the host."""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.target import Target

from xdsl_tvm.lowering.llvm_text.emitter import emit_llvm_ir
from xdsl_tvm.lowering.llvm_text.input import host_functions
from xdsl_tvm.lowering.llvm_text.thread_pool import system_of, with_thread_pool


@dataclass(frozen=True)
class AsmTarget(Target):
    """Assembly of the host functions, compiled at -O2 by LLVM.

    For this machine's processor unless `triple` and `cpu` name another one, x86-64 or
    AArch64: `-t 'asm{triple="aarch64-linux-gnu" cpu="neoverse-v1"}'`. Needs llvmlite.

    The code of parallel loops comes with the thread pool they run on, which a program has
    once, however many such files it is linked from. It needs POSIX threads; on systems
    without, loops run in order.

    Raises DiagnosticException for what LLVM cannot compile and for unknown targets.
    """

    name = "asm"

    cpu: str = ""
    triple: str = ""

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        from xdsl_tvm.lowering.to_llvm.verify_llvm_legal import (
            check_llvm_legal,
            rules_for,
        )
        from xdsl_tvm.runtime.llvm_jit import assembly

        functions = host_functions(ctx, module)
        check_llvm_legal(functions, rules_for("cpu"))
        text = with_thread_pool(emit_llvm_ir(functions), system_of(self.triple))
        output.write(assembly(text, triple=self.triple, cpu=self.cpu))

"""`-t asm`: assembly of the host."""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.target import Target

from xdsl_tvm.lowering.llvm_ir import llvm_ir
from xdsl_tvm.lowering.llvm_text.thread_pool import system_of
from xdsl_tvm.runtime.llvm_jit import assembly


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
        text = llvm_ir(ctx, module, system=system_of(self.triple), check=True)
        output.write(assembly(text, triple=self.triple, cpu=self.cpu))

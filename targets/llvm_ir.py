"""`-t llvm-ir`: LLVM IR text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.target import Target

from xdsl_tvm.lowering.llvm_ir import llvm_ir
from xdsl_tvm.lowering.llvm_text.thread_pool import host_system


@dataclass(frozen=True)
class LLVMIRTarget(Target):
    """LLVM IR text for LLVM 22.

    A module of the llvm dialect is written as it is; of any other a copy is lowered
    first. With `triple_kind="nvptx"` the contents of the `gpu.module`s are written
    instead of the host code. Needs nothing beyond xDSL.

    Parallel loops come with the thread pool they run on, written for this machine's
    operating system and processor family.

    Raises DiagnosticException for what has no LLVM form.
    """

    name = "llvm-ir"

    triple_kind: str = "cpu"
    arch: str = "sm_80"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        system = host_system()
        output.write(llvm_ir(ctx, module, self.triple_kind, self.arch, system=system))

"""`-t ptx`: PTX of the GPU kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.target import Target

from xdsl_tvm.lowering.llvm_ir import llvm_ir
from xdsl_tvm.runtime.llvm_jit import ptx


@dataclass(frozen=True)
class PTXTarget(Target):
    """PTX of all `gpu.module`s of a module, as one file.

    `arch` is the oldest GPU that the code has to run on, such as `sm_80` or `sm_90a`;
    the PTX version is the lowest that it and the instructions of the kernels allow. With
    `fuse_multiply_add` a product and a sum of floats may round once. Needs llvmlite, but
    neither CUDA nor a GPU.

    Raises DiagnosticException if there is no kernel, if two `gpu.module`s define the
    same symbol, and for what LLVM cannot compile.
    """

    name = "ptx"

    arch: str = "sm_80"
    fuse_multiply_add: bool = True

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        text = llvm_ir(
            ctx,
            module,
            "nvptx",
            self.arch,
            check=True,
            fuse_multiply_add=self.fuse_multiply_add,
        )
        output.write(ptx(text, self.arch))

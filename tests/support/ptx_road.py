"""Kernels on the road to PTX: run as they are lowered, and judged by ptxas."""

from __future__ import annotations

import io
import shutil
import subprocess
from pathlib import Path
from typing import Any

from xdsl.dialects import gpu
from xdsl.dialects.builtin import ModuleOp

from xdsl_tvm.interpreters.llvm_kernels.launches import LLVMKernels
from xdsl_tvm.lowering.pipelines import lower_to_nvvm
from xdsl_tvm.registry import new_context
from xdsl_tvm.targets.ptx import PTXTarget


def emitted(
    module: ModuleOp, arch: str = "sm_80", *, fuse_multiply_add: bool = True
) -> str:
    """The PTX of a module."""
    output = io.StringIO()
    target = PTXTarget(arch, fuse_multiply_add=fuse_multiply_add)
    target.emit(new_context(), module, output)
    return output.getvalue()


def assembled(module: ModuleOp, folder: Path, arch: str = "sm_80") -> str:
    """The PTX of a module, which ptxas, where it is, accepts without spills."""
    text = emitted(module, arch)
    assemble(text, folder, arch)
    return text


def assemble(text: str, folder: Path, arch: str = "sm_80") -> None:
    """Have ptxas, where it is, accept PTX without spills."""
    ptxas = shutil.which("ptxas")
    if ptxas is not None:
        file = folder / "kernel.ptx"
        file.write_text(text)
        command = [ptxas, "-v", f"-arch={arch}", str(file), "-o", str(folder / "cubin")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert "0 bytes stack frame, 0 bytes spill stores" in done.stderr


def run_lowered(
    module: ModuleOp,
    name: str,
    grid: int,
    block: tuple[int, int, int],
    data: list[Any],
    dynamic_bytes: int = 0,
    arch: str = "sm_80",
) -> LLVMKernels:
    """Run a kernel of a module, which is lowered, below LLVM IR."""
    lower_to_nvvm(new_context(), module, arch)
    operations = [
        op
        for kernels in module.walk()
        if isinstance(kernels, gpu.ModuleOp)
        for op in kernels.body.block.ops
    ]
    kernels = LLVMKernels(operations)
    kernels.launch(name, (grid, 1, 1), block, data, dynamic_bytes)
    return kernels

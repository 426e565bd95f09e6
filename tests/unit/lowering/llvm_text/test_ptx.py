"""PTX of hand-written kernels; `ptxas` judges it where there is one."""

from __future__ import annotations

import shutil
import subprocess
from io import StringIO
from pathlib import Path

import pytest
from support.llvm_modules import read_module
from xdsl.utils.exceptions import DiagnosticException

from xdsl_tvm.targets.asm import AsmTarget
from xdsl_tvm.targets.llvm_ir import LLVMIRTarget
from xdsl_tvm.targets.ptx import PTXTarget

pytest.importorskip("llvmlite", reason="PTX needs llvmlite")

KERNEL = """
"gpu.module"() <{sym_name = "first"}> ({
  llvm.mlir.global internal @tile() {alignment = 16 : i64, addr_space = 3 : i32}
    : !llvm.array<128 x f32>
  llvm.func @reverse(%x: !llvm.ptr<1> {llvm.noalias, llvm.readonly},
                     %y: !llvm.ptr<1> {llvm.noalias})
      attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128, 1, 1>} {
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %last = llvm.mlir.constant(127 : i32) : i32
    %other = llvm.sub %last, %tid : i32
    %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>
    %px = llvm.getelementptr inbounds %x[%tid] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %pt = llvm.getelementptr inbounds %tile[%tid]
      : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    %po = llvm.getelementptr inbounds %tile[%other]
      : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    %py = llvm.getelementptr inbounds %y[%tid] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %v = llvm.load %px {alignment = 4 : i64} : !llvm.ptr<1> -> f32
    llvm.store %v, %pt {alignment = 4 : i64} : f32, !llvm.ptr<3>
    nvvm.barrier0
    %w = llvm.load %po {alignment = 4 : i64} : !llvm.ptr<3> -> f32
    %mask = llvm.mlir.constant(-1 : i32) : i32
    %one = llvm.mlir.constant(1 : i32) : i32
    %clamp = llvm.mlir.constant(31 : i32) : i32
    %s = nvvm.shfl.sync bfly %mask, %w, %one, %clamp : f32 -> f32
    %sum = llvm.fadd %w, %s : f32
    %old = tvm_llvm.atomicrmw fadd %py, %sum syncscope("device") monotonic
      : !llvm.ptr<1>, f32
    llvm.return
  }
}) : () -> ()
"""

SECOND = KERNEL.replace('"first"', '"second"').replace("@reverse", "@again")


def ptx(text: str, arch: str = "sm_80") -> str:
    """The PTX of a module."""
    context, module = read_module(text)
    output = StringIO()
    PTXTarget(arch=arch).emit(context, module, output)
    return output.getvalue()


def assemble(code: str, arch: str, folder: Path) -> None:
    """Runs `ptxas`, or skips the test if there is none."""
    ptxas = shutil.which("ptxas")
    if ptxas is None:
        pytest.skip("ptxas is not on the PATH")
    file = folder / "kernel.ptx"
    file.write_text(code)
    done = subprocess.run(
        [ptxas, f"-arch={arch}", str(file), "-o", str(folder / "kernel.cubin")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("arch", "version"), [("sm_80", "7.0"), ("sm_90", "7.8"), ("sm_90a", "8.0")]
)
def test_kernel(arch: str, version: str) -> None:
    code = ptx(KERNEL, arch)
    for part in [
        f".version {version}\n.target {arch}\n",
        ".visible .entry reverse(",
        ".maxntid 128, 1, 1",
        ".shared .align 16 .b8 tile[512];",
        "ld.global.nc.b32",
        "bar.sync",
        "shfl.sync.bfly.b32",
        "add.f32",
    ]:
        assert part in code


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_ptxas_accepts_the_kernel(arch: str, tmp_path: Path) -> None:
    assemble(ptx(KERNEL, arch), arch, tmp_path)


def test_modules_are_joined() -> None:
    second = SECOND.replace("@tile", "@tile2")
    code = ptx(KERNEL + second)
    assert code.count(".visible .entry") == 2


def test_clashing_symbols_are_refused() -> None:
    with pytest.raises(DiagnosticException, match="symbol '@tile' is defined twice"):
        ptx(KERNEL + SECOND)


def test_kernel_outside_of_a_gpu_module() -> None:
    text = "llvm.func @k(%p: !llvm.ptr<1>) attributes {nvvm.kernel} {\n  llvm.return\n}"
    assert ".visible .entry k(" in ptx(text)


def test_host_code_stays_out_of_the_ptx() -> None:
    host = "llvm.func @host(%x: f64) -> f64 {\n  llvm.return %x : f64\n}\n"
    assert "host" not in ptx(host + KERNEL)


def test_kernels_are_no_host_code() -> None:
    context, module = read_module(KERNEL)
    with pytest.raises(DiagnosticException, match="holds GPU kernels: emit them with"):
        LLVMIRTarget().emit(context, module, StringIO())
    with pytest.raises(DiagnosticException, match="holds GPU kernels: emit them with"):
        AsmTarget().emit(context, module, StringIO())


def test_unknown_architectures() -> None:
    for arch in ("sm_60", "sm_999", "gfx90a", ""):
        with pytest.raises(DiagnosticException, match="arch"):
            ptx(KERNEL, arch)


def test_kernel_with_a_result_is_refused() -> None:
    text = "llvm.func @k(%x: i32) -> i32 attributes {nvvm.kernel} {\n"
    text += "  llvm.return %x : i32\n}"
    with pytest.raises(DiagnosticException, match="a kernel returns nothing"):
        ptx(text)


def test_call_of_a_host_function_is_refused() -> None:
    text = "llvm.func @puts(!llvm.ptr) -> i32\n"
    text += "llvm.func @k(%p: !llvm.ptr) attributes {nvvm.kernel} {\n"
    text += "  %0 = llvm.call @puts(%p) : (!llvm.ptr) -> i32\n  llvm.return\n}"
    with pytest.raises(DiagnosticException, match="call 'puts', which GPUs do not have"):
        ptx(text)

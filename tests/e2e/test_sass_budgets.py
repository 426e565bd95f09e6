"""Budgets of the machine code of the example kernels; `ptxas` and `nvdisasm` make it.

No kernel spills or has a stack. What the hottest loop holds is exact where the algorithm
says it, and at most so much otherwise.
"""

from __future__ import annotations

from functools import cache

import pytest
from support import paths

from xdsl_tvm.lowering.llvm_ir import llvm_ir
from xdsl_tvm.registry import new_context
from xdsl_tvm.runtime.llvm_jit import ptx
from xdsl_tvm.runtime.load import load_module
from xdsl_tvm.runtime.sass import KernelCode, find_program, machine_code
from xdsl_tvm.tools.cli import main

pytestmark = pytest.mark.skipif(
    None in (find_program("ptxas"), find_program("nvdisasm")),
    reason="ptxas or nvdisasm is not installed",
)

REGISTERS = {
    "kernels/matmul_tile.mlir": 40,
    "kernels/vector_add.mlir": 16,
    "tvmscript/gpu_tile.py": 40,
    "tvmscript/softmax_threads.py": 32,
}
"""The example kernels, and how many registers each may need."""
ARCHITECTURES = ("sm_80", "sm_90")


@cache
def code(name: str, arch: str) -> KernelCode:
    module = load_module(paths.EXAMPLES / name)
    text = ptx(llvm_ir(new_context(), module, "nvptx", arch), arch)
    (found,) = machine_code(text, arch).values()
    return found


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("name", REGISTERS)
def test_no_spills(name: str, arch: str) -> None:
    found = code(name, arch)
    assert (found.spill_bytes, found.stack_bytes) == (0, 0)
    assert found.count("LDL") == found.count("STL") == 0
    assert found.registers <= REGISTERS[name]


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_matmul_tile(arch: str) -> None:
    """A turn multiplies rows of 16: the row of A comes as four vectors."""
    loop = code("kernels/matmul_tile.mlir", arch).hottest_loop("LDS")
    assert loop is not None
    assert (loop.count("FFMA"), loop.count("FMUL"), loop.count("FADD")) == (16, 0, 0)
    assert loop.count("LDS.128") == 4
    assert loop.count("LDS") == 20
    assert (loop.count("LDG"), loop.count("STS"), loop.count("BAR")) == (2, 2, 2)
    assert len(loop.instructions) <= 54


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_vector_add(arch: str) -> None:
    found = code("kernels/vector_add.mlir", arch)
    assert (found.count("LDG"), found.count("STG"), len(found.loops)) == (2, 1, 0)
    assert len(found.instructions) <= 26


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_softmax_of_threads(arch: str) -> None:
    """Two reductions of a warp have five shuffles each, and so have those of 8 warps."""
    found = code("tvmscript/softmax_threads.py", arch)
    assert found.count("SHFL") == 16
    assert found.count("MUFU") <= 3
    assert len(found.loops) == 0


def test_estimate(capsys: pytest.CaptureFixture[str]) -> None:
    file = str(paths.EXAMPLES / "kernels" / "matmul_tile.mlir")
    assert main(["estimate", file, "--arch", "sm_90"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("@matmul_tile_kernel for sm_90: 256 threads a block")
    assert "0 bytes spilled, 0 bytes of stack" in lines[0]
    assert lines[1].startswith("  a multiprocessor holds 8 blocks, 64 warps")
    assert "upper bound: " in lines[4]
    assert "of the f32 peak" in lines[4]


def test_errors_of_estimate(capsys: pytest.CaptureFixture[str]) -> None:
    file = str(paths.EXAMPLES / "kernels" / "matmul_tile.mlir")
    assert main(["estimate", file, "--arch", "sm_70"]) == 1
    assert "no rates are known of sm_70" in capsys.readouterr().err
    assert main(["estimate", str(paths.EXAMPLES / "scale.mlir")]) == 1
    assert "directly accessed by host memory" in capsys.readouterr().err

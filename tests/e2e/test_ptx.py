"""The example kernels as PTX, for old and new GPUs, accepted by ptxas where it is."""

import io
import shutil
import subprocess
from pathlib import Path

import pytest
from support import paths

from xdsl_tvm.registry import new_context
from xdsl_tvm.runtime.executable import load_module
from xdsl_tvm.targets.ptx import PTXTarget

KERNELS = paths.EXAMPLES / "kernels"
PTXAS = shutil.which("ptxas")


def ptx(name: str, arch: str) -> str:
    context = new_context()
    output = io.StringIO()
    module = load_module(KERNELS / f"{name}.mlir", context)
    PTXTarget(arch).emit(context, module, output)
    return output.getvalue()


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_vector_add(arch: str) -> None:
    text = ptx("vector_add", arch)
    assert f".target {arch}" in text
    assert ".entry vector_add_kernel(" in text
    # The promise that buffers do not overlap lets inputs go through the read-only cache.
    assert text.count("ld.global.nc.b32") == 2
    assert text.count("st.global.b32") == 1


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_matmul_tile(arch: str) -> None:
    text = ptx("matmul_tile", arch)
    assert text.count(".shared .align 64 .b8") == 2
    assert text.count("bar.sync") + text.count("barrier.sync") == 2
    assert ".local" not in text


@pytest.mark.skipif(PTXAS is None, reason="ptxas is not installed")
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
@pytest.mark.parametrize("name", ["vector_add", "matmul_tile"])
def test_ptxas_accepts(name: str, arch: str, tmp_path: Path) -> None:
    source = tmp_path / "kernel.ptx"
    source.write_text(ptx(name, arch))
    assert PTXAS is not None
    result = subprocess.run(
        [PTXAS, f"-arch={arch}", str(source), "-o", str(tmp_path / "kernel.cubin")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr

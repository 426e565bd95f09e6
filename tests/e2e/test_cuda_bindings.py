"""NVIDIA's bindings of the driver, as the runtime calls them, on a library without a GPU.

Each test is a process of its own: the bindings look for the library once. A GPU of the
machine takes no part, as the library is found before the driver's.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys

import pytest
from support import paths

pytest.importorskip("llvmlite")
if importlib.util.find_spec("cuda") is None:
    pytest.skip("NVIDIA's bindings are not installed", allow_module_level=True)
if shutil.which("cc") is None or sys.platform != "linux":
    pytest.skip("no C compiler", allow_module_level=True)


SHORT = "not model and not program and not bits"


def run(*arguments: str) -> str:
    folders = os.pathsep.join(str(paths.ROOT / each) for each in ("tests", "examples"))
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=paths.ROOT,
        env={**os.environ, "PYTHONPATH": folders},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_tests_of_devices() -> None:
    """They pass, but for those that the simulator takes minutes for."""
    plugin = ["-m", "pytest", "-q", "-p", "support.stub_cuda", "-k", SHORT]
    found = run(*plugin, "-p", "no:cacheprovider", "tests/e2e/test_cuda_device.py")
    assert "passed" in found
    assert "failed" not in found


ERRORS = """
from support.stub_cuda import install
from xdsl_tvm.runtime.cuda_driver import CudaDriver

def error(function, *arguments):
    try:
        function(*arguments)
    except (RuntimeError, MemoryError) as error:
        print(type(error).__name__, error)

stub = install()
driver = CudaDriver()
stub.refusal = "ptxas fatal : Unsupported .version 9.9;\\ncurrent version is '8.5'"
error(driver.load, ".version 9.9")
print(driver.error_name(2), driver.error_name(98765))
driver.activate()
stream = driver.new_stream()
stub.driver.capacity = 8
error(driver.allocate, 16, stream)
print(driver.device_of(64))
stub.version = 11080
error(CudaDriver)
"""


def test_errors() -> None:
    """What the driver reports, with what its compiler says."""
    lines = run("-c", ERRORS).splitlines()
    assert lines[0].startswith("RuntimeError cuModuleLoadDataEx failed: ")
    assert lines[0].endswith(
        "ptxas fatal : Unsupported .version 9.9; current version is '8.5'"
    )
    assert lines[1:] == [
        "CUDA_ERROR_OUT_OF_MEMORY 98765",
        "MemoryError out of memory: cuMemAllocAsync on the GPU",
        "None",
        "RuntimeError the NVIDIA driver is for CUDA 11.8; install one for CUDA 12 "
        "or later",
    ]

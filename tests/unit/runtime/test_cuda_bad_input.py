"""What goes wrong with a GPU is one line that names what; nothing stays allocated.

Calls go to a driver that takes notes, and the driver's own bindings are replaced by ones
that report errors.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support import paths
from support.gpu_driver import NotingDriver
from xdsl.utils.exceptions import DiagnosticException, PassFailedException

from xdsl_tvm.runtime.cuda import CudaExecutable, GpuCode, check_arch
from xdsl_tvm.runtime.cuda_driver import CudaDriver
from xdsl_tvm.runtime.device_array import CUDA, DeviceArray
from xdsl_tvm.runtime.load import load_module
from xdsl_tvm.runtime.native import Settings

pytestmark = pytest.mark.usefixtures("small_heap")

VECTOR_ADD = paths.EXAMPLES / "kernels" / "vector_add.mlir"


def executable(driver: NotingDriver, **options: Any) -> CudaExecutable:
    return CudaExecutable(load_module(VECTOR_ADD), driver=driver, **options)


def expect_nothing_held(driver: NotingDriver) -> None:
    gc.collect()
    held = (driver.memory, driver.modules, driver.streams, driver.graphs)
    assert held == ({}, set(), set(), {})


# ---- the driver ----


def returning(*values: Any) -> Callable[..., tuple[Any, ...]]:
    def function(*arguments: Any) -> tuple[Any, ...]:
        return values

    return function


class Bindings(SimpleNamespace):
    """Bindings of a driver, in which functions return a status and values."""

    ERRORS = {100: b"CUDA_ERROR_NO_DEVICE", 2: b"CUDA_ERROR_OUT_OF_MEMORY"}

    def __init__(self, **functions: Any) -> None:
        super().__init__(
            CUresult=int,
            CUjit_option=SimpleNamespace(
                CU_JIT_ERROR_LOG_BUFFER=5, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES=6
            ),
            CUpointer_attribute=SimpleNamespace(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL=9),
            cuGetErrorName=self._name,
            cuInit=returning(0),
            cuDriverGetVersion=returning(0, 13000),
            cuDeviceGet=returning(0, 0),
            cuDevicePrimaryCtxRetain=returning(0, 1),
            cuCtxSetCurrent=returning(0),
        )
        vars(self).update(functions)

    def _name(self, status: int) -> tuple[int, bytes | None]:
        found = self.ERRORS.get(status)
        return (1, None) if found is None else (0, found)


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Any:
    def install(**functions: Any) -> CudaDriver:
        monkeypatch.setitem(sys.modules, "cuda.bindings.driver", Bindings(**functions))
        return CudaDriver()

    return install


def test_no_bindings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cuda.bindings.driver", None)
    with pytest.raises(DiagnosticException, match=r"pip install \"xdsl-tvm\[cuda\]\"$"):
        CudaDriver()


def test_no_driver(use: Any) -> None:
    def missing(flags: int) -> None:
        raise RuntimeError("Failed to dlopen\nlibcuda.so.1")

    with pytest.raises(
        RuntimeError,
        match=r"^the target cuda needs an NVIDIA driver and a GPU: cuInit: Failed to dl",
    ) as raised:
        use(cuInit=missing)
    assert "\n" not in str(raised.value)


def test_no_gpu(use: Any) -> None:
    with pytest.raises(RuntimeError, match="and a GPU: cuInit failed: CUDA_ERROR_NO_"):
        use(cuInit=returning(100))


def test_an_old_driver(use: Any) -> None:
    with pytest.raises(
        RuntimeError,
        match=r"^the NVIDIA driver is for CUDA 11\.8; install one for CUDA 12 or later$",
    ):
        use(cuDriverGetVersion=returning(0, 11080))


def test_ptx_that_the_driver_refuses(use: Any) -> None:
    """What its compiler says is in the error, as for too much static shared memory."""

    def load(code: bytes, count: int, options: list[int], values: list[Any]) -> Any:
        text = b"ptxas error: Entry function 'k' uses\ntoo much shared data"
        values[0][: len(text)] = text
        return (218,)

    driver = use(cuModuleLoadDataEx=load)
    with pytest.raises(
        RuntimeError,
        match=r"^cuModuleLoadDataEx failed: 218 ptxas error: Entry function 'k' uses too",
    ):
        driver.load("")


def test_memory_and_addresses_that_the_driver_does_not_have(use: Any) -> None:
    def device_of(attribute: int, address: int) -> tuple[int, int | None]:
        return (0, 3) if address == 64 else (1, None)

    driver = use(
        cuMemAllocAsync=returning(2, None),
        cuPointerGetAttribute=device_of,
    )
    with pytest.raises(MemoryError, match=r"^out of memory: cuMemAllocAsync on the GPU$"):
        driver.allocate(16, 1)
    assert (driver.device_of(64), driver.device_of(65)) == (3, None)


# ---- architectures ----


@pytest.mark.parametrize(
    ("arch", "fits"),
    [
        ("sm_80", True),
        ("sm_90", True),
        ("sm_90a", True),
        ("sm_100", False),
        ("sm_100f", False),
        ("sm_80a", False),
    ],
)
def test_architectures(arch: str, fits: bool) -> None:
    if fits:
        check_arch(arch, (9, 0))
        return
    driver = NotingDriver()
    with pytest.raises(
        ValueError, match=f"^code for {arch} does not run on this GPU, which is sm_90; "
    ):
        executable(driver, arch=arch)
    expect_nothing_held(driver)


# ---- loading and launching ----


@pytest.mark.parametrize("name", ["cuModuleLoadDataEx", "cuModuleGetFunction"])
def test_kernels_that_are_not_loaded(name: str) -> None:
    driver = NotingDriver(fails=name)
    with pytest.raises(RuntimeError, match=f"^{name} failed: CUDA_ERROR_INVALID_VALUE$"):
        executable(driver)
    expect_nothing_held(driver)


SHARED = """
tir.func @f(%a: !tir.handle) attributes {global_symbol = "f"} {
  %A = tir.match_buffer %a : !tir.buffer<64xf32>
  %c1 = tir.const 1 : i32
  %c64 = tir.const 64 : i32
  %n = tir.const 64 : i32
  tir.launch_thread %b = "blockIdx.x" to %c1 {
    tir.launch_thread %t = "threadIdx.x" to %c64 {
      %s = tir.allocate [%n] : !tir.ptr<f32, "shared.dyn">
      %S = tir.decl_buffer %s [%n] : !tir.buffer<?xf32, "shared.dyn">
      %x = tir.load %A[%t] : f32
      tir.store %x, %S[%t] : f32
      %y = tir.load %S[%t] : f32
      tir.store %y, %A[%t] : f32
    }
  }
}"""


@pytest.mark.parametrize("graphs", [False, True])
def test_more_shared_memory_than_there_is(graphs: bool) -> None:
    """The error names the kernel; the executable goes on."""
    driver = NotingDriver(shared_memory=100)
    compiled = CudaExecutable(load_module(SHARED), driver=driver, graphs=graphs)
    array = compiled.array(np.zeros(64, "f4"))
    for _ in range(3):
        with pytest.raises(
            RuntimeError,
            match=r"^kernel @f_kernel was not launched: CUDA_ERROR_INVALID_VALUE$",
        ):
            compiled["f"](array)
    driver.shared_memory = 227 << 10
    compiled["f"](array)
    assert [each.shared for each in driver.launches] == [256]
    del compiled, array
    expect_nothing_held(driver)


# ---- arguments ----


class Foreign:
    """An array of another library."""

    def __init__(self, array: DeviceArray, **changes: Any) -> None:
        self.array = array
        self.__cuda_array_interface__ = {**array.__cuda_array_interface__, **changes}


class OnAnotherGPU:
    """An array that DLPack says to be on the second GPU."""

    def __dlpack_device__(self) -> tuple[int, int]:
        return CUDA, 1

    def __dlpack__(self, *, stream: int | None = None) -> Any:
        raise AssertionError("asked for after it was refused")


def test_arrays_that_are_not_on_the_gpu() -> None:
    driver = NotingDriver()
    compiled = executable(driver)
    function = compiled["vector_add"]
    a, b, c = (compiled.array(np.zeros(8, "f4")) for _ in range(3))
    on_host = np.zeros(8, "f4")
    wrong = Foreign(a, data=(on_host.ctypes.data, False))
    with pytest.raises(ValueError, match=r"A.*address is no memory of a GPU; pass"):
        function(wrong, b, c)
    driver.devices = {b.address: 1}
    with pytest.raises(ValueError, match=r"B.*on GPU 1, and the code runs on GPU 0"):
        function(a, Foreign(b), c)
    with pytest.raises(ValueError, match=r"C.*on GPU 1, and the code runs on GPU 0"):
        function(a, b, OnAnotherGPU())
    assert driver.launches == []
    function(Foreign(a), b, c)
    del function, compiled, a, b, c, wrong
    expect_nothing_held(driver)


def test_arguments_for_which_there_is_no_memory() -> None:
    """The error names the parameter; what was copied before is released."""
    driver = NotingDriver(capacity=9000)
    compiled = executable(driver)
    with pytest.raises(MemoryError, match=r"vector_add.*C.*out of memory"):
        compiled["vector_add"](*(np.zeros(1000, "f4") for _ in range(3)))
    gc.collect()
    assert driver.memory == {}
    compiled["vector_add"](*(np.zeros(500, "f4") for _ in range(3)))


def test_a_kernel_that_fails() -> None:
    driver = NotingDriver()
    compiled = executable(driver)
    arrays = [compiled.array(np.zeros(8, "f4")) for _ in range(3)]
    compiled["vector_add"](*arrays)
    driver.fails = "cuStreamSynchronize"
    with pytest.raises(RuntimeError, match=r"^cuStreamSynchronize failed: CUDA_ERR"):
        compiled.synchronize()
    with pytest.raises(RuntimeError, match=r"^cuStreamSynchronize failed: CUDA_ERR"):
        arrays[2].numpy()
    del compiled, arrays
    expect_nothing_held(driver)


def test_a_graph_that_nothing_can_call() -> None:
    """The pipeline removes private functions, and would then find no kernel."""
    module = load_module(
        """
        relax.func @private(%x: tensor<4xf32>) -> tensor<4xf32> {
          %y = relax.add %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
          relax.return %y : tensor<4xf32>
        }
        """
    )
    with pytest.raises(PassFailedException, match=r"no public function; .*global_symbol"):
        GpuCode(module, "sm_80", Settings())

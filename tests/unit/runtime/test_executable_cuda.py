"""What the target cuda asks of the driver, against a driver that only takes notes."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from support import paths
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.runtime.cuda import CudaExecutable, gpu_arch
from xdsl_tvm.runtime.cuda_driver import Dim3
from xdsl_tvm.runtime.executable import load_module

KERNELS = paths.EXAMPLES / "kernels"


class NotingDriver:
    """A driver without a GPU: hands out addresses and remembers what it is told."""

    def __init__(self, fail_at_launch: bool = False) -> None:
        self.memory: dict[int, int] = {}
        self.launches: list[tuple[int, Dim3, Dim3, list[Any]]] = []
        self.kernels: list[str] = []
        self.copies: list[tuple[str, int, int]] = []
        self.fail_at_launch = fail_at_launch

    def activate(self) -> None:
        pass

    def compute_capability(self) -> tuple[int, int]:
        return 9, 0

    def load(self, ptx: str) -> int:
        assert ".target sm_90" in ptx
        return 7

    def kernel(self, module: int, name: str) -> int:
        assert module == 7
        self.kernels.append(name)
        return len(self.kernels)

    def allocate(self, size: int) -> int:
        address = 4096 * (len(self.copies) + len(self.memory) + 1)
        self.memory[address] = size
        return address

    def free(self, pointer: int) -> None:
        del self.memory[pointer]

    def copy_to_device(self, pointer: int, source: int, size: int) -> None:
        assert self.memory[pointer] >= size
        self.copies.append(("in", pointer, size))

    def copy_to_host(self, target: int, pointer: int, size: int) -> None:
        assert self.memory[pointer] >= size
        self.copies.append(("out", pointer, size))

    def launch(
        self, kernel: int, grid: Dim3, block: Dim3, arguments: Sequence[Any]
    ) -> None:
        if self.fail_at_launch:
            raise RuntimeError("cuLaunchKernel failed: CUDA_ERROR_UNKNOWN")
        self.launches.append((kernel, grid, block, [a.value for a in arguments]))

    def synchronize(self) -> None:
        pass


def executable(name: str, driver: NotingDriver) -> CudaExecutable:
    return CudaExecutable(load_module(KERNELS / f"{name}.mlir"), driver=driver)


def test_a_call_copies_launches_and_frees() -> None:
    driver = NotingDriver()
    function = executable("vector_add", driver)["vector_add"]
    a, b, c = (np.zeros(1000, "f4") for _ in range(3))
    function(a, b, c)
    function(a, b, c)
    assert driver.kernels == ["vector_add_kernel"]
    assert not driver.memory
    ((kernel, grid, block, arguments), again) = driver.launches
    assert (kernel, grid, block) == (1, (4, 1, 1), (256, 1, 1))
    assert again[:3] == (kernel, grid, block)
    assert arguments[0] == 1000
    pointers = arguments[1:]
    assert len(set(pointers)) == 3
    # Only what is written comes back.
    assert driver.copies[:4] == [
        *(("in", pointer, 4000) for pointer in pointers),
        ("out", pointers[2], 4000),
    ]


def test_two_dimensional_launch() -> None:
    driver = NotingDriver()
    c = np.zeros((256, 256), "f4")
    executable("matmul_tile", driver)["matmul_tile"](c.copy(), c.copy(), c)
    assert driver.launches[0][1:3] == ((16, 16, 1), (16, 16, 1))


def test_nothing_is_launched_for_no_threads() -> None:
    driver = NotingDriver()
    empty = np.zeros(0, "f4")
    executable("vector_add", driver)["vector_add"](empty, empty.copy(), empty.copy())
    assert driver.launches == []


def test_memory_is_freed_after_an_error() -> None:
    driver = NotingDriver(fail_at_launch=True)
    a, b, c = (np.zeros(8, "f4") for _ in range(3))
    with pytest.raises(RuntimeError, match="cuLaunchKernel failed"):
        executable("vector_add", driver)["vector_add"](a, b, c)
    assert not driver.memory


def test_host_arithmetic_and_device_memory() -> None:
    driver = NotingDriver()
    module = load_module("""
    tir.func @f(%a: !tir.handle, %k: i32, %p: i1) attributes {global_symbol = "f"} {
      %A = tir.match_buffer %a : !tir.buffer<64xf32>
      %c0 = tir.const 0 : i32
      %c3 = tir.const 3 : i32
      %minus = tir.sub %c0, %k : i32
      %down = tir.floordiv %minus, %c3 : i32
      %up = tir.sub %c0, %down : i32
      %m = tir.allocate [%up, 2] : !tir.ptr<f32>
      %M = tir.decl_buffer %m [%up] : !tir.buffer<?x2xf32>
      tir.for %i = %c0 to %c3 {
        tir.if %p {
          tir.launch_thread %b = "blockIdx.y" to %up {
            %x = tir.load %A[%i] : f32
            tir.store %x, %M[%b, %c0] : f32
          }
        }
      }
    }""")
    function = CudaExecutable(module, driver=driver)["f"]
    function(np.zeros(64, "f4"), 10, True)
    assert [(grid, block) for _, grid, block, _ in driver.launches] == [
        ((1, 4, 1), (1, 1, 1))
    ] * 3
    assert not driver.memory
    driver.launches.clear()
    function(np.zeros(64, "f4"), 10, False)
    assert driver.launches == []


def test_functions_without_threads_cannot_be_called() -> None:
    module = load_module("""
    tir.func @k() attributes {global_symbol = "k"} {
      %c4 = tir.const 4 : i32
      tir.launch_thread %t = "threadIdx.x" to %c4 {
      }
    }
    tir.func @f() attributes {global_symbol = "f"} {
    }""")
    compiled = CudaExecutable(module, driver=NotingDriver())
    with pytest.raises(PassFailedException, match="@f has no thread axis"):
        compiled["f"]


def test_architecture_of_a_gpu() -> None:
    assert gpu_arch((8, 0)) == "sm_80"
    assert gpu_arch((9, 0)) == "sm_90"
    assert gpu_arch((8, 8)) == "sm_87"
    with pytest.raises(RuntimeError, match=r"capability 5\.2 is not"):
        gpu_arch((5, 2))


def test_arguments_that_overlap() -> None:
    """Every array is copied by itself: what they share would not be shared there."""
    function = executable("vector_add", NotingDriver())["vector_add"]
    a, b = np.zeros(1000, "f4"), np.zeros(1000, "f4")
    with pytest.raises(ValueError, match=r"must not overlap; pass a copy of one$"):
        function(a, b, b)

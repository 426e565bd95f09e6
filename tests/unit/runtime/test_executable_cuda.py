"""Modules compiled for the target cuda, on a driver that takes notes instead of a GPU.

Host code is the machine code that would run with a GPU. Kernels run in the simulator
where a test needs what they compute.
"""

import gc
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from support import paths
from support.gpu_driver import NotingDriver, simulated_driver
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

import xdsl_tvm
from xdsl_tvm import relax
from xdsl_tvm.passes.infra import PassContext
from xdsl_tvm.runtime.cuda import (
    CudaExecutable,
    CudaFunction,
    GpuCode,
    check_arch,
    gpu_arch,
    runs_on,
)
from xdsl_tvm.runtime.device_array import CUDA, DeviceArray
from xdsl_tvm.runtime.executable import Settings, load_module
from xdsl_tvm.runtime.interpreted import interpret

pytestmark = pytest.mark.usefixtures("small_heap")

KERNELS = paths.EXAMPLES / "kernels"


def executable(name: str, driver: NotingDriver) -> CudaExecutable:
    return CudaExecutable(load_module(KERNELS / f"{name}.mlir"), driver=driver)


def test_a_call_copies_launches_and_frees() -> None:
    driver = NotingDriver()
    function = executable("vector_add", driver)["vector_add"]
    a, b, c = (np.zeros(1000, "f4") for _ in range(3))
    function(a, b, c)
    function(a, b, c)
    assert driver.names == ["vector_add_kernel"]
    first, second = driver.launches
    assert (first.kernel, first.grid, first.block, first.shared) == (
        ("vector_add_kernel", (4, 1, 1), (256, 1, 1), 0)
    )
    assert (second.kernel, second.grid) == (first.kernel, first.grid)
    # Only what is written comes back.
    assert [call for call in driver.calls if call[0] != "allocate"] == 2 * [
        *(3 * [("in", 4000)]),
        ("out", 4000),
    ]
    assert not driver.memory


def test_values_of_a_call() -> None:
    module = load_module(KERNELS / "vector_add.mlir")
    function = CudaExecutable(module, driver=simulated_driver(module))["vector_add"]
    rng = np.random.default_rng(0)
    for count in (1, 256, 300):
        a, b = rng.random(count, "f4"), rng.random(count, "f4")
        c = np.full(count, np.nan, "f4")
        function(a, b, c)
        np.testing.assert_array_equal(c, a + b)


def test_two_dimensional_launch() -> None:
    driver = NotingDriver()
    c = np.zeros((256, 256), "f4")
    executable("matmul_tile", driver)["matmul_tile"](c.copy(), c.copy(), c)
    assert (driver.launches[0].grid, driver.launches[0].block) == (
        (16, 16, 1),
        (16, 16, 1),
    )


def test_nothing_is_launched_for_no_threads() -> None:
    driver = NotingDriver()
    empty = np.zeros(0, "f4")
    executable("vector_add", driver)["vector_add"](empty, empty.copy(), empty.copy())
    assert driver.launches == []


TWO_KERNELS = """
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
}"""


def test_host_arithmetic_and_device_memory() -> None:
    driver = NotingDriver()
    function = CudaExecutable(load_module(TWO_KERNELS), driver=driver)["f"]
    function(np.zeros(64, "f4"), 10, True)
    assert [(each.grid, each.block) for each in driver.launches] == [
        ((1, 4, 1), (1, 1, 1))
    ] * 3
    assert ("allocate", 4 * 4) in driver.calls
    assert not driver.memory
    driver.launches.clear()
    function(np.zeros(64, "f4"), 10, False)
    assert driver.launches == []


# ---- errors ----


def test_a_launch_that_fails() -> None:
    """The call names the kernel, and leaves no memory; later ones go on."""
    driver = NotingDriver(fails="cuLaunchKernel")
    function = CudaExecutable(load_module(TWO_KERNELS), driver=driver)["f"]
    for _ in range(3):
        with pytest.raises(
            RuntimeError, match=r"^kernel @f_kernel was not launched: CUDA_ERROR_LAUNCH_F"
        ):
            function(np.zeros(64, "f4"), 10, True)
        assert not driver.memory
    driver.fails = ""
    function(np.zeros(64, "f4"), 10, True)
    assert not driver.memory


def test_no_memory_on_the_gpu() -> None:
    driver = NotingDriver(capacity=2048)
    function = CudaExecutable(load_module(TWO_KERNELS), driver=driver)["f"]
    with pytest.raises(MemoryError, match=r"^out of memory: @f needs 4000 bytes on"):
        function(np.zeros(64, "f4"), 3000, True)
    assert not driver.memory
    add = executable("vector_add", NotingDriver(capacity=9000))["vector_add"]
    with pytest.raises(MemoryError, match="out of memory: cuMemAllocAsync"):
        add(*(np.zeros(1000, "f4") for _ in range(3)))


def test_a_kernel_that_fails() -> None:
    """Its error comes with the copy of what it makes."""
    driver = NotingDriver(fails="cuStreamSynchronize")
    main = CudaExecutable(mlp(), driver=driver)
    result = main["main"](np.zeros((3, 8), "f4"))
    with pytest.raises(RuntimeError, match="CUDA_ERROR_LAUNCH_FAILED"):
        main.synchronize()
    with pytest.raises(RuntimeError, match="CUDA_ERROR_LAUNCH_FAILED"):
        result[0].numpy()


def test_grids_that_are_too_large() -> None:
    driver = NotingDriver()
    module = load_module("""
    tir.func @f(%a: !tir.handle, %n: i64) attributes {global_symbol = "f"} {
      %A = tir.match_buffer %a : !tir.buffer<4xf32>
      %c0 = tir.const 0 : i64
      %one = tir.const 1.0 : f32
      tir.launch_thread %b = "blockIdx.x" to %n {
        %first = tir.cmp eq %b, %c0 : i64
        tir.if %first {
          tir.store %one, %A[%c0] : f32
        }
      }
    }""")
    function = CudaExecutable(module, driver=driver)["f"]
    array = np.zeros(4, "f4")
    function(array, 1)
    for count in (1 << 31, (1 << 32) + 1, -1):
        with pytest.raises(RuntimeError, match="CUDA_ERROR_INVALID_VALUE"):
            function(array, count)
    assert len(driver.launches) == 1


def test_functions_without_threads_are_refused() -> None:
    module = load_module("""
    tir.func @f(%a: !tir.handle) attributes {global_symbol = "f"} {
      %A = tir.match_buffer %a : !tir.buffer<4xf32>
      %c0 = tir.const 0 : i32
      %x = tir.const 1.0 : f32
      tir.store %x, %A[%c0] : f32
    }""")
    with pytest.raises(PassFailedException, match="Did you forget to bind"):
        CudaExecutable(module, driver=NotingDriver())


def test_architecture_of_a_gpu() -> None:
    assert gpu_arch((8, 0)) == "sm_80"
    assert gpu_arch((9, 0)) == "sm_90a"
    assert gpu_arch((8, 8)) == "sm_87"
    assert gpu_arch((10, 0)) == "sm_100"
    with pytest.raises(RuntimeError, match=r"capability 5\.2 is not"):
        gpu_arch((5, 2))


def test_what_is_lowered_later_is_of_the_same_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The text of code from the cache."""
    monkeypatch.setenv("XDSL_TVM_CACHE", str(tmp_path))
    module = load_module("""
    !x = tensor<3xf32>
    relax.func @main(%x: !x) -> !x attributes {global_symbol = "main"} {
      %r = relax.dataflow -> (!x) {
        %y = relax.add %x, %x : (!x, !x) -> !x
        %z = relax.exp %y : (!x) -> !x
        relax.output %z : !x
      }
      relax.return %r : !x
    }""")

    def code() -> GpuCode:
        with PassContext(disabled_pass=["FuseOps"]):
            return GpuCode(module, "sm_80", Settings())

    code()
    found = code()
    assert found.ptx.count(".entry") == 2
    assert found.llvm_ir[1].count("define ptx_kernel") == 2


def test_code_of_one_gpu(tmp_path: Path) -> None:
    """Made for the available GPU, it is for that only, as its manifest says; other GPUs
    refuse it by name, and another architecture may be asked for."""
    module = load_module(KERNELS / "vector_add.mlir")
    code = GpuCode(module, gpu_arch((9, 0)), Settings())
    assert ".target sm_90a\n" in code.ptx
    code.write(tmp_path)
    manifest = json.loads((tmp_path / "manifest.json").read_text("utf-8"))
    assert manifest["arch"] == "sm_90a"
    assert manifest["runs_on"] == {"compute_capability": "9.0", "newer": "none"}
    assert runs_on("sm_80") == {"compute_capability": "8.0", "newer": "all"}
    check_arch("sm_90", (9, 0))
    check_arch("sm_90", (10, 0))
    for capability in ((8, 0), (10, 0)):
        text = (
            "^code for sm_90a does not run on this GPU, which is sm_"
            f"{capability[0]}{capability[1]}; leave out arch, or use sm_"
        )
        with pytest.raises(ValueError, match=text):
            CudaExecutable(module, "sm_90a", NotingDriver(capability=capability))


# ---- arrays ----


def test_arguments_that_overlap() -> None:
    """Every array of numpy is copied by itself: what they share is not shared there."""
    compiled = executable("vector_add", NotingDriver())
    function = compiled["vector_add"]
    a, b = np.zeros(1000, "f4"), np.zeros(1000, "f4")
    with pytest.raises(ValueError, match=r"must not overlap; pass a copy of one$"):
        function(a, b, b)
    on_gpu = compiled.array(b)
    with pytest.raises(ValueError, match=r"must not overlap; pass a copy of one$"):
        function(a, on_gpu, on_gpu)


class Foreign:
    """An array of another library, seen by the CUDA array interface."""

    def __init__(self, array: DeviceArray, **changes: Any) -> None:
        self.array = array
        self.__cuda_array_interface__ = {**array.__cuda_array_interface__, **changes}


class ForeignByDLPack:
    """An array of another library, seen by DLPack."""

    def __init__(self, array: DeviceArray) -> None:
        self.array = array

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()

    def __dlpack__(self, *, stream: int | None = None) -> Any:
        return self.array.__dlpack__(stream=stream)


def itself(array: DeviceArray) -> DeviceArray:
    return array


@pytest.mark.parametrize("wrap", [itself, Foreign, ForeignByDLPack])
def test_arrays_on_the_gpu(wrap: Any) -> None:
    """They are passed as they are, and written there."""
    module = load_module(KERNELS / "vector_add.mlir")
    driver = simulated_driver(module)
    compiled = CudaExecutable(module, driver=driver)
    rng = np.random.default_rng(0)
    a, b = rng.random(300, "f4"), rng.random(300, "f4")
    arrays = [compiled.array(each) for each in (a, b, np.zeros_like(a))]
    driver.calls.clear()
    compiled["vector_add"](*map(wrap, arrays))
    assert {call[0] for call in driver.calls} <= {"order"}
    np.testing.assert_array_equal(np.asarray(arrays[2]), a + b)
    del arrays
    gc.collect()
    assert not driver.memory


def test_views_of_other_libraries() -> None:
    compiled = executable("vector_add", driver := NotingDriver())
    function = compiled["vector_add"]
    a, b, c = (compiled.array(np.zeros(8, "f4")) for _ in range(3))
    for changes, text in (
        ({"strides": (8,)}, "must be C-contiguous"),
        ({"mask": 1}, "has a mask"),
        ({"data": (a.address + 1, False)}, "must be aligned to 16 bytes"),
        ({"data": (a.address + 4, False)}, "argument 'A' must be aligned to 16 bytes"),
    ):
        with pytest.raises(ValueError, match=text):
            function(Foreign(a, **changes), b, c)
    with pytest.raises(ValueError, match="is written, but the array is read-only"):
        function(a, b, Foreign(c, data=(c.address, True)))
    with pytest.raises(TypeError, match="must be an array on the GPU or of numpy"):
        function([1.0], b, c)
    driver.calls.clear()
    function(Foreign(a, stream=1234), b, c)
    assert driver.calls == [("order", 1234, compiled.stream.handle)]


def test_what_other_libraries_see() -> None:
    compiled = executable("vector_add", NotingDriver())
    array = compiled.array(np.arange(6, dtype="f4").reshape(2, 3))
    interface = array.__cuda_array_interface__
    assert (interface["shape"], interface["typestr"]) == ((2, 3), "<f4")
    assert interface["data"] == (array.address, False)
    assert array.__dlpack_device__() == (CUDA, 0)
    assert (len(array), array.ndim, array.nbytes) == (2, 2, 24)
    assert repr(array) == "<DeviceArray float32[2, 3] on the GPU>"
    np.testing.assert_array_equal(array.numpy(), np.arange(6).reshape(2, 3))
    np.testing.assert_array_equal(np.asarray(array, "f8"), np.arange(6).reshape(2, 3))
    with pytest.raises(ValueError, match="is copied to the host"):
        np.asarray(array, copy=False)
    with pytest.raises(BufferError, match="shared as it is"):
        array.__dlpack__(copy=True)
    import ml_dtypes

    narrow = compiled.array(np.zeros(2, ml_dtypes.bfloat16))
    assert not hasattr(narrow, "__cuda_array_interface__")


# ---- Relax ----


def mlp(rows: int = 3) -> ModuleOp:
    rng = np.random.default_rng(0)
    x = relax.Var("x", relax.TensorStructInfo((rows, 8), "float32"))
    weight = relax.const(rng.random((8, 10), "f4"))
    bb = relax.BlockBuilder()
    with bb.function("main", params=[x]):
        with bb.dataflow():
            h = bb.emit(relax.op.nn.relu(relax.op.matmul(x, weight)))
            y = bb.emit(relax.op.nn.softmax(h * relax.const(2.0, "float32")))
            z = bb.emit_output((y, relax.op.reshape(x, (rows * 8,))))
        bb.emit_func_output(z)
    return load_module(bb.get())


def test_a_relax_function() -> None:
    """Constants are uploaded once; results are on the GPU, memory is released."""
    module = mlp()
    driver = simulated_driver(module)
    compiled = CudaExecutable(module, driver=driver)
    assert [call[1] for call in driver.calls if call[0] == "in"] == [320]
    x = np.random.default_rng(1).random((3, 8), "f4")
    expected = interpret(module)["main"](x)
    held = len(driver.memory)
    check_results(compiled, driver, x, expected, [("in", 96)])
    check_results(compiled, driver, compiled.array(x), expected, [])
    gc.collect()
    assert len(driver.memory) == held


def check_results(
    compiled: CudaExecutable,
    driver: NotingDriver,
    argument: Any,
    expected: Sequence[Any],
    copied: list[tuple[str, int]],
) -> None:
    driver.calls.clear()
    found = cast("tuple[DeviceArray, DeviceArray]", compiled["main"](argument))
    assert [call for call in driver.calls if call[0] == "in"] == copied
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(np.asarray(one), other, rtol=1e-6)


def test_weights_are_bound_once() -> None:
    module = load_module(KERNELS / "vector_add.mlir")
    driver = simulated_driver(module)
    compiled = CudaExecutable(module, driver=driver)
    c = np.zeros(300, "f4")
    function = compiled["vector_add"]
    assert isinstance(function, CudaFunction)
    function = function.bind(A=np.ones(300, "f4"))
    driver.calls.clear()
    function(np.full(300, 2, "f4"), c)
    assert [call for call in driver.calls if call[0] == "in"] == 2 * [("in", 1200)]
    np.testing.assert_array_equal(c, np.full(300, 3, "f4"))


def test_executables_release_what_they_hold() -> None:
    driver = NotingDriver()
    compiled = CudaExecutable(mlp(), driver=driver)
    compiled["main"](np.zeros((3, 8), "f4"))
    del compiled
    gc.collect()
    assert (driver.memory, driver.modules, driver.streams) == ({}, set(), set())


def test_functions_that_are_not_known() -> None:
    module = load_module("""
from tvm.script import ir as I, relax as R
@I.ir_module
class Module:
    @R.function(pure=False)
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        y = R.call_packed("f", x, sinfo_args=[R.Tensor((4,), "float32")])
        return y
""")
    with pytest.raises(PassFailedException, match="no function 'f' is known"):
        CudaExecutable(module, driver=NotingDriver())


PRODUCT = """
from tvm.script import ir as I, relax as R
@I.ir_module
class Module:
    @R.function
    def main(
        x: R.Tensor((4, 4), "float32"), y: R.Tensor((4, 4), "float32")
    ) -> R.Tensor((4, 4), "float32"):
        return R.add(R.multiply(R.matmul(x, y), x), y)
"""


def test_roundings_of_products_and_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both are kept on request, of schedules and of kernels; the cache tells apart."""
    driver = NotingDriver()
    monkeypatch.setattr("xdsl_tvm.runtime.cuda.default_driver", lambda: driver)
    fused = xdsl_tvm.compile(PRODUCT, target="cuda")
    apart = xdsl_tvm.compile(PRODUCT, target="cuda", fuse_multiply_add=False)
    assert "fma.rn.f32" in fused.get_source()
    assert "fma.rn.f32" not in apart.get_source()
    assert {"mul.rn.f32", "add.rn.f32"} <= set(apart.get_source().split())
    with pytest.raises(ValueError, match=r"^fuse_multiply_add is for the target cuda"):
        xdsl_tvm.compile(PRODUCT, fuse_multiply_add=False)


def test_products_of_fewer_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tensor cores multiply f32 on request only; the cache tells apart."""
    driver = NotingDriver()
    monkeypatch.setattr("xdsl_tvm.runtime.cuda.default_driver", lambda: driver)
    text = PRODUCT.replace("(4, 4)", "(16, 16)")
    for allowed in (False, True):
        executable = xdsl_tvm.compile(text, target="cuda", allow_tf32=allowed)
        assert ("tf32" in executable.get_source()) == allowed
    with pytest.raises(ValueError, match=r"^allow_tf32 is for the target cuda"):
        xdsl_tvm.compile(text, allow_tf32=True)

"""Calls as CUDA graphs, on a driver that replays them in the simulator."""

import gc
import itertools
from typing import Any

import numpy as np
import pytest
from support import paths
from support.gpu_driver import NotingDriver, simulated_driver

import xdsl_tvm
from xdsl_tvm.runtime.cuda import CudaExecutable
from xdsl_tvm.runtime.cuda_graphs import CAPACITY
from xdsl_tvm.runtime.device_array import DeviceArray
from xdsl_tvm.runtime.load import load_module

pytestmark = pytest.mark.usefixtures("small_heap")

VECTOR_ADD = paths.EXAMPLES / "kernels" / "vector_add.mlir"
SCALED = """
tir.func @f(%a: !tir.handle, %s: f32) attributes {global_symbol = "f"} {
  %n = tir.shape_var "n" : i32
  %A = tir.match_buffer %a [%n] : !tir.buffer<?xf32>
  %m = tir.allocate [%n] : !tir.ptr<f32>
  %M = tir.decl_buffer %m [%n] : !tir.buffer<?xf32>
  tir.launch_thread %b = "blockIdx.x" to %n {
    %x = tir.load %A[%b] : f32
    %z = tir.mul %x, %s : f32
    tir.store %z, %M[%b] : f32
  }
  tir.launch_thread %b = "blockIdx.x" to %n {
    %x = tir.load %M[%b] : f32
    tir.store %x, %A[%b] : f32
  }
}"""
CAPTURED = ["begin capture", "end capture", "launch graph"]


def captured(text: Any, **options: Any) -> tuple[CudaExecutable, NotingDriver]:
    module = load_module(text)
    driver = simulated_driver(module)
    for name, value in options.items():
        setattr(driver, name, value)
    return CudaExecutable(module, driver=driver, graphs=True), driver


def steps(driver: NotingDriver) -> list[str]:
    """The calls since the last question that have to do with graphs."""
    found = [call[0] for call in driver.calls if call[0] in CAPTURED]
    driver.calls.clear()
    return found


def write(driver: NotingDriver, array: DeviceArray, values: Any) -> None:
    stream = array.stream.handle
    driver.copy_to_device(array.address, values.ctypes.data, array.nbytes, stream)


def test_first_call_runs_second_is_captured_others_replay() -> None:
    compiled, driver = captured(VECTOR_ADD)
    a, b = np.arange(300, dtype="f4"), np.ones(300, "f4")
    arrays = [compiled.array(each) for each in (a, b, np.zeros_like(a))]
    driver.calls.clear()
    for expected in ([], CAPTURED, ["launch graph"], ["launch graph"]):
        compiled["vector_add"](*arrays)
        assert steps(driver) == expected
        np.testing.assert_array_equal(arrays[2].numpy(), a + b)
        # The graph has addresses: what they hold may change.
        a = a + 1
        pointer = a.ctypes.data
        driver.copy_to_device(
            arrays[0].address, pointer, a.nbytes, arrays[0].stream.handle
        )
    assert len(driver.launches) == 4
    assert {each.grid for each in driver.launches} == {(2, 1, 1)}


def test_graphs_are_those_of_addresses_numbers_and_extents() -> None:
    compiled, driver = captured(SCALED)
    function = compiled["f"]
    arrays = [compiled.array(np.ones(n, "f4")) for n in (3, 3, 4)]
    calls = list(itertools.product(range(3), (0.0, -0.0, 2.0)))
    for expected in ([], CAPTURED, ["launch graph"]):
        driver.calls.clear()
        for which, factor in calls:
            function(arrays[which], factor)
            assert steps(driver) == expected
    assert len(driver.graphs) == len(calls)


def test_signs_of_zeros_are_told_apart() -> None:
    compiled, driver = captured(SCALED)
    array = compiled.array(np.ones(3, "f4"))
    for _ in range(3):
        for factor in (1.0, -0.0, 0.0):
            compiled["f"](array, factor)
    ones = np.ones(3, "f4")
    write(driver, array, ones)
    compiled["f"](array, -0.0)
    assert np.signbit(array.numpy()).all()


def test_memory_within_a_call_is_that_of_the_graph() -> None:
    compiled, driver = captured(SCALED)
    array = compiled.array(np.ones(5, "f4"))
    for _ in range(4):
        compiled["f"](array, 3.0)
    np.testing.assert_array_equal(array.numpy(), np.full(5, 81, "f4"))
    (graph,) = driver.graphs.values()
    assert len(graph.memory) == 1
    del compiled, array
    gc.collect()
    assert (driver.memory, driver.graphs) == ({}, {})
    assert (driver.modules, driver.streams) == (set(), set())


def test_graphs_that_are_not_used_are_released() -> None:
    compiled, driver = captured(SCALED)
    array = compiled.array(np.ones(1, "f4"))
    for factor in range(CAPACITY + 5):
        for _ in range(2):
            compiled["f"](array, float(factor))
    gc.collect()
    assert len(driver.graphs) == CAPACITY
    assert len(driver.memory) == 1 + CAPACITY


@pytest.mark.parametrize(
    "options",
    [
        {"captures": False},
        {"fails": "cuStreamEndCapture"},
        {"fails": "cuGraphInstantiate"},
    ],
)
def test_a_driver_that_cannot_capture(options: dict[str, Any]) -> None:
    """Calls run as without graphs, and it is tried once."""
    compiled, driver = captured(SCALED, **options)
    array = compiled.array(np.ones(5, "f4"))
    for _ in range(4):
        compiled["f"](array, 2.0)
    np.testing.assert_array_equal(array.numpy(), np.full(5, 16, "f4"))
    assert steps(driver).count("begin capture") == 1
    assert not driver.graphs
    assert len(driver.memory) == 1


def test_errors_of_calls() -> None:
    """A call that fails is no call to remember; a graph that fails is forgotten."""
    compiled, driver = captured(SCALED)
    array = compiled.array(np.ones(5, "f4"))
    driver.fails = "cuLaunchKernel"
    for _ in range(3):
        with pytest.raises(RuntimeError, match=r"^kernel @f_kernel\w* was not launched"):
            compiled["f"](array, 2.0)
    driver.fails = ""
    driver.calls.clear()
    compiled["f"](array, 2.0)
    assert steps(driver) == []
    compiled["f"](array, 2.0)
    assert steps(driver) == CAPTURED
    driver.fails = "cuGraphLaunch"
    with pytest.raises(RuntimeError, match=r"^@f: cuGraphLaunch failed: CUDA_ERROR_LAUN"):
        compiled["f"](array, 2.0)
    driver.fails = ""
    gc.collect()
    assert not driver.graphs
    compiled["f"](array, 2.0)
    np.testing.assert_array_equal(array.numpy(), np.full(5, 8, "f4"))


def test_a_call_that_fails_while_it_is_captured() -> None:
    compiled, driver = captured(SCALED)
    array = compiled.array(np.ones(5, "f4"))
    compiled["f"](array, 2.0)
    driver.fails = "cuLaunchKernel"
    with pytest.raises(RuntimeError, match=r"^kernel @f_kernel\w* was not launched"):
        compiled["f"](array, 2.0)
    assert (len(driver.memory), driver.graphs) == (1, {})
    driver.fails = ""
    driver.calls.clear()
    for expected in ([], CAPTURED, ["launch graph"]):
        compiled["f"](array, 2.0)
        assert steps(driver) == expected


def test_a_model() -> None:
    module = load_module("""
from tvm.script import ir as I, relax as R
@I.ir_module
class Module:
    @R.function
    def main(
        x: R.Tensor((4, 8), "float32"), w: R.Tensor((8, 6), "float32")
    ) -> R.Tensor((4, 6), "float32"):
        with R.dataflow():
            h = R.matmul(x, w)
            y = R.nn.softmax(h)
            R.output(y)
        return y
""")
    driver = simulated_driver(module)
    compiled = CudaExecutable(module, driver=driver, graphs=True)
    rng = np.random.default_rng(0)
    x, w = rng.random((4, 8), "f4"), compiled.array(rng.random((8, 6), "f4"))
    on_gpu = compiled.array(x)
    expected = xdsl_tvm.interpret(module)["main"](x, w.numpy())
    for _ in range(6):
        found = compiled["main"](on_gpu, w)
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-5)


def test_graphs_are_for_the_gpu() -> None:
    with pytest.raises(ValueError, match="graphs are for the target cuda"):
        xdsl_tvm.compile(VECTOR_ADD, graphs=True)

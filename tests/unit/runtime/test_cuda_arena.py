"""Memory of a call on a GPU: one allocation, on a driver that takes notes.

Kernels run in the simulator where a test needs what they compute.
"""

import ctypes
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from support.gpu_driver import NotingDriver, simulated_driver
from xdsl.dialects.builtin import ModuleOp

from xdsl_tvm.dialects import relax, tir
from xdsl_tvm.lowering.pipelines import gpu_pipeline, run_pipeline
from xdsl_tvm.passes.relax.verify_memory_plan import VerifyMemoryPlan
from xdsl_tvm.registry import new_context
from xdsl_tvm.runtime.cuda import CudaExecutable
from xdsl_tvm.runtime.interpreted import interpret
from xdsl_tvm.runtime.load import load_module

pytestmark = pytest.mark.usefixtures("small_heap")

CHAIN = """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def weigh(x: T.handle, y: T.handle):
        n = T.int64()
        X = T.match_buffer(x, (n, T.int64(3)))
        Y = T.match_buffer(y, (n, T.int64(3)))
        sums = T.alloc_buffer((n,))
        for i, k in T.grid(n, T.int64(3)):
            with T.block("sums"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    sums[vi] = T.float32(0)
                sums[vi] = sums[vi] + X[vi, vk]
        for i, j in T.grid(n, T.int64(3)):
            with T.block("weigh"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi, vj] = X[vi, vj] * sums[n - vi - T.int64(1)]

    @R.function
    def main(
        x: R.Tensor(("n", 3), "float32"), w: R.Tensor((3, 5), "float32")
    ) -> R.Tensor(("n", 3), "float32"):
        n = T.int64()
        cls = Module
        with R.dataflow():
            v = R.exp(w)
            a = R.exp(x)
            b = R.call_tir(cls.weigh, (a,), out_sinfo=R.Tensor((n, 3), "float32"))
            y = R.add(b, R.sum(v))
            R.output(y)
        return y
"""


def expected(x: Any, w: Any) -> Any:
    a, v = np.exp(x), np.exp(w)
    return a * a.sum(1)[::-1, None] + v.sum()


def inputs(rows: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(rows)
    return rng.random((rows, 3), "f4"), rng.random((3, 5), "f4")


@pytest.fixture(scope="module")
def chain() -> ModuleOp:
    return load_module(CHAIN)


def allocated(driver: NotingDriver) -> list[int]:
    """The sizes of allocations since the last question."""
    found = [call[1] for call in driver.calls if call[0] == "allocate"]
    driver.calls.clear()
    return found


def tensors_on(storage: relax.AllocStorageOp) -> Iterator[relax.AllocTensorFromStorageOp]:
    for use in storage.result.uses:
        if isinstance(use.operation, relax.AllocTensorFromStorageOp):
            yield use.operation


def test_a_plan_is_one_storage(chain: ModuleOp) -> None:
    """It is proved that no two tensors overlap while both are needed, memory that TIR
    functions work in included; offsets are multiples of 256 for any extent."""
    module = chain.clone()
    text = gpu_pipeline("cuda -arch=sm_90", relax=True)
    run_pipeline(new_context(), module, text.partition(",tir-join-launches")[0])
    VerifyMemoryPlan().apply(new_context(), module)
    ops = list(module.walk())
    planned = [op for op in ops if isinstance(op, relax.AllocStorageOp)]
    arenas = [op for op in planned if len(list(tensors_on(op))) > 1]
    assert len(arenas) == 1
    # The other one is that of the result.
    assert len(planned) == 2
    offsets = [op.offset.data for op in tensors_on(arenas[0])]
    assert len(offsets) >= 4
    assert len({*offsets}) > 1
    for rows in (1, 7, 64):
        assert not any(offset.evaluate({"n": rows}) % 256 for offset in offsets)
    allocs = [op for op in ops if isinstance(op, tir.AllocBufferOp)]
    assert not any(op.type.scope.data == "global" for op in allocs)


def test_one_allocation_a_call(chain: ModuleOp) -> None:
    driver = simulated_driver(chain)
    compiled = CudaExecutable(chain, driver=driver)
    sizes = list[int]()
    for rows in (2, 9):
        arrays = [compiled.array(each) for each in inputs(rows)]
        held = len(driver.memory)
        allocated(driver)
        result = compiled["main"](*arrays)
        arena, own = sorted(allocated(driver), reverse=True)
        assert own == rows * 3 * 4
        sizes.append(arena)
        assert len(driver.memory) == held + 1, "the arena is released"
        np.testing.assert_allclose(result.numpy(), expected(*inputs(rows)), rtol=1e-5)
        del result
    # Few rows take as much as 64.
    assert sizes[0] == sizes[1] < 4096


def test_addresses_of_kernels(chain: ModuleOp) -> None:
    """All memory that kernels are passed begins at a multiple of 256 bytes."""
    driver = simulated_driver(chain)
    seen = set[int]()

    def note(arguments: int, count: int) -> None:
        for position in range(count):
            place = ctypes.c_uint64.from_address(arguments + 8 * position).value
            value = ctypes.c_uint64.from_address(place).value
            held = driver.memory.items()
            if any(start <= value <= start + len(memory) for start, memory in held):
                seen.add(value)

    driver.kernels = {
        name: lambda arguments, count=count: note(arguments, count)
        for name, count in driver.parameters.items()
    }
    compiled = CudaExecutable(chain, driver=driver)
    arrays = [compiled.array(each) for each in inputs(5)]
    compiled["main"](*arrays)
    assert len(seen) > len(arrays) + 3
    assert not any(address % 256 for address in seen)


def test_a_call_that_fails_releases_it(chain: ModuleOp) -> None:
    driver = NotingDriver()
    compiled = CudaExecutable(chain, driver=driver)
    arrays = [compiled.array(each) for each in inputs(4)]
    held = len(driver.memory)
    driver.fails = "cuLaunchKernel"
    with pytest.raises(RuntimeError, match="was not launched"):
        compiled["main"](*arrays)
    assert len(driver.memory) == held
    driver.fails = ""
    driver.capacity = sum(ctypes.sizeof(each) for each in driver.memory.values()) + 400
    with pytest.raises(MemoryError, match=r"^out of memory: @main needs .* bytes"):
        compiled["main"](*arrays)
    assert len(driver.memory) == held


def test_a_graph_has_one_arena(chain: ModuleOp) -> None:
    driver = simulated_driver(chain)
    compiled = CudaExecutable(chain, driver=driver, graphs=True)
    arrays = [compiled.array(each) for each in inputs(3)]
    for _ in range(4):
        result = compiled["main"](*arrays)
        np.testing.assert_allclose(result.numpy(), expected(*inputs(3)), rtol=1e-5)
        del result
    assert [call[0] for call in driver.calls].count("launch graph") == 3
    (graph,) = driver.graphs.values()
    assert len(graph.memory) == 1
    assert graph.released == graph.memory.keys()


def test_calls_of_several_threads(chain: ModuleOp) -> None:
    """Each call has its own arena."""
    driver = simulated_driver(chain)
    compiled = CudaExecutable(chain, driver=driver)
    found: dict[int, Any] = {}

    def call(rows: int) -> None:
        found[rows] = compiled["main"](*inputs(rows)).numpy()

    threads = [threading.Thread(target=call, args=(rows,)) for rows in (2, 3, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for rows, result in found.items():
        np.testing.assert_allclose(result, expected(*inputs(rows)), rtol=1e-5)
    assert sorted(found) == [2, 3, 4]


def test_the_program_is_what_it_says(chain: ModuleOp) -> None:
    result = interpret(chain)["main"](*inputs(3))
    np.testing.assert_allclose(result, expected(*inputs(3)), rtol=1e-5)

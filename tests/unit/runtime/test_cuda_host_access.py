"""Host functions on the GPU's road that read and write elements of tensors.

The driver takes notes; its memory is that of the process, and kernels run in the
simulator.
"""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest
from support.gpu_driver import NotingDriver, simulated_driver

from xdsl_tvm.runtime.cuda import CudaExecutable
from xdsl_tvm.runtime.interpreted import interpret
from xdsl_tvm.runtime.kernel_interpreter import InterpretedKernels
from xdsl_tvm.runtime.load import load_module

pytestmark = pytest.mark.usefixtures("small_heap")

HEAD = """
from tvm.script import ir as I, relax as R, tir as T
@I.ir_module
class Module:
"""
BRANCH = (
    HEAD
    + """
    @R.function
    def main(
        x: R.Tensor((4,), "float32"), c: R.Tensor((), "bool")
    ) -> R.Tensor((4,), "float32"):
        if c:
            y = R.add(x, x)
        else:
            y = R.multiply(x, R.multiply(x, x))
        return y
"""
)
COMPUTED_BRANCH = (
    HEAD
    + """
    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        y = R.add(x, x)
        c = R.greater(R.sum(y), R.const(4.0, "float32"))
        if c:
            z = R.subtract(y, x)
        else:
            z = y
        return z

    @R.function
    def twice(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Module
        y = cls.main(x)
        return cls.main(y)

    @R.function
    def without(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        return R.add(x, x)
"""
)
SHAPES = (
    HEAD
    + """
    @R.function
    def main(
        x: R.Tensor((12,), "float32"), t: R.Tensor((2,), "int64")
    ) -> R.Tuple(R.Tensor((12,), "float32"), R.Shape(ndim=2), R.Prim("int64")):
        n, m = T.int64(), T.int64()
        s = R.tensor_to_shape(t)
        r = R.match_cast(s, R.Shape([n, m]))
        y = R.nn.softmax(R.reshape(x, R.shape([n, m])))
        z = R.reshape(y, R.shape([12]))
        return (z, R.shape([m, n]), R.prim_value(n + 5))

    @R.function
    def outer(
        x: R.Tensor((12,), "float32"), t: R.Tensor((2,), "int64")
    ) -> R.Tensor((2,), "int64"):
        cls = Module
        r = cls.main(x, t)
        return R.shape_to_tensor(r[1])
"""
)


def compiled(text: str, **options: Any) -> tuple[CudaExecutable, NotingDriver]:
    module = load_module(text)
    driver = simulated_driver(module)
    return CudaExecutable(module, driver=driver, **options), driver


def host_calls(driver: NotingDriver) -> list[Any]:
    """What the host has asked for since the last question, but for memory."""
    found = [c for c in driver.calls if c[0] in ("read", "wait", "write", "copy")]
    driver.calls.clear()
    return found


def test_both_branches() -> None:
    """One byte is read, and waited for; nothing stays allocated."""
    executable, driver = compiled(BRANCH)
    x = np.arange(4, dtype="f4")
    for condition, expected in ((True, x + x), (False, x * x * x)):
        driver.calls.clear()
        found = executable["main"](x, np.array(condition))
        # What a branch makes is copied to where the caller wants it.
        assert host_calls(driver) == [("read", 1), ("wait",), ("copy", 16)]
        np.testing.assert_array_equal(found.numpy(), expected)
    del found
    gc.collect()
    assert driver.memory == {}


def test_the_condition_is_what_kernels_make() -> None:
    """It is read after the kernels that make it."""
    executable, driver = compiled(COMPUTED_BRANCH)
    for value, expected in ((1.0, 1.0), (0.25, 0.5)):
        found = executable["main"](np.full(4, value, "f4"))
        np.testing.assert_array_equal(found.numpy(), np.full(4, expected, "f4"))
    driver.calls.clear()
    executable["twice"](np.ones(4, "f4"))
    assert [call for call in host_calls(driver) if call[0] != "copy"] == 2 * [
        ("read", 1),
        ("wait",),
    ]


def test_shapes_and_numbers() -> None:
    """A shape is read at once, and so is it written."""
    module = load_module(SHAPES)
    driver = simulated_driver(module)
    executable = CudaExecutable(module, driver=driver)
    for shape in ((3, 4), (1, 12)):
        x, t = np.linspace(-1, 1, 12, dtype="f4"), np.array(shape)
        driver.calls.clear()
        found = executable["main"](x, t)
        assert host_calls(driver) == [
            ("read", 16),
            ("wait",),
            ("copy", 48),
            ("write", 16),
            ("wait",),
            ("write", 8),
            ("wait",),
        ]
        rows = np.exp(x.reshape(shape))
        expected = (rows / rows.sum(1, keepdims=True)).reshape(12)
        np.testing.assert_allclose(found[0].numpy(), expected, rtol=1e-6)
        assert found[1:] == (shape[::-1], shape[0] + 5)
        np.testing.assert_array_equal(executable["outer"](x, t).numpy(), shape[::-1])
        assert found[1:] == interpret(module)["main"](x, t)[1:]


def test_a_shape_that_does_not_fit() -> None:
    executable, driver = compiled(SHAPES)
    x = np.zeros(12, "f4")
    for shape, text in (
        ((3, 5), r"relax\.reshape in @main: the shapes have different numbers of"),
        ((-3, -4), r"relax\.match_cast in @main: an extent or offset is negative"),
    ):
        with pytest.raises(RuntimeError, match=f"^assertion failed: {text}"):
            executable["main"](x, np.array(shape))
    gc.collect()
    assert driver.memory == {}


ASSERTED = (
    HEAD
    + """
    @R.function(pure=False)
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        c = R.less(R.sum(x), R.const(4.0, "float32"))
        _ = R.assert_op(c, format="too much")
        y = R.add(x, x)
        return y
"""
)


def test_assertions_of_tensors() -> None:
    executable, driver = compiled(ASSERTED)
    executable["main"](np.zeros(4, "f4"))
    with pytest.raises(RuntimeError, match="too much"):
        executable["main"](np.ones(4, "f4"))
    gc.collect()
    assert driver.memory == {}


def test_copies_that_fail() -> None:
    """The error names the function, memory is released, and later calls go on."""
    executable, driver = compiled(SHAPES)
    x, t = np.zeros(12, "f4"), np.array([3, 4])
    for name, what in (
        ("cuMemcpyDtoHAsync", "a read in @main failed: CUDA_ERROR_INVALID_VALUE"),
        ("cuStreamSynchronize", "a read in @main failed: CUDA_ERROR_LAUNCH_FAILED"),
        ("cuMemcpyHtoDAsync", "a write in @main failed: CUDA_ERROR_INVALID_VALUE"),
    ):
        driver.fails = name
        with pytest.raises(RuntimeError, match=f"^{what}$"):
            executable["main"](x, t)
        gc.collect()
        assert driver.memory == {}
    driver.fails = ""
    assert executable["main"](x, t)[1:] == ((4, 3), 8)


def test_graphs_leave_out_functions_that_read() -> None:
    """They, and those that call them, run as they are; others are captured."""
    executable, driver = compiled(COMPUTED_BRANCH, graphs=True)
    for name, factor, captures in (("main", 1, 0), ("twice", 1, 0), ("without", 2, 1)):
        x = executable.array(np.full(4, 2.0, "f4"))
        driver.calls.clear()
        for _ in range(3):
            found = executable[name](x)
            np.testing.assert_array_equal(found.numpy(), np.full(4, 2 * factor, "f4"))
            del found
        assert driver.calls.count(("begin capture",)) == captures


def test_interpreted_kernels_read_too() -> None:
    executable = InterpretedKernels(load_module(BRANCH))
    x = np.arange(4, dtype="f4")
    for condition, expected in ((True, x + x), (False, x * x * x)):
        found = executable["main"](x, np.array(condition))
        np.testing.assert_array_equal(found.numpy(), expected)

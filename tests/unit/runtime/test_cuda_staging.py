"""Copies through pinned memory, on a driver that copies as late as it may."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest
from support import paths
from support.gpu_driver import NotingDriver

from xdsl_tvm.runtime._staging import LEAST_BYTES, PIECE_BYTES
from xdsl_tvm.runtime.cuda import CudaExecutable
from xdsl_tvm.runtime.cuda_driver import CudaDriver
from xdsl_tvm.runtime.device_array import DeviceArray, Stream
from xdsl_tvm.runtime.load import load_module

pytestmark = pytest.mark.usefixtures("small_heap")

MIB = 1 << 20


def stream_of(driver: NotingDriver) -> Stream:
    return Stream.new(driver)


def data(size: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).integers(0, 256, size, "u1")


def copied(driver: NotingDriver) -> list[Any]:
    found = [call for call in driver.calls if call[0] in ("pin", "in", "out")]
    driver.calls.clear()
    return found


def expect_nothing_held(driver: NotingDriver) -> None:
    gc.collect()
    held = (driver.memory, driver.pinned, driver.events, driver.streams)
    assert held == ({}, {}, {}, set())


def test_small_copies_are_the_drivers() -> None:
    driver = NotingDriver()
    stream = stream_of(driver)
    values = data(LEAST_BYTES - 1)
    array = DeviceArray.of(stream, values)
    np.testing.assert_array_equal(array.numpy(), values)
    assert copied(driver) == [("in", values.size), ("out", values.size)]
    assert driver.pinned == {}


def test_pieces_of_large_copies() -> None:
    """Two pieces take turns; what the host does not know to be copied stays."""
    driver = NotingDriver()
    stream = stream_of(driver)
    values = data(3 * PIECE_BYTES + 5)
    expected = values.copy()
    array = DeviceArray.of(stream, values)
    # The array may change when the copy has been asked for, which is not done yet.
    values[:] = 0
    assert driver.unfinished() == 2
    pieces = [PIECE_BYTES] * 3 + [5]
    pinned = [("pin", PIECE_BYTES)] * 2
    assert copied(driver) == [*pinned, *(("in", size) for size in pieces)]
    np.testing.assert_array_equal(array.numpy(), expected)
    assert copied(driver) == [("out", size) for size in pieces]
    assert driver.unfinished() == 0


def test_memory_is_kept_grown_and_released() -> None:
    driver = NotingDriver()
    stream = stream_of(driver)
    for size, pinned in (
        (MIB, MIB),
        (MIB, None),
        (MIB + 1, 2 * MIB),
        (MIB, None),
        (PIECE_BYTES + 1, PIECE_BYTES),
        (3 * PIECE_BYTES, None),
    ):
        values = data(size, size)
        array = DeviceArray.of(stream, values)
        found = [call[1] for call in copied(driver) if call[0] == "pin"]
        assert found == ([] if pinned is None else [pinned] * 2)
        np.testing.assert_array_equal(array.numpy(), values)
        driver.calls.clear()
    assert len(driver.pinned) == len(driver.events) == 2
    del array, stream
    expect_nothing_held(driver)


def test_copies_of_an_array_with_gaps() -> None:
    driver = NotingDriver()
    values = data(2 * MIB).reshape(1024, -1)[::2]
    array = DeviceArray.of(stream_of(driver), values)
    np.testing.assert_array_equal(array.numpy(), values)
    assert array.strides == values.strides


@pytest.mark.parametrize("capacity", [0, MIB, PIECE_BYTES])
def test_no_pinned_memory(capacity: int) -> None:
    """Copies are what there is memory for: by one piece, or by the driver's own."""
    driver = NotingDriver(pinned_capacity=capacity)
    stream = stream_of(driver)
    values = data(2 * PIECE_BYTES)
    array = DeviceArray.of(stream, values)
    np.testing.assert_array_equal(array.numpy(), values)
    assert len(driver.pinned) == (capacity == PIECE_BYTES)
    steps = 2 if driver.pinned else 1
    assert [call[0] for call in copied(driver) if call[0] != "pin"] == [
        *(["in"] * steps),
        *(["out"] * steps),
    ]
    # What is there already is used where there is no more.
    driver = NotingDriver(pinned_capacity=2 * MIB)
    stream = stream_of(driver)
    for size in (MIB, 3 * MIB):
        values = data(size)
        np.testing.assert_array_equal(DeviceArray.of(stream, values).numpy(), values)
    assert [call for call in copied(driver) if call[0] == "pin"] == [("pin", MIB)] * 2


@pytest.mark.parametrize(
    "name",
    [
        "cuEventCreate",
        "cuEventRecord",
        "cuEventSynchronize",
        "cuMemcpyHtoDAsync",
        "cuMemcpyDtoHAsync",
    ],
)
def test_copies_that_fail(name: str) -> None:
    """The error is the driver's; nothing is left, and later copies go on."""
    driver = NotingDriver(fails=name)
    stream = stream_of(driver)
    values = data(PIECE_BYTES + 1)
    with pytest.raises(RuntimeError, match=f"^{name} failed: CUDA_ERROR_INVALID_VALUE$"):
        DeviceArray.of(stream, values).numpy()
    gc.collect()
    assert driver.memory == {}
    assert driver.unfinished() == 0
    driver.fails = ""
    np.testing.assert_array_equal(DeviceArray.of(stream, values).numpy(), values)
    del stream
    expect_nothing_held(driver)


def test_arguments_and_results() -> None:
    """Calls with arrays of numpy; the executable releases what it has pinned."""
    driver = NotingDriver()
    module = load_module(paths.EXAMPLES / "kernels" / "vector_add.mlir")
    compiled = CudaExecutable(module, driver=driver)
    count = MIB // 4 + 1
    a, b = np.ones(count, "f4"), np.ones(count, "f4")
    c = np.full(count, 7, "f4")
    compiled["vector_add"](a, b, c)
    size = 4 * count
    assert copied(driver) == [*[("pin", 2 * MIB)] * 2, *[("in", size)] * 3, ("out", size)]
    # No kernel has run: what comes back is what was there.
    np.testing.assert_array_equal(c, np.full(count, 7, "f4"))
    del compiled
    expect_nothing_held(driver)


class Bindings:
    """Bindings of a driver that remember what they are called with."""

    class CUevent_flags:
        CU_EVENT_DISABLE_TIMING = 2

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def __getattr__(self, name: str) -> Any:
        def function(*arguments: Any) -> tuple[Any, ...]:
            self.calls.append((name, *arguments))
            return 0, 12000

        return function


def test_functions_of_the_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    bindings = Bindings()
    monkeypatch.setattr("xdsl_tvm.runtime.cuda_driver._bindings", lambda: bindings)
    driver = CudaDriver()
    bindings.calls.clear()
    assert driver.allocate_host(64) == 12000
    event = driver.new_event()
    driver.enqueue_to_device(1, 2, 64, 3)
    driver.record(event, 3)
    driver.enqueue_to_host(2, 1, 64, 3)
    driver.wait(event)
    driver.free_event(event)
    driver.free_host(12000)
    assert bindings.calls == [
        ("cuMemHostAlloc", 64, 1),
        ("cuEventCreate", 2),
        ("cuMemcpyHtoDAsync", 1, 2, 64, 3),
        ("cuEventRecord", event, 3),
        ("cuMemcpyDtoHAsync", 2, 1, 64, 3),
        ("cuEventSynchronize", event),
        ("cuEventDestroy", event),
        ("cuMemFreeHost", 12000),
    ]

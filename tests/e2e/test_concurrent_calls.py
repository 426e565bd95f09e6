"""Calls of one executable that are under way at the same time, and given results."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xdsl_tvm
from xdsl_tvm.runtime.call import CompiledFunction

Array = np.ndarray[Any, np.dtype[Any]]

MODEL = """
!v = tensor<?x64xf32, #relax.dims<[n, 64]>>
relax.func @main<n>(%x: !v) -> !v attributes {global_symbol = "main"} {
  %0 = relax.call_pure_packed "python"(%x) : (!v) -> !v
  %1 = relax.add %0, %x : (!v, !v) -> !v
  %2 = relax.multiply %1, %x : (!v, !v) -> !v
  relax.return %2 : !v
}
"""

CHECKED = """
tir.func @f(%a: !tir.handle, %low: i32) attributes {global_symbol = "f"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<65536xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 65536 : i32
  tir.for %i = %c0 to %c1 parallel {
    %x = tir.load %A[%i] : i32
    %ok = tir.cmp ge %x, %low : i32
    %f = tir.string "tvm_assert_message"
    %t = tir.string "{} is below {}"
    %m = tir.call "call_pure_extern"(%f, %t, %x, %low)
      : (!tir.handle, !tir.handle, i32, i32) -> i32
    tir.assert %ok, %m
    %y = tir.add %x, %low : i32
    tir.store %y, %A[%i] : i32
  }
}
"""


def together(*works: Callable[[], None]) -> None:
    """Runs functions on threads of their own; raises the first of their exceptions."""
    errors: list[BaseException] = []

    def run(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(work,), daemon=True) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive(), "a call waits for another one"
    if errors:
        raise errors[0]


def same(x: Array) -> Array:
    return x


def values(n: int, start: float = 0) -> Array:
    return np.arange(start, start + n * 64, dtype=np.float32).reshape(n, 64)


def test_calls_are_under_way_at_once() -> None:
    """Each call waits for the other one, which a lock would not let begin."""
    met = threading.Barrier(2, timeout=30)

    def python(x: Array) -> Array:
        met.wait()
        return x

    main = xdsl_tvm.compile(MODEL, externs={"python": python})["main"]

    def work(start: float) -> None:
        x = values(3, start)
        np.testing.assert_array_equal(main(x), 2 * x * x)

    together(lambda: work(1), lambda: work(2))


def test_python_calls_the_module_on_another_thread() -> None:
    inner: list[Array] = []

    def python(x: Array) -> Array:
        if len(x) > 1:
            together(lambda: inner.append(executable["main"](x[:1].copy())))
        return x

    executable = xdsl_tvm.compile(MODEL, externs={"python": python})
    x = values(2)
    np.testing.assert_array_equal(executable["main"](x), 2 * x * x)
    np.testing.assert_array_equal(inner[0], 2 * x[:1] * x[:1])


def test_each_call_has_its_own_failure() -> None:
    """Numbers of messages, too, on the threads of the pool and on one's own."""
    f = xdsl_tvm.compile(CHECKED)["f"]

    def work(low: int) -> None:
        for _ in range(20):
            array = np.full(65536, low, np.int32)
            f(array, low)
            assert (array == 2 * low).all()
            array[70] = low - 5
            with pytest.raises(RuntimeError, match=f"{low - 5} is below {low}$"):
                f(array, low)

    together(*(lambda low=low: work(low) for low in (10, 200, 3000)))


def test_exceptions_of_python_belong_to_their_calls() -> None:
    def python(x: Array) -> Array:
        if x[0, 0] > 0:
            raise ValueError(f"got {x[0, 0]:.0f}")
        return x

    main = xdsl_tvm.compile(MODEL, externs={"python": python})["main"]

    def work(start: int) -> None:
        for _ in range(20):
            with pytest.raises(ValueError, match=f"^got {start}$"):
                main(values(2, start))
            assert (main(0 * values(1)) == 0).all()

    together(*(lambda start=start: work(start) for start in (1, 22, 333)))


def test_results_are_given() -> None:
    main = xdsl_tvm.compile(MODEL, externs={"python": same})["main"]
    x, out = values(4), np.full((4, 64), np.nan, np.float32)
    assert isinstance(main, CompiledFunction)
    assert main(x, out=out) is out
    np.testing.assert_array_equal(out, 2 * x * x)
    assert main.bind(x)(out=out) is out
    tensor = xdsl_tvm.nd.array(np.zeros_like(out))
    assert np.shares_memory(main(x, out=tensor), tensor.data)
    np.testing.assert_array_equal(tensor.numpy(), out)
    wrong: list[tuple[Any, str]] = [
        (np.zeros((3, 64), np.float32), r"must have shape \(4, 64\), got \(3, 64\)"),
        (np.zeros((4, 64)), "must have dtype float32, got float64"),
        (np.zeros((64, 4), np.float32).T, "must be C-contiguous"),
        (np.broadcast_to(np.float32(0), (4, 64)), "must be C-contiguous"),
        ([0.0], "must be a numpy array"),
        ((out,), "must be a numpy array"),
        (x, "and argument 'x' must not overlap"),
    ]
    for given, message in wrong:
        with pytest.raises((TypeError, ValueError), match=f"@main: out.*{message}"):
            main(x, out=given)


PAIR = """
!v = tensor<8x8xf32>
!s = tensor<i64>
relax.func @main(%x: !v, %n: !s) -> !relax.tuple<!v, !s>
    attributes {global_symbol = "main"} {
  %0 = relax.add %x, %x : (!v, !v) -> !v
  %1 = relax.tuple(%0, %n) : !v, !s
  relax.return %1 : !relax.tuple<!v, !s>
}
"""


def test_results_that_are_tuples_are_given() -> None:
    main = xdsl_tvm.compile(PAIR)["main"]
    x, n = np.ones((8, 8), np.float32), np.array(3)
    first, second = np.zeros((8, 8), np.float32), np.array(0)
    found = main(x, n, out=(first, None))
    assert found[0] is first
    assert (first == 2).all()
    assert found[1] == 3
    assert main(x, n, out=[None, second])[1] is second
    assert second == 3
    with pytest.raises(TypeError, match="out must be a tuple of 2, as the result"):
        main(x, n, out=first)
    with pytest.raises(TypeError, match=r"out must be a tuple of 2.* of 1"):
        main(x, n, out=(first,))
    assert main(x, n, out=None)[1] == 3


def memory() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1])


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
def test_calls_keep_no_memory() -> None:
    main = xdsl_tvm.compile(MODEL, externs={"python": same})["main"]
    x, out = values(64), values(64)

    def work(count: int) -> None:
        for _ in range(count):
            main(x)
            main(x, out=out)

    work(200)
    before = memory()
    work(1000)
    # Each call makes 16 KiB that it releases: a page kept by each were 2000.
    assert memory() - before < 500

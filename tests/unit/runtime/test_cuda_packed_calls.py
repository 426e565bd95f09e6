"""Host code of GPUs calls functions of Python, with arrays on the GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.runtime.device_array import DeviceArray
from xdsl_tvm.runtime.global_functions import (
    register_func,
    registered_externs,
    remove_global_func,
)
from xdsl_tvm.runtime.kernel_interpreter import InterpretedKernels
from xdsl_tvm.runtime.ndarray import NDArray
from xdsl_tvm.tvmscript import parse

pytest.importorskip("llvmlite")

MODULE = """
@I.ir_module
class Module:
    @R.function(pure=False)
    def main(x: R.Tensor(("n", 8), "float32")) -> R.Tensor(("n", 8), "float32"):
        n = T.int64()
        a = R.add(x, x)
        b = R.call_dps_packed(
            "my.scale", (a, R.shape([n, 3])), out_sinfo=R.Tensor((n, 8), "float32")
        )
        _ = R.print(R.shape([n]), a, format="{} of {}")
        c = R.call_packed("my.next", b, sinfo_args=(R.Tensor((n, 8), "float32"),))
        d = R.multiply(c, x)
        return d
"""


def write(array: Any, values: Any) -> None:
    """Give an array on the GPU its elements."""
    given = np.ascontiguousarray(values)
    array.stream.copy_to_device(array.address, given.ctypes.data, given.nbytes)


def scale(a: DeviceArray, shape: tuple[int, int], out: DeviceArray) -> None:
    assert isinstance(a, DeviceArray)
    assert shape == (3, 3)
    write(out, a.numpy() * shape[1])


def following(b: DeviceArray) -> Any:
    return b.numpy() + 1


@pytest.fixture(scope="module")
def functions() -> dict[str, Any]:
    return {"my.scale": scale, "my.next": following}


@pytest.fixture(scope="module")
def kernels(functions: dict[str, Any]) -> InterpretedKernels:
    def current(name: str) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            return functions[name](*args)

        return call

    externs = {name: current(name) for name in functions}
    return InterpretedKernels(parse(MODULE), externs=externs)


X = np.arange(24, dtype=np.float32).reshape(3, 8)


def test_values(kernels: InterpretedKernels, capsys: pytest.CaptureFixture[str]) -> None:
    found = kernels["main"](X)
    np.testing.assert_array_equal(found.numpy(), (6 * X + 1) * X)
    assert capsys.readouterr().out.startswith("(3,) of [[ 0.  2.")


@pytest.mark.parametrize(
    ("result", "error", "message"),
    [
        (np.zeros(3), ValueError, r"result 0 of 'my.next' must be float32\[3, 8\], got"),
        (KeyError("mine"), KeyError, "mine"),
    ],
)
def test_errors_of_functions(
    kernels: InterpretedKernels,
    functions: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    result: Any,
    error: type[Exception],
    message: str,
) -> None:
    def fails(_: Any) -> Any:
        if isinstance(result, Exception):
            raise result
        return result

    monkeypatch.setitem(functions, "my.next", fails)
    with pytest.raises(error, match=message):
        kernels["main"](X)


def test_results_on_the_gpu_and_registered_functions(
    kernels: InterpretedKernels,
    functions: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    @register_func("my.next")
    def next_of(b: NDArray) -> NDArray:
        assert isinstance(b, NDArray)
        return b

    try:
        monkeypatch.setitem(functions, "my.next", registered_externs()["my.next"])
        found = kernels["main"](X)
    finally:
        remove_global_func("my.next")
    np.testing.assert_array_equal(found.numpy(), 6 * X * X)


def test_unknown_functions() -> None:
    with pytest.raises(PassFailedException, match=r"no function 'my\.scale' is known"):
        InterpretedKernels(parse(MODULE))

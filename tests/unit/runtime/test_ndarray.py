"""Arrays and devices in TVM's words, on the processor and on a driver without a GPU."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest
from support.gpu_driver import NotingDriver
from xdsl.utils.exceptions import DiagnosticException

from xdsl_tvm import cpu, cuda, device, nd
from xdsl_tvm.dialects.tir import Target
from xdsl_tvm.runtime import device as devices
from xdsl_tvm.runtime import ndarray
from xdsl_tvm.runtime.device import Device


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> NotingDriver:
    found = NotingDriver()
    for module in (ndarray, devices):
        monkeypatch.setattr(module, "default_driver", lambda: found)
    streams: list[Any] = []
    monkeypatch.setattr(ndarray, "_STREAMS", streams)
    return found


def test_an_array_is_a_copy() -> None:
    source = np.arange(6, dtype="float32").reshape(2, 3)
    x = nd.array(source)
    source[:] = 0
    assert x.shape == (2, 3)
    assert x.dtype == "float32"
    assert x.device == cpu()
    x.numpy()[:] = 9
    np.testing.assert_array_equal(x.numpy(), np.arange(6).reshape(2, 3))
    assert nd.array([1, 2]).dtype == "int64"
    assert nd.array(x).numpy().tolist() == x.numpy().tolist()
    assert repr(nd.array([True])) == "<NDArray shape=(1,), cpu(0)>\narray([ True])"
    assert str(nd.array([1, 2])) == "[1 2]"
    assert np.asarray(x).sum() == 15


@pytest.mark.parametrize("dtype", ["float32", "bool", "int8", "uint64", "float16"])
def test_empty_arrays_have_dtypes(dtype: str) -> None:
    x = nd.empty((2, 3), dtype)
    assert (x.shape, x.dtype) == ((2, 3), dtype)
    assert nd.empty(4, cast(str, np.dtype(dtype))).dtype == dtype


def test_narrow_floats() -> None:
    pytest.importorskip("ml_dtypes")
    assert nd.empty((2,), "bfloat16").dtype == "bfloat16"
    assert nd.empty((2,), "float8_e4m3fn").dtype == "float8_e4m3fn"


def test_copies() -> None:
    x, y = nd.array(np.arange(3.0)), nd.empty((3,), "float64")
    assert x.copyto(y) is y
    assert y.numpy().tolist() == [0, 1, 2]
    y[:] = np.ones(3)
    assert y.numpy().tolist() == [1, 1, 1]
    y[:] = x
    assert y.copyto(cpu()).numpy().tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match=r"float64\[3\] and cannot take float64\[4\]"):
        x.copyfrom(np.ones(4))
    with pytest.raises(ValueError, match=r"cannot take int64\[3\]; convert it"):
        x[:] = [1, 2, 3]
    with pytest.raises(TypeError, match="copyto needs an NDArray or a device, such as c"):
        x.copyto(cast(Any, np.ones(3)))
    with pytest.raises(ValueError, match=r"write x\[:\] = y"):
        x[1:] = np.ones(2)


def test_other_libraries() -> None:
    source = np.arange(3.0)
    x = nd.from_dlpack(source)
    source[0] = 7
    assert x.numpy()[0] == 7
    assert np.from_dlpack(x)[0] == 7
    assert nd.from_dlpack(x).data is x.data
    assert x.__dlpack_device__() == (1, 0)
    assert x.to_dlpack() is not None
    with pytest.raises(TypeError, match="has __dlpack__, not a list; pass the array"):
        nd.from_dlpack([1.0])

    class Elsewhere:
        def __dlpack_device__(self) -> tuple[int, int]:
            return 8, 0

        def __dlpack__(self) -> Any: ...

    with pytest.raises((ValueError, RuntimeError, DiagnosticException)):
        nd.from_dlpack(Elsewhere())


def test_bad_arrays() -> None:
    with pytest.raises(ValueError, match="unknown dtype 'flot32'"):
        nd.empty((2,), "flot32")
    with pytest.raises(ValueError, match="memory scope global, not in 'shared'"):
        nd.array([1.0], cpu(), "shared")


def test_devices() -> None:
    assert device("cuda", 0) == device("cuda:0") == cuda() == Device(2)
    assert device(1) == device("llvm") == device(cpu()) == cpu(0) == Device(1)
    assert (str(cuda()), repr(cpu(1))) == ("cuda(0)", "cpu(1)")
    assert cpu().exist
    assert not cpu(1).exist
    assert cpu().compute_version is None
    with pytest.raises(ValueError, match="there is no device 'metal'; use cpu, cuda or"):
        device("metal")
    with pytest.raises(ValueError, match=r"no device cuda\(1\); code runs on the first"):
        cuda(1)
    with pytest.raises(ValueError, match="no device of the kind 8; use cpu or cuda"):
        device(8)


def test_there_may_be_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> Any:
        raise DiagnosticException("no driver")

    monkeypatch.setattr(devices, "default_driver", fail)
    assert not cuda().exist


def test_arrays_on_the_gpu(driver: NotingDriver) -> None:
    assert cuda().exist
    assert cuda().compute_version == "9.0"
    assert Target.from_device(cuda()) == Target("cuda -arch=sm_90")
    assert Target.from_device(cpu()) == Target("llvm")
    x = nd.array(np.arange(4, dtype="float32"), cuda())
    assert x.device == cuda()
    assert (x.shape, x.dtype) == ((4,), "float32")
    assert x.numpy().tolist() == [0, 1, 2, 3]
    y = nd.empty((4,), "float32", cuda())
    x.copyto(y)
    y.copyfrom(y.numpy() + 1)
    assert y.copyto(cpu()).numpy().tolist() == [1, 2, 3, 4]
    assert nd.from_dlpack(y.data).device == cuda()
    assert nd.array(y, cuda()).numpy().tolist() == [1, 2, 3, 4]
    assert np.asarray(y).tolist() == [1, 2, 3, 4]
    assert len(driver.streams) == 1

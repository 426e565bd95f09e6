"""Functions of Python that are registered once, and called by compiled programs."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

import xdsl_tvm
from xdsl_tvm import IRModule, get_global_func, register_func
from xdsl_tvm.nd import NDArray
from xdsl_tvm.runtime import global_functions
from xdsl_tvm.runtime.global_functions import list_global_func_names, remove_global_func
from xdsl_tvm.tvmscript import parse


@pytest.fixture(autouse=True)
def nothing_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    functions: dict[str, Any] = {}
    monkeypatch.setattr(global_functions, "_FUNCTIONS", functions)


def double(x: Any) -> Any:
    return x * 2


def less(x: Any) -> Any:
    return x - 1


def test_names() -> None:
    assert register_func("my.double", double) is double
    assert register_func("other")(double) is double
    assert register_func(double) is double
    assert get_global_func("my.double") is double
    assert list_global_func_names() == ["double", "my.double", "other"]
    remove_global_func("other")
    assert get_global_func("other", allow_missing=True) is None
    with pytest.raises(ValueError, match="no function 'other'; register_func has regi"):
        get_global_func("other")
    with pytest.raises(ValueError, match="no function 'other'"):
        remove_global_func("other")
    with pytest.raises(ValueError, match="a function 'double' already; pass override"):
        register_func(double)
    assert register_func("double", abs, override=True) is abs
    with pytest.raises(TypeError, match="register_func: 'x' must be a function"):
        register_func("x", cast(Any, 3))


PROGRAM = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        y = R.call_dps_packed("my.scale", (x,), out_sinfo=R.Tensor((4,), "float32"))
        z = R.call_pure_packed("my.pair", y, sinfo_args=(R.Tensor((4,), "float32"),))
        return z
"""


def _registered() -> IRModule:
    @register_func("my.scale")
    def scale(x: NDArray, out: NDArray) -> None:
        assert isinstance(x, NDArray)
        out.copyfrom(x.numpy() * 3)

    @register_func("my.pair")
    def shifted(x: NDArray) -> NDArray:
        return xdsl_tvm.nd.array(x.numpy() + 1)

    assert {scale.__name__, shifted.__name__} == {"scale", "shifted"}
    return parse(PROGRAM)


def test_the_interpreter_calls_them() -> None:
    module = _registered()
    x = np.arange(4, dtype="float32")
    np.testing.assert_array_equal(xdsl_tvm.interpret(module)["main"](x), x * 3 + 1)
    found = xdsl_tvm.interpret(module, externs={"my.pair": less})["main"](x)
    np.testing.assert_array_equal(found, x * 3 - 1)


def test_compiled_code_calls_them() -> None:
    pytest.importorskip("llvmlite")
    module = _registered()
    x = np.arange(4, dtype="float32")
    np.testing.assert_array_equal(xdsl_tvm.compile(module)["main"](x), x * 3 + 1)

"""`compile` and `interpret` accept what holds a program, and show what it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import xdsl_tvm
from xdsl_tvm.dialects import relax, tir
from xdsl_tvm.interpreters.errors import ArgumentError
from xdsl_tvm.relax.frontend import nn
from xdsl_tvm.runtime.executable import load_module
from xdsl_tvm.tools.cli import main
from xdsl_tvm.tvmscript.parser import parse

TIR = """
tir.func @twice(%a: !tir.handle, %b: !tir.handle) attributes {global_symbol = "twice"} {
  %n = tir.shape_var "n" : i32
  %A = tir.match_buffer %a [%n] : !tir.buffer<?xf32>
  %B = tir.match_buffer %b [%n] : !tir.buffer<?xf32>
  %c0 = tir.const 0 : i32
  tir.for %i = %c0 to %n {
    %x = tir.load %A[%i] : f32
    %y = tir.add %x, %x : f32
    tir.store %y, %B[%i] : f32
  }
}
"""
RELAX = """
relax.func @main<n>(%x: tensor<?xf32, #relax.dims<[n]>>, %y: tensor<1xf32>)
    -> tensor<?xf32, #relax.dims<[n]>> attributes {global_symbol = "main"} {
  %0 = relax.subtract %x, %y
    : (tensor<?xf32, #relax.dims<[n]>>, tensor<1xf32>) -> tensor<?xf32, #relax.dims<[n]>>
  relax.return %0 : tensor<?xf32, #relax.dims<[n]>>
}
"""
SCRIPT = """
@T.prim_func
def twice(a: T.handle, b: T.handle):
    T.func_attr({"global_symbol": "twice"})
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i in range(n):
        B[i] = A[i] + A[i]
"""

Doors = Mapping[str, Callable[..., Any]]


@pytest.fixture(params=["compile", "interpret"])
def door(request: pytest.FixtureRequest) -> Callable[..., Doors]:
    if request.param == "compile":
        pytest.importorskip("llvmlite")
        return xdsl_tvm.compile
    return xdsl_tvm.interpret


def floats(*values: float) -> Any:
    return np.array(values, np.float32)


@pytest.mark.parametrize(
    "kind", ["module", "op", "decorated", "text", "script", "path", "name"]
)
def test_what_holds_a_tir_function(
    kind: str, door: Callable[..., Doors], tmp_path: Path
) -> None:
    module = load_module(TIR)
    function = next(op for op in module.walk() if isinstance(op, tir.FuncOp))
    # A decorator returns a function that is in no module.
    decorated = next(op for op in parse(SCRIPT).walk() if isinstance(op, tir.FuncOp))
    decorated.detach()
    path = tmp_path / "twice.py"
    path.write_text(SCRIPT)
    sources: dict[str, Any] = {
        "module": module,
        "op": function,
        "decorated": decorated,
        "text": TIR,
        "script": SCRIPT,
        "path": path,
        "name": str(path),
    }
    output = floats(0, 0)
    door(sources[kind])["twice"](floats(1, 2), output)
    np.testing.assert_array_equal(output, [2, 4])
    # What is given stays as it is.
    assert function.parent_op() is module
    assert decorated.parent_op() is None


def test_what_holds_a_relax_function(door: Callable[..., Doors]) -> None:
    module = load_module(RELAX)
    function = next(op for op in module.walk() if isinstance(op, relax.FuncOp))
    for source in (RELAX, module, function):
        result = door(source)["main"](floats(1, 2, 3, 4), floats(1))
        np.testing.assert_array_equal(result, [0, 1, 2, 3])


def undecorated(x: int) -> int:
    return x


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (3, "got an int"),
        (None, "got a NoneType"),
        (b"text", "got a bytes"),
        (undecorated, "got the function undecorated; decorate it with T.prim_func"),
        ([TIR], "got a list"),
        (nn.Linear(2, 2), "got a Linear; use its export_tvm or its jit"),
    ],
)
def test_what_holds_no_function(
    source: Any, message: str, door: Callable[..., Doors]
) -> None:
    with pytest.raises(TypeError, match=message) as error:
        door(source)
    assert "\n" not in str(error.value)
    expected = "expected a module, a function of TVMScript or MLIR, a file or its text, "
    assert str(error.value).startswith(expected)


@pytest.mark.parametrize("name", ["model.onnx", Path("folder/model.onnx")], ids=str)
def test_a_model_of_onnx(name: Any, door: Callable[..., Doors]) -> None:
    with pytest.raises(TypeError, match=r"model\.onnx; read it by .*\.from_onnx$"):
        door(name)


def test_arguments_by_name(door: Callable[..., Doors]) -> None:
    function = door(TIR)["twice"]
    output = floats(0)
    function(b=output, a=floats(3))
    np.testing.assert_array_equal(output, [6])
    function(floats(4), b=output)
    np.testing.assert_array_equal(output, [8])
    main = door(RELAX)["main"]
    np.testing.assert_array_equal(main(floats(3), y=floats(1)), [2])
    cases: list[tuple[tuple[Any, ...], dict[str, Any], str]] = [
        ((), {"c": output}, "twice has no parameter 'c'; it has a, b"),
        ((output,), {"a": output}, "twice: argument 'a' is given twice"),
        ((), {"b": output}, "twice: no argument for a"),
    ]
    for args, named, message in cases:
        with pytest.raises((TypeError, ArgumentError), match=message):
            function(*args, **named)


def test_arguments_by_name_beside_bound_ones() -> None:
    pytest.importorskip("llvmlite")
    executable = xdsl_tvm.compile(RELAX)
    bound: Any = executable["main"]
    bound = bound.bind(y=floats(1))
    np.testing.assert_array_equal(bound(x=floats(3)), [2])
    with pytest.raises(TypeError, match="@main has no parameter 'y'; it has x"):
        bound(floats(3), y=floats(1))


def test_texts_of_executables() -> None:
    pytest.importorskip("llvmlite")
    executable = xdsl_tvm.compile(TIR + RELAX)
    assert repr(executable) == (
        "<NativeExecutable\n"
        "  @twice(a: float32[n], b: out float32[n])\n"
        "  @main(x: float32[n], y: float32[1]) -> float32[n]>"
    )
    text = "<compiled @main(x: float32[n], y: float32[1]) -> float32[n]>"
    assert repr(executable["main"]) == text
    shown = repr(xdsl_tvm.interpret(TIR + RELAX))
    assert "<interpreted @twice(a, b)>" in shown
    assert "<interpreted @main(x, y)>" in shown


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert xdsl_tvm.__version__ == version("xdsl-tvm")
    assert main(["--version"]) == 0
    expected = f"xdsl-tvm {version('xdsl-tvm')} (xDSL {version('xdsl')})\n"
    assert capsys.readouterr().out == expected


def test_a_module_is_not_copied_when_it_is_loaded() -> None:
    module = ModuleOp([])
    assert load_module(module) is module

"""Starts from the cache, which import no dialects, and what they answer."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xdsl_tvm
from xdsl_tvm.dialects.tir.target import Target
from xdsl_tvm.passes.infra import PassContext
from xdsl_tvm.runtime.executable import Executable, NativeExecutable
from xdsl_tvm.runtime.start import StartedExecutable, start_or_compile

pytest.importorskip("llvmlite")

TEXT = """
!x = tensor<?x4xf32, #relax.dims<[n, 4]>>
!y = tensor<4xf32>
relax.func @main<n>(%x: !x, %y: !y) -> !relax.tuple<!x, !y>
    attributes {global_symbol = "main"} {
  %z = relax.add %x, %y : (!x, !y) -> !x
  %t = relax.tuple(%z, %y) : !x, !y
  relax.return %t : !relax.tuple<!x, !y>
}
relax.func @flat<n>(%x: !x) -> tensor<?xf32, #relax.dims<[4 * n]>>
    attributes {global_symbol = "flat"} {
  %z = relax.flatten %x : (!x) -> tensor<?xf32, #relax.dims<[4 * n]>>
  relax.return %z : tensor<?xf32, #relax.dims<[4 * n]>>
}
tir.func @double(%a: !tir.handle, %b: !tir.handle) attributes {global_symbol = "double"} {
  %n = tir.shape_var "n" : i32
  %A = tir.match_buffer "A" %a [%n] : !tir.buffer<?xf32>
  %B = tir.match_buffer "B" %b [%n] : !tir.buffer<?xf32>
  %c0 = tir.const 0 : i32
  %c7 = tir.const 7 : i32
  %fits = tir.cmp lt %n, %c7 : i32
  tir.assert %fits, "too long"
  tir.for %i = %c0 to %n {
    %x = tir.load %A[%i] : f32
    %y = tir.add %x, %x : f32
    tir.store %y, %B[%i] : f32
  }
}
"""


class _AskedError(Exception):
    """The executable that `compile` makes was asked."""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A file that was compiled, with the cache that it is kept in."""
    folder = tmp_path_factory.mktemp("start")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDSL_TVM_CACHE", str(folder / "cache"))
        path = folder / "module.mlir"
        path.write_text(TEXT)
        compiled = xdsl_tvm.compile(path)
        assert isinstance(compiled, NativeExecutable)
        yield path


def _started(
    source: object, patch: pytest.MonkeyPatch, *, compiles: bool = False
) -> Executable:
    """What a fresh process gets; unless it compiles, nothing else may be asked of it."""

    def compiled(module: Any) -> Executable:
        if not compiles:
            raise _AskedError
        from xdsl_tvm.runtime.compilation import compile_module
        from xdsl_tvm.runtime.compile_options import CompileOptions

        return compile_module(module, CompileOptions())

    patch.setattr("xdsl_tvm.runtime.start._is_unset", lambda: True)
    module: Any = source
    return start_or_compile(module, "2 True", compiled)


def test_functions_compute_what_was_compiled(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = _started(file, monkeypatch)
    x, y = np.arange(12, dtype="f4").reshape(3, 4), np.ones(4, "f4")
    z, same = started["main"](x, y)
    np.testing.assert_array_equal(z, x + y)
    np.testing.assert_array_equal(same, y)
    found: Any = started
    np.testing.assert_array_equal(found(x, y)[0], x + y)
    a, b = np.arange(5, dtype="f4"), np.zeros(5, "f4")
    assert started["double"](a, b) is None
    np.testing.assert_array_equal(b, 2 * a)
    with pytest.raises(RuntimeError, match="too long"):
        started["double"](*np.zeros((2, 9), "f4"))


_X, _Y = np.ones((3, 4), "f4"), np.ones(4, "f4")
_V = np.ones(3, "f4")


@pytest.mark.parametrize(
    ("name", "args", "named"),
    [
        ("other", (), {}),
        ("flat", (_X,), {}),
        ("main", (_X,), {"y": _Y}),
        ("main", (_X,), {}),
        ("main", (np.ones((3, 5), "f4"), _Y), {}),
        ("main", (np.ones((3, 4)), _Y), {}),
        ("main", (np.ones((4, 3), "f4").T, _Y), {}),
        ("main", ([[1.0] * 4], _Y), {}),
        ("double", (_V, _Y), {}),
        ("double", (_V, _V), {}),
        ("double", (_V, np.broadcast_to(_V, (1, 3))[0]), {}),
    ],
)
def test_other_calls_are_of_the_whole_executable(
    name: str,
    args: Any,
    named: dict[str, Any],
    file: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started = _started(file, monkeypatch)
    with pytest.raises(_AskedError):
        started[name](*args, **named)


_QUESTIONS: list[Callable[[Any], object]] = [
    len,
    list,
    repr,
    lambda started: "main" in started,
    lambda started: started.signatures,
    lambda started: started["main"].bind,
]


@pytest.mark.parametrize("ask", _QUESTIONS)
def test_all_else_is_asked_of_the_whole_executable(
    ask: Callable[[Any], object], file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(_AskedError):
        ask(_started(file, monkeypatch))


def test_the_whole_executable_is_that_of_the_text(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = _started(file, monkeypatch, compiles=True)
    assert isinstance(started, StartedExecutable)
    assert isinstance(started, Executable)
    assert str(started).startswith("<NativeExecutable\n  @main(x: float32[n, 4], y:")
    with pytest.raises(TypeError, match="argument 'x' must have dtype float32"):
        started["main"](np.ones((3, 4)), np.ones(4, "f4"))
    np.testing.assert_array_equal(started["flat"](np.ones((1, 4), "f4")), np.ones(4))


def test_the_whole_executable_is_of_no_context(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As what was started is, whatever is entered when it is asked for."""
    started: Any = _started(file, monkeypatch, compiles=True)
    with PassContext(config={"tir.disable_assert": True}), Target("cuda"):
        assert "too long" in started.llvm_ir
    assert Target.current() is None


def test_a_copy_asks_for_nothing(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started = _started(file, monkeypatch)
    one = copy.copy(started)["main"](np.ones((1, 4), "f4"), np.ones(4, "f4"))
    np.testing.assert_array_equal(one[0], np.full((1, 4), 2))


def test_another_text_is_compiled(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    edited = tmp_path / "module.mlir"
    edited.write_text(TEXT.replace("lt", "le"))
    with pytest.raises(_AskedError):
        _started(edited, monkeypatch)
    with pytest.raises(_AskedError):
        # Text is not what a file of this ending holds, though here it is the same.
        _started(TEXT, monkeypatch)


def test_a_context_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDSL_TVM_CACHE", str(tmp_path))
    text = 'tir.func @f() attributes {global_symbol = "f"} {\n}'
    for given in (
        PassContext(config={"tir.disable_assert": True}),
        PassContext(disabled_pass=["tir.Simplify"]),
        PassContext(opt_level=0),
    ):
        with given:
            xdsl_tvm.compile(text)
    with pytest.raises(_AskedError):
        _started(text, monkeypatch)
    xdsl_tvm.compile(text)
    assert _started(text, monkeypatch)["f"]() is None


def test_a_start_imports_no_dialect(file: Path) -> None:
    program = (
        "import sys, numpy, xdsl_tvm, pathlib\n"
        "main = xdsl_tvm.compile(pathlib.Path(sys.argv[1]))['main']\n"
        "print(main(numpy.ones((2, 4), 'f4'), numpy.ones(4, 'f4'))[0].sum())\n"
        "print([name for name in sys.modules if name.startswith('xdsl.dialects')])"
    )
    command = [sys.executable, "-c", program, str(file)]
    found = subprocess.run(
        command, env=dict(os.environ), capture_output=True, text=True, check=True
    )
    assert found.stdout == "16.0\n[]\n"

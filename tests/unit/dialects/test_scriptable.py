"""Modules and functions show themselves: as text, in colours, as HTML."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from xdsl_tvm.dialects import scriptable, tir
from xdsl_tvm.dialects.ir_module import IRModule
from xdsl_tvm.tvmscript import parse, print_script

TEXT = """
@T.prim_func
def f(A: T.Buffer((4,), "float32")):
    for i, j in T.grid(2, 2):
        A[i * 2 + j] = T.float32(1)
"""


@pytest.fixture
def module() -> IRModule:
    return parse(TEXT)


def test_the_script(module: IRModule) -> None:
    assert module.script() == print_script(module)
    function = module["f"]
    assert isinstance(function, tir.FuncOp)
    assert function.script() == print_script(function)
    assert function.script(indent_spaces=2) == print_script(function, indent=2)
    assert "T.grid" in function.script(tir_prefix="T", verbose_expr=False)
    assert "T.grid" not in function.script(syntax_sugar=False)


def test_options_that_there_are_not(module: IRModule) -> None:
    with pytest.raises(ValueError, match="script: tir_prefix='X' is not supported; leav"):
        module.script(tir_prefix="X")
    with pytest.raises(TypeError, match=r"script\(\) has no option 'colour'"):
        module.script(colour=True)
    with pytest.raises(ValueError, match="show: there is no style 'gaudy'; use light"):
        module.show("gaudy")


def test_it_is_printed(
    module: IRModule, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    module.show()
    assert capsys.readouterr().out == module.script() + "\n"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    pytest.importorskip("pygments")
    for style in (None, "dark", "ansi", "vs"):
        module.show(style)
        text = capsys.readouterr().out
        assert "\x1b[" in text
        assert "prim_func" in text


def test_html(module: IRModule, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "prim_func" in _html(module)
    monkeypatch.setitem(sys.modules, "pygments", None)
    assert _html(module).startswith("<pre># from tvm.script import ir as I")
    assert "T.Buffer((4,), &quot;float32&quot;)" in _html(module)


def test_in_a_notebook(
    module: IRModule, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shell = type("ZMQInteractiveShell", (), {})()
    shown: list[str] = []
    display = SimpleNamespace(HTML=str, display=shown.append)
    ipython = SimpleNamespace(get_ipython=lambda: shell)
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    module.show()
    assert shown == [_html(module)]
    assert capsys.readouterr().out == ""


def _in_capitals(text: str, mode: object) -> str:
    return text.upper()


def _html(module: Any) -> str:
    return module._repr_html_()


def test_black(
    module: IRModule, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "black", None)
    with pytest.raises(ValueError, match="needs the package black: pip install black"):
        module.show(black_format=True)
    black = SimpleNamespace(FileMode=dict, format_str=_in_capitals)
    monkeypatch.setitem(sys.modules, "black", black)
    module.show(black_format=True)
    assert capsys.readouterr().out == module.script().upper() + "\n"
    assert scriptable.Scriptable in type(module).__mro__

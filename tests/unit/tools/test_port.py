"""`xdsl-tvm port`: programs of TVM statement by statement."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from xdsl_tvm.tools._program import FAILED, run_program
from xdsl_tvm.tools._tvm_imports import rewritten
from xdsl_tvm.tools.cli import main
from xdsl_tvm.tvm_words import Kind

PROGRAM = '''\
"""A text, which is no statement."""

import tvm
from tvm import relax, te, tir
from tvm.script import tirx as T
import tvm.relax.backend.cuda.cublas as cublas


@T.prim_func
def scale(A: T.Buffer((4,), "float32")):
    for i in range(4):
        A[i] = A[i] * T.float32(2)


mod = tvm.IRModule({"scale": scale})
A = te.placeholder((4,), name="A")
if isinstance(mod, tvm.IRModule):
    B = te.compute((4,), lambda i: A[i])
else:
    skipped = 1
mod = tvm.tir.transform.NoSuchPass()(mod)
mod.show()
max = tir.Schedule(mod)
max(1, 2)


def index():
    return B


index()
x = relax.Var("x", relax.TensorStructInfo((4,), "float32"))
bb = relax.BlockBuilder()
with bb.function("main", [x]):
    y = bb.emit_te(abs, x)
bb.get()
x.name_hint
relax.get_pipeline("static_shape_tuning")
relax.get_pipeline("no_such_pipeline")


def check():
    raise KeyError("weights")


import no_such_package
check()
'''


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


def test_statements_are_run_in_turn(
    program: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = run_program(program)
    te, packages = Kind.TENSOR_EXPRESSIONS.value, "packages not installed"
    assert {s.text: (s.kind, s.cause) for s in steps if s.kind is not None} == {
        "from tvm import relax, te, tir": (te, None),
        "import tvm.relax.backend.cuda.cublas as cublas": (Kind.LIBRARIES, None),
        'A = te.placeholder((4,), name="A")': (te, 4),
        "B = te.compute((4,), lambda i: A[i])": (te, 4),
        "mod = tvm.tir.transform.NoSuchPass()(mod)": (FAILED, None),
        "max = tir.Schedule(mod)": (Kind.SCHEDULES, None),
        "max(1, 2)": (Kind.SCHEDULES, 23),
        "index()": (te, 4),
        'with bb.function("main", [x]):': (te, None),
        "bb.get()": (te, 34),
        'relax.get_pipeline("static_shape_tuning")': (Kind.TUNING, None),
        'relax.get_pipeline("no_such_pipeline")': (FAILED, None),
        "import no_such_package": (packages, None),
        "check()": ("raised by the program", None),
    }
    assert [s.text for s in steps if s.kind is None] == [
        "import tvm",
        "from tvm.script import tirx as T",
        'def scale(A: T.Buffer((4,), "float32")):',
        'mod = tvm.IRModule({"scale": scale})',
        "mod.show()",
        "def index():",
        'x = relax.Var("x", relax.TensorStructInfo((4,), "float32"))',
        "bb = relax.BlockBuilder()",
        "x.name_hint",
        "def check():",
    ]
    assert "def scale" in capsys.readouterr().out


def test_the_program_may_exit(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text("import sys\nif __name__ == '__main__':\n    sys.exit(3)\nx = 1\n")
    assert [step.text for step in run_program(path)] == ["import sys"]


def test_the_command_reports_and_fails(
    program: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["port", str(program)]) == 1
    captured = capsys.readouterr()
    assert captured.err == "error: 2 statements failed\n"
    lines = captured.out.splitlines()
    assert lines[0].startswith(f"{program}: 24 statements, 10 run, te/topi 6, external")
    assert lines[1:3] == [
        "  4: from tvm import relax, te, tir",
        "    te/topi: xdsl_tvm has no 'te': there are no tensor expressions; write "
        "T.prim_func, or operators of Relax, which LegalizeOps makes functions of TIR",
    ]
    assert (
        "    te/topi, as line 4 did not run: NameError: name 'te' is not defined" in lines
    )
    program.write_text("import tvm\nfrom tvm import te\nprint(tvm)\n")
    assert main(["port", "--table", str(program), str(program)]) == 0
    assert capsys.readouterr().out == "| program | 3 | 2 | te/topi 1 |\n" * 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"f(\n", "program.py:1: not valid Python: '(' was never closed"),
        (b"\xff\n", "program.py: byte 0xff at offset 0 is not UTF-8 text"),
        (None, "program.py: No such file or directory"),
    ],
)
def test_files_that_are_refused(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    content: bytes | None,
    message: str,
) -> None:
    path = tmp_path / "program.py"
    if content is not None:
        path.write_bytes(content)
    assert main(["port", str(path)]) == 1
    error = capsys.readouterr().err
    assert message in error
    assert error.count(str(path)) == 1


def test_imports_are_rewritten_and_nothing_else(tmp_path: Path) -> None:
    text = """\
import os, tvm  # both
import tvm.relax.op as op
import tvm.tirx, tvm.ir
def f():
    from tvm.script import (
        tirx as T,  # comment
        relax,
    ); return "ä", "import tvm"
from . import tvm
"""
    ours = """\
import os; import xdsl_tvm as tvm  # both
import xdsl_tvm.relax.op as op
import xdsl_tvm.tir; import xdsl_tvm as tvm; import xdsl_tvm.ir; import xdsl_tvm as tvm
def f():
    from xdsl_tvm.script import tir as T, relax; return "ä", "import tvm"
from . import tvm
"""
    assert rewritten(text, ast.parse(text)) == ours
    source, target = tmp_path / "a.py", tmp_path / "b.py"
    source.write_text(text, encoding="utf-8")
    assert main(["port", str(source), "-o", str(target)]) == 0
    assert target.read_text(encoding="utf-8") == ours
    assert main(["port", str(source), str(source), "-o", str(target)]) == 1

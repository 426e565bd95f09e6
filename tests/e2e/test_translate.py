"""`xdsl-tvm translate`: scripts to MLIR and back; the examples compute what they say."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from support import paths

from xdsl_tvm.analysis.structural_equal import assert_structural_equal
from xdsl_tvm.interpreters.relax import interpret as interpret_relax
from xdsl_tvm.interpreters.tir import interpret
from xdsl_tvm.runtime.executable import compile, load_module
from xdsl_tvm.tools.cli import main
from xdsl_tvm.tvmscript.files import read_file

EXAMPLES = paths.EXAMPLES / "tvmscript"
FILES = sorted(EXAMPLES.glob("*.py"))
IDS = [file.stem for file in FILES]


def translate(*arguments: str | Path) -> None:
    assert main(["translate", *map(str, arguments)]) == 0


def error_of(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    assert main(["translate", *map(str, arguments)]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err


# ---- the examples ----


@pytest.mark.parametrize("file", FILES, ids=IDS)
def test_examples_round_trip(file: Path, tmp_path: Path) -> None:
    first, script, second = (tmp_path / name for name in ("a.mlir", "b.py", "c.mlir"))
    translate(file, "-o", first)
    translate(first, "-o", script)
    translate(script, "-o", second)
    assert_structural_equal(load_module(first), load_module(second))
    translate(second, "-o", tmp_path / "d.py")
    assert (tmp_path / "d.py").read_text() == script.read_text()


def test_all_examples_at_once(tmp_path: Path) -> None:
    translate(*FILES, "-o", tmp_path / "mlir")
    texts = sorted((tmp_path / "mlir").iterdir())
    assert [text.name for text in texts] == [f"{file.stem}.mlir" for file in FILES]
    translate(*texts, "-o", tmp_path / "again")
    for file in FILES:
        again = read_file(tmp_path / "again" / file.name)
        assert_structural_equal(read_file(file), again)


Array: TypeAlias = "np.ndarray[Any, Any]"

rng = np.random.default_rng(0)


def floats(*shape: int, dtype: str = "float32") -> Array:
    return rng.standard_normal(shape).astype(dtype)


def soft(x: Array) -> Array:
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def sums(x: Array) -> Array:
    return x.astype("float32").sum(axis=1)


def with_neighbour(x: Array) -> Array:
    return x + np.concatenate([[0], x[:-1]])


def steps(values: Array) -> Array:
    counts: list[int] = []
    for value in map(int, values):
        counts.append(0)
        while value > 1:
            value = value // 2 if value % 2 == 0 else value * 3 + 1
            counts[-1] += 1
    return np.array(counts)


RUNS: dict[str, tuple[list[Array], Callable[..., Array]]] = {
    "gpu_tile": ([floats(16, 32), floats(32, 16)], np.matmul),
    "low_level": ([floats(8, 16, dtype="float16")], sums),
    "softmax": ([floats(3, 5)], soft),
    "softmax_threads": ([floats(16, 256)], soft),
    "split_with_predicate": ([np.arange(30, dtype="int32")], with_neighbour),
    "tiled_matmul": ([floats(64, 64), floats(64, 64)], np.matmul),
    "two_functions": ([np.arange(-3, 13, dtype="int32")], steps),
    "vector_add": ([floats(7), floats(7)], np.add),
}


ON_GPU = ("gpu_tile", "softmax_threads")
FUNCTIONS = {"two_functions": "main", "softmax_threads": "softmax"}
"""The functions whose name is not that of their file."""


def test_all_examples_are_run() -> None:
    assert {*RUNS, "relax_model"} == set(IDS)


def test_the_graph_computes_what_it_says() -> None:
    module = read_file(EXAMPLES / "relax_model.py")
    x, w = floats(5, 16), floats(16, 8)
    wanted = soft(np.maximum(x @ w, 0) / 2)
    for run in (interpret_relax(module)["main"], compile(module)["main"]):
        np.testing.assert_allclose(run(x, w), wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", RUNS)
def test_examples_compute_what_they_say(name: str) -> None:
    file = EXAMPLES / f"{name}.py"
    inputs, expected = RUNS[name]
    wanted = expected(*inputs)
    module = read_file(file)
    functions: list[Mapping[str, Callable[..., Any]]] = [interpret(module)]
    if file.stem not in ON_GPU:
        functions.append(compile(module))
    for each in functions:
        output = np.zeros(
            wanted.shape, "int32" if wanted.dtype.kind == "i" else "float32"
        )
        each[FUNCTIONS.get(file.stem, file.stem)](*inputs, output)
        np.testing.assert_allclose(output, wanted, rtol=1e-5, atol=1e-5)


def test_a_barrier_too_few_is_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (EXAMPLES / "gpu_tile.py").read_text()
    barrier = " " * 28 + 'T.tvm_storage_sync("shared")\n'
    assert text.count(barrier) == 2
    file = tmp_path / "tile.py"
    for script, code in ((text, 0), (text.replace(barrier, "", 1), 1)):
        file.write_text(script)
        assert main(["run", str(file), "--interpret"]) == code
    assert "race" in capsys.readouterr().err


def test_run_shows_where_scripts_are_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "wrong.py"
    file.write_text("@T.prim_func\ndef f(A: T.Buffer((4,))):\n    A[0] = y\n")
    assert main(["run", str(file), "--interpret"]) == 1
    expected = f"{file}:3:12: error: undefined variable 'y'\n    A[0] = y\n           ^\n"
    assert capsys.readouterr().err.startswith(expected)


# ---- the command ----

TWO = """\
import tvm
from tvm.script import ir as I, tir as T

N = 4

@T.macro
def one(A, i):
    A[i] = 1

@T.prim_func
def f(A: T.Buffer((N,), "int32")):
    for i in range(N):
        one(A, i)

@I.ir_module
class M:
    @T.prim_func
    def main(A: T.Buffer((N,), "int32")):
        A[0] = 2
"""
PYTHON = """\
import tvm
from tvm import tir
from tvm.script import tir as T
from tvm.script.tir import prim_func
import tvm.script

def double(x):
    return x * 2

def make(n):
    @T.prim_func
    def f(A: T.Buffer((n,), "int32")):
        for i in range(n):
            A[i] = double(i)
    return f

f4, f8 = make(4), make(8)
alias = f4

@tvm.script.ir_module
class M:
    @T.prim_func
    def main(A: T.Buffer((4,), "int32")):
        A[0] = double(3)
"""


@pytest.fixture
def two(tmp_path: Path) -> Path:
    file = tmp_path / "two.py"
    file.write_text(TWO)
    return file


@pytest.fixture
def python(tmp_path: Path) -> Path:
    file = tmp_path / "python.py"
    file.write_text(PYTHON)
    return file


def test_standard_output(two: Path, capsys: pytest.CaptureFixture[str]) -> None:
    translate(two, two)
    output = capsys.readouterr().out
    assert output.count("// -----\n") == 1
    assert output.count("tir.func @f(") == 2
    assert output.count("tir.func @main(") == 2


@pytest.mark.parametrize("execute", [[], ["--execute"]])
@pytest.mark.parametrize(("name", "symbol"), [("f", "f"), ("M", "main")])
def test_a_definition_by_name(
    two: Path,
    name: str,
    symbol: str,
    execute: list[str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    translate(two, "--name", name, *execute)
    output = capsys.readouterr().out
    assert output.count("tir.func @") == 1
    assert f"tir.func @{symbol}(" in output
    error = error_of(capsys, two, "--name", "g", *execute)
    assert "there is no definition 'g'" in error
    assert "the file has f, M" in error or "the file has M, f" in error


def test_options_of_the_printer(two: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mlir = two.with_suffix(".mlir")
    translate(two, "-o", mlir)
    translate(mlir, "--version", "0.27")
    assert "tirx as T" in capsys.readouterr().out
    translate(mlir, "--no-sugar")
    assert "T.serial(4)" in capsys.readouterr().out


def test_python_is_read_unless_it_is_to_be_executed(
    python: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    error = error_of(capsys, python)
    assert f"{python}:17:1: error: a script holds definitions" in error
    assert "is to be executed" in error
    assert error.endswith("\nf4, f8 = make(4), make(8)\n^\n")


def test_executed_files(python: Path, capsys: pytest.CaptureFixture[str]) -> None:
    error = error_of(capsys, python, "--execute")
    assert "f4 and f8 both have a function 'f'" in error
    translate(python, "--execute", "--name", "f8")
    assert "!tir.buffer<8xi32>" in capsys.readouterr().out
    translate(python, "--execute", "--name", "M")
    assert "tir.const 6 : i32" in capsys.readouterr().out


def test_opt_and_run_execute(
    python: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "one.py"
    script.write_text(PYTHON.replace("f4, f8 = make(4), make(8)", "f4 = make(4)"))
    for command in ("opt", "run"):
        extra = ["--interpret", "--function", "main"] if command == "run" else []
        assert main([command, str(script), *extra]) == 1
        assert f"{script}:7:" in capsys.readouterr().err
        assert main([command, str(script), "--execute", *extra]) == 0
        found = capsys.readouterr().out
        assert ("!tir.buffer<4xi32>" if command == "opt" else "int32[4]") in found
    mlir = tmp_path / "one.mlir"
    mlir.write_text("builtin.module {}")
    for arguments in ([str(mlir)], [str(script), "--split-input-file"], []):
        assert main(["opt", "--execute", *arguments]) == 1
        assert "--execute runs a whole .py file" in capsys.readouterr().err
    assert main(["run", "--execute", str(mlir)]) == 1
    assert "--execute runs .py files" in capsys.readouterr().err


def test_execution_leaves_tvm_alone(python: Path) -> None:
    before = {name: sys.modules[name] for name in sys.modules if name.startswith("tvm")}
    translate(python, "--execute", "--name", "M")
    after = {name: sys.modules[name] for name in sys.modules if name.startswith("tvm")}
    assert before == after


def test_functions_merge(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "same.py"
    file.write_text(TWO.replace("def main", "def f"))
    for execute in ([], ["--execute"]):
        assert "both have a function 'f'" in error_of(capsys, file, *execute)
    file.write_text(
        TWO
        + TWO[TWO.index("@I") :]
        .replace("M:", "O:")
        .replace("main", "g")
        .replace("@T.prim", 'I.module_attrs({"a": 1})\n    @T.prim')
    )
    translate(file)
    output = capsys.readouterr().out
    assert output.count("tir.func @") == 3
    assert "attributes {tir.module_attrs = {a = 1 : i32}}" in output


ERRORS = {
    "no scripts": ("x = 1\n", "defines no function or class"),
    "place": ("@T.prim_func\ndef f(A: T.Buffer((4,))):\n    A[0] = y\n", ":3:12: error:"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_have_places(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, expected = ERRORS[name]
    file = tmp_path / "wrong.py"
    file.write_text(text)
    error = error_of(capsys, file)
    assert str(file) in error
    assert expected in error


def test_errors_of_executed_python(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "wrong.py"
    file.write_text("def g():\n    return 1 / 0\n\ng()\n")
    error = error_of(capsys, file, "--execute")
    assert error == f"error: {file}:2: ZeroDivisionError: division by zero\n"
    file.write_text("from tvm.script import tir as T\nfrom tvm import te\n")
    error = error_of(capsys, file, "--execute")
    assert f"{file}:2: ImportError: cannot import name 'te' from 'xdsl_tvm'" in error
    file.write_text("x = 1\n")
    assert "defines no function or class" in error_of(capsys, file, "--execute")


def test_errors_of_the_command(
    two: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "the name ends in '.txt'; give a file of MLIR" in error_of(
        capsys, tmp_path / "x.txt"
    )
    assert "No such file" in error_of(capsys, tmp_path / "x.py")
    output = tmp_path / "o.mlir"
    assert "into a directory" in error_of(capsys, two, two, "-o", output)
    assert "into one" in error_of(capsys, two, two, "-o", tmp_path / "o")
    mlir = tmp_path / "f.mlir"
    mlir.write_text("func.func @f() {\n  func.return\n}\n")
    assert f"{mlir}:1:1: error: func.func: has no form" in error_of(capsys, mlir)
    assert "--name chooses" in error_of(capsys, mlir, "--name", "f")
    mlir.write_text("tir.func @f() {\n")
    assert "f.mlir:" in error_of(capsys, mlir)


def test_nothing_is_written_where_one_file_fails(two: Path, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_text("x = 1\n")
    assert main(["translate", str(two), str(wrong), "-o", str(tmp_path / "o")]) == 1
    assert not (tmp_path / "o").exists()


# ---- xdsl-tvm opt ----


def test_opt_reads_scripts(capsys: pytest.CaptureFixture[str]) -> None:
    file = str(EXAMPLES / "vector_add.py")
    passes = "tir-convert-blocks-to-opaque,tir-lower-opaque-block"
    assert main(["opt", file, "-p", passes, "-t", "tvmscript"]) == 0
    assert "            C[i] = A[i] + B[i]\n" in capsys.readouterr().out


def test_opt_shows_where_scripts_are_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "wrong.py"
    file.write_text("@T.prim_func\ndef f(A: T.Buffer((4,))):\n    A[0] = y\n")
    assert main(["opt", str(file)]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"{file}:3:12: error: undefined variable 'y'")
    assert error.endswith("\n    A[0] = y\n           ^\n")

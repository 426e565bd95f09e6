"""Files that hold no module or no array, and inputs that are too large: one line each."""

from __future__ import annotations

import io
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import paths
from support.error_texts import first_line

import xdsl_tvm
from xdsl_tvm.runtime import available_memory
from xdsl_tvm.tools.cli import main

SCALE = str(paths.EXAMPLES / "scale.mlir")
SCRIPT = """# {}
from tvm.script import tir as T
@T.prim_func
def main(A: T.Buffer((16,), "float32")):
{}
"""


def loops(depth: int, kind: str) -> str:
    body = "".join(f"{' ' * (d + 4)}{kind}\n" for d in range(depth))
    return SCRIPT.format("", f"{body}{' ' * (depth + 4)}A[0] = T.float32(1)")


def branches(depth: int) -> str:
    inner = "scf.if %a {\n" * depth + "}\n" * depth
    return f"func.func @main(%a: i1) {{\n{inner}func.return\n}}\n"


def modules(depth: int) -> str:
    return '"builtin.module"() ({\n' * depth + "}) : () -> ()\n" * depth


FILES: dict[str, tuple[str, bytes | str, str]] = {
    "empty": ("x.mlir", "", "x.mlir: the file is empty; it should hold MLIR text"),
    "blank": ("x.mlir", " \n\n", "x.mlir: the file is empty"),
    "empty script": ("x.py", "", "x.py: the file is empty; it should hold TVMScript"),
    "binary": ("x.mlir", random.Random(1).randbytes(999), "not UTF-8 text"),
    "binary script": ("x.py", random.Random(1).randbytes(999), "not UTF-8 text"),
    "latin": (
        "x.mlir",
        "// ä\n".encode("latin1"),
        "x.mlir: byte 0xe4 at offset 3",
    ),
    "utf-16": ("x.py", SCRIPT.encode("utf-16"), "x.py: byte 0xff at offset 0 is not"),
    "NUL": ("x.mlir", "func.func @f() {\n\0}", "x.mlir:2:1: error: a NUL character"),
    "byte order mark": (
        "x.mlir",
        "builtin.module {}".encode("utf-8-sig"),
        "x.mlir:1:1: error: a byte order mark; save the file as UTF-8 without one",
    ),
    "NUL in a script": ("x.py", "x = 1\n\0\n", "x.py:"),
    "deep branches": ("x.mlir", branches(2000), "x.mlir: nesting is deeper than"),
    "deep modules": ("x.mlir", modules(2000), "x.mlir: nesting is deeper than"),
    "deep attributes": (
        "x.mlir",
        f'"test.op"() {{a = {"[" * 20000}{"]" * 20000}}} : () -> ()',
        "x.mlir: nesting is deeper than",
    ),
    "deep loops": ("x.py", loops(2000, "for i in range(2):"), "too many levels"),
    "deep parentheses": (
        "x.py",
        SCRIPT.format("", f"    A[0] = {'(' * 2000}A[0]{')' * 2000}"),
        "too many nested parentheses",
    ),
    "long sum": (
        "x.py",
        SCRIPT.format("", f"    A[0] = A[0]{' + A[0]' * 20000}"),
        "nested too deeply",
    ),
    "signs": (
        "x.py",
        SCRIPT.format("", f"    A[0] = {'-' * 20000}A[0]"),
        "nested too deeply",
    ),
    "many cases": (
        "x.py",
        SCRIPT.format(
            "",
            "    if A[0] > T.float32(0):\n        A[0] = T.float32(1)\n"
            + "".join(
                f"    elif A[0] > T.float32({n}):\n        A[0] = T.float32(1)\n"
                for n in range(500)
            ),
        ),
        "nest",
    ),
    "a block twice": (
        "x.mlir",
        "func.func @f() {\n  cf.br ^a\n^a:\n  cf.br ^a\n^a:\n  func.return\n}",
        "x.mlir:5:1: error: re-declaration of block 'a'",
    ),
    "a symbol for a name": (
        "x.mlir",
        "tir.func @f() {\n  tir.call @g() : () -> ()\n}",
        "x.mlir:2:3: error: @g should be of base attribute string",
    ),
    "a function for a number": (
        "x.py",
        SCRIPT.format("", "    B = T.Buffer((4,), offset_factor=lambda: 0)"),
        "alignment, offset factor and axis separators are integers",
    ),
    "another ending": ("x.pb", "", "x.pb: the name ends in '.pb'; give a file of"),
    "no ending": ("x", "", "x: the name has no ending; give a file of"),
}


@pytest.mark.parametrize("case", FILES)
@pytest.mark.parametrize("command", ["opt", "run", "translate"])
def test_no_module(
    case: str,
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    name, content, message = FILES[case]
    Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    assert main([command, name]) == 1
    error = capsys.readouterr().err
    line = first_line(error)
    assert name in line
    assert message in line
    assert "Error" not in line
    # No control character reaches the terminal, and no line fills it.
    assert error.replace("\n", "").isprintable()
    assert all(len(each) < 260 for each in error.splitlines())


@pytest.mark.parametrize("command", ["opt", "run", "translate"])
def test_folders(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for ending in (".mlir", ".py"):
        folder = tmp_path / f"folder{ending}"
        folder.mkdir()
        assert main([command, str(folder)]) == 1
        assert capsys.readouterr().err == f"error: {folder}: Is a directory\n"


def test_seeds_of_checks(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["opt", SCALE, "--check-semantics=-1", "-p", "tir-simplify"]) == 1
    line = "error: argument --check-semantics: '-1' is not a seed; pass 0 or more\n"
    assert capsys.readouterr().err == line


def test_deep_text_given_to_compile() -> None:
    with pytest.raises(ValueError, match="<text>: nesting is deeper than"):
        xdsl_tvm.compile(branches(2000))


def saved(values: np.ndarray[Any, Any]) -> bytes:
    stream = io.BytesIO()
    np.save(stream, values, allow_pickle=True)
    return stream.getvalue()


def archive(values: np.ndarray[Any, Any]) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, a=values)
    return stream.getvalue()


FLOATS = saved(np.zeros(4, np.float32))
ARRAYS: dict[str, tuple[bytes, str]] = {
    "npz": (archive(np.zeros(3)), "x.npy: an .npz file of a; save one array with"),
    "empty": (b"", "x.npy: no array of numbers"),
    "text": (b"hello", "x.npy: no array of numbers"),
    "cut": (FLOATS[:-2], "x.npy: no array of numbers"),
    "broken head": (FLOATS.replace(b"(4,)", b"(4,("), "x.npy: no array of numbers"),
    "promised": (FLOATS.replace(b"(4,)", b"(" + b"9" * 15 + b",)"), "x.npy: no array"),
    "objects": (saved(np.array([{}, 1], dtype=object)), "x.npy: no array of numbers"),
    "strings": (saved(np.array(["a"])), "x.npy: no array of numbers"),
    "records": (saved(np.zeros(4, "f4,i4")), "x.npy: no array of numbers"),
    "f64": (saved(np.zeros(4)), "must have dtype float32, got float64; it is read from"),
    "rank": (
        saved(np.zeros((4, 4), np.float32)),
        "must have rank 1, got shape (4, 4); ",
    ),
}


@pytest.mark.parametrize("case", ARRAYS)
def test_no_array(
    case: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip("llvmlite")
    monkeypatch.chdir(tmp_path)
    content, message = ARRAYS[case]
    Path("x.npy").write_bytes(content)
    assert main(["run", SCALE, "--input", "x.npy"]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert message in error
    assert "x.npy" in error


@pytest.mark.parametrize("options", [[], ["--interpret"]])
def test_more_than_the_memory(
    options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("llvmlite")
    symbol = ["--symbol", "n=2000000000000"]
    assert main(["run", SCALE, *symbol, *options]) == 1
    error = capsys.readouterr().err
    shown = "float32[2000000000000]"
    start = (
        f"error: @scale: 'a' is {shown}, 'b' is {shown}, which takes 14.6 TiB of memory"
    )
    assert error.startswith(f"{start}, but only ")
    assert error.count("\n") == 1


def test_memory_that_is_available() -> None:
    available = available_memory.available_memory()
    assert available is None or available > 1 << 20
    available_memory.require_memory(1, "one byte")
    sizes = [0, 1023, 1536, 3 << 40]
    texts = [available_memory.size_text(size) for size in sizes]
    assert texts == ["0 bytes", "1023 bytes", "1.5 KiB", "3.0 TiB"]

"""The example of handwritten digits, as `make demo` runs it."""

import importlib
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support import paths

import xdsl_tvm
from xdsl_tvm.runtime.executable import Executable

DIGITS = paths.EXAMPLES / "digits"


def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_demo(tmp_path: Path):
    done = run(str(DIGITS / "demo.py"), "--stages", str(tmp_path))
    assert done.returncode == 0, done.stderr
    accuracy = re.search(r"^accuracy +([0-9.]+)% of 360", done.stdout, re.MULTILINE)
    error = re.search(r"max abs error ([0-9.e+-]+)", done.stdout)
    assert accuracy is not None
    assert error is not None
    assert float(accuracy[1]) >= 95
    assert float(error[1]) < 1e-5
    contents = {
        "1-relax.mlir": "relax.nn.softmax",
        "2-legalized-tir.mlir": "tir.block",
        "3-flat-tir.mlir": "tir.for",
        "4-memref.mlir": "memref.load",
        "5-math-expanded.mlir": "arith.mulf",
        "6-llvm-dialect.mlir": "llvm.func @main",
        "7-llvm-ir.ll": "define",
        "8-assembly.s": ".globl\tmain",
    }
    assert {path.name for path in tmp_path.iterdir()} == set(contents)
    for name, text in contents.items():
        assert text in (tmp_path / name).read_text(encoding="utf-8"), name


def test_demo_fails_where_it_should(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    # The model with the sign of its last weights changed recognises next to nothing.
    text = (DIGITS / "model.mlir").read_text(encoding="utf-8")
    found = re.findall(r'dense<"0x([0-9A-F]+)">', text)
    weights = np.frombuffer(bytes.fromhex(found[2]), "<f4")
    text = text.replace(found[2], (-weights).tobytes().hex().upper())
    model = tmp_path / "model.mlir"
    model.write_text(text, encoding="utf-8")
    monkeypatch.setattr(sys, "path", [str(DIGITS), *sys.path])
    demo = importlib.import_module("digits.demo")
    monkeypatch.setattr(demo, "MODEL", model)

    def compile_times() -> tuple[float, float, Executable]:
        return 0.0, 0.0, xdsl_tvm.compile(model, optimize=False)

    def write_stages(folder: Path) -> list[str]:
        return [folder.name]

    # The command itself compiles thrice and writes the stages: that is tested above.
    monkeypatch.setattr(demo, "compile_times", compile_times)
    monkeypatch.setattr(demo, "write_stages", write_stages)
    monkeypatch.setattr(sys, "argv", ["demo.py"])
    assert demo.main() == 1
    assert capsys.readouterr().err == "error: the accuracy is below 95%\n"


def test_any_batch():
    main = xdsl_tvm.compile(DIGITS / "model.mlir")["main"]
    images = np.random.default_rng(0).random((5, 64), np.float32)
    all_at_once = main(images)
    np.testing.assert_allclose(all_at_once.sum(1), 1, atol=1e-5)
    one_by_one = np.concatenate([main(images[i : i + 1]) for i in range(5)])
    np.testing.assert_allclose(one_by_one, all_at_once, atol=1e-6)

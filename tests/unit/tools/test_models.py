"""Commands on files of ONNX models."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("onnx")

from onnx import ModelProto, TensorProto, helper

from xdsl_tvm.tools.cli import main


def written(path: Path, operator: str = "Relu") -> Path:
    x, y = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 4]) for name in "xy"
    )
    node = helper.make_node(operator, ["x"], ["y"], name="first")
    graph = helper.make_graph([node], "g", [x], [y])
    model: ModelProto = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 21)]
    )
    path.write_bytes(model.SerializeToString())
    return path


@pytest.fixture
def model(tmp_path: Path) -> str:
    return str(written(tmp_path / "m.onnx"))


def test_run(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", model, "--interpret", "--symbol", "n=3"]) == 0
    assert "result: float32[3, 4]" in capsys.readouterr().out


def test_opt(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["opt", model, "-p", "relax-legalize-ops"]) == 0
    assert "relax.call_tir @relu" in capsys.readouterr().out


def test_translate(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["translate", model]) == 0
    assert "relax.nn.relu" in capsys.readouterr().out
    script = tmp_path / "m.py"
    assert main(["translate", model, "-o", str(script)]) == 0
    assert "R.nn.relu(x)" in script.read_text()
    assert main(["run", str(script), "--interpret", "--symbol", "n=3"]) == 0


def test_compile(model: str, tmp_path: Path) -> None:
    pytest.importorskip("llvmlite")
    output = tmp_path / "m.ll"
    assert main(["compile", model, "-o", str(output)]) == 0
    assert "define" in output.read_text()


@pytest.mark.parametrize("command", ["run", "opt", "translate"])
def test_errors_are_one_line_with_the_file(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path / "m.onnx", "NonZero")
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(path.read_bytes()[:50])
    unknown = written(tmp_path / "unknown.onnx", "Bernoulli")
    missing = tmp_path / "none.onnx"
    for file, message in (
        (broken, "no ONNX model"),
        (unknown, "(RandomUniformLike): the operator is not converted"),
        (missing, "No such file or directory"),
    ):
        assert main([command, str(file)]) == 1
        error = capsys.readouterr().err.strip()
        assert error.startswith(f"error: {file}: ")
        assert message in error
        assert "\n" not in error


def test_models_are_not_executed(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", model, "--execute"]) == 1
    assert "--execute runs .py files" in capsys.readouterr().err

"""Commands on files of StableHLO."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import paths

from xdsl_tvm.tools.cli import main

PROGRAMS = paths.ROOT / "tests" / "unit" / "passes" / "stablehlo" / "programs"
MLP = str(PROGRAMS / "mlp.mlir")
REFUSED = """\
func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.atan2 %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""


def test_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", MLP, "--interpret"]) == 0
    assert "result: float32[2, 3]" in capsys.readouterr().out


def test_compile(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("llvmlite")
    output = tmp_path / "mlp.so"
    assert main(["compile", MLP, "-o", str(output)]) == 0
    assert output.stat().st_size
    assert "@main(arg0: float32[2, 4]" in capsys.readouterr().out


def test_opt_converts_before_passes_only(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["opt", MLP]) == 0
    assert "stablehlo.dot_general" in capsys.readouterr().out
    assert main(["opt", MLP, "-p", "stablehlo-to-relax"]) == 0
    assert "relax.matmul" in capsys.readouterr().out
    assert main(["opt", MLP, "-p", "relax-legalize-ops"]) == 0
    assert "relax.call_tir @matmul" in capsys.readouterr().out


def test_translate(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["translate", MLP]) == 0
    assert "R.matmul(arg0, arg1" in capsys.readouterr().out


@pytest.mark.parametrize(
    "command",
    [["run"], ["run", "--interpret"], ["translate"], ["opt", "-p", "relax-legalize-ops"]],
)
def test_an_error_names_the_operation_and_its_place(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "m.mlir"
    file.write_text(REFUSED)
    assert main([command[0], str(file), *command[1:]]) == 1
    error = capsys.readouterr().err
    assert f"{file}:2:8: error: stablehlo-to-relax: stablehlo.atan2: the" in error

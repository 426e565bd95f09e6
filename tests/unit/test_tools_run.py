"""`xdsl-tvm run`: inputs from files and made up, outputs printed and saved."""

from pathlib import Path

import numpy as np
import pytest

from xdsl_tvm.runtime import threads
from xdsl_tvm.tools.cli import main

pytest.importorskip("llvmlite")
SCALE = str(Path(__file__).parents[2] / "examples" / "scale.mlir")


def test_input_from_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    values = np.arange(5, dtype=np.float32)
    np.save(tmp_path / "a.npy", values)
    out = tmp_path / "out"
    arguments = ["--input", str(tmp_path / "a.npy"), "--output-dir", str(out)]
    assert main(["run", SCALE, *arguments, "--print"]) == 0
    captured = capsys.readouterr()
    assert captured.out == "b: float32[5]\n[0. 2. 4. 6. 8.]\n"
    np.testing.assert_array_equal(np.load(out / "b.npy"), 2 * values)


def test_random_input_depends_on_the_seed(tmp_path: Path):
    results: list[list[float]] = []
    for seed in ("1", "1", "2"):
        arguments = ["--random-seed", seed, "--output-dir", str(tmp_path)]
        assert main(["run", SCALE, "--symbol", "n=4", *arguments]) == 0
        results.append(np.load(tmp_path / "b.npy").tolist())
    assert results[0] == results[1] != results[2]
    assert len(results[0]) == 4


def test_number_of_threads():
    before = threads.num_threads()
    assert main(["run", SCALE, "--symbol", "n=4", "--threads", "3"]) == 0
    assert threads.num_threads() == 3
    threads.set_num_threads(before)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--threads", "0"], "the number of threads is from 1 to 256, got 0"),
        (["--threads", "x"], "argument --threads: invalid int value: 'x'"),
        ([], "@scale: the extent 'n' of 'a' is not known; give it with --symbol n=4"),
        (["--function", "scalee"], "unknown function 'scalee'; did you mean scale?"),
        (["--input", "none.npy"], "none.npy: No such file or directory"),
        (["--symbol", "n"], "argument --symbol: 'n' is not of the form n=4"),
        (["--target", "nope"], "--target"),
        (["--input", "wrong.npy"], "float32"),
        (["--input", "wrong.npy", "wrong.npy", "wrong.npy"], "takes 2 inputs, got 3"),
    ],
)
def test_bad_arguments_are_one_line(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.chdir(tmp_path)
    np.save("wrong.npy", np.zeros(3, np.float64))
    assert main(["run", SCALE, *arguments]) == 1
    captured = capsys.readouterr()
    assert captured.err.startswith("error: ")
    assert captured.err.count("\n") == 1
    assert message in captured.err

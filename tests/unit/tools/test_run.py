"""`xdsl-tvm run`: inputs from files and made up, outputs printed and saved."""

import re
from pathlib import Path

import numpy as np
import pytest
from support import paths

from xdsl_tvm.runtime import threads
from xdsl_tvm.runtime.load import load_module
from xdsl_tvm.runtime.sample_inputs import bound_symbols
from xdsl_tvm.runtime.signature import Signature, signatures
from xdsl_tvm.tools.cli import main

pytest.importorskip("llvmlite")
SCALE = str(paths.EXAMPLES / "scale.mlir")


def test_input_from_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    values = np.arange(5, dtype=np.float32)
    np.save(tmp_path / "a.npy", values)
    out = tmp_path / "out"
    arguments = ["--input", str(tmp_path / "a.npy"), "--output-dir", str(out)]
    assert main(["run", SCALE, *arguments, "--print"]) == 0
    captured = capsys.readouterr()
    call, _, outputs = captured.out.partition("\n")
    shown = f"called @scale(a = float32[5] from {tmp_path}/a.npy, b = float32[5] zeros): "
    assert call.startswith(shown)
    assert re.fullmatch(r"\d+\.\d{3} ms", call.removeprefix(shown))
    assert outputs == "b: float32[5]\n[0. 2. 4. 6. 8.]\n"
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
        (
            ["--random-seed", "-1"],
            "argument --random-seed: '-1' is not a seed; pass 0 or",
        ),
        ([], "@scale: the extent 'n' of 'a' is not known; give it with --symbol n=4"),
        (["--function", "scalee"], "unknown function 'scalee'; did you mean scale?"),
        (["--function", "foo"], "unknown function 'foo'; the file has scale"),
        (["--function", "f" * 999], f"'{'f' * 80}…'; the file has scale"),
        (["--input", "none.npy"], "none.npy: No such file or directory"),
        (["--symbol", "n"], "argument --symbol: 'n' is not of the form n=4"),
        (["--symbol", "m=4"], "@scale has no symbol 'm'; it has n"),
        (["--input", "right.npy", "--symbol", "n=4"], "'n' is 3 in the inputs, and"),
        (["--input", "text.npy"], "text.npy: no array of numbers, as numpy.save writes"),
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
    np.save("right.npy", np.zeros(3, np.float32))
    Path("text.npy").write_text("text")
    assert main(["run", SCALE, *arguments]) == 1
    captured = capsys.readouterr()
    assert captured.err.startswith("error: ")
    assert captured.err.count("\n") == 1
    assert message in captured.err


MODEL = """
!x = tensor<?x256xf32, #relax.dims<[n, 256]>>
relax.func @main<n>(%x: !x, %w: tensor<256x256xf32>) -> !x
    attributes {global_symbol = "main"} {
  %0 = relax.matmul %x, %w : (!x, tensor<256x256xf32>) -> !x
  %1 = relax.nn.softmax %0 axis -1 : (!x) -> !x
  %2 = relax.matmul %1, %w : (!x, tensor<256x256xf32>) -> !x
  %3 = relax.nn.softmax %2 axis -1 : (!x) -> !x
  %4 = relax.matmul %3, %w : (!x, tensor<256x256xf32>) -> !x
  relax.return %4 : !x
}
"""


def test_kernels_and_memory_of_a_relax_module(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    path = tmp_path / "model.mlir"
    path.write_text(MODEL)
    arguments = ["--symbol", "n=4", "--repeat", "2"]
    assert main(["run", str(path), *arguments]) == 0
    captured = capsys.readouterr()
    call, *lines = captured.out.splitlines()
    assert re.fullmatch(
        r"called @main\(x = float32\[4, 256\] random, w = float32\[256, 256\] random\): "
        r"first call \d+\.\d{3} ms, 1 more \d+\.\d{3} ms each",
        call,
    )
    assert lines[0] == "result: float32[4, 256]"
    assert lines[1].split() == ["kernel", "calls", "ms", "share"]
    table = [line.split() for line in lines[2:-1]]
    assert {name: int(calls) for name, calls, *_ in table} == {"matmul": 6, "softmax": 4}
    assert abs(sum(float(share.rstrip("%")) for *_, share in table) - 100) < 0.2
    # Four tensors of 4 KiB, of which two live at a time.
    expected = "memory of @main: 8.0 KiB planned, 20.0 KiB for 5 tensors by themselves"
    assert lines[-1] in (expected, expected.replace(" 8.0", " 12.0"))
    # There is no terminal here.
    assert captured.err == ""


def test_symbols_in_tuples():
    signature = signatures(
        load_module("""
    !x = tensor<?xf32, #relax.dims<[n]>>
    !t = !relax.tuple<tensor<2xf32>, !x>
    relax.func @main<n>(%t: !t) -> !t attributes {global_symbol = "main"} {
      relax.return %t : !t
    }""")
    )["main"]
    assert isinstance(signature, Signature)
    pair = np.zeros(2, np.float32), np.zeros(3, np.float32)
    assert bound_symbols(signature, [pair]) == {"n": 3}


SCALARS = """
relax.func @main<n>(%n: !relax.prim<i64, n>, %m: !relax.prim<i64, n * 2>,
                    %k: !relax.prim<i32, 7>, %s: !relax.shape<[n, 3]>)
    -> !relax.shape<[n, n * 2, 7]> attributes {global_symbol = "main"} {
  %0 = relax.shape [n, n * 2, 7]
  relax.return %0 : !relax.shape<[n, n * 2, 7]>
}
"""


def test_scalars_are_what_their_types_say(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    path = tmp_path / "scalars.mlir"
    path.write_text(SCALARS)
    assert main(["run", str(path), "--symbol", "n=5", "--print"]) == 0
    call, _, outputs = capsys.readouterr().out.partition("\n")
    assert call.startswith("called @main(n = 5, m = 10, k = 7, s = (5, 3)): ")
    assert outputs == "result: int64[3]\n[ 5 10  7]\n"
    # Without a symbol the scalar is made up, and what depends on it agrees.
    assert main(["run", str(path)]) == 0


def test_progress_on_request(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.setenv("XDSL_TVM_CACHE", "off")
    path = tmp_path / "model.mlir"
    path.write_text(MODEL)
    assert main(["run", str(path), "--symbol", "n=1", "--progress"]) == 0
    shown = capsys.readouterr().err.split("\r")
    assert shown[1].startswith("[------------------------------] 0/")
    assert "relax-insert-operand-checks" in shown[1]
    assert any("machine code" in line for line in shown)
    # The line is taken away again.
    assert not shown[-2].strip()
    assert not shown[-1]


def test_many_inputs_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [f"x{n}" for n in range(7)]
    params = ", ".join(f"%{name}: tensor<1xf32>" for name in names)
    path = tmp_path / "many.mlir"
    path.write_text(
        f"relax.func @main({params}) -> tensor<1xf32> "
        'attributes {global_symbol = "main"} {\n  relax.return %x0 : tensor<1xf32>\n}\n'
    )
    assert main(["run", str(path), "--interpret"]) == 0
    call = capsys.readouterr().out.splitlines()[0]
    assert "x3 = float32[1] random, 3 more): " in call


def test_folders_of_outputs_that_do_not_exist(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = tmp_path / "missing"
    commands = [
        ["run", SCALE, "--symbol", "n=4", "--output-dir", str(missing / "out")],
        ["translate", SCALE, "-o", str(missing / "scale.py")],
        ["translate", SCALE, "-o", str(missing / "out")],
        ["opt", SCALE, "-o", str(missing / "scale.mlir")],
    ]
    for command in commands:
        assert main(command) == 1
        error = capsys.readouterr().err
        assert error.startswith(f"error: {missing}")
        assert error.count("\n") == 1
        assert not missing.exists()


OUT_OF_BOUNDS = """@T.prim_func
def f(A: T.Buffer((4,), "float32")):
    for i in range(5):
        A[i] = T.float32(1)
"""


@pytest.mark.parametrize("ending", [".py", ".mlir"])
def test_faults_of_interpreted_programs_have_a_place(
    ending: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    script, file = tmp_path / "f.py", tmp_path / f"f{ending}"
    script.write_text(OUT_OF_BOUNDS)
    if ending == ".mlir":
        assert main(["translate", str(script), "-o", str(file)]) == 0
    assert main(["run", str(file), "--interpret"]) == 1
    first, line, caret = capsys.readouterr().err.splitlines()
    place = ":4:9" if ending == ".py" else ":8:7"
    assert first.startswith(f"{file}{place}: error: index 0 is 4, the extent of the ")
    assert first.endswith("in: tir.store %cst, %A[%i] : f32")
    assert "A[i] = " in line or "tir.store" in line
    assert set(caret) == {" ", "^"}

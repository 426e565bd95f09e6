"""`xdsl-tvm` as a process: signals, Ctrl-C, pipes that nobody reads, and full disks."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pytest
from support import paths

from xdsl_tvm.passes.infra.error_lines import UserError
from xdsl_tvm.tools._files import file_names
from xdsl_tvm.tools.cli import main

pytest.importorskip("llvmlite", reason="native code needs llvmlite")
NEEDS_FORK = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
NEEDS_FULL = pytest.mark.skipif(
    not Path("/dev/full").exists(), reason="there is no device that is full"
)
SCALE = str(paths.EXAMPLES / "scale.mlir")
COMMAND = [sys.executable, "-m", "xdsl_tvm.tools.cli"]

FUNCTIONS = """
tir.func @divide(%a: !tir.handle) attributes {global_symbol = "divide"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<2xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %x = tir.load %A[%c0] : i32
  %y = tir.load %A[%c1] : i32
  %z = tir.div %x, %y : i32
  tir.store %z, %A[%c0] : i32
}
tir.func @endless(%a: !tir.handle) attributes {global_symbol = "endless"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<2xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  tir.while {
    %x = tir.load %A[%c0] : i32
    %p = tir.cmp lt %x, %c1 : i32
    tir.yield %p : i1
  } do {
    %y = tir.load %A[%c1] : i32
    %z = tir.add %y, %c1 : i32
    tir.store %z, %A[%c1] : i32
  }
}
"""


@pytest.fixture
def program(tmp_path: Path) -> str:
    path = tmp_path / "program.mlir"
    path.write_text(FUNCTIONS)
    return str(path)


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments], capture_output=True, text=True, timeout=60, check=False
    )


@NEEDS_FORK
def test_code_that_a_signal_ends(program: str) -> None:
    done = command("run", program, "--function", "divide")
    assert (done.returncode, done.stdout) == (128 + signal.SIGFPE, "")
    assert done.stderr == (
        "error: function @divide was ended by SIGFPE (an integer division by zero, or of "
        "the least integer by -1?); run it with --interpret, which looks for faults\n"
    )


@NEEDS_FORK
def test_nobody_reads_the_error() -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [*COMMAND, "nope"], stdout=subprocess.PIPE, stderr=write, timeout=60, check=False
    )
    os.close(write)
    assert (done.returncode, done.stdout) == (1, b"")


@NEEDS_FORK
def test_ctrl_c_ends_compiled_code(program: str, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    process = subprocess.Popen(
        [*COMMAND, "run", program, "--function", "endless"],
        env={**os.environ, "XDSL_TVM_CACHE": str(cache)},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # Where the tests run in the background of a shell, Ctrl-C is ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        while process.poll() is None and not list(cache.rglob("*.o")):
            time.sleep(0.05)
        # The code is compiled; it is called next.
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=20)
    finally:
        process.kill()
    assert (process.returncode, errors) == (130, "error: interrupted\n")


@NEEDS_FORK
def test_status_and_output_of_a_child(tmp_path: Path) -> None:
    done = command("run", SCALE, "--symbol", "n=4", "--output-dir", str(tmp_path / "o"))
    call, _, outputs = done.stdout.partition("\n")
    assert call.startswith("called @scale(")
    assert (done.returncode, outputs, done.stderr) == (0, "b: float32[4]\n", "")
    assert np.load(tmp_path / "o" / "b.npy").shape == (4,)
    done = command("run", SCALE, "--symbol", "n")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "error: argument --symbol: 'n' is not of the form n=4\n"


@NEEDS_FORK
def test_pipe_that_nobody_reads(tmp_path: Path) -> None:
    """Much text or little, the reader may go away at any time."""
    large = tmp_path / "large.mlir"
    name = "x" * 1000
    large.write_text("".join(f"tir.func @{name}{k}() {{\n}}\n" for k in range(200)))
    for arguments in (["opt", str(large)], ["--help"]):
        read, write = os.pipe()
        os.close(read)
        done = subprocess.run(
            [*COMMAND, *arguments],
            stdout=write,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
        os.close(write)
        assert (done.returncode, done.stderr) == (1, "")


@NEEDS_FULL
def test_standard_output_on_a_full_disk() -> None:
    arguments = ["run", SCALE, "--symbol", "n=3"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*COMMAND, *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
    expected = "error: standard output: No space left on device\n"
    assert (done.returncode, done.stderr) == (1, expected)


def test_closed_standard_output() -> None:
    line = f"exec {' '.join(COMMAND)} --help >&-"
    done = subprocess.run(
        ["sh", "-c", line], stderr=subprocess.PIPE, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (1, "error: standard output is closed\n")


@NEEDS_FULL
@pytest.mark.parametrize(
    "arguments",
    [
        ["opt", SCALE, "-o", "full.mlir"],
        ["translate", SCALE, "-o", "full.py"],
        ["run", SCALE, "--symbol", "n=3", "--output-dir", "."],
    ],
)
def test_outputs_on_a_full_disk(
    arguments: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("full.mlir", "full.py", "b.npy"):
        Path(name).symlink_to("/dev/full")
    assert main(arguments) == 1
    file = {"run": "b.npy"}.get(arguments[0], arguments[-1])
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith(f"error: {file}: ")
    if arguments[0] != "run":
        assert lines == [f"error: {file}: No space left on device"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["opt", SCALE, "-o", "no/x.mlir"],
            "no/x.mlir: there is no folder 'no'; make it first",
        ),
        (["run", SCALE, "--symbol", "n=3", "--output-dir", "file/x"], "file/x: Not a"),
        (["translate", SCALE, "-o", "file/x.py"], "file"),
        (["opt", "a\0b"], r"'a\x00b': no file and no name holds a NUL character"),
        (["run", SCALE, "--output-dir", "a\0"], r"'a\x00': no file and no name holds"),
    ],
)
def test_outputs_without_a_folder(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    assert main(arguments) == 1
    errors = capsys.readouterr().err
    assert errors.startswith(f"error: {message}")
    assert errors.count("\n") == 1


def test_reproducer_that_cannot_be_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The failure of the pass is still what the error is about."""
    path = tmp_path / "bad.mlir"
    path.write_text("builtin.module {\n}\n")
    missing = tmp_path / "no" / "r.mlir"
    # apply-pdl needs a pattern file that is not there.
    arguments = ["opt", str(path), "-p", 'apply-pdl{pdl-file="none.mlir"}']
    assert main(arguments) == 1
    alone = capsys.readouterr().err.rstrip()
    assert main([*arguments, "--reproducer", str(missing)]) == 1
    errors = capsys.readouterr().err
    note = f"(no reproducer: {missing}: No such file or directory)"
    assert errors == f"{alone} {note}\n"


NAMES = [
    "plain_Name-1.x",
    "",
    ".",
    "..",
    "../EVIL",
    "/etc/passwd",
    "a/b",
    "a\\b",
    "a\0b",
    "a\nb",
    "C:",
    "con",
    "NUL.txt",
    "com1",
    "a",
    "A",
    "aB",
    "Ab",
    "λ",
    "%",
    "%2E",
    "a b",
    "trailing.",
    "ß",
    "ss",
    "nullable",
]


def test_names_are_no_paths() -> None:
    found = file_names(NAMES, ".npy")
    assert len({name.casefold() for name in found}) == len(NAMES)
    assert dict(zip(NAMES, found, strict=True))["../EVIL"] == "%2E.%2FEVIL.npy"
    for name, file in zip(NAMES, found, strict=True):
        assert file.endswith(".npy")
        assert set(file) <= set("%-_.") | {c for c in file if c.isascii() and c.isalnum()}
        assert not file.startswith(".")
        assert file.lower().partition(".")[0] not in ("con", "nul", "com1")
        assert unquote(file.removesuffix(".npy")) == (name or "%")
    assert found[0] == "plain_Name-1.x.npy"
    with pytest.raises(UserError, match="too long for a file; rename it"):
        file_names(["x" * 250], ".npy")
    with pytest.raises(UserError, match="too long for a file; rename it"):
        file_names(["λ" * 50], ".npy")


EVIL = """
tir.func @f(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle) -> i32
    attributes {global_symbol = "f"} {
  %A = tir.match_buffer "../EVIL" %a : !tir.buffer<1xi32>
  %B = tir.match_buffer "result" %b : !tir.buffer<1xi32>
  %C = tir.match_buffer "result" %c : !tir.buffer<1xi32>
  %c0 = tir.const 0 : i32
  %c7 = tir.const 7 : i32
  tir.store %c7, %A[%c0] : i32
  tir.store %c7, %B[%c0] : i32
  tir.store %c0, %C[%c0] : i32
  tir.ret %c0 : i32
}
"""


def test_outputs_stay_in_their_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, folder = tmp_path / "evil.mlir", tmp_path / "deep" / "out"
    path.write_text(EVIL)
    folder.parent.mkdir()
    assert main(["run", str(path), "--output-dir", str(folder)]) == 0
    lines = capsys.readouterr().out.splitlines()[1:]
    assert [line.partition(":")[0] for line in lines] == [
        "../EVIL",
        "result",
        "result_1",
        "result_2",
    ]
    files = sorted(file.name for file in folder.iterdir())
    assert files == ["%2E.%2FEVIL.npy", "result.npy", "result_1.npy", "result_2.npy"]
    assert [file.name for file in folder.parent.iterdir()] == ["out"]
    assert [np.load(folder / file).item() for file in files] == [7, 7, 0, 0]


def test_name_that_is_too_long_is_refused_before_the_call(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "long.mlir"
    path.write_text(EVIL.replace("../EVIL", "x" * 300))
    folder = tmp_path / "out"
    assert main(["run", str(path), "--output-dir", str(folder)]) == 1
    assert "has a name of 300 characters, too long" in capsys.readouterr().err
    assert not folder.exists()

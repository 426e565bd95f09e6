"""The in-process runner of RUN lines fails when, and only when, lit would."""

import subprocess
import sys
from pathlib import Path

import pytest
from support.features import available_features, feature_holds
from support.run_lines import (
    RunLineError,
    RunLineFailure,
    parse_script,
    run_line,
    run_script,
)

MODULE = """
func.func @f() -> i32 {
  %a = arith.constant 1 : i32
  func.return %a : i32
}
// CHECK: arith.constant 1 : i32
// WRONG: arith.constant 2 : i32
"""


@pytest.fixture
def module(tmp_path: Path) -> Path:
    path = tmp_path / "input.mlir"
    path.write_text(MODULE)
    return path


def script_file(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "script.mlir"
    path.write_text(text + MODULE)
    return path


@pytest.mark.parametrize(
    "line",
    [
        "xdsl-opt {m} | filecheck {m}",
        "xdsl-opt < {m} | filecheck {m}",
        "xdsl-opt {m} -p 'cse,dce' --split-input-file | filecheck {m}",
        "xdsl-opt {m} | not filecheck {m} --check-prefix=WRONG",
        "not xdsl-opt {m} -p no-such-pass 2>&1",
        "xdsl-opt {m} > {t} && filecheck {m} < {t}",
        "xdsl-opt {m} -o {t}.mlir\t&& xdsl-opt {t}.mlir | filecheck {m}",
        "grep -q constant {m}",
        "xdsl-opt {m} | tee {t} | filecheck {m}; not test -e {t}.none",
        "not no-such-command {m} | true",
    ],
)
def test_line_passes(line: str, module: Path, tmp_path: Path):
    run_line(line.format(m=module, t=tmp_path / "t"), tmp_path)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("xdsl-opt {m} | filecheck {m} --check-prefix=WRONG", "constant 2"),
        ("not filecheck {m} < {m}", "RUN: not filecheck"),
        ("no-such-command {m}", "no-such-command"),
        ("xdsl-opt {m} | no-such-command {m}", "no-such-command"),
        # With pipefail the first failing command fails the pipe.
        ("xdsl-opt {m} -p no-such-pass | filecheck {m} --allow-empty", "no-such-pass"),
        ("xdsl-opt {m} -p no-such-pass && xdsl-opt {m}", "no-such-pass"),
        ("xdsl-opt {m} -p 'cse{{'", "Expected argument name"),
        ("xdsl-opt --no-such-flag", "--no-such-flag"),
        ("xdsl-tvm opt {m} -p no-such-pass", "error: unknown pass"),
        ("grep -q no-such-text {m}", "exit 1"),
    ],
)
def test_line_fails(line: str, message: str, module: Path, tmp_path: Path):
    with pytest.raises(RunLineFailure, match=message):
        run_line(line.format(m=module), tmp_path)


def test_failure_shows_every_command_of_the_pipe(module: Path, tmp_path: Path):
    with pytest.raises(RunLineFailure) as info:
        run_line(f"xdsl-opt {module} | filecheck {module} --check-prefix=NO", tmp_path)
    text = str(info.value)
    assert f"-- xdsl-opt {module}  (exit 0)" in text
    assert "stdout:\nbuiltin.module" in text
    assert f"-- filecheck {module} --check-prefix=NO  (exit " in text


def test_streams_and_arguments_are_restored(module: Path, tmp_path: Path):
    before = sys.argv, sys.stdin, sys.stdout, sys.stderr
    run_line(f"xdsl-opt {module} --disable-verify", tmp_path)
    assert (sys.argv, sys.stdin, sys.stdout, sys.stderr) == before
    # --disable-verify switches attribute verification off for the whole process.
    from xdsl.dialects.builtin import IntegerType
    from xdsl.utils.exceptions import VerifyException

    with pytest.raises(VerifyException):
        IntegerType(-1)


def test_script_substitutions_and_continuations(tmp_path: Path):
    path = script_file(
        tmp_path,
        "// RUN: xdsl-opt %s \\\n// RUN:   -p cse | filecheck %S/script.mlir\n"
        "// RUN: xdsl-opt %s -o %t && filecheck %s < %T/%basename_t\n"
        "// RUN: test 100%% = '100%%'",
    )
    script = parse_script(path)
    assert len(script.commands) == 3
    run_script(script, path, tmp_path)


def test_later_line_is_run(tmp_path: Path):
    path = script_file(tmp_path, "// RUN: xdsl-opt %s\n// RUN: not xdsl-opt %s")
    with pytest.raises(RunLineFailure, match="RUN: not xdsl-opt"):
        run_script(parse_script(path), path, tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no RUN line"),
        ("// RUN: xdsl-opt %s \\", "continuation"),
        ("// RUN: xdsl-opt %s\n// XFAIL: *", "XFAIL"),
    ],
)
def test_script_without_meaning(text: str, message: str, tmp_path: Path):
    with pytest.raises(RunLineError, match=message):
        parse_script(script_file(tmp_path, text))


def test_requires_and_unsupported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(
        "support.features.available_features", lambda: frozenset({"llvmlite"})
    )
    run = "// RUN: xdsl-opt %s\n"
    reasons = {
        "// REQUIRES: llvmlite": None,
        "// REQUIRES: llvmlite, cuda": "requires cuda",
        "// REQUIRES: cuda || llvmlite": None,
        "// UNSUPPORTED: llvmlite && !cuda": "unsupported with llvmlite && !cuda",
        "// UNSUPPORTED: cuda": None,
    }
    for line, reason in reasons.items():
        assert parse_script(script_file(tmp_path, run + line)).skip_reason() == reason


def test_unknown_feature_is_an_error():
    with pytest.raises(ValueError, match="unknown feature 'llvmlight'"):
        feature_holds("llvmlight")
    assert available_features() <= {"cuda", "llvmlite", "mlir", "ptxas"}


def test_collected_items_fail_and_pass(request: pytest.FixtureRequest, tmp_path: Path):
    """Pytest itself, over a project that holds one good and two bad files."""
    folder = tmp_path / "tests" / "filecheck" / "sub"
    (folder / "Inputs").mkdir(parents=True)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (folder / "Inputs" / "data.mlir").write_text("no test\n")
    (folder / "none.mlir").write_text(MODULE)
    run = "// RUN: xdsl-opt %s | filecheck %s --check-prefix="
    (folder / "good.mlir").write_text(f"{run}CHECK\n{MODULE}")
    (folder / "bad.mlir").write_text(f"{run}WRONG\n{MODULE}")
    # In a process of its own: pytest is not made to be entered twice.
    tests = request.config.rootpath / "tests"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "support.filecheck_items", "-q", "-rA"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tests), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "1 passed" in done.stdout
    assert "2 failed" in done.stdout
    assert "PASSED tests/filecheck/sub/good.mlir::sub/good.mlir" in done.stdout
    assert "no RUN line" in done.stdout
    assert "Couldn't match" in done.stdout

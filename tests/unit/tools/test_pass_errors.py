"""Errors of passes in the command lines: at which place of the text they point."""

from __future__ import annotations

from pathlib import Path

import pytest
from xdsl.dialects.builtin import FileLineColLoc, UnknownLoc

from xdsl_tvm.passes.infra.module_text import ModuleText
from xdsl_tvm.tools.cli import main

_SCRIPT = """\
@T.prim_func
def main(A: T.Buffer((16,), "float32"), n: T.int32):
    for i in T.serial(4):
        A[i] = 0.0
    for i in T.vectorized(n):
        A[i] = 1.0
"""
_MLIR = """\
tir.func @main(%a: !tir.handle, %n: i32) attributes {global_symbol = "main"} {
  %c0 = tir.const 0 : i32
  %one = tir.const 1.000000e+00 : f32
  %A = tir.match_buffer "A" %a : !tir.buffer<16xf32>
  tir.for "i" %i = %c0 to %n {
    tir.store %one, %A[%i] : f32
  }
  tir.for "i" %i = %c0 to %n vectorized {
    tir.store %one, %A[%i] : f32
  }
}
"""
_MESSAGE = (
    "tir-vectorize-loop: tir.for in @main is vectorized, but its extent %n is no number "
    "of lanes for {target}; make it a constant, or vscale times a constant of 2 or more "
    "for a target with SVE"
)
_LLVM = _MESSAGE.format(target='the target "llvm"')


def _error(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    assert main(arguments) == 1
    return capsys.readouterr().err.splitlines()


@pytest.mark.parametrize(
    ("pipeline", "message"),
    [
        ("tir-vectorize-loop", _MESSAGE.format(target="no target")),
        ("tir-lower-init-block,tir-default-pipeline", _LLVM),
    ],
)
def test_opt_points_at_the_operation(
    pipeline: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.mlir"
    file.write_text(_MLIR)
    assert _error(capsys, "opt", str(file), "-p", pipeline) == [
        f"{file}:8:3: error: {message}",
        '  tir.for "i" %i = %c0 to %n vectorized {',
        "  ^^^^^^^",
    ]


@pytest.mark.parametrize("command", [["run"], ["opt", "-p", "tir-default-pipeline"]])
def test_script_points_at_the_statement(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.py"
    file.write_text(_SCRIPT)
    assert _error(capsys, *command, str(file)) == [
        f"{file}:5:5: error: {_LLVM}",
        "    for i in T.vectorized(n):",
        "    ^",
    ]


def test_verify_memory_points_at_the_access(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.py"
    file.write_text("""\
@T.prim_func
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    T.func_attr({"target": T.target("cuda")})
    for i in T.thread_binding(16, "threadIdx.x"):
        A[i] = 0.0
    for i in range(16):
        A[i] = B[i]
""")
    assert _error(capsys, "opt", "-p", "tir-default-pipeline", str(file)) == [
        f"{file}:7:9: error: tir-verify-memory: tir.load in @main: Memory verification "
        "failed with the following errors: buffer 'B' is directly accessed by host "
        "memory, outside of any thread; buffer 'A' is directly accessed by host memory, "
        "outside of any thread. Did you forget to bind? Bind loops around the accesses "
        "to threads, for blocks with tir-default-gpu-schedule",
        "        A[i] = B[i]",
        "        ^",
    ]


def test_later_part_of_a_split_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.mlir"
    file.write_text(f"builtin.module {{\n}}\n// -----\n{_MLIR}")
    arguments = ["--split-input-file", "-p", "tir-vectorize-loop"]
    first = _error(capsys, "opt", str(file), *arguments)[0]
    assert first.startswith(f"{file}:11:3: error: tir-vectorize-loop: ")


def test_failure_without_an_operation_has_no_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.mlir"
    file.write_text(_MLIR)
    pipeline = 'relax-dead-code-elimination{entry_functions="other"}'
    (line,) = _error(capsys, "opt", str(file), "-p", pipeline)
    assert line.startswith("error: pass 'relax-dead-code-elimination' failed: ")


def test_relax_statement(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.py"
    file.write_text(
        "@R.function(pure=False)\n"
        'def main(x: R.Tensor((4,), "float32")):\n'
        "    y = R.nn.relu(x)\n"
        '    z = R.call_packed("f", y, sinfo_args=R.Object())\n'
        "    with R.dataflow():\n"
        "        a = R.add(x, y)\n"
        "        R.output(a)\n"
        "    return a\n"
    )
    lines = _error(capsys, "opt", str(file), "-p", "relax-kill-after-last-use")
    assert lines[0].startswith(
        f"{file}:5:5: error: relax-kill-after-last-use: relax.dataflow in @main can hold"
    )
    assert lines[1:] == ["    with R.dataflow():", "    ^"]


@pytest.mark.parametrize("is_script", [False, True])
def test_locations_are_asked_for(is_script: bool) -> None:
    text = ModuleText(_SCRIPT if is_script else _MLIR, is_script=is_script)
    assert {type(op.location) for op in text.parsed().walk()} == {UnknownLoc}
    located = [op for op in text.parsed(locations=True).walk() if op.name == "tir.for"]
    lines = [op.location for op in located]
    assert [
        (each.line.data, each.column.data)
        for each in lines
        if isinstance(each, FileLineColLoc)
    ] == ([(3, 5), (5, 5)] if is_script else [(5, 3), (8, 3)])


def test_functions_of_a_script_are_one_module_and_several_modules_are_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    functions, modules = tmp_path / "f.py", tmp_path / "m.py"
    functions.write_text(_SCRIPT + _SCRIPT.replace("main", "other"))
    assert main(["opt", str(functions)]) == 0
    found = capsys.readouterr().out
    assert [name in found for name in ("@main", "@other")] == [True, True]
    body = "".join(f"    {line}\n" for line in _SCRIPT.splitlines())
    modules.write_text("".join(f"@I.ir_module\nclass {n}:\n{body}" for n in "MN"))
    for command in ("opt", "run"):
        first = _error(capsys, command, str(modules))[0]
        assert first.startswith(
            f"{modules}:10:1: error: the text defines the modules M and N, but "
        )
    assert main(["translate", str(modules), "--name", "N"]) == 0

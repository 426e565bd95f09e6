"""Times of functions and loops in machine code."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from support import paths

from xdsl_tvm.passes.infra import PassContext
from xdsl_tvm.runtime.executable import NativeExecutable, compile
from xdsl_tvm.runtime.loop_times import LoopRecorder, table
from xdsl_tvm.tools.cli import main

KERNEL = """
# from tvm.script import tir as T
@T.prim_func
def main(A: T.Buffer((8, 4), "int32")):
    for i in T.parallel(8):
        for j in range(4):
            A[i, j] = A[i, j] + 1
    for k in range(8):
        for l in range(4):
            A[k, l] = A[k, l] * 2
"""
CONFIG = {
    "tir.instrument_lwp": True,
    "tir.instr_siblings": False,
    "tir.lwp_min_height": 0,
    "tir.lwp_max_depth": 3,
    "tir.disable_vectorize": True,
}


def recorder_of(config: Mapping[str, object]) -> tuple[NativeExecutable, LoopRecorder]:
    with PassContext(config=config):
        executable = compile(KERNEL)
    assert isinstance(executable, NativeExecutable)
    assert executable.loop_recorder is not None
    return executable, executable.loop_recorder


def test_spans() -> None:
    executable, recorder = recorder_of(CONFIG)
    array = np.zeros((8, 4), np.int32)
    executable["main"](array)
    recorder.start()
    executable["main"](array)
    times = recorder.stop()
    executable["main"](array)
    assert (array == 14).all()
    assert times.dropped == 0
    names = {span.name for span in times.spans}
    assert "main" in names
    (whole,) = [span for span in times.spans if span.name == "main"]
    for span in times.spans:
        assert whole.start <= span.start
        assert span.start + span.duration <= whole.start + whole.duration
    assert times.totals()[0][:2] == ("main", 1)
    assert len(table(times)) == len(names)


def test_room() -> None:
    executable, recorder = recorder_of(CONFIG)
    recorder.start(room=3)
    executable["main"](np.zeros((8, 4), np.int32))
    times = recorder.stop()
    assert times.dropped > 0
    assert "marks were not recorded" in table(times)[-1]


def test_code_without_marks() -> None:
    executable = compile(KERNEL)
    assert isinstance(executable, NativeExecutable)
    assert executable.loop_recorder is None


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = tmp_path / "trace.json"
    script = str(paths.EXAMPLES / "tvmscript" / "tiled_matmul.py")
    assert main(["run", script, "--profile-loops", str(trace), "--repeat", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("tiled_matmul ") and " 2 x " in line for line in lines)
    events = json.loads(trace.read_text())["traceEvents"]
    assert {event["ph"] for event in events} == {"X"}
    assert sum(event["name"] == "tiled_matmul" for event in events) == 2


def test_command_with_the_interpreter(capsys: pytest.CaptureFixture[str]) -> None:
    script = str(paths.EXAMPLES / "tvmscript" / "tiled_matmul.py")
    assert main(["run", script, "--profile-loops", "--interpret"]) == 1
    assert "interpreted code is not timed" in capsys.readouterr().err

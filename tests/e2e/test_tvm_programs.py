"""Programs in the words of TVM v0.20's tutorials run: those of `examples/tvm_words`."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest
from support import paths

from xdsl_tvm.passes.relax import default_pipeline
from xdsl_tvm.runtime import global_functions

pytest.importorskip("llvmlite")

PROGRAMS = sorted((paths.EXAMPLES / "tvm_words").glob("*.py"))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_a_program_runs(
    program: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its assertions hold, and it shows a module."""
    monkeypatch.setattr(global_functions, "_FUNCTIONS", {})
    makers = dict(vars(default_pipeline.NAMED)["_makers"])
    monkeypatch.setattr(default_pipeline.NAMED, "_makers", makers)
    runpy.run_path(str(program), run_name="__main__")
    assert "class Module:" in capsys.readouterr().out


def test_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The program of docs/tvm-words.md, as a reader would run it, from a file."""
    page = (paths.ROOT / "docs" / "tvm-words.md").read_text()
    (program,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    file = tmp_path / "page.py"
    file.write_text(program)
    runpy.run_path(str(file), run_name="__main__")
    assert "class Module:" in capsys.readouterr().out

"""Programs in the words of TVM v0.20's tutorials run: those of `examples/tvm_words`."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest
from support import paths
from xdsl.utils.exceptions import DiagnosticException

import xdsl_tvm
from xdsl_tvm.passes.relax import default_pipeline
from xdsl_tvm.runtime import global_functions
from xdsl_tvm.tvmscript.files import read_file

pytest.importorskip("llvmlite")

PROGRAMS = sorted((paths.EXAMPLES / "tvm_words").glob("*.py"))


def _makers() -> dict[str, Any]:
    """A copy of the registered pipelines."""
    return dict(vars(default_pipeline.NAMED)["_makers"])


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_a_program_runs(
    program: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its assertions hold, and it shows a module."""
    monkeypatch.setattr(global_functions, "_FUNCTIONS", {})
    monkeypatch.setattr(default_pipeline.NAMED, "_makers", _makers())
    runpy.run_path(str(program), run_name="__main__")
    assert "class Module:" in capsys.readouterr().out


def test_a_program_that_imports_tvm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that is executed finds this package as TVM."""
    monkeypatch.setattr(default_pipeline.NAMED, "_makers", _makers())
    text = (paths.EXAMPLES / "tvm_words" / "passes.py").read_text()
    file = tmp_path / "program.py"
    changed = text.replace("import xdsl_tvm as tvm", "import tvm, tvm.ir.transform")
    file.write_text(changed.replace("from xdsl_tvm", "from tvm"))
    assert "xdsl_tvm" not in file.read_text()
    before = {name for name in sys.modules if name.partition(".")[0] == "tvm"}
    spec = xdsl_tvm.__spec__
    module = read_file(file, "lowered", execute=True)
    assert isinstance(module, xdsl_tvm.IRModule)
    assert "relu" in module
    assert {name for name in sys.modules if name.partition(".")[0] == "tvm"} == before
    assert xdsl_tvm.__spec__ is spec
    file.write_text("from tvm import te\n")
    with pytest.raises(DiagnosticException, match=r"program\.py:1: ImportError: cannot"):
        read_file(file, execute=True)
    file.write_text("import tvm\ntvm.te.placeholder((4,))\n")
    with pytest.raises(DiagnosticException, match="there are no tensor expressions"):
        read_file(file, execute=True)


def test_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The program of docs/tvm-words.md, as a reader would run it, from a file."""
    page = (paths.ROOT / "docs" / "tvm-words.md").read_text()
    (program,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    file = tmp_path / "page.py"
    file.write_text(program)
    runpy.run_path(str(file), run_name="__main__")
    assert "class Module:" in capsys.readouterr().out

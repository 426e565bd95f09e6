"""The examples of docs/tvmscript.md, as a reader would run them."""

from __future__ import annotations

import importlib.util
import re
import shlex
from glob import glob
from pathlib import Path

import pytest
from support import paths

from xdsl_tvm.tools.cli import main

ROOT = paths.ROOT
PAGE = (ROOT / "docs" / "tvmscript.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_python(tmp_path: Path) -> None:
    found = blocks("python")
    assert len(found) >= 4
    # Definitions are read from a file.
    file = tmp_path / "page.py"
    file.write_text("\n".join(found))
    spec = importlib.util.spec_from_file_location("page", file)
    assert spec is not None
    assert spec.loader is not None
    spec.loader.exec_module(importlib.util.module_from_spec(spec))


def test_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    lines = [line for block in blocks("bash") for line in block.splitlines()]
    assert len(lines) >= 5
    for line in lines:
        words = shlex.split(line.replace("$TMP", str(tmp_path)))
        assert words[0] == "xdsl-tvm"
        arguments = [each for word in words[1:] for each in sorted(glob(word)) or [word]]
        assert main(arguments) == 0, line

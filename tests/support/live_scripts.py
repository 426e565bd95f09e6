"""Python files made by tests, whose scripts have a source and are read when imported."""

from __future__ import annotations

import importlib.util
import re
from itertools import count
from pathlib import Path
from types import ModuleType

from support.paths import ROOT

_numbers = count()

IMPORTS = """\
from xdsl_tvm.tvmscript import ir as I, relax as R, tir as T
"""


def import_text(folder: Path, text: str) -> ModuleType:
    """The module that `text` makes, after one line that imports T, I and R."""
    name = f"live_script_{next(_numbers)}"
    file = folder / f"{name}.py"
    file.write_text(IMPORTS + text)
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def python_blocks(page: str) -> list[str]:
    """The blocks of Python in a page of `docs`."""
    text = (ROOT / "docs" / page).read_text()
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)

"""Files that are run as Python: what they import, and where their module is."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from support import paths
from xdsl.utils.exceptions import DiagnosticException

from xdsl_tvm.dialects import relax
from xdsl_tvm.tvmscript.files import read_file

BUILDER = """
from __future__ import annotations

from dataclasses import dataclass

{imports}

@dataclass(frozen=True)
class Size:
    rows: int = ROWS

def build_module():
    from xdsl_tvm.tvmscript import parse

    return parse(f'''
@T.prim_func
def main(A: T.Buffer(({{Size().rows}},), "float32")):
    A[0] = T.float32(1)
''')
"""


def written(folder: Path, imports: str) -> Path:
    """A file of a package, which takes a number from the one beside it."""
    package = folder / "outer_of_test" / "inner"
    package.mkdir(parents=True)
    for each in (package.parent, package):
        (each / "__init__.py").touch()
    (package / "numbers_of_test.py").write_text("ROWS = 7\n")
    file = package / "program.py"
    file.write_text(BUILDER.format(imports=imports))
    return file


@pytest.mark.parametrize(
    "imports",
    [
        "from outer_of_test.inner.numbers_of_test import ROWS",
        "from .numbers_of_test import ROWS",
    ],
)
def test_files_of_packages(imports: str, tmp_path: Path) -> None:
    before = list(sys.path)
    assert "!tir.buffer<7xf32>" in str(
        read_file(written(tmp_path, imports), execute=True)
    )
    assert sys.path == before
    assert not any("_xdsl_tvm_script_" in name for name in sys.modules)


@pytest.mark.parametrize("beside", ["rows_of_test.py", "rows_of_test/__init__.py", ""])
def test_files_beside(beside: str, tmp_path: Path) -> None:
    """Those of one name in two folders are two modules."""
    name = "rows_of_test" if beside else "folder_of_test.rows"
    for rows in ("5", "6"):
        other = tmp_path / rows / (beside or "folder_of_test/rows.py")
        other.parent.mkdir(parents=True)
        other.write_text(f"ROWS = {rows}\n")
        file = tmp_path / rows / "program.py"
        file.write_text(BUILDER.format(imports=f"from {name} import ROWS"))
        assert f"!tir.buffer<{rows}xf32>" in str(read_file(file, execute=True))
    assert not any("of_test" in name for name in sys.modules)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1", "and no function build_module()"),
        (
            "def build_module(): return 3",
            "build_module() returns is no module, but of type int; ",
        ),
        ("def build_module():\n    return 1 // 0", "program.py:2: ZeroDivisionError"),
        (
            "def build_module(size): pass",
            "program.py:1: TypeError: build_module() missing",
        ),
    ],
)
def test_errors(text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(text)
    with pytest.raises(DiagnosticException) as error:
        read_file(file, execute=True)
    assert message in str(error.value)


def test_models_of_the_examples() -> None:
    module = read_file(paths.EXAMPLES / "models" / "digits_cnn.py", execute=True)
    functions = [op for op in module.body.block.ops if isinstance(op, relax.FuncOp)]
    assert [each.sym_name.data for each in functions] == ["main"]

"""The distribution: what its wheel holds, what importing it does, what it documents."""

import json
import os
import re
import subprocess
import sys
import zipfile
from itertools import groupby
from pathlib import Path

import pytest
from support import paths
from support.run_lines import run_line

ROOT = paths.ROOT
PACKAGE = ROOT / "src" / "xdsl_tvm"
CODE_FOLDERS = sorted(path.name for path in PACKAGE.iterdir() if path.is_symlink())


def run_python(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )


def expected_files() -> set[str]:
    files = {f"xdsl_tvm/{path.name}" for path in (ROOT / "src/xdsl_tvm").glob("*.py")}
    files.add("xdsl_tvm/py.typed")
    for folder in CODE_FOLDERS:
        linked = (PACKAGE / folder).resolve()
        for kind in ("*.py", "*.ll", "*.c"):
            for path in linked.rglob(kind):
                files.add(f"xdsl_tvm/{folder}/{path.relative_to(linked).as_posix()}")
    return files


def test_wheel_holds_exactly_the_tree(tmp_path: Path):
    """A package without `__init__.py` would be missing from the wheel only."""
    # The build writes into its working directory: it gets a copy of the tree.
    copy = tmp_path / "tree"
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in listed.stdout.splitlines():
        source, target = ROOT / name, copy / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_symlink():
            target.symlink_to(source.readlink())
        elif source.exists():
            target.write_bytes(source.read_bytes())
    expected = {path for path in expected_files() if (copy / "src" / path).exists()}
    assert expected == expected_files()
    built = run_python(
        "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), cwd=copy
    )
    assert built.returncode == 0, built.stderr
    (wheel,) = tmp_path.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    code = {name for name in names if ".dist-info/" not in name}
    assert code == expected
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_bare_folder_names_are_not_importable(tmp_path: Path):
    """`import passes` must not find this package's folders in an environment."""
    names = repr(CODE_FOLDERS)
    program = (
        "from importlib.util import find_spec\n"
        f"print([n for n in {names} if find_spec(n) and find_spec('xdsl_tvm.' + n)\n"
        "       and find_spec(n).origin == find_spec('xdsl_tvm.' + n).origin])"
    )
    done = run_python("-I", "-c", program, cwd=tmp_path)
    assert done.stdout == "[]\n", done.stderr
    failed = run_python("-I", "-c", "import passes", cwd=tmp_path)
    assert "No module named 'passes'" in failed.stderr


EXTRAS = ("llvmlite", "cffi", "cuda", "z3", "tvm", "pytest", "filecheck", "ml_dtypes")


def imported_modules(program: str, cwd: Path) -> set[str]:
    report = "\nimport json, sys\nprint(json.dumps(list(sys.modules)))"
    done = run_python("-c", program + report, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_universe_imports_no_extra(tmp_path: Path):
    modules = imported_modules("import xdsl_tvm.universe", tmp_path)
    assert "xdsl_tvm.registry" in modules
    assert not modules & set(EXTRAS)
    parts = [f"xdsl_tvm.{folder}" for folder in CODE_FOLDERS]
    assert not [name for name in modules if name.startswith(tuple(parts))]


def test_dialects_import_no_numpy(tmp_path: Path):
    """Importing numpy takes longer than importing the dialects."""
    modules = imported_modules("import xdsl_tvm.dialects.relax", tmp_path)
    assert "xdsl_tvm.dialects.tir" in modules
    assert "numpy" not in modules


def test_loading_everything_imports_no_extra(tmp_path: Path):
    """Dialects, passes and targets are usable with the hard dependencies alone."""
    program = (
        "from xdsl_tvm.universe import XDSL_TVM_UNIVERSE as u\n"
        "for part in (u.all_dialects, u.all_passes, u.all_targets):\n"
        "    for load in part.values(): load()"
    )
    assert not imported_modules(program, tmp_path) & set(EXTRAS)


def test_programs_without_narrow_floats_need_no_ml_dtypes(tmp_path: Path):
    """The extra `cpu` does not install it."""
    program = (
        "import sys\n"
        "sys.modules['ml_dtypes'] = None\n"
        "from xdsl_tvm.tools.cli import main\n"
        "options = ['--interpret', '--symbol', 'n=4']\n"
        "print([main(['run', file, *options]) for file in sys.argv[1:]])"
    )
    scale = ROOT / "examples" / "scale.mlir"
    narrow = tmp_path / "narrow.mlir"
    narrow.write_text(scale.read_text().replace("f32", "bf16"))
    done = run_python("-c", program, str(scale), str(narrow), cwd=tmp_path)
    assert done.stdout.endswith("[0, 1]\n"), done.stderr
    assert "pip install ml_dtypes" in done.stderr


def test_generated_documentation_is_up_to_date():
    done = run_python("docs/generate.py", "--check", cwd=ROOT)
    assert done.returncode == 0, f"run `make docs`:\n{done.stdout}{done.stderr}"


CHECKED_BLOCK = re.compile(
    r"<!-- checked -->\n```(?P<language>\w+)\n(?P<code>.*?)```", re.DOTALL
)


PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def checked_blocks(page: Path) -> list[tuple[str, str]]:
    text = page.read_text()
    return [(m["language"], m["code"]) for m in CHECKED_BLOCK.finditer(text)]


ONE_LAYER = """
!images = tensor<?x64xf32, #relax.dims<[n, 64]>>
!digits = tensor<?x10xf32, #relax.dims<[n, 10]>>
relax.func @main<n>(%images: !images) -> !digits attributes {global_symbol = "main"} {
  %w = relax.constant dense<0.5> : tensor<64x10xf32>
  %b = relax.constant dense<0.5> : tensor<10xf32>
  %probabilities = relax.dataflow -> (!digits) {
    %0 = relax.matmul %images, %w : (!images, tensor<64x10xf32>) -> !digits
    %1 = relax.add %0, %b : (!digits, tensor<10xf32>) -> !digits
    %2 = relax.nn.relu %1 : (!digits) -> !digits
    %3 = relax.nn.softmax %2 axis -1 : (!digits) -> !digits
    relax.output %3 : !digits
  }
  relax.return %probabilities : !digits
}
"""


def link_examples(folder: Path) -> None:
    """The examples; in the ordinary run the model of the digits has one layer of two."""
    if "XDSL_TVM_FUZZ" in os.environ:
        folder.symlink_to(ROOT / "examples")
        return
    (folder / "digits").mkdir(parents=True)
    (folder / "digits" / "model.mlir").write_text(ONE_LAYER)
    for path in (ROOT / "examples").iterdir():
        if path.name != "digits":
            (folder / path.name).symlink_to(path)


RUNS_BLOCKS = """
import sys
for code in sys.argv[1:]:
    exec(code, {"__name__": "__main__"})
"""
"""Runs each argument with names of its own."""


@pytest.mark.parametrize(
    "page", [p for p in PAGES if checked_blocks(p)], ids=lambda p: p.name
)
def test_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Blocks marked `<!-- checked -->`, one after the other, as a reader runs them.

    The project's commands run in this process, as those of FileCheck tests do.
    """
    link_examples(tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    for language, blocks in groupby(checked_blocks(page), lambda block: block[0]):
        codes = [code for _, code in blocks]
        if language == "bash":
            for line in (line for code in codes for line in commands(code)):
                run_line(line, tmp_path)
            continue
        done = run_python("-c", RUNS_BLOCKS, *codes, cwd=tmp_path)
        assert done.returncode == 0, "\n".join([*codes, done.stdout, done.stderr])


def commands(code: str) -> list[str]:
    """The commands of a block of bash, without comments and continuations."""
    lines = code.replace("\\\n", " ").splitlines()
    return [line for line in lines if line.strip() and not line.startswith("#")]


def test_readme_has_checked_blocks():
    blocks = checked_blocks(ROOT / "README.md")
    assert {language for language, _ in blocks} == {"bash", "python"}

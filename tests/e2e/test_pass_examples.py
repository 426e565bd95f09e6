"""The programs of docs/examples, which stand on the pages of their passes."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp

from xdsl_tvm import IRModule
from xdsl_tvm.dialects import tir
from xdsl_tvm.registry import pass_modules

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "docs" / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_it_runs_and_stands_on_the_page(path: Path) -> None:
    assert path.stem in pass_modules()
    page = ROOT / "docs" / "passes" / f"{path.stem}.md"
    assert path.read_text() in page.read_text()
    runpy.run_path(str(path))


def test_layout_free_buffers(capsys: pytest.CaptureFixture[str]) -> None:
    path = ROOT / "docs" / "examples" / "relax-attach-attr-layout-free-buffers.py"
    names = runpy.run_path(str(path))
    assert isinstance(names["optimized_mod"], IRModule)
    assert names["optimized_mod"] is not names["mod"]
    assert str(names["optimized_mod"]) == str(names["mod"])
    result = names["result_mod"]
    assert isinstance(result, ModuleOp)
    (kernel,) = (op for op in result.ops if isinstance(op, tir.FuncOp))
    assert kernel.sym_name.data == "scale1"
    assert str(kernel.attributes["layout_free_buffers"]) == "[1 : i32]"
    assert capsys.readouterr().out == str(result) + "\n"


def test_kill_after_last_use(capsys: pytest.CaptureFixture[str]) -> None:
    path = ROOT / "docs" / "examples" / "relax-kill-after-last-use.py"
    names = runpy.run_path(str(path))
    text = str(names["optimized_mod"]["main"])
    assert capsys.readouterr().out == text + "\n"
    operations = [line.split(" : ")[0].split("= ")[-1] for line in text.splitlines()]
    assert [one.split()[0] for one in operations[1:-1]] == [
        "relax.add",
        "relax.multiply",
        "relax.memory.kill_tensor",
        "relax.subtract",
        "relax.memory.kill_tensor",
        "relax.return",
    ]
    assert "relax.memory" not in str(names["mod"])


def test_static_plan_block_memory(capsys: pytest.CaptureFixture[str]) -> None:
    path = ROOT / "docs" / "examples" / "relax-static-plan-block-memory.py"
    names = runpy.run_path(str(path))
    assert str(names["mod_optimized"]) == str(names["mod"])
    chain = str(names["optimized"]["chain"])
    printed = str(names["mod_optimized"])
    assert capsys.readouterr().out == printed + "\n" + chain + "\n"
    assert chain.count("relax.memory.alloc_storage 32") == 3
    assert chain.count("relax.memory.alloc_tensor %storage at 0") == 2
    assert "relax.builtin.alloc_tensor" not in chain

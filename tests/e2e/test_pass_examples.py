"""The programs of docs/examples, which are on the pages of their passes."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest
from support import paths
from xdsl.dialects.builtin import ModuleOp

from xdsl_tvm import IRModule, relax
from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.relax import interpret
from xdsl_tvm.passes.infra import (
    CompilerPass,
    PassContext,
    PassInfo,
    Sequential,
    module_pass,
    pass_instrument,
)
from xdsl_tvm.passes.relax import DataflowUseInplaceCalls
from xdsl_tvm.registry import pass_modules

ROOT = paths.ROOT
EXAMPLES = sorted((ROOT / "docs" / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_it_runs_and_stands_on_the_page(path: Path) -> None:
    assert path.stem in pass_modules()
    page = ROOT / "docs" / "passes" / f"{path.stem}.md"
    assert path.read_text() in page.read_text()
    runpy.run_path(str(path))


def run(name: str) -> dict[str, object]:
    return runpy.run_path(str(ROOT / "docs" / "examples" / f"{name}.py"))


def operations(text: str) -> list[str]:
    """The names of the operations of a function without regions, in order."""
    lines = [line.strip().partition(" = ") for line in text.splitlines()[1:-1]]
    return [(right or left).split(" ")[0] for left, _, right in lines]


def test_layout_free_buffers(capsys: pytest.CaptureFixture[str]) -> None:
    names = run("relax-attach-attr-layout-free-buffers")
    assert isinstance(names["optimized_mod"], IRModule)
    assert names["optimized_mod"] is not names["mod"]
    assert str(names["optimized_mod"]) == str(names["mod"])
    result = names["result_mod"]
    assert isinstance(result, IRModule)
    (kernel,) = (op for op in result.ops if isinstance(op, tir.FuncOp))
    assert kernel.sym_name.data == "multiply1"
    assert str(kernel.attributes["layout_free_buffers"]) == "[1 : i32]"
    assert capsys.readouterr().out == str(result) + "\n"


def test_dataflow_use_inplace_calls(capsys: pytest.CaptureFixture[str]) -> None:
    names = run("relax-dataflow-use-inplace-calls")
    mod, optimized = names["mod"], names["mod_optimized"]
    lowered = names["lowered"]
    assert isinstance(mod, IRModule)
    assert isinstance(optimized, IRModule)
    assert isinstance(lowered, IRModule)
    printed = "".join(f"{each['main']!s}\n" for each in (optimized, lowered))
    assert capsys.readouterr().out == printed
    assert "relax.call_tir_inplace @multiply_inplace(%y1, %x) inplace [0]" in printed
    assert "call_tir_inplace" not in str(mod)
    assert operations(str(lowered["main"])) == [
        "relax.builtin.alloc_tensor",
        "relax.call",
        "relax.call",
        "relax.return",
    ]
    x = np.random.default_rng(0).standard_normal((32, 64)).astype(np.float32)
    results = [interpret(each)["main"](x) for each in (mod, optimized, lowered)]
    for result in results:
        np.testing.assert_array_equal(result, (x + x) * x)


def test_kill_after_last_use(capsys: pytest.CaptureFixture[str]) -> None:
    names = run("relax-kill-after-last-use")
    optimized = names["optimized_mod"]
    assert isinstance(optimized, IRModule)
    text = str(optimized["main"])
    assert capsys.readouterr().out == text + "\n"
    assert operations(text) == [
        "relax.add",
        "relax.multiply",
        "relax.memory.kill_tensor",
        "relax.subtract",
        "relax.memory.kill_tensor",
        "relax.return",
    ]
    assert "kill_tensor %y" in text
    assert "relax.memory" not in str(names["mod"])


def test_static_plan_block_memory(capsys: pytest.CaptureFixture[str]) -> None:
    names = run("relax-static-plan-block-memory")
    optimized, arena = names["optimized"], names["arena"]
    assert isinstance(optimized, IRModule)
    assert isinstance(arena, IRModule)
    assert str(names["mod_optimized"]) == str(names["mod"])
    chain, packed = str(optimized["chain"]), str(arena["chain"])
    printed = f"{names['mod_optimized']!s}\n{chain}\n{packed}\n"
    assert capsys.readouterr().out == printed
    assert chain.count("relax.memory.alloc_storage 32") == 3
    assert chain.count("relax.memory.alloc_tensor %storage at 0") == 2
    assert chain.count("relax.memory.kill_storage") == 3
    assert "relax.builtin.alloc_tensor" not in chain
    assert packed.count("relax.memory.alloc_storage 64") == 1
    assert "relax.memory.alloc_tensor %storage at 32" in packed


@pytest.mark.parametrize(
    ("constructor", "name"),
    [
        ("AttachAttrLayoutFreeBuffers", "AttachAttrLayoutFreeBuffers"),
        ("DataflowUseInplaceCalls", "DataflowInsertInPlaceCalls"),
        ("StaticPlanBlockMemory", "StaticPlanBlockMemory"),
        ("KillAfterLastUse", "KillAfterLastUse"),
    ],
)
def test_how_the_passes_are_registered(constructor: str, name: str) -> None:
    """Name, level, required passes and traceability, as the reference creates them."""
    one = getattr(relax.transform, constructor)()
    assert isinstance(one, CompilerPass)
    assert one.info == PassInfo(0, name, [], False)


def test_a_pass_like_those_of_the_pages() -> None:
    """`CreateModulePass(func, 0, name, {}, traceable)`, in a context and instrumented."""
    seen: list[str] = []

    @pass_instrument
    class Seen:
        def should_run(self, mod: ModuleOp, info: PassInfo) -> bool:
            return info.name != "KillAfterLastUse"

        def run_before_pass(self, mod: ModuleOp, info: PassInfo) -> None:
            seen.append(info.name)

    def insert(mod: ModuleOp, context: PassContext) -> ModuleOp:
        assert context is PassContext.current()
        return DataflowUseInplaceCalls()(mod)

    made = module_pass(insert, opt_level=0, name="Mine", required=[], traceable=False)
    mod = run("relax-dataflow-use-inplace-calls")["mod"]
    assert isinstance(mod, IRModule)
    seq = Sequential([made, relax.transform.KillAfterLastUse()])
    with PassContext(opt_level=0, instruments=[Seen()]):
        result = seq(mod)
    assert seen == ["sequential", "Mine", "DataflowInsertInPlaceCalls"]
    assert "call_tir_inplace" in str(result)
    with PassContext(opt_level=0, disabled_pass=["DataflowInsertInPlaceCalls"]):
        assert str(Sequential([DataflowUseInplaceCalls()])(mod)) == str(mod)


def test_rules_of_ones_own() -> None:
    names = run("relax-legalize-ops")
    legalized = names["legalized_mod"]
    assert isinstance(legalized, IRModule)
    functions = [op for op in legalized.ops if isinstance(op, tir.FuncOp)]
    assert [op.sym_name.data for op in functions] == ["add", "multiply"]
    x = np.linspace(-1, 1, 32 * 64, dtype=np.float32).reshape(32, 64)
    np.testing.assert_array_equal(interpret(legalized)["main"](x), (x + x) ** 2)

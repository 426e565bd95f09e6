"""DeadCodeElimination of Relax: entries, and what remains of random functions."""

from __future__ import annotations

import os
from typing import cast

import pytest
from support.effort import calls
from support.ir import parse
from support.relax_bindings import RandomBindings
from xdsl.dialects.builtin import ModuleOp
from xdsl.transforms.dead_code_elimination import dce

from xdsl_tvm.dialects import relax
from xdsl_tvm.passes.infra import PassContext, Sequential
from xdsl_tvm.passes.relax.dead_code_elimination import DeadCodeElimination
from xdsl_tvm.passes.relax.to_non_dataflow import ToNonDataflow
from xdsl_tvm.registry import new_context

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "15"))
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))
FUNCTIONS = """
relax.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = relax.call @callee(%x) : (tensor<4xf32>) -> tensor<4xf32>
  relax.return %y : tensor<4xf32>
}
relax.func @callee(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = relax.nn.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  relax.return %x : tensor<4xf32>
}
relax.func @other(%x: tensor<4xf32>) -> tensor<4xf32> {
  relax.return %x : tensor<4xf32>
}
"""


def names(module: ModuleOp) -> list[str]:
    return [op.sym_name.data for op in module.ops if isinstance(op, relax.FuncOp)]


def test_entry_functions_are_kept_with_what_they_reach() -> None:
    result = DeadCodeElimination(entry_functions=("main",))(parse(FUNCTIONS))
    assert names(result) == ["main", "callee"]
    assert "relu" not in str(result)
    assert names(DeadCodeElimination(("callee",))(result)) == ["callee"]


def test_no_entries_may_be_none_as_in_tvm() -> None:
    one = DeadCodeElimination(cast("tuple[str, ...]", None))
    assert one == DeadCodeElimination()


def test_a_list_of_entries_has_a_pipeline_text() -> None:
    one = DeadCodeElimination(cast("tuple[str, ...]", ["main", "other"]))
    again = Sequential.from_pipeline(str(one.pipeline_pass_spec()))
    assert names(again(parse(FUNCTIONS))) == ["main", "callee", "other"]


def test_without_entries_nothing_is_left() -> None:
    assert not list(DeadCodeElimination()(parse(FUNCTIONS)).ops)


def test_functions_stay_where_a_callee_is_not_in_the_module() -> None:
    module = parse(
        FUNCTIONS.replace(
            "-> tensor<4xf32> {",
            '-> tensor<4xf32> attributes {global_symbol = "main", hook = @nowhere} {',
            1,
        )
    )
    result = DeadCodeElimination()(module)
    assert names(result) == ["main", "callee", "other"]
    assert "relu" not in str(result)


def test_it_runs_from_level_1() -> None:
    with PassContext(opt_level=0):
        assert names(Sequential([DeadCodeElimination()])(parse(FUNCTIONS)))


def test_blocks_in_any_order() -> None:
    """A dead value may be used by a block that is written before its own."""
    result = DeadCodeElimination()(
        parse(
            """
            relax.func @main(%x: tensor<4xf32>) -> tensor<4xf32>
                attributes {global_symbol = "main"} {
              "scf.execute_region"() ({
                "cf.br"()[^second] : () -> ()
              ^first:
                %b = relax.nn.relu %a : (tensor<4xf32>) -> tensor<4xf32>
                "scf.yield"() : () -> ()
              ^second:
                %a = relax.nn.relu %x : (tensor<4xf32>) -> tensor<4xf32>
                "test.op"() : () -> ()
                "cf.br"()[^first] : () -> ()
              }) : () -> ()
              relax.return %x : tensor<4xf32>
            }"""
        )
    )
    result.verify()
    assert "relu" not in str(result)
    assert "test.op" in str(result)


def test_random_functions_keep_what_stock_elimination_keeps() -> None:
    """Without dataflow blocks both say the same; with them ours sees outputs, too."""
    shrunk = 0
    for seed in range(FIRST, FIRST + COUNT):
        module = parse(RandomBindings(seed).text())
        result = DeadCodeElimination()(module)
        result.verify()
        for block in result.walk():
            if isinstance(block, relax.DataflowOp):
                assert all(output.first_use is not None for output in block.outputs)
        expected = ToNonDataflow()(module)
        dce(expected)
        if "@effect(" not in str(expected).partition("relax.func")[2]:
            expected = DeadCodeElimination()(expected)
        assert str(ToNonDataflow()(result)) == str(expected), seed
        assert str(DeadCodeElimination()(result)) == str(result)
        shrunk += str(result) != str(module)
    assert shrunk > COUNT // 2


@pytest.mark.parametrize("dead", [True, False])
def test_time_is_linear(dead: bool) -> None:
    """Long chains of blocks that hand on a value."""

    def effort(count: int) -> int:
        body = "".join(
            f"%{i + 1} = relax.dataflow -> (!t) {{ relax.output %{i} : !t }}\n"
            for i in range(count)
        )
        result = 0 if dead else count
        module = parse(
            "!t = tensor<4xf32>\nrelax.func @main(%0: !t) -> !t "
            'attributes {global_symbol = "main"} {\n'
            f"{body}relax.return %{result} : !t }}"
        )
        context = new_context()
        return calls(lambda: DeadCodeElimination().apply(context, module))

    assert effort(400) < 4.5 * effort(100)

"""Passes made of Python callables over Relax functions and dataflow blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest
from support.ir import parse
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Block, Region
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.dialects import relax
from xdsl_tvm.passes.infra import (
    ApplyPassToFunction,
    PassContext,
    PassInfo,
    Sequential,
)
from xdsl_tvm.passes.relax import (
    DataflowBlockPass,
    DeadCodeElimination,
    FunctionPass,
    dataflowblock_pass,
    function_pass,
)

TEXT = """
!t = tensor<4xf32>
relax.func @first(%x: !t) -> !t {
  %r, %s = relax.dataflow -> (!t, !t) {
    %m = relax.match_cast %x defines [k] : !t -> tensor<?xf32, #relax.dims<[k]>>
    %a = relax.nn.relu %x : (!t) -> !t
    %b = relax.negative %a : (!t) -> !t
    relax.output %a, %b : !t, !t
  }
  relax.return %s : !t
}
tir.func @kernel(%a: !tir.handle) {
}
relax.func @second(%x: !t) -> !t {
  %y = relax.call @first(%x) : (!t) -> !t
  relax.return %y : !t
}
"""


def functions(module: ModuleOp) -> dict[str, relax.FuncOp]:
    return {op.sym_name.data: op for op in module.ops if isinstance(op, relax.FuncOp)}


def blocks(module: ModuleOp) -> list[relax.DataflowOp]:
    return [op for op in module.walk() if isinstance(op, relax.DataflowOp)]


def test_a_function_pass_sees_the_module_as_it_was() -> None:
    """CASE: FunctionPass.1, FunctionPass.2"""
    seen: list[str] = []

    @function_pass(opt_level=1, name="mark")
    def mark(func: relax.FuncOp, module: ModuleOp, context: PassContext) -> relax.FuncOp:
        assert context is PassContext.current()
        assert not any("mark" in each.attributes for each in functions(module).values())
        seen.append(func.sym_name.data)
        func.attributes["mark"] = StringAttr("here")
        func.sym_name = StringAttr("lost")
        return func

    module = parse(TEXT)
    before = str(module)
    result = mark(module)
    result.verify()
    assert str(module) == before
    assert seen == list(functions(result)) == ["first", "second"]
    assert all("mark" in func.attributes for func in functions(result).values())
    assert isinstance(mark, FunctionPass)
    assert mark.info == PassInfo(1, "mark", [], False)
    assert str(mark) == "Run Function pass: mark at the optimization level 1"
    with PassContext(opt_level=0):
        assert str(Sequential([mark])(module)) == before


def test_a_function_pass_class() -> None:
    """CASE: FunctionPass.3"""

    @function_pass(opt_level=0)
    class Replace:
        """Replaces every function."""

        def __init__(self, name: str) -> None:
            self.wanted = name

        def transform_function(
            self, func: relax.FuncOp, module: ModuleOp, context: PassContext
        ) -> relax.FuncOp:
            return functions(module)[self.wanted]

    result = Replace("first")(parse(TEXT))
    first, second = functions(result).values()
    assert str(second) == str(first).replace("@first", "@second")
    assert Replace("first").info.name == "Replace"


def test_results_of_function_passes_are_functions() -> None:
    """CASE: FunctionPass.4"""

    def nothing(*arguments: Any) -> Any:
        assert len(arguments) == 3

    with pytest.raises(TypeError, match=r"must return a relax.func for @first, not N"):
        function_pass(nothing, 0)(parse(TEXT))
    make = cast("Callable[..., Any]", function_pass)
    with pytest.raises(ValueError, match="Please provide opt_level for the function pa"):
        make()
    with pytest.raises(TypeError, match=r"must return a relax.dataflow, not NoneType"):
        dataflowblock_pass(nothing, 0)(parse(TEXT))


def test_a_block_may_be_edited() -> None:
    """CASE: DataflowBlockPass.1"""

    @dataflowblock_pass(opt_level=0)
    def twice(
        dataflow: relax.DataflowOp, module: ModuleOp, context: PassContext
    ) -> relax.DataflowOp:
        value = dataflow.output_op.values[1]
        new = relax.AddOp(value, value)
        Rewriter.insert_op(new, InsertPoint.before(dataflow.output_op))
        dataflow.output_op.operands[1] = new.result
        return dataflow

    module = parse(TEXT)
    before = str(module)
    result = twice(module)
    result.verify()
    assert str(module) == before
    assert str(result).count("relax.add") == 1
    assert isinstance(twice, DataflowBlockPass)
    assert str(twice).startswith("Run DataflowBlock pass: twice at the")


def copied(dataflow: relax.DataflowOp, count: int) -> relax.DataflowOp:
    """A new block of `count` outputs: some are left out, or the last is repeated."""
    copy = dataflow.clone()
    values = [*copy.output_op.values, copy.output_op.values[-1]][:count]
    body = Block()
    for op in list(copy.body.block.ops):
        op.detach()
        if not isinstance(op, relax.OutputOp):
            body.add_op(op)
    body.add_op(relax.OutputOp(*values))
    return relax.DataflowOp([value.type for value in values], Region(body))


def test_a_block_may_be_replaced_and_get_more_results() -> None:
    """CASE: DataflowBlockPass.2"""
    result = dataflowblock_pass(lambda block, m, c: copied(block, 3), 0)(parse(TEXT))
    result.verify()
    (block,) = blocks(result)
    assert len(block.outputs) == 3
    assert functions(result)["first"].return_op.value is block.outputs[1]


def test_what_a_block_gives_must_stay() -> None:
    """CASE: DataflowBlockPass.3, DataflowBlockPass.4"""
    lost = dataflowblock_pass(lambda block, m, c: copied(block, 1), 0, "lost")
    with pytest.raises(
        PassFailedException, match=r"lost: result 1 of relax.dataflow was"
    ):
        lost(parse(TEXT))

    @dataflowblock_pass(opt_level=0, name="symbol")
    def symbol(
        dataflow: relax.DataflowOp, module: ModuleOp, context: PassContext
    ) -> relax.DataflowOp:
        cast = dataflow.body.block.first_op
        assert isinstance(cast, relax.MatchCastOp)
        Rewriter.erase_op(cast)
        return dataflow

    with pytest.raises(PassFailedException, match="does not define the symbol 'k' any m"):
        symbol(parse(TEXT))


def test_apply_to_one_function() -> None:
    """CASE: ApplyPassToFunction.1

    The other functions are declarations meanwhile; calls between them stay.
    """
    module = parse(TEXT)
    result = ApplyPassToFunction(DeadCodeElimination(), "sec.*")(module)
    result.verify()
    assert list(functions(result)) == ["first", "second"]
    assert "relax.match_cast" in str(result)
    result = ApplyPassToFunction(DeadCodeElimination(), "fir.*")(module)
    (block,) = blocks(result)
    assert len(block.outputs) == 1
    assert "global_symbol" not in str(result)

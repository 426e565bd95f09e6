"""DataflowUseInplaceCalls: its steps one by one, names, and random dataflow blocks."""

from __future__ import annotations

import os

import numpy as np
import pytest
from support.effort import calls
from support.ir import parse
from support.relax_dataflow_programs import random_dataflow
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from xdsl_tvm.dialects import relax, tir
from xdsl_tvm.interpreters.relax import interpret
from xdsl_tvm.interpreters.semantics import check_semantics
from xdsl_tvm.passes import relax as transforms
from xdsl_tvm.passes.infra import PassContext, Sequential, pass_instrument
from xdsl_tvm.passes.relax import (
    CallTIRRewrite,
    DataflowUseInplaceCalls,
    KillAfterLastUse,
    LegalizeOps,
    LowerAllocTensor,
    StaticPlanBlockMemory,
    ToNonDataflow,
)
from xdsl_tvm.passes.testing.relax_transform import (
    dataflow_alias_analysis,
    dataflow_inplace_analysis,
    dataflow_liveness_analysis,
    dataflow_single_inplace_call,
)
from xdsl_tvm.tvmscript import parse as parse_script

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "3"))
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))
LOWERED = (
    LegalizeOps(),
    ToNonDataflow(),
    CallTIRRewrite(),
    StaticPlanBlockMemory(),
    LowerAllocTensor(),
    KillAfterLastUse(),
)
CHAIN = """
!t = tensor<4xf32>
relax.func @main(%x: !t) -> !t attributes {global_symbol = "main"} {
  %o = relax.dataflow -> (!t) {
    %y = relax.alias %x : !t -> !t
    %z = relax.add %y, %y : (!t, !t) -> !t
    %t = relax.tuple(%z, %x) : !t, !t
    %n = relax.nn.relu %z : (!t) -> !t
    relax.output %n : !t
  }
  relax.return %o : !t
}
"""


def only(module: ModuleOp) -> relax.DataflowOp:
    (found,) = (op for op in module.walk() if isinstance(op, relax.DataflowOp))
    return found


def by_name(values: dict[SSAValue, object]) -> dict[str | None, object]:
    return {value.name_hint: found for value, found in values.items()}


def test_steps_by_themselves():
    module = parse(CHAIN)
    block = only(module)
    (func,) = (op for op in module.ops if isinstance(op, relax.FuncOp))
    assert by_name({**dataflow_liveness_analysis(block)}) == {
        "x": (-1, 4),
        "y": (0, 1),
        "z": (1, 3),
        "t": (2, 2),
        "n": (3, 4),
    }
    sets, tuples = dataflow_alias_analysis(block, func.args)
    assert by_name({**sets}) == {"x": {0}, "y": {0}, "z": {1}, "t": {2}, "n": {3}}
    assert tuples == {2: [{1}, {0}]}
    expected = [(3, frozenset({0}))]
    assert dataflow_inplace_analysis(block, func.args, module) == (expected, expected)
    assert dataflow_inplace_analysis(block, (), module) == (expected, expected)


def test_single_call():
    """CASE: DataflowUseInplaceCalls.9"""
    module = parse(CHAIN)
    add = next(op for op in module.walk() if isinstance(op, relax.AddOp))
    call, result = dataflow_single_inplace_call(module, add, [0])
    result.verify()
    functions = [op for op in result.ops if isinstance(op, tir.FuncOp)]
    assert [func.sym_name.data for func in functions] == ["add", "add_inplace"]
    legalized, inplace = functions
    assert call.callee.root_reference.data == "add_inplace"
    assert call.output_arguments == (0,)
    assert len(legalized.args) == 3
    assert [match.buffer.name_hint for match in inplace.buffer_map.values()] == ["A", "B"]
    (written,) = (op for op in inplace.walk() if isinstance(op, tir.WritesOp))
    (match, _) = inplace.buffer_map.values()
    assert written.operands[0] is match.buffer
    # One tensor in both places: the function must not believe that they differ.
    assert "tir.noalias" in legalized.attributes
    assert "tir.noalias" not in inplace.attributes
    assert str(module) == str(parse(CHAIN))


@pytest.mark.parametrize("indices", [[], [0, 1]])
def test_single_call_needs_an_operand_per_result(indices: list[int]):
    module = parse(CHAIN)
    add = next(op for op in module.walk() if isinstance(op, relax.AddOp))
    with pytest.raises(ValueError, match=r"relax\.add cannot write over"):
        dataflow_single_inplace_call(module, add, indices)
    with pytest.raises(ValueError, match="not in the module"):
        dataflow_single_inplace_call(parse(CHAIN), add, [0])


@pytest.mark.parametrize(
    "operator",
    [
        "relax.matmul %z, %z : (!t, !t) -> !t",
        "relax.permute_dims %z : (!t) -> !t",
    ],
)
def test_operators_that_read_other_elements_are_refused(operator: str):
    module = parse(
        "!t = tensor<2x2xf32>\nrelax.func @main(%x: !t) -> !t {\n"
        "%z = relax.add %x, %x : (!t, !t) -> !t\n"
        f"%r = {operator}\nrelax.return %r : !t\n}}"
    )
    (func,) = (op for op in module.ops if isinstance(op, relax.FuncOp))
    op = func.return_op.value.owner
    assert isinstance(op, relax.OperatorOp)
    with pytest.raises(ValueError, match="cannot write over"):
        dataflow_single_inplace_call(module, op, [0])


def test_operators_that_read_everything_first_are_computed_in_place():
    module = parse(
        "relax.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {\n"
        "%z = relax.add %x, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>\n"
        "%r = relax.nn.softmax %z axis 1 : (tensor<2x3xf32>) -> tensor<2x3xf32>\n"
        "relax.return %r : tensor<2x3xf32>\n}"
    )
    softmax = next(op for op in module.walk() if isinstance(op, relax.SoftmaxOp))
    _, result = dataflow_single_inplace_call(module, softmax, [0])
    inputs = [np.array([[1, 2, 3], [3, 2, -7]], np.float32)]
    before, after = (interpret(each)["main"](*inputs) for each in (module, result))
    np.testing.assert_allclose(before, after, rtol=1e-5)


def test_names_of_the_reference():
    names: list[str] = []

    @pass_instrument
    class Names:
        def run_after_pass(self, mod: ModuleOp, info: object) -> None:
            names.append(getattr(info, "name", ""))

    with PassContext(instruments=[Names()]):
        result = transforms.DataflowUseInplaceCalls()(parse(CHAIN))
    assert names == ["DataflowInsertInPlaceCalls"]
    assert "relax.call_tir_inplace @relu_inplace" in str(result)
    assert DataflowUseInplaceCalls().info.opt_level == 0


def test_second_run_changes_nothing():
    once = DataflowUseInplaceCalls()(parse(CHAIN))
    assert str(DataflowUseInplaceCalls()(once)) == str(once)


def test_functions_of_the_user_stay():
    """A legalized function that is equal to one of the module is another one."""
    module = LegalizeOps()(parse(CHAIN.replace("main", "other")))
    (func,) = parse(CHAIN).ops
    module.body.block.add_op(func.clone())
    result = DataflowUseInplaceCalls()(module)
    result.verify()
    names = [op.sym_name.data for op in result.ops if isinstance(op, tir.FuncOp)]
    assert names == ["add", "relu", "relu1_inplace"]


def test_random_blocks_compute_the_same():
    """Before and after the pass, and after it down to planned memory."""
    inplace = 0
    for seed in range(FIRST, FIRST + COUNT):
        module = parse(random_dataflow(seed))
        passes = [DataflowUseInplaceCalls(), *LOWERED]
        report = check_semantics(module, passes, runs=1)
        assert "main" in report.checked, report.skipped
        result = DataflowUseInplaceCalls()(module)
        inplace += sum(isinstance(op, relax.CallTIRInplaceOp) for op in result.walk())
    assert inplace > COUNT


def chain_of(count: int) -> ModuleOp:
    lines = ["!t = tensor<4xf32>", "relax.func @main(%v0: !t) -> !t {"]
    lines.append("%o = relax.dataflow -> (!t) {")
    lines.append("%v1 = relax.add %v0, %v0 : (!t, !t) -> !t")
    for index in range(1, count):
        lines.append(f"%t{index} = relax.tuple(%v{index}, %v0) : !t, !t")
        lines.append(f"%v{index + 1} = relax.call @main(%v{index}) : (!t) -> !t")
    lines += [f"relax.output %v{count} : !t", "}", "relax.return %o : !t", "}"]
    return parse("\n".join(lines))


def test_effort_is_linear():
    """Also where every value may be any of those before."""
    short, long = (
        calls(lambda module=module: DataflowUseInplaceCalls()(module))
        for module in (chain_of(100), chain_of(400))
    )
    assert long < short * 5


def test_all_of_it_after_lowering():
    module = parse(CHAIN)
    lowered = Sequential([DataflowUseInplaceCalls(), *LOWERED])(module)
    allocated = [
        op for op in lowered.walk() if isinstance(op, relax.AllocTensorFromStorageOp)
    ]
    assert len(allocated) == 1


@pytest.mark.parametrize(
    ("view", "inplace"),
    [
        ("R.reshape(b, R.shape([32]))", ["d", "e"]),
        ("R.reshape(R.exp(b), R.shape([4, 8]))", ["d", "e"]),
        ("R.flatten(b)", ["d", "e"]),
        ("R.memory.view(b, R.shape([32]))", ["d", "e"]),
        # A view of a parameter is memory of the caller.
        ("R.reshape(x, R.shape([32]))", ["e"]),
        ("R.flatten(x)", ["e"]),
    ],
)
def test_views_of_what_is_dead_are_written(view: str, inplace: list[str]):
    """The shape that a view is given is no memory."""
    module = parse_script(f"""
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4, 8), "float32"), y: R.Tensor((4, 8), "float32")):
        with R.dataflow():
            b = R.add(x, y)
            c = {view}
            d = R.multiply(c, c)
            e = R.add(d, d)
            R.output(e)
        return e
""")
    result = DataflowUseInplaceCalls()(module)
    found = [
        op.result.name_hint
        for op in result.walk()
        if isinstance(op, relax.CallTIRInplaceOp)
    ]
    assert [str(name).split("_")[0] for name in found] == inplace
    passes = [DataflowUseInplaceCalls(), *LOWERED]
    assert check_semantics(module, passes, runs=1).checked == ["main"]


def test_a_tensor_that_is_viewed_again_is_not_written():
    module = parse_script("""
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        with R.dataflow():
            b = R.add(x, x)
            c = R.reshape(b, R.shape([32]))
            d = R.multiply(c, c)
            e = R.multiply(R.flatten(b), d)
            R.output(e)
        return e
""")
    result = DataflowUseInplaceCalls()(module)
    (multiply,) = (op for op in result.walk() if isinstance(op, relax.MultiplyOp))
    assert str(multiply.result.name_hint) == "d"

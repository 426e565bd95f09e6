"""What LegalizeOps offers from Python: rules of the user's, warnings, and its config."""

import warnings
from typing import Any

import numpy as np
import pytest
from support.ir import parse
from xdsl.dialects.builtin import ModuleOp, f16, f32
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.dialects import relax, tir
from xdsl_tvm.dialects.relax.operators import OperatorOp
from xdsl_tvm.interpreters.relax import InterpretedRelax
from xdsl_tvm.interpreters.semantics import check_semantics
from xdsl_tvm.passes.infra import PassContext
from xdsl_tvm.passes.relax import LegalizeOps
from xdsl_tvm.passes.relax.legalize.registry import REWRITES, RULES, Bindings, RuleContext
from xdsl_tvm.passes.relax.legalize.tensor_expression import Tensor

ADD = """
relax.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %r = relax.add %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %s = relax.multiply %r, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  relax.return %s : tensor<4xf32>
}
"""


def names(module: ModuleOp) -> list[str]:
    """The operations of `main`."""
    (main,) = [op for op in module.ops if isinstance(op, relax.FuncOp)]
    return [
        op.callee.root_reference.data if isinstance(op, relax.CallTIROp) else op.name
        for op in main.body.block.ops
    ][:-1]


def as_difference(bindings: Bindings, op: relax.AddOp) -> SSAValue:
    """a + b as a - (-b), of which the operators are legalized recursively."""
    negative = bindings.emit(relax.NegativeOp(op.rhs))
    return bindings.emit(relax.SubtractOp(op.lhs, negative))


def test_a_rule_of_the_users_goes_first():
    module = parse(ADD)
    legalize = LegalizeOps({"relax.add": as_difference})
    assert names(legalize(module)) == ["tir_negative", "subtract", "multiply"]
    check_semantics(module, [legalize])


def test_what_a_rule_has_emitted_is_not_given_to_it_again():
    def doubled(bindings: Bindings, op: relax.AddOp) -> SSAValue:
        return bindings.emit(relax.AddOp(op.rhs, op.lhs))

    legalized = LegalizeOps(customize_legalize_map={"relax.add": doubled})(parse(ADD))
    assert names(legalized) == ["add", "multiply"]


def test_a_rule_may_leave_an_operator_as_it_is():
    def kept(bindings: Bindings, op: relax.AddOp) -> SSAValue:
        return op.result

    legalized = LegalizeOps({"relax.add": kept})(parse(ADD))
    assert names(legalized) == ["relax.add", "multiply"]


def test_a_rule_may_call_stages_of_its_own():
    def half(site: RuleContext) -> Tensor:
        a, b = site.tensor(0), site.tensor(1)
        return site.program.compute(
            "half", site.shape, site.dtype, lambda *i: (a[i] + b[i]) * 0.5
        )

    def mean(bindings: Bindings, op: relax.AddOp) -> SSAValue:
        return bindings.call_te("mean", op.operands, op.result.type, half)

    text = ADD.replace("relax.multiply %r", "relax.add %r")
    legalized = LegalizeOps({"relax.add": mean})(parse(text))
    assert names(legalized) == ["mean", "mean"]
    a, b = np.arange(4, dtype=np.float32), np.full(4, 5, np.float32)
    found = InterpretedRelax(legalized)["main"](a, b)
    np.testing.assert_array_equal(found, ((a + b) / 2 + b) / 2)


def test_a_rule_of_the_users_needs_known_shapes():
    def never(bindings: Bindings, op: relax.AddOp) -> SSAValue:
        raise AssertionError

    text = ADD.replace("tensor<4xf32>", "tensor<?xf32>")
    legalized = LegalizeOps({"relax.add": never})(parse(text))
    assert names(legalized) == ["relax.add", "relax.multiply"]


def test_a_call_with_effects_in_the_place_of_an_operator_is_pure():
    def outside(bindings: Bindings, op: relax.AddOp) -> SSAValue:
        return bindings.emit(relax.CallPackedOp("my.add", op.operands, op.result.type))

    legalized = LegalizeOps({"relax.add": outside})(parse(ADD))
    legalized.verify()
    assert names(legalized) == ["relax.call_pure_packed", "multiply"]


def test_a_rule_must_give_the_type_of_the_result():
    def other(bindings: Bindings, op: relax.AddOp) -> SSAValue:
        return bindings.emit(relax.AstypeOp(op.lhs, f16))

    with pytest.raises(PassFailedException) as raised:
        LegalizeOps({"relax.add": other})(parse(ADD))
    assert str(raised.value) == (
        "relax.add: a rule gives tensor<4xf16> for tensor<4xf32>; give a value of that "
        "type, or of a more precise one"
    )


def test_stages_need_known_shapes():
    def unknown(bindings: Bindings, op: relax.AddOp) -> SSAValue:
        type_ = relax.TensorInfo((None,), f32).type
        return bindings.call_te("f", op.operands, type_, lambda site: site.tensor(0))

    # What a rule raises leaves the pass as its failure.
    with pytest.raises(
        PassFailedException, match="f: shapes and dtypes must be known"
    ) as raised:
        LegalizeOps({"relax.add": unknown})(parse(ADD))
    assert isinstance(raised.value.__cause__, ValueError)


def test_warnings_name_what_stays():
    module = parse(ADD.replace("tensor<4xf32>", "tensor<?xf32>"))
    with pytest.warns(UserWarning, match="is not legalized") as found:
        LegalizeOps(enable_warning=True)(module)
    assert [str(warning.message) for warning in found] == [
        f"relax.{name} is not legalized: it has no rule, or its shapes are not known"
        for name in ("add", "multiply")
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LegalizeOps()(module)
        LegalizeOps(enable_warning=True)(parse(ADD))


def test_the_config_switches_the_pass_off():
    with PassContext(config={"relax.transform.apply_legalize_ops": False}):
        assert names(LegalizeOps()(parse(ADD))) == ["relax.add", "relax.multiply"]


def test_rules_are_no_option_of_the_text():
    assert str(LegalizeOps({"relax.add": as_difference})) == "relax-legalize-ops"
    assert LegalizeOps({"relax.add": as_difference}) == LegalizeOps()


def test_functions_of_many_equal_operators_are_one():
    line = "  %r{} = relax.add %a, %b : ({t}, {t}) -> {t}\n"
    lines = "".join(line.format(number, t="tensor<4xf32>") for number in range(50))
    legalized = LegalizeOps()(
        parse(ADD.replace("  relax.return", f"{lines}relax.return"))
    )
    functions = [op for op in legalized.ops if isinstance(op, tir.FuncOp)]
    assert [op.sym_name.data for op in functions] == ["add", "multiply"]


WITHOUT_RULE = {
    "relax.builtin.stop_lift_params": "LiftTransformParams removes it",
    "relax.hint_on_device": "RealizeVDevice consumes it",
    "relax.memory.ensure_zero_offset": "lowering calls the runtime",
    "relax.memory.view": "lowering makes a view",
    "relax.nn.attention_var_len": "only code from outside computes it",
    "relax.shape_of": "lowering reads the shape",
    "relax.shape_to_tensor": "lowering writes the shape",
    "relax.tensor_to_shape": "lowering reads the tensor",
    "relax.to_vdevice": "LowerRuntimeBuiltin makes it a call of the runtime",
    "relax.wrap_param": "ToMixedPrecision removes it",
}
"""Operators that are not computed by TIR functions, and what becomes of them."""


def _operators(kind: type[Any] = OperatorOp) -> set[type[Operation]]:
    found = set[type[Operation]]()
    for each in kind.__subclasses__():
        found |= _operators(each)
        if "name" in vars(each) and each.__module__.startswith("xdsl_tvm."):
            found.add(each)
    return found


def test_every_operator_has_a_rule_or_a_reason():
    known = {*RULES, *REWRITES}
    without = {kind.name for kind in _operators() if kind not in known}
    inspected = {name for name in without if name.startswith("relax.inspect.")}
    assert without - inspected == set(WITHOUT_RULE)

"""Visitors and mutators of programs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.ir import parse
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm import relax
from xdsl_tvm.dialects import relax as R
from xdsl_tvm.dialects.global_var import GlobalVar
from xdsl_tvm.interpreters.relax import interpret
from xdsl_tvm.relax.expr_functor import (
    Call,
    DataflowBlock,
    MatchCast,
    PyExprMutator,
    PyExprVisitor,
    VarBinding,
    mutator,
    visitor,
)

TEXT = """
!t = tensor<4xf32>
!v = tensor<?xf32, #relax.dims<[n]>>
!k = tensor<?xf32, #relax.dims<[k]>>
relax.func @main<n>(%x: !v, %y: !t, %c: tensor<i1>) -> tensor<?xf32>
    attributes {global_symbol = "main", num_input = 1 : i32} {
  %one = relax.constant dense<1.0> : tensor<f32>
  %branch = relax.if %c : tensor<i1> -> !t {
    %a = relax.exp %y : (!t) -> !t
    relax.yield %a : !t
  } else {
    relax.yield %y : !t
  }
  %f = relax.lambda "inner"(%z: !t) -> !t {
    %captured = relax.add %z, %branch : (!t, !t) -> !t
    relax.return %captured : !t
  }
  %called = relax.call_indirect %f(%y) : !relax.func<(!t) -> !t>, (!t) -> !t
  %out = relax.dataflow -> (!k) {
    %sum = relax.add %called, %one : (!t, tensor<f32>) -> !t
    %pair = relax.tuple(%sum, %y) : !t, !t
    %joined = relax.concat %pair axis 0 : (!relax.tuple<!t, !t>) -> tensor<8xf32>
    %wide = relax.alias %joined : tensor<8xf32> -> tensor<?xf32>
    %cast = relax.match_cast %wide defines [k] : tensor<?xf32> -> !k
    %relu = relax.nn.relu %cast : (!k) -> !k
    relax.output %relu : !k
  }
  %helped = relax.call @helper(%out) : (!k) -> !k
  relax.return %helped : !k
}
relax.func @helper<n>(%x: !v) -> !v {
  %r = relax.tanh %x : (!v) -> !v
  relax.return %r : !v
}
relax.func impure @effects(%x: !t) -> !t attributes {global_symbol = "effects"} {
  relax.print "{}"(%x) : (!t) -> ()
  %r = relax.call_packed "my.copy"(%x) : (!t) -> !t
  relax.return %r : !t
}
"""
X, Y = np.ones(3, np.float32), np.array([-4.0, 0.5, 2.0, -1.0], np.float32)


def module() -> ModuleOp:
    return parse(TEXT)


def functions(of: ModuleOp) -> dict[str, R.FuncOp]:
    return {op.sym_name.data: op for op in of.ops if isinstance(op, R.FuncOp)}


def results(of: ModuleOp) -> list[Any]:
    run = interpret(of)["main"]
    return [run(X, Y, np.array(flag)) for flag in (True, False)]


def mutated(change: PyExprMutator, of: ModuleOp) -> ModuleOp:
    for name, func in functions(of).items():
        change.builder_.update_func(name, change.visit_expr(func))
    return change.builder_.get()


@visitor
class Recorder(PyExprVisitor):
    """Writes down what it sees."""

    def __init__(self) -> None:
        super().__init__()
        self.seen = list[str]()

    def visit_call_(self, op: Call) -> None:
        self.seen.append(f"call {op.op.name.removeprefix('relax.')} {vars(op.attrs)}")
        super().visit_call_(op)

    def visit_constant_(self, op: Any) -> None:
        self.seen.append("constant")

    def visit_tuple_(self, op: Any) -> None:
        self.seen.append("tuple")
        super().visit_tuple_(op)

    def visit_var_def_(self, var: relax.Var) -> None:
        self.seen.append(f"def {var.name_hint}")

    def visit_dataflow_var_def_(self, var: relax.Var) -> None:
        self.seen.append(f"dataflow def {var.name_hint}")

    def visit_dataflow_block_(self, block: DataflowBlock) -> None:
        self.seen.append("dataflow")
        super().visit_dataflow_block_(block)

    def visit_match_cast_(self, binding: MatchCast) -> None:
        self.seen.append(f"cast to {binding.struct_info}")
        super().visit_match_cast_(binding)

    def visit_global_var_(self, op: GlobalVar) -> None:
        self.seen.append(f"@{op.name_hint}")

    def visit_function_(self, op: Any) -> None:
        self.seen.append("function")
        super().visit_function_(op)

    def visit_if_(self, op: Any) -> None:
        self.seen.append("if")
        super().visit_if_(op)


def test_a_visitor_sees_what_tvm_has() -> None:
    recorder = Recorder()
    recorder.visit_expr(functions(module())["main"])
    assert recorder.seen == [
        "function", "def x", "def y", "def c",
        "if", "call exp {}", "def a", "def branch",
        "function", "def z", "call add {}", "def captured", "def f",
        "call call_indirect {}", "def called",
        "dataflow", "call add {}", "constant", "dataflow def sum",
        "call concat {'axis': 0}", "tuple", "dataflow def joined",
        "dataflow def wide",
        "cast to tensor<?xf32, #relax.dims<[k]>>", "dataflow def cast",
        "call nn.relu {}", "def relu",
        "call call {}", "@helper", "def helped",
    ]  # fmt: skip


def test_a_mutator_that_changes_nothing_makes_an_equal_module() -> None:
    change = PyExprMutator(module())
    after = mutated(change, module())
    for old, new in zip(results(module()), results(after), strict=True):
        np.testing.assert_array_equal(new, old)
    before = [op.name for op in module().walk() if not isinstance(op, R.ConstantOp)]
    assert [op.name for op in after.walk() if not isinstance(op, R.ConstantOp)] == before
    assert functions(after)["main"].attributes == functions(module())["main"].attributes
    assert functions(after)["main"].output_type == functions(module())["main"].output_type


@mutator
class ReluToGelu(PyExprMutator):
    def visit_call_(self, op: Call) -> relax.Expr:
        call = self.visit_expr_post_order(op)
        if call.op.name == "relax.nn.relu":
            return relax.op.nn.gelu(call.args[0])
        return call


def test_a_mutator_changes_calls() -> None:
    after = mutated(ReluToGelu(module()), module())
    names = [op.name for op in after.walk()]
    assert "relax.nn.relu" not in names
    assert names.count("relax.nn.gelu") == 1


def test_types_are_inferred_again() -> None:
    class Flattened(PyExprMutator):
        """The parameter is repeated, so what follows is longer."""

        def visit_call_(self, op: Call) -> relax.Expr:
            call = self.visit_expr_post_order(op)
            if call.op.name == "relax.exp":
                return relax.op.tile(call, 2)
            return call

    text = """
    relax.func @main(%x: tensor<4xf32>) -> tensor<?xf32> {
      %a = relax.exp %x : (tensor<4xf32>) -> tensor<4xf32>
      %b = relax.nn.relu %a : (tensor<4xf32>) -> tensor<4xf32>
      relax.return %b : tensor<4xf32>
    }
    """
    func = Flattened().visit_expr(functions(parse(text))["main"])
    assert str(func.return_op.value.type) == "tensor<8xf32>"
    assert str(func.output_type) == "tensor<?xf32>"


def test_what_is_emitted_is_before_the_binding() -> None:
    class Emitting(PyExprMutator):
        def visit_call_(self, op: Call) -> relax.Expr:
            call = self.visit_expr_post_order(op)
            if call.op.name != "relax.nn.relu":
                return call
            zero = self.builder_.emit(relax.op.zeros_like(call.args[0]), "zero")
            bound = self.lookup_binding(zero)
            assert isinstance(bound, Call)
            assert bound.op.name == "relax.zeros_like"
            return relax.op.maximum(call.args[0], zero)

    after = mutated(Emitting(module()), module())
    names = [op.name for op in after.walk()]
    at = names.index("relax.zeros_like")
    assert names[at + 1] == "relax.maximum"
    for old, new in zip(results(module()), results(after), strict=True):
        np.testing.assert_array_equal(new, old)


def test_functions_are_renamed_and_variables_replaced() -> None:
    class Renaming(PyExprMutator):
        def visit_global_var_(self, op: GlobalVar) -> GlobalVar:
            return GlobalVar("other")

        def visit_var_binding_(self, binding: VarBinding) -> None:
            super().visit_var_binding_(binding)
            if binding.var.name_hint == "sum":
                self.set_var_remap(binding.var, self.get_var_remap(binding.var))

    given = parse(TEXT.replace("@helper", "@other"))
    change = Renaming(given)
    func = change.visit_expr(functions(module())["main"])
    change.builder_.update_func("main", func)
    after = change.builder_.get()
    (call,) = [op for op in after.walk() if isinstance(op, R.CallOp)]
    assert call.callee.root_reference.data == "other"


def test_recursive_literals_are_built_again() -> None:
    text = """
    !t = tensor<4xf32>
    relax.func @main(%x: !t, %c: tensor<i1>) -> !t {
      %f = relax.lambda "again" recursive %self (%y: !t) -> !t {
        %r = relax.if %c : tensor<i1> -> !t {
          %s = relax.call_indirect %self(%y) : !relax.func<(!t) -> !t>, (!t) -> !t
          relax.yield %s : !t
        } else {
          relax.yield %y : !t
        }
        relax.return %r : !t
      }
      %r = relax.call_indirect %f(%x) : !relax.func<(!t) -> !t>, (!t) -> !t
      relax.return %r : !t
    }
    """
    before = parse(text)
    after = mutated(PyExprMutator(before), before)
    assert str(after) == str(before)


# ---- bad input ----


def test_bad_input_is_refused() -> None:
    wrong: Any = PyExprVisitor
    with pytest.raises(TypeError, match="mutator decorates a subclass of PyExprMutator"):
        mutator(wrong)
    misspelt: Any = type("Mine", (PyExprVisitor,), {"visit_calls_": None})
    with pytest.raises(TypeError, match=r"nothing calls visit_calls_ \(did you mean"):
        visitor(misspelt)
    nothing: Any = 3
    with pytest.raises(TypeError, match="visit_expr: a int is no expression"):
        PyExprVisitor().visit_expr(nothing)
    with pytest.raises(VerifyException, match="the module has no function @other"):
        PyExprMutator(module()).builder_.update_func("other", functions(module())["main"])


def test_a_method_that_returns_no_expression_is_refused() -> None:
    class Empty(PyExprMutator):
        def visit_call_(self, op: Call) -> Any:
            return None

    with pytest.raises(TypeError, match=r"Empty.visit_call_ must return an expression"):
        Empty().visit_expr(functions(module())["main"])


def test_a_result_that_breaks_a_rule_is_refused() -> None:
    class Impure(PyExprMutator):
        def visit_call_(self, op: Call) -> relax.Expr:
            call = self.visit_expr_post_order(op)
            type_ = call.struct_info
            return relax.call_packed("my.f", *call.args, sinfo_args=type_)

    with pytest.raises(VerifyException, match="impure"):
        Impure().visit_expr(functions(module())["helper"])

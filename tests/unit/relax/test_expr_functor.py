"""Functions of Relax visited and rewritten in the words of TVM's expr_functor."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm import IRModule, interpret, relax
from xdsl_tvm.analysis.structural_equal import assert_structural_equal
from xdsl_tvm.dialects import relax as ops
from xdsl_tvm.relax.expr_functor import PyExprMutator, PyExprVisitor, mutator, visitor
from xdsl_tvm.tvmscript import parse

TEXT = """
@I.ir_module
class Module:
    I.module_attrs({"mark": 1})

    @T.prim_func(private=True)
    def twice(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = A[i] + A[i]

    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), c: R.Tensor((), "bool")):
        R.func_attr({"keep": "yes"})
        cls = Module
        n = T.int64()
        with R.dataflow():
            y = R.nn.relu(x)
            z = R.add(y, R.const(1, "float32"))
            w = R.call_tir(cls.twice, (R.const([1, 2, 3, 4], "float32"),),
                           out_sinfo=R.Tensor((4,), "float32"))
            t = (z, w)
            R.output(t, z)
        if c:
            a = t[0]
            r = R.nn.relu(a)
        else:
            r = R.multiply(z, t[1])
        m = R.match_cast(r, R.Tensor((n, 4), "float32"))
        same = m
        return same

    @R.function(private=True)
    def other(x: R.Tensor((4,), "float32")):
        return x
"""


@pytest.fixture
def module() -> IRModule:
    return parse(TEXT)


def main_of(module: IRModule) -> ops.FuncOp:
    found = module["main"]
    assert isinstance(found, ops.FuncOp)
    return found


def rewritten(module: IRModule, rewriter: PyExprMutator) -> IRModule:
    """The module with all functions of Relax rewritten."""
    for gv, func in module.functions_items():
        if isinstance(func, relax.Function):
            new = rewriter.visit_expr(func)
            assert isinstance(new, relax.Function)
            rewriter.builder_.update_func(gv, new)
    return rewriter.builder_.get()


def test_a_mutator_that_changes_nothing(module: IRModule) -> None:
    before = str(module)
    assert_structural_equal(rewritten(module, PyExprMutator(module)), module)
    assert str(module) == before


def test_a_declared_type_is_kept() -> None:
    """Also one that says less than the value, and names that others begin with."""
    module = parse("""
@I.ir_module
class Module:
    @R.function
    def main_1(x: R.Tensor((4,), "float32")) -> R.Tensor(ndim=1, dtype="float32"):
        return R.negative(x)

    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Object:
        return Module.main_1(x)
""")
    assert_structural_equal(rewritten(module, PyExprMutator(module)), module)


def test_calls_are_replaced(module: IRModule) -> None:
    @mutator
    class ReluToNegative(PyExprMutator):
        def visit_call_(self, call: relax.Call) -> relax.Expr:
            if call.op.name == "relax.nn.relu":
                return relax.op.negative(call.args[0])
            return super().visit_call_(call)

        def visit_constant_(self, op: relax.Call) -> relax.Expr:
            return self.builder_.emit(op * 2.0) if op.shape == () else op

    result = rewritten(module, ReluToNegative(module))
    assert result.attrs == {"mark": 1}
    assert main_of(result).attrs == {"global_symbol": "main", "keep": "yes"}
    names = [op.name for op in main_of(result).walk()]
    assert "relax.nn.relu" not in names
    assert names.count("relax.negative") == 2
    x = np.arange(-4, 4, dtype="float32").reshape(2, 4)
    run = interpret(result)["main"]
    np.testing.assert_array_equal(run(x, np.bool_(True)), x - 2)
    expected = (2 - x) * np.array([2, 4, 6, 8], "float32")
    np.testing.assert_array_equal(run(x, np.bool_(False)), expected)


def test_types_follow(module: IRModule) -> None:
    """A call whose argument has another type is made anew."""

    @mutator
    class Wider(PyExprMutator):
        def visit_call_(self, call: relax.Call) -> relax.Expr:
            if call.op.name == "relax.nn.relu":
                return call.args[0].astype("float64")
            return call

        def visit_constant_(self, op: relax.Call) -> relax.Expr:
            return op.astype("float64") if op.shape == () else op

    rewriter = Wider(module)
    with pytest.raises(VerifyException):
        rewriter.visit_expr(main_of(module))
    text = """
@R.function
def main(x: R.Tensor((4,), "float32")):
    y = (x, R.nn.relu(x))
    return R.add(y[1], R.const(1, "float32"))
"""
    short = parse(text)
    result = rewritten(short, Wider(short))
    assert "float64" in result.script()
    found = interpret(result)["main"](np.zeros(4, "float32"))
    assert found.dtype == np.float64


def test_bindings_are_looked_up(module: IRModule) -> None:
    found: list[str] = []

    @mutator
    class Look(PyExprMutator):
        def visit_call_(self, call: relax.Call) -> relax.Expr:
            for argument in call.args:
                bound = self.lookup_binding(cast(relax.Var, argument))
                found.append(bound.op.name if bound is not None else "none")
            return call

        def visit_tuple_getitem_(self, op: relax.Call) -> relax.Expr:
            bound = self.lookup_binding(cast(relax.Var, op.args[0]))
            found.append("field of " + ("none" if bound is None else bound.op.name))
            return op

    rewritten(module, Look(module))
    assert found[:3] == ["none", "relax.nn.relu", "relax.constant"]
    assert "field of none" in found


def test_what_a_visitor_sees(module: IRModule) -> None:
    seen: list[str] = []

    @visitor
    class Names(PyExprVisitor):
        def visit_call_(self, op: relax.Call) -> None:
            seen.append(op.op.name)
            super().visit_call_(op)

        def visit_constant_(self, op: relax.Call) -> None:
            seen.append(str(op.shape))

        def visit_tuple_(self, op: relax.Call) -> None:
            seen.append(f"tuple of {len(op.args)}")

        def visit_tuple_getitem_(self, op: relax.Call) -> None:
            seen.append("field")

        def visit_var_(self, op: relax.Var) -> None:
            seen.append(op.name_hint)

    visiting = Names()
    visiting.visit_expr(main_of(module))
    assert ["relax.nn.relu", "x"] in [seen[at : at + 2] for at in range(len(seen))]
    assert ["relax.add", "y"] in [seen[at : at + 2] for at in range(len(seen))]
    assert seen.count("field") == 2
    assert "tuple of 2" in seen
    assert "relax.call_tir" in seen
    seen.clear()
    x = relax.Var("x", relax.TensorStructInfo((4,), "float32"))
    visiting.visit_expr(relax.op.nn.relu(x))
    assert seen == ["relax.nn.relu", "x"]


class Other:
    """No mutator."""


class Some(PyExprVisitor):
    def visit_seq_expr_(self, op: object) -> None:
        """Nothing calls this."""


def test_bad_classes() -> None:
    with pytest.raises(TypeError, match="Other must derive from PyExprMutator"):
        mutator(Other)
    with pytest.raises(TypeError, match=r"Some\.visit_seq_expr_ would never be called"):
        visitor(Some)


def test_bad_results(module: IRModule) -> None:
    class Nothing(PyExprMutator):
        def visit_call_(self, call: relax.Call) -> relax.Expr:
            return cast(Any, None)

    with pytest.raises(TypeError, match="visit_call_ must return an expression for rel"):
        Nothing(module).visit_expr(main_of(module))
    rewriter = PyExprMutator(module)
    with pytest.raises(VerifyException, match="there is no function @missing"):
        rewriter.builder_.update_func(relax.GlobalVar("missing"), module["main"])


def test_literals_of_functions_are_refused() -> None:
    text = """
@R.function
def main(x: R.Tensor((4,), "float32")):
    @R.function
    def inner(y: R.Tensor((4,), "float32")):
        return R.add(y, x)
    return inner(x)
"""
    module = parse(text)
    for visiting in (PyExprMutator(module), PyExprVisitor()):
        with pytest.raises(VerifyException, match="is not visited; run relax"):
            visiting.visit_expr(main_of(module))

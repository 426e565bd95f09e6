"""Modules rewritten by mutators, function by function, as programs of TVM do it."""

from __future__ import annotations

import numpy as np
import pytest

from xdsl_tvm import IRModule, interpret, relax
from xdsl_tvm.analysis.structural_equal import assert_structural_equal
from xdsl_tvm.dialects import relax as ops
from xdsl_tvm.relax.expr import Computed
from xdsl_tvm.relax.expr_functor import Call, PyExprMutator, mutator
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
        def visit_call_(self, op: Call) -> relax.Expr:
            if op.op.name == "relax.nn.relu":
                return relax.op.negative(op.args[0])
            return super().visit_call_(op)

        def visit_constant_(self, op: Computed) -> relax.Expr:
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

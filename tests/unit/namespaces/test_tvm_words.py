"""Every public name of TVM's everyday namespaces is here, or says why not."""

from __future__ import annotations

import importlib

import pytest
from xdsl.dialects.builtin import StringAttr, i64
from xdsl.utils.exceptions import VerifyException

import xdsl_tvm as tvm
from xdsl_tvm import relax, tir
from xdsl_tvm.script import parse
from xdsl_tvm.script import tir as T
from xdsl_tvm.script.ir_builder import IRBuilder
from xdsl_tvm.tvm_words import WORDS, has_word, missing, module_of, reason, words


@pytest.mark.parametrize("namespace", WORDS, ids=lambda name: name or "tvm")
def test_names_are_here_or_have_a_reason(namespace: str) -> None:
    module = importlib.import_module(module_of(namespace))
    assert len(words(namespace)) == len(set(words(namespace)))
    here = [name for name in words(namespace) if reason(namespace, name) is None]
    assert here
    for name in words(namespace):
        if name not in here:
            with pytest.raises(AttributeError, match=f"has no '{name}': "):
                getattr(module, name)


@pytest.mark.parametrize("namespace", WORDS, ids=lambda name: name or "tvm")
def test_no_reason_is_stale(namespace: str) -> None:
    """A reason is of a name that TVM has and that is not here."""
    module = importlib.import_module(module_of(namespace))
    refused = [n for n in dir(module) if not n.startswith("_")]
    for name in refused:
        assert " has no '" not in str(missing(namespace, name)), name


def test_other_names() -> None:
    assert has_word("relax", "build")
    assert not has_word("relax", "bulid")
    for module, name, message in (
        (relax, "bulid", "no attribute 'bulid'; did you mean 'build'"),
        (relax.op, "matmull", "no operator relax.op.matmull .did you mean 'matmul'"),
        (tvm, "zzz", "'xdsl_tvm' has no attribute 'zzz'"),
        (tvm, "te", "xdsl_tvm has no 'te': there are no tensor expressions"),
    ):
        with pytest.raises(AttributeError, match=message):
            getattr(module, name)


def test_names_lead_to_one_definition() -> None:
    assert tvm.ir.transform.Sequential is tvm.transform.Sequential
    assert tvm.ir.instrument.PrintAfterAll is tvm.instrument.PrintAfterAll
    assert tvm.runtime.NDArray is tvm.nd.NDArray
    assert tvm.script.parser.tir is tvm.script.tir is T
    assert tvm.ir.IRModule is tvm.IRModule
    assert tvm.register_global_func is tvm.register_func
    assert tvm.transform.PassTimingInstrument is tvm.instrument.PassTimingInstrument
    assert tvm.runtime.vm.VirtualMachine is relax.VirtualMachine
    assert relax.Executable is tvm.runtime.Executable is tvm.Executable
    assert "nvidia/nvidia-a100" in tvm.target.list_tags()
    assert tir.transform.Simplify().name == "tir-simplify"


def test_conditions_are_combined() -> None:
    n = tir.Var("n", "int64")
    low, high = n > 0, n < 8
    assert str(tir.all(low, high)) == str(T.And(low, high))
    assert str(tir.any(low, high, n == 9)) == str(T.Or(T.Or(low, high), n == 9))
    assert tir.all(low) is low
    with pytest.raises(ValueError, match="take a condition at least"):
        tir.any()
    assert str(tir.indexdiv(n, 2)) == str(T.floordiv(n, 2))
    assert str(tir.indexmod(n, 2)) == str(T.floormod(n, 2))


def test_analyses() -> None:
    module = parse("""
@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((4,), "float32")):
        A[0] = T.float32(0)

    @R.function
    def main(x: R.Tensor((4,), "float32")):
        return x
""")
    assert relax.analysis.well_formed(module)
    assert tir.analysis.verify_well_formed(module)
    module["main"].attributes["global_symbol"] = StringAttr("other")
    assert not relax.analysis.well_formed(module)


def test_the_builder_makes_a_module() -> None:
    with IRBuilder() as builder, T.prim_func():
        T.func_name("f")
        data = T.arg("A", T.Buffer((4,), "float32"))
        T.buffer_store(data, 0.0, [0])
    module = builder.get()
    assert isinstance(module, tvm.IRModule)
    assert "A[0] = T.float32(0" in module.script()


def test_expressions_of_tir() -> None:
    n = tir.Var("n", "int64")
    assert n.type == i64
    total = tir.add(n, tir.const(2, "int64")) * tir.convert(3)
    assert total.dtype == "int64"
    assert isinstance(tir.if_then_else(n < 3, n, total), tir.PrimExpr)
    assert tir.const(1.5, "float32").dtype == "float32"
    swap = tir.IndexMap.from_func(lambda i, j: (j, i))
    assert swap.map_indices([1, 2]) == (2, 1)
    x = tir.Var("x", "float32")
    for name in ("exp", "floor", "abs", "tanh", "isnan", "sigmoid"):
        assert isinstance(getattr(tir, name)(x), tir.PrimExpr)
    data = tir.decl_buffer((4,), "float32")
    assert data[0].dtype == "float32"


def test_symbols_are_dimensions() -> None:
    n = tir.Var("n", "int64")
    info = relax.TensorStructInfo((n * 2, 4, n), "float32")
    assert info == relax.TensorStructInfo((relax.sym("n") * 2, 4, "n"), "float32")
    shape = relax.ShapeExpr([n, n + 1])
    assert shape.struct_info == relax.ShapeStructInfo(["n", relax.sym("n") + 1])
    x = relax.Var("x", info)
    flat = relax.op.reshape(x, (n * n * 8,))
    assert flat.struct_info == relax.TensorStructInfo([relax.sym("n") * "n" * 8])
    assert relax.PrimValue(n).struct_info == relax.PrimStructInfo("int64", "n")
    with pytest.raises(VerifyException, match=r"relax\.prim_value: n is an integer"):
        relax.PrimValue(n, "float32")
    with pytest.raises(VerifyException, match="a symbolic dimension is an int64, not a"):
        relax.TensorStructInfo([tir.Var("m", "int32")])


def test_assert_allclose() -> None:
    tvm.testing.assert_allclose(tvm.nd.array([1.0, 2.0]), [1.0, 2.0 + 1e-8])
    for other in ([1.0, 2.1], [1.0], [[1.0, 2.0]]):
        with pytest.raises(AssertionError):
            tvm.testing.assert_allclose([1.0, 2.0], other)

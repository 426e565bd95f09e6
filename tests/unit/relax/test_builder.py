"""Relax programs built in Python: what is built, what it computes, what is refused."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from support.live_scripts import import_text
from support.paths import ROOT
from xdsl.dialects.builtin import ModuleOp, i32, i64
from xdsl.ir import Attribute
from xdsl.parser import Parser
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm import IRModule, relax
from xdsl_tvm.analysis.structural_equal import assert_structural_equal
from xdsl_tvm.dialects import relax as R
from xdsl_tvm.dialects.relax.signatures import OPERATORS
from xdsl_tvm.interpreters.relax import interpret
from xdsl_tvm.registry import new_context
from xdsl_tvm.relax.expr import Computed
from xdsl_tvm.relax.vocabulary import CALLS
from xdsl_tvm.tvmscript import parse, print_script
from xdsl_tvm.tvmscript import relax as script
from xdsl_tvm.tvmscript import tir as T
from xdsl_tvm.tvmscript.builder import IRBuilder
from xdsl_tvm.tvmscript.reading.relax_calls import CONVERSIONS
from xdsl_tvm.tvmscript.reading.relax_vocabulary import vocabulary

F32 = np.float32
_Body: TypeAlias = Callable[[relax.BlockBuilder, relax.Var], object]
MATRIX = relax.TensorStructInfo(("n", 4), "float32")
ROW = relax.TensorStructInfo((4,), "float32")
SCALAR = relax.TensorStructInfo((), "float32")
FLAG = relax.TensorStructInfo((), "bool")


def built(
    body: Callable[[relax.BlockBuilder, relax.Var], relax.Expr | Sequence[relax.Expr]],
    struct_info: Attribute = MATRIX,
    **kwargs: Any,
) -> IRModule:
    """A module with a `main` of one parameter, and the same after print and parse."""
    bb = relax.BlockBuilder()
    x = relax.Var("x", struct_info)
    with bb.function("main", [x], **kwargs):
        bb.emit_func_output(body(bb, x))
    module = bb.get()
    again = Parser(new_context(), str(module)).parse_module()
    assert str(again) == str(module)
    again.verify()
    return module


def run(module: ModuleOp, *arguments: Any) -> Any:
    return interpret(module)["main"](*arguments)


def names(module: ModuleOp) -> list[str]:
    return [op.name for op in module.walk()][2:]


def refused(body: _Body) -> str:
    """The message of the error that a body raises."""
    bb = relax.BlockBuilder()
    x = relax.Var("x", MATRIX)
    with pytest.raises(VerifyException) as error, bb.function("main", [x]):
        body(bb, x)
    message = str(error.value)
    assert "\n" not in message
    # The builder can be used after an error.
    with bb.function("main", [y := relax.Var("y", MATRIX)]):
        bb.emit_func_output(y)
    bb.get()
    return message


X = np.arange(8, dtype=F32).reshape(2, 4) - 3


# ---- bindings ----


def test_emit_names_bindings_and_places_what_they_are_made_of():
    def body(bb: relax.BlockBuilder, x: relax.Var):
        shifted = bb.emit(relax.op.exp(x) + 1.0, name_hint="shifted")
        assert shifted.name_hint == "shifted"
        return shifted

    module = built(body)
    assert names(module) == [
        "relax.exp",
        "relax.constant",
        "relax.add",
        "relax.return",
    ]
    assert "%shifted = relax.add" in str(module)
    np.testing.assert_allclose(run(module, X), np.exp(X) + 1, rtol=1e-6)


def test_what_is_not_emitted_is_not_part_of_the_program():
    def body(bb: relax.BlockBuilder, x: relax.Var):
        unused = relax.op.exp(x)
        assert unused.struct_info == MATRIX
        return bb.emit(relax.op.sin(x))

    module = built(body)
    assert names(module) == ["relax.sin", "relax.return"]
    func = module["main"]
    assert isinstance(func, R.FuncOp)
    assert len(tuple(func.args[0].uses)) == 1


def test_an_expression_is_computed_once_where_it_is_visible():
    def body(bb: relax.BlockBuilder, x: relax.Var):
        shared = relax.op.exp(x)
        return bb.emit(relax.op.add(shared, relax.op.negative(shared)))

    module = built(body)
    assert names(module).count("relax.exp") == 1


def test_an_emitted_expression_is_the_binding():
    def body(bb: relax.BlockBuilder, x: relax.Var):
        e = relax.op.exp(x)
        bb.emit(e, "once")
        return relax.op.negative(e)

    assert names(built(body)).count("relax.exp") == 1


def test_emitting_twice_binds_twice():
    def body(bb: relax.BlockBuilder, x: relax.Var):
        e = relax.op.exp(x)
        return [bb.emit(e), bb.emit(e)]

    assert names(built(body)).count("relax.exp") == 2


def test_a_variable_is_bound_under_another_name():
    def body(bb: relax.BlockBuilder, x: relax.Var):
        return bb.emit(x, "copy")

    module = built(body)
    assert names(module) == ["relax.alias", "relax.return"]
    np.testing.assert_array_equal(run(module, X), X)


def test_a_deep_expression_is_emitted():
    def body(bb: relax.BlockBuilder, x: relax.Var):
        e: relax.Expr = x
        for _ in range(1200):
            e = relax.op.negative(e)
        return e

    np.testing.assert_array_equal(run(built(body), X), X)


def test_match_cast_defines_new_symbols_only():
    def body(bb: relax.BlockBuilder, x: relax.Var):
        y = bb.match_cast(x, relax.TensorStructInfo(("n", "m"), "float32"), "y")
        assert y.shape == (relax.sym("n"), relax.sym("m"))
        return relax.op.reshape(y, [relax.sym("m"), relax.sym("n")])

    module = built(body, relax.TensorStructInfo(("n", 4), "float32"))
    casts = [op for op in module.walk() if isinstance(op, R.MatchCastOp)]
    assert [cast.defined_symbols for cast in casts] == [("m",)]
    np.testing.assert_array_equal(run(module, X), X.reshape(4, 2))


# ---- dataflow blocks ----


def test_dataflow_gives_out_what_is_named():
    def body(bb: relax.BlockBuilder, x: relax.Var):
        with bb.dataflow():
            a = bb.emit(relax.op.exp(x))
            b = bb.emit_output(a)
            c = bb.emit_output(relax.op.negative(a), name_hint="c")
            # Inside the block outputs are values as any other.
            d = bb.emit_output(b + c)
        assert b.value is not None
        assert isinstance(b.value.owner, R.DataflowOp)
        return [b, c, d]

    module = built(body)
    assert names(module).count("relax.dataflow") == 1
    assert "%lv_1 = relax.exp" in str(module)
    b, c, d = run(module, X)
    np.testing.assert_allclose(b, np.exp(X), rtol=1e-6)
    np.testing.assert_allclose(c, -np.exp(X), rtol=1e-6)
    assert not d.any()


def test_symbols_of_a_dataflow_block_stay_visible():
    def body(bb: relax.BlockBuilder, x: relax.Var):
        with bb.dataflow():
            y = bb.emit_output(
                bb.match_cast(x, relax.TensorStructInfo(("n", "m"), "float32"))
            )
        return relax.op.reshape(y, [relax.sym("n") * relax.sym("m")])

    np.testing.assert_array_equal(run(built(body), X), X.ravel())


# ---- choices ----


def test_if():
    def body(bb: relax.BlockBuilder, x: relax.Var):
        with bb.If(relax.op.sum(x) > 0.0, name_hint="chosen") as chosen:
            with bb.Then():
                inner = bb.emit(relax.op.exp(x))
                bb.emit_branch_output(inner)
            with bb.Else():
                with bb.dataflow():
                    negated = bb.emit_output(-x)
                bb.emit_branch_output(negated)
        assert chosen.struct_info == MATRIX
        return chosen + 1.0

    module = built(body)
    assert "%chosen = relax.if" in str(module)
    np.testing.assert_allclose(run(module, X + 3), np.exp(X + 3) + 1, rtol=1e-6)
    np.testing.assert_allclose(run(module, X - 9), 10 - X, rtol=1e-6)


def test_the_type_of_an_if_is_what_its_branches_share():
    def body(bb: relax.BlockBuilder, x: relax.Var):
        with bb.If(relax.op.sum(x) > 0.0) as chosen:
            with bb.Then():
                bb.emit_branch_output(relax.op.reshape(x, (-1,)))
            with bb.Else():
                bb.emit_branch_output(relax.op.max(x, axis=1))
        return chosen

    func = built(body)["main"]
    assert isinstance(func, R.FuncOp)
    assert func.output_type == relax.TensorStructInfo(None, "float32", ndim=1)


# ---- expressions ----

_Y = np.array([3, -1, 2, 5], F32)


_OPERATORS: list[tuple[Callable[[relax.Expr], relax.Expr], Callable[[Any], Any]]] = [
    (lambda x: x + 2, lambda x: x + 2),
    (lambda x: 2 + x, lambda x: 2 + x),
    (lambda x: x - 2, lambda x: x - 2),
    (lambda x: 2 - x, lambda x: 2 - x),
    (lambda x: x * 3.0, lambda x: x * 3),
    (lambda x: 3.0 * x, lambda x: x * 3),
    (lambda x: x / 4, lambda x: x / 4),
    (lambda x: 4 / x, lambda x: 4 / x),
    (lambda x: x // 2, lambda x: x // 2),
    (lambda x: 7 // x, lambda x: 7 // x),
    (lambda x: x % 2, lambda x: np.fmod(x, 2)),
    (lambda x: 7 % x, lambda x: np.fmod(7, x)),
    (lambda x: x**2, lambda x: x**2),
    (lambda x: 2**x, lambda x: 2**x),
    (lambda x: x @ x, lambda x: x @ x),
    (lambda x: -x, lambda x: -x),
    (lambda x: x < 2, lambda x: x < 2),
    (lambda x: x <= 2, lambda x: x <= 2),
    (lambda x: x > 2, lambda x: x > 2),
    (lambda x: x >= 2, lambda x: x >= 2),
    (lambda x: x.astype("int32"), lambda x: x.astype(np.int32)),
    (lambda x: relax.op.add(x1=1, x2=x), lambda x: x + 1),
    (lambda x: relax.Tuple([x, x + 1])[1], lambda x: x + 1),
    (lambda x: relax.Tuple([x, x + 1])[-2], lambda x: x),
    (lambda x: relax.TupleGetItem(relax.Tuple([x]), 0), lambda x: x),
    (lambda x: relax.op.split(x, 2)[1], lambda x: x[2:]),
]


@pytest.mark.parametrize(("build", "expected"), _OPERATORS)
def test_operators_of_expressions(
    build: Callable[[relax.Expr], relax.Expr], expected: Callable[[Any], Any]
):
    result = run(built(lambda _, x: build(x), ROW), _Y)
    np.testing.assert_allclose(result, expected(_Y), rtol=1e-6)
    assert result.dtype == expected(_Y).dtype


def test_scalars_and_shapes():
    def body(bb: relax.BlockBuilder, x: relax.Var):
        n = relax.PrimValue(relax.sym("n"))
        flag = relax.PrimValue(True, "bool")
        return [relax.ShapeExpr(["n", 4]), n + 1, relax.PrimValue(2.5), flag]

    shape, n, half, flag = run(built(body), X)
    assert shape == (2, 4)
    assert n == 3
    assert half == 2.5
    assert flag


def test_fields_of_a_tuple_are_iterated():
    def body(bb: relax.BlockBuilder, x: relax.Var):
        left, right = relax.op.split(x, 2, axis=1)
        return right - left

    np.testing.assert_array_equal(run(built(body), X), np.full((2, 2), 2, F32))


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        (1, None, "int32"),
        (1.5, None, "float32"),
        (True, None, "bool"),
        ([1.5, 2.5], "float16", "float16"),
        (np.arange(3), None, "int64"),
        (np.float64(0.1), None, "float64"),
        (np.arange(6, dtype=np.uint8).reshape(2, 3).T, None, "uint8"),
        (np.array([True, False]), None, "bool"),
        (2.5, i32, "int32"),
    ],
)
def test_constants(value: Any, dtype: Any, expected: str):
    constant = relax.const(value, dtype)
    assert constant.dtype == expected
    assert constant.shape == tuple(map(R.Dim.of, np.shape(value)))
    result = run(built(lambda bb, x: constant), X)
    np.testing.assert_array_equal(result, np.asarray(value).astype(expected))


def test_constants_of_small_floats():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    constant = relax.const([1.0, 2.5], "bfloat16")
    assert constant.dtype == "bfloat16"
    result = run(built(lambda bb, x: constant), X)
    np.testing.assert_array_equal(result, np.array([1, 2.5], ml_dtypes.bfloat16))


# ---- functions ----


def scale() -> ModuleOp:
    with IRBuilder() as builder, T.prim_func():
        T.func_name("scale")
        A = T.arg("A", T.Buffer((4,), "float32"))
        B = T.arg("B", T.Buffer((4,), "float32"))
        with T.serial(4) as i:
            T.buffer_store(B, A[i] * 2.0, [i])
    return builder.get()


def test_functions_call_each_other():
    bb = relax.BlockBuilder()
    m = relax.sym("m")
    y = relax.Var("y", relax.TensorStructInfo((m, 4), "float32"))
    with bb.function("layer", y, private=True):
        layer = bb.emit_func_output(y * 2.0)
    x = relax.Var("x", MATRIX)
    with bb.function("main", x, attrs={"num_input": 1, "tag": ["a"]}):
        result = bb.emit(layer(x))
        assert result.struct_info == MATRIX
        bb.emit_func_output(layer(result))
    module = bb.get()
    assert "global_symbol" not in module["layer"].attributes
    assert str(module["main"].attributes["global_symbol"]) == '"main"'
    assert str(module["main"].attributes["num_input"]) == "1 : i32"
    np.testing.assert_array_equal(run(module, X), X * 4)


def test_call_tir():
    bb = relax.BlockBuilder()
    double = bb.add_func(scale(), "double")
    other = bb.add_func(scale(), "double")
    assert (double.name_hint, other.name_hint) == ("double", "double_1")
    x = relax.Var("x", ROW)
    with bb.function("main", x):
        y = bb.emit(relax.call_tir(double, x, ROW))
        bb.emit_func_output(relax.op.call_tir(other, [y], [ROW])[0])
    module = bb.get()
    symbol = module["double_1"].attributes["global_symbol"]
    assert str(symbol) == '"double_1"'
    np.testing.assert_array_equal(run(module, _Y), _Y * 4)


def test_call_tir_inplace():
    with IRBuilder() as builder, T.prim_func():
        T.func_name("twice")
        A = T.arg("A", T.Buffer((4,), "float32"))
        with T.serial(4) as i:
            T.buffer_store(A, A[i] * 2.0, [i])
    bb = relax.BlockBuilder()
    twice = bb.add_func(builder.get(), "twice")
    x = relax.Var("x", ROW)
    with bb.function("main", x):
        fresh = bb.emit(x + 1.0)
        bb.emit_func_output(relax.call_tir_inplace(twice, [fresh], 0, ROW))
    np.testing.assert_array_equal(run(bb.get(), _Y), (_Y + 1) * 2)


def test_functions_of_the_runtime():
    bb = relax.BlockBuilder()
    x = relax.Var("x", ROW)
    with bb.function("main", x, pure=False):
        a = bb.emit(relax.call_pure_packed("my.twice", x, sinfo_args=ROW))
        b = bb.emit(relax.call_packed("my.twice", a, sinfo_args=ROW))
        c = bb.emit(relax.call_dps_packed("my.fill", [b], ROW))
        bb.emit(relax.op.print(c, format="{}"))
        bb.emit(relax.op.assert_op(relax.op.max(c) > 0.0, c, "positive"))
        bb.emit_func_output(c)

    def fill(source: Any, out: Any) -> None:
        out[:] = source

    def twice(source: Any) -> Any:
        return source * 2

    printed: list[object] = []
    externs = {"my.twice": twice, "my.fill": fill, "relax.run.print": printed.append}
    module = bb.get()
    assert "relax.print" in str(module)
    main = interpret(module, externs={**externs, "relax.run.print": lambda *a: None})
    np.testing.assert_array_equal(main["main"](_Y), _Y * 4)


def test_memory_and_closures():
    bb = relax.BlockBuilder()
    op, x = relax.op, relax.Var("x", ROW)
    with bb.function("helper", y := relax.Var("y", ROW), private=True):
        bb.emit_func_output(y)
    with bb.function("main", x, pure=False):
        storage = bb.emit(op.memory.alloc_storage([64], 0, "global", "float32"))
        part = bb.emit(op.memory.alloc_tensor(storage, relax.PrimValue(16), [4], "int8"))
        bb.emit(op.memory.kill_tensor(part))
        bb.emit(op.memory.kill_storage(storage))
        size = relax.ShapeExpr([64])
        raw = bb.emit(op.vm.alloc_storage(size, 0, "uint8"))
        bb.emit(op.vm.alloc_tensor(raw, 0, relax.ShapeExpr([2, 8]), "float32"))
        bb.emit(op.vm.kill_object(raw))
        fresh = bb.emit(op.builtin.alloc_tensor(size, "float16"))
        bb.emit(
            op.call_inplace_packed(
                "f", fresh, inplace_indices=0, sinfo_args=fresh.struct_info
            )
        )
        bb.emit(op.null_value())
        closure = bb.emit(op.make_closure(relax.GlobalVar("helper"), [x]))
        bb.emit(op.invoke_pure_closure(closure, [], ROW))
        bb.emit(op.invoke_closure(closure, [], [ROW, ROW]))
        bb.emit(op.call_builtin_with_ctx("vm.builtin.f", [x]))
        bb.emit_func_output(x)
    text = str(bb.get())
    assert text.count(" = relax.shape [64]") == 1
    for written in (
        'relax.memory.alloc_storage 64 on 0 scope "global" dtype f32',
        "relax.memory.alloc_tensor %gv at 16 : !relax.object -> tensor<4xi8>",
        "relax.memory.kill_tensor %gv",
        "relax.memory.kill_storage %gv :",
        "relax.vm.alloc_storage %gv",
        "-> tensor<2x8xf32>",
        "relax.vm.kill_object %gv",
        'relax.builtin.alloc_tensor on 0 scope "global" : tensor<64xf16>',
        'relax.call_inplace_packed "f"(',
        "relax.null_value",
        "relax.make_closure @helper(%x)",
        "relax.invoke_pure_closure %gv",
        "-> !relax.tuple<tensor<4xf32>, tensor<4xf32>>",
        'relax.call_builtin_with_ctx "vm.builtin.f"(%x)',
    ):
        assert written in text, text


def test_calls_with_gradients_and_of_the_machine():
    bb = relax.BlockBuilder()
    twice = bb.add_func(scale(), "twice")
    x = relax.Var("x", ROW)
    with bb.function("main", x, pure=False):
        grad = relax.call_tir_with_grad(twice, x, ROW, "g", {"k": 1})
        out = bb.emit(grad)
        bb.emit(relax.op.vm.call_tir_dyn(twice, [x, out, relax.ShapeExpr([])]))
        bb.emit_func_output(out)
    text = str(bb.get())
    assert "relax.call_tir_with_grad @twice(%x)" in text
    assert "relax.vm.call_tir_dyn @twice(%x, %gv, " in text


def test_functions_that_are_made_of_operators():
    def body(bb: relax.BlockBuilder, x: relax.Var):
        weight = relax.const(np.arange(12).reshape(3, 4), "float32")
        scores = bb.emit(relax.op.linear(x, weight, relax.const([1.0, 2.0, 3.0])))
        return bb.emit(relax.op.masked_fill(scores, scores < 0.0, -1))

    found = run(built(body), X)
    scores = X @ np.arange(12).reshape(3, 4).T + np.array([1, 2, 3])
    np.testing.assert_allclose(found, np.where(scores < 0, -1, scores))


def test_the_length_of_a_range_of_floats():
    def body(bb: relax.BlockBuilder, x: relax.Var):
        numbers = bb.emit(relax.op.arange(0, 10, 2.5))
        assert numbers.shape == (R.Dim.constant(4),)
        return numbers

    np.testing.assert_array_equal(run(built(body), X), [0, 2.5, 5, 7.5])


def test_an_impure_function_is_forced_pure():
    def body(bb: relax.BlockBuilder, x: relax.Var):
        bb.emit(relax.op.print(x))
        return x

    built(body, attrs={"relax.force_pure": True})


def test_a_module_can_be_built_further():
    bb = relax.BlockBuilder()
    with bb.function("a", [x := relax.Var("x", ROW)]):
        bb.emit_func_output(x)
    first = bb.get()
    with bb.function("b", [y := relax.Var("y", ROW)]):
        bb.emit_func_output(y)
    assert len(first.body.block.ops) == 1
    assert len(bb.finalize().body.block.ops) == 2


def test_a_relax_function_is_added():
    bb = relax.BlockBuilder()
    layer = bb.add_func(built(lambda bb, x: x * 2.0)["main"], "layer")
    with bb.function("main", [x := relax.Var("x", MATRIX)]):
        bb.emit_func_output(layer(x))
    np.testing.assert_array_equal(run(bb.get(), X), X * 2)


# ---- struct info ----


@pytest.mark.parametrize(
    ("info", "text"),
    [
        (relax.TensorStructInfo(), "tensor<*xf32>"),
        (relax.TensorStructInfo(dtype=None), "tensor<*x!relax.any>"),
        (relax.TensorStructInfo(dtype="void", ndim=2), "tensor<?x?x!relax.any>"),
        (relax.TensorStructInfo((2, 3), i64), "tensor<2x3xi64>"),
        (
            relax.TensorStructInfo((relax.sym("n") * 2, 3), "int8", ndim=2),
            "tensor<?x3xi8, #relax.dims<[n * 2, 3]>>",
        ),
        (
            relax.TensorStructInfo((2,), "int8", R.VDeviceAttr.of("cuda")),
            'tensor<2xi8, #relax.placed<[2], #relax.vdevice<"cuda", 0, "global">>>',
        ),
        (relax.ShapeStructInfo(), "!relax.shape<*>"),
        (relax.ShapeStructInfo(ndim=1), "!relax.shape<[?]>"),
        (relax.ShapeStructInfo(("n", 1)), "!relax.shape<[n, 1]>"),
        (relax.PrimStructInfo(), "!relax.prim<i64>"),
        (relax.PrimStructInfo("int32", "n"), "!relax.prim<i32, n>"),
        (relax.TupleStructInfo([FLAG]), "!relax.tuple<tensor<i1>>"),
        (
            relax.FuncStructInfo([FLAG], SCALAR, purity=False),
            "!relax.func<(tensor<i1>) -> tensor<f32>, impure>",
        ),
        (relax.ObjectStructInfo(), "!relax.object"),
    ],
)
def test_struct_info(info: Attribute, text: str):
    assert str(info) == text
    assert relax.Var("x", info).struct_info == info


_WRONG_LEAVES: list[tuple[Callable[[], object], str]] = [
    (lambda: relax.TensorStructInfo((2,), "float33"), "unknown dtype 'float33'"),
    (lambda: relax.TensorStructInfo((2,), "handle"), "dtype must be an integer"),
    (lambda: relax.TensorStructInfo(("2 x",)), "'2 x' cannot name a symbolic"),
    (lambda: relax.TensorStructInfo((2,), ndim=3), "has not ndim 3"),
    (lambda: relax.PrimStructInfo("void"), "a scalar needs a dtype"),
    (lambda: relax.sym("min"), "'min' cannot name a symbolic dimension"),
    (lambda: relax.Var("a b", ROW), "'a b' cannot name a relax.Var"),
    (lambda: relax.ShapeExpr(["2 x"]), "relax.shape: '2 x' cannot name"),
    (lambda: relax.PrimValue("n", "float32"), "relax.prim_value: n is an integer"),
    (lambda: relax.const([1.5], "void"), "dtype cannot be void"),
    (lambda: relax.const(np.array(["a"])), "unknown dtype"),
    (lambda: relax.const([1], "int7"), "there are no arrays of int7"),
]


@pytest.mark.parametrize(("make", "message"), _WRONG_LEAVES)
def test_struct_info_and_leaves_that_are_refused(
    make: Callable[[], object], message: str
):
    with pytest.raises(VerifyException) as error:
        make()
    assert message in str(error.value)
    assert "\n" not in str(error.value)


# ---- what is refused ----


def test_operators_that_do_not_exist():
    with pytest.raises(AttributeError, match=r"no operator relax\.op\.conv2d"):
        _ = relax.op.conv2d
    with pytest.raises(AttributeError, match=r"no operator relax\.op\.nn\.add"):
        _ = relax.op.nn.add
    with pytest.raises(AttributeError, match=r"no operator relax\.op\.nn$"):
        relax.op.nn(1)


def test_all_operators_are_found():
    for name in OPERATORS:
        found = relax.op
        for part in name.split("."):
            assert part in dir(found)
            found = getattr(found, part)
        assert repr(found) == f"relax.op.{name}"
    assert "call_tir" in dir(relax.op)


def test_operators_tell_what_they_are():
    doc = relax.op.nn.conv2d.__doc__
    assert doc is not None
    assert "strides=1, padding=0" in doc
    assert "TVM's `relax.nn.conv2d`" in doc
    assert repr(relax.op.nn.conv2d) == "relax.op.nn.conv2d"


_WRONG_EXPRESSIONS: list[tuple[Callable[[relax.Expr], object], str]] = [
    (lambda x: relax.op.add(x, relax.const([1, 2])), "must have one dtype"),
    (lambda x: relax.op.add(x, relax.const([1.0, 2.0])), "cannot be both 4 and 2"),
    (lambda x: x.astype("int32") + 1.5, "1.5 is no value of int32"),
    (lambda x: relax.op.add(x, "1"), "argument 'x2' must be a value, not '1'"),
    (lambda x: x[0], "is no tuple"),
    (lambda x: list(x), "is no tuple and has no fields"),
    (lambda x: relax.Tuple([x])[1], "there is no field 1 in a tuple of 1"),
    (lambda x: relax.Tuple([x]).shape, "has no known shape"),
    (lambda x: relax.Tuple([x]).dtype, "has no known dtype"),
    (bool, "an expression has no truth value"),
    (lambda x: relax.op.nn.conv2d(x, x), "relax.nn.conv2d: "),
]


@pytest.mark.parametrize(("make", "message"), _WRONG_EXPRESSIONS)
def test_expressions_that_are_refused(make: Callable[[relax.Expr], object], message: str):
    with pytest.raises(VerifyException) as error:
        make(relax.Var("x", MATRIX))
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def _nested_function(bb: relax.BlockBuilder, x: relax.Var) -> None:
    with bb.function("inner"):
        pass


def _nested_dataflow(bb: relax.BlockBuilder, x: relax.Var) -> None:
    with bb.dataflow(), bb.dataflow():
        pass


def _in_dataflow(
    body: _Body,
) -> Callable[[relax.BlockBuilder, relax.Var], None]:
    def wrapped(bb: relax.BlockBuilder, x: relax.Var) -> None:
        with bb.dataflow():
            body(bb, x)

    return wrapped


def _value_of_a_closed_block(bb: relax.BlockBuilder, x: relax.Var) -> None:
    with bb.dataflow():
        hidden = bb.emit(relax.op.exp(x))
    bb.emit(-hidden)


def _value_of_a_branch(bb: relax.BlockBuilder, x: relax.Var) -> None:
    with bb.If(relax.op.sum(x) > 0.0):
        with bb.Then():
            hidden = bb.emit(relax.op.exp(x))
            bb.emit_branch_output(hidden)
        with bb.Else():
            bb.emit_branch_output(hidden)


def _if(bb: relax.BlockBuilder, x: relax.Var) -> None:
    with bb.If(relax.op.sum(x) > 0.0):
        pass


def _emit_in_if(bb: relax.BlockBuilder, x: relax.Var) -> None:
    with bb.If(relax.op.sum(x) > 0.0):
        bb.emit(x)


def _then_without_result(bb: relax.BlockBuilder, x: relax.Var) -> None:
    with bb.If(relax.op.sum(x) > 0.0), bb.Then():
        bb.emit(x)


def _then_twice(bb: relax.BlockBuilder, x: relax.Var) -> None:
    with bb.If(relax.op.sum(x) > 0.0):
        for _ in range(2):
            with bb.Then():
                bb.emit_branch_output(x)


def _then_alone(bb: relax.BlockBuilder, x: relax.Var) -> None:
    with bb.Then():
        pass


def _behind_the_result(bb: relax.BlockBuilder, x: relax.Var) -> None:
    bb.emit_func_output(x)
    bb.emit(-x)


_WRONG_BINDINGS: list[tuple[_Body, str]] = [
    (lambda bb, x: None, "@main: the result is missing; call emit_func_output"),
    (_nested_function, "@inner: @main is not finished yet"),
    (lambda bb, x: bb.get(), "@main is not finished yet"),
    (_nested_dataflow, "a dataflow block cannot be in another one"),
    (
        _in_dataflow(lambda bb, x: bb.emit_func_output(x)),
        "emit_func_output must be directly in a function",
    ),
    (
        _in_dataflow(lambda bb, x: bb.emit(relax.op.print(x))),
        "relax.print in @main is impure and is in a dataflow block",
    ),
    (_in_dataflow(_if), "relax.if is in a dataflow block"),
    (
        lambda bb, x: bb.emit(relax.op.print(x)),
        "relax.print in @main is impure and the function is not; build it with pure=",
    ),
    (lambda bb, x: bb.emit_output(x), "must be in `with bb.dataflow():`"),
    (
        lambda bb, x: bb.emit(relax.op.zeros(["m"], "int8")),
        "relax.shape: the symbolic dimension 'm' has no value here",
    ),
    (
        lambda bb, x: bb.emit(relax.PrimValue("m")),
        "relax.prim_value: the symbolic dimension 'm' has no value here",
    ),
    (
        lambda bb, x: bb.match_cast(x, relax.TensorStructInfo((relax.sym("m") * 2, 4))),
        "relax.match_cast: the symbolic dimension 'm' has no value here",
    ),
    (lambda bb, x: bb.match_cast(x, SCALAR), "relax.match_cast: "),
    (
        lambda bb, x: bb.emit(-relax.Var("y", ROW)),
        "relax.Var 'y' has no value: it is no parameter of the function",
    ),
    (_value_of_a_closed_block, "relax.Var 'lv' is not visible here"),
    (_value_of_a_branch, "relax.Var 'gv' is not visible here"),
    (
        lambda bb, x: bb.emit(x, name_hint="a b"),
        "relax.alias: 'a b' cannot be the name of a variable",
    ),
    (_if, "relax.if: it needs both"),
    (_emit_in_if, "emit must be in a Then or an Else of the If"),
    (_then_without_result, "the result of Then is missing"),
    (_then_twice, "relax.if: Then is there twice"),
    (_then_alone, "Then must be directly in `with bb.If"),
    (
        lambda bb, x: bb.If(x).__enter__(),
        "relax.if: the condition must be a tensor of rank 0 of bool",
    ),
    (_behind_the_result, "emit is after the result of its function"),
    (
        lambda bb, x: bb.emit(relax.GlobalVar("f")(x)),
        "relax.call: @f is no Relax function; use relax.call_tir",
    ),
    (
        lambda bb, x: bb.emit(
            relax.call_tir(relax.GlobalVar("f"), x, relax.ObjectStructInfo())
        ),
        "relax.call_tir: the result must be tensors",
    ),
]


@pytest.mark.parametrize(("body", "message"), _WRONG_BINDINGS)
def test_bindings_that_are_refused(body: _Body, message: str):
    assert message in refused(body)


def test_a_block_that_an_error_left_is_closed():
    def body(bb: relax.BlockBuilder, x: relax.Var):
        for _ in range(2):
            with pytest.raises(VerifyException, match="'m' has no value"), bb.dataflow():
                bb.emit(relax.op.zeros(["m"], "int8"))
        missing = pytest.raises(VerifyException, match="result of Then is missing")
        with missing, bb.If(relax.op.sum(x) > 0.0), bb.Then():
            bb.emit(-x)
        return bb.emit(relax.op.exp(x))

    assert names(built(body))[-2:] == ["relax.exp", "relax.return"]


def test_what_a_call_without_result_gives_cannot_be_used():
    bb = relax.BlockBuilder()
    x = relax.Var("x", ROW)
    with bb.function("main", x, pure=False):
        nothing = bb.emit(relax.op.print(x))
        with pytest.raises(VerifyException, match="'void' stands for what has no result"):
            bb.emit(relax.Tuple([nothing]))
        with pytest.raises(VerifyException, match=r"relax\.print gives nothing"):
            bb.emit(relax.Tuple([relax.op.print(x)]))
        bb.emit_func_output(x)


def test_functions_that_are_refused():
    bb = relax.BlockBuilder()
    x = relax.Var("x", ROW)
    with bb.function("f", x):
        z = bb.emit(relax.op.exp(x), "z")
        f = bb.emit_func_output(x)
    y = relax.Var("y", ROW)
    for make, message in (
        (lambda: bb.function("f"), "relax.func @f: there is such a function already"),
        (lambda: bb.function("g", z), "'z' cannot be a parameter, it has a value"),
        (lambda: bb.function("g", [y, y]), "a parameter is there twice"),
        (lambda: bb.function("g", attrs={"a": object()}), "relax.func @g: a: a value of"),
    ):
        with pytest.raises(VerifyException, match=re.escape(message)), make():
            pass
    for added, message in (
        (ModuleOp([]), "the module must hold one function, not 0"),
        (R.TupleOp([]), "'g' must be a function of tir or relax, not relax.tuple"),
    ):
        with pytest.raises(VerifyException, match=message):
            bb.add_func(added, "g")
    with pytest.raises(VerifyException, match="f takes 1 arguments, 2 are given"):
        f(relax.Var("a", ROW), relax.Var("b", ROW))
    with pytest.raises(VerifyException, match="argument 0 of function f must be"):
        f(relax.Var("a", FLAG))
    with pytest.raises(VerifyException, match="emit must be in"):
        bb.emit(relax.const(1))


def test_a_wrong_call_of_a_tir_function_is_found_in_the_module():
    bb = relax.BlockBuilder()
    function = bb.add_func(scale(), "double")
    with bb.function("main", [x := relax.Var("x", ROW)]):
        bb.emit_func_output(relax.call_tir(function, [x, x], ROW))
    with pytest.raises(VerifyException, match=r"^relax.call_tir: @double has 2 param"):
        bb.get()


def test_parameters_of_a_finished_function_are_those_of_another():
    x = relax.Var("x", ROW)
    exp = relax.op.exp(x)
    bb, other = relax.BlockBuilder(), relax.BlockBuilder()
    with bb.function("f", x):
        with pytest.raises(VerifyException, match="'x' cannot"), other.function("f", x):
            pass
        bb.emit_func_output(exp)
    with bb.function("g", x):
        bb.emit_func_output(bb.emit(exp * 2.0))
    value = np.arange(4, dtype=np.float32)
    run = interpret(bb.get())
    for name, factor in (("f", 1), ("g", 2)):
        result = run[name](value)
        np.testing.assert_allclose(result, np.exp(value) * factor, rtol=1e-6)


def test_a_parameter_of_another_function_is_refused():
    bb = relax.BlockBuilder()
    x = relax.Var("x", ROW)
    with bb.function("f", x):
        bb.emit_func_output(x)
    invisible = pytest.raises(VerifyException, match="'x' is not visible here")
    with invisible, bb.function("g"):
        bb.emit(-x)


def test_numbers_and_arrays_beside_expressions():
    small = relax.Var("small", relax.TensorStructInfo((4,), "int8"))
    for expr in (small + np.int64(3), np.int64(3) + small):
        assert expr.struct_info == small.struct_info
    array: Any = np.zeros(4)
    for apply in (operator.add, operator.mul):
        for operands in ((array, small), (small, array)):
            with pytest.raises(VerifyException, match=r"must be a value, not array"):
                apply(*operands)
    with pytest.raises(VerifyException, match="int8 does not hold 300; give a dtype"):
        operator.add(small, 300)


@pytest.mark.parametrize(
    ("value", "dtype", "text"),
    [
        (2**40, None, "int32 does not hold 1099511627776"),
        ([1, -1], "uint8", r"uint8 does not hold \[1, -1\]"),
        (2**64, "int64", "int64 does not hold 18446744073709551616"),
        ([[1], [2, 3]], None, "rows must have equal lengths"),
    ],
)
def test_constants_that_no_dtype_holds(value: Any, dtype: str | None, text: str):
    with pytest.raises(VerifyException, match=text):
        relax.const(value, dtype)


def test_arrays_are_converted_as_numpy_does():
    constant = relax.const(np.asarray(300), "int8")
    assert isinstance(constant, Computed)
    assert "dense<44>" in str(constant.op)


def test_what_is_no_expression_or_no_dimension():
    untyped: Any = relax
    bb = untyped.BlockBuilder()
    x = untyped.Var("x", ROW)
    with bb.function("main", x):
        for value in (None, 3, np.zeros(3), [x, 3]):
            with pytest.raises(VerifyException, match="is no expression"):
                bb.emit(value)
        with pytest.raises(VerifyException, match="True is no expression"), bb.If(True):
            pass
        with pytest.raises(VerifyException, match="must be what add_func gave, not 'f'"):
            untyped.call_tir("f", [x], ROW)
        bb.emit_func_output([x, [x, x]])
    for make, text in (
        (lambda: untyped.Tuple([None]), "None is no expression"),
        (lambda: x[0:2], "a field has an integer as its index, not slice"),
        (lambda: untyped.PrimValue(None), "relax.prim_value: a number or a symbol"),
        (lambda: untyped.ShapeExpr([1.5]), "relax.shape: 1.5 is no dimension"),
        (lambda: untyped.ShapeExpr([None]), "relax.shape: every dimension must be known"),
        (lambda: untyped.TensorStructInfo((-1,)), "a dimension cannot be -1; give one"),
        (lambda: untyped.TensorStructInfo((1.5,)), "1.5 is no dimension"),
    ):
        with pytest.raises(VerifyException, match=text):
            make()


def test_parameters_that_are_refused():
    bb: Any = relax.BlockBuilder()
    with (
        pytest.raises(VerifyException, match=r"must be a relax\.Var, not <expression of"),
        bb.function("main", [relax.const(1)]),
    ):
        pass
    with pytest.raises(VerifyException, match="it needs a name"), bb.function(""):
        pass


def test_parameters_of_a_function_that_fails_can_be_used_again():
    bb = relax.BlockBuilder()
    x = relax.Var("x", ROW)
    missing = pytest.raises(VerifyException, match="the result is missing")
    with missing, bb.function("main", x):
        bb.emit(relax.op.exp(x))
    with bb.function("main", x):
        bb.emit_func_output(relax.op.exp(x))
    assert list(interpret(bb.get())) == ["main"]


def test_annotations_of_scripts_with_variables() -> None:
    """`n = T.int64()` is a dimension, and each such variable one of its own."""
    n, m = T.int64(), T.int64()
    x = relax.Var("x", script.Tensor((n, 784), "float32"))
    y = relax.Var("_1", script.Tensor((n, m), "float32"))
    assert x.shape[0] == y.shape[0] != y.shape[1]
    bb = relax.BlockBuilder()
    with bb.function("main", [x, y]):
        bb.emit_func_output(bb.emit(relax.op.add(x, x)))
    module = bb.get()
    module.verify()
    module.clone()
    again = parse(print_script(module))
    assert_structural_equal(module, again)
    found = run(module, np.ones((2, 784), F32), np.ones((2, 3), F32))
    assert found.tolist() == [[2] * 784] * 2
    with pytest.raises(VerifyException, match="a int annotates nothing in Relax"):
        relax.Var("x", 4)


# ---- the vocabulary that the builder and scripts share ----

_SCRIPT = """
from xdsl_tvm import relax

@I.ir_module
class Module:
    @T.prim_func(private=True)
    def scale(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = A[i] * T.float32(2)

    @R.function
    def main(x: R.Tensor((4,), "float32"), f: R.Callable((R.Object,), R.Object)):
        y = {R}.add(x, {R}.const(1, "float32"))
        with R.dataflow():
            lv = {call}.call_tir(Module.scale, (y,), R.Tensor((4,), "float32"))
            pair = {tuple}(lv, {R}.exp(x))
            z = {call}.call_pure_packed("f", pair[1], sinfo_args=R.Tensor((4,)))
            R.output(z)
        w = {R}.linear(z, {R}.const([1.0, 2.0, 3.0, 4.0]))
        u = f(w)
        return u
"""


def test_calls_of_the_builder_are_those_of_scripts_where_one_is_read(tmp_path: Path):
    words = {
        "R": {"R": "R", "call": "R", "tuple": "R.tuple"},
        "relax": {"R": "relax.op", "call": "relax", "tuple": "R.tuple"},
    }
    found: dict[str, str] = {}
    for name, given in words.items():
        text = _SCRIPT.replace("{R}.const", "{const}").format(
            **given, const="relax.const" if name == "relax" else "R.const"
        )
        found[name] = str(import_text(tmp_path, text).Module)
    assert found["R"] == found["relax"]
    assert "relax.call_indirect" in found["R"]


def test_scripts_convert_every_kind_of_argument():
    """Nothing in the table of calls is known to the builder only."""
    for name, call in CALLS.items():
        assert name in vocabulary()
        for parameter in call.parameters:
            assert parameter.is_variadic or parameter.kind in CONVERSIONS, call


def test_the_builder_knows_no_loaded_modules():
    """What a script means is told to the builder; it does not look around for scripts."""
    for file in (ROOT / "relax").glob("*.py"):
        assert "sys.modules" not in file.read_text(), file


def test_values_that_are_functions_are_called():
    def body(bb: relax.BlockBuilder, x: relax.Var):
        return bb.emit(f(x, [x, x])[-1])

    f = relax.Var(
        "f",
        relax.FuncStructInfo(
            [MATRIX, relax.TupleStructInfo([MATRIX, MATRIX])],
            relax.TupleStructInfo([SCALAR, MATRIX]),
        ),
    )
    bb = relax.BlockBuilder()
    x = relax.Var("x", MATRIX)
    with bb.function("main", [x, f]):
        bb.emit_func_output(body(bb, x))
    assert names(bb.get())[-4:] == [
        "relax.tuple",
        "relax.call_indirect",
        "relax.get_item",
        "relax.return",
    ]
    with pytest.raises(VerifyException, match="cannot be called"):
        x(x)

"""Graphs of torch to modules, written by hand: parameters, results, what is refused."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr

from xdsl_tvm import interpret
from xdsl_tvm.dialects.ir_module import IRModule
from xdsl_tvm.dialects.relax import FuncOp
from xdsl_tvm.dialects.relax.symbolic import Dim, DimLike
from xdsl_tvm.frontend.torch import TorchError, detach_params, from_exported_program
from xdsl_tvm.frontend.torch.convert import from_graph
from xdsl_tvm.frontend.torch.graph import Graph, GraphNode, Input, Meta, Ref, TensorMeta

Array = np.ndarray[Any, Any]


def meta(*dims: DimLike, dtype: str = "float32", layout: str = "strided") -> TensorMeta:
    return TensorMeta(tuple(map(Dim.of, dims)), dtype, layout=layout)


def user(name: str, *dims: DimLike, dtype: str = "float32") -> Input:
    return Input(name, "user", meta(*dims, dtype=dtype))


def node(
    name: str, target: str, result: Meta | Sequence[Meta], where: str = "", **args: object
) -> GraphNode:
    return GraphNode(name, target, args, result, where)


WEIGHT = np.arange(8, dtype=np.float32).reshape(2, 4)
BIAS = np.array([1, -1], np.float32)
HELD = [
    Input("p_weight", "parameter", meta(2, 4), "layer.weight", WEIGHT),
    Input("b_bias", "buffer", meta(2), "layer.bias", BIAS),
]


def layer(*dims: DimLike) -> Graph:
    """x W^T + b, where b is a buffer, on rows of four elements."""
    product = node(
        "linear",
        "aten.linear.default",
        meta(*dims, 2),
        input=Ref("x"),
        weight=Ref("p_weight"),
        bias=Ref("b_bias"),
    )
    return Graph([*HELD, user("x", *dims, 4)], [product], [Ref("linear")])


def main_of(module: IRModule) -> FuncOp:
    (func,) = module.body.block.ops
    assert isinstance(func, FuncOp)
    return func


def run(graph: Graph, *inputs: object, **options: bool) -> Any:
    return interpret(from_graph(graph, **options))["main"](*inputs)


X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)


# ---- the function ----


def test_the_signature_is_that_of_tvm() -> None:
    parameters = inspect.signature(from_exported_program).parameters
    assert list(parameters) == [
        "exported_program",
        "keep_params_as_input",
        "unwrap_unit_return_tuple",
        "no_bind_return_tuple",
        # Not TVM's: it has no random operators.
        "seed",
    ]
    for name in list(parameters)[1:]:
        assert parameters[name].kind is inspect.Parameter.KEYWORD_ONLY
        assert not parameters[name].default


def test_what_the_program_holds_becomes_constants() -> None:
    (found,) = run(layer(3), X)
    np.testing.assert_allclose(found, X @ WEIGHT.T + BIAS, rtol=1e-6)


def test_parameters_can_stay_inputs() -> None:
    module = from_graph(layer(3), keep_params_as_input=True)
    func = main_of(module)
    assert len(func.body.block.args) == 2
    assert func.attributes["num_input"] == IntegerAttr(1, 32)
    plain, params = detach_params(module)
    assert "params" not in main_of(plain).attributes
    (weight,) = params["main"]
    np.testing.assert_array_equal(weight, WEIGHT)
    (found,) = interpret(plain)["main"](X, weight * 2)
    np.testing.assert_allclose(found, X @ WEIGHT.T * 2 + BIAS, rtol=1e-6)


def test_a_tuple_of_one_can_be_unwrapped() -> None:
    found = run(layer(3), X, unwrap_unit_return_tuple=True)
    assert isinstance(found, np.ndarray)
    both = Graph(layer(3).inputs, layer(3).nodes, [Ref("linear"), Ref("x")])
    assert len(run(both, X, unwrap_unit_return_tuple=True)) == 2


def test_the_tuple_can_be_made_where_the_function_returns() -> None:
    module = from_graph(layer(3), no_bind_return_tuple=True)
    names = [op.name for op in main_of(module).body.block.ops]
    assert names == ["relax.dataflow", "relax.tuple", "relax.return"]
    assert len(interpret(module)["main"](X)) == 1


def test_dynamic_dimensions_are_symbols_with_their_bounds() -> None:
    graph = layer("batch")
    bounded = Graph(graph.inputs, graph.nodes, graph.outputs, {"batch": (2, 64)})
    func = main_of(from_graph(bounded))
    assert func.attributes["tir_var_upper_bound"] == DictionaryAttr(
        {"batch": IntegerAttr(64, 32)}
    )
    assert "#relax.dims<[batch, 2]>" in str(func.type.ret)
    for rows in (1, 5):
        (found,) = run(bounded, np.ones((rows, 4), np.float32))
        assert found.shape == (rows, 2)
    unbounded = Graph(graph.inputs, graph.nodes, graph.outputs, {"batch": (2, None)})
    assert "tir_var_upper_bound" not in main_of(from_graph(unbounded)).attributes


def test_sizes_are_arguments_and_results() -> None:
    size = node("size", "aten.sym_size.int", Dim.symbol("n"), self=Ref("x"), dim=0)
    twice = node("twice", "mul", Dim.symbol("n") * 2)
    view = node(
        "view",
        "aten.view.default",
        meta(Dim.symbol("n") * 2, 2),
        self=Ref("x"),
        size=[Ref("twice"), 2],
    )
    scaled = node(
        "scaled",
        "aten.mul.Tensor",
        meta(Dim.symbol("n") * 2, 2),
        self=Ref("view"),
        other=Ref("size"),
    )
    outputs = [Ref("scaled"), Ref("twice"), 7, True]
    graph = Graph([user("x", "n", 4)], [size, twice, view, scaled], outputs)
    found, count, seven, true = run(graph, X)
    np.testing.assert_allclose(found, X.reshape(6, 2) * 3)
    assert (count, seven, true) == (6, 7, True)


def test_an_integer_input_is_a_symbol() -> None:
    graph = Graph(
        [user("x", 3, 4), Input("k", "user", Dim.symbol("k"))],
        [node("y", "aten.mul.Tensor", meta(3, 4), self=Ref("x"), other=Ref("k"))],
        [Ref("y")],
    )
    (found,) = run(graph, X, 5)
    np.testing.assert_allclose(found, X * 5)


def test_names_that_are_no_names_of_variables_are_replaced() -> None:
    graph = Graph([user("1.x", 2), user("v1_x", 2)], [], [Ref("1.x"), Ref("v1_x")])
    one, two = run(graph, np.zeros(2, np.float32), np.ones(2, np.float32))
    assert one.tolist() == [0, 0]
    assert two.tolist() == [1, 1]


def test_one_of_several_results() -> None:
    both = node(
        "max",
        "aten.max.dim",
        [meta(3), meta(3, dtype="int64")],
        self=Ref("x"),
        dim=1,
        keepdim=False,
    )
    second = node("at", "getitem", meta(3, dtype="int64"), self=Ref("max"), index=1)
    graph = Graph([user("x", 3, 4)], [both, second], [Ref("at")])
    (found,) = run(graph, X)
    assert found.tolist() == [3, 3, 3]


def test_a_number_of_elements_that_only_the_run_knows() -> None:
    mask = node(
        "mask", "aten.gt.Scalar", meta(3, 4, dtype="bool"), self=Ref("x"), other=0
    )
    rows = node(
        "rows", "aten.index.Tensor", meta("u0"), self=Ref("x"), indices=[Ref("mask")]
    )
    total = node("total", "aten.sum.default", meta(), self=Ref("rows"))
    graph = Graph([user("x", 3, 4)], [mask, rows, total], [Ref("rows"), Ref("total")])
    found, count = run(graph, X)
    np.testing.assert_array_equal(found, X[X > 0])
    np.testing.assert_allclose(count, X[X > 0].sum(), rtol=1e-6)


def test_an_element_becomes_a_size() -> None:
    item = node("item", "aten.item.default", Dim.symbol("u0"), self=Ref("k"))
    filled = node("y", "aten.ones.default", meta("u0"), size=[Ref("item")])
    graph = Graph([user("k", dtype="int64")], [item, filled], [Ref("y")])
    (found,) = run(graph, np.array(3))
    assert found.tolist() == [1, 1, 1]


# ---- what is refused ----


class Module:
    """Stands for a `torch.nn.Module`, which is told by the name of its class."""


@pytest.mark.parametrize("given", [None, 3, "model.pt2", [], Module])
def test_only_exported_programs_are_converted(given: object) -> None:
    with pytest.raises(
        TorchError, match=r"must be a torch\.export\.ExportedProgram, not \w+; it is made"
    ):
        from_exported_program(given)


def test_a_module_has_to_be_exported_first() -> None:
    with pytest.raises(TorchError, match=r"ExportedProgram, not Module; export it first"):
        from_exported_program(Module())


def test_one_error_names_all_operators_that_are_not_converted() -> None:
    nodes = [
        node("a", "aten.foo.default", meta(3), "model.py:3"),
        node("b", "aten.foo.default", meta(3), "model.py:9"),
        node("c", "aten.bar.out", meta(3)),
        node("d", "aten.rand.default", meta(3), "model.py:4"),
        node("e", "aten.exp.default", meta(3, dtype="complex64"), self=Ref("x")),
        node("f", "aten.item.default", None, self=Ref("x")),
    ]
    with pytest.raises(TorchError) as caught:
        from_graph(Graph([user("x", 3)], nodes, [Ref("a")]))
    assert str(caught.value) == (
        "4 operators are not converted: aten.foo.default ('a' at model.py:3, 'b' at "
        "model.py:9); aten.bar.out ('c'); aten.rand.default, which "
        "is random and needs the option seed ('d' at model.py:4); aten.exp.default of "
        "complex numbers ('e'); "
        "docs/torch.md lists those that are"
    )


def test_an_error_names_the_first_of_many_nodes() -> None:
    nodes = [node(f"n{index}", "aten.foo.default", meta(3)) for index in range(20)]
    with pytest.raises(TorchError, match=r"'n7' and 12 more\); docs"):
        from_graph(Graph([user("x", 3)], nodes, [Ref("x")]))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (meta(2, dtype="complex64"), "a tensor with dtype complex64 is not converted"),
        (meta(2, dtype="quint8"), "a tensor with dtype quint8 is not converted"),
        (meta(2, layout="quantized"), "a tensor with layout quantized"),
        (meta(2, layout="sparse_coo"), "a tensor with layout sparse_coo"),
        (None, "a None is not converted; pass tensors"),
    ],
)
def test_inputs_that_no_module_has(given: Meta, message: str) -> None:
    with pytest.raises(TorchError, match=f"user 'x': {message}"):
        from_graph(Graph([Input("x", "user", given)], [], [Ref("x")]))


def test_weights_need_data() -> None:
    held = Input("p_w", "parameter", meta(2), "w")
    with pytest.raises(TorchError, match="parameter 'w': it has no data"):
        from_graph(Graph([held], [], [Ref("p_w")]))


def test_each_symbol_is_a_dimension_by_itself() -> None:
    graph = Graph([user("x", Dim.symbol("half") * 2)], [], [Ref("x")])
    with pytest.raises(TorchError, match=r"input 'x': no dimension .* is 'half' alone"):
        from_graph(graph)


def test_a_program_returns_something() -> None:
    with pytest.raises(TorchError, match="the program returns nothing"):
        from_graph(Graph([user("x", 2)], [], []))
    with pytest.raises(TorchError, match="output: None is returned"):
        from_graph(Graph([user("x", 2)], [], [None]))


def test_types_that_differ_from_those_of_torch_are_found() -> None:
    for wrong in (meta(3, dtype="int64"), meta(4), meta(3, 1)):
        floor = node("y", "aten.isnan.default", wrong, "model.py:1", self=Ref("x"))
        with pytest.raises(
            TorchError, match=r"node 'y' \(aten.isnan.default\) at model.py:1: it was"
        ):
            from_graph(Graph([user("x", 3)], [floor], [Ref("y")]))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"dim": 5, "k": 1}, "axis 5 is out of range for rank 1"),
        ({"dim": 0, "k": Dim.symbol("n")}, "argument 'k' must be a known number, not n"),
        ({"dim": 0, "k": 1.5}, "argument 'k' must be an integer, not 1.5"),
        ({"dim": 0, "k": None}, "argument 'k' is missing"),
        ({"dim": 0}, "argument 'k' is missing"),
    ],
)
def test_arguments_of_other_kinds(arguments: dict[str, object], message: str) -> None:
    topk = GraphNode(
        "t",
        "aten.topk.default",
        {"self": Ref("x"), "largest": True, "sorted": True, **arguments},
        [meta(1), meta(1, dtype="int64")],
        "model.py:7",
    )
    with pytest.raises(TorchError) as caught:
        from_graph(Graph([user("x", 3)], [topk], [Ref("x")]))
    assert (
        str(caught.value)
        == f"node 't' (aten.topk.default) at model.py:7: {message}"
        + "; export the program without dynamic shapes for it" * ("known" in message)
    )


def test_names_that_nothing_makes() -> None:
    wrong = node("y", "aten.abs.default", meta(3), self=Ref("z"))
    with pytest.raises(TorchError, match="nothing makes 'z'"):
        from_graph(Graph([user("x", 3)], [wrong], [Ref("y")]))


def test_what_the_builder_refuses_names_the_node() -> None:
    wrong = node(
        "y", "aten.mm.default", meta(3, 3), "model.py:2", self=Ref("x"), mat2=Ref("x")
    )
    with pytest.raises(TorchError, match=r"node 'y' .* at model.py:2: relax.matmul: the"):
        from_graph(Graph([user("x", 3, 4)], [wrong], [Ref("y")]))

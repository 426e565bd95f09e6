"""Models to modules: inputs, shapes, initializers, control flow, and what is refused."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.paths import ROOT

from xdsl_tvm import interpret
from xdsl_tvm.dialects.relax import FuncOp

pytest.importorskip("onnx")

from onnx import (
    AttributeProto,
    GraphProto,
    ModelProto,
    NodeProto,
    TensorProto,
    ValueInfoProto,
    helper,
    numpy_helper,
)

from xdsl_tvm.frontend.onnx import graph
from xdsl_tvm.relax.frontend.onnx import OnnxError, detach_params, from_onnx

Shape = Sequence[int | str | None] | None


def value(
    name: str, shape: Shape = None, dtype: int = TensorProto.FLOAT
) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, dtype, shape)


def constant(name: str, array: object) -> TensorProto:
    return numpy_helper.from_array(np.asarray(array), name)


def graph_of(
    nodes: Sequence[NodeProto],
    inputs: Sequence[ValueInfoProto],
    outputs: Sequence[str],
    weights: Sequence[TensorProto] = (),
) -> GraphProto:
    found = [helper.make_empty_tensor_value_info(name) for name in outputs]
    return helper.make_graph(nodes, "g", inputs, found, weights)


def model_of(
    nodes: Sequence[NodeProto],
    inputs: Sequence[ValueInfoProto],
    outputs: Sequence[str],
    weights: Sequence[TensorProto] = (),
    opset: int = 21,
    **options: Any,
) -> ModelProto:
    made = graph_of(nodes, inputs, outputs, weights)
    for each in made.output:
        # The checker asks for a type, which conversion does not read.
        each.type.tensor_type.elem_type = TensorProto.FLOAT
    imports = [helper.make_opsetid("", opset)]
    return helper.make_model(made, opset_imports=imports, **options)


def row(*elements: float) -> np.ndarray[Any, Any]:
    return np.array(elements, np.float32)


node = helper.make_node


def run(model: ModelProto, *inputs: object, **options: Any) -> Any:
    arrays = [np.asarray(each) for each in inputs]
    return interpret(from_onnx(model, **options))["main"](*arrays)


def main_of(model: ModelProto, **options: Any) -> FuncOp:
    (func,) = from_onnx(model, **options).body.block.ops
    assert isinstance(func, FuncOp)
    return func


def types_of(model: ModelProto, **options: Any) -> list[str]:
    """The types of the parameters and of the result of `main`."""
    func = main_of(model, **options)
    return [*(str(arg.type) for arg in func.body.block.args), str(func.type.ret)]


# ---- inputs and shapes ----


def relu(shape: Shape = ("n", 4), dtype: int = TensorProto.FLOAT) -> ModelProto:
    return model_of([node("Relu", ["x"], ["y"])], [value("x", shape, dtype)], ["y"])


def test_dimensions_are_symbols_by_their_names() -> None:
    found = types_of(relu(("batch size", None)))
    assert found[0] == found[1]
    assert "#relax.dims<[batch_size, x_dim1]>" in found[0]


def test_two_names_are_two_symbols() -> None:
    (found, _) = types_of(relu(("a b", "a_b")))
    assert "[a_b, a_b_]" in found


def test_shape_dict_replaces_the_shape_of_an_input() -> None:
    assert types_of(relu(), shape_dict={"x": (2, "k")})[0] == (
        "tensor<2x?xf32, #relax.dims<[2, k]>>"
    )
    with pytest.raises(OnnxError, match="the model has no input 'z'; its inputs are x"):
        from_onnx(relu(), shape_dict={"z": (2, 4)})


def test_dtype_dict_is_for_inputs_of_no_dtype() -> None:
    model = relu((2,))
    assert types_of(model, dtype_dict="float16") == ["tensor<2xf32>"] * 2
    model.graph.input[0].type.tensor_type.elem_type = TensorProto.UNDEFINED
    assert types_of(model, dtype_dict={"x": "float16"}) == ["tensor<2xf16>"] * 2


def test_the_opset_can_be_replaced() -> None:
    model = model_of(
        [node("Softmax", ["x"], ["y"])], [value("x", (2, 3, 4))], ["y"], opset=13
    )
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    np.testing.assert_allclose(run(model, x).sum(-1), 1, rtol=1e-6)
    # Before opset 13 the axes from 1 on are one.
    np.testing.assert_allclose(run(model, x, opset=12).sum((1, 2)), 1, rtol=1e-6)


def test_arithmetic_of_shapes_is_symbolic() -> None:
    nodes = [
        node("Shape", ["x"], ["s"]),
        node("Gather", ["s", "zero"], ["n"]),
        node("Mul", ["n", "two"], ["m"]),
        node("Unsqueeze", ["m", "axes"], ["u"]),
        node("Concat", ["u", "rest"], ["shape"], axis=0),
        node("Reshape", ["x", "shape"], ["y"]),
    ]
    weights = [
        constant("zero", np.int64(0)),
        constant("two", np.int64(2)),
        constant("axes", np.array([0])),
        constant("rest", np.array([2, -1])),
    ]
    model = model_of(nodes, [value("x", ("n", 12))], ["y"], weights)
    assert types_of(model)[1] == "tensor<?x2x3xf32, #relax.dims<[n * 2, 2, 3]>>"
    assert run(model, np.ones((2, 12), np.float32)).shape == (4, 2, 3)


def test_comparisons_of_sizes_fold_where_they_hold_for_all() -> None:
    nodes = [
        node("Shape", ["x"], ["s"]),
        node("Equal", ["s", "minus"], ["is"]),
        node("Where", ["is", "ones", "s"], ["shape"]),
        node("Expand", ["x", "shape"], ["y"]),
    ]
    weights = [constant("minus", np.array([-1, -1])), constant("ones", np.array([1, 1]))]
    model = model_of(nodes, [value("x", ("n", 3))], ["y"], weights)
    assert "[n, 3]" in types_of(model)[1]


@pytest.mark.parametrize(
    ("starts", "ends", "steps"),
    [(1, 3, 1), (-2, 1 << 40, 1), (0, -1, 2), (-1, -100, -1), (3, 0, -2), (5, 2, 1)],
)
def test_slices(starts: int, ends: int, steps: int) -> None:
    weights = [
        constant("starts", np.array([starts])),
        constant("ends", np.array([ends])),
        constant("axes", np.array([1])),
        constant("steps", np.array([steps])),
    ]
    nodes = [node("Slice", ["x", "starts", "ends", "axes", "steps"], ["y"])]
    x = np.arange(12, dtype=np.float32).reshape(2, 6)
    model = model_of(nodes, [value("x", (2, 6))], ["y"], weights)
    expected = x[:, starts : None if ends < -6 else ends : steps]
    np.testing.assert_array_equal(run(model, x), expected)


def test_slices_of_symbolic_extents_stay_within_them() -> None:
    weights = [constant("starts", np.array([1])), constant("ends", np.array([4]))]
    model = model_of(
        [node("Slice", ["x", "starts", "ends"], ["y"])],
        [value("x", ("n",))],
        ["y"],
        weights,
    )
    for count in (2, 4, 9):
        x = np.arange(count, dtype=np.float32)
        np.testing.assert_array_equal(run(model, x), x[1:4])


def test_negative_indices_count_from_the_end() -> None:
    model = model_of(
        [node("Gather", ["x", "i"], ["y"])],
        [value("x", ("n",)), value("i", (2,), TensorProto.INT64)],
        ["y"],
    )
    x = np.arange(5, dtype=np.float32)
    assert run(model, x, np.array([-1, 1])).tolist() == [4, 1]


# ---- initializers ----


def affine() -> ModelProto:
    nodes = [
        node("MatMul", ["x", "w"], ["p"]),
        node("Add", ["p", "b"], ["s"]),
        node("Reshape", ["s", "shape"], ["y"]),
    ]
    weights = [
        constant("w", np.eye(3, 2, dtype=np.float32)),
        constant("b", row(1, 2)),
        constant("shape", np.array([-1])),
    ]
    return model_of(nodes, [value("x", (2, 3))], ["y"], weights)


def test_initializers_are_constants_or_parameters() -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    expected = [1, 3, 4, 6]
    assert run(affine(), x).tolist() == expected
    module = from_onnx(affine(), keep_params_in_input=True)
    module, params = detach_params(module)
    assert [array.shape for array in params["main"]] == [(3, 2), (2,)]
    assert interpret(module)["main"](x, *params["main"]).tolist() == expected
    (func,) = module.body.block.ops
    assert "params" not in func.attributes
    assert str(func.attributes["num_input"]).startswith("1 ")


def external(folder: Path, location: str) -> Path:
    model = affine()
    (folder / "data").mkdir()
    data = np.eye(3, 2, dtype=np.float32)
    (folder / "data" / "w.bin").write_bytes(data.tobytes())
    weight = model.graph.initializer[0]
    weight.ClearField("raw_data")
    weight.data_location = TensorProto.EXTERNAL
    entry = weight.external_data.add()
    entry.key, entry.value = "location", location
    (folder / "m.onnx").write_bytes(model.SerializeToString())
    return folder / "m.onnx"


def test_external_data_is_read_below_the_folder(tmp_path: Path) -> None:
    path = external(tmp_path, "data/w.bin")
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert interpret(from_onnx(path))["main"](x).tolist() == [1, 3, 4, 6]
    model = ModelProto()
    model.ParseFromString(path.read_bytes())
    with pytest.raises(OnnxError, match=r"tensor 'w': .* folder is not known"):
        from_onnx(model)


@pytest.mark.parametrize("location", ["../w.bin", "/etc/passwd", "link", "", ".", "\0"])
def test_external_data_elsewhere_is_refused(tmp_path: Path, location: str) -> None:
    (tmp_path / "w.bin").write_bytes(b"\0" * 24)
    folder = tmp_path / "model"
    folder.mkdir()
    path = external(folder, location)
    (folder / "link").symlink_to(tmp_path / "w.bin")
    with pytest.raises(OnnxError, match="leaves the folder of the model"):
        from_onnx(path)


def test_external_data_that_is_missing_is_named(tmp_path: Path) -> None:
    path = external(tmp_path, "data/none.bin")
    with pytest.raises(OnnxError, match=r"there is no file 'data/none\.bin'"):
        from_onnx(path)


# ---- functions and control flow ----


def test_functions_of_the_model_are_inlined() -> None:
    body = node("LeakyRelu", ["a"], ["b"])
    slope = body.attribute.add()
    slope.name, slope.ref_attr_name = "alpha", "slope"
    slope.type = AttributeProto.FLOAT
    imports = [helper.make_opsetid("", 21)]
    function = helper.make_function("own", "F", ["a"], ["b"], [body], imports, ["slope"])
    call = node("F", ["x"], ["y"], domain="own", slope=0.5)
    model = model_of([call], [value("x", (3,))], ["y"], functions=[function])
    model.opset_import.append(helper.make_opsetid("own", 1))
    assert run(model, row(-2, 0, 2)).tolist() == [-1, 0, 2]


def branches(condition: str) -> NodeProto:
    then = graph_of([node("Neg", ["x"], ["t"])], [], ["t"])
    other = graph_of([node("Abs", ["x"], ["e"])], [], ["e"])
    for branch in (then, other):
        branch.output[0].type.tensor_type.elem_type = TensorProto.FLOAT
    return node("If", [condition], ["y"], then_branch=then, else_branch=other)


def test_if_of_a_known_and_of_a_computed_condition() -> None:
    known = model_of(
        [branches("c")], [value("x", (2,))], ["y"], [constant("c", np.array(True))]
    )
    assert "relax.if" not in str(from_onnx(known))
    x = row(-1, 2)
    assert run(known, x).tolist() == [1, -2]
    computed = model_of(
        [branches("c")], [value("x", (2,)), value("c", (), TensorProto.BOOL)], ["y"]
    )
    assert run(computed, x, np.array(True)).tolist() == [1, -2]
    assert run(computed, x, np.array(False)).tolist() == [1, 2]


def test_a_loop_is_unrolled() -> None:
    body = graph_of(
        [node("Add", ["v", "v"], ["w"]), node("Identity", ["c"], ["d"])],
        [
            value("i", (), TensorProto.INT64),
            value("c", (), TensorProto.BOOL),
            value("v", (2,)),
        ],
        ["d", "w"],
    )
    loop = node("Loop", ["count", "", "x"], ["y"], body=body)
    for each, dtype in zip(
        body.output, (TensorProto.BOOL, TensorProto.FLOAT), strict=True
    ):
        each.type.tensor_type.elem_type = dtype
    count = constant("count", np.array(3))
    model = model_of([loop], [value("x", (2,))], ["y"], [count])
    assert run(model, row(1, 2)).tolist() == [8, 16]


# ---- what is refused ----

REFUSED: list[tuple[str, Callable[[], ModelProto], str]] = [
    (
        "domain",
        lambda: model_of(
            [node("F", ["x"], ["y"], domain="a")], [value("x", (2,))], ["y"]
        ),
        "the model is not valid|the domain 'a' is not converted",
    ),
    (
        "operator",
        lambda: model_of(
            [node("Nix", ["x"], ["y"], name="n")], [value("x", (2,))], ["y"]
        ),
        "Nix",
    ),
    (
        "shapes",
        lambda: model_of(
            [node("MatMul", ["x", "x"], ["y"], name="m")], [value("x", (2, 3))], ["y"]
        ),
        r"^node 'm' \(MatMul\): relax\.matmul: .* not 3 and 2",
    ),
    (
        "attribute",
        lambda: model_of([node("Relu", ["x"], ["y"], a=1)], [value("x", (2,))], ["y"]),
        "Unrecognized attribute: a",
    ),
    (
        "text",
        lambda: relu((2,), TensorProto.STRING),
        "input 'x': the element type STRING is not converted",
    ),
    (
        "shape",
        lambda: relu(None),
        "input 'x': the model does not say its shape; give it with shape_dict",
    ),
    (
        "unknown shape of a reshape",
        lambda: model_of(
            [node("Reshape", ["x", "s"], ["y"])],
            [value("x", (2,)), value("s", (1,), TensorProto.INT64)],
            ["y"],
        ),
        r"^node 'y' \(Reshape\): input 1 must be known when the model is converted",
    ),
    (
        "reshape",
        lambda: model_of(
            [node("Reshape", ["x", "s"], ["y"])],
            [value("x", (2,))],
            ["y"],
            [constant("s", np.array([-1, -1]))],
        ),
        "more than one dimension is -1",
    ),
    ("opset", lambda: model_of([], [value("x", (2,))], ["x"], opset=99), "opset 99"),
    ("nothing", ModelProto, "no graph"),
]


@pytest.mark.parametrize(
    ("model", "message"),
    [each[1:] for each in REFUSED],
    ids=[each[0] for each in REFUSED],
)
def test_refused(model: Callable[[], ModelProto], message: str) -> None:
    with pytest.raises(OnnxError, match=message) as caught:
        from_onnx(model())
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([node("HannWindow", ["n"], ["y"])], "an extent of 1099511627776 is larger"),
        ([node("ConstantOfShape", ["m"], ["z"]), node("Shape", ["z"], ["y"])], ""),
        ([node("OneHot", ["x", "n", "v"], ["y"])], "an extent of 1099511627776"),
    ],
)
def test_sizes_that_memory_does_not_hold(nodes: list[NodeProto], message: str) -> None:
    weights = [
        constant("n", np.int64(1 << 40)),
        constant("m", np.array([1 << 40, 1 << 40])),
        constant("v", row(0, 1)),
    ]
    model = model_of(nodes, [value("x", (2,))], ["y"], weights)
    if message:
        with pytest.raises(OnnxError, match=message):
            from_onnx(model)
    else:
        assert types_of(model)[1] == "tensor<2xi64>"


def test_functions_that_grow_without_end_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    imports = [helper.make_opsetid("", 21), helper.make_opsetid("own", 1)]
    functions = [
        helper.make_function(
            "own",
            f"F{level}",
            ["a"],
            ["c"],
            [
                node(
                    f"F{level + 1}" if level < 40 else "Neg", ["a"], ["b"], domain=domain
                )
                for domain in ["own" if level < 40 else ""]
            ]
            + [node(f"F{level + 1}", ["b"], ["c"], domain="own")] * (level < 40)
            + [node("Neg", ["b"], ["c"])] * (level == 40),
            imports,
        )
        for level in range(41)
    ]
    model = model_of(
        [node("F0", ["x"], ["y"], domain="own")],
        [value("x", (2,))],
        ["y"],
        functions=functions,
    )
    model.opset_import.append(helper.make_opsetid("own", 1))
    monkeypatch.setattr(graph, "MOST_NODES", 1000)
    with pytest.raises(OnnxError, match="the model has more than 1000 nodes"):
        from_onnx(model)


def test_a_file_that_is_no_model_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(b"\xff" * 40)
    none: Any = None
    with pytest.raises(OnnxError, match="must be a ModelProto or the path of its file"):
        from_onnx(none)
    with pytest.raises(OnnxError, match=r"m\.onnx: no ONNX model"):
        from_onnx(path)


# ---- the page, and mutated files ----


def test_the_example_of_the_page_runs() -> None:
    text = (ROOT / "docs" / "onnx.md").read_text()
    for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(block, "docs/onnx.md", "exec"), {})


def test_mutated_files_are_refused_in_one_line() -> None:
    """In a child process, since the checker of onnx is compiled code."""
    program = Path(__file__).with_name("mutated_models.py")
    done = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]

"""Products of quantized tensors are products of bytes, and sums of one operand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import xdsl_tvm

pytest.importorskip("onnx")

from onnx import ModelProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.types import TensorInfo
from xdsl_tvm.frontend.onnx import from_onnx

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(5)


def some(dtype: str, *shape: int) -> Array:
    limits = np.iinfo(dtype)
    return RNG.integers(limits.min, limits.max + 1, shape).astype(dtype)


def model_of(
    kind: str,
    data: Array,
    weight: Array,
    zeros: tuple[Array | None, Array | None],
    known: frozenset[str] = frozenset("wpq"),
    **attributes: Any,
) -> tuple[ModelProto, list[Array]]:
    """A node of `MatMulInteger` or `ConvInteger`, and the arguments; `known` are the
    inputs that are constants."""
    named = {"x": data, "w": weight, "p": zeros[0], "q": zeros[1]}
    given = {name: array for name, array in named.items() if array is not None}
    names = [name if name in given else "" for name in named]
    inputs = [
        helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
        )
        for name, array in given.items()
        if name not in known
    ]
    graph = helper.make_graph(
        [helper.make_node(kind, names, ["y"], **attributes)],
        "main",
        inputs,
        [helper.make_tensor_value_info("y", 6, None)],
        [
            numpy_helper.from_array(each, name)
            for name, each in given.items()
            if name in known
        ],
    )
    opset = helper.make_opsetid("", 20)
    model = helper.make_model(graph, opset_imports=[opset], ir_version=10)
    return model, [given[each.name] for each in inputs]


def operand_dtypes(model: ModelProto, kind: type[Any]) -> list[str]:
    """The element types of the operands of the products of a model."""
    found: list[str] = []
    for op in from_onnx(model).walk():
        if isinstance(op, kind):
            infos = [TensorInfo.of(operand.type) for operand in op.operands]
            found += [str(info.dtype) for info in infos if info is not None]
    return found


def evaluated(model: ModelProto, arguments: list[Array]) -> Array:
    evaluator: Any = ReferenceEvaluator(model)
    names = [each.name for each in model.graph.input]
    (expected,) = evaluator.run(None, dict(zip(names, arguments, strict=True)))
    return expected


def multiplied(data: Array, weight: Array, p: Array | None, q: Array | None) -> Array:
    """The product, which the evaluator has no zero points of rows for."""
    x, w = data.astype(np.int32), weight.astype(np.int32)
    x -= 0 if p is None else p.astype(np.int32).reshape(-1, 1)
    w -= 0 if q is None else q.astype(np.int32).reshape(1, -1)
    return x @ w


def check(model: ModelProto, arguments: list[Array], expected: Array) -> None:
    found = xdsl_tvm.interpret(from_onnx(model))["main"](*arguments)
    np.testing.assert_array_equal(found, expected)


SCALARS = (np.array(7, np.uint8), np.array(-3, np.int8))


@pytest.mark.parametrize(
    ("known", "zeros"),
    [
        (frozenset("wpq"), SCALARS),
        (frozenset("pq"), SCALARS),
        (frozenset[str](), SCALARS),
        (frozenset("w"), (some("uint8", 5), some("int8", 6))),
        (frozenset("w"), (None, some("int8", 1))),
    ],
)
def test_a_product_is_one_of_bytes(
    known: frozenset[str], zeros: tuple[Array | None, Array | None]
) -> None:
    """Zero points of all, of rows and of columns, and none, known or not."""
    data, weight = some("uint8", 5, 9), some("int8", 9, 6)
    model, arguments = model_of("MatMulInteger", data, weight, zeros, known)
    assert operand_dtypes(model, relax.MatmulOp) == ["ui8", "i8"]
    check(model, arguments, multiplied(data, weight, *zeros))


def test_zero_points_are_taken_from_known_weights() -> None:
    """Unsigned weights around 128, as many models have them."""
    data, weight = some("uint8", 4, 8), some("uint8", 8, 5)
    zeros = np.array(3, np.uint8), np.array(128, np.uint8)
    model, arguments = model_of("MatMulInteger", data, weight, zeros)
    assert operand_dtypes(model, relax.MatmulOp) == ["ui8", "i8"]
    check(model, arguments, multiplied(data, weight, *zeros))


def test_zero_points_are_around_images() -> None:
    data, weight = some("uint8", 1, 3, 6, 5), some("int8", 4, 3, 3, 2)
    zeros = np.array(131, np.uint8), None
    model, arguments = model_of(
        "ConvInteger", data, weight, zeros, pads=[1, 0, 2, 1], strides=[2, 1]
    )
    assert operand_dtypes(model, relax.Conv2DOp) == ["ui8", "i8"]
    check(model, arguments, evaluated(model, arguments))


def test_what_is_around_an_image_must_be_known() -> None:
    """Else elements are made wider first."""
    data, weight = some("uint8", 1, 2, 4, 4), some("int8", 3, 2, 2, 2)
    zeros = np.array(131, np.uint8), None
    model, arguments = model_of("ConvInteger", data, weight, zeros, frozenset("w"))
    assert operand_dtypes(model, relax.Conv2DOp) == ["i32", "i32"]
    check(model, arguments, evaluated(model, arguments))

"""Result types of the operators: one row per rule of docs/spec/relax-ops.md."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from support.relax_rules import (
    ANY_DEVICE,
    CUDA,
    LLVM,
    check_rule,
    placed,
    type_of,
    value_of,
)
from xdsl.dialects.builtin import f16, f32, f64
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.elementwise import BinaryOperatorOp
from xdsl_tvm.dialects.relax.symbolic import Dim, DimLike


def _on(device: str) -> str:
    return placed("[4]", device)


@pytest.mark.parametrize(
    ("lhs", "rhs", "expected"),
    [
        # Broadcasting, right aligned.
        ("f32[4, 8]", "f32[4, 8]", "f32[4, 8]"),
        ("f32[4, 8]", "f32[8]", "f32[4, 8]"),
        ("f32[8]", "f32[4, 8]", "f32[4, 8]"),
        ("f32[4, 1]", "f32[1, 8]", "f32[4, 8]"),
        ("f32[4, 8]", "f32[]", "f32[4, 8]"),
        ("f32[]", "f32[]", "f32[]"),
        ("f32[n, 8]", "f32[1, 8]", "f32[n, 8]"),
        ("f32[1]", "f32[n]", "f32[n]"),
        ("f32[n]", "f32[1]", "f32[n]"),
        ("f32[2, n, m]", "f32[n, m]", "f32[2, n, m]"),
        ("f32[n + 1]", "f32[1 + n]", "f32[n + 1]"),
        ("f32[n * 2]", "f32[n + n]", "f32[n * 2]"),
        ("f32[1]", "f32[1]", "f32[1]"),
        # Not provable: the dimension is unknown, without an error.
        ("f32[n]", "f32[m]", "f32[?]"),
        ("f32[n]", "f32[4]", "f32[?]"),
        ("f32[n, 8]", "f32[m, 8]", "f32[?, 8]"),
        ("f32[?]", "f32[1]", "f32[?]"),
        ("f32[?]", "f32[?]", "f32[?]"),
        ("f32[?]", "f32[4]", "f32[?]"),
        ("f32[?, ?]", "f32[4]", "f32[?, ?]"),
        # Two numbers, neither of them 1.
        (
            "f32[4, 8]",
            "f32[4]",
            "error: {op}: dimension 1 of the result cannot be both 8 and 4",
        ),
        # Unknown rank.
        ("f32[*]", "f32[4]", "f32[*]"),
        ("f32[4]", "f32[*]", "f32[*]"),
        # dtypes: no promotion; one unknown makes the result unknown.
        ("any[4]", "f32[4]", "any[4]"),
        ("f32[4]", "any[4]", "any[4]"),
        ("any[*]", "any[*]", "any[*]"),
        ("i32[4]", "i32[4]", "i32[4]"),
        (
            "f32[4]",
            "f16[4]",
            "error: {op}: operands must have one dtype, not f32 and f16",
        ),
        # Scalars count as shape [1].
        ("f32[4]", "!relax.prim<f32>", "f32[4]"),
        ("!relax.prim<f32>", "f32[n]", "f32[n]"),
        ("f32[]", "!relax.prim<f32>", "f32[1]"),
        ("f32[*]", "!relax.prim<f32>", "f32[*]"),
        ("!relax.prim<i64, n>", "!relax.prim<i64, 2>", "!relax.prim<i64>"),
        (
            "!relax.prim<i64>",
            "f32[4]",
            "error: {op}: operands must have one dtype, not i64 and f32",
        ),
        # Virtual devices.
        (_on(CUDA), _on(CUDA), _on(CUDA)),
        (_on(CUDA), "f32[4]", _on(CUDA)),
        ("f32[4]", _on(CUDA), _on(CUDA)),
        (_on(ANY_DEVICE), _on(CUDA), _on(CUDA)),
        (_on(CUDA), _on(ANY_DEVICE), _on(CUDA)),
        (_on(ANY_DEVICE), "f32[4]", _on(ANY_DEVICE)),
        (
            _on(CUDA),
            _on(LLVM),
            f"error: {{op}}: operands live on different devices, {CUDA} and {LLVM}",
        ),
        # Other kinds.
        (
            "!relax.shape<[4]>",
            "f32[4]",
            "error: {op}: operand 'lhs' must be a tensor, not !relax.shape<[4]>",
        ),
        (
            "f32[4]",
            "!relax.object",
            "error: {op}: operand 'rhs' must be a tensor, not !relax.object",
        ),
    ],
)
@pytest.mark.parametrize(
    "op", [relax.AddOp, relax.SubtractOp, relax.MultiplyOp, relax.DivideOp]
)
def test_binary(op: type[BinaryOperatorOp], lhs: str, rhs: str, expected: str):
    expected = expected.format(op=op.name) if "{op}" in expected else expected
    check_rule(lambda: op(value_of(lhs), value_of(rhs)).result.type, expected)


@pytest.mark.parametrize(
    ("data", "relu", "gelu"),
    [
        ("f32[4, n]", "f32[4, n]", "f32[4, n]"),
        ("bf16[?]", "bf16[?]", "bf16[?]"),
        ("any[4]", "any[4]", "any[4]"),
        ("f32[*]", "f32[*]", "f32[*]"),
        (_on(CUDA), _on(CUDA), _on(CUDA)),
        (
            "i32[4]",
            "i32[4]",
            "error: relax.nn.gelu: operand 'data' must hold floats, not i32",
        ),
        (
            "!relax.prim<f32>",
            "error: relax.nn.relu: operand 'data' must be a tensor, not !relax.prim<f32>",
            "error: relax.nn.gelu: operand 'data' must be a tensor, not !relax.prim<f32>",
        ),
    ],
)
def test_unary(data: str, relu: str, gelu: str):
    check_rule(lambda: relax.ReluOp(value_of(data)).result.type, relu)
    check_rule(lambda: relax.GeluOp(value_of(data)).result.type, gelu)


@pytest.mark.parametrize(
    ("lhs", "rhs", "out_dtype", "expected"),
    [
        ("f32[4, 8]", "f32[8, 2]", None, "f32[4, 2]"),
        ("f32[n, k]", "f32[k, m]", None, "f32[n, m]"),
        # Vectors.
        ("f32[8]", "f32[8, 2]", None, "f32[2]"),
        ("f32[4, 8]", "f32[8]", None, "f32[4]"),
        ("f32[8]", "f32[8]", None, "f32[]"),
        ("f32[8]", "f32[3, 8, 2]", None, "f32[3, 2]"),
        ("f32[3, 4, 8]", "f32[8]", None, "f32[3, 4]"),
        # Batch dimensions are broadcast.
        ("f32[5, 1, 4, 8]", "f32[3, 8, 2]", None, "f32[5, 3, 4, 2]"),
        ("f32[b, 4, 8]", "f32[8, 2]", None, "f32[b, 4, 2]"),
        ("f32[b, 4, 8]", "f32[1, 8, 2]", None, "f32[b, 4, 2]"),
        ("f32[a, 4, 8]", "f32[b, 8, 2]", None, "f32[?, 4, 2]"),
        (
            "f32[2, 4, 8]",
            "f32[3, 8, 2]",
            None,
            "error: relax.matmul: dimension 0 of the result cannot be both 2 and 3",
        ),
        # The summed dimension.
        ("f32[4, n]", "f32[m, 2]", None, "f32[4, 2]"),
        ("f32[4, ?]", "f32[8, 2]", None, "f32[4, 2]"),
        (
            "f32[4, 8]",
            "f32[9, 2]",
            None,
            "error: relax.matmul: the summed dimensions must be equal, not 8 and 9",
        ),
        (
            "f32[4, n]",
            "f32[n + 1, 2]",
            None,
            "error: relax.matmul: the summed dimensions must be equal, not n and n + 1",
        ),
        # Unknown shapes and ranks.
        ("f32[?, ?]", "f32[?, ?]", None, "f32[?, ?]"),
        ("f32[?, ?, ?]", "f32[?, ?]", None, "f32[?, ?, ?]"),
        ("f32[?]", "f32[?]", None, "f32[]"),
        ("f32[*]", "f32[8, 2]", None, "f32[*]"),
        ("f32[4, 8]", "f32[*]", None, "f32[*]"),
        (
            "f32[]",
            "f32[8, 2]",
            None,
            "error: relax.matmul: operand 'lhs' must not have rank 0",
        ),
        (
            "f32[*]",
            "f32[]",
            None,
            "error: relax.matmul: operand 'rhs' must not have rank 0",
        ),
        # dtypes.
        ("f16[4, 8]", "f16[8, 2]", "f32", "f32[4, 2]"),
        ("f16[4, 8]", "f32[8, 2]", "f32", "f32[4, 2]"),
        ("any[4, 8]", "f32[8, 2]", None, "any[4, 2]"),
        (
            "f16[4, 8]",
            "f32[8, 2]",
            None,
            "error: relax.matmul: operands must have one dtype, not f16 and f32",
        ),
        # Virtual devices: on different ones, the result lives on none.
        (_on(CUDA), _on(CUDA), None, f"tensor<f32, #relax.placed<[], {CUDA}>>"),
        (_on(CUDA), "f32[4]", None, f"tensor<f32, #relax.placed<[], {CUDA}>>"),
        ("f32[4]", _on(CUDA), None, f"tensor<f32, #relax.placed<[], {CUDA}>>"),
        (_on(CUDA), _on(LLVM), None, "f32[]"),
        (
            "!relax.prim<f32>",
            "f32[4]",
            None,
            "error: relax.matmul: operand 'lhs' must be a tensor, not !relax.prim<f32>",
        ),
    ],
)
def test_matmul(lhs: str, rhs: str, out_dtype: str | None, expected: str):
    dtype = None if out_dtype is None else type_of(out_dtype)
    operands = value_of(lhs), value_of(rhs)
    check_rule(lambda: relax.MatmulOp(*operands, dtype).result.type, expected)


@pytest.mark.parametrize(
    ("data", "axes", "expected"),
    [
        ("f32[2, 3, n]", None, "f32[n, 3, 2]"),
        ("f32[2, 3, n]", [1, 2, 0], "f32[3, n, 2]"),
        ("f32[2, 3, n]", [-1, 0, -2], "f32[n, 2, 3]"),
        ("f32[2, 3]", [0, 1], "f32[2, 3]"),
        ("f32[]", None, "f32[]"),
        ("f32[?, 3]", None, "f32[3, ?]"),
        ("f32[*]", None, "f32[*]"),
        ("f32[*]", [1, 0], "f32[*]"),
        ("any[2, 3]", None, "any[3, 2]"),
        ("f32[2, 3]", [0], "error: relax.permute_dims: 1 axes do not fit rank 2"),
        (
            "f32[2, 3]",
            [0, 2],
            "error: relax.permute_dims: axis 2 is out of range for rank 2",
        ),
        ("f32[2, 3]", [0, -2], "error: relax.permute_dims: axis -2 is given twice"),
        (
            "!relax.object",
            None,
            "error: relax.permute_dims: operand 'data' must be a tensor, "
            "not !relax.object",
        ),
    ],
)
def test_permute_dims(data: str, axes: Sequence[int] | None, expected: str):
    check_rule(lambda: relax.PermuteDimsOp(value_of(data), axes).result.type, expected)


@pytest.mark.parametrize(
    ("data", "shape", "expected"),
    [
        ("f32[2, 3]", "!relax.shape<[6]>", "f32[6]"),
        ("f32[n, 4]", "!relax.shape<[n * 2, 2]>", "f32[n * 2, 2]"),
        ("f32[n]", "!relax.shape<[m, 4]>", "f32[m, 4]"),
        ("f32[?, 3]", "!relax.shape<[7]>", "f32[7]"),
        ("f32[*]", "!relax.shape<[7]>", "f32[7]"),
        ("any[4]", "!relax.shape<[2, 2]>", "any[2, 2]"),
        ("f32[4]", "!relax.shape<[?, 2]>", "f32[?, 2]"),
        ("f32[4]", "!relax.shape<*>", "f32[*]"),
        ("f32[1]", "!relax.shape<[]>", "f32[]"),
        (_on(CUDA), "!relax.shape<[4]>", _on(CUDA)),
        (
            "f32[2, 3]",
            "!relax.shape<[7]>",
            "error: relax.reshape: 6 elements cannot be viewed as 7",
        ),
        (
            "f32[n]",
            "!relax.shape<[n + 1]>",
            "error: relax.reshape: n elements cannot be viewed as n + 1",
        ),
        (
            "f32[4]",
            "f32[1]",
            "error: relax.reshape: operand 'shape' must be a !relax.shape, "
            "not tensor<1xf32>",
        ),
    ],
)
def test_reshape(data: str, shape: str, expected: str):
    operands = value_of(data), value_of(shape)
    check_rule(lambda: relax.ReshapeOp(*operands).result.type, expected)


@pytest.mark.parametrize(
    ("data", "shape", "expected"),
    [
        ("f32[2, 3]", [6], "[6]"),
        ("f32[2, 3]", [-1], "[6]"),
        ("f32[2, 3, 4]", [0, -1], "[2, 12]"),
        ("f32[n, 4]", [0, 2, 2], "[n, 2, 2]"),
        ("f32[n, 4]", [-1, 2], "[n * 2, 2]"),
        ("f32[n, m]", [-1, "m"], "[n, m]"),
        ("f32[n, 3]", [-1, 2], "[n * 3 floordiv 2, 2]"),
        ("f32[*]", ["n", 4], "[n, 4]"),
        (
            "f32[4]",
            [-1, -1],
            "error: relax.reshape: a shape holds no negative number but one -1, "
            "not -1, -1",
        ),
        (
            "f32[4]",
            [-2],
            "error: relax.reshape: a shape holds no negative number but one -1, not -2",
        ),
        (
            "f32[4]",
            [4, 0],
            "error: relax.reshape: there is no dimension 1 to copy in tensor<4xf32>",
        ),
        (
            "f32[?]",
            [-1],
            "error: relax.reshape: 0 and -1 need the shape of the operand, tensor<?xf32>",
        ),
    ],
)
def test_reshape_dims(data: str, shape: Sequence[int | str], expected: str):
    def infer() -> Attribute:
        return relax.ShapeType.of(relax.reshape_dims(type_of(data), shape))

    is_error = expected.startswith("error: ")
    check_rule(infer, expected if is_error else f"!relax.shape<{expected}>")


@pytest.mark.parametrize(
    ("data", "axis", "keepdims", "expected"),
    [
        ("f32[2, 3, n]", None, False, "f32[]"),
        ("f32[2, 3, n]", None, True, "f32[1, 1, 1]"),
        ("f32[2, 3, n]", [1], False, "f32[2, n]"),
        ("f32[2, 3, n]", [1], True, "f32[2, 1, n]"),
        ("f32[2, 3, n]", [-1, 0], False, "f32[3]"),
        ("f32[2, 3, n]", [-1, 0], True, "f32[1, 3, 1]"),
        ("f32[2, 3]", [], False, "f32[2, 3]"),
        ("f32[]", None, False, "f32[]"),
        ("i8[4]", None, False, "i8[]"),
        ("any[4, 2]", [0], False, "any[2]"),
        # Unknown shapes.
        ("f32[?, ?]", [0], False, "f32[?]"),
        ("f32[?, ?]", [0], True, "f32[1, ?]"),
        ("f32[?, ?]", None, False, "f32[]"),
        ("f32[?, ?]", None, True, "f32[1, 1]"),
        ("f32[*]", None, False, "f32[]"),
        ("f32[*]", None, True, "f32[*]"),
        ("f32[*]", [0], False, "f32[*]"),
        (_on(CUDA), [0], True, f"tensor<1xf32, #relax.placed<[1], {CUDA}>>"),
        ("f32[2]", [1], False, "error: {op}: axis 1 is out of range for rank 1"),
        ("f32[2, 3]", [0, -2], False, "error: {op}: axis -2 is given twice"),
        (
            "!relax.prim<f32>",
            None,
            False,
            "error: {op}: operand 'data' must be a tensor, not !relax.prim<f32>",
        ),
    ],
)
@pytest.mark.parametrize("op", [relax.SumOp, relax.MaxOp, relax.MeanOp])
def test_reductions(
    op: type[relax.ReductionOp],
    data: str,
    axis: Sequence[int] | None,
    keepdims: bool,
    expected: str,
):
    expected = expected.format(op=op.name) if "{op}" in expected else expected
    check_rule(lambda: op(value_of(data), axis, keepdims).result.type, expected)


@pytest.mark.parametrize(
    ("data", "axis", "expected"),
    [
        ("f32[4, n]", -1, "f32[4, n]"),
        ("f32[4, n]", 0, "f32[4, n]"),
        ("any[4]", 0, "any[4]"),
        # Nothing is checked of a tensor of unknown rank.
        ("f32[*]", 7, "f32[*]"),
        ("i32[*]", 0, "i32[*]"),
        ("f32[4]", 1, "error: relax.nn.softmax: axis 1 is out of range for rank 1"),
        (
            "i32[4]",
            0,
            "error: relax.nn.softmax: operand 'data' must hold floats, not i32",
        ),
    ],
)
def test_softmax(data: str, axis: int, expected: str):
    check_rule(lambda: relax.SoftmaxOp(value_of(data), axis).result.type, expected)


@pytest.mark.parametrize(
    ("data", "gamma", "beta", "axes", "expected"),
    [
        ("f32[4, 8]", "f32[8]", "f32[8]", [-1], "f32[4, 8]"),
        ("f32[4, n, 8]", "f32[n, 8]", "f32[n, 8]", [1, 2], "f32[4, n, 8]"),
        ("f32[4, n, 8]", "f32[8, n]", "f32[8, n]", [-1, -2], "f32[4, n, 8]"),
        ("any[4, 8]", "f32[8]", "f32[8]", [-1], "any[4, 8]"),
        # Lengths that are not proven to fit: the shape is not known.
        ("f32[4, n]", "f32[m]", "f32[n]", [-1], "f32[?, ?]"),
        ("f32[4, n]", "f32[n]", "f32[4]", [-1], "f32[?, ?]"),
        ("f32[4, 8]", "f32[?]", "f32[8]", [-1], "f32[?, ?]"),
        ("f32[4, 8]", "f32[*]", "f32[8]", [-1], "f32[?, ?]"),
        ("f32[?, ?]", "f32[8]", "f32[8]", [-1], "f32[?, ?]"),
        ("f32[*]", "f32[8]", "f32[8]", [-1], "f32[*]"),
        ("f32[*]", "f32[8]", "f32[8]", [9], "f32[*]"),
        (
            "f32[4, 8]",
            "f32[9]",
            "f32[8]",
            [-1],
            "error: relax.nn.layer_norm: operand 'gamma' must have length 8, not 9",
        ),
        (
            "f32[4, n]",
            "f32[n]",
            "f32[n + 1]",
            [-1],
            "error: relax.nn.layer_norm: operand 'beta' must have length n, not n + 1",
        ),
        (
            "f32[4, 8]",
            "f32[8]",
            "f32[1, 8]",
            [-1],
            "error: relax.nn.layer_norm: operand 'beta' must have rank 1, one per axis, "
            "not 2",
        ),
        (
            "f32[4, 8]",
            "f16[8]",
            "f32[8]",
            [-1],
            "error: relax.nn.layer_norm: operand 'gamma' must hold f32 as the data does, "
            "not f16",
        ),
        (
            "i32[4, 8]",
            "i32[8]",
            "i32[8]",
            [-1],
            "error: relax.nn.layer_norm: operand 'data' must hold floats, not i32",
        ),
        (
            "f32[4, 8]",
            "f32[8]",
            "f32[8]",
            [2],
            "error: relax.nn.layer_norm: axis 2 is out of range for rank 2",
        ),
        (
            "f32[4, 8]",
            "f32[8, 8]",
            "f32[8, 8]",
            [1, 1],
            "error: relax.nn.layer_norm: axis 1 is given twice",
        ),
    ],
)
def test_layer_norm(data: str, gamma: str, beta: str, axes: list[int], expected: str):
    operands = value_of(data), value_of(gamma), value_of(beta)
    check_rule(lambda: relax.LayerNormOp(*operands, axes).result.type, expected)


def test_constructors_infer():
    n = Dim.symbol("n")
    x = relax.AllocTensorOp(relax.TensorInfo.shaped(["n", 8], f32).type)
    w = relax.AllocTensorOp(relax.TensorInfo.shaped([8, 2], f32).type)
    v = relax.AllocTensorOp(relax.TensorInfo.shaped([8], f32).type)
    shape = relax.ShapeOp(relax.reshape_dims(x.result.type, [-1]))
    ops: list[tuple[relax.OperatorOp, list[DimLike | None]]] = [
        (relax.AddOp(x, v), [n, 8]),
        (relax.MatmulOp(x, w), [n, 2]),
        (relax.PermuteDimsOp(x), [8, n]),
        (relax.PermuteDimsOp(x, [1, 0]), [8, n]),
        (relax.ReshapeOp(x, shape), [n * 8]),
        (relax.ReluOp(x), [n, 8]),
        (relax.SoftmaxOp(x), [n, 8]),
        (relax.LayerNormOp(x, v, v, -1), [n, 8]),
        (relax.SumOp(x, 1, keepdims=True), [n, 1]),
        (relax.MeanOp(x), []),
    ]
    for op, dims in ops:
        op.verify()
        assert op.results[0].type == relax.TensorInfo.shaped(dims, f32).type
    product = relax.MatmulOp(x, w, f64)
    assert product.result.type == relax.TensorInfo.shaped(["n", 2], f64).type
    norm = relax.LayerNormOp(x, v, v, [1], 1e-3, center=False, scale=False)
    assert norm.no_center is not None
    assert norm.no_scale is not None
    assert relax.LayerNormOp(x, v, v, [1]).no_scale is None


def test_constructor_refuses_what_does_not_fit():
    x = relax.AllocTensorOp(relax.TensorInfo.shaped([4], f32).type)
    y = relax.AllocTensorOp(relax.TensorInfo.shaped([4], f16).type)
    with pytest.raises(VerifyException, match="operands must have one dtype"):
        relax.AddOp(x, y)

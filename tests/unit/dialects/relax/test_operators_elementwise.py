"""Result types of the element-wise operators (docs/spec/relax-ops.md §1, §2, §3)."""

from __future__ import annotations

import pytest
from support.relax_rules import (
    ANY_DEVICE,
    CUDA,
    LLVM,
    Row,
    placed,
    row,
    uncovered,
)

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.definitions import operations_of
from xdsl_tvm.dialects.relax import activations, elementwise, logic, ternary, unary

_FLOAT_ONLY = [
    "exp",
    "log",
    "sqrt",
    "rsqrt",
    "sigmoid",
    "erf",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
    "nn.gelu",
    "nn.gelu_tanh",
    "nn.silu",
    "nn.selu",
    "nn.leakyrelu",
    "nn.softplus",
]
_ANY_NUMBER = [
    "negative",
    "abs",
    "square",
    "ceil",
    "floor",
    "round",
    "sign",
    "logical_not",
    "bitwise_not",
    "nn.relu",
]
_TESTS = ["isfinite", "isinf", "isnan"]
_ARITHMETIC = [
    "add",
    "subtract",
    "multiply",
    "divide",
    "power",
    "maximum",
    "minimum",
    "floor_divide",
    "mod",
    "floor_mod",
    "logical_and",
    "logical_or",
    "logical_xor",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "left_shift",
    "right_shift",
]
_COMPARISONS = ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"]
_OTHERS = ["clip", "ewise_fma", "where"]
_OPERATORS = {
    op.name.removeprefix("relax."): op
    for op in relax.Relax.operations
    if issubclass(op, relax.OperatorOp)
}

_CUDA = placed("[4]", CUDA)
_LLVM = placed("[4]", LLVM)
_ANY = placed("[4]", ANY_DEVICE)


def _unary_rows(name: str) -> list[Row]:
    op = _OPERATORS[name]
    types = ["f32[4, n]", "f16[]", "bf16[?]", "f64[?, 4]", "any[4]", "f32[*]", _CUDA]
    rows = [row(op, type_, gives=type_) for type_ in types]
    if name in _FLOAT_ONLY:
        rows.append(
            row(op, "i32[4]", gives="error: operand 'data' must hold floats, not i32")
        )
    else:
        rows.append(row(op, "i32[4]", gives="i32[4]"))
    rows.append(
        row(
            op,
            "f32()",
            gives="error: operand 'data' must be a tensor, not !relax.prim<f32>",
        )
    )
    return rows


def _test_rows(name: str) -> list[Row]:
    op = _OPERATORS[name]
    return [
        row(op, "f32[4, n]", gives="i1[4, n]"),
        row(op, "any[?]", gives="i1[?]"),
        row(op, "i32[*]", gives="i1[*]"),
        row(op, _CUDA, gives=placed("[4]", CUDA, "i1")),
        row(
            op,
            "[4]",
            gives="error: operand 'data' must be a tensor, not !relax.shape<[4]>",
        ),
    ]


def _binary_rows(name: str) -> list[Row]:
    """Broadcasting has its own table, in test_relax_inference."""
    op = _OPERATORS[name]
    return [
        row(op, "i32[4, n]", "i32[n]", gives="i32[4, n]"),
        row(op, "f32[n]", "f32[m]", gives="f32[?]"),
        row(op, "f32[*]", "f32[4]", gives="f32[*]"),
        row(op, "any[4]", "f32[1]", gives="any[4]"),
        row(op, "i64(n)", "i64(2)", gives="i64()"),
        row(op, "f32[]", "f32()", gives="f32[1]"),
        row(op, _ANY, _CUDA, gives=_CUDA),
        row(
            op,
            "f32[4]",
            "f32[8]",
            gives="error: dimension 0 of the result cannot be both 4 and 8",
        ),
        row(
            op,
            "f32[4]",
            "i32[4]",
            gives="error: operands must have one dtype, not f32 and i32",
        ),
        row(
            op,
            _CUDA,
            _LLVM,
            gives=f"error: operands live on different devices, {CUDA} and {LLVM}",
        ),
        row(
            op,
            "[4]",
            "i64[4]",
            gives="error: operand 'lhs' must be a tensor, not !relax.shape<[4]>",
        ),
    ]


def _comparison_rows(name: str) -> list[Row]:
    op = _OPERATORS[name]
    return [
        row(op, "i32[4, n]", "i32[n]", gives="i1[4, n]"),
        row(op, "f32[n]", "f32[m]", gives="i1[?]"),
        row(op, "f32[*]", "f32[4]", gives="i1[*]"),
        # dtypes need not agree.
        row(op, "f32[4]", "i32[1]", gives="i1[4]"),
        row(op, "any[4]", "f32[4]", gives="i1[4]"),
        row(op, "i64(n)", "i64(2)", gives="i1()"),
        row(op, "f32[4]", "f32()", gives="i1[4]"),
        row(op, _CUDA, "f32[4]", gives=placed("[4]", CUDA, "i1")),
        row(
            op,
            "f32[4]",
            "f32[8]",
            gives="error: dimension 0 of the result cannot be both 4 and 8",
        ),
        row(
            op,
            "f32[4]",
            "!relax.object",
            gives="error: operand 'rhs' must be a tensor, not !relax.object",
        ),
    ]


_CLIP = [
    row(relax.ClipOp, "f32[4, n]", "f32()", "f32()", gives="f32[4, n]"),
    row(relax.ClipOp, "i32[?]", "=0 : i32", "=6 : i32", gives="i32[?]"),
    row(relax.ClipOp, "any[*]", "=0.5 : f32", "=1.5 : f32", gives="any[*]"),
    row(relax.ClipOp, _CUDA, "f32()", "f32()", gives=_CUDA),
    row(
        relax.ClipOp,
        "f32[4]",
        "f32[]",
        "f32()",
        gives="error: operand 'min' must be a !relax.prim, not tensor<f32>",
    ),
    row(
        relax.ClipOp,
        "f32[4]",
        "f32()",
        "[6]",
        gives="error: operand 'max' must be a !relax.prim, not !relax.shape<[6]>",
    ),
    row(
        relax.ClipOp,
        "f32()",
        "f32()",
        "f32()",
        gives="error: operand 'data' must be a tensor, not !relax.prim<f32>",
    ),
]

_FMA = [
    row(relax.EwiseFmaOp, "f32[n, 4]", "f32[n, 4]", "f32[n, 4]", gives="f32[n, 4]"),
    row(relax.EwiseFmaOp, "f32[n + n]", "f32[n * 2]", "f32[n * 2]", gives="f32[n * 2]"),
    row(relax.EwiseFmaOp, "f32[4]", "f32[?]", "f32[4]", gives="f32[?]"),
    row(relax.EwiseFmaOp, "f32[4]", "f32[*]", "f32[4]", gives="f32[?]"),
    row(relax.EwiseFmaOp, "f32[*]", "f32[*]", "f32[*]", gives="f32[*]"),
    row(relax.EwiseFmaOp, "f32[4]", "any[4]", "f32[4]", gives="any[4]"),
    row(relax.EwiseFmaOp, "f32[4]", _CUDA, "f32[4]", gives=_CUDA),
    row(relax.EwiseFmaOp, _CUDA, _LLVM, "f32[4]", gives="f32[4]"),
    row(relax.EwiseFmaOp, _CUDA, _ANY, "f32[4]", gives=_CUDA),
    row(
        relax.EwiseFmaOp,
        "f32[4]",
        "f32[4, 1]",
        "f32[4]",
        gives="error: operands must have one rank, not 1 and 2",
    ),
    row(
        relax.EwiseFmaOp,
        "f32[4]",
        "any[4]",
        "i32[4]",
        gives="error: operands must have one dtype, not f32 and i32",
    ),
    row(
        relax.EwiseFmaOp,
        "f32[4]",
        "f32[1]",
        "f32[4]",
        gives="error: 4 and 1 are not proven to be one extent",
    ),
    # Unlike in broadcasting, what is not proven is refused.
    row(
        relax.EwiseFmaOp,
        "f32[n]",
        "f32[n]",
        "f32[m]",
        gives="error: n and m are not proven to be one extent",
    ),
    row(
        relax.EwiseFmaOp,
        "f32[n]",
        "f32()",
        "f32[m]",
        gives="error: operand 'x2' must be a tensor, not !relax.prim<f32>",
    ),
]

_WHERE = [
    row(relax.WhereOp, "i1[4, 1]", "f32[n]", "f32[]", gives="f32[4, n]"),
    row(relax.WhereOp, "i1[n]", "f32[1]", "f32[1]", gives="f32[n]"),
    row(relax.WhereOp, "i1[4]", "f32[n]", "f32[m]", gives="f32[?]"),
    row(relax.WhereOp, "i1[2, 4]", "f32[n]", "f32[]", gives="f32[2, ?]"),
    row(relax.WhereOp, "i1[?]", "f32[4]", "f32[4]", gives="f32[?]"),
    row(relax.WhereOp, "i1[*]", "f32[4]", "f32[4]", gives="f32[*]"),
    row(relax.WhereOp, "i1[4]", "f32[*]", "f32[4]", gives="f32[*]"),
    row(relax.WhereOp, "i1[4]", "any[4]", "f32[4]", gives="any[4]"),
    row(relax.WhereOp, "i1[4]", _CUDA, _ANY, gives=_CUDA),
    row(relax.WhereOp, "i1[4]", _CUDA, _LLVM, gives="f32[4]"),
    row(
        relax.WhereOp,
        "i1[4]",
        "f32[4]",
        "i32[4]",
        gives="error: operands must have one dtype, not f32 and i32",
    ),
    row(
        relax.WhereOp,
        "i32[4]",
        "f32[4]",
        "f32[4]",
        gives="error: operand 'condition' must hold i1, not tensor<4xi32>",
    ),
    row(
        relax.WhereOp,
        "any[4]",
        "f32[4]",
        "f32[4]",
        gives="error: operand 'condition' must hold i1, not tensor<4x!relax.any>",
    ),
    row(
        relax.WhereOp,
        "i1[4]",
        "f32[3]",
        "f32[]",
        gives="error: dimension 0 of the result cannot be both 4 and 3",
    ),
    row(
        relax.WhereOp,
        "i1[4]",
        "f32[4]",
        "f32()",
        gives="error: operand 'x2' must be a tensor, not !relax.prim<f32>",
    ),
]

_ATTRIBUTES = [
    row(relax.LeakyReluOp, "f32[4]", alpha=0.2, gives="f32[4]"),
    row(relax.SoftplusOp, "f32[4]", beta=2.0, threshold=10.0, gives="f32[4]"),
]

ROWS = [
    *(r for name in (*_FLOAT_ONLY, *_ANY_NUMBER) for r in _unary_rows(name)),
    *(r for name in _TESTS for r in _test_rows(name)),
    *(r for name in _ARITHMETIC for r in _binary_rows(name)),
    *(r for name in _COMPARISONS for r in _comparison_rows(name)),
    *_CLIP,
    *_FMA,
    *_WHERE,
    *_ATTRIBUTES,
]


@pytest.mark.parametrize("case", ROWS, ids=str)
def test_result_type(case: Row):
    case.check()


def test_every_operator_has_rows():
    named = {*_FLOAT_ONLY, *_ANY_NUMBER, *_TESTS, *_ARITHMETIC, *_COMPARISONS, *_OTHERS}
    families = (unary, elementwise, logic, ternary, activations)
    ops = {op.name for op in operations_of(*families)}
    ops |= {relax.ReluOp.name, relax.GeluOp.name}
    assert ops == {f"relax.{name}" for name in named}
    assert not uncovered(named, ROWS)


def test_attributes_are_kept():
    x = relax.AllocTensorOp(relax.TensorInfo.shaped([4], relax.ANY).type)
    assert relax.LeakyReluOp(x).alpha.value.data == 0.01
    assert relax.LeakyReluOp(x, 0.25).alpha.value.data == 0.25
    default = relax.SoftplusOp(x)
    assert (default.beta.value.data, default.threshold.value.data) == (1.0, 20.0)
    other = relax.SoftplusOp(x, 2.0, 5.0)
    assert (other.beta.value.data, other.threshold.value.data) == (2.0, 5.0)

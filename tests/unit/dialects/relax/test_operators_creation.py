"""Result types of operators that make or retype tensors.

docs/spec/relax-ops.md §4, §5.
"""

from __future__ import annotations

import pytest
from support.relax_rules import CUDA, LLVM, Row, placed, row, type_of, uncovered
from xdsl.dialects.builtin import f16, f32, i32, i64
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.definitions import operations_of
from xdsl_tvm.dialects.relax import creation, datatype

_CREATION = [
    "full",
    "full_like",
    "ones",
    "zeros",
    "ones_like",
    "zeros_like",
    "eye",
    "eye_like",
    "arange",
    "tril",
    "triu",
]
_DATATYPE = [
    "astype",
    "wrap_param",
    "to_vdevice",
    "hint_on_device",
    "builtin.stop_lift_params",
]
_CUDA = placed("[4]", CUDA)
_NOT_TENSOR = "error: operand 'data' must be a tensor, not !relax.prim<f32>"
_NO_DTYPE = "error: dtype must be an integer or float, not !relax.any"

_FULL = [
    row(relax.FullOp, "[n, 4]", "f32[]", gives="f32[n, 4]"),
    row(relax.FullOp, "[]", "i64[]", gives="i64[]"),
    row(relax.FullOp, "[4]", "f32[]", dtype=f16, gives="f16[4]"),
    row(relax.FullOp, "[4]", "any[]", gives="any[4]"),
    row(relax.FullOp, "[4, ?]", "f32[]", gives="f32[4, ?]"),
    row(relax.FullOp, "!relax.shape<*>", "f32[]", gives="f32[*]"),
    row(relax.FullOp, "[4]", placed("[]", CUDA), gives=_CUDA),
    row(
        relax.FullOp,
        "f32[4]",
        "f32[]",
        gives="error: operand 'shape' must be a !relax.shape, not tensor<4xf32>",
    ),
    row(
        relax.FullOp,
        "[4]",
        "f32[1]",
        gives="error: operand 'fill_value' must be a tensor of rank 0, not tensor<1xf32>",
    ),
    row(
        relax.FullOp,
        "[4]",
        "f32[*]",
        gives="error: operand 'fill_value' must be a tensor of rank 0, not tensor<*xf32>",
    ),
    row(
        relax.FullOp,
        "[4]",
        "f32()",
        gives="error: operand 'fill_value' must be a tensor, not !relax.prim<f32>",
    ),
    row(relax.FullOp, "[4]", "f32[]", dtype=relax.ANY, gives=_NO_DTYPE),
    row(relax.FullLikeOp, "f32[n, 4]", "i32[]", gives="f32[n, 4]"),
    row(relax.FullLikeOp, "f32[?]", "i32[]", dtype=i32, gives="i32[?]"),
    row(relax.FullLikeOp, "any[*]", "f32[]", gives="any[*]"),
    row(relax.FullLikeOp, "any[*]", "f32[]", dtype=f16, gives="f16[*]"),
    row(relax.FullLikeOp, _CUDA, "f32[]", gives=_CUDA),
    row(
        relax.FullLikeOp,
        "f32[4]",
        "f32[4]",
        gives="error: operand 'fill_value' must be a tensor of rank 0, not tensor<4xf32>",
    ),
    row(relax.FullLikeOp, "f32()", "f32[]", gives=_NOT_TENSOR),
]


def _filled_rows(op: type[relax.OperatorOp]) -> list[Row]:
    return [
        row(op, "[n, 4]", dtype=f32, gives="f32[n, 4]"),
        row(op, "[]", dtype=i64, gives="i64[]"),
        row(op, "[?, 4]", dtype=f16, gives="f16[?, 4]"),
        row(op, "!relax.shape<*>", dtype=f16, gives="f16[*]"),
        row(op, "[4]", dtype=relax.ANY, gives=_NO_DTYPE),
        row(
            op,
            "i64[2]",
            dtype=f32,
            gives="error: operand 'shape' must be a !relax.shape, not tensor<2xi64>",
        ),
    ]


def _like_rows(op: type[relax.OperatorOp]) -> list[Row]:
    return [
        row(op, "f32[n, 4]", gives="f32[n, 4]"),
        row(op, "f32[n, ?]", dtype=i32, gives="i32[n, ?]"),
        row(op, "any[*]", gives="any[*]"),
        row(op, _CUDA, dtype=f16, gives=placed("[4]", CUDA, "f16")),
        row(op, "f32[4]", dtype=relax.ANY, gives=_NO_DTYPE),
        row(op, "f32()", gives=_NOT_TENSOR),
    ]


_EYE = [
    row(relax.EyeOp, "i64(3)", "i64(4)", "i64(0)", gives="f32[3, 4]"),
    row(relax.EyeOp, "i64(n)", "i64(n + 1)", "i64()", gives="f32[n, n + 1]"),
    row(relax.EyeOp, "i64()", "i64(4)", "i64(1)", dtype=i32, gives="i32[?, 4]"),
    row(
        relax.EyeOp,
        "f32()",
        "i64(4)",
        "i64(1)",
        gives="error: operand 'n' must be an integer, not !relax.prim<f32>",
    ),
    row(
        relax.EyeOp,
        "i64(4)",
        "i64[]",
        "i64(1)",
        gives="error: operand 'm' must be a !relax.prim, not tensor<i64>",
    ),
    row(
        relax.EyeOp,
        "i64(4)",
        "i64(4)",
        "f32()",
        gives="error: operand 'k' must be an integer, not !relax.prim<f32>",
    ),
    row(relax.EyeOp, "i64(4)", "i64(4)", "i64(1)", dtype=relax.ANY, gives=_NO_DTYPE),
    row(relax.EyeLikeOp, "f32[n, 4]", "i64(0)", gives="f32[n, 4]"),
    row(relax.EyeLikeOp, "f32[?, 4]", "i64(0)", dtype=i32, gives="i32[?, 4]"),
    row(relax.EyeLikeOp, "any[*]", "i64(0)", gives="any[?, ?]"),
    row(
        relax.EyeLikeOp,
        placed("[4, 4]", CUDA),
        "i64()",
        gives=placed("[4, 4]", CUDA),
    ),
    row(
        relax.EyeLikeOp,
        "f32[4]",
        "i64(0)",
        gives="error: operand 'data' must have rank 2, not 1",
    ),
    row(
        relax.EyeLikeOp,
        "f32[4, 4]",
        "i64[]",
        gives="error: operand 'k' must be a !relax.prim, not tensor<i64>",
    ),
]


def _triangle_rows(op: type[relax.OperatorOp]) -> list[Row]:
    return [
        row(op, "f32[n, 4]", "i64(0)", gives="f32[n, 4]"),
        row(op, "i32[2, ?, 4]", "=-1 : i64", gives="i32[2, ?, 4]"),
        row(op, "any[*]", "i64()", gives="any[*]"),
        row(op, placed("[4, 4]", CUDA), "i64(n)", gives=placed("[4, 4]", CUDA)),
        row(
            op,
            "f32[4]",
            "i64(0)",
            gives="error: operand 'data' must have rank 2 or more, not 1",
        ),
        row(
            op,
            "f32[4, 4]",
            "f32()",
            gives="error: operand 'k' must be an integer, not !relax.prim<f32>",
        ),
        row(op, "f32()", "i64(0)", gives=_NOT_TENSOR),
    ]


_ARANGE = [
    row(relax.ArangeOp, "i64(0)", "i64(10)", "i64(1)", gives="i64[10]"),
    row(relax.ArangeOp, "i64(1)", "i64(10)", "i64(2)", gives="i64[5]"),
    row(relax.ArangeOp, "i64(0)", "i64(n)", "i64(1)", gives="i64[n]"),
    row(relax.ArangeOp, "i64(n)", "i64(n * 2)", "i64(1)", gives="i64[n]"),
    row(relax.ArangeOp, "i64(1)", "i64(n)", "i64(2)", gives="i64[n floordiv 2]"),
    row(relax.ArangeOp, "i64(n)", "i64(m)", "i64(1)", gives="i64[max(m - n, 0)]"),
    row(relax.ArangeOp, "i64(10)", "i64(0)", "i64(-1)", gives="i64[10]"),
    row(relax.ArangeOp, "i64(9)", "i64(0)", "i64(-2)", gives="i64[5]"),
    row(relax.ArangeOp, "i64(n)", "i64(0)", "i64(-1)", gives="i64[n]"),
    row(relax.ArangeOp, "i64(4)", "i64(0)", "i64(1)", gives="i64[0]"),
    row(relax.ArangeOp, "i64(0)", "i64(4)", "i64(-1)", gives="i64[0]"),
    row(relax.ArangeOp, "i64(0)", "i64()", "i64(1)", gives="i64[?]"),
    row(relax.ArangeOp, "i64(0)", "i64(4)", "i64()", gives="i64[?]"),
    row(relax.ArangeOp, "i64(0)", "i64(4)", "i64(n - m)", gives="i64[?]"),
    row(relax.ArangeOp, "i64(0)", "i64(4)", "i64(1)", dtype=f16, gives="f16[4]"),
    row(relax.ArangeOp, "i32(0)", "i32(4)", "i32(1)", gives="i64[4]"),
    # Floats: the length is computed in single precision.
    row(relax.ArangeOp, "=0.0 : f32", "=1.0 : f32", "=0.25 : f32", gives="f32[4]"),
    row(relax.ArangeOp, "=0.0 : f32", "=0.3 : f32", "=0.1 : f32", gives="f32[3]"),
    row(relax.ArangeOp, "=0.0 : f64", "=0.3 : f64", "=0.1 : f64", gives="f32[3]"),
    row(relax.ArangeOp, "=1 : i64", "=2.5 : f32", "=1 : i64", gives="f32[2]"),
    row(relax.ArangeOp, "=2.0 : f32", "=0.5 : f32", "=-1.0 : f32", gives="f32[2]"),
    row(relax.ArangeOp, "=0.0 : f32", "=-1.0 : f32", "=0.5 : f32", gives="f32[0]"),
    row(relax.ArangeOp, "=0.0 : f64", "=1.0e300 : f64", "=1.0 : f64", gives="f32[?]"),
    row(relax.ArangeOp, "f32()", "=1.0 : f32", "=0.5 : f32", gives="f32[?]"),
    row(relax.ArangeOp, "=n : i64", "=1.0 : f32", "=0.5 : f32", gives="f32[?]"),
    row(
        relax.ArangeOp,
        "=0.0 : f32",
        "=1.0 : f32",
        "=1.0 : f32",
        dtype=i32,
        gives="i32[1]",
    ),
    row(
        relax.ArangeOp,
        "i64(0)",
        "i64(4)",
        "i64(0)",
        gives="error: the step must not be 0",
    ),
    row(
        relax.ArangeOp,
        "=0.0 : f32",
        "=1.0 : f32",
        "=0.0 : f32",
        gives="error: the step must not be 0",
    ),
    row(
        relax.ArangeOp,
        "i64(0)",
        "i64[]",
        "i64(1)",
        dtype=i64,
        gives="error: operand 'end' must be a !relax.prim, not tensor<i64>",
    ),
    row(relax.ArangeOp, "i64(0)", "i64(4)", "i64(1)", dtype=relax.ANY, gives=_NO_DTYPE),
]


def _dtype_rows(op: type[relax.OperatorOp]) -> list[Row]:
    return [
        row(op, "f32[n, ?]", dtype=f16, gives="f16[n, ?]"),
        row(op, "any[*]", dtype=i32, gives="i32[*]"),
        row(op, _CUDA, dtype=f16, gives=placed("[4]", CUDA, "f16")),
        row(op, "f32[4]", dtype=relax.ANY, gives=_NO_DTYPE),
        row(op, "f32()", dtype=f16, gives=_NOT_TENSOR),
    ]


def _device(text: str) -> relax.VDeviceAttr:
    info = relax.TensorInfo.of(type_of(placed("[]", text)))
    assert info is not None
    assert info.vdevice is not None
    return info.vdevice


_PLACES = [
    row(relax.ToVDeviceOp, "f32[4]", dst_vdevice=_device(CUDA), gives=_CUDA),
    row(
        relax.ToVDeviceOp,
        _CUDA,
        dst_vdevice=_device(LLVM),
        gives=placed("[4]", LLVM),
    ),
    row(
        relax.ToVDeviceOp,
        "any[n, ?]",
        dst_vdevice=_device(CUDA),
        gives=placed("[n, ?]", CUDA, "any"),
    ),
    row(relax.ToVDeviceOp, "f32[*]", dst_vdevice=_device(CUDA), gives="f32[*]"),
    row(relax.ToVDeviceOp, "f32()", dst_vdevice=_device(CUDA), gives=_NOT_TENSOR),
    row(relax.HintOnDeviceOp, "f32[n, ?]", dev_type=2, gives="f32[n, ?]"),
    row(relax.HintOnDeviceOp, "any[*]", dev_type=1, dev_id=3, gives="any[*]"),
    row(relax.HintOnDeviceOp, _CUDA, dev_type=1, gives=_CUDA),
    row(relax.HintOnDeviceOp, "f32()", dev_type=1, gives=_NOT_TENSOR),
    row(relax.StopLiftParamsOp, "f32[n, ?]", gives="f32[n, ?]"),
    row(relax.StopLiftParamsOp, "any[*]", gives="any[*]"),
    row(relax.StopLiftParamsOp, _CUDA, gives=_CUDA),
    row(relax.StopLiftParamsOp, "f32()", gives=_NOT_TENSOR),
]

ROWS = [
    *_FULL,
    *_filled_rows(relax.OnesOp),
    *_filled_rows(relax.ZerosOp),
    *_like_rows(relax.OnesLikeOp),
    *_like_rows(relax.ZerosLikeOp),
    *_EYE,
    *_triangle_rows(relax.TrilOp),
    *_triangle_rows(relax.TriuOp),
    *_ARANGE,
    *_dtype_rows(relax.AstypeOp),
    *_dtype_rows(relax.WrapParamOp),
    *_PLACES,
]


@pytest.mark.parametrize("case", ROWS, ids=str)
def test_result_type(case: Row):
    case.check()


def test_every_operator_has_rows():
    ops = {op.name for op in operations_of(creation, datatype)}
    assert ops == {f"relax.{name}" for name in (*_CREATION, *_DATATYPE)}
    assert not uncovered((*_CREATION, *_DATATYPE), ROWS)


def test_defaults():
    x = relax.AllocTensorOp(type_of("f16[4]"))
    assert relax.WrapParamOp(x).dtype == f32
    assert relax.HintOnDeviceOp(x, 2).dev_id.value.data == 0
    number = relax.AllocTensorOp(type_of("i64[]"))
    with pytest.raises(VerifyException, match=r"must be a !relax\.prim, not tensor<i64>"):
        relax.ArangeOp(number, number, number)

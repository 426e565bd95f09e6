"""Result types of gathers, scatters, losses, quantisation and images.

docs/spec/relax-ops.md §8, §11, §12.
"""

from __future__ import annotations

import pytest
from support.relax_rules import CUDA, Row, placed, row, tuple_of, type_of, uncovered

from xdsl_tvm.dialects import relax

_GATHER, _GATHER_ND = relax.GatherElementsOp, relax.GatherNDOp
_SCATTER, _SCATTER_ND = relax.ScatterElementsOp, relax.ScatterNDOp
_ONE_HOT, _PAD, _CROSS = relax.OneHotOp, relax.PadOp, relax.CrossEntropyWithLogitsOp
_NLL, _QUANTIZE, _DEQUANTIZE = relax.NLLLossOp, relax.QuantizeOp, relax.DequantizeOp
_RESIZE, _DROPOUT = relax.Resize2DOp, relax.DropoutOp

INDEXED = [
    row(_GATHER, "f32[4, 8]", "i64[4, n]", gives="f32[4, n]", axis=1),
    row(_GATHER, "f32[4, 8]", "i32[?, 8]", gives="f32[?, 8]"),
    row(_GATHER, "f32[*]", "i64[4]", gives="f32[*]", axis=3),
    row(_GATHER, "any[4]", "i64[*]", gives="any[*]"),
    row(
        _GATHER,
        "f32[4]",
        "f32[4]",
        gives="error: operand 'indices' must hold integers, not f32",
    ),
    row(
        _GATHER,
        "f32[4]",
        "i64[4, 1]",
        gives="error: data and indices must have one rank, not 1 and 2",
    ),
    row(
        _GATHER,
        "f32[4]",
        "i64[4]",
        gives="error: axis 1 is out of range for rank 1",
        axis=1,
    ),
    row(_GATHER_ND, "f32[4, 8, m]", "i64[n, 2]", gives="f32[n, m]"),
    row(_GATHER_ND, "f32[4, 8]", "i64[2]", gives="f32[]"),
    row(_GATHER_ND, "f32[4, 8, m]", "i64[4, 3, 1]", gives="f32[4, 3, m]", batch_dims=1),
    row(_GATHER_ND, "f32[4, 8]", "i64[n, k]", gives="f32[*]"),
    row(_GATHER_ND, "f32[*]", "i64[n, 2]", gives="f32[*]"),
    row(_GATHER_ND, "f32[4]", "i64[*]", gives="f32[*]"),
    row(
        _GATHER_ND,
        "f32[4]",
        "i32[1]",
        gives="error: operand 'indices' must hold i64, not i32",
    ),
    row(
        _GATHER_ND,
        "f32[4]",
        "i64[3, 2]",
        gives="error: 2 indices are too many for rank 1 with 0 batch_dims",
    ),
    row(
        _GATHER_ND,
        "f32[4]",
        "i64[3, 1]",
        gives="error: batch_dims 1 is out of range",
        batch_dims=1,
    ),
    row(
        _GATHER_ND,
        "f32[*]",
        "i64[3, 1]",
        gives="error: batch_dims -1 is out of range",
        batch_dims=-1,
    ),
    row(_SCATTER, "f32[4, 8]", "i64[n, 8]", "f32[n, 8]", gives="f32[4, 8]"),
    row(_SCATTER, "f32[*]", "i32[?]", "any[*]", gives="f32[*]", axis=7, reduction="add"),
    row(
        _SCATTER,
        "f32[4]",
        "i64[2]",
        "f32[3]",
        gives="error: dimension 0 of indices and updates must be equal, not 2 and 3",
    ),
    row(
        _SCATTER,
        "f32[4]",
        "i64[2]",
        "f16[2]",
        gives="error: operands must have one dtype, not f32 and f16",
    ),
    row(
        _SCATTER,
        "f32[4, 1]",
        "i64[2]",
        "f32[2]",
        gives="error: data and indices must have one rank, not 2 and 1",
    ),
    row(
        _SCATTER,
        "f32[4]",
        "f32[2]",
        "f32[2]",
        gives="error: operand 'indices' must hold integers, not f32",
    ),
    row(
        _SCATTER,
        "f32[4]",
        "i64[2]",
        "f32[2]",
        gives="error: axis 1 is out of range for rank 1",
        axis=1,
    ),
    row(
        _SCATTER,
        "f32[4]",
        "i64[2]",
        "f32[2]",
        gives="error: reduction must be one of update, add, mul, min, max, mean, "
        'not "or"',
        reduction="or",
    ),
    row(_SCATTER_ND, "f32[4, 8]", "i64[n, 1]", "f32[n, 8]", gives="f32[4, 8]"),
    row(_SCATTER_ND, "f32[4]", "i64[1]", "f32[]", gives="f32[4]", reduction="max"),
    row(_SCATTER_ND, "f32[*]", "i64[n, 1]", "f32[*]", gives="f32[*]"),
    row(
        _SCATTER_ND,
        "f32[4, 8]",
        "i64[n, k]",
        "f32[n, 8]",
        gives="error: the last dimension of the indices must be a number up to 2, not k",
    ),
    row(
        _SCATTER_ND,
        "f32[4]",
        "i64[n, 2]",
        "f32[n]",
        gives="error: the last dimension of the indices must be a number up to 1, not 2",
    ),
    row(
        _SCATTER_ND,
        "f32[4, 8]",
        "i64[n, 1]",
        "f32[m, 8]",
        gives="error: operand 'updates' must have shape [n, 8], not [m, 8]",
    ),
    row(
        _SCATTER_ND,
        "any[4]",
        "i64[n, 1]",
        "any[n]",
        gives="error: data and updates must have one known dtype, "
        "not unknown and unknown",
    ),
    row(_ONE_HOT, "i64[4, n]", "f32()", "f32()", gives="f32[4, n, 8]", depth=8),
    row(_ONE_HOT, "i8[4]", "i32(1)", "i32(0)", gives="i32[2, 4]", depth=2, axis=0),
    row(_ONE_HOT, "any[*]", "f32()", "f32()", gives="f32[*]", depth=8, axis=9),
    row(
        _ONE_HOT,
        "i64[4]",
        "f32()",
        "f16()",
        gives="error: operands must have one dtype, not f32 and f16",
        depth=8,
    ),
    row(
        _ONE_HOT,
        "f32[4]",
        "f32()",
        "f32()",
        gives="error: operand 'indices' must hold integers, not f32",
        depth=8,
    ),
    row(
        _ONE_HOT,
        "i64[4]",
        "f32()",
        "f32()",
        gives="error: depth must be positive, not 0",
        depth=0,
    ),
    row(
        _ONE_HOT,
        "i64[4]",
        "f32()",
        "f32()",
        gives="error: axis 2 is out of range for rank 2",
        depth=4,
        axis=2,
    ),
    row(
        _ONE_HOT,
        "i64[4]",
        "f32[]",
        "f32()",
        gives="error: operand 'on_value' must be a !relax.prim, not tensor<f32>",
        depth=4,
    ),
]

LOSSES = [
    row(_PAD, "f32[4, n]", gives="f32[6, n + 5]", pad_width=[1, 1, 2, 3]),
    row(_PAD, "f32[?]", gives="f32[?]", pad_width=[1, 1], pad_mode="edge", pad_value=1.5),
    row(_PAD, "f32[*]", gives="f32[*]", pad_width=[1]),
    row(_PAD, placed("[4]", CUDA), gives="f32[4]", pad_width=[0, 0]),
    row(
        _PAD,
        "f32[4, 4]",
        gives="error: 2 widths do not fit rank 2, which needs two per dimension",
        pad_width=[1, 1],
    ),
    row(_DROPOUT, "f32[n]", gives=tuple_of("f32[n]", "f32[n]"), rate=0.1),
    row(
        _DROPOUT,
        "[n]",
        gives="error: operand 'data' must be a tensor, not !relax.shape<[n]>",
    ),
    row(_CROSS, "f32[4, n]", "f32[4, n]", gives="f32[]"),
    row(_CROSS, "f32[m]", "any[n]", gives="any[]"),
    row(_CROSS, "f32[*]", placed("[4]", CUDA), gives=placed("[]", CUDA)),
    row(
        _CROSS,
        "f32[4, 8]",
        "f32[4, 9]",
        gives="error: dimension 1 of predictions and labels must be equal, not 8 and 9",
    ),
    row(
        _CROSS,
        "f32[4]",
        "f32[4, 9]",
        gives="error: predictions and labels must have one rank, not 1 and 2",
    ),
    row(
        _CROSS,
        "f32[4]",
        "f16[4]",
        gives="error: operands must have one dtype, not f32 and f16",
    ),
    row(_NLL, "f32[n, 8]", "i64[n]", "f32[8]", gives="f32[]"),
    row(_NLL, "f32[n, 8, h]", "i64[n, h]", gives="f32[n, h]", reduction="none"),
    row(_NLL, "f32[8]", "i64[]", "f32[8]", gives="f32[]", reduction="none"),
    row(_NLL, "f32[*]", "i64[n]", gives="f32[n]", reduction="none", ignore_index=0),
    row(_NLL, "f32[n, 8]", "i64[*]", "any[*]", gives="any[]", reduction="sum"),
    row(
        _NLL,
        "f32[n, 8]",
        "f32[n]",
        gives="error: operand 'targets' must hold integers, not f32",
    ),
    row(
        _NLL, "f32[]", "i64[]", gives="error: operand 'predictions' must not have rank 0"
    ),
    row(
        _NLL,
        "f32[4, 8]",
        "i64[4, 1]",
        gives="error: operand 'targets' must have rank 1, not 2",
    ),
    row(
        _NLL,
        "f32[4, 8]",
        "i64[5]",
        gives="error: dimension 0 of losses and targets must be equal, not 4 and 5",
    ),
    row(
        _NLL,
        "f32[4, 8]",
        "i64[4]",
        "f32[9]",
        gives="error: 8 classes do not fit 9 weights",
    ),
    row(
        _NLL,
        "f32[4, 8]",
        "i64[4]",
        "f32[8, 1]",
        gives="error: operand 'weights' must have rank 1, not 2",
    ),
    row(
        _NLL,
        "f32[4, 8]",
        "i64[4]",
        gives='error: reduction must be none, sum or mean, not "max"',
        reduction="max",
    ),
]

_I8 = type_of("i8")

QUANTISED = [
    row(_QUANTIZE, "f32[4, n]", "f32[n]", "i8[n]", gives="i8[4, n]"),
    row(
        _QUANTIZE,
        "f16[4, 8]",
        "f16[]",
        "f16[4]",
        gives="ui16[4, 8]",
        axis=0,
        out_dtype=type_of("ui16"),
    ),
    row(
        _QUANTIZE,
        "f32[*]",
        "f32[8]",
        "i8[1]",
        gives="f8E5M2[*]",
        axis=9,
        out_dtype=type_of("f8E5M2"),
    ),
    row(_QUANTIZE, "any[?, 8]", "any[*]", "any[?]", gives="i8[?, 8]"),
    row(
        _QUANTIZE,
        "f64[4]",
        "f32[]",
        "i8[]",
        gives="error: operand 'data' cannot hold f64",
    ),
    row(
        _QUANTIZE,
        "f32[4]",
        "f64[]",
        "i8[]",
        gives="error: operand 'scale' cannot hold f64",
    ),
    row(
        _QUANTIZE,
        "f32[4]",
        "f32[]",
        "i32[]",
        gives="error: operand 'zero_point' cannot hold i32",
    ),
    row(
        _QUANTIZE,
        "f32[4]",
        "f32[]",
        "i8[]",
        gives="error: out_dtype cannot be i32",
        out_dtype=type_of("i32"),
    ),
    row(
        _QUANTIZE,
        "f32[4]",
        "f32[]",
        "i8[]",
        gives="error: axis 1 is out of range for rank 1",
        axis=1,
    ),
    row(
        _QUANTIZE,
        "f32[4, n]",
        "f32[m]",
        "i8[n]",
        gives="error: operand 'scale' must have length n, not m",
    ),
    row(
        _QUANTIZE,
        "f32[4, 8]",
        "f32[8]",
        "i8[8, 8]",
        gives="error: operand 'zero_point' must have rank 0 or 1, not 2",
    ),
    row(_DEQUANTIZE, "i8[4, n]", "f32[n]", "i8[n]", gives="f32[4, n]"),
    row(
        _DEQUANTIZE,
        "i32[4, n]",
        "f32[]",
        "i8[]",
        gives="f16[4, n]",
        out_dtype=type_of("f16"),
    ),
    row(_DEQUANTIZE, "f8E4M3FN[4]", "f16[4]", "i8[4]", gives="f32[4]"),
    row(
        _DEQUANTIZE,
        "i8[4]",
        "f32[]",
        "i8[]",
        gives="error: out_dtype cannot be i8",
        out_dtype=_I8,
    ),
    row(
        _DEQUANTIZE,
        "i64[4]",
        "f32[]",
        "i8[]",
        gives="error: operand 'data' cannot hold i64",
    ),
    row(
        _DEQUANTIZE,
        "i8[4]",
        "f32[5]",
        "i8[]",
        gives="error: operand 'scale' must have length 4, not 5",
    ),
]

IMAGES = [
    row(_RESIZE, "f32[n, 3, 8, 8]", "[16, h]", gives="f32[n, 3, 16, h]"),
    row(
        _RESIZE,
        "ui8[n, 8, 8, 3]",
        "[16, 16]",
        gives="f32[n, 16, 16, 3]",
        layout="NHWC",
        method="cubic",
        out_dtype=type_of("f32"),
    ),
    row(_RESIZE, "f32[n, 3, ?, ?]", "!relax.shape<*>", gives="f32[n, 3, ?, ?]"),
    row(_RESIZE, "f32[*]", "[4, 4]", gives="f32[?, ?, 4, 4]"),
    row(
        _RESIZE,
        "f32[3, 8, 8]",
        "[4, 4]",
        gives="error: operand 'data' must have rank 4, as layout \"NCHW\" has, not 3",
    ),
    row(
        _RESIZE,
        "f32[1, 3, 8, 8]",
        "[4]",
        gives="error: size must be height and width, not 1 values",
    ),
    row(
        _RESIZE,
        "f32[1, 3, 8, 8]",
        "[4, 4]",
        gives="error: roi must have 4 values, not 1",
        roi=[0.0],
    ),
    row(
        _RESIZE,
        "f32[1, 3, 8, 8]",
        "i64[2]",
        gives="error: operand 'size' must be a !relax.shape, not tensor<2xi64>",
    ),
    row(
        _RESIZE,
        "f32[1, 3, 8, 8]",
        "[4, 4]",
        gives='error: layout "NCDHW" does not order the dimensions NCHW',
        layout="NCDHW",
    ),
]

ROWS = INDEXED + LOSSES + QUANTISED + IMAGES


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_rule(row: Row):
    row.check()


def test_every_operator_has_a_row():
    names = """
        gather_elements gather_nd scatter_elements scatter_nd one_hot
        nn.pad nn.dropout nn.cross_entropy_with_logits nn.nll_loss
        quantize dequantize image.resize2d
    """
    assert not uncovered(names.split(), ROWS)

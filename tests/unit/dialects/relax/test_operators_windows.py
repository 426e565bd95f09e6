"""Result types of convolutions and poolings (docs/spec/relax-ops.md §11)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.relax_rules import CUDA, LLVM, Row, placed, row, type_of, uncovered

from xdsl_tvm.dialects import relax

_IMAGE = "f32[2, 3, 28, 30]"
_WEIGHT = "f32[4, 3, 3, 5]"
_CONV = relax.Conv2DOp
_TRANSPOSE = relax.Conv2DTransposeOp

CONVOLUTIONS = [
    row(_CONV, _IMAGE, _WEIGHT, gives="f32[2, 4, 26, 26]"),
    row(_CONV, _IMAGE, _WEIGHT, gives="f32[2, 4, 28, 28]", padding=1),
    row(_CONV, _IMAGE, _WEIGHT, gives="f32[2, 4, 28, 30]", padding=[1, 2]),
    row(_CONV, _IMAGE, _WEIGHT, gives="f32[2, 4, 30, 32]", padding=[1, 2, 3, 4]),
    row(_CONV, _IMAGE, _WEIGHT, gives="f32[2, 4, 13, 13]", strides=2),
    row(_CONV, _IMAGE, _WEIGHT, gives="f32[2, 4, 13, 26]", strides=[2, 1]),
    row(_CONV, _IMAGE, _WEIGHT, gives="f32[2, 4, 24, 18]", dilation=[2, 3]),
    row(_CONV, "f32[2, 6, 8, 8]", "f32[4, 3, 1, 1]", gives="f32[2, 4, 8, 8]", groups=2),
    # Symbolic and unknown dimensions.
    row(
        _CONV,
        "f32[n, c, h, w]",
        "f32[o, c, k, 3]",
        gives="f32[n, o, h - k + 1, w - 2]",
    ),
    row(
        _CONV,
        "f32[n, 3, h, w]",
        _WEIGHT,
        gives="f32[n, 4, (h - 3) floordiv 2 + 1, (w - 5) floordiv 2 + 1]",
        strides=2,
    ),
    row(_CONV, "f32[n, c, 8, 8]", "f32[o, i, 1, 1]", gives="f32[n, o, 8, 8]"),
    row(_CONV, "f32[2, 3, ?, 8]", "f32[4, 3, 3, 3]", gives="f32[2, 4, ?, 6]"),
    row(_CONV, "f32[*]", "f32[4, 3, 3, 3]", gives="f32[?, 4, ?, ?]"),
    row(_CONV, "f32[2, 3, 8, 8]", "f32[*]", gives="f32[2, ?, ?, ?]"),
    # Layouts.
    row(
        _CONV,
        "f32[2, 28, 30, 3]",
        _WEIGHT,
        gives="f32[2, 26, 26, 4]",
        data_layout="NHWC",
    ),
    row(
        _CONV,
        _IMAGE,
        "f32[3, 5, 3, 4]",
        gives="f32[2, 26, 26, 4]",
        kernel_layout="HWIO",
        out_layout="NHWC",
    ),
    row(
        _CONV,
        "f32[2, 1, 8, 8, 4]",
        "f32[3, 1, 1, 1, 4]",
        gives="f32[2, 1, 8, 8, 4]",
        data_layout="NCHW4c",
        kernel_layout="OIHW4i",
    ),
    row(
        _CONV,
        "f32[2, 1, 8, 8, 4]",
        "f32[?, 1, 1, 1, 4]",
        gives="f32[2, 8, 8, ?]",
        data_layout="NCHW4c",
        kernel_layout="OIHW4i",
        out_layout="NHWC",
    ),
    # dtypes and devices.
    row(_CONV, "f16[1, 1, 1, 1]", "f16[1, 1, 1, 1]", gives="f16[1, 1, 1, 1]"),
    row(
        _CONV,
        "f16[1, 1, 1, 1]",
        "f32[1, 1, 1, 1]",
        gives="f64[1, 1, 1, 1]",
        out_dtype=type_of("f64"),
    ),
    row(_CONV, "any[1, 1, 1, 1]", "f32[1, 1, 1, 1]", gives="any[1, 1, 1, 1]"),
    row(
        _CONV,
        placed("[1, 1, 1, 1]", CUDA),
        "f32[1, 1, 1, 1]",
        gives=placed("[1, 1, 1, 1]", CUDA),
    ),
    # Errors.
    row(
        _CONV,
        placed("[1, 1, 1, 1]", CUDA),
        placed("[1, 1, 1, 1]", LLVM),
        gives=f"error: operands live on different devices, {CUDA} and {LLVM}",
    ),
    row(
        _CONV,
        "f16[1, 1, 1, 1]",
        "f32[1, 1, 1, 1]",
        gives="error: operands must have one dtype, not f16 and f32",
    ),
    row(
        _CONV,
        "f32[3, 8, 8]",
        _WEIGHT,
        gives="error: operand 'data' must have rank 4, as layout \"NCHW\" has, not 3",
    ),
    row(
        _CONV,
        _IMAGE,
        "f32[4, 3, 3]",
        gives="error: operand 'weight' must have rank 4, as layout \"OIHW\" has, not 3",
    ),
    row(
        _CONV,
        _IMAGE,
        "f32[4, 2, 3, 3]",
        gives="error: 3 channels do not fit a weight of 2 in each of 1 groups",
    ),
    row(
        _CONV,
        "f32[1, n, 8, 8]",
        "f32[4, n + 1, 3, 3]",
        gives="error: n channels do not fit a weight of n + 1 in each of 1 groups",
    ),
    row(
        _CONV,
        "f32[1, 6, 8, 8]",
        "f32[5, 3, 3, 3]",
        gives="error: 5 output channels cannot be in 2 groups",
        groups=2,
    ),
    row(_CONV, _IMAGE, _WEIGHT, gives="error: groups must be positive, not 0", groups=0),
    row(
        _CONV,
        _IMAGE,
        _WEIGHT,
        gives="error: strides must have 1 or 2 values, not 3",
        strides=[1, 1, 1],
    ),
    row(
        _CONV, _IMAGE, _WEIGHT, gives="error: strides must be positive, not 0", strides=0
    ),
    row(
        _CONV,
        _IMAGE,
        _WEIGHT,
        gives="error: dilation must have 1 or 2 values, not 0",
        dilation=[],
    ),
    row(
        _CONV,
        _IMAGE,
        _WEIGHT,
        gives="error: padding must have 1, 2 or 4 values, not 3",
        padding=[1, 1, 1],
    ),
    row(
        _CONV,
        _IMAGE,
        _WEIGHT,
        gives='error: layout "NHW" does not order the dimensions NCHW',
        data_layout="NHW",
    ),
    row(
        _CONV,
        _IMAGE,
        _WEIGHT,
        gives='error: layout "OIHW4n" does not order the dimensions OIHW',
        kernel_layout="OIHW4n",
    ),
    row(
        _CONV,
        _IMAGE,
        _WEIGHT,
        gives='error: layout "NCHW4c4c" repeats a dimension',
        out_layout="NCHW4c4c",
    ),
    row(
        _CONV,
        "!relax.object",
        _WEIGHT,
        gives="error: operand 'data' must be a tensor, not !relax.object",
    ),
    # One and three dimensions.
    row(relax.Conv1DOp, "f32[2, 3, 28]", "f32[4, 3, 3]", gives="f32[2, 4, 26]"),
    row(
        relax.Conv1DOp,
        "f32[2, n, 3]",
        "f32[4, 3, 3]",
        gives="f32[2, n + 3, 4]",
        padding=[2, 3],
        data_layout="NWC",
    ),
    row(
        relax.Conv1DOp,
        "f32[2, 3, 28]",
        "f32[4, 3, 3]",
        gives="error: padding must have 1, 1 or 2 values, not 4",
        padding=[1, 1, 1, 1],
    ),
    row(
        relax.Conv3DOp,
        "f32[2, 3, 8, 9, n]",
        "f32[4, 3, 3, 3, 3]",
        gives="f32[2, 4, 8, 11, n + 4]",
        padding=[1, 2, 3],
    ),
    row(
        relax.Conv3DOp,
        "f32[2, 3, 8, 8, 8]",
        "f32[4, 3, 3, 3, 3]",
        gives="f32[2, 4, 6, 6, 12]",
        padding=[0, 0, 2, 0, 0, 4],
    ),
]

TRANSPOSES = [
    row(_TRANSPOSE, "f32[2, 3, 8, 8]", "f32[3, 4, 3, 5]", gives="f32[2, 4, 10, 12]"),
    row(
        _TRANSPOSE,
        "f32[2, 3, 8, n]",
        "f32[3, 4, 3, 3]",
        gives="f32[2, 4, 16, n * 2]",
        strides=2,
        padding=1,
        output_padding=1,
    ),
    row(
        _TRANSPOSE,
        "f32[2, 4, 8, 8]",
        "f32[4, 4, 3, 3]",
        gives="f32[2, 8, 12, 12]",
        groups=2,
        dilation=2,
    ),
    row(_TRANSPOSE, "f32[*]", "f32[*]", gives="f32[?, ?, ?, ?]"),
    row(
        _TRANSPOSE,
        "f32[2, 8, 8, 3]",
        "f32[3, 3, 4, 3]",
        gives="f32[2, 10, 10, 4]",
        data_layout="NHWC",
        kernel_layout="HWOI",
    ),
    row(
        _TRANSPOSE,
        "f32[2, 3, 8, 8]",
        "f32[4, 3, 3, 3]",
        gives="error: 3 channels do not fit a weight of 4",
    ),
    row(
        _TRANSPOSE,
        "f32[2, 3, 8, 8]",
        "f32[3, 3, 3, 3]",
        gives="error: 3 input channels cannot be in 2 groups",
        groups=2,
    ),
    row(
        _TRANSPOSE,
        "f32[2, 3, 8, 8]",
        "f32[3, 3, 3, 3]",
        gives="error: output_padding must be below the stride 2 and not negative, not 2",
        strides=2,
        output_padding=2,
    ),
    row(
        relax.Conv1DTransposeOp,
        "f32[2, 3, n]",
        "f32[3, 4, 3]",
        gives="f32[2, 4, n * 2 + 1]",
        strides=2,
    ),
]

_MAX = relax.MaxPool2DOp

POOLINGS = [
    row(_MAX, _IMAGE, gives=_IMAGE),
    row(_MAX, _IMAGE, gives="f32[2, 3, 27, 29]", pool_size=2),
    row(_MAX, _IMAGE, gives="f32[2, 3, 14, 10]", pool_size=[2, 3], strides=[2, 3]),
    row(_MAX, _IMAGE, gives="f32[2, 3, 9, 9]", pool_size=3, strides=3, dilation=[1, 2]),
    row(
        _MAX,
        _IMAGE,
        gives="f32[2, 3, 10, 10]",
        pool_size=3,
        strides=3,
        dilation=[1, 2],
        ceil_mode=True,
    ),
    row(
        _MAX,
        _IMAGE,
        gives="f32[2, 3, 30, 33]",
        pool_size=2,
        padding=[1, 1, 2, 3],
        count_include_pad=True,
    ),
    row(
        _MAX,
        "f32[n, 3, h, w]",
        gives="f32[n, 3, (h - 2) floordiv 2 + 1, w - 1]",
        pool_size=2,
        strides=[2, 1],
    ),
    row(_MAX, "f32[n, 3, ?, 8]", gives="f32[n, 3, ?, 7]", pool_size=2),
    row(_MAX, "f32[*]", gives="f32[?, ?, ?, ?]", pool_size=2),
    row(_MAX, "i8[1, 8, 8, 3]", gives="i8[1, 7, 7, 3]", pool_size=2, layout="NHWC"),
    row(
        _MAX,
        "f32[1, 2, 8, 8, 4]",
        gives="f32[1, 7, 7, 8]",
        pool_size=2,
        layout="NCHW4c",
        out_layout="NHWC",
    ),
    row(_MAX, placed("[1, 1, 1, 1]", CUDA), gives=placed("[1, 1, 1, 1]", CUDA)),
    row(
        _MAX,
        "f32[1, 8, 8]",
        gives="error: operand 'data' must have rank 4, as layout \"NCHW\" has, not 3",
    ),
    row(
        _MAX,
        _IMAGE,
        gives="error: pool_size must have 1 or 2 values, not 3",
        pool_size=[2, 2, 2],
    ),
    row(
        _MAX,
        _IMAGE,
        gives="error: padding must have 1, 2 or 4 values, not 5",
        padding=[0] * 5,
    ),
    row(_MAX, _IMAGE, gives="error: strides must be positive, not -1", strides=-1),
    row(
        _MAX,
        _IMAGE,
        gives='error: layout "NCW" does not order the dimensions NCHW',
        layout="NCW",
    ),
    row(
        _MAX, "[4]", gives="error: operand 'data' must be a tensor, not !relax.shape<[4]>"
    ),
]
_AVERAGES = [replace(each, build=relax.AvgPool2DOp) for each in POOLINGS]
_OTHER_RANKS = [
    each
    for build in (relax.MaxPool1DOp, relax.AvgPool1DOp)
    for each in (
        row(build, "f32[2, 3, n]", gives="f32[2, 3, n - 1]", pool_size=2),
        row(
            build,
            "f32[2, 3, 8]",
            gives="f32[2, 3, 4]",
            pool_size=3,
            strides=2,
            ceil_mode=True,
        ),
    )
] + [
    row(build, "f32[2, 3, 4, 8, n]", gives="f32[2, 3, 3, 7, n - 1]", pool_size=2)
    for build in (relax.MaxPool3DOp, relax.AvgPool3DOp)
]

_ADAPTIVE = relax.AdaptiveAvgPool2DOp

ADAPTIVE = [
    row(_ADAPTIVE, _IMAGE, gives=_IMAGE),
    row(_ADAPTIVE, _IMAGE, gives="f32[2, 3, 7, 7]", output_size=7),
    row(_ADAPTIVE, "f32[n, 3, h, w]", gives="f32[n, 3, 7, 9]", output_size=[7, 9]),
    row(_ADAPTIVE, "f32[*]", gives="f32[*]"),
    row(_ADAPTIVE, "f32[*]", gives="f32[?, ?, ?, ?]", out_layout="NHWC"),
    row(_ADAPTIVE, "f32[*]", gives="f32[?, ?, 1, 1]", output_size=1),
    row(_ADAPTIVE, "f32[?, ?, ?, ?]", gives="f32[?, ?, ?, ?]"),
    row(
        _ADAPTIVE,
        _IMAGE,
        gives="f32[2, 1, 1, 3]",
        output_size=1,
        out_layout="NHWC",
    ),
    row(
        _ADAPTIVE,
        _IMAGE,
        gives="error: output_size must have 1 or 2 values, not 3",
        output_size=[1, 1, 1],
    ),
    row(
        _ADAPTIVE,
        "f32[1, 8, 8]",
        gives="error: operand 'data' must have rank 4, as layout \"NCHW\" has, not 3",
    ),
    row(relax.AdaptiveAvgPool1DOp, "f32[2, 3, n]", gives="f32[2, 3, 5]", output_size=5),
    row(
        relax.AdaptiveAvgPool3DOp,
        "f32[2, 3, n, 4, 4]",
        gives="f32[2, 3, 5, 5, 5]",
        output_size=5,
    ),
]

ROWS = CONVOLUTIONS + TRANSPOSES + POOLINGS + _AVERAGES + _OTHER_RANKS + ADAPTIVE


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_rule(row: Row):
    row.check()


def test_every_operator_has_a_row():
    ranks = "1d", "2d", "3d"
    kinds = "conv", "max_pool", "avg_pool", "adaptive_avg_pool"
    names = [f"nn.{kind}{rank}" for kind in kinds for rank in ranks]
    transposes = ["nn.conv1d_transpose", "nn.conv2d_transpose"]
    assert not uncovered(names + transposes, ROWS)

"""Result types of normalisations, softmax and attention (docs/spec/relax-ops.md §11)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.relax_rules import CUDA, Row, placed, row, tuple_of, uncovered

from xdsl_tvm.dialects import relax

_VECTORS = ("f32[8]",) * 4
_BATCH = relax.BatchNormOp
_GROUP = relax.GroupNormOp
_RMS = relax.RMSNormOp

BATCH_NORM = [
    row(
        _BATCH,
        "f32[2, 8, n]",
        *_VECTORS,
        gives=tuple_of("f32[2, 8, n]", "f32[8]", "f32[8]"),
        axis=1,
    ),
    row(
        _BATCH,
        "f32[2, n]",
        *("f32[n]",) * 4,
        gives=tuple_of("f32[2, n]", "f32[n]", "f32[n]"),
        axis=-1,
        epsilon=1e-3,
        center=False,
        scale=False,
        momentum=0.5,
        training=False,
    ),
    row(
        _BATCH,
        "f32[?, 8]",
        *_VECTORS,
        gives=tuple_of("f32[?, 8]", "f32[8]", "f32[8]"),
        axis=1,
    ),
    # Not proven to fit.
    row(
        _BATCH,
        "f32[2, n]",
        *_VECTORS,
        gives=tuple_of("f32[?, ?]", "f32[?]", "f32[?]"),
        axis=1,
    ),
    row(
        _BATCH,
        "f32[*]",
        *_VECTORS,
        gives=tuple_of("f32[*]", "f32[?]", "f32[?]"),
        axis=7,
    ),
    row(
        _BATCH,
        "f32[2, 8]",
        "f32[8]",
        "f32[8]",
        "f32[*]",
        "f32[8]",
        gives=tuple_of("f32[?, ?]", "f32[?]", "f32[?]"),
        axis=1,
    ),
    row(
        _BATCH,
        "f32[2, 8]",
        "f32[8]",
        "f32[8]",
        "f32[8]",
        "f32[2]",
        gives="error: operand 'moving_var' must have length 8, not 2",
        axis=1,
    ),
    row(
        _BATCH,
        "f32[2, 8]",
        "f32[8]",
        "f32[1, 8]",
        "f32[8]",
        "f32[8]",
        gives="error: operand 'beta' must have rank 1, one per axis, not 2",
        axis=1,
    ),
    row(
        _BATCH,
        "f32[2, 8]",
        "f16[8]",
        "f32[8]",
        "f32[8]",
        "f32[8]",
        gives="error: operand 'gamma' must hold f32 as the data does, not f16",
        axis=1,
    ),
    row(
        _BATCH,
        "i32[2, 8]",
        *("i32[8]",) * 4,
        gives="error: operand 'data' must hold floats, not i32",
        axis=1,
    ),
    row(
        _BATCH,
        "f32[2, 8]",
        *_VECTORS,
        gives="error: axis 2 is out of range for rank 2",
        axis=2,
    ),
]

_GROUPS: dict[str, object] = {"num_groups": 2, "channel_axis": 1, "axes": [2]}

GROUP_NORM = [
    row(_GROUP, "f32[2, 4, n]", "f32[4]", "f32[4]", gives="f32[2, 4, n]", **_GROUPS),
    row(
        _GROUP,
        "f32[2, n, 3]",
        "f32[m]",
        "f32[?]",
        gives="f32[2, n, 3]",
        num_groups=2,
        channel_axis=-2,
        axes=-1,
        epsilon=1e-3,
        center=False,
        scale=False,
    ),
    row(_GROUP, "any[*]", "f32[*]", "f32[4]", gives="any[*]", **_GROUPS),
    row(
        _GROUP,
        "f32[2, 5, 3]",
        "f32[5]",
        "f32[5]",
        gives="error: 5 channels cannot be in 2 groups",
        **_GROUPS,
    ),
    row(
        _GROUP,
        "f32[2, 4, 3]",
        "f32[4]",
        "f32[4]",
        gives="error: axis 1 is the channels' already",
        num_groups=2,
        channel_axis=1,
        axes=[1, 2],
    ),
    row(
        _GROUP,
        "f32[2, 4, 3]",
        "f32[4]",
        "f32[4]",
        gives="error: groups must be positive, not 0",
        num_groups=0,
        channel_axis=1,
        axes=[2],
    ),
    row(
        _GROUP,
        "f32[2, 4, 3]",
        "f32[4]",
        "f32[5]",
        gives="error: operand 'beta' must have length 4, not 5",
        **_GROUPS,
    ),
    row(
        _GROUP,
        "f32[2, 4, 3]",
        "f32[4, 1]",
        "f32[4]",
        gives="error: operand 'gamma' must have rank 1, not 2",
        **_GROUPS,
    ),
    row(
        _GROUP,
        "f32[2, 4, 3]",
        "f16[4]",
        "f32[4]",
        gives="error: operands must have one dtype, not f32 and f16",
        **_GROUPS,
    ),
    row(
        _GROUP,
        "i8[2, 4, 3]",
        "i8[4]",
        "i8[4]",
        gives="error: operand 'data' must hold floats, not i8",
        **_GROUPS,
    ),
    row(
        _GROUP,
        "f32[2, 4]",
        "f32[4]",
        "f32[4]",
        gives="error: axis 2 is out of range for rank 2",
        **_GROUPS,
    ),
]

RMS_NORM = [
    row(_RMS, "f32[4, 8]", "f32[8]", gives="f32[4, 8]"),
    row(_RMS, "f16[4, n, 8]", "f16[n, 8]", gives="f16[4, n, 8]", axes=[1, 2]),
    row(_RMS, placed("[8]", CUDA), "f32[8]", gives=placed("[8]", CUDA)),
    row(_RMS, "f32[4, n]", "f32[8]", gives="f32[?, ?]"),
    row(_RMS, "f32[*]", "f32[8]", gives="f32[*]", axes=9),
    row(
        _RMS,
        "f32[4, 8]",
        "f32[4]",
        gives="error: operand 'weight' must have length 8, not 4",
    ),
    row(
        _RMS,
        "f32[4, 8]",
        "f32[8]",
        gives="error: operand 'weight' must have rank 2, one per axis, not 1",
        axes=[0, 1],
    ),
    row(
        _RMS,
        "f32[4, 8]",
        "f32[8, 8]",
        gives="error: axis -1 is given twice",
        axes=[1, -1],
    ),
    row(
        _RMS,
        "i32[4, 8]",
        "i32[8]",
        gives="error: operand 'data' must hold floats, not i32",
    ),
]

SOFTMAX = [
    row(op, *operands, gives=gives, **attributes)
    for op in (relax.SoftmaxOp, relax.LogSoftmaxOp)
    for operands, attributes, gives in [
        (("f32[4, n]",), {}, "f32[4, n]"),
        (("any[4]",), {"axis": 0}, "any[4]"),
        (("i32[*]",), {"axis": 7}, "i32[*]"),
        (("f32[4]",), {"axis": 1}, "error: axis 1 is out of range for rank 1"),
        (("i32[4]",), {}, "error: operand 'data' must hold floats, not i32"),
    ]
]

_Q, _K, _V = "f32[1, 4, 2, 8]", "f32[1, 6, 2, 8]", "f32[1, 6, 2, 9]"
_ATTENTION = relax.AttentionOp

ATTENTION = [
    row(_ATTENTION, _Q, _K, _V, gives="f32[1, 4, 2, 9]"),
    row(
        _ATTENTION,
        _Q,
        _K,
        _V,
        gives="f32[1, 4, 2, 9]",
        scale=0.5,
        causal_mask="BottomRight",
        window_size=3,
    ),
    row(
        _ATTENTION,
        "f16[b, s, h, d]",
        "f16[b, t, h, d]",
        "f16[b, t, h, e]",
        gives="f16[b, s, h, e]",
    ),
    row(
        _ATTENTION,
        "f32[a, s, 8, d]",
        "f32[b, t, 2, e]",
        "f32[c, u, 4, f]",
        gives="f32[a, s, 8, f]",
    ),
    row(_ATTENTION, "f32[*]", _K, _V, gives="f32[?, ?, ?, 9]"),
    row(_ATTENTION, _Q, "f32[?, ?, ?, ?]", "f32[*]", gives="f32[1, 4, 2, ?]"),
    row(
        _ATTENTION,
        placed("[1, 4, 2, 8]", CUDA),
        _K,
        "f16[1, 6, 2, 9]",
        gives=placed("[1, 4, 2, 9]", CUDA),
    ),
    row(
        _ATTENTION,
        _Q,
        "f32[6, 2, 8]",
        _V,
        gives="error: operand 'key' must have rank 4, not 3",
    ),
    row(
        _ATTENTION,
        _Q,
        "f32[2, 6, 2, 8]",
        _V,
        gives="error: batches must be equal, not 1 and 2",
    ),
    row(
        _ATTENTION,
        _Q,
        _K,
        "f32[1, 7, 2, 9]",
        gives="error: lengths of keys and values must be equal, not 6 and 7",
    ),
    row(
        _ATTENTION,
        _Q,
        "f32[1, 6, 2, 7]",
        _V,
        gives="error: features of queries and keys must be equal, not 8 and 7",
    ),
    row(
        _ATTENTION,
        _Q,
        "f32[1, 6, 3, 8]",
        _V,
        gives="error: 2 heads of queries are no multiple of 3",
    ),
    row(
        _ATTENTION,
        _Q,
        _K,
        _V,
        gives='error: a causal mask is "TopLeft" or "BottomRight", not "Left"',
        causal_mask="Left",
    ),
    row(
        _ATTENTION,
        "[4]",
        _K,
        _V,
        gives="error: operand 'query' must be a tensor, not !relax.shape<[4]>",
    ),
]

_BIASED = relax.AttentionBiasOp
_VAR = relax.AttentionVarLenOp
_LENGTHS = "i32[3]", "i32[]", "i32[3]", "i32[]"

ATTENTION_BIAS = [
    row(_BIASED, _Q, _K, _V, "f32[1, 2, 4, 6]", gives="f32[1, 4, 2, 9]"),
    row(_BIASED, _Q, _K, _V, "f32[1, 1, 1, 6]", gives="f32[1, 4, 2, 9]"),
    row(_BIASED, _Q, _K, _V, "f32[n, ?, m, k]", gives="f32[1, 4, 2, 9]"),
    row(_BIASED, _Q, _K, _V, "f32[*]", gives="f32[1, 4, 2, 9]"),
    row(
        _BIASED,
        _Q,
        _K,
        _V,
        "f32[1, 2, 4, 1]",
        gives="error: dimension 3 of operand 'bias' must be 6, not 1",
    ),
    row(
        _BIASED,
        _Q,
        _K,
        _V,
        "f32[1, 3, 4, 6]",
        gives="error: dimension 1 of operand 'bias' must be 2, not 3",
    ),
    row(
        _BIASED,
        _Q,
        _K,
        _V,
        "f32[4, 6]",
        gives="error: operand 'bias' must have rank 4, not 2",
    ),
]

ATTENTION_VAR_LEN = [
    row(_VAR, _Q, _K, _V, *_LENGTHS, gives="f32[1, 4, 2, 9]", causal_mask="TopLeft"),
    row(
        _VAR,
        _Q,
        _K,
        _V,
        "i32[3]",
        "i32()",
        "i32[3]",
        "i32[]",
        gives="error: operand 'max_seqlen_q' must be a tensor, not !relax.prim<i32>",
    ),
]

ROWS = [
    *BATCH_NORM,
    *GROUP_NORM,
    *RMS_NORM,
    *SOFTMAX,
    *ATTENTION,
    *ATTENTION_BIAS,
    *(
        replace(each, build=op, operands=(*each.operands, *more))
        for op, more in ((_BIASED, ("f32[*]",)), (_VAR, _LENGTHS))
        for each in ATTENTION
    ),
    *ATTENTION_VAR_LEN,
]


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_rule(row: Row):
    row.check()


def test_every_operator_has_a_row():
    names = """
        nn.batch_norm nn.group_norm nn.rms_norm nn.softmax nn.log_softmax
        nn.attention nn.attention_bias nn.attention_var_len
    """
    assert not uncovered(names.split(), ROWS)

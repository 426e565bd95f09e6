"""Result types of the operators that move elements: one row a rule.

docs/spec/relax-ops.md §8.
"""

from __future__ import annotations

import pytest
from support.relax_rules import (
    ANY_DEVICE,
    CUDA,
    LLVM,
    Row,
    placed,
    row,
    tuple_of,
    type_of,
    uncovered,
)
from xdsl.dialects.test import TestOp as AnyOp
from xdsl.ir import SSAValue
from xdsl.parser import Parser
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects import relax, tir
from xdsl_tvm.registry import new_context

_NO_TENSOR = "error: operand 'data' must be a tensor, not !relax.object"


def _map(text: str) -> tir.IndexMapAttr:
    attribute = Parser(new_context(), f"#tir.index_map<{text}>").parse_attribute()
    assert isinstance(attribute, tir.IndexMapAttr)
    return attribute


_BLOCKS = _map("(d0, d1) -> (d0, d1 floordiv 4, d1 mod 4)")
_LAYOUT = relax.LayoutTransformOp

ROWS: list[Row] = [
    # broadcast_to
    row(relax.BroadcastToOp, "f32[8]", "[4, 8]", gives="f32[4, 8]"),
    row(relax.BroadcastToOp, "f32[4, 1]", "[4, n]", gives="f32[4, n]"),
    row(relax.BroadcastToOp, "f32[n]", "[m]", gives="f32[m]"),
    row(relax.BroadcastToOp, "f32[n]", "[n + 1]", gives="f32[n + 1]"),
    row(relax.BroadcastToOp, "f32[?]", "[4]", gives="f32[4]"),
    row(relax.BroadcastToOp, "f32[*]", "[4]", gives="f32[4]"),
    row(relax.BroadcastToOp, "any[4]", "!relax.shape<*>", gives="any[*]"),
    row(relax.BroadcastToOp, "f32[4]", "[?, ?]", gives="f32[?, ?]"),
    row(relax.BroadcastToOp, placed("[4]", CUDA), "[4]", gives=placed("[4]", CUDA)),
    row(
        relax.BroadcastToOp,
        "f32[4, 8]",
        "[8]",
        gives="error: rank 2 cannot be broadcast to 1",
    ),
    row(relax.BroadcastToOp, "f32[4]", "[8]", gives="error: 4 cannot be broadcast to 8"),
    row(
        relax.BroadcastToOp,
        "f32[n + 5]",
        "[4]",
        gives="error: n + 5 cannot be broadcast to 4",
    ),
    row(
        relax.BroadcastToOp,
        "f32[4]",
        "f32[4]",
        gives="error: operand 'shape' must be a !relax.shape, not tensor<4xf32>",
    ),
    row(relax.BroadcastToOp, "!relax.object", "[4]", gives=_NO_TENSOR),
    # concat
    row(relax.ConcatOp, tuple_of("f32[4, 8]", "f32[2, 8]"), gives="f32[6, 8]"),
    row(relax.ConcatOp, tuple_of("f32[n, 8]", "f32[n, 8]"), gives="f32[n * 2, 8]"),
    row(relax.ConcatOp, tuple_of("f32[n]", "f32[m]"), gives="f32[m + n]"),
    row(
        relax.ConcatOp, tuple_of("f32[4, n]", "f32[4, 2]"), gives="f32[4, n + 2]", axis=-1
    ),
    row(relax.ConcatOp, tuple_of("f32[4, n]", "f32[4, m]"), gives="f32[8, ?]"),
    row(relax.ConcatOp, tuple_of("f32[4, 8]", "f32[?, 8]"), gives="f32[?, 8]"),
    row(relax.ConcatOp, tuple_of("f32[4, 8]", "f32[*]"), gives="f32[?, ?]"),
    row(relax.ConcatOp, tuple_of("f32[*]", "f32[*]"), gives="f32[*]"),
    row(relax.ConcatOp, tuple_of("f32[4, n]"), gives="f32[4, n]", axis=1),
    row(relax.ConcatOp, tuple_of("f32[4]", "any[2]"), gives="any[6]"),
    row(relax.ConcatOp, tuple_of("f32[4]", "f32[2]"), gives="f32[6]", axis=None),
    row(
        relax.ConcatOp, tuple_of(placed("[4]", CUDA), "f32[4]"), gives=placed("[8]", CUDA)
    ),
    row(
        relax.ConcatOp,
        tuple_of(placed("[4]", CUDA), placed("[4]", ANY_DEVICE)),
        gives=placed("[8]", CUDA),
    ),
    row(
        relax.ConcatOp, tuple_of(placed("[4]", CUDA), placed("[4]", LLVM)), gives="f32[8]"
    ),
    row(
        relax.ConcatOp,
        tuple_of("f32[4, 8]", "f32[2, 8]"),
        gives="error: rank 2 needs an axis",
        axis=None,
    ),
    row(
        relax.ConcatOp,
        tuple_of("f32[4]", "f16[4]"),
        gives="error: operands must have one dtype, not f32 and f16",
    ),
    row(
        relax.ConcatOp,
        tuple_of("f32[4]", "f32[4, 4]"),
        gives="error: tensors must have one rank, not 1 and 2",
    ),
    row(
        relax.ConcatOp,
        tuple_of("f32[4, 8]", "f32[4, 9]"),
        gives="error: dimension 1 cannot be both 8 and 9",
    ),
    row(
        relax.ConcatOp,
        tuple_of("f32[4]", "f32[4]"),
        gives="error: axis 1 is out of range for rank 1",
        axis=1,
    ),
    row(
        relax.ConcatOp,
        "!relax.tuple<>",
        gives="error: operand 'tensors' must be a tuple of tensors, not !relax.tuple<>",
    ),
    row(
        relax.ConcatOp,
        "f32[4]",
        gives="error: operand 'tensors' must be a tuple of tensors, not tensor<4xf32>",
    ),
    # expand_dims
    row(relax.ExpandDimsOp, "f32[4]", gives="f32[1, 4]", axis=0),
    row(relax.ExpandDimsOp, "f32[4]", gives="f32[4, 1]", axis=-1),
    row(relax.ExpandDimsOp, "f32[n, 4]", gives="f32[1, n, 4, 1]", axis=[3, 0]),
    row(relax.ExpandDimsOp, "f32[4]", gives="f32[4]", axis=[]),
    row(relax.ExpandDimsOp, "f32[]", gives="f32[1, 1]", axis=[0, 1]),
    row(relax.ExpandDimsOp, "f32[?]", gives="f32[?, 1]", axis=1),
    row(relax.ExpandDimsOp, "f32[*]", gives="f32[*]", axis=9),
    row(relax.ExpandDimsOp, placed("[4]", CUDA), gives=placed("[1, 4]", CUDA), axis=0),
    row(
        relax.ExpandDimsOp,
        "f32[4]",
        gives="error: axis 2 is out of range for rank 2",
        axis=2,
    ),
    row(
        relax.ExpandDimsOp, "f32[4]", gives="error: axis -3 is given twice", axis=[0, -3]
    ),
    row(relax.ExpandDimsOp, "!relax.object", gives=_NO_TENSOR, axis=0),
    # flatten
    row(relax.FlattenOp, "f32[2, 3, n]", gives="f32[n * 6]"),
    row(relax.FlattenOp, "f32[]", gives="f32[1]"),
    row(relax.FlattenOp, "f32[n]", gives="f32[n]"),
    row(relax.FlattenOp, "f32[?]", gives="f32[?]"),
    row(relax.FlattenOp, "f32[?, 4]", gives="f32[?]"),
    row(relax.FlattenOp, "any[*]", gives="any[?]"),
    row(relax.FlattenOp, "!relax.object", gives=_NO_TENSOR),
    # split
    row(
        relax.SplitOp,
        "f32[4, 8]",
        gives=tuple_of("f32[1, 8]", "f32[2, 8]", "f32[1, 8]"),
        indices_or_sections=[1, 3],
    ),
    row(
        relax.SplitOp,
        "f32[4]",
        gives=tuple_of("f32[0]", "f32[3]", "f32[0]", "f32[2]", "f32[0]"),
        indices_or_sections=[-2, 3, 2, 9],
    ),
    row(
        relax.SplitOp,
        "f32[n]",
        gives=tuple_of("f32[min(n, 2)]", "f32[max(n - min(n, 2), 0)]"),
        indices_or_sections=[2],
    ),
    row(
        relax.SplitOp,
        "f32[n + 2]",
        gives=tuple_of("f32[2]", "f32[n]"),
        indices_or_sections=[2],
    ),
    row(relax.SplitOp, "f32[n]", gives="f32[n]", indices_or_sections=[]),
    row(
        relax.SplitOp,
        "f32[4, 10]",
        gives=tuple_of("f32[4, 4]", "f32[4, 4]", "f32[4, 2]"),
        indices_or_sections=3,
        axis=-1,
    ),
    row(
        relax.SplitOp,
        "f32[n * 2]",
        gives=tuple_of("f32[n]", "f32[n]"),
        indices_or_sections=2,
    ),
    row(
        relax.SplitOp,
        "f32[n]",
        gives=tuple_of("f32[(n + 1) floordiv 2]", "f32[n - (n + 1) floordiv 2]"),
        indices_or_sections=2,
    ),
    row(relax.SplitOp, "f32[n]", gives="f32[n]", indices_or_sections=1),
    row(
        relax.SplitOp,
        "f32[?, 4]",
        gives=tuple_of("f32[?, 4]", "f32[?, 4]"),
        indices_or_sections=2,
    ),
    row(
        relax.SplitOp,
        "f32[*]",
        gives=tuple_of("f32[*]", "f32[*]"),
        indices_or_sections=[4],
        axis=3,
    ),
    row(
        relax.SplitOp,
        "f32[4]",
        gives="error: 0 sections cannot be made",
        indices_or_sections=0,
    ),
    row(
        relax.SplitOp,
        "f32[1000000000]",
        gives="error: 1000000000 sections, at most 16384 are made",
        indices_or_sections=1000000000,
    ),
    row(
        relax.SplitOp,
        "f32[4]",
        gives="error: axis 1 is out of range for rank 1",
        indices_or_sections=2,
        axis=1,
    ),
    row(relax.SplitOp, "!relax.object", gives=_NO_TENSOR, indices_or_sections=2),
    # squeeze
    row(relax.SqueezeOp, "f32[1, 4, 1]", gives="f32[4]"),
    row(relax.SqueezeOp, "f32[1, 4, 1]", gives="f32[4, 1]", axis=[0]),
    row(relax.SqueezeOp, "f32[1, n, 1]", gives="f32[1]", axis=[-1, 1]),
    row(relax.SqueezeOp, "f32[1, n]", gives="f32[*]"),
    row(relax.SqueezeOp, "f32[1, n]", gives="f32[n]", axis=0),
    row(relax.SqueezeOp, "f32[1, n]", gives="f32[1, n]", axis=[]),
    row(relax.SqueezeOp, "f32[?, ?]", gives="f32[?]", axis=1),
    row(relax.SqueezeOp, "f32[?, 1]", gives="f32[*]"),
    row(relax.SqueezeOp, "f32[*]", gives="f32[*]", axis=1),
    row(
        relax.SqueezeOp,
        "f32[4, 1]",
        gives="error: dimension 0 has extent 4, not 1",
        axis=0,
    ),
    row(relax.SqueezeOp, "f32[1]", gives="error: axis -1 is given twice", axis=[0, -1]),
    row(relax.SqueezeOp, "!relax.object", gives=_NO_TENSOR),
    # collapse_sum_like
    row(relax.CollapseSumLikeOp, "f32[4, 8]", "f16[8]", gives="f32[8]"),
    row(relax.CollapseSumLikeOp, "f32[4, n]", "f32[1, n]", gives="f32[1, n]"),
    row(relax.CollapseSumLikeOp, "f32[4, ?]", "f32[?]", gives="f32[?]"),
    row(relax.CollapseSumLikeOp, "f32[*]", "f32[8]", gives="f32[8]"),
    row(relax.CollapseSumLikeOp, "f32[8]", "f32[*]", gives="f32[*]"),
    row(
        relax.CollapseSumLikeOp, "f32[4]", placed("[4]", CUDA), gives=placed("[4]", CUDA)
    ),
    row(
        relax.CollapseSumLikeOp,
        "f32[4, 8]",
        "f32[4]",
        gives="error: 8 cannot be collapsed to 4",
    ),
    row(
        relax.CollapseSumLikeOp,
        "f32[n]",
        "f32[m]",
        gives="error: n cannot be collapsed to m",
    ),
    row(
        relax.CollapseSumLikeOp,
        "f32[4]",
        "[4]",
        gives="error: operand 'collapse_target' must be a tensor, not !relax.shape<[4]>",
    ),
    # collapse_sum_to
    row(relax.CollapseSumToOp, "f32[4, 8]", "[8]", gives="f32[8]"),
    row(relax.CollapseSumToOp, "f32[4, 8]", "[4, 1]", gives="f32[4, 1]"),
    row(relax.CollapseSumToOp, "f32[4, 8]", "[]", gives="f32[]"),
    row(relax.CollapseSumToOp, "f32[4, 8]", "!relax.shape<*>", gives="f32[*]"),
    row(relax.CollapseSumToOp, "f32[*]", "[n]", gives="f32[n]"),
    row(
        relax.CollapseSumToOp,
        "f32[8]",
        "[1, 8]",
        gives="error: rank 1 cannot be collapsed to 2",
    ),
    row(
        relax.CollapseSumToOp, "f32[4]", "[n]", gives="error: 4 cannot be collapsed to n"
    ),
    row(
        relax.CollapseSumToOp,
        "f32[4]",
        "f32[4]",
        gives="error: operand 'collapse_target' must be a !relax.shape, "
        "not tensor<4xf32>",
    ),
    # repeat
    row(relax.RepeatOp, "f32[4, n]", gives="f32[n * 8]", repeats=2),
    row(relax.RepeatOp, "f32[4, n]", gives="f32[4, n * 2]", repeats=2, axis=-1),
    row(relax.RepeatOp, "f32[?, 4]", gives="f32[?]", repeats=2),
    row(relax.RepeatOp, "f32[?, 4]", gives="f32[?, 8]", repeats=2, axis=1),
    row(relax.RepeatOp, "f32[?, 4]", gives="f32[?, 4]", repeats=1, axis=0),
    row(relax.RepeatOp, "f32[*]", gives="f32[*]", repeats=2, axis=1),
    row(relax.RepeatOp, "f32[*]", gives="f32[?]", repeats=2),
    row(relax.RepeatOp, "f32[]", gives="f32[2]", repeats=2),
    row(
        relax.RepeatOp,
        "f32[4]",
        gives="error: axis 1 is out of range for rank 1",
        repeats=2,
        axis=1,
    ),
    row(
        relax.RepeatOp,
        "f32[4]",
        gives="error: nothing can be repeated -1 times",
        repeats=-1,
    ),
    # tile
    row(relax.TileOp, "f32[4, n]", gives="f32[8, n * 3]", repeats=[2, 3]),
    row(relax.TileOp, "f32[4, n]", gives="f32[4, n * 3]", repeats=3),
    row(relax.TileOp, "f32[4]", gives="f32[2, 1, 12]", repeats=[2, 1, 3]),
    row(relax.TileOp, "f32[?, 4]", gives="f32[?, 8]", repeats=[2, 2]),
    row(relax.TileOp, "f32[*]", gives="f32[*]", repeats=[2]),
    row(
        relax.TileOp,
        "f32[4]",
        gives="error: nothing can be repeated -3 times",
        repeats=[2, -3],
    ),
    # flip
    row(relax.FlipOp, "f32[4, n]", gives="f32[4, n]", axis=-1),
    row(relax.FlipOp, "f32[*]", gives="f32[*]", axis=5),
    row(relax.FlipOp, "f32[4]", gives="error: axis 1 is out of range for rank 1", axis=1),
    # layout_transform
    row(_LAYOUT, "f32[2, 8]", gives="f32[2, 2, 4]", index_map=_BLOCKS),
    row(
        _LAYOUT,
        "f32[n, 9]",
        gives="f32[n, 3, 4]",
        index_map=_BLOCKS,
        axis_separators=[1],
        input_axis_separators=[1],
    ),
    row(_LAYOUT, "f32[2, 3]", gives="f32[2, 1, 3]", index_map=_BLOCKS),
    row(
        _LAYOUT,
        "f32[2, n * 4]",
        gives="f32[2, n, 4]",
        index_map=_BLOCKS,
    ),
    row(_LAYOUT, "any[?, ?]", gives="any[?, ?, 4]", index_map=_BLOCKS),
    row(_LAYOUT, "f32[*]", gives="f32[?, ?, ?]", index_map=_BLOCKS),
    row(_LAYOUT, "f32[n, m]", gives="f32[m, n]", index_map=_map("(i, j) -> (j, i)")),
    row(_LAYOUT, "f32[4]", gives="f32[9]", index_map=_map("(i) -> (i * 2 + 2)")),
    row(_LAYOUT, "f32[4]", gives="f32[4]", index_map=_map("(i) -> (3 - i)")),
    row(
        _LAYOUT,
        "f32[4]",
        gives="error: #tir.index_map<(d0) -> ((d0 + -1))> gives negative indices",
        index_map=_map("(i) -> (i - 1)"),
    ),
    row(
        _LAYOUT,
        "f32[4]",
        gives="error: operand 'data' must have rank 2, not 1",
        index_map=_BLOCKS,
    ),
]


def test_layout_transform_pads_with_its_dtype():
    data, pad, other = (
        SSAValue.get(AnyOp(result_types=[type_of(text)]))
        for text in ("f32[2, 9]", "f32()", "f16()")
    )
    op = relax.LayoutTransformOp(data, _BLOCKS, pad)
    assert op.result.type == type_of("f32[2, 3, 4]")
    op.verify()
    with pytest.raises(VerifyException, match="must have one dtype, not f32 and f16"):
        relax.LayoutTransformOp(data, _BLOCKS, other)


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_rule(row: Row):
    row.check()


def test_every_operator_has_a_row():
    names = """
        broadcast_to concat expand_dims flatten split squeeze
        collapse_sum_like collapse_sum_to repeat tile flip layout_transform
    """
    assert not uncovered(names.split(), ROWS)

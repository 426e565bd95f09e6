"""Canonicalization patterns of the expression ops, which xDSL's `canonicalize` applies.

What needs no new op is a folder of the op instead (`folders`).
"""

from __future__ import annotations

from xdsl.ir import Operation, Region
from xdsl.pattern_rewriter import (
    PatternRewriter,
    RewritePattern,
    op_type_rewrite_pattern,
)
from xdsl.rewriter import InsertPoint
from xdsl.traits import is_side_effect_free

from xdsl_tvm.dialects.tir.arithmetic import NotOp
from xdsl_tvm.dialects.tir.expressions import CastOp, IfThenElseOp, SelectOp, YieldOp
from xdsl_tvm.dialects.tir.folders import keeps_number
from xdsl_tvm.dialects.tir.vectors import BroadcastOp, RampOp, literal_of


class MergeCasts(RewritePattern):
    """`cast(cast(x))` becomes one conversion where the inner one keeps each number."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: CastOp, rewriter: PatternRewriter, /) -> None:
        inner = op.value.owner
        if isinstance(inner, CastOp) and keeps_number(inner.value.type, op.value.type):
            rewriter.replace(op, CastOp(inner.value, op.result.type))


class SelectByNegation(RewritePattern):
    """A `select` by `not p` becomes one by `p` of the exchanged values."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: SelectOp, rewriter: PatternRewriter, /) -> None:
        negation = op.condition.owner
        if isinstance(negation, NotOp):
            rewriter.replace(op, SelectOp(negation.value, op.false_value, op.true_value))


class ChooseBranch(RewritePattern):
    """An `if_then_else` by a constant becomes the branch that it takes.

    One whose branches are the same value from outside becomes that value.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: IfThenElseOp, rewriter: PatternRewriter, /) -> None:
        truth = literal_of(op.condition)
        if truth is not None:
            _inline_value(op, op.true_region if truth else op.false_region, rewriter)
            return
        regions = (op.true_region, op.false_region)
        values = [_yield_of(region).value for region in regions]
        if values[0] is values[1] and all(
            is_side_effect_free(inner) or isinstance(inner, YieldOp)
            for region in regions
            for inner in region.block.ops
        ):
            rewriter.replace(op, (), [values[0]])


def _yield_of(region: Region) -> YieldOp:
    last = region.block.last_op
    assert isinstance(last, YieldOp)
    return last


def _inline_value(op: Operation, region: Region, rewriter: PatternRewriter) -> None:
    end = _yield_of(region)
    value = end.value
    rewriter.erase(end)
    rewriter.inline_block(region.block, InsertPoint.before(op))
    rewriter.replace(op, (), [value])


class RampWithoutStride(RewritePattern):
    """A `ramp` whose stride is zero becomes a `broadcast`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: RampOp, rewriter: PatternRewriter, /) -> None:
        if literal_of(op.stride) == 0:
            rewriter.replace(op, BroadcastOp(op.base, op.result.type))

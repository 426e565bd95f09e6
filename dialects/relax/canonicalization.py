"""Canonicalization patterns of Relax operators, which xDSL's `canonicalize` applies.

What becomes a value that exists is a folder of the op instead (`folders`).
"""

from __future__ import annotations

from xdsl.pattern_rewriter import (
    PatternRewriter,
    RewritePattern,
    op_type_rewrite_pattern,
)

from xdsl_tvm.dialects.relax.manipulate import PermuteDimsOp, ReshapeOp
from xdsl_tvm.dialects.relax.sharing import may_be_written
from xdsl_tvm.dialects.relax.values import AliasOp


class MergePermutations(RewritePattern):
    """Two `relax.permute_dims` become one, where memory of the operand is not written."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: PermuteDimsOp, rewriter: PatternRewriter, /) -> None:
        inner = op.data.owner
        if not isinstance(inner, PermuteDimsOp) or may_be_written(inner.data):
            return
        first, second = inner.permutation, op.permutation
        if first is None or second is None:
            return
        axes = [first[axis] for axis in second]
        rewriter.replace(op, PermuteDimsOp(inner.data, axes, op.result.type))


class MergeReshapes(RewritePattern):
    """Two `relax.reshape` become one, where memory of the operand is not written."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ReshapeOp, rewriter: PatternRewriter, /) -> None:
        inner = op.data.owner
        if isinstance(inner, ReshapeOp) and not may_be_written(inner.data):
            rewriter.replace(op, ReshapeOp(inner.data, op.shape, op.result.type))


class MergeAliases(RewritePattern):
    """A `relax.alias` of a `relax.alias` becomes one of the value."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AliasOp, rewriter: PatternRewriter, /) -> None:
        inner = op.value.owner
        if isinstance(inner, AliasOp):
            rewriter.replace(op, AliasOp(inner.value, op.result.type))

"""Assertions are removed."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.pattern_rewriter import (
    PatternRewriter,
    RewritePattern,
    op_type_rewrite_pattern,
)

from xdsl_tvm.analysis.all_ops import ops_of
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.infra.patterns import rewrite_each
from xdsl_tvm.passes.tir.rewriting.statements import erase_if_unused


@dataclass(frozen=True)
class SkipAssert(CompilerPass):
    """Summary: Removes every assertion.

    TVM name: tir.SkipAssert (v0.20)
    Input form: any
    Output form: the same, without `tir.assert`
    Options: none
    Rewrites: before

            %p = tir.cmp gt %n, %c0 : i32
            tir.assert %p, "n must be positive"
            tir.store %x, %A[%c0] : f32

        after

            tir.store %x, %A[%c0] : f32

        Expressions and loads that only the assertion needed go with it. What an
        assertion promised is lost to later passes, so those that use it come first.
        As a pattern: `SkipAssertPattern`.
    Leaves alone: everything else, `assume` included
    Errors: none
    Attributes: read: none; created: none; removed: none
    Differs from TVM: a call with an effect in a condition or a message is still made,
        since it is an op of its own; TVM drops it.
    """

    name = "tir-skip-assert"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        assertions = ops_of(op, tir.AssertOp)
        rewrite_each(SkipAssertPattern(), assertions)


class SkipAssertPattern(RewritePattern):
    """Erases a `tir.assert`, and the expressions and loads that only it needed."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: tir.AssertOp, rewriter: PatternRewriter, /) -> None:
        operands = op.operands
        rewriter.erase(op)
        erase_if_unused(operands, rewriter.erase)

"""Assumptions are removed."""

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
from xdsl_tvm.passes.tir.remove_no_op import RemoveNoOp


@dataclass(frozen=True)
class RemoveAssume(CompilerPass):
    """Summary: Removes every assumption, and what has no effect then.

    TVM name: tir.RemoveAssume (v0.20)
    Input form: any
    Output form: the same, without calls of `assume` that are statements
    Options: none; those of `RemoveNoOp`, which ends it, are taken from the `PassContext`,
        and a limit of steps there is an error where it is exceeded
    Rewrites: before

            tir.for %i = %c0 to %c16 {
              %x = tir.load %A[%i] : i32
              %p = tir.cmp eq %x, %c0 : i32
              %q = tir.call "assume"(%p) : (i1) -> i1
            }
            tir.store %c1, %A[%c0] : i32

        after

            tir.store %c1, %A[%c0] : i32

        What an assumption says is lost to later passes, so those that use it come first.
        Time is linear in the size of the module. As a pattern, without the clean-up:
        `RemoveAssumePattern`.
    Leaves alone: an `assume` whose result is used other than by a `tir.evaluate`; calls
        with an effect in a condition
    Errors: none
    Attributes: those of `RemoveNoOp`
    Differs from TVM: what `RemoveNoOp` differs in
    """

    name = "tir-remove-assume"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        calls = ops_of(op, tir.CallOp)
        rewrite_each(RemoveAssumePattern(), calls)
        RemoveNoOp().apply(ctx, op)


class RemoveAssumePattern(RewritePattern):
    """Erases a call of `assume`, and the `tir.evaluate` of it, where nothing else uses
    it."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: tir.CallOp, rewriter: PatternRewriter, /) -> None:
        if op.callee.data != "assume":
            return
        users = [use.operation for result in op.results for use in result.uses]
        if all(isinstance(user, tir.EvaluateOp) for user in users):
            for statement in (*users, op):
                rewriter.erase(statement)

"""Parallel loops become serial ones."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.pattern_rewriter import (
    PatternRewriter,
    RewritePattern,
    op_type_rewrite_pattern,
)

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.infra.patterns import rewrite_each


@dataclass(frozen=True)
class ConvertForLoopsToSerial(CompilerPass):
    """Summary: Turns parallel loops into serial ones.

    TVM name: tir.ConvertForLoopsToSerial (v0.20)
    Input form: any
    Output form: the same, without loops of kind `parallel`
    Options: none
    Rewrites: before

            tir.for %i = %c0 to %n parallel {
              ...
            }

        after

            tir.for %i = %c0 to %n {
              ...
            }

        The annotations of the loop stay. As a pattern: `ConvertForLoopToSerialPattern`.
    Leaves alone: vectorized, unrolled and thread-bound loops
    Errors: none
    Attributes: read: none; created: none; removed: none
    Differs from TVM: parallel loops inside of parallel loops are converted too; TVM does
        not look into a loop that it converted.
    """

    name = "tir-convert-for-loops-to-serial"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        loops = (
            loop
            for loop in all_ops(op)
            if isinstance(loop, tir.ForOp) and loop.kind.data is tir.ForKind.PARALLEL
        )
        rewrite_each(ConvertForLoopToSerialPattern(), loops)


class ConvertForLoopToSerialPattern(RewritePattern):
    """Turns a parallel `tir.for` into a serial one, in place."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: tir.ForOp, rewriter: PatternRewriter, /) -> None:
        if op.kind.data is tir.ForKind.PARALLEL:
            op.kind = _SERIAL
            rewriter.notify_op_modified(op)


_SERIAL = tir.ForKindAttr(tir.ForKind.SERIAL)

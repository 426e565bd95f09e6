"""Blocks: inits become guarded statements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.pattern_rewriter import (
    PatternRewriter,
    RewritePattern,
    op_type_rewrite_pattern,
)
from xdsl.rewriter import InsertPoint

from xdsl_tvm.analysis.all_ops import ops_of
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.infra.patterns import rewrite_each
from xdsl_tvm.passes.tir.rewriting.statements import insert_body_before


@dataclass(frozen=True)
class LowerInitBlock(CompilerPass):
    """Summary: Turns the init of a block into a statement that runs where all reduction
        variables of the block are at the start of their domain.

    TVM name: tir.LowerInitBlock (v0.20)
    Input form: blocks that still have their iteration variables; reductions over threads
        are lowered before, by tir-lower-cross-thread-reduction: a guard is no barrier
    Output form: the same, and no block has a `tir.init`; where the domain of a reduction
        variable starts at a value computed from a loop variable, the guard uses this
        value inside the block, which BlockVarAccess allows again when blocks are opaque
    Options: none
    Rewrites: before

            tir.block (%vi : S in [%c0 to %n] = %i, %vk : R in [%lo to %lo + %m] = %k) {
              tir.init {
                tir.store %zero, %B[%vi] : f32
              }
              ...
            }

        after

            tir.block (%vi : S in [%c0 to %n] = %i, %vk : R in [%lo to %lo + %m] = %k) {
              %first = tir.cmp eq %vk, %lo : i32
              tir.if %first {
                tir.store %zero, %B[%vi] : f32
              }
              ...
            }

        Several reduction variables are compared in order of declaration, and the
        comparisons joined by `tir.and` from the left. With none the statements of the
        init run in its place without a condition. Time is linear in the size of the
        module. As a pattern: `LowerInitBlockPattern`.
    Leaves alone: everything else; the written buffers are not added to `tir.reads`, and
        variables of the other kinds never enter the condition
    Errors: none
    Attributes: read: none; created: none; removed: none
    Differs from TVM: a block inside an init statement has its own init lowered too; TVM
        leaves it, and later passes fail. The guard is where the init was, so a
        load before the init still reads what was there before it.
    """

    name = "tir-lower-init-block"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        inits = ops_of(op, tir.InitOp)
        rewrite_each(LowerInitBlockPattern(), inits)


class LowerInitBlockPattern(RewritePattern):
    """Turns a `tir.init` into a `tir.if` that compares the reduction variables of its
    block with the start of their domains."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: tir.InitOp, rewriter: PatternRewriter, /) -> None:
        condition = _insert_condition(op, rewriter)
        if condition is None:
            insert_body_before(op, op.body.block, followed=op.next_op is not None)
            rewriter.erase(op)
            return
        guard = tir.IfOp(condition, op.detach_region(op.body))
        guard.location = op.location
        rewriter.replace(op, guard)


def _insert_condition(init: tir.InitOp, rewriter: PatternRewriter) -> Operation | None:
    """Compute before `init` whether it runs; None where it always does."""
    block = cast(tir.BlockOp, init.parent_op())
    ops: list[Operation] = []
    for variable, it in zip(block.iter_vars, block.iters, strict=True):
        if it.kind is not tir.IterKind.REDUCE:
            continue
        at_start = tir.CmpOp(tir.CmpPredicate.EQ, variable, it.min)
        ops += [at_start, tir.AndOp(ops[-1], at_start)] if ops else [at_start]
    for op in ops:
        op.location = init.location
    rewriter.insert(ops, InsertPoint.before(init))
    return ops[-1] if ops else None

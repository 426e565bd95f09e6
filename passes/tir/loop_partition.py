"""Loops are split where conditions in them begin or cease to hold."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, ModuleOp
from xdsl.ir import Operation
from xdsl.rewriter import Rewriter

from xdsl_tvm.analysis.all_ops import ops_of
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.infra.pass_config import LoopPartitionConfig
from xdsl_tvm.passes.tir._loop_partition import Partitioner, is_hinted
from xdsl_tvm.passes.tir.rewriting.statements import PARTITION_HINT

_MARKS = frozenset(("likely", "ignore_loop_partition"))


@dataclass(frozen=True)
class LoopPartition(LoopPartitionConfig, CompilerPass):
    """Summary: Splits loops, so that conditions are constant in the main part.

    TVM name: tir.LoopPartition (v0.20)
    Input form: any; meant for loops and buffers
    Output form: the same, without calls of `likely` and `ignore_loop_partition`
    Options: those of the `PassContext` key `tir.LoopPartition`, which gives the values of
        those that are unset
        `partition_const_loop` (false): also loops with constant bounds
        `no_unroll_loop_with_extent_one` (false): a part that runs once stays a loop
        `unroll_loop_with_partition_hint_no_interval` (false): a loop with a hint for
        which no interval is found, and that runs more than once, becomes an unrolled loop
    Rewrites: before

            tir.for %i = %c0 to %n {
              %p = tir.cmp lt %i, %m : i32
              %q = tir.call "likely"(%p) : (i1) -> i1
              tir.if %q {
                tir.store %x, %A[%i] : f32
              }
            }

        after, with %e the smaller one of %m and %n, but not less than 0

            tir.for %i = %c0 to %e {
              %p = tir.const true
              tir.if %p {
                tir.store %x, %A[%i] : f32
              }
            }
            %r = tir.sub %n, %e : i32
            tir.for %i = %c0 to %r {
              %j = tir.add %i, %e : i32
              %p = tir.cmp lt %j, %m : i32
              tir.if %p {
                tir.store %x, %A[%j] : f32
              }
            }

        Conditions are the arguments of `likely`, and for a loop with a hint all
        comparisons outside of `ignore_loop_partition`. The main part is where they are
        true for all values of the loops and threads inside; if there is no such part,
        where they are false. In it they become constants; branches are not taken, which
        `tir-simplify` does. Parts are split further as long as that helps, and those that
        never run are left out. A part that runs once is put in place without a loop if it
        has no annotations; all others start at 0 and keep kind and annotations.
        A launch of threads is not split: its body becomes an `if` with both versions.
        Time is linear in the size of the result times the depth of the loops.
        Loops are split if their variable is hinted, or in an argument of `likely` while a
        bound is no constant; of the launches, those of blocks.
    Leaves alone: loops whose parts would bring the copies in a function above 2^18 ops;
        loops bound to threads; loops with a `tir.block` or a
        `tir.thread_allreduce` inside, unless the latter have a hint; loops over 8- and
        16-bit and over unsigned integers; launches of threads that meet inside; loops in
        which threads meet, by bounds that may differ between them
    Errors: none
    Attributes: read and removed: `pragma_loop_partition_hint` of loops and launches;
        created: none
    Differs from TVM: parts never overlap and never leave the range of the loop, whatever
        the bounds turn out to be; TVM relies on proofs that it has not made, and on loops
        not being empty. Conditions are taken in the order of the text. A bound that
        divides by what is no constant is not used. The size of the copies is limited.
    """

    name = "tir-loop-partition"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        options = self.resolved_options(LoopPartitionConfig)
        for func in op.body.block.ops:
            if isinstance(func, tir.FuncOp) and any(map(_matters, _candidates(func))):
                Partitioner(options).run(func)
        for inner in _candidates(op):
            _clean(inner)


def _candidates(root: Operation) -> list[tir.CallOp | tir.ForOp | tir.LaunchThreadOp]:
    """The ops that may have a hint or a mark of this pass."""
    return ops_of(root, tir.CallOp, tir.ForOp, tir.LaunchThreadOp)


def _matters(op: Operation) -> bool:
    """Whether a loop may be split because of the op."""
    return is_hinted(op) or (isinstance(op, tir.CallOp) and op.callee.data in _MARKS)


def _clean(op: tir.CallOp | tir.ForOp | tir.LaunchThreadOp) -> None:
    """Remove what this pass alone goes by."""
    if isinstance(op, tir.CallOp):
        if op.callee.data in _MARKS and len(op.args) == 1:
            Rewriter.replace_op(op, [], [op.args[0]])
    elif op.annotations is not None and PARTITION_HINT in op.annotations.data:
        entries = {k: v for k, v in op.annotations.data.items() if k != PARTITION_HINT}
        op.annotations = DictionaryAttr(entries) if entries else None

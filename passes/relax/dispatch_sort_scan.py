"""Sorts and scans on a GPU become calls of kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from xdsl_tvm.dialects import relax
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.relax._thread_kernels.dispatch import Dispatcher, KernelRule
from xdsl_tvm.passes.relax._thread_kernels.program import Sizes
from xdsl_tvm.passes.relax._thread_kernels.scans import scan
from xdsl_tvm.passes.relax._thread_kernels.sorting import argsort, sort, topk

_RULES: Final[dict[type[Operation], KernelRule]] = {
    relax.ArgsortOp: KernelRule(argsort, "argsort", has_axis=True),
    relax.CumprodOp: KernelRule(scan, "cumprod", has_axis=True),
    relax.CumsumOp: KernelRule(scan, "cumsum", has_axis=True),
    relax.SortOp: KernelRule(sort, "sort", has_axis=True),
    relax.TopkOp: KernelRule(topk, "topk", has_axis=True),
}


@dataclass(frozen=True)
class DispatchSortScan(CompilerPass):
    """Summary: Replaces sorts and scans on a GPU by calls of kernels for its threads.

    TVM name: relax.DispatchSortScan (v0.20)
    Input form: Relax functions with operators, inside dataflow regions or not; meant for
        before `relax-legalize-ops`, and after `relax-dispatch-sampling`
    Output form: the same, with `relax.call_tir` in the place of the operators, and
        private TIR functions of loops that are bound to threads
    Options:
        `target`: the target of operators whose results are on no device, as
        `Target.parse` takes it
        `threads` (256): threads of a block, at most those that the target has
        `tile` (1024): elements that a block has in shared memory at a time
    Rewrites: `relax.sort`, `relax.argsort`, `relax.topk`, `relax.cumsum`, `relax.cumprod`
        whose target, that of the device of the first result on one or else the option,
        has the key `gpu`. Before

            %r = relax.cumsum %a axis 1 : (tensor<4x8xf32>) -> tensor<4x8xf32>

        after

            %r = relax.call_tir @cumsum(%a) : (tensor<4x8xf32>) -> tensor<4x8xf32>

        An operator along another axis than the last one becomes one along the last axis
        between `relax.permute_dims`. *Sorts*: a block sorts a tile of a row, or several
        short rows, by a bitonic network on pairs of element and index. Where a row may
        have several tiles, launches in a loop of the host merge sorted runs in pairs, two
        times in an iteration; each thread finds one element by a binary search, and a
        last launch writes what is asked for. *Scans*: each thread scans `tile / threads`
        elements, and a tree of their totals joins the threads of a block. Where a row may
        have several tiles, one launch computes the totals of tiles, a second one scans
        these, and a third one scans the tiles. Extents may be symbolic. The order of
        elements, of NaN and of equal ones is that of the operators: NaN is the greatest,
        and equal ones keep their order. Scans of integers are exact. Those of floats
        combine elements in their order, but in groups, so that they round differently
        from `relax-legalize-ops`; 16-bit floats are combined in f32 and rounded once.
    Leaves alone: operators for other targets and without one, which
        `relax-legalize-ops` covers; empty results; nested modules
    Errors: a dtype or shape on a GPU that is not known, or names symbols that are not
        visible; bools; tensors of rank 0; `threads` or `tile` that is no power of two; a
        `tile` below 2 or beyond 2048; a target that does not parse
    Attributes: read: none; created: `tir.is_scheduled`, `op_pattern` (opaque) and
        `tir.noalias` on the functions made, `target` on those whose result is on a device
        with a target; removed: none
    Differs from TVM: an operator without a target is no error. On CPUs operators stay for
        `relax-legalize-ops`, where TVM calls the functions of its topi. Kernels are those
        of this project, without thrust, and no workspace is an operand. `relax.cumsum`
        along the last axis needs no reshape. Several rows that need more than 65535
        tiles each are refused by the driver when they are launched.
    """

    name = "relax-dispatch-sort-scan"
    tvm_name = "DispatchSortScan"

    target: str | None = None
    threads: int = 256
    tile: int = 1024

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        sizes = Sizes(self.threads, self.tile)
        Dispatcher.run(op, self.name, _RULES, sizes, self.target)

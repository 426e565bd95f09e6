"""Draws from distributions on a GPU become calls of kernels."""

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
from xdsl_tvm.passes.relax._thread_kernels.sampling import multinomial

_RULES: Final[dict[type[Operation], KernelRule]] = {
    relax.MultinomialFromUniformOp: KernelRule(
        multinomial, "gpu_multinomial_from_uniform"
    ),
}


@dataclass(frozen=True)
class DispatchSampling(CompilerPass):
    """Summary: Replaces draws from distributions on a GPU by calls of kernels.

    TVM name: relax.DispatchSampling (v0.20)
    Input form: Relax functions with operators, inside dataflow regions or not; meant for
        before `relax-legalize-ops`
    Output form: the same, with `relax.call_tir` in the place of the operators, and
        private TIR functions of loops that are bound to threads
    Options:
        `target`: the target of operators whose results are on no device, as
        `Target.parse` takes it
        `threads` (256): threads of a block, at most those that the target has
        `tile` (1024): elements that a block scans at a time
    Rewrites: `relax.multinomial_from_uniform` whose target, that of the device of the
        result or else the option, has the key `gpu`. Before

            %r = relax.multinomial_from_uniform %p, %u, %i dtype i64 : …

        after

            %r = relax.call_tir @gpu_multinomial_from_uniform(%p, %u, %i) : …

        A block draws one sample: it scans its distribution tile by tile, each thread
        keeps the first index whose sum exceeds the sample, and the least of them is the
        result.
        Extents may be symbolic. Sums are those of `relax-dispatch-sort-scan`, rounded
        differently from those of a loop, so that a sample at the border of two indices
        may yield the other one.
    Leaves alone: operators for other targets and without one, which
        `relax-legalize-ops` covers; empty results; nested modules
    Errors: a dtype or shape on a GPU that is not known, or names symbols that are not
        visible; `threads` or `tile` that is no power of two; a `tile` below 2 or beyond
        2048; a target that does not parse
    Attributes: read: none; created: `tir.is_scheduled`, `op_pattern` (opaque) and
        `tir.noalias` on the function made, `target` where the result is on a device with
        a target; removed: none
    Differs from TVM: an operator without a target is no error. On CPUs operators stay for
        `relax-legalize-ops`, where TVM makes a `relax.cumsum` and a search.
    """

    name = "relax-dispatch-sampling"
    tvm_name = "DispatchSampling"

    target: str | None = None
    threads: int = 256
    tile: int = 1024

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        sizes = Sizes(self.threads, self.tile)
        Dispatcher.run(op, self.name, _RULES, sizes, self.target)

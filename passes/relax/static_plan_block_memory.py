"""Tensors that do not live at the same time share storages."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.relax.functions import relax_functions
from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.functions import is_set
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.relax._memory_plan.arena import arena_plan, one_arena_plan
from xdsl_tvm.passes.relax._memory_plan.live_ranges import Begin, planned_lives
from xdsl_tvm.passes.relax._memory_plan.sizes import (
    UpperBounds,
    allocated_bytes,
    allocated_info,
)
from xdsl_tvm.passes.relax._memory_plan.storage_pool import Storage
from xdsl_tvm.passes.relax._memory_plan.storages import (
    common_anchor,
    new_storage,
    place_on,
)
from xdsl_tvm.passes.relax._memory_plan.tokens import token_plan
from xdsl_tvm.passes.relax._memory_plan.upper_bounds import upper_bounds_of

_DYNAMIC_OUTPUT = "relax.memory_plan_dynamic_func_output"
_STRATEGIES = ("tokens", "arena", "one-arena")


@dataclass(frozen=True)
class StaticPlanBlockMemory(CompilerPass):
    """Summary: Puts the intermediate tensors of Relax functions on storages that tensors
        share whose lives do not overlap.

    TVM name: relax.StaticPlanBlockMemory (v0.20)
    Input form: calls in destination-passing style on tensors of
        `relax.builtin.alloc_tensor` (`relax-call-tir-rewrite`); others are not planned
    Output form: planned tensors are `relax.memory.alloc_tensor` on a
        `relax.memory.alloc_storage`, at byte 0 unless the strategy is `arena`
    Options: `strategy`: `tokens` (default), TVM's, where tensors take over whole
        storages; `arena`, where all tensors of one scope and device with constant
        sizes are at offsets in one storage; or `one-arena`, where that storage has also
        the tensors whose sizes depend on symbols of the parameters alone; `alignment`:
        offsets are multiples of it, in bytes, a power of two (64); `share_results`
        (false): with `arena`, tensors may be in the memory of results, which callers own,
        before these are computed
    Rewrites: before

            %a = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2x4xf32>
            relax.call impure @exp(%x, %a) : (tensor<2x4xf32>, tensor<2x4xf32>) -> ()
            %b = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2x4xf32>
            relax.call impure @exp(%a, %b) : (tensor<2x4xf32>, tensor<2x4xf32>) -> ()
            %c = relax.builtin.alloc_tensor on 0 scope "global" : tensor<10xf32>
            relax.call impure @pad(%b, %c) : (tensor<2x4xf32>, tensor<10xf32>) -> ()
            relax.call impure @show(%c) : (tensor<10xf32>) -> ()

        after

            %s = relax.memory.alloc_storage 40 on 0 scope "global" dtype f32
              : !relax.object
            %a = relax.memory.alloc_tensor %s at 0
              : !relax.object -> tensor<2x4xf32>
            relax.call impure @exp(%x, %a) : (tensor<2x4xf32>, tensor<2x4xf32>) -> ()
            %t = relax.memory.alloc_storage 32 on 0 scope "global" dtype f32
              : !relax.object
            %b = relax.memory.alloc_tensor %t at 0
              : !relax.object -> tensor<2x4xf32>
            relax.call impure @exp(%a, %b) : (tensor<2x4xf32>, tensor<2x4xf32>) -> ()
            %c = relax.memory.alloc_tensor %s at 0
              : !relax.object -> tensor<10xf32>
            relax.call impure @pad(%b, %c) : (tensor<2x4xf32>, tensor<10xf32>) -> ()
            relax.call impure @show(%c) : (tensor<10xf32>) -> ()

        A tensor is planned if all that uses it, or a view of it, are calls of external
        or TIR functions among the bindings of the block that allocates it, a dataflow
        block ending a block. Views are `relax.reshape`, `relax.memory.view`,
        `relax.memory.ensure_zero_offset`, `relax.alias`, `relax.match_cast`, fields of
        tuples, and what external calls return; those that are not used themselves are no
        uses. After the last use its storage is free
        for the next tensor of the same scope, dtype and device: the smallest of those
        large enough, or else the largest, which grows; sizes that differ by more than a
        factor of 16 do not share. A size is bounded with the upper bounds of the
        symbols; one that is not constant shares only with provably equal ones. A tensor
        without uses has a storage to itself. The strategy `arena` places the tensors
        whose size, or bound of it, is constant by several greedy packings (by size, start
        or life, at the lowest offset or in the tightest gap), and takes the smallest, and
        so those whose sizes are multiples of one expression of symbols, such as `n + 1`,
        none of which a branch defines; where an arena is larger than what `tokens` needs
        for its tensors, or where more than 256 tensors live at once on average, they have
        the storages of `tokens`. With `one-arena` these storages and arenas are one after
        the other in one, and all offsets are multiples of the alignment for any values of
        symbols: units are rounded up where they are no multiples. Storages whose sizes
        depend on symbols that the body defines, or are sums with negative terms, are
        apart. With `share_results`, the 8 largest results of constant size, which the
        function allocates outside of branches and returns, are on storages, too: tensors
        that end before a result is allocated may be on its storage, if their elements are
        no larger, where an arena gets smaller by that. Time is that of sorting the
        storages of a function by size, and linear otherwise; storages are placed before
        the first tensor on them, or of the `relax.if` around it where tensors in several
        branches share.
    Leaves alone: tensors that a function (but for `share_results`) or a branch returns,
        that are a condition, or that anything else than such a call uses, as calls of
        Relax functions and operators; tensors used in another block than theirs, or in
        regions of other operations than `relax.if` and `relax.dataflow`; what is on a
        storage already. Nothing is freed: `relax-kill-after-last-use` does that.
    Errors: an unknown strategy; an alignment that is no power of two; an upper bound that
        is no positive integer; `tir_var_upper_bound` that is no dictionary;
        `tir_non_negative_var` that is no array of strings; a planned tensor
        whose element type has no size in bytes
    Attributes: read: `tir_var_upper_bound`, the greatest values, inclusive, of symbols
        that the parameters define, by name; `tir_non_negative_var`;
        `relax.memory_plan_dynamic_func_output`, which gives each tensor that is not
        planned and whose shape is not constant a storage of its own of the bounded size;
        created: none; removed: `relax.memory_plan_dynamic_func_output`
    Differs from TVM: the strategies `arena` and `one-arena`, and `share_results`, are
        ours. A `relax.match_cast` and what an external call returns count as uses of the
        memory that they may be views of. Devices do not share storages. The end of a
        tensor's life is no use of it, so that `relax-kill-after-last-use` may run before.
        A storage for tensors in several branches is made before them, where TVM makes it
        in the first, out of sight of the others; a size with symbols that a branch
        defines is not used after the branch. Symbols are never negative here, so that
        `tir_non_negative_var` is only checked. That symbols stay within their upper
        bounds is trusted, as in TVM.
    """

    name = "relax-static-plan-block-memory"

    strategy: str = "tokens"
    alignment: int = 64
    share_results: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        self._check_options()
        functions = relax_functions(op)
        names = {func.sym_name.data for func in functions}
        # All attributes are checked before anything changes.
        bounds = [upper_bounds_of(func, self.name) for func in functions]
        for func, upper in zip(functions, bounds, strict=True):
            self._plan(func, names, upper)
            if _DYNAMIC_OUTPUT in func.attributes:
                if is_set(func.attributes[_DYNAMIC_OUTPUT]):
                    self._place_dynamic(func, upper)
                del func.attributes[_DYNAMIC_OUTPUT]

    def _check_options(self) -> None:
        if self.strategy not in _STRATEGIES:
            raise PassFailedException(
                f"{self.name}: there is no strategy '{self.strategy}'; choose one of "
                f"{', '.join(_STRATEGIES)}"
            )
        if self.alignment < 1 or self.alignment & (self.alignment - 1):
            raise PassFailedException(
                f"{self.name}: alignment {self.alignment} is no power of two; give 1, 2, "
                "4, …"
            )

    def _plan(
        self, func: relax.FuncOp, names: AbstractSet[str], upper: UpperBounds
    ) -> None:
        steps = planned_lives(func, names)
        sizes = {
            step.token: allocated_bytes(step.token.alloc, self.name, upper)
            for step in steps
            if isinstance(step, Begin)
        }
        storages = token_plan(steps, sizes)
        if self.strategy == "arena":
            storages = arena_plan(
                steps,
                sizes,
                storages,
                self.alignment,
                share_results=self.share_results,
            )
        elif self.strategy == "one-arena":
            symbols = frozenset(func.symbol_names)
            storages = one_arena_plan(steps, sizes, storages, self.alignment, symbols)
        for storage in storages:
            _emit(storage)

    def _place_dynamic(self, func: relax.FuncOp, upper: UpperBounds) -> None:
        for alloc in [op for op in func.walk() if isinstance(op, relax.AllocTensorOp)]:
            info = allocated_info(alloc)
            if info.dtype is None or all(
                dim.value is not None for dim in info.shape or ()
            ):
                continue
            size = allocated_bytes(alloc, self.name, upper)
            place_on(alloc, new_storage(alloc, size, info.dtype))


def _emit(storage: Storage) -> None:
    first = storage.tensors[0][0]
    dtype = storage.kind[1]
    anchor = common_anchor([alloc for alloc, _ in storage.tensors])
    memory = new_storage(first, storage.size, dtype, anchor)
    for alloc, offset in storage.tensors:
        place_on(alloc, memory, offset)

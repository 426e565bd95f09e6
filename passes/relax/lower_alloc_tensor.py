"""Each allocated tensor gets a storage of its own."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerType, ModuleOp, Signedness
from xdsl.pattern_rewriter import (
    PatternRewriter,
    RewritePattern,
    op_type_rewrite_pattern,
)

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.dialects import relax
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.infra.patterns import rewrite_each
from xdsl_tvm.passes.relax._memory_plan.sizes import allocated_bytes
from xdsl_tvm.passes.relax._memory_plan.storages import storage_of, tensor_on

_BYTES = IntegerType(8, Signedness.UNSIGNED)


@dataclass(frozen=True)
class LowerAllocTensor(CompilerPass):
    """Summary: Gives each tensor that is allocated by itself a storage of its own.

    TVM name: relax.LowerAllocTensor (v0.20)
    Input form: any
    Output form: no `relax.builtin.alloc_tensor`
    Options: none
    Rewrites: before

            %a = relax.builtin.alloc_tensor on 1 scope "global"
              : tensor<?x4xf32, #relax.dims<[n, 4]>>

        after

            %storage = relax.memory.alloc_storage n * 16 on 1 scope "global"
              dtype ui8 : !relax.object
            %a = relax.memory.alloc_tensor %storage at 0
              : !relax.object -> tensor<?x4xf32, #relax.dims<[n, 4]>>

        The storage holds as many bytes as the tensor; elements of less than a byte take
        one. Time is linear in the size of the module. As a pattern:
        `LowerAllocTensorPattern`.
    Leaves alone: tensors on storages that `relax-static-plan-block-memory` has planned,
        and everything else
    Errors: a tensor whose element type has no size in bytes
    Attributes: read: none; created: none; removed: none; those of the allocation are on
        the tensor
    Differs from TVM: allocations in functions of other dialects are lowered as well
    """

    name = "relax-lower-alloc-tensor"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        allocs = [op for op in all_ops(op) if isinstance(op, relax.AllocTensorOp)]
        rewrite_each(LowerAllocTensorPattern(), allocs)


class LowerAllocTensorPattern(RewritePattern):
    """Turns a `relax.builtin.alloc_tensor` into a storage and a tensor on it.

    Raises PassFailedException for a tensor whose element type has no size in bytes.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(
        self, op: relax.AllocTensorOp, rewriter: PatternRewriter, /
    ) -> None:
        storage = storage_of(op, allocated_bytes(op, LowerAllocTensor.name), _BYTES)
        rewriter.replace(op, (storage, tensor_on(op, storage.result)))

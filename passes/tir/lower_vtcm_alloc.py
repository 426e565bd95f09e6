"""Allocations in VTCM become calls of the runtime."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i32, i64
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from xdsl_tvm.analysis.all_ops import ops_of
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.infra import CompilerPass

_VTCM = "global.vtcm"


@dataclass(frozen=True)
class LowerVtcmAlloc(CompilerPass):
    """Summary: Turns allocations in VTCM into calls that allocate at run time.

    TVM name: tir.LowerVtcmAlloc (v0.20)
    Input form: loops and buffers or later; after VerifyVTCMLimit
    Output form: the same, without `tir.allocate` in a scope that contains `global.vtcm`
    Options: none
    Rewrites: before

            %p = tir.allocate [64, 128] : !tir.ptr<i8, "global.vtcm">

        after

            %s = tir.string "global.vtcm"
            %n = tir.const 2 : i64
            %h = tir.call "tvm_stack_make_shape"(%c64, %c128) : (i32, i32) -> !tir.handle
            %p = tir.call "nd_mem_alloc_with_scope"(%s, %n, %h)
                : (!tir.handle, i64, !tir.handle) -> !tir.ptr<i8, "global.vtcm">

        The pointer keeps its type and scope, and extents are passed as they are. Time is
        linear in the size of the module.
    Leaves alone: allocations in other scopes, `tir.alloc_buffer`, and buffers on the
        memory
    Errors: none
    Attributes: read: none; created: none; removed: none
    Differs from TVM: a condition and annotations of the allocation are dropped as there;
        the memory of an allocation whose condition fails is allocated, which its users do
        not notice. That the pointer has a pointer type is verified by the op.
    """

    name = "tir-lower-vtcm-alloc"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for allocation in ops_of(op, tir.AllocateOp):
            if _VTCM in allocation.result.type.scope.data:
                _lower(allocation)


def _lower(allocation: tir.AllocateOp) -> None:
    scope = tir.StringOp(allocation.result.type.scope.data)
    count = tir.ConstOp(IntegerAttr(len(allocation.shape), i64))
    ops: list[Operation] = [scope, count]
    extents: list[SSAValue] = []
    for extent in allocation.shape:
        if isinstance(extent, int):
            constant = tir.ConstOp(IntegerAttr(extent, i32 if extent < 1 << 31 else i64))
            ops.append(constant)
            extents.append(constant.result)
        else:
            extents.append(extent)
    shape = tir.CallOp("tvm_stack_make_shape", extents, tir.HandleType())
    call = tir.CallOp(
        "nd_mem_alloc_with_scope", [scope, count, shape], allocation.result.type
    )
    ops += [shape, call]
    for op in ops:
        op.location = allocation.location
    hint = allocation.result.name_hint
    Rewriter.replace_op(allocation, ops, [call.results[0]])
    for op in ops:
        op.results[0].name_hint = hint if op is call else None

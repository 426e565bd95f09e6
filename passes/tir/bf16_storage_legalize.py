"""bfloat16 values as unsigned integers of their size, for targets that lack them."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.tir._legalize_floats.kinds import BFLOAT16, functions_to_legalize
from xdsl_tvm.passes.tir._legalize_floats.storage import store_as_integers


@dataclass(frozen=True)
class BF16StorageLegalize(CompilerPass):
    """Summary: Stores bf16 values as unsigned integers of their size, where targets
        have no bf16.

    TVM name: tir.BF16StorageLegalize (v0.20)
    Input form: `packed`: no buffer of a parameter; after tir-bf16-compute-legalize;
        functions with bf16 have the attribute `target`
    Output form: the same, without bf16 in functions for such targets
    Options: none
    Rewrites: before, for a target without bf16

            tir.func @f(%a : !tir.ptr<bf16>, %d : !tir.ptr<bf16>)
            %A = tir.decl_buffer %a : !tir.buffer<8xbf16>
            %x = tir.load %A[%i] : bf16
            %0 = tir.call "reinterpret"(%x) : (bf16) -> ui16
            …
            %y = tir.call "reinterpret"(%1) : (ui16) -> bf16
            tir.store %y, %D[%i] : bf16

        after

            tir.func @f(%a : !tir.ptr<ui16>, %d : !tir.ptr<ui16>)
            %A = tir.decl_buffer %a : !tir.buffer<8xui16>
            %0 = tir.load %A[%i] : ui16
            …
            tir.store %1, %D[%i] : ui16

        Parameters, allocations, buffers, constants and bindings become integers, scopes
        and names stay. Pointers are reinterpreted for a callee that keeps bf16 on its
        own target. Time is linear in the size of the module.
    Leaves alone: functions for targets that have bf16, which are CUDA devices of compute
        capability 8.0 and later; functions without bf16
    Errors: a function with bf16 and without a target: run tir-bind-target; a buffer of
        a parameter: run tir-make-packed-api; an op that computes in bf16: run
        tir-bf16-compute-legalize; a foreign op or an opaque builtin with bf16 values;
        a realized buffer; bf16 values in calls between functions of which only one
        has bf16 on its target
    Attributes: read: `target`; created: none; removed: none
    Differs from TVM: functions without bf16 need no target, and only they may have
        buffers of parameters. Scalar parameters, constants and constant memory become
        integers, too, accesses keep their masks, and a cast is refused, where TVM
        converts the integer.
    """

    name = "tir-bf16-storage-legalize"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = list(functions_to_legalize(op, BFLOAT16, self.name))
        store_as_integers(op, functions, BFLOAT16)

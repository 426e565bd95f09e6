"""float8 values as unsigned integers of their size, for targets that lack them."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.tir._legalize_floats.kinds import FLOAT8, functions_to_legalize
from xdsl_tvm.passes.tir._legalize_floats.storage import store_as_integers


@dataclass(frozen=True)
class FP8StorageLegalize(CompilerPass):
    """Summary: Stores f8 values as unsigned integers of their size, where targets
        have no f8.

    TVM name: tir.FP8StorageLegalize (v0.20)
    Input form: `packed`: no buffer of a parameter; after tir-fp8-compute-legalize;
        functions with f8 have the attribute `target`
    Output form: the same, without f8 in functions for such targets
    Options: none
    Rewrites: before, for a target without f8

            tir.func @f(%a : !tir.ptr<f8E5M2>, %d : !tir.ptr<f8E5M2>)
            %A = tir.decl_buffer %a : !tir.buffer<8xf8E5M2>
            %x = tir.load %A[%i] : f8E5M2
            %0 = tir.call "reinterpret"(%x) : (f8E5M2) -> ui8
            …
            %y = tir.call "reinterpret"(%1) : (ui8) -> f8E5M2
            tir.store %y, %D[%i] : f8E5M2

        after

            tir.func @f(%a : !tir.ptr<ui8>, %d : !tir.ptr<ui8>)
            %A = tir.decl_buffer %a : !tir.buffer<8xui8>
            %0 = tir.load %A[%i] : ui8
            …
            tir.store %1, %D[%i] : ui8

        Parameters, allocations, buffers, constants and bindings become integers, scopes
        and names stay. Pointers are reinterpreted for a callee that keeps f8 on its
        own target. Time is linear in the size of the module.
    Leaves alone: functions for targets that have f8, which are CUDA devices of compute
        capability 8.9 and later; functions without f8
    Errors: a function with f8 and without a target: run tir-bind-target; a buffer of
        a parameter: run tir-make-packed-api; an op that computes in f8: run
        tir-fp8-compute-legalize; a foreign op or an opaque builtin with f8 values;
        a realized buffer; f8 values in calls between functions of which only one
        has f8 on its target
    Attributes: read: `target`; created: none; removed: none
    Differs from TVM: functions without f8 need no target, and only they may have buffers
        of parameters. Scalar parameters, constants and constant memory become integers,
        too, accesses keep their masks, and a cast is refused, where TVM converts the
        integer.
    """

    name = "tir-fp8-storage-legalize"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = list(functions_to_legalize(op, FLOAT8, self.name))
        store_as_integers(op, functions, FLOAT8)

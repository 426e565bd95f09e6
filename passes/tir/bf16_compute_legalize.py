"""bfloat16 arithmetic in float32, for targets that lack it."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32

from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.tir._legalize_floats.compute import compute_in
from xdsl_tvm.passes.tir._legalize_floats.kinds import BFLOAT16, functions_to_legalize


@dataclass(frozen=True)
class BF16ComputeLegalize(CompilerPass):
    """Summary: Computes in f32 what functions compute in bf16, where their targets
        have no bf16 arithmetic.

    TVM name: tir.BF16ComputeLegalize (v0.20)
    Input form: any; functions with bf16 have the attribute `target`
    Output form: the same; bf16 only in memory, parameters, constants, copies and
        operands of what is not known
    Options: none
    Rewrites: before, for a target without bf16

            %p = tir.allocate [8] : !tir.ptr<bf16>
            %C = tir.decl_buffer %p : !tir.buffer<8xbf16>
            %x = tir.load %A[%i] : bf16
            %y = tir.add %x, %s : bf16
            tir.store %y, %C[%i] : bf16
            %z = tir.load %C[%i] : bf16
            tir.store %z, %D[%i] : bf16

        after, where `widen` and `round` stand for the operations of a conversion

            %p = tir.allocate [8] : !tir.ptr<f32>
            %C = tir.decl_buffer %p : !tir.buffer<8xf32>
            %x = tir.load %A[%i] : bf16
            %y = tir.add widen(%x), widen(%s) : f32
            tir.store %y, %C[%i] : f32
            %z = tir.load %C[%i] : f32
            tir.store round(%z), %D[%i] : bf16

        Arithmetic, comparisons, choices, bindings, vectors, reducers and builtins that
        compute have f32 operands and results. Allocations and `tir.alloc_buffer`s of
        constant size have elements of that dtype, if they are accessed by element only.
        A loaded value, a parameter or a constant is widened once, where it is defined; a
        value is rounded where it is stored to other memory, passed to a function,
        returned, or reinterpreted. Widening shifts the bits to the left by 16; rounding
        is to nearest, ties to even, and keeps a NaN a NaN. Casts from and to other
        dtypes round, too; one that takes a widening back is erased. So what arithmetic
        computes is rounded only when it is stored or cast. Time is linear in the size of
        the module.
    Leaves alone: functions for targets that have bf16, which are CUDA devices of compute
        capability 8.0 and later; functions without bf16; the types of parameters and of
        their buffers; memory whose pointer is used otherwise, that another dtype views,
        or of symbolic size; copies from memory to memory; `reinterpret` of what is
        loaded
    Errors: a function with bf16 and without a target: run
        tir-bind-target; a `tir.thread_allreduce` into memory that stays bf16
    Attributes: read: `target`; created: none; removed: none
    Differs from TVM: functions without bf16 need no target. A cast from f32 to bf16 and
        one back round, which TVM erases as a pair. A NaN stays a NaN, where
        TVM's addition carries its payload into the exponent or cuts it off. Floor
        division, modulo and constant memory are legalized, as is everything that a
        binding is computed of. A copy into an allocation is widened by its bits, where
        TVM casts. Accesses with a mask keep it, which TVM refuses. Pointers keep their
        element type, as do the arguments of functions and of opaque builtins, and a
        computed value is rounded before it is reinterpreted. Allocations keep their
        annotations; one that has a view of another dtype is not widened. Constants that
        are stored stay constants, and a value that is widened and stored unchanged is
        copied.
    """

    name = "tir-bf16-compute-legalize"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func, ops in functions_to_legalize(op, BFLOAT16, self.name):
            compute_in(func, ops, BFLOAT16, f32)

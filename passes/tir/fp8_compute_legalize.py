"""float8 arithmetic in a wider float, for targets that lack it."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f16, f32
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.tir._legalize_floats.compute import compute_in
from xdsl_tvm.passes.tir._legalize_floats.kinds import FLOAT8, functions_to_legalize

_WIDE = {"float16": f16, "float32": f32}


@dataclass(frozen=True)
class FP8ComputeLegalize(CompilerPass):
    """Summary: Computes in a wider float what functions compute in f8, where their
        targets have no f8 arithmetic.

    TVM name: tir.FP8ComputeLegalize (v0.20)
    Input form: any; functions with f8 have the attribute `target`
    Output form: the same; f8 only in memory, parameters, constants, copies and
        operands of what is not known
    Options: `promote_dtype_str`: the dtype to compute in, `float32` (the default) or
        `float16`
    Rewrites: before, for a target without f8

            %x = tir.load %A[%i] : f8E4M3FN
            %y = tir.add %x, %s : f8E4M3FN
            tir.store %y, %D[%i] : f8E4M3FN

        after, where `widen` and `round` stand for the operations of a conversion

            %x = tir.load %A[%i] : f8E4M3FN
            %y = tir.add widen(%x), widen(%s) : f32
            tir.store round(%y), %D[%i] : f8E4M3FN

        Arithmetic, comparisons, choices, bindings, vectors, reducers and builtins that
        compute have operands and results of the wider float. Allocations and
        `tir.alloc_buffer`s of constant size have elements of that dtype, if they are
        accessed by element only. A loaded value, a parameter or a constant is widened
        once, where it is defined; a value is rounded where it is stored to other memory,
        passed to a function, returned, or reinterpreted. f8E5M2 and f16 differ by a
        shift of 8 bits; all other pairs rebias the exponent. Widening is exact; rounding
        is to nearest, ties to even, and what is beyond the largest value becomes
        infinity, or NaN in f8E4M3FN. Casts from and to other dtypes round,
        too; one that takes a widening back is erased. So what arithmetic computes is
        rounded only when it is stored or cast. Time is linear in the size of the module.
    Leaves alone: functions for targets that have f8, which are CUDA devices of compute
        capability 8.9 and later; functions without f8; the types of parameters and of
        their buffers; memory whose pointer is used otherwise, that another dtype views,
        or of symbolic size; copies from memory to memory; `reinterpret` of what is
        loaded
    Errors: a `promote_dtype_str` that is neither float16 nor float32; a function with f8
        and without a target: run tir-bind-target; a `tir.thread_allreduce` into memory
        that stays f8
    Attributes: read: `target`; created: none; removed: none
    Differs from TVM: functions without f8 need no target. A cast from a wider float to f8
        and one back round, which TVM erases as a pair. Zeros, subnormals, infinities
        and NaNs are converted as such, where TVM only rebiases the exponent; values out
        of range overflow, where TVM's wrap around. Vectors are converted by
        `tir.select`, where TVM fails. Floor division, modulo and constant memory are
        legalized, as is everything that a binding is computed of. A copy into an
        allocation is widened by its bits, where TVM casts. Accesses with a mask keep it,
        which TVM refuses. Pointers keep their element type, as do the arguments of
        functions and of opaque builtins, and a computed value is rounded before it is
        reinterpreted. Allocations keep their annotations; one that has a view of another
        dtype is not widened. Constants that are stored stay constants, and a value that
        is widened and stored unchanged is copied.
    """

    name = "tir-fp8-compute-legalize"

    promote_dtype_str: str = "float32"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        wide = _WIDE.get(self.promote_dtype_str)
        if wide is None:
            raise PassFailedException(
                f"{self.name}: promote_dtype_str is '{self.promote_dtype_str}', which is "
                "no dtype to compute in; use float16 or float32"
            )
        for func, ops in functions_to_legalize(op, FLOAT8, self.name):
            compute_in(func, ops, FLOAT8, wide)

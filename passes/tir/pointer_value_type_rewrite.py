"""Memory has the vectors as elements with which it is accessed."""

from __future__ import annotations

from dataclasses import dataclass, replace

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.infra.module_symbols import referenced_symbols
from xdsl_tvm.passes.tir._pointer_types.retyping import retype_pointers
from xdsl_tvm.passes.tir._pointer_types.settings import PointerTypeSettings


@dataclass(frozen=True)
class PointerValueTypeRewrite(CompilerPass):
    """Summary: Changes the elements of memory from scalars to the vectors with which it
        is always accessed, for targets that cannot cast pointers.

    TVM name: tir.PointerValueTypeRewrite (v0.20)
    Input form: flattened buffers, vectorized loops; after VectorizeLoop
    Output form: the same; aligned accesses of retyped memory have scalar indices
    Options: none
    Rewrites: before

            %p = tir.allocate [16] : !tir.ptr<f32, "local">
            %L = tir.decl_buffer "L" %p : !tir.buffer<16xf32, "local">
            %i4 = tir.mul %i, %c4 : i32
            %r = tir.ramp %i4, %c1 : vector<4xi32>
            tir.store %v, %L[%r] : vector<4xf32>
            %k = tir.add %i4, %c1 : i32
            %x = tir.load %L[%k] : f32

        after

            %p = tir.allocate [4] : !tir.ptr<vector<4xf32>, "local">
            %L = tir.decl_buffer "L" %p : !tir.buffer<4xvector<4xf32>, "local">
            %i4 = tir.mul %i, %c4 : i32
            %0 = tir.div %i4, %c4 : i32
            tir.store %v, %L[%0] : vector<4xf32>
            %k = tir.add %i4, %c1 : i32
            %1 = tir.div %k, %c4 : i32
            %2 = tir.load %L[%1] : vector<4xf32>
            %x = tir.shuffle [%2] [%c1] : f32

        The memory of parameters, allocations and typed `tir.let` is retyped, with all
        buffers and pointers that name its first element, if its vector accesses have one
        number of lanes n, are ramps of stride 1 from a multiple of n, no scalar is
        stored, the indices of scalar reads are known modulo n, and the last extents are
        multiples of n. Indices are divided, rounding towards zero, and constants are
        folded. A parameter gets the new element type, too: callers pass the same memory.
        Time is linear in the number of ops, but for the proofs.
    Leaves alone: memory of vectors; memory with a view that has other elements, strides
        or an offset; predicated and scalable accesses, with their memory; memory whose
        address is taken, or whose pointer a call or a foreign op uses; `tir.access_ptr`,
        which counts elements of its own type; contents of `tir.allocate_const`
    Errors: a `tir.let` of a handle: bind it as a typed pointer
    Attributes: read: none; created: none; removed: none
    Differs from TVM: the base type of elements never changes, since extents would have to
        be scaled. A scalar read whose index is a multiple of a multiple of the lanes is
        rewritten, where TVM fails an internal check. What TVM passes over when it counts
        accesses (scalable vectors, raw pointers in calls, predicates) keeps the memory as
        it is. All buffers on the memory get the new type. Constant memory, whose contents
        are scalars, is kept. Parameters of functions that the module refers to are kept,
        so that their callers stay valid.
    """

    name = "tir-pointer-value-type-rewrite"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        called = referenced_symbols(op)
        for func in op.walk():
            if isinstance(func, tir.FuncOp):
                settings = PointerTypeSettings()
                if func.sym_name.data in called:
                    settings = replace(
                        settings, rewrite_params=False, rewrite_buffer_map=False
                    )
                retype_pointers(func, settings)

"""Relax functions to functions on memrefs."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.rewriter import Rewriter

from xdsl_tvm.dialects import relax
from xdsl_tvm.lowering.relax._functions import FunctionConverter
from xdsl_tvm.lowering.relax._module import ModuleView
from xdsl_tvm.lowering.tir.convert_to_memref import ConvertToMemref as ConvertTIRToMemref
from xdsl_tvm.passes.infra import CompilerPass


@dataclass(frozen=True)
class ConvertToMemref(CompilerPass):
    """Summary: Turns Relax functions into functions that write their results to memory
        they are given.

    TVM name: none (ours)
    Input form: relax-legalize-ops, relax-to-non-dataflow and relax-call-tir-rewrite have
        run: no operators, no dataflow blocks, no relax.call_tir. TIR functions are still
        tir.func, in the input form of tir-convert-to-memref
    Output form: no relax.func and, where there were some, no tir.func; func, scf,
        memref, arith, math, vector and cf.assert
    Options: none
    Rewrites: parameters, then one memref per tensor of the result, then one i64 per
        symbolic dimension and per unknown dimension of a parameter; tuples are flattened
            relax.func @f<n>(%x: !t) -> !t attributes {global_symbol = "f"} {
              %0 = relax.builtin.alloc_tensor on 0 scope "global" : !t
              relax.call impure @g(%x, %0) : (!t, !t) -> ()
              %1 = relax.builtin.alloc_tensor on 0 scope "global" : !t
              relax.call impure @g(%0, %1) : (!t, !t) -> ()
              relax.return %1 : !t
            }
          →
            func.func @f(%x : memref<?x4xf32>, %r : memref<?x4xf32> {llvm.noalias},
                         %n : i64) {
              %m = arith.index_cast %n : i64 to index
              %0 = memref.alloc(%m) : memref<?x4xf32>
              %s = arith.index_cast %m : index to i64
              func.call @g(%x, %0, %s) : (memref<?x4xf32>, memref<?x4xf32>, i64) -> ()
              func.call @g(%0, %r, %s) : (memref<?x4xf32>, memref<?x4xf32>, i64) -> ()
              memref.dealloc %0 : memref<?x4xf32>
              func.return
            }
        What is returned is written in place where it is allocated or called for, and
        copied otherwise. Constants become private globals, equal ones the same. A call
        passes the values of the callee's symbols and checks that its arguments agree on
        them. relax.match_cast, and a result that is not known to have the declared shape,
        are checked with cf.assert. relax.if becomes scf.if that yields memory. Memory is
        released at the end of the function or branch. TIR functions are converted, too,
        as tir-convert-to-memref does, since only functions on memrefs can be called from
        one. Time is linear in the size of the module.
    Leaves alone: modules without Relax functions; functions of other dialects
    Errors: operators, dataflow blocks, relax.call_tir and operations of other dialects in
        a Relax function; parameters of unknown rank or dtype, or that are no tensors,
        scalars, shapes and tuples of these; results of unknown shape; memory on a device;
        constants in resources; TIR functions with opaque handles or buffers that are not
        compact; what tir-convert-to-memref refuses. Each names the operation, the
        reason and the remedy
    Attributes: read: `global_symbol` (without it the function is private); created:
        `llvm.noalias` on the results; removed: all others of the function
    Differs from TVM: TVM runs Relax functions in its virtual machine (VMShapeLower and
        LowerRuntimeBuiltin). Only the first dimension of a memref is dynamic; a tensor
        with another symbolic dimension is passed as memory of one dimension.
    """

    name = "relax-convert-to-memref"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        view = ModuleView(op)
        converted = [
            (source, FunctionConverter(source, view).convert())
            for source in op.body.ops
            if isinstance(source, relax.FuncOp)
        ]
        for source, new in converted:
            Rewriter.replace_op(source, new, [])
        view.insert_globals()
        if converted:
            ConvertTIRToMemref().apply(ctx, op)
        for inner in op.body.ops:
            if isinstance(inner, ModuleOp):
                self.apply(ctx, inner)

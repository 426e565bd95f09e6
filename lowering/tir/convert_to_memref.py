"""TIR functions of loops and buffers to func, scf, memref, arith and math."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.rewriter import Rewriter

from xdsl_tvm.dialects import tir
from xdsl_tvm.lowering.tir.conversion.body import BodyConverter
from xdsl_tvm.lowering.tir.conversion.functions import convert_function
from xdsl_tvm.lowering.tir.conversion.loop_profile import LoopProfile
from xdsl_tvm.lowering.tir.conversion.types import GENERIC_SPACE
from xdsl_tvm.passes.infra import CompilerPass


@dataclass(frozen=True)
class ConvertToMemref(CompilerPass):
    """Summary: Turns TIR functions of loops and buffers into functions on memrefs.

    TVM name: none (ours)
    Input form: loops and buffers: no blocks, no thread launches
    Output form: no tir.func; func, scf, memref, arith, math, vector and cf.assert
    Options: none
    Rewrites: a handle with a buffer → a memref argument; a symbolic extent, stride or
        offset → one i64 argument after the parameters, in order of first binding;
        everything else keeps its place
            tir.func @f(%a: !tir.handle) attributes {global_symbol = "f"} {
              %n = tir.shape_var "n" : i32
              %A = tir.match_buffer %a [%n] : !tir.buffer<?xf32>
              tir.for %i = %c0 to %n {
                %x = tir.load %A[%i] : f32
                tir.store %x, %A[%i] : f32
              }
            }
          →
            func.func @f(%a : memref<?xf32>, %n : i64) {
              %m = arith.trunci %n : i64 to i32
              scf.for %i = %c0 to %m step %c1 : i32 {
                %j = arith.index_cast %i : i32 to index
                %x = memref.load %a[%j] : memref<?xf32>
                memref.store %x, %a[%j] : memref<?xf32>
              }
              func.return
            }
        Buffers with strides, an offset or a symbolic extent after the first become flat
        memrefs with explicit indices. An 8-bit float is the i8 of its bits. Allocations
        of fewer than 1024 static bytes are memref.alloca at the start of the function,
        or of the parallel iteration, and aligned to 64 bytes if they have as many;
        others are memref.alloc with a memref.dealloc at the end of their scope. A
        parallel loop is an scf.parallel. The stores in a loop with the annotation
        `nontemporal` are nontemporal, and a fence follows the loop, or a loop around it
        with the annotation `nontemporal_fence`. LLVM puts
        `unroll_count` iterations of a loop with that annotation into one.
    Leaves alone: other functions; foreign operations inside TIR functions
    Errors: blocks, thread axes, scalable vectors, arithmetic on 8- and 4-bit floats,
        opaque handles that are used, builtins without a lowering, a return that is not
        the last statement, regions of several blocks; each names the operation and the
        remedy
    Attributes: read: `global_symbol` (without it the function is private),
        `tir.noalias`, the annotations `nontemporal`, `nontemporal_fence` and
        `unroll_count` of loops; created: `llvm.noalias` on
        memref arguments; removed: all others of the function
    Differs from TVM: TVM generates code from TIR. Vectorized and unrolled loops that are
        left run in order. `ne` of a NaN is true.
    """

    name = "tir-convert-to-memref"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        symbols = {
            symbol.data: source.sym_name.data
            for source in op.body.ops
            if isinstance(source, tir.FuncOp)
            and isinstance(symbol := source.attributes.get("global_symbol"), StringAttr)
        }
        profile = LoopProfile()
        converter = partial(BodyConverter, symbols=symbols, profile=profile)
        for source in list(op.body.ops):
            if isinstance(source, ModuleOp):
                self.apply(ctx, source)
            elif isinstance(source, tir.FuncOp):
                converted = convert_function(source, converter, GENERIC_SPACE, op)
                Rewriter.replace_op(source, converted, [])
        profile.insert(op)

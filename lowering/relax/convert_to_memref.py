"""Relax functions to functions on memrefs."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.dialects import relax
from xdsl_tvm.lowering.relax.conversion.gpu import place_on_gpu
from xdsl_tvm.lowering.relax.conversion.loops import converter_of
from xdsl_tvm.lowering.relax.conversion.module import ModuleView
from xdsl_tvm.lowering.tir.convert_to_memref import ConvertToMemref as ConvertTIRToMemref
from xdsl_tvm.passes.infra import CompilerPass


def _tir_conversion(on_gpu: bool) -> CompilerPass:
    """What lowers the TIR functions of the same module."""
    if not on_gpu:
        return ConvertTIRToMemref()
    # Late: code for the processor needs nothing of the GPU.
    from xdsl_tvm.lowering.tir.convert_to_gpu import ConvertToGPU

    return ConvertToGPU()


@dataclass(frozen=True)
class ConvertToMemref(CompilerPass):
    """Summary: Turns Relax functions into functions that write their results to memory
        they are given.

    TVM name: none (ours)
    Input form: no operators but views, no dataflow blocks, no relax.call_tir
        (relax-default-pipeline; or relax-legalize-ops, relax-to-non-dataflow and
        relax-call-tir-rewrite). TIR functions are still tir.func, in the input form of
        tir-convert-to-memref
    Output form: no relax.func and, where there were some, no tir.func; func, scf,
        memref, arith, math, vector, cf.assert, and addresses as !llvm.ptr
    Options: `profile`: time the calls of TIR functions; the globals `tvm_kernel_names`
        and `tvm_kernel_times` hold their names, one a line, and for each the number of
        calls and their nanoseconds (false); `device`: where tensors are, `cpu` or `cuda`
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
        (checks that the memory exists are left out here). What is returned is written in
        place where it is allocated or called for, and copied otherwise; a scalar in a
        tuple is memory of one element, a shape memory of i64. Constants become private
        globals, equal ones the same; what a call may write is a copy. For a tensor of the
        result with an unknown dimension there is a memref of i64 cells instead: the
        function writes the address of memory that it has allocated, and the extents, last
        of all; whoever calls it releases that memory. A call passes the
        values of the callee's symbols and checks that its arguments agree on them.
        A function that ends with a relax.if of which one branch ends by calling the
        function is an scf.while: the depth of such calls is not bounded. Its tensors are
        copied at the start, since the loop releases what it is passed.
        relax.match_cast, a reshape, and a result that is not known to have the declared
        shape, are checked with cf.assert. relax.if becomes scf.if that yields memory.
        A storage is memory of bytes, a tensor on it a memref.view that is checked to be
        within it; relax.reshape and relax.memory.view share memory. The end of a life
        (relax.memory.kill_tensor, kill_storage, relax.vm.kill_object) releases memory
        whose last name ends; what is left is released at the end of the function or
        branch that made it. Allocations are checked: a size that wraps around, or memory
        that there is not, fails with "out of memory: ". Extents that are used and
        may be negative, and divisors that may be 0, are checked. Calls of functions by
        name, relax.print, and relax.assert_op with values call tvm_call_packed of the
        runtime (_packed_call.py). A closure that is known is called as a function.
        Functions that are called by `vm.builtin.cuda_graph.get_cached_alloc` and
        `vm.builtin.cuda_graph.run_or_capture` only (relax-rewrite-cuda-graph) become part
        of their callers: every call allocates, and launches. TIR
        functions are converted, too, as tir-convert-to-memref does, since only functions
        on memrefs can be called from one. With `device=cuda`, tensors are memref<…, 1>,
        memory is gpu.alloc and gpu.dealloc, copies are gpu.memcpy, constants are globals
        in the memory of the GPU, and TIR functions are converted as tir-convert-to-gpu
        does. Elements that the host reads and writes (branches on them, shapes in
        tensors, numbers in tuples) are in memref.alloca, from and to which memref.copy
        copies. Time is linear in the size of the module.
    Leaves alone: modules without Relax functions; functions of other dialects
    Errors: operators, dataflow blocks, relax.call_tir and operations of other dialects in
        a Relax function; parameters of unknown rank or dtype, or that are no tensors,
        scalars, shapes and tuples of these; results of unknown rank or dtype, and with
        `device=cuda` of unknown extents; results of unknown extents of functions called
        by name; functions of the virtual machine; closures that are not known;
        branches that yield storages; memory on a device; constants in resources; TIR
        functions with opaque handles or buffers that are not compact; what
        tir-convert-to-memref refuses; with `device=cuda`, `profile`. Each names the
        operation, the reason and the remedy
    Attributes: read: `global_symbol` (without it the function is private); created:
        `llvm.noalias` on the results; removed: all others of the function
    Differs from TVM: TVM runs Relax functions in its virtual machine (VMShapeLower and
        LowerRuntimeBuiltin). Only the first dimension of a memref is dynamic; a tensor
        with another symbolic dimension is passed as memory of one dimension. A branch
        that ends the life of a value of outside does not release it: the block does that
        made it. Memory that a call or a branch hands over is not released where an
        assertion after it fails. What a branch yields, or a function returns, that lives
        on under another name is a copy: what is written to it later is not seen through
        the other name.
        That symbols keep to their upper bounds is checked.
    """

    name = "relax-convert-to-memref"

    profile: bool = False
    device: str = "cpu"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        on_gpu = self._is_on_gpu()
        if convert_relax_functions(op, profile=self.profile, on_gpu=on_gpu):
            _tir_conversion(on_gpu).apply(ctx, op)
        for inner in op.body.ops:
            if isinstance(inner, ModuleOp):
                self.apply(ctx, inner)

    def _is_on_gpu(self) -> bool:
        if self.device not in ("cpu", "cuda"):
            raise PassFailedException(
                f"{self.name}: device is '{self.device}'; use cpu or cuda"
            )
        if self.profile and self.device == "cuda":
            raise PassFailedException(
                f"{self.name}: kernels are not timed on the host; leave out profile"
            )
        return self.device == "cuda"


def convert_relax_functions(
    module: ModuleOp, *, profile: bool = False, on_gpu: bool = False
) -> bool:
    """Converts the Relax functions of a module alone; whether there were some.

    They call TIR functions as `tir-convert-to-memref` (on the GPU, `tir-convert-to-gpu`)
    makes them; those are left as they are. Raises PassFailedException as the pass does.
    """
    view = ModuleView(module, profile=profile, on_gpu=on_gpu)
    converted = [
        (source, converter_of(source, view).convert())
        for source in module.body.ops
        if isinstance(source, relax.FuncOp) and not view.is_part_of_callers(source)
    ]
    parts = [
        source
        for source in module.body.ops
        if isinstance(source, relax.FuncOp) and view.is_part_of_callers(source)
    ]
    for source, new in converted:
        Rewriter.replace_op(source, new, [])
        if on_gpu:
            place_on_gpu(new)
    for source in parts:
        Rewriter.erase_op(source)
    view.insert_globals()
    return bool(converted)

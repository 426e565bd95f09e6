"""TIR functions that launch threads to host functions and kernels of a GPU module."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block
from xdsl.rewriter import Rewriter

from xdsl_tvm.dialects import tir
from xdsl_tvm.lowering.tir.conversion.functions import convert_function, is_noalias
from xdsl_tvm.lowering.tir.conversion.kernels import HostConverter, Kernels
from xdsl_tvm.passes.infra import CompilerPass


@dataclass(frozen=True)
class ConvertToGPU(CompilerPass):
    """Summary: Turns TIR functions that launch threads into host code and GPU kernels.

    TVM name: none (ours)
    Input form: loops and buffers, with the thread axes as tir.launch_thread
    Output form: no tir.func with a launch; a func.func that launches kernels with
        gpu.launch_func, and one gpu.module with the kernels
    Options: none
    Rewrites: each outermost launch → one kernel; what it uses of the host, in order of
        first use → its arguments; the extents of the axes → grid and block size
            tir.func @f(%a: !tir.handle) attributes {global_symbol = "f"} {
              %A = tir.match_buffer %a : !tir.buffer<4x32xf32>
              tir.launch_thread %b = "blockIdx.x" to %c4 {
                tir.launch_thread %t = "threadIdx.x" to %c32 {
                  tir.store %x, %A[%b, %t] : f32
                }
              }
            }
          →
            func.func @f(%a : memref<4x32xf32, 1>) {
              gpu.launch_func @kernels::@f_kernel grid (4, 1, 1) block (32, 1, 1) (%a)
              func.return
            }
            gpu.module @kernels {
              gpu.func @f_kernel(%a : memref<4x32xf32, 1>) kernel
                  attributes {gpu.known_block_size = array<i32: 32, 1, 1>} {
                %b = gpu.block_id x
                %t = gpu.thread_id x
                memref.store %x, %a[%b, %t] : memref<4x32xf32, 1>
                gpu.return
              }
            }
        Memory in the scope "shared" or "shared.dyn" → memref.global in space 3; "local" →
        memref.alloca; "global", outside of a launch → gpu.alloc and gpu.dealloc.
        Constants that a kernel reads → memref.global of the GPU module, in space 1.
        tvm_storage_sync → gpu.barrier, or nvvm.bar.warp.sync for "warp".
        tvm_warp_shuffle, _up, _down → nvvm.shfl.sync idx, up, down: one for 32 bits and
        f16, two for 64 bits; tvm_warp_activemask → llvm.nvvm.activemask. The scopes of
        reducers, and of volatile memory of the block, which barriers order, go.
        Expressions and loops as in tir-convert-to-memref.
    Leaves alone: functions without a launch; foreign operations
    Errors: those of tir-convert-to-memref; virtual threads; extents of one axis that
        differ within a kernel, or that the host does not know; more than 1024 threads a
        block; memory of a kernel that another one uses, or whose size is not static, or
        more than 48 KiB of it shared; barriers for other scopes; shuffles of other
        dtypes, of a width that is no constant power of two, or of warps that are not of
        32 threads; reductions over threads: run tir-lower-thread-allreduce
    Attributes: read: `global_symbol`, `tir.noalias`; created: gpu.container_module,
        gpu.known_block_size, `llvm.noalias` on memref arguments; removed: all others of
        the function
    Differs from TVM: TVM splits host and device code in TIR (SplitHostDevice) and passes
        what kernels use in the order of TIR variables. Asserts in kernels are dropped;
        TVM assumes that they hold.
    """

    name = "tir-convert-to-gpu"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        kernels = Kernels(op)
        for source in list(op.body.ops):
            if isinstance(source, ModuleOp):
                self.apply(ctx, source)
            elif isinstance(source, tir.FuncOp) and launches_threads(source):
                _convert(source, op, kernels)


def launches_threads(func: tir.FuncOp) -> bool:
    """Whether the function has a thread axis, bound as a launch or as a loop."""
    return any(
        isinstance(op, tir.LaunchThreadOp)
        or (isinstance(op, tir.ForOp) and op.thread_tag is not None)
        for op in func.walk()
    )


def _convert(source: tir.FuncOp, module: ModuleOp, kernels: Kernels) -> None:
    def converter(entry: Block, module: ModuleOp, function: str) -> HostConverter:
        host = HostConverter(entry, module, function, kernels)
        host.noalias = is_noalias(source)
        return host

    converted = convert_function(source, converter, HostConverter.space, module)
    Rewriter.replace_op(source, converted, [])

"""Functions of TIR that launch kernels to host functions and kernels of a GPU module."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Block
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.all_ops import all_ops, ops_of
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.target import Target
from xdsl_tvm.dialects.tir.target_kinds import DeviceType
from xdsl_tvm.lowering.tir.conversion.functions import convert_function
from xdsl_tvm.lowering.tir.conversion.kernels import (
    HostConverter,
    Kernels,
    convert_kernel,
    is_kernel,
)
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.tir.annotate_device_regions import AnnotateDeviceRegions
from xdsl_tvm.passes.tir.lower_device_kernel_launch import LowerDeviceKernelLaunch
from xdsl_tvm.passes.tir.split_host_device import SplitHostDevice

_HOST: Final = "llvm"
_VIEWS: Final = (tir.AllocateConstOp, tir.DeclBufferOp, tir.DataOp)
_KERNEL: Final = "tir.is_global_func"
_TARGET: Final = Target.parse("cuda").with_host(_HOST)


@dataclass(frozen=True)
class ConvertToGPU(CompilerPass):
    """Summary: Turns TIR functions that launch threads into host code and GPU kernels.

    TVM name: none (ours)
    Input form: loops and buffers, with the thread axes as tir.launch_thread; or the same
        after LowerDeviceKernelLaunch, where kernels are functions of their own
    Output form: no tir.func with a launch; a func.func that launches kernels with
        gpu.launch_func, and one gpu.module with the kernels
    Options: none
    Rewrites: where a function has launches, AnnotateDeviceRegions, SplitHostDevice and
        LowerDeviceKernelLaunch run first; functions without a target are for `cuda` with
        the host `llvm`. Then each call of a kernel → a launch of it, with the extents of
        its thread axes as grid and block size, and the bytes of dynamic shared memory
            tir.func @f(%a: !tir.handle) attributes {global_symbol = "f"} {
              %A = tir.match_buffer %a : !tir.buffer<128xf32>
              tir.launch_thread %b = "blockIdx.x" to %c4 {
                tir.launch_thread %t = "threadIdx.x" to %c32 {
                  …
                  tir.store %x, %A[%i] : f32
                }
              }
            }
          →
            func.func @f(%a : memref<128xf32, 1>) {
              gpu.launch_func @kernels::@f_kernel grid (4, 1, 1) block (32, 1, 1) (%a)
              func.return
            }
            gpu.module @kernels {
              gpu.func @f_kernel(%a : memref<?xf32, 1>) kernel
                  attributes {gpu.known_block_size = array<i32: 32, 1, 1>} {
                %b = gpu.block_id x
                %t = gpu.thread_id x
                …
                memref.store %x, %a[%i] : memref<?xf32, 1>
                gpu.return
              }
            }
        Memory in the scope "shared" or "shared.dyn" → memref.global in space 3; "local" →
        memref.alloca; "global", outside of a launch → gpu.alloc and gpu.dealloc.
        Constants that a kernel reads → memref.global of the GPU module, in space 1.
        tvm_storage_sync → gpu.barrier, or nvvm.bar.warp.sync for "warp".
        ptx_cp_async → nvvm.cp.async.shared.global, and with a predicate a size of all
        bytes or none, so that zeros are filled in; ptx_commit_group and ptx_wait_group →
        nvvm.cp.async.commit.group and wait.group; ptx_ldmatrix, ptx_mma and ptx_mma_sp →
        nvvm.ldmatrix, nvvm.mma.sync and nvvm.mma.sp.sync on registers loaded from and
        stored to local memory; ptx_ldmatrix of transposed bytes → loads of bytes, and of
        another dtype, which transposes pairs, nvvm.ldmatrix; tvm_load_matrix_sync,
        tvm_store_matrix_sync, tvm_mma_sync and tvm_bmma_sync → nvvm.wmma.load, store and
        mma; mma_fill, mma_store and tvm_fill_fragment → stores; ptx_ldg32 → an invariant
        load under a branch; atomic_add → tvm_llvm.atomicrmw. create_barriers → memory of
        the block; ptx_init_barrier_thread_count, ptx_arrive_barrier,
        ptx_arrive_barrier_expect_tx, ptx_cp_async_barrier → nvvm.mbarrier.init, arrive,
        arrive.expect_tx and nvvm.cp.async.mbarrier.arrive; ptx_wait_barrier → a loop of
        nvvm.mbarrier.try_wait; ptx_cp_async_bulk →
        nvvm.cp.async.bulk.shared.cluster.global. tir.access_ptr and the operands of
        these builtins → tvm_llvm.element_address.
        ptx_cp_async_bulk_tensor → nvvm.cp.async.bulk.tensor.shared.cluster.global;
        ptx_wgmma_mma_async → nvvm.wgmma.mma_async on sums that are loaded and stored as a
        whole; ptx_wgmma_fence, ptx_wgmma_commit_group, ptx_fence_proxy_async →
        nvvm.wgmma.fence.aligned, nvvm.wgmma.commit.group.sync.aligned, nvvm.fence.proxy;
        ptx_wgmma_wait_group → nvvm.wgmma.wait.group.sync.aligned, after which
        sums pass a tvm_llvm.register_fence. A parameter that is a tensor map → a pointer
        with `llvm.byval`, aligned to 64, and `nvvm.grid_constant`; shared memory of such
        kernels is aligned to 1024. In host code, tensormap_encode_tiled →
        tvm_llvm.tensor_map.
        tvm_warp_shuffle, _up, _down → nvvm.shfl.sync idx, up, down: one for 32 bits and
        f16, two for 64 bits; ptx_redux_sync → nvvm.redux.sync; tvm_warp_activemask → a
        call of the intrinsic llvm.nvvm.activemask, as upstream has no operation for it.
        The scopes of reducers, and of volatile memory of the block, which barriers
        order, go. Expressions and loops as in tir-convert-to-memref.
    Leaves alone: functions that launch nothing; foreign operations
    Errors: those of the passes that run first, and of tir-convert-to-memref; a function
        for a CPU with a launch; virtual threads; more than 1024 threads a block; memory
        of a kernel whose size is not static, or more than 48 KiB of it shared; calls of
        functions in a kernel; barriers for other scopes; shuffles of other dtypes, of a
        width that is no constant power of two, or of warps that are not of 32 threads;
        products and copies of matrices that PTX lacks, or of 4 bits or fewer; a tensor
        map of other boxes than the kernel copies, or that is not made by the function
        that launches; reductions over threads: run tir-lower-thread-allreduce
    Attributes: read: `global_symbol`, `tir.noalias`, `target`, `tir.min_blocks`,
        `tir.kernel_launch_params`; created: gpu.container_module, gpu.known_block_size,
        `nvvm.minctasm` on kernels of functions with `tir.min_blocks`,
        `llvm.noalias` on memref arguments, `llvm.byval` and `nvvm.grid_constant` on
        tensor maps, and `llvm.align` on these and on arguments that all launches pass
        from the start of a buffer whose `data_alignment` is a multiple of 16 bytes;
        removed: all others of the function
    Differs from TVM: TVM generates code of the functions after LowerDeviceKernelLaunch.
        Asserts in kernels are dropped; TVM assumes that they hold.
    """

    name = "tir-convert-to-gpu"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        split_launches(ctx, op)
        modules = ops_of(op, ModuleOp)
        for module in modules:
            _convert(module)


def split_launches(ctx: Context, module: ModuleOp) -> None:
    """Let kernels be functions of their own, which calls launch.

    Raises PassFailedException as the passes do that split a function.
    """
    functions = ops_of(module, tir.FuncOp)
    targets = {func: func.attributes.get("target") for func in functions}
    for func, target in targets.items():
        if target is None:
            func.attributes["target"] = _TARGET
        elif isinstance(target, Target) and _is_unsplit(func):
            _require_gpu(func, target)
            func.attributes["target"] = target.with_host(_HOST)
    AnnotateDeviceRegions().apply(ctx, module)
    SplitHostDevice().apply(ctx, module)
    for func in functions:
        # As MakePackedAPI does: what is left of a function runs on the host.
        target = func.attributes["target"]
        if isinstance(target, Target) and target.host_target is not None:
            func.attributes["target"] = target.host_target
    LowerDeviceKernelLaunch().apply(ctx, module)
    for func, target in targets.items():
        if target is None:
            del func.attributes["target"]
        else:
            func.attributes["target"] = target


def _is_unsplit(func: tir.FuncOp) -> bool:
    """Whether a function launches threads, and is no kernel that a pass has made."""
    return _KERNEL not in func.attributes and launches_threads(func)


def _require_gpu(func: tir.FuncOp, target: Target) -> None:
    if target.device_type is DeviceType.CPU:
        raise PassFailedException(
            f"tir.func @{func.sym_name.data}: launches threads, and its target is "
            f"{target.kind_name.data}, which has none; bind the target cuda"
        )


def launches_threads(func: tir.FuncOp) -> bool:
    """Whether the function has a thread axis, bound as a launch or as a loop."""
    return any(
        isinstance(op, tir.LaunchThreadOp)
        or (isinstance(op, tir.ForOp) and op.thread_tag is not None)
        for op in all_ops(func)
    )


def _convert(module: ModuleOp) -> None:
    functions = [op for op in module.body.ops if isinstance(op, tir.FuncOp)]
    sources = {_symbol(func): func for func in functions if is_kernel(func)}
    kernels = Kernels(module, sources)
    hosts = [func for func in functions if _is_host(func, kernels)]

    def converter(entry: Block, module: ModuleOp, function: str) -> HostConverter:
        return HostConverter(entry, module, function, kernels)

    for func in hosts:
        _erase_unused_memory(func)
        converted = convert_function(func, converter, HostConverter.space, module)
        Rewriter.replace_op(func, converted, [])
    for func in sources.values():
        convert_kernel(func, module, kernels)
        Rewriter.erase_op(func)


def _erase_unused_memory(func: tir.FuncOp) -> None:
    """Erase constants that only kernels used, which have their own, and their views."""
    for op in reversed(all_ops(func)):
        if isinstance(op, _VIEWS) and op.results[0].first_use is None:
            Rewriter.erase_op(op)


def _symbol(kernel: tir.FuncOp) -> str:
    symbol = kernel.attributes.get("global_symbol")
    return symbol.data if isinstance(symbol, StringAttr) else kernel.sym_name.data


def _is_host(func: tir.FuncOp, kernels: Kernels) -> bool:
    if is_kernel(func):
        return False
    return launches_threads(func) or any(
        isinstance(op, tir.CallOp) and kernels.launched(op) for op in all_ops(func)
    )

"""Which builtins of PTX have a lowering, and the lowering of each."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import SSAValue

from xdsl_tvm.dialects import tir
from xdsl_tvm.lowering.tir.conversion.device_calls import (
    atomics,
    barriers,
    copies,
    fragments,
    matrices,
    warpgroups,
)
from xdsl_tvm.lowering.tir.conversion.device_calls.converter import DeviceConverter

DEVICE_CALLS: dict[str, Callable[[DeviceConverter, tir.CallOp], SSAValue | None]] = {
    "atomic_add": atomics.add,
    "create_barriers": barriers.create,
    "mma_fill": matrices.fill,
    "mma_store": matrices.store,
    "ptx_arrive_barrier": barriers.arrive,
    "ptx_arrive_barrier_expect_tx": barriers.arrive_and_expect,
    "ptx_commit_group": copies.commit,
    "ptx_cp_async": copies.copy,
    "ptx_cp_async_barrier": barriers.copies_arrive,
    "ptx_cp_async_bulk": barriers.copy_bulk,
    "ptx_cp_async_bulk_tensor": warpgroups.copy_tensor,
    "ptx_fence_proxy_async": warpgroups.fence_proxy,
    "ptx_init_barrier_thread_count": barriers.initialize,
    "ptx_ldg32": copies.load_guarded,
    "ptx_ldmatrix": matrices.load_matrices,
    "ptx_mma": matrices.multiply,
    "ptx_mma_sp": matrices.multiply_sparse,
    "ptx_wait_barrier": barriers.wait,
    "ptx_wait_group": copies.wait,
    "ptx_wgmma_commit_group": warpgroups.commit,
    "ptx_wgmma_fence": warpgroups.fence,
    "ptx_wgmma_mma_async": warpgroups.multiply,
    "ptx_wgmma_wait_group": warpgroups.wait,
    "tvm_bmma_sync": fragments.multiply,
    "tvm_fill_fragment": fragments.fill,
    "tvm_load_matrix_sync": fragments.load,
    "tvm_mma_sync": fragments.multiply,
    "tvm_store_matrix_sync": fragments.store,
}
"""Builtins that a kernel runs for their effects, by name; some have a value."""

"""The check that GPU kernels stay within the limits of a device."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.tir._loops.thread_axes import outermost_ops
from xdsl_tvm.passes.tir.rewriting.statements import describe


@dataclass(frozen=True)
class VerifyGPUCode(CompilerPass):
    """Summary: Checks that GPU kernels stay within given limits, and changes nothing.

    TVM name: tir.VerifyGPUCode (v0.20)
    Input form: any; meant for loops and buffers and later forms
    Output form: the same
    Options: a limit that is not given is not checked
        `max_threads_per_block`: of the product of the extents of the threadIdx and
        virtual thread axes of a kernel
        `max_thread_x`: of the extent of threadIdx.x
        `max_thread_y`: of the extent of threadIdx.y
        `max_thread_z`: of the extent of threadIdx.z
        `max_vthread`: of the extent of each virtual thread axis
        `max_shared_memory_per_block`: of the shared memory that a kernel allocates, in
        bytes
        `max_local_memory_per_block`: of the local memory that a kernel allocates, in
        bytes
        `max_vector_bytes`: of the vectors that a kernel allocates memory of, casts to,
        loads and stores, and of the indices of accesses that are ramps with another
        stride than 1
        `max_kernels`: of the number of kernels in a function
    Rewrites: none
    Leaves alone: everything. A kernel is an outermost launch in a `tir.func`; what is
        outside of it is not checked. Loops of kind thread_binding count as launches. An
        axis that is opened again counts once in the product of threads. Memory of
        dynamic size counts as 0. Time is linear in the size of the module.
    Errors: the first kernel or op beyond a limit, with function, limit and amount; a
        thread axis whose extent is no constant; threadIdx axes of one tag and different
        extents in a kernel
    Attributes: read: none; created: none; removed: none
    Differs from TVM: axes are recognised by their tag, where TVM goes by the name of the
        variable and misses those named otherwise; hence loops named vthread.s do not
        count, and `vthread.x`, `vthread.y` and `vthread.z` do. The extent of a blockIdx
        axis, which no limit concerns, need not be constant. Vectors outside of kernels
        are not limited. Memory of `tir.alloc_buffer` counts as that of `tir.allocate`.
        Only the first error is told.
    """

    name = "tir-verify-gpu-code"

    max_threads_per_block: int | None = None
    max_thread_x: int | None = None
    max_thread_y: int | None = None
    max_thread_z: int | None = None
    max_vthread: int | None = None
    max_shared_memory_per_block: int | None = None
    max_local_memory_per_block: int | None = None
    max_vector_bytes: int | None = None
    max_kernels: int | None = None

    @staticmethod
    def for_target(target: tir.Target) -> VerifyGPUCode:
        """The check of what a target says about its blocks of threads.

        Those are `max_threads_per_block`, or else `max_num_threads`, and
        `max_shared_memory_per_block`; what it does not say is not limited.
        """
        threads = target.int_attr("max_threads_per_block", 0)
        threads = threads or target.int_attr("max_num_threads", 0)
        shared = target.int_attr("max_shared_memory_per_block", 0)
        return VerifyGPUCode(
            max_threads_per_block=threads or None,
            max_shared_memory_per_block=shared or None,
        )

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.walk():
            if isinstance(function, tir.FuncOp):
                self._check_function(function)

    def _check_function(self, function: tir.FuncOp) -> None:
        for number, kernel in enumerate(outermost_ops(function, _opens_axis), start=1):
            if self.max_kernels is not None and number > self.max_kernels:
                raise PassFailedException(
                    f"{describe(kernel)} is kernel {number} of its function, more than "
                    f"max_kernels = {self.max_kernels}"
                )
            self._check_kernel(kernel)

    def _check_kernel(self, kernel: Operation) -> None:
        usage = _Usage()
        for op in kernel.walk():
            if (axis := _axis_of(op)) is not None:
                self._open(usage, op, *axis)
            elif isinstance(op, tir.AllocateOp):
                usage.allocate(op.result.type, op.shape)
                self._check_vector(op, op.result.type.element_type)
            elif isinstance(op, tir.AllocBufferOp):
                usage.allocate(op.type.pointer_type, _allocated_shape(op))
                self._check_vector(op, op.type.element_type)
            else:
                self._check_vectors(op)
        for option, amount, unit in (
            ("max_threads_per_block", math.prod(usage.extents.values()), "threads"),
            ("max_shared_memory_per_block", usage.shared, "bytes of shared memory"),
            ("max_local_memory_per_block", usage.local, "bytes of local memory"),
        ):
            self._check(kernel, option, amount, f"has {amount} {unit}")

    def _check(self, op: Operation, option: str, amount: int, what: str) -> None:
        """Raises PassFailedException if `amount` is beyond the limit `option`."""
        limit: int | None = getattr(self, option)
        if limit is not None and amount > limit:
            raise PassFailedException(
                f"{describe(op)} {what}, more than {option} = {limit}"
            )

    def _open(self, usage: _Usage, op: Operation, tag: str, extent: SSAValue) -> None:
        is_virtual = tag in tir.VIRTUAL_THREAD_TAGS
        if tag not in tir.THREAD_TAGS and not is_virtual:
            return
        length = tir.constant_value(extent)
        if not isinstance(length, int):
            raise PassFailedException(
                f"{describe(op)}: the extent of axis {tag} must be a constant integer"
            )
        known = usage.extents.setdefault(tag, length)
        if known != length and not is_virtual:
            raise PassFailedException(
                f"{describe(op)} opens axis {tag} with extent {length}, but its kernel "
                f"already has it with extent {known}; launch a kernel for each"
            )
        option = "max_vthread" if is_virtual else f"max_thread_{tag[-1]}"
        self._check(op, option, length, f"has extent {length} on axis {tag}")

    def _check_vectors(self, op: Operation) -> None:
        match op:
            case tir.CastOp():
                self._check_vector(op, op.result.type)
            case tir.LoadOp():
                self._check_vector(op, op.result.type)
                self._check_indices(op, op.indices)
            case tir.StoreOp():
                self._check_vector(op, op.value.type)
                self._check_indices(op, op.indices)
            case _:
                pass

    def _check_indices(self, op: Operation, indices: Iterable[SSAValue]) -> None:
        for index in indices:
            ramp = index.owner
            if isinstance(ramp, tir.RampOp) and not tir.is_constant(ramp.stride, 1):
                self._check_vector(op, index.type, "an index")

    def _check_vector(self, op: Operation, dtype: Attribute, what: str = "data") -> None:
        if not tir.is_vector(dtype):
            return
        size = tir.lanes_of(dtype) * tir.bytes_of_lane(dtype)
        self._check(
            op, "max_vector_bytes", size, f"has {what} of type {dtype}, {size} bytes"
        )


@dataclass
class _Usage:
    """What a kernel takes: extents by thread tag, and memory in bytes."""

    extents: dict[str, int] = field(default_factory=dict[str, int])
    shared: int = 0
    local: int = 0

    def allocate(self, pointer: tir.PtrType, shape: Iterable[int | SSAValue]) -> None:
        elements = math.prod(extent if isinstance(extent, int) else 0 for extent in shape)
        dtype = pointer.element_type
        size = elements * tir.lanes_of(dtype) * tir.bytes_of_lane(dtype)
        match pointer.storage_scope.rank:
            case tir.StorageRank.SHARED:
                self.shared += size
            case tir.StorageRank.LOCAL:
                self.local += size
            case _:
                pass


def _opens_axis(op: Operation) -> bool:
    return _axis_of(op) is not None


def _axis_of(op: Operation) -> tuple[str, SSAValue] | None:
    """Tag and extent of the thread axis that `op` opens."""
    if isinstance(op, tir.LaunchThreadOp):
        return op.tag.data, op.extent
    if isinstance(op, tir.ForOp) and op.thread_tag is not None:
        return op.thread_tag.data, op.extent
    return None


def _allocated_shape(op: tir.AllocBufferOp) -> tuple[int | SSAValue, ...]:
    """Extents whose product is the number of elements, strides counted."""
    strides, shape = op.layout_strides, op.shape
    return (shape[0], strides[0]) if strides else shape

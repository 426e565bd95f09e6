"""Tensor copies, and products of warpgroups, of Hopper GPUs.

The sums of a product are a part of a thread's own memory, which is loaded and stored as a
whole, so that LLVM keeps it in registers. A wait for products puts the memory of all sums
through `tvm_llvm.register_fence`, so that no access of them is before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Final

from xdsl.dialects import llvm
from xdsl.dialects.builtin import IntegerAttr, f32, i64
from xdsl.dialects.llvm import LLVMPointerType, LLVMStructType
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import PassFailedException, VerifyException

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.analysis.derivation import origin
from xdsl_tvm.dialects import nvvm, tir, tvm_llvm
from xdsl_tvm.dialects.nvvm.formats import warpgroup_columns
from xdsl_tvm.dialects.tir.types import bytes_of
from xdsl_tvm.lowering.tir.conversion.body import BodyConverter
from xdsl_tvm.lowering.tir.conversion.device_calls.addresses import (
    address_at,
    constant_operand,
    require_space,
    text_operand,
    word_operand,
)
from xdsl_tvm.lowering.tir.conversion.device_calls.barriers import barrier_address
from xdsl_tvm.lowering.tir.conversion.device_calls.converter import DeviceConverter
from xdsl_tvm.lowering.tir.conversion.emitter import INDEX
from xdsl_tvm.lowering.tir.conversion.expressions import convert
from xdsl_tvm.lowering.tir.conversion.types import product
from xdsl_tvm.lowering.tir.conversion.views import memref_type

PRODUCT: Final = "ptx_wgmma_mma_async"
TENSOR_COPY: Final = "ptx_cp_async_bulk_tensor"
ENCODE: Final = "tensormap_encode_tiled"

TENSOR_ALIGNMENT: Final = 1024
"""What shared memory of kernels with such copies or products is aligned to."""

_SWIZZLE_128: Final = 1 << 62
_EIGHT_ROWS: Final = 1024
"""From 8 rows of 128 bytes to the next 8."""
_FURTHER_COLUMNS: Final = 64 * 128
"""From 64 columns to the next 64 where rows are terms."""
_FIELD: Final = 0x3FFF
_DTYPES: Final = {"fp16": "f16", "bf16": "bf16"}


def uses_tensor_maps(func: tir.FuncOp) -> bool:
    """Whether a kernel has tensor copies or products of warpgroups."""
    return any(
        isinstance(op, tir.CallOp) and op.callee.data in (PRODUCT, TENSOR_COPY)
        for op in all_ops(func)
    )


def allocations_of_sums(func: tir.FuncOp) -> set[SSAValue]:
    """The pointers that are allocated for sums of products."""
    return {
        origin(op.args[_SUMS])
        for op in all_ops(func)
        if isinstance(op, tir.CallOp) and op.callee.data == PRODUCT
    }


def box_bytes(func: tir.FuncOp) -> list[int | None]:
    """The bytes of boxes, of the parameters of a kernel that are tensor maps.

    Raises PassFailedException where copies by one map are of different sizes.
    """
    found: list[int | None] = []
    for parameter in func.args:
        sizes = {
            int(tir.constant_value(op.args[_BYTES]) or 0)
            for use in parameter.uses
            if isinstance(op := use.operation, tir.CallOp)
            and op.callee.data == TENSOR_COPY
            and use.index == _MAP
        }
        if len(sizes) > 1:
            raise PassFailedException(
                f"tir.func @{func.sym_name.data}: copies by one tensor map are of "
                f"{' and '.join(map(str, sorted(sizes)))} bytes; use a map for each box"
            )
        found.append(next(iter(sizes), None))
    return found


def check_boxes(kernel: tir.FuncOp, arguments: Sequence[SSAValue]) -> None:
    """Raises PassFailedException for a launch whose tensor maps have other boxes than the
    kernel copies."""
    for argument, size in zip(arguments, box_bytes(kernel), strict=True):
        if size is None:
            continue
        source = origin(argument).owner
        if not isinstance(source, tir.CallOp) or source.callee.data != ENCODE:
            raise PassFailedException(
                f"tir.func @{kernel.sym_name.data}: a launch passes no tensor map that "
                f'is made in the function that launches; make it by "{ENCODE}"'
            )
        rank = (len(source.args) - 1) // 3
        box = [tir.constant_value(each) or 0 for each in source.args[-rank:]]
        element = source.args[0].type
        assert isinstance(element, tir.PtrType)
        found = int(prod(box)) * bytes_of(element.element_type)
        if found != size:
            raise PassFailedException(
                f"tir.func @{kernel.sym_name.data}: copies {size} bytes by a tensor map "
                f"of boxes of {found} bytes; state those of the box"
            )


_MAP: Final = 2
"""The operand of a tensor copy that is the map."""
_BYTES: Final = 3
_SUMS: Final = 10
"""The operand of a product that points to its sums."""


# ---- tensor maps ----


def tensor_map(cv: BodyConverter, op: tir.CallOp) -> SSAValue:
    """`tensormap_encode_tiled`, of host code: the address of a tensor map."""
    pointer, values = op.args[0], op.args[2:]
    memory = cv.memory(pointer)
    if memory.offset is not None or not isinstance(pointer.type, tir.PtrType):
        raise cv.fail(f'"{ENCODE}" is of the data of a buffer, not of a part of it')
    rank = (len(values) + 1) // 3
    box = [constant_operand(cv, op, place) for place in range(2 * rank + 1, 3 * rank + 1)]
    numbers = [convert(cv, cv.value(each), each.type, i64) for each in values[:-rank]]
    made = tvm_llvm.TensorMapOp(
        memory.memref,
        numbers[:rank],
        numbers[rank:],
        box,
        constant_operand(cv, op, 1),
        tir.element_of(pointer.type.element_type),
    )
    try:
        made.verify()
    except VerifyException as error:
        raise cv.fail(str(error)) from None
    return cv.emit(made).res


# ---- copies ----


def copy_tensor(cv: DeviceConverter, op: tir.CallOp) -> None:
    """`ptx_cp_async_bulk_tensor`, whose bytes count at a barrier when they land."""
    require_space(cv, op, 0, nvvm.SHARED_SPACE, "shared")
    map = op.args[_MAP]
    if not isinstance(cv.value(map).type, LLVMPointerType):
        raise cv.fail(
            f'operand {_MAP} of "{TENSOR_COPY}" must be a parameter that is a tensor map'
        )
    target = address_at(cv, op, 0, op.args[1])
    cluster: LLVMPointerType = nvvm.pointer(nvvm.CLUSTER_SPACE)
    target = cv.build(tvm_llvm.AddrSpaceCastOp, [target], LLVMPointerType())
    target = cv.build(tvm_llvm.AddrSpaceCastOp, [target], cluster)
    barrier = barrier_address(cv, op, 4)
    # PTX has the innermost dimension first.
    places = [word_operand(cv, op, place) for place in range(len(op.args) - 1, 4, -1)]
    cv.emit(nvvm.CpAsyncBulkTensorOp(target, cv.value(map), barrier, places))


def fence_proxy(cv: DeviceConverter, op: tir.CallOp) -> None:
    """`ptx_fence_proxy_async`."""
    cv.emit(nvvm.FenceProxyOp())


# ---- products ----


def multiply(cv: DeviceConverter, op: tir.CallOp) -> None:
    """`ptx_wgmma_mma_async`."""
    try:
        columns = warpgroup_columns(text_operand(cv, op, 0))
    except ValueError as error:
        raise cv.fail(str(error)) from None
    by_terms = text_operand(cv, op, 2) == "row"
    dtypes = [text_operand(cv, op, position) for position in (3, 4)]
    if dtypes[0] != dtypes[1]:
        raise cv.fail(f"{dtypes[0]} and {dtypes[1]} do not multiply in a warpgroup")
    for position in (6, 8):
        require_space(cv, op, position, nvvm.SHARED_SPACE, "shared")
    require_space(cv, op, 10, 0, "local")
    a = _descriptor(cv, op, 6, by_terms=False)
    b = _descriptor(cv, op, 8, by_terms=by_terms)
    sums = address_at(cv, op, 10, op.args[11])
    memory = cv.memory(op.args[10]).memref
    if memory not in cv.sums:
        raise cv.fail("the sums of a product are an allocation of the kernel")
    whole = LLVMStructType.from_type_list([f32] * (columns // 2))
    before = cv.emit(llvm.LoadOp(sums, whole)).results[0]
    made = nvvm.WgmmaMmaAsyncOp(
        before, a, b, columns, _DTYPES[dtypes[0]], b_layout="row" if by_terms else "col"
    )
    cv.emit(llvm.StoreOp(cv.emit(made).res, sums))


def _descriptor(
    cv: DeviceConverter, op: tir.CallOp, position: int, *, by_terms: bool
) -> SSAValue:
    """The descriptor of an operand in shared memory."""
    further = _FURTHER_COLUMNS if by_terms else 16
    layout = _SWIZZLE_128 | (_EIGHT_ROWS >> 4) << 32 | (further >> 4) << 16

    def number(value: int) -> SSAValue:
        return cv.emit(llvm.ConstantOp(IntegerAttr(value, i64), i64)).result

    start = cv.build(
        llvm.PtrToIntOp, [address_at(cv, op, position, op.args[position + 1])], i64
    )
    low = cv.build(llvm.LShrOp, [start, number(4)], i64)
    low = cv.build(llvm.AndOp, [low, number(_FIELD)], i64)
    return cv.build(llvm.OrOp, [low, number(layout)], i64)


def fence(cv: DeviceConverter, op: tir.CallOp) -> None:
    """`ptx_wgmma_fence`."""
    cv.emit(nvvm.WgmmaFenceOp())


def commit(cv: DeviceConverter, op: tir.CallOp) -> None:
    """`ptx_wgmma_commit_group`."""
    cv.emit(nvvm.WgmmaCommitGroupOp())


def wait(cv: DeviceConverter, op: tir.CallOp) -> None:
    """`ptx_wgmma_wait_group`, after which sums may be accessed."""
    cv.emit(nvvm.WgmmaWaitGroupOp(constant_operand(cv, op, 0)))
    for memory in cv.sums:
        count = product(memref_type(memory).get_shape())
        first = [cv.number(0, INDEX)] * memref_type(memory).get_num_dims()
        place: LLVMPointerType = nvvm.pointer(0)
        address = cv.emit(tvm_llvm.ElementAddressOp(memory, first, place)).res
        whole = LLVMStructType.from_type_list([f32] * count)
        before = cv.emit(llvm.LoadOp(address, whole)).results[0]
        after = cv.emit(tvm_llvm.RegisterFenceOp(before)).res
        cv.emit(llvm.StoreOp(after, address))

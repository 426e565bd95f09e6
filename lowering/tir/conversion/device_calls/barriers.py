"""Counting barriers in shared memory, and the copies that they wait for."""

from __future__ import annotations

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import i1, i32, i64
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Block, Region, SSAValue

from xdsl_tvm.dialects import nvvm, tir, tvm_llvm
from xdsl_tvm.lowering.tir.conversion.device_calls.addresses import (
    address_at,
    constant_operand,
    require_space,
    word_operand,
)
from xdsl_tvm.lowering.tir.conversion.device_calls.converter import DeviceConverter

_MAX_BARRIERS = 1024


def create(cv: DeviceConverter, op: tir.CallOp) -> None:
    """`create_barriers`: declares an array of barriers in shared memory."""
    count = constant_operand(cv, op, 0)
    if not 1 <= count <= _MAX_BARRIERS:
        raise cv.fail(
            f'"create_barriers" declares 1 to {_MAX_BARRIERS} barriers, not {count}'
        )
    if cv.barriers is not None:
        raise cv.fail('a kernel has one "create_barriers"; declare all barriers there')
    cv.barriers = cv.shared_memory((count,), i64)


def barrier_address(cv: DeviceConverter, op: tir.CallOp, position: int = 0) -> SSAValue:
    """The address of the barrier whose number is an operand."""
    if cv.barriers is None:
        raise cv.fail(
            f'"{op.callee.data}" is before "create_barriers"; create the barriers first'
        )
    pointer: LLVMPointerType = nvvm.pointer(nvvm.SHARED_SPACE)
    number = cv.index(op.args[position])
    return cv.emit(tvm_llvm.ElementAddressOp(cv.barriers, [number], pointer)).res


def initialize(cv: DeviceConverter, op: tir.CallOp) -> None:
    """`ptx_init_barrier_thread_count`."""
    cv.emit(nvvm.MBarrierInitOp(barrier_address(cv, op), word_operand(cv, op, 1)))


def arrive(cv: DeviceConverter, op: tir.CallOp) -> None:
    """`ptx_arrive_barrier`."""
    cv.emit(nvvm.MBarrierArriveOp(barrier_address(cv, op)))


def arrive_and_expect(cv: DeviceConverter, op: tir.CallOp) -> None:
    """`ptx_arrive_barrier_expect_tx`."""
    cv.emit(
        nvvm.MBarrierArriveExpectTxOp(barrier_address(cv, op), word_operand(cv, op, 1))
    )


def copies_arrive(cv: DeviceConverter, op: tir.CallOp) -> None:
    """`ptx_cp_async_barrier`: the phase does not end before the thread's copies land."""
    cv.emit(nvvm.CpAsyncMBarrierArriveOp(barrier_address(cv, op)))


def wait(cv: DeviceConverter, op: tir.CallOp) -> None:
    """`ptx_wait_barrier`: until a phase of a parity, or the first one, is complete."""
    barrier = barrier_address(cv, op)
    parity = word_operand(cv, op, 1) if len(op.args) > 1 else cv.number(0, i32)
    before, after = Block(), Block()
    with cv.at(before):
        done = cv.emit(nvvm.MBarrierTryWaitOp(barrier, parity)).res
        again = cv.binary(arith.XOrIOp, done, cv.number(1, i1))
        cv.emit(scf.ConditionOp(again))
    with cv.at(after):
        cv.emit(scf.YieldOp())
    cv.emit(scf.WhileOp([], [], Region(before), Region(after)))


def copy_bulk(cv: DeviceConverter, op: tir.CallOp) -> None:
    """`ptx_cp_async_bulk`, whose bytes count at a barrier when they have landed."""
    require_space(cv, op, 0, nvvm.SHARED_SPACE, "shared")
    require_space(cv, op, 2, nvvm.GLOBAL_SPACE, "global")
    size = tir.constant_value(op.args[4])
    if size is not None and (size < 0 or size % 16):
        raise cv.fail(f'"ptx_cp_async_bulk" copies a multiple of 16 bytes, not {size}')
    target = address_at(cv, op, 0, op.args[1])
    source = address_at(cv, op, 2, op.args[3])
    cluster: LLVMPointerType = nvvm.pointer(nvvm.CLUSTER_SPACE)
    target = cv.build(tvm_llvm.AddrSpaceCastOp, [target], cluster)
    barrier = barrier_address(cv, op, 5)
    # The copy is to see the barrier, and to follow what threads did with the memory.
    cv.emit(nvvm.FenceProxyOp())
    cv.emit(nvvm.CpAsyncBulkOp(target, source, barrier, word_operand(cv, op, 4)))

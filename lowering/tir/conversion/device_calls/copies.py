"""Asynchronous copies from global to shared memory, and their groups."""

from __future__ import annotations

from xdsl.dialects import llvm, scf
from xdsl.dialects.builtin import i1, i32
from xdsl.ir import Block, Region, SSAValue

from xdsl_tvm.dialects import nvvm, tir, tvm_llvm
from xdsl_tvm.lowering.tir.conversion.body import BodyConverter
from xdsl_tvm.lowering.tir.conversion.device_calls.addresses import (
    address_at,
    constant_operand,
    element_width,
    require_space,
)
from xdsl_tvm.lowering.tir.conversion.expressions import convert
from xdsl_tvm.lowering.tir.conversion.types import signless

_SIZES = (4, 8, 16)
_WHOLE_LINES = 16


def copy(cv: BodyConverter, op: tir.CallOp) -> None:
    """`ptx_cp_async`: 16 bytes bypass the first cache, as in the reference.

    Without its predicate a copy writes zeros.
    """
    size = constant_operand(cv, op, 4)
    if size not in _SIZES:
        raise cv.fail(f'"ptx_cp_async" copies 4, 8 or 16 bytes, not {size}')
    require_space(cv, op, 0, nvvm.SHARED_SPACE, "shared")
    require_space(cv, op, 2, nvvm.GLOBAL_SPACE, "global")
    target = address_at(cv, op, 0, op.args[1])
    source = address_at(cv, op, 2, op.args[3])
    cache = "cg" if size == _WHOLE_LINES else "ca"
    if len(op.args) == 5:
        cv.emit(nvvm.CpAsyncOp(target, source, size, cache))
        return
    given = cv.select(_condition(cv, op.args[5]), cv.number(size, i32), cv.number(0, i32))
    cv.emit(nvvm.CpAsyncOp(target, source, size, cache, given))


def _condition(cv: BodyConverter, predicate: SSAValue) -> SSAValue:
    return convert(cv, cv.value(predicate), predicate.type, i1)


def commit(cv: BodyConverter, op: tir.CallOp) -> None:
    """`ptx_commit_group`."""
    cv.emit(nvvm.CpAsyncCommitGroupOp())


def wait(cv: BodyConverter, op: tir.CallOp) -> None:
    """`ptx_wait_group` for a constant number of groups that may be pending."""
    left = constant_operand(cv, op, 0)
    if left < 0:
        raise cv.fail(f'"ptx_wait_group" cannot wait for {left} groups')
    cv.emit(nvvm.CpAsyncWaitGroupOp(left))


def load_guarded(cv: BodyConverter, op: tir.CallOp) -> None:
    """`ptx_ldg32`: 32 bits of memory that the kernel only reads, or zero."""
    require_space(cv, op, 2, nvvm.GLOBAL_SPACE, "global")
    for position in (0, 2):
        if element_width(cv, op, position) != 4:
            raise cv.fail(f'operand {position} of "ptx_ldg32" must point to 32 bits')
    type_ = op.args[2].type
    assert isinstance(type_, tir.PtrType)
    element = signless(tir.element_of(type_.element_type))
    taken, other = Block(), Block()
    with cv.at(taken):
        address = address_at(cv, op, 2, None)
        load = tvm_llvm.LoadOp(address, element, alignment=4, invariant=True)
        cv.emit(scf.YieldOp(cv.emit(load).res))
    with cv.at(other):
        cv.emit(scf.YieldOp(cv.number(0, element)))
    guard = _condition(cv, op.args[1])
    loaded = cv.emit(scf.IfOp(guard, [element], Region(taken), Region(other)))
    cv.emit(llvm.StoreOp(loaded.results[0], address_at(cv, op, 0, op.args[3]), 4))

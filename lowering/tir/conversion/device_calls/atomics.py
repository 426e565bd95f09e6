"""Atomic updates of memory that threads share."""

from __future__ import annotations

from xdsl.ir import SSAValue

from xdsl_tvm.dialects import tir, tvm_llvm
from xdsl_tvm.lowering.tir.conversion.body import BodyConverter
from xdsl_tvm.lowering.tir.conversion.device_calls.addresses import (
    address_at,
    element_width,
)

_WIDTHS = {True: (2, 4, 8), False: (4, 8)}
"""Bytes of the floats and of the integers that PTX adds to memory."""


def add(cv: BodyConverter, op: tir.CallOp) -> SSAValue:
    """`atomic_add`: the value before, ordered with no other memory access.

    The scope is the device.
    """
    dtype = op.args[1].type
    is_float, width = tir.is_float(dtype), element_width(cv, op, 0)
    if tir.is_vector(dtype) or width not in _WIDTHS[is_float]:
        raise cv.fail(
            f'"atomic_add" adds f16, bf16, f32, f64 and integers of 32 and 64 bits, not '
            f"{dtype}"
        )
    update = tvm_llvm.AtomicRMWOp(
        "fadd" if is_float else "add",
        address_at(cv, op, 0, None),
        cv.value(op.args[1]),
        ordering="monotonic",
        syncscope="device",
        alignment=width,
    )
    return cv.emit(update).res

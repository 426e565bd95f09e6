"""Whether a TIR function that is called directly changes what its caller sees."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from xdsl_tvm.dialects.tir.accesses import (
    DataOp,
    StoreOp,
)
from xdsl_tvm.dialects.tir.allocations import AllocateOp
from xdsl_tvm.dialects.tir.buffers import DeclBufferOp
from xdsl_tvm.dialects.tir.builtin_rules import CallEffect
from xdsl_tvm.dialects.tir.builtins_table import INTRINSICS
from xdsl_tvm.dialects.tir.functions import FuncOp
from xdsl_tvm.dialects.tir.intrinsics import CallFuncOp, builtin_name


def is_pure_function(function: FuncOp) -> bool:
    """Whether a call of a function has no effects (docs/spec/relax-ir.md §1.2).

    It stores only to what it allocates by `tir.allocate`, and calls nothing that may have
    effects: functions of the module and unknown builtins may. One that writes its
    parameters is impure, though `relax.call_tir` of it is pure, and so is one without a
    body.
    """
    return not (function.is_declaration or any(map(_is_visible, function.walk())))


def _is_visible(op: Operation) -> bool:
    if isinstance(op, StoreOp):
        return not _is_own(op.buffer)
    if isinstance(op, CallFuncOp):
        return True
    name = builtin_name(op)
    if name is None:
        return False
    known = INTRINSICS.get(name)
    return known is None or known.effect is CallEffect.UPDATE_STATE


def _is_own(buffer: SSAValue) -> bool:
    """Whether a buffer is memory of the function, or a view of such."""
    op = buffer.owner
    while isinstance(op, DeclBufferOp | DataOp):
        (value,) = op.operands[:1]
        op = value.owner
    return isinstance(op, AllocateOp)

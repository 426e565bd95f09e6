"""Barriers as passes write them."""

from __future__ import annotations

from xdsl.dialects.builtin import i32
from xdsl.ir import Operation, SSAValue

from xdsl_tvm.dialects import tir


def barrier_of(scope: str, *operands: SSAValue) -> list[Operation]:
    """The ops of a `tvm_storage_sync` of a scope."""
    name = tir.StringOp(scope)
    return [name, tir.CallOp("tvm_storage_sync", [name, *operands], i32)]

"""Lines of memory that are fetched into caches before they are used."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Expr, Value
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.tir.rewriting.loop_code import LoopCode

LINE_BYTES = 64
INTO_FIRST_CACHE = (0, 3, 1)
INTO_SECOND_CACHE = (0, 2, 1)
"""Operands of `prefetch`: data to read, for all caches, or not for the first one yet."""


def fetch(
    code: LoopCode, buffer: SSAValue, indices: Sequence[Expr], hints: Sequence[int]
) -> None:
    """Fetch the line of an element, which the buffer must have."""
    address = tir.AddressOfOp(buffer, [code.value(index) for index in indices])
    code.insert(address)
    given = [smart.const(hint, i32) for hint in hints]
    code.call("prefetch", [Value(address.result), *given], i32)

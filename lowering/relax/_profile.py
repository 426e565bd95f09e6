"""Times of kernels: clocks around calls of TIR functions, and tables of the sums.

A module that is profiled has two more globals: `tvm_kernel_names`, the names of the
kernels, one a line, and `tvm_kernel_times`, for each its calls and their nanoseconds.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from xdsl.context import Context
from xdsl.dialects import arith, func, memref
from xdsl.dialects.arith import Arith
from xdsl.dialects.builtin import (
    Builtin,
    BytesAttr,
    DenseIntOrFPElementsAttr,
    IntegerType,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    i8,
    i64,
)
from xdsl.dialects.func import Func
from xdsl.dialects.memref import MemRef
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.parser import Parser

from xdsl_tvm.lowering.tir._emitter import INDEX, Emitter
from xdsl_tvm.lowering.tir._types import GENERIC_SPACE, memref_of

CLOCK = "tvm_clock"
"""The function that gives the time in nanoseconds."""
KERNEL_NAMES = "tvm_kernel_names"
KERNEL_TIMES = "tvm_kernel_times"

# The clock is POSIX's CLOCK_MONOTONIC, seconds and nanoseconds.
_CLOCK_TEXT = f"""
func.func private @clock_gettime(i32, memref<2xi64>) -> i32
func.func private @{CLOCK}() -> i64 {{
  %time = memref.alloca() : memref<2xi64>
  %monotonic = arith.constant 1 : i32
  %status = func.call @clock_gettime(%monotonic, %time) : (i32, memref<2xi64>) -> i32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %seconds = memref.load %time[%c0] : memref<2xi64>
  %rest = memref.load %time[%c1] : memref<2xi64>
  %second = arith.constant 1000000000 : i64
  %whole = arith.muli %seconds, %second : i64
  %now = arith.addi %whole, %rest : i64
  func.return %now : i64
}}
"""


def bytes_attribute(data: bytes) -> DenseIntOrFPElementsAttr[IntegerType]:
    """Bytes as the value of a global."""
    return DenseIntOrFPElementsAttr(TensorType(i8, [len(data)]), BytesAttr(data))


class KernelProfile:
    """The kernels of a module, each with its place in the table."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}

    @contextmanager
    def timed(self, cv: Emitter, name: str, clock: SymbolRefAttr) -> Generator[None]:
        """Add the time of what is emitted while the context lasts to that of a kernel."""
        place = self._places.setdefault(name, len(self._places)) * 2
        start = cv.build(func.CallOp, [], i64, {"callee": clock})
        yield
        end = cv.build(func.CallOp, [], i64, {"callee": clock})
        table = SymbolRefAttr(KERNEL_TIMES)
        # Its extent is known when all functions are lowered; only the address counts.
        type_ = memref_of((place + 2,), i64, GENERIC_SPACE)
        times = cv.build(memref.GetGlobalOp, [], type_, {"name": table})
        one = cv.number(1, i64)
        for position, amount in (
            (place, one),
            (place + 1, cv.binary(arith.SubiOp, end, start)),
        ):
            _add(cv, times, position, amount)

    def operations(self) -> list[Operation]:
        """The tables, and the clock."""
        names = "\n".join(self._places).encode() + b"\0"
        ctx = Context()
        for dialect in (Builtin, Func, Arith, MemRef):
            ctx.load_dialect(dialect)
        module = Parser(ctx, _CLOCK_TEXT).parse_module()
        clock = [op for op in module.body.ops if self._places]
        for op in clock:
            op.detach()
        zeros = bytes(16 * max(len(self._places), 1))
        times = DenseIntOrFPElementsAttr(
            TensorType(i64, [len(zeros) // 8]), BytesAttr(zeros)
        )
        return [
            *clock,
            _public(KERNEL_NAMES, bytes_attribute(names), i8),
            _public(KERNEL_TIMES, times, i64),
        ]


def _add(cv: Emitter, table: SSAValue, position: int, amount: SSAValue) -> None:
    at = cv.number(position, INDEX)
    before = cv.build(memref.LoadOp, [table, at], i64)
    after = cv.binary(arith.AddiOp, before, amount)
    cv.emit(memref.StoreOp.create(operands=[after, table, at]))


def _public(
    name: str, value: DenseIntOrFPElementsAttr[IntegerType], element: Attribute
) -> memref.GlobalOp:
    type_ = memref_of(value.get_shape(), element, GENERIC_SPACE)
    return memref.GlobalOp.get(
        StringAttr(name), type_, value, sym_visibility=StringAttr("public")
    )

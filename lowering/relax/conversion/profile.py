"""Times of kernels: clocks around calls of TIR functions, and tables of the sums.

A module that is profiled has two more globals: `tvm_kernel_names`, the names of the
kernels, one a line, and `tvm_kernel_times`, for each its calls and their nanoseconds.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from xdsl.context import Context
from xdsl.dialects import func, memref
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
from xdsl.ir import Attribute, Operation
from xdsl.parser import Parser

from xdsl_tvm.lowering.tir.conversion.emitter import INDEX, Emitter
from xdsl_tvm.lowering.tir.conversion.types import GENERIC_SPACE, memref_of

CLOCK = "tvm_clock"
"""The function that gives the time in nanoseconds."""
KERNEL_NAMES = "tvm_kernel_names"
KERNEL_TIMES = "tvm_kernel_times"

_DONE = "tvm_kernel_done"
"""The function that adds a call, and the time since it began, to the table."""

# The clock is POSIX's CLOCK_MONOTONIC, seconds and nanoseconds.
_TEXT = f"""
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
func.func private @{_DONE}(%kernel: index, %start: i64) {{
  %now = func.call @{CLOCK}() : () -> i64
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1 : i64
  %times = memref.get_global @{KERNEL_TIMES} : TABLE
  %calls = memref.load %times[%kernel, %c0] : TABLE
  %more = arith.addi %calls, %one : i64
  memref.store %more, %times[%kernel, %c0] : TABLE
  %taken = arith.subi %now, %start : i64
  %sum = memref.load %times[%kernel, %c1] : TABLE
  %total = arith.addi %sum, %taken : i64
  memref.store %total, %times[%kernel, %c1] : TABLE
  func.return
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
    def timed(self, cv: Emitter, name: str) -> Generator[None]:
        """Add the time of what is emitted while the context lasts to that of a kernel."""
        place = self._places.setdefault(name, len(self._places))
        clock = SymbolRefAttr(CLOCK)
        start = cv.build(func.CallOp, [], i64, {"callee": clock})
        yield
        operands = [cv.number(place, INDEX), start]
        properties = {"callee": SymbolRefAttr(_DONE)}
        cv.emit(func.CallOp.create(operands=operands, properties=properties))

    def operations(self) -> list[Operation]:
        """The tables, and the functions that fill them."""
        names = "\n".join(self._places).encode() + b"\0"
        shape = [max(len(self._places), 1), 2]
        zeros = BytesAttr(bytes(8 * shape[0] * shape[1]))
        times = DenseIntOrFPElementsAttr(TensorType(i64, shape), zeros)
        return [
            *(_functions(shape[0]) if self._places else ()),
            _public(KERNEL_NAMES, bytes_attribute(names), i8),
            _public(KERNEL_TIMES, times, i64),
        ]


def _functions(kernels: int) -> list[Operation]:
    ctx = Context()
    for dialect in (Builtin, Func, Arith, MemRef):
        ctx.load_dialect(dialect)
    text = _TEXT.replace("TABLE", f"memref<{kernels}x2xi64>")
    functions = list(Parser(ctx, text).parse_module().body.ops)
    for op in functions:
        op.detach()
    return functions


def _public(
    name: str, value: DenseIntOrFPElementsAttr[IntegerType], element: Attribute
) -> memref.GlobalOp:
    type_ = memref_of(value.get_shape(), element, GENERIC_SPACE)
    return memref.GlobalOp.get(
        StringAttr(name), type_, value, sym_visibility=StringAttr("public")
    )

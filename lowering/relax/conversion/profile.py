"""Times of kernels: clocks around calls of TIR functions, and tables of the sums.

A module that is profiled has two more globals: `tvm_kernel_names`, the names of the
kernels, one a line, and `tvm_kernel_times`, for each its calls and their nanoseconds.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from xdsl.dialects import func
from xdsl.dialects.builtin import (
    BytesAttr,
    DenseIntOrFPElementsAttr,
    SymbolRefAttr,
    TensorType,
    i8,
    i64,
)
from xdsl.ir import Operation

from xdsl_tvm.dialects.quick_operation import create
from xdsl_tvm.lowering.runtime_symbols import KERNEL_NAMES, KERNEL_TIMES
from xdsl_tvm.lowering.tir.conversion.emitter import INDEX, Emitter
from xdsl_tvm.lowering.tir.conversion.loop_profile import (
    CLOCK,
    CLOCK_TEXT,
    bytes_attribute,
    parsed_functions,
    public_global,
)

_DONE = "tvm_kernel_done"
"""The function that adds a call, and the time since it began, to the table."""

_TEXT = f"""{CLOCK_TEXT}func.func private @{_DONE}(%kernel: index, %start: i64) {{
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
        cv.emit(create(func.CallOp, operands=operands, properties=properties))

    def operations(self) -> list[Operation]:
        """The tables, and the functions that fill them."""
        names = "\n".join(self._places).encode() + b"\0"
        shape = [max(len(self._places), 1), 2]
        zeros = BytesAttr(bytes(8 * shape[0] * shape[1]))
        times = DenseIntOrFPElementsAttr(TensorType(i64, shape), zeros)
        return [
            *(_functions(shape[0]) if self._places else ()),
            public_global(KERNEL_NAMES, bytes_attribute(names), i8),
            public_global(KERNEL_TIMES, times, i64),
        ]


def _functions(kernels: int) -> list[Operation]:
    return parsed_functions(_TEXT.replace("TABLE", f"memref<{kernels}x2xi64>"))

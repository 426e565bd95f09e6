"""Marks of functions and loops as events: which mark, when, and on which thread.

A module with marks (InstrumentProfileIntrinsics) has five more globals. `EVENTS` is the
address of the runtime's memory, three `i64` for each event: twice the number of the mark,
one more at its end; nanoseconds; the thread. `LIMIT` is how many there is room for, 0 at
first, `COUNT` how many there were, and `NAMES` says what the marks are, a number and a
name a line.
"""

from __future__ import annotations

from typing import Final

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.arith import Arith
from xdsl.dialects.builtin import (
    Builtin,
    BytesAttr,
    DenseIntOrFPElementsAttr,
    IntegerType,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    i8,
    i64,
)
from xdsl.dialects.func import Func
from xdsl.dialects.llvm import LLVM
from xdsl.dialects.memref import GlobalOp, MemRef
from xdsl.dialects.scf import Scf
from xdsl.ir import Attribute, Operation
from xdsl.parser import Parser

from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.quick_operation import create
from xdsl_tvm.lowering.runtime_symbols import COUNT, EVENTS, LIMIT, NAMES
from xdsl_tvm.lowering.tir.conversion.emitter import Emitter
from xdsl_tvm.lowering.tir.conversion.types import GENERIC_SPACE, memref_of

CLOCK: Final = "tvm_clock"
"""The function that gives the time in nanoseconds."""
MARKS: Final = ("start_profile_intrinsic", "end_profile_intrinsic")
_EVENT: Final = "tvm_loop_event"

# The clock is POSIX's CLOCK_MONOTONIC, seconds and nanoseconds.
CLOCK_TEXT: Final = f"""
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
_EVENT_TEXT: Final = f"""
func.func private @pthread_self() -> i64
func.func private @{_EVENT}(%mark: i64) {{
  %now = func.call @{CLOCK}() : () -> i64
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %one = arith.constant 1 : i64
  %count = memref.get_global @{COUNT} : memref<1xi64>
  %place = "memref.atomic_rmw"(%one, %count, %c0) <{{kind = 1 : i64}}>
    : (i64, memref<1xi64>, index) -> i64
  %room = memref.get_global @{LIMIT} : memref<1xi64>
  %limit = memref.load %room[%c0] : memref<1xi64>
  %fits = arith.cmpi slt, %place, %limit : i64
  scf.if %fits {{
    %thread = func.call @pthread_self() : () -> i64
    %held = memref.get_global @{EVENTS} : memref<1xi64>
    %address = memref.load %held[%c0] : memref<1xi64>
    %pointer = llvm.inttoptr %address : i64 to !llvm.ptr
    %events = builtin.unrealized_conversion_cast %pointer : !llvm.ptr to memref<?x3xi64>
    %row = arith.index_cast %place : i64 to index
    memref.store %mark, %events[%row, %c0] : memref<?x3xi64>
    memref.store %now, %events[%row, %c1] : memref<?x3xi64>
    memref.store %thread, %events[%row, %c2] : memref<?x3xi64>
  }}
  func.return
}}
"""


def bytes_attribute(data: bytes) -> DenseIntOrFPElementsAttr[IntegerType]:
    """Bytes as the value of a global."""
    return DenseIntOrFPElementsAttr(TensorType(i8, [len(data)]), BytesAttr(data))


def public_global(
    name: str, value: DenseIntOrFPElementsAttr[IntegerType], element: Attribute
) -> GlobalOp:
    """A global that the runtime finds by its name."""
    type_ = memref_of(value.get_shape(), element, GENERIC_SPACE)
    return GlobalOp.get(
        StringAttr(name), type_, value, sym_visibility=StringAttr("public")
    )


def parsed_functions(text: str) -> list[Operation]:
    """The functions of a text, in no module."""
    ctx = Context()
    for dialect in (Builtin, Func, Arith, LLVM, MemRef, Scf):
        ctx.load_dialect(dialect)
    functions = list(Parser(ctx, text).parse_module().body.ops)
    for op in functions:
        op.detach()
    return functions


class LoopProfile:
    """The marks of a module."""

    def __init__(self) -> None:
        self._names: dict[int, str] = {}

    def mark(self, cv: Emitter, op: tir.CallOp) -> None:
        """Write what a mark does."""
        number = tir.constant_value(op.args[0])
        if not isinstance(number, int):
            raise cv.fail("the number of a mark must be a constant")
        name = op.attributes.get(tir.PROFILE_NAME)
        known = name.data if isinstance(name, StringAttr) else f"mark {number}"
        self._names.setdefault(number, known)
        is_end = op.callee.data == MARKS[1]
        event = cv.number(2 * number + is_end, i64)
        callee = {"callee": SymbolRefAttr(_EVENT)}
        cv.emit(create(func.CallOp, operands=[event], properties=callee))

    def insert(self, module: ModuleOp) -> None:
        """Add globals and functions to a module that has marks."""
        if not self._names:
            return
        lines = (f"{number}\t{name}" for number, name in self._names.items())
        text = "\n".join(lines).encode() + b"\0"
        zero = DenseIntOrFPElementsAttr(TensorType(i64, [1]), BytesAttr(bytes(8)))
        module.body.block.add_ops(
            [
                public_global(NAMES, bytes_attribute(text), i8),
                *(public_global(name, zero, i64) for name in (EVENTS, LIMIT, COUNT)),
            ]
        )
        known = {
            op.sym_name.data for op in module.body.ops if isinstance(op, func.FuncOp)
        }
        for op in parsed_functions(CLOCK_TEXT + _EVENT_TEXT):
            assert isinstance(op, func.FuncOp), "as written above"
            if op.sym_name.data not in known:
                module.body.block.add_op(op)

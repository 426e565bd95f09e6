"""Where `LocatedBuilder` inserts operations, and which location they have."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr, i32
from xdsl.ir import Block

from xdsl_tvm.dialects.located_builder import LocatedBuilder


def line(number: int) -> FileLineColLoc:
    return FileLineColLoc(StringAttr("a.py"), IntAttr(number), IntAttr(1))


def test_operations_have_the_location_of_their_source() -> None:
    first, last = (arith.ConstantOp.from_int_and_width(n, 32) for n in (1, 2))
    first.location, last.location = line(1), line(2)
    block = Block([first, last])
    value = LocatedBuilder(last).emit(arith.AddiOp, [first.result] * 2, i32)
    moved = LocatedBuilder(last, first).insert_op(arith.MuliOp(value, value))
    builder = LocatedBuilder()
    builder.start(last)
    builder.insert(arith.SubiOp(value, value))
    appended = LocatedBuilder(block).insert_op(arith.AddiOp(value, value))
    names = ["constant", "addi", "muli", "subi", "constant", "addi"]
    assert [op.name.removeprefix("arith.") for op in block.ops] == names
    assert [op.location for op in block.ops][1:4] == [line(2), line(1), line(2)]
    assert moved.location == first.location
    assert appended.location not in (line(1), line(2))

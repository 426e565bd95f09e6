"""Operations that look like verified ones, and those that do not."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import DenseArrayBase, StringAttr, f32, i32, i64
from xdsl.ir import Block, Operation, Region
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects import tir


def _loop() -> tir.ForOp:
    zero, eight = tir.ConstOp.of(0, i32), tir.ConstOp.of(8, i32)
    loop = tir.ForOp(zero, eight)
    Block([zero, eight, loop])
    loop.verify()
    return loop


def _store() -> tir.StoreOp:
    block = Block(arg_types=[tir.HandleType()])
    buffer = tir.MatchBufferOp(block.args[0], tir.BufferType([4], f32))
    index, value = tir.ConstOp.of(0, i32), tir.ConstOp.of(0.0, f32)
    store = tir.StoreOp(value, buffer, [index])
    block.add_ops([buffer, index, value, store])
    store.verify()
    return store


def _with_another_type(op: Operation) -> None:
    other = tir.ConstOp.of(1.0, f32)
    assert op.parent is not None
    op.parent.insert_op_before(other, op)
    op.operands[1] = other.result


def _without_a_property(op: Operation) -> None:
    del op.properties["kind"]


def _with_an_unknown_property(op: Operation) -> None:
    op.properties["colour"] = StringAttr("red")


def _with_two_blocks(op: Operation) -> None:
    op.regions[0].add_block(Block())


def _with_other_arguments(op: Operation) -> None:
    op.detach_region(0)
    op.add_region(Region(Block(arg_types=[i64])))


@pytest.mark.parametrize(
    "change",
    [
        _with_another_type,
        _without_a_property,
        _with_an_unknown_property,
        _with_two_blocks,
        _with_other_arguments,
    ],
)
def test_another_look_is_verified(change: object):
    loop = _loop()
    assert callable(change)
    change(loop)
    with pytest.raises(VerifyException):
        loop.verify()
    # Nothing is kept of what does not verify.
    with pytest.raises(VerifyException):
        loop.verify()
    _loop()


def test_segments_are_part_of_the_look():
    store = _store()
    assert [list(store.indices), store.predicate] == [[store.operands[2]], None]
    store.properties["operandSegmentSizes"] = DenseArrayBase.from_list(i32, [1, 1, 0, 1])
    assert [list(store.indices), store.predicate] == [[], store.operands[2]]
    with pytest.raises(VerifyException):
        store.verify()
    _store()

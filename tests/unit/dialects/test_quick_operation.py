"""Operations that are made the quick way are those that xDSL makes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from xdsl.dialects import arith, cf
from xdsl.dialects.builtin import (
    DictionaryAttr,
    FileLineColLoc,
    IntAttr,
    StringAttr,
    f32,
    i1,
    i32,
)
from xdsl.ir import Block, Operation, Region
from xdsl.irdl import IRDLOperation

from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.quick_operation import create, erase, segments
from xdsl_tvm.dialects.tir.attributes import ForKindAttr

_CONSTANTS = [tir.ConstOp.of(number, i32) for number in range(3)]
_ZERO, _ONE, _TWO = (op.result for op in _CONSTANTS)
_TRUE = tir.ConstOp.of(1, i1)
_DATA = Block(arg_types=[tir.PtrType(f32)]).args[0]


def _loop() -> tuple[Operation, Operation]:
    made = tir.ForOp(_CONSTANTS[0], _TWO, name="i")
    other = tir.ForOp.__new__(tir.ForOp)
    IRDLOperation.__init__(
        other,
        operands=[_ZERO, _TWO],
        properties={
            "kind": ForKindAttr(tir.ForKind.SERIAL),
            "thread_tag": None,
            "loop_name": StringAttr("i"),
        },
        regions=[Region(Block(arg_types=[i32]))],
    )
    return made, other


def _allocation() -> tuple[Operation, Operation]:
    pointer = tir.PtrType(f32)
    notes = DictionaryAttr({})
    made = tir.AllocateOp(pointer, [4, _TWO, _ONE], condition=_TRUE, annotations=notes)
    other = tir.AllocateOp.__new__(tir.AllocateOp)
    IRDLOperation.__init__(
        other,
        operands=[[_TWO, _ONE], _TRUE],
        properties={
            "static_extents": made.static_extents,
            "annotations": notes,
            "name": None,
        },
        result_types=[pointer],
    )
    return made, other


def _buffer() -> tuple[Operation, Operation]:
    type_ = tir.BufferType([-(1 << 63), 4], f32)
    made = tir.DeclBufferOp(_DATA, type_, [_TWO], strides=[_ONE, 1], name="B")
    other = tir.DeclBufferOp.__new__(tir.DeclBufferOp)
    IRDLOperation.__init__(
        other,
        operands=[_DATA, [_TWO], [_ONE], None],
        properties={
            "name": StringAttr("B"),
            "static_strides": made.static_strides,
            "data_alignment": None,
        },
        result_types=[type_],
    )
    return made, other


@pytest.mark.parametrize("pair", [_loop, _allocation, _buffer])
def test_equals_what_xdsl_makes(pair: Callable[[], tuple[Operation, Operation]]) -> None:
    made, other = pair()
    assert made.properties == other.properties
    assert tuple(made.operands) == tuple(other.operands)
    assert made.result_types == other.result_types
    assert made.is_structurally_equivalent(other)


def _branch(make: Callable[..., Operation]) -> Operation:
    block = Block(arg_types=[i32])
    return make(
        operands=[_TRUE.result, _ZERO],
        successors=[block, block],
        properties={"operandSegmentSizes": segments(1, 1, 0)},
        attributes={"note": StringAttr("n")},
        location=FileLineColLoc(StringAttr("f"), IntAttr(1), IntAttr(2)),
    )


def _sum(make: Callable[..., Operation]) -> Operation:
    return make(operands=[_ZERO, _ONE], result_types=[i32])


@pytest.mark.parametrize(
    ("kind", "build"), [(cf.ConditionalBranchOp, _branch), (arith.AddiOp, _sum)]
)
def test_create_makes_what_the_class_makes(
    kind: type[Operation], build: Callable[[Callable[..., Operation]], Operation]
) -> None:
    made, other = build(partial(create, kind)), build(kind.create)
    # The overflow flags of a sum have a default.
    assert made.properties == other.properties != {}
    assert made.attributes == other.attributes
    assert made.location == other.location
    assert tuple(made.operands) == tuple(other.operands)
    assert len(made.successors) == len(other.successors)
    assert made.result_types == other.result_types
    assert all(result.op is made for result in made.results)


def test_erase_refuses_what_is_used() -> None:
    first = tir.ConstOp.of(7, i32)
    second = tir.AddOp(first, first)
    block = Block([first, second])
    with pytest.raises(ValueError, match="uses"):
        erase(first)
    block.insert_op_before(first, second)
    erase(second)
    erase(first)
    assert block.is_empty
    assert first.result.first_use is None


def test_operations_with_regions_are_no_part_of_themselves() -> None:
    inside = Block(arg_types=[i32])
    loop = tir.ForOp(_ZERO, _TWO, Region(inside))
    with pytest.raises(ValueError, match="contained"):
        inside.add_op(loop)
    number = tir.ConstOp.of(1, i32)
    inside.add_op(number)
    assert loop.is_ancestor(number)
    assert number.is_ancestor(number)
    assert not number.is_ancestor(loop)

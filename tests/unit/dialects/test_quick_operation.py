"""Operations that are made without a search for groups are those that xDSL makes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from xdsl.dialects.builtin import DictionaryAttr, StringAttr, f32, i1, i32
from xdsl.ir import Block, Operation, Region
from xdsl.irdl import IRDLOperation

from xdsl_tvm.dialects import tir
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

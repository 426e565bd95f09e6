"""Buffers whose axes are grouped into physical dimensions (docs/spec/tir-ir.md §7.2)."""

import numpy as np
import pytest
from support.ir import parse
from xdsl.utils.exceptions import InterpretationError

from xdsl_tvm.interpreters.tir import ArgumentError, OutOfBoundsError, interpret

SHAPE = (2, 4, 8)
LAYOUT = "strides [5, 1, 1] {axis_separators = array<i64: 2>}"
"""Row (i, j) is the physical row 5 * i + j of 8 elements."""

COPY = """
tir.func @f(%o: !tir.handle, %i: !tir.handle) {
  %O = tir.match_buffer %o : !tir.buffer<OUT>
  %I = tir.match_buffer %i : !tir.buffer<2x4x8xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  %c5 = tir.const 5 : i32
  %c8 = tir.const 8 : i32
  %c10 = tir.const 10 : i32
  DEFINE
  tir.for %x = %c0 to %c2 {
    tir.for %y = %c0 to %c4 {
      tir.for %z = %c0 to %c8 {
        %v = tir.load %I[%x, %y, %z] : i32
        tir.store %v, %B[%x, %y, %z] : i32
      }
    }
  }
  READ
}"""
ALLOCATED = f"%B = tir.alloc_buffer {LAYOUT} : !tir.buffer<2x4x8xi32>"
BACK = """tir.for %x = %c0 to %c2 {
  tir.for %y = %c0 to %c4 {
    tir.for %z = %c0 to %c8 {
      %v = tir.load %B[%x, %y, %z] : i32
      tir.store %v, %O[%x, %y, %z] : i32
    }
  }
}"""
PHYSICAL = """%p = tir.data %B : !tir.ptr<i32>
%P = tir.decl_buffer %p FLAT
tir.for %x = %c0 to %c2 {
  tir.for %y = %c0 to %c4 {
    %first = tir.mul %x, %c5 : i32
    %row = tir.add %first, %y : i32
    tir.for %z = %c0 to %c8 {
      %v = tir.load %P[%row, %z] : i32
      tir.store %v, %O[%x, %y, %z] : i32
    }
  }
}"""


def run(define: str, read: str, out: str = "2x4x8xi32") -> tuple[np.ndarray, np.ndarray]:
    given = np.arange(64, dtype=np.int32).reshape(SHAPE) + 1
    text = COPY.replace("DEFINE", define).replace("READ", read).replace("OUT", out)
    found = np.zeros(SHAPE, np.int32)
    interpret(parse(text))["f"](found, given)
    return found, given


def test_strides_are_those_within_a_group() -> None:
    found, given = run(ALLOCATED, BACK)
    np.testing.assert_array_equal(found, given)


@pytest.mark.parametrize(
    "flat",
    [
        "{axis_separators = array<i64: 1>} : !tir.buffer<9x8xi32>",
        "strides [1, 1] {axis_separators = array<i64: 1>} : !tir.buffer<9x8xi32>",
        ": !tir.buffer<9x8xi32>",
    ],
)
def test_physical_view(flat: str) -> None:
    found, given = run(ALLOCATED, PHYSICAL.replace("FLAT", flat))
    np.testing.assert_array_equal(found, given)


def test_flattened_memory_is_large_enough() -> None:
    define = """%p0 = tir.allocate [%c10, 8] : !tir.ptr<i32>
    %B = tir.decl_buffer %p0 LAYOUT : !tir.buffer<2x4x8xi32>"""
    flat = "{axis_separators = array<i64: 1>} : !tir.buffer<10x8xi32>"
    found, given = run(define.replace("LAYOUT", LAYOUT), PHYSICAL.replace("FLAT", flat))
    np.testing.assert_array_equal(found, given)


def test_view_of_a_region() -> None:
    view = """%V = tir.match_region %B[%c1, %c0 to %c4, %c0 to %c8]
      strides [1, 1] : !tir.buffer<4x8xi32>
    tir.for %y = %c0 to %c4 {
      tir.for %z = %c0 to %c8 {
        %v = tir.load %V[%y, %z] : i32
        tir.store %v, %O[%c1, %y, %z] : i32
      }
    }"""
    block = f'tir.block "view" () {{\ntir.reads\ntir.writes\n{view}\n}}'
    found, given = run(ALLOCATED, block)
    np.testing.assert_array_equal(found[1], given[1])
    with pytest.raises(OutOfBoundsError, match="the view expects stride 8"):
        run(ALLOCATED, block.replace("[1, 1]", "[8, 1]"))


def test_compact_groups_are_row_major() -> None:
    define = (
        "%B = tir.alloc_buffer {axis_separators = array<i64: 1>} : !tir.buffer<2x4x8xi32>"
    )
    found, given = run(define, BACK)
    np.testing.assert_array_equal(found, given)
    flat = PHYSICAL.replace("FLAT", ": !tir.buffer<8x8xi32>").replace("%c5", "%c4")
    found, given = run(define, flat)
    np.testing.assert_array_equal(found, given)


PARAMETER = """
tir.func @f(%a: !tir.handle) {
  %A = tir.match_buffer %a LAYOUT : !tir.buffer<2x4x8xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  tir.store %c1, %A[%c1, %c1, %c1] : i32
}"""


def test_parameter() -> None:
    run = interpret(parse(PARAMETER.replace("LAYOUT", LAYOUT)))["f"]
    memory = np.zeros((10, 8), np.int32)
    padded = np.lib.stride_tricks.as_strided(memory, SHAPE, (5 * 32, 32, 4))
    run(padded)
    assert np.argwhere(memory).tolist() == [[6, 1]]
    with pytest.raises(ArgumentError, match="expects stride 0 to be 40, got 32"):
        run(np.zeros(SHAPE, np.int32))


def test_what_an_array_does_not_tell() -> None:
    layout = LAYOUT.replace("5", "%s")
    text = PARAMETER.replace("LAYOUT", layout).replace(
        "%A =", '%s = tir.shape_var "s" : i32\n%A ='
    )
    with pytest.raises(InterpretationError, match="not known from an array"):
        interpret(parse(text))["f"](np.zeros(SHAPE, np.int32))


def test_offset_into_several_dimensions() -> None:
    define = """%p0 = tir.allocate [%c10, 8] : !tir.ptr<i32>
    %B = tir.decl_buffer %p0 LAYOUT : !tir.buffer<2x4x8xi32>"""
    layout = LAYOUT.replace("] {", "] offset %c8 {")
    with pytest.raises(InterpretationError, match="several dimensions has no elem"):
        run(define.replace("LAYOUT", layout), BACK)

"""NarrowDataType left uses by ops that it made and did not put anywhere.

Another narrowing then took what they use for needed, and made ill-typed IR of it.
"""

from __future__ import annotations

from support.ir import parse

from xdsl_tvm.passes.tir import NarrowDataType

PROGRAM = """
tir.func @f(%a: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<8xi32>
  %c0 = tir.const 0 : i64
  %c4 = tir.const 4 : i64
  %one = tir.const 1 : i32
  tir.for %i = %c0 to %c4 {
    %j = tir.add %i, %i : i64
    %value = tir.cast %j : i64 to i32
    tir.store %value, %A[%j] : i32
  }
}"""


def test_all_uses_are_by_ops_of_the_module():
    module = NarrowDataType(target_bits=16)(parse(PROGRAM))
    ops = set(module.walk())
    loops = [block for op in ops for region in op.regions for block in region.blocks]
    values = [v for op in ops for v in op.results]
    values += [v for block in loops for v in block.args]
    assert all(use.operation in ops for value in values for use in value.uses)

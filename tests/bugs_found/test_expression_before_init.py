"""A guarded expression before a tir.init was taken for a statement, and refused."""

from __future__ import annotations

import pytest
from support.ir import parse
from xdsl.utils.exceptions import VerifyException

BLOCK = """
tir.func @f(%a: !tir.handle, %p: i1) {{
  %A = tir.match_buffer %a : !tir.buffer<8xi32>
  %c0 = tir.const 0 : i32
  tir.block "B" {{
    {before}
    tir.init {{
      tir.store %c0, %A[%c0] : i32
    }}
  }}
}}"""


def test_a_guarded_load_may_stand_before_the_init():
    parse(
        BLOCK.format(
            before="""
            %x = tir.if_then_else %p -> i32 {
              %y = tir.load %A[%c0] : i32
              tir.yield %y : i32
            } else {
              tir.yield %c0 : i32
            }"""
        )
    )


def test_a_statement_may_not():
    with pytest.raises(VerifyException, match="init must be before the statements"):
        parse(BLOCK.format(before="tir.if %p {\n}"))

"""An assertion on an infinite float raised OverflowError where inputs were made."""

from __future__ import annotations

import pytest
from support.ir import parse

from xdsl_tvm.interpreters.semantics import check_semantics

PROGRAM = """
tir.func @f() {{
  %x = tir.const {number} : f32
  %zero = tir.const 0.0 : f32
  %p = tir.cmp gt %x, %zero : f32
  tir.assert %p, "a bound"
}}"""


@pytest.mark.parametrize(
    "number",
    [
        "0x7F800000",
        # Taken for an integer, it was equal to zero, and no inputs were found.
        "5.0e-01",
    ],
)
def test_an_assertion_on_a_float(number: str):
    module = parse(PROGRAM.format(number=number))
    assert check_semantics(module, []).checked == ["f"]

"""An op that may end without an operand took the next op's result for one."""

from __future__ import annotations

from io import StringIO

import pytest
from support.ir import parse
from xdsl.printer import Printer


@pytest.mark.parametrize(
    "statement", ["tir.evaluate", "tir.ret", "tir.evaluate %n : i32", "tir.ret %n : i32"]
)
@pytest.mark.parametrize("results", ["%x =", "%x:1 =", "%x, %y ="])
def test_a_result_behind_an_op_without_operand(statement: str, results: str):
    count = 2 if "%y" in results else 1
    types = ", ".join(["i32"] * count)
    check(f'{statement}\n {results} "test.op"() : () -> ({types})')


@pytest.mark.parametrize("marker", ["tir.reads", "tir.writes", "tir.reads %A[%n]"])
def test_a_result_behind_a_region_list(marker: str):
    check(f'tir.block "B" {{\n {marker}\n %x = tir.const 0 : i32\n }}')


def check(body: str) -> None:
    module = parse(
        "tir.func @f(%a: !tir.handle, %n: i32) {\n"
        "%A = tir.match_buffer %a : !tir.buffer<8xf32>\n" + body + "\n}"
    )
    output = StringIO()
    Printer(output).print_op(module)
    assert parse(output.getvalue()).is_structurally_equivalent(module)

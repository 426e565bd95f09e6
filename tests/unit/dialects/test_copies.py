"""Copies are those that xDSL makes, with uses in the same order."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.parser import Parser

from xdsl_tvm.analysis.all_ops import all_ops, all_values
from xdsl_tvm.dialects.copies import copy_of
from xdsl_tvm.registry import new_context

_TEXTS = {
    "loops": """
      tir.func @f(%a: !tir.handle) attributes {note = "n"} {
        %A = tir.match_buffer "A" %a : !tir.buffer<4x4xi32>
        %c0 = tir.const 0 : i32
        %c4 = tir.const 4 : i32
        tir.for "i" %i = %c0 to %c4 {
          tir.for %j = %c0 to %c4 annotations {pragma_x = 1 : i32} {
            %s = tir.add %i, %j {note = 1 : i32} : i32
            %x = tir.load %A[%i, %j] : i32
            %y = tir.add %x, %s : i32
            tir.store %y, %A[%i, %j] : i32
          }
        }
      }""",
    "blocks, and values that are used before they are defined": """
      func.func @f(%x: i32, %c: i1) {
        cf.cond_br %c, ^bb2(%x : i32), ^bb1
      ^bb1:
        "test.op"(%late, %x) : (i32, i32) -> ()
        func.return
      ^bb2(%y: i32):
        %late = "foreign.op"(%y) ({
          "test.op"(%x) : (i32) -> ()
        }) {note = "n"} : (i32) -> i32
        cf.br ^bb1
      }""",
}


def _parse(name: str) -> ModuleOp:
    context = new_context()
    context.allow_unregistered = True
    return Parser(context, _TEXTS[name]).parse_module()


def _uses(root: Operation) -> list[list[tuple[int, int]]]:
    """For each value, the positions of its users in their order, and the operands."""
    numbers = {op: number for number, op in enumerate(all_ops(root))}

    def positions(value: SSAValue) -> list[tuple[int, int]]:
        return [(numbers[use.operation], use.index) for use in value.uses]

    return [positions(value) for value in all_values(root)]


@pytest.mark.parametrize("name", _TEXTS)
def test_equals_the_copy_of_xdsl(name: str) -> None:
    module = _parse(name)
    copy, other = copy_of(module), module.clone()
    assert str(copy) == str(other) == str(module)
    assert list(map(type, all_ops(copy))) == list(map(type, all_ops(other)))
    hints = [value.name_hint for value in all_values(copy)]
    assert hints == [value.name_hint for value in all_values(other)]
    assert not set(all_ops(copy)) & set(all_ops(module))


def test_uses_are_in_the_order_of_the_copy_of_xdsl() -> None:
    module = _parse("loops")
    assert _uses(copy_of(module)) == _uses(module.clone())


def test_values_from_outside_stay() -> None:
    module = _parse("loops")
    loop = next(op for op in all_ops(module) if op.name == "tir.for")
    copy = copy_of(loop)
    assert copy.parent is None
    assert tuple(copy.operands) == tuple(loop.operands)
    zero = loop.operands[0]
    # The loop and the one inside of it, and the copies of both.
    assert zero.uses.get_length() == 4
    copy.erase()
    assert zero.uses.get_length() == 2

"""Calls and lazy choices as trees: reading them from ops and writing them back."""

from __future__ import annotations

import pytest
from support.ir import parse
from xdsl.builder import Builder
from xdsl.dialects.builtin import ModuleOp, f32, i1, i32
from xdsl.ir import Block, SSAValue
from xdsl.rewriter import InsertPoint

from xdsl_tvm.analysis.arith.expr import (
    Add,
    Call,
    Const,
    Expr,
    IfThenElse,
    Select,
    Value,
    emit,
    leaf_values,
    values_at_hand,
    view,
)
from xdsl_tvm.dialects import tir


def evaluated(text: str) -> tuple[ModuleOp, list[tir.EvaluateOp]]:
    module = parse(f"tir.func @f(%x: i32, %y: i32, %c: i1, %p: !tir.handle) {{{text}}}")
    return module, [op for op in module.walk() if isinstance(op, tir.EvaluateOp)]


def value_of(op: tir.EvaluateOp) -> SSAValue:
    assert op.value is not None
    return op.value


def rewritten(op: tir.EvaluateOp, known: dict[Expr, SSAValue] | None = None) -> None:
    """Emit the tree of the value again, before the op, and use it."""
    tree = view(value_of(op))
    op.operands[0] = emit(tree, Builder(InsertPoint.before(op)), known)


def test_calls_of_pure_builtins_are_nodes():
    _, (op,) = evaluated(
        """
        %0 = tir.call "shift_left"(%x, %y) : (i32, i32) -> i32
        %1 = tir.call "vscale"() : () -> i32
        %2 = tir.add %0, %1 : i32
        tir.evaluate %2 : i32"""
    )
    x, y = leaf_values(view(value_of(op)))
    shift = Call("shift_left", [Value(x), Value(y)], i32)
    assert view(value_of(op)) is Add(shift, Call("vscale", [], i32))
    assert Call("vscale", [], i32) is Call("vscale", (), i32)
    assert Call("exp", [Value(x)], f32) is not Call("exp", [Value(x)], i32)


def test_calls_with_effects_are_leaves():
    _, ops = evaluated(
        """
        %name = tir.string "g"
        %0 = tir.call "call_extern"(%name, %x) : (!tir.handle, i32) -> i32
        tir.evaluate %0 : i32
        %2 = tir.call "call_pure_extern"(%name, %x) : (!tir.handle, i32) -> i32
        tir.evaluate %2 : i32"""
    )
    for op in ops:
        assert view(value_of(op)) is Value(value_of(op))
    with pytest.raises(ValueError, match="call_extern is no builtin that trees"):
        Call("call_extern", [], i32)


CHOICE = """
    %0 = tir.if_then_else %c -> i32 {
      %q = tir.floordiv %x, %y : i32
      tir.yield %q : i32
    } else {
      tir.yield %y : i32
    }
    tir.evaluate %0 : i32"""


def test_lazy_choices_of_trees_are_nodes():
    module, (op,) = evaluated(CHOICE)
    tree = view(value_of(op))
    assert isinstance(tree, IfThenElse)
    assert tree.condition.dtype == i1
    assert len(leaf_values(tree)) == 3
    rewritten(op)
    module.verify()
    choices = [inner for inner in module.walk() if isinstance(inner, tir.IfThenElseOp)]
    assert len(choices) == 2
    new = op.operands[0].owner
    assert isinstance(new, tir.IfThenElseOp)
    # The division is still where it is evaluated only if it is asked for.
    assert isinstance(new.true_region.block.first_op, tir.FloorDivOp)
    assert view(value_of(op)) is tree


def test_lazy_choices_that_guard_loads_are_leaves():
    _, ops = evaluated(
        """
        %A = tir.match_buffer %p : !tir.buffer<8xi32>
        %0 = tir.if_then_else %c -> i32 {
          %v = tir.load %A[%x] : i32
          tir.yield %v : i32
        } else {
          tir.yield %y : i32
        }
        tir.evaluate %0 : i32"""
    )
    assert view(value_of(ops[0])) is Value(value_of(ops[0]))


def test_values_inside_of_a_choice_are_not_at_hand_outside():
    _, (op,) = evaluated(CHOICE)
    trees: dict[SSAValue, Expr] = {}
    view(value_of(op), trees)
    choice = value_of(op).owner
    assert isinstance(choice, tir.IfThenElseOp)
    inside = {result for inner in choice.walk() for result in inner.results}
    assert not (set(values_at_hand(trees).values()) & inside - {choice.result})


def test_nested_choices_share_what_is_outside_of_them():
    module, (op,) = evaluated(
        """
        %s = tir.add %x, %y : i32
        %0 = tir.if_then_else %c -> i32 {
          %d = tir.if_then_else %c -> i32 {
            tir.yield %s : i32
          } else {
            tir.yield %x : i32
          }
          tir.yield %d : i32
        } else {
          tir.yield %s : i32
        }
        %1 = tir.add %s, %0 : i32
        tir.evaluate %1 : i32"""
    )
    tree = view(value_of(op))
    rewritten(op)
    module.verify()
    assert view(value_of(op)) is tree
    new_sums = [o for o in module.walk() if isinstance(o, tir.AddOp)]
    # The first sum, the second, and each of them emitted once more.
    assert len(new_sums) == 4


def test_branches_have_one_type():
    block = Block(arg_types=[i1, i32, f32])
    condition, a, b = map(Value, block.args)
    with pytest.raises(ValueError, match="operands of IfThenElse"):
        IfThenElse(condition, a, b)
    assert IfThenElse(condition, a, a) is not Select(condition, a, a)
    assert Const(1, i1).dtype == i1

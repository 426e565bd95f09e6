"""What a loop does in its first iteration only goes before the loop."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint

from xdsl_tvm.analysis.all_ops import all_ops, ops_of
from xdsl_tvm.analysis.arith.expr import (
    And,
    Cmp,
    Expr,
    Value,
    emit,
    substitute,
    view,
)
from xdsl_tvm.analysis.arith.facts import conjuncts
from xdsl_tvm.analysis.tir.side_effect import own_effect
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.tir.rewriting.statements import (
    erase_if_unused,
    is_computed_inside,
    names_variable,
    replace_by_body,
)

_IN_ORDER = (tir.ForKind.SERIAL, tir.ForKind.UNROLLED)


@dataclass(frozen=True)
class HoistFirstIteration(CompilerPass):
    """Summary: Moves what loops begin with in their first iteration before the loops.

    TVM name: none (ours)
    Input form: any; meant for loops and buffers and later forms
    Output form: the same
    Options: none
    Rewrites: loops of constant bounds that run at least once, whose body begins with a
        `tir.if` that compares the loop variable with the first value. Before

            tir.for %k = %c0 to %c16 {
              %first = tir.cmp eq %k, %c0 : i32
              tir.if %first {
                tir.store %zero, %A[%i] : f32
              }
              %sum = tir.load %A[%i] : f32
              …
            }

        after

            tir.store %zero, %A[%i] : f32
            tir.for %k = %c0 to %c16 {
              %sum = tir.load %A[%i] : f32
              …
            }

        The first value takes the place of the loop variable in what moves. Where other
        conditions are to hold as well, they stay conditions, and so what begins a
        reduction over several loops leaves them one by one. Time is linear in the size
        of the module times the depth of such loops.
    Leaves alone: loops that are parallel, vectorized or bound to threads, those with
        annotations, and those whose number of iterations is not known; an `if` with
        `else`, after a statement or after a load, and one that uses what the loop
        computes by other than pure expressions
    Errors: none
    Attributes: none
    Differs from TVM: TVM leaves the condition to LLVM, which copies the whole body for
        the first iteration
    """

    name = "tir-hoist-first-iteration"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        # What leaves an inner loop may begin the loop around it.
        for loop in reversed(ops_of(op, tir.ForOp)):
            if _runs_in_order(loop):
                _hoist(loop)


def _runs_in_order(loop: tir.ForOp) -> bool:
    """Whether a loop has a first iteration, which is before the others."""
    if loop.kind.data not in _IN_ORDER or loop.annotations is not None:
        return False
    extent = tir.constant_value(loop.extent)
    return isinstance(extent, int) and extent > 0


def _hoist(loop: tir.ForOp) -> None:
    """Move the `if` that a loop begins with before it, if that is one."""
    first = _first_statement(loop)
    if first is None or first.else_region is not None:
        return
    start, variable = view(loop.min), Value(loop.loop_var)
    parts = list(conjuncts(view(first.condition)))
    rest = [part for part in parts if not _are_compared(part, variable, start)]
    if len(rest) == len(parts):
        return
    if any(names_variable(use) for use in loop.loop_var.uses):
        return
    replaced: dict[Expr, Expr] = {variable: start}
    trees = {
        value: substitute(view(value), replaced) for value in _used_of_body(first, loop)
    }
    conditions = [substitute(part, replaced) for part in rest]
    if any(is_computed_inside(tree, loop) for tree in (*trees.values(), *conditions)):
        return
    _move(first, loop, trees, conditions)


def _move(
    first: tir.IfOp,
    loop: tir.ForOp,
    trees: dict[SSAValue, Expr],
    conditions: list[Expr],
) -> None:
    """Move an `if` before a loop, where values of the body are these trees."""
    condition, block = first.condition, loop.parent
    assert block is not None, "a loop of a module has a block"
    first.detach()
    block.insert_op_before(first, loop)
    builder = Builder(InsertPoint.before(first))
    known: dict[Expr, SSAValue] = {view(loop.min): loop.min}
    for value, tree in trees.items():
        value.replace_uses_with_if(
            emit(tree, builder, known), lambda use: first.is_ancestor(use.operation)
        )
    if conditions:
        first.operands[0] = emit(reduce(And, conditions), builder, known)
    else:
        replace_by_body(first, first.then_region.block)
    erase_if_unused([condition, *trees])


def _first_statement(loop: tir.ForOp) -> tir.IfOp | None:
    """The `if` that a body begins with: what is before it only computes."""
    for op in loop.body.block.ops:
        if isinstance(op, tir.IfOp):
            return op
        if op.regions or own_effect(op) is not tir.CallEffect.PURE:
            return None
    return None


def _are_compared(part: Expr, variable: Expr, start: Expr) -> bool:
    """Whether a condition says that the loop variable has its first value."""
    equal = tir.CmpPredicate.EQ
    return part in (Cmp(equal, variable, start), Cmp(equal, start, variable))


def _used_of_body(first: tir.IfOp, loop: tir.ForOp) -> list[SSAValue]:
    """The values that an `if` in a loop takes from the body of the loop."""
    body = loop.body.block
    found: dict[SSAValue, None] = {}
    for op in all_ops(first.then_region):
        for operand in op.operands:
            owner = operand.owner
            if owner is body or (isinstance(owner, Operation) and owner.parent is body):
                found[operand] = None
    return list(found)

"""Choices that assumptions make redundant are removed from stored values."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, Region
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import MemoryEffectKind, get_effects
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import Cmp, Expr, Value, leaf_values, view
from xdsl_tvm.analysis.arith.facts import conjuncts, negated
from xdsl_tvm.analysis.tir.control_flow import ControlFlow
from xdsl_tvm.analysis.tir.scoped_facts import FactsWalker
from xdsl_tvm.analysis.tir.side_effect import is_assume, side_effect
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir import CallEffect, CmpPredicate
from xdsl_tvm.dialects.tir.annotations import integer_of
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.tir._loops.in_bounds import is_in_bounds
from xdsl_tvm.passes.tir.rewriting.statements import (
    can_speculate,
    describe,
    erase_if_unused,
)

_PATTERN = "op_pattern"
_ELEMENTWISE, _BROADCAST = 0, 1


@dataclass(frozen=True)
class UseAssumeToReduceBranches(CompilerPass):
    """Summary: Removes choices in stored values of element-wise kernels where assumptions
        about padding say that both sides are equal.

    TVM name: tir.UseAssumeToReduceBranches (v0.20)
    Input form: any
    Output form: the same
    Options: none
    Rewrites: before

            tir.for %i = %c0 to %c16 {
              %x = tir.load %X[%i] : f32
              %z = tir.cmp eq %x, %zero : f32
              %q = tir.cmp lt %i, %c14 : i32
              %r = tir.or %q, %z : i1
              %s = tir.call "assume"(%r) : (i1) -> i1
            }
            tir.for %j = %c0 to %c16 {
              %p = tir.cmp ge %j, %c14 : i32
              %y = tir.if_then_else %p -> f32 {
                tir.yield %zero : f32
              } else {
                %x = tir.load %X[%j] : f32
                %d = tir.add %x, %x : f32
                tir.yield %d : f32
              }
              tir.store %y, %Y[%j] : f32
            }

        after, in the second loop

              %x = tir.load %X[%j] : f32
              %d = tir.add %x, %x : f32
              tir.store %d, %Y[%j] : f32

        The side that is kept is evaluated always. It is the second one if both are equal
        where the condition holds, else the first one if they are equal where it does not.
        What memory holds at a load is known from assumptions and stores before it; loops
        need not be the same. Time is linear in the size of the module, times the depth of
        its loops.
    Leaves alone: functions whose `op_pattern` is not 0 (element-wise) or 1 (broadcast),
        and those without `assume`; the assumptions; choices that are not stored; a
        choice with a side that may not be evaluated always, since it divides by what may
        be zero or reads outside of a buffer
    Errors: an assumption, one of those that `and` joins, that is none about one element:
        with two alternatives that read memory, with one that is no `load == value`,
        with a value that reads memory, or with a call that updates state
    Attributes: read: `op_pattern` on functions; created: none; removed: none
    Differs from TVM: that a load is of the assumed element is proven, where TVM compares
        the conditions around both up to names, not their indices. Writes between are
        seen; unless the function is `tir.noalias`, one to any parameter may be to the
        assumed element, so that a kernel without it keeps its choices. A side that may
        fail is not evaluated always. Loads outside of a choice stay loads; an assumption
        that reads no memory is accepted. What is kept is not simplified further. 0.0 and
        -0.0 count as equal, as in the assumption.
    """

    name = "tir-use-assume-to-reduce-branches"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in op.body.block.ops:
            if _is_simple(func):
                assumes = [inner for inner in all_ops(func) if is_assume(inner)]
                for assume in assumes:
                    _check(assume)
                if assumes:
                    _Branches(func).reduce()


def _is_simple(func: Operation) -> bool:
    pattern = integer_of(func.attributes.get(_PATTERN))
    return isinstance(func, tir.FuncOp) and pattern in (_ELEMENTWISE, _BROADCAST)


# ---- assumptions ----


def _check(assume: Operation) -> None:
    """Refuse an assumption that says nothing of one element."""
    for part in conjuncts(view(assume.operands[0])):
        reading: list[Expr] = []
        # The alternatives of a part are what its negation denies.
        for piece in map(negated, conjuncts(negated(part))):
            effect = _effect(piece)
            if effect > CallEffect.READ_STATE:
                raise _error(assume, "it updates state; assume nothing about calls")
            if effect > CallEffect.PURE:
                reading.append(piece)
        if len(reading) > 1:
            raise _error(
                assume, "two alternatives read memory; assume one of each buffer"
            )
        for piece in reading:
            _check_piece(assume, piece)


def _check_piece(assume: Operation, piece: Expr) -> None:
    match piece:
        case Cmp(predicate=CmpPredicate.EQ, lhs=lhs, rhs=rhs):
            pass
        case _:
            raise _error(assume, "what is read must be equal to a value; use eq")
    if _effect(lhs) == CallEffect.PURE:
        lhs, rhs = rhs, lhs
    if not (isinstance(lhs, Value) and isinstance(lhs.value.owner, tir.LoadOp)):
        raise _error(assume, "what is compared must be a load itself; solve for it")
    if _effect(rhs) != CallEffect.PURE:
        raise _error(assume, "the value reads memory too; bind it by a tir.let before")


def _effect(tree: Expr) -> CallEffect:
    return max((side_effect(leaf) for leaf in leaf_values(tree)), default=CallEffect.PURE)


def _error(assume: Operation, reason: str) -> PassFailedException:
    return PassFailedException(f"{describe(assume)}: cannot use this assume: {reason}")


# ---- choices ----


class _Branches:
    """One walk over a function that removes choices from stored values."""

    def __init__(self, func: Operation) -> None:
        self._func = func
        self._analyzer = Analyzer()
        self._flow = ControlFlow(func)
        self._walker = FactsWalker(self._analyzer, self._visit)

    def reduce(self) -> None:
        self._walker.walk(self._func)

    def _visit(self, op: Operation) -> None:
        if not isinstance(op, tir.IfThenElseOp) or not _is_stored(op):
            return
        condition = self._walker.tree(op.condition)
        first, second = op.regions
        if self._may_take(second, first, condition):
            _take(op, second)
        elif self._may_take(first, second, negated(condition)):
            _take(op, first)

    def _may_take(self, kept: Region, other: Region, condition: Expr) -> bool:
        """Whether one side is as good as the other where that one is taken now."""
        with self._analyzer.constraint(condition):
            value = self._value(kept)
            return (
                value is not None
                and value is self._value(other)
                and all(self._is_safe(op) for op in kept.block.ops)
            )

    def _value(self, side: Region) -> Expr | None:
        """The value of a side, with what memory is known to hold; None if it writes."""
        last = side.block.last_op
        if not isinstance(last, tir.YieldOp) or not all(map(_only_reads, side.block.ops)):
            return None
        tree = self._walker.tree(last.value)
        known = self._flow.with_known_values(tree, self._analyzer)
        return self._analyzer.simplify(known)

    def _is_safe(self, op: Operation) -> bool:
        """Whether an op of a side may be evaluated where it was not."""
        if isinstance(op, tir.YieldOp):
            return True
        if not isinstance(op, tir.LoadOp):
            return can_speculate(op)
        if self._flow.value_of(op, self._analyzer) is not None:
            # What is known of an element comes from an access to it.
            return True
        return is_in_bounds(op, self._walker)


def _is_stored(choice: tir.IfThenElseOp) -> bool:
    return any(
        isinstance(use.operation, tir.StoreOp) and use.operation.value is choice.result
        for use in choice.result.uses
    )


def _only_reads(op: Operation) -> bool:
    effects = get_effects(op)
    return effects is not None and all(e.kind is MemoryEffectKind.READ for e in effects)


def _take(choice: tir.IfThenElseOp, side: Region) -> None:
    """Put the ops of a side in the place of the choice."""
    last = side.block.last_op
    assert isinstance(last, tir.YieldOp)
    value, operands = last.value, (choice.condition,)
    Rewriter.erase_op(last)
    Rewriter.inline_block(side.block, InsertPoint.before(choice))
    Rewriter.replace_op(choice, [], [value])
    erase_if_unused(operands)

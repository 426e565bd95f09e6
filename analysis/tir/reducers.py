"""Commutative reducers: which known one combines accumulators with new values.

    found = match_reducer(accumulators, updates, starts)
    block.add_op(found.op)                      # a `tir.reducer`
    values = [emit(tree, builder) for tree in found.operands]

The known ones are, in the order in which they are tried, `x + y`, `x * y`, `min`, `max`,
sums of two, and the position of a largest or a smallest value with that value, where of
equal values either the one on the left or the one with the smaller position wins;
`register_reducer` adds others. A combination is recognized by its form: the accumulator
is where the left operand of the reducer does. See
docs/spec/tir-passes-a-blocks-and-buffers.md, LowerCrossThreadReduction; TVM name
`GetReducerGetters`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

from xdsl.builder import Builder
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.rewriter import InsertPoint

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import (
    Add,
    And,
    Cmp,
    Const,
    Expr,
    Max,
    Min,
    Mul,
    Or,
    Select,
    Value,
    emit,
    leaf_values,
)
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.dtypes import finite_range
from xdsl_tvm.dialects.tir import CmpPredicate
from xdsl_tvm.dialects.tir.threads import Identity

Combine: TypeAlias = Callable[[Sequence[Expr], Sequence[Expr]], Sequence[Expr]]
"""The combined values of those on the left and as many on the right."""
Starts: TypeAlias = Callable[[Attribute], Sequence[float]]
"""The values of a dtype that leave the other side as it is."""


@dataclass(frozen=True)
class CommutativeReducer:
    """How values are combined, and for each of them what its identity may be."""

    combine: Combine
    identities: tuple[Starts, ...]


@dataclass(frozen=True)
class MatchedReducer:
    """A reducer for the dtypes available, not yet part of a program, and its operands."""

    op: tir.ReducerOp
    operands: tuple[Expr, ...]
    """The new values, on the right."""


def _zero(dtype: Attribute) -> Sequence[float]:
    return (0,)


def _one(dtype: Attribute) -> Sequence[float]:
    return (1,)


def _nowhere(dtype: Attribute) -> Sequence[float]:
    return (-1,)


def _least(dtype: Attribute) -> Sequence[float]:
    least, _ = finite_range(dtype)
    return (least, -math.inf) if tir.is_float(dtype) else (least,)


def _greatest(dtype: Attribute) -> Sequence[float]:
    _, greatest = finite_range(dtype)
    return (greatest, math.inf) if tir.is_float(dtype) else (greatest,)


def _by_value(first: CmpPredicate) -> Combine:
    """The position and the value of the extreme one; of equal ones, the left one."""

    def combine(lhs: Sequence[Expr], rhs: Sequence[Expr]) -> Sequence[Expr]:
        (i, x), (j, y) = lhs, rhs
        wins = Cmp(first, x, y)
        return Select(wins, i, j), Select(wins, x, y)

    return combine


def _by_value_and_position(first: CmpPredicate) -> Combine:
    """The same; of equal ones, the one whose position is smaller."""

    def combine(lhs: Sequence[Expr], rhs: Sequence[Expr]) -> Sequence[Expr]:
        (i, x), (j, y) = lhs, rhs
        wins = Cmp(first, x, y)
        equal = And(Cmp(CmpPredicate.EQ, x, y), Cmp(CmpPredicate.LT, i, j))
        return Select(Or(wins, equal), i, j), Select(wins, x, y)

    return combine


_KNOWN = [
    CommutativeReducer(lambda x, y: (Add(x[0], y[0]),), (_zero,)),
    CommutativeReducer(lambda x, y: (Mul(x[0], y[0]),), (_one,)),
    CommutativeReducer(lambda x, y: (Min(x[0], y[0]),), (_greatest,)),
    CommutativeReducer(lambda x, y: (Max(x[0], y[0]),), (_least,)),
    CommutativeReducer(lambda x, y: (Add(x[0], y[0]), Add(x[1], y[1])), (_zero, _zero)),
    CommutativeReducer(_by_value(CmpPredicate.GE), (_nowhere, _least)),
    CommutativeReducer(_by_value_and_position(CmpPredicate.GT), (_nowhere, _least)),
    CommutativeReducer(_by_value(CmpPredicate.LE), (_nowhere, _greatest)),
    CommutativeReducer(_by_value_and_position(CmpPredicate.LT), (_nowhere, _greatest)),
]


def register_reducer(reducer: CommutativeReducer) -> Callable[[], None]:
    """Add a reducer after those that are known; the result takes it away again.

    It has to be associative and commutative, and each identity neutral; that is believed.
    """
    _KNOWN.append(reducer)
    return lambda: _KNOWN.remove(reducer)


def match_reducer(
    accumulators: Sequence[Expr], updates: Sequence[Expr], starts: Sequence[Expr]
) -> MatchedReducer | None:
    """The first known reducer that makes `updates` of the accumulators and new values.

    The trees come in one order: an accumulator, a leaf, what it becomes, and the value
    that it has at first. None if no reducer does, or if a new value depends on an
    accumulator.
    """
    for known in _KNOWN:
        if len(known.identities) == len(updates) and _starts_as(known, starts):
            operands = _operands(known, accumulators, updates)
            if operands is not None:
                return MatchedReducer(_reducer_op(known, starts), operands)
    return None


def _starts_as(known: CommutativeReducer, starts: Sequence[Expr]) -> bool:
    folded = [smart.folded(start) for start in starts]
    return all(
        isinstance(start, Const)
        and _may_be_constant(start.dtype)
        and start in [_constant(value, start.dtype) for value in values(start.dtype)]
        for start, values in zip(folded, known.identities, strict=True)
    )


def _may_be_constant(dtype: Attribute) -> bool:
    return tir.is_float(dtype) or tir.is_integer_type(dtype)


def _constant(value: float, dtype: Attribute) -> Expr | None:
    """The constant; None where the dtype has no such number."""
    if not tir.is_float(dtype) and not smart.fits(int(value), dtype):
        return None
    return Const(value, dtype)


def _operands(
    known: CommutativeReducer, accumulators: Sequence[Expr], updates: Sequence[Expr]
) -> tuple[Expr, ...] | None:
    """What stands for the right side where the updates have the form of the reducer."""
    dtypes = [update.dtype for update in updates]
    holes = [Value(argument) for argument in Block(arg_types=dtypes).args]
    found: dict[Expr, Expr] = {}
    pairs = list(zip(known.combine(accumulators, holes), updates, strict=True))
    fixed = set(accumulators)
    while pairs:
        form, tree = pairs.pop()
        if form in holes:
            if form.dtype != tree.dtype or found.setdefault(form, tree) is not tree:
                return None
        elif form in fixed:
            if form is not tree:
                return None
        elif not _same_node(form, tree):
            return None
        else:
            pairs += zip(form.operands, tree.operands, strict=True)
    operands = tuple(found[hole] for hole in holes if hole in found)
    inside = {each.value for each in fixed if isinstance(each, Value)}
    if len(operands) < len(holes) or not inside.isdisjoint(leaf_values(*operands)):
        return None
    return operands


def _same_node(form: Expr, tree: Expr) -> bool:
    return (
        type(form) is type(tree)
        and form.dtype == tree.dtype
        and form.payload == tree.payload
        and len(form.operands) == len(tree.operands)
    )


def _reducer_op(known: CommutativeReducer, starts: Sequence[Expr]) -> tir.ReducerOp:
    block = Block(arg_types=[start.dtype for start in starts] * 2)
    leaves = [Value(argument) for argument in block.args]
    count = len(starts)
    builder = Builder(InsertPoint.at_end(block))
    at_hand: dict[Expr, SSAValue] = {}
    results = known.combine(leaves[:count], leaves[count:])
    values = [emit(tree, builder, at_hand) for tree in results]
    block.add_op(tir.YieldOp(*values))
    return tir.ReducerOp([_identity(start) for start in starts], Region(block))


def _identity(start: Expr) -> Identity:
    value = smart.folded(start)
    assert isinstance(value, Const)
    return cast(Identity, tir.ConstOp.of(value.value, value.dtype).value)

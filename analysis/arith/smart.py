"""Constructors of expression trees that fold what is plain on the way.

They take the place of the classes of `analysis.expr` wherever algebra builds trees: an
operand may be a Python number, operands of two types are brought to one, literals and
neutral operands fold. Nothing is re-associated or distributed; that is the simplifiers'
work. The rules are those of docs/spec/tir-passes-b-arith-and-loops.md §1.2.

Folding keeps values, in these cases against the letter of TVM's rules:

- A sum, difference, product or quotient of two 32- or 64-bit signed literals that
  overflows stays as it is. Such arithmetic is read as that of the integers, in which the
  wrapped literal would be another number.
- A division by a literal zero stays as it is instead of being an error: dead code may
  hold it.
- `round` folds as it is computed, away from zero at a half; TVM folds to the even one.
- A float is multiplied by a literal zero, and a literal zero is divided by a float, only
  where both are literals: the other may be infinite. `x + 0.0` does become `x`, though
  the sum of two zeros has another sign.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

from xdsl.dialects.builtin import (
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute

from xdsl_tvm.analysis.arith.expr import (
    Add,
    And,
    Binary,
    Broadcast,
    Call,
    Cast,
    Cmp,
    Const,
    Div,
    Expr,
    FloorDiv,
    FloorMod,
    IfThenElse,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    Ramp,
    Select,
    Sub,
    fold,
)
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.by_identity import by_identity
from xdsl_tvm.dialects.dtypes import promoted
from xdsl_tvm.dialects.tir import CmpPredicate
from xdsl_tvm.dialects.tir.folding import (
    FOLDED_BUILTINS,
    Folded,
    Side,
    fold_binary_exactly,
    fold_cast_exactly,
    fold_not,
    fold_same,
    rounded_literal,
)
from xdsl_tvm.dialects.tir.folding import (
    fits as fits,
)
from xdsl_tvm.dialects.tir.types import is_index_type

Operand = Expr | int | float
"""A tree, or a number that takes the type of the other operand."""


def _half_away(value: float) -> float:
    """The nearest integer, of two the one farther from zero, as C's `round` has it."""
    whole = math.trunc(value)
    if abs(value - whole) < 0.5:
        return whole
    return whole + math.copysign(1, value)


_ROUNDINGS: dict[str, Callable[[float], float]] = {
    "floor": math.floor,
    "ceil": math.ceil,
    "round": _half_away,
    "nearbyint": round,
    "trunc": math.trunc,
}
_OP_NAMES: dict[type[Binary], str] = {
    kind: kind.op_type.name.removeprefix("tir.")
    for kind in (Add, Sub, Mul, Div, Mod, FloorDiv, FloorMod, Min, Max, And, Or)
}


_KEPT_OF_SAME = frozenset(
    kind for kind, name in _OP_NAMES.items() if fold_same(name, i32) is Side.LHS
)
"""Operations of two equal index values that are that value."""


def literal(node: Expr) -> int | float | None:
    """The value of a constant, rounded to its type; None for any other tree.

    None also where the rounding is not available: fractions of the 8-bit floats.
    """
    if not isinstance(node, Const):
        return None
    value = node.payload
    return value if value.__class__ is int else rounded_literal(value, node.dtype)


def const(value: float, dtype: Attribute) -> Expr:
    """A constant of a scalar or vector type; the latter is a broadcast."""
    if tir.is_vector(dtype):
        return Broadcast(dtype, Const(value, dtype.element_type))
    return Const(value, dtype)


# ---- operands of one type ----


def matched(lhs: Operand, rhs: Operand) -> tuple[Expr, Expr]:
    """The operands in one type, by `promoted`; a scalar that meets a vector is broadcast.

    Raises ValueError when both are numbers, or the types cannot meet.
    """
    if not isinstance(lhs, Expr):
        if not isinstance(rhs, Expr):
            raise ValueError("one of the operands must be a tree, got two numbers")
        return const(lhs, rhs.dtype), rhs
    if not isinstance(rhs, Expr):
        return lhs, const(rhs, lhs.dtype)
    if lhs.dtype == rhs.dtype:
        return lhs, rhs
    if tir.is_vector(lhs.dtype) and not tir.is_vector(rhs.dtype):
        rhs = _like(lhs.dtype, rhs)
    elif tir.is_vector(rhs.dtype) and not tir.is_vector(lhs.dtype):
        lhs = _like(rhs.dtype, lhs)
    element = promoted(tir.element_of(lhs.dtype), tir.element_of(rhs.dtype))
    dtype = tir.like_lanes(element, lhs.dtype)
    return cast(dtype, lhs), cast(dtype, rhs)


def _like(vector: Attribute, scalar: Expr) -> Expr:
    return Broadcast(tir.like_lanes(scalar.dtype, vector), scalar)


# ---- constructors ----


def _side(folded: Folded, lhs: Expr, rhs: Expr, dtype: Attribute) -> Expr | None:
    match folded:
        case None:
            return None
        case Side.LHS:
            return lhs
        case Side.RHS:
            return rhs
        case _:
            return Const(folded, dtype)


def _folded(
    op: str, lhs: Expr, rhs: Expr, result: Attribute | None = None
) -> Expr | None:
    """What the operation folds to, a value of type `result`, or None."""
    dtype = lhs.dtype
    left, right = literal(lhs), literal(rhs)
    if left is None and right is None:
        return None
    folded = fold_binary_exactly(op, dtype, left, right, zero_signs=False)
    return _side(folded, lhs, rhs, result or dtype)


@by_identity
def _index_bits(dtype: Attribute) -> int | None:
    """The width of an index type; None for other types."""
    for index in (i32, i64):
        if dtype == index:
            return index.width.data
    return None


@lru_cache(maxsize=1 << 14)
def _fold_index(
    kind: type[Binary], bits: int, left: int | None, right: int | None
) -> Folded:
    """`fold_binary_exactly` of index types, of which programs have few literals."""
    dtype = i32 if bits == i32.width.data else i64
    return fold_binary_exactly(_OP_NAMES[kind], dtype, left, right, zero_signs=False)


def _index_binary(kind: type[Binary], bits: int, lhs: Expr, rhs: Expr) -> Expr:
    """`binary` of two operands of an index type of so many bits, as most are."""
    if lhs is rhs and kind in _KEPT_OF_SAME:
        return lhs
    left = lhs.payload if lhs.__class__ is Const else None
    right = rhs.payload if rhs.__class__ is Const else None
    if left is None and right is None:
        return kind(lhs, rhs)
    found = _side(_fold_index(kind, bits, left, right), lhs, rhs, lhs.dtype)
    return kind(lhs, rhs) if found is None else found


def binary(kind: type[Binary], lhs: Operand, rhs: Operand) -> Expr:
    """`kind` of two operands, folded."""
    if isinstance(lhs, Expr) and isinstance(rhs, Expr) and lhs.dtype is rhs.dtype:
        bits = _index_bits(lhs.dtype)
        if bits is not None:
            return _index_binary(kind, bits, lhs, rhs)
    lhs, rhs = matched(lhs, rhs)
    bits = _index_bits(lhs.dtype)
    if bits is not None:
        return _index_binary(kind, bits, lhs, rhs)
    op = _OP_NAMES[kind]
    if lhs is rhs and fold_same(op, lhs.dtype) is Side.LHS:
        return lhs
    found = _folded(op, lhs, rhs)
    return kind(lhs, rhs) if found is None else found


def add(lhs: Operand, rhs: Operand) -> Expr:
    """The sum."""
    return binary(Add, lhs, rhs)


def sub(lhs: Operand, rhs: Operand) -> Expr:
    """The difference."""
    return binary(Sub, lhs, rhs)


def mul(lhs: Operand, rhs: Operand) -> Expr:
    """The product."""
    return binary(Mul, lhs, rhs)


def truncdiv(lhs: Operand, rhs: Operand) -> Expr:
    """The quotient, rounded toward zero for integers."""
    return binary(Div, lhs, rhs)


def truncmod(lhs: Operand, rhs: Operand) -> Expr:
    """The remainder of `truncdiv`."""
    return binary(Mod, lhs, rhs)


def floordiv(lhs: Operand, rhs: Operand) -> Expr:
    """The quotient rounded to negative infinity."""
    return binary(FloorDiv, lhs, rhs)


def floormod(lhs: Operand, rhs: Operand) -> Expr:
    """The remainder of `floordiv`."""
    return binary(FloorMod, lhs, rhs)


def minimum(lhs: Operand, rhs: Operand) -> Expr:
    """The smaller one."""
    return binary(Min, lhs, rhs)


def maximum(lhs: Operand, rhs: Operand) -> Expr:
    """The greater one."""
    return binary(Max, lhs, rhs)


def conjunction(lhs: Expr, rhs: Expr) -> Expr:
    """Both."""
    return binary(And, lhs, rhs)


def disjunction(lhs: Expr, rhs: Expr) -> Expr:
    """At least one."""
    return binary(Or, lhs, rhs)


def negation(value: Expr) -> Expr:
    """Not; of a constant, the other one."""
    folded = fold_not(literal(value))
    return Not(value) if folded is None else Const(folded, value.dtype)


def compare(predicate: CmpPredicate, lhs: Operand, rhs: Operand) -> Expr:
    """The comparison; of two literals, its truth."""
    lhs, rhs = matched(lhs, rhs)
    node = Cmp(predicate, lhs, rhs)
    if lhs.__class__ is not Const or rhs.__class__ is not Const:
        # Comparisons fold where both operands are literals.
        return node
    found = _folded(str(predicate), lhs, rhs, node.dtype)
    return node if found is None else found


def eq(lhs: Operand, rhs: Operand) -> Expr:
    return compare(CmpPredicate.EQ, lhs, rhs)


def ne(lhs: Operand, rhs: Operand) -> Expr:
    return compare(CmpPredicate.NE, lhs, rhs)


def lt(lhs: Operand, rhs: Operand) -> Expr:
    return compare(CmpPredicate.LT, lhs, rhs)


def le(lhs: Operand, rhs: Operand) -> Expr:
    return compare(CmpPredicate.LE, lhs, rhs)


def gt(lhs: Operand, rhs: Operand) -> Expr:
    return compare(CmpPredicate.GT, lhs, rhs)


def ge(lhs: Operand, rhs: Operand) -> Expr:
    return compare(CmpPredicate.GE, lhs, rhs)


def select(condition: Expr, true_value: Expr, false_value: Expr) -> Expr:
    """The eager choice; where the condition is a literal, what it chooses."""
    chosen = _chosen(condition, true_value, false_value)
    return Select(condition, true_value, false_value) if chosen is None else chosen


def if_then_else(condition: Expr, true_value: Expr, false_value: Expr) -> Expr:
    """The lazy choice; where the condition is a literal, what it chooses."""
    chosen = _chosen(condition, true_value, false_value)
    return IfThenElse(condition, true_value, false_value) if chosen is None else chosen


def _chosen(condition: Expr, true_value: Expr, false_value: Expr) -> Expr | None:
    if true_value is false_value:
        return true_value
    truth = literal(condition)
    if truth is None:
        return None
    return true_value if truth else false_value


def cast(dtype: Attribute, value: Expr) -> Expr:
    """The value in another type; literals, broadcasts and integer ramps are converted.

    A scalar becomes the lanes of a vector type.
    """
    if value.dtype == dtype:
        return value
    if tir.is_vector(dtype) and not tir.is_vector(value.dtype):
        return Broadcast(dtype, cast(dtype.element_type, value))
    element = tir.element_of(dtype)
    match value:
        case Const():
            return _cast_literal(dtype, value)
        case Broadcast(value=lane):
            return Broadcast(dtype, cast(element, lane))
        case Ramp(base=base, stride=stride) if _keeps_ramp(value.dtype, element):
            return Ramp(dtype, cast(element, base), cast(element, stride))
        case _:
            return Cast(dtype, value)


def ramp(first: Expr, lanes: int) -> Expr:
    """Neighbouring indices as a vector: `first`, `first + 1`, and so on."""
    return Ramp(tir.with_lanes(first.dtype, lanes), first, const(1, first.dtype))


def _keeps_ramp(source: Attribute, target: Attribute) -> bool:
    """Whether lanes computed in `target` are the converted lanes of `source`.

    They are where the lanes cannot wrap, and where both wrap and `target` is narrower.
    """
    lane = tir.element_of(source)
    if target == i1 or not tir.is_integer_type(lane) or not tir.is_integer_type(target):
        return False
    return is_index_type(lane) or target.width.data <= lane.width.data


def _cast_literal(dtype: Attribute, value: Const) -> Expr:
    number = literal(value)
    folded = None if number is None else fold_cast_exactly(dtype, number)
    return Cast(dtype, value) if folded is None else Const(folded, dtype)


def call(name: str, args: Sequence[Expr], dtype: Attribute) -> Expr:
    """A call of one of `PURE_CALLS`, folded."""
    folded: Expr | None = None
    if name in FOLDED_BUILTINS:
        lhs, rhs = args
        folded = _folded(name, lhs, rhs)
    elif len(args) == 1:
        folded = _folded_call(name, args[0], dtype)
    return Call(name, args, dtype) if folded is None else folded


def _folded_call(name: str, value: Expr, dtype: Attribute) -> Expr | None:
    number = literal(value)
    if name == "likely":
        return None if number is None else value
    if name == "isnan" and tir.is_integer(value.dtype):
        return const(0, dtype)
    if name not in _ROUNDINGS or value.dtype != dtype:
        return None
    if tir.is_integer(value.dtype):
        return value
    if number is None or not math.isfinite(number):
        return None
    return Const(float(_ROUNDINGS[name](number)), dtype)


def rebuild(node: Expr, operands: Sequence[Expr]) -> Expr:
    """The same kind of node on other operands, folded.

    The operands have the types of the old ones.
    """
    match node:
        case Binary():
            return binary(type(node), *operands)
        case Cmp(predicate=predicate):
            return compare(predicate, *operands)
        case Not():
            return negation(*operands)
        case Select():
            return select(*operands)
        case IfThenElse():
            return if_then_else(*operands)
        case Cast(dtype=dtype):
            return cast(dtype, *operands)
        case Call(name=name):
            return call(name, operands, node.dtype)
        case _:
            return node.rebuilt(tuple(operands))


def folded(root: Expr) -> Expr:
    """The tree with every node folded."""
    return fold(root, rebuild)
